#include "engine/local/plant_beside.h"

#include "base/fd.h"
#include "base/own.h"
#include "kernel/clone.h"
#include "kernel/fdset.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	PLANT_MSEC = 5000 /* for the child; it takes a millisecond */
};

struct planted_word {
	int32_t errnum; /* why it failed; 0: it did not */
	uint32_t left;  /* sockets that are to come in further messages */
};

/* In a child of the keeper: enters the box's user and network namespaces, where it has all capabilities. As after any
 * clone, nothing is allocated. */
static _Noreturn void plant_and_exit(int inside, const struct net_plant *plant, int socket)
{
	const int keep[] = { 0, 1, 2, inside, socket };
	struct planted_word word = { 0 };
	int fds[NET_PLANT_SOCKETS_MAX];
	size_t count = 0, sent = 0;
	bool steered;

	/* A box's program could see this process: it shall hold nothing of the service's. */
	if (fdset_keep(keep, ARRAY_SIZE(keep)) < 0 || setns(inside, CLONE_NEWUSER | CLONE_NEWNET) < 0 ||
	    net_plant(plant, fds, &count, &steered) < 0 || net_plant_prove(plant) < 0) {
		word.errnum = errno ? errno : EPROTO;
		fd_send(socket, &word, sizeof(word), NULL, 0);
		_exit(1);
	}
	do {
		const size_t part = count - sent < FD_MESSAGE_MAX ? count - sent : FD_MESSAGE_MAX;

		word.left = (uint32_t)(count - sent - part);
		if (fd_send(socket, &word, sizeof(word), fds + sent, part) < 0)
			_exit(1);
		sent += part;
	} while (sent < count);
	_exit(0);
}

/* 0, or an errno; what came is the caller's either way. */
static int hear_planted(int socket, int fds[NET_PLANT_SOCKETS_MAX + FD_MESSAGE_MAX], size_t *count)
{
	struct planted_word word = { .left = 1 };

	while (word.left > 0) {
		struct pollfd heard = { .fd = socket, .events = POLLIN };
		size_t more = 0;
		int n;

		while ((n = poll(&heard, 1, PLANT_MSEC)) < 0 && errno == EINTR)
			;
		if (n <= 0)
			return ETIMEDOUT;
		if (fd_receive(socket, &word, sizeof(word), fds + *count, &more) != sizeof(word))
			return EPIPE;
		*count += more;
		if (word.errnum)
			return word.errnum;
		if (*count > NET_PLANT_SOCKETS_MAX)
			return EPROTO;
	}
	return 0;
}

int plant_beside(int inside, const struct net_plant *plant, struct egress_sockets *out, struct error *err)
{
	_cleanup_close_ int ours = -1, theirs = -1, pidfd = -1;
	int ends[2], fds[NET_PLANT_SOCKETS_MAX + FD_MESSAGE_MAX], errnum;
	size_t count = 0;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_errno(err, "cannot make a socket");
	ours = ends[0];
	theirs = ends[1];
	pid = clone_into(SIGCHLD, -1, &pidfd);
	if (pid == 0)
		plant_and_exit(inside, plant, theirs);
	if (pid < 0)
		return error_errno(err, "cannot make a process");
	close_fd(&theirs);
	errnum = hear_planted(ours, fds, &count);
	if (errnum)
		kill(pid, SIGKILL);
	clone_wait(pid, NULL);
	if (errnum == 0 && box_plant_take(plant, fds, count, out))
		return 0;
	for (size_t i = 0; i < count; i++)
		close_fd(&fds[i]);
	return error_set(err, ERROR_FAILED, errnum ? errnum : EPROTO, "cannot change the box's network");
}
