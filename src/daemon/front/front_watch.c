/*
 * Files of a session, watched: server-sent events.
 *
 * The keeper watches, and gives us the reading end of what it tells, a line for
 * each event. A client that does not read holds up that end, and the keeper's
 * bounds do the rest.
 */
#include "daemon/front/front_http.h"

#include "base/own.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	BLOCK = 16 << 10,     /* bytes that are read at once */
	EVENT_MAX = 16 << 10, /* bytes of one event */
	AHEAD = 64 << 10,     /* bytes that wait for the client, before it gets no more */
};

struct front_watch {
	struct front_source source; /* first: what the keeper tells */
	struct peer *peer;          /* whose it is */
	struct buf line;            /* the beginning of the next event */
	bool plain;                 /* it gets lines of JSON, not events */
};

void watch_drop(struct front *front, struct peer *peer)
{
	if (!peer->watch)
		return;
	source_close(front, &peer->watch->source);
	buf_free(&peer->watch->line);
}

/* The answer is over; the watch itself goes with the peer, or with the next one. */
static void finish(struct front *front, struct peer *peer)
{
	watch_drop(front, peer);
	peer->waits = false;
	/* An event of this may be on its way to us: the connection is not used again. */
	peer->closing = true;
	events_end(front, peer);
}

static void send_line(struct peer *peer, const char *line, size_t size)
{
	_cleanup_buf_ struct buf out = { 0 };

	http_chunk(&out, line, size);
	peer->link.broken |= out.failed;
	connection_write(&peer->link, &(struct iovec){ out.data, out.size }, 1);
}

/* Whole lines, "NAME JSON". */
static void pass_lines(struct front_watch *w)
{
	struct buf *line = &w->line;
	size_t used = 0;
	char *end;

	while (line->size > used && (end = memchr(line->data + used, '\n', line->size - used))) {
		char *name = line->data + used, *space = memchr(name, ' ', (size_t)(end - name));

		if (space) {
			*space = '\0';
			if (w->plain)
				send_line(w->peer, space + 1, (size_t)(end - space));
			else
				event_send(w->peer, name, space + 1, (size_t)(end - space - 1));
		}
		used = (size_t)(end - line->data) + 1;
	}
	memmove(line->data, line->data + used, line->size - used);
	line->size -= used;
}

static void watch_ready(struct front *front, struct front_source *source, uint32_t events)
{
	struct front_watch *w = (struct front_watch *)source;
	struct peer *peer = w->peer;
	char block[BLOCK];
	ssize_t n;

	if (!source->ready || peer->dead)
		return;
	n = read(source->fd, block, sizeof(block));
	if (n > 0) {
		buf_add(&w->line, block, (size_t)n);
		pass_lines(w);
		peer->link.broken |= w->line.failed || w->line.size > EVENT_MAX;
		peer_deadline(front, peer, front->options.times.ping);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		finish(front, peer);
	}
	peer_resume(front, peer);
}

void watch_more(struct front *front, struct peer *peer)
{
	struct front_watch *w = peer->watch;

	if (w && w->source.ready)
		source_watch(front, &w->source, connection_pending(&peer->link) < AHEAD ? EPOLLIN : 0);
}

static void told_watch(struct front *front, struct peer *peer, int status, const char *body, size_t size, int file)
{
	_cleanup_close_ int told = file;
	struct front_watch *w;

	if (status != 200 || told < 0) {
		http_answer_json(front, peer, status == 200 ? 500 : status, body, size);
		return;
	}
	w = calloc(1, sizeof(*w));
	if (!w) {
		http_answer_error(front, peer, CODE_FAILED, "", 1, "there is no memory for a watch now");
		return;
	}
	w->peer = peer;
	w->source.fd = take_fd(&told);
	peer->watch = w;
	/* Its client's end is this one's. */
	peer->waits = true;
	w->plain = peer->exchange->lines;
	events_begin(front, peer);
	if (source_add(front, &w->source, EPOLLIN, watch_ready) < 0) {
		w->source.ready = NULL;
		peer->link.broken = true;
	}
}

void watch_begin(struct front *front, struct peer *peer, const char *question)
{
	struct exchange *x = peer->exchange;

	if (x->plain || x->method != HTTP_GET || mcp_is_inside(x)) {
		http_answer_error(front, peer, CODE_BAD_REQUEST, "watch", 0,
				  "watch: events need a GET of HTTP/1.1; leave it out");
		return;
	}
	x->phase = PHASE_ANSWER;
	if (!question || ask(front, peer, false, question, told_watch) < 0)
		http_answer_error(front, peer, CODE_FAILED, "", 1, "the keeper cannot be asked now");
}
