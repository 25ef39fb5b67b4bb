/*
 * libemberbox: run code that you do not trust, and get an answer.
 *
 *	eb_error err;
 *	eb_request *req = eb_request_new();
 *	eb_result *res = NULL;
 *
 *	eb_request_set(req, "language", "python", &err);
 *	eb_request_set_code(req, "print(6 * 7)", 12, &err);
 *	if (eb_execute(req, NULL, &res, &err) < 0)
 *		fprintf(stderr, "%s\n", err.message);
 *	else if (eb_result_json(res))
 *		puts(eb_result_json(res));
 *	eb_result_free(res);
 *	eb_request_free(req);
 *
 * Handles are opaque; each belongs to who made it and is freed by its _free
 * function, which takes NULL. A call that fails returns -1 and fills *err: that
 * is what *emberbox* failed at. What the program did is in the result. The
 * library neither prints nor exits, and is safe to use from several threads as
 * long as they do not share a handle. Languages of the user's own, in
 * $EMBERBOX_HOME/runtimes, are read when the first language is asked for.
 *
 * What eb_execute() does to the process that calls it:
 *  - It makes child processes, and waits for them and no others. A handler of
 *    SIGCHLD that reaps every child would take them away: do not have one.
 *  - It needs about 256 KiB of stack in the calling thread.
 *  - SIGPIPE is blocked in the calling thread while it works, also in on_output.
 *  - On a host with control groups of version 2 the calling process may be moved
 *    into a child of its own group, because a group with processes of its own
 *    cannot limit those of others.
 *  - It asks an interpreter once for its version and keeps the answer, and what
 *    compilers made, in $EMBERBOX_HOME, else $XDG_CACHE_HOME/emberbox, else
 *    ~/.cache/emberbox; runs are written down in $EMBERBOX_HOME, else
 *    $XDG_STATE_HOME/emberbox, else ~/.local/state/emberbox. Without any of them nothing is kept, and languages that
 *    have to be prepared (C, Go, PostgreSQL and others) cannot run.
 */
#ifndef EMBERBOX_H
#define EMBERBOX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EB_PUBLIC __attribute__((visibility("default")))

typedef struct eb_request eb_request; /* what is asked */
typedef struct eb_result eb_result;   /* what the program did */

/* What a failed call means to a caller; the values are the exit codes of `emberbox run`. */
typedef enum eb_errc {
	EB_OK = 0,
	EB_BAD_REQUEST = 2,   /* the request cannot be meant; the message names the field and the fix */
	EB_FAILED = 125,      /* emberbox or the host failed, or a layer of isolation is missing */
	EB_BLOCKED = 126,     /* a policy forbids it, or nobody agreed to it */
	EB_NO_LANGUAGE = 127, /* the language is unknown, or not installed here */
} eb_errc;

typedef struct eb_error {
	eb_errc code;       /* which kind */
	int errnum;         /* the errno behind it, or 0 */
	char message[1024]; /* one sentence */
} eb_error;

enum {
	EB_STDOUT = 1,
	EB_STDERR = 2
};

/* Begin with EB_OPTIONS_INIT, then set what is wanted. */
typedef struct eb_options {
	size_t size; /* sizeof(eb_options): tells the library how much of this its caller knows */
	/* Called with output as it comes, from the thread that called eb_execute(). */
	void (*on_output)(int stream, const void *data, size_t size, void *userdata);
	void *userdata; /* for on_output */
	int cancel_fd;  /* the run ends when this becomes readable; -1: never */
	int stdin_fd;   /* read while the program runs; -1: what eb_request_set_stdin() gave, or nothing */
	/* The run is written down in the history of `emberbox history`, as this caller's ("uid 1000"); NULL: it is not.
	 * What cannot be written down is run all the same, unless the environment has EMBERBOX_AUDIT=required. */
	const char *record;
	/* With the key tty: a pipe from which sizes of the window are read, each two uint16_t, rows and columns,
	 * written in one piece; 0: the terminal keeps the size that the request gave it. */
	int window_fd;
} eb_options;

#define EB_OPTIONS_INIT                                                                                                \
	{                                                                                                              \
		sizeof(eb_options), NULL, NULL, -1, -1, NULL, 0                                                        \
	}

/*
 * A new request, with the default of everything. Keys of eb_request_set(); all
 * values are text, as on the command line:
 *
 *   language            a name or an alias
 *   timeout, cpu-time, memory, cpus, pids, disk, max-output
 *                       limits
 *   entry               the program's path below /sandbox/code, also
 *                       "pkg/tool.py": of the code, or without code of one of the
 *                       files or of the project
 *   filename            without entry, what the code's file is called, if it has
 *                       one of the language's endings
 *   profile             one of the language's, such as "restricted" of bash
 *   check               yes or no: whether the types of TypeScript are checked
 *   policy              off, warn or block: whether its imports are looked at
 *                       first, and what happens then
 *   read-only           yes or no: whether the program cannot change
 *                       /sandbox/code and /sandbox/data
 *   tty                 yes, no or ROWSxCOLUMNS: whether its 0, 1 and 2 are a
 *                       terminal of the box; all that it writes is then EB_STDOUT
 *   project             a directory to show in /sandbox/code
 *   output              a directory to copy /sandbox/output to
 *   net                 none, or rules with commas between them: what it may
 *                       reach. net-rate, net-total, net-connections bound that
 *   engine              local or auto
 *   image               "": images are not available yet
 *
 * Each call with one of these keys adds a value:
 *
 *   arg, env (K=V), file (HOST[:BOX]), allow-weaker (a layer), package (not
 *   available yet), secret (lines: name, hosts, header, format, value)
 */
EB_PUBLIC eb_request *eb_request_new(void);
EB_PUBLIC void eb_request_free(eb_request *request);
EB_PUBLIC int eb_request_set(eb_request *request, const char *key, const char *value, eb_error *err);
EB_PUBLIC int eb_request_set_code(eb_request *request, const void *code, size_t size, eb_error *err);
EB_PUBLIC int eb_request_set_stdin(eb_request *request, const void *data, size_t size, eb_error *err);
/* A file's content under a name below /sandbox, without a file on the host. */
EB_PUBLIC int eb_request_add_content(eb_request *request, const char *box_path, const void *data, size_t size,
				     eb_error *err);

/*
 * Runs it to its end. 0: *result says what happened, also that emberbox failed
 * or the language is not installed (status "error"). -1: there is no result,
 * because the request cannot be meant (EB_BAD_REQUEST) or memory ran out.
 */
EB_PUBLIC int eb_execute(const eb_request *request, const eb_options *options, eb_result **result, eb_error *err);

/* The plan as text, one operation a line; nothing is run. The caller frees *text. */
EB_PUBLIC int eb_explain(const eb_request *request, char **text, eb_error *err);

/*
 * A result of status "error" for what a call refused, for callers that answer
 * with a result whatever happens. The request may be NULL; NULL without memory.
 */
EB_PUBLIC eb_result *eb_result_of_error(const eb_request *request, const eb_error *err);
EB_PUBLIC void eb_result_free(eb_result *result);
EB_PUBLIC const char *eb_result_status(const eb_result *result);  /* "ok", "failed", "timeout"… */
EB_PUBLIC const char *eb_result_message(const eb_result *result); /* one sentence, or NULL */
EB_PUBLIC int eb_result_exit_code(const eb_result *result);       /* as `emberbox run` exits */
EB_PUBLIC int eb_result_signal(const eb_result *result);          /* that ended the program, not sent by us; or 0 */
EB_PUBLIC const char *eb_result_json(const eb_result *result); /* the whole, as one line of JSON; NULL without memory */
/* The whole output of a stream, up to 16 MiB: reads like pread(2). */
EB_PUBLIC long eb_result_read(const eb_result *result, int stream, void *data, size_t size, uint64_t offset);

/* Which language a file is, by its name or its #! line; NULL when nothing tells. The string is static. */
EB_PUBLIC const char *eb_detect_language(const char *name, const void *head, size_t size);
/* The languages there are, installed or not, by index; NULL past the end. The string is static. */
EB_PUBLIC const char *eb_language_at(size_t index);
/* Makes what the language is prepared with (Go's standard library, PostgreSQL's template), which the first run would
 * make otherwise; it is kept with the versions. Nothing to do is success. */
EB_PUBLIC int eb_prepare(const char *language, eb_error *err);
/* What can run here; JSON, or a table for people. The caller frees *text. */
EB_PUBLIC int eb_languages(int json, char **text, eb_error *err);
/* What this host can enforce, and how to get the rest; returns 0 also when something is missing, *healthy tells. The
 * caller frees *text. */
EB_PUBLIC int eb_doctor(int json, int *healthy, char **text, eb_error *err);
/* Attacks a box on this very host; a table of what was tried and what held, *all_hold tells whether all did. The caller
 * frees *text. */
EB_PUBLIC int eb_prove(char **text, int *all_hold, eb_error *err);
EB_PUBLIC const char *eb_version(void);

#ifdef __cplusplus
}
#endif
#endif
