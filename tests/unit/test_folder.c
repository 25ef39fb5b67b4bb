/* Folders of languages: which files count, what is refused; and that the built-in tables are runtimes/. */
#include "../check.h"
#include "runtime_same.h"

#include "base/own.h"
#include "language/builtin.h"
#include "language/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#define YAML                                                                                                           \
	"display: Demo\nfile: main.x\ntools: {demo: [/usr/bin/demo]}\nversion: [\"{demo}\"]\ninstall: get demo\n"      \
	"run: [\"{demo}\", \"{drivers}/b.py\"]\n"

struct place {
	char path[64]; /* of the folder */
	int dir;       /* the same, open */
};

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st, (void)flag, (void)ftw;
	return remove(path);
}

static void place_free(struct place *place)
{
	close_fd(&place->dir);
	nftw(place->path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

#define _cleanup_place_ _cleanup_(place_free)

static void put(const struct place *place, const char *name, const char *text)
{
	_cleanup_close_ int fd = openat(place->dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		check_fail("cannot write %s", name);
}

static struct place place_new(void)
{
	struct place place = { .path = "/tmp/test_folder.XXXXXX" };

	if (!mkdtemp(place.path))
		check_fail("cannot make a directory");
	place.dir = open(place.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put(&place, "runtime.yaml", YAML);
	put(&place, "b.py", "print()\n");
	return place;
}

static int read_place(const struct place *place, struct arena *arena, struct runtime *out, struct error *err)
{
	return folder_read(place->dir, "demo", "runtimes/demo/runtime.yaml", true, arena, out, err);
}

static void check_fault(const struct place *place, enum error_kind kind, const char *want)
{
	_cleanup_arena_ struct arena arena = { 0 };
	struct error err = { 0 };
	struct runtime runtime;

	CHECK_INT(read_place(place, &arena, &runtime, &err), -1);
	CHECK_INT(err.kind, kind);
	CHECK_STR(err.text, want);
}

static void files(void)
{
	_cleanup_place_ struct place place = place_new();
	_cleanup_arena_ struct arena arena = { 0 };
	struct error err = { 0 };
	struct runtime r;

	put(&place, "c", "");
	put(&place, "a.sh", "#!/bin/sh\n");
	put(&place, ".hidden", "x");
	put(&place, "b.py~", "x");
	put(&place, "README.md", "x");
	CHECK_INT(mkdirat(place.dir, "tests", 0755), 0);
	/* Twice: the descriptor's own place in the directory does not matter. */
	for (int i = 0; i < 2; i++) {
		CHECK_INT(read_place(&place, &arena, &r, &err), 0);
		CHECK_STR(err.text, "");
		CHECK_STR(r.name, "demo");
		CHECK_INT(r.driver_count, 3);
		CHECK_STR(r.drivers[0].name, "a.sh");
		CHECK_INT(r.drivers[0].size, 10);
		CHECK(memcmp(r.drivers[0].data, "#!/bin/sh\n", 10) == 0);
		CHECK_STR(r.drivers[1].name, "b.py");
		CHECK_STR(r.drivers[2].name, "c");
		CHECK_INT(r.drivers[2].size, 0);
	}
}

static void kinds(void)
{
	_cleanup_place_ struct place place = place_new();
	_cleanup_arena_ struct arena arena = { 0 };
	struct error err = { 0 };
	struct runtime r;

	CHECK_INT(symlinkat("nowhere", place.dir, "link"), 0);
	check_fault(&place, ERROR_FAILED, "cannot open runtimes/demo/link: No such file or directory");
	unlinkat(place.dir, "link", 0);
	CHECK_INT(symlinkat("b.py", place.dir, "link"), 0);
	CHECK_INT(read_place(&place, &arena, &r, &err), 0);
	CHECK_STR(r.drivers[r.driver_count - 1].name, "link");
	CHECK_INT(r.drivers[r.driver_count - 1].size, r.drivers[0].size);
	unlinkat(place.dir, "link", 0);
	/* Nobody writes to it: to wait for that would be for ever. */
	CHECK_INT(mkfifoat(place.dir, "pipe", 0644), 0);
	check_fault(&place, ERROR_USAGE, "runtimes/demo/pipe: expected a plain file");
	unlinkat(place.dir, "pipe", 0);
	renameat(place.dir, "runtime.yaml", place.dir, ".real");
	check_fault(&place, ERROR_FAILED, "cannot open runtimes/demo/runtime.yaml: No such file or directory");
	CHECK_INT(mkdirat(place.dir, "runtime.yaml", 0755), 0);
	check_fault(&place, ERROR_USAGE, "runtimes/demo/runtime.yaml: expected a plain file, not a directory");
}

static void sizes(void)
{
	_cleanup_place_ struct place place = place_new();
	_cleanup_arena_ struct arena arena = { 0 };
	_cleanup_close_ int fd = -1;
	struct error err = { 0 };
	struct runtime r;
	char name[32];

	put(&place, "large", "");
	fd = openat(place.dir, "large", O_RDWR | O_CLOEXEC);
	CHECK_INT(ftruncate(fd, FOLDER_FILE_MAX), 0);
	CHECK_INT(read_place(&place, &arena, &r, &err), 0);
	CHECK_INT(r.drivers[1].size, FOLDER_FILE_MAX);
	CHECK_INT(ftruncate(fd, FOLDER_FILE_MAX + 1), 0);
	check_fault(&place, ERROR_USAGE, "runtimes/demo/large: expected at most 1024 KiB");
	CHECK_INT(ftruncate(fd, 0), 0);
	for (int i = 2; i < FOLDER_FILES_MAX; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		put(&place, name, "x");
	}
	CHECK_INT(read_place(&place, &arena, &r, &err), 0);
	CHECK_INT(r.driver_count, FOLDER_FILES_MAX);
	put(&place, "more", "x");
	check_fault(&place, ERROR_USAGE, "runtimes/demo/runtime.yaml: expected at most 64 files beside runtime.yaml");
	unlinkat(place.dir, "more", 0);
	close_fd(&fd);
	fd = openat(place.dir, "runtime.yaml", O_RDWR | O_CLOEXEC);
	CHECK_INT(ftruncate(fd, 262145), 0);
	check_fault(&place, ERROR_USAGE, "runtimes/demo/runtime.yaml: expected at most 256 KiB");
}

static void mistakes(void)
{
	_cleanup_place_ struct place place = place_new();

	unlinkat(place.dir, "b.py", 0);
	check_fault(&place, ERROR_USAGE,
		    "runtimes/demo/runtime.yaml: expected the file b.py beside it, for {drivers}/b.py");
	put(&place, "runtime.yaml", "display: Demo\nfiel: x\n");
	check_fault(&place, ERROR_USAGE,
		    "runtimes/demo/runtime.yaml:2:1: unknown key \"fiel\"; did you mean \"file\"?");
}

static const struct runtime *builtin(const char *name)
{
	for (size_t i = 0; i < runtime_builtin_count; i++)
		if (strcmp(runtime_builtin[i].name, name) == 0)
			return &runtime_builtin[i];
	return NULL;
}

/* Every folder of runtimes/ is built in, as it is now. */
static void built_in(void)
{
	_cleanup_closedir_ DIR *runtimes = opendir("runtimes");
	_cleanup_arena_ struct arena arena = { 0 };
	struct dirent *entry;
	size_t count = 0;

	if (!runtimes) {
		check_fail("cannot open runtimes: run this from the top of the repository");
		return;
	}
	while ((entry = readdir(runtimes)) != NULL) {
		_cleanup_close_ int dir = openat(dirfd(runtimes), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		struct error err = { 0 };
		struct runtime fresh;

		if (dir < 0 || entry->d_name[0] == '.')
			continue;
		count++;
		if (folder_read(dir, entry->d_name, entry->d_name, true, &arena, &fresh, &err) < 0)
			check_fail("%s", err.text);
		else if (!builtin(entry->d_name))
			check_fail("%s is not built in", entry->d_name);
		else
			same_runtime(builtin(entry->d_name), &fresh);
	}
	CHECK_INT(runtime_builtin_count, count);
	for (size_t i = 1; i < runtime_builtin_count; i++)
		CHECK(strcmp(runtime_builtin[i - 1].name, runtime_builtin[i].name) < 0);
}

int main(void)
{
	RUN(files);
	RUN(kinds);
	RUN(sizes);
	RUN(mistakes);
	RUN(built_in);
	return check_failures != 0;
}
