/*
 * registry.yaml: named profiles of boxes, and settings.
 *
 * An error has the file, line and column and the expected value. A registry
 * with an error is not used at all. Parsing is pure. Only registry_check()
 * needs the host, for its list of languages.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "schema/limits.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	REGISTRY_NAME_MAX = 64,     /* characters of a profile's name */
	REGISTRY_SETTINGS_MAX = 32, /* at least the number of settings */
};

/* Bounds of a network beside its rules. */
enum net_bound {
	NET_BOUND_RATE,
	NET_BOUND_TOTAL,
	NET_BOUND_CONNECTIONS,
	NET_BOUNDS
};

struct profile {
	const char *name;        /* name for `profile` and /containers */
	const char *description; /* or "" */
	const char *language;    /* as written; NULL: `image` is set */
	const char *image;       /* of image, dockerfile or rootfs: for engines that are not available yet; or NULL */
	const char *image_key;   /* which of these keys; NULL without an image */
	unsigned line, column;   /* position of language, image, dockerfile or rootfs */
	const char *const *triggers;        /* phrases; NULL-terminated, never NULL */
	const char *net_bounds[NET_BOUNDS]; /* for spec_set(); NULL: not set */
	const char *network;                /* network_mode as the text of a list (net/net_policy.h); NULL: not set */
	bool read_only;                     /* security.read_only */
	bool needs_confirm;                 /* security.needs_confirm */
	bool confirm_once;                  /* security.confirm: once; for a session or container only its start asks */
	struct limit_texts limits;          /* resources */
};

/* Changes to the language's own list of blocked imports: names separated by commas, or NULL. */
struct policy_lists {
	const char *block; /* additional modules */
	const char *allow; /* modules removed from the list; the more specific name decides */
};

struct registry_policy {
	const char *language;      /* as written */
	struct policy_lists lists; /* its lists */
	unsigned line, column;     /* position of the language */
};

struct registry_setting {
	const char *name;      /* name in the environment: SANDBOX_TIMEOUT_SEC */
	const char *value;     /* already checked */
	unsigned line, column; /* position of the value */
};

struct registry {
	bool nothing;                                            /* the text has no key */
	const char *hollow;                                      /* a key without a value; NULL: none */
	unsigned hollow_line, hollow_column;                     /* position of that key */
	const struct profile *profiles;                          /* in the order of the file */
	size_t count;                                            /* number of them */
	bool auto_cleanup;                                       /* default true */
	unsigned max_concurrent;                                 /* maximum of concurrent containers; default 3 */
	unsigned auto_cleanup_line, max_concurrent_line;         /* lines of both settings; 0: not set */
	struct registry_setting settings[REGISTRY_SETTINGS_MAX]; /* by the names of the environment */
	size_t setting_count;                                    /* number of them */
	const struct registry_policy *policies;                  /* by language */
	size_t policy_count;                                     /* number of them */
};

/* Parses the text; the result is in the arena. `where` is the file's name for errors. Does not check whether the
 * languages exist. */
int registry_parse(const char *where, const char *text, size_t size, struct arena *arena, struct registry *out,
		   struct error *err);
/* Refuses a registry that is empty or ends after a key: somebody is writing it, or it was truncated. `{}` is a registry
 * without rules. */
int registry_check_whole(const char *where, const struct registry *registry, struct error *err);
/* Refuses languages that emberbox does not know; they need not be installed. */
int registry_check(const char *where, const struct registry *registry, struct error *err);
/* The lists of a language by its name; empty if there are none. */
struct policy_lists registry_lists(const struct registry *registry, const char *language);
/* Reads the file: `path`, or registry.yaml in the state directory if NULL; *text is NULL if the file does not exist. A
 * file that others may write to is refused. The caller frees the text. */
int registry_read(const char *path, char **text, size_t *size, char *where, size_t where_size, struct error *err);
/* Whether a process has the file open for writing, so that it may be incomplete. */
bool registry_is_being_written(const char *where);
/* Waits until no process has the file open for writing, because an incomplete registry has fewer rules. Returns 0, also
 * if the file does not exist, or -1 with an error. */
int registry_await_writer(const char *where, struct error *err);
/* NULL: there is none; `nearest`, unless NULL, then receives the most similar name, or NULL. */
const struct profile *registry_find(const struct registry *registry, const char *name, const char **nearest);
