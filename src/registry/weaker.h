/* Finds rules for programs that a change of the configuration weakens: for a warning and the audit log. */
#pragma once

#include "base/buf.h"
#include "registry/config.h"

/* Appends a phrase for each rule that is missing or weaker in `after`, separated by "; ". */
void config_weaker(const struct config *before, const struct config *after, struct buf *out);
