/* What only the box can tell, asked before it is gone and only when its program failed. */
#pragma once

#include "engine/local/launch.h"
#include "result/verdict.h"

/* At a memory limit, before anybody is killed: who has it. */
void witness_biggest(const struct box *box, struct witness *witness);
/* When the program has failed, before its box is ended: asks whoever listened to its filter. */
void witness_ask(struct box *box);
/* When the program has ended: whether it met another limit on the way, or was refused a call. */
void witness_limits(const struct box *box, struct witness *witness);
