/* Tables for a terminal: cells are counted as it counts them, and nothing that a stranger wrote steers it. */
#include "../check.h"

/* The command line is not part of the library; its pure core is compiled in. */
#include "cli/table.c"

static struct buf out;

/* One line of a text; static. */
static const char *line(const char *from, size_t cells)
{
	out.size = 0;
	text_line(from, cells, &out);
	buf_add(&out, "", 0);
	return out.size > 0 ? out.data : "";
}

static const char *printed(const struct table *table, unsigned width, bool colour)
{
	out.size = 0;
	table_print(table, width, colour, &out);
	return out.data;
}

static void cells_of_a_terminal(void)
{
	CHECK_INT(text_cells(""), 0);
	CHECK_INT(text_cells("abc"), 3);
	CHECK_INT(text_cells("äöü ✗"), 5);
	CHECK_INT(text_cells("e\xcc\x81"), 1); /* with a combining accent */
	CHECK_INT(text_cells("日本語"), 6);
	CHECK_INT(text_cells("🔥"), 2);
	CHECK_INT(text_cells("\xff\xfe"), 2);
	CHECK_INT(text_cells("\xe2\x82"), 2);     /* cut in the middle */
	CHECK_INT(text_cells("\xed\xa0\x80"), 1); /* half a pair */
}

static void lines_are_cut(void)
{
	CHECK_STR(line("hello", 0), "hello");
	CHECK_STR(line("hello", 5), "hello");
	CHECK_STR(line("hello", 4), "hel…");
	CHECK_STR(line("hello", 1), "…");
	CHECK_STR(line("日本語", 6), "日本語");
	CHECK_STR(line("日本語", 5), "日本…");
	CHECK_STR(line("日本語", 4), "日…");
	CHECK_STR(line("first\nsecond", 0), "first");
	CHECK_STR(line("", 3), "");
}

static void strangers_do_not_steer(void)
{
	CHECK_STR(line("a\033[31mb", 0), "a\xef\xbf\xbd[31mb");
	CHECK_STR(line("a\tb\rc\x7f", 0), "a b\xef\xbf\xbd"
					  "c\xef\xbf\xbd");
	CHECK_STR(line("\xc2\x9b", 0), "\xef\xbf\xbd");     /* CSI in one character */
	CHECK_STR(line("\xe2\x80\xae", 0), "\xef\xbf\xbd"); /* from right to left */
	CHECK_STR(line("\xff", 0), "\xef\xbf\xbd");
}

static void columns(void)
{
	struct table table;

	table_begin(&table, "NAME|>COUNT|TEXT");
	table_add(&table, PAINT_GOOD, "é");
	table_addf(&table, PAINT_NONE, "%d", 5);
	table_add(&table, PAINT_NONE, "short");
	table_add(&table, PAINT_BAD, "日本語");
	table_addf(&table, PAINT_NONE, "%d", 1000);
	table_add(&table, PAINT_NONE, "");
	CHECK_STR(printed(&table, 0, false), "NAME    COUNT  TEXT\n"
					     "é           5  short\n"
					     "日本語   1000\n");
	CHECK_STR(printed(&table, 18, false), "NAME    COUNT  TE…\n"
					      "é           5  sh…\n"
					      "日本語   1000\n");
	CHECK_STR(printed(&table, 6, false), "NAME\n"
					     "é\n"
					     "日本語\n");
	CHECK_STR(printed(&table, 3, false), "NA…\n"
					     "é\n"
					     "日…\n");
	CHECK_STR(printed(&table, 0, true), "\033[2mNAME\033[0m    \033[2mCOUNT\033[0m  \033[2mTEXT\033[0m\n"
					    "\033[32mé\033[0m           5  short\n"
					    "\033[31m日本語\033[0m   1000\n");
	table_free(&table);
}

static void a_column_yields(void)
{
	struct table table;

	table_begin(&table, "NAME|VALUE|WHERE");
	table.yields = 2;
	table_add(&table, PAINT_NONE, "a");
	table_add(&table, PAINT_NONE, "0123456789abcdefghij");
	table_add(&table, PAINT_NONE, "file:1");
	table_add(&table, PAINT_NONE, "b");
	table_add(&table, PAINT_NONE, "日本語日本語日本語日");
	table_add(&table, PAINT_NONE, "file:2");
	CHECK_STR(printed(&table, 34, false), "NAME  VALUE                 WHERE\n"
					      "a     0123456789abcdefghij  file:1\n"
					      "b     日本語日本語日本語日  file:2\n");
	CHECK_STR(printed(&table, 28, false), "NAME  VALUE           WHERE\n"
					      "a     0123456789abc…  file:1\n"
					      "b     日本語日本語…   file:2\n");
	/* Not to nothing: then it is the last one again. */
	CHECK_STR(printed(&table, 24, false), "NAME  VALUE         WHE…\n"
					      "a     0123456789a…  fil…\n"
					      "b     日本語日本…   fil…\n");
	table_free(&table);
}

static void numbers_for_people(void)
{
	static const struct {
		double value;
		const char *duration, *bytes;
	} cases[] = {
		{ 0, "0 µs", "0 B" },
		{ 0.00085, "850 µs", "0 B" },
		{ 0.0123, "12.3 ms", "0 B" },
		{ 0.3, "300 ms", "0 B" },
		{ 0.9999, "1.00 s", "1 B" },
		{ 1.246, "1.25 s", "1 B" },
		{ 125, "2 min 05 s", "125 B" },
		{ 1536, "25 min 36 s", "1.5 KiB" },
		{ 104857600, "1747626 min 40 s", "100 MiB" },
	};
	char word[TABLE_WORD];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CHECK_STR(duration_text(cases[i].value, word), cases[i].duration);
		CHECK_STR(bytes_text(cases[i].value, word), cases[i].bytes);
	}
}

int main(void)
{
	RUN(cells_of_a_terminal);
	RUN(lines_are_cut);
	RUN(strangers_do_not_steer);
	RUN(columns);
	RUN(a_column_yields);
	RUN(numbers_for_people);
	buf_free(&out);
	return check_failures > 0;
}
