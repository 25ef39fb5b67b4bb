/*
 * HTTP/1.1 between a program in a box and the server that it asked for, each request held to the rules. Pure: bytes in,
 * bytes out; intercept_flow.c reads and writes them.
 *
 * One request is under way at a time. What a program sends behind it waits, so an answer always belongs to the request
 * that is being answered; bytes of a server that nobody asked for end the connection. Heads are written anew and bodies
 * are framed anew, so that the server gets one reading of what two readers could have read in two ways, or nothing.
 *
 * A request is refused with an answer of our own: a status, `x-emberbox-denied: REASON`, and a JSON object with one
 * sentence. Nothing of it reaches the server.
 */
#pragma once

#include "http/http.h"
#include "intercept/relay_head.h"
#include "intercept/secret_mask.h"
#include "intercept/secret_render.h"
#include "net/net_policy.h"

enum {
	RELAY_QUEUE = 64 << 10, /* bytes that wait for a side; then the other is not read */
	RELAY_INTERIM_MAX = 16, /* answers of 1xx to one request */
};

/* What became of a request. */
struct relay_verdict {
	bool allowed;
	enum net_reason reason;
	const struct net_rule *rule; /* that decided; NULL: none */
	const char *method, *path;   /* "": not known; the path without its query */
};

struct relay_calls {
	/* May this request be made? `path` as it was sent, without its query. */
	void (*decide)(void *owner, const char *method, const char *path, struct net_decision *decision);
	/* It was decided. Once for each request. */
	void (*tell)(void *owner, const struct relay_verdict *verdict);
};

/* Bytes for a side. */
struct relay_queue {
	struct buf buf;
	size_t sent; /* of them */
};
static inline size_t relay_queue_left(const struct relay_queue *queue)
{
	return queue->buf.size - queue->sent;
}
static inline const char *relay_queue_data(const struct relay_queue *queue)
{
	return queue->buf.data + queue->sent;
}
void relay_queue_take(struct relay_queue *queue, size_t size);

/* Where in a message a side is. */
enum relay_part {
	PART_NONE, /* of a response: no request is under way */
	PART_HEAD,
	PART_LENGTH, /* a body of known length */
	PART_CHUNKS,
	PART_END, /* a body that ends with the connection */
	PART_DONE,
	PART_TUNNEL, /* behind 101 */
};

struct http_relay {
	const struct relay_calls *calls;
	void *owner;
	struct secret_target target;
	struct secret_mask mask;
	bool masking; /* some secret is for this host */
	/* The request */
	enum relay_part request;
	struct buf request_head; /* as much of it as came */
	uint64_t request_left;   /* of its body */
	struct http_chunks request_chunks;
	struct buf request_trailers;
	bool request_is_head, request_is_old; /* HEAD; HTTP/1.0 */
	bool upgrading;                       /* it asks for WebSocket */
	bool awaits_continue;                 /* and for 100, which has not come */
	/* The response */
	enum relay_part response;
	struct buf response_head;
	uint64_t response_left;
	struct http_chunks response_chunks;
	struct buf response_trailers;
	bool response_chunked; /* as it goes to the box */
	unsigned interim;      /* answers of 1xx */
	struct secret_masker masker;
	bool close; /* no request after this one */
	/* The server cannot be talked with: why, for the answers */
	bool world_failed;
	enum net_reason failure;
	char failure_sentence[SECRET_SENTENCE];
	/* What the sides get */
	struct relay_queue to_world, to_box;
	bool world_over; /* nothing more goes to the server */
	bool box_over;   /* nothing more goes to the box; what it sends is thrown away */
	bool broken;     /* the box must not take the end for that of the answer: no goodbye */
	bool failed;     /* memory ran out */
};

void http_relay_init(struct http_relay *relay, const struct relay_calls *calls, void *owner,
		     const struct secret_target *target);
void http_relay_free(struct http_relay *relay);

/* Bytes of a side; how many were taken. The rest is to be given again once something has changed: a queue has room, or
 * the other side has sent something. */
size_t http_relay_from_box(struct http_relay *relay, const char *data, size_t size);
size_t http_relay_from_world(struct http_relay *relay, const char *data, size_t size);
/* A side sends no more. `clean`: it said so itself (TLS), so nobody cut it off. */
void http_relay_box_ended(struct http_relay *relay);
void http_relay_world_ended(struct http_relay *relay, bool clean);
/* There is no server: each request is answered with 502 and this sentence. */
void http_relay_world_failed(struct http_relay *relay, enum net_reason reason, const char *sentence);

/* Shared by the files of the relay. */
size_t relay_request_take(struct http_relay *relay, const char *data, size_t size);
size_t relay_response_take(struct http_relay *relay, const char *data, size_t size);
void relay_refuse(struct http_relay *relay, unsigned status, const struct relay_verdict *verdict, bool stay,
		  const char *sentence);
/* Ends both sides at once, in the middle of something. */
void relay_break(struct http_relay *relay);
void relay_exchange_settle(struct http_relay *relay);
/* Lines of trailers that may be passed on. */
void relay_trailers_add(struct buf *out, const struct buf *lines);
void relay_chunk_add(struct buf *out, const char *data, size_t size);
