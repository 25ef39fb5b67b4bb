/*
 * Languages, described by data.
 *
 * Each language is a folder: runtime.yaml, which definition.c reads, and driver
 * scripts. The folders in runtimes/ are compiled into the program as tables
 * (tools/runtime_gen.c), so a run reads no file for them. A user's folders in
 * EMBERBOX_HOME/runtimes/ are read when the first language is looked up, and
 * replace built-in ones of the same name.
 *
 * A step is a command line with placeholders in braces, which expand.c fills:
 * {python} and similar ones are tools; definition.h lists the others.
 */
#pragma once

#include "base/error.h"
#include "schema/limits.h"

#include <stdbool.h>
#include <stddef.h>

/* Lists of strings end with NULL, including empty ones. A list is NULL only where its comment says so. */

struct runtime_tool {
	const char *name;              /* the placeholder */
	const char *const *candidates; /* absolute paths, of which the first executable one is used; "*" takes the
					  highest version */
};

struct runtime_step {
	const char *const *argv;        /* with placeholders; NULL: no such step */
	const char *const *environment; /* "K=V" with placeholders, in addition to the runtime's */
	struct limits limits;           /* 0: the default */
};

struct runtime_prepare {
	struct runtime_step step; /* creates files in /sandbox/output, once for a toolchain */
	bool writable;            /* programs get a writable copy */
};

struct runtime_compile {
	struct runtime_step step;     /* creates `artifact` in /sandbox/output */
	const char *const *unchecked; /* the command line with --no-check; NULL: there is no separate check */
	const char *const *needs;     /* files of which the check needs one; NULL or empty: none */
	const char *const *sources;   /* patterns of file names: the given files that it gets */
	const char *artifact;         /* name of the compiled program */
};

/* The form of a syntax error in standard error, line by line; see errors.h. Patterns are PCRE; NULL: not used. */
struct runtime_syntax {
	int exit;           /* exit code of such a failure; -1: any */
	bool silent;        /* only if nothing was printed: the program never ran */
	bool first;         /* a compiler that continues: an error before this one is the cause */
	const char *unless; /* a line like this, before or after, rules the error out */
	const char *place; /* a line like this before the error has its place: (?<line>…), (?<column>…), (?<file>…) */
	const char *match; /* the line with the message: (?<message>…), and the groups of `place` */
	const char *ends;  /* a line unlike this after the match shows that the program went on: no syntax error */
};

struct runtime_errors {
	const struct runtime_syntax *syntax; /* forms of a syntax error of the program */
	size_t syntax_count;                 /* number of them */
	const char *const
		*compile; /* lines of a compiler that name an error: (?<file>)(?<line>)(?<column>)(?<message>) */
	const char *const *cause; /* the line that says why the program failed: (?<message>…) */
	const char *const *noise; /* last lines without information */
};

/* A word and its translation. */
struct runtime_word {
	const char *key;   /* "cv2" */
	const char *value; /* "opencv-python" */
};

/* A kind of failure and its suggestions; see explain/explain.h. */
struct runtime_kind {
	const char *name;         /* "missing-module" */
	const char *const *types; /* types of errors, or names of signals; NULL: any */
	const char *match;        /* pattern of the message; NULL: the type is enough */
	const char *text;         /* pattern of a line of standard error; NULL: not used */
	const char *code;         /* pattern of the failing line of code; NULL: not used */
	const char *near;         /* the group whose most similar known name is {close}; NULL: no search */
	bool among_files;         /* the group is a file name: search the given files */
	const char *const *say;   /* sentences with {groups}; the first one whose values are all known is used */
	const char *fix;  /* replacement of the group, or of the text at the error's column; NULL: no change is known */
	const char *docs; /* URL of a page that explains it, or NULL */
};

/* How to read the language's failures: explain.yaml. */
struct runtime_explain {
	const char *like;                    /* another language whose words and kinds come after its own; or NULL */
	const char *start;                   /* pattern of the line that starts a trace; NULL: every frame counts */
	const char *stop;                    /* pattern of the line that ends it; NULL: it does not end */
	const char *const *frames;           /* patterns: (?<file>)(?<line>)(?<column>)(?<function>)(?<library>) */
	bool newest_last;                    /* the newest frame is printed last */
	const char *const *errors;           /* patterns of the cause: (?<type>)(?<message>) */
	const char *type;                    /* type of an error without one; NULL: "Error" */
	const char *const *looks;            /* patterns of lines of code that hardly occur in another language */
	const char *const *names;            /* names that the language defines */
	const struct runtime_word *packages; /* packages of modules */
	size_t package_count;                /* number of them */
	const struct runtime_word *homes;    /* import or include that defines a name */
	size_t home_count;                   /* number of them */
	const struct runtime_kind *kinds;    /* in the order of matching */
	size_t kind_count;                   /* number of them */
};

struct runtime_call {
	const char *name;   /* a system call that its programs need in addition to those of every box */
	const char *reason; /* why they need it */
};

struct runtime_profile {
	const char *name;            /* "restricted" */
	const char *const *commands; /* everything that can be executed; absolute paths are patterns of files that the
					commands load */
};

struct runtime_driver {
	const char *name; /* name of the file */
	const void *data; /* its content */
	size_t size;      /* bytes */
};

/* How to fork programs from a running interpreter (src/engine/ember). */
struct runtime_ember {
	const char *point; /* where the interpreter waits, see engine/ember/hook.c; NULL: forking is not supported */
	const char *const *argv; /* its command line, with placeholders; NULL: the one of a run without arguments */
	const char *const *environment; /* "K=V", in addition to the runtime's; removed before a program runs */
	const char *const *not_with;    /* patterns of variables that only a starting interpreter reads */
	bool any_entry;                 /* the program may have any name, not only `file` */
};

/* A long-lived box with a driver that keeps the language's state (emberbox-session-driver(7)). */
struct runtime_session {
	struct runtime_step step; /* the driver; without argv the language has no sessions */
	bool fork;                /* the zygote can fork it, by its first word below {drivers} */
};

struct runtime {
	const char *name;                 /* "python": the folder's name, used in requests */
	const char *display;              /* "Python": used in sentences */
	const char *const *aliases;       /* other names */
	const char *const *extensions;    /* extensions of files, without the dot */
	const char *const *interpreters;  /* words in #! lines */
	const char *file;                 /* the code's file name in the box if the caller gives none */
	const struct runtime_tool *tools; /* programs that must be installed; the first one is its path */
	size_t tool_count;                /* at least 1 */
	const char *const *needs;         /* files of which one must exist too; NULL or empty: tools are enough */
	const char *const *version;       /* a command line that prints the version */
	const char *version_pattern;      /* PCRE with (?<version>…); NULL: the first number in the output */
	const char *install;              /* the command that installs it */
	const char *const *binds;         /* host paths to show read-only; missing ones are skipped; "*" takes all */
	const char *const *scratch;       /* directories that it writes to by default; they are /tmp in a box */
	const char *const *environment;   /* "K=V" with placeholders; the caller's variables have precedence */
	struct limits limits;             /* its default limits; 0: emberbox's default */
	struct runtime_prepare prepare;   /* step before the first use */
	struct runtime_compile compile;   /* step before a run */
	const char *const *run;           /* command line of the program */
	const char *const *buffered;    /* the command line if output may stay in buffers; NULL: `run` does not flush */
	struct runtime_session session; /* its session driver */
	struct runtime_ember ember;     /* its zygote */
	bool outputs;                   /* it writes rich results to {outputs} */
	const struct runtime_call *calls;       /* additional system calls */
	size_t call_count;                      /* number of them */
	const struct runtime_profile *profiles; /* sorted by name */
	size_t profile_count;                   /* number of them */
	struct runtime_errors errors;           /* the forms of its errors */
	struct runtime_explain explain;         /* explanations of its errors */
	const struct runtime_driver *drivers;   /* the other files of the folder, at {drivers} in the box */
	size_t driver_count;                    /* number of them */
	const char *notes;                      /* one line for the table in docs/languages.md, or NULL */
	const char *broken;                     /* a user's language: the mistake in its definition; NULL: none */
	const char *stale; /* the mistake in its current definition, of which this is the previous version; or NULL */
};

/* Reads the user's languages again. Earlier results stay valid, and replace definitions that have become invalid. Call
 * it from one thread at a time. */
void runtime_reload(void);
/* Finds a language by name or alias, or NULL. */
const struct runtime *runtime_find(const char *name);
/* The name or alias that is most similar to a misspelled one, or NULL. */
const char *runtime_nearest(const char *name);
/* Whether it is one of the user's, which other processes of the program may not know. */
bool runtime_is_own(const struct runtime *runtime);
/* By index, NULL after the last: the built-in languages and the user's, sorted by name. */
const struct runtime *runtime_at(size_t index);
/* Why the user's languages are missing, one sentence; NULL: they are not. */
const char *runtime_note(void);
/* Detects the language by the file's name or the #! line of its content; NULL if unknown. */
const struct runtime *runtime_detect(const char *name, const void *head, size_t size);

/* Writes the path of a tool on this host to `out`. False if it is not installed. */
bool runtime_tool_path(const struct runtime_tool *tool, char *out, size_t size);
/*
 * The path of the first tool if all tools and needed files exist, otherwise NULL. `unchecked`: files that only the
 * compiler's check needs may be missing. Not freed; valid until the thread's next call.
 */
const char *runtime_program(const struct runtime *runtime, bool unchecked);
/* Writes the first existing file of `needs` to `out`, or "" if it needs none. False if none exists. */
bool runtime_needed_path(const char *const *needs, char *out, size_t size);
/* Runs the version command. False if the program is missing or prints no version. */
bool runtime_version(const struct runtime *runtime, char *out, size_t size);

/* Set the error for a language that is unknown, not installed, or has an invalid definition. */
int runtime_unknown(const char *name, struct error *err);
int runtime_missing(const struct runtime *runtime, struct error *err);
