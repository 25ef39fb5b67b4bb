/* What only the box can tell, asked before it is gone and only when its program failed. */
#pragma once

#include "engine/local/launch.h"

#include <stdbool.h>
#include <stdint.h>

struct witness {
	uint64_t forks_refused;  /* times that the limit of processes was met */
	bool disk_full;          /* no block is left of what it may write */
	bool inodes_full;        /* the same of files */
	const char *refused;     /* the last call that the filter refused, by name; NULL: none, as far as is known */
	char biggest[16];        /* the process with the most memory when the limit was met; empty: not known */
	uint64_t biggest_memory; /* that, at its most; 0: not known */
};

/* At a memory limit, before anybody is killed: who has it. */
void witness_biggest(const struct box *box, struct witness *witness);
/* When the program has failed, before its box is ended: asks whoever listened to its filter. */
void witness_ask(struct box *box);
/* When the program has ended: whether it met another limit on the way, or was refused a call. */
void witness_limits(const struct box *box, struct witness *witness);
