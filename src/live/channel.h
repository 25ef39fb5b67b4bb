/*
 * The keeper's end of the pipes to an agent (live/agent_wire.h): frames in and out
 * of buffers of a fixed size. Nothing here blocks: callers poll the two
 * descriptors. Bytes from the agent are untrusted.
 */
#pragma once

#include "live/agent_wire.h"

#include <stdbool.h>
#include <stddef.h>

struct channel {
	int to;                                                /* orders, non-blocking; -1: none */
	int from;                                              /* answers, non-blocking; -1: none */
	size_t in_size;                                        /* bytes in `in`… */
	size_t in_used;                                        /* …of which channel_next() has returned so many */
	size_t out_size;                                       /* bytes in `out`… */
	size_t out_used;                                       /* …of which so many are written */
	char in[sizeof(struct agent_head) + AGENT_FRAME_MAX];  /* a whole frame fits */
	char out[sizeof(struct agent_head) + AGENT_FRAME_MAX]; /* likewise */
};

/* Adds a frame of up to AGENT_FRAME_MAX bytes in two parts, either of which may be empty. False: there is no room; the
 * frames before have to be written first. */
bool channel_put(struct channel *channel, enum agent_kind kind, uint32_t order, const void *head, size_t head_size,
		 const void *body, size_t size);
/* Bytes that the next frame may have; 0: no frame fits now. */
size_t channel_room(const struct channel *channel);
/* Writes as much as the pipe takes. 0, or -1 with errno: the other end is closed. */
int channel_write(struct channel *channel);
/* Whether bytes wait to be written. */
bool channel_waits(const struct channel *channel);

/* Reads the bytes that can be read, as far as the buffer has room. 1; 0: the end; -1 with errno, also EAGAIN. */
int channel_read(struct channel *channel);
/* The next whole frame of the bytes that were read. 1: *body is valid until the next call of this or channel_read().
 * 0: none is whole yet. -1: the bytes are not a frame. */
int channel_next(struct channel *channel, struct agent_head *head, const void **body);
