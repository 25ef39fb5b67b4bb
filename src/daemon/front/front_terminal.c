/*
 * The door of terminals: a WebSocket of HTTP's, and behind it a terminal in a
 * session's box.
 *
 * Binary messages are the terminal's bytes, both ways. Text messages of the
 * client are JSON: {"resize": {"rows", "cols"}}, {"signal": "SIGINT"}. The keeper
 * starts the shell and gives us the terminal's other side; from then on it has
 * no part in it.
 */
#include "daemon/front/front_http.h"

#include "base/own.h"
#include "base/text.h"
#include "schema/spec.h"
#include "http/websocket.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
	BLOCK = 16 << 10,  /* bytes of the terminal that are read at once */
	AHEAD = 256 << 10, /* bytes that wait for the client, before it gets no more */
	TYPED = 64 << 10,  /* bytes that wait for the terminal, before no more is heard */
};

struct terminal {
	struct front_source master; /* first: the terminal's other side */
	struct peer *peer;          /* whose it is */
	struct websocket socket;    /* what it says */
	struct buf typed;           /* bytes that the terminal has no room for yet */
	bool ended;                 /* a close was sent: nothing more is said */
};

void terminal_drop(struct front *front, struct peer *peer)
{
	struct terminal *t = peer->terminal;

	if (!t)
		return;
	source_close(front, &t->master);
	websocket_free(&t->socket);
	buf_free(&t->typed);
}

static void say(struct peer *peer, enum websocket_kind kind, const void *data, size_t size)
{
	unsigned char head[WEBSOCKET_HEADER_MAX];
	struct iovec parts[2] = { { head, websocket_header(kind, size, head) }, { (void *)data, size } };

	if (!peer->terminal->ended)
		connection_write(&peer->link, parts, size > 0 ? 2 : 1);
}

static void say_close(struct front *front, struct peer *peer, unsigned code, const char *reason)
{
	struct terminal *t = peer->terminal;
	_cleanup_buf_ struct buf out = { 0 };

	if (!t->ended) {
		websocket_close(&out, code, reason);
		connection_write(&peer->link, &(struct iovec){ out.data, out.size }, 1);
	}
	t->ended = true;
	peer->closing = true;
	source_close(front, &t->master);
	http_answered(front, peer, 101);
}

/* What it has room for of what was typed. */
static void type(struct front *front, struct terminal *t)
{
	ssize_t n = t->typed.size > 0 ? write(t->master.fd, t->typed.data, t->typed.size) : 0;

	if (n < 0 && errno != EAGAIN && errno != EINTR)
		n = (ssize_t)t->typed.size; /* nobody is there any more: reading tells */
	if (n > 0) {
		memmove(t->typed.data, t->typed.data + n, t->typed.size - (size_t)n);
		t->typed.size -= (size_t)n;
	}
}

static void watch(struct front *front, struct terminal *t)
{
	const bool reads = connection_pending(&t->peer->link) < AHEAD;

	if (t->master.ready)
		source_watch(front, &t->master, (reads ? EPOLLIN : 0) | (t->typed.size > 0 ? EPOLLOUT : 0));
}

static void master_ready(struct front *front, struct front_source *source, uint32_t events)
{
	struct terminal *t = (struct terminal *)source;
	struct peer *peer = t->peer;
	char block[BLOCK];
	ssize_t n;

	if (!source->ready || peer->dead)
		return;
	if (events & EPOLLOUT)
		type(front, t);
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
		n = read(source->fd, block, sizeof(block));
		if (n > 0)
			say(peer, WEBSOCKET_BINARY, block, (size_t)n);
		else if (n == 0 || (errno != EAGAIN && errno != EINTR))
			say_close(front, peer, WEBSOCKET_NORMAL, "the shell ended");
	}
	peer_resume(front, peer);
}

static const char *resize(struct terminal *t, const json_t *size)
{
	const json_int_t rows = json_integer_value(json_object_get(size, "rows"));
	const json_int_t columns = json_integer_value(json_object_get(size, "cols"));
	const struct winsize window = { .ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns };

	if (rows < 1 || rows > SPEC_LINES_MAX || columns < 1 || columns > SPEC_LINES_MAX || json_object_size(size) != 2)
		return "resize: expected {\"rows\": 24, \"cols\": 80}, each 1 to 9999";
	ioctl(t->master.fd, TIOCSWINSZ, &window);
	return NULL;
}

/* Those that a terminal can make; the rest is for who is at it to send. */
static const char *signal_named(struct terminal *t, const char *name)
{
	static const struct {
		const char *name; /* as kill(1) has it */
		int number;       /* the same */
	} known[] = { { "SIGINT", SIGINT }, { "SIGQUIT", SIGQUIT }, { "SIGTSTP", SIGTSTP } };

	for (size_t i = 0; name && i < ARRAY_SIZE(known); i++)
		if (strcmp(name, known[i].name) == 0) {
			ioctl(t->master.fd, TIOCSIG, known[i].number);
			return NULL;
		}
	return "signal: expected SIGINT, SIGQUIT or SIGTSTP";
}

static const char *control(struct terminal *t, const struct websocket_message *message)
{
	json_t *root = json_loadb(message->data, message->size, JSON_REJECT_DUPLICATES, NULL);
	const char *wrong = "expected {\"resize\": {…}} or {\"signal\": …}";

	if (json_is_object(root) && json_object_size(root) == 1 && json_object_get(root, "resize"))
		wrong = resize(t, json_object_get(root, "resize"));
	else if (json_is_object(root) && json_object_size(root) == 1 && json_object_get(root, "signal"))
		wrong = signal_named(t, json_string_value(json_object_get(root, "signal")));
	json_decref(root);
	return wrong;
}

static void on_message(struct front *front, struct peer *peer, const struct websocket_message *message)
{
	struct terminal *t = peer->terminal;
	const char *wrong = NULL;

	switch (message->kind) {
	case WEBSOCKET_BINARY:
		buf_add(&t->typed, message->data, message->size);
		peer->link.broken |= t->typed.failed;
		type(front, t);
		break;
	case WEBSOCKET_TEXT:
		wrong = control(t, message);
		break;
	case WEBSOCKET_PING:
		say(peer, WEBSOCKET_PONG, message->data, message->size);
		break;
	case WEBSOCKET_CLOSE:
		say_close(front, peer, message->code == WEBSOCKET_NO_CODE ? WEBSOCKET_NORMAL : message->code, "");
		break;
	case WEBSOCKET_PONG:
		break;
	}
	if (wrong)
		say_close(front, peer, WEBSOCKET_POLICY, wrong);
}

static size_t terminal_take(struct front *front, struct peer *peer, const char *data, size_t size)
{
	struct terminal *t = peer->terminal;
	struct websocket_message message;
	size_t at = 0, used = 1;

	peer->blocked = false;
	while (at < size && used > 0 && !peer->closing && !peer->dead && !peer->link.broken) {
		unsigned code = 0;
		int got;

		peer->blocked = t->typed.size >= TYPED;
		if (peer->blocked)
			break;
		/* It is unmasked where it lies: these are bytes of ours, and only a whole frame is touched. */
		got = websocket_take(&t->socket, (char *)data + at, size - at, &used, &message, &code);
		if (got < 0)
			say_close(front, peer, code, "");
		else if (got > 0)
			on_message(front, peer, &message);
		at += used;
	}
	if (!peer->dead)
		watch(front, t);
	return peer->closing || peer->dead ? size : at;
}

static void terminal_ended(struct front *front, struct peer *peer)
{
	peer->closing = true;
}

static void terminal_crowded(struct front *front, struct peer *peer)
{
	say_close(front, peer, WEBSOCKET_FAILED, "the service holds as many bytes as it may");
}

/* A sign of life, and a question for one. */
static void terminal_late(struct front *front, struct peer *peer)
{
	say(peer, WEBSOCKET_PING, "", 0);
	peer_deadline(front, peer, front->options.times.ping);
	peer_settle(front, peer);
}

static void terminal_more(struct front *front, struct peer *peer)
{
	watch(front, peer->terminal);
}

static const struct door door_terminal = {
	.name = "terminal",
	.take = terminal_take,
	.ended = terminal_ended,
	.crowded = terminal_crowded,
	.late = terminal_late,
	.more = terminal_more,
};

static void told_terminal(struct front *front, struct peer *peer, int status, const char *body, size_t size, int file)
{
	_cleanup_close_ int master = file;
	_cleanup_buf_ struct buf head = { 0 };
	struct exchange *x = peer->exchange;
	struct terminal *t;
	char lines[256];

	if (status != 200 || master < 0) {
		http_answer_json(front, peer, status == 200 ? 500 : status, body, size);
		return;
	}
	t = calloc(1, sizeof(*t));
	if (!t) {
		http_answer_error(front, peer, CODE_FAILED, "", 1, "there is no memory for a terminal now");
		return;
	}
	t->peer = peer;
	t->master.fd = take_fd(&master);
	peer->terminal = t;
	peer->door = &door_terminal;
	snprintf(lines, sizeof(lines),
		 "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n%sX-Request-Id: %s\r\n",
		 x->accept, x->protocol ? "Sec-WebSocket-Protocol: emberbox.terminal\r\n" : "", x->request_id);
	http_reply_head(&head, 101, NULL, 0, true, lines);
	peer->link.broken |= head.failed;
	connection_write(&peer->link, &(struct iovec){ head.data, head.size }, 1);
	peer_deadline(front, peer, front->options.times.ping);
	if (source_add(front, &t->master, EPOLLIN, master_ready) < 0) {
		t->master.ready = NULL;
		peer->link.broken = true;
	}
	/* What the client has sent behind its request is taken by peer_resume(). */
	peer->blocked = true;
}

/* How many rows or columns; 0: that is no such number. */
static int read_lines(const char *text)
{
	double number;

	if (!text_number(text, &number) || number < 1 || number > SPEC_LINES_MAX || number != (int)number)
		return 0;
	return (int)number;
}

void session_route_terminal(struct front *front, struct peer *peer, const char *body, size_t size)
{
	struct exchange *x = peer->exchange;
	const struct http_text query = { x->query, x->query_size };
	static const char *const names[] = { "rows", "cols" };
	int sizes[] = { SPEC_ROWS, SPEC_COLUMNS };
	_cleanup_free_ char *plain = NULL, *question = NULL, *in_force = policy_in_force(front);
	char value[16], name[32];
	json_t *root;
	size_t at = 0;

	if (x->handshake) {
		http_answer_status(front, peer, 426, CODE_BAD_REQUEST, x->handshake);
		return;
	}
	while (http_query_next(query, &at, name, sizeof(name)))
		if (strcmp(name, "rows") != 0 && strcmp(name, "cols") != 0) {
			http_refuse_field(front, peer, name, "there is no such parameter; leave it out");
			return;
		}
	for (int i = 0; i < 2; i++) {
		int got = http_query_get(query, names[i], value, sizeof(value));

		if (got > 0)
			sizes[i] = read_lines(value);
		if (got < 0 || sizes[i] == 0) {
			http_refuse_field(front, peer, names[i], "expected a number from 1 to 9999");
			return;
		}
	}
	plain = http_question(peer, SCOPE_ADMIN, "terminal", x->part);
	root = plain ? json_loads(plain, 0, NULL) : NULL;
	json_object_set_new(root, "rows", json_integer(sizes[0]));
	json_object_set_new(root, "cols", json_integer(sizes[1]));
	json_object_set_new(root, "in_force", json_string(in_force));
	question = root ? json_dumps(root, JSON_COMPACT) : NULL;
	json_decref(root);
	x->phase = PHASE_ANSWER;
	if (!question || ask(front, peer, false, question, told_terminal) < 0)
		http_answer_error(front, peer, CODE_FAILED, "", 1, "the keeper cannot be asked now");
}
