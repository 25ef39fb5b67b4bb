#include "client/http_call.h"

#include "base/clock.h"
#include "base/own.h"
#include "wire/service_socket.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

enum {
	READ_MAX = 64 << 10, /* bytes of one read */
};

/* A call in progress. The socket is non-blocking: if both sides wrote at the same time, a blocking write could
 * deadlock. */
struct http_exchange {
	const struct http_call *call;    /* the call */
	struct http_reply *reply;        /* receives the answer */
	int socket;                      /* connected to the service */
	struct buf out;                  /* the request; owned */
	size_t sent;                     /* bytes sent */
	bool deaf;                       /* the service has closed its receiving side; it may have sent the reason */
	struct http_answer answer;       /* parser of the answer */
	struct http_events events;       /* parser of its events */
	bool watched[HTTP_CALL_WATCHES]; /* watches that are still active */
};

static void write_request(struct http_exchange *exchange)
{
	const struct http_call *call = exchange->call;
	struct buf *out = &exchange->out;

	buf_printf(out, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n", call->method, call->path);
	if (call->on_event)
		buf_text(out, "Accept: text/event-stream\r\n");
	if (call->body)
		buf_printf(out, "Content-Type: %s\r\nContent-Length: %zu\r\n",
			   call->body_type ? call->body_type : "application/json", call->body_size);
	buf_text(out, "\r\n");
	if (call->body)
		buf_add(out, call->body, call->body_size);
}

static void send_some(struct http_exchange *exchange)
{
	ssize_t n = send(exchange->socket, exchange->out.data + exchange->sent, exchange->out.size - exchange->sent,
			 MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n >= 0)
		exchange->sent += (size_t)n;
	else if (errno != EAGAIN && errno != EINTR)
		exchange->deaf = true;
}

static int answer_take(struct http_exchange *exchange, const char *data, size_t size, struct error *err)
{
	struct http_answer *answer = &exchange->answer;
	struct buf *body = &exchange->reply->body;
	int done = http_answer_take(answer, data, size, body, err);

	exchange->reply->status = answer->status;
	if (done < 0 || !answer->events || !exchange->call->on_event || body->size == 0)
		return done;
	exchange->reply->events = true;
	if (http_events_take(&exchange->events, body->data, body->size, exchange->call->on_event,
			     exchange->call->userdata, err) < 0)
		return -1;
	body->size = 0;
	return done;
}

/* Returns 1 when the answer is complete. */
static int exchange_receive(struct http_exchange *exchange, struct error *err)
{
	char data[READ_MAX];
	ssize_t n = recv(exchange->socket, data, sizeof(data), MSG_DONTWAIT);

	if (n > 0)
		return answer_take(exchange, data, (size_t)n, err);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0)
		return error_errno(err, "cannot read the service's answer");
	return http_answer_end(&exchange->answer, err) < 0 ? -1 : 1;
}

static int look_around(struct http_exchange *exchange, const struct pollfd *fds)
{
	for (size_t i = 0; i < HTTP_CALL_WATCHES; i++) {
		const struct http_watch *watch = &exchange->call->watches[i];
		int said;

		if (!exchange->watched[i] || !fds[i].revents)
			continue;
		said = watch->on_ready(watch->fd, watch->data);
		if (said < 0)
			return -1;
		exchange->watched[i] = said == 0;
	}
	return 0;
}

/* Fills the list for poll(). Returns the milliseconds until the list changes, -1: never. */
static int polls_fill(const struct http_exchange *exchange, int age, struct pollfd *fds)
{
	bool sending = !exchange->deaf && exchange->sent < exchange->out.size;
	int limit = exchange->call->timeout_msec, wait = limit > 0 ? limit - age : -1;

	for (size_t i = 0; i < HTTP_CALL_WATCHES; i++) {
		const struct http_watch *watch = &exchange->call->watches[i];
		int early = exchange->watched[i] ? watch->after_msec - age : 0;

		fds[i] = (struct pollfd){ .fd = exchange->watched[i] && early <= 0 ? watch->fd : -1, .events = POLLIN };
		if (early > 0 && (wait < 0 || early < wait))
			wait = early;
	}
	fds[HTTP_CALL_WATCHES] = (struct pollfd){ .fd = exchange->socket, .events = POLLIN | (sending ? POLLOUT : 0) };
	return wait;
}

static int exchange_converse(struct http_exchange *exchange, struct error *err)
{
	struct pollfd fds[HTTP_CALL_WATCHES + 1], *service = &fds[HTTP_CALL_WATCHES];
	uint64_t began = clock_usec();
	int limit = exchange->call->timeout_msec, done = 0;

	while (done == 0) {
		/* Whole milliseconds, rounded down, so that a poll() until then is long enough. */
		uint64_t age = (clock_usec() - began) / 1000;
		int wait = polls_fill(exchange, age < INT_MAX ? (int)age : INT_MAX, fds);

		if (limit > 0 && age >= (uint64_t)limit)
			return error_set(err, ERROR_FAILED, 0, "the service does not answer");
		if (poll(fds, HTTP_CALL_WATCHES + 1, wait) < 0) {
			if (errno != EINTR)
				return error_errno(err, "cannot wait for the service");
			continue;
		}
		if (look_around(exchange, fds) < 0) {
			exchange->reply->given_up = true;
			return error_set(err, ERROR_FAILED, 0, "given up");
		}
		if (service->revents & (POLLOUT | POLLERR | POLLHUP) && exchange->sent < exchange->out.size)
			send_some(exchange);
		if (service->revents & (POLLIN | POLLERR | POLLHUP))
			done = exchange_receive(exchange, err);
	}
	return done < 0 ? -1 : 0;
}

int http_call(const struct http_call *call, struct http_reply *reply, struct error *err)
{
	struct http_exchange exchange = { .call = call,
					  .reply = reply,
					  .socket = service_socket_connect(call->socket) };
	int done = -1;

	*reply = (struct http_reply){ 0 };
	if (exchange.socket < 0)
		return error_errno(err, "cannot reach the service at \"%s\"", call->socket);
	for (size_t i = 0; i < HTTP_CALL_WATCHES && call->watches[i].on_ready; i++)
		exchange.watched[i] = call->watches[i].fd >= 0;
	write_request(&exchange);
	if (exchange.out.failed)
		error_set(err, ERROR_FAILED, ENOMEM, "cannot make the request");
	else
		done = exchange_converse(&exchange, err);
	close_fd(&exchange.socket);
	buf_free(&exchange.out);
	http_answer_free(&exchange.answer);
	http_events_free(&exchange.events);
	return done;
}

void http_reply_free(struct http_reply *reply)
{
	buf_free(&reply->body);
	*reply = (struct http_reply){ 0 };
}

void http_path_add(struct buf *path, const char *name, bool slash)
{
	for (; *name; name++) {
		unsigned char c = (unsigned char)*name;

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("-._~", c) ||
		    (slash && c == '/'))
			buf_add(path, name, 1);
		else
			buf_printf(path, "%%%02X", c);
	}
}
