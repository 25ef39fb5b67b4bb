/*
 * explain_make() where it can harm nobody: in a fork.
 *
 * The fork has every signal blocked, no descriptor, dies with its parent, and
 * after prctl() may call read, write, exit and sigreturn: seccomp's strict mode,
 * of which two have no object here. It takes memory from a region that was
 * mapped before, because the kernel may not be asked for more and another
 * thread may have held malloc()'s lock; and it leaves a struct in a page that
 * both have. Whatever a text can make of it, that is all it reaches.
 */
#include "explain/explain_parts.h"

#include "base/own.h"
#include "kernel/clone.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	HEAP = 24 << 20, /* bytes; only what is used becomes memory */
	MSEC = 1000,     /* some 60 ms of work at most, on a machine that may be busy */
};

static _Noreturn void child_end(long status)
{
	for (;;)
		syscall(SYS_exit, status);
}

static _Noreturn void child(const struct explain_input *in, struct heap *heap, struct explanation *out)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (syscall(SYS_close_range, 0U, ~0U, 0U) < 0 && errno != ENOSYS)
		child_end(1);
#ifndef __SANITIZE_ADDRESS__
	/* A sanitizer has to be able to tell what it found. */
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) < 0)
		child_end(1);
#endif
	explain_make(in, heap, out);
	child_end(0);
}

/* Whether it ended well in time; it has ended in any case. */
static bool await(pid_t pid, int pidfd)
{
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };
	int status = 0, n;

	do
		n = poll(&ended, 1, MSEC);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	return clone_wait(pid, &status) == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool explain_confined(const struct explain_input *in, struct explanation *out)
{
	const int flags = MAP_ANONYMOUS | MAP_NORESERVE;
	void *shared = mmap(NULL, sizeof(*out), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct heap heap = { .base = mmap(NULL, HEAP, PROT_READ | PROT_WRITE, MAP_PRIVATE | flags, -1, 0),
			     .size = HEAP };
	_cleanup_close_ int pidfd = -1;
	bool done = false;
	pid_t pid;

	memset(out, 0, sizeof(*out));
	if (shared != MAP_FAILED && heap.base != MAP_FAILED) {
		pid = clone_into(0, -1, &pidfd);
		if (pid == 0)
			child(in, &heap, shared);
		done = pid > 0 && await(pid, pidfd);
	}
	if (done) {
		memcpy(out, shared, sizeof(*out));
		explanation_settle(out);
	}
	if (shared != MAP_FAILED)
		munmap(shared, sizeof(*out));
	if (heap.base != MAP_FAILED)
		munmap(heap.base, HEAP);
	return done;
}
