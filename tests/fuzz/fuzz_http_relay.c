/*
 * Two strangers and the relay between them: pieces of what each sends, in any order. The first byte of a piece says
 * whose it is and how long.
 *
 * Whatever they send: the server's side is a sequence of requests with one reading each, the secret never reaches the
 * box, and a placeholder never the server.
 */
#include "fuzz.h"

#include "intercept/http_relay.h"

#include <stdbool.h>

#define SECRET      "sk-0123456789"
#define PLACEHOLDER "ember-secret-00112233445566778899aabbccddeeff"

static unsigned requests; /* that were allowed */
static struct buf said;   /* all that the box sent */

static void relay_decide(void *owner, const char *method, const char *path, struct net_decision *decision)
{
	MUST(strlen(method) > 0 && strlen(method) < RELAY_METHOD_MAX);
	*decision = (struct net_decision){ .allowed = strstr(path, "deny") == NULL, .reason = NET_REASON_REQUEST };
}

static void relay_tell(void *owner, const struct relay_verdict *verdict)
{
	requests += verdict->allowed;
	MUST(verdict->method && verdict->path && (unsigned)verdict->reason < NET_REASONS);
}

static void queue_collect(struct relay_queue *queue, struct buf *all)
{
	size_t left = relay_queue_left(queue);

	if (left == 0)
		return;
	buf_add(all, relay_queue_data(queue), left);
	relay_queue_take(queue, left);
}

/* What the server gets, read by the reader of the front (http/parse.c): the same number of requests, with bodies that
 * end where it thinks, and the host that was asked for. */
static void server_holds(const struct buf *all)
{
	static struct http_head head;
	size_t at = 0;
	unsigned count = 0;

	while (at < all->size) {
		struct http_fault fault;
		long size = http_parse(all->data + at, all->size - at, &head, &fault);
		size_t length;

		/* That reader knows fewer methods, paths and versions of Expect than there are. */
		if (size <= 0)
			return;
		count++;
		MUST(http_text_is(head.host, "api.example.com"));
		MUST(!memmem(all->data + at, (size_t)size, NET_SECRET_PREFIX, sizeof(NET_SECRET_PREFIX) - 1));
		at += (size_t)size;
		if (head.upgrade)
			return;
		if (head.chunked) {
			struct http_chunks chunks = { 0 };
			struct buf content = { 0 };
			size_t used = 0;
			int done = http_chunks_take(&chunks, all->data + at, all->size - at, &used, UINT64_MAX,
						    &content, &fault);

			MUST(done >= 0);
			buf_free(&content);
			at += used;
			continue;
		}
		length = head.length < all->size - at ? (size_t)head.length : all->size - at;
		at += length;
	}
	MUST(count == requests);
}

static void pieces_give(struct http_relay *relay, const char *data, size_t size, struct buf *server, struct buf *box)
{
	while (size > 0) {
		unsigned char how = (unsigned char)*data++;
		size_t length = how & 0x7f ? how & 0x7f : 4096, used;
		char *piece;

		size--;
		if (length > size)
			length = size;
		piece = fuzz_text_of(data, length);
		if (!(how & 0x80))
			buf_add(&said, piece, length);
		used = (how & 0x80 ? http_relay_from_world : http_relay_from_box)(relay, piece, length);
		MUST(used <= length);
		free(piece);
		data += length;
		size -= length;
		MUST(relay_queue_left(&relay->to_box) <= 2 * RELAY_QUEUE &&
		     relay_queue_left(&relay->to_world) <= 2 * RELAY_QUEUE);
		queue_collect(&relay->to_world, server);
		queue_collect(&relay->to_box, box);
	}
	http_relay_box_ended(relay);
	http_relay_world_ended(relay, true);
	queue_collect(&relay->to_world, server);
	queue_collect(&relay->to_box, box);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct relay_calls calls = { relay_decide, relay_tell };
	static char value[] = SECRET;
	static const struct net_secret_host host = { "api.example.com", false, 443 };
	struct net_secrets secrets = { .items = { { "TOKEN", PLACEHOLDER, value, sizeof(value) - 1, &host, 1, NULL,
						    NULL } } };
	struct buf server = { 0 }, box = { 0 };
	struct http_relay relay;

	/* With the first byte: whether there is a secret. */
	secrets.count = size > 0 && *data & 1;
	requests = 0;
	http_relay_init(&relay, &calls, NULL, &(struct secret_target){ &secrets, "api.example.com", 443, true });
	if (size > 0)
		pieces_give(&relay, (const char *)data + 1, size - 1, &server, &box);
	MUST(!relay.failed);
	if (!relay.broken)
		server_holds(&server);
	/* A program that knows it may read it in a sentence about what it sent. */
	if (secrets.count > 0 && relay.response != PART_TUNNEL &&
	    !memmem(said.data ? said.data : "", said.size, SECRET, sizeof(SECRET) - 1))
		MUST(!memmem(box.data ? box.data : "", box.size, SECRET, sizeof(SECRET) - 1));
	http_relay_free(&relay);
	buf_free(&said);
	buf_free(&server);
	buf_free(&box);
	return 0;
}
