/* A spec: what is asked, every value checked when it is set. Pure: it touches nothing of the host's. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "language/runtime.h"
#include "schema/surroundings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Layers that a host may lack and a caller may do without, knowingly. */
enum layer {
	LAYER_CGROUP,
	LAYER_LANDLOCK,
	LAYER_SECCOMP,
	LAYERS,
};

/* The layer's name as --allow-weaker and meta.isolation have it. */
const char *layer_name(enum layer layer);

/* Whether somebody looks at the program before it runs: policy/policy.h */
enum policy_mode {
	POLICY_OFF,   /* nobody looks */
	POLICY_WARN,  /* what would be blocked is told with the result */
	POLICY_BLOCK, /* a program with a blocked import is not run */
};

enum {
	SPEC_CODE_MAX = 16 << 20,  /* bytes of code, and of stdin given with the request */
	SPEC_WORDS_MAX = 1024,     /* arguments; variables; files: of each */
	SPEC_WORD_MAX = 128 << 10, /* bytes of one argument or variable: the kernel's own MAX_ARG_STRLEN */
	SPEC_ROWS = 24,            /* of a terminal of no said size */
	SPEC_COLUMNS = 80,         /* the same */
	SPEC_LINES_MAX = 9999,     /* rows, or columns, of a terminal */
};

struct spec_file {
	const char *host; /* a path on the host, or NULL */
	const char *box;  /* its path in the box, relative to / ("sandbox/data/x") */
	const void *data; /* without a host path: the content */
	size_t size;      /* its size */
	unsigned mode;    /* the content's permissions; 0: 0755 */
};

struct spec {
	struct arena arena;            /* owns everything below */
	const struct runtime *runtime; /* NULL until the language is set */
	const void *code;              /* the program; NULL: the entry is one of the files, or in the project */
	size_t code_size;              /* its size */
	const char *name;              /* the entry's path below /sandbox/code, NULL: not said */
	const char *filename;          /* what the code's file was called where it came from, NULL: it was in none */
	const char *profile;           /* of the runtime, or NULL */
	bool unchecked;                /* leave out the compiler's check of types */
	bool read_only;                /* the program may not change its code and data */
	struct surroundings around;    /* network, engine, image, packages */
	enum policy_mode policy;       /* whether its imports are looked at first */
	const char *policy_block;      /* modules beside the language's own list, with commas between them; or NULL */
	const char *policy_allow;      /* modules that are not blocked after all; or NULL */
	bool policy_said;              /* `policy` was set */
	const char *policy_in_force;   /* of a run in a box that lives: policy/in_force.h; or NULL */
	unsigned rows, columns;        /* of the terminal that is the program's 0, 1 and 2; 0: it has none */
	struct limits limits;          /* those asked for; 0: not said */
	const char *project;           /* a directory on the host, or NULL */
	const char *output;            /* where to copy /sandbox/output to, or NULL */
	const void *input;             /* stdin given with the request, or NULL */
	size_t input_size;             /* its size */
	const char **args;             /* of the program */
	size_t arg_count;              /* how many */
	const char **env;              /* "K=V" */
	size_t env_count;              /* how many */
	struct spec_file *files;       /* to put into the box */
	size_t file_count;             /* how many */
	bool weaker[LAYERS];           /* layers that may be missing */
};

void spec_init(struct spec *spec);
void spec_free(struct spec *spec);

/* The keys and values of eb_request_set(). */
int spec_set(struct spec *spec, const char *key, const char *value, struct error *err);
int spec_set_code(struct spec *spec, const void *code, size_t size, struct error *err);
int spec_set_input(struct spec *spec, const void *data, size_t size, struct error *err);
int spec_add_content(struct spec *spec, const char *box_path, const void *data, size_t size, struct error *err);
/* The permissions of the content added last: "644", or "755" as without it. */
int spec_set_mode(struct spec *spec, const char *mode, struct error *err);

/* The lines of surroundings_text(), each by spec_set(). */
int spec_set_surroundings(struct spec *spec, const char *text, struct error *err);

/* What can only be said once all is set: there is a language and code. */
int spec_check(const struct spec *spec, struct error *err);

/* The entry's path below /sandbox/code; the runtime is set. */
const char *spec_entry(const struct spec *spec);
/* Whether one of the files given is at this path below /sandbox/code. */
bool spec_gives(const struct spec *spec, const char *path);
/* The runtime's profile that was asked for, or NULL. */
const struct runtime_profile *spec_profile(const struct spec *spec);
