/* The root while it is built, and the pivot. tests/run: args=--as root | --as user | --as userns */
#include "../check.h"
#include "as.h"
#include "space.h"

#include "kernel/mount.h"
#include "kernel/rootfs.h"

#include <dirent.h>
#include <limits.h>
#include <sys/mount.h>
#include <sys/stat.h>

static const char *get(const char *path)
{
	static char text[64];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (n < 0)
		return strerrorname_np(errno);
	text[n] = '\0';
	return text;
}

static unsigned mode_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 ? st.st_mode : 0;
}

/* An empty root, with a directory beside it that stands for the host. */
static void stage(void)
{
	umask(0);
	CHECK_INT(mount_isolate(), 0);
	CHECK_INT(mount_tmpfs("/tmp", 1 << 20, 0, 0755, MOUNT_NODEV), 0);
	CHECK_INT(mkdir("/tmp/host", 0755) | mkdir("/tmp/root", 0755), 0);
	CHECK_INT(mount_tmpfs("/tmp/root", 1 << 20, 0, 0755, MOUNT_NODEV), 0);
	CHECK_INT(chdir("/tmp/root"), 0);
}

static void child_dirs(void)
{
	stage();
	CHECK_INT(rootfs_dir("a/b/c", 0700), 0);
	CHECK_INT(mode_of("a"), S_IFDIR | 0755);
	CHECK_INT(mode_of("a/b"), S_IFDIR | 0755);
	CHECK_INT(mode_of("a/b/c"), S_IFDIR | 0700);
	CHECK_INT(rootfs_dir("a/b/c", 0755), 0);
	CHECK_INT(mode_of("a/b/c"), S_IFDIR | 0700); /* left as it is */
	CHECK_INT(rootfs_dir("open", 01777), 0);
	CHECK_INT(mode_of("open"), S_IFDIR | 01777);
	/* A path means the new root, however it begins. */
	CHECK_INT(rootfs_dir("/x//y", 0755), 0);
	CHECK_INT(mode_of("x/y"), S_IFDIR | 0755);
	CHECK_INT(mode_of("/x"), 0);
}

static void dirs_with_their_parents(void)
{
	in_space(CLONE_NEWNS, child_dirs);
}

static void child_files(void)
{
	int fd;

	stage();
	CHECK_INT(rootfs_file("a/b/file", 0640, "text", 4), 0);
	CHECK_STR(get("a/b/file"), "text");
	CHECK_INT(mode_of("a/b/file"), S_IFREG | 0640);
	CHECK_INT(rootfs_file("a/b/file", 0640, "x", 1), 0);
	CHECK_STR(get("a/b/file"), "x");
	CHECK_INT(rootfs_file("a/b/none", 0644, "", 0), 0);
	CHECK_STR(get("a/b/none"), "");
	fd = rootfs_create("c/d/file", 0755);
	CHECK(fd >= 0);
	CHECK_INT(fcntl(fd, F_GETFD), FD_CLOEXEC);
	CHECK_INT(write(fd, "out", 3), 3);
	CHECK_STR(get("c/d/file"), "out");
	CHECK_INT(mode_of("c/d/file"), S_IFREG | 0755);
}

static void files_with_their_parents(void)
{
	in_space(CLONE_NEWNS, child_files);
}

static void child_links(void)
{
	static const char *const links[][2] = {
		{ "/tmp/host", "absolute" },
		{ "../host", "upwards" },
		{ "inside", "within" },
		{ "nowhere", "dangling" },
	};
	char path[64];

	stage();
	CHECK_INT(mkdir("inside", 0755), 0);
	CHECK_INT(rootfs_file("inside/file", 0644, "mine", 4), 0);
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		CHECK_INT(symlink(links[i][0], links[i][1]), 0);
		CHECK_ERRNO(rootfs_dir(links[i][1], 0755), ELOOP);
		CHECK_ERRNO(rootfs_create(links[i][1], 0644), ELOOP);
		snprintf(path, sizeof(path), "%s/file", links[i][1]);
		CHECK_ERRNO(rootfs_file(path, 0644, "x", 1), ELOOP);
		CHECK_ERRNO(rootfs_create(path, 0644), ELOOP);
		CHECK_ERRNO(rootfs_dir(path, 0755), ELOOP);
		CHECK_ERRNO(rootfs_target("/usr", path), ELOOP);
		CHECK_ERRNO(rootfs_target("/etc/passwd", path), ELOOP);
		snprintf(path, sizeof(path), "%s/dir/file", links[i][1]);
		CHECK_ERRNO(rootfs_file(path, 0644, "x", 1), ELOOP);
	}
	/* Without O_NOFOLLOW the same path would do. */
	CHECK_STR(get("within/file"), "mine");
	CHECK_STR(get("/tmp/host/file"), "ENOENT");
	CHECK_STR(get("/tmp/host/dir"), "ENOENT");
	CHECK_STR(get("nowhere"), "ENOENT");
}

static void never_through_a_link(void)
{
	in_space(CLONE_NEWNS, child_links);
}

static void child_odd(void)
{
	char far[NAME_MAX + 8];

	stage();
	CHECK_INT(rootfs_file("file", 0644, "x", 1), 0);
	CHECK_ERRNO(rootfs_dir("file", 0755), ENOTDIR);
	CHECK_ERRNO(rootfs_dir("file/dir", 0755), ENOTDIR);
	CHECK_ERRNO(rootfs_file("file/file", 0644, "x", 1), ENOTDIR);
	CHECK_ERRNO(rootfs_file("../host/file", 0644, "x", 1), EINVAL);
	CHECK_ERRNO(rootfs_dir("a/../../host/dir", 0755), EINVAL);
	CHECK_INT(rootfs_dir("dir", 0755), 0);
	CHECK_ERRNO(rootfs_create("dir", 0644), EISDIR);
	memset(far, 'a', sizeof(far));
	memcpy(far + sizeof(far) - 3, "/b", 3);
	CHECK_ERRNO(rootfs_dir(far, 0755), ENAMETOOLONG);
	far[sizeof(far) - 3] = '\0';
	CHECK_ERRNO(rootfs_dir(far, 0755), ENAMETOOLONG);
	CHECK_STR(get("file"), "x");
	CHECK_STR(get("/tmp/host/file"), "ENOENT");
}

static void odd_paths(void)
{
	in_space(CLONE_NEWNS, child_odd);
}

static void child_targets(void)
{
	stage();
	CHECK_INT(rootfs_target("/usr", "a/usr"), 0);
	CHECK_INT(mode_of("a/usr"), S_IFDIR | 0755);
	CHECK_INT(rootfs_target("/etc/passwd", "b/passwd"), 0);
	CHECK_INT(mode_of("b/passwd"), S_IFREG | 0644);
	CHECK_STR(get("b/passwd"), "");
	CHECK_INT(rootfs_target("/dev/null", "dev/null"), 0);
	CHECK_INT(mode_of("dev/null"), S_IFREG | 0644);
	CHECK_ERRNO(rootfs_target("/missing", "c"), ENOENT);
	CHECK_INT(mode_of("c"), 0);
}

static void targets_of_the_same_kind(void)
{
	in_space(CLONE_NEWNS, child_targets);
}

static void child_pivots(void)
{
	char self[64] = "";
	struct stat before, root, up;
	int seen = 0, lines = 0, c, host = open("/usr", O_PATH | O_DIRECTORY | O_CLOEXEC);
	FILE *file;
	DIR *dir;

	stage();
	CHECK_INT(rootfs_file("etc/mine", 0644, "mine", 4), 0);
	CHECK_INT(rootfs_dir("proc", 0555), 0);
	CHECK_INT(mount_proc("proc", MOUNT_READONLY), 0);
	CHECK_INT(stat(".", &before), 0);
	CHECK_INT(access("/usr/bin", F_OK), 0);
	CHECK_INT(rootfs_pivot(), 0);
	CHECK(getcwd(self, sizeof(self)) != NULL);
	CHECK_STR(self, "/");
	CHECK_INT(stat("/", &root) | stat("/../..", &up), 0);
	CHECK(root.st_ino == before.st_ino && root.st_dev == before.st_dev);
	CHECK(up.st_ino == root.st_ino && up.st_dev == root.st_dev);
	CHECK_STR(get("/etc/mine"), "mine");
	CHECK_STR(get("/usr/bin"), "ENOENT");
	CHECK_STR(get("/etc/passwd"), "ENOENT");
	CHECK_STR(get("/tmp"), "ENOENT");
	dir = opendir("/");
	for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;)
		seen++;
	CHECK_INT(seen, 4); /* . .. etc proc */
	/* The new root and its /proc are all the mounts there are: nothing to get back by umount either. */
	file = fopen("/proc/self/mountinfo", "re");
	CHECK(file != NULL);
	while (file && (c = getc(file)) != EOF)
		lines += c == '\n';
	CHECK_INT(lines, 2);
	CHECK_ERRNO(umount2("/", MNT_DETACH), EINVAL);
	/* Why no descriptor may cross (fdset): a directory of the host is still one. */
	CHECK_INT(faccessat(host, "bin", F_OK, 0), 0);
}

static void pivot_leaves_nothing(void)
{
	in_space(CLONE_NEWNS | CLONE_NEWPID, child_pivots);
}

static void child_no_mount(void)
{
	stage();
	CHECK_INT(mkdir("dir", 0755) | chdir("dir"), 0);
	CHECK_ERRNO(rootfs_pivot(), EINVAL);
	CHECK_INT(access("/usr/bin", F_OK), 0);
	CHECK_INT(chdir(".."), 0);
	CHECK_INT(rootfs_pivot(), 0);
}

static void pivot_needs_a_mount(void)
{
	in_space(CLONE_NEWNS, child_no_mount);
}

static void user_may_not_pivot(void)
{
	CHECK_ERRNO(rootfs_pivot(), EPERM);
}

int main(int argc, char **argv)
{
	enum as_mode mode = as_enter(argc, argv);

	RUN(dirs_with_their_parents);
	RUN(files_with_their_parents);
	RUN(never_through_a_link);
	RUN(odd_paths);
	RUN(targets_of_the_same_kind);
	RUN(pivot_leaves_nothing);
	RUN(pivot_needs_a_mount);
	if (mode == AS_USER)
		RUN(user_may_not_pivot);
	return check_failures ? 1 : 0;
}
