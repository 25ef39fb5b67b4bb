#include "engine/ember/ember.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "engine/local/box_report.h"
#include "engine/ember/enter.h"
#include "engine/ember/zygote.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A fork that lives. */
struct child {
	pid_t pid;   /* in the zygote's pid namespace; 0: this place is free */
	int pidfd;   /* tells its end */
	int control; /* where its end is reported */
};

static struct {
	bool armed;                                /* a zygote that has not reached its point yet */
	int epoll;                                 /* the socket, and every child */
	int files[16];                             /* of the interpreter, that its forks open anew */
	size_t file_count;                         /* how many */
	uint32_t children_used;                    /* places below this one were used */
	struct child children[EMBER_CHILDREN_MAX]; /* in no order */
} self;

int ember_armed(void)
{
	return self.armed;
}

void zygote_arm(void)
{
	self.armed = true;
}

/* The zygote's own descriptors are where a fork finds them all at once. */
static int raise_fd(int fd)
{
	int raised = fcntl(fd, F_DUPFD_CLOEXEC, ZYGOTE_FD_FIRST);

	close(fd);
	return raised;
}

static struct child *child_place(void)
{
	for (uint32_t i = 0; i < self.children_used; i++)
		if (self.children[i].pid == 0)
			return &self.children[i];
	return self.children_used < EMBER_CHILDREN_MAX ? &self.children[self.children_used++] : NULL;
}

static int watch(int fd, struct child *child)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = child };

	return epoll_ctl(self.epoll, EPOLL_CTL_ADD, fd, &event);
}

/* How it ended, to whoever watches its box. */
static void child_ended(struct child *child)
{
	struct report ended = { .kind = REPORT_ENDED, .at_usec = clock_usec() };
	struct rusage usage;

	/* To wait4() 0 is a group, and "nobody yet" as well. */
	if (child->pid == 0 || wait4(child->pid, &ended.status, __WALL | WNOHANG, &usage) != child->pid)
		return;
	ended.memory = (uint64_t)usage.ru_maxrss * 1024;
	ended.cpu_usec = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
			 (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
	fd_send(child->control, &ended, sizeof(ended), NULL, 0);
	close(child->control);
	/* A fork that has not settled yet has this file as well: closing it does not end the watch. */
	epoll_ctl(self.epoll, EPOLL_CTL_DEL, child->pidfd, NULL);
	close(child->pidfd);
	child->pid = 0;
}

/* The descriptors of a request to their places; those of a fork alone are put there by it. */
static int receive(struct ember_fork *order, int fds[FD_MESSAGE_MAX], size_t *count)
{
	ssize_t n = fd_receive(ZYGOTE_FD_SOCKET, order, sizeof(*order), fds, count);

	if (n <= 0)
		_exit(0);
	for (size_t i = 0; i < *count; i++)
		fds[i] = raise_fd(fds[i]);
	if (n == sizeof(*order) && order->groups <= EMBER_JOIN_MAX && *count == EMBER_FORK_FDS + order->groups)
		return 0;
	for (size_t i = 0; i < *count; i++)
		close(fds[i]);
	return -1;
}

/* The interpreter's own files: what one fork did to an open file (its position, its flags) another would see. */
static void find_files(void)
{
	_cleanup_closedir_ DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		int fd = atoi(entry->d_name);
		struct stat st;

		if (fd <= STDERR_FILENO || fd >= SECCOMP_GATE || fd == dirfd(dir) || fstat(fd, &st) < 0 ||
		    !(S_ISREG(st.st_mode) || S_ISCHR(st.st_mode) || S_ISDIR(st.st_mode)))
			continue;
		/* A zygote whose forks would share more than this is none. */
		if (self.file_count == ARRAY_SIZE(self.files))
			_exit(1);
		self.files[self.file_count++] = fd;
	}
	if (!dir)
		_exit(1);
}

/* In the fork: the same file, opened by itself. */
static int reopen(int fd)
{
	int flags = fcntl(fd, F_GETFL), close_flag = fcntl(fd, F_GETFD);
	off_t at = lseek(fd, 0, SEEK_CUR);
	_cleanup_close_ int own = -1;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, flags | O_CLOEXEC);
	if (own < 0 || (at > 0 && lseek(own, at, SEEK_SET) != at))
		return -1;
	return dup3(own, fd, close_flag & FD_CLOEXEC ? O_CLOEXEC : 0);
}

/* In the fork: what it needs is moved to where the filter lets it be used, and everything of the zygote's goes. */
static int settle(const struct ember_fork *order, const int *fds)
{
	for (int i = 0; i < 3; i++)
		if (dup2(fds[2 + i], i) < 0)
			return -1;
	for (size_t i = 0; i < self.file_count; i++)
		if (reopen(self.files[i]) < 0)
			return -1;
	if (dup3(fds[1], EMBER_FD_CONTROL, O_CLOEXEC) < 0 || dup3(fds[5], EMBER_FD_RULESET, O_CLOEXEC) < 0)
		return -1;
	for (uint32_t i = 0; i < order->groups; i++)
		if (dup3(fds[EMBER_FORK_FDS + i], (int)(EMBER_FD_JOIN + i), O_CLOEXEC) < 0)
			return -1;
	close(EMBER_FD_HOME);
	return (int)syscall(SYS_close_range, ZYGOTE_FD_FIRST, ~0U, 0);
}

static void keep_child(pid_t pid, int control)
{
	struct child *child = child_place();

	*child = (struct child){ .pid = pid, .control = control };
	child->pidfd = raise_fd((int)syscall(SYS_pidfd_open, pid, 0));
	if (child->pidfd < 0 || watch(child->pidfd, child) < 0) {
		/* Nobody would hear of its end. */
		kill(pid, SIGKILL);
		waitpid(pid, NULL, __WALL);
		close(control);
		close(child->pidfd);
		child->pid = 0;
	}
}

/* True in the fork. */
static bool make_fork(const struct ember_language *language, const struct ember_fork *order, int *fds, size_t count)
{
	struct report unfit = { .kind = REPORT_UNFIT, .index = EMBER_STEP_FORK };
	pid_t pid = -1;

	errno = EAGAIN;
	if (child_place() && dup3(fds[0], EMBER_FD_INIT, O_CLOEXEC) >= 0 && setns(EMBER_FD_INIT, CLONE_NEWPID) == 0) {
		pid = language && language->fork ? language->fork() : fork();
		if (pid == 0)
			return true;
		unfit.errnum = errno;
		/* Whoever cannot come back would fork strangers into that box. */
		if (setns(EMBER_FD_HOME, CLONE_NEWPID) < 0)
			_exit(1);
	} else {
		unfit.errnum = errno;
	}
	close(EMBER_FD_INIT);
	if (pid > 0)
		keep_child(pid, fds[1]);
	else
		fd_send(fds[1], &unfit, sizeof(unfit), NULL, 0);
	for (size_t i = 0; i < count; i++)
		if (i != 1 || pid < 0)
			close(fds[i]);
	return false;
}

/* Hears the keeper until it goes; returns in forks only. */
static void serve(const struct ember_language *language, struct ember_fork *order)
{
	struct epoll_event events[16];
	int fds[FD_MESSAGE_MAX];
	size_t count;

	for (;;) {
		int n = epoll_wait(self.epoll, events, ARRAY_SIZE(events), -1);

		for (int i = 0; i < n; i++) {
			if (events[i].data.ptr) {
				child_ended(events[i].data.ptr);
				continue;
			}
			if (receive(order, fds, &count) < 0 || !make_fork(language, order, fds, count))
				continue;
			if (settle(order, fds) < 0)
				enter_fail(fds[1], EMBER_STEP_DESCRIPTORS, errno);
			return;
		}
	}
}

/* A zygote that cannot hear must not live on as a half. */
static void open_house(void)
{
	int home = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);

	self.epoll = raise_fd(epoll_create1(EPOLL_CLOEXEC));
	if (home < 0 || dup3(home, EMBER_FD_HOME, O_CLOEXEC) < 0 || self.epoll < 0 ||
	    fcntl(ZYGOTE_FD_SOCKET, F_SETFD, FD_CLOEXEC) < 0 || watch(ZYGOTE_FD_SOCKET, NULL) < 0)
		_exit(1);
	close(home);
	find_files();
	/* "I am ready": the keeper asks for nothing before. */
	fd_send(ZYGOTE_FD_SOCKET, &(char){ 'z' }, 1, NULL, 0);
}

const struct enter_claim *zygote_wait(const struct ember_language *language)
{
	const struct enter_claim *claim;
	struct ember_fork order = { 0 };
	enum ember_step step;
	int control;

	self.armed = false;
	open_house();
	serve(language, &order);
	if (enter_box(&order, &step) < 0)
		enter_fail(EMBER_FD_CONTROL, step, errno);
	if (language && language->rehearse)
		language->rehearse(order.hurry != 0);
	control = enter_shut(&step);
	if (control < 0)
		enter_fail(EMBER_FD_CONTROL, step, errno);
	enter_report_warm(control);
	claim = enter_await(control, &step);
	if (!claim && step == EMBER_STEP_ORDER && errno == 0)
		_exit(0);
	if (!claim)
		enter_fail(control, step, errno);
	return claim;
}

const struct ember_claim *ember_wait(const struct ember_language *language)
{
	const struct enter_claim *claim = zygote_wait(language);

	close(claim->control);
	return &claim->claim;
}
