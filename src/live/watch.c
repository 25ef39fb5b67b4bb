#include "live/watch.h"

#include "base/clock.h"
#include "base/own.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	STACK = 128 << 10,   /* bytes of a thread's stack */
	OUT_MAX = 64 << 10,  /* bytes of unsent text beyond which no events are read */
	CHANGED_MAX = 256,   /* files whose changes are to be reported */
	SETTLE_USEC = 50000, /* for further changes of a file, which are reported as one */
	PAIR_USEC = 10000,   /* for the other half of a move */
	SECOND_USEC = 1000000,
	DEPTH_MAX = 32,    /* nested directories; each is open while those in it are read */
	SCAN_MAX = 100000, /* names that are read in one pass over the tree */
	BLOCK = 16 << 10,  /* bytes of events that are read at once */
	WANTED = IN_CREATE | IN_MODIFY | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR,
};

/* A watched directory. */
struct dir {
	int wd;     /* its number in the kernel */
	char *path; /* relative to /sandbox */
};

struct dir_watch {
	struct live_files files;         /* of the box */
	int ended;                       /* readable once the box has ended */
	int out;                         /* the socket to the reader; non-blocking */
	int inotify;                     /* the source of events */
	bool recursive;                  /* directories below are watched, too */
	char root[LIVE_PATH_MAX];        /* the path that is watched */
	struct dir dirs[WATCH_DIRS_MAX]; /* the watched directories… */
	size_t dir_count;                /* …and their number */
	size_t scanned;                  /* names that this pass has read */
	bool cut;                        /* there are more directories than are watched */
	struct buf text;                 /* not sent yet */
	char *changed[CHANGED_MAX];      /* files that were written to, not reported yet… */
	size_t changed_count;            /* …their number… */
	uint64_t changed_usec;           /* …and when they are reported */
	char *from;                      /* the first half of a move; NULL: none */
	bool from_dir;                   /* a directory moved */
	uint32_t cookie;                 /* by which the second half is recognized */
	uint64_t from_usec;              /* when the first half is reported alone */
	uint64_t second_usec;            /* when this second began… */
	size_t second_events;            /* …and the events in it */
	bool stale;                      /* events were missed: everything is read anew */
	char *owner;                     /* the caller that it counts for */
	struct slot slot;                /* one of those that may be open at once */
};

static void forget_dirs(struct dir_watch *w)
{
	while (w->dir_count > 0)
		free(w->dirs[--w->dir_count].path);
	free(w->from);
	w->from = NULL;
	while (w->changed_count > 0)
		free(w->changed[--w->changed_count]);
	close_fd(&w->inotify);
}

static void watch_free(struct dir_watch *w)
{
	forget_dirs(w);
	close_fd(&w->files.sandbox);
	close_fd(&w->ended);
	close_fd(&w->out);
	buf_free(&w->text);
	slot_leave(&w->slot);
	free(w->owner);
	free(w);
}

/* ---- Reports. */

static void tell_event(struct dir_watch *w, const char *event, json_t *about)
{
	_cleanup_free_ char *text = about ? json_dumps(about, JSON_COMPACT) : NULL;

	json_decref(about);
	if (text)
		buf_printf(&w->text, "%s %s\n", event, text);
}

/* With the file's present type and size, if it still exists. Names that are not UTF-8 are not reported: they cannot be
 * used in requests. */
static void tell_file(struct dir_watch *w, const char *event, const char *path, const char *from, bool directory,
		      bool there)
{
	char parent[LIVE_PATH_MAX];
	const char *name = strrchr(path, '/');
	_cleanup_close_ int dir = -1;
	json_t *about = json_pack("{s:s}", "path", path);
	const char *type = directory ? "directory" : NULL;
	struct stat st;

	if (!about)
		return;
	snprintf(parent, sizeof(parent), "%.*s", name ? (int)(name - path) : 0, path);
	if (there)
		dir = live_open_any(&w->files, parent, O_PATH | O_DIRECTORY);
	if (dir >= 0 && fstatat(dir, name ? name + 1 : path, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		type = live_type(&st);
		json_object_set_new(about, "size", json_integer(st.st_size));
	}
	if (type)
		json_object_set_new(about, "type", json_string(type));
	if (from)
		json_object_set_new(about, "from", json_string(from));
	tell_event(w, event, about);
}

static void tell_overflow(struct dir_watch *w, const char *reason)
{
	tell_event(w, "overflow", json_pack("{s:s}", "reason", reason));
}

/* ---- The tree. */

static struct dir *find_dir(struct dir_watch *w, int wd)
{
	for (size_t i = 0; i < w->dir_count; i++)
		if (w->dirs[i].wd == wd)
			return &w->dirs[i];
	return NULL;
}

static void drop_dir(struct dir_watch *w, struct dir *dir)
{
	free(dir->path);
	*dir = w->dirs[--w->dir_count];
}

static bool is_below(const char *path, const char *top)
{
	size_t size = strlen(top);

	return strncmp(path, top, size) == 0 && (path[size] == '\0' || path[size] == '/' || size == 0);
}

static char *join_path(const char *path, const char *name)
{
	char *joined = NULL;

	if (strlen(path) + strlen(name) + 1 < LIVE_PATH_MAX &&
	    asprintf(&joined, "%s%s%s", path, *path ? "/" : "", name) < 0)
		joined = NULL;
	return joined;
}

/* Watches an open directory, by the name of its descriptor, which the program cannot change. 0; -1 with errno; 1: there
 * are as many as may be. */
static int add_dir(struct dir_watch *w, int fd, const char *path)
{
	char name[40];
	struct dir *dir;
	int wd;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	if (w->dir_count >= WATCH_DIRS_MAX)
		return 1;
	wd = inotify_add_watch(w->inotify, name, WANTED);
	if (wd < 0)
		return errno == ENOSPC ? 1 : -1;
	dir = find_dir(w, wd);
	if (dir)
		free(dir->path);
	else
		dir = &w->dirs[w->dir_count++];
	*dir = (struct dir){ .wd = wd, .path = strdup(path) };
	if (dir->path)
		return 0;
	w->dir_count--;
	errno = ENOMEM;
	return -1;
}

static int depth_of(const char *path)
{
	int depth = 1;

	for (; (path = strchr(path, '/')); path++)
		depth++;
	return depth;
}

/* Watches the directory at `path`, and those below it. `told`: their entries are reported as created, because they came
 * before the watch. */
static void add_tree(struct dir_watch *w, const char *path, bool told, int depth)
{
	_cleanup_close_ int fd = live_open_any(&w->files, path, O_RDONLY | O_DIRECTORY);
	_cleanup_closedir_ DIR *dir = NULL;
	const struct dirent *entry;
	int added = fd < 0 ? -1 : add_dir(w, fd, path);

	w->cut |= added == 1 || depth >= DEPTH_MAX;
	if (added != 0 || !w->recursive || depth >= DEPTH_MAX)
		return;
	dir = fdopendir(fd);
	if (!dir)
		return;
	fd = -1;
	while ((entry = readdir(dir)) && w->scanned++ < SCAN_MAX && !w->cut) {
		_cleanup_free_ char *below = NULL;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    strncmp(entry->d_name, LIVE_TEMPORARY, strlen(LIVE_TEMPORARY)) == 0)
			continue;
		below = join_path(path, entry->d_name);
		if (below && told && w->second_events++ < WATCH_SECOND_MAX)
			tell_file(w, "created", below, NULL, entry->d_type == DT_DIR, true);
		else if (told)
			w->stale = true;
		if (below && entry->d_type == DT_DIR)
			add_tree(w, below, told, depth + 1);
	}
	w->cut |= w->scanned > SCAN_MAX;
}

/* Starts anew with the whole tree. */
static int look_afresh(struct dir_watch *w, struct error *err)
{
	_cleanup_close_ int fd = -1;

	forget_dirs(w);
	w->stale = w->cut = false;
	w->scanned = 0;
	w->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (w->inotify < 0) {
		error_field_errno(err, "session", "no more can be watched on this machine now");
		return error_recode(err, CODE_BUSY);
	}
	fd = live_open_any(&w->files, w->root, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return live_refuse(err, w->root);
	add_tree(w, w->root, false, 0);
	if (w->dir_count > 0)
		return 0;
	errno = w->cut ? EAGAIN : EACCES;
	return live_refuse(err, w->root);
}

/* ---- Events. */

static void tell_changed(struct dir_watch *w)
{
	for (size_t i = 0; i < w->changed_count; i++) {
		tell_file(w, "changed", w->changed[i], NULL, false, true);
		free(w->changed[i]);
	}
	w->changed_count = 0;
}

static void note_changed(struct dir_watch *w, const char *path)
{
	for (size_t i = 0; i < w->changed_count; i++)
		if (strcmp(w->changed[i], path) == 0)
			return;
	if (w->changed_count == CHANGED_MAX)
		tell_changed(w);
	if (w->changed_count == 0)
		w->changed_usec = clock_usec() + SETTLE_USEC;
	w->changed[w->changed_count] = strdup(path);
	w->changed_count += w->changed[w->changed_count] != NULL;
}

/* A directory was removed or moved away: it is not watched any more. */
static void drop_tree(struct dir_watch *w, const char *path)
{
	for (size_t i = w->dir_count; i > 0; i--)
		if (is_below(w->dirs[i - 1].path, path) && w->dirs[i - 1].path[0]) {
			inotify_rm_watch(w->inotify, w->dirs[i - 1].wd);
			drop_dir(w, &w->dirs[i - 1]);
		}
}

/* The second half of a move did not come: the file left the tree. */
static void tell_gone(struct dir_watch *w)
{
	if (!w->from)
		return;
	if (w->from_dir)
		drop_tree(w, w->from);
	tell_file(w, "deleted", w->from, NULL, w->from_dir, false);
	free(w->from);
	w->from = NULL;
}

static void on_moved(struct dir_watch *w, const char *path, bool directory)
{
	const char *name = strrchr(w->from, '/');
	const bool ours = strncmp(name ? name + 1 : w->from, LIVE_TEMPORARY, strlen(LIVE_TEMPORARY)) == 0;

	if (directory)
		drop_tree(w, w->from);
	/* live_write() renames a temporary file. */
	tell_file(w, ours ? "changed" : "moved", path, ours ? NULL : w->from, directory, true);
	free(w->from);
	w->from = NULL;
	if (directory && w->recursive)
		add_tree(w, path, false, depth_of(path));
}

static void on_event(struct dir_watch *w, const struct inotify_event *event)
{
	const bool directory = event->mask & IN_ISDIR;
	struct dir *dir = find_dir(w, event->wd);
	const bool temporary = event->len > 0 && strncmp(event->name, LIVE_TEMPORARY, strlen(LIVE_TEMPORARY)) == 0;
	_cleanup_free_ char *path = NULL;

	if (event->mask & IN_Q_OVERFLOW)
		w->stale = true;
	if (dir && (event->mask & IN_IGNORED))
		drop_dir(w, dir);
	if (!dir || event->len == 0 || (event->mask & IN_IGNORED))
		return;
	path = join_path(dir->path, event->name);
	if (!path)
		return;
	if (w->from && (event->mask & IN_MOVED_TO) && event->cookie == w->cookie) {
		on_moved(w, path, directory);
		return;
	}
	tell_gone(w);
	if (event->mask & IN_MOVED_FROM) {
		tell_changed(w);
		w->from = take_ptr(path);
		w->from_dir = directory;
		w->cookie = event->cookie;
		w->from_usec = clock_usec() + PAIR_USEC;
	} else if (temporary) {
		return;
	} else if (event->mask & IN_MODIFY) {
		note_changed(w, path);
	} else if (event->mask & IN_DELETE) {
		tell_changed(w);
		tell_file(w, "deleted", path, NULL, directory, false);
	} else if (event->mask & (IN_CREATE | IN_MOVED_TO)) {
		tell_file(w, "created", path, NULL, directory, true);
		if (directory && w->recursive)
			add_tree(w, path, true, depth_of(path));
	}
}

/* Reads events, as far as the bound of this second allows. */
static void on_kernel(struct dir_watch *w)
{
	_Alignas(struct inotify_event) char block[BLOCK];
	ssize_t size = read(w->inotify, block, sizeof(block));

	for (ssize_t at = 0; at < size && !w->stale;) {
		const struct inotify_event *event = (const void *)(block + at);

		on_event(w, event);
		w->second_events++;
		w->scanned = 0;
		at += (ssize_t)(sizeof(*event) + event->len);
	}
	/* Thousands more may follow, which would be reported long after they happened. */
	if (w->second_events >= WATCH_SECOND_MAX)
		w->stale = true;
	if (w->cut) {
		w->cut = false;
		tell_overflow(w, "there are more directories than are watched; list those that matter");
	}
}

/* ---- Its thread. */

/* False: the reader is gone. */
static bool write_told(struct dir_watch *w)
{
	ssize_t n = w->text.size > 0 ? send(w->out, w->text.data, w->text.size, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;

	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return false;
	if (n > 0) {
		memmove(w->text.data, w->text.data + n, w->text.size - (size_t)n);
		w->text.size -= (size_t)n;
	}
	return !w->text.failed;
}

static void take_earlier(uint64_t *due, uint64_t usec)
{
	if (!*due || usec < *due)
		*due = usec;
}

/* Milliseconds until something is due without an event; -1: nothing is. */
static int wait_msec(const struct dir_watch *w, uint64_t now)
{
	uint64_t due = 0;

	if (w->changed_count > 0)
		take_earlier(&due, w->changed_usec);
	if (w->from)
		take_earlier(&due, w->from_usec);
	if (w->stale && w->text.size < OUT_MAX)
		take_earlier(&due, w->second_usec + SECOND_USEC);
	return !due ? -1 : due > now ? (int)((due - now) / 1000) + 1 : 0;
}

static bool on_time(struct dir_watch *w)
{
	const uint64_t now = clock_usec();
	struct error ignored;

	if (w->from && now >= w->from_usec)
		tell_gone(w);
	if (w->changed_count > 0 && now >= w->changed_usec)
		tell_changed(w);
	if (now < w->second_usec + SECOND_USEC)
		return true;
	w->second_usec = now;
	w->second_events = 0;
	if (!w->stale || w->text.size >= OUT_MAX)
		return true;
	/* Missed events cannot be reported, so the reader has to list the files. The tree is watched before the reader
	 * is told: no change falls between. */
	if (look_afresh(w, &ignored) < 0) {
		tell_event(w, "ended", json_pack("{s:s}", "reason", "what was watched is not there any more"));
		return false;
	}
	tell_overflow(w, "more happened than could be told; list what matters again");
	return true;
}

static void follow_changes(struct dir_watch *w)
{
	for (bool goes_on = true; goes_on && write_told(w);) {
		const bool reads = !w->stale && w->text.size < OUT_MAX;
		struct pollfd fds[] = { { .fd = reads ? w->inotify : -1, .events = POLLIN },
					{ .fd = w->out, .events = w->text.size > 0 ? POLLOUT : 0 },
					{ .fd = w->ended, .events = POLLIN } };

		if (poll(fds, ARRAY_SIZE(fds), wait_msec(w, clock_usec())) < 0 && errno != EINTR)
			return;
		if (fds[1].revents & (POLLERR | POLLHUP))
			return;
		if (fds[2].revents) {
			tell_event(w, "ended", json_pack("{s:s}", "reason", "the session has ended"));
			break;
		}
		if (fds[0].revents)
			on_kernel(w);
		goes_on = on_time(w);
	}
	write_told(w);
}

static void *watch_thread(void *argument)
{
	struct dir_watch *w = argument;
	struct error ignored;

	if (live_enter(&w->files, &ignored) == 0)
		follow_changes(w);
	live_leave(&w->files);
	watch_free(w);
	return NULL;
}

static int start_thread(struct dir_watch *w, struct error *err)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int errnum;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK);
	errnum = pthread_create(&thread, &attributes, watch_thread, w);
	pthread_attr_destroy(&attributes);
	return errnum == 0 ? 0 : error_set(err, ERROR_FAILED, errnum, "cannot start a thread for the watch");
}

static int begin_watch(struct dir_watch *w, int *out, struct error *err)
{
	int ends[2], done;

	if (live_check_path(w->root, 0, err) < 0 || live_enter(&w->files, err) < 0)
		return -1;
	done = look_afresh(w, err);
	live_leave(&w->files);
	if (done < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
		return error_errno(err, "cannot make the watch's channel");
	w->out = ends[0];
	*out = ends[1];
	w->second_usec = clock_usec();
	tell_event(w, "watching",
		   json_pack("{s:s, s:b, s:I}", "path", w->root, "recursive", w->recursive, "directories",
			     (json_int_t)w->dir_count));
	if (w->cut)
		tell_overflow(w, "there are more directories than are watched; list those that matter");
	w->cut = false;
	return 0;
}

int watch_start(struct slots *watches, struct live_files *files, int ended, const char *owner, const char *path,
		bool recursive, int *out, struct error *err)
{
	struct dir_watch *w = calloc(1, sizeof(*w));

	*out = -1;
	if (!w || !(w->owner = strdup(owner))) {
		free(w);
		close_fd(&files->sandbox);
		close_fd(&ended);
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot watch files");
	}
	w->files = *files;
	files->sandbox = -1;
	w->ended = ended;
	w->out = w->inotify = -1;
	w->recursive = recursive;
	snprintf(w->root, sizeof(w->root), "%s", path);
	if (strlen(path) >= sizeof(w->root) || !slot_take(watches, &w->slot, w->owner)) {
		error_refuse(err, CODE_BUSY, "session", "as many watches are open as may, %d, or %d of this caller",
			     WATCHES_MAX, WATCHES_EACH);
	} else if (begin_watch(w, out, err) == 0 && start_thread(w, err) == 0) {
		return 0;
	}
	close_fd(out);
	watch_free(w);
	return -1;
}
