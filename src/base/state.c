#include "base/state.h"

#include "base/own.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct state_root {
	const char *variable; /* the variable that names the parent directory */
	const char *below[3]; /* path below HOME if the variable is not set; ended by NULL */
} roots[STATE_PLACES] = {
	[STATE_STATE] = { "XDG_STATE_HOME", { ".local", "state" } },
	[STATE_CACHE] = { "XDG_CACHE_HOME", { ".cache" } },
	[STATE_CONFIG] = { "XDG_CONFIG_HOME", { ".config" } },
	[STATE_DATA] = { "XDG_DATA_HOME", { ".local", "share" } },
};

static enum state_place place_of(const char *name)
{
	if (strcmp(name, "builds") == 0 || strcmp(name, "prepared") == 0 || strncmp(name, "version-", 8) == 0)
		return STATE_CACHE;
	if (strcmp(name, "registry.yaml") == 0 || strcmp(name, ".env") == 0)
		return STATE_CONFIG;
	return strcmp(name, "runtimes") == 0 ? STATE_DATA : STATE_STATE;
}

/* An absolute path from the environment, or NULL. The XDG specification says to ignore relative paths. */
static const char *path_variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value == '/' ? value : NULL;
}

/* The directory of one place, by the XDG rules. Returns 0, or -1 if neither the variable nor HOME is set. */
int state_new_path(enum state_place place, char *path, size_t size)
{
	const struct state_root *root = &roots[place];
	const char *above = path_variable(root->variable), *user = path_variable("HOME");
	int length;

	if (above)
		length = snprintf(path, size, "%s/emberbox", above);
	else if (user)
		length = snprintf(path, size, "%s/%s%s%s/emberbox", user, root->below[0], root->below[1] ? "/" : "",
				  root->below[1] ? root->below[1] : "");
	else
		return -1;
	return length >= 0 && (size_t)length < size ? 0 : -1;
}

/* Whether the cache directory still holds more than the cache. */
static bool holds_state(const char *cache)
{
	static const char *const names[] = { "journal", "history.db",    "token", "tokens.json", "audit.log",
					     "repl",    "registry.yaml", ".env",  "runtimes",    "emberbox.sock.lock" };
	char path[PATH_MAX];
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (snprintf(path, sizeof(path), "%s/%s", cache, names[i]) < (int)sizeof(path) && lstat(path, &st) == 0)
			return true;
	return false;
}

/* The one directory that holds all places: EMBERBOX_HOME, or the cache directory before its migration. NULL: there is
 * none. */
static const char *common_path(char path[PATH_MAX])
{
	const char *home = path_variable("EMBERBOX_HOME");
	char state[PATH_MAX], moving[PATH_MAX + 8];
	struct stat st;

	if (home)
		return home;
	if (state_new_path(STATE_STATE, state, sizeof(state)) < 0 || lstat(state, &st) == 0 || errno != ENOENT ||
	    state_new_path(STATE_CACHE, path, PATH_MAX) < 0)
		return NULL;
	/* The state directory while state_migrate() fills it. */
	snprintf(moving, sizeof(moving), "%s.moving", state);
	return holds_state(path) || lstat(moving, &st) == 0 ? path : NULL;
}

/* Opens a directory that belongs to us and that nobody else can write to, and creates it if `make`. Returns -1 on
 * failure. */
static int own_dir(int at, const char *path, bool make)
{
	_cleanup_close_ int dir = -1;
	struct stat st;

	dir = openat(at, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 && errno == ENOENT && make) {
		mkdirat(at, path, 0700);
		dir = openat(at, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	}
	if (dir < 0 || fstat(dir, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 022))
		return -1;
	return take_fd(&dir);
}

/* EMBERBOX_HOME names this directory, so its parents are created as well. */
static int named_dir(const char *name, bool make)
{
	char path[PATH_MAX];
	struct stat st;

	if (snprintf(path, sizeof(path), "%s", name) >= (int)sizeof(path))
		return -1;
	for (char *slash = make && lstat(path, &st) < 0 ? strchr(path + 1, '/') : NULL; slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	return own_dir(AT_FDCWD, path, make);
}

/*
 * Opens the parent directory of a place. With sudo, root can have the HOME of
 * another user: root then reads and creates nothing there.
 */
static int above_dir(enum state_place place, bool make)
{
	const struct state_root *root = &roots[place];
	const char *above = path_variable(root->variable), *user = path_variable("HOME");
	_cleanup_close_ int dir = -1;
	struct stat st;

	if (above)
		return named_dir(above, make);
	/* Some systems let a group of the user's own write to the home directory. */
	dir = user ? open(user, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (dir < 0 || fstat(dir, &st) < 0 || st.st_uid != geteuid())
		return -1;
	for (const char *const *part = root->below; *part; part++) {
		int below = own_dir(dir, *part, make);

		close_fd(&dir);
		if (below < 0)
			return -1;
		dir = below;
	}
	return take_fd(&dir);
}

int state_place_dir(enum state_place place, bool make)
{
	_cleanup_close_ int above = -1;
	char room[PATH_MAX];
	const char *common = common_path(room);

	if (common && common == room)
		place = STATE_CACHE;
	else if (common)
		return named_dir(common, make);
	above = above_dir(place, make);
	return above < 0 ? -1 : own_dir(above, "emberbox", make);
}

bool state_is_old(void)
{
	char room[PATH_MAX];

	return common_path(room) == room;
}

int state_above_dir(enum state_place place)
{
	return above_dir(place, true);
}

int state_new_dir(enum state_place place)
{
	_cleanup_close_ int above = above_dir(place, true);

	return above < 0 ? -1 : own_dir(above, "emberbox", true);
}

int state_dir(bool make)
{
	return state_place_dir(STATE_STATE, make);
}

int state_subdir(const char *name)
{
	_cleanup_close_ int dir = state_place_dir(place_of(name), true);

	return dir < 0 ? -1 : own_dir(dir, name, true);
}

int state_path(const char *name, char *path, size_t size)
{
	char room[PATH_MAX];
	const char *where = common_path(room);
	int length;

	if (!where && state_new_path(place_of(name), room, sizeof(room)) < 0)
		return -1;
	length = snprintf(path, size, "%s/%s", where ? where : room, name);
	return length >= 0 && (size_t)length < size ? 0 : -1;
}

/* Why a directory cannot be used, or NULL. */
static const char *fault_of(const struct stat *st)
{
	if (!S_ISDIR(st->st_mode))
		return "is not a directory";
	if (st->st_uid != geteuid())
		return "belongs to another user";
	return st->st_mode & 022 ? "can be written by others" : NULL;
}

int state_why_not(struct error *err)
{
	char path[PATH_MAX];
	struct stat st;
	size_t length;

	if (state_path("", path, sizeof(path)) < 0)
		return 0;
	length = strlen(path);
	path[length > 1 ? length - 1 : length] = '\0';
	if (lstat(path, &st) < 0)
		return errno == ENOENT
			       ? 0
			       : error_errno(err, "cannot open %.1000s (EMBERBOX_HOME names another place)", path);
	if (!S_ISDIR(st.st_mode))
		return error_set(err, ERROR_FAILED, 0, "%.1000s is not a directory; EMBERBOX_HOME has to name one",
				 path);
	if (st.st_uid != geteuid())
		return error_set(err, ERROR_FAILED, 0,
				 "%.1000s belongs to another user (uid %u, not %u) and is not accessible", path,
				 (unsigned)st.st_uid, (unsigned)geteuid());
	if (st.st_mode & 022)
		return error_set(
			err, ERROR_FAILED, 0,
			"%.1000s can be written by others, and is not trusted; make it yours with: chmod go-w %.1000s",
			path, path);
	/* The fault is in a parent directory, up to the home. */
	for (char *slash = strrchr(path, '/'); slash && slash > path; slash = strrchr(path, '/')) {
		const char *fault;

		*slash = '\0';
		fault = lstat(path, &st) == 0 ? fault_of(&st) : NULL;
		if (fault)
			return error_set(err, ERROR_FAILED, 0,
					 "%.1000s %s, and what is below it is not trusted; EMBERBOX_HOME names another "
					 "place",
					 path, fault);
	}
	return error_set(err, ERROR_FAILED, 0, "the state directory cannot be used; EMBERBOX_HOME names another place");
}
