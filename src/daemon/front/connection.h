/* A client's connection: bytes and frames, in and out, never waiting. What they mean is the front's business. */
#pragma once

#include "base/buf.h"
#include "wire/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct tls;

enum {
	CONNECTION_SMALL = 128 << 10, /* bytes that anybody may have on their way */
	CONNECTION_OUT_MAX =
		33 << 20, /* bytes that wait for a slow reader: both streams up to their bound, and frames */
};

struct connection {
	int fd;          /* never blocks; -1: closed */
	struct tls *tls; /* its bytes are ciphered; NULL: they are not. Owned */
	struct buf in;   /* received and not taken yet: begins with a frame's header, or a request of HTTP */
	size_t skip;     /* bytes still to come of a frame that nobody wants */
	struct buf out;  /* frames to be written */
	size_t out_at;   /* bytes of it that are */
	struct {
		const char *data; /* constant */
		size_t size;      /* how many are left */
	} lent;                   /* bytes that are written behind them, from where they are */
	bool ended;               /* the peer sends no more */
	bool broken;              /* nothing can be written any more */
};

/* Adds bytes from a few places; they are written at once as far as that goes. */
void connection_write(struct connection *c, struct iovec parts[], size_t count);
/* Adds bytes that stay where they are for as long as the program runs: a peer that does not read costs no memory. */
void connection_lend(struct connection *c, const void *data, size_t size);
/* Adds a frame as connection_write() does. */
void connection_send(struct connection *c, enum frame_kind kind, const void *payload, size_t size);
/* Writes what waits, as far as that goes. */
void connection_flush(struct connection *c);
/* Bytes that wait to be written. */
size_t connection_pending(const struct connection *c);
/* Whether there are received bytes that no event will tell of. */
bool connection_has_more(const struct connection *c);
/* Whether it can go on only when the peer takes bytes. */
bool connection_wants_write(const struct connection *c);
/* Bytes that it holds. */
size_t connection_held(const struct connection *c);
/* Reads once, into `room`. Bytes read; 0: nothing came, or no more will. */
size_t connection_read(struct connection *c, void *room, size_t size);
/* Gives the bytes back that were read and not taken. */
void connection_keep(struct connection *c, const char *data, size_t size);
/* Takes bytes off the beginning of `in`. */
void connection_consume(struct connection *c, size_t size);
/* Forgets the frame that is on its way, whose header is there. */
void connection_skip(struct connection *c, const struct frame *frame);
void connection_close(struct connection *c);

/* Empties it, and gives memory back that a usual request does not need. */
void connection_empty(struct buf *buf);
