#include "client/private_service.h"

#include "base/fd.h"
#include "base/own.h"
#include "client/service_process.h"
#include "base/state.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

enum {
	EXIT_BROKEN = 125,
	PATIENCE_MSEC = 1500, /* wait after each signal */
	SWEPT_MAX = 64,       /* directories checked at one start */
};

#define PLACE  "private"
#define SOCKET "emberbox.sock"
#define LOG    "serve.log"

static void remove_content(int dir)
{
	unlinkat(dir, SOCKET, 0);
	unlinkat(dir, SOCKET ".lock", 0);
	unlinkat(dir, LOG, 0);
}

/*
 * Removes directories of killed callers. An unlocked directory has no owner any more; its service has ended or is
 * ending, and does not need its socket.
 */
static void directories_sweep(int place)
{
	int copy = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), looked = 0;
	_cleanup_closedir_ DIR *list = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	if (!list)
		close_fd(&copy);
	while (list && looked < SWEPT_MAX && (entry = readdir(list))) {
		_cleanup_close_ int dir = -1;

		if (entry->d_name[0] == '.')
			continue;
		looked++;
		dir = openat(place, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (dir < 0 || flock(dir, LOCK_EX | LOCK_NB) < 0)
			continue;
		remove_content(dir);
		unlinkat(place, entry->d_name, AT_REMOVEDIR);
	}
}

/* Opens the directory that contains the services' directories, and locks it, so that no other process removes one that
 * is not locked yet. -1: use /tmp, because there is no state directory, or its path is too long for a socket. */
static int open_place(struct private_service *service)
{
	const size_t most = sizeof(((struct sockaddr_un *)0)->sun_path) - sizeof("/XXXXXX/" SOCKET);
	_cleanup_close_ int found = state_subdir(PLACE), place = -1;

	if (found < 0 || state_path(PLACE, service->path, sizeof(service->path)) < 0 || strlen(service->path) >= most)
		return -1;
	place = openat(found, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return place < 0 || flock(place, LOCK_EX) < 0 ? -1 : take_fd(&place);
}

static int make_place(struct private_service *service, struct error *err)
{
	_cleanup_close_ int place = open_place(service);

	if (place >= 0)
		directories_sweep(place);
	else
		strcpy(service->path, "/tmp/emberbox");
	strcat(service->path, place >= 0 ? "/XXXXXX" : "-XXXXXX");
	if (!mkdtemp(service->path)) {
		error_errno(err, "cannot make a directory for a service");
		service->path[0] = '\0';
		return -1;
	}
	service->dir = open(service->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (service->dir < 0 || flock(service->dir, LOCK_EX) < 0)
		return error_errno(err, "cannot hold the directory of a service");
	snprintf(service->socket, sizeof(service->socket), "%.4000s/" SOCKET, service->path);
	return 0;
}

/* Reports the last line of the service's log. */
static int tell_failure(struct private_service *service, struct error *err)
{
	char text[4096] = "", *line;
	ssize_t n = fd_slurp(service->dir, LOG, text, sizeof(text));

	while (n > 0 && text[n - 1] == '\n')
		text[--n] = '\0';
	line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	if (strncmp(line, "emberbox: ", 10) == 0)
		line += 10;
	return error_set(err, ERROR_FAILED, 0, "a service for this session did not start%s%.600s", *line ? ": " : "",
			 line);
}

static _Noreturn void be_service(const struct private_service *service, pid_t parent, int null, int log, int ready)
{
	const char *const options[] = { "--listen", "none", "--socket", service->socket, NULL };

	/* A session of its own, because Ctrl-C at the terminal is for the caller. If the parent died before prctl(),
	 * getppid() shows it. */
	if (setsid() < 0 || prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent)
		_exit(EXIT_BROKEN);
	service_become(null, log, ready, options);
}

int private_service_start(struct private_service *service, struct error *err)
{
	_cleanup_close_ int null = service_raise_fd(open("/dev/null", O_RDONLY | O_CLOEXEC)), log = -1;
	_cleanup_close_ int from = -1, to = -1;
	pid_t parent = getpid();
	int ends[2];

	*service = (struct private_service)PRIVATE_SERVICE_INIT;
	if (make_place(service, err) < 0) {
		private_service_end(service);
		return -1;
	}
	log = service_raise_fd(
		openat(service->dir, LOG, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
	if (null >= 0 && log >= 0 && pipe2(ends, O_CLOEXEC) == 0) {
		from = service_raise_fd(ends[0]);
		to = service_raise_fd(ends[1]);
	}
	service->pid = from < 0 || to < 0 ? -1 : fork();
	if (service->pid == 0)
		be_service(service, parent, null, log, to);
	if (service->pid < 0) {
		error_errno(err, "cannot start a service for this session");
		service->pid = 0;
		private_service_end(service);
		return -1;
	}
	close_fd(&to);
	if (service_wait_ready(from))
		return 0;
	tell_failure(service, err);
	private_service_end(service);
	return -1;
}

/* True if the process has ended in time. */
static bool gone_within(pid_t pid, int msec)
{
	_cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd end = { .fd = fd, .events = POLLIN };

	if (fd >= 0)
		(void)poll(&end, 1, msec);
	return waitpid(pid, NULL, WNOHANG) != 0;
}

void private_service_end(struct private_service *service)
{
	/* The first SIGTERM lets runs finish, the second one ends them. Its roles and boxes die with it in any case. */
	static const int signals[] = { SIGTERM, SIGTERM, SIGKILL };

	if (service->pid > 0) {
		bool gone = gone_within(service->pid, 0);

		for (size_t i = 0; i < ARRAY_SIZE(signals) && !gone; i++) {
			kill(service->pid, signals[i]);
			gone = gone_within(service->pid, PATIENCE_MSEC);
		}
	}
	if (service->dir >= 0) {
		remove_content(service->dir);
		rmdir(service->path);
	}
	close_fd(&service->dir);
	service->pid = 0;
	service->path[0] = service->socket[0] = '\0';
}
