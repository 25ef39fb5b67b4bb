#include "daemon/supervisor/role_table.h"

#include "base/log.h"
#include "base/own.h"
#include "daemon/confine.h"
#include "daemon/egress/egress.h"
#include "daemon/front/front.h"
#include "daemon/keeper/keeper.h"
#include "daemon/store/store_role.h"
#include "engine/warm/stem.h"

#include <string.h>

const struct role_row *const role_table[ROLES] = {
	[ROLE_EGRESS] = &egress_role,
	[ROLE_KEEPER] = &keeper_role,
	[ROLE_STORE] = &store_role,
	[ROLE_FRONT] = &front_role,
};

/* Started by the keeper, which speaks with it over a socket of their own. It has no row: the supervisor knows none. */
static const char stem[] = "stem";
/* Started by a run without a service, for itself alone: see egress_start_own(). */
static const char egress_own[] = "egress-own";
/* The same, when there is no authority yet: see net_authority_read(). */
static const char egress_authority[] = "egress-authority";

static enum role role_find(const char *name)
{
	int role = 0;

	while (role < ROLES && strcmp(role_table[role]->name, name) != 0)
		role++;
	return (enum role)role;
}

bool role_table_has(const char *name)
{
	return strcmp(name, stem) == 0 || strcmp(name, egress_own) == 0 || strcmp(name, egress_authority) == 0 ||
	       role_find(name) < ROLES;
}

static int role_run(enum role role, struct error *err)
{
	const struct role_row *row = role_table[role];
	struct role_settings settings;
	int control, fds[ROLE_FDS];
	void *own = NULL;

	if (role_enter(row, role, &settings, &control, fds, err) < 0)
		return -1;
	log_open((enum log_format)settings.log, row->name);
	if ((row->prepare && row->prepare(&settings, fds, &own, err) < 0) || confine_no_new_privs(err) < 0 ||
	    row->confine(&settings, control, err) < 0)
		return -1;
	return row->run(&settings, control, fds, own, err);
}

int role_table_run(const char *name, struct error *err)
{
	enum role role = role_find(name);
	int done;

	if (strcmp(name, stem) == 0)
		done = stem_role_run() == 0 ? 0 : error_set(err, ERROR_FAILED, 0, "it ended");
	else if (strcmp(name, egress_own) == 0)
		done = egress_own_run(err);
	else if (strcmp(name, egress_authority) == 0)
		done = egress_authority_run(err);
	else if (role < ROLES)
		done = role_run(role, err);
	else
		return error_usage(err, "there is no role \"%.32s\"", name);
	return done == 0 ? 0 : error_prefix(err, "%s", name);
}
