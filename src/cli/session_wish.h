/*
 * What a session is asked for with: the options that `emberbox repl` and
 * `emberbox session start` have in common, and the request that is made of them.
 */
#pragma once

#include "base/error.h"
#include "schema/spec.h"
#include "cli/options.h"
#include "registry/config.h"

#include <jansson.h>
#include <stdbool.h>

enum {
	WISH_FIRST = 100, /* behind all options of a command's own */
	WISH_FILE,
	WISH_ENV,
	WISH_TIMEOUT,
	WISH_CPU_TIME,
	WISH_MEMORY,
	WISH_CPUS,
	WISH_PIDS,
	WISH_DISK,
	WISH_MAX_OUTPUT,
	WISH_PROFILE,
	WISH_READ_ONLY,
	WISH_ALLOW_WEAKER,
	WISH_TTL,
	WISH_IDLE_TTL,
	WISH_NAME,
	WISH_LAST,
};

/* Rows of a command's table of options; `of` says in its help what they belong to. */
#define SESSION_WISH_OPTIONS(of)                                                                                       \
	{ WISH_FILE, 0, "file", "HOST[:BOX]",                                                                          \
	  of "give it a copy of a file, in its directory or at BOX; may be repeated" },                                \
		{ WISH_ENV, 0, "env", "K=V", of "set an environment variable; may be repeated" },                      \
		{ WISH_TIMEOUT, 0, "timeout", "SEC", of "wall time of a cell (30)" },                                  \
		{ WISH_CPU_TIME, 0, "cpu-time", "SEC", of "CPU time of a cell" },                                      \
		{ WISH_MEMORY, 0, "memory", "SIZE", of "memory of the session, without swap (512m)" },                 \
		{ WISH_CPUS, 0, "cpus", "N", of "cores, also a part of one (1)" },                                     \
		{ WISH_PIDS, 0, "pids", "N", of "processes and threads (64)" },                                        \
		{ WISH_DISK, 0, "disk", "SIZE", of "what it may write below /sandbox and /tmp (1g)" },                 \
		{ WISH_MAX_OUTPUT, 0, "max-output", "SIZE",                                                            \
		  of "how much of each stream the record of a cell keeps (20k)" },                                     \
		{ WISH_PROFILE, 0, "profile", "NAME", of "a profile of the service's registry, or of the language" },  \
		{ WISH_READ_ONLY, 0, "read-only", NULL, of "/sandbox/code and /sandbox/data cannot be changed" },      \
		{ WISH_ALLOW_WEAKER, 0, "allow-weaker", "LAYER",                                                       \
		  of "go on if the host lacks this layer; may be repeated" },                                          \
		{ WISH_TTL, 0, "ttl", "SEC", of "how long the session may live" },                                     \
		{ WISH_IDLE_TTL, 0, "idle-ttl", "SEC", of "how long it may wait for a cell" },                         \
	{                                                                                                              \
		WISH_NAME, 0, "name", "NAME", of "what `emberbox session` may call it besides its id"                  \
	}

struct session_wish {
	struct spec spec;     /* its language, limits, files and variables */
	const char *profile;  /* or NULL */
	const char *ttl;      /* or NULL */
	const char *idle_ttl; /* or NULL */
	const char *name;     /* or NULL */
	bool any;             /* something was given that only a new session can have */
};

/* One of the options above. Returns 0, or an exit code: it was said why. */
int session_wish_take(struct session_wish *wish, const char *command, int option, const char *value);
/* What POST /v1/sessions is sent, which the caller frees; the same codes. */
int session_wish_request(const struct session_wish *wish, const char *command, json_t **request);

/* Says an error of ours and returns its exit code. */
int session_failed(const struct error *err);
/* The settings, as far as they are about the service, which may be said in a file. Returns 0, or an exit code. */
int session_configure(struct config *config);
