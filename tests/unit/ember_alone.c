/*
 * A zygote's surroundings without boxes, for test_ember_python.py and test_ember_node.py: ember_wait() forks for
 * whoever connects to the socket $ALONE_SOCKET. The first message of a connection brings the standard streams, and is
 * answered when the fork has rehearsed; the second is the program: entry, number of arguments, those, variables, each
 * ended by a NUL. The answer to it is how the process ended, as wait() says it. With $ALONE_NO_BREAK malloc() has no
 * room to grow at the program's end.
 */
#undef _FILE_OFFSET_BITS

#include "engine/ember/ember.h"
#include "engine/ember/python.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	ORDER_MAX = 65536, /* bytes */
	WORDS_MAX = 256,   /* arguments, and variables */
	SOCKET_FD = 500,   /* where no program sees it before it is closed */
};

extern char **environ;

static int waited; /* the point was reached */

int ember_armed(void)
{
	return !waited && getenv("ALONE_SOCKET") != NULL;
}

__attribute__((constructor)) static void block_break(void)
{
	char *end = sbrk(0);
	uintptr_t after = ((uintptr_t)end + 0xffff) & ~(uintptr_t)0xfff;

	if (getenv("ALONE_NO_BREAK") && mmap((void *)after, 4096, PROT_NONE,
					     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != (void *)after)
		_exit(74);
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 8) < 0)
		_exit(70);
	return fd;
}

static void receive_streams(int connection, int streams[3])
{
	union {
		struct cmsghdr header;                   /* for its alignment */
		char bytes[CMSG_SPACE(3 * sizeof(int))]; /* all of it */
	} control;
	char byte;
	struct iovec vector = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};

	if (recvmsg(connection, &message, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&message))
		_exit(71);
	memcpy(streams, CMSG_DATA(CMSG_FIRSTHDR(&message)), 3 * sizeof(int));
}

static const struct ember_claim *receive_order(int connection)
{
	static char order[ORDER_MAX + 1], *args[WORDS_MAX + 1], *variables[WORDS_MAX + 1];
	static struct ember_claim claim = { .entry = order, .args = args, .envp = variables };
	ssize_t size = recv(connection, order, ORDER_MAX, 0);
	char *at = order + strlen(order) + 1;
	long count;

	if (size <= 0)
		_exit(0);
	count = strtol(at, NULL, 10);
	at += strlen(at) + 1;
	for (long i = 0; i < count && i < WORDS_MAX; at += strlen(at) + 1)
		args[i++] = at;
	for (size_t i = 0; at < order + size && i < WORDS_MAX; at += strlen(at) + 1)
		variables[i++] = at;
	environ = variables;
	close(connection);
	return &claim;
}

static const struct ember_claim *be_fork(const struct ember_language *language, int connection, const int streams[3])
{
	int moved = fcntl(connection, F_DUPFD_CLOEXEC, SOCKET_FD);

	close(connection);
	for (int i = 0; i < 3; i++) {
		dup2(streams[i], i);
		close(streams[i]);
	}
	language->rehearse(0);
	if (send(moved, "ready", 5, 0) != 5)
		_exit(72);
	return receive_order(moved);
}

const struct ember_claim *ember_wait(const struct ember_language *language)
{
	int listener = listen_at(getenv("ALONE_SOCKET"));

	waited = 1;
	for (;;) {
		int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC), streams[3], status;
		char answer[32];
		pid_t pid;

		receive_streams(connection, streams);
		pid = language->fork();
		if (pid == 0) {
			close(listener);
			return be_fork(language, connection, streams);
		}
		for (int i = 0; i < 3; i++)
			close(streams[i]);
		waitpid(pid, &status, 0);
		snprintf(answer, sizeof(answer), "%d", status);
		send(connection, answer, strlen(answer), MSG_NOSIGNAL);
		close(connection);
	}
}

static FILE *opened(const char *name, const char *path, const char *mode)
{
	FILE *(*next)(const char *, const char *) = (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, name);

	if (ember_armed() && getenv("ALONE_DRIVER") && strcmp(path, getenv("ALONE_ENTRY")) == 0 &&
	    python_point(path, getenv("ALONE_DRIVER")) < 0)
		_exit(73);
	return next(path, mode);
}

__attribute__((visibility("default"))) FILE *fopen(const char *path, const char *mode)
{
	return opened("fopen", path, mode);
}

__attribute__((visibility("default"))) FILE *fopen64(const char *path, const char *mode)
{
	return opened("fopen64", path, mode);
}
