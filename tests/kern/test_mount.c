/* Mounts, in namespaces as a box has them; also where the newer calls are missing. */
// clang-format off
/*
 * tests/run: args=--as root | --as user | --as userns | --as root --no open_tree,fsopen,mount_setattr,move_mount | --as user --no open_tree,fsopen,mount_setattr,move_mount | --as userns --no open_tree,fsopen,mount_setattr,move_mount | --as user --no mount_setattr | --as user --no move_mount
 */
// clang-format on
#include "../check.h"
#include "as.h"
#include "enosys.h"
#include "space.h"

#include "kernel/mount.h"
#include "kernel/probe.h"

#include <dirent.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define SPACE (CLONE_NEWNS | CLONE_NEWPID)

/* Where root and a namespace's root put what is the host's to a box; an ordinary user has no such mounts. */
#define HOST "/mnt"

static enum as_mode mode;
static bool old; /* the fallbacks run */

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = write(fd, text, strlen(text));
	close(fd);
	return n == (ssize_t)strlen(text) ? 0 : -1;
}

static const char *get(const char *path)
{
	static char text[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (n < 0)
		return strerrorname_np(errno);
	text[n] = '\0';
	return text;
}

static int entries(const char *path)
{
	DIR *dir = opendir(path);
	int count = 0;

	if (!dir)
		return -1;
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}

static unsigned long flags_of(const char *path)
{
	struct statvfs st;

	if (statvfs(path, &st) < 0)
		return ~0UL;
	return st.f_flag & (ST_RDONLY | ST_NOSUID | ST_NODEV | ST_NOEXEC);
}

/* An empty root to build in, as a box's init has it. */
static void stage(void)
{
	CHECK_INT(mount_isolate(), 0);
	CHECK_INT(mount_tmpfs("/tmp", 4 << 20, 0, 0755, MOUNT_NODEV), 0);
	CHECK_INT(chdir("/tmp"), 0);
}

static void child_bytes(void)
{
	static char block[65536];
	int fd;

	stage();
	CHECK_INT(mkdir("t", 0700), 0);
	CHECK_INT(mount_tmpfs("t", sizeof(block), 0, 0755, MOUNT_NODEV), 0);
	fd = open("t/full", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CHECK_INT(write(fd, block, sizeof(block)), sizeof(block));
	CHECK_ERRNO(write(fd, block, 1), ENOSPC);
	CHECK_INT(ftruncate(fd, 0), 0);
	CHECK_INT(pwrite(fd, block, 1, 0), 1);
}

static void tmpfs_is_bounded_in_bytes(void)
{
	in_space(SPACE, child_bytes);
}

static void child_inodes(void)
{
	char path[32];
	int made = 0;

	stage();
	CHECK_INT(mkdir("t", 0700), 0);
	CHECK_INT(mount_tmpfs("t", 1 << 20, 10, 0755, MOUNT_NODEV), 0);
	for (; made < 100; made++) {
		snprintf(path, sizeof(path), "t/%d", made);
		if (mkdir(path, 0700) < 0)
			break;
	}
	CHECK_INT(errno, ENOSPC);
	CHECK_INT(made, 9); /* its root is the tenth */
	CHECK_INT(rmdir("t/0"), 0);
	CHECK_INT(put("t/again", ""), 0);
}

static void tmpfs_is_bounded_in_inodes(void)
{
	in_space(SPACE, child_inodes);
}

static void child_tmpfs_flags(void)
{
	struct stat st;

	stage();
	CHECK_INT(flags_of("/tmp"), ST_NOSUID | ST_NODEV);
	CHECK_INT(mkdir("t", 0700), 0);
	CHECK_INT(mount_tmpfs("t", 65536, 0, 01777, 0), 0);
	CHECK_INT(flags_of("t"), ST_NOSUID);
	CHECK_INT(stat("t", &st), 0);
	CHECK_INT(st.st_mode, S_IFDIR | 01777);
	CHECK_INT(st.st_uid, USERNS_INSIDE);
	CHECK_INT(mount_tmpfs("t", 65536, 0, 0700, MOUNT_NODEV | MOUNT_NOEXEC), 0);
	CHECK_INT(flags_of("t"), ST_NOSUID | ST_NODEV | ST_NOEXEC);
	CHECK_INT(put("t/file", ""), 0);
	CHECK_INT(mount_tmpfs("t", 65536, 0, 0700, MOUNT_READONLY), 0);
	CHECK_INT(flags_of("t"), ST_NOSUID | ST_RDONLY);
	CHECK_ERRNO(put("t/file", ""), EROFS);
	CHECK_ERRNO(mount_tmpfs("missing", 65536, 0, 0700, 0), ENOENT);
}

static void tmpfs_has_its_flags(void)
{
	in_space(SPACE, child_tmpfs_flags);
}

static void child_bind(void)
{
	stage();
	CHECK_INT(mkdir("from", 0755) | mkdir("to", 0755), 0);
	CHECK_INT(put("from/file", "one"), 0);
	CHECK_INT(mount_bind("from", "to", MOUNT_READONLY | MOUNT_NODEV), 0);
	CHECK_STR(get("to/file"), "one");
	CHECK_ERRNO(put("to/file", "two"), EROFS);
	CHECK_ERRNO(put("to/new", "two"), EROFS);
	CHECK_ERRNO(mkdir("to/dir", 0755), EROFS);
	CHECK_ERRNO(unlink("to/file"), EROFS);
	CHECK_ERRNO(chmod("to/file", 0777), EROFS);
	CHECK_ERRNO(truncate("to/file", 0), EROFS);
	CHECK_INT(flags_of("to"), ST_RDONLY | ST_NOSUID | ST_NODEV);
	/* The same files where they are not read-only. */
	CHECK_INT(put("from/file", "two"), 0);
	CHECK_STR(get("to/file"), "two");
	CHECK_INT(flags_of("from"), ST_NOSUID | ST_NODEV);
}

static void bind_is_read_only(void)
{
	in_space(SPACE, child_bind);
}

static void child_bind_host(void)
{
	stage();
	CHECK_INT(mkdir("usr", 0755), 0);
	CHECK_INT(put("passwd", ""), 0);
	CHECK_INT(mount_bind("/usr", "usr", MOUNT_READONLY | MOUNT_NODEV), 0);
	CHECK_INT(access("usr/bin/env", X_OK), 0);
	CHECK_INT(flags_of("usr") & ~(unsigned long)ST_NOEXEC, ST_RDONLY | ST_NOSUID | ST_NODEV);
	CHECK_ERRNO(put("usr/proof", ""), EROFS);
	CHECK_INT(mount_bind("/etc/passwd", "passwd", MOUNT_READONLY), 0);
	CHECK(strstr(get("passwd"), "root:"));
	CHECK_ERRNO(put("passwd", ""), EROFS);
	CHECK_ERRNO(mount_bind("/usr", "missing", MOUNT_READONLY), ENOENT);
	CHECK_ERRNO(mount_bind("/missing", "usr", MOUNT_READONLY), ENOENT);
	CHECK_ERRNO(mount_bind("/usr", "passwd", MOUNT_READONLY), old ? ENOTDIR : EINVAL);
}

static void bind_of_the_hosts(void)
{
	in_space(SPACE, child_bind_host);
}

static void child_bind_below(void)
{
	stage();
	CHECK_INT(mkdir("from", 0755) | mkdir("to", 0755) | mkdir("from/sub", 0755), 0);
	CHECK_INT(mount_tmpfs("from/sub", 65536, 0, 0755, 0), 0);
	CHECK_INT(put("from/sub/file", "one"), 0);
	CHECK_INT(mount_bind("from", "to", MOUNT_READONLY | MOUNT_NODEV), 0);
	if (old) {
		/* What cannot be made read-only does not come along. */
		CHECK_STR(get("to/sub/file"), "ENOENT");
		CHECK_ERRNO(put("to/sub/new", ""), EROFS);
	} else {
		CHECK_STR(get("to/sub/file"), "one");
		CHECK_ERRNO(put("to/sub/file", "two"), EROFS);
		CHECK_INT(flags_of("to/sub"), ST_RDONLY | ST_NOSUID | ST_NODEV);
	}
	CHECK_INT(put("from/sub/file", "two"), 0);
}

static void bind_with_what_is_below(void)
{
	in_space(SPACE, child_bind_below);
}

static void child_devices(void)
{
	char byte;
	int fd;

	stage();
	CHECK_INT(put("zero", "") | put("nodev", ""), 0);
	CHECK_INT(mount_bind("/dev/zero", "zero", MOUNT_NOEXEC), 0);
	CHECK_INT(flags_of("zero"), ST_NOSUID | ST_NOEXEC);
	fd = open("zero", O_RDWR | O_CLOEXEC);
	CHECK_INT(read(fd, &byte, 1), 1);
	CHECK_INT(byte, 0);
	CHECK_INT(mount_bind("/dev/zero", "nodev", MOUNT_NODEV), 0);
	CHECK_ERRNO(open("nodev", O_RDWR | O_CLOEXEC), EACCES);
}

static void devices_work_unless_nodev(void)
{
	in_space(SPACE, child_devices);
}

static void child_noexec(void)
{
	stage();
	CHECK_INT(mkdir("no", 0755) | mkdir("yes", 0755), 0);
	CHECK_INT(mount_bind("/usr/bin", "no", MOUNT_READONLY | MOUNT_NOEXEC), 0);
	CHECK_INT(mount_bind("/usr/bin", "yes", MOUNT_READONLY), 0);
	CHECK_ERRNO(access("no/env", X_OK), EACCES);
	CHECK_INT(access("yes/env", X_OK), 0);
	CHECK_ERRNO(execl("no/true", "true", NULL), EACCES);
}

static void noexec_keeps_from_executing(void)
{
	in_space(SPACE, child_noexec);
}

/* The host's mounts, as root (of a namespace) can make them. */
static void host_prepare(void)
{
	bool good = unshare(CLONE_NEWNS) == 0 && mount_isolate() == 0 &&
		    mount("t", HOST, "tmpfs", 0, "mode=755") == 0 && mkdir(HOST "/tree", 0755) == 0 &&
		    mkdir(HOST "/locked", 0755) == 0 && mkdir(HOST "/shared", 0755) == 0 &&
		    mount("t", HOST "/tree", "tmpfs", 0, "mode=755") == 0 && mkdir(HOST "/tree/sub", 0777) == 0 &&
		    mount("t", HOST "/tree/sub", "tmpfs", 0, "mode=777") == 0 &&
		    put(HOST "/tree/sub/file", "below") == 0 &&
		    mount("t", HOST "/locked", "tmpfs", MS_NOEXEC | MS_NODEV | MS_NOATIME, "mode=777") == 0 &&
		    mount("t", HOST "/shared", "tmpfs", 0, "mode=777") == 0 && mkdir(HOST "/shared/late", 0777) == 0 &&
		    mount(NULL, HOST "/shared", NULL, MS_SHARED, NULL) == 0;

	if (!good)
		as_give_up("mounts of the test's own");
}

static void child_locked(void)
{
	struct statvfs st;

	stage();
	CHECK_INT(mkdir("to", 0755) | mkdir("tree", 0755), 0);
	/* A user namespace may not take a flag off again: that is no reason to fail. */
	CHECK_INT(mount_bind(HOST "/locked", "to", 0), 0);
	CHECK_INT(flags_of("to"), ST_NOSUID | ST_NODEV | ST_NOEXEC);
	CHECK_INT(statvfs("to", &st), 0);
	CHECK(st.f_flag & ST_NOATIME);
	CHECK_INT(put("to/file", "x"), 0);
	CHECK_ERRNO(mount(NULL, "to", NULL, MS_REMOUNT | MS_BIND, NULL), EPERM);
	if (old) {
		/* Nor may it look below a mount: without them the tree cannot be had. */
		CHECK_ERRNO(mount_bind(HOST "/tree", "tree", MOUNT_READONLY), EINVAL);
		return;
	}
	CHECK_INT(put(HOST "/tree/sub/file", "below") == 0 || errno == EACCES, 1);
	CHECK_INT(mount_bind(HOST "/tree", "tree", MOUNT_READONLY), 0);
	CHECK_STR(get("tree/sub/file"), "below");
	CHECK_ERRNO(put("tree/sub/new", ""), EROFS);
	CHECK_INT(put(HOST "/tree/sub/new", ""), 0);
	CHECK_ERRNO(umount2("tree/sub", MNT_DETACH), EINVAL);
}

static void bind_of_locked_mounts(void)
{
	in_space(SPACE, child_locked);
}

static int to_parent[2], to_child[2]; /* a byte each: done, your turn */

static int other_turn(int mine, int theirs)
{
	char byte;

	return write(mine, "x", 1) == 1 && read(theirs, &byte, 1) == 1 ? 0 : -1;
}

static void parent_mounts_late(void)
{
	char byte;

	CHECK_INT(read(to_parent[0], &byte, 1), 1);
	CHECK_INT(mount("t", HOST "/shared/late", "tmpfs", 0, "mode=777"), 0);
	CHECK_INT(put(HOST "/shared/late/file", "late"), 0);
	CHECK_INT(write(to_child[1], "x", 1), 1);
}

static void child_sees_late(void)
{
	CHECK_INT(other_turn(to_parent[1], to_child[0]), 0);
	CHECK_STR(get(HOST "/shared/late/file"), "late");
}

static void child_sees_nothing_late(void)
{
	CHECK_INT(mount_isolate(), 0);
	CHECK_INT(other_turn(to_parent[1], to_child[0]), 0);
	CHECK_STR(get(HOST "/shared/late/file"), "ENOENT");
}

static void nothing_of_the_host_comes_later(void)
{
	CHECK_INT(pipe(to_parent) | pipe(to_child), 0);
	/* The control: without it, it does. */
	in_space_while(SPACE, child_sees_late, parent_mounts_late);
	CHECK_INT(umount2(HOST "/shared/late", MNT_DETACH), 0);
	in_space_while(SPACE, child_sees_nothing_late, parent_mounts_late);
	umount2(HOST "/shared/late", MNT_DETACH);
	close(to_parent[0]);
	close(to_parent[1]);
	close(to_child[0]);
	close(to_child[1]);
}

static int mount_count(void)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	int lines = 0, c;

	if (!file)
		return -1;
	while ((c = getc(file)) != EOF)
		lines += c == '\n';
	fclose(file);
	return lines;
}

static void child_mounts_many(void)
{
	int before = mount_count();

	stage();
	CHECK_INT(mkdir("usr", 0755), 0);
	CHECK_INT(mount_bind("/usr", "usr", MOUNT_READONLY), 0);
	if (mode != AS_USER)
		CHECK_INT(mount_tmpfs(HOST "/shared/late", 65536, 0, 0755, 0), 0);
	CHECK(mount_count() >= before + 2);
}

static void nothing_reaches_the_host(void)
{
	int before = mount_count();

	in_space(SPACE, child_mounts_many);
	CHECK(before > 0);
	CHECK_INT(mount_count(), before);
}

static void child_proc(void)
{
	char self[32] = "";
	DIR *dir;

	stage();
	/* A change of uid makes the files of /proc/self root's. */
	CHECK_INT(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), 0);
	CHECK_INT(mkdir("proc", 0555), 0);
	CHECK_INT(mount_proc("proc", MOUNT_READONLY), 0);
	CHECK_INT(flags_of("proc"), ST_RDONLY | ST_NOSUID | ST_NODEV | ST_NOEXEC);
	CHECK_INT(readlink("proc/self", self, sizeof(self) - 1), 1);
	CHECK_STR(self, "1");
	dir = opendir("proc");
	CHECK(dir != NULL);
	for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;)
		if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
			CHECK_STR(entry->d_name, "1");
	CHECK(strstr(get("proc/1/status"), "NSpid:"));
	CHECK_ERRNO(open("proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC), EROFS);
	CHECK_INT(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC) >= 0, 1);
}

static void proc_of_the_own_pids(void)
{
	in_space(SPACE, child_proc);
}

static void child_proc_of_others(void)
{
	stage();
	CHECK_INT(mkdir("proc", 0555), 0);
	CHECK_ERRNO(mount_proc("proc", MOUNT_READONLY), EPERM);
}

static void proc_of_the_hosts_pids_is_denied(void)
{
	in_space(CLONE_NEWNS, child_proc_of_others);
}

static void child_masks(void)
{
	stage();
	CHECK_INT(mkdir("empty", 0555) | mkdir("dir", 0755) | put("null", ""), 0);
	CHECK_INT(mount_bind("/dev/null", "null", MOUNT_NOEXEC), 0);
	CHECK_INT(put("file", "secret") | put("dir/file", "secret") | symlink("file", "link"), 0);
	CHECK_STR(get("file"), "secret");
	CHECK_INT(entries("dir"), 1);
	CHECK_INT(mount_mask("file", "null", "empty"), 0);
	CHECK_INT(mount_mask("dir", "null", "empty"), 0);
	CHECK_STR(get("file"), "");
	CHECK_INT(entries("dir"), 0);
	CHECK_STR(get("dir/file"), "ENOENT");
	CHECK_ERRNO(put("dir/new", ""), EROFS);
	CHECK_INT(mount_mask("missing", "null", "empty"), 0);
	CHECK_INT(mount_mask("missing/too", "null", "empty"), 0);
	CHECK_ERRNO(mount_mask("link", "null", "empty"), ELOOP);
	CHECK_ERRNO(mount_mask("null/not", "null", "empty"), ENOTDIR);
	CHECK_INT(umount2("file", MNT_DETACH) | umount2("dir", MNT_DETACH), 0);
	CHECK_STR(get("file"), "secret");
	CHECK_STR(get("dir/file"), "secret");
}

static void masks_hide(void)
{
	in_space(SPACE, child_masks);
}

static void child_overlay(void)
{
	char far[600];

	stage();
	CHECK_INT(mkdir("low", 0755) | mkdir("up", 0755) | mkdir("work", 0755) | mkdir("to", 0755), 0);
	CHECK_INT(put("low/file", "low") | put("low/gone", "low"), 0);
	CHECK_INT(mount_bind("low", "low", MOUNT_READONLY), 0);
	CHECK_INT(mount_overlay("low", "up", "work", "to"), 0);
	CHECK_STR(get("to/file"), "low");
	CHECK_INT(put("to/file", "changed"), 0);
	CHECK_INT(put("to/new", "new"), 0);
	CHECK_INT(unlink("to/gone"), 0);
	CHECK_STR(get("to/file"), "changed");
	CHECK_STR(get("to/gone"), "ENOENT");
	CHECK_STR(get("low/file"), "low");
	CHECK_STR(get("low/gone"), "low");
	CHECK_STR(get("low/new"), "ENOENT");
	CHECK_STR(get("up/new"), "new");
	CHECK_INT(flags_of("to"), ST_NOSUID | ST_NODEV);
	memset(far, 'a', sizeof(far) - 1);
	far[sizeof(far) - 1] = '\0';
	CHECK_ERRNO(mount_overlay(far, "up", "work", "to"), ENAMETOOLONG);
}

static void overlay_keeps_what_is_below(void)
{
	in_space(SPACE, child_overlay);
}

static void child_seals(void)
{
	stage();
	CHECK_INT(mkdir("t", 0755) | mkdir("dir", 0755), 0);
	CHECK_INT(mount_tmpfs("t", 65536, 0, 0755, MOUNT_NODEV), 0);
	CHECK_INT(mkdir("t/work", 0755) | put("t/file", ""), 0);
	CHECK_INT(mount_tmpfs("t/work", 65536, 0, 0755, MOUNT_NODEV), 0);
	CHECK_INT(mount_seal("t"), 0);
	CHECK_ERRNO(put("t/file", "x"), EROFS);
	CHECK_ERRNO(put("t/new", ""), EROFS);
	CHECK_INT(flags_of("t"), ST_RDONLY | ST_NOSUID | ST_NODEV);
	/* That mount alone. */
	CHECK_INT(put("t/work/file", "x"), 0);
	CHECK_INT(put("file", "x"), 0);
	CHECK_ERRNO(mount_seal("dir"), EINVAL);
	CHECK_ERRNO(mount_seal("missing"), ENOENT);
}

static void seal_makes_read_only(void)
{
	in_space(SPACE, child_seals);
}

static void user_may_not_mount(void)
{
	CHECK_ERRNO(mount_isolate(), EPERM);
	CHECK_ERRNO(mount_tmpfs("/tmp", 65536, 0, 0755, 0), EPERM);
	CHECK_ERRNO(mount_bind("/usr", "/tmp", MOUNT_READONLY), EPERM);
	CHECK_ERRNO(mount_proc("/proc", MOUNT_READONLY), EPERM);
	CHECK_ERRNO(mount_seal("/"), EPERM);
}

static int tree = -1; /* a translated one, or -1 */

static void child_translated(void)
{
	struct stat st;

	stage();
	CHECK_INT(mkdir("to", 0755), 0);
	/* The control: as it is, it is somebody else's. */
	CHECK_STR(get(HOST "/locked/private"), "EACCES");
	CHECK_INT(mount_attach(tree, "to"), 0);
	CHECK_INT(stat("to/private", &st), 0);
	CHECK_INT(st.st_uid, USERNS_INSIDE);
	CHECK_INT(st.st_gid, USERNS_INSIDE);
	CHECK_STR(get("to/private"), "mine");
	CHECK_ERRNO(put("to/private", "yours"), EROFS);
	CHECK_INT(flags_of("to") & (ST_RDONLY | ST_NOSUID | ST_NODEV), ST_RDONLY | ST_NOSUID | ST_NODEV);
	CHECK_ERRNO(mount_attach(-1, "to"), EBADF);
}

static int translate(int dir)
{
	struct error err = { 0 };
	int userns;

	/* For the space that looks at it. */
	CHECK_INT(userns_take(true, &space_ids, &err), 0);
	space_taken = true;
	userns = userns_translate(AS_ID, AS_ID, space_ids.uid, space_ids.gid, &err);
	CHECK(userns >= 0);
	tree = mount_translated(dir, userns);
	close(userns);
	return tree;
}

static void translated_owners(void)
{
	int dir = open(HOST "/locked", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	CHECK_INT(put(HOST "/locked/private", "mine"), 0);
	CHECK_INT(chmod(HOST "/locked/private", 0600) | chown(HOST "/locked/private", AS_ID, AS_ID), 0);
	if (old) {
		CHECK_ERRNO(translate(dir), ENOSYS);
	} else {
		CHECK(translate(dir) >= 0);
		if (tree >= 0)
			in_space(SPACE, child_translated);
		close(tree);
	}
	/* Without a namespace the owners stay as they are. */
	if (old)
		CHECK_ERRNO(mount_translated(dir, -1), ENOSYS);
	else
		CHECK(mount_translated(dir, -1) >= 0);
	CHECK_ERRNO(mount_translated(-1, -1), old ? ENOSYS : EBADF);
	close(dir);
}

int main(int argc, char **argv)
{
	const char *no = enosys_argument(&argc, argv);

	mode = as_enter(argc, argv);
	enosys_enter(no);
	old = no != NULL;
	RUN(tmpfs_is_bounded_in_bytes);
	RUN(tmpfs_is_bounded_in_inodes);
	RUN(tmpfs_has_its_flags);
	RUN(bind_is_read_only);
	RUN(bind_of_the_hosts);
	RUN(bind_with_what_is_below);
	RUN(devices_work_unless_nodev);
	RUN(noexec_keeps_from_executing);
	RUN(proc_of_the_own_pids);
	RUN(proc_of_the_hosts_pids_is_denied);
	RUN(masks_hide);
	if (probe_overlay())
		RUN(overlay_keeps_what_is_below);
	else
		check_skip("overlay_keeps_what_is_below", "needs kernel 5.11 with overlayfs");
	RUN(seal_makes_read_only);
	if (mode == AS_USER)
		RUN(user_may_not_mount);
	else
		host_prepare();
	RUN(nothing_reaches_the_host);
	if (mode != AS_USER) {
		RUN(bind_of_locked_mounts);
		RUN(nothing_of_the_host_comes_later);
	}
	if (mode == AS_ROOT && userns_can_range())
		RUN(translated_owners);
	return check_failures ? 1 : 0;
}
