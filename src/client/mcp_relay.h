/*
 * MCP by a pipe: what comes by lines goes to the service's /mcp, a connection a
 * message, and what that answers comes back as lines. The protocol is spoken
 * there and nowhere else; here is only what a pipe needs: lines and their bound,
 * which answer belongs to which message, and the end.
 */
#pragma once

#include "base/error.h"

struct mcp_relay {
	int in, out; /* the client's; not closed, and `out` may be one that blocks */
	/* The path of the service's socket; called again when it cannot be reached there. NULL: there is none, see err.
	 */
	const char *(*service)(void *data, struct error *err);
	void *data; /* for it */
};

/* Until `in` ends, or nobody reads `out`. -1: it cannot go on. */
int mcp_relay_run(const struct mcp_relay *relay, struct error *err);
