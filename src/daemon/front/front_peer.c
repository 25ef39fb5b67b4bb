#include "daemon/front/front_parts.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "http/tls.h"

#include <jansson.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum {
	SNIFF = 8 /* bytes that tell frames from HTTP: a frame's header has a zero in it, and a request has none */
};

struct peer *peer_of_item(struct queue_item *item)
{
	return (struct peer *)((char *)item - offsetof(struct peer, item));
}

/* Ends what the peer asked for, as far as it is known here; the run's place is the keeper's to give back. */
void peer_abandon(struct front *front, struct peer *peer)
{
	if (peer->item.caller)
		queue_remove(&front->queue, &peer->item);
	if (peer->run) {
		peer->run->peer = NULL;
		close_fd(&peer->run->cancel);
		source_close(front, &peer->run->input);
		peer->run = NULL;
	}
	connection_empty(&peer->list);
	connection_empty(&peer->input);
	peer->state = PEER_IDLE;
}

void peer_drop(struct front *front, struct peer *peer)
{
	if (peer->dead)
		return;
	if (peer->run && exchange_outlives(peer)) {
		run_orphan(front, peer->run, front->options.times.orphan);
		peer->run = NULL;
	}
	peer_abandon(front, peer);
	ask_forget(front, peer);
	/* The keeper may hold it as well, and then epoll would still know it when the peer is gone. */
	epoll_ctl(front->epoll, EPOLL_CTL_DEL, peer->link.fd, NULL);
	connection_close(&peer->link);
	buf_free(&peer->list);
	buf_free(&peer->input);
	exchange_free(front, peer);
	terminal_drop(front, peer);
	watch_drop(front, peer);
	peer->dead = true;
	front->held -= peer->held;
	front->client_count--;
	if (peer->previous)
		peer->previous->next = peer->next;
	else
		front->clients = peer->next;
	if (peer->next)
		peer->next->previous = peer->previous;
	peer->next = front->dead;
	front->dead = peer;
	front_hear(front);
}

static void peer_account(struct front *front, struct peer *peer)
{
	size_t held = connection_held(&peer->link) + peer->list.size + peer->input.size + exchange_held(peer);

	held = held > CONNECTION_SMALL ? held : 0;
	front->held = front->held - peer->held + held;
	peer->held = held;
}

void peer_deadline(struct front *front, struct peer *peer, unsigned msec)
{
	peer->deadline_usec = msec ? clock_usec() + (uint64_t)msec * 1000 : 0;
	if (msec && (!front->alarm_usec || peer->deadline_usec < front->alarm_usec))
		front->alarm_usec = peer->deadline_usec;
}

static bool peer_is_busy(const struct peer *peer)
{
	return peer->state != PEER_IDLE || peer->ask || peer->waits;
}

/* What it is waited for: its next bytes, room for ours, or its end while it has nothing to say. */
static uint32_t peer_events(const struct peer *peer)
{
	const struct connection *link = &peer->link;
	/* What TLS has to send by itself goes out when it is read from: not while that has to wait. */
	bool writes = connection_pending(link) > 0 || peer->more || (connection_wants_write(link) && !peer->blocked);
	uint32_t events = writes ? EPOLLOUT : 0;

	if (!link->ended && (!peer->blocked || peer->lingering) && (!peer->closing || peer->lingering))
		events |= EPOLLIN;
	/* While it waits for an answer its end ends that. At other times the end is read, which may have to wait: and
	 * an end that is seen and not taken would be seen again at once. */
	if (peer_is_busy(peer) && !peer->door->half_open && !link->ended)
		events |= EPOLLRDHUP;
	return events;
}

void peer_settle(struct front *front, struct peer *peer)
{
	struct connection *link = &peer->link;
	bool pending, over;

	if (!peer->dead && !link->broken && peer->door && peer->door->more)
		peer->door->more(front, peer);
	pending = connection_pending(link) > 0;
	over = !peer_is_busy(peer) && !peer->more &&
	       ((peer->closing && !peer->lingering) || (link->ended && (!peer->blocked || peer->lingering)));

	if (peer->dead)
		return;
	peer_account(front, peer);
	/* Who does not read what it asked for does not keep others from asking. */
	if (link->broken || (over && !pending) || (pending && peer->held && front->held > front->options.memory_max)) {
		peer_drop(front, peer);
		return;
	}
	peer->source.fd = link->fd;
	if (source_watch(front, &peer->source, peer_events(peer)) < 0)
		peer_drop(front, peer);
}

static json_t *utf8(const char *text)
{
	_cleanup_buf_ struct buf clean = { 0 };

	buf_utf8(&clean, text, strlen(text));
	return json_string(clean.data ? clean.data : "");
}

char *front_error_json(const struct error *err, unsigned retry_after, const char *confirm, bool inside)
{
	json_t *error = json_pack("{s:s, s:o}", "code", error_code_name(err->code), "message", utf8(err->text));
	json_t *root = json_pack("{s:o}", "error", error);
	char problem[sizeof(err->text)], *text;

	if (err->field[0])
		json_object_set_new(error, "field", utf8(err->field));
	if (retry_after > 0)
		json_object_set_new(error, "retry_after", json_integer(retry_after));
	if (confirm)
		json_object_set_new(error, "confirm", json_string(confirm));
	if (inside && err->remedy) {
		snprintf(problem, sizeof(problem), "%.*s", (int)err->remedy, err->text);
		json_object_set_new(error, "problem", utf8(problem));
	}
	if (inside && err->with)
		json_object_set_new(error, "with", utf8(err->text + err->with));
	text = root ? json_dumps(root, JSON_COMPACT) : NULL;
	json_decref(root);
	return text;
}

void peer_refuse(struct front *front, struct peer *peer, enum error_code code, const char *field, unsigned retry_after,
		 const char *message)
{
	struct error err;

	error_refuse(&err, code, "", "%s", message);
	error_about(&err, field);
	peer_abandon(front, peer);
	peer->door->refuse(front, peer, &err, retry_after);
}

void peer_refuse_error(struct front *front, struct peer *peer, const struct error *err)
{
	peer_abandon(front, peer);
	peer->door->refuse(front, peer, err, 0);
}

void peer_name_field(const struct peer *peer, struct error *err)
{
	request_name_field(err, &peer->manner, peer->door == &door_http);
}

unsigned front_retry_after(const struct front *front)
{
	uint64_t usec = (front->queue.count + 1) * front->run_usec / front->options.max_running;
	uint64_t seconds = (usec + MILLION - 1) / MILLION;

	return seconds < 1 ? 1 : seconds > 60 ? 60 : (unsigned)seconds;
}

static void peer_enqueue(struct front *front, struct peer *peer)
{
	peer->asked_usec = front->running >= front->options.max_running ? clock_usec() : 0;
	switch (queue_push(&front->queue, &peer->item, peer->caller.key)) {
	case QUEUE_TAKEN:
		peer->state = PEER_QUEUED;
		break;
	case QUEUE_FULL:
		peer_refuse(front, peer, CODE_BUSY, "", front_retry_after(front),
			    "the service is busy: as many requests wait as may; ask again later");
		break;
	case QUEUE_CALLER_FULL:
		peer_refuse(front, peer, CODE_BUSY, "", front_retry_after(front),
			    "the service is busy: as many requests of yours wait as may; ask again later");
		break;
	case QUEUE_NO_MEMORY:
		peer_refuse(front, peer, CODE_FAILED, "", 0, "cannot hold the request");
		break;
	}
}

/* How many requests the caller has under way. */
static size_t caller_count(const struct front *front, const struct caller *caller)
{
	size_t count = 0;

	for (const struct peer *peer = front->clients; peer; peer = peer->next)
		count += peer->state != PEER_IDLE && peer->caller.key == caller->key;
	return count;
}

/* Whether nothing may run because nothing can be written down. */
static bool is_blind(const struct front *front)
{
	return front->blind[0] && !(front->config.audit && strcmp(front->config.audit, "required") != 0);
}

bool peer_refuse_blind(struct front *front, struct peer *peer)
{
	char sentence[sizeof(front->blind) + 128];

	if (!is_blind(front))
		return false;
	snprintf(sentence, sizeof(sentence),
		 "nothing is run while nothing can be written down: %s; EMBERBOX_AUDIT=best_effort allows it",
		 front->blind);
	peer_refuse(front, peer, CODE_BLIND, "", 5, sentence);
	return true;
}

void peer_submit(struct front *front, struct peer *peer)
{
	const struct token *token = peer->caller.token ? policy_token(front, peer->caller.name) : NULL;

	peer->input_ended = false;
	if (peer_refuse_blind(front, peer))
		;
	else if (front->draining)
		peer_refuse(front, peer, CODE_DRAINING, "", 1, "the service is ending and takes no more requests");
	else if (token && token->max_concurrent && caller_count(front, &peer->caller) >= token->max_concurrent)
		peer_refuse(front, peer, CODE_BUSY, "", front_retry_after(front),
			    "as many requests of this token are under way as may; ask again later");
	else if (front->queue.count > 0 || front->unsettled || front->running >= front->options.max_running ||
		 run_start(front, peer) > 0)
		peer_enqueue(front, peer);
	/* Who is to ask again later can do so with the confirmation it has. */
	if (peer->state == PEER_IDLE && peer->confirmed)
		peer->confirmed->until = 0;
}

void peer_cancel(struct front *front, struct peer *peer)
{
	if (peer->state == PEER_QUEUED)
		peer_refuse(front, peer, CODE_CANCELLED, "", 0, "the request was cancelled before it ran");
	else if (peer->state == PEER_RUNNING)
		close_fd(&peer->run->cancel);
}

/* Bytes that are held for a caller's connections. */
static uint64_t caller_held(const struct front *front, const struct caller *caller)
{
	uint64_t held = 0;

	for (const struct peer *peer = front->clients; peer; peer = peer->next)
		held += peer->caller.key == caller->key ? peer->held : 0;
	return held;
}

/* A request that is too large for what is left, or for the half that one caller may have, is refused while it comes;
 * the rest of it is read and forgotten. */
static void peer_bound(struct front *front, struct peer *peer)
{
	peer_account(front, peer);
	if (!peer->blocked && peer->held &&
	    (front->held > front->options.memory_max ||
	     caller_held(front, &peer->caller) > front->options.memory_max / 2))
		peer->door->crowded(front, peer);
}

/* Takes what it can of what was received, after finding out by which door it came. */
static size_t peer_take(struct front *front, struct peer *peer, const char *data, size_t size)
{
	if (!peer->door) {
		if (size < SNIFF)
			return 0;
		peer->door = memchr(data, 0, SNIFF) ? &door_frames : &door_http;
	}
	return peer->door->take(front, peer, data, size);
}

void peer_resume(struct front *front, struct peer *peer)
{
	struct connection *link = &peer->link;
	size_t taken;

	if (peer->dead)
		return;
	if (peer->blocked) {
		taken = peer_take(front, peer, link->in.data, link->in.size);
		if (!peer->dead)
			connection_consume(link, taken);
	}
	peer_settle(front, peer);
}

/* It can write, so that its event comes at once. */
void peer_wake(struct front *front, struct peer *peer)
{
	peer_settle(front, peer);
	if (!peer->dead && peer->blocked && source_watch(front, &peer->source, peer->source.events | EPOLLOUT) < 0)
		peer_drop(front, peer);
}

/* A wrong version, a certificate that is not trusted, or HTTP without TLS: the client is told nothing it could read. */
static void note_tls(struct front *front, const struct peer *peer)
{
	metrics_event(front->metrics, "tls_failed");
	log_event("tls_failed", (const struct log_field[]){ { .key = "from", .text = peer->address }, { 0 } });
}

static void peer_read_once(struct front *front, struct peer *peer)
{
	struct connection *link = &peer->link;
	size_t size = connection_read(link, front->room, sizeof(front->room)), taken;

	if (link->broken && link->tls && tls_is_shaking(link->tls))
		note_tls(front, peer);
	if (peer->lingering)
		return;
	if (size > 0 && link->in.size == 0) {
		/* Most requests come whole: nothing is copied. */
		taken = peer_take(front, peer, front->room, size);
		if (!peer->dead)
			connection_keep(link, front->room + taken, size - taken);
	} else if (size > 0) {
		connection_keep(link, front->room, size);
		if (!link->broken) {
			taken = peer_take(front, peer, link->in.data, link->in.size);
			if (!peer->dead)
				connection_consume(link, taken);
		}
	} else if (link->ended && peer->door && !peer->blocked) {
		peer->door->ended(front, peer);
	}
	if (!peer->dead && !link->broken && peer->door)
		peer_bound(front, peer);
}

static void peer_read(struct front *front, struct peer *peer)
{
	do
		peer_read_once(front, peer);
	while (!peer->dead && !peer->blocked && !peer->link.broken && connection_has_more(&peer->link));
}

static void peer_ready(struct front *front, struct front_source *source, uint32_t events)
{
	struct peer *peer = (struct peer *)source;

	if (peer->dead)
		return;
	/* Both directions are shut, or one and that is as good: nobody hears the answer. */
	if ((events & (EPOLLHUP | EPOLLERR)) ||
	    (peer_is_busy(peer) && (events & EPOLLRDHUP) && !peer->door->half_open)) {
		peer_drop(front, peer);
		return;
	}
	if (events & EPOLLOUT)
		connection_flush(&peer->link);
	if ((events & EPOLLIN) || (peer->link.tls && (events & EPOLLOUT) && !peer->blocked))
		peer_read(front, peer);
	peer_resume(front, peer);
}

static struct peer *peer_add(struct front *front, int fd, const struct door *door, const char *address)
{
	struct peer *peer = calloc(1, sizeof(*peer));
	struct ucred who = { .uid = (uid_t)-1 };
	socklen_t size = sizeof(who);
	bool tcp = door != NULL;

	if (!peer || (!tcp && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0)) {
		free(peer);
		return NULL;
	}
	snprintf(peer->address, sizeof(peer->address), "%s", address);
	if (!tcp) {
		snprintf(peer->caller.name, sizeof(peer->caller.name), "uid %u", who.uid);
		peer->caller.key = who.uid;
		peer->caller.scopes = ~0U;
	}
	peer->door = door;
	peer->link.fd = peer->source.fd = fd;
	if (tcp && front->options.tls)
		peer->link.tls = tls_new(front->options.tls, fd);
	if ((tcp && front->options.tls && !peer->link.tls) ||
	    source_add(front, &peer->source, EPOLLIN, peer_ready) < 0) {
		tls_free(peer->link.tls);
		free(peer);
		return NULL;
	}
	peer->next = front->clients;
	if (front->clients)
		front->clients->previous = peer;
	front->clients = peer;
	front->client_count++;
	return peer;
}

void peer_accept(struct front *front, int fd, const struct door *door, const char *address)
{
	struct peer *peer = peer_add(front, fd, door, address);

	if (!peer) {
		close(fd);
		return;
	}
	if (door)
		peer_deadline(front, peer, front->options.times.first);
	/* The request is often there already. */
	peer_ready(front, &peer->source, EPOLLIN);
}

void peer_turn_away(const struct front *front, int fd, const struct door *door)
{
	static const struct error err = {
		.kind = ERROR_FAILED,
		.code = CODE_BUSY,
		.text = "the service is busy: it has as many connections as it may; ask again later",
	};
	_cleanup_free_ char *json = front_error_json(&err, front_retry_after(front), NULL, false);
	struct connection link = { .fd = fd };
	_cleanup_buf_ struct buf reply = { 0 }, line = { 0 };

	if (json && door == &door_http && !front->options.tls) {
		buf_printf(&line, "%s\n", json);
		http_reply(&reply, 503, "application/json", line.data, line.size, false, "Retry-After: 1\r\n");
		connection_write(&link, &(struct iovec){ reply.data, reply.size }, 1);
	} else if (json && !door) {
		connection_send(&link, FRAME_ERROR, json, strlen(json));
	}
	connection_close(&link);
}
