/* What a person sees: colours that change nothing else, tables that fit, pictures, and nothing that steers the
 * terminal. */
#include "../check.h"
#include "base/own.h"
#include "term/cells.h"
#include "term/filter.h"
#include "term/grid.h"
#include "term/image.h"
#include "term/literal.h"
#include "term/png.h"
#include "term/traceback.h"

static struct buf out;

static const char *text(void)
{
	buf_add(&out, "", 0);
	return out.data;
}

/* Through the filter, `step` bytes at a time, with its end. */
static const char *filtered(const char *from, size_t step)
{
	struct filter filter = { 0 };

	out.size = 0;
	for (size_t at = 0; at < strlen(from); at += step)
		filter_take(&filter, from + at, strlen(from) - at < step ? strlen(from) - at : step, &out);
	filter_end(&filter, &out);
	return text();
}

static const char *whole(const char *from, bool painted)
{
	out.size = 0;
	filter_text(from, painted, &out);
	return text();
}

/* Sentences and JSON of ours: nothing that they quote steers a terminal, and JSON stays what it was. */
static void texts_that_quote_strangers(void)
{
	static const char *const same[] = { "a\tb\n", "\xc3\xa4 \xe6\x97\xa5 \xf0\x9f\x94\xa5", "\xc2\xa0\xc2\xad",
					    "" };
	char pair[3] = "";

	for (size_t i = 0; i < ARRAY_SIZE(same); i++)
		CHECK_STR(whole(same[i], false), same[i]);
	CHECK_STR(whole("\033]0;title\007x\r\b\177", false), "\\u001b]0;title\\u0007x\\u000d\\u0008\\u007f");
	CHECK_STR(whole("\xc2\x9b"
			"31m\xc2\x80\xc2\x9f",
			false),
		  "\\u009b31m\\u0080\\u009f");
	CHECK_STR(whole("\xe2\x80\xae\xe2\x81\xa6", false), "\\u202e\\u2066");
	CHECK_STR(whole("\x9b"
			"31m\xff\xc2",
			false),
		  "\xef\xbf\xbd"
		  "31m\xef\xbf\xbd\xef\xbf\xbd");
	/* Our own colours, where they are meant; no other. */
	CHECK_STR(whole("\033[31mred\033[0m", true), "\033[31mred\033[0m");
	CHECK_STR(whole("\033[31mred\033[0m", false), "\\u001b[31mred\\u001b[0m");
	CHECK_STR(whole("\033[8mhidden\033[2J\033[6n\033]52;c;eA==\007", true),
		  "\\u001b[8mhidden\\u001b[2J\\u001b[6n\\u001b]52;c;eA==\\u0007");
	/* Every two bytes: whatever they are, no control comes out, as a byte or as UTF-8. */
	for (int i = 1; i < 65536; i++) {
		const unsigned char *at;

		pair[0] = (char)(i >> 8 ? i >> 8 : i);
		pair[1] = (char)(i >> 8 ? i : 0);
		for (at = (const unsigned char *)whole(pair, false); *at; at++)
			if ((*at < 0x20 && *at != '\n' && *at != '\t') || *at == 0x7f ||
			    (*at == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0))
				check_fail("%02x %02x comes out", i >> 8, i & 255);
	}
}

static void what_passes(void)
{
	static const char *const same[] = {
		"hello\n", "a\tb\n", "äöü 日本 🔥\n", "10%\r20%\n", "\xc2\xa0\xc2\xbf\n", "",
	};

	for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
		CHECK_STR(filtered(same[i], 1), same[i]);
		CHECK_STR(filtered(same[i], 99), same[i]);
	}
	/* Colours pass, and end with the program. */
	CHECK_STR(filtered("\033[1;31mred\n", 1), "\033[1;31mred\n\033[0m\033[?25h");
	CHECK_STR(filtered("\033[2K\033[1A", 3), "\033[2K\033[1A\033[0m\033[?25h\n");
	CHECK_STR(filtered("\033[?25lx\n", 99), "\033[?25lx\n\033[0m\033[?25h");
	/* A line without an end gets one. */
	CHECK_STR(filtered("no end", 1), "no end\n");
}

static void what_does_not_pass(void)
{
	static const char *const nothing[] = {
		"\033[6n",              /* where is the cursor */
		"\033[c",               /* what are you */
		"\033[>0q",             /* which version */
		"\033[21t",             /* what is your title */
		"\033[5i",              /* print */
		"\033[?1049h",          /* the other screen */
		"\033[?1000h",          /* tell of the mouse */
		"\033[2;5r",            /* scroll only there */
		"\033[!p",              /* reset */
		"\033c",                /* the same */
		"\033(0",               /* other letters */
		"\033]0;title\a",       /* a title */
		"\033]52;c;aGk=\033\\", /* the clipboard */
		"\033P$q\"p\033\\",     /* a question in a string */
		"\033_Ga=q;AAAA\033\\", /* a picture */
		"\033^x\033\\",         /* a private message */
		"\xc2\x9b"
		"6n", /* CSI as one character */
		"\xc2\x9d"
		"0;title\a", /* OSC so */
		"\x05",      /* who are you */
		"\x0e\x0f",  /* other letters */
		"\x7f\x01",
		"\033]0;never ends",
		"\033[1;2;3;4;5;6;7;8;9;0;1;2;3;4;5;6;7;8;9;0;1;2;3;4;5;6;7;8;9;0;1;2;3;4;5;6;7;8;9;0m",
	};

	for (size_t i = 0; i < ARRAY_SIZE(nothing); i++)
		for (size_t step = 1; step < 100; step += 49)
			if (*filtered(nothing[i], step))
				check_fail("%zu: passed: %s", i, out.data + 1);
	/* What follows is seen again. */
	CHECK_STR(filtered("\033]0;t\aafter\n", 1), "after\n");
	CHECK_STR(filtered("\033]0;t\033\\after\n", 1), "after\n");
	CHECK_STR(filtered("a\033[6nb\n", 1), "ab\n");
	CHECK_STR(filtered("a\033\033[6nb\n", 1), "ab\n");
}

static const char *painted(const char *from)
{
	out.size = 0;
	literal_paint(from, strlen(from), true, &out);
	return text();
}

/* Without what begins with ESC. */
static const char *unpainted(const char *from)
{
	static char plain[4096];
	size_t n = 0;

	while (*from && n + 1 < sizeof(plain)) {
		if (*from == '\033')
			from += strcspn(from, "m") + 1;
		else
			plain[n++] = *from++;
	}
	plain[n] = '\0';
	return plain;
}

static void values(void)
{
	CHECK_STR(painted("{\"a\": 1}"), "{\033[34m\"a\"\033[0m: \033[36m1\033[0m}");
	CHECK_STR(painted("['x', None]"), "[\033[32m'x'\033[0m, \033[35mNone\033[0m]");
	CHECK_STR(painted("-1.5e-3"), "\033[36m-1.5e-3\033[0m");
	/* No values: prose, names, dates, versions. */
	CHECK_STR(painted("don't"), "don't");
	CHECK_STR(painted("x1 Nonesuch"), "x1 Nonesuch");
	CHECK_STR(painted("2026-11-18"), "2026-11-18");
	CHECK_STR(painted("'a\nb'"), "'a\nb'");
	out.size = 0;
	literal_paint("{\"a\": 1}", 8, false, &out);
	CHECK_STR(text(), "{\"a\": 1}");
}

static void colours_change_nothing(void)
{
	static const char *const texts[] = { "{'a': [1, 2.0, True], \"b\\\"c\": null}\n",
					     "x => 'it''s'",
					     "\"",
					     "é'ü' 1",
					     "a: 1\n-",
					     "<A object at 0x7f>" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		CHECK_STR(unpainted(painted(texts[i])), texts[i]);
}

static const char *traced(const char *from, bool colour)
{
	struct trace trace = { 0 };

	out.size = 0;
	trace_paint(&trace, from, strlen(from), colour, &out);
	return text();
}

static void tracebacks(void)
{
	const char *python = "Traceback (most recent call last):\n"
			     "  File \"<cell 1>\", line 12, in <module>\n"
			     "    1/0\n"
			     "    ~^~\n"
			     "ZeroDivisionError: division by zero\n";
	const char *node = "Uncaught TypeError: x is not a function\n    at REPL1:1:1\n";

	CHECK_STR(traced(python, true), "\033[2mTraceback (most recent call last):\033[0m\n"
					"  File \"\033[36m<cell 1>\033[0m\", line \033[33m12\033[0m, in <module>\n"
					"    1/0\n"
					"\033[31m    ~^~\033[0m\n"
					"\033[1;31mZeroDivisionError\033[0m\033[31m: division by zero\033[0m\n");
	CHECK_STR(traced(python, false), python);
	CHECK_STR(traced(node, true), "\033[1;31mUncaught TypeError\033[0m\033[31m: x is not a function\033[0m\n"
				      "\033[2m    at REPL1:1:1\033[0m\n");
	CHECK_STR(traced("KeyboardInterrupt\n", true), "\033[1;31mKeyboardInterrupt\033[0m\n");
	/* What is no error stays as it is, and so does what comes in parts. */
	CHECK_STR(traced("warning: a thing\nhello: world\nError", true), "warning: a thing\nhello: world\nError");
	CHECK_STR(traced("50%\rErrorError: x\n", true), "50%\rErrorError: x\n");
}

static const char *grid(const char *json, unsigned width, bool colour)
{
	json_t *value = json_loads(json, 0, NULL);

	out.size = 0;
	if (!grid_print(value, width, colour, &out))
		buf_text(&out, "none");
	json_decref(value);
	return text();
}

static void tables(void)
{
	const char *rows =
		"{\"columns\": [\"n\", \"name\"], \"rows\": [[6, \"six\"], [10, \"日本\"], [null, \"a\\nb\"]]}";
	const char *wide =
		"{\"columns\": [\"a\", \"b\", \"c\"], \"rows\": [[1, \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\", 3]]}";
	const char *many =
		"{\"columns\": [\"aaaaaaaa\", \"bbbbbbbb\", \"cccccccc\"], \"rows\": [[1, 2, 3]], \"row_count\": 9}";

	CHECK_STR(grid(rows, 0, false), " n  name\n──  ────\n 6  six\n10  日本\n    a…\n(3 rows)\n");
	CHECK_STR(grid(wide, 20, false), "a  b               c\n─  ──────────────  ─\n1  xxxxxxxxxxxxx…  3\n(1 row)\n");
	CHECK_STR(grid(many, 14, false), "aaaaa…  bbbbb…\n──────  ──────\n     1       2\n"
					 "(9 rows, the first 1 shown, 2 of 3 columns)\n");
	CHECK_STR(grid("{\"columns\": [\"\\u001b[31m\"], \"rows\": []}", 0, false),
		  "\xef\xbf\xbd[31m\n─────\n(0 rows)\n");
	CHECK_STR(grid("{\"columns\": [], \"rows\": []}", 0, false), "none");
	CHECK_STR(grid("{\"columns\": [\"a\"], \"rows\": [1]}", 0, false), "none");
	CHECK_STR(grid("[1]", 0, false), "none");
	CHECK(strstr(grid(rows, 0, true), "\033[1mname\033[0m"));
}

static void tables_fit(void)
{
	const char *json =
		"{\"columns\": [\"日本語日本語日本語\", \"b\", \"a long title it is\"], \"rows\": [[\"x\", 1234567890, "
		"\"日本語日本語日本語日本語日本語\"]]}";

	for (unsigned width = 12; width < 70; width++) {
		_cleanup_free_ char *lines = strdup(grid(json, width, false));
		char *rest = lines;

		for (int i = 0; i < 3; i++) {
			const char *line = strsep(&rest, "\n");

			if (text_cells(line) > width)
				check_fail("%zu cells in %u: %s", text_cells(line), width, line);
		}
	}
}

static void pictures(void)
{
	unsigned char png[33] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\0\0\0\0\x80";
	static const unsigned char pixels[] = { 255, 0, 0, 255, 255, 0, 0, 255, 0, 0, 0, 0, 0, 0, 255, 255 };
	uint32_t width, height;
	static char large[9000];

	CHECK(image_png_size(png, sizeof(png), &width, &height));
	CHECK_INT(width, 256);
	CHECK_INT(height, 128);
	CHECK(!image_png_size(png, 32, &width, &height));
	png[16] = 1;
	CHECK(!image_png_size(png, sizeof(png), &width, &height));
	out.size = 0;
	image_kitty("hello", 5, 0, &out);
	CHECK_STR(text(), "\033_Ga=T,f=100,q=2,m=0;aGVsbG8=\033\\\n");
	out.size = 0;
	image_kitty(large, sizeof(large), 40, &out);
	CHECK(strncmp(text(), "\033_Ga=T,f=100,q=2,c=40,m=1;AAAA", 30) == 0);
	CHECK(strstr(text(), "\033\\\033_Gm=1;AAAA"));
	CHECK(strstr(text(), "\033\\\033_Gm=0;AAAA"));
	out.size = 0;
	/* Four pixels side by side: two red, one that is not there, one blue. */
	image_sixel(pixels, 4, 1, &out);
	CHECK(strstr(text(), "\033P0;1q\"1;1;4;1#0;2;0;0;0"));
	CHECK(strstr(text(), "#5???@$#180@@$-\033\\\n") || strstr(text(), "#5???@$#180@@??$-\033\\\n"));
}

static void pixels_of_a_picture(void)
{
	/* Two rows of two pixels, RGB; the second is what is added to the first. */
	static const unsigned char png[] = {
		0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52,
		0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x02, 0x08, 0x02, 0x00, 0x00, 0x00, 0xfd, 0xd4, 0x9a,
		0x73, 0x00, 0x00, 0x00, 0x13, 0x49, 0x44, 0x41, 0x54, 0x78, 0x9c, 0x63, 0xf8, 0xcf, 0xc0, 0x00,
		0x44, 0x4c, 0x0c, 0x0c, 0x8c, 0x40, 0x04, 0x00, 0x17, 0x0a, 0x02, 0x03, 0x06, 0x67, 0x82, 0x0b,
		0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
	};
	static const unsigned char want[] = { 255, 0, 0, 255, 255, 0, 0, 255, 255, 0, 1, 255, 255, 0, 1, 255 };
	uint32_t width, height;
	unsigned char *pixels = png_pixels(png, sizeof(png), &width, &height);

	CHECK(pixels && width == 2 && height == 2 && memcmp(pixels, want, sizeof(want)) == 0);
	free(pixels);
	/* Cut anywhere it is none, until nothing but its end is missing. */
	for (size_t size = 0; size < sizeof(png) - 16; size++) {
		pixels = png_pixels(png, size, &width, &height);
		if (pixels)
			check_fail("%zu bytes are a picture", size);
		free(pixels);
	}
}

/* The bytes and how many. */
#define TEXT(text) text, sizeof(text) - 1

static void what_terminals_answer(void)
{
	size_t begin, used;
	enum image_way way;

	CHECK_STR(image_question(false), "\033[c");
	CHECK(image_answer(TEXT("\033[?62;22c"), &begin, &used, &way));
	CHECK_INT(way, IMAGE_FILE);
	CHECK(image_answer(TEXT("\033[?62;4;22c"), &begin, &used, &way));
	CHECK_INT(way, IMAGE_SIXEL);
	CHECK(image_answer(TEXT("\033[?64c"), &begin, &used, &way));
	CHECK_INT(way, IMAGE_FILE);
	CHECK(image_answer(TEXT("\033[?1;44c"), &begin, &used, &way));
	CHECK_INT(way, IMAGE_FILE);
	CHECK(image_answer(TEXT("x\033_Gi=31;OK\033\\\033[?62cy"), &begin, &used, &way));
	CHECK_INT(way, IMAGE_KITTY);
	/* What was typed meanwhile is left. */
	CHECK_INT(begin, 1);
	CHECK_INT(used, 18);
	CHECK(image_answer(TEXT("\033_Gi=31;EINVAL\033\\\033[?62;4c"), &begin, &used, &way));
	CHECK_INT(way, IMAGE_SIXEL);
	CHECK(!image_answer(TEXT("\033_Gi=31;OK\033\\"), &begin, &used, &way));
	CHECK(!image_answer(TEXT("\033[?62;4"), &begin, &used, &way));
	CHECK(!image_answer(TEXT("hello"), &begin, &used, &way));
	/* Who may be asked in kitty's words. */
	CHECK(image_may_be_kitty("xterm-kitty", NULL, NULL, NULL));
	CHECK(image_may_be_kitty("xterm-256color", "WezTerm", NULL, NULL));
	CHECK(image_may_be_kitty("xterm-256color", NULL, "1", NULL));
	CHECK(!image_may_be_kitty("xterm-256color", "Apple_Terminal", NULL, NULL));
	CHECK(!image_may_be_kitty("tmux-256color", NULL, "1", NULL));
	CHECK(!image_may_be_kitty(NULL, NULL, NULL, NULL));
}

int main(void)
{
	RUN(texts_that_quote_strangers);
	RUN(what_passes);
	RUN(what_does_not_pass);
	RUN(values);
	RUN(colours_change_nothing);
	RUN(tracebacks);
	RUN(tables);
	RUN(tables_fit);
	RUN(pictures);
	RUN(pixels_of_a_picture);
	RUN(what_terminals_answer);
	buf_free(&out);
	return check_failures > 0;
}
