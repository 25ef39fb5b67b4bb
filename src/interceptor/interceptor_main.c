/*
 * The interceptor: ends TLS for boxes and relays their HTTP requests (see intercept/intercept_wire.h).
 *
 *	interceptor              serves the main socket: descriptors 3, 4 and 5 (INTERCEPT_MAIN_FD, …)
 *	interceptor authority    writes a new authority to the standard output
 *
 * A program of its own: OpenSSL's tables need 20 000 relocations, which every start of emberbox would pay for. The
 *first process reads the certificates that the host trusts, and then makes a process for each box whose channel comes.
 *That one has this box's secrets and no other's; it has no file, makes no socket, and starts nothing.
 */
#include "base/own.h"
#include "intercept/intercept_wire.h"
#include "interceptor/interceptor_box.h"
#include "kernel/landlock.h"
#include "kernel/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	IDLE_MSEC = 60000 /* without a box the first process ends; the next box has another one started */
};

static int expect(long result, int errnum, const char *what, struct error *err)
{
	if (result == -1 && errno == errnum)
		return 0;
	return error_set(err, ERROR_FAILED, result == -1 ? errno : 0, "is not confined: %s was not refused as expected",
			 what);
}

/* For all processes: no file, no privileges, no core. */
static int confine_first(struct error *err)
{
	const struct rlimit none = { 0, 0 };
	const int abi = landlock_abi();

	if (prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_GET_DUMPABLE) != 0 || setrlimit(RLIMIT_CORE, &none) < 0)
		return error_errno(err, "dumpable");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_errno(err, "no-new-privs");
	if (abi > 0 && landlock_seal(abi, false) < 0)
		return error_errno(err, "landlock");
	if (abi > 0)
		return expect(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), EACCES, "opening /", err);
	return 0;
}

/* For the process of a box: nothing but its descriptors. */
static int confine_box(struct error *err)
{
	const struct rlimit none = { 0, 0 };

	if (setrlimit(RLIMIT_NPROC, &none) < 0)
		return error_errno(err, "processes");
	if (seccomp_install(SECCOMP_INTERCEPT, NULL, 0) < 0)
		return error_errno(err, "seccomp");
	if (expect(open("/", O_PATH | O_CLOEXEC), EPERM, "opening /", err) < 0 ||
	    expect(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), EPERM, "making a socket", err) < 0 ||
	    expect(connect(INTERCEPT_MAIN_FD, NULL, 0), EPERM, "connecting", err) < 0 ||
	    expect(syscall(SYS_execve, NULL, NULL, NULL), EPERM, "starting a program", err) < 0 ||
	    expect(syscall(SYS_clone, 0, NULL, NULL, NULL, 0), EPERM, "starting a process", err) < 0)
		return -1;
	return 0;
}

static void box_serve(int channel)
{
	struct error err;

	close(INTERCEPT_MAIN_FD);
	if (confine_box(&err) < 0 || intercept_box_run(channel, &err) < 0) {
		fprintf(stderr, "emberbox: interceptor: %s\n", err.text);
		_exit(1);
	}
	_exit(0);
}

/* A channel: 1; 0: there is none yet; -1: the main socket has ended. */
static int channel_take(int *channel)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec part = { &byte, 1 };
	struct msghdr head = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof(control.room)
	};
	const ssize_t size = recvmsg(INTERCEPT_MAIN_FD, &head, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *one = size >= 0 ? CMSG_FIRSTHDR(&head) : NULL;

	*channel = -1;
	if (size < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	if (one && one->cmsg_level == SOL_SOCKET && one->cmsg_type == SCM_RIGHTS)
		memcpy(channel, CMSG_DATA(one), sizeof(int));
	return size == 0 ? -1 : *channel >= 0;
}

static int serve(struct error *err)
{
	struct pollfd main_socket = { .fd = INTERCEPT_MAIN_FD, .events = POLLIN };

	signal(SIGPIPE, SIG_IGN);
	/* Nobody waits for the processes of boxes. */
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		const int ready = poll(&main_socket, 1, IDLE_MSEC);
		int channel;

		if (ready < 0 && errno != EINTR)
			return error_errno(err, "cannot wait for boxes");
		if (ready == 0 && waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD)
			return 0;
		if (ready <= 0)
			continue;
		switch (channel_take(&channel)) {
		case -1:
			return 0;
		case 0:
			continue;
		}
		/* One that cannot be made is told by the end of its channel. */
		if (fork() == 0)
			box_serve(channel);
		close(channel);
	}
}

static int start(int argc, char **argv, struct error *err)
{
	if (argc == 2 && strcmp(argv[1], "authority") == 0)
		return tls_authority_make(STDOUT_FILENO, err);
	if (argc != 1)
		return error_usage(err, "egress starts this program");
	syscall(SYS_close_range, INTERCEPT_STORE_FD + 1, ~0U, 0);
	if (tls_setup(INTERCEPT_KEY_FD, INTERCEPT_STORE_FD, err) < 0)
		return -1;
	/* OpenSSL asks for the time of day, for which the C library would look for the host's zone later. */
	tzset();
	close(INTERCEPT_KEY_FD);
	close(INTERCEPT_STORE_FD);
	return confine_first(err) < 0 ? -1 : serve(err);
}

int main(int argc, char **argv)
{
	struct error err;

	if (start(argc, argv, &err) == 0)
		return 0;
	fprintf(stderr, "emberbox: interceptor: %s\n", err.text);
	return 1;
}
