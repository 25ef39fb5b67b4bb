/* One stream: kept up to its bound, shown by head and tail, its last line found. */
#include "../check.h"

#include "base/fd.h"
#include "base/own.h"
#include "result/output.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

static struct output output;

static void fresh(void)
{
	output_free(&output);
	output_init(&output);
}

static void shows(uint64_t most, const char *want, bool cut)
{
	struct buf text = { 0 };
	bool left_out = output_show(&output, most, &text);

	CHECK_STR(text.data ? text.data : "", want);
	CHECK_INT(left_out, cut);
	buf_free(&text);
}

static void nothing(void)
{
	char byte = 'x';

	fresh();
	shows(100, "", false);
	CHECK_INT(output_read(&output, &byte, 1, 0), 0);
	CHECK_INT(output_add(&output, "", 0), 0);
	shows(1, "", false);
	CHECK_INT(output.bytes, 0);
	output_free(&output);
	output_free(&output);
}

static void exactly_what_fits(void)
{
	fresh();
	CHECK_INT(output_add(&output, "abc", 3), 3);
	CHECK_INT(output_add(&output, "defg", 4), 4);
	CHECK_INT(output.bytes, 7);
	shows(7, "abcdefg", false);
	shows(8, "abcdefg", false);
	shows(6, "abc\n... 1 bytes left out ...\nefg", true);
	shows(5, "abc\n... 2 bytes left out ...\nfg", true);
	shows(2, "a\n... 5 bytes left out ...\ng", true);
	shows(1, "a\n... 6 bytes left out ...\n", true);
}

static void is_read_like_a_file(void)
{
	char data[16] = "";

	fresh();
	output_add(&output, "hello", 5);
	CHECK_INT(output_read(&output, data, 3, 1), 3);
	CHECK(memcmp(data, "ell", 3) == 0);
	CHECK_INT(output_read(&output, data, 16, 4), 1);
	CHECK_INT(output_read(&output, data, 16, 5), 0);
	CHECK_INT(output_read(&output, data, 16, 1 << 30), 0);
	/* Reading must not move where the next is written. */
	output_add(&output, "!", 1);
	shows(10, "hello!", false);
}

/* "é" is 2 bytes, "€" 3, "🔥" 4: a cut never falls into one. */
static void characters_stay_whole(void)
{
	fresh();
	output_add(&output, "aéz-€-🔥", strlen("aéz-€-🔥"));
	for (uint64_t most = 1; most < output.bytes; most++) {
		struct buf text = { 0 };

		CHECK(output_show(&output, most, &text));
		CHECK(!strstr(text.data, "\xEF\xBF\xBD"));
		CHECK(strstr(text.data, " bytes left out ...\n") != NULL);
		buf_free(&text);
	}
	shows(4, "a\n... 12 bytes left out ...\n", true);
	shows(9, "aéz-\n... 4 bytes left out ...\n🔥", true);
}

/* Bytes that only look like the inside of a character are not skipped for ever. */
static void bytes_that_are_no_characters(void)
{
	struct buf text = { 0 };

	fresh();
	output_add(&output, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", 16);
	CHECK(output_show(&output, 10, &text));
	CHECK(strstr(text.data, "... 12 bytes left out ...") != NULL);
	buf_free(&text);
	fresh();
	output_add(&output, "a\0b", 3);
	CHECK(!output_show(&output, 10, &text));
	CHECK_INT(text.size, 3);
	CHECK(memcmp(text.data, "a\0b", 4) == 0);
	buf_free(&text);
}

static void more_than_is_kept(void)
{
	const size_t piece = 1 << 20;
	char *data = malloc(piece), byte = 0;
	struct buf text = { 0 };

	fresh();
	memset(data, 'm', piece);
	for (int i = 0; i < 16; i++)
		CHECK_INT(output_add(&output, data, piece), piece);
	CHECK(!output.over);
	CHECK_INT(output.bytes, OUTPUT_SPOOL_MAX);
	shows(2, "m\n... 16777214 bytes left out ...\nm", true);
	CHECK(!output_show(&output, OUTPUT_SPOOL_MAX, &text));
	CHECK_INT(text.size, OUTPUT_SPOOL_MAX);
	buf_free(&text);
	/* One byte too many is not kept, but counted. */
	CHECK_INT(output_add(&output, "z", 1), 0);
	CHECK(output.over);
	CHECK_INT(output.bytes, OUTPUT_SPOOL_MAX + 1);
	CHECK_INT(output_read(&output, &byte, 1, OUTPUT_SPOOL_MAX), 0);
	shows(2, "m\n... 16777215 bytes left out ...\nm", true);
	CHECK(output_show(&output, OUTPUT_SPOOL_MAX, &text));
	CHECK_INT(text.size, OUTPUT_SPOOL_MAX + strlen("\n... 1 bytes left out ...\n"));
	buf_free(&text);
	CHECK_INT(output_add(&output, data, piece), 0);
	CHECK_INT(output.bytes, OUTPUT_SPOOL_MAX + 1 + piece);
	free(data);
}

static void a_piece_over_the_bound_is_split(void)
{
	char *data = calloc(1, OUTPUT_SPOOL_MAX);

	fresh();
	CHECK_INT(output_add(&output, "ab", 2), 2);
	CHECK_INT(output_add(&output, data, OUTPUT_SPOOL_MAX), OUTPUT_SPOOL_MAX - 2);
	CHECK(output.over);
	free(data);
}

/* In memory first, and then in a file: nobody who reads it can tell. */
static void what_grows_is_the_same(void)
{
	char text[] = "0123456789abcdef", piece[16], *all = malloc(OUTPUT_NEAR_MAX + 32);
	_cleanup_close_ int file = memfd_create("saved", MFD_CLOEXEC);
	struct stat st;

	fresh();
	for (size_t i = 0; i < OUTPUT_NEAR_MAX / 16 + 2; i++) {
		text[0] = (char)('0' + i % 10);
		CHECK_INT(output_add(&output, text, 16), 16);
		CHECK_INT(output.spool >= 0, i >= OUTPUT_NEAR_MAX / 16);
		CHECK_INT(output_read(&output, piece, 16, i * 16), 16);
		CHECK_INT(memcmp(piece, text, 16), 0);
		memcpy(all + i * 16, text, 16);
	}
	CHECK_INT(output_read(&output, piece, 16, 0), 16);
	CHECK_INT(memcmp(piece, all, 16), 0);
	CHECK_INT(output_save(&output, file), 0);
	CHECK_INT(fstat(file, &st), 0);
	CHECK_INT(st.st_size, OUTPUT_NEAR_MAX + 32);
	CHECK_INT(pread(file, piece, 16, OUTPUT_NEAR_MAX), 16);
	CHECK_INT(memcmp(piece, all + OUTPUT_NEAR_MAX, 16), 0);
	free(all);
}

/* From a pipe, after what came otherwise and before more of that; up to the bound, and not beyond. */
static void what_is_moved(void)
{
	char *data = calloc(1, OUTPUT_SPOOL_MAX), piece[8] = "";
	int pipe_ends[2];

	CHECK_INT(pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK), 0);
	fresh();
	CHECK_INT(output_add(&output, "ab", 2), 2);
	CHECK_ERRNO(output_move(&output, pipe_ends[0], 100), EAGAIN);
	CHECK_INT(write(pipe_ends[1], "cdefg", 5), 5);
	CHECK_INT(output_move(&output, pipe_ends[0], 3), 3);
	CHECK_INT(output_move(&output, pipe_ends[0], 100), 2);
	CHECK_INT(output_add(&output, "h", 1), 1);
	CHECK_INT(output_read(&output, piece, sizeof(piece), 0), 8);
	CHECK_INT(memcmp(piece, "abcdefgh", 8), 0);
	CHECK_INT(output_add(&output, data, OUTPUT_SPOOL_MAX - 10), OUTPUT_SPOOL_MAX - 10);
	CHECK_INT(write(pipe_ends[1], "1234", 4), 4);
	CHECK_INT(output_move(&output, pipe_ends[0], 100), 2);
	CHECK_INT(output_move(&output, pipe_ends[0], 100), 0);
	CHECK(!output.over);
	CHECK_INT(output_add(&output, "34", 2), 0);
	CHECK(output.over);
	fresh();
	close(pipe_ends[1]);
	CHECK_INT(read(pipe_ends[0], piece, 8), 2);
	CHECK_INT(output_move(&output, pipe_ends[0], 100), 0);
	close(pipe_ends[0]);
	free(data);
}

static void last_line(const char *text, const char *want)
{
	char line[8];

	fresh();
	output_add(&output, text, strlen(text));
	memset(line, 'x', sizeof(line));
	output_last_line(&output, line, sizeof(line));
	CHECK_STR(line, want);
}

static void last_lines(void)
{
	char line[64], *long_line = malloc(10000);

	last_line("", "");
	last_line("\n\n \t\r\n", "");
	last_line("one", "one");
	last_line("one\n", "one");
	last_line("one\ntwo", "two");
	last_line("one\ntwo\n\n  \r\n", "two");
	last_line("one\n  two  \n", "  two");
	/* What is written over itself is no sentence; what follows it is. */
	last_line("one\r\ntwo\r\n", "two");
	last_line("no\n\r  0%|   | 0/9\r100%|###| 9/9 [00:01<00:00, 8.1it/s]\n", "no");
	last_line("no\n   ---- 1.2/3.4 MB eta 0:00:01\r   ---- 3.4/3.4 MB 5.6 MB/s eta 0:00:00\n", "no");
	last_line(" % Total\n\r  0     0    0 --:--:-- 0curl: (6) Could not resolve host: x\n", "curl: (");
	last_line("no\nReading: 1%\rReading: 50%\n", "no");
	last_line("\r 10%\r 20%\n", "");
	last_line("one\r\n", "one");
	last_line("1234567\n", "1234567");
	last_line("12345678\n", "1234567");
	memset(long_line, 'y', 10000);
	fresh();
	output_add(&output, long_line, 10000);
	output_last_line(&output, line, sizeof(line));
	CHECK_INT(strlen(line), sizeof(line) - 1);
	memset(long_line, '\n', 10000);
	fresh();
	output_add(&output, "far\n", 4);
	output_add(&output, long_line, 10000);
	output_last_line(&output, line, sizeof(line));
	CHECK_STR(line, "");
	fresh();
	output_last_line(&output, line, sizeof(line));
	CHECK_STR(line, "");
	free(long_line);
}

int main(void)
{
	output_init(&output);
	RUN(nothing);
	RUN(exactly_what_fits);
	RUN(is_read_like_a_file);
	RUN(characters_stay_whole);
	RUN(bytes_that_are_no_characters);
	RUN(more_than_is_kept);
	RUN(a_piece_over_the_bound_is_split);
	RUN(what_grows_is_the_same);
	RUN(what_is_moved);
	RUN(last_lines);
	output_free(&output);
	return check_failures != 0;
}
