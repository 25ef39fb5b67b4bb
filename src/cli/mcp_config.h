/* Prints the entry for emberbox in the configuration of an assistant. */
#pragma once

#include <stdbool.h>

struct mcp_config {
	const char *client; /* name of the client; NULL: the common format */
	const char *socket; /* value of --socket for the program, or NULL */
	bool http;          /* use the service's URL and token instead of a program */
};

/* Prints the entry on standard output and the name of its file on standard error; returns the exit code. */
int mcp_config_print(const struct mcp_config *config);
