/*
 * A job: what one box is to do. A request becomes one, two or three of them,
 * each in a box of its own: prepare (once for a toolchain), compile, run.
 *
 * Everything is settled here: limits, command line, environment, files. The
 * plan then only says how to make the box.
 */
#pragma once

#include "engine/job_trust.h"
#include "result/verdict.h"
#include "schema/spec.h"
#include "language/expand.h"

struct job_file {
	const char *path; /* in the box, relative to / ("sandbox/data/x") */
	const char *host; /* a file of the host to copy, or NULL */
	int fd;           /* or one that is open, to be copied from where it stands; -1: none */
	const void *data; /* or the content */
	size_t size;      /* of it */
	unsigned mode;    /* permissions */
};

/* A directory of the host that the box sees. */
struct job_tree {
	const char *host; /* its path */
	int dir;          /* the same, open; or -1 */
	const char *path; /* where, relative to / */
	bool writable;    /* changes go to the work tmpfs; the box's uid owns what our files' owner does */
};

enum {
	JOB_TREES_MAX = 16
};

struct job {
	struct arena arena;                    /* owns what is made here */
	enum job_kind kind;                    /* which */
	const struct spec *spec;               /* the request: layers given up, and what was asked for explicitly */
	const struct runtime *runtime;         /* its language */
	struct limits limits;                  /* all of them */
	struct surroundings around;            /* the spec's: what its box is made of */
	const struct net_policy *network;      /* what it may reach; NULL: nothing */
	const struct net_plant *plant;         /* what its box's network needs for that; NULL: nothing */
	const struct net_secrets *secrets;     /* the spec's, if its network needs them; NULL: none */
	const struct job_trust *trust;         /* if egress ends TLS for it; NULL: it does not */
	const char **argv;                     /* the program */
	const char **envp;                     /* its whole environment */
	struct job_file *files;                /* to put into the box */
	size_t file_count;                     /* how many */
	struct job_tree trees[JOB_TREES_MAX];  /* to show it */
	size_t tree_count;                     /* how many */
	const struct runtime_profile *profile; /* all that can be executed, or NULL: all of /usr */
	bool rich;                             /* it may write to {outputs} */
	bool agent;                            /* its program is our agent, which brings what else there is to run */
	bool session;                          /* its program is the language's driver */
	int channel;             /* the driver's end of its channel, descriptor 3 of the program; -1: none */
	bool disk_by_memory;     /* nobody asked for the size of its disk: its memory bounds it */
	bool read_only;          /* /sandbox/code and /sandbox/data cannot be changed */
	bool terminals;          /* it has terminals of its own: /dev/pts, /dev/ptmx */
	unsigned rows, columns;  /* of the one that is its program's 0, 1, 2; 0: pipes are */
	bool buffered;           /* its output may stay in its buffers, where we look for it: see pending.h */
	bool preloads;           /* …and if it is executed, not forked, our library finds them */
	const char **start_envp; /* the environment it is then executed with */
	const void *input;       /* its stdin, or NULL */
	size_t input_size;       /* of it */
};

/* What a job needs of those before it. */
struct job_given {
	const char *prepared; /* the prepared tree on the host, or NULL */
	int prepared_dir;     /* the same, open; or -1 */
	int artifact;         /* the compiler's work, read from where it stands; or -1 */
	bool plain;           /* of a run: its input is known already, and its box has a supervisor of its own */
};

/* Borrows from the spec, the runtime and *given, which must outlive it. */
int job_make(enum job_kind kind, const struct spec *spec, const struct job_given *given, struct job *job,
	     struct error *err);
void job_free(struct job *job);

/* Whether its place stays, and serves its callers one after the other: a container's, or a session's. */
static inline bool job_stays(const struct job *job)
{
	return job->agent || job->session;
}

/* Makes it a container's: its program is this one, put into the box at `path`, without time of its own but `ttl`
 * seconds. */
int job_set_agent(struct job *job, const char *path, const void *data, size_t size, double ttl, struct error *err);

/* As job_make(JOB_RUN), but its program is the driver of the language's sessions, without time of its own but `ttl`
 * seconds. The runtime has one. */
int job_make_session(const struct spec *spec, const struct job_given *given, double ttl, struct job *job,
		     struct error *err);
/* Whether its driver, or what every program of the language has, looks at the prepared tree. */
bool job_session_needs_prepared(const struct runtime *runtime);

/* Shows the prepared tree to a job that was made without it. */
int job_show_prepared(struct job *job, const char *path, int dir, struct error *err);
/* Whether programs of the language look at it, or only their compiler. */
bool job_run_needs_prepared(const struct runtime *runtime);
