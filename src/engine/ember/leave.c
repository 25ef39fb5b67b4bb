#include "engine/ember/ember.h"

#include "engine/local/box_report.h"

#include <sched.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Shares the memory of a process that ends: raw calls only. */
static int linger(void *data)
{
	const struct timespec moment = { .tv_nsec = 20 * 1000 * 1000 };

	(void)data;
	syscall(SYS_nanosleep, &moment, NULL);
	syscall(SYS_exit, 0);
	return 0;
}

static bool allowed;

void ember_allow_linger(void)
{
	allowed = true;
}

_Noreturn void ember_leave(int status)
{
	static char stack[4096] __attribute__((aligned(16)));

	if (!allowed)
		_exit(status);
	/* By this name the supervisor knows that nobody else is left, see engine/local/supervise.c. */
	prctl(PR_SET_NAME, REPORT_HOLDER);
	if (clone(linger, stack + sizeof(stack), CLONE_VM | CLONE_FILES | CLONE_FS, NULL) > 0)
		/* The program's output is at its end, then; what other threads still wait for stays until they die. */
		syscall(SYS_close_range, 0, 2, 0);
	_exit(status);
}
