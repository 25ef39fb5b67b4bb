/* The keeper: makes, watches and ends boxes for fronts, which it does not trust. */
#pragma once

#include "base/error.h"
#include "daemon/role.h"

#include <stddef.h>
#include <stdint.h>

struct keeper_options {
	size_t workers;        /* runs at once of one front */
	size_t embers;         /* idle embers at most */
	uint64_t ember_memory; /* bytes that they may take */
	int nudge;             /* an eventfd that tells the store of records; -1: nobody */
	enum role_audit audit; /* whether what cannot be written down is run */
};

/* Its row. */
extern const struct role_row keeper_role;

/* Serves the fronts whose sockets come over `control` (see role.h) until that ends, and then until no run is left. */
int keeper_run(int control, const struct keeper_options *options, struct error *err);
