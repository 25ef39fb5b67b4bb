/* The client of the service: one connection, one run after the other. Knows nothing of boxes. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client_io {
	void (*on_output)(int stream, const void *data, size_t size, void *userdata); /* or NULL */
	void *userdata;                                                               /* for it */
	int cancel_fd;                                                                /* readable: cancel; -1: never */
	int stdin_fd;                                                                 /* streamed; -1: none */
	int window_fd; /* of a run with a terminal: a pipe of struct terminal_size; 0 or less: none */
};

struct client_answer {
	bool refused; /* there was no run: text is the ERROR's JSON, else the RESULT's */
	char *text;   /* owned */
	size_t size;  /* of it */
	bool began;   /* something of the run was seen, or of its input sent */
};

/* Sends a request and hears its answer. -1: the connection broke, or said what it may not; *answer tells whether the
 * run had begun. */
int client_run(int socket, const char *json, size_t size, const struct client_io *io, struct client_answer *answer,
	       struct error *err);
