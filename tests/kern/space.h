/* A test's body in namespaces that are made as a box's are: clone, maps from outside, then uid 1000 inside. */
#pragma once

#include "../check.h"

#include "kernel/clone.h"
#include "kernel/userns.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

static struct userns_ids space_ids;              /* of the running space, on both sides */
static bool space_taken __attribute__((unused)); /* a test took them already, for the next one */

/* `meanwhile` runs in the parent once the child may begin; it may be NULL. */
static inline void in_space_while(uint64_t namespaces, void (*body)(void), void (*meanwhile)(void))
{
	struct error err = { 0 };
	int go[2], pidfd = -1, status = -1;
	pid_t pid;
	char byte;

	if (pipe2(go, O_CLOEXEC) < 0 || (!space_taken && userns_take(userns_can_range(), &space_ids, &err) < 0)) {
		check_fail("pipe or userns_take: %s", err.text);
		return;
	}
	space_taken = false;
	fflush(stdout);
	pid = clone_into(CLONE_NEWUSER | namespaces, -1, &pidfd);
	if (pid == 0) {
		close(go[1]);
		if (read(go[0], &byte, 1) != 1 || userns_become(space_ids.own) < 0)
			check_fail("userns_become: %s", strerror(errno));
		else
			body();
		fflush(stdout);
		_exit(check_failed ? 1 : 0);
	}
	close(go[0]);
	if (pid < 0)
		check_fail("clone_into: %s", strerror(errno));
	else if (userns_map(pid, &space_ids, &err) < 0)
		check_fail("userns_map: %s", err.text);
	else
		CHECK_INT(write(go[1], "g", 1), 1);
	if (pid > 0 && meanwhile && !check_failed)
		meanwhile();
	close(go[1]);
	if (pid > 0 && waitpid(pid, &status, __WALL) != pid)
		check_fail("waitpid: %s", strerror(errno));
	else if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 1) {
		check_failures += !check_failed;
		check_failed = true;
	} else if (pid > 0 && status != 0)
		check_fail("the child's wait status is 0x%x", status);
	if (pidfd >= 0)
		close(pidfd);
	userns_release(&space_ids);
}

static inline void in_space(uint64_t namespaces, void (*body)(void))
{
	in_space_while(namespaces, body, NULL);
}
