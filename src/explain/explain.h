/*
 * Why a program failed, and what would have helped.
 *
 * Standard error becomes a type, a message, a place, frames (the program's own
 * are marked), the lines of code around the place, and one sentence: the
 * smallest change that would have helped. All rules are data: the explain.yaml
 * of the language (language/definition_explain.h) and the table of failures of
 * any language (common.c).
 *
 * The input is hostile: the program and the sender of the code control it. So
 * explain_make() is pure, makes no system calls, and has bounded time and
 * preallocated memory; explain_confined() calls it in a process that can do
 * nothing else. The result is a struct of fixed size; the caller terminates its
 * strings and bounds its counts again.
 */
#pragma once

#include "language/errors.h"

enum {
	EXPLAIN_FRAMES = 32, /* of a trace: the newest, and of a very deep one the oldest eight as well */
	EXPLAIN_LINES = 5,   /* lines of code around the place */
};

struct explain_source {
	const char *name; /* below /sandbox/code */
	const char *data; /* its content */
	size_t size;      /* bytes */
};

struct explain_input {
	const struct runtime *runtime;    /* the language */
	const struct runtime *const *all; /* every language, NULL at the end: to recognize programs of another one */
	const char *text;                 /* standard error, terminated by a NUL */
	size_t size;                      /* its size */
	const char *file;                 /* the code file's path in the box */
	const char *told_file; /* the file where it failed, reported by an interpreter itself; NULL or empty: unknown */
	long told_line, told_column;       /* 0: unknown */
	bool exited;                       /* the program ended by itself, with */
	int exit_code;                     /* this exit code, or */
	const char *signal;                /* this signal: "SIGSEGV"; or NULL */
	bool printed;                      /* standard output is not empty */
	bool compiling;                    /* standard error is a compiler's */
	const struct explain_source *code; /* the files of the request, the code file first */
	size_t code_count;                 /* number of them */
	const char *const *files;          /* names of all files in the request, NULL at the end */
};

struct explain_frame {
	char file[256];     /* below /sandbox/code if it is there; empty: unknown */
	char function[128]; /* empty: unknown */
	char text[160];     /* that line of the code, if the request contains it */
	long line;          /* 0: unknown */
	long column;        /* 0: unknown */
	bool user;          /* a frame of the program, not of a library */
};

struct explain_line {
	long line;      /* number of the line */
	bool mark;      /* the line where the program failed */
	char text[240]; /* its text */
};

/* A change that a program can apply: replaces the characters between two columns, counted from 1, by `text`. */
struct explain_fix {
	char file[256];
	long line, column, end_column; /* line 0: there is none */
	char text[160];
};

struct explanation {
	bool there;                /* an error was found */
	struct errors_found found; /* a syntax or compile error */
	char cause[384];           /* the line that says why the program failed; empty: none */
	char type[96];             /* "ZeroDivisionError" */
	char message[384];         /* without the type */
	char file[256];            /* the failing file; empty: unknown */
	long line, column;         /* 0: unknown */
	char kind[48];             /* the name of the kind in the tables; empty: none */
	char suggestion[512];      /* one sentence; empty: none */
	char docs[200];            /* a URL; empty: none */
	char signature[200];       /* equal for equal failures: without names and numbers */
	char call[32];             /* the system call that the box refused, according to the text; or empty */
	char host[160];            /* the host that the program tried to reach, according to the text; or empty */
	struct explain_fix fix;    /* the suggestion as a change */
	size_t frame_count;        /* number of frames */
	size_t frame_total;        /* number of frames in the trace */
	struct explain_frame frames[EXPLAIN_FRAMES]; /* the newest first */
	size_t context_count;                        /* number of lines */
	struct explain_line context[EXPLAIN_LINES];  /* in the order of the file */
};

/* Pure. Leaves out parts that need more memory than the heap has. */
void explain_make(const struct explain_input *in, struct heap *heap, struct explanation *out);

/*
 * explain_make() in a forked process without descriptors in seccomp's strict
 * mode, with a timeout of EXPLAIN_MSEC. False if it died, timed out or could
 * not be created: then *out is empty.
 */
bool explain_confined(const struct explain_input *in, struct explanation *out);

/* Names of system calls that the box refuses, as programs print them; NULL at the end. */
const char *const *explain_calls(void);

/* Terminates every string and bounds every count of an untrusted struct. */
void explanation_settle(struct explanation *e);
