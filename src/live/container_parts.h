/* One container, as the parts of live/container.h share it. */
#pragma once

#include "engine/local/account.h"
#include "run/build.h"
#include "live/channel.h"
#include "live/container.h"

#include <pthread.h>

enum container_state {
	CONTAINER_STARTING, /* its box is being made */
	CONTAINER_RUNNING,  /* its agent has greeted */
	CONTAINER_ENDED,    /* nothing of its box is left */
};

/* What it uses, or used when it ended. */
struct container_usage {
	uint64_t cpu_usec;    /* user and system, of the whole box */
	uint64_t memory;      /* bytes now; of one that has ended 0 */
	uint64_t memory_peak; /* bytes, as far as anybody knows */
	uint64_t pids;        /* processes and threads, init and agent among them */
	uint64_t oom_kills;   /* processes that the kernel killed for memory */
	bool live;            /* there is a box that uses it */
};

struct container {
	struct container *next;        /* in their list, newest first */
	unsigned users;                /* who holds it besides the list; under the containers' lock */
	struct arena arena;            /* owns the strings */
	char id[RESULT_ID];            /* its name */
	const char *profile;           /* in the registry */
	const char *owner;             /* whose it is */
	struct container_watch watch;  /* who is told of its end */
	const struct runtime *runtime; /* its language */
	const char *box_profile;       /* the language's profile, or NULL */
	bool read_only;                /* code and data cannot be written */
	bool weaker[LAYERS];           /* as its spec had it */
	bool auto_cleanup;             /* it goes when it has ended */
	bool asks;                     /* nothing runs in it unconfirmed */
	double ttl;                    /* seconds */
	enum policy_mode policy;       /* the least that runs in it are looked at by */
	struct limits limits;          /* of the box; timeout and cpu_time of an exec that does not say */
	struct timeval started;        /* for people */

	/* Of its thread; settled before anybody else looks. */
	pthread_t thread;      /* makes the box and supervises it */
	struct job job;        /* the agent's */
	struct plan plan;      /* of the box */
	struct build build;    /* what the language is prepared with: locked while the box shows it */
	struct box box;        /* itself */
	struct userns_ids ids; /* who it is on the host, for meta.isolation */

	/* Of whoever has the turn. */
	struct channel channel; /* to the agent */
	uint32_t order;         /* the last one's number */

	int stop_fd;  /* eventfd: readable once it is to end */
	int ended_fd; /* eventfd: readable once it has ended */
	int turn_fd;  /* eventfd, a semaphore: one exec at a time */

	pthread_mutex_t lock;       /* for all below */
	enum container_state state; /* how far it is */
	char why[256];              /* why it ended; the first to say so counts */
	char by[64];                /* and who ended it; "": the service */
	struct error failure;       /* why it could not be made */
	struct verdict verdict;     /* on the box, once it has ended */
	uint64_t execs;             /* begun */
	pthread_cond_t changed;     /* live, or state */
	bool live;                  /* the box's group and directories can be read */
	int handles[REPORT_FDS];    /* copies of its directories, -1: none */
	struct account *account;    /* of a box without a group, or NULL */
	uint64_t asked_usec;        /* when status was asked for last, and… */
	uint64_t asked_cpu_usec;    /* …what it had used then */
};

/* With everything but the list's part set. Makes the box, and returns when its agent has greeted. After -1 the
 * container has ended. */
int container_launch(struct container *container, const struct probe *probe, const struct spec *spec,
		     struct error *err);
/* Ends it, without waiting; `why` and `by` (NULL: the service) count if they are the first. */
void container_end_by(struct container *container, const char *why, const char *by);
void container_end(struct container *container, const char *why);
/* Waits until it has ended, with its thread. */
void container_join(struct container *container);
/* Of one that has ended, or never began, and that nobody holds: leaves only what status tells. */
void container_shrink(struct container *container);
/* The same, and the rest. */
void container_free(struct container *container);
enum container_state container_state(struct container *container);
void container_usage(struct container *container, struct container_usage *usage);

/* As containers_exec(). */
int container_exec(struct container *container, const struct probe *probe, const struct spec *spec, const char *command,
		   const struct run_ticket *ticket, const struct supervise_io *io, struct result **out,
		   struct error *err);

/*
 * One order (live/agent_order.c): what is sent for it, and the talk until its end.
 */
struct order {
	const char *const *argv;      /* NULL at the end */
	const char *const *envp;      /* the same */
	const struct job_file *files; /* to write first… */
	size_t file_count;            /* …so many */
	const void *input;            /* for its stdin; NULL: io's stdin_fd, or nothing */
	size_t input_size;            /* of it */
	struct limits limits;         /* timeout, cpu_time and cpus count */
	struct result *result;        /* gets the outputs and the verdict */
};

/* 0: it is over, and the verdict is in the result, also when that is "error". 1: there is no agent to talk to any more,
 * and the container is ending. -1: nothing was begun. */
int order_run(struct container *container, const struct order *order, const struct supervise_io *io, struct error *err);
