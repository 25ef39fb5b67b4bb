/* Who the box is outside. tests/run: args=--as root | --as user | --as userns */
#include "../check.h"
#include "as.h"
#include "child.h"
#include "space.h"

#include "base/own.h"
#include "kernel/caps.h"
#include "kernel/mount.h"

#include <linux/capability.h>
#include <linux/nsfs.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define LOCK_DIR "/run/emberbox"
#define LOCK     LOCK_DIR "/uids"

static enum as_mode mode;

static const char *slurp(const char *path)
{
	static char text[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n < 0 ? 0 : n] = '\0';
	return text;
}

static void child_without_setuid(void)
{
	CHECK_INT(caps_drop(), 0);
	CHECK(!userns_can_range());
}

static void who_has_the_range(void)
{
	unsigned long inside = 1, outside = 1, length = 0;

	CHECK_INT(sscanf(slurp("/proc/self/uid_map"), "%lu %lu %lu", &inside, &outside, &length), 3);
	CHECK_INT(userns_can_range(), mode == AS_ROOT && inside == 0 && length >= USERNS_FIRST + USERNS_SLOTS);
	/* Root without its capabilities is nobody. */
	if (mode == AS_ROOT)
		in_child(child_without_setuid);
}

static void own_ids_need_no_lock(void)
{
	struct userns_ids ids;
	struct error err = { 0 };

	CHECK_INT(userns_take(false, &ids, &err), 0);
	CHECK_INT(ids.uid, geteuid());
	CHECK_INT(ids.gid, getegid());
	CHECK_INT(ids.own, 0);
	CHECK_INT(ids.lock_fd, -1);
	userns_release(&ids);
	CHECK_INT(ids.lock_fd, -1);
}

/* The lock directory of a host of our own: no box of the real one is in the way, nor is one disturbed. */
static void empty_run(void)
{
	CHECK_INT(unshare(CLONE_NEWNS), 0);
	CHECK_INT(mount_isolate(), 0);
	CHECK_INT(mount("t", "/run", "tmpfs", 0, "mode=755"), 0);
}

static void child_takes_two(void)
{
	struct userns_ids one, two, again;
	struct error err = { 0 };
	struct stat st;

	umask(0);
	empty_run();
	CHECK_INT(userns_take(true, &one, &err), 0);
	CHECK_INT(userns_take(true, &two, &err), 0);
	CHECK(one.uid != two.uid);
	CHECK_INT(one.uid, one.gid);
	CHECK(one.own && two.own);
	CHECK(one.uid >= USERNS_FIRST && one.uid < USERNS_FIRST + USERNS_SLOTS);
	CHECK(two.uid >= USERNS_FIRST && two.uid < USERNS_FIRST + USERNS_SLOTS);
	CHECK_INT(fcntl(one.lock_fd, F_GETFD), FD_CLOEXEC);
	CHECK_INT(stat(LOCK_DIR, &st), 0);
	CHECK_INT(st.st_mode, S_IFDIR | 0711);
	CHECK_INT(stat(LOCK, &st), 0);
	CHECK_INT(st.st_mode, S_IFREG | 0600);
	userns_release(&one);
	CHECK_INT(one.lock_fd, -1);
	userns_release(&one);
	userns_release(&two);
	/* One that was just given back is not the next. */
	CHECK_INT(userns_take(true, &again, &err), 0);
	CHECK(again.uid != one.uid && again.uid != two.uid);
	userns_release(&again);
}

static void two_boxes_have_two_uids(void)
{
	in_child(child_takes_two);
}

static struct userns_ids held; /* by the test, while its children try */

/* Another process's attempt at the uid that is held: 0 or the errno. */
static int try_lock(uid_t uid)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = uid - USERNS_FIRST, .l_len = 1 };
	int fd = open(LOCK, O_RDWR | O_CLOEXEC);
	int errnum = fd < 0 || fcntl(fd, F_OFD_SETLK, &lock) < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	return errnum;
}

/* A process of its own, that has nothing of ours open. */
static int try_lock_elsewhere(uid_t uid)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		close(held.lock_fd);
		_exit(try_lock(uid));
	}
	return waitpid(pid, &status, __WALL) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void child_holds(void)
{
	struct error err = { 0 };
	int gate[2];
	char byte;
	pid_t init;

	empty_run();
	CHECK_INT(pipe2(gate, O_CLOEXEC), 0);
	CHECK_INT(userns_take(true, &held, &err), 0);
	CHECK_INT(try_lock_elsewhere(held.uid), EAGAIN);
	CHECK_INT(try_lock_elsewhere(held.uid == USERNS_FIRST ? held.uid + 1 : held.uid - 1), 0);
	/* The supervisor is gone, the box's init is not. */
	init = fork();
	if (init == 0) {
		close(gate[1]);
		_exit((int)read(gate[0], &byte, 1));
	}
	close(gate[0]);
	userns_release(&held);
	CHECK_INT(try_lock(held.uid), EAGAIN);
	close(gate[1]);
	CHECK_INT(waitpid(init, NULL, __WALL), init);
	CHECK_INT(try_lock(held.uid), 0);
}

static void held_until_both_are_gone(void)
{
	in_child(child_holds);
}

static void child_passes_over(void)
{
	struct userns_ids ids;
	struct error err = { 0 };
	unsigned start = (unsigned)getpid() % USERNS_SLOTS;
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = 3 };
	int fd;

	empty_run();
	CHECK_INT(userns_take(true, &ids, &err), 0);
	CHECK_INT(ids.uid, USERNS_FIRST + start);
	userns_release(&ids);
	fd = open(LOCK, O_RDWR | O_CLOEXEC);
	CHECK_INT(fcntl(fd, F_OFD_SETLK, &lock), 0);
	CHECK_INT(userns_take(true, &ids, &err), 0);
	CHECK_INT(ids.uid, USERNS_FIRST + (start + 3) % USERNS_SLOTS);
	userns_release(&ids);
	lock.l_start = 0;
	lock.l_len = USERNS_SLOTS;
	CHECK_INT(fcntl(fd, F_OFD_SETLK, &lock), 0);
	CHECK_INT(userns_take(true, &ids, &err), -1);
	CHECK_STR(err.text, "all 65536 uids for boxes are in use");
	CHECK_INT(err.kind, ERROR_FAILED);
	CHECK_INT(ids.lock_fd, -1);
}

static void taken_ones_are_passed_over(void)
{
	in_child(child_passes_over);
}

static void check_refused(int errnum, const char *text)
{
	struct userns_ids ids;
	struct error err = { 0 };

	CHECK_INT(userns_take(true, &ids, &err), -1);
	CHECK_INT(err.kind, ERROR_FAILED);
	CHECK_INT(err.errnum, errnum);
	if (!strstr(err.text, text))
		check_fail("\"%s\" is not in \"%s\"", text, err.text);
	CHECK_INT(ids.lock_fd, -1);
}

static void child_lock_dir(void)
{
	static const char must[] = LOCK_DIR " must belong to root and be writable by nobody else; remove it";
	struct userns_ids ids;
	struct error err = { 0 };

	empty_run();
	CHECK_INT(mkdir(LOCK_DIR, 0755), 0);
	CHECK_INT(chmod(LOCK_DIR, 0777), 0);
	check_refused(0, must);
	CHECK_INT(chmod(LOCK_DIR, 0775), 0);
	check_refused(0, must);
	CHECK_INT(chmod(LOCK_DIR, 01757), 0);
	check_refused(0, must);
	CHECK_INT(chmod(LOCK_DIR, 0755), 0);
	if (mode == AS_ROOT) {
		CHECK_INT(chown(LOCK_DIR, AS_ID, AS_ID), 0);
		check_refused(0, must);
		CHECK_INT(chown(LOCK_DIR, 0, 0), 0);
	}
	CHECK_INT(symlink("/run/elsewhere", LOCK), 0);
	check_refused(ELOOP, "cannot open " LOCK);
	CHECK_INT(access("/run/elsewhere", F_OK), -1);
	CHECK_INT(unlink(LOCK), 0);
	CHECK_INT(rename(LOCK_DIR, "/run/other"), 0);
	CHECK_INT(symlink("/run/other", LOCK_DIR), 0);
	check_refused(ENOTDIR, "cannot open " LOCK_DIR);
	CHECK_INT(unlink(LOCK_DIR), 0);
	CHECK_INT(mknod(LOCK_DIR, S_IFREG | 0600, 0), 0);
	check_refused(ENOTDIR, "cannot open " LOCK_DIR);
	/* The control: the same directory, as it should be. */
	CHECK_INT(unlink(LOCK_DIR), 0);
	CHECK_INT(rename("/run/other", LOCK_DIR), 0);
	CHECK_INT(userns_take(true, &ids, &err), 0);
	userns_release(&ids);
}

static void a_wrong_lock_directory_is_refused(void)
{
	in_child(child_lock_dir);
}

static void user_gets_no_range(void)
{
	struct userns_ids ids;
	struct error err = { 0 };

	CHECK_INT(userns_take(true, &ids, &err), -1);
	CHECK_INT(err.kind, ERROR_FAILED);
	CHECK(strstr(err.text, LOCK_DIR));
	CHECK_INT(ids.lock_fd, -1);
}

static void check_map(const char *path, unsigned outside)
{
	unsigned a = 0, b = 0, c = 0;
	int end = -1;
	const char *text = slurp(path);

	/* One line and no more. */
	CHECK_INT(sscanf(text, "%u %u %u %n", &a, &b, &c, &end), 3);
	CHECK_INT(a, USERNS_INSIDE);
	CHECK_INT(b, outside);
	CHECK_INT(c, 1);
	CHECK_INT(end, strlen(text));
}

static void child_maps(void)
{
	/* Seen from inside, what is not mapped outside is the overflow id; the file was opened in here. */
	CHECK_STR(slurp("/proc/self/setgroups"), space_ids.own ? "allow\n" : "deny\n");
	CHECK(strstr(slurp("/proc/self/uid_map"), "1000"));
}

/* The maps are read from outside, where the second column is the host's. */
static void maps_are_exact(void)
{
	struct userns_ids ids;
	struct error err = { 0 };
	int gate[2], pidfd = -1;
	char path[64], byte;
	pid_t pid;

	in_space(0, child_maps);
	CHECK_INT(pipe2(gate, O_CLOEXEC), 0);
	CHECK_INT(userns_take(userns_can_range(), &ids, &err), 0);
	pid = clone_into(CLONE_NEWUSER, -1, &pidfd);
	if (pid == 0) {
		close(gate[1]);
		_exit((int)read(gate[0], &byte, 1));
	}
	close(gate[0]);
	CHECK_INT(userns_map(pid, &ids, &err), 0);
	snprintf(path, sizeof(path), "/proc/%d/uid_map", (int)pid);
	check_map(path, mode == AS_ROOT ? ids.uid : geteuid());
	snprintf(path, sizeof(path), "/proc/%d/gid_map", (int)pid);
	check_map(path, mode == AS_ROOT ? ids.gid : getegid());
	snprintf(path, sizeof(path), "/proc/%d/setgroups", (int)pid);
	CHECK_STR(slurp(path), ids.own ? "allow\n" : "deny\n");
	/* Once: nobody can widen it later. */
	CHECK_INT(userns_map(pid, &ids, &err), -1);
	CHECK_INT(err.errnum, EPERM);
	CHECK(strstr(err.text, "cannot write the box's "));
	close(gate[1]);
	CHECK_INT(waitpid(pid, NULL, __WALL), pid);
	CHECK_INT(userns_map(pid, &ids, &err), -1);
	CHECK_INT(err.errnum, ENOENT);
	close(pidfd);
	userns_release(&ids);
}

struct line {
	unsigned inside, outside, length; /* as in a map */
};

/* The maps of a stem with these ids, read from outside. */
static void check_stem(const struct userns_ids *ids, const struct line *lines, size_t count)
{
	static const char *const maps[] = { "uid_map", "gid_map" };
	struct error err = { 0 };
	int gate[2], pidfd = -1;
	char path[64], byte;
	pid_t pid;

	CHECK_INT(pipe2(gate, O_CLOEXEC), 0);
	pid = clone_into(CLONE_NEWUSER, -1, &pidfd);
	if (pid == 0) {
		close(gate[1]);
		_exit((int)read(gate[0], &byte, 1));
	}
	close(gate[0]);
	CHECK_INT(userns_map_stem(pid, ids, &err), 0);
	CHECK_STR(err.text, "");
	for (size_t i = 0; i < 2; i++) {
		char want[256] = "", got[256] = "", *rest;
		unsigned a, b, c;

		snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, maps[i]);
		rest = (char *)slurp(path);
		for (char *line; (line = strsep(&rest, "\n")) && sscanf(line, "%u %u %u", &a, &b, &c) == 3;)
			snprintf(got + strlen(got), 64, "%u %u %u\n", a, b, c);
		for (size_t j = 0; j < count; j++)
			snprintf(want + strlen(want), 64, "%u %u %u\n", lines[j].inside, lines[j].outside,
				 lines[j].length);
		CHECK_STR(got, want);
	}
	close(gate[1]);
	CHECK_INT(waitpid(pid, NULL, __WALL), pid);
	close(pidfd);
}

/* The stem's own id is 0, and the others are those of its boxes. */
static void stems_at_the_edges(void)
{
	enum {
		LAST = USERNS_FIRST + USERNS_SLOTS - 1,
		MIDDLE = USERNS_FIRST + 100
	};
	const struct line first[] = { { 0, USERNS_FIRST, 1 },
				      { USERNS_FIRST + 1, USERNS_FIRST + 1, USERNS_SLOTS - 1 } };
	const struct line last[] = { { 0, LAST, 1 }, { USERNS_FIRST, USERNS_FIRST, USERNS_SLOTS - 1 } };
	const struct line middle[] = { { 0, MIDDLE, 1 },
				       { USERNS_FIRST, USERNS_FIRST, 100 },
				       { MIDDLE + 1, MIDDLE + 1, USERNS_SLOTS - 101 } };
	struct userns_ids ids = { .own = true, .lock_fd = -1 };

	ids.uid = ids.gid = USERNS_FIRST;
	check_stem(&ids, first, ARRAY_SIZE(first));
	ids.uid = ids.gid = LAST;
	check_stem(&ids, last, ARRAY_SIZE(last));
	ids.uid = ids.gid = MIDDLE;
	check_stem(&ids, middle, ARRAY_SIZE(middle));
	CHECK_INT(userns_in_stem(&ids).uid, MIDDLE);
	CHECK_INT(userns_in_stem(&ids).gid, MIDDLE);
}

/* Without a range there is one id, and it is 0 for all. */
static void stem_without_a_range(void)
{
	const struct userns_ids ids = { .uid = geteuid(), .gid = getegid(), .lock_fd = -1 };
	const struct line one[] = { { 0, geteuid(), 1 } };

	check_stem(&ids, one, 1);
	CHECK_INT(userns_in_stem(&ids).uid, 0);
	CHECK_INT(userns_in_stem(&ids).gid, 0);
	CHECK(!userns_in_stem(&ids).own);
}

static void foreign_uids_cannot_be_mapped(void)
{
	struct userns_ids ids = { .uid = 1, .gid = 1, .lock_fd = -1 };
	struct error err = { 0 };
	int gate[2], pidfd = -1;
	char byte;
	pid_t pid;

	CHECK_INT(pipe2(gate, O_CLOEXEC), 0);
	pid = clone_into(CLONE_NEWUSER, -1, &pidfd);
	if (pid == 0) {
		close(gate[1]);
		_exit((int)read(gate[0], &byte, 1));
	}
	CHECK_INT(userns_map(pid, &ids, &err), -1);
	CHECK_INT(err.errnum, EPERM);
	close(gate[0]);
	close(gate[1]);
	CHECK_INT(waitpid(pid, NULL, __WALL), pid);
	close(pidfd);
}

static void child_became(void)
{
	uid_t uid[3];
	gid_t gid[3];

	CHECK_INT(getresuid(&uid[0], &uid[1], &uid[2]) | getresgid(&gid[0], &gid[1], &gid[2]), 0);
	for (int i = 0; i < 3; i++) {
		CHECK_INT(uid[i], USERNS_INSIDE);
		CHECK_INT(gid[i], USERNS_INSIDE);
	}
	CHECK_INT(getgroups(0, NULL), 0);
	/* The namespace is still its own to build in, and no other uid can be had. */
	CHECK(caps_has(CAP_SYS_ADMIN));
	CHECK_ERRNO(setresuid(0, 0, 0), EINVAL);
	CHECK_ERRNO(setresgid(0, 0, 0), EINVAL);
	if (!space_ids.own) {
		CHECK_ERRNO(userns_become(true), EPERM); /* setgroups */
		CHECK_ERRNO(setgroups(0, NULL), EPERM);
	}
}

static void child_with_groups(void)
{
	static const gid_t groups[] = { 1, 2, AS_ID };

	/* What is given up has to be there first. */
	if (mode == AS_ROOT) {
		CHECK_INT(setgroups(3, groups), 0);
		CHECK_INT(getgroups(0, NULL), 3);
	}
	in_space(0, child_became);
}

static void becomes_the_sandbox_user(void)
{
	in_child(child_with_groups);
}

static void child_unmapped(void)
{
	struct stat st;

	CHECK_INT(unshare(CLONE_NEWUSER), 0);
	CHECK_ERRNO(userns_become(false), EINVAL);
	CHECK_INT(stat("/proc/self", &st), 0);
}

static void nobody_before_the_maps(void)
{
	in_child(child_unmapped);
}

static void host_sees_the_box_alone(void)
{
	struct stat st;
	struct userns_ids ids;
	struct error err = { 0 };
	int gate[2], ready[2], pidfd = -1;
	char path[64], byte;
	pid_t pid;

	CHECK_INT(pipe2(gate, O_CLOEXEC) | pipe2(ready, O_CLOEXEC), 0);
	CHECK_INT(userns_take(userns_can_range(), &ids, &err), 0);
	pid = clone_into(CLONE_NEWUSER, -1, &pidfd);
	if (pid == 0) {
		close(gate[1]);
		if (read(gate[0], &byte, 1) != 1 || userns_become(ids.own) < 0 ||
		    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 || write(ready[1], "r", 1) != 1)
			_exit(1);
		_exit((int)read(gate[0], &byte, 1));
	}
	close(gate[0]);
	CHECK_INT(userns_map(pid, &ids, &err), 0);
	CHECK_INT(write(gate[1], "g", 1), 1);
	close(ready[1]);
	CHECK_INT(read(ready[0], &byte, 1), 1);
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	CHECK_INT(stat(path, &st), 0);
	CHECK_INT(st.st_uid, ids.uid);
	CHECK_INT(st.st_gid, ids.gid);
	close(gate[1]);
	close(ready[0]);
	CHECK_INT(waitpid(pid, NULL, __WALL), pid);
	close(pidfd);
	userns_release(&ids);
}

static void translation_is_a_namespace(void)
{
	struct error err = { 0 };
	int fd = userns_translate(AS_ID, AS_ID, USERNS_FIRST, USERNS_FIRST, &err);

	if (mode == AS_ROOT) {
		CHECK(fd >= 0);
		CHECK_INT(fcntl(fd, F_GETFD), FD_CLOEXEC);
		CHECK_INT(ioctl(fd, NS_GET_NSTYPE), CLONE_NEWUSER);
		close(fd);
	} else {
		CHECK_INT(fd, -1);
		CHECK_INT(err.errnum, EPERM);
	}
	/* Its process is gone and reaped, either way. */
	CHECK_ERRNO(waitpid(-1, NULL, WNOHANG), ECHILD);
}

int main(int argc, char **argv)
{
	mode = as_enter(argc, argv);
	RUN(who_has_the_range);
	RUN(own_ids_need_no_lock);
	if (mode == AS_USER) {
		RUN(user_gets_no_range);
	} else {
		RUN(two_boxes_have_two_uids);
		RUN(held_until_both_are_gone);
		RUN(taken_ones_are_passed_over);
		RUN(a_wrong_lock_directory_is_refused);
	}
	RUN(maps_are_exact);
	if (userns_can_range())
		RUN(stems_at_the_edges);
	RUN(stem_without_a_range);
	if (mode != AS_ROOT)
		RUN(foreign_uids_cannot_be_mapped);
	RUN(becomes_the_sandbox_user);
	RUN(nobody_before_the_maps);
	RUN(host_sees_the_box_alone);
	RUN(translation_is_a_namespace);
	return check_failures ? 1 : 0;
}
