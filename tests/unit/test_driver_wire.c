/* What the keeper and a driver say to each other: lines, payloads, bounds. */
#include "../check.h"

#include "live/driver_wire.h"

#define SECRET "0123456789abcdef0123456789abcdef"

static void lines_are_read(void)
{
	static const struct {
		const char *line;
		enum driver_word word;
		const char *secret;
		size_t size;
	} good[] = {
		{ "ready - 0", DRIVER_READY, "", 0 },
		{ "output " SECRET " 8388608", DRIVER_OUTPUT, SECRET, 8 << 20 },
		{ "error " SECRET " 262144", DRIVER_ERROR, SECRET, 256 << 10 },
		{ "done " SECRET " 20", DRIVER_DONE, SECRET, 20 },
		{ "reply " SECRET " 7", DRIVER_REPLY, SECRET, 7 },
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct driver_message message;

		CHECK(driver_line(good[i].line, strlen(good[i].line), &message));
		CHECK_INT(message.word, good[i].word);
		CHECK_STR(message.secret, good[i].secret);
		CHECK_INT(message.size, good[i].size);
	}
}

static void all_else_is_none(void)
{
	static const char *const bad[] = {
		"",
		"done",
		"done " SECRET,
		"done " SECRET " ",
		"done " SECRET " 1 ",
		"done " SECRET " 1 2",
		"done  " SECRET " 1",
		" done " SECRET " 1",
		"done " SECRET " 01",
		"done " SECRET " -1",
		"done " SECRET " +1",
		"done " SECRET " 1x",
		"done " SECRET " 0x1",
		"done " SECRET " 262145",
		"output " SECRET " 8388609",
		"output " SECRET " 99999999999999999999",
		"done - 1",
		"ready " SECRET " 1",
		"ready - ",
		"Done " SECRET " 1",
		"finished " SECRET " 1",
		"done 0123456789ABCDEF0123456789abcdef 1",
		"done 0123456789abcdef0123456789abcde 1",
		"done 0123456789abcdef0123456789abcdef0 1",
		"done\t" SECRET " 1",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct driver_message message;

		if (driver_line(bad[i], strlen(bad[i]), &message))
			CHECK_STR(bad[i], "no line");
	}
}

/* Fed in pieces of every size. */
static void messages_come_in_pieces(void)
{
	static const char text[] = "ready - 2\n{}output " SECRET " 3\na\nbdone " SECRET " 0\n";
	static const char *const payloads[] = { "{}", "a\nb", "" };

	for (size_t step = 1; step < sizeof(text); step++) {
		struct driver_reader reader = { 0 };
		struct driver_message message;
		size_t count = 0;

		for (size_t at = 0; at < sizeof(text) - 1; at += step) {
			size_t left = sizeof(text) - 1 - at;

			driver_feed(&reader, text + at, step < left ? step : left);
			while (driver_next(&reader, &message) == 1) {
				CHECK_INT(message.size, strlen(payloads[count]));
				CHECK(memcmp(message.payload, payloads[count], message.size) == 0);
				count++;
			}
		}
		CHECK_INT(count, 3);
		CHECK(driver_is_empty(&reader));
		driver_reader_free(&reader);
	}
}

static void what_is_no_line_is_noticed(void)
{
	struct driver_reader reader = { 0 };
	struct driver_message message;
	char many[DRIVER_LINE_MAX];

	driver_feed(&reader, "garbage", 7);
	CHECK_INT(driver_next(&reader, &message), 0);
	driver_feed(&reader, "done " SECRET " 0\n", 40);
	CHECK_INT(driver_next(&reader, &message), -1);
	driver_reader_free(&reader);
	/* A line has an end in time. */
	memset(many, 'x', sizeof(many));
	driver_feed(&reader, many, sizeof(many) - 1);
	CHECK_INT(driver_next(&reader, &message), 0);
	driver_feed(&reader, many, 1);
	CHECK_INT(driver_next(&reader, &message), -1);
	driver_reader_free(&reader);
}

static void the_keeper_speaks(void)
{
	struct buf out = { 0 };

	driver_execute(&out, SECRET, 7, "x\n", 2, DRIVER_INPUT_NONE, NULL, 0);
	CHECK_STR(out.data, "execute " SECRET " 2 7 none\nx\n");
	buf_free(&out);
	driver_execute(&out, SECRET, 8, "x", 1, DRIVER_INPUT_PIPE, "ignored", 7);
	CHECK_STR(out.data, "execute " SECRET " 1 8 pipe\nx");
	buf_free(&out);
	driver_execute(&out, SECRET, 9, "x", 1, DRIVER_INPUT_WHOLE, "input", 5);
	CHECK_STR(out.data, "execute " SECRET " 6 9 5\nxinput");
	buf_free(&out);
	driver_execute(&out, SECRET, 9, "x", 1, DRIVER_INPUT_WHOLE, "", 0);
	CHECK_STR(out.data, "execute " SECRET " 1 9 0\nx");
	buf_free(&out);
	driver_ask(&out, false, SECRET, "pri", 3, 2);
	CHECK_STR(out.data, "complete " SECRET " 3 2\npri");
	buf_free(&out);
	driver_ask(&out, true, SECRET, "", 0, 0);
	CHECK_STR(out.data, "inspect " SECRET " 0 0\n");
	buf_free(&out);
	driver_interrupt(&out, SECRET);
	CHECK_STR(out.data, "interrupt " SECRET " 0\n");
	buf_free(&out);
}

static void secrets_differ(void)
{
	char one[DRIVER_SECRET], two[DRIVER_SECRET];

	CHECK_INT(driver_secret(one), 0);
	CHECK_INT(driver_secret(two), 0);
	CHECK_INT(strspn(one, "0123456789abcdef"), DRIVER_SECRET - 1);
	CHECK(strcmp(one, two) != 0);
}

static void done_is_an_object(void)
{
	static const char *const bad[] = { "",
					   "{}",
					   "[]",
					   "{\"ok\":1}",
					   "{\"ok\":true,\"exit\":256}",
					   "{\"ok\":true,\"exit\":-1}",
					   "{\"ok\":true,\"exit\":\"0\"}" };
	bool ok = false;
	int code = -1;

	CHECK(driver_done("{\"ok\":true,\"exit\":0}", 20, &ok, &code) && ok && code == 0);
	CHECK(driver_done("{\"ok\":false}", 12, &ok, &code) && !ok && code == 0);
	CHECK(driver_done("{\"ok\":false,\"exit\":130}", 23, &ok, &code) && !ok && code == 130);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(!driver_done(bad[i], strlen(bad[i]), &ok, &code));
}

static void positions_are_characters(void)
{
	static const char text[] = "aé€😀b";

	CHECK_INT(driver_bytes(text, sizeof(text) - 1, 0), 0);
	CHECK_INT(driver_bytes(text, sizeof(text) - 1, 2), 3);
	CHECK_INT(driver_bytes(text, sizeof(text) - 1, 4), 10);
	CHECK_INT(driver_bytes(text, sizeof(text) - 1, 99), 11);
	CHECK_INT(driver_chars(text, sizeof(text) - 1, 3), 2);
	CHECK_INT(driver_chars(text, sizeof(text) - 1, 11), 5);
	CHECK_INT(driver_chars(text, sizeof(text) - 1, 99), 5);
}

int main(void)
{
	RUN(lines_are_read);
	RUN(all_else_is_none);
	RUN(messages_come_in_pieces);
	RUN(what_is_no_line_is_noticed);
	RUN(the_keeper_speaks);
	RUN(secrets_differ);
	RUN(done_is_an_object);
	RUN(positions_are_characters);
	return check_failures != 0;
}
