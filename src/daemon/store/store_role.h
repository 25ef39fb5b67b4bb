/* The store's role: takes from the journal, and answers the front's questions about what was run. */
#pragma once

#include "base/error.h"
#include "daemon/role.h"
#include "store/store.h"

/* Its row. */
extern const struct role_row store_role;

/* Until `control` (see role.h) ends; `nudge` is the eventfd that tells of records. */
int store_role_run(int control, int nudge, const struct store_options *options, struct error *err);
