#include "client/service_process.h"

#include "base/clock.h"
#include "base/own.h"
#include "registry/config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	EXIT_BROKEN = 125,
	OPTIONS_MAX = 8, /* words of a command line */
};

int service_raise_fd(int fd)
{
	int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, SERVICE_READY_FD + 1);

	close_fd(&fd);
	return high;
}

_Noreturn void service_become(int null, int log, int ready, const char *const *options)
{
	char self[PATH_MAX] = "";
	char *argv[OPTIONS_MAX + 3] = { (char *)"emberbox", (char *)"serve" };
	sigset_t none;

	for (size_t i = 0; i < OPTIONS_MAX && options[i]; i++)
		argv[i + 2] = (char *)options[i];
	/* All three must be above SERVICE_READY_FD, or dup2() would overwrite one of them. */
	if (dup2(null, STDIN_FILENO) < 0 || dup2(log, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0 ||
	    dup2(ready, SERVICE_READY_FD) < 0 || close_range(SERVICE_READY_FD + 1, ~0U, 0) < 0 || chdir("/") < 0 ||
	    setenv("EMBERBOX_READY_FD", "3", 1) < 0)
		_exit(EXIT_BROKEN);
	/* The service manager's socket is the caller's. */
	unsetenv("NOTIFY_SOCKET");
	unsetenv("LISTEN_PID");
	/* The service reads the files itself, and again when they change. */
	config_unexport();
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* By its path, which `ps` then shows; if the file was removed, by the running executable. */
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) > 0)
		execv(self, argv);
	execv("/proc/self/exe", argv);
	_exit(EXIT_BROKEN);
}

bool service_wait_ready(int from)
{
	uint64_t until = clock_usec() + SERVICE_START_USEC, now;
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
