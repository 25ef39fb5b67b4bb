/* Hostile trees under /sandbox/output, listed and copied: no link is followed, nothing blocks, everything is bounded
 * (A4, A5, A6, R7). */
/* tests/run: timeout=120 */
#include "../check.h"
#include "tree.h"

#include "result/output_files.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

static char *box, *host; /* the box's output, and where it is copied to */
static int dir, to;      /* descriptors of both */
static struct file_list list;
static struct error err;

static void fresh(void)
{
	box = tree_new();
	host = tree_new();
	dir = open(box, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	to = open(host, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = (struct error){ 0 };
	list = (struct file_list){ 0 };
}

static void done(void)
{
	files_free(&list);
	close(dir);
	close(to);
	tree_free(box);
	tree_free(host);
}

static const char *path_at(size_t i)
{
	return i < list.count ? list.entries[i].path : "(none)";
}

static int copy(void)
{
	return files_copy(dir, &list, host, 1 << 20, &err);
}

static void empty(void)
{
	fresh();
	CHECK_INT(files_list(dir, &list, &err), 0);
	CHECK_INT(list.count, 0);
	CHECK(!list.cut);
	CHECK_INT(copy(), 0);
	done();
}

static void plain_files(void)
{
	struct stat st;

	fresh();
	tree_write(dir, "b", "bee", 3);
	mkdirat(dir, "sub", 0755);
	mkdirat(dir, "sub/sub", 0700);
	mkdirat(dir, "sub/empty", 0700);
	tree_write(dir, "sub/sub/c", "sea", 3);
	tree_write(dir, "a", "", 0);
	tree_mode(dir, "b", 04711);
	CHECK_INT(files_list(dir, &list, &err), 0);
	CHECK_INT(list.count, 3);
	CHECK_STR(path_at(0), "a");
	CHECK_STR(path_at(1), "b");
	CHECK_STR(path_at(2), "sub/sub/c");
	CHECK_INT(list.entries[0].size, 0);
	CHECK_INT(list.entries[1].size, 3);
	CHECK_INT(copy(), 0);
	CHECK_STR(tree_read(to, "a"), "");
	CHECK_STR(tree_read(to, "b"), "bee");
	CHECK_STR(tree_read(to, "sub/sub/c"), "sea");
	/* Executable stays executable; set-user-id does not come along. */
	CHECK_INT(fstatat(to, "b", &st, 0), 0);
	CHECK_INT(st.st_mode & 07777, 0755);
	CHECK_INT(fstatat(to, "a", &st, 0), 0);
	CHECK_INT(st.st_mode & 07777, 0644);
	done();
}

/* A4 */
static void links_are_neither_listed_nor_followed(void)
{
	fresh();
	tree_write(dir, "real", "real", 4);
	tree_link("/etc/passwd", dir, "passwd");
	tree_link("real", dir, "link");
	tree_link("/etc", dir, "etc");
	tree_link("..", dir, "up");
	tree_link("loop", dir, "loop");
	tree_link("absent", dir, "dangling");
	CHECK_INT(files_list(dir, &list, &err), 0);
	CHECK_INT(list.count, 1);
	CHECK_STR(path_at(0), "real");
	CHECK_INT(copy(), 0);
	CHECK_STR(tree_read(to, "real"), "real");
	CHECK_STR(tree_read(to, "passwd"), "(absent)");
	done();
}

/* A list that names links, as if they had been swapped in after the listing. */
static void swapped_for_a_link_after_the_listing(void)
{
	fresh();
	tree_write(dir, "file", "good", 4);
	mkdirat(dir, "sub", 0755);
	tree_write(dir, "sub/passwd", "good", 4);
	CHECK_INT(files_list(dir, &list, &err), 0);
	CHECK_INT(list.count, 2);
	unlinkat(dir, "file", 0);
	tree_link("/etc/passwd", dir, "file");
	CHECK_INT(copy(), 0);
	CHECK(list.cut);
	list.cut = false;
	CHECK_STR(tree_read(to, "file"), "(absent)");
	unlinkat(dir, "file", 0);
	tree_write(dir, "file", "good", 4);
	unlinkat(dir, "sub/passwd", 0);
	unlinkat(dir, "sub", AT_REMOVEDIR);
	tree_link("/etc", dir, "sub");
	unlinkat(to, "sub/passwd", 0);
	CHECK_INT(copy(), 0);
	CHECK(list.cut);
	CHECK_STR(tree_read(to, "file"), "good");
	CHECK_STR(tree_read(to, "sub/passwd"), "(absent)");
	done();
}

static void paths_that_lead_out_are_refused(void)
{
	struct file_entry entry = { .path = "../../etc/passwd" };
	struct file_list made_up = { .entries = &entry, .count = 1 };

	fresh();
	CHECK_INT(files_copy(dir, &made_up, host, 1 << 20, &err), 0);
	CHECK(made_up.cut);
	made_up.cut = false;
	entry.path = "/etc/passwd";
	CHECK_INT(files_copy(dir, &made_up, host, 1 << 20, &err), 0);
	CHECK(made_up.cut);
	CHECK_STR(tree_read(to, "etc/passwd"), "(absent)");
	done();
}

/* A5 */
static void fifos_sockets_and_devices_are_skipped(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct file_entry entry = { .path = "fifo" };
	struct file_list made_up = { .entries = &entry, .count = 1 };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	fresh();
	mkfifoat(dir, "fifo", 0666);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", box);
	CHECK_INT(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
	/* Only root may make one; the others suffice where we are not. */
	(void)!mknodat(dir, "device", S_IFCHR | 0666, 0x0103);
	tree_write(dir, "real", "real", 4);
	CHECK_INT(files_list(dir, &list, &err), 0);
	CHECK_INT(list.count, 1);
	CHECK_STR(path_at(0), "real");
	/* Swapped in after the listing: left out at once, no wait for a writer. */
	CHECK_INT(files_copy(dir, &made_up, host, 1 << 20, &err), 0);
	CHECK(made_up.cut);
	done();
}

/* A6 */
static void directories_too_deep(void)
{
	int at;

	fresh();
	at = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	for (int i = 0; i < 100; i++) {
		int sub;

		tree_write(at, "f", "x", 1);
		mkdirat(at, "d", 0755);
		sub = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(at);
		at = sub;
	}
	close(at);
	CHECK_INT(files_list(dir, &list, &err), 0);
	CHECK(list.cut);
	CHECK(list.count > 0 && list.count <= FILES_DEPTH_MAX + 1);
	CHECK_INT(copy(), 0);
	done();
}

static void as_deep_as_allowed(void)
{
	char path[256] = "";

	fresh();
	for (int i = 0; i < FILES_DEPTH_MAX; i++) {
		strcat(path, i ? "/d" : "d");
		mkdirat(dir, path, 0755);
	}
	strcat(path, "/f");
	tree_write(dir, path, "deep", 4);
	CHECK_INT(files_list(dir, &list, &err), 0);
	CHECK(!list.cut);
	CHECK_INT(list.count, 1);
	CHECK_STR(path_at(0), path);
	CHECK_INT(copy(), 0);
	CHECK_STR(tree_read(to, path), "deep");
	done();
}

/* A6: names that take no time to make and much to list */
static void names_without_end(void)
{
	char name[32];

	fresh();
	for (int i = 0; i < 21000; i++) {
		snprintf(name, sizeof(name), "n%05d", i);
		tree_link("x", dir, name);
	}
	CHECK_INT(files_list(dir, &list, &err), 0);
	CHECK(list.cut);
	CHECK_INT(list.count, 0);
	done();
}

static void more_files_than_are_listed(void)
{
	char name[32];

	fresh();
	for (int i = 0; i < FILES_LISTED_MAX; i++) {
		snprintf(name, sizeof(name), "n%05d", i);
		tree_write(dir, name, "", 0);
	}
	CHECK_INT(files_list(dir, &list, &err), 0);
	CHECK(!list.cut);
	CHECK_INT(list.count, FILES_LISTED_MAX);
	files_free(&list);
	tree_write(dir, "one-more", "", 0);
	CHECK_INT(files_list(dir, &list, &err), 0);
	CHECK(list.cut);
	CHECK_INT(list.count, FILES_LISTED_MAX);
	for (size_t i = 1; i < list.count; i++)
		CHECK(strcmp(list.entries[i - 1].path, list.entries[i].path) < 0);
	done();
}

/* R7 */
static void a_sparse_giant(void)
{
	const off_t giant = (off_t)1 << 40;
	struct timespec begin, end;
	struct stat st;
	int fd;

	fresh();
	fd = openat(dir, "giant", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	CHECK_INT(pwrite(fd, "head", 4, 0), 4);
	CHECK_INT(pwrite(fd, "middle", 6, giant / 2), 6);
	CHECK_INT(ftruncate(fd, giant), 0);
	close(fd);
	CHECK_INT(files_list(dir, &list, &err), 0);
	CHECK_INT(list.count, 1);
	CHECK_INT(list.entries[0].size, giant);
	CHECK(list.entries[0].blocks < 1 << 20);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	CHECK_INT(copy(), 0);
	clock_gettime(CLOCK_MONOTONIC, &end);
	/* Reading a terabyte takes minutes; this is no measure of speed. */
	CHECK(end.tv_sec - begin.tv_sec < 20);
	CHECK_INT(fstatat(to, "giant", &st, 0), 0);
	CHECK_INT(st.st_size, giant);
	CHECK(st.st_blocks * 512 < 1 << 20);
	fd = openat(to, "giant", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		char text[7] = "";

		CHECK_INT(pread(fd, text, 6, giant / 2), 6);
		CHECK_STR(text, "middle");
		close(fd);
	}
	done();
}

static void more_data_than_allowed(void)
{
	char *data = calloc(1, 8192);

	fresh();
	memset(data, 'x', 8192);
	tree_write(dir, "a", data, 8192);
	tree_write(dir, "b", data, 8192);
	CHECK_INT(files_list(dir, &list, &err), 0);
	CHECK_INT(files_copy(dir, &list, host, 16384, &err), 0);
	CHECK(!list.cut);
	CHECK_INT(strlen(tree_read(to, "b")), 8192);
	CHECK_INT(files_copy(dir, &list, host, 16383, &err), 0);
	CHECK(list.cut);
	CHECK_INT(strlen(tree_read(to, "a")), 8192);
	CHECK_STR(tree_read(to, "b"), "(absent)");
	free(data);
	done();
}

static void names_that_are_no_text(void)
{
	fresh();
	tree_write(dir, "\xff\xfe", "bytes", 5);
	tree_write(dir, "line\nbreak", "newline", 7);
	tree_write(dir, " ", "blank", 5);
	tree_write(dir, "...", "dots", 4);
	CHECK_INT(files_list(dir, &list, &err), 0);
	CHECK_INT(list.count, 4);
	CHECK_STR(path_at(0), " ");
	CHECK_STR(path_at(1), "...");
	CHECK_STR(path_at(2), "line\nbreak");
	CHECK_STR(path_at(3), "\xff\xfe");
	CHECK_INT(copy(), 0);
	CHECK_STR(tree_read(to, "\xff\xfe"), "bytes");
	CHECK_STR(tree_read(to, "line\nbreak"), "newline");
	done();
}

/* A17: the target may hold what an earlier run, or a stranger, put there. */
static void planted_links_in_the_target(void)
{
	char *victim;
	int outside;

	fresh();
	victim = tree_new();
	outside = open(victim, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	tree_write(outside, "file", "untouched", 9);
	tree_write(dir, "file", "copied", 6);
	mkdirat(dir, "sub", 0755);
	tree_write(dir, "sub/file", "copied", 6);
	CHECK_INT(files_list(dir, &list, &err), 0);

	/* In a file's place: replaced, not written through. */
	{
		char target[128];
		struct stat st;

		snprintf(target, sizeof(target), "%s/file", victim);
		tree_link(target, to, "file");
		CHECK_INT(copy(), 0);
		CHECK_STR(tree_read(outside, "file"), "untouched");
		CHECK_STR(tree_read(to, "file"), "copied");
		CHECK_INT(fstatat(to, "file", &st, AT_SYMLINK_NOFOLLOW), 0);
		CHECK(S_ISREG(st.st_mode));
	}
	/* A hard link is replaced too. */
	unlinkat(to, "file", 0);
	CHECK_INT(linkat(outside, "file", to, "file", 0), 0);
	CHECK_INT(copy(), 0);
	CHECK_STR(tree_read(outside, "file"), "untouched");
	CHECK_STR(tree_read(to, "file"), "copied");
	/* In a directory's place: refused. */
	unlinkat(to, "sub/file", 0);
	unlinkat(to, "sub", AT_REMOVEDIR);
	tree_link(victim, to, "sub");
	CHECK_INT(copy(), -1);
	CHECK_INT(err.errnum, ENOTDIR);
	CHECK_STR(tree_read(outside, "file"), "untouched");
	close(outside);
	tree_free(victim);
	done();
}

static void other_things_in_the_target(void)
{
	fresh();
	tree_write(dir, "a", "copied", 6);
	mkdirat(dir, "sub", 0755);
	tree_write(dir, "sub/b", "copied", 6);
	CHECK_INT(files_list(dir, &list, &err), 0);
	/* A fifo nobody reads would block who opens it for writing. */
	mkfifoat(to, "a", 0666);
	CHECK_INT(copy(), 0);
	CHECK_STR(tree_read(to, "a"), "copied");
	unlinkat(to, "sub/b", 0);
	unlinkat(to, "sub", AT_REMOVEDIR);
	mkfifoat(to, "sub", 0666);
	CHECK_INT(copy(), -1);
	CHECK_INT(err.errnum, ENOTDIR);
	unlinkat(to, "sub", 0);
	unlinkat(to, "a", 0);
	mkdirat(to, "a", 0755);
	CHECK_INT(copy(), -1);
	CHECK_INT(err.errnum, EISDIR);
	done();
}

static void targets_that_cannot_be(void)
{
	char path[128], sentence[256];

	fresh();
	snprintf(path, sizeof(path), "%s/made", host);
	tree_write(dir, "a", "x", 1);
	CHECK_INT(files_list(dir, &list, &err), 0);
	CHECK_INT(files_copy(dir, &list, path, 100, &err), 0);
	CHECK_STR(tree_read(to, "made/a"), "x");
	snprintf(path, sizeof(path), "%s/not/made", host);
	snprintf(sentence, sizeof(sentence), "output: cannot make the directory \"%s\": No such file or directory",
		 path);
	CHECK_INT(files_copy(dir, &list, path, 100, &err), -1);
	CHECK_INT(err.kind, ERROR_USAGE);
	CHECK_STR(err.text, sentence);
	snprintf(path, sizeof(path), "%s/made/a", host);
	snprintf(sentence, sizeof(sentence), "output: cannot open the directory \"%s\": Not a directory", path);
	CHECK_INT(files_copy(dir, &list, path, 100, &err), -1);
	CHECK_STR(err.text, sentence);
	done();
}

static void targets_are_checked_before_a_run(void)
{
	char path[128], sentence[256];

	fresh();
	CHECK_INT(files_check_target(host, &err), 0);
	snprintf(path, sizeof(path), "%s/made//", host);
	CHECK_INT(files_check_target(path, &err), 0);
	/* Asking makes nothing. */
	CHECK_ERRNO(faccessat(to, "made", F_OK, 0), ENOENT);
	CHECK_INT(files_check_target("here", &err), 0);
	snprintf(path, sizeof(path), "%s/not/made", host);
	snprintf(sentence, sizeof(sentence), "output: cannot make the directory \"%s\": No such file or directory",
		 path);
	CHECK_INT(files_check_target(path, &err), -1);
	CHECK_INT(err.kind, ERROR_USAGE);
	CHECK_STR(err.text, sentence);
	tree_write(to, "file", "", 0);
	snprintf(path, sizeof(path), "%s/file", host);
	snprintf(sentence, sizeof(sentence), "output: cannot open the directory \"%s\": Not a directory", path);
	CHECK_INT(files_check_target(path, &err), -1);
	CHECK_STR(err.text, sentence);
	snprintf(path, sizeof(path), "%s/file/x", host);
	snprintf(sentence, sizeof(sentence), "output: cannot make the directory \"%s\": Not a directory", path);
	CHECK_INT(files_check_target(path, &err), -1);
	CHECK_STR(err.text, sentence);
	/* Where even root makes nothing, though it may write. */
	CHECK_INT(files_check_target("/proc/x", &err), -1);
	CHECK_STR(err.text, "output: cannot make the directory \"/proc/x\": Operation not permitted");
	CHECK_INT(files_check_target("/proc/self", &err), -1);
	CHECK_STR(err.text, "output: cannot write to the directory \"/proc/self\": Operation not permitted");
	done();
}

static void no_descriptor_is_left_open(void)
{
	int before, after;

	before = dup(0);
	close(before);
	plain_files();
	planted_links_in_the_target();
	directories_too_deep();
	after = dup(0);
	close(after);
	CHECK_INT(after, before);
}

int main(void)
{
	umask(022);
	RUN(empty);
	RUN(plain_files);
	RUN(links_are_neither_listed_nor_followed);
	RUN(swapped_for_a_link_after_the_listing);
	RUN(paths_that_lead_out_are_refused);
	RUN(fifos_sockets_and_devices_are_skipped);
	RUN(directories_too_deep);
	RUN(as_deep_as_allowed);
	RUN(names_without_end);
	RUN(more_files_than_are_listed);
	RUN(a_sparse_giant);
	RUN(more_data_than_allowed);
	RUN(names_that_are_no_text);
	RUN(planted_links_in_the_target);
	RUN(other_things_in_the_target);
	RUN(targets_that_cannot_be);
	RUN(targets_are_checked_before_a_run);
	RUN(no_descriptor_is_left_open);
	return check_failures != 0;
}
