/* Shared by the parts of `emberbox run`: cmd_run.c reads the arguments, environment.c the settings, run_profile.c a
 * profile of the registry, execute.c runs. */
#pragma once

#include "client/session_link.h"
#include "cli/cmd.h"
#include "cli/program_source.h"
#include "registry/config.h"
#include "api/recorded.h"

enum run_service {
	SERVICE_AUTO,  /* use a running service */
	SERVICE_NEVER, /* do not use a service */
	SERVICE_START, /* use a running service, or start one */
};

struct run {
	eb_request *request;              /* the request */
	struct source source;             /* the code */
	const char *code;                 /* value of -c, or NULL */
	const char *file;                 /* FILE or "-", or NULL */
	const char *language;             /* value of -l, or NULL */
	const char *project;              /* value of --project, or NULL */
	const char *session;              /* value of --session, or NULL; see session_id */
	const char *of_box;               /* an option that applies when a box is made, such as --memory; or NULL */
	const char *entry;                /* value of --entry, or NULL */
	const char *stdin_from;           /* value of --stdin, or NULL */
	const char *engine;               /* value of --engine or SANDBOX_TYPE, or NULL */
	const char *engine_from;          /* the name of its source */
	enum run_service service;         /* value of EMBERBOX_SERVICE */
	int socket;                       /* connected to the service; -1: run here */
	int deferred;                     /* the service looks the language up */
	int cold;                         /* --cold, or an option that the service does not support */
	int json;                         /* --json */
	int quiet;                        /* --quiet */
	int tty;                          /* --tty */
	int explain;                      /* --explain */
	int help;                         /* --help */
	int yes;                          /* --yes */
	const char *net_given;            /* value of --net, or NULL */
	int secret_stdin;                 /* a --secret was read from standard input */
	const char *profile;              /* value of --profile, or NULL */
	const struct profile *of;         /* the registry's profile of that name; NULL: a language's, or none */
	const char *registry;             /* value of --registry, or NULL */
	const char *policy;               /* value of --policy, or NULL */
	struct config config;             /* the settings */
	char session_id[SESSION_ID_SIZE]; /* id of that session */
};

/* These functions report an error that occurred before there was a result, and return the exit code. */
int run_refused(const struct run *run, const eb_error *err);
int run_usage(const struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
int run_failed(const struct run *run, const struct error *err);
/* run_refused() for an invalid setting in any source. */
int run_misconfigured(const struct run *run, const struct error *err);
/* run_refused() for a run that was not confirmed, with a record in the history. */
int run_blocked(const struct run *run, const eb_error *err);
/* Prints the object's line; `json` NULL: memory ran out. Returns `code` unless printing failed. */
int run_print_json(const char *json, int code);
/* Looks the language up that was left to the service. Returns 0, or an exit code. */
int run_settle_language(struct run *run);

enum {
	RUN_CALLER_MAX = 32 /* bytes of "uid N" */
};
/* Who runs it here, for history; the name is put into `caller`. */
struct recorded_by run_recorded_as(const struct run *run, char caller[RUN_CALLER_MAX]);

/* All that follow return 0, or an exit code. */
int run_set_engine(struct run *run, const char *engine, const char *from);
/* Reads the settings, from wherever they come. */
int run_configure(struct run *run);
/* The profile of the registry or of the language, and the registry's settings for what is still open. */
int run_apply_profile(struct run *run);
/* By whose lists the program is looked at, when its language is known; that it is not, though the settings say so, is
 * written down. */
int run_settle_policy(struct run *run);
/* Asks a person where that profile wants it; whoever decided what is written down. */
int run_confirm(struct run *run);
/* A --secret, whose value is looked up. */
int run_take_secret(struct run *run, const char *text);
/* Runs it and tells how it ended. */
int run_execute(struct run *run);

/* A connection to the service, or -1: there is none that we would use. */
int service_connect(void);
/* The same after starting one that stays when we are gone; what hinders that is said. */
int service_start(bool listen);
