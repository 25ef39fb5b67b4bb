/* One container, as the parts of live/container.h share it. */
#pragma once

#include "live/channel.h"
#include "live/container.h"
#include "live/place.h"

struct container {
	struct place place;      /* first: its box, and who may see it */
	const char *box_profile; /* the language's profile, or NULL */
	bool read_only;          /* code and data cannot be written */
	bool weaker[LAYERS];     /* as its spec had it */
	enum policy_mode policy; /* the least that runs in it are looked at by */

	/* Of whoever has the turn. */
	struct channel channel; /* to the agent; its descriptors are those of place.home */
	uint32_t order;         /* the last one's number */

	/* Under place.home.lock. */
	uint64_t execs;          /* begun */
	uint64_t asked_usec;     /* when status was asked for last, and… */
	uint64_t asked_cpu_usec; /* …what it had used then */
};

/* Of one that is on the list. Makes the box, and returns when its agent has greeted. After -1 it has ended, or never
 * began. */
int container_launch(struct container *container, const struct engines *engines, const struct spec *spec,
		     struct error *err);
/* As of struct place_kind. */
void container_free(struct place *place);

/* The list. */
struct places *containers_places(struct containers *containers);
int container_refuse_ended(struct place *place, struct error *err);

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
int order_run(struct container *container, const struct order *order, const struct engine_io *io, struct error *err);
