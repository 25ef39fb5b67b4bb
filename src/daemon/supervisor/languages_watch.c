#include "daemon/supervisor/languages_watch.h"

#include "base/fd.h"
#include "base/own.h"
#include "registry/registry.h"
#include "language/folder.h"
#include "base/state.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUNTIMES "runtimes"

enum {
	WATCH_ENTRIES = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ONLYDIR,
	WATCH_FOLDER = WATCH_ENTRIES | IN_CLOSE_WRITE | IN_ATTRIB,
	WATCH_TARGET = IN_CLOSE_WRITE | IN_ATTRIB /* of a link in a folder: the file is elsewhere */
};

/* What is done with runtimes/, with each folder in it, and with each file of theirs. False: no more of them. */
typedef bool visit(void *context, const char *path, const struct stat *st);

/* Nobody else can write to it: what the keeper does not read is not opened here either. */
static bool is_trusted(const struct stat *st)
{
	return (st->st_uid == geteuid() || st->st_uid == 0) && !(st->st_mode & 022);
}

static bool visit_entries(const char *path, int depth, visit *each, void *context)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	bool more = true;

	while (dir && more && (entry = readdir(dir)) != NULL) {
		char below[PATH_MAX];
		struct stat st;

		if (entry->d_name[0] == '.' || (depth > 0 && !folder_reads(entry->d_name)) ||
		    snprintf(below, sizeof(below), "%s/%s", path, entry->d_name) >= (int)sizeof(below) ||
		    stat(below, &st) < 0 || S_ISDIR(st.st_mode) != (depth == 0))
			continue;
		more = each(context, below, &st);
		if (more && depth == 0 && is_trusted(&st))
			more = visit_entries(below, 1, each, context);
	}
	if (dir)
		closedir(dir);
	return more;
}

static void visit_all(visit *each, void *context)
{
	_cleanup_close_ int above = state_place_dir(STATE_DATA, false);
	char path[PATH_MAX];
	struct stat st;

	if (above < 0 || state_path(RUNTIMES, path, sizeof(path)) < 0 || stat(path, &st) < 0 ||
	    !each(context, path, &st) || !is_trusted(&st))
		return;
	visit_entries(path, 0, each, context);
}

/* Watching */

static bool watch_one(void *context, const char *path, const struct stat *st)
{
	const struct languages_watch *watch = context;
	struct stat link;

	/* A folder tells of its own files; what a link in it points to is elsewhere. */
	if (S_ISDIR(st->st_mode))
		inotify_add_watch(watch->fd, path, WATCH_FOLDER);
	else if (lstat(path, &link) == 0 && S_ISLNK(link.st_mode))
		inotify_add_watch(watch->fd, path, WATCH_TARGET);
	return true;
}

static void watch_all(struct languages_watch *watch)
{
	_cleanup_close_ int above = state_place_dir(STATE_DATA, true);
	char path[PATH_MAX];

	/* Made, so that the first language is seen. */
	if (above < 0 || state_path("", path, sizeof(path)) < 0)
		return;
	if (state_path(RUNTIMES, path, sizeof(path)) == 0) {
		*strrchr(path, '/') = '\0';
		watch->above = inotify_add_watch(watch->fd, path, WATCH_ENTRIES);
	}
	visit_all(watch_one, watch);
}

void languages_watch_open(struct languages_watch *watch)
{
	watch->above = -1;
	watch->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (watch->fd >= 0)
		watch_all(watch);
	languages_watch_changed(watch);
}

void languages_watch_close(struct languages_watch *watch)
{
	close_fd(&watch->fd);
}

bool languages_watch_touched(struct languages_watch *watch)
{
	char room[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	bool touched = false;
	ssize_t size;

	while ((size = read(watch->fd, room, sizeof(room))) > 0) {
		for (ssize_t at = 0; at < size;) {
			const struct inotify_event *event = (const void *)(room + at);

			/* Without a name it is a folder itself, a link's target, or more than could be kept. */
			if (event->len == 0)
				touched |= event->wd != watch->above;
			else if (event->wd == watch->above)
				touched |= strcmp(event->name, RUNTIMES) == 0;
			else
				touched |= folder_reads(event->name);
			at += (ssize_t)(sizeof(*event) + event->len);
		}
	}
	if (touched)
		watch_all(watch);
	return touched;
}

/* Looking */

static bool look_whether_written(void *context, const char *path, const struct stat *st)
{
	struct error *why = context;

	if (!S_ISREG(st->st_mode) || !is_trusted(st) || !registry_is_being_written(path))
		return true;
	error_usage(why, "%.1000s: it is being written", path);
	return false;
}

bool languages_watch_is_settled(struct error *why)
{
	*why = (struct error){ 0 };
	visit_all(look_whether_written, why);
	return why->text[0] == '\0';
}

static uint64_t fold(uint64_t hash, const void *data, size_t size)
{
	for (const unsigned char *c = data; size > 0; c++, size--)
		hash = (hash ^ *c) * UINT64_C(1099511628211); /* FNV-1a */
	return hash;
}

static bool mark_one(void *context, const char *path, const struct stat *st)
{
	const bool is_file = S_ISREG(st->st_mode);
	/* A folder changes with every copy that an editor puts aside: its files are what counts. */
	const uint64_t facts[] = { st->st_ino,
				   st->st_uid,
				   st->st_mode,
				   is_file ? (uint64_t)st->st_size : 0,
				   is_file ? (uint64_t)st->st_mtim.tv_sec : 0,
				   is_file ? (uint64_t)st->st_mtim.tv_nsec : 0 };
	uint64_t *mark = context;

	/* Added up: directories list their entries in any order. */
	*mark += fold(fold(UINT64_C(14695981039346656037), path, strlen(path)), facts, sizeof(facts));
	return true;
}

bool languages_watch_changed(struct languages_watch *watch)
{
	uint64_t mark = 0, before = watch->mark;

	visit_all(mark_one, &mark);
	watch->mark = mark;
	return mark != before;
}
