/*
 * Long-lived boxes: made from a profile, used many times, ended by a word, by
 * their own age, or with the service.
 *
 * Inside runs the agent (src/agent, its words are in live/agent_wire.h) as the
 * box's one program: it reads orders from its stdin and starts what they name,
 * one at a time, with its output on pipes of its own. The agent is as much in
 * the box as all it starts, and is trusted no more than that: what it says is
 * about its own box only.
 *
 * What one exec leaves in files is there for the next; no process is. A thread
 * for each container makes its box and supervises it, and lives as long.
 *
 * Everything here may be called from any thread, with SIGPIPE blocked or
 * ignored.
 */
#pragma once

#include "run/run.h"

struct place_watch;
struct containers;

enum {
	CONTAINERS_KEPT_MAX = 64 /* that have ended and are still told of; the oldest go */
};
#define CONTAINERS_TTL_MAX (30.0 * 86400) /* seconds */

struct container_options {
	const char *profile; /* its name in the registry */
	const char *owner;   /* the caller: others do not see it */
	double ttl;          /* seconds until it ends by itself; at most CONTAINERS_TTL_MAX */
	bool auto_cleanup;   /* it is forgotten when it has ended */
	bool asks;           /* see containers_ask() */
	unsigned most;       /* containers that may run at a time, of all; 0: any number */
	unsigned most_own;   /* the same of this owner's */
};

/* A run in a container. */
struct container_exec {
	const char *id;      /* the container */
	const char *owner;   /* the caller; NULL: any container will do */
	const char *command; /* for sh -c, in the place of the spec's code; or NULL */
	const char *field;   /* of the request, that names the container; NULL: "id" */
};

/* The engines must outlive it. `watch` (or NULL) is copied. */
int containers_open(const struct engines *engines, const struct place_watch *watch, struct containers **out,
		    struct error *err);
/* Ends all, and waits for who is in a call; NULL is fine. No new calls may come. */
void containers_close(struct containers *containers);

/* The spec has the language, the limits, and files and code if any, which are put into the box; nothing is run. It is
 * not needed afterwards. limits.timeout and cpu_time are what an exec gets that says nothing else; the rest are the
 * box's. CODE_TOO_MANY and the field "max_concurrent" when as many run as may. */
int containers_start(struct containers *containers, const struct spec *spec, const struct container_options *options,
		     char id[RESULT_ID], struct error *err);
/*
 * The spec's code in the container's language (spec->runtime may be NULL), or `command` by sh -c when that is set; the
 * spec's files, variables, input and arguments (of the code) as for any run. A compiled language is compiled in a box
 * of its own as for any run, and the program then put into the container. limits.timeout and cpu_time end that exec and
 * all it started, not the container; other limits are the container's, and asking for different ones is refused. One
 * at a time: others wait for their turn (RESIDENT_WAITING_MAX of them, then errnum EBUSY), or until they are cancelled.
 *
 * The result is as any run's. `files` are all that are in /sandbox/output, also of execs before. When the container
 * ends meanwhile the status is "killed" or "out_of_memory", and the sentence says so.
 *
 * Unknown id, or another's: CODE_NOT_FOUND with the field "id", and so is one that has ended.
 */
int containers_exec(struct containers *containers, const struct container_exec *what, const struct run_request *request,
		    struct result **out, struct error *err);
/* Whether each run in it needs a confirmation: it was started so, or its profile wants that now (policy/in_force.h).
 * False of one that is not there. */
bool containers_ask(struct containers *containers, const char *id, const char *owner, const char *in_force);
/* Ends it, and returns when nothing of its box is left. One that has ended already is stopped too. `by`: who wants it;
 * NULL: the service itself. */
int containers_stop(struct containers *containers, const char *id, const char *owner, const char *by,
		    struct error *err);
/* Ends all of an owner, for that reason, and waits for none; how many. */
size_t containers_end(struct containers *containers, const char *owner, const char *why);
/* JSON {"containers": [{id, container (the profile), language, status: running|exited, reason (why it exited, or null),
 * started (RFC 3339), ttl, execs, cpu_time, cpu_percent (since it was last asked for; of one core), memory_used,
 * memory_limit, pids (of execs, without init and agent)}…]}, oldest first; the caller frees. owner NULL: all. */
int containers_status(struct containers *containers, const char *owner, char **json, struct error *err);
/* How many have not ended; those that start count. */
size_t containers_running(struct containers *containers);
/* Forgets those that have ended. Those whose time is over have: that needs nobody's call. */
int containers_cleanup(struct containers *containers, const char *owner, size_t *removed, struct error *err);
