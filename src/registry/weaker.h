/* What a change of the configuration takes away of the rules for programs: for a warning and the audit log. */
#pragma once

#include "base/buf.h"
#include "registry/config.h"

/* Adds a phrase for each rule that `after` has not or has weaker, with "; " between; nothing when all hold. */
void config_weaker(const struct config *before, const struct config *after, struct buf *out);
