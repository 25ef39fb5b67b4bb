/* The container as the files container*.c and agent_order.c share it. */
#pragma once

#include "live/channel.h"
#include "live/container.h"
#include "live/place.h"

struct container {
	struct place place;      /* first: its box, its id, its owner */
	const char *box_profile; /* the language's profile, or NULL */
	bool read_only;          /* code and data cannot be written */
	bool weaker[LAYERS];     /* the layers that its spec waives */
	enum policy_mode policy; /* runs in it are checked at least as strictly */

	/* Owned by the caller that has the turn. */
	struct channel channel; /* to the agent; its descriptors are those of place.home */
	uint32_t order;         /* the number of the last order */

	/* Under place.home.lock. */
	uint64_t execs;          /* that were begun */
	uint64_t asked_usec;     /* when its status was last asked for… */
	uint64_t asked_cpu_usec; /* …and its CPU time then */
};

/* Of a container on the list. Makes the box, and returns when its agent has greeted. After -1 it has ended, or was
 * never launched. */
int container_launch(struct container *container, const struct engines *engines, const struct spec *spec,
		     struct error *err);
/* As of struct place_kind. */
void container_free(struct place *place);

/* The list. */
struct places *containers_places(struct containers *containers);
int container_refuse_ended(struct place *place, struct error *err);

/* One order to the agent: a program to be started (live/agent_order.c). */
struct order {
	const char *const *argv;      /* arguments, NULL at the end */
	const char *const *envp;      /* variables, NULL at the end */
	const struct job_file *files; /* files to be written before… */
	size_t file_count;            /* …and their number */
	const void *input;            /* for its stdin; NULL: stdin_fd of io, or nothing */
	size_t input_size;            /* bytes of it */
	struct limits limits;         /* of which timeout, cpu_time and cpus apply */
	struct result *result;        /* receives the outputs and the verdict */
};

/* 0: the order is over, and the result has the verdict, which may be "error". 1: the agent is gone, and the container
 * is ending. -1: nothing was begun. */
int order_run(struct container *container, const struct order *order, const struct engine_io *io, struct error *err);
