#include "daemon/role.h"

#include "base/fd.h"
#include "base/own.h"
#include "base/variables.h"
#include "kernel/clone.h"
#include "kernel/fdset.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	CONTROL_FD = 3,      /* in a role */
	FILES_WANTED = 65536 /* descriptors, if the hard limit allows: clients, pipes, boxes */
};

/* After clone: nothing is allocated. Standard output is no place for a service to write to, and nobody types. */
static void exec_role(const char *option, int control, char *const *variables)
{
	const char *const argv[] = { "emberbox", "serve", option, NULL };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	/* A session of its own: what is typed at the supervisor's terminal ends runs by the supervisor's word. */
	if (setsid() < 0 || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0)
		_exit(126);
	if (control == CONTROL_FD ? fcntl(control, F_SETFD, 0) < 0 : dup2(control, CONTROL_FD) < 0)
		_exit(126);
	if (fdset_keep((const int[]){ 0, 1, 2, CONTROL_FD }, 4) < 0)
		_exit(126);
	/* The supervisor's own are not the roles', nor the programs' after them. */
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execve("/proc/self/exe", (char *const *)argv, variables);
	_exit(126);
}

int role_start(const struct role_row *row, const struct role_settings *settings, const int *fds, size_t count,
	       struct role_process *process, struct error *err)
{
	_cleanup_close_ int ours = -1, theirs = -1;
	char option[sizeof("--role=") + ROLE_NAME_MAX];
	char *variables[VARIABLES_MAX + 1];
	int ends[2];

	if (row->variables)
		variables_keep(row->variables, variables);
	snprintf(option, sizeof(option), "--role=%s", row->name);
	*process = (struct role_process){ .pidfd = -1, .control = -1 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_errno(err, "cannot make the %s's socket", row->name);
	ours = ends[0];
	theirs = ends[1];
	if (fd_send(ours, settings, sizeof(*settings), fds, count) < 0)
		return error_errno(err, "cannot tell the %s its settings", row->name);
	process->pid = clone_into(0, -1, &process->pidfd);
	if (process->pid == 0)
		exec_role(option, theirs, row->variables ? variables : environ);
	if (process->pid < 0) {
		process->pid = 0;
		return error_errno(err, "cannot start the %s", row->name);
	}
	/* A role that is stuck must not stop us. */
	fcntl(ours, F_SETFL, O_RDWR | O_NONBLOCK);
	process->control = take_fd(&ours);
	return 0;
}

/* Only what can be read from the file again. */
static int shrink_program(struct dl_phdr_info *info, size_t size, void *data)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uintptr_t from = info->dlpi_addr + part->p_vaddr, to = from + part->p_filesz;

		from &= ~(page - 1);
		if (part->p_type == PT_LOAD && !(part->p_flags & PF_W))
			madvise((void *)from, to - from, MADV_DONTNEED); /* NOLINT(performance-no-int-to-ptr) */
	}
	return 1; /* the first is the program itself */
}

void role_shrink(void)
{
	malloc_trim(0);
	dl_iterate_phdr(shrink_program, NULL);
}

int role_ready(int control, struct error *err)
{
	role_shrink();
	return fd_send(control, &(char){ ROLE_READY }, 1, NULL, 0) == 0
		       ? 0
		       : error_errno(err, "cannot tell the supervisor");
}

void role_say(const struct role_process *process, char what, int fd)
{
	if (process->control >= 0)
		fd_send(process->control, &what, 1, &fd, fd < 0 ? 0 : 1);
}

static bool is_control(int fd)
{
	int type = 0, domain = 0;
	socklen_t size = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET &&
	       getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX;
}

int role_fd(const struct role_settings *settings, const int fds[ROLE_FDS], enum role_given which)
{
	if (!(settings->given & which))
		return -1;
	return fds[__builtin_popcount(settings->given & (which - 1))];
}

void role_take_files(void)
{
	const struct rlimit wanted = { FILES_WANTED, FILES_WANTED };
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	files.rlim_cur = files.rlim_max < FILES_WANTED ? files.rlim_max : FILES_WANTED;
	/* Root may have more than it was given: a thousand sessions need some 20 000. */
	if (files.rlim_max >= FILES_WANTED || setrlimit(RLIMIT_NOFILE, &wanted) < 0)
		setrlimit(RLIMIT_NOFILE, &files);
}

int role_enter(const struct role_row *row, enum role role, struct role_settings *settings, int *control,
	       int fds[ROLE_FDS], struct error *err)
{
	struct pollfd waiting = { .fd = CONTROL_FD, .events = POLLIN };
	int got[FD_MESSAGE_MAX];
	size_t count = 0;

	*control = -1;
	/* It was sent before we were started: nothing is waited for. */
	if (!is_control(CONTROL_FD) || poll(&waiting, 1, 0) != 1 ||
	    fd_receive(CONTROL_FD, settings, sizeof(*settings), got, &count) != sizeof(*settings) ||
	    settings->size != sizeof(*settings) || settings->role != role || (settings->given & ~row->given) ||
	    count != (size_t)__builtin_popcount(settings->given) || count > ROLE_FDS) {
		while (count > 0)
			close(got[--count]);
		return error_usage(err, "--role is for emberbox itself: `emberbox serve` starts its roles");
	}
	for (size_t i = 0; i < ROLE_FDS; i++)
		fds[i] = i < count ? got[i] : -1;
	if (fcntl(CONTROL_FD, F_SETFD, FD_CLOEXEC) < 0 || fdset_prove() < 0)
		return error_errno(err, "a descriptor came along that should not");
	role_take_files();
	*control = CONTROL_FD;
	return 0;
}
