/*
 * Languages, described by data.
 *
 * Each is a folder: runtime.yaml, which definition.c reads, and driver scripts
 * beside it. Those of runtimes/ are compiled into the program as tables
 * (tools/runtime_gen.c), so that a run reads no file for them; a user's own, in
 * EMBERBOX_HOME/runtimes/, are read when the first language is asked for, and
 * beat a built-in one of the same name.
 *
 * A step is a command line with placeholders in braces, which expand.c fills:
 * {python} and the like are tools, the rest is listed in definition.h.
 */
#pragma once

#include "base/error.h"
#include "schema/limits.h"

#include <stdbool.h>
#include <stddef.h>

/* Lists of strings end with NULL, also empty ones; none is NULL itself unless that is said. */

struct runtime_tool {
	const char *name; /* the placeholder */
	const char *const
		*candidates; /* absolute paths, the first that can be executed; "*" takes the highest version */
};

struct runtime_step {
	const char *const *argv;        /* with placeholders; NULL: there is no such step */
	const char *const *environment; /* "K=V" with placeholders, beside the runtime's own */
	struct limits limits;           /* 0: the default */
};

struct runtime_prepare {
	struct runtime_step step; /* leaves files in /sandbox/output, once for a toolchain */
	bool writable;            /* programs get a copy of them that they may change */
};

struct runtime_compile {
	struct runtime_step step;     /* leaves `artifact` in /sandbox/output */
	const char *const *unchecked; /* the command line with --no-check; NULL: there is no check to leave out */
	const char *const *needs;     /* files, one of which the check needs; NULL or none: it needs none */
	const char *const *sources;   /* patterns of file names: which of the files given it sees */
	const char *artifact;         /* the name of what it makes */
};

/* How a syntax error looks, line by line of standard error; see errors.h. Patterns are PCRE; NULL: not used. */
struct runtime_syntax {
	int exit;           /* the exit code it comes with; -1: any */
	bool silent;        /* only when nothing was printed: the program never ran */
	bool first;         /* of a compiler that goes on: another error before it is the cause */
	const char *unless; /* a line like this, before or after, says that it is none */
	const char *place;  /* a line like this before it tells where: (?<line>…), (?<column>…), (?<file>…) */
	const char *match;  /* the line that tells what: (?<message>…), and the same */
	const char *ends;   /* a line unlike this after the match says that the program went on: it is none */
};

struct runtime_errors {
	const struct runtime_syntax *syntax; /* forms of a syntax error of the program */
	size_t syntax_count;                 /* how many */
	const char *const
		*compile; /* lines of a compiler that name an error: (?<file>)(?<line>)(?<column>)(?<message>) */
	const char *const *cause; /* the line of standard error that says why the program failed: (?<message>…) */
	const char *const *noise; /* lines at its end that say nothing */
};

/* A word, and what is known of it. */
struct runtime_word {
	const char *key;   /* "cv2" */
	const char *value; /* "opencv-python" */
};

/* A kind of failure, and what would have helped; see explain/explain.h. */
struct runtime_kind {
	const char *name;         /* "missing-module" */
	const char *const *types; /* of the error, or signals' names; NULL: any */
	const char *match;        /* pattern of the message; NULL: its type is enough */
	const char *text;         /* pattern of a line of standard error; NULL: not asked */
	const char *code;         /* pattern of the line of code where it failed; NULL: not asked */
	const char *near;         /* the group whose nearest known name is {close}; NULL: none is looked for */
	bool among_files;         /* it is the name of a file: nearest of those given */
	const char *const *say;   /* sentences with {groups}; the first of which all are known */
	const char *fix;          /* what stands for the group, or at the error's column; NULL: nobody can tell */
	const char *docs;         /* a page that explains it, or NULL */
};

/* How its failures are read: explain.yaml beside the definition. */
struct runtime_explain {
	const char *like;                    /* another language, whose words and kinds come after its own; NULL */
	const char *start;                   /* pattern of a line at which a trace begins; NULL: any frame counts */
	const char *stop;                    /* pattern of a line at which it ends; NULL: it goes on */
	const char *const *frames;           /* patterns: (?<file>)(?<line>)(?<column>)(?<function>)(?<library>) */
	bool newest_last;                    /* in which order they are printed */
	const char *const *errors;           /* patterns of the cause: (?<type>)(?<message>) */
	const char *type;                    /* of an error that names none; NULL: "Error" */
	const char *const *looks;            /* patterns of lines of code that hardly another language has */
	const char *const *names;            /* that it knows by itself */
	const struct runtime_word *packages; /* what a module's package is called */
	size_t package_count;                /* how many */
	const struct runtime_word *homes;    /* what has to be imported or included for a name */
	size_t home_count;                   /* how many */
	const struct runtime_kind *kinds;    /* in the order in which they are tried */
	size_t kind_count;                   /* how many */
};

struct runtime_call {
	const char *name;   /* a system call that its programs need besides those of every box */
	const char *reason; /* why */
};

struct runtime_profile {
	const char *name;            /* "restricted" */
	const char *const *commands; /* all that can be executed; absolute paths are patterns of files that they load */
};

struct runtime_driver {
	const char *name; /* of the file */
	const void *data; /* its content */
	size_t size;      /* of it */
};

/* How its programs are forked from an interpreter that runs already (src/engine/ember). */
struct runtime_ember {
	const char *point;              /* where that waits, see engine/ember/hook.c; NULL: it cannot be forked */
	const char *const *argv;        /* its command line, with placeholders; NULL: that of a run without arguments */
	const char *const *environment; /* "K=V", beside the runtime's own, and gone when a program runs */
	const char *const *not_with;    /* patterns of variables that only an interpreter's start reads */
	bool any_entry;                 /* the program may have any name, not only `file` */
};

/* A box that lives, with a driver in it that keeps the language's state (emberbox-session-driver(7)). */
struct runtime_session {
	struct runtime_step step; /* the driver; without argv: the language has no sessions */
	bool fork;                /* the zygote can be told to run it, by its first word below {drivers} */
};

struct runtime {
	const char *name;                 /* "python", as requests have it: the folder's name */
	const char *display;              /* "Python", as sentences have it */
	const char *const *aliases;       /* other names */
	const char *const *extensions;    /* of files, without the dot */
	const char *const *interpreters;  /* words in #! lines */
	const char *file;                 /* the code's name in the box when the caller gives none */
	const struct runtime_tool *tools; /* what has to be installed; the first is "where it is" */
	size_t tool_count;                /* at least 1 */
	const char *const *needs;         /* files, one of which has to be there too; NULL or none: tools will do */
	const char *const *version;       /* a command line that prints the version */
	const char *version_pattern;      /* PCRE with (?<version>…), NULL: the first number in what is printed */
	const char *install;              /* the command that installs it */
	const char *const *binds;         /* host paths to show read-only; missing ones are left out; "*" takes all */
	const char *const *scratch;     /* directories that it writes to without being told, which are /tmp in a box */
	const char *const *environment; /* "K=V" with placeholders; the caller's beat them */
	struct limits limits;           /* its own defaults; 0: emberbox's */
	struct runtime_prepare prepare; /* before the first use */
	struct runtime_compile compile; /* before a run */
	const char *const *run;         /* the program */
	const char *const *buffered;    /* the same where its output may stay in its buffers; NULL: it writes at once */
	struct runtime_session session; /* its driver */
	struct runtime_ember ember;     /* its zygote */
	bool outputs;                   /* it writes rich results to {outputs} */
	const struct runtime_call *calls;       /* additions to the system call filter */
	size_t call_count;                      /* how many */
	const struct runtime_profile *profiles; /* by name */
	size_t profile_count;                   /* how many */
	struct runtime_errors errors;           /* how its errors look */
	struct runtime_explain explain;         /* what they mean */
	const struct runtime_driver *drivers;   /* the other files of the folder, in the box at {drivers} */
	size_t driver_count;                    /* how many */
	const char *notes;                      /* one line for the table in docs/languages.md, or NULL */
	const char *broken; /* of the user's own: what is wrong with its definition; NULL: nothing */
	const char *stale;  /* what is wrong with the definition as it is now: this is the one of before; or NULL */
};

/* Reads the user's own again. What was found before stays valid, and is what counts of a definition that has become
 * wrong. From one thread at a time. */
void runtime_reload(void);
/* By name or alias; NULL when there is none. */
const struct runtime *runtime_find(const char *name);
/* The name of the language that was perhaps meant, by its name or an alias; or NULL. */
const char *runtime_nearest(const char *name);
/* Whether it is the user's own: not among those that every process of the program knows. */
bool runtime_is_own(const struct runtime *runtime);
/* By index, NULL past the end: the built-in ones and the user's, sorted by name. */
const struct runtime *runtime_at(size_t index);
/* Why the user's own are not among them, one sentence; NULL: they are, or there are none. */
const char *runtime_note(void);
/* By the file's name or the #! line at the head of its content; NULL when nothing tells. */
const struct runtime *runtime_detect(const char *name, const void *head, size_t size);

/* The path of a tool on this host into out; false when it is not installed. */
bool runtime_tool_path(const struct runtime_tool *tool, char *out, size_t size);
/*
 * The first tool's path, if all of them are there, and the files that it needs; NULL otherwise. `unchecked`: what only
 * the compiler's check needs may be missing. Not freed; valid until the thread asks again.
 */
const char *runtime_program(const struct runtime *runtime, bool unchecked);
/* Which of the files it needs is there, into out; false if it needs one and none is. "" if it needs none. */
bool runtime_needed_path(const char *const *needs, char *out, size_t size);
/* Asks the program itself; false when it is missing or does not say. */
bool runtime_version(const struct runtime *runtime, char *out, size_t size);

/* Fill the error with the sentence for an unknown language, one that is not installed, one whose definition is broken.
 */
int runtime_unknown(const char *name, struct error *err);
int runtime_missing(const struct runtime *runtime, struct error *err);
