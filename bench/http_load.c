/*
 * The load generator for HTTP: so many keep-alive connections in one thread, on
 * epoll, each with the next request as soon as the last was answered (a closed
 * loop). It prints the same report as load does, so that figures of both can be
 * compared and merged. With --streams it only opens event streams and holds them.
 *
 * Of HTTP it knows what a server of JSON sends: a length or chunks, or a body
 * until the end. Anything else is a failure that is counted, with its reason.
 */
#include "http_load.h"

#include "base/own.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

enum {
	EVENTS_MAX = 256,      /* taken from epoll at once */
	PATIENCE_SECONDS = 60, /* nothing at all happens for so long: it is given up */
};

uint64_t http_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

__attribute__((format(printf, 2, 3))) static void fail(struct http_load *load, const char *format, ...)
{
	va_list args;

	if (load->failed++ > 0)
		return;
	va_start(args, format);
	vsnprintf(load->problem, sizeof(load->problem), format, args);
	va_end(args);
}

/* ---- Connections. */

static void watch(struct http_load *load, struct http_peer *peer, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = peer };

	epoll_ctl(load->epoll, peer->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, peer->fd, &event);
	peer->watched = true;
}

static void peer_close(struct http_peer *peer)
{
	close_fd(&peer->fd);
	peer->fd = -1;
	peer->watched = false;
	peer->used = 0;
}

/* Waits until it is there: connections are made before the clock starts, and seldom after. */
static int peer_connect(struct http_load *load, struct http_peer *peer)
{
	_cleanup_close_ int fd = socket(load->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1;

	if (fd < 0)
		return -1;
	while (connect(fd, (struct sockaddr *)&load->address, load->address_size) < 0) {
		/* A Unix socket's queue of connections is full: it is a matter of moments. */
		if (errno != EAGAIN && errno != EINTR)
			return -1;
		usleep(1000);
	}
	if (load->address.ss_family != AF_UNIX)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		return -1;
	peer->fd = take_fd(&fd);
	watch(load, peer, EPOLLIN);
	return 0;
}

/* "HOST:PORT", or the path of a Unix socket. */
int http_load_address(struct http_load *load, const char *to)
{
	const char *colon = strrchr(to, ':');
	struct sockaddr_un *local = (struct sockaddr_un *)&load->address;
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found;
	char host[256];

	if (strchr(to, '/')) {
		if (strlen(to) >= sizeof(local->sun_path))
			return -1;
		local->sun_family = AF_UNIX;
		strcpy(local->sun_path, to);
		load->address_size = sizeof(*local);
		return 0;
	}
	if (!colon)
		return -1;
	snprintf(host, sizeof(host), "%.*s", (int)(colon - to), to);
	if (host[0] == '[' && host[strlen(host) - 1] == ']') {
		host[strlen(host) - 1] = '\0';
		memmove(host, host + 1, strlen(host));
	}
	if (getaddrinfo(host, colon + 1, &hints, &found) != 0)
		return -1;
	memcpy(&load->address, found->ai_addr, found->ai_addrlen);
	load->address_size = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

/* ---- One attempt. */

static void response_begin(struct http_response *response)
{
	response->text.size = 0;
	*response = (struct http_response){ .text = response->text, .length = UINT64_MAX };
}

/* As much of the request as the socket takes. */
static void request_send(struct http_load *load, struct http_peer *peer)
{
	const struct buf *request = &load->request;

	while (peer->sent < request->size) {
		ssize_t n = send(peer->fd, request->data + peer->sent, request->size - peer->sent, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			watch(load, peer, EPOLLIN | EPOLLOUT);
			return;
		}
		/* Whoever answers before it read all may close: the answer says why. */
		if (n < 0) {
			peer->sent = request->size;
			return;
		}
		peer->sent += (size_t)n;
	}
	if (peer->partly)
		watch(load, peer, EPOLLIN);
}

static bool attempt_begin(struct http_load *load, struct http_peer *peer)
{
	uint64_t now = http_clock();

	if (load->stopped || (load->options.count && load->begun >= load->options.count) ||
	    (load->deadline && now >= load->deadline))
		return false;
	load->begun++;
	load->under_way++;
	peer->begin = now;
	peer->first = 0;
	peer->sent = 0;
	peer->busy = true;
	response_begin(&peer->response);
	if (peer->fd < 0 && peer_connect(load, peer) < 0) {
		fail(load, "the server cannot be reached: %s", strerror(errno));
		load->under_way--;
		peer->busy = false;
		/* One that is gone does not come back while we ask a million times. */
		load->stopped = true;
		return false;
	}
	request_send(load, peer);
	peer->partly = peer->sent < load->request.size;
	return true;
}

static void sample_add(struct http_load *load, const struct http_peer *peer, uint64_t whole)
{
	if (load->sample_count == load->sample_room) {
		size_t room = load->sample_room ? load->sample_room * 2 : 4096;
		struct http_sample *grown = realloc(load->samples, room * sizeof(*grown));

		if (!grown) {
			fail(load, "no memory");
			return;
		}
		load->samples = grown;
		load->sample_room = room;
	}
	load->samples[load->sample_count++] = (struct http_sample){ .whole = whole, .first = peer->first };
}

/* Whether the box was ready: the result says so once, and what a program prints has its quotes escaped. */
static void starts_count(struct http_load *load, const char *body)
{
	if (strstr(body, "\"start\":\"warm\"") || strstr(body, "\"start\": \"warm\""))
		load->warm++;
	if (strstr(body, "\"start\":\"cold\"") || strstr(body, "\"start\": \"cold\"")) {
		load->cold++;
		load->stopped |= load->cold >= load->options.max_cold;
	}
}

static void attempt_end(struct http_load *load, struct http_peer *peer)
{
	const struct http_response *response = &peer->response;
	uint64_t whole = http_clock() - peer->begin;
	const char *body = response->text.data + response->head;

	peer->busy = false;
	peer->used++;
	load->under_way--;
	starts_count(load, body);
	if (response->status != load->options.status)
		fail(load, "status %d: %.150s", response->status, body);
	else if (load->options.contains && !strstr(body, load->options.contains))
		fail(load, "the answer is %.150s", body);
	else
		sample_add(load, peer, whole);
	load->bytes += response->body;
	if (response->close)
		peer_close(peer);
	peer->next = load->options.pause_nsec ? http_clock() + load->options.pause_nsec : 0;
}

static void attempt_fail(struct http_load *load, struct http_peer *peer, const char *why)
{
	fail(load, "%s", why);
	peer->busy = false;
	load->under_way--;
	peer_close(peer);
}

/* What came. False: nothing more for now. */
static bool peer_read(struct http_load *load, struct http_peer *peer)
{
	struct http_response *response = &peer->response;
	char data[64 << 10];
	ssize_t n = recv(peer->fd, data, sizeof(data), 0);
	const char *fault;

	if (n < 0)
		return errno == EINTR ? true : errno != EAGAIN && (attempt_fail(load, peer, strerror(errno)), false);
	if (!peer->busy) {
		/* An idle connection may be closed; more than was asked for may not come. */
		if (n > 0)
			fail(load, "%zd bytes came that nobody asked for", n);
		peer_close(peer);
		return false;
	}
	if (peer->first == 0)
		peer->first = http_clock() - peer->begin;
	fault = n == 0 ? http_response_ends(response) : http_response_take(response, data, (size_t)n);
	if (n == 0)
		response->close = true;
	if (fault)
		attempt_fail(load, peer, fault);
	else if (response->done)
		attempt_end(load, peer);
	return !fault && !response->done;
}

static void peer_ready(struct http_load *load, struct http_peer *peer, uint32_t events)
{
	if (peer->busy && (events & EPOLLOUT))
		request_send(load, peer);
	while (peer->fd >= 0 && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) && peer_read(load, peer))
		;
}

/* ---- All of them. */

/* Begins what is due; returns when the next is, in milliseconds, or -1. */
static int begin_due(struct http_load *load)
{
	uint64_t now = http_clock(), next = UINT64_MAX;

	for (size_t i = 0; i < load->options.connections; i++) {
		struct http_peer *peer = &load->peers[i];

		if (peer->busy)
			continue;
		if (peer->next <= now) {
			if (!attempt_begin(load, peer))
				return -1;
		} else if (peer->next < next) {
			next = peer->next;
		}
	}
	return next == UINT64_MAX ? -1 : (int)((next - now + 999999) / 1000000);
}

static void loop(struct http_load *load)
{
	struct epoll_event events[EVENTS_MAX];

	for (;;) {
		int wait = begin_due(load), n;

		if (load->under_way == 0 && wait < 0)
			return;
		n = epoll_wait(load->epoll, events, EVENTS_MAX, wait < 0 ? PATIENCE_SECONDS * 1000 : wait);
		if (n == 0 && wait < 0) {
			fail(load, "nothing came for %d s", PATIENCE_SECONDS);
			return;
		}
		for (int i = 0; i < n; i++)
			peer_ready(load, events[i].data.ptr, events[i].events);
	}
}

static int peers_open(struct http_load *load)
{
	load->epoll = epoll_create1(EPOLL_CLOEXEC);
	load->peers = calloc(load->options.connections, sizeof(*load->peers));
	if (load->epoll < 0 || !load->peers)
		return -1;
	for (size_t i = 0; i < load->options.connections; i++)
		load->peers[i].fd = -1;
	for (size_t i = 0; i < load->options.connections; i++)
		if (peer_connect(load, &load->peers[i]) < 0)
			return -1;
	return 0;
}

int http_load_run(struct http_load *load)
{
	if (peers_open(load) < 0)
		return -1;
	load->started = http_clock();
	load->deadline = load->options.nsec ? load->started + load->options.nsec : 0;
	loop(load);
	load->ended = http_clock();
	return 0;
}

/* ---- Streams: opened one after the other, held until somebody ends our input. */

static bool stream_read(struct http_load *load, struct http_peer *peer)
{
	char data[16 << 10];
	ssize_t n = recv(peer->fd, data, sizeof(data), 0);
	const char *fault = NULL;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return errno == EINTR;
	if (n <= 0) {
		fail(load, "a stream was ended by the server");
		peer_close(peer);
		return false;
	}
	load->bytes += (uint64_t)n;
	if (peer->response.status == 0) {
		fault = http_response_take(&peer->response, data, (size_t)n);
		if (!fault && peer->response.status != 0) {
			if (peer->response.status == load->options.status)
				load->open++;
			else
				fail(load, "status %d: %.150s", peer->response.status,
				     peer->response.text.data + peer->response.head);
			buf_free(&peer->response.text);
		}
	}
	if (fault) {
		fail(load, "%s", fault);
		peer_close(peer);
	}
	return fault == NULL;
}

static void streams_wait(struct http_load *load, int millis, bool *ended)
{
	struct epoll_event events[EVENTS_MAX];
	int n = epoll_wait(load->epoll, events, EVENTS_MAX, millis);

	for (int i = 0; i < n; i++) {
		struct http_peer *peer = events[i].data.ptr;
		char data[64];

		if (!peer) {
			*ended = read(STDIN_FILENO, data, sizeof(data)) <= 0;
			continue;
		}
		if (events[i].events & EPOLLOUT)
			request_send(load, peer);
		while (peer->fd >= 0 && stream_read(load, peer))
			;
	}
}

int http_load_hold(struct http_load *load, void (*opened)(struct http_load *load))
{
	struct epoll_event input = { .events = EPOLLIN };
	bool ended = false;
	uint64_t until;

	if (peers_open(load) < 0)
		return -1;
	load->started = http_clock();
	for (size_t i = 0; i < load->options.connections; i++) {
		response_begin(&load->peers[i].response);
		request_send(load, &load->peers[i]);
		load->peers[i].partly = load->peers[i].sent < load->request.size;
	}
	until = load->started + (uint64_t)PATIENCE_SECONDS * 1000000000;
	while (load->open + load->failed < load->options.connections && http_clock() < until)
		streams_wait(load, 100, &ended);
	load->ended = http_clock();
	opened(load);
	until = load->options.nsec ? load->ended + load->options.nsec : UINT64_MAX;
	if (!load->options.nsec && epoll_ctl(load->epoll, EPOLL_CTL_ADD, STDIN_FILENO, &input) < 0)
		return -1;
	while (!ended && http_clock() < until)
		streams_wait(load, load->options.nsec ? 100 : -1, &ended);
	return 0;
}

void http_load_free(struct http_load *load)
{
	for (size_t i = 0; load->peers && i < load->options.connections; i++) {
		close_fd(&load->peers[i].fd);
		buf_free(&load->peers[i].response.text);
	}
	close_fd(&load->epoll);
	free(load->peers);
	free(load->samples);
	buf_free(&load->request);
}
