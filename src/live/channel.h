/*
 * The keeper's end of the pipes to an agent (live/agent_wire.h): frames in and
 * out of buffers of a fixed size. It never waits; who polls the two descriptors
 * does. What comes in is a stranger's.
 */
#pragma once

#include "live/agent_wire.h"

#include <stdbool.h>
#include <stddef.h>

struct channel {
	int to;                                                /* orders, does not wait; -1: none */
	int from;                                              /* answers, does not wait; -1: none */
	size_t in_size;                                        /* bytes of in that came… */
	size_t in_used;                                        /* …and of them, those that channel_next() gave out */
	size_t out_size;                                       /* bytes of out that are to be written… */
	size_t out_used;                                       /* …and of them, those that are */
	char in[sizeof(struct agent_head) + AGENT_FRAME_MAX];  /* a whole frame fits */
	char out[sizeof(struct agent_head) + AGENT_FRAME_MAX]; /* the same */
};

/* A frame of up to AGENT_FRAME_MAX bytes in two parts, either of which may be empty. False: what was put before has to
 * be written first. */
bool channel_put(struct channel *channel, enum agent_kind kind, uint32_t order, const void *head, size_t head_size,
		 const void *body, size_t size);
/* How many bytes the next frame may have; 0: none now. */
size_t channel_room(const struct channel *channel);
/* Writes what the pipe takes. 0, or -1 with errno: nobody reads any more. */
int channel_write(struct channel *channel);
/* Whether there is something to write. */
bool channel_waits(const struct channel *channel);

/* Reads what is there, at most a buffer of it. 1, 0 at the end, -1 with errno (EAGAIN among them). */
int channel_read(struct channel *channel);
/* The next whole frame of what was read: 1; *body is good until the next call of this or channel_read(). 0: there is
 * none yet. -1: what came is no frame. */
int channel_next(struct channel *channel, struct agent_head *head, const void **body);
