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
	CALLS_MAX = 128,           /* concurrent messages; others wait */
	LINE_MAX_BYTES = 64 << 20, /* bytes of a line: the size limit of any request */
	READ_AT_ONCE = 64 << 10,   /* bytes */
	WRITE_AT_ONCE = 4096,      /* bytes that a writable pipe takes without blocking: PIPE_BUF */
	BEHIND_MAX = 8 << 20,      /* bytes not read by the client at which no more input is taken */
	LINGER_USEC = 800 * 1000,  /* wait after the end of the input for the remaining answers */
	GOODBYE_MSEC = 200,        /* timeout for the service to delete the session */
	SESSION_DIGITS = 48,       /* digits of a session's id */
};

/* A message sent to the service, and its answer. */
struct state;
struct call {
	struct state *state;       /* the relay */
	int fd;                    /* the connection; -1: this entry is free */
	struct buf request;        /* the HTTP request; owned */
	size_t sent;               /* bytes sent */
	char *line;                /* the message as received; owned */
	size_t line_size;          /* bytes */
	json_t *id;                /* of a request; NULL: the message is none. Owned */
	bool initialize;           /* the message is `initialize` */
	bool internal;             /* the client does not expect an answer */
	bool again;                /* sent a second time, because the service did not know the session */
	bool told;                 /* the answer was passed on */
	struct http_answer answer; /* parser of the answer */
	struct http_events events; /* parser of its events */
	struct buf body;           /* its body; owned */
};

struct state {
	const struct mcp_relay *relay;
	const char *socket;               /* path of the service's socket; NULL: unknown */
	struct call calls[CALLS_MAX];     /* unordered */
	struct buf in;                    /* input that is not yet a complete line */
	size_t scanned;                   /* bytes of `in` that contain no end of a line */
	bool skipping;                    /* the line is too long, and is skipped */
	bool hung;                        /* the input ends after the unread data */
	bool ended;                       /* the input has ended */
	struct buf out;                   /* lines for the client */
	size_t written;                   /* bytes of `out` that are written */
	bool deaf;                        /* the client no longer reads */
	char session[SESSION_DIGITS + 1]; /* id of the session; "" before `initialize` */
	char *initialize;                 /* the `initialize` message, to repeat it; owned */
	size_t initialize_size;           /* bytes */
	bool renewing;                    /* `initialize` is being repeated: other messages wait */
	uint64_t until_usec;              /* when to end, even with answers missing; 0: not yet */
	char room[READ_AT_ONCE];          /* buffer for reads */
};

static size_t out_pending(const struct state *s)
{
	return s->out.size - s->written;
}

/* Sends a line to the client; a message contains no line end. */
static void line_put(struct state *s, const char *text, size_t size)
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
		line_put(s, text, strlen(text));
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

/* Reports that the message could not be answered. */
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

/* Connects to the service, starting it if necessary. */
static int service_connect(struct state *s, struct error *err)
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
		/* The service may have sent the reason. */
		call->sent = call->request.size;
	if (call->sent == call->request.size)
		buf_free(&call->request);
}

/* Sends the message; takes the line and the id. */
static void call_begin(struct state *s, struct call *call, char *line, size_t size, json_t *id)
{
	struct error err = { 0 };
	int fd = service_connect(s, &err);

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

static void session_renew(struct state *s, bool internal)
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

/* Whether a message is the answer to a request, not a notification or another request. */
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
	line_put(call->state, data, size);
}

/* Handles an answer that is not a message of the protocol but the service's error. */
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

/* The service was restarted and does not know our session: repeat `initialize`, then send the message again. */
static void call_again(struct state *s, struct call *call)
{
	char *line = take_ptr(call->line);
	json_t *id = take_ptr(call->id);
	size_t size = call->line_size;

	call_end(call);
	/* The answer to a message from before the repeated `initialize` may arrive after it. */
	if (!s->renewing)
		session_renew(s, true);
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
		line_put(s, call->body.data, call->body.size);
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

/* Lines. */

/* Closing the connection of a call ends its run; its answer is not needed any more. */
static void call_cancel(struct state *s, const json_t *id)
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
		call_cancel(s, json_object_get(message.params, "requestId"));
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
	/* Two entries are reserved: for the repeated `initialize`, and for the message that made it necessary. */
	size_t used = 0;

	for (size_t i = 0; i < CALLS_MAX; i++)
		used += s->calls[i].fd >= 0;
	return !s->renewing && !s->deaf && used + 2 < CALLS_MAX && out_pending(s) <= BEHIND_MAX;
}

/* Handles all complete lines that can be handled now. */
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
	/* The last line may lack its end. */
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
	size_t part = out_pending(s) < WRITE_AT_ONCE ? out_pending(s) : WRITE_AT_ONCE;
	ssize_t n = write(s->relay->out, s->out.data + s->written, part);

	if (n > 0)
		s->written += (size_t)n;
	else if (n < 0 && errno != EAGAIN && errno != EINTR)
		s->deaf = true;
	if (out_pending(s) == 0 || s->written > BEHIND_MAX) {
		memmove(s->out.data, s->out.data + s->written, out_pending(s));
		s->out.size -= s->written;
		s->written = 0;
	}
}

/* Fills the list for poll(): in, out, and the calls by index. */
static void polls_fill(const struct state *s, struct pollfd fds[2 + CALLS_MAX])
{
	const bool room = out_pending(s) <= BEHIND_MAX;
	/* A line that has to wait is not read further; the end of the input is still noticed. */
	const bool reads = !s->ended && can_take(s) && s->scanned == s->in.size;

	/* A hangup that cannot be handled yet would wake poll() again and again. */
	fds[0] = (struct pollfd){ .fd = s->ended || (s->hung && !reads) ? -1 : s->relay->in,
				  .events = reads ? POLLIN : 0 };
	fds[1] = (struct pollfd){ .fd = s->relay->out, .events = out_pending(s) > 0 ? POLLOUT : 0 };
	for (size_t i = 0; i < CALLS_MAX; i++)
		fds[2 + i] =
			(struct pollfd){ .fd = s->calls[i].fd,
					 .events = (room ? POLLIN : 0) | (s->calls[i].request.size > 0 ? POLLOUT : 0) };
}

static int poll_timeout(const struct state *s)
{
	uint64_t now = clock_usec();

	return !s->until_usec ? -1 : s->until_usec <= now ? 0 : (int)((s->until_usec - now) / 1000 + 1);
}

static bool is_over(const struct state *s)
{
	if (s->deaf)
		return true;
	return (s->ended && !has_calls(s) && out_pending(s) == 0 && s->in.size == 0) || poll_timeout(s) == 0;
}

static int relay_step(struct state *s, struct error *err)
{
	struct pollfd fds[2 + CALLS_MAX];
	int ready;

	polls_fill(s, fds);
	ready = poll(fds, 2 + CALLS_MAX, poll_timeout(s));
	if (ready < 0 && errno != EINTR)
		return error_errno(err, "cannot wait");
	if (ready <= 0)
		return 0;
	/* The client no longer reads; a pipe reports this at once. */
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
		/* The input ends after lines that have to wait, or at once. */
		s->hung = true;
		s->ended = fds[0].events & POLLIN;
		s->until_usec = s->until_usec ? s->until_usec : clock_usec() + LINGER_USEC;
	}
	take_lines(s);
	return 0;
}

/* Deletes the session, so that the service need not wait for its timeout. */
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
		done = relay_step(s, err);
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
