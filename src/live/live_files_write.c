/*
 * Writing files of a live box from outside, charged to the box.
 *
 * A page of a tmpfs is charged to the process that writes it first. Written by the
 * keeper, it would be the keeper's memory, and the box's limit would not bound it.
 * So a fork of the keeper joins the box's control group, writes, reports the
 * outcome and exits. A thread would not do: the kernel charges the process that
 * owns the memory. Without a group the supervisor counts the tmpfs with the box's
 * memory, and bytes that would not fit are refused before they are written.
 */
#include "live/live_files.h"

#include "base/fd.h"
#include "base/own.h"
#include "kernel/cgroup.h"
#include "kernel/clone.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
	ROOM_SPARE = 1 << 20 /* bytes that stay free, for directories and the writer's page tables */
};

/* A write that was asked for. */
struct writing {
	const struct live_files *files; /* the box */
	const char *path;               /* of the file */
	int from;                       /* the bytes; a memfd */
	uint64_t size;                  /* their number */
	bool part;                      /* they go into the existing file, at… */
	uint64_t offset;                /* …this offset */
};

/* The outcome; it fits into a pipe in one write. */
struct written {
	int done;         /* 0, or -1 with `err` */
	bool made;        /* the file did not exist */
	struct error err; /* the sentence */
};

/* Copies `from`, a memfd of known size, from its beginning to the current offset of `to`. */
static int copy_bytes(int from, int to, uint64_t size)
{
	off_t at = 0;

	while (size > 0) {
		ssize_t n = sendfile(to, from, &at, size < (1 << 30) ? (size_t)size : (size_t)1 << 30);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = EIO;
		if (n <= 0)
			return -1;
		size -= (uint64_t)n;
	}
	return 0;
}

/*
 * The new file is written under a temporary name and then renamed. The program can
 * see it and change its name: our bytes go to our descriptor, and the rename only
 * concerns a name in the program's own directory.
 */
static int replace_file(int dir, const char *name, int from, uint64_t size, bool *made, const char *path,
			struct error *err)
{
	_cleanup_close_ int fd = -1;
	char temporary[48];
	uint64_t chance;
	struct stat st;
	int result;

	*made = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0;
	if (!*made && S_ISDIR(st.st_mode)) {
		errno = EISDIR;
		return live_refuse(err, path);
	}
	if (!*made && !S_ISREG(st.st_mode))
		return live_not_plain(err, path);
	if (getrandom(&chance, sizeof(chance), 0) != sizeof(chance))
		return error_errno(err, "cannot name a file");
	snprintf(temporary, sizeof(temporary), LIVE_TEMPORARY "%016" PRIx64, chance);
	fd = live_open_below(dir, temporary, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return live_refuse(err, path);
	result = copy_bytes(from, fd, size) < 0 || fchmod(fd, *made ? 0644 : st.st_mode & 0777) < 0 ? -1 : 0;
	/* A new file is linked to its name, so that watchers see a file created, not one replaced. */
	if (result == 0 && *made && linkat(dir, temporary, dir, name, 0) == 0) {
		unlinkat(dir, temporary, 0);
		return 0;
	}
	if (result == 0)
		result = renameat(dir, temporary, dir, name);
	if (result < 0) {
		live_refuse(err, path);
		unlinkat(dir, temporary, 0);
	}
	return result;
}

static int patch_file(int dir, const char *name, int from, uint64_t size, uint64_t offset, bool *made, const char *path,
		      struct error *err)
{
	_cleanup_close_ int fd = live_open_below(dir, name, O_WRONLY | O_CREAT | O_EXCL, 0644);
	struct stat st;

	*made = fd >= 0;
	if (fd < 0 && errno == EEXIST)
		fd = live_open_below(dir, name, O_WRONLY, 0);
	if (fd < 0)
		return live_refuse(err, path);
	if (fstat(fd, &st) < 0)
		return error_errno(err, "cannot look at a file of the box");
	if (!S_ISREG(st.st_mode))
		return live_not_plain(err, path);
	if (lseek(fd, (off_t)offset, SEEK_SET) >= 0 && copy_bytes(from, fd, size) == 0)
		return 0;
	return live_refuse(err, path);
}

/* A hole takes no space, so the size of the disk does not bound it. Readers would have to read it all the same. */
static int check_end(int dir, uint64_t size, uint64_t offset, struct error *err)
{
	struct statfs disk;
	uint64_t most;

	if (fstatfs(dir, &disk) < 0)
		return error_errno(err, "cannot look at the box's disk");
	most = (uint64_t)disk.f_blocks * (uint64_t)disk.f_bsize;
	if (offset <= most && size <= most - offset)
		return 0;
	return error_field(err, "offset",
			   "the file would end behind byte %" PRIu64 ", which is all that the box's disk has room for",
			   most);
}

static int perform_change(const struct writing *w, bool *made, struct error *err)
{
	_cleanup_close_ int dir = -1;
	const char *name;
	int done;

	if (live_enter(w->files, err) < 0)
		return -1;
	dir = live_open_parent(w->files, w->path, true, &name);
	done = dir < 0 ? live_refuse(err, w->path) : 0;
	if (done == 0 && w->part)
		done = check_end(dir, w->size, w->offset, err);
	if (done == 0)
		done = w->part ? patch_file(dir, name, w->from, w->size, w->offset, made, w->path, err)
			       : replace_file(dir, name, w->from, w->size, made, w->path, err);
	live_leave(w->files);
	return done;
}

/* After clone, in a fork of the keeper. When the group is out of memory the kernel kills this process first. Where it
 * kills the whole group (v2), the session ends as if its program had written the file. */
static _Noreturn void write_and_exit(const struct writing *w, int to)
{
	struct written written = { .done = -1 };
	int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (score >= 0)
		(void)!write(score, "1000", 4);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || cgroup_join(&w->files->group, 1) < 0)
		error_errno(&written.err, "cannot enter the session's control group");
	else
		written.done = perform_change(w, &written.made, &written.err);
	(void)!write(to, &written, sizeof(written));
	_exit(0);
}

static int perform_inside(const struct writing *w, bool *made, struct error *err)
{
	_cleanup_close_ int ours = -1, theirs = -1, pidfd = -1;
	struct written written;
	int ends[2];
	ssize_t n;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_errno(err, "cannot make a pipe");
	ours = ends[0];
	theirs = ends[1];
	pid = clone_into(SIGCHLD, -1, &pidfd);
	if (pid == 0)
		write_and_exit(w, theirs);
	if (pid < 0)
		return error_errno(err, "cannot make a process");
	close_fd(&theirs);
	n = fd_read(ours, &written, sizeof(written));
	clone_wait(pid, NULL);
	/* It was killed: for want of memory, or with the box. */
	if (n != sizeof(written))
		return error_refuse(err, CODE_DISK_FULL, "path", "\"%.200s\": the box's memory is full", w->path);
	*made = written.made;
	*err = written.done < 0 ? written.err : *err;
	return written.done;
}

static int check_room(const struct writing *w, struct error *err)
{
	const uint64_t there = w->files->room > ROOM_SPARE ? w->files->room - ROOM_SPARE : 0;

	if (w->size <= there)
		return 0;
	return error_refuse(err, CODE_DISK_FULL, "path",
			    "\"%.200s\": files are part of the box's memory, and %" PRIu64 " MiB of its %" PRIu64
			    " MiB are left; remove files, or start the session with more memory",
			    w->path, there >> 20, w->files->memory >> 20);
}

static int write_bytes(const struct writing *w, bool *made, struct error *err)
{
	if (live_check_path(w->path, 2, err) < 0 || check_room(w, err) < 0)
		return -1;
	return w->files->group >= 0 ? perform_inside(w, made, err) : perform_change(w, made, err);
}

int live_write(const struct live_files *files, const char *path, int from, uint64_t size, bool *made, struct error *err)
{
	const struct writing w = { .files = files, .path = path, .from = from, .size = size };

	return write_bytes(&w, made, err);
}

int live_patch(const struct live_files *files, const char *path, int from, uint64_t size, uint64_t offset, bool *made,
	       struct error *err)
{
	const struct writing w = {
		.files = files, .path = path, .from = from, .size = size, .part = true, .offset = offset
	};

	return write_bytes(&w, made, err);
}
