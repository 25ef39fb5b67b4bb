/*
 * Engines: what executes a job.
 *
 * A run (run/run.h) turns a request into jobs. Each job is given to an engine, which makes a place for the job's
 * program, watches the program until it ends, and takes the place away. Everything above this file is written against
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
	ENGINE_IS_WARM = 1 << 1,    /* makes its places before they are asked for: meta.start */
	ENGINE_CLOSES_LATE = 1 << 2 /* a place is closed after the result was sent, which cannot fail */
};

/* Of a process that serves many runs. */
struct engine_options {
	size_t embers_max;                                    /* idle places altogether */
	uint64_t memory_max;                                  /* bytes that idle places may take, by an estimate */
	struct egress_link *egress;                           /* the service's process that connects out */
	void (*say)(const char *format, ...) EB_PRINTF(1, 2); /* reports what went wrong with idle places; or NULL */
};

struct engine_stats {
	size_t idle;     /* places that wait */
	size_t zygotes;  /* interpreters that places are forked from */
	uint64_t warm;   /* runs that found a place */
	uint64_t cold;   /* runs that did not */
	uint64_t forked; /* places made ahead */
	uint64_t failed; /* places that could not be made, or died before they were used */
};

/* The caller's side of a program that is executed. */
struct engine_io {
	/* Output of stream 1 or 2, as it comes; or NULL. */
	void (*on_output)(int stream, const void *data, size_t size, void *userdata);
	/* The same, of much output: the bytes are in a file, which is not changed any more; or NULL. */
	void (*on_kept)(int stream, int file, uint64_t offset, size_t size, void *userdata);
	/* The program is about to run, and the place's directories are there; or NULL. */
	void (*on_started)(void *userdata);
	/* Egress has reported more of the program's network: its connections are those from `from` on; or NULL. */
	void (*on_network)(const struct net_report *report, size_t from, void *userdata);
	void *userdata;              /* for all of them */
	int cancel_fd;               /* readable: the run is to end; -1: never */
	int stdin_fd;                /* the program's input; -1: the spec's */
	struct box_network *network; /* open, of the program's box; NULL: it has none */
	int window_fd; /* of a run with a terminal: a pipe of struct terminal_size; 0 or less: its size stays */
};

/* What a place uses. */
struct engine_usage {
	uint64_t cpu_usec;    /* user and system, of the whole place since its program began */
	uint64_t memory;      /* bytes now */
	uint64_t memory_peak; /* bytes; without a control group, the highest that was seen */
	uint64_t pids;        /* processes and threads, init and the program itself among them */
	uint64_t oom_kills;   /* processes that the kernel killed for memory */
};

/* Where the files of a place are, and whose. */
struct engine_files {
	const int *handles; /* its directories (REPORT_FD_…), borrowed; -1: none */
	bool own;           /* its uid on the host is its own… */
	uid_t uid;          /* …this one */
	gid_t gid;          /* the same of its group */
};

/* A second program in a place, at a terminal of its own. */
struct engine_exec {
	const struct job *job; /* the job of the place's first program: its limits and profile */
	int inside;            /* pidfd of a process in the place other than init, whose namespaces cannot be opened */
	struct terminal_size size;   /* of the terminal */
	const char *const *programs; /* the first one that exists is executed; NULL at the end */
	const char *const *envp;     /* the program's environment; NULL at the end */
};

/* A program that begins. */
struct engine_execution {
	pid_t pid;  /* our child, which ends when the program does; to be waited for with clone_wait() */
	int socket; /* by which it reports */
	/* Returns the terminal's other side, non-blocking. After -1 the child was waited for. Programs in the place may
	 * hinder the child, so this gives up after some seconds; the caller may not hold a lock meanwhile. */
	int (*await)(struct engine_execution *execution, struct error *err);
};

struct engine;

/* A place with a program in it. The implementation embeds this at the beginning of its own struct. */
struct engine_place {
	const struct engine *engine; /* whose functions it has */
};

/*
 * One kind of engine. `self` is what open() made; a process opens each kind once. All functions but open() and close()
 * may be called from any thread. place_close() comes last: whoever asks about a place while another thread watches it
 * has to keep that thread from closing it (live/resident.c).
 */
struct engine {
	const char *runtime;       /* meta.runtime of its results */
	enum engine_choice choice; /* the one by which a request names it */
	unsigned can;              /* enum engine_can */

	/* Probes the host. `options` NULL: this process executes one run only. 1: the engine is of no use here. */
	int (*open)(const struct engine_options *options, void **self, struct error *err);
	/* All places have to be closed. */
	void (*close)(void *self);
	/* Languages may have changed. NULL: the engine keeps no state of them. */
	void (*reload)(void *self);
	/* Adds its counts. NULL: it has none. */
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
	/* Fills in what the result says of the place: the layers in force, and which limits are not enforced. */
	int (*place_describe)(const struct engine_place *place, struct result *result, struct error *err);
	void (*place_files)(const struct engine_place *place, struct engine_files *files);
	/* The sockets that were planted in its network, for the job's policy. NULL: the engine executes no jobs with a
	 * network. */
	const struct egress_sockets *(*place_sockets)(const struct engine_place *place);
	/* Ends what is left in it, and frees it. -1: something could not be removed. */
	int (*place_close)(struct engine_place *place, struct error *err);

	/* Of a place that stays (job_stays()): containers and sessions. NULL: the engine has no such places. */

	/* Called before place_watch(): gives the caller the program's stdin, stdout and stderr. */
	void (*place_take_streams)(struct engine_place *place, int *input, int output[2]);
	/* Values that cannot be read stay as they were. */
	void (*place_usage)(const struct engine_place *place, struct engine_usage *usage);
	/* How much of the memory limit is left, and a descriptor of the control group by which a process is charged to
	 * it (the caller closes it; -1: none). -1 with errno. */
	int (*place_room)(const struct engine_place *place, uint64_t memory, uint64_t *room, int *group);
	/* Plants more sockets in the network of a live place, for a new policy. `inside` is as in struct engine_exec.
	 * The caller closes the sockets. NULL: the engine cannot. */
	int (*place_plant)(const struct engine_place *place, int inside, const struct net_plant *plant,
			   struct egress_sockets *sockets, struct error *err);
	/* Starts a second program in it, without waiting: `what` is not needed afterwards. -1: nothing was started. */
	int (*place_exec)(const struct engine_place *place, const struct engine_exec *what,
			  struct engine_execution *execution, struct error *err);
};

enum {
	ENGINES_MAX = 8 /* rows of a table */
};

/* The engines of a process, in the order in which they are asked. */
struct engines {
	struct egress_way *way; /* to the process that connects out; owned */
	size_t count;
	struct {
		const struct engine *engine; /* its functions */
		void *self;                  /* what open() made */
	} open[ENGINES_MAX];
};

/* Opens the network of a place for the job's policy; a job without one has a network that is not open. */
int engines_network(const struct engines *engines, const struct engine_place *place, const struct job *job,
		    struct box_network *network, struct error *err);

/* The same with sockets that were planted; the rest of *network stays as it is. */
int engines_network_open(const struct engines *engines, const struct net_policy *policy,
			 const struct net_secrets *secrets, const struct egress_sockets *sockets,
			 struct box_network *network, struct error *err);

/* Whether the engine may be asked for a place for the job: by the request's choice, and by what the engine can do. */
bool engine_may(const struct engine *engine, const struct job *job);

/* All rows, NULL at the end: engine_table.c. */
extern const struct engine *const engine_table[];

/* Opens the engines of the table that are of use to this process. After -1 none is open. */
int engines_open(struct engines *engines, const struct engine *const *table, const struct engine_options *options,
		 struct error *err);
void engines_close(struct engines *engines);
void engines_reload(const struct engines *engines);
void engines_stats(const struct engines *engines, struct engine_stats *stats);

/* Called when the program has ended, while the place's directories can still be read: takes what is wanted. */
typedef int engine_collect(const int handles[], struct result *result, void *userdata, struct error *err);

/* Executes one job by the first engine that takes it. -1: no place could be made. Otherwise the verdict, the output and
 * the layers are in the result, also of status "error" when something failed later. */
int engines_run(const struct engines *engines, const struct job *job, const struct engine_io *io, struct result *result,
		engine_collect *collect, void *userdata, struct error *err);
/* Prints what the first engine that can say so would do for the job. */
int engines_explain(const struct engines *engines, const struct job *job, struct buf *out, struct error *err);
