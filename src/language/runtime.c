#include "language/runtime.h"

#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"
#include "language/builtin.h"
#include "language/pattern.h"
#include "language/expand.h"
#include "language/folder.h"
#include "base/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	OWN_MAX = 256,        /* maximum of languages of the user */
	VERSION_MSEC = 10000, /* a tool that does not answer in this time has no version */
};

/*
 * The built-in languages and the user's, sorted by name. Never changed after it
 * is built, so any thread can read it. An invalid definition of the user is
 * kept by its name, and reported when it is used.
 */
struct catalogue {
	struct catalogue *before;     /* the previous catalogue, which runs may still use */
	struct arena arena;           /* owns the user's definitions */
	const struct runtime **found; /* sorted by name */
	size_t count;                 /* number of them */
	const char *note;             /* why the user's definitions are missing; NULL: they are not */
};

static pthread_once_t catalogue_once = PTHREAD_ONCE_INIT; /* guards the first catalogue */
static _Atomic(struct catalogue *) catalogue_now;         /* the newest; NULL: memory ran out */

static int by_name(const void *a, const void *b)
{
	const struct runtime *const *left = a, *const *right = b;

	return strcmp((*left)->name, (*right)->name);
}

/* Replaces a built-in language of the same name. */
static void catalogue_add(struct catalogue *catalogue, const struct runtime *runtime)
{
	size_t at = 0;

	while (at < catalogue->count && catalogue->found[at] && strcmp(catalogue->found[at]->name, runtime->name) != 0)
		at++;
	catalogue->found[at] = runtime;
	if (at == catalogue->count)
		catalogue->count++;
}

/* The version command of a definition runs outside of boxes with the caller's rights, so nobody else may have written
 * the definition. */
static int trusted_open(int dir, const char *name)
{
	_cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if ((st.st_uid != geteuid() && st.st_uid != 0) || (st.st_mode & 022)) {
		errno = EPERM;
		return -1;
	}
	return take_fd(&fd);
}

/* The previous valid definition, with the mistake of the new one. NULL if there was none. A definition that was
 * removed, or that others can write to, is not kept. */
static struct runtime *catalogue_keep(struct catalogue *catalogue, int folder, const char *name, const char *mistake)
{
	const struct catalogue *before = catalogue_now;
	struct runtime *kept;
	size_t at = 0;

	if (!before || folder < 0 || !folder_has_definition(folder))
		return NULL;
	while (at < before->count && strcmp(before->found[at]->name, name) != 0)
		at++;
	if (at == before->count || before->found[at]->broken)
		return NULL;
	kept = arena_alloc(&catalogue->arena, sizeof(*kept));
	if (!kept)
		return NULL;
	*kept = *before->found[at];
	kept->stale = arena_string(&catalogue->arena, mistake);
	return kept;
}

static void catalogue_read(struct catalogue *catalogue, int dir, const char *name)
{
	struct runtime *runtime = arena_alloc(&catalogue->arena, sizeof(*runtime));
	char *own_name = arena_string(&catalogue->arena, name), *where;
	_cleanup_close_ int folder = trusted_open(dir, name);
	struct error err = { 0 };

	where = arena_printf(&catalogue->arena, "runtimes/%s/runtime.yaml", name);
	/* Files beside the folders are skipped. */
	if (!runtime || !own_name || !where || (folder < 0 && errno != EPERM))
		return;
	if (folder < 0)
		error_usage(&err, "runtimes/%s belongs to another user, or others can write to it", name);
	if (folder < 0 || folder_read(folder, own_name, where, true, &catalogue->arena, runtime, &err) < 0) {
		static const char *const none[] = { NULL };
		struct runtime *kept = catalogue_keep(catalogue, folder, name, err.text);

		if (kept) {
			catalogue_add(catalogue, kept);
			return;
		}
		*runtime = (struct runtime){
			.name = own_name,
			.display = own_name,
			.aliases = none,
			.extensions = none,
			.interpreters = none,
			.file = "",
			.install = "",
			.broken = arena_string(&catalogue->arena, err.text),
		};
	}
	catalogue_add(catalogue, runtime);
}

static void catalogue_read_own(struct catalogue *catalogue)
{
	_cleanup_close_ int home = state_place_dir(STATE_DATA, false);
	_cleanup_close_ int dir = home < 0 ? -1 : trusted_open(home, "runtimes");
	int copy = dir < 0 ? -1 : openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;

	if (home >= 0 && dir < 0 && errno == EPERM)
		catalogue->note =
			"your runtimes folder is not used: it belongs to another user, or others can write to it";
	if (!stream) {
		close_fd(&copy);
		return;
	}
	while ((entry = readdir(stream)) != NULL)
		if (entry->d_name[0] != '.' && catalogue->count < runtime_builtin_count + OWN_MAX)
			catalogue_read(catalogue, dir, entry->d_name);
	closedir(stream);
}

static void catalogue_make(void)
{
	struct catalogue *catalogue = calloc(1, sizeof(*catalogue));

	if (catalogue)
		catalogue->found = calloc(runtime_builtin_count + OWN_MAX, sizeof(const void *));
	if (!catalogue || !catalogue->found) {
		free(catalogue);
		return;
	}
	for (size_t i = 0; i < runtime_builtin_count; i++)
		catalogue_add(catalogue, &runtime_builtin[i]);
	catalogue_read_own(catalogue);
	qsort(catalogue->found, catalogue->count, sizeof(const void *), by_name);
	catalogue->before = catalogue_now;
	catalogue_now = catalogue;
}

static const struct catalogue *catalogue_get(void)
{
	pthread_once(&catalogue_once, catalogue_make);
	return catalogue_now;
}

static const struct runtime *catalogue_at(const struct catalogue *catalogue, size_t index)
{
	return catalogue && index < catalogue->count ? catalogue->found[index] : NULL;
}

void runtime_reload(void)
{
	pthread_once(&catalogue_once, catalogue_make);
	catalogue_make();
}

const struct runtime *runtime_at(size_t index)
{
	return catalogue_at(catalogue_get(), index);
}

const char *runtime_note(void)
{
	const struct catalogue *catalogue = catalogue_get();

	return catalogue ? catalogue->note : NULL;
}

static bool list_has(const char *const *list, const char *word, size_t size)
{
	for (; *list; list++)
		if (strlen(*list) == size && strncasecmp(*list, word, size) == 0)
			return true;
	return false;
}

bool runtime_is_own(const struct runtime *runtime)
{
	for (size_t i = 0; i < runtime_builtin_count; i++)
		if (runtime == &runtime_builtin[i])
			return false;
	return true;
}

const struct runtime *runtime_find(const char *name)
{
	const struct catalogue *catalogue = catalogue_get();
	const struct runtime *runtime;

	for (size_t i = 0; (runtime = catalogue_at(catalogue, i)); i++)
		if (strcasecmp(runtime->name, name) == 0)
			return runtime;
	for (size_t i = 0; (runtime = catalogue_at(catalogue, i)); i++)
		if (list_has(runtime->aliases, name, strlen(name)))
			return runtime;
	return NULL;
}

/* The word in a #! line that names the interpreter: the last part of the path, or the word after `env`. */
static size_t shebang_word(const char *head, size_t size, const char **word)
{
	const char *end = memchr(head, '\n', size), *at = head + 2;

	end = end ? end : head + size;
	for (;;) {
		const char *from;

		while (at < end && (*at == ' ' || *at == '\t'))
			at++;
		from = at;
		while (at < end && *at != ' ' && *at != '\t' && *at != '\r')
			at++;
		for (const char *c = from; c < at; c++)
			if (*c == '/')
				from = c + 1;
		*word = from;
		if (at == from)
			return 0;
		if (*from == '-' || (at - from == 3 && memcmp(from, "env", 3) == 0))
			continue;
		return (size_t)(at - from);
	}
}

static const struct runtime *detect_shebang(const void *head, size_t size)
{
	const struct runtime *runtime;
	const char *word;
	size_t length;

	if (size < 3 || memcmp(head, "#!", 2) != 0)
		return NULL;
	length = shebang_word(head, size, &word);
	/* First as written (lua5.4), then without the part after the dot: python3.11 becomes python3. */
	for (int pass = 0; pass < 2 && length > 0; pass++) {
		for (size_t i = 0; (runtime = runtime_at(i)); i++)
			if (list_has(runtime->interpreters, word, length))
				return runtime;
		for (size_t i = 0; i < length; i++)
			if (word[i] == '.')
				length = i;
	}
	return NULL;
}

const struct runtime *runtime_detect(const char *name, const void *head, size_t size)
{
	const char *slash = name ? strrchr(name, '/') : NULL;
	const char *dot = name ? strrchr(slash ? slash : name, '.') : NULL;
	const struct runtime *by_line = detect_shebang(head, size), *runtime;

	for (size_t i = 0; dot && (runtime = runtime_at(i)); i++) {
		if (!list_has(runtime->extensions, dot + 1, strlen(dot + 1)))
			continue;
		/* install.sh may be for sh or for zsh, so between related languages the #! line decides. */
		if (by_line && by_line != runtime && strcmp(dot, ".sh") == 0)
			return by_line;
		return runtime;
	}
	return by_line;
}

/* The highest version among the files that match the pattern and can be executed (X_OK) or read (R_OK). */
static bool glob_highest(const char *pattern, int access_mode, char *out, size_t size)
{
	glob_t found;
	bool any = false;

	if (glob(pattern, 0, NULL, &found) != 0)
		return false;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *path = found.gl_pathv[i];

		if (strlen(path) >= size || access(path, access_mode) < 0 || (any && strverscmp(path, out) < 0))
			continue;
		snprintf(out, size, "%s", path);
		any = true;
	}
	globfree(&found);
	return any;
}

static bool path_find(const char *const *candidates, int access_mode, char *out, size_t size)
{
	for (const char *const *path = candidates; *path; path++) {
		if (strpbrk(*path, "*?[")) {
			if (glob_highest(*path, access_mode, out, size))
				return true;
		} else if (strlen(*path) < size && access(*path, access_mode) == 0) {
			snprintf(out, size, "%s", *path);
			return true;
		}
	}
	return false;
}

bool runtime_tool_path(const struct runtime_tool *tool, char *out, size_t size)
{
	return path_find(tool->candidates, X_OK, out, size);
}

bool runtime_needed_path(const char *const *needs, char *out, size_t size)
{
	out[0] = '\0';
	return !needs || !*needs || path_find(needs, R_OK, out, size);
}

const char *runtime_program(const struct runtime *runtime, bool unchecked)
{
	static _Thread_local char first[4096];
	char other[4096];

	if (runtime->broken || !runtime_tool_path(&runtime->tools[0], first, sizeof(first)))
		return NULL;
	for (size_t i = 1; i < runtime->tool_count; i++)
		if (!runtime_tool_path(&runtime->tools[i], other, sizeof(other)))
			return NULL;
	if (!runtime_needed_path(runtime->needs, other, sizeof(other)) ||
	    (!unchecked && !runtime_needed_path(runtime->compile.needs, other, sizeof(other))))
		return NULL;
	return first;
}

/* Reads until the end, or until `until_usec`. */
static size_t read_answer(int from, char *text, size_t size, uint64_t until_usec)
{
	size_t used = 0;

	while (used < size) {
		struct pollfd ready = { .fd = from, .events = POLLIN };
		uint64_t now = clock_usec();
		int n = now >= until_usec ? 0 : poll(&ready, 1, (int)((until_usec - now) / 1000) + 1);
		ssize_t got;

		if (n < 0 && errno == EINTR)
			continue;
		got = n > 0 ? read(from, text + used, size - used) : 0;
		if (got <= 0)
			break;
		used += (size_t)got;
	}
	return used;
}

/* The output of a version command within VERSION_MSEC: a user's tool may hang. The output of a tool that fails is
 * ignored, because numbers in its error are not a version. */
static size_t tool_ask(char *const argv[], char *text, size_t size)
{
	char *envp[] = { (char *)"PATH=/usr/bin:/bin", (char *)"HOME=/nonexistent", (char *)"GOTOOLCHAIN=local", NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	_cleanup_close_ int from = -1, to = -1;
	int pipe_fds[2];
	size_t used = 0;
	int status = 0;
	pid_t pid;

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return 0;
	from = pipe_fds[0];
	to = pipe_fds[1];
	/* A process group, so that its children are killed with it. */
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	/* Not in the caller's directory: a tool may read settings there, and go would download what a go.mod asks
	 * for. */
	posix_spawn_file_actions_addchdir_np(&actions, "/");
	posix_spawn_file_actions_adddup2(&actions, to, 1);
	posix_spawn_file_actions_adddup2(&actions, to, 2);
	if (posix_spawn(&pid, argv[0], &actions, &attributes, argv, envp) == 0) {
		close_fd(&to);
		used = read_answer(from, text, size, clock_usec() + UINT64_C(1000) * VERSION_MSEC);
		close_fd(&from);
		kill(-pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return WIFEXITED(status) && WEXITSTATUS(status) != 0 ? 0 : used;
}

bool runtime_version(const struct runtime *runtime, char *out, size_t size)
{
	_cleanup_arena_ struct arena arena = { 0 };
	struct expand_values none = { 0 };
	const char **argv;
	const char *digits;
	char text[512];

	if (!runtime_program(runtime, true) || !(argv = expand_words(&arena, runtime, runtime->version, &none)))
		return false;
	text[tool_ask((char *const *)argv, text, sizeof(text) - 1)] = '\0';
	if (runtime->version_pattern)
		return pattern_find(runtime->version_pattern, "version", text, out, size);
	digits = strpbrk(text, "0123456789");
	if (!digits)
		return false;
	snprintf(out, size, "%.*s", (int)strspn(digits, "0123456789."), digits);
	return true;
}

const char *runtime_nearest(const char *name)
{
	const char *words[1024] = { NULL };
	const struct runtime *runtime;
	const char *nearest;
	size_t count = 0;

	for (size_t i = 0; (runtime = runtime_at(i)); i++) {
		if (count + 1 < ARRAY_SIZE(words))
			words[count++] = runtime->name;
		for (const char *const *alias = runtime->aliases; *alias && count + 1 < ARRAY_SIZE(words); alias++)
			words[count++] = *alias;
	}
	/* Names of two letters are similar to every short word. */
	for (size_t i = 0; i < count;)
		if (strlen(words[i]) > 2)
			i++;
		else
			words[i] = words[--count];
	words[count] = NULL;
	nearest = strlen(name) > 2 ? text_nearest(name, words) : NULL;
	runtime = nearest ? runtime_find(nearest) : NULL;
	return runtime ? runtime->name : NULL;
}

int runtime_unknown(const char *name, struct error *err)
{
	const char *nearest = runtime_nearest(name);
	const struct runtime *runtime;
	char known[512] = "";

	for (size_t i = 0; (runtime = runtime_at(i)); i++) {
		size_t used = strlen(known);

		if (runtime_program(runtime, false))
			snprintf(known + used, sizeof(known) - used, "%s%s", used ? ", " : "", runtime->name);
	}
	error_refuse(err, CODE_UNKNOWN_LANGUAGE, "", "Unknown language \"%.64s\"; available: %s%s%s%s", name,
		     *known ? known : "none", nearest ? "; did you mean " : "", nearest ? nearest : "",
		     nearest ? "?" : "");
	return error_about(err, "language");
}

int runtime_missing(const struct runtime *runtime, struct error *err)
{
	if (runtime->broken)
		error_refuse(err, CODE_NOT_INSTALLED, "", "%s cannot be used: %s", runtime->name, runtime->broken);
	else
		error_refuse(err, CODE_NOT_INSTALLED, "", "%s is not installed on this machine", runtime->display);
	if (!runtime->broken)
		error_remedy(err, "; install it with: ", runtime->install);
	return error_about(err, "language");
}
