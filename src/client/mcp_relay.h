/*
 * MCP over a pipe: forwards each line to the service's /mcp, with a connection
 * for each message, and writes the answers as lines. The service implements the
 * protocol. The relay only handles lines and their limit, the order of answers,
 * and the end.
 */
#pragma once

#include "base/error.h"

struct mcp_relay {
	int in, out; /* the client's; not closed; `out` may be blocking */
	/* The path of the service's socket; called again if it cannot be reached there. NULL: there is none, see
	 * err. */
	const char *(*service)(void *data, struct error *err);
	void *data; /* its argument */
};

/* Returns when `in` has ended, or `out` has no reader. -1: the relay cannot continue. */
int mcp_relay_run(const struct mcp_relay *relay, struct error *err);
