/* Connects to this user's service, and starts it if the user wants that. */
#include "base/own.h"
#include "wire/service_socket.h"
#include "client/service_process.h"
#include "cli/cmd_run.h"
#include "base/state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/wait.h>
#include <unistd.h>

int service_connect(void)
{
	char path[PATH_MAX];
	int fd;

	if (service_socket_path(path, sizeof(path)) < 0)
		return -1;
	fd = service_socket_connect(path);
	if (fd < 0 && errno == EPERM)
		cmd_complain("the service at \"%s\" belongs to another user; this run does not use it", path);
	return fd;
}

/* Opens the service's log, readable only by its owner because it describes runs. */
static int open_log(void)
{
	_cleanup_close_ int dir = state_dir(true);

	return dir < 0 ? -1 : openat(dir, "serve.log", O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static bool service_spawn(bool listen)
{
	/* No port was requested: this service is for local runs. */
	static const char *const quiet[] = { "--listen", "none", NULL };
	_cleanup_close_ int null = service_raise_fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
	_cleanup_close_ int log = service_raise_fd(open_log());
	_cleanup_close_ int from = -1, to = -1;
	int ends[2];
	pid_t pid;

	if (null < 0 || log < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return false;
	from = service_raise_fd(ends[0]);
	to = service_raise_fd(ends[1]);
	pid = from < 0 || to < 0 ? -1 : fork();
	if (pid < 0)
		return false;
	/* A session of its own, with init as its parent: it outlives us and our terminal. */
	if (pid == 0) {
		if (setsid() < 0 || (pid = fork()) != 0)
			_exit(pid > 0 ? 0 : EXIT_BROKEN);
		service_become(null, log, to, listen ? quiet + 2 : quiet);
	}
	close_fd(&to);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return service_wait_ready(from);
}

int service_start(bool listen)
{
	char log[PATH_MAX];
	bool started = service_spawn(listen);
	/* Two may be started at the same time: one of them ends, and the other's socket exists. */
	int fd = service_connect();

	if (fd < 0 && state_path("serve.log", log, sizeof(log)) == 0)
		cmd_complain("the service %s, so this run starts its own box; see \"%s\"",
			     started ? "cannot be reached" : "did not start", log);
	else if (fd < 0)
		cmd_complain("the service cannot start without a state directory, so this run does not use it");
	return fd;
}
