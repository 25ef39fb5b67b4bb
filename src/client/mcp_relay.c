#include "client/mcp_relay.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/json_check.h"
#include "base/own.h"
#include "wire/service_socket.h"
#include "client/http_answer.h"
#include "mcp/rpc.h"
#include "wire/frame.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

enum {
	CALLS_MAX = 128,           /* messages under way; what comes then waits */
	LINE_MAX_BYTES = 64 << 20, /* of a line: as much as any request may have */
	READ_AT_ONCE = 64 << 10,   /* bytes */
	WRITE_AT_ONCE = 4096,      /* bytes that a pipe which can be written to takes without blocking: PIPE_BUF */
	BEHIND_MAX = 8 << 20,      /* bytes that the client has not read when nothing more is taken for it */
	LINGER_USEC = 800 * 1000,  /* for the answers to what was asked before the end */
	GOODBYE_MSEC = 200,        /* for the service to forget the session */
	SESSION_DIGITS = 48,       /* of a session's id */
};

/* A message on its way to the service, and its answer. */
struct state;
struct call {
	struct state *state;       /* whose it is */
	int fd;                    /* the connection; -1: this place is free */
	struct buf request;        /* what is sent; owned */
	size_t sent;               /* bytes of it that are */
	char *line;                /* the message, as it came; owned */
	size_t line_size;          /* of it */
	json_t *id;                /* of a request; NULL: it is none. Owned */
	bool initialize;           /* it begins the conversation */
	bool internal;             /* nobody wants to hear its answer */
	bool again;                /* it was sent before, in a session that the service did not know */
	bool told;                 /* its answer was passed on */
	struct http_answer answer; /* as far as it came */
	struct http_events events; /* of it */
	struct buf body;           /* of it; owned */
};

struct state {
	const struct mcp_relay *relay;
	const char *socket;               /* the service's; NULL: it has to be asked for */
	struct call calls[CALLS_MAX];     /* in no order */
	struct buf in;                    /* bytes that came and are no whole line yet */
	size_t scanned;                   /* of them, those in which there is no end of a line */
	bool skipping;                    /* the line is too long, and forgotten up to its end */
	bool hung;                        /* no more comes behind what is not read yet */
	bool ended;                       /* no more comes */
	struct buf out;                   /* lines that wait to be written */
	size_t written;                   /* bytes of it that are */
	bool deaf;                        /* nobody reads them */
	char session[SESSION_DIGITS + 1]; /* ours; "" before the conversation began */
	char *initialize;                 /* the message that began it, to begin it again; owned */
	size_t initialize_size;           /* of it */
	bool renewing;                    /* it is being begun: what comes next waits */
	uint64_t until_usec;              /* when it is over, whatever is still missing; 0: not yet */
	char room[READ_AT_ONCE];          /* where bytes are read to */
};

static size_t pending(const struct state *s)
{
	return s->out.size - s->written;
}

/* A line for the client; a message has no end of line in itself. */
static void say(struct state *s, const char *text, size_t size)
{
	while (size > 0 && text[size - 1] == '\n')
		size--;
	if (size == 0)
		return;
	buf_add(&s->out, text, size);
	buf_text(&s->out, "\n");
	s->deaf |= s->out.failed;
}

static void say_error(struct state *s, json_t *id, enum rpc_code code, const char *message)
{
	_cleanup_free_ char *text = rpc_error_text(id, code, message, NULL);

	if (text)
		say(s, text, strlen(text));
}

static void call_end(struct call *call)
{
	close_fd(&call->fd);
	buf_free(&call->request);
	buf_free(&call->body);
	http_answer_free(&call->answer);
	http_events_free(&call->events);
	json_decref(call->id);
	free(call->line);
	*call = (struct call){ .fd = -1 };
}

/* It could not be answered. */
static void call_fail(struct state *s, struct call *call, const char *why)
{
	if (call->initialize)
		s->renewing = false;
	if (call->id && !call->told && !call->internal)
		say_error(s, call->id, RPC_FAILED, why);
	call_end(call);
}

static struct call *call_free_place(struct state *s)
{
	for (size_t i = 0; i < CALLS_MAX; i++)
		if (s->calls[i].fd < 0)
			return &s->calls[i];
	return NULL;
}

static bool has_calls(const struct state *s)
{
	for (size_t i = 0; i < CALLS_MAX; i++)
		if (s->calls[i].fd >= 0)
			return true;
	return false;
}

/* A connection to the service, which may have to be started first. */
static int reach(struct state *s, struct error *err)
{
	int fd = s->socket ? service_socket_connect(s->socket) : -1;

	if (fd >= 0)
		return fd;
	s->socket = s->relay->service(s->relay->data, err);
	fd = s->socket ? service_socket_connect(s->socket) : -1;
	return fd >= 0 || !s->socket ? fd : error_errno(err, "the service cannot be reached");
}

static void request_make(const struct state *s, struct call *call)
{
	buf_printf(&call->request,
		   "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\n"
		   "Content-Type: application/json\r\nEmberbox-Transport: stdio\r\nConnection: close\r\n");
	if (s->session[0])
		buf_printf(&call->request, "Mcp-Session-Id: %s\r\n", s->session);
	buf_printf(&call->request, "Content-Length: %zu\r\n\r\n", call->line_size);
	buf_add(&call->request, call->line, call->line_size);
}

static void call_send(struct state *s, struct call *call)
{
	ssize_t n = send(call->fd, call->request.data + call->sent, call->request.size - call->sent,
			 MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n >= 0)
		call->sent += (size_t)n;
	else if (errno != EAGAIN && errno != EINTR)
		/* It may have said why. */
		call->sent = call->request.size;
	if (call->sent == call->request.size)
		buf_free(&call->request);
}

/* The message goes out; takes the line, and the id. */
static void call_begin(struct state *s, struct call *call, char *line, size_t size, json_t *id)
{
	struct error err = { 0 };
	int fd = reach(s, &err);

	*call = (struct call){ .state = s, .fd = fd, .line = line, .line_size = size, .id = id };
	if (fd < 0) {
		call_fail(s, call, err.text);
		return;
	}
	request_make(s, call);
	if (call->request.failed)
		call_fail(s, call, "cannot hold the message");
	else
		call_send(s, call);
}

static void renew(struct state *s, bool internal)
{
	struct call *call = call_free_place(s);
	char *line = call ? strndup(s->initialize, s->initialize_size) : NULL;

	if (!line)
		return;
	s->renewing = true;
	call_begin(s, call, line, s->initialize_size, json_integer(0));
	if (call->fd >= 0) {
		call->initialize = true;
		call->internal = internal;
	} else {
		s->renewing = false;
	}
}

/* Whether a message is the answer to a request, and not a notification or a question on the way. */
static bool is_last(const char *text, size_t size)
{
	const char *value;
	size_t value_size;

	return !json_member(text, size, "method", &value, &value_size);
}

static void on_event(const char *name, const char *data, size_t size, void *userdata)
{
	struct call *call = userdata;

	if (strcmp(name, "message") != 0 || call->internal)
		return;
	call->told |= is_last(data, size);
	say(call->state, data, size);
}

/* What is no message of the protocol, but a word of the service about itself. */
static void tell_status(struct state *s, struct call *call)
{
	char sentence[512] = "the service cannot answer now";
	const char *error, *value;
	size_t error_size, size;

	if (json_member(call->body.data, call->body.size, "error", &error, &error_size) &&
	    json_member(error, error_size, "message", &value, &size))
		json_string_copy(value, size, sentence, sizeof(sentence));
	call_fail(s, call, sentence);
}

/* The service does not know our session: it was restarted. Begin again, and send the message again. */
static void call_again(struct state *s, struct call *call)
{
	char *line = take_ptr(call->line);
	json_t *id = take_ptr(call->id);
	size_t size = call->line_size;

	call_end(call);
	/* It was answered before we began again: sent before ours, heard after it. */
	if (!s->renewing)
		renew(s, true);
	call = call_free_place(s);
	call_begin(s, call, line, size, id);
	if (call->fd >= 0)
		call->again = true;
}

static void call_answered(struct state *s, struct call *call)
{
	const char *value;
	size_t size;
	const bool spoken =
		call->body.size > 0 && json_member(call->body.data, call->body.size, "jsonrpc", &value, &size);

	if (call->answer.status == 404 && s->initialize && !call->again && !call->initialize &&
	    memmem(call->body.data ? call->body.data : "", call->body.size, "session", 7)) {
		call_again(s, call);
		return;
	}
	if (call->initialize)
		s->renewing = false;
	if (!call->answer.events && call->answer.status >= 400 && !spoken) {
		tell_status(s, call);
		return;
	}
	if (!call->answer.events && spoken && !call->internal && (call->id || call->answer.status < 400)) {
		call->told = true;
		say(s, call->body.data, call->body.size);
	}
	call_fail(s, call, "the service ended before it answered");
}

static void call_receive(struct state *s, struct call *call)
{
	ssize_t n = recv(call->fd, s->room, sizeof(s->room), MSG_DONTWAIT);
	struct error err = { 0 };
	int done;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	done = n > 0 ? http_answer_take(&call->answer, s->room, (size_t)n, &call->body, &err)
	       : http_answer_end(&call->answer, &err) == 0 ? 1
							   : -1;
	if (done >= 0 && call->answer.events && call->body.size > 0) {
		if (http_events_take(&call->events, call->body.data, call->body.size, on_event, call, &err) < 0)
			done = -1;
		call->body.size = 0;
	}
	if (done < 0)
		call_fail(s, call, n > 0 ? err.text : "the service ended before it answered");
	else if (done > 0)
		call_answered(s, call);
}

/* Lines */

/* Closing its connection ends what it runs; nobody hears of it any more. */
static void cancel(struct state *s, const json_t *id)
{
	for (size_t i = 0; i < CALLS_MAX; i++)
		if (s->calls[i].fd >= 0 && s->calls[i].id && !s->calls[i].initialize && json_equal(s->calls[i].id, id))
			call_end(&s->calls[i]);
}

static int make_session(struct state *s)
{
	unsigned char chance[SESSION_DIGITS / 2];

	if (getrandom(chance, sizeof(chance), 0) != sizeof(chance))
		return -1;
	for (size_t i = 0; i < sizeof(chance); i++)
		snprintf(s->session + 2 * i, 3, "%02x", chance[i]);
	return 0;
}

/* Takes the line. */
static void begin_conversation(struct state *s, struct call *call, char *line, size_t size, json_t *id)
{
	free(s->initialize);
	s->initialize = strndup(line, size);
	s->initialize_size = size;
	if (!s->initialize || make_session(s) < 0) {
		free(line);
		json_decref(id);
		s->deaf = true;
		return;
	}
	s->renewing = true;
	call_begin(s, call, line, size, id);
	if (call->fd >= 0)
		call->initialize = true;
	else
		s->renewing = false;
}

static void take_line(struct state *s, const char *data, size_t size)
{
	struct rpc_message message;
	struct rpc_fault fault;
	struct call *call = call_free_place(s);
	char *line;

	while (size > 0 && (data[size - 1] == '\r' || data[size - 1] == ' '))
		size--;
	if (size == 0)
		return;
	if (rpc_decode(data, size, &message, &fault) < 0) {
		say_error(s, fault.id, fault.code, fault.message);
		rpc_fault_free(&fault);
		return;
	}
	if (message.kind == RPC_NOTIFICATION && strcmp(message.method, "notifications/cancelled") == 0) {
		cancel(s, json_object_get(message.params, "requestId"));
	} else if ((line = malloc(size + 1)) != NULL) {
		memcpy(line, data, size);
		line[size] = '\0';
		if (message.kind == RPC_REQUEST && strcmp(message.method, "initialize") == 0)
			begin_conversation(s, call, line, size, json_incref(message.id));
		else
			call_begin(s, call, line, size, message.kind == RPC_REQUEST ? json_incref(message.id) : NULL);
	} else if (message.kind == RPC_REQUEST) {
		say_error(s, message.id, RPC_FAILED, "cannot hold the message");
	}
	rpc_message_free(&message);
}

static bool can_take(const struct state *s)
{
	/* Two places are kept: for beginning again, and for the message that found out that it is necessary. */
	size_t used = 0;

	for (size_t i = 0; i < CALLS_MAX; i++)
		used += s->calls[i].fd >= 0;
	return !s->renewing && !s->deaf && used + 2 < CALLS_MAX && pending(s) <= BEHIND_MAX;
}

/* All lines that are whole and can be taken now. */
static void take_lines(struct state *s)
{
	size_t at = 0;

	while (can_take(s) && at < s->in.size) {
		const char *end = memchr(s->in.data + at + s->scanned, '\n', s->in.size - at - s->scanned);

		if (!end) {
			s->scanned = s->in.size - at;
			break;
		}
		s->scanned = 0;
		if (!s->skipping)
			take_line(s, s->in.data + at, (size_t)(end - s->in.data) - at);
		s->skipping = false;
		at = (size_t)(end - s->in.data) + 1;
	}
	if (at > 0) {
		memmove(s->in.data, s->in.data + at, s->in.size - at);
		s->in.size -= at;
	}
	if (s->scanned == s->in.size && (s->skipping || s->in.size > LINE_MAX_BYTES)) {
		if (!s->skipping)
			say_error(s, NULL, RPC_BAD_MESSAGE, "the message is larger than 64m");
		s->skipping = true;
		buf_free(&s->in);
		s->scanned = 0;
	}
	/* The last one may lack its end. */
	if (s->ended && s->in.size > 0 && s->scanned == s->in.size && can_take(s)) {
		take_line(s, s->in.data, s->in.size);
		s->in.size = s->scanned = 0;
	}
}

static void read_in(struct state *s)
{
	ssize_t n = read(s->relay->in, s->room, sizeof(s->room));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		buf_add(&s->in, s->room, (size_t)n);
		s->deaf |= s->in.failed;
		return;
	}
	s->ended = true;
	s->until_usec = s->until_usec ? s->until_usec : clock_usec() + LINGER_USEC;
}

static void write_out(struct state *s)
{
	size_t part = pending(s) < WRITE_AT_ONCE ? pending(s) : WRITE_AT_ONCE;
	ssize_t n = write(s->relay->out, s->out.data + s->written, part);

	if (n > 0)
		s->written += (size_t)n;
	else if (n < 0 && errno != EAGAIN && errno != EINTR)
		s->deaf = true;
	if (pending(s) == 0 || s->written > BEHIND_MAX) {
		memmove(s->out.data, s->out.data + s->written, pending(s));
		s->out.size -= s->written;
		s->written = 0;
	}
}

/* Descriptors to watch: in, out, and the calls in their places. */
static void fill(const struct state *s, struct pollfd fds[2 + CALLS_MAX])
{
	const bool room = pending(s) <= BEHIND_MAX;
	/* A line that has to wait is not read on; an end is heard all the same. */
	const bool reads = !s->ended && can_take(s) && s->scanned == s->in.size;

	/* An end that is known and cannot be read yet would be told again and again. */
	fds[0] = (struct pollfd){ .fd = s->ended || (s->hung && !reads) ? -1 : s->relay->in,
				  .events = reads ? POLLIN : 0 };
	fds[1] = (struct pollfd){ .fd = s->relay->out, .events = pending(s) > 0 ? POLLOUT : 0 };
	for (size_t i = 0; i < CALLS_MAX; i++)
		fds[2 + i] =
			(struct pollfd){ .fd = s->calls[i].fd,
					 .events = (room ? POLLIN : 0) | (s->calls[i].request.size > 0 ? POLLOUT : 0) };
}

static int patience(const struct state *s)
{
	uint64_t now = clock_usec();

	return !s->until_usec ? -1 : s->until_usec <= now ? 0 : (int)((s->until_usec - now) / 1000 + 1);
}

static bool is_over(const struct state *s)
{
	if (s->deaf)
		return true;
	return (s->ended && !has_calls(s) && pending(s) == 0 && s->in.size == 0) || patience(s) == 0;
}

static int step(struct state *s, struct error *err)
{
	struct pollfd fds[2 + CALLS_MAX];
	int ready;

	fill(s, fds);
	ready = poll(fds, 2 + CALLS_MAX, patience(s));
	if (ready < 0 && errno != EINTR)
		return error_errno(err, "cannot wait");
	if (ready <= 0)
		return 0;
	/* Nobody reads any more; a pipe says so at once. */
	if (fds[1].revents & (POLLERR | POLLNVAL))
		s->deaf = true;
	else if (fds[1].revents & POLLOUT)
		write_out(s);
	for (size_t i = 0; i < CALLS_MAX; i++) {
		struct call *call = &s->calls[i];

		if (call->fd < 0 || call->fd != fds[2 + i].fd)
			continue;
		if ((fds[2 + i].revents & POLLOUT) && call->request.size > 0)
			call_send(s, call);
		if (fds[2 + i].revents & (POLLIN | POLLHUP | POLLERR))
			call_receive(s, call);
	}
	if (fds[0].revents & POLLIN) {
		read_in(s);
	} else if (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL)) {
		/* An end behind lines that have to wait; or just an end. */
		s->hung = true;
		s->ended = fds[0].events & POLLIN;
		s->until_usec = s->until_usec ? s->until_usec : clock_usec() + LINGER_USEC;
	}
	take_lines(s);
	return 0;
}

/* The service need not wait until the session is too old. */
static void say_goodbye(const struct state *s)
{
	_cleanup_close_ int fd = s->session[0] && s->socket ? service_socket_connect(s->socket) : -1;
	char request[256];
	struct pollfd wait = { .fd = fd, .events = POLLIN };

	if (fd < 0)
		return;
	snprintf(request, sizeof(request),
		 "DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: %s\r\nConnection: close\r\n\r\n",
		 s->session);
	if (send(fd, request, strlen(request), MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
		(void)poll(&wait, 1, GOODBYE_MSEC);
}

int mcp_relay_run(const struct mcp_relay *relay, struct error *err)
{
	struct state *s = calloc(1, sizeof(*s));
	int done = 0;

	if (!s)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the state of a relay");
	s->relay = relay;
	for (size_t i = 0; i < CALLS_MAX; i++)
		s->calls[i].fd = -1;
	signal(SIGPIPE, SIG_IGN);
	while (done == 0 && !is_over(s))
		done = step(s, err);
	for (size_t i = 0; i < CALLS_MAX; i++)
		if (s->calls[i].fd >= 0)
			call_end(&s->calls[i]);
	say_goodbye(s);
	buf_free(&s->in);
	buf_free(&s->out);
	free(s->initialize);
	free(s);
	return done;
}
