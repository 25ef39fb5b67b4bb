/* The table of roles: the one place that names them all. */
#pragma once

#include "daemon/role.h"

/* By enum role. */
extern const struct role_row *const role_table[ROLES];

/* In a process that the supervisor, or the keeper, has started. False when there is no role of that name. */
bool role_table_has(const char *name);
/* What such a process does, from its start to its end. */
int role_table_run(const char *name, struct error *err);
