/* Prepared trees: made once, by one; copied from a box without trusting it; removed when a newer one is there. */
/* tests/run: args=--as root | --as user */
/* tests/run: timeout=180 */
#include "state_home.h"

#include "base/own.h"
#include "language/prepared.h"

#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>

static struct error err;
static char *box; /* where a step left its files */
static int from;  /* the same, open */

static void fresh(void)
{
	home_new();
	box = tree_new();
	from = open(box, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = (struct error){ 0 };
}

static void done(void)
{
	close(from);
	tree_free(box);
	home_free();
}

static int begin(const char *name, unsigned number, double seconds, struct prepared *out)
{
	struct digest key = key_of(number);

	return prepared_begin(name, &key, seconds, -1, out, &err);
}

static int keep(const char *name, unsigned number, struct prepared *out)
{
	struct digest key = key_of(number);

	return prepared_keep(name, &key, from, out, &err);
}

/* Held afterwards. */
static void make(const char *name, unsigned number, struct prepared *out)
{
	CHECK_INT(begin(name, number, 0, out), 0);
	CHECK_INT(keep(name, number, out), 0);
	CHECK_STR(err.text, "");
}

/* What is in `file` of the tree, "(absent)" without a tree; static. */
static const char *content(const char *name, unsigned number, const char *file)
{
	struct digest key = key_of(number);
	struct prepared tree;
	const char *text = "(absent)";

	CHECK_INT(prepared_open(name, &key, &tree, &err), 0);
	if (tree.dir >= 0)
		text = tree_read(tree.dir, file);
	prepared_close(&tree);
	return text;
}

static void made_and_found(void)
{
	struct digest key = key_of(1);
	struct prepared tree, again;
	char path[1024];
	struct stat st;

	fresh();
	tree_write(from, "lib", "content", 7);
	CHECK_INT(prepared_open("go", &key, &tree, &err), 0);
	CHECK_INT(tree.dir, -1);
	CHECK_INT(tree.lock, -1);
	prepared_close(&tree);
	/* To ask leaves nothing behind. */
	CHECK_INT(count_entries(home_dir, "prepared"), 0);

	CHECK_INT(begin("go", 1, 0, &tree), 0);
	CHECK_INT(tree.dir, -1);
	CHECK(tree.lock >= 0);
	CHECK_INT(keep("go", 1, &tree), 0);
	CHECK_STR(tree_read(tree.dir, "lib"), "content");
	snprintf(path, sizeof(path), "%s/%s", home, key_path("prepared/go-", 1, ""));
	CHECK_STR(tree.path, path);
	CHECK_INT(fcntl(tree.dir, F_GETFD), FD_CLOEXEC);
	CHECK_INT(fcntl(tree.lock, F_GETFD), FD_CLOEXEC);

	/* Several hold it at once. */
	CHECK_INT(prepared_open("go", &key, &again, &err), 0);
	CHECK_STR(again.path, path);
	CHECK_STR(tree_read(again.dir, "lib"), "content");
	prepared_close(&again);
	CHECK_INT(again.dir, -1);
	CHECK_INT(again.lock, -1);
	CHECK_INT(begin("go", 1, 0, &again), 1);
	CHECK_STR(again.path, path);
	prepared_close(&again);
	prepared_close(&tree);
	CHECK_STR(content("go", 1, "lib"), "content");
	CHECK_STR(content("go", 2, "lib"), "(absent)");
	CHECK_STR(content("gone", 1, "lib"), "(absent)");
	CHECK_INT(fstatat(home_dir, "prepared", &st, 0), 0);
	CHECK_INT(st.st_mode, S_IFDIR | 0700);
	CHECK_INT(count_entries(home_dir, "prepared"), 2);
	done();
}

static mode_t mode_of(int dir, const char *path)
{
	struct stat st;

	return fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) < 0 ? 0 : st.st_mode;
}

static void modes_and_times(void)
{
	const struct timespec times[2] = { { .tv_sec = 5 }, { .tv_sec = 77, .tv_nsec = 88 } };
	struct prepared tree;
	struct stat st;

	fresh();
	tree_write(from, "plain", "", 0);
	tree_mode(from, "plain", 0666);
	tree_write(from, "private", "", 0);
	tree_mode(from, "private", 0600);
	tree_write(from, "command", "", 0);
	tree_mode(from, "command", 06711);
	tree_write(from, "fixed", "", 0);
	tree_mode(from, "fixed", 0400);
	mkdirat(from, "open", 0755);
	tree_write(from, "open/deep", "deep", 4);
	tree_mode(from, "open", 01777);
	mkdirat(from, "closed", 0700);
	mkdirat(from, "closed/empty", 0700);
	tree_write(from, "closed/file", "", 0);
	tree_mode(from, "closed", 0500);
	CHECK_INT(utimensat(from, "plain", times, 0), 0);
	make("go", 1, &tree);
	CHECK_INT(mode_of(tree.dir, "."), S_IFDIR | 0755);
	CHECK_INT(mode_of(tree.dir, "plain"), S_IFREG | 0644);
	CHECK_INT(mode_of(tree.dir, "private"), S_IFREG | 0644);
	CHECK_INT(mode_of(tree.dir, "command"), S_IFREG | 0755);
	CHECK_INT(mode_of(tree.dir, "fixed"), S_IFREG | 0444);
	CHECK_INT(mode_of(tree.dir, "open"), S_IFDIR | 0755);
	CHECK_INT(mode_of(tree.dir, "closed"), S_IFDIR | 0555);
	CHECK_INT(mode_of(tree.dir, "closed/empty"), S_IFDIR | 0755);
	CHECK_STR(tree_read(tree.dir, "open/deep"), "deep");
	CHECK_INT(fstatat(tree.dir, "plain", &st, 0), 0);
	CHECK_INT(st.st_mtim.tv_sec, 77);
	CHECK_INT(st.st_mtim.tv_nsec, 88);
	prepared_close(&tree);
	/* Also one that cannot be written goes when a newer one comes. */
	make("go", 2, &tree);
	CHECK(exists(home_dir, key_path("prepared/go-", 2, "")));
	CHECK(exists(home_dir, key_path("prepared/go-", 2, ".lock")));
	CHECK_INT(count_entries(home_dir, "prepared"), 2);
	prepared_close(&tree);
	tree_mode(from, "closed", 0700);
	tree_mode(home_dir, key_path("prepared/go-", 2, "/closed"), 0700);
	done();
}

/* Where a link of the tree leads, "(absent)" when it was left out; static. */
static const char *target(int dir, const char *path)
{
	static char text[512];
	ssize_t n = readlinkat(dir, path, text, sizeof(text) - 1);

	if (n < 0)
		return "(absent)";
	text[n] = '\0';
	return text;
}

static void links(void)
{
	struct prepared tree;

	fresh();
	mkdirat(from, "sub", 0755);
	mkdirat(from, "sub/sub", 0755);
	tree_write(from, "file", "file", 4);
	tree_link("file", from, "near");
	tree_link("./sub//sub/", from, "slashes");
	tree_link("..", from, "sub/top");
	tree_link("../../file", from, "sub/sub/up");
	tree_link("missing", from, "dangling");
	tree_link("...", from, "dots");
	tree_link("/etc/passwd", from, "absolute");
	tree_link("..", from, "parent");
	tree_link("../../..", from, "sub/sub/parent");
	tree_link("sub/../..", from, "around");
	/* "sub" could be a link itself. */
	tree_link("sub/../file", from, "roundabout");
	tree_link("../sub/../file", from, "sub/sub/roundabout");
	make("go", 1, &tree);
	CHECK_STR(target(tree.dir, "near"), "file");
	CHECK_STR(target(tree.dir, "slashes"), "./sub//sub/");
	CHECK_STR(target(tree.dir, "sub/top"), "..");
	CHECK_STR(target(tree.dir, "sub/sub/up"), "../../file");
	CHECK_STR(target(tree.dir, "dangling"), "missing");
	CHECK_STR(target(tree.dir, "dots"), "...");
	CHECK_STR(tree_read(tree.dir, "sub/sub/up"), "file");
	CHECK_STR(target(tree.dir, "absolute"), "(absent)");
	CHECK_STR(target(tree.dir, "parent"), "(absent)");
	CHECK_STR(target(tree.dir, "sub/sub/parent"), "(absent)");
	CHECK_STR(target(tree.dir, "around"), "(absent)");
	CHECK_STR(target(tree.dir, "roundabout"), "(absent)");
	CHECK_STR(target(tree.dir, "sub/sub/roundabout"), "(absent)");
	prepared_close(&tree);
	done();
}

static void neither_file_nor_directory(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct prepared tree;

	fresh();
	tree_write(from, "file", "file", 4);
	CHECK_INT(mkfifoat(from, "fifo", 0600), 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", box);
	CHECK_INT(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	make("go", 1, &tree);
	CHECK_STR(tree_read(tree.dir, "file"), "file");
	CHECK_INT(mode_of(tree.dir, "fifo"), 0);
	CHECK_INT(mode_of(tree.dir, "socket"), 0);
	prepared_close(&tree);
	close(listener);
	done();
}

/* Nothing is kept of what is refused, and it is still ours to make. */
static void refused(const char *why)
{
	struct prepared tree;

	CHECK_INT(begin("go", 1, 0, &tree), 0);
	CHECK_INT(keep("go", 1, &tree), -1);
	CHECK_STR(err.text, why);
	CHECK_INT(tree.dir, -1);
	CHECK(tree.lock >= 0);
	prepared_close(&tree);
	CHECK(!exists(home_dir, key_path("prepared/go-", 1, "")));
	CHECK(!exists(home_dir, key_path("prepared/go-", 1, ".tmp")));
	err.text[0] = '\0';
}

static void too_deep(void)
{
	int dir = -1;

	fresh();
	for (int i = 0; i < PREPARED_DEPTH_MAX; i++) {
		int at = i == 0 ? from : dir, sub;

		CHECK_INT(mkdirat(at, "d", 0755), 0);
		sub = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close_fd(&dir);
		dir = sub;
	}
	tree_write(dir, "file", "deep", 4);
	{
		struct prepared tree;

		make("go", 2, &tree);
		prepared_close(&tree);
	}
	CHECK_INT(mkdirat(dir, "d", 0755), 0);
	refused("cannot keep the prepared tree of go: it is more than 64 directories deep");
	close_fd(&dir);
	done();
}

static void too_large(void)
{
	int fd;

	fresh();
	fd = openat(from, "hole", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	CHECK_INT(ftruncate(fd, (off_t)PREPARED_SIZE_MAX + 1), 0);
	close_fd(&fd);
	refused("cannot keep the prepared tree of go: it is larger than 4 GiB");
	done();
}

/* In memory: a disk takes half a minute for so many. */
static void in_a_fast_place(int number)
{
	struct prepared tree;
	char name[32];

	(void)number;
	home_shrink("mode=0700");
	CHECK_INT(mkdirat(home_dir, "box", 0755), 0);
	close(from);
	from = openat(home_dir, "box", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < PREPARED_FILES_MAX; i++) {
		snprintf(name, sizeof(name), "%d", i);
		tree_link("0", from, name);
	}
	tree_write(from, "last", "", 0);
	refused("cannot keep the prepared tree of go: it has more than 50000 files");
	CHECK_INT(unlinkat(from, "last", 0), 0);
	make("go", 1, &tree);
	CHECK_INT(count_entries(tree.dir, "."), PREPARED_FILES_MAX);
	prepared_close(&tree);
}

static void too_many(void)
{
	fresh();
	child_end(child_start(in_a_fast_place, 0));
	done();
}

static void older_ones_go(void)
{
	static const char alike[] = "prepared/c-zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz";
	struct prepared first, second, third, other;

	fresh();
	tree_write(from, "file", "content", 7);
	make("c", 1, &first);
	make("c-sharp", 1, &other);
	prepared_close(&other);
	make("d", 1, &other);
	prepared_close(&other);
	/* Held: it stays. */
	make("c", 2, &second);
	CHECK_STR(tree_read(first.dir, "file"), "content");
	CHECK_STR(content("c", 1, "file"), "content");
	prepared_close(&second);
	/* Left by a crash while it was removed. */
	CHECK_INT(mkdirat(home_dir, key_path("prepared/c-", 7, ".tmp"), 0700), 0);
	tree_write(home_dir, key_path("prepared/c-", 7, ".tmp/half"), "", 0);
	tree_write(home_dir, key_path("prepared/c-", 8, ".lock"), "", 0);
	tree_write(home_dir, key_path("prepared/c-", 8, ".other"), "", 0);
	tree_write(home_dir, alike, "", 0);
	tree_write(home_dir, "prepared/c", "", 0);
	prepared_close(&first);
	make("c", 3, &third);
	prepared_close(&third);
	CHECK_STR(content("c", 1, "file"), "(absent)");
	CHECK_STR(content("c", 2, "file"), "(absent)");
	CHECK_STR(content("c", 3, "file"), "content");
	/* Another name, though it begins alike. */
	CHECK_STR(content("c-sharp", 1, "file"), "content");
	CHECK_STR(content("d", 1, "file"), "content");
	/* Three trees with their locks, and what is none of ours. */
	CHECK_INT(count_entries(home_dir, "prepared"), 9);
	CHECK(exists(home_dir, alike));
	CHECK(exists(home_dir, key_path("prepared/c-", 8, ".other")));
	done();
}

/* Dies in the middle of it. */
static void crash(int number)
{
	struct prepared tree;

	CHECK_INT(begin("go", (unsigned)number, 0, &tree), 0);
	CHECK_INT(mkdirat(home_dir, key_path("prepared/go-", (unsigned)number, ".tmp"), 0700), 0);
	tree_write(home_dir, key_path("prepared/go-", (unsigned)number, ".tmp/half"), "", 0);
}

static void a_crash_leaves_nothing_of_use(void)
{
	struct prepared tree;

	fresh();
	tree_write(from, "file", "content", 7);
	child_end(child_start(crash, 1));
	CHECK(exists(home_dir, key_path("prepared/go-", 1, ".tmp")));
	CHECK_STR(content("go", 1, "half"), "(absent)");
	make("go", 1, &tree);
	CHECK_STR(tree_read(tree.dir, "file"), "content");
	CHECK_STR(tree_read(tree.dir, "half"), "(absent)");
	CHECK(!exists(home_dir, key_path("prepared/go-", 1, ".tmp")));
	prepared_close(&tree);
	done();
}

static void the_wait_is_bounded(void)
{
	struct prepared tree, other;

	fresh();
	CHECK_INT(begin("go", 1, 0, &tree), 0);
	/* A lock belongs to the open file: a second one in this process waits like another process. */
	CHECK_INT(begin("go", 1, 0.06, &other), -1);
	CHECK_STR(err.text, "another emberbox is still preparing go: Connection timed out");
	CHECK_INT(err.errnum, ETIMEDOUT);
	CHECK_INT(other.lock, -1);
	/* Of another key or name it is not. */
	CHECK_INT(begin("go", 2, 0, &other), 0);
	prepared_close(&other);
	CHECK_STR(content("go", 1, "file"), "(absent)");
	prepared_close(&tree);
	CHECK_INT(begin("go", 1, 0, &other), 0);
	prepared_close(&other);
	done();
}

static int makers; /* the end of a pipe: a byte for each that made it */

static void make_or_wait(int number)
{
	struct prepared tree;
	int got = begin("go", 1, 30, &tree);

	(void)number;
	CHECK(got == 0 || got == 1);
	if (got == 0) {
		CHECK_INT(write(makers, "m", 1), 1);
		CHECK_INT(keep("go", 1, &tree), 0);
	}
	CHECK_STR(tree_read(tree.dir, "file"), "content");
	CHECK_STR(tree_read(tree.dir, "sub/file"), "more");
	prepared_close(&tree);
}

static void one_makes_it(void)
{
	pid_t children[6];
	char made[16];
	int pipes[2];

	fresh();
	tree_write(from, "file", "content", 7);
	mkdirat(from, "sub", 0755);
	tree_write(from, "sub/file", "more", 4);
	CHECK_INT(pipe2(pipes, O_CLOEXEC), 0);
	makers = pipes[1];
	for (size_t i = 0; i < ARRAY_SIZE(children); i++)
		children[i] = child_start(make_or_wait, 0);
	for (size_t i = 0; i < ARRAY_SIZE(children); i++)
		child_end(children[i]);
	close(pipes[1]);
	CHECK_INT(read(pipes[0], made, sizeof(made)), 1);
	close(pipes[0]);
	done();
}

/* Each round wants one of two trees, and removes the other if it can: whoever has one has it whole. */
static void back_and_forth(int number)
{
	for (int i = 0; i < 40; i++) {
		struct prepared tree;
		int got = begin("go", (unsigned)(i + number) % 2, 30, &tree);

		CHECK(got == 0 || got == 1);
		/* The other may be so quick that ours is gone before we hold it. */
		if (got == 0 && keep("go", (unsigned)(i + number) % 2, &tree) < 0)
			CHECK_INT(err.errnum, ENOENT);
		if (tree.dir >= 0) {
			CHECK_STR(tree_read(tree.dir, "file"), "content");
			CHECK_STR(tree_read(tree.dir, "sub/file"), "more");
		}
		prepared_close(&tree);
	}
}

static void two_toolchains(void)
{
	pid_t children[3];

	fresh();
	tree_write(from, "file", "content", 7);
	mkdirat(from, "sub", 0755);
	tree_write(from, "sub/file", "more", 4);
	for (int i = 0; i < (int)ARRAY_SIZE(children); i++)
		children[i] = child_start(back_and_forth, i);
	for (size_t i = 0; i < ARRAY_SIZE(children); i++)
		child_end(children[i]);
	done();
}

static void of_others(void)
{
	struct digest key = key_of(1);
	struct prepared tree;

	fresh();
	tree_write(from, "file", "content", 7);
	make("go", 1, &tree);
	prepared_close(&tree);
	tree_mode(home_dir, key_path("prepared/go-", 1, ""), 0775);
	CHECK_INT(prepared_open("go", &key, &tree, &err), -1);
	CHECK(strstr(err.text, "belongs to another, or others may change it") != NULL);
	CHECK_INT(tree.dir, -1);
	CHECK_INT(tree.lock, -1);
	tree_mode(home_dir, key_path("prepared/go-", 1, ""), 0755);
	CHECK_STR(content("go", 1, "file"), "content");
	done();
}

static void bad_names(void)
{
	static const char *const names[] = {
		"",
		".",
		"..",
		"a/b",
		"/",
		".hidden",
		"01234567890123456789012345678901234567890123456789012345678901234",
	};
	struct digest key = key_of(1);
	struct prepared tree;

	fresh();
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		CHECK_INT(prepared_open(names[i], &key, &tree, &err), -1);
		CHECK_INT(err.kind, ERROR_USAGE);
	}
	CHECK_INT(prepared_open(names[6] + 1, &key, &tree, &err), 0);
	done();
}

static void nowhere_to_keep(void)
{
	struct digest key = key_of(1);
	struct prepared tree;
	char own[sizeof(tree.own)];

	fresh();
	setenv("EMBERBOX_HOME", "/proc/nowhere", 1);
	CHECK_INT(prepared_open("go", &key, &tree, &err), 0);
	CHECK_INT(tree.dir, -1);
	/* For this run alone, in a directory that goes with it. */
	tree_write(from, "small", "small", 5);
	make("go", 1, &tree);
	CHECK_STR(tree_read(tree.dir, "small"), "small");
	CHECK(strncmp(tree.path, "/tmp/emberbox-go-", 17) == 0);
	snprintf(own, sizeof(own), "%s", tree.own);
	CHECK_INT(access(own, F_OK), 0);
	prepared_close(&tree);
	CHECK_ERRNO(access(own, F_OK), ENOENT);
	done();
}

static void in_a_full_place(int number)
{
	static char block[256 << 10];
	struct prepared tree;

	(void)number;
	home_shrink("size=128k,mode=0700");
	tree_write(from, "small", "small", 5);
	tree_write(from, "large", block, sizeof(block));
	refused("cannot keep the prepared tree of go: cannot copy large: No space left on device");
	CHECK_INT(unlinkat(from, "large", 0), 0);
	make("go", 1, &tree);
	CHECK_STR(tree_read(tree.dir, "small"), "small");
	prepared_close(&tree);
}

static void no_room(void)
{
	fresh();
	child_end(child_start(in_a_full_place, 0));
	done();
}

int main(int argc, char **argv)
{
	as_enter(argc, argv);
	umask(022);
	RUN(made_and_found);
	RUN(modes_and_times);
	RUN(links);
	RUN(neither_file_nor_directory);
	RUN(too_deep);
	RUN(too_large);
	RUN(too_many);
	RUN(older_ones_go);
	RUN(a_crash_leaves_nothing_of_use);
	RUN(the_wait_is_bounded);
	RUN(one_makes_it);
	RUN(two_toolchains);
	RUN(of_others);
	RUN(bad_names);
	RUN(nowhere_to_keep);
	RUN(no_room);
	return check_failures > 0;
}
