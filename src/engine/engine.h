/*
 * Engines: what executes a job.
 *
 * A run (run/run.h) turns a request into jobs. Each job is given to an engine, which makes a place for the job's
 * program, watches the program until it ends, and removes the place. Everything above this file is written against
 * these functions and knows no engine by name.
 *
 * Engines are asked in the order of the table (engine_table.c). An engine that has no place for a job declines it, and
 * the next engine is asked. To add an engine, write a folder with a `struct engine`, and add its row to the table.
 */
#pragma once

#include "engine/box_network.h"
#include "engine/job.h"
#include "engine/local/box_report.h"
#include "engine/local/box_terminal.h"
#include "result/result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum engine_can {
	ENGINE_BUILDS = 1 << 0,     /* executes jobs that prepare a language or compile */
	ENGINE_IS_WARM = 1 << 1,    /* makes its places before they are requested: meta.start */
	ENGINE_CLOSES_LATE = 1 << 2 /* a place is closed after the result was sent, which cannot fail */
};

/* For a process that executes many runs. */
struct engine_options {
	size_t embers_max;                                    /* maximum of idle places */
	uint64_t memory_max;                                  /* estimated bytes of memory for idle places */
	struct egress_link *egress;                           /* the service's process that connects out */
	void (*say)(const char *format, ...) EB_PRINTF(1, 2); /* reports failures of idle places; or NULL */
};

struct engine_stats {
	size_t idle;     /* idle places */
	size_t zygotes;  /* interpreters that places are forked from */
	uint64_t warm;   /* runs that got a place */
	uint64_t cold;   /* runs that did not get one */
	uint64_t forked; /* places made ahead */
	uint64_t failed; /* places that could not be made, or died before they were used */
};

/* The caller's side of a program that is executed. */
struct engine_io {
	/* Called with output of stream 1 or 2 as it arrives; or NULL. */
	void (*on_output)(int stream, const void *data, size_t size, void *userdata);
	/* on_output() for large output: the bytes are in a file, where they do not change; or NULL. */
	void (*on_kept)(int stream, int file, uint64_t offset, size_t size, void *userdata);
	/* Called before the program starts, when the place's directories exist; or NULL. */
	void (*on_started)(void *userdata);
	/* Called when egress has reported connections of the program: `from` is the first new one; or NULL. */
	void (*on_network)(const struct net_report *report, size_t from, void *userdata);
	void *userdata;              /* argument of all functions */
	int cancel_fd;               /* readable: end the run; -1: never */
	int stdin_fd;                /* the program's input; -1: the spec's */
	struct box_network *network; /* the open network of the program's box; NULL: none */
	int window_fd; /* for a run with a terminal: a pipe of struct terminal_size; 0 or less: the size is fixed */
};

/* Resource usage of a place. */
struct engine_usage {
	uint64_t cpu_usec;    /* user and system, of the whole place since the start of its program */
	uint64_t memory;      /* bytes now */
	uint64_t memory_peak; /* bytes; without a control group, the highest sample */
	uint64_t pids;        /* processes and threads, including init and the program */
	uint64_t oom_kills;   /* processes killed by the kernel because of memory */
};

/* The location and owner of a place's files. */
struct engine_files {
	const int *handles; /* its directories (REPORT_FD_…), borrowed; -1: none */
	bool own;           /* it has a host uid of its own */
	uid_t uid;          /* uid on the host */
	gid_t gid;          /* gid on the host */
};

/* A second program in a place, on a terminal of its own. */
struct engine_exec {
	const struct job *job; /* the job of the place's first program: its limits and profile */
	int inside;            /* pidfd of a process in the place other than init, whose namespaces cannot be opened */
	struct terminal_size size;   /* of the terminal */
	const char *const *programs; /* the first existing one is executed; NULL at the end */
	const char *const *envp;     /* environment of the program; NULL at the end */
};

/* A second program that is starting. */
struct engine_execution {
	pid_t pid;  /* our child, which ends with the program; wait for it with clone_wait() */
	int socket; /* its reports arrive here */
	/* Waits for the start and returns the other side of the terminal, non-blocking. After -1 the child has been
	 * reaped. Programs in the place could delay the child, so there is a timeout of some seconds; do not hold a
	 * lock meanwhile. */
	int (*await)(struct engine_execution *execution, struct error *err);
};

struct engine;

/* A place with a program in it. The implementation embeds this at the beginning of its own struct. */
struct engine_place {
	const struct engine *engine; /* implements the place */
};

/*
 * A kind of engine. `self` is the result of open(); a process opens each kind once. All functions except open() and
 * close() are thread-safe. place_close() comes last: a caller that uses a place while another thread watches it must
 * prevent that thread from closing it (live/resident.c).
 */
struct engine {
	const char *runtime;       /* meta.runtime of its results */
	enum engine_choice choice; /* the choice that selects it in a request */
	unsigned can;              /* enum engine_can */

	/* Probes the host. `options` NULL: this process executes only one run. Returns 1 if the engine cannot be used
	 * here. */
	int (*open)(const struct engine_options *options, void **self, struct error *err);
	/* All places must be closed. */
	void (*close)(void *self);
	/* Called when languages may have changed. NULL: the engine has no state about them. */
	void (*reload)(void *self);
	/* Adds to the counts. NULL: it has none. */
	void (*stats)(void *self, struct engine_stats *stats);
	/* Prints what place_open() would do for the job. NULL: not supported. */
	int (*explain)(void *self, const struct job *job, struct buf *out, struct error *err);

	/* Makes a place, in which the job's program starts. The job has to outlive the place. 1: the job is not for
	 * this engine. */
	int (*place_open)(void *self, const struct job *job, struct engine_place **out, struct error *err);
	/* Watches the program until nothing of it lives. io->cancel_fd interrupts it. 1: the place was unusable, and
	 * nothing was executed in it. */
	int (*place_watch)(struct engine_place *place, const struct job *job, const struct engine_io *io,
			   struct output outputs[2], struct verdict *verdict);
	/* Adds the layers in force and the limits that are not enforced to the result. */
	int (*place_describe)(const struct engine_place *place, struct result *result, struct error *err);
	void (*place_files)(const struct engine_place *place, struct engine_files *files);
	/* The sockets planted in its network for the job's policy. NULL: the engine does not support networks. */
	const struct egress_sockets *(*place_sockets)(const struct engine_place *place);
	/* Ends all processes in the place, and frees it. -1: something could not be removed. */
	int (*place_close)(struct engine_place *place, struct error *err);

	/* For a place that stays (job_stays()): containers and sessions. NULL: not supported. */

	/* Called before place_watch(): passes the program's stdin, stdout and stderr to the caller. */
	void (*place_take_streams)(struct engine_place *place, int *input, int output[2]);
	/* Values that cannot be read are unchanged. */
	void (*place_usage)(const struct engine_place *place, struct engine_usage *usage);
	/* The free part of the memory limit, and a descriptor of the control group with which a process can be charged
	 * to it (the caller closes it; -1: none). -1 with errno. */
	int (*place_room)(const struct engine_place *place, uint64_t memory, uint64_t *room, int *group);
	/* Plants additional sockets in the network of a running place, for a new policy. `inside` is as in struct
	 * engine_exec. The caller closes the sockets. NULL: not supported. */
	int (*place_plant)(const struct engine_place *place, int inside, const struct net_plant *plant,
			   struct egress_sockets *sockets, struct error *err);
	/* Starts a second program in the place, without waiting: `what` is not needed afterwards. -1: nothing was
	 * started. */
	int (*place_exec)(const struct engine_place *place, const struct engine_exec *what,
			  struct engine_execution *execution, struct error *err);
};

enum {
	ENGINES_MAX = 8 /* rows of a table */
};

/* The engines of a process, in the order of the table. */
struct engines {
	struct egress_way *way; /* link to the process that connects out; owned */
	size_t count;
	struct {
		const struct engine *engine; /* kind of the engine */
		void *self;                  /* result of open() */
	} open[ENGINES_MAX];
};

/* Opens the network of a place for the job's policy. Without a policy, the network stays closed. */
int engines_network(const struct engines *engines, const struct engine_place *place, const struct job *job,
		    struct box_network *network, struct error *err);

/* engines_network() with the given sockets; the other members of *network are unchanged. */
int engines_network_open(const struct engines *engines, const struct net_policy *policy,
			 const struct net_secrets *secrets, const struct egress_sockets *sockets,
			 struct box_network *network, struct error *err);

/* Whether the engine can be asked for a place: by the request's choice, and the engine's capabilities. */
bool engine_may(const struct engine *engine, const struct job *job);

/* All engines, NULL at the end: engine_table.c. */
extern const struct engine *const engine_table[];

/* Opens the usable engines of the table. After -1 none is open. */
int engines_open(struct engines *engines, const struct engine *const *table, const struct engine_options *options,
		 struct error *err);
void engines_close(struct engines *engines);
void engines_reload(const struct engines *engines);
void engines_stats(const struct engines *engines, struct engine_stats *stats);

/* Called when the program has ended, while the place's directories are readable: collects files. */
typedef int engine_collect(const int handles[], struct result *result, void *userdata, struct error *err);

/* Executes a job in the first engine that accepts it. -1: no place could be made. Otherwise the verdict, the output and
 * the layers are in the result, also with the status "error" if something failed later. */
int engines_run(const struct engines *engines, const struct job *job, const struct engine_io *io, struct result *result,
		engine_collect *collect, void *userdata, struct error *err);
/* Prints the plan of the first engine that supports it. */
int engines_explain(const struct engines *engines, const struct job *job, struct buf *out, struct error *err);
