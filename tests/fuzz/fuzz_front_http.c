/* Bytes of a connection, as they come in pieces, through the front that has no keeper and no store: what it answers is
 * whole answers and nothing else, and of a connection that is gone nothing is left. The first byte says how long the
 * pieces are. */
#include "fuzz.h"

#include "daemon/front/front_parts.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static struct front *front_alone(void)
{
	static const char config[] = "where 1\nr\nregistry 72\n"
				     "containers:\n  asks: {language: python, security: {needs_confirm: true}}\n\n"
				     "tokens 0\n\n";
	struct front *front = calloc(1, sizeof(*front));
	struct error err = { 0 };
	int memory = memfd_create("config", MFD_CLOEXEC);

	MUST(front && memory >= 0);
	front->listen.fd = front->tcp.fd = front->keeper.fd = front->store.fd = front->control.fd = -1;
	front->options = (struct front_options){
		.max_clients = 1,
		.max_running = 1,
		.max_queued = 1,
		.max_queued_each = 1,
		.memory_max = 1 << 20,
		.times = { 1000, 1000, 1000, 1000, 1000, 1000, 1000 },
	};
	front->queue = (struct queue){ .most = 1, .most_each = 1 };
	front->runs = calloc(1, sizeof(*front->runs));
	front->metrics = metrics_new();
	front->epoll = epoll_create1(EPOLL_CLOEXEC);
	MUST(front->runs && front->metrics && front->epoll >= 0);
	front->runs[0].cancel = front->runs[0].input.fd = -1;
	MUST(write(memory, config, sizeof(config) - 1) == sizeof(config) - 1);
	MUST(policy_load(front, memory, &err) == 0);
	return front;
}

/* Where the first answer ends, NULL when it is not whole. Frames are not looked at. */
static const char *answer_end(const char *text, const char *end)
{
	const char *body = memmem(text, (size_t)(end - text), "\r\n\r\n", 4), *length;

	MUST(end - text < 9 || memcmp(text, "HTTP/1.1 ", 9) == 0);
	if (!body)
		return NULL;
	length = memmem(text, (size_t)(body - text), "\r\nContent-Length: ", 18);
	body += 4;
	/* A 100 and a stream have none. */
	if (!length || strtoul(length + 18, NULL, 10) > (size_t)(end - body))
		return NULL;
	return body + strtoul(length + 18, NULL, 10);
}

static void answers_hold(const char *text, size_t size)
{
	const char *end = text + size;

	while (text && text < end && memcmp(text, "HTTP/1.1 1", 10) != 0)
		text = answer_end(text, end);
}

static size_t hear(int fd, char *room, size_t used, size_t size)
{
	ssize_t n;

	while (used < size && (n = recv(fd, room + used, size - used, MSG_DONTWAIT)) > 0)
		used += (size_t)n;
	return used;
}

/* Everything in pieces; what was answered into `room`. */
static size_t talk(struct front *front, int fd, const uint8_t *data, size_t size, size_t piece, char *room, size_t most)
{
	struct peer *peer = front->clients;
	size_t used = 0;

	for (size_t at = 0; at < size && !peer->dead && peer->source.events & EPOLLIN; at += piece) {
		size_t part = size - at < piece ? size - at : piece;

		MUST(send(fd, data + at, part, MSG_NOSIGNAL) == (ssize_t)part);
		peer->source.ready(front, &peer->source, EPOLLIN);
		used = hear(fd, room, used, most);
	}
	if (!peer->dead && peer->door && peer->door->late) {
		peer->door->late(front, peer);
		peer_resume(front, peer);
	}
	return hear(fd, room, used, most);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct front *front;
	static char room[1 << 18];
	/* An answer to HEAD has the length of what GET has, and ends before it. */
	bool apart = size > 8 && !memchr(data + 1, 0, 8) && !memmem(data, size, "HEAD", 4);
	int pair[2];
	size_t heard;

	front = front ? front : front_alone();
	if (size < 2 || size > 1 << 14)
		return 0;
	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	MUST(fcntl(pair[0], F_SETFL, O_RDWR | O_NONBLOCK) == 0);
	peer_accept(front, pair[0], NULL, "unix");
	MUST(front->clients && front->client_count == 1);
	heard = talk(front, pair[1], data + 1, size - 1, data[0] ? data[0] : size, room, sizeof(room));
	if (apart && heard < sizeof(room))
		answers_hold(room, heard);
	if (front->clients)
		peer_drop(front, front->clients);
	while (front->dead) {
		struct peer *peer = front->dead;

		front->dead = peer->next;
		free(peer);
	}
	close(pair[1]);
	MUST(front->client_count == 0 && front->held == 0 && front->queue.count == 0);
	MUST(front->streams == 0 && front->running == 0);
	return 0;
}
