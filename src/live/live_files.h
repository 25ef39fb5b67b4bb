/*
 * Files of a box that lives, read and changed from outside while its program runs.
 *
 * The program is hostile. Between two of our calls it may replace any directory
 * by a link, or any file by a fifo. Therefore:
 *
 * - no path of the host is used: openat2() starts at a descriptor of the box's
 *   /sandbox and follows no links; it enters no mounts but those that the box was
 *   made with;
 * - a file that was opened is checked before it is used;
 * - a file is changed by its name in a directory that is held open;
 * - all this is done as the box's own user, so that permissions and the bound of
 *   the disk hold, and new files belong to that user.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* The beginning of the names that files have while they are written. */
#define LIVE_TEMPORARY ".emberbox-"

enum {
	LIVE_PATH_MAX = 1024,   /* bytes of a path */
	LIVE_LISTED_MAX = 1000, /* names of one directory that are listed */
};

/*
 * A handle on the files of a box. Written bytes are memory of the box, because its
 * disk is a tmpfs: a process of ours writes them as a member of the box's control
 * group. Without a group, `room` bounds them, as it was when the handle was made.
 */
struct live_files {
	int sandbox;     /* the box's /sandbox; -1: none */
	int group;       /* descriptor by which a process joins the box's control group; -1: it has none */
	uint64_t room;   /* bytes of the box's memory limit that are unused */
	uint64_t memory; /* bytes; the box's memory limit */
	bool own;        /* the box's user is not ours… */
	uid_t uid;       /* …but this one… */
	gid_t gid;       /* …of this group */
};
#define LIVE_FILES_NONE                                                                                                \
	{                                                                                                              \
		.sandbox = -1, .group = -1                                                                             \
	}
void live_close(struct live_files *files);

/*
 * Paths are relative to /sandbox: "output/plot.png". All return 0, or -1 with a
 * the field "path", "move" or "offset" and one of these codes: CODE_NOT_FOUND,
 * CODE_BAD_REQUEST (the path is invalid), CODE_NO_PLAIN_FILE, CODE_FORBIDDEN_FILE,
 * CODE_NOT_EMPTY, CODE_DISK_FULL, CODE_CHANGING; or -1 with CODE_FAILED.
 */

/* Opens a regular file for reading; the program may change it meanwhile. Returns a descriptor or -1. */
int live_open(const struct live_files *files, const char *path, struct stat *st, struct error *err);
/* Replaces the file by the bytes of `from`, in one step: readers see the old file or the new one. Its directories are
 * made. *made: the file did not exist. */
int live_write(const struct live_files *files, const char *path, int from, uint64_t size, bool *made,
	       struct error *err);
/* The bytes of `from` are put into the file at `offset`, which may be behind its end, but not behind what the box's
 * disk has room for; *made as above. */
int live_patch(const struct live_files *files, const char *path, int from, uint64_t size, uint64_t offset, bool *made,
	       struct error *err);
/* Removes a file, a link itself, or an empty directory. */
int live_remove(const struct live_files *files, const char *path, struct error *err);
/* Renames it, also into another directory, which has to exist. An existing file is replaced. */
int live_move(const struct live_files *files, const char *path, const char *to, struct error *err);
/* Adds {"path", "entries": [{"name", "type": "file"|"directory"|"link"|"other", "size", "modified"}…], "truncated"} of
 * a directory, sorted by name. "" is /sandbox itself. */
int live_list(const struct live_files *files, const char *path, struct buf *json, struct error *err);

/* The parts of these, for live/watch.c and live_files_write.c. */

/* The calling thread acts as the box's user, until live_leave(). */
int live_enter(const struct live_files *files, struct error *err);
void live_leave(const struct live_files *files);
/* 0: the path is valid and has at least `least` parts. */
int live_check_path(const char *path, size_t least, struct error *err);
/* Opens what is at the path, not through links. The thread acts as the box's user. A descriptor, or -1 with errno. */
int live_open_any(const struct live_files *files, const char *path, int flags);
/* The error for errno. Returns -1. */
int live_refuse(struct error *err, const char *path);
/* Opens the directory that `path` is in; *name is the last part of the path. `make`: makes missing directories. -1 with
 * errno. */
int live_open_parent(const struct live_files *files, const char *path, bool make, const char **name);
/* As fd_open_beneath(); `mode` is that of a new file. */
int live_open_below(int dir, const char *path, int flags, unsigned mode);
int live_not_plain(struct error *err, const char *path);
/* Its type as in live_list(). */
const char *live_type(const struct stat *st);
