/* A spec: a request whose values are checked when they are set. Pure: does not access the host. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "language/runtime.h"
#include "net/net_policy.h"
#include "net/net_secret.h"
#include "schema/surroundings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Layers of isolation that a host may lack and that a caller can waive. */
enum layer {
	LAYER_CGROUP,
	LAYER_LANDLOCK,
	LAYER_SECCOMP,
	LAYERS,
};

/* The layer's name in --allow-weaker and meta.isolation. */
const char *layer_name(enum layer layer);

/* Whether the program's imports are checked before it runs: policy/policy.h. */
enum policy_mode {
	POLICY_OFF,   /* not checked */
	POLICY_WARN,  /* violations are reported with the result */
	POLICY_BLOCK, /* a program with a blocked import does not run */
};

enum {
	SPEC_CODE_MAX = 16 << 20,  /* bytes of code, and of stdin in a request */
	SPEC_WORDS_MAX = 1024,     /* maximum of arguments, of variables and of files */
	SPEC_WORD_MAX = 128 << 10, /* bytes of one argument or variable: the kernel's MAX_ARG_STRLEN */
	SPEC_ROWS = 24,            /* default size of a terminal */
	SPEC_COLUMNS = 80,         /* default size of a terminal */
	SPEC_LINES_MAX = 9999,     /* maximum of rows and of columns */
};

struct spec_file {
	const char *host; /* a path on the host, or NULL */
	const char *box;  /* path in the box, relative to / ("sandbox/data/x") */
	const void *data; /* content, if there is no host path */
	size_t size;      /* bytes */
	unsigned mode;    /* permissions of the content; 0: 0755 */
};

struct spec {
	struct arena arena;            /* owns the members below */
	const struct runtime *runtime; /* NULL until the language is set */
	const void *code;              /* the program; NULL: the entry is one of the files, or in the project */
	size_t code_size;              /* bytes */
	const char *name;              /* the entry's path below /sandbox/code; NULL: not set */
	const char *filename;          /* original name of the code's file; NULL: none */
	const char *profile;           /* profile of the runtime, or NULL */
	bool unchecked;                /* skip the compiler's type check */
	bool read_only;                /* code and data are read-only for the program */
	struct surroundings around;    /* engine, image, packages */
	struct net_policy network;     /* what the program may reach; without lists: only its own loopback */
	struct net_secrets *secrets;   /* values that never enter the box; or NULL */
	enum policy_mode policy;       /* whether its imports are checked first */
	const char *policy_block;      /* modules in addition to the language's list, separated by commas; or NULL */
	const char *policy_allow;      /* modules removed from the list; or NULL */
	bool policy_said;              /* `policy` is set */
	const char *policy_in_force; /* policy of a session or container, for a run in it: policy/in_force.h; or NULL */
	unsigned rows, columns;      /* size of the program's terminal; 0: no terminal */
	struct limits limits;        /* requested limits; 0: not set */
	const char *project;         /* directory on the host, or NULL */
	const char *output;          /* destination of /sandbox/output, or NULL */
	const void *input;           /* stdin in the request, or NULL */
	size_t input_size;           /* bytes */
	const char **args;           /* arguments of the program */
	size_t arg_count;            /* number of them */
	const char **env;            /* "K=V" */
	size_t env_count;            /* number of them */
	struct spec_file *files;     /* files to put into the box */
	size_t file_count;           /* number of them */
	bool weaker[LAYERS];         /* layers that may be missing */
};

void spec_init(struct spec *spec);
void spec_free(struct spec *spec);

/* Sets a key of eb_request_set(). */
int spec_set(struct spec *spec, const char *key, const char *value, struct error *err);
int spec_set_code(struct spec *spec, const void *code, size_t size, struct error *err);
int spec_set_input(struct spec *spec, const void *data, size_t size, struct error *err);
int spec_add_content(struct spec *spec, const char *box_path, const void *data, size_t size, struct error *err);
/* Sets the permissions of the content added last: "644" or "755" (the default). */
int spec_set_mode(struct spec *spec, const char *mode, struct error *err);

/* A secret as the value of spec_set("secret"): lines of its name, its hosts with commas between them, its header, its
 * format (both may be empty), and its value. */
void spec_secret_text(const struct net_secret_parts *parts, struct buf *out);

/* The rules of the request itself, for spec_set("net"); the caller frees. NULL: no memory. */
char *spec_network_text(const struct spec *spec);

/* Sets the lines of surroundings_text(). */
int spec_set_surroundings(struct spec *spec, const char *text, struct error *err);

/* Checks that the spec is complete: it has a language and code. */
int spec_check(const struct spec *spec, struct error *err);

/* The entry's path below /sandbox/code; the runtime must be set. */
const char *spec_entry(const struct spec *spec);
/* Whether the request contains a file with this path below /sandbox/code. */
bool spec_gives(const struct spec *spec, const char *path);
/* The requested profile of the runtime, or NULL. */
const struct runtime_profile *spec_profile(const struct spec *spec);
