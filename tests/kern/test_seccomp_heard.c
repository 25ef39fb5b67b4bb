/* A filter that somebody listens to: what he hears, and what is answered. tests/run: args=--as root | --as user */
#include "../check.h"
#include "as.h"

#include "base/fd.h"
#include "base/own.h"
#include "kernel/refusals.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Sends its listener to its parent, which hears of it from then on. */
static void be_heard(int parent, bool gated)
{
	int listener;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	listener = seccomp_install_heard(gated, NULL, 0);
	if (fd_send(parent, "l", 1, &listener, listener >= 0) < 0 || listener < 0 || close(listener) < 0)
		_exit(1);
}

static _Noreturn void ask_for_sockets(int parent)
{
	int pair[2];

	be_heard(parent, true);
	/* Denied by the filter: nobody is asked. */
	if (socket(AF_PACKET, SOCK_RAW, 0) >= 0 || errno != EAFNOSUPPORT || socket(AF_INET, SOCK_RAW, 0) >= 0 ||
	    errno != EPERM || syscall(SYS_kcmp, getpid(), getpid(), 1, 0, 0) >= 0 || errno != EPERM)
		_exit(3);
	if (getpid() <= 0 || socket(AF_INET, SOCK_STREAM, 0) < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		_exit(4);
	if (socket(AF_UNIX, SOCK_DGRAM, 0) < 0)
		_exit(5);
	/* Of what is refused the parent hears as well. */
	if (unshare(CLONE_NEWUSER) >= 0 || errno != EPERM)
		_exit(6);
	_exit(0);
}

static _Noreturn void ask_for_the_forbidden(int parent)
{
	be_heard(parent, false);
	/* Without a gate sockets are nobody's business, and those that are refused are told like all else. */
	if (socket(AF_INET, SOCK_STREAM, 0) < 0)
		_exit(3);
	if (socket(AF_INET, SOCK_RAW, 0) >= 0 || errno != EPERM)
		_exit(4);
	if (mount("x", "/", "tmpfs", 0, NULL) >= 0 || errno != EPERM)
		_exit(5);
	if (syscall(SYS_setns, SECCOMP_GATE, 0) >= 0 || errno != EPERM)
		_exit(6);
	/* What does not exist needs no answer. */
	if (syscall(SYS_io_uring_setup, 1, NULL) >= 0 || errno != ENOSYS)
		_exit(7);
	/* A filter more would answer instead of this one, or hear of it. */
	if (syscall(SYS_seccomp, 1, 8, NULL) >= 0 || errno != EPERM)
		_exit(8);
	_exit(0);
}

static _Noreturn void ask_nobody(int parent)
{
	char word;

	be_heard(parent, false);
	/* Until the parent listens no longer. */
	if (read(parent, &word, 1) != 0)
		_exit(3);
	if (mount("x", "/", "tmpfs", 0, NULL) >= 0 || errno != ENOSYS || unshare(CLONE_NEWUSER) >= 0 || errno != ENOSYS)
		_exit(4);
	_exit(0);
}

/* Starts it, and gives its listener. */
static pid_t start_heard(void (*child)(int parent), int *listener, int *to)
{
	int ends[2], fds[FD_MESSAGE_MAX];
	size_t count = 0;
	char word;
	pid_t pid;

	CHECK_INT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		child(ends[1]);
	}
	close(ends[1]);
	CHECK_INT(fd_receive(ends[0], &word, 1, fds, &count), 1);
	CHECK_INT(count, 1);
	*listener = count == 1 ? fds[0] : -1;
	*to = ends[0];
	return pid;
}

/* Answers until nobody is left; the calls in their order. */
static size_t answer(pid_t pid, int listener, bool gated, int *calls, size_t most)
{
	struct pollfd waiting = { .fd = listener, .events = POLLIN };
	struct seccomp_heard heard = { 0 };
	int status = -1;
	size_t told = 0;

	while (poll(&waiting, 1, 10000) > 0 && seccomp_hear(listener, &heard) > 0) {
		void (*reply)(int, const struct seccomp_heard *) =
			seccomp_is_socket(&heard) && gated ? seccomp_let_go_on : seccomp_refuse;

		CHECK_INT(heard.pid, pid);
		/* It waits. */
		CHECK_INT(waitpid(pid, &status, WNOHANG | __WALL), 0);
		reply(listener, &heard);
		/* A second answer is to nobody, and harms nobody. */
		seccomp_let_go_on(listener, &heard);
		if (told < most)
			calls[told] = heard.call;
		told++;
	}
	CHECK_INT(seccomp_hear(listener, &heard), -1);
	CHECK_INT(waitpid(pid, &status, __WALL), pid);
	CHECK_INT(status, 0);
	return told;
}

static void sockets_are_told_of(void)
{
	int listener, to, calls[8] = { 0 };
	pid_t pid = start_heard(ask_for_sockets, &listener, &to);

	CHECK_INT(answer(pid, listener, true, calls, ARRAY_SIZE(calls)), 4);
	CHECK_INT(calls[0], SYS_socket);
	CHECK_INT(calls[1], SYS_socketpair);
	CHECK_INT(calls[2], SYS_socket);
	CHECK_INT(calls[3], SYS_unshare);
	close(listener);
	close(to);
}

static void refusals_are_told_of(void)
{
	int listener, to, calls[8] = { 0 };
	pid_t pid = start_heard(ask_for_the_forbidden, &listener, &to);

	CHECK_INT(answer(pid, listener, false, calls, ARRAY_SIZE(calls)), 4);
	CHECK_INT(calls[0], SYS_socket);
	CHECK_INT(calls[1], SYS_mount);
	CHECK_INT(calls[2], SYS_setns);
	CHECK_INT(calls[3], SYS_seccomp);
	close(listener);
	close(to);
}

/* Nothing is allowed because nobody answers. */
static void without_a_listener_they_are_refused(void)
{
	int listener, to, status = -1;
	pid_t pid = start_heard(ask_nobody, &listener, &to);

	close(listener);
	close(to);
	CHECK_INT(waitpid(pid, &status, __WALL), pid);
	CHECK_INT(status, 0);
}

enum {
	ASKERS = 100, /* threads */
	MORE = 4,     /* that each asks when all that are quick are through */
};

static atomic_int asked, wrong;

static void *ask_some(void *unused)
{
	while (atomic_fetch_add(&asked, 1) < REFUSALS_QUICK + ASKERS * MORE)
		if (mount("x", "/", "tmpfs", 0, NULL) >= 0 || errno != EPERM)
			wrong++;
	return unused;
}

/* As often as it likes: the thousandth is as quick as the first, what comes then is not. */
static _Noreturn void ask_again_and_again(int parent)
{
	pthread_t threads[ASKERS];

	be_heard(parent, false);
	for (int i = 0; i < ASKERS; i++)
		if (pthread_create(&threads[i], NULL, ask_some, NULL) != 0)
			_exit(3);
	for (int i = 0; i < ASKERS; i++)
		pthread_join(threads[i], NULL);
	_exit(wrong ? 4 : 0);
}

static void who_asks_too_often_waits(void)
{
	static struct refusals refusals;
	struct refused box = { 0 };
	int listener, to, status = -1, waits = 0, ticks = 0;
	size_t most = 0;
	pid_t pid = start_heard(ask_again_and_again, &listener, &to);

	while (listener >= 0) {
		struct pollfd waiting = { .fd = listener, .events = POLLIN };

		size_t before = refusals.count;

		CHECK(poll(&waiting, 1, refusals_wait_msec(&refusals) < 0 ? 10000 : 1) >= 0);
		refusals_on_time(&refusals);
		/* However many wait, some at a time. */
		CHECK(before - refusals.count <= REFUSALS_PACE);
		ticks += before > refusals.count;
		before = refusals.count;
		if (waiting.revents)
			refusals_hear(&refusals, &listener, &box);
		/* It is heard at once, and answered later. */
		waits += refusals.count > before;
		most = refusals.count > most ? refusals.count : most;
	}
	CHECK_INT(box.count, REFUSALS_QUICK + ASKERS * MORE);
	CHECK_INT(box.call, SYS_mount);
	/* The sanitizers' threads ask for their processors too, which is heard and granted in the same line. */
	CHECK(box.heard >= REFUSALS_QUICK + ASKERS * MORE);
	CHECK_INT(waits, box.heard - REFUSALS_QUICK);
	CHECK(ticks >= ASKERS * MORE / REFUSALS_PACE);
	CHECK(most > REFUSALS_PACE && most <= ASKERS);
	CHECK_INT(refusals.count, 0);
	CHECK_INT(waitpid(pid, &status, __WALL), pid);
	CHECK_INT(status, 0);
	close(to);
}

int main(int argc, char **argv)
{
	as_enter(argc, argv);
	RUN(sockets_are_told_of);
	RUN(refusals_are_told_of);
	RUN(without_a_listener_they_are_refused);
	RUN(who_asks_too_often_waits);
	return check_failures ? 1 : 0;
}
