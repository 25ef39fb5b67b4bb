/* What to put into the configuration of an assistant, so that it finds emberbox. */
#pragma once

#include <stdbool.h>

struct mcp_config {
	const char *client; /* whose; NULL: what most of them read */
	const char *socket; /* --socket of what it starts, or NULL */
	bool http;          /* by the service's address and token, instead of a program that it starts */
};

/* Prints it on standard output, and on standard error where it belongs; returns the exit code. */
int mcp_config_print(const struct mcp_config *config);
