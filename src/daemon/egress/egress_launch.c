/*
 * The interceptor's start: see docs/decisions/interceptor.md.
 *
 * Egress starts no program once it is confined. So a process is forked before, the launcher, which waits until the main
 * socket has something, and then executes the program that emberbox brings along. When that has ended (without boxes it
 * does so by itself), the launcher waits again.
 */
#include "base/fd.h"
#include "base/own.h"
#include "base/state.h"
#include "daemon/egress/egress.h"
#include "daemon/egress/egress_parts.h"
#include "intercept/intercept_wire.h"
#include "net/net_authority.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

extern const unsigned char interceptor_data[];
extern const size_t interceptor_size;

enum {
	PAUSE_MSEC = 1000, /* before an interceptor that ended badly is started again */
};

/* The program in memory, to be executed. */
static int program_open(void)
{
	_cleanup_close_ int fd = memfd_create("interceptor", MFD_CLOEXEC | MFD_EXEC);

	/* Linux before 6.3 lacks this flag; there, every memfd can be executed. */
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("interceptor", MFD_CLOEXEC);
	if (fd < 0 || fd_write(fd, interceptor_data, interceptor_size) < 0)
		return -1;
	return take_fd(&fd);
}

/* In a child. */
__attribute__((noreturn)) static void program_exec(int program, const char *word)
{
	static char *const nothing[] = { NULL };
	char *argv[] = { (char *)"emberbox-interceptor", (char *)word, NULL };
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	syscall(SYS_execveat, program, "", argv, nothing, AT_EMPTY_PATH);
	_exit(127);
}

/* ---- the authority ---- */

/* What the program writes for `interceptor authority`. */
static int authority_text(struct buf *out, struct error *err)
{
	_cleanup_close_ int program = program_open(), in = -1, text = -1;
	char data[4096];
	int ends[2], status = -1;
	ssize_t got;
	pid_t pid;

	if (program < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return error_errno(err, "cannot start the interceptor");
	in = ends[1];
	text = ends[0];
	pid = fork();
	if (pid == 0) {
		if (dup2(in, STDOUT_FILENO) < 0)
			_exit(127);
		program_exec(program, "authority");
	}
	if (pid < 0)
		return error_errno(err, "cannot start the interceptor");
	close_fd(&in);
	while ((got = read(text, data, sizeof(data))) > 0 || (got < 0 && errno == EINTR))
		buf_add(out, data, got > 0 ? (size_t)got : 0);
	explicit_bzero(data, sizeof(data));
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status != 0 || out->failed || out->size == 0 || !strstr(out->data, NET_AUTHORITY_BEGIN))
		return error_set(err, ERROR_FAILED, 0, "the interceptor made no authority");
	return 0;
}

/* Whole or not at all. */
static int file_put(int dir, const char *name, mode_t mode, const char *data, size_t size, struct error *err)
{
	char draft[64];
	_cleanup_close_ int fd = -1;

	snprintf(draft, sizeof(draft), "%s.new", name);
	fd = openat(dir, draft, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0 || fchmod(fd, mode) < 0 || fd_write(fd, data, size) < 0 || fsync(fd) < 0 ||
	    renameat(dir, draft, dir, name) < 0)
		return error_errno(err, "cannot write %s in the state directory", name);
	return 0;
}

/* The certificate first: who finds the key finds that too. */
static int authority_make(int dir, struct error *err)
{
	_cleanup_buf_ struct buf text = { 0 };
	const char *certificate;
	int done;

	if (authority_text(&text, err) < 0)
		return -1;
	certificate = strstr(text.data, NET_AUTHORITY_BEGIN);
	done = file_put(dir, NET_AUTHORITY_CERTIFICATE, 0644, certificate, strlen(certificate), err);
	if (done == 0)
		done = file_put(dir, NET_AUTHORITY_KEY, 0600, text.data, text.size, err);
	explicit_bzero(text.data, text.size);
	return done;
}

int egress_authority_open(struct error *err)
{
	_cleanup_close_ int dir = state_subdir(NET_AUTHORITY_DIRECTORY), lock = -1;
	int fd;

	if (dir < 0)
		return error_errno(err, "cannot open the directory of the authority");
	fd = openat(dir, NET_AUTHORITY_KEY, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 || errno != ENOENT)
		return fd >= 0 ? fd : error_errno(err, "cannot open the authority");
	lock = openat(dir, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (lock < 0 || flock(lock, LOCK_EX) < 0)
		return error_errno(err, "cannot lock the directory of the authority");
	/* Another process may have made it meanwhile. */
	fd = openat(dir, NET_AUTHORITY_KEY, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT && authority_make(dir, err) < 0)
		return -1;
	if (fd < 0)
		fd = openat(dir, NET_AUTHORITY_KEY, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 ? fd : error_errno(err, "cannot open the authority");
}

int egress_authority_run(struct error *err)
{
	_cleanup_close_ int fd = egress_authority_open(err);

	return fd < 0 ? -1 : 0;
}

/* ---- the launcher ---- */

/* Descriptors 3, 4 and 5, wherever they are now. */
static int descriptors_place(int main_socket, int authority, int store)
{
	const int high[] = { fcntl(main_socket, F_DUPFD_CLOEXEC, 16), fcntl(authority, F_DUPFD_CLOEXEC, 16),
			     fcntl(store, F_DUPFD_CLOEXEC, 16) };

	for (int i = 0; i < 3; i++)
		if (high[i] < 0 || dup2(high[i], INTERCEPT_MAIN_FD + i) < 0)
			return -1;
	return 0;
}

static void interceptor_run(int main_socket, int authority)
{
	_cleanup_close_ int program = program_open(), store = net_store_open();
	pid_t pid;
	int status;

	if (store < 0)
		fputs("emberbox: egress: the host has no certificates of authorities; install the package "
		      "ca-certificates\n",
		      stderr);
	if (program < 0 || store < 0)
		return;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* The program stays where the three do not come. */
		program = fcntl(program, F_DUPFD_CLOEXEC, 16);
		if (program < 0 || descriptors_place(main_socket, authority, store) < 0)
			_exit(127);
		lseek(INTERCEPT_KEY_FD, 0, SEEK_SET);
		program_exec(program, NULL);
	}
	close_fd(&program);
	close_fd(&store);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
}

__attribute__((noreturn)) static void launcher_run(int main_socket, int authority)
{
	struct pollfd wait = { .fd = main_socket, .events = POLLIN };

	signal(SIGPIPE, SIG_IGN);
	for (;;) {
		if (poll(&wait, 1, -1) < 0)
			continue;
		/* Egress has ended. A death signal would not come: Landlock keeps egress's signals to itself. */
		if (wait.revents & (POLLHUP | POLLERR | POLLNVAL))
			_exit(0);
		interceptor_run(main_socket, authority);
		/* One that could not start has taken nothing: not again and again. */
		wait.revents = 0;
		if (poll(&wait, 1, 0) > 0 && (wait.revents & POLLIN))
			poll(NULL, 0, PAUSE_MSEC);
	}
}

int egress_launch(int authority, struct error *err)
{
	_cleanup_close_ int ours = -1, theirs = -1;
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
		return error_errno(err, "cannot make the socket of the interceptor");
	ours = ends[0];
	theirs = ends[1];
	pid = fork();
	if (pid == 0) {
		/* Nothing of egress but these two. */
		const int high[] = { fcntl(theirs, F_DUPFD_CLOEXEC, 16), fcntl(authority, F_DUPFD_CLOEXEC, 16) };

		if (dup2(high[0], 3) < 0 || dup2(high[1], 4) < 0)
			_exit(127);
		syscall(SYS_close_range, 5U, ~0U, 0U);
		launcher_run(3, 4);
	}
	if (pid < 0)
		return error_errno(err, "cannot start the launcher of the interceptor");
	return take_fd(&ours);
}
