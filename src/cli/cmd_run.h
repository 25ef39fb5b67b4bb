/* What the parts of `emberbox run` share: cmd_run.c reads the arguments, environment.c the settings, run_profile.c a
 * profile of the registry, execute.c runs. */
#pragma once

#include "client/session_link.h"
#include "cli/cmd.h"
#include "cli/program_source.h"
#include "registry/config.h"
#include "api/recorded.h"

enum run_service {
	SERVICE_AUTO,  /* the one that is there */
	SERVICE_NEVER, /* none */
	SERVICE_START, /* the one that is there, else start it */
};

struct run {
	eb_request *request;      /* what is asked */
	struct source source;     /* the code */
	const char *code;         /* of -c, or NULL */
	const char *file;         /* FILE or "-", or NULL */
	const char *language;     /* of -l, or NULL */
	const char *project;      /* of --project, or NULL */
	const char *session;      /* of --session, or NULL; then session_id */
	const char *of_box;       /* an option that is said of a box when it is made, such as --memory; or NULL */
	const char *entry;        /* of --entry, or NULL */
	const char *stdin_from;   /* of --stdin, or NULL */
	const char *engine;       /* of --engine or SANDBOX_TYPE, or NULL */
	const char *engine_from;  /* which of them */
	enum run_service service; /* of EMBERBOX_SERVICE */
	int socket;               /* to the service; -1: the run is ours */
	int deferred;             /* the language is not looked up: the service does */
	int cold;                 /* --cold, or something that no service can do */
	int json;                 /* --json */
	int quiet;                /* --quiet */
	int tty;                  /* --tty */
	int explain;              /* --explain */
	int help;                 /* --help */
	int yes;                  /* --yes */
	const char *net_given;    /* of --net, or NULL */
	const char *profile;      /* of --profile, or NULL */
	const struct profile *of; /* the registry's of that name; NULL: it is the language's, or none */
	const char *registry;     /* of --registry, or NULL */
	const char *policy;       /* of --policy, or NULL */
	struct config config;     /* the settings */
	char session_id[SESSION_ID_SIZE]; /* of the session that was meant */
};

/* All three say what failed before there was a result and return the exit code. */
int run_refused(const struct run *run, const eb_error *err);
int run_usage(const struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
int run_failed(const struct run *run, const struct error *err);
/* The same of settings, wherever they stand. */
int run_misconfigured(const struct run *run, const struct error *err);
/* The same of a run that nobody agreed to, which history is to know of. */
int run_blocked(const struct run *run, const eb_error *err);
/* An object's line; `json` NULL: memory ran out. Returns `code` unless that failed. */
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
/* Runs it and tells how it ended. */
int run_execute(struct run *run);

/* A connection to the service, or -1: there is none that we would use. */
int service_connect(void);
/* The same after starting one that stays when we are gone; what hinders that is said. */
int service_start(bool listen);
