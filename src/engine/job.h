/*
 * A job: the task of one box. A request becomes one to three jobs, each with a
 * box of its own: prepare (once for a toolchain), compile, run.
 *
 * All decisions are made here: limits, command line, environment, files. The
 * plan only describes how to make the box.
 */
#pragma once

#include "engine/job_trust.h"
#include "result/verdict.h"
#include "schema/spec.h"
#include "language/expand.h"

struct job_file {
	const char *path; /* in the box, relative to / ("sandbox/data/x") */
	const char *host; /* a file of the host to copy, or NULL */
	int fd;           /* or an open file, copied from its current position; -1: none */
	const void *data; /* or its content */
	size_t size;      /* bytes */
	unsigned mode;    /* its mode */
};

/* A directory of the host that the box sees. */
struct job_tree {
	const char *host; /* path on the host */
	int dir;          /* the open directory; or -1 */
	const char *path; /* path in the box, relative to / */
	bool writable;    /* changes go to the work tmpfs; files of our owner are the box's uid's */
};

enum {
	JOB_TREES_MAX = 16
};

struct job {
	struct arena arena;                    /* owns the job's data */
	enum job_kind kind;                    /* kind of the job */
	const struct spec *spec;               /* the request, with the waived layers and explicit values */
	const struct runtime *runtime;         /* its language */
	struct limits limits;                  /* effective limits */
	struct surroundings around;            /* from the spec: decides how the box is made */
	const struct net_policy *network;      /* what the program may reach; NULL: nothing */
	const struct net_plant *plant;         /* what the box's network needs for that; NULL: nothing */
	const struct net_secrets *secrets;     /* the spec's, if its network needs them; NULL: none */
	const struct job_trust *trust;         /* if egress ends TLS for it; NULL: it does not */
	const char **argv;                     /* command line of the program */
	const char **envp;                     /* complete environment */
	struct job_file *files;                /* to put into the box */
	size_t file_count;                     /* number of them */
	struct job_tree trees[JOB_TREES_MAX];  /* directories to show */
	size_t tree_count;                     /* number of them */
	const struct runtime_profile *profile; /* everything that can be executed, or NULL: all of /usr */
	bool rich;                             /* {outputs} exists for rich results */
	bool agent;                            /* the program is our agent, which starts other programs */
	bool session;                          /* the program is the language's driver */
	int channel;             /* the driver's end of its channel, descriptor 3 of the program; -1: none */
	bool disk_by_memory;     /* no disk size was requested: the memory limit bounds it */
	bool read_only;          /* /sandbox/code and /sandbox/data are read-only */
	bool terminals;          /* the box has terminals of its own: /dev/pts, /dev/ptmx */
	unsigned rows, columns;  /* size of the program's terminal; 0: it has pipes */
	bool buffered;           /* output may stay in the program's buffers, where we read it: see pending.h */
	bool preloads;           /* if the program is executed rather than forked, our library finds the buffers */
	const char **start_envp; /* environment for such a start */
	const void *input;       /* its stdin, or NULL */
	size_t input_size;       /* bytes */
};

/* The results of earlier jobs. */
struct job_given {
	const char *prepared; /* the prepared tree on the host, or NULL */
	int prepared_dir;     /* the open tree; or -1 */
	int artifact;         /* the compiled program, read from the current position; or -1 */
	bool plain;           /* for a run: the input is already known, and the box has its own supervisor */
};

/* Borrows from the spec, the runtime and *given, which must outlive the job. */
int job_make(enum job_kind kind, const struct spec *spec, const struct job_given *given, struct job *job,
	     struct error *err);
void job_free(struct job *job);

/* Whether the place stays for several callers: a container or a session. */
static inline bool job_stays(const struct job *job)
{
	return job->agent || job->session;
}

/* Makes it a container's job: the program is the agent, put into the box at `path`, with a lifetime of `ttl`
 * seconds. */
int job_set_agent(struct job *job, const char *path, const void *data, size_t size, double ttl, struct error *err);

/* job_make(JOB_RUN) for the driver of the language's sessions, with a lifetime of `ttl` seconds. The runtime must have
 * one. */
int job_make_session(const struct spec *spec, const struct job_given *given, double ttl, struct job *job,
		     struct error *err);
/* Whether the driver, or every program of the language, uses the prepared tree. */
bool job_session_needs_prepared(const struct runtime *runtime);

/* Adds the prepared tree to a job that was made without it. */
int job_show_prepared(struct job *job, const char *path, int dir, struct error *err);
/* Whether programs of the language use the prepared tree, and not only their compiler. */
bool job_run_needs_prepared(const struct runtime *runtime);
