/* F: the file system. */
#include "probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

static void create(const char *path)
{
	say_rc(open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
}

static void open_read(const char *path)
{
	say_rc(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
}

static void open_write(const char *path)
{
	say_rc(open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC));
}

static void read_size(const char *path)
{
	char data[65536];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, data, sizeof(data));

	if (got < 0)
		say("%s", error_name(errno));
	else
		say("%s", got == 0 ? "empty" : "OK");
}

/* For what a kernel may not have: any refusal is one, an open file is none. */
static void unwritable(const char *path)
{
	say("%s", open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC) < 0 ? "refused" : "OK");
}

/* Not there, not readable, or empty, as a file or a directory. */
static void hidden(const char *path)
{
	char byte;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int entries = 0;

	while (dir && readdir(dir))
		entries++;
	say("%s", entries > 2 || (fd >= 0 && !dir && read(fd, &byte, 1) > 0) ? "OK" : "hidden");
}

static void list(const char *path)
{
	static char *names[100000];
	size_t count = 0;
	DIR *dir = opendir(path);

	if (!dir) {
		say("%s", error_name(errno));
		return;
	}
	for (struct dirent *e; (e = readdir(dir)) && count < 100000;)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			names[count++] = strdup(e->d_name);
	say_names(names, count);
}

static void link_target(const char *path)
{
	char target[PATH_MAX];
	ssize_t length = readlink(path, target, sizeof(target) - 1);

	if (length < 0) {
		say("%s", error_name(errno));
		return;
	}
	target[length] = 0;
	say("%s", target);
}

/* The links of a directory that can be followed, or at least read. */
static void reach(const char *path)
{
	char *names[256], target[PATH_MAX];
	size_t count = 0;
	DIR *dir = opendir(path);

	for (struct dirent *e; dir && (e = readdir(dir)) && count < 256;) {
		if (e->d_name[0] == '.')
			continue;
		if (readlinkat(dirfd(dir), e->d_name, target, sizeof(target)) >= 0 ||
		    openat(dirfd(dir), e->d_name, O_PATH | O_CLOEXEC) >= 0)
			names[count++] = strdup(e->d_name);
	}
	say_names(names, count);
}

struct walk {
	const char *name; /* looked for; NULL: sockets */
	char *found[64];  /* paths, owned */
	size_t count;     /* of found */
};

static void walk_below(struct walk *walk, int parent, const char *path, int depth)
{
	int fd = openat(parent, depth ? strrchr(path, '/') + 1 : "/", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir)
		return;
	for (struct dirent *e; (e = readdir(dir));) {
		char child[PATH_MAX];
		struct stat st;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		/* A process's own directory is a mirror of itself: /proc/self/root is / again, behind a link that is
		 * not followed. */
		snprintf(child, sizeof(child), "%s/%s", path, e->d_name);
		bool hit = walk->name && strcmp(e->d_name, walk->name) == 0;

		if (!walk->name && fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			hit = S_ISSOCK(st.st_mode);
		if (hit && walk->count < 64)
			walk->found[walk->count++] = strdup(child);
		if (depth < 40 && (e->d_type == DT_DIR || e->d_type == DT_UNKNOWN))
			walk_below(walk, dirfd(dir), child, depth + 1);
	}
	closedir(dir);
}

static void walk_name(const char *name)
{
	struct walk walk = { .name = name };

	walk_below(&walk, AT_FDCWD, "", 0);
	say_names(walk.found, walk.count);
}

static int unix_listen(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 1) < 0)
		return -1;
	return fd;
}

/* The control is in it: the socket that it makes itself has to be found, and no other. */
static void walk_sockets(const char *arg)
{
	struct walk walk = { .name = NULL };

	(void)arg;
	if (unix_listen("/sandbox/temp/own.sock") < 0) {
		say("own socket: %s", error_name(errno));
		return;
	}
	walk_below(&walk, AT_FDCWD, "", 0);
	say_names(walk.found, walk.count);
}

static void symlink_read(const char *target)
{
	unlink("link-read");
	if (symlink(target, "link-read") < 0)
		say("symlink: %s", error_name(errno));
	else
		say_rc(open("link-read", O_RDONLY | O_CLOEXEC));
}

static void symlink_write(const char *target)
{
	unlink("link-write");
	if (symlink(target, "link-write") < 0)
		say("symlink: %s", error_name(errno));
	else
		say_rc(open("link-write", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

static void dotdot(const char *arg)
{
	struct stat up, root;
	char path[128] = "";

	(void)arg;
	for (int i = 0; i < 20; i++)
		strcat(path, "../");
	if (stat(path, &up) < 0 || stat("/", &root) < 0)
		say("%s", error_name(errno));
	else
		say("%s", up.st_dev == root.st_dev && up.st_ino == root.st_ino ? "root" : "elsewhere");
}

static void change_root(const char *path)
{
	say_rc(chroot(path));
}

/* The classic: into a lower directory with the old root still open, then up. */
static void change_root_twice(const char *arg)
{
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)arg;
	mkdir("/sandbox/temp/jail", 0700);
	if (chroot("/sandbox/temp/jail") < 0 || fchdir(fd) < 0 || chroot("../../../..") < 0)
		say("%s", error_name(errno));
	else
		say("OK");
}

static void mount_kind(const char *kind)
{
	const char *at = "/sandbox/temp/mnt";

	mkdir(at, 0700);
	if (strcmp(kind, "bind") == 0)
		say_rc(mount("/usr", at, NULL, MS_BIND, NULL));
	else if (strcmp(kind, "remount") == 0)
		say_rc(mount(NULL, "/usr", NULL, MS_REMOUNT | MS_BIND, NULL));
	else if (strcmp(kind, "shared") == 0)
		say_rc(mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL));
	else
		say_rc(mount(kind, at, kind, 0, NULL));
}

static void unmount(const char *path)
{
	say_rc(umount2(path, MNT_DETACH));
}

static void make_node(const char *kind)
{
	const char *path = "/sandbox/temp/node";

	unlink(path);
	if (strcmp(kind, "block") == 0)
		say_rc(mknod(path, S_IFBLK | 0600, makedev(8, 0)));
	else if (strcmp(kind, "char") == 0)
		say_rc(mknod(path, S_IFCHR | 0600, makedev(1, 1)));
	else if (strcmp(kind, "whiteout") == 0)
		say_rc(mknod(path, S_IFCHR | 0600, makedev(0, 0)));
	else
		say_rc(mkfifo(path, 0600));
}

static void descriptors(const char *arg)
{
	char *names[256];
	size_t count = 0;
	DIR *dir = opendir("/proc/self/fd");

	(void)arg;
	if (!dir) {
		say("%s", error_name(errno));
		return;
	}
	for (struct dirent *e; (e = readdir(dir)) && count < 256;)
		if (e->d_name[0] != '.' && atoi(e->d_name) != dirfd(dir))
			names[count++] = strdup(e->d_name);
	say_names(names, count);
}

static void descriptor_kinds(const char *arg)
{
	char *names[3];
	struct stat st;

	(void)arg;
	for (int fd = 0; fd < 3; fd++) {
		if (fstat(fd, &st) < 0)
			names[fd] = strdup(error_name(errno));
		else
			names[fd] = strdup(S_ISDIR(st.st_mode)    ? "directory"
					   : S_ISREG(st.st_mode)  ? "file"
					   : S_ISFIFO(st.st_mode) ? "pipe"
					   : S_ISSOCK(st.st_mode) ? "socket"
					   : S_ISCHR(st.st_mode)  ? "device"
								  : "other");
	}
	say("%s %s %s", names[0], names[1], names[2]);
}

static void directory(const char *arg)
{
	char path[PATH_MAX];

	(void)arg;
	say("%s", getcwd(path, sizeof(path)) ? path : error_name(errno));
}

static void hard_link(const char *path)
{
	unlink("/sandbox/temp/hard");
	say_rc(link(path, "/sandbox/temp/hard"));
}

static int copy(const char *from, const char *to, mode_t mode)
{
	char data[65536];
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

	if (in < 0 || out < 0)
		return -1;
	for (ssize_t got; (got = read(in, data, sizeof(data))) > 0;)
		if (write(out, data, (size_t)got) != got)
			return -1;
	/* Closed before it is executed, or that is ETXTBSY. */
	int rc = fchmod(out, mode);

	close(in);
	close(out);
	return rc;
}

/* Executes a copy of the probe with the set-user-ID bit, which then says who it is. */
static void set_uid_copy(const char *arg)
{
	const char *path = "/sandbox/temp/suid";

	(void)arg;
	if (copy("/proc/self/exe", path, 06755) < 0)
		say("copy: %s", error_name(errno));
	else if (execl(path, path, "--label", "suid-copy", "ids", (char *)NULL) < 0)
		say("exec: %s", error_name(errno));
}

/* Mounts that honour set-user-ID or devices. A single device file that is mounted has to: only directories count there.
 */
static void mounts_without(const char *option)
{
	char *names[256], *line = NULL;
	size_t count = 0, size = 0;
	FILE *f = fopen("/proc/self/mountinfo", "re");

	if (!f) {
		say("%s", error_name(errno));
		return;
	}
	while (getline(&line, &size, f) > 0 && count < 256) {
		char at[PATH_MAX], options[1024], *save = NULL;
		bool has = false;

		if (sscanf(line, "%*s %*s %*s %*s %4095s %1023s", at, options) != 2)
			continue;
		for (char *o = strtok_r(options, ",", &save); o; o = strtok_r(NULL, ",", &save))
			has |= strcmp(o, option) == 0;
		struct stat st;

		if (strcmp(option, "nodev") == 0 && (stat(at, &st) < 0 || !S_ISDIR(st.st_mode)))
			continue;
		if (!has)
			names[count++] = strdup(at);
	}
	say_names(names, count);
}

static void mount_roots(const char *arg)
{
	char *names[256], *line = NULL;
	size_t count = 0, size = 0;
	FILE *f = fopen("/proc/self/mountinfo", "re");

	(void)arg;
	if (!f) {
		say("%s", error_name(errno));
		return;
	}
	while (getline(&line, &size, f) > 0 && count < 256) {
		char root[PATH_MAX], at[PATH_MAX], both[2 * PATH_MAX + 2];

		if (sscanf(line, "%*s %*s %*s %4095s %4095s", root, at) != 2)
			continue;
		snprintf(both, sizeof(both), "%s<%s", at, root);
		names[count++] = strdup(both);
	}
	say_names(names, count);
}

/* Dirty Pipe (CVE-2022-0847): a page of a file in a pipe whose buffer is marked as mergeable, then written over. */
static void dirty_pipe(const char *path)
{
	char page[4096] = { 0 }, before[16] = "", after[16] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC), ends[2];
	loff_t offset = 0;

	if (fd < 0 || pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
		say("%s", error_name(errno));
		return;
	}
	while (write(ends[1], page, sizeof(page)) > 0)
		;
	while (read(ends[0], page, sizeof(page)) > 0)
		;
	if (pread(fd, before, 15, 0) <= 0) {
		say("%s", error_name(errno));
		return;
	}
	/* Where memory is only accounted for, splice itself is refused; either way the file is what counts. */
	if (splice(fd, &offset, ends[1], NULL, 1, 0) == 1 && write(ends[1], "dirtypipe", 9) != 9)
		say("write: %s", error_name(errno));
	else if (pread(fd, after, 15, 0) <= 0)
		say("%s", error_name(errno));
	else
		say("%s", memcmp(before, after, 15) == 0 ? "unchanged" : "CHANGED");
}

/* Dirty COW's way in: a shared read-only mapping, written through /proc/self/mem or made writable. */
static void self_mem(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *map = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	int mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);

	if (map == MAP_FAILED)
		say("map: %s", error_name(errno));
	else if (mem < 0)
		say("open: %s", error_name(errno));
	else
		say_rc(pwrite(mem, "dirty", 5, (off_t)(uintptr_t)map));
}

static void map_writable(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *map = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	say_rc(map == MAP_FAILED ? -1 : mprotect(map, 4096, PROT_READ | PROT_WRITE));
}

/* Trees that a careless removal trips over. Arg: where. */
static void awkward_tree(const char *where)
{
	char name[256];
	int deep = 0;

	if (chdir(where) < 0 || mkdir("locked", 0700) < 0 || mkdir("locked/inner", 0000) < 0 ||
	    chmod("locked", 0000) < 0) {
		say("%s", error_name(errno));
		return;
	}
	close(open("-rf", O_CREAT | O_WRONLY, 0000));
	close(open("new\nline \xff\xfe", O_CREAT | O_WRONLY, 0000));
	memset(name, 'n', 255);
	name[255] = 0;
	/* 64 names of 255 bytes: four times what a path may hold. */
	while (deep < 64 && mkdir(name, 0700) == 0 && chdir(name) == 0)
		deep++;
	say("%d deep", deep);
}

/* Arg: WHERE:COUNT empty files, or WHERE:COUNT directories one in another with many_deep. */
static void many_files(const char *arg)
{
	char where[PATH_MAX], name[32];
	unsigned long count = 0, made = 0;

	if (sscanf(arg, "%4095[^:]:%lu", where, &count) != 2 || chdir(where) < 0) {
		say("%s", error_name(errno));
		return;
	}
	for (; made < count; made++) {
		snprintf(name, sizeof(name), "%lu", made);
		if (mknod(name, S_IFREG | 0600, 0) < 0) {
			say("%lu %s", made, error_name(errno));
			return;
		}
	}
	say("%lu OK", made);
}

static void many_deep(const char *arg)
{
	char where[PATH_MAX];
	unsigned long count = 0, made = 0;

	if (sscanf(arg, "%4095[^:]:%lu", where, &count) != 2 || chdir(where) < 0) {
		say("%s", error_name(errno));
		return;
	}
	while (made < count && mkdir("d", 0700) == 0 && chdir("d") == 0)
		made++;
	say("%lu", made);
}

static void unix_socket(const char *path)
{
	say_rc(unix_listen(path));
}

const struct probe file_probes[] = {
	{ "create", create },
	{ "open", open_read },
	{ "open-write", open_write },
	{ "read", read_size },
	{ "unwritable", unwritable },
	{ "hidden", hidden },
	{ "list", list },
	{ "readlink", link_target },
	{ "reach", reach },
	{ "walk", walk_name },
	{ "walk-sockets", walk_sockets },
	{ "symlink-read", symlink_read },
	{ "symlink-write", symlink_write },
	{ "dotdot", dotdot },
	{ "chroot", change_root },
	{ "chroot-twice", change_root_twice },
	{ "mount", mount_kind },
	{ "umount", unmount },
	{ "mknod", make_node },
	{ "fds", descriptors },
	{ "fd-kinds", descriptor_kinds },
	{ "cwd", directory },
	{ "link", hard_link },
	{ "suid-copy", set_uid_copy },
	{ "mounts-without", mounts_without },
	{ "mount-roots", mount_roots },
	{ "dirty-pipe", dirty_pipe },
	{ "self-mem", self_mem },
	{ "map-writable", map_writable },
	{ "awkward-tree", awkward_tree },
	{ "many-files", many_files },
	{ "many-deep", many_deep },
	{ "unix-socket", unix_socket },
	{ NULL, NULL },
};
