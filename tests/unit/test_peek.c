/* When the supervisor takes what a program holds back for new, and when for what it has just written. */
#include "../check.h"

#include "base/own.h"
#include "engine/ember/notice.h"
#include "engine/local/peek.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	STREAM = 4096,  /* addresses in the program: of the rb_io_t… */
	DATA = 8192,    /* …and of its buffer */
	PENDING = 16,   /* in the rb_io_t: the buffer… */
	NUMBER = 8,     /* …and the descriptor */
	TURN = 1000000, /* nanoseconds that a program has when it goes on */
};

/* A directory that looks like the /proc of a box, with one program in it: a Ruby. */
static struct {
	char path[64];
	int proc, memory, output;
	uint64_t run_time;
	struct peek peek;
	struct output so_far;
} box;

static void file_put(const char *name, const char *text)
{
	_cleanup_close_ int fd = openat(box.proc, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CHECK_INT(write(fd, text, strlen(text)), strlen(text));
}

static void box_make(void)
{
	const struct notice notice = {
		.magic = NOTICE_MAGIC, .kind = NOTICE_RUBY, .pending = PENDING, .number = NUMBER, .stream = STREAM
	};
	const int number = STDOUT_FILENO;
	char link[32];
	int pipes[2];

	strcpy(box.path, "/tmp/emberbox-peek-XXXXXX");
	CHECK(mkdtemp(box.path) != NULL && pipe2(pipes, O_CLOEXEC) == 0);
	box.proc = open(box.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(mkdirat(box.proc, PEEK_PROGRAM, 0700) == 0 && mkdirat(box.proc, PEEK_PROGRAM "/fd", 0700) == 0);
	box.output = pipes[0];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", pipes[1]);
	CHECK(symlinkat(link, box.proc, PEEK_PROGRAM "/fd/1") == 0);
	box.memory = openat(box.proc, PEEK_PROGRAM "/mem", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CHECK_INT(pwrite(box.memory, &notice, sizeof(notice), NOTICE_ADDRESS), sizeof(notice));
	CHECK_INT(pwrite(box.memory, &number, sizeof(number), STREAM + NUMBER), sizeof(number));
	box.run_time = 0;
	file_put(PEEK_PROGRAM "/syscall", "running\n");
	output_init(&box.so_far);
	box.peek = (struct peek){ 0 };
	peek_begin(&box.peek, true, 0, 1);
}

static void box_free(void)
{
	static const char *const files[] = { "fd/1", "mem", "syscall", "schedstat" };
	char path[32];

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), PEEK_PROGRAM "/%s", files[i]);
		unlinkat(box.proc, path, 0);
	}
	unlinkat(box.proc, PEEK_PROGRAM "/fd", AT_REMOVEDIR);
	unlinkat(box.proc, PEEK_PROGRAM, AT_REMOVEDIR);
	rmdir(box.path);
	peek_end(&box.peek);
	output_free(&box.so_far);
	close(box.proc);
	close(box.memory);
	close(box.output);
}

static void output_has(const char *text)
{
	CHECK_INT(output_add(&box.so_far, text, strlen(text)), strlen(text));
}

static void program_holds(const char *text)
{
	struct notice_ruby_buffer buffer = { .data = DATA, .length = (int)strlen(text), .capacity = 4096 };

	CHECK_INT(pwrite(box.memory, text, strlen(text), DATA), strlen(text));
	CHECK_INT(pwrite(box.memory, &buffer, sizeof(buffer), STREAM + PENDING), sizeof(buffer));
}

static void program_runs(uint64_t nsec)
{
	char text[64];

	box.run_time += nsec;
	snprintf(text, sizeof(text), "%llu 0 1\n", (unsigned long long)box.run_time);
	file_put(PEEK_PROGRAM "/schedstat", text);
}

/* What a look finds. */
static const char *found(void)
{
	static char text[256];
	const char *news = NULL;
	size_t size = peek_read(&box.peek, box.proc, box.output, &box.so_far, &news);

	CHECK(size < sizeof(text));
	if (size > 0)
		memcpy(text, news, size);
	text[size] = '\0';
	return text;
}

static void what_was_not_written_is_new(void)
{
	box_make();
	program_runs(TURN);
	program_holds("one\n");
	CHECK_STR(found(), "one\n");
	box_free();
	box_make();
	program_runs(TURN);
	output_has("zero\n");
	program_holds("one\n");
	CHECK_STR(found(), "one\n");
	box_free();
}

/* Between a write and the note of it, each of these is in the output, and the buffer still holds "one\ntwo\n". */
static void what_was_just_written_is_not_new(void)
{
	static const char *const written[] = {
		"one\ntwo\n",        "zero\none\ntwo\n",
		"one\ntwo\nthree\n", /* the buffer, and what did not fit into it, by one call */
		"zero\none\n",       /* a part, until there was room in the pipe */
		"zero\no",
	};

	for (size_t i = 0; i < ARRAY_SIZE(written); i++) {
		box_make();
		program_runs(TURN);
		output_has(written[i]);
		program_holds("one\ntwo\n");
		CHECK_STR(found(), "");
		/* It goes on, notes it, and holds something else. */
		program_runs(TURN);
		program_holds("four\n");
		CHECK_STR(found(), "four\n");
		box_free();
	}
}

static void what_was_printed_twice_is_new(void)
{
	box_make();
	program_runs(TURN);
	output_has("one\n");
	program_holds("one\n");
	CHECK_STR(found(), "");
	CHECK_STR(found(), "");
	program_runs(TURN);
	CHECK_STR(found(), "one\n");
	box_free();
}

/* A program that waits for something else than a write has noted what it wrote. */
static void a_program_that_waits_has_noted_it(void)
{
	box_make();
	program_runs(TURN);
	file_put(PEEK_PROGRAM "/syscall", "35 0x7ffd0 0x0 0x0 0x0 0x0 0x0 0x7ffd0 0x7f00\n");
	output_has("one\n");
	program_holds("one\n");
	CHECK_STR(found(), "one\n");
	box_free();
}

/* The time that a program had since an earlier doubt says nothing of what it wrote later. */
static void further_output_is_a_new_doubt(void)
{
	box_make();
	program_runs(TURN);
	output_has("one\n");
	program_holds("one\n");
	CHECK_STR(found(), "");
	program_runs(TURN);
	output_has("two\n");
	program_holds("two\n");
	CHECK_STR(found(), "");
	program_runs(TURN);
	CHECK_STR(found(), "two\n");
	box_free();
}

/* Of output before a look that left no doubt, nothing can be in the buffer by chance. */
static void older_output_is_no_doubt(void)
{
	box_make();
	program_runs(TURN);
	output_has("one\n");
	program_holds("two\n");
	CHECK_STR(found(), "two\n");
	box.peek.ahead.size = 0;
	program_holds("one\n");
	CHECK_STR(found(), "one\n");
	box_free();
}

int main(void)
{
	RUN(what_was_not_written_is_new);
	RUN(what_was_just_written_is_not_new);
	RUN(what_was_printed_twice_is_new);
	RUN(a_program_that_waits_has_noted_it);
	RUN(further_output_is_a_new_doubt);
	RUN(older_output_is_no_doubt);
	return check_failures != 0;
}
