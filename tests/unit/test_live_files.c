/* Files of a box that lives (live/live_files.h): what they are, what is refused, and a program that swaps them
 * meanwhile.
 */
#include "../check.h"
#include "tree.h"

#include "base/own.h"
#include "live/live_files.h"

#include <fcntl.h>
#include <jansson.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	TRIES = 4000,        /* of each race, at least */
	TRIES_MOST = 400000, /* until both sides of it were met: threads get their turns as the machine is busy */
	MET = TRIES / 100    /* so often each side, at least */
};

static char *root; /* has sandbox/ and outside/ */
static struct live_files files = { .group = -1, .room = UINT64_MAX, .sandbox = -1 };
static struct error err;

static const char *in(const char *name)
{
	static char texts[4][512];
	static int next;
	char *text = texts[next++ % 4];

	snprintf(text, sizeof(texts[0]), "%s/%s", root, name);
	return text;
}

static void put(const char *name, const char *text)
{
	int fd = open(in(name), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close_fd(&fd);
}

static const char *text_of(int fd)
{
	static char text[256];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static const char *got(const char *name)
{
	_cleanup_close_ int fd = open(in(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	return fd < 0 ? "(none)" : text_of(fd);
}

static int memory(const char *text)
{
	int fd = memfd_create("given", MFD_CLOEXEC);

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	return fd;
}

static void fresh(void)
{
	static const char *const dirs[] = { "sandbox",        "sandbox/code",     "sandbox/data",
					    "sandbox/output", "sandbox/output/d", "outside" };

	close_fd(&files.sandbox);
	if (root)
		tree_free(root);
	root = tree_new();
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		CHECK_INT(mkdir(in(dirs[i]), 0755), 0);
	put("outside/secret", "secret");
	put("sandbox/output/d/f", "inside");
	files.sandbox = open(in("sandbox"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = (struct error){ 0 };
}

static int open_it(const char *path)
{
	struct stat st;

	err = (struct error){ 0 };
	return live_open(&files, path, &st, &err);
}

static int write_it(const char *path, const char *text, bool *made)
{
	_cleanup_close_ int from = memory(text);
	bool ignored;

	err = (struct error){ 0 };
	return live_write(&files, path, from, strlen(text), made ? made : &ignored, &err);
}

static void refused(int done, enum error_code code, const char *sentence)
{
	CHECK_INT(done, -1);
	CHECK_INT(err.code, code);
	CHECK_INT(strcspn(sentence, ":"), strlen(err.field));
	CHECK_STR(err.text, sentence);
}

static void what_is_written_is_read(void)
{
	_cleanup_close_ int fd = -1, from = -1;
	struct stat st;
	bool made = false;

	fresh();
	CHECK_INT(write_it("output/new/deep/x.txt", "one", &made), 0);
	CHECK(made);
	CHECK_STR(got("sandbox/output/new/deep/x.txt"), "one");
	CHECK_INT(chmod(in("sandbox/output/new/deep/x.txt"), 0755), 0);
	CHECK_INT(write_it("output/new/deep/x.txt", "two!", &made), 0);
	CHECK(!made);
	fd = live_open(&files, "output/new/deep/x.txt", &st, &err);
	CHECK(fd >= 0 && st.st_size == 4 && (st.st_mode & 0777) == 0755);
	CHECK_STR(text_of(fd), "two!");
	from = memory("XY");
	CHECK_INT(live_patch(&files, "output/new/deep/x.txt", from, 2, 1, &made, &err), 0);
	CHECK(!made);
	CHECK_STR(got("sandbox/output/new/deep/x.txt"), "tXY!");
	CHECK_INT(live_patch(&files, "data/y", from, 2, 3, &made, &err), 0);
	CHECK(made);
	CHECK_INT(stat(in("sandbox/data/y"), &st), 0);
	CHECK_INT(st.st_size, 5);
	/* What is read meanwhile is the old file. */
	CHECK_INT(write_it("output/new/deep/x.txt", "third", NULL), 0);
	CHECK_STR(text_of(fd), "tXY!");
	CHECK_INT(live_move(&files, "output/new/deep/x.txt", "data/z", &err), 0);
	CHECK_STR(got("sandbox/data/z"), "third");
	CHECK_INT(live_remove(&files, "data/z", &err), 0);
	CHECK_STR(got("sandbox/data/z"), "(none)");
	CHECK_INT(live_remove(&files, "output/new/deep", &err), 0);
	refused(live_remove(&files, "output/d", &err), CODE_NOT_EMPTY,
		"path: \"output/d\": the directory is not empty");
}

static void paths_that_are_none(void)
{
	static const char *const paths[] = { "..", "output/../x", "./x", "/etc/passwd", "output//x", "output/.." };
	char sentence[128];

	fresh();
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		snprintf(sentence, sizeof(sentence), "path: \"%s\" is no path below /sandbox, such as output/plot.png",
			 paths[i]);
		refused(open_it(paths[i]), CODE_BAD_REQUEST, sentence);
		refused(write_it(paths[i], "x", NULL), CODE_BAD_REQUEST, sentence);
	}
	refused(open_it("output/d/"), CODE_BAD_REQUEST, "path: \"output/d/\" ends with a slash");
	refused(open_it("output/none"), CODE_NOT_FOUND, "path: \"output/none\": there is no such file");
	refused(open_it("output/d"), CODE_NO_PLAIN_FILE, "path: \"output/d\": it is a directory");
	refused(open_it("output/d/f/g"), CODE_NO_PLAIN_FILE, "path: \"output/d/f/g\": a part of it is no directory");
	refused(write_it("output/d", "x", NULL), CODE_NO_PLAIN_FILE, "path: \"output/d\": it is a directory");
	refused(write_it("new", "x", NULL), CODE_FORBIDDEN_FILE,
		"path: \"new\": only what is below /sandbox/code, data, output and temp can be changed");
	refused(live_remove(&files, "output", &err), CODE_FORBIDDEN_FILE,
		"path: \"output\": only what is below /sandbox/code, data, output and temp can be changed");
	refused(live_move(&files, "output/d/f", "x", &err), CODE_FORBIDDEN_FILE,
		"move: \"x\": only what is below /sandbox/code, data, output and temp can be changed");
	CHECK_STR(got("sandbox/output/d/f"), "inside");
}

/* None of them may be waited for, or followed. */
static void what_is_no_plain_file(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int socket_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	fresh();
	CHECK_INT(mkfifo(in("sandbox/output/fifo"), 0644), 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", in("sandbox/output/socket"));
	CHECK_INT(bind(socket_fd, (struct sockaddr *)&address, sizeof(address)), 0);
	CHECK_INT(symlink("../../outside/secret", in("sandbox/output/link")), 0);
	CHECK_INT(symlink("../../outside", in("sandbox/output/way")), 0);
	CHECK_INT(symlink("d", in("sandbox/output/near")), 0);
	refused(open_it("output/fifo"), CODE_NO_PLAIN_FILE, "path: \"output/fifo\": it is no plain file");
	refused(open_it("output/socket"), CODE_NO_PLAIN_FILE, "path: \"output/socket\": it is no plain file");
	refused(open_it("output/link"), CODE_NO_PLAIN_FILE,
		"path: \"output/link\": it is a link, or leads through one; links are not followed");
	refused(open_it("output/way/secret"), CODE_NO_PLAIN_FILE,
		"path: \"output/way/secret\": it is a link, or leads through one; links are not followed");
	refused(open_it("output/near/f"), CODE_NO_PLAIN_FILE,
		"path: \"output/near/f\": it is a link, or leads through one; links are not followed");
	refused(write_it("output/fifo", "x", NULL), CODE_NO_PLAIN_FILE, "path: \"output/fifo\": it is no plain file");
	refused(write_it("output/link", "x", NULL), CODE_NO_PLAIN_FILE, "path: \"output/link\": it is no plain file");
	CHECK_INT(write_it("output/way/secret", "x", NULL), -1);
	CHECK_INT(live_remove(&files, "output/way/secret", &err), -1);
	CHECK_INT(live_move(&files, "output/d/f", "output/way/f", &err), -1);
	/* Of a link the name goes, and nothing behind it. */
	CHECK_INT(live_remove(&files, "output/link", &err), 0);
	CHECK_STR(got("outside/secret"), "secret");
}

static void a_directory_is_told(void)
{
	_cleanup_buf_ struct buf json = { 0 };
	json_t *whole, *list;

	fresh();
	CHECK_INT(symlink("x", in("sandbox/output/link")), 0);
	CHECK_INT(mkfifo(in("sandbox/output/a fifo"), 0644), 0);
	put("sandbox/output/b\xc3\xa9", "12345");
	put("sandbox/output/\xff", "no name that JSON has");
	CHECK_INT(live_list(&files, "output", &json, &err), 0);
	whole = json_loads(json.data, 0, NULL);
	list = json_object_get(whole, "entries");
	CHECK_STR(json_string_value(json_object_get(whole, "path")), "output");
	CHECK(json_is_false(json_object_get(whole, "truncated")));
	CHECK_INT(json_array_size(list), 4);
	for (size_t i = 0; i < 4; i++) {
		static const char *const want[][2] = {
			{ "a fifo", "other" }, { "b\xc3\xa9", "file" }, { "d", "directory" }, { "link", "link" }
		};
		json_t *one = json_array_get(list, i);

		CHECK_STR(json_string_value(json_object_get(one, "name")), want[i][0]);
		CHECK_STR(json_string_value(json_object_get(one, "type")), want[i][1]);
	}
	CHECK_INT(json_integer_value(json_object_get(json_array_get(list, 1), "size")), 5);
	json_decref(whole);
	json.size = 0;
	CHECK_INT(live_list(&files, "", &json, &err), 0);
	CHECK(strstr(json.data, "\"code\"") && strstr(json.data, "\"output\"") && !strstr(json.data, "outside"));
	refused(live_list(&files, "output/link", &json, &err), CODE_NO_PLAIN_FILE,
		"path: \"output/link\": a part of it is no directory");
}

static void many_names_are_cut(void)
{
	_cleanup_buf_ struct buf json = { 0 };
	json_t *whole;
	char name[64];

	fresh();
	for (int i = 0; i < LIVE_LISTED_MAX + 5; i++) {
		snprintf(name, sizeof(name), "sandbox/data/%d", i);
		put(name, "");
	}
	CHECK_INT(live_list(&files, "data", &json, &err), 0);
	whole = json_loads(json.data, 0, NULL);
	CHECK_INT(json_array_size(json_object_get(whole, "entries")), LIVE_LISTED_MAX);
	CHECK(json_is_true(json_object_get(whole, "truncated")));
	json_decref(whole);
}

/* ---- A program that swaps what is there, as fast as it can. */

static atomic_bool over;
static const char *swap_a, *swap_b;

static void *swap(void *unused)
{
	(void)unused;
	while (!over)
		renameat2(AT_FDCWD, swap_a, AT_FDCWD, swap_b, RENAME_EXCHANGE);
	return NULL;
}

static pthread_t begin_swapping(const char *a, const char *b)
{
	static char one[512], two[512];
	pthread_t thread;

	snprintf(one, sizeof(one), "%s", in(a));
	snprintf(two, sizeof(two), "%s", in(b));
	swap_a = one;
	swap_b = two;
	over = false;
	CHECK_INT(pthread_create(&thread, NULL, swap, NULL), 0);
	return thread;
}

static void end_swapping(pthread_t thread)
{
	over = true;
	pthread_join(thread, NULL);
}

/* A directory for a link to the outside (A3, A17): what is read is what was inside, and nothing outside changes. */
static void swapped_directories(void)
{
	int read = 0, refusals = 0, wrong = 0;
	pthread_t thread;
	char name[64];

	fresh();
	put("outside/f", "outside");
	CHECK_INT(symlink("../../outside", in("sandbox/output/evil")), 0);
	thread = begin_swapping("sandbox/output/d", "sandbox/output/evil");
	for (int i = 0; i < TRIES || (i < TRIES_MOST && (read <= MET || refusals <= MET)); i++) {
		_cleanup_close_ int fd = open_it("output/d/f");
		_cleanup_buf_ struct buf json = { 0 };

		read += fd >= 0;
		refusals += fd < 0;
		wrong += fd >= 0 && strcmp(text_of(fd), "inside") != 0;
		snprintf(name, sizeof(name), "output/d/new/%d", i % 50);
		(void)!write_it(name, "x", NULL);
		(void)!live_remove(&files, "output/d/secret", &err);
		(void)!live_move(&files, "output/d/secret", "output/taken", &err);
		(void)!live_move(&files, "output/d/f", "output/d/f", &err);
		if (live_list(&files, "output/d", &json, &err) == 0)
			wrong += strstr(json.data, "secret") != NULL;
	}
	end_swapping(thread);
	CHECK_INT(wrong, 0);
	/* Both sides of it were met. */
	CHECK(read > MET);
	CHECK(refusals > MET);
	CHECK_STR(got("outside/secret"), "secret");
	CHECK_STR(got("outside/f"), "outside");
	CHECK_STR(got("sandbox/output/taken"), "(none)");
	CHECK(access(in("outside/new"), F_OK) < 0);
}

/* The last part: a file for a link (A4), and for a fifo that would be waited for (A5). */
static void swapped_files(const char *evil)
{
	_cleanup_close_ int patch = memory("INSIDE");
	int read = 0, refusals = 0, wrong = 0, patched = 0;
	pthread_t thread;
	bool made;

	thread = begin_swapping("sandbox/output/d/f", evil);
	for (int i = 0; i < TRIES || (i < TRIES_MOST && (read <= MET || refusals <= MET || patched <= MET)); i++) {
		_cleanup_close_ int fd = open_it("output/d/f");

		read += fd >= 0;
		refusals += fd < 0;
		wrong += fd >= 0 && strcasecmp(text_of(fd), "inside") != 0;
		patched += live_patch(&files, "output/d/f", patch, 6, 0, &made, &err) == 0;
	}
	end_swapping(thread);
	CHECK_INT(wrong, 0);
	CHECK(read > MET);
	CHECK(refusals > MET);
	CHECK(patched > MET);
	CHECK_STR(got("outside/secret"), "secret");
}

static void swapped_for_a_link(void)
{
	fresh();
	CHECK_INT(symlink("../../outside/secret", in("sandbox/output/evil")), 0);
	swapped_files("sandbox/output/evil");
}

static void swapped_for_a_fifo(void)
{
	fresh();
	CHECK_INT(mkfifo(in("sandbox/output/evil"), 0644), 0);
	swapped_files("sandbox/output/evil");
}

/* A directory that is moved up and down while we walk in it: there is no way above /sandbox. */
static void moved_meanwhile(void)
{
	int read = 0, wrong = 0;
	pthread_t thread;

	fresh();
	CHECK_INT(mkdir(in("sandbox/output/d/e"), 0755), 0);
	put("sandbox/output/d/e/f", "inside");
	CHECK_INT(mkdir(in("sandbox/data/other"), 0755), 0);
	put("sandbox/data/other/f", "inside");
	thread = begin_swapping("sandbox/output/d/e", "sandbox/data/other");
	for (int i = 0; i < TRIES; i++) {
		_cleanup_close_ int fd = open_it("output/d/e/f");

		read += fd >= 0;
		wrong += fd >= 0 && strcmp(text_of(fd), "inside") != 0;
		wrong += write_it("output/d/e/g", "new", NULL) < 0 && err.code != CODE_CHANGING;
	}
	end_swapping(thread);
	CHECK_INT(wrong, 0);
	CHECK(read > TRIES / 2);
}

int main(void)
{
	RUN(what_is_written_is_read);
	RUN(paths_that_are_none);
	RUN(what_is_no_plain_file);
	RUN(a_directory_is_told);
	RUN(many_names_are_cut);
	RUN(swapped_directories);
	RUN(swapped_for_a_link);
	RUN(swapped_for_a_fifo);
	RUN(moved_meanwhile);
	close_fd(&files.sandbox);
	tree_free(root);
	return check_failures != 0;
}
