/*
 * The front between clients, a keeper, a store and a supervisor that are all the
 * test: it runs in a thread, and what it sends is taken by hand.
 */
#pragma once

#include "../check.h"

#include "base/fd.h"
#include "wire/frame.h"
#include "daemon/front/front.h"
#include "daemon/message.h"
#include "schema/request.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	BIG = 1 << 20,
	PATIENCE = 20 /* seconds until a test that waits has failed */
};

/* Who else is there. */
enum kit_with {
	KIT_STORE = 1, /* a store */
	KIT_TCP = 2,   /* a port */
};

#define HELLO    "{\"language\":\"python\",\"code\":\"print(1)\"}"
#define STREAMED "{\"language\":\"python\",\"code\":\"\",\"stream\":true}"
#define FED      "{\"language\":\"python\",\"code\":\"\",\"input\":\"stream\"}"

static struct sockaddr_un address; /* where it listens */
static socklen_t address_size;     /* of it */
static struct sockaddr_in port;    /* where it listens with KIT_TCP */
static int keeper, store, control; /* our ends; store -1: there is none */
static struct front_fds fronts;    /* its own */
static struct front_options options;
static pthread_t thread;
static pid_t thread_id; /* of the front */
static int ended_with;  /* what front_run() returned */
static struct error front_error;

static inline void *run_front(void *unused)
{
	thread_id = gettid();
	ended_with = front_run(&fronts, &options, &front_error);
	return unused;
}

static inline void patience(int fd)
{
	struct timeval time = { .tv_sec = PATIENCE };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time));
}

/* Our end of a new pair. */
static inline int role_pair(int *front_end)
{
	int pair[2];

	CHECK_INT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	*front_end = pair[1];
	patience(pair[0]);
	return pair[0];
}

static inline void keeper_pair(int *front_end)
{
	keeper = role_pair(front_end);
}

static inline void start_with(struct front_options with, unsigned who)
{
	socklen_t size = sizeof(port);

	options = with;
	fronts = (struct front_fds){ .tcp = -1, .store = -1 };
	fronts.listen = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	/* Without a name the kernel finds one that is free. */
	CHECK_INT(bind(fronts.listen, (struct sockaddr *)&address, sizeof(sa_family_t)), 0);
	address_size = sizeof(address);
	CHECK_INT(getsockname(fronts.listen, (struct sockaddr *)&address, &address_size), 0);
	CHECK_INT(listen(fronts.listen, 512), 0);
	if (who & KIT_TCP) {
		port = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
		fronts.tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		CHECK_INT(bind(fronts.tcp, (struct sockaddr *)&port, sizeof(port)), 0);
		CHECK_INT(getsockname(fronts.tcp, (struct sockaddr *)&port, &size), 0);
		CHECK_INT(listen(fronts.tcp, 512), 0);
	}
	keeper_pair(&fronts.keeper);
	store = who & KIT_STORE ? role_pair(&fronts.store) : -1;
	control = role_pair(&fronts.control);
	ended_with = 99;
	CHECK_INT(pthread_create(&thread, NULL, run_front, NULL), 0);
}

static inline void start(struct front_options with)
{
	start_with(with, 0);
}

static inline void joined(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE;
	if (pthread_timedjoin_np(thread, NULL, &until) != 0) {
		check_fail("the front did not end");
		exit(1);
	}
	CHECK_INT(ended_with, 0);
}

static inline void stop(void)
{
	close(control);
	joined();
	close(keeper);
	if (store >= 0)
		close(store);
}

static inline int join(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	patience(fd);
	CHECK_INT(connect(fd, (struct sockaddr *)&address, address_size), 0);
	return fd;
}

static inline void say_bytes(int fd, enum frame_kind kind, const void *data, size_t size)
{
	struct frame frame = { .kind = kind, .size = (uint32_t)size };
	char *whole = malloc(FRAME_HEADER + size);

	frame_encode(&frame, (unsigned char *)whole);
	memcpy(whole + FRAME_HEADER, data, size);
	for (size_t at = 0; at < FRAME_HEADER + size;) {
		ssize_t n = send(fd, whole + at, FRAME_HEADER + size - at, MSG_NOSIGNAL);

		CHECK(n > 0);
		if (n <= 0)
			break;
		at += (size_t)n;
	}
	free(whole);
}

static inline void say(int fd, enum frame_kind kind, const char *text)
{
	say_bytes(fd, kind, text, strlen(text));
}

/* The next frame's payload; its kind and size have to be kept by who needs them. */
static inline char *hear_bytes(int fd, struct frame *frame)
{
	unsigned char header[FRAME_HEADER];
	char *payload;

	*frame = (struct frame){ 0 };
	if (fd_read(fd, header, sizeof(header)) != FRAME_HEADER || frame_decode(header, frame) < 0)
		return strdup("no frame");
	payload = malloc(frame->size + 1);
	if (fd_read(fd, payload, frame->size) != frame->size)
		frame->kind = 0;
	payload[frame->size] = '\0';
	return payload;
}

#define HEAR(fd, expected, text)                                                                                       \
	do {                                                                                                           \
		struct frame frame_;                                                                                   \
		char *payload_ = hear_bytes(fd, &frame_);                                                              \
		CHECK_STR(payload_, text);                                                                             \
		CHECK_INT(frame_.kind, expected);                                                                      \
		free(payload_);                                                                                        \
	} while (0)

/* Which code and seconds an ERROR has: "busy 1". */
static inline const char *hear_code(int fd)
{
	static char text[128];
	struct frame frame;
	char *payload = hear_bytes(fd, &frame);
	json_t *root = json_loads(payload, 0, NULL), *error = json_object_get(root, "error");

	snprintf(text, sizeof(text), "%s %d", json_string_value(json_object_get(error, "code")) ?: payload,
		 (int)json_integer_value(json_object_get(error, "retry_after")));
	json_decref(root);
	free(payload);
	return text;
}

static inline void hear_end(int fd)
{
	char byte;
	ssize_t n = read(fd, &byte, 1);

	CHECK(n == 0 || (n < 0 && errno == ECONNRESET));
	close(fd);
}

/* When this returns, the front has done all that was sent before. */
static inline void barrier(void)
{
	int fd = join();

	say(fd, FRAME_REQUEST, "[]");
	CHECK_STR(hear_code(fd), "bad_request 0");
	close(fd);
}

static inline struct message taken(void)
{
	struct message message = { .fds = { -1, -1, -1 } };
	struct error err = { 0 };

	if (message_receive(keeper, &message, &err) != 1)
		check_fail("no message: %s", err.text);
	CHECK_INT(message.head.kind, MESSAGE_RUN);
	return message;
}

/* The keeper has been sent nothing more. */
static inline void nothing_taken(void)
{
	struct pollfd poll_keeper = { .fd = keeper, .events = POLLIN };

	barrier();
	CHECK_INT(poll(&poll_keeper, 1, 0), 0);
}

static inline void tell(const struct message *run, enum message_kind kind, uint32_t stream, const void *body,
			size_t size)
{
	struct message_head head = { .kind = kind, .stream = stream, .run = run->head.run, .size = size };
	struct error err;

	CHECK_INT(message_send(keeper, &head, body, NULL, 0, &err), 0);
}

static inline void finish(struct message *run, const char *result)
{
	tell(run, MESSAGE_RESULT, 0, result, strlen(result));
	message_free(run);
}

static inline bool is_cancelled(const struct message *run)
{
	struct pollfd end = { .fd = run->fds[0], .events = POLLIN };

	return poll(&end, 1, 0) == 1 && (end.revents & POLLHUP);
}

/* The pipe is closed by the front: waited for, not asked for. */
static inline void hear_cancel(const struct message *run)
{
	/* A byte may come before: only the end is waited for. */
	struct pollfd end = { .fd = run->fds[0] };

	CHECK_INT(poll(&end, 1, PATIENCE * 1000), 1);
	CHECK(end.revents & POLLHUP);
}
