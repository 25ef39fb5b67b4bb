#include "live/live_files.h"

#include "base/fd.h"
#include "base/own.h"
#include "kernel/caps.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	TRIES = 64 /* attempts at a path that the program changes while we walk it */
};

/* ---- Acting as the box's user. File-system ids and capabilities belong to the thread. */

/* With each change of these ids the kernel makes the whole process undumpable, and its later children as well. The
 * keeper could then not open the namespaces of its children, and no box for a compiler could be made. Being dumpable
 * gives the box's user no access: that depends on the process's other ids, which stay root's. */
static void stay_dumpable(void)
{
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

void live_close(struct live_files *files)
{
	close_fd(&files->sandbox);
	close_fd(&files->group);
}

void live_leave(const struct live_files *files)
{
	if (!files->own)
		return;
	setfsuid(geteuid());
	setfsgid(getegid());
	stay_dumpable();
	caps_use(CAP_DAC_OVERRIDE, true);
}

int live_enter(const struct live_files *files, struct error *err)
{
	if (!files->own)
		return 0;
	/* The group first: the right to change it is lost with the user. The calls do not report failure, so the ids
	 * are read back. */
	setfsgid(files->gid);
	setfsuid(files->uid);
	stay_dumpable();
	/* The keeper's capability over files is not dropped with the user. */
	if (caps_use(CAP_DAC_OVERRIDE, false) == 0 && (gid_t)setfsgid((gid_t)-1) == files->gid &&
	    (uid_t)setfsuid((uid_t)-1) == files->uid)
		return 0;
	live_leave(files);
	return error_set(err, ERROR_FAILED, EPERM, "cannot act as the user of the box");
}

/* ---- Paths. */

/* What the kernel refused about a path is an error in the request. */
int live_refuse(struct error *err, const char *path)
{
	static const struct {
		int errnum;           /* as the kernel has it */
		enum error_code code; /* as the caller gets it */
		const char *what;     /* the end of the sentence */
	} known[] = {
		{ ENOENT, CODE_NOT_FOUND, "there is no such file" },
		{ ENOTDIR, CODE_NO_PLAIN_FILE, "a part of it is no directory" },
		{ EISDIR, CODE_NO_PLAIN_FILE, "it is a directory" },
		{ ENOTEMPTY, CODE_NOT_EMPTY, "the directory is not empty" },
		{ EEXIST, CODE_NOT_EMPTY, "the directory is not empty" },
		{ EACCES, CODE_FORBIDDEN_FILE, "its permissions do not allow that" },
		{ EPERM, CODE_FORBIDDEN_FILE, "its permissions do not allow that" },
		{ EROFS, CODE_FORBIDDEN_FILE, "it cannot be written to" },
		{ ENOSPC, CODE_DISK_FULL, "the box's disk is full" },
		{ EFBIG, CODE_DISK_FULL, "it is larger than a file may be" },
		{ ENAMETOOLONG, CODE_BAD_REQUEST, "a name in it is too long" },
		{ ELOOP, CODE_NO_PLAIN_FILE, "it is a link, or leads through one; links are not followed" },
		{ ENXIO, CODE_NO_PLAIN_FILE, "it is no plain file" },
		{ EXDEV, CODE_BAD_REQUEST, "it leads to another file system" },
		{ EINVAL, CODE_BAD_REQUEST, "it cannot be moved into itself" },
		{ ETXTBSY, CODE_FORBIDDEN_FILE, "it is being executed" },
		{ EAGAIN, CODE_CHANGING, "the program changes it all the time; ask again" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (errno == known[i].errnum)
			return error_refuse(err, known[i].code, "path", "\"%.200s\": %s", path, known[i].what);
	return error_errno(err, "cannot do that with \"%.200s\" of the box", path);
}

int live_not_plain(struct error *err, const char *path)
{
	return error_refuse(err, CODE_NO_PLAIN_FILE, "path", "\"%.200s\": it is no plain file", path);
}

/* Each part has to be a name. */
int live_check_path(const char *path, size_t least, struct error *err)
{
	size_t parts = 0;

	for (const char *at = path; *at;) {
		size_t size = strcspn(at, "/");

		if (size == 0 || size > NAME_MAX || (size <= 2 && strspn(at, ".") >= size))
			return error_field(err, "path", "\"%.200s\" is no path below /sandbox, such as output/plot.png",
					   path);
		parts++;
		at += size;
		if (*at == '/' && *++at == '\0')
			return error_field(err, "path", "\"%.200s\" ends with a slash", path);
	}
	if (strlen(path) >= LIVE_PATH_MAX)
		return error_field(err, "path", "it is longer than %d bytes", LIVE_PATH_MAX - 1);
	if (parts >= least)
		return 0;
	return error_refuse(err, CODE_FORBIDDEN_FILE, "path",
			    "\"%.200s\": only what is below /sandbox/code, data, output and temp can be changed", path);
}

/*
 * The box may have been made with mounts directly below /sandbox (a project,
 * read-only code), and programs cannot make others. So the first part of a path
 * may lead into a mount, and no further part may.
 */
static int open_top(int sandbox, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	char top[NAME_MAX + 1] = "";
	size_t size = strcspn(path, "/");

	memcpy(top, path, size < sizeof(top) ? size : 0);
	return (int)syscall(SYS_openat2, sandbox, *top ? top : ".", &how, sizeof(how));
}

/* If a directory was renamed meanwhile, the kernel reports EAGAIN, or EXDEV when the end was moved away. A program can
 * do that on purpose, so the number of attempts is bounded. */
int live_open_below(int dir, const char *path, int flags, unsigned mode)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_NOFOLLOW | O_CLOEXEC | (flags & O_PATH ? 0 : O_NONBLOCK | O_NOCTTY)),
		.mode = flags & O_CREAT ? mode : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
	};
	int fd = -1;

	for (int i = 0; i < TRIES && fd < 0 && (i == 0 || errno == EAGAIN || errno == EXDEV); i++)
		fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	return fd;
}

/* The path after its first part; "." if there is no more. */
static const char *below_top(const char *path)
{
	const char *slash = strchr(path, '/');

	return slash ? slash + 1 : ".";
}

int live_open_any(const struct live_files *files, const char *path, int flags)
{
	_cleanup_close_ int top = open_top(files->sandbox, path);

	return top < 0 ? -1 : live_open_below(top, below_top(path), flags, 0);
}

int live_open_parent(const struct live_files *files, const char *path, bool make, const char **name)
{
	_cleanup_close_ int dir = open_top(files->sandbox, path);
	const char *at = strchr(path, '/') + 1, *slash;

	while (dir >= 0 && (slash = strchr(at, '/'))) {
		char part[NAME_MAX + 1] = "";
		int next;

		memcpy(part, at, (size_t)(slash - at));
		next = live_open_below(dir, part, O_PATH | O_DIRECTORY, 0);
		if (next < 0 && errno == ENOENT && make && (mkdirat(dir, part, 0755) == 0 || errno == EEXIST))
			next = live_open_below(dir, part, O_PATH | O_DIRECTORY, 0);
		close_fd(&dir);
		dir = next;
		at = slash + 1;
	}
	*name = at;
	return take_fd(&dir);
}

/* ---- Reading. */

static int open_plain(const struct live_files *files, const char *path, struct stat *st, struct error *err)
{
	_cleanup_close_ int fd = live_open_any(files, path, O_RDONLY);

	if (fd < 0)
		return live_refuse(err, path);
	if (fstat(fd, st) < 0)
		return error_errno(err, "cannot look at a file of the box");
	if (S_ISDIR(st->st_mode)) {
		errno = EISDIR;
		return live_refuse(err, path);
	}
	return S_ISREG(st->st_mode) ? take_fd(&fd) : live_not_plain(err, path);
}

int live_open(const struct live_files *files, const char *path, struct stat *st, struct error *err)
{
	int fd;

	if (live_check_path(path, 1, err) < 0 || live_enter(files, err) < 0)
		return -1;
	fd = open_plain(files, path, st, err);
	live_leave(files);
	return fd;
}

const char *live_type(const struct stat *st)
{
	return S_ISREG(st->st_mode)   ? "file"
	       : S_ISDIR(st->st_mode) ? "directory"
	       : S_ISLNK(st->st_mode) ? "link"
				      : "other";
}

/* An entry, with its name for sorting. */
static json_t *entry_json(int dir, const char *name)
{
	struct stat st;
	json_t *text;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return NULL;
	/* A name that is not UTF-8 cannot be used in requests. */
	text = json_string(name);
	if (!text)
		return NULL;
	return json_pack("{s:o, s:s, s:I, s:f}", "name", text, "type", live_type(&st), "size", (json_int_t)st.st_size,
			 "modified", (double)st.st_mtim.tv_sec + (double)(st.st_mtim.tv_nsec / 1000) / 1e6);
}

static int compare_names(const void *a, const void *b)
{
	json_t *const *x = a, *const *y = b;

	return strcmp(json_string_value(json_object_get(*x, "name")), json_string_value(json_object_get(*y, "name")));
}

static int put_list(const char *path, json_t **entries, size_t count, bool cut, struct buf *json, struct error *err)
{
	json_t *list = json_array(), *root;
	char *text;

	qsort(entries, count, sizeof(json_t *), compare_names);
	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, entries[i]);
	root = json_pack("{s:s, s:o, s:b}", "path", path, "entries", list, "truncated", cut);
	text = root ? json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(16)) : NULL;
	json_decref(root);
	if (text)
		buf_text(json, text);
	free(text);
	return text && !json->failed ? 0 : error_set(err, ERROR_FAILED, ENOMEM, "cannot list the files of the box");
}

static int read_list(int fd, const char *path, struct buf *json, struct error *err)
{
	_cleanup_closedir_ DIR *dir = fdopendir(fd);
	_cleanup_free_ json_t **entries = calloc(LIVE_LISTED_MAX, sizeof(json_t *));
	const struct dirent *entry;
	size_t count = 0;
	bool cut = false;

	if (!dir || !entries) {
		if (!dir)
			close(fd);
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot list the files of the box");
	}
	while (!cut && (entry = readdir(dir))) {
		json_t *one;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		cut = count >= LIVE_LISTED_MAX;
		one = cut ? NULL : entry_json(dirfd(dir), entry->d_name);
		if (one)
			entries[count++] = one;
	}
	return put_list(path, entries, count, cut, json, err);
}

int live_list(const struct live_files *files, const char *path, struct buf *json, struct error *err)
{
	int fd, done;

	if (live_check_path(path, 0, err) < 0 || live_enter(files, err) < 0)
		return -1;
	fd = live_open_any(files, path, O_RDONLY | O_DIRECTORY);
	done = fd < 0 ? live_refuse(err, path) : read_list(fd, path, json, err);
	live_leave(files);
	return done;
}

/* ---- Changing. */

int live_remove(const struct live_files *files, const char *path, struct error *err)
{
	_cleanup_close_ int dir = -1;
	const char *name;
	int done;

	if (live_check_path(path, 2, err) < 0 || live_enter(files, err) < 0)
		return -1;
	dir = live_open_parent(files, path, false, &name);
	done = dir < 0 ? -1 : unlinkat(dir, name, 0);
	if (dir >= 0 && done < 0 && (errno == EISDIR || errno == EPERM))
		done = unlinkat(dir, name, AT_REMOVEDIR);
	if (done < 0)
		live_refuse(err, path);
	live_leave(files);
	return done;
}

int live_move(const struct live_files *files, const char *path, const char *to, struct error *err)
{
	_cleanup_close_ int from_dir = -1, to_dir = -1;
	const char *from_name, *to_name;
	int done = -1;

	if (live_check_path(path, 2, err) < 0)
		return -1;
	if (live_check_path(to, 2, err) < 0) {
		error_rename(err, "move");
		return -1;
	}
	if (live_enter(files, err) < 0)
		return -1;
	from_dir = live_open_parent(files, path, false, &from_name);
	to_dir = from_dir < 0 ? -1 : live_open_parent(files, to, false, &to_name);
	if (from_dir < 0)
		live_refuse(err, path);
	else if (to_dir < 0)
		live_refuse(err, to);
	else if (renameat(from_dir, from_name, to_dir, to_name) < 0)
		live_refuse(err, path);
	else
		done = 0;
	live_leave(files);
	return done;
}
