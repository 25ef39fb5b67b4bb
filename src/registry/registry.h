/*
 * registry.yaml: profiles of boxes by name, and settings.
 *
 * A mistake is reported with file, line and column and what was expected; a
 * registry with one is no registry: nothing of it is used. Parsing is pure. Only
 * registry_check() looks at the host, for the languages that it has.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "schema/limits.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	REGISTRY_NAME_MAX = 64,     /* characters of a profile's name */
	REGISTRY_SETTINGS_MAX = 32, /* at least as many as there are settings */
};

struct profile {
	const char *name;            /* as `profile` and /containers have it */
	const char *description;     /* or "" */
	const char *language;        /* as it was written; NULL: the next is set */
	const char *image;           /* of image, dockerfile or rootfs: for engines that are not there yet; or NULL */
	const char *image_key;       /* which of the three; NULL without an image */
	unsigned line, column;       /* where language, image, dockerfile or rootfs stands */
	const char *const *triggers; /* phrases; NULL-terminated, never NULL */
	const char *const *allow;    /* hosts of network_mode {allow: …}; NULL-terminated; NULL: other mode */
	bool bridge;                 /* network_mode: bridge */
	bool read_only;              /* security.read_only */
	bool needs_confirm;          /* security.needs_confirm */
	bool confirm_once;           /* security.confirm: once; of a box that lives only its start is asked about */
	struct limit_texts limits;   /* resources */
};

/* Which imports are blocked beside the language's own list, and which are not after all: names with commas between
 * them, or NULL. */
struct policy_lists {
	const char *block; /* more of them */
	const char *allow; /* fewer; whoever names more of a module decides */
};

struct registry_policy {
	const char *language;      /* as it was written */
	struct policy_lists lists; /* of it */
	unsigned line, column;     /* where the language stands */
};

struct registry_setting {
	const char *name;      /* as the environment has it: SANDBOX_TIMEOUT_SEC */
	const char *value;     /* checked already */
	unsigned line, column; /* of the value */
};

struct registry {
	bool nothing;                                            /* the text has no key at all */
	const char *hollow;                                      /* a key of it that has no value; NULL: none */
	unsigned hollow_line, hollow_column;                     /* of that key */
	const struct profile *profiles;                          /* in the file's order */
	size_t count;                                            /* how many */
	bool auto_cleanup;                                       /* default true */
	unsigned max_concurrent;                                 /* containers at a time; default 3 */
	unsigned auto_cleanup_line, max_concurrent_line;         /* where they are said; 0: not */
	struct registry_setting settings[REGISTRY_SETTINGS_MAX]; /* by the names of the environment */
	size_t setting_count;                                    /* how many */
	const struct registry_policy *policies;                  /* by language */
	size_t policy_count;                                     /* how many */
};

/* All of it lives in the arena. `where` is the file's name for errors. Whether the languages exist is not asked. */
int registry_parse(const char *where, const char *text, size_t size, struct arena *arena, struct registry *out,
		   struct error *err);
/* A file that is there has to say something: one that is empty, or ends behind a key, is one that is being written, or
 * was cut. `{}` is a registry without rules. */
int registry_check_whole(const char *where, const struct registry *registry, struct error *err);
/* Every language has to be one that emberbox knows, installed or not. */
int registry_check(const char *where, const struct registry *registry, struct error *err);
/* The lists of a language, by its name; empty ones when nothing is said of it. */
struct policy_lists registry_lists(const struct registry *registry, const char *language);
/* Reads the file's text: `path`, or registry.yaml in the state directory when NULL; none there is *text NULL. One that
 * others may write to is refused. The caller frees. */
int registry_read(const char *path, char **text, size_t *size, char *where, size_t where_size, struct error *err);
/* Whether somebody has the file open for writing, and so half of it may be there. */
bool registry_is_being_written(const char *where);
/* Waits a moment until nobody has the file open for writing: half of it would be fewer rules. 0, or -1 with a sentence;
 * one that is not there is nobody's to write. */
int registry_await_writer(const char *where, struct error *err);
/* NULL: none; `nearest`, unless NULL, then gets the name that was perhaps meant, or NULL. */
const struct profile *registry_find(const struct registry *registry, const char *name, const char **nearest);
