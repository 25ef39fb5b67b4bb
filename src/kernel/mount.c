#include "kernel/mount.h"

#include "base/own.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

static uint64_t attributes_set(unsigned flags)
{
	return MOUNT_ATTR_NOSUID | (flags & MOUNT_READONLY ? MOUNT_ATTR_RDONLY : 0) |
	       (flags & MOUNT_NODEV ? MOUNT_ATTR_NODEV : 0) | (flags & MOUNT_NOEXEC ? MOUNT_ATTR_NOEXEC : 0);
}

static unsigned long old_flags(unsigned flags)
{
	return MS_NOSUID | (flags & MOUNT_READONLY ? MS_RDONLY : 0) | (flags & MOUNT_NODEV ? MS_NODEV : 0) |
	       (flags & MOUNT_NOEXEC ? MS_NOEXEC : 0);
}

int mount_isolate(void)
{
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

int mount_attach(int tree, const char *to)
{
	return move_mount(tree, "", AT_FDCWD, to, MOVE_MOUNT_F_EMPTY_PATH);
}

/* Creates a file system with the new mount calls; -1 with ENOSYS if the kernel lacks them. */
static int make_new(const char *type, const char *const (*options)[2], unsigned flags, const char *to)
{
	_cleanup_close_ int context = fsopen(type, FSOPEN_CLOEXEC);
	_cleanup_close_ int tree = -1;

	if (context < 0)
		return -1;
	for (; (*options)[0]; options++)
		if (fsconfig(context, FSCONFIG_SET_STRING, (*options)[0], (*options)[1], 0) < 0)
			return -1;
	if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	tree = fsmount(context, FSMOUNT_CLOEXEC, (unsigned)attributes_set(flags));
	if (tree < 0)
		return -1;
	return mount_attach(tree, to);
}

/* stdio may need a lock that another thread held at the clone. */
static const char *number_write(char out[24], uint64_t value, unsigned base)
{
	char *at = out + 23;

	*at = '\0';
	do
		*--at = (char)('0' + value % base);
	while (value /= base);
	return at;
}

/* Appends to a buffer with `room` bytes left. False if the text does not fit. */
static bool text_append(char **at, size_t *room, const char *more)
{
	size_t length = strlen(more);

	if (length >= *room)
		return false;
	memcpy(*at, more, length + 1);
	*at += length;
	*room -= length;
	return true;
}

static bool append_option(char **at, size_t *room, const char *name, const char *value)
{
	return text_append(at, room, name) && text_append(at, room, value);
}

int mount_resize(int dir, uint64_t size)
{
	_cleanup_close_ int context = fspick(dir, "", FSPICK_EMPTY_PATH | FSPICK_CLOEXEC);
	char text[24];

	if (context < 0 || fsconfig(context, FSCONFIG_SET_STRING, "size", number_write(text, size, 10), 0) < 0)
		return -1;
	return fsconfig(context, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0);
}

int mount_tmpfs(const char *to, uint64_t size, uint64_t inodes, unsigned mode, unsigned flags)
{
	char texts[3][24], all[128], *at = all;
	size_t room = sizeof(all);
	const char *const options[][2] = {
		{ "mode", number_write(texts[0], mode, 8) },
		{ "size", number_write(texts[1], size, 10) },
		{ "nr_inodes", number_write(texts[2], inodes, 10) },
		{ NULL, NULL },
	};

	if (make_new("tmpfs", options, flags, to) == 0)
		return 0;
	if (errno != ENOSYS)
		return -1;
	append_option(&at, &room, "mode=", options[0][1]);
	append_option(&at, &room, ",size=", options[1][1]);
	append_option(&at, &room, ",nr_inodes=", options[2][1]);
	return mount("tmpfs", to, "tmpfs", old_flags(flags), all);
}

static int bind_old(const char *from, const char *to, unsigned flags)
{
	unsigned long keep = 0;
	struct statvfs st;

	if (mount(from, to, NULL, MS_BIND, NULL) < 0 || statvfs(to, &st) < 0)
		return -1;
	/* In a user namespace the flags of the source's mount are locked: a remount without them fails with EPERM. */
	keep |= st.f_flag & ST_RDONLY ? MS_RDONLY : 0;
	keep |= st.f_flag & ST_NODEV ? MS_NODEV : 0;
	keep |= st.f_flag & ST_NOEXEC ? MS_NOEXEC : 0;
	keep |= st.f_flag & ST_NOATIME ? MS_NOATIME : 0;
	keep |= st.f_flag & ST_NODIRATIME ? MS_NODIRATIME : 0;
	keep |= st.f_flag & ST_RELATIME ? MS_RELATIME : 0;
	return mount(NULL, to, NULL, MS_REMOUNT | MS_BIND | keep | old_flags(flags), NULL);
}

int mount_bind(const char *from, const char *to, unsigned flags)
{
	struct mount_attr attr = { .attr_set = attributes_set(flags) };
	_cleanup_close_ int tree = open_tree(AT_FDCWD, from, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);

	if (tree < 0)
		return errno == ENOSYS ? bind_old(from, to, flags) : -1;
	if (mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) < 0 ||
	    mount_attach(tree, to) < 0)
		return errno == ENOSYS ? bind_old(from, to, flags) : -1;
	return 0;
}

int mount_proc(const char *to, unsigned flags)
{
	static const char *const options[][2] = { { NULL, NULL } };

	flags |= MOUNT_NODEV | MOUNT_NOEXEC;
	if (make_new("proc", options, flags, to) == 0)
		return 0;
	if (errno != ENOSYS)
		return -1;
	return mount("proc", to, "proc", old_flags(flags), NULL);
}

int mount_pts(const char *to, uint64_t most)
{
	char text[24], all[64] = "mode=600,ptmxmode=666,max=";
	/* Only the opener owns the ends of a pair; anybody in the box may open more. */
	const char *const options[][2] = {
		{ "mode", "600" },
		{ "ptmxmode", "666" },
		{ "max", number_write(text, most, 10) },
		{ NULL, NULL },
	};

	if (make_new("devpts", options, MOUNT_NOEXEC, to) == 0)
		return 0;
	if (errno != ENOSYS)
		return -1;
	strncat(all, options[2][1], sizeof(all) - strlen(all) - 1);
	return mount("devpts", to, "devpts", old_flags(MOUNT_NOEXEC), all);
}

int mount_mqueue(const char *to)
{
	const unsigned flags = MOUNT_NODEV | MOUNT_NOEXEC;
	static const char *const options[][2] = { { NULL, NULL } };

	if (make_new("mqueue", options, flags, to) == 0)
		return 0;
	if (errno == ENOSYS && mount("mqueue", to, "mqueue", old_flags(flags), NULL) == 0)
		return 0;
	/* The kernel lacks message queues: their system calls report this to the program. */
	return errno == ENODEV ? 0 : -1;
}

int mount_mask(const char *path, const char *null, const char *empty)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -1;
	if (S_ISLNK(st.st_mode)) {
		errno = ELOOP;
		return -1;
	}
	return mount_bind(S_ISDIR(st.st_mode) ? empty : null, path, MOUNT_READONLY | MOUNT_NOEXEC);
}

int mount_overlay(const char *lower, const char *upper, const char *work, const char *to)
{
	char all[512], *at = all;
	size_t room = sizeof(all);

	/* userxattr (5.11): an overlay mounted in a user namespace may not write trusted.* attributes. */
	if (!append_option(&at, &room, "lowerdir=", lower) || !append_option(&at, &room, ",upperdir=", upper) ||
	    !append_option(&at, &room, ",workdir=", work) || !text_append(&at, &room, ",userxattr")) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return mount("overlay", to, "overlay", MS_NOSUID | MS_NODEV, all);
}

int mount_tighten(const char *path, unsigned flags)
{
	struct mount_attr attr = { .attr_set = attributes_set(flags) };

	if (mount_setattr(AT_FDCWD, path, 0, &attr, sizeof(attr)) == 0)
		return 0;
	if (errno != ENOSYS)
		return -1;
	return mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | old_flags(flags), NULL);
}

int mount_seal(const char *path)
{
	return mount_tighten(path, MOUNT_READONLY | MOUNT_NODEV);
}

int mount_translated(int dir_fd, int userns_fd)
{
	struct mount_attr attr = {
		.attr_set = (userns_fd < 0 ? 0 : MOUNT_ATTR_IDMAP) | MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
			    MOUNT_ATTR_NODEV,
		.userns_fd = userns_fd < 0 ? 0 : (uint64_t)userns_fd,
	};
	/* Not recursive: mounts below it may not support an ID map, and they are not part of the project. */
	_cleanup_close_ int tree = open_tree(dir_fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return -1;
	return take_fd(&tree);
}
