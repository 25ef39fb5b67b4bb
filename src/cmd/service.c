/* Finds the service that runs for us, and starts it where the user wants that. */
#include "base/clock.h"
#include "base/own.h"
#include "client/client.h"
#include "cmd/run.h"
#include "runtime/state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	START_USEC = 5000000, /* for a service to listen */
	READY_FD = 3,         /* where it tells that it does, see EMBERBOX_READY_FD */
};

int service_connect(void)
{
	char path[PATH_MAX];
	int fd;

	if (client_socket_path(path, sizeof(path)) < 0)
		return -1;
	fd = client_connect(path);
	if (fd < 0 && errno == EPERM)
		cmd_complain("the service at \"%s\" belongs to somebody else; this run does not use it", path);
	return fd;
}

/* Where its words go; for its owner only, as they tell what was run. */
static int open_log(void)
{
	_cleanup_close_ int dir = state_dir(true);

	return dir < 0 ? -1 : openat(dir, "serve.log", O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* In a process of its own, for good: nothing of the caller's stays open. */
static _Noreturn void become_service(int null, int log, int ready, bool listen)
{
	char self[PATH_MAX] = "";
	/* Nobody asked for a port: this one is for runs from here. */
	char *argv[] = { (char *)"emberbox", (char *)"serve", (char *)(listen ? NULL : "--listen"), (char *)"none",
			 NULL };
	sigset_t none;

	/* All three lie above READY_FD, or dup2() would lose one of them. */
	if (dup2(null, STDIN_FILENO) < 0 || dup2(log, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0 ||
	    dup2(ready, READY_FD) < 0 || close_range(READY_FD + 1, ~0U, 0) < 0 || chdir("/") < 0 ||
	    setenv("EMBERBOX_READY_FD", "3", 1) < 0)
		_exit(EXIT_BROKEN);
	/* What a service manager told us is not meant for it. */
	unsetenv("NOTIFY_SOCKET");
	unsetenv("LISTEN_PID");
	/* It reads the files itself, also when they change. */
	config_unexport();
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* By its name, which `ps` then shows; if that is gone, by what it was. */
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) > 0)
		execv(self, argv);
	execv("/proc/self/exe", argv);
	_exit(EXIT_BROKEN);
}

/* True when it says that it listens, false when it ended or took too long. */
static bool wait_ready(int from)
{
	uint64_t until = clock_usec() + START_USEC, now;
	char byte;

	while ((now = clock_usec()) < until) {
		struct pollfd ready = { .fd = from, .events = POLLIN };
		int n = poll(&ready, 1, (int)((until - now) / 1000) + 1);

		if (n > 0)
			return read(from, &byte, 1) == 1;
		if (n < 0 && errno != EINTR)
			break;
	}
	return false;
}

/* Above the descriptors that the service gets. */
static int raised(int fd)
{
	int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, READY_FD + 1);

	close_fd(&fd);
	return high;
}

static bool start(bool listen)
{
	_cleanup_close_ int null = raised(open("/dev/null", O_RDONLY | O_CLOEXEC)), log = raised(open_log());
	_cleanup_close_ int from = -1, to = -1;
	int ends[2];
	pid_t pid;

	if (null < 0 || log < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return false;
	from = raised(ends[0]);
	to = raised(ends[1]);
	pid = from < 0 || to < 0 ? -1 : fork();
	if (pid < 0)
		return false;
	/* A session of its own, and init for a parent: it outlives us and our terminal. */
	if (pid == 0) {
		if (setsid() < 0 || (pid = fork()) != 0)
			_exit(pid > 0 ? 0 : EXIT_BROKEN);
		become_service(null, log, to, listen);
	}
	close_fd(&to);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return wait_ready(from);
}

int service_start(bool listen)
{
	char log[PATH_MAX];
	bool started = start(listen);
	/* Two may start one at the same time: then one of them ends, and the other's is there. */
	int fd = service_connect();

	if (fd < 0 && state_path("serve.log", log, sizeof(log)) == 0)
		cmd_complain("the service %s, this run does without; \"%s\" tells why",
			     started ? "cannot be reached" : "did not start", log);
	else if (fd < 0)
		cmd_complain("the service cannot start without a directory for its state, this run does without");
	return fd;
}
