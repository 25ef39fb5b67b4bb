#include "kernel/userns.h"

#include "base/fd.h"
#include "base/own.h"
#include "kernel/caps.h"
#include "kernel/clone.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOCK_DIR  "/run/emberbox"
#define LOCK_FILE "uids"

bool userns_can_range(void)
{
	unsigned long inside, outside, length;
	char text[4096], *line, *rest = text;

	if (!caps_has(CAP_SETUID) || !caps_has(CAP_SETGID) ||
	    fd_slurp(AT_FDCWD, "/proc/self/uid_map", text, sizeof(text)) < 0)
		return false;
	while ((line = strsep(&rest, "\n")) != NULL) {
		if (sscanf(line, "%lu %lu %lu", &inside, &outside, &length) == 3 && inside <= USERNS_FIRST &&
		    length >= (unsigned long)USERNS_FIRST + USERNS_SLOTS - inside)
			return true;
	}
	return false;
}

/* Only root may write to the directory, so nobody else can create or lock the file first. */
static int lock_file_open(struct error *err)
{
	_cleanup_close_ int dir = -1;
	struct stat st;
	int fd;

	if (mkdir(LOCK_DIR, 0711) < 0 && errno != EEXIST)
		return error_errno(err, "cannot make %s", LOCK_DIR);
	dir = open(LOCK_DIR, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 || fstat(dir, &st) < 0)
		return error_errno(err, "cannot open %s", LOCK_DIR);
	if (st.st_uid != geteuid() || (st.st_mode & 022))
		return error_set(err, ERROR_FAILED, 0,
				 "%s must belong to root and be writable by nobody else; remove it", LOCK_DIR);
	fd = openat(dir, LOCK_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_errno(err, "cannot open %s/%s", LOCK_DIR, LOCK_FILE);
	return fd;
}

static int take_range(struct userns_ids *ids, struct error *err)
{
	static _Atomic unsigned turn; /* number of uids that this process has taken */
	_cleanup_close_ int fd = lock_file_open(err);
	unsigned start = (unsigned)getpid() + turn++;

	if (fd < 0)
		return -1;
	/* Starting at the pid separates concurrent callers; the counter separates the boxes of one caller. The first
	 * try nearly always succeeds. */
	for (unsigned i = 0; i < USERNS_SLOTS; i++) {
		unsigned slot = (start + i) % USERNS_SLOTS;
		struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = slot, .l_len = 1 };

		if (fcntl(fd, F_OFD_SETLK, &lock) == 0) {
			*ids = (struct userns_ids){
				.uid = USERNS_FIRST + slot,
				.gid = USERNS_FIRST + slot,
				.own = true,
				.lock_fd = take_fd(&fd),
			};
			return 0;
		}
		if (errno != EAGAIN && errno != EACCES)
			return error_errno(err, "cannot lock a uid in %s/%s", LOCK_DIR, LOCK_FILE);
	}
	return error_set(err, ERROR_FAILED, 0, "all %d uids for boxes are in use", USERNS_SLOTS);
}

int userns_take(bool range, struct userns_ids *ids, struct error *err)
{
	*ids = (struct userns_ids){ .uid = geteuid(), .gid = getegid(), .lock_fd = -1 };
	return range ? take_range(ids, err) : 0;
}

void userns_release(struct userns_ids *ids)
{
	close_fd(&ids->lock_fd);
}

static int write_file(pid_t pid, const char *name, const char *text, struct error *err)
{
	char path[64];
	_cleanup_close_ int fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || fd_write(fd, text, strlen(text)) < 0)
		return error_errno(err, "cannot write the box's %s", name);
	return 0;
}

static int write_maps(pid_t pid, uid_t in_uid, gid_t in_gid, uid_t out_uid, gid_t out_gid, bool own, struct error *err)
{
	char text[64];

	/* Without CAP_SETGID, the kernel (since 3.19, CVE-2014-8989) accepts a gid map only after setgroups is
	 * denied. */
	if (!own && write_file(pid, "setgroups", "deny", err) < 0)
		return -1;
	snprintf(text, sizeof(text), "%u %u 1\n", in_uid, out_uid);
	if (write_file(pid, "uid_map", text, err) < 0)
		return -1;
	snprintf(text, sizeof(text), "%u %u 1\n", in_gid, out_gid);
	return write_file(pid, "gid_map", text, err);
}

int userns_map(pid_t pid, const struct userns_ids *ids, struct error *err)
{
	return write_maps(pid, USERNS_INSIDE, USERNS_INSIDE, ids->uid, ids->gid, ids->own, err);
}

/* The range without the stem's own id: the parts below and above it. */
int userns_map_stem(pid_t pid, const struct userns_ids *ids, struct error *err)
{
	const unsigned slot = ids->uid - USERNS_FIRST;
	char text[128];

	if (!ids->own)
		return write_maps(pid, 0, 0, ids->uid, ids->gid, false, err);
	/* A line with a length of 0 is an error. */
	snprintf(text, sizeof(text), "0 %u 1\n", ids->uid);
	if (slot > 0)
		snprintf(text + strlen(text), 64, "%u %u %u\n", USERNS_FIRST, USERNS_FIRST, slot);
	if (slot + 1 < USERNS_SLOTS)
		snprintf(text + strlen(text), 64, "%u %u %u\n", ids->uid + 1, ids->uid + 1, USERNS_SLOTS - slot - 1);
	if (write_file(pid, "uid_map", text, err) < 0)
		return -1;
	return write_file(pid, "gid_map", text, err);
}

struct userns_ids userns_in_stem(const struct userns_ids *ids)
{
	struct userns_ids inside = *ids;

	if (!ids->own)
		inside.uid = inside.gid = 0;
	return inside;
}

int userns_translate(uid_t from_uid, gid_t from_gid, uid_t to_uid, gid_t to_gid, struct error *err)
{
	_cleanup_close_ int pidfd = -1;
	pid_t pid, parent = getpid();
	char path[64];
	int fd = -1;

	pid = clone_into(CLONE_NEWUSER, -1, &pidfd);
	if (pid < 0)
		return error_errno(err, "cannot make a user namespace for an ID-mapped mount");
	if (pid == 0) {
		/* The helper must end if we are killed. */
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
			while (getppid() == parent)
				pause();
		_exit(0);
	}
	if (write_maps(pid, from_uid, from_gid, to_uid, to_gid, true, err) == 0) {
		snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			error_errno(err, "cannot open the user namespace of an ID-mapped mount");
	}
	kill(pid, SIGKILL);
	clone_wait(pid, NULL);
	return fd;
}

int userns_become(bool own)
{
	/* glibc's setgroups() signals every thread, and after clone it would wait for threads that do not exist. */
	if (own && syscall(SYS_setgroups, 0, NULL) < 0)
		return -1;
	if (syscall(SYS_setresgid, USERNS_INSIDE, USERNS_INSIDE, USERNS_INSIDE) < 0)
		return -1;
	return (int)syscall(SYS_setresuid, USERNS_INSIDE, USERNS_INSIDE, USERNS_INSIDE);
}
