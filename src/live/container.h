/*
 * Containers: places (live/place.h) made from a profile of the registry, in which
 * callers run commands and programs (execs). A container ends when a caller stops
 * it, when its time is over, or with the service.
 *
 * The box's first program is the agent (src/agent; its protocol is
 * live/agent_wire.h). It reads orders from its stdin and starts the programs that
 * they name, one at a time. The agent runs inside the box and is trusted no more
 * than the programs that it starts: what it reports concerns its own box only.
 *
 * Files that an exec leaves are there for the next exec. Processes are not.
 *
 * These functions may be called from any thread, with SIGPIPE blocked or ignored.
 */
#pragma once

#include "run/run.h"

struct place_watch;
struct containers;

enum {
	CONTAINERS_KEPT_MAX = 64 /* that have ended and are still listed; the oldest go */
};
#define CONTAINERS_TTL_MAX (30.0 * 86400) /* seconds */

struct container_options {
	const char *profile; /* its name in the registry */
	const char *owner;   /* the caller; other callers do not see it */
	double ttl;          /* seconds until it ends by itself; at most CONTAINERS_TTL_MAX */
	bool auto_cleanup;   /* it is forgotten when it has ended */
	bool asks;           /* see containers_ask() */
	unsigned most;       /* containers of all callers that may run at once; 0: no bound */
	unsigned most_own;   /* the same, of this owner */
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
/* Ends all of them, and waits for calls that have not returned. There may be no new calls. NULL is fine. */
void containers_close(struct containers *containers);

/* The spec has the language, the limits, and perhaps files and code, which are put into the box; nothing is run. The
 * spec is not needed afterwards. limits.timeout and cpu_time are the defaults of an exec; the other limits are the
 * box's. CODE_TOO_MANY with the field "max_concurrent": as many containers run as may. */
int containers_start(struct containers *containers, const struct spec *spec, const struct container_options *options,
		     char id[RESULT_ID], struct error *err);
/*
 * Runs the spec's code in the container's language (spec->runtime may be NULL), or `command` by sh -c. Files,
 * variables, input and arguments are those of the spec, as for any run. A compiled language is compiled in a box of its
 * own, and the program is then put into the container. limits.timeout and cpu_time end the exec and the processes that
 * it started, not the container. The other limits are the container's: a spec that asks for different ones is refused.
 *
 * Execs are one at a time. Up to RESIDENT_WAITING_MAX wait for their turn, or until they are cancelled; beyond that the
 * error is CODE_TOO_MANY.
 *
 * The result is like that of any run. `files` are all files in /sandbox/output, those of earlier execs included. When
 * the container ends meanwhile, the status is "killed" or "out_of_memory", and the sentence says so.
 *
 * CODE_NOT_FOUND with the field "id": the id is unknown, or another caller's, or the container has ended.
 */
int containers_exec(struct containers *containers, const struct container_exec *what, const struct run_request *request,
		    struct result **out, struct error *err);
/* Whether each run in it needs a confirmation, because it was started so or its profile now says so
 * (policy/in_force.h). False for an unknown id. */
bool containers_ask(struct containers *containers, const char *id, const char *owner, const char *in_force);
/* Ends it, and returns when nothing of its box is left. Stopping a container that has ended succeeds. `by`: the caller;
 * NULL: the service itself. */
int containers_stop(struct containers *containers, const char *id, const char *owner, const char *by,
		    struct error *err);
/* Ends all containers of an owner, with that reason, without waiting. Returns how many. */
size_t containers_end(struct containers *containers, const char *owner, const char *why);
/* JSON {"containers": [{id, container (the profile), language, status: running|exited, reason (why it exited, or null),
 * started (RFC 3339), ttl, execs, cpu_time, cpu_percent (since it was last asked for; of one core), memory_used,
 * memory_limit, pids (of execs, without init and agent)}…]}, oldest first; the caller frees. owner NULL: all. */
int containers_status(struct containers *containers, const char *owner, char **json, struct error *err);
/* How many have not ended, including those that are starting. */
size_t containers_running(struct containers *containers);
/* Forgets those that have ended. */
int containers_cleanup(struct containers *containers, const char *owner, size_t *removed, struct error *err);
