/* What the library and the program's own zygote share beside ember.h. */
#pragma once

#include "ember/enter.h"

#include <stdbool.h>

/* This process becomes a zygote, or is an ember by itself, at its next ember_wait(). */
void zygote_arm(bool once);
/* ember_wait(), with the command line. The control socket is the caller's to close. */
const struct enter_claim *zygote_wait(const struct ember_language *language);
