/*
 * `--as root|user|userns`: the same test by three kinds of callers.
 *
 *	root    as started, all capabilities
 *	user    uid and gid 54321, no other groups, no capabilities
 *	userns  that user, as root of a user namespace that maps only itself (`unshare -r`)
 *
 * Call as_enter() first in main(): it changes the whole process.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

#define AS_ID 54321 /* of nobody on any host */

enum as_mode {
	AS_ROOT,
	AS_USER,
	AS_USERNS,
};

static const char *const as_names[] = { "root", "user", "userns" };

static inline void as_give_up(const char *what)
{
	fprintf(stderr, "--as: %s: %s\n", what, strerror(errno));
	exit(1);
}

static inline void as_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || close(fd) != 0)
		as_give_up(path);
}

static inline void as_become_user(void)
{
	if (setgroups(0, NULL) != 0 || setresgid(AS_ID, AS_ID, AS_ID) != 0 || setresuid(AS_ID, AS_ID, AS_ID) != 0)
		as_give_up("setresuid");
	/* A change of uid makes /proc/self root's, where the maps have to be written. */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0)
		as_give_up("PR_SET_DUMPABLE");
}

static inline void as_become_mapped(void)
{
	char map[64];

	snprintf(map, sizeof(map), "0 %d 1\n", (int)geteuid());
	if (unshare(CLONE_NEWUSER) != 0)
		as_give_up("unshare(CLONE_NEWUSER)");
	as_write("/proc/self/setgroups", "deny");
	as_write("/proc/self/uid_map", map);
	as_write("/proc/self/gid_map", map);
}

/* Without --as: root when started by root, else user. Exits with `skip` when the caller is not root and should be. */
static inline enum as_mode as_enter(int argc, char **argv)
{
	enum as_mode mode = geteuid() == 0 ? AS_ROOT : AS_USER;

	if (argc == 3 && strcmp(argv[1], "--as") == 0) {
		for (mode = AS_ROOT; strcmp(argv[2], as_names[mode]) != 0; mode++) {
			if (mode == AS_USERNS) {
				fprintf(stderr, "--as root, user or userns\n");
				exit(2);
			}
		}
	} else if (argc != 1) {
		fprintf(stderr, "usage: %s [--as root|user|userns]\n", argv[0]);
		exit(2);
	}
	if (mode == AS_ROOT && geteuid() != 0) {
		printf("skip as_root: started by an ordinary user\n");
		exit(0);
	}
	if (mode != AS_ROOT && geteuid() == 0)
		as_become_user();
	if (mode == AS_USERNS)
		as_become_mapped();
	return mode;
}
