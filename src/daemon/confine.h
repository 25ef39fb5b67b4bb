/* Steps of a role's confinement that several roles take. Each reads back that it holds. */
#pragma once

#include "base/error.h"
#include "daemon/role.h"

/* No exec gives privileges. Landlock and seccomp require it. */
int confine_no_new_privs(struct error *err);
/* The role becomes settings->become, if that is not 0, and has no capability and no group of root's then. */
int confine_become(const struct role_settings *settings, struct error *err);
/* The role dies with the supervisor, whose socket `control` is. To be called after the last change of uid. */
int confine_leash(int control, struct error *err);
/* Sets a resource limit to 0: RLIMIT_NPROC, RLIMIT_CORE. */
int confine_zero(int resource, struct error *err);
/* Proves a restriction: the forbidden call was just tried, and has to have failed with this errno and no other. */
int confine_expect(long result, int errnum, const char *what, struct error *err);
