/* Questions to the keeper and the store, whose answers come when they come. */
#include "daemon/front/front_http.h"

#include "base/fd.h"
#include "base/own.h"
#include "daemon/role.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/epoll.h>

static struct ask *ask_find(struct front *front, uint64_t number)
{
	struct ask *found = &front->asks[number % MESSAGE_ASKS];

	return number && found->number == number ? found : NULL;
}

/* Half of the places are the keeper's, half the store's: one that hangs does not keep the other from answering. */
static struct ask *ask_take(struct front *front, bool store)
{
	for (size_t i = store ? MESSAGE_ASKS / 2 : 0; i < (store ? MESSAGE_ASKS : MESSAGE_ASKS / 2); i++) {
		struct ask *free = &front->asks[i];

		if (free->number)
			continue;
		/* A number tells its place, and is never used twice. */
		*free = (struct ask){ .number = ++front->ask_number * MESSAGE_ASKS + i };
		return free;
	}
	return NULL;
}

static size_t asks_of(const struct front *front, const struct caller *caller, bool store)
{
	size_t count = 0;

	for (size_t i = 0; i < MESSAGE_ASKS; i++) {
		const struct ask *other = &front->asks[i];

		/* Also those whose client has gone: they are at work all the same. */
		count += other->number && other->store == store && other->asked && other->caller == caller->key;
	}
	return count;
}

int ask(struct front *front, struct peer *peer, bool store, const char *json, ask_told *told)
{
	return ask_with(front, peer, store, json, -1, told);
}

int ask_with(struct front *front, struct peer *peer, bool store, const char *json, int given, ask_told *told)
{
	const struct front_source *to = store ? &front->store : &front->keeper;
	struct message_head head = { .kind = MESSAGE_ASK, .size = strlen(json) };
	struct ask *question = to->fd >= 0 ? ask_take(front, store) : NULL;
	struct error err;

	if (!question)
		return -1;
	/* Who asks more at once than others could waits like them. */
	if (peer && asks_of(front, &peer->caller, store) >= FRONT_ASKS_EACH) {
		question->number = 0;
		return -1;
	}
	head.run = question->number;
	if (message_send(to->fd, &head, json, &given, given >= 0, &err) < 0) {
		question->number = 0;
		return -1;
	}
	question->peer = peer;
	question->told = told;
	question->store = store;
	question->asked = peer != NULL;
	if (!peer)
		return 0;
	question->caller = peer->caller.key;
	peer->ask = question->number;
	return 0;
}

void ask_forget(struct front *front, struct peer *peer)
{
	struct ask *question = ask_find(front, peer->ask);

	if (question)
		question->peer = NULL;
	peer->ask = 0;
}

static void ask_end(struct front *front, struct ask *question, int status, const char *body, size_t size, int fd)
{
	struct peer *peer = question->peer;
	ask_told *told = question->told;

	question->number = 0;
	if (!peer) {
		close_fd(&fd);
		return;
	}
	peer->ask = 0;
	told(front, peer, status, body, size, fd);
	peer_resume(front, peer);
}

/* The store's own word: whether anything can be written down. */
static void store_state(struct front *front, const struct message *message)
{
	front->blind[0] = '\0';
	if (message->head.status != 200)
		snprintf(front->blind, sizeof(front->blind), "%.*s", (int)message->head.size,
			 (const char *)message->body);
	front_settle(front);
	run_dispatch(front);
}

void ask_answer(struct front *front, const struct message *message, int fd, bool store)
{
	struct ask *question = ask_find(front, message->head.run);

	if (question && question->store == store && message->head.status >= 400) {
		_cleanup_free_ char *json = NULL;
		struct error err;
		bool inside;

		refusal_unpack(message->body, message->head.size, &err);
		/* In the paths of a session its id is called so. */
		inside = question->peer && question->peer->exchange && mcp_is_inside(question->peer->exchange);
		if (!inside && strcmp(err.field, "session") == 0)
			error_about(&err, "id");
		json = front_error_json(&err, 0, NULL, inside);
		ask_end(front, question, (int)message->head.status, json ? json : "{}", json ? strlen(json) : 2, fd);
		return;
	}
	if (question && question->store == store) {
		ask_end(front, question, (int)message->head.status, message->body, message->head.size, fd);
		return;
	}
	close_fd(&fd);
	if (store && message->head.run == 0)
		store_state(front, message);
}

void ask_lost(struct front *front, bool store)
{
	struct error err;

	error_set(&err, ERROR_FAILED, 0, "the %s ended before it answered; it is being restarted",
		  store ? "store" : "keeper");
	for (size_t i = 0; i < MESSAGE_ASKS; i++) {
		_cleanup_free_ char *json = NULL;

		if (!front->asks[i].number || front->asks[i].store != store)
			continue;
		json = front_error_json(&err, 1, NULL, false);
		ask_end(front, &front->asks[i], 503, json ? json : "{}", json ? strlen(json) : 2, -1);
	}
}

/* Nobody waits for an answer to it, and so it takes nobody's place. */
static int audit_send(struct front *front, const char *json)
{
	const struct message_head head = { .kind = MESSAGE_ASK, .run = UINT64_MAX, .size = strlen(json) };
	struct error ignored;

	return front->store.fd < 0 ? -1 : message_send(front->store.fd, &head, json, NULL, 0, &ignored);
}

/* What happened while there was no store, or it had no room. */
static void audit_say_again(struct front *front)
{
	size_t said = 0;

	while (said < front->unsaid_count && audit_send(front, front->unsaid[said]) == 0)
		free(front->unsaid[said++]);
	front->unsaid_count -= said;
	memmove(front->unsaid, front->unsaid + said, front->unsaid_count * sizeof(front->unsaid[0]));
	source_watch(front, &front->store, front->unsaid_count > 0 ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

static void store_ready(struct front *front, struct front_source *source, uint32_t events)
{
	struct message message;
	struct error err = { 0 };
	int got;

	if (!source->ready)
		return;
	if (events & EPOLLOUT)
		audit_say_again(front);
	if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		return;
	got = message_receive(source->fd, &message, &err);
	if (got > 0) {
		if (message.head.kind == MESSAGE_TELL)
			ask_answer(front, &message, take_fd(&message.fds[0]), true);
		message_free(&message);
	} else if (got == 0 || err.errnum != EAGAIN) {
		if (got < 0)
			fd_send(front->control.fd, &(char){ ROLE_STORE_PEER }, 1, NULL, 0);
		source_close(front, source);
		ask_lost(front, true);
	}
}

int store_set(struct front *front, int fd)
{
	source_close(front, &front->store);
	ask_lost(front, true);
	front->store.fd = fd;
	if (fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0 || source_add(front, &front->store, EPOLLIN, store_ready) < 0)
		return -1;
	audit_say_again(front);
	return 0;
}

bool front_audit_full(const struct front *front)
{
	return front->unsaid_count >= UNSAID_MAX;
}

void front_audit(struct front *front, const char *event, const char *fields)
{
	json_t *root = json_pack("{s:s, s:s, s:s, s:o?}", "what", "event", "caller", MESSAGE_EVERYBODY, "event", event,
				 "fields", json_loads(fields, 0, NULL));
	char *json = root ? json_dumps(root, JSON_COMPACT) : NULL;

	json_decref(root);
	/* In their order: what waits goes first. */
	if (json && (front->unsaid_count > 0 || audit_send(front, json) < 0) && !front_audit_full(front)) {
		front->unsaid[front->unsaid_count++] = take_ptr(json);
		if (front->store.ready)
			source_watch(front, &front->store, EPOLLIN | EPOLLOUT);
	}
	free(json);
}
