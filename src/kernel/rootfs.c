#include "kernel/rootfs.h"

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

/*
 * Opens the parent directory of `path`, creating missing directories, and
 * returns its last part. It goes part by part, so that no link leads out of the
 * new root: until the pivot, an absolute link would lead to the host's files. A
 * link fails with ELOOP.
 */
static int parent_open(const char *path, const char **last)
{
	_cleanup_close_ int dir = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char part[NAME_MAX + 1];

	while (dir >= 0) {
		size_t length;
		struct stat st;
		int next;

		path += strspn(path, "/");
		length = strcspn(path, "/");
		if (path[length] == '\0') {
			*last = path;
			return take_fd(&dir);
		}
		if (length > NAME_MAX) {
			errno = ENAMETOOLONG;
			return -1;
		}
		memcpy(part, path, length);
		part[length] = '\0';
		path += length;
		if (strcmp(part, "..") == 0) {
			errno = EINVAL;
			return -1;
		}
		if (mkdirat(dir, part, 0755) < 0 && errno != EEXIST)
			return -1;
		next = openat(dir, part, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		close_fd(&dir);
		dir = next;
		if (dir < 0 || fstat(dir, &st) < 0)
			return -1;
		if (!S_ISDIR(st.st_mode)) {
			errno = S_ISLNK(st.st_mode) ? ELOOP : ENOTDIR;
			return -1;
		}
	}
	return -1;
}

int rootfs_dir(const char *path, mode_t mode)
{
	const char *last;
	_cleanup_close_ int dir = parent_open(path, &last);
	struct stat st;

	if (dir < 0)
		return -1;
	if (mkdirat(dir, last, mode) == 0)
		return 0;
	if (errno != EEXIST || fstatat(dir, last, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (S_ISDIR(st.st_mode))
		return 0;
	errno = S_ISLNK(st.st_mode) ? ELOOP : ENOTDIR;
	return -1;
}

int rootfs_create(const char *path, mode_t mode)
{
	const char *last;
	_cleanup_close_ int dir = parent_open(path, &last);

	return dir < 0 ? -1 : openat(dir, last, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode);
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
	/* With both arguments the same, the old root is stacked on top of the new one and unmounted at once, so it
	 * needs no directory (as in runc and LXC). */
	if (syscall(SYS_pivot_root, ".", ".") < 0)
		return -1;
	if (umount2(".", MNT_DETACH) < 0)
		return -1;
	return chdir("/");
}
