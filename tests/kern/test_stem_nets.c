/* Networks that serve again, and those that do not. tests/run: args=--as root | --as user | --as userns */
#include "../check.h"
#include "as.h"
#include "space.h"

#include "base/fd.h"
#include "engine/warm/stem_nets.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static struct nets nets;

/* Where this process is. */
static ino_t here(void)
{
	struct stat st;

	return stat("/proc/self/ns/net", &st) == 0 ? st.st_ino : 0;
}

/* A box of that number and pid; its network, which the descriptor keeps from being another's number. */
static ino_t box(uint64_t number, pid_t pid, int *hold)
{
	ino_t inode;

	CHECK_INT(nets_enter(&nets, number), 0);
	inode = here();
	*hold = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	CHECK_INT(nets_leave(&nets, pid), 0);
	CHECK(here() == nets.home_inode && inode != nets.home_inode);
	return inode;
}

static void begin(void)
{
	CHECK_INT(unshare(CLONE_NEWNET), 0);
	CHECK_INT(nets_open(&nets), 0);
	CHECK(nets.home_inode == here());
	nets_all_told(&nets, 0);
	CHECK(nets.again);
}

static void child_again(void)
{
	int hold[4];
	ino_t one, two;

	begin();
	one = box(1, 101, &hold[0]);
	two = box(2, 102, &hold[1]);
	CHECK(one != two);
	nets_ended(&nets, 999); /* whoever that is */
	nets_ended(&nets, 101);
	CHECK(box(3, 103, &hold[2]) == one);
	/* The other lives. */
	CHECK(box(4, 104, &hold[3]) != two);
}

static void without_sockets_they_serve_again(void)
{
	in_space(0, child_again);
}

static void child_lent(void)
{
	int hold[3];
	ino_t one;

	begin();
	one = box(1, 101, &hold[0]);
	nets_lent(&nets, 7); /* nobody */
	nets_lent(&nets, 1);
	nets_ended(&nets, 101);
	CHECK(box(2, 102, &hold[1]) != one);
	CHECK(box(3, 103, &hold[2]) != one);
}

static void lent_ones_do_not(void)
{
	in_space(0, child_lent);
}

static void child_failed(void)
{
	int hold[1];
	ino_t inode;

	begin();
	CHECK_INT(nets_enter(&nets, 1), 0);
	inode = here();
	hold[0] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	CHECK_INT(nets_leave(&nets, 0), 0); /* no box was made */
	CHECK(box(2, 102, hold) != inode);
}

static void one_without_a_box_does_not(void)
{
	in_space(0, child_failed);
}

static void child_bounded(void)
{
	int spares = 0, hold;

	begin();
	for (pid_t pid = 1; pid <= 2 * NETS_SPARE_MAX; pid++)
		box((uint64_t)pid, pid, &hold);
	for (pid_t pid = 1; pid <= 2 * NETS_SPARE_MAX; pid++)
		nets_ended(&nets, pid);
	for (size_t i = 0; i < NETS_MAX; i++)
		spares += nets.at[i].fd >= 0;
	CHECK_INT(spares, NETS_SPARE_MAX);
}

static void only_so_many_wait(void)
{
	in_space(0, child_bounded);
}

/* Whoever is not listened to could use one without our knowing. */
static void child_deaf(void)
{
	int hold[2];
	ino_t one;

	begin();
	nets_all_told(&nets, 1);
	CHECK(!nets.again);
	one = box(1, 101, &hold[0]);
	nets_ended(&nets, 101);
	CHECK(box(2, 102, &hold[1]) != one);
}

static void without_a_listener_none_does(void)
{
	in_space(0, child_deaf);
}

/* A box's process: is heard, and does what it is for. */
static _Noreturn void be_boxed(int stem, bool wants_socket)
{
	int listener;

	/* As who enters a box does; a stem could look all the same. */
	prctl(PR_SET_DUMPABLE, 1);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	listener = seccomp_install_heard(true, NULL, 0);
	if (fd_send(stem, "l", 1, &listener, listener >= 0) < 0 || close(listener) < 0)
		_exit(1);
	if (wants_socket ? socket(AF_INET, SOCK_STREAM, 0) < 0 : unshare(CLONE_NEWUSER) >= 0 || errno != EPERM)
		_exit(2);
	_exit(0);
}

/* A box of that number, which a zygote's listener tells of, to its end. */
static void heard_box(uint64_t number, bool wants_socket, ino_t *inode, int *hold)
{
	int ends[2], fds[FD_MESSAGE_MAX], status = -1;
	struct pollfd waiting = { .events = POLLIN };
	size_t count = 0;
	char word;
	pid_t pid;

	CHECK_INT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	CHECK_INT(nets_enter(&nets, number), 0);
	*inode = here();
	*hold = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	CHECK_INT(nets_refused(&nets, number), -1);
	pid = fork();
	if (pid == 0)
		be_boxed(ends[1], wants_socket);
	CHECK_INT(nets_leave(&nets, pid), 0);
	CHECK_INT(fd_receive(ends[0], &word, 1, fds, &count), 1);
	CHECK_INT(count, 1);
	nets_listen(&nets, 0, fds[0]);
	nets_all_told(&nets, 1);
	CHECK(nets.again);
	waiting.fd = fds[0];
	CHECK_INT(poll(&waiting, 1, 10000), 1);
	nets_hear(&nets, 0);
	CHECK_INT(waitpid(pid, &status, __WALL), pid);
	CHECK_INT(status, 0);
	CHECK_INT(nets_refused(&nets, number), wants_socket ? -1 : SYS_unshare);
	CHECK_INT(nets_refused(&nets, number + 1), -1);
	nets_ended(&nets, pid);
	close(ends[0]);
	close(ends[1]);
	/* Nobody is left to be heard. */
	nets_hear(&nets, 0);
	CHECK(nets.listeners[0] < 0 && !nets.again);
	nets_all_told(&nets, 0);
}

static void child_heard(void)
{
	ino_t one, two, three;
	int hold[3];

	begin();
	heard_box(1, false, &one, &hold[0]);
	/* What was refused to one is not the next one's, who is in the same network. */
	heard_box(2, true, &two, &hold[1]);
	CHECK(two == one);
	/* That one asked for a socket. */
	heard_box(3, false, &three, &hold[2]);
	CHECK(three != two);
}

static void each_is_told_of_as_its_own(void)
{
	in_space(0, child_heard);
}

int main(int argc, char **argv)
{
	as_enter(argc, argv);
	RUN(without_sockets_they_serve_again);
	RUN(lent_ones_do_not);
	RUN(one_without_a_box_does_not);
	RUN(only_so_many_wait);
	RUN(without_a_listener_none_does);
	RUN(each_is_told_of_as_its_own);
	return check_failures ? 1 : 0;
}
