#include "kern/rootfs.h"

#include "base/fd.h"
#include "base/own.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Makes the directories of `path`, without its last part. */
static int make_parents(const char *path)
{
	char part[PATH_MAX];
	size_t length = strlen(path);

	if (length >= sizeof(part)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(part, path, length + 1);
	for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(part, 0755) < 0 && errno != EEXIST)
			return -1;
		*slash = '/';
	}
	return 0;
}

int rootfs_dir(const char *path, mode_t mode)
{
	if (mkdir(path, mode) == 0 || errno == EEXIST)
		return 0;
	if (errno != ENOENT || make_parents(path) < 0)
		return -1;
	return mkdir(path, mode);
}

int rootfs_create(const char *path, mode_t mode)
{
	int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
	int fd = open(path, flags, mode);

	if (fd < 0 && errno == ENOENT && make_parents(path) == 0)
		fd = open(path, flags, mode);
	return fd;
}

int rootfs_file(const char *path, mode_t mode, const void *data, size_t size)
{
	_cleanup_close_ int fd = rootfs_create(path, mode);

	return fd < 0 ? -1 : fd_write(fd, data, size);
}

int rootfs_target(const char *from, const char *path)
{
	struct stat st;

	if (stat(from, &st) < 0)
		return -1;
	return S_ISDIR(st.st_mode) ? rootfs_dir(path, 0755) : rootfs_file(path, 0644, "", 0);
}

int rootfs_pivot(void)
{
	/* Both arguments the same: the old root ends up on top of the new one and is taken off at once, so no directory for it is needed (as runc and LXC do). */
	if (syscall(SYS_pivot_root, ".", ".") < 0)
		return -1;
	if (umount2(".", MNT_DETACH) < 0)
		return -1;
	return chdir("/");
}
