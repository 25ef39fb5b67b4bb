/* The load generator for HTTP; see http_load.c. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct http_load_options {
	size_t connections;   /* so many at once */
	uint64_t count;       /* requests altogether; 0: no limit */
	uint64_t nsec;        /* how long; 0: no limit */
	uint64_t pause_nsec;  /* of each connection between two requests */
	uint64_t max_cold;    /* stop after so many cold starts */
	int status;           /* what each has to be answered with */
	const char *contains; /* a part of each answer; or NULL */
	bool samples;         /* print each time, too */
};

/* An answer while it comes. */
struct http_response {
	struct buf text;  /* the head, and the first bytes of the body */
	size_t head;      /* bytes of the head; 0: it is not whole yet */
	int status;       /* 0: likewise */
	uint64_t length;  /* of the body; UINT64_MAX: not said */
	uint64_t body;    /* bytes of it so far, without the frames of chunks */
	bool chunked;     /* it comes in chunks */
	bool close;       /* nothing else comes on this connection */
	bool done;        /* it is whole */
	uint64_t chunk;   /* bytes left of the chunk that comes */
	int part;         /* of the chunk: see http_response.c */
	char line[32];    /* of the chunk: its size */
	size_t line_size; /* how much of it is there */
};

struct http_peer {
	int fd;                        /* -1: not connected */
	bool watched;                  /* by epoll */
	bool busy;                     /* it has a request under way */
	bool partly;                   /* of which not all is sent */
	size_t sent;                   /* bytes of it */
	uint64_t used;                 /* answers on this connection */
	uint64_t begin;                /* when the request began */
	uint64_t first;                /* nanoseconds until the first byte of the answer */
	uint64_t next;                 /* no other request before this */
	struct http_response response; /* what comes */
};

struct http_sample {
	uint64_t whole; /* nanoseconds from the request to the end of the answer */
	uint64_t first; /* to its first byte */
};

struct http_load {
	struct http_load_options options; /* what is wanted */
	struct sockaddr_storage address;  /* of the server */
	socklen_t address_size;           /* of that */
	struct buf request;               /* the bytes of each request */
	int epoll;                        /* of all */
	struct http_peer *peers;          /* options.connections of them */
	uint64_t begun;                   /* requests */
	size_t under_way;                 /* requests */
	uint64_t started;                 /* when the first began */
	uint64_t ended;                   /* when the last was answered */
	uint64_t deadline;                /* begin none after this; 0: no limit */
	struct http_sample *samples;      /* of those that went well */
	size_t sample_count;              /* how many */
	size_t sample_room;               /* for so many */
	uint64_t bytes;                   /* of bodies */
	uint64_t warm;                    /* starts */
	uint64_t cold;                    /* starts */
	uint64_t failed;                  /* requests that did not go well */
	size_t open;                      /* streams */
	bool stopped;                     /* begin no more: too many are cold, or the server is gone */
	char problem[256];                /* why the first did not go well */
};

/* More of an answer. NULL, or what is wrong with it. */
const char *http_response_take(struct http_response *response, const char *data, size_t size);
/* The connection has ended: NULL when the answer was meant to end so. */
const char *http_response_ends(struct http_response *response);

uint64_t http_clock(void);
int http_load_address(struct http_load *load, const char *to);
/* All requests. -1 with errno: the server cannot be reached. */
int http_load_run(struct http_load *load);
/* Opens the streams, tells when it is done, and holds them until standard input ends, or for options.nsec. */
int http_load_hold(struct http_load *load, void (*opened)(struct http_load *load));
void http_load_free(struct http_load *load);
