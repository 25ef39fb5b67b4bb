/* Files that a run left: what is kept of them, who reads them, and when they go. No box is made. */
#include "../check.h"
#include "state_home.h"

#include "base/own.h"
#include "result/result.h"
#include "store/kept.h"
#include "store/record.h"
#include "store/store.h"

#include <dirent.h>
#include <jansson.h>
#include <time.h>

static char *box;   /* the box's output */
static int box_dir; /* the same, open */
static struct journal *journal;
static struct store *store;
static struct file_list list;
static struct error err;

static void store_begin(const struct store_options *options)
{
	bool taking = false;

	store_close(store);
	store = NULL;
	CHECK_INT(store_open(options, &taking, &store, &err), 0);
	CHECK(taking);
}

static void fresh(void)
{
	home_new();
	box = tree_new();
	box_dir = open(box, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = (struct error){ 0 };
	list = (struct file_list){ 0 };
	CHECK_INT(journal_open(&journal, &err), 0);
	store_begin(&(struct store_options){ 0 });
}

static void done(void)
{
	files_free(&list);
	store_close(store);
	journal_close(journal);
	store = NULL;
	journal = NULL;
	close(box_dir);
	tree_free(box);
	home_free();
}

/* What the store gives for it as text; static. */
static const char *stored(const char *id, const char *caller, const char *path, int want)
{
	static char text[4096];
	int status = 0, fd = store_file(store, id, caller, path, &status, &err);
	ssize_t n;

	CHECK_INT(status, want);
	if (fd < 0)
		return "(none)";
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

/* A run that left what is in the box, as the keeper records it. */
static void record(const char *caller_name, time_t when, char id[RESULT_ID])
{
	const struct record_caller caller = {
		.door = "http", .name = caller_name, .request_id = "", .profile = "", .place = ""
	};
	struct result *result;
	struct spec spec;

	spec_init(&spec);
	spec_set(&spec, "language", "python", &err);
	spec_set_code(&spec, "1", 1, &err);
	result = result_new(&spec);
	strcpy(id, result->id);
	if (when)
		result->time.tv_sec = when;
	CHECK_INT(record_start(journal, id, &spec, &caller, &err), 0);
	CHECK_INT(files_list(box_dir, &result->files, &err), 0);
	/* While it runs there is nothing to be had. */
	CHECK_INT(store_take(store, &err), 0);
	stored(id, caller_name, "plain", 409);
	CHECK_STR(err.text, "it is still running: its files are kept when it ends");
	stored(id, "nobody", "plain", 404);
	record_keep(journal, id, box_dir, &result->files);
	/* Whatever is kept of the code. */
	CHECK_INT(record_end(journal, &spec, &caller, result, RECORD_CODE_NEVER, &err), 0);
	result_free(result);
	spec_free(&spec);
	CHECK_INT(store_take(store, &err), 0);
}

static void keep(const char *id)
{
	files_free(&list);
	CHECK_INT(files_list(box_dir, &list, &err), 0);
	kept_copy(home_dir, id, box_dir, &list);
}

static const struct file_entry *entry(const char *path)
{
	static const struct file_entry none = { .path = "(none)" };

	for (size_t i = 0; i < list.count; i++)
		if (strcmp(list.entries[i].path, path) == 0)
			return &list.entries[i];
	check_fail("%s is not listed", path);
	return &none;
}

static void write_size(const char *path, off_t size)
{
	int fd = openat(box_dir, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0 || ftruncate(fd, size) < 0)
		abort();
	close(fd);
}

#define ID    "01ARZ3NDEKTSV4RRFFQ69G5FAV"
#define OTHER "01ARZ3NDEKTSV4RRFFQ69G5FAW"

static void nothing_is_made_for_nothing(void)
{
	fresh();
	tree_link("/etc/passwd", box_dir, "link");
	mkdirat(box_dir, "empty", 0755);
	keep(ID);
	CHECK_INT(list.count, 0);
	CHECK(!kept_any(&list));
	CHECK(!exists(home_dir, "executions"));
	done();
}

static void plain_files_are_kept(void)
{
	struct stat st;

	fresh();
	mkdirat(box_dir, "sub", 0755);
	mkdirat(box_dir, "sub/d e", 0755);
	tree_write(box_dir, "sub/d e/\xc3\xbc \\%", "deep", 4);
	tree_write(box_dir, "none", "", 0);
	tree_link("/etc/passwd", box_dir, "link");
	mkfifoat(box_dir, "pipe", 0644);
	tree_mode(box_dir, "none", 04777);
	keep(ID);
	CHECK_INT(list.count, 2);
	CHECK(entry("none")->kept && entry("sub/d e/\xc3\xbc \\%")->kept);
	CHECK_STR(tree_read(home_dir, "executions/" ID ".files/sub/d e/\xc3\xbc \\%"), "deep");
	CHECK_STR(tree_read(home_dir, "executions/" ID ".files/none"), "");
	CHECK_INT(fstatat(home_dir, "executions/" ID ".files/none", &st, 0), 0);
	CHECK_INT(st.st_mode & 07177, 0);
	CHECK_INT(fstatat(home_dir, "executions/" ID ".files", &st, 0), 0);
	CHECK_INT(st.st_mode & 07777, 0700);
	CHECK_INT(count_entries(home_dir, "executions"), 1);
	CHECK_INT(count_entries(home_dir, "executions/" ID ".files"), 2);
	done();
}

/* They are taken in order; what does not fit is passed over. Holes count: who asks gets them as zeroes. */
static void what_does_not_fit_is_left_out(void)
{
	fresh();
	write_size("a", KEPT_BYTES_MAX - 10);
	write_size("b", 11);
	tree_write(box_dir, "c", "0123456789", 10);
	tree_write(box_dir, "d", "x", 1);
	tree_write(box_dir, "e", "", 0);
	write_size("f", (off_t)1 << 40);
	keep(ID);
	CHECK(entry("a")->kept && entry("c")->kept && entry("e")->kept);
	CHECK(!entry("b")->kept && !entry("d")->kept && !entry("f")->kept);
	CHECK(!exists(home_dir, "executions/" ID ".files/b"));
	CHECK(exists(home_dir, "executions/" ID ".files/c"));
	/* A single one that is too large leaves nothing at all. */
	unlinkat(box_dir, "a", 0);
	unlinkat(box_dir, "b", 0);
	unlinkat(box_dir, "c", 0);
	unlinkat(box_dir, "d", 0);
	unlinkat(box_dir, "e", 0);
	keep(OTHER);
	CHECK_INT(list.count, 1);
	CHECK(!kept_any(&list));
	CHECK_INT(count_entries(home_dir, "executions"), 1);
	done();
}

static void what_cannot_be_asked_for_is_left_out(void)
{
	char path[KEPT_PATH_MAX + 16] = "", *at = path;

	fresh();
	tree_write(box_dir, "good", "1", 1);
	tree_write(box_dir, "line\nbreak", "1", 1);
	tree_write(box_dir, "\x7f", "1", 1);
	tree_write(box_dir, "no\xffutf", "1", 1);
	for (int i = 0; i < 4; i++) {
		memset(at, 'x', 239);
		mkdirat(box_dir, path, 0755);
		at += 239;
		*at++ = '/';
	}
	strcpy(at, "f");
	tree_write(box_dir, path, "1", 1);
	keep(ID);
	CHECK_INT(list.count, 5);
	CHECK(entry("good")->kept);
	CHECK(!entry("line\nbreak")->kept && !entry("\x7f")->kept && !entry("no\xffutf")->kept && !entry(path)->kept);
	/* One byte less is one that can. */
	CHECK_INT(strlen(path), KEPT_PATH_MAX + 1);
	path[0] = 'y';
	CHECK(!kept_is_path(path));
	path[strlen(path) - 2] = 'x';
	path[strlen(path) - 1] = '\0';
	CHECK(kept_is_path(path));
	done();
}

/* In a container the program goes on: what was listed may be anything by now. */
static void swapped_after_the_listing(void)
{
	fresh();
	tree_write(box_dir, "file", "good", 4);
	tree_write(box_dir, "gone", "good", 4);
	tree_write(box_dir, "grown", "good", 4);
	tree_write(box_dir, "pipe", "good", 4);
	tree_write(box_dir, "stays", "good", 4);
	mkdirat(box_dir, "sub", 0755);
	tree_write(box_dir, "sub/passwd", "good", 4);
	CHECK_INT(files_list(box_dir, &list, &err), 0);
	CHECK_INT(list.count, 6);
	unlinkat(box_dir, "file", 0);
	unlinkat(box_dir, "gone", 0);
	unlinkat(box_dir, "pipe", 0);
	unlinkat(box_dir, "sub/passwd", 0);
	unlinkat(box_dir, "sub", AT_REMOVEDIR);
	tree_link("/etc/passwd", box_dir, "file");
	tree_link("/etc", box_dir, "sub");
	mkfifoat(box_dir, "pipe", 0644);
	write_size("grown", 7);
	kept_copy(home_dir, ID, box_dir, &list);
	CHECK(!entry("file")->kept && !entry("gone")->kept && !entry("pipe")->kept && !entry("sub/passwd")->kept);
	CHECK(entry("stays")->kept && entry("grown")->kept);
	CHECK_INT(entry("grown")->size, 7);
	CHECK(!exists(home_dir, "executions/" ID ".files/file"));
	done();
}

/* A name that is a file and a directory at once, or there twice: what is kept is one of them. */
static void a_list_that_cannot_be(void)
{
	struct file_entry entries[] = { { .path = "a" }, { .path = "a" }, { .path = "a/b" } };
	struct file_list odd = { .entries = entries, .count = ARRAY_SIZE(entries) };

	fresh();
	tree_write(box_dir, "a", "file", 4);
	kept_copy(home_dir, ID, box_dir, &odd);
	CHECK(entries[0].kept && !entries[1].kept && !entries[2].kept);
	CHECK_STR(tree_read(home_dir, "executions/" ID ".files/a"), "file");
	/* Nor is one run's directory another's: the name is taken. */
	CHECK_INT(unlinkat(box_dir, "a", 0), 0);
	tree_write(box_dir, "a", "other", 5);
	kept_copy(home_dir, ID, box_dir, &odd);
	CHECK(!kept_any(&odd));
	CHECK_STR(tree_read(home_dir, "executions/" ID ".files/a"), "file");
	CHECK_INT(count_entries(home_dir, "executions"), 1);
	done();
}

static void keep_without_room(int number)
{
	char id[RESULT_ID];

	(void)number;
	home_shrink("size=2m,mode=0700");
	CHECK_INT(journal_open(&journal, &err), 0);
	store_begin(&(struct store_options){ 0 });
	record("me", 0, id);
	CHECK_STR(stored(id, "me", "small", 200), "small");
	stored(id, "me", "large", 404);
	CHECK_INT(count_entries(home_dir, "executions"), 1);
}

static void a_full_disk_is_no_failure(void)
{
	fresh();
	write_size("large", 3 << 20);
	tree_write(box_dir, "small", "small", 5);
	store_close(store);
	journal_close(journal);
	store = NULL;
	journal = NULL;
	child_end(child_start(keep_without_room, 0));
	done();
}

static void paths(void)
{
	static const char *const good[] = { "a",      "a/b", ".a",       "..a", "...", "a..",
					    "a/.b/c", "a b", "\xc3\xbc", "\\",  "%2e" };
	static const char *const bad[] = { "",    ".",    "..",   "/",      "/a",  "a/",   "a//b", "./a",
					   "a/.", "../a", "a/..", "a/../b", "a\n", "\x01", "\xff", "a/./b" };

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		if (!kept_is_path(good[i]))
			check_fail("\"%s\" is refused", good[i]);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (kept_is_path(bad[i]))
			check_fail("\"%s\" is taken", bad[i]);
}

static void the_store_gives_them_to_their_caller(void)
{
	static const char *const strange[] = { "",
					       ".",
					       "..",
					       "../" ID ".out",
					       "../../history.db",
					       "/etc/passwd",
					       "sub/..",
					       "sub/../plain",
					       "sub/",
					       "//plain",
					       "plain/",
					       "sub//deep" };
	static const char *const absent[] = { "absent", "sub", "plain/x", "link" };
	char id[RESULT_ID], none[RESULT_ID], want[256], path[128];

	fresh();
	record("me", 0, none);
	tree_write(box_dir, "plain", "text", 4);
	mkdirat(box_dir, "sub", 0755);
	tree_write(box_dir, "sub/deep", "deep", 4);
	record("me", 0, id);
	CHECK_STR(stored(id, "me", "plain", 200), "text");
	CHECK_STR(stored(id, NULL, "sub/deep", 200), "deep");
	stored(id, "them", "plain", 404);
	snprintf(want, sizeof(want), "there is no execution \"%s\"", id);
	CHECK_STR(err.text, want);
	stored("../history", NULL, "plain", 404);
	CHECK_STR(err.text, "there is no such execution: an id has 26 letters and digits");
	/* Also if somebody put a link there. */
	snprintf(path, sizeof(path), "executions/%s.files/link", id);
	tree_link("plain", home_dir, path);
	for (size_t i = 0; i < ARRAY_SIZE(absent); i++) {
		stored(id, "me", absent[i], 404);
		snprintf(want, sizeof(want), "there is no kept file \"%s\" of execution \"%s\"", absent[i],
			 id);
		CHECK_STR(err.text, want);
	}
	for (size_t i = 0; i < ARRAY_SIZE(strange); i++) {
		stored(id, "me", strange[i], 404);
		CHECK_STR(err.text, "there is no such file: give a path from the result's files");
	}
	stored(none, "me", "plain", 404);
	done();
}

static void the_result_says_it(void)
{
	_cleanup_buf_ struct buf out = { 0 };
	char id[RESULT_ID];
	json_t *root, *files;

	fresh();
	write_size("big", KEPT_BYTES_MAX + 1);
	tree_write(box_dir, "small", "x", 1);
	record("me", 0, id);
	CHECK_INT(store_show(store, id, NULL, &out, &err), 200);
	root = json_loadb(out.data, out.size, 0, NULL);
	files = json_object_get(root, "files");
	CHECK_INT(json_array_size(files), 2);
	CHECK(json_is_false(json_object_get(json_array_get(files, 0), "kept")));
	CHECK(json_is_true(json_object_get(json_array_get(files, 1), "kept")));
	json_decref(root);
	done();
}

static void make_old(const char *path)
{
	const struct timespec ancient[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };

	CHECK_INT(utimensat(home_dir, path, ancient, 0), 0);
}

static void old_ones_and_leftovers_go(void)
{
	char old[RESULT_ID], new[RESULT_ID], path[128];

	fresh();
	mkdirat(box_dir, "sub", 0755);
	tree_write(box_dir, "sub/file", "text", 4);
	record("me", time(NULL) - 3 * 86400, old);
	record("me", 0, new);
	snprintf(path, sizeof(path), "executions/%s.files", new);
	make_old(path);
	/* What a death in the middle leaves: half a copy, and one of a run that has no result; and somebody's own. */
	for (const char *const *name = (const char *const[]){ "executions/." ID ".files.tmp", "executions/" ID ".files",
							      "executions/mine", "executions/mine.files", NULL };
	     *name; name++) {
		CHECK_INT(mkdirat(home_dir, *name, 0700), 0);
		snprintf(path, sizeof(path), "%s/part", *name);
		tree_write(home_dir, path, "x", 1);
		make_old(*name);
	}
	/* Those may be of a run that is just ending. */
	CHECK_INT(mkdirat(home_dir, "executions/." OTHER ".files.tmp", 0700), 0);
	CHECK_INT(mkdirat(home_dir, "executions/" OTHER ".files", 0700), 0);
	store_begin(&(struct store_options){ .days = 2 });
	CHECK_INT(store_sweep(store, &err), 0);
	stored(old, NULL, "sub/file", 404);
	CHECK_STR(stored(new, NULL, "sub/file", 200), "text");
	snprintf(path, sizeof(path), "executions/%s.files", old);
	CHECK(!exists(home_dir, path));
	CHECK(!exists(home_dir, "executions/." ID ".files.tmp"));
	CHECK(!exists(home_dir, "executions/" ID ".files"));
	CHECK(exists(home_dir, "executions/mine/part"));
	CHECK(exists(home_dir, "executions/mine.files/part"));
	CHECK(exists(home_dir, "executions/." OTHER ".files.tmp"));
	CHECK(exists(home_dir, "executions/" OTHER ".files"));
	done();
}

/* A hundred of 100 000 bytes, of which 3 000 000 may stay; small ones count for what they take of the disk. */
static void much_is_made_less(void)
{
	char first[RESULT_ID] = "", last[RESULT_ID] = "", id[RESULT_ID];
	size_t left;

	fresh();
	write_size("large", 100000);
	for (int i = 0; i < 60; i++) {
		record("me", 1700000000 + i, id);
		strcpy(first[0] ? last : first, id);
	}
	CHECK_INT(count_entries(home_dir, "executions"), 60);
	store_begin(&(struct store_options){ .size_max = 3000000 });
	CHECK_INT(store_sweep(store, &err), 0);
	left = count_entries(home_dir, "executions");
	CHECK(left > 10 && left < 30);
	stored(first, NULL, "large", 404);
	stored(last, NULL, "large", 200);
	CHECK_INT(kept_size(home_dir, "executions"), 4096 + left * (4096 + 4096 + 100000));
	done();
}

int main(void)
{
	RUN(nothing_is_made_for_nothing);
	RUN(plain_files_are_kept);
	RUN(what_does_not_fit_is_left_out);
	RUN(what_cannot_be_asked_for_is_left_out);
	RUN(swapped_after_the_listing);
	RUN(a_list_that_cannot_be);
	RUN(a_full_disk_is_no_failure);
	RUN(paths);
	RUN(the_store_gives_them_to_their_caller);
	RUN(the_result_says_it);
	RUN(old_ones_and_leftovers_go);
	RUN(much_is_made_less);
	return check_failures != 0;
}
