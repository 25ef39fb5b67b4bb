/*
 * Files of a box that lives, touched from outside while its program runs.
 *
 * The program is hostile, and it may swap any directory for a link, or any file
 * for a fifo, between two of our calls. So nothing is reached by a path of the
 * host's: everything goes through a descriptor of the box's /sandbox, by
 * openat2() below it, through no link and into no other mount, but for those that
 * the box was made with; what is opened is looked at before it is used; and what
 * is changed is changed by name in a directory that is held. All of it is done
 * as the box's own user, so that its permissions and its disk's bound hold, and
 * what is made belongs to it.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* How names begin that a file has while it is being written. */
#define LIVE_TEMPORARY ".emberbox-"

enum {
	LIVE_PATH_MAX = 1024,   /* bytes of a path */
	LIVE_LISTED_MAX = 1000, /* names of one directory that are told */
};

/*
 * Where they are. What is written is the box's memory: a process of ours writes
 * it, as a member of the box's control group; where there is none, the bound is
 * `room`, as it was when this was made.
 */
struct live_files {
	int sandbox;     /* the box's /sandbox; -1: none */
	int group;       /* by which a process joins its control group; -1: it has none */
	uint64_t room;   /* bytes of its memory limit that are not in use */
	uint64_t memory; /* its memory limit */
	bool own;        /* its user is another than ours… */
	uid_t uid;       /* …this one… */
	gid_t gid;       /* …of this group */
};
#define LIVE_FILES_NONE                                                                                                \
	{                                                                                                              \
		.sandbox = -1, .group = -1                                                                             \
	}
void live_close(struct live_files *files);

/*
 * Paths are relative to /sandbox: "output/plot.png". All return 0, or -1 with a
 * sentence and the field "path", "move" or "offset": CODE_NOT_FOUND,
 * CODE_BAD_REQUEST (that is no path), CODE_NO_PLAIN_FILE, CODE_FORBIDDEN_FILE,
 * CODE_NOT_EMPTY, CODE_DISK_FULL, CODE_CHANGING; CODE_FAILED when we fail.
 */

/* A plain file, to be read; the program may change it meanwhile. An fd, or -1. */
int live_open(const struct live_files *files, const char *path, struct stat *st, struct error *err);
/* The bytes of `from` become the file, in one step: who reads it sees the old or the new. Its directories are made.
 * *made: it was not there. */
int live_write(const struct live_files *files, const char *path, int from, uint64_t size, bool *made,
	       struct error *err);
/* The bytes of `from` are put into the file at `offset`, which may be behind its end, but not behind what the box's
 * disk has room for; *made as above. */
int live_patch(const struct live_files *files, const char *path, int from, uint64_t size, uint64_t offset, bool *made,
	       struct error *err);
/* A file, a link itself, or an empty directory. */
int live_remove(const struct live_files *files, const char *path, struct error *err);
/* Also into another directory, which has to be there; a file that is there is replaced. */
int live_move(const struct live_files *files, const char *path, const char *to, struct error *err);
/* {"path", "entries": [{"name", "type": "file"|"directory"|"link"|"other", "size", "modified"}…], "truncated"} of a
 * directory, "" being /sandbox itself; sorted by name. */
int live_list(const struct live_files *files, const char *path, struct buf *json, struct error *err);

/* What these are made of, for live/watch.c and live_files_write.c. */

/* The calling thread acts as the box's user, until live_leave(). */
int live_enter(const struct live_files *files, struct error *err);
void live_leave(const struct live_files *files);
/* Whether it is a path, of `least` parts at least. */
int live_check_path(const char *path, size_t least, struct error *err);
/* Whatever is there, through no link, as the box's user that the thread is; an fd, or -1 with errno. */
int live_open_any(const struct live_files *files, const char *path, int flags);
/* The sentence for that errno; -1. */
int live_refuse(struct error *err, const char *path);
/* The directory that `path` is in, held; *name is its last part. With `make` what is missing is made. -1 with errno. */
int live_open_parent(const struct live_files *files, const char *path, bool make, const char **name);
/* As fd_open_beneath(), with permissions for what it makes. */
int live_open_below(int dir, const char *path, int flags, unsigned mode);
int live_not_plain(struct error *err, const char *path);
/* What it is, in a word. */
const char *live_type(const struct stat *st);
