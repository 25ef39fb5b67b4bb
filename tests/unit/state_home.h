/* A state directory of the test's own, and processes that use it at once. */
#pragma once

#include "../check.h"
#include "../kern/as.h"
#include "tree.h"

#include "language/digest.h"

#include <dirent.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

static char *home;   /* EMBERBOX_HOME */
static int home_dir; /* the same, open */

static inline void home_new(void)
{
	home = tree_new();
	home_dir = open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	setenv("EMBERBOX_HOME", home, 1);
	unsetenv("EMBERBOX_CACHE_SIZE");
}

static inline void home_free(void)
{
	close(home_dir);
	tree_free(home);
}

/* A key of its own for each number. */
static inline struct digest key_of(unsigned number)
{
	struct digest key = { 0 };

	for (int i = 0; i < 4; i++)
		key.bytes[i] = (unsigned char)(number >> (24 - 8 * i));
	return key;
}

/* "PREFIXkeySUFFIX"; static. */
static inline const char *key_path(const char *prefix, unsigned number, const char *suffix)
{
	static char path[512];
	struct digest key = key_of(number);
	char text[65];

	digest_text(&key, text);
	snprintf(path, sizeof(path), "%s%s%s", prefix, text, suffix);
	return path;
}

static inline bool exists(int dir, const char *path)
{
	struct stat st;

	return fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static inline size_t count_entries(int dir, const char *path)
{
	int fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	size_t count = 0;

	if (!list)
		return 0;
	while (readdir(list))
		count++;
	closedir(list);
	return count - 2;
}

/* A child that runs `work`, which may use CHECK(); it ends after a minute whatever happens. */
static inline pid_t child_start(void (*work)(int), int number)
{
	pid_t pid = fork();

	if (pid == 0) {
		alarm(60);
		check_failed = false;
		work(number);
		_exit(check_failed);
	}
	return pid;
}

/* Its failure is the test's; it has printed the reason itself unless it died. */
static inline void child_end(pid_t pid)
{
	int status = -1;

	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 1 && !check_failed) {
		check_failed = true;
		check_failures++;
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
		check_fail("a child ended with the status %#x", (unsigned)status);
}

/* In a child: the state directory is a file system of this size. */
static inline void home_shrink(const char *options)
{
	as_become_mapped();
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", home, "tmpfs", 0, options) < 0)
		as_give_up("tmpfs");
	close(home_dir);
	home_dir = open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}
