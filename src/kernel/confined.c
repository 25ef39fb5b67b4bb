#include "kernel/confined.h"

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
	MSEC = 1000 /* the work takes at most 60 ms; this allows for a busy machine */
};

static _Noreturn void child_end(long status)
{
	for (;;)
		syscall(SYS_exit, status);
}

static _Noreturn void work_run(confined_work *work, const void *in, struct heap *heap, void *out)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (syscall(SYS_close_range, 0U, ~0U, 0U) < 0 && errno != ENOSYS)
		child_end(1);
#ifndef __SANITIZE_ADDRESS__
	/* A sanitizer must be able to report what it finds. */
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) < 0)
		child_end(1);
#endif
	work(in, heap, out);
	child_end(0);
}

/* Waits for the child until the time limit, then kills it. True if it exited with 0. */
static bool child_await(pid_t pid, int pidfd)
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

void *confined_run(confined_work *work, const void *in, size_t heap_size, size_t out_size)
{
	const int flags = MAP_ANONYMOUS | MAP_NORESERVE;
	void *shared = mmap(NULL, out_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	/* Untouched pages of the heap use no memory. */
	struct heap heap = { .base = mmap(NULL, heap_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | flags, -1, 0),
			     .size = heap_size };
	_cleanup_close_ int pidfd = -1;
	bool done = false;
	pid_t pid;

	if (shared != MAP_FAILED && heap.base != MAP_FAILED) {
		pid = clone_into(0, -1, &pidfd);
		if (pid == 0)
			work_run(work, in, &heap, shared);
		done = pid > 0 && child_await(pid, pidfd);
	}
	if (heap.base != MAP_FAILED)
		munmap(heap.base, heap_size);
	if (done)
		return shared;
	confined_free(shared == MAP_FAILED ? NULL : shared, out_size);
	return NULL;
}

void confined_free(void *out, size_t out_size)
{
	if (out)
		munmap(out, out_size);
}
