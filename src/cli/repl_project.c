/*
 * --project: the session has a copy of a directory on the host, and :reload
 * copies changed files.
 *
 * The service must not open paths that clients name, and a mount could change
 * below a session at any time. So files are written into the session through
 * the API: all of them at the start, later those with another time or size.
 * Files that were removed on the host stay.
 */
#include "base/fd.h"
#include "base/own.h"
#include "cli/cmd_repl.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum {
	FILES_MAX = 4096,    /* maximum files of a project */
	FILE_MAX = 16 << 20, /* maximum bytes of a copied file */
	DEPTH_MAX = 16,      /* maximum levels of directories */
	PATH_SIZE = 1024,    /* bytes of a path below the project, including the NUL */
};

struct seen_file {
	char *path;            /* below the project; owned */
	struct timespec mtime; /* modification time */
	off_t size;            /* its size */
};

struct repl_seen {
	struct seen_file *files; /* owned */
	size_t count;            /* number of them */
	bool cut;                /* there are more files */
};

static void seen_free(struct repl_seen *seen)
{
	for (size_t i = 0; seen && i < seen->count; i++)
		free(seen->files[i].path);
	if (seen)
		free(seen->files);
	free(seen);
}

static void add_file(struct repl_seen *seen, const char *path, const struct stat *st)
{
	struct seen_file *grown = realloc(seen->files, (seen->count + 1) * sizeof(*grown));
	char *copy = strdup(path);

	if (grown)
		seen->files = grown;
	if (!grown || !copy || seen->count >= FILES_MAX) {
		seen->cut = true;
		free(copy);
		return;
	}
	grown[seen->count++] = (struct seen_file){ .path = copy, .mtime = st->st_mtim, .size = st->st_size };
}

/* Lists the plain files below `dir`, which it takes. Hidden files are skipped, because .git is often larger than the
 * rest. */
static void files_walk(struct repl_seen *seen, int dir, const char *below, int depth)
{
	DIR *list = fdopendir(dir);
	struct dirent *entry;

	if (!list) {
		close(dir);
		return;
	}
	while (!seen->cut && (entry = readdir(list))) {
		char path[PATH_SIZE];
		struct stat st;

		if (entry->d_name[0] == '.' ||
		    snprintf(path, sizeof(path), "%s%s%s", below, *below ? "/" : "", entry->d_name) >= PATH_SIZE ||
		    fstatat(dirfd(list), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISREG(st.st_mode)) {
			add_file(seen, path, &st);
		} else if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX && strcmp(entry->d_name, "__pycache__") != 0 &&
			   strcmp(entry->d_name, "node_modules") != 0) {
			int below_dir =
				openat(dirfd(list), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

			if (below_dir >= 0)
				files_walk(seen, below_dir, path, depth + 1);
		}
	}
	closedir(list);
}

static struct repl_seen *project_read(const char *project)
{
	struct repl_seen *seen = calloc(1, sizeof(*seen));
	int dir = seen ? open(project, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (dir >= 0)
		files_walk(seen, dir, "", 0);
	return seen;
}

void repl_project_free(struct repl *repl)
{
	seen_free(repl->seen);
	repl->seen = NULL;
}

static bool is_known(const struct repl_seen *seen, const struct seen_file *file)
{
	for (size_t i = 0; seen && i < seen->count; i++)
		if (strcmp(seen->files[i].path, file->path) == 0)
			return seen->files[i].size == file->size && seen->files[i].mtime.tv_sec == file->mtime.tv_sec &&
			       seen->files[i].mtime.tv_nsec == file->mtime.tv_nsec;
	return false;
}

static int file_copy(const struct repl *repl, const struct seen_file *file, struct error *err)
{
	_cleanup_close_ int dir = open(repl->project, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int fd = dir < 0 ? -1 : fd_open_beneath(dir, file->path, O_RDONLY);
	_cleanup_free_ char *data = NULL;
	char box[PATH_SIZE + 32];
	ssize_t n;

	if (fd < 0)
		return error_errno(err, "cannot open it");
	if (file->size > FILE_MAX)
		return error_set(err, ERROR_FAILED, 0, "it has more than 16m");
	data = malloc(FILE_MAX + 1);
	n = data ? fd_read(fd, data, FILE_MAX + 1) : -1;
	if (n < 0 || n > FILE_MAX)
		return error_errno(err, "cannot read it");
	snprintf(box, sizeof(box), "/sandbox/code/%s", file->path);
	return session_link_put_file(&repl->link, box, data, (size_t)n, err);
}

/* Reloads the project's loaded modules, in the order of their first import. */
static const char python_again[] = "def _emberbox_reload():\n"
				   "    import importlib, sys\n"
				   "    for module in list(sys.modules.values()):\n"
				   "        path = getattr(module, '__file__', None) or ''\n"
				   "        if path.startswith('/sandbox/code/') and module.__name__ != '__main__':\n"
				   "            importlib.reload(module)\n"
				   "_emberbox_reload()\n"
				   "del _emberbox_reload\n";
static const char node_again[] = "for (const path of Object.keys(require.cache)) if "
				 "(path.startsWith('/sandbox/code/')) delete require.cache[path]; "
				 "undefined";

static void load_again(struct repl *repl)
{
	if (strcmp(repl->language, "python") == 0)
		repl_run(repl, python_again, NULL);
	else if (strcmp(repl->language, "javascript") == 0 || strcmp(repl->language, "typescript") == 0)
		repl_run(repl, node_again, NULL);
}

/* Copies the files that the session lacks; returns their number. */
static size_t bring_new(struct repl *repl, size_t *failed)
{
	struct repl_seen *now = project_read(repl->project);
	size_t brought = 0;

	for (size_t i = 0; now && i < now->count; i++) {
		struct error err = { 0 };

		if (is_known(repl->seen, &now->files[i]))
			continue;
		if (file_copy(repl, &now->files[i], &err) == 0) {
			brought++;
			continue;
		}
		(*failed)++;
		show_problem(&repl->show, "%s was not copied: %s", now->files[i].path, err.text);
		/* Marks the file as changed for the next time. */
		now->files[i].size = -1;
	}
	if (now && now->cut)
		show_problem(&repl->show, "Only the first %zu files of the project are used.", now->count);
	seen_free(repl->seen);
	repl->seen = now;
	return brought;
}

void repl_project_begin(struct repl *repl)
{
	size_t failed = 0;

	repl_project_free(repl);
	if (repl->project)
		(void)bring_new(repl, &failed);
}

void repl_project_reload(struct repl *repl)
{
	size_t brought, failed = 0;

	if (!repl->project) {
		show_problem(&repl->show, "There is no project; name one with: emberbox repl LANG --project DIR");
		repl->code = EXIT_USAGE;
		return;
	}
	brought = bring_new(repl, &failed);
	show_note(&repl->show, "%zu file%s changed%s.", brought, brought == 1 ? "" : "s",
		  failed > 0 ? ", some were not copied" : "");
	if (brought > 0)
		load_again(repl);
}
