/* A test's body in a child, for what cannot be taken back: filters, limits, capabilities, domains. */
#pragma once

#include "../check.h"

#include <sys/wait.h>
#include <unistd.h>

/*
 * The child's failed checks are printed by it and counted here. It leaves by
 * _exit: the leak checker would ptrace, which is one of the things denied.
 */
static inline void in_child(void (*body)(void))
{
	pid_t pid;
	int status = -1;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		body();
		fflush(stdout);
		_exit(check_failed ? 1 : 0);
	}
	if (pid < 0 || waitpid(pid, &status, __WALL) != pid) {
		check_fail("fork or waitpid: %s", strerror(errno));
	} else if (WIFEXITED(status) && WEXITSTATUS(status) == 1) {
		check_failed = true;
		check_failures++;
	} else if (status != 0) {
		check_fail("the child's wait status is 0x%x", status);
	}
}
