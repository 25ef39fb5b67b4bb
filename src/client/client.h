/* The client of the service: one connection, one run at a time. Independent of boxes. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client_io {
	void (*on_output)(int stream, const void *data, size_t size, void *userdata); /* callback for output, or NULL */
	void *userdata;                                                               /* its argument */
	int cancel_fd; /* becomes readable to cancel; -1: none */
	int stdin_fd;  /* streamed stdin; -1: none */
	int window_fd; /* for a run with a terminal: a pipe of struct terminal_size; 0 or less: none */
};

struct client_answer {
	bool refused; /* there was no run: text is the ERROR's JSON, otherwise the RESULT's */
	char *text;   /* owned */
	size_t size;  /* bytes */
	bool began;   /* the run has started, or some of its input was sent */
};

/* Sends a request and reads its answer. -1: the connection failed, or the answer is invalid; answer->began says whether
 * the run had started. */
int client_run(int socket, const char *json, size_t size, const struct client_io *io, struct client_answer *answer,
	       struct error *err);
