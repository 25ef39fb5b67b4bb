/*
 * `emberbox serve`: the supervisor of the service's roles.
 *
 * It reads the configuration, makes the sockets, starts the keeper, the store
 * and the front, and restarts what dies; it hears neither clients nor programs. Its death ends both roles, and the
 * keeper's ends every box.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SERVE_RUNNING_MAX = 1024, /* more threads than that are a mistake */
	SERVE_QUEUED_MAX = 65536,
	SERVE_EMBERS_MAX = 4096,
};

struct serve_options {
	const char *socket;                    /* where to listen; NULL: where clients look */
	const char *listen;                    /* HOST:PORT for HTTP, or "none"; NULL: as the configuration says */
	const char *registry;                  /* the file; NULL: as the configuration says */
	const char *log;                       /* events, text or json; NULL: as the configuration says */
	const char *tls_cert;                  /* a file; NULL: as the configuration says */
	const char *tls_key;                   /* the same */
	const char *weaker;                    /* a layer that the service may lack; NULL: as the configuration says */
	size_t max_running;                    /* runs at once; 0: two for each CPU, and at least 4 */
	size_t max_queued;                     /* requests that wait */
	size_t embers;                         /* idle embers at most */
	uint64_t ember_memory;                 /* bytes that they may take */
	void (*on_ready)(const char *address); /* it serves, HTTP there ("": not at all); may be NULL */
	void (*say)(const char *format, ...) __attribute__((format(printf, 1, 2))); /* a line for a person */
};

#define SERVE_OPTIONS_INIT                                                                                             \
	{                                                                                                              \
		.max_queued = 1024, .embers = 32, .ember_memory = UINT64_C(256) << 20                                  \
	}

/* Returns when a signal asked for it and all is over, or when it cannot go on. */
int serve_run(const struct serve_options *options, struct error *err);
