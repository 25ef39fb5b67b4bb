/*
 * A client that the keeper answers itself: its socket came with the run.
 *
 * One process and two copies less lie between a program and its client then. A
 * frame is sent whole or not at all, so that whoever goes on finds the stream
 * between two frames. To a client that does not read the front goes on: it has
 * the memory for what waits, and bounds for it.
 */
#pragma once

#include "wire/frame.h"

#include <stdbool.h>

struct direct {
	int client; /* its socket, borrowed; -1: the front answers, from the beginning or from here on */
	bool wide;  /* the socket was told to hold more */
};

/* False: it was not sent, and neither will be what comes after it. */
bool direct_send(struct direct *direct, enum frame_kind kind, const void *payload, size_t size);
/* The same with bytes of a file. */
bool direct_send_file(struct direct *direct, enum frame_kind kind, int file, uint64_t offset, size_t size);
