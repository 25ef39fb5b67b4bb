/* What the library and the program's own zygote share beside ember.h. */
#pragma once

#include "engine/ember/enter.h"

/* This process becomes a zygote at its next ember_wait(). */
void zygote_arm(void);
/* ember_wait(), with the command line. The control socket is the caller's to close. */
const struct enter_claim *zygote_wait(const struct ember_language *language);
