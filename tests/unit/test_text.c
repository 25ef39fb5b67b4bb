/* Sizes, numbers and paths as people write them: what is taken, what is refused, and the bounds between. */
#include "../check.h"

#include "base/text.h"

#include <locale.h>

static void size_is(const char *text, uint64_t want)
{
	uint64_t bytes = 7;

	if (!text_size(text, &bytes))
		check_fail("\"%s\" is refused", text);
	else if (bytes != want)
		check_fail("\"%s\" is %llu, not %llu", text, (unsigned long long)bytes, (unsigned long long)want);
}

static void sizes(void)
{
	size_is("0", 0);
	size_is("1", 1);
	size_is("4096", 4096);
	size_is("64k", 64 << 10);
	size_is("64K", 64 << 10);
	size_is("256m", 256 << 20);
	size_is("1g", 1 << 30);
	size_is("2G", UINT64_C(2) << 30);
	size_is("1t", UINT64_C(1) << 40);
	size_is("1.5g", UINT64_C(3) << 29);
	size_is(".5k", 512);
	size_is("1.k", 1024);
	size_is("0.0001k", 0);
	size_is("0000000064k", 64 << 10);
	size_is("18446744073709551615", UINT64_MAX);
	size_is("16777215t", UINT64_C(16777215) << 40);
	size_is("18014398509481983k", UINT64_C(18014398509481983) << 10);
	size_is("16777215.5t", (UINT64_C(16777215) << 40) + (UINT64_C(1) << 39));
}

static void durations(void)
{
	static const struct {
		const char *text;
		double want;
	} good[] = { { "30", 30 },         { "0.5", 0.5 },    { "0", 0 },      { "1ms", 0.001 },
		     { "500ms", 0.5 },     { "30s", 30 },     { "1m", 60 },    { "1.5m", 90 },
		     { "2h", 7200 },       { "1h30m", 5400 }, { "1m30s", 90 }, { "1h1m1s1ms", 3661.001 },
		     { "1h1ms", 3600.001 } };
	static const char *const bad[] = {
		"",     " ",    "s",    "1x",   "1d",     "1S",    "1M",    "1m30", "-1m",
		"+1s",  "1 m",  "1m ",  "1m1h", "1m1m",   "1mm",   "1ms1s", ".s",   "1e3s",
		"0x1s", "1,5s", "infs", "nan",  "1.2.3s", "1h-1m", "\xff",  "1m\n", "99999999999999999999999999s",
		"1hm"
	};
	double seconds;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		seconds = -1;
		if (!text_duration(good[i].text, &seconds))
			check_fail("\"%s\" is refused", good[i].text);
		else if (seconds != good[i].want)
			check_fail("\"%s\" is %.9f, not %.9f", good[i].text, seconds, good[i].want);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (text_duration(bad[i], &seconds))
			check_fail("\"%s\" is taken, as %f", bad[i], seconds);
}

static void sizes_refused(void)
{
	static const char *const bad[] = {
		"",
		" ",
		"k",
		"-1",
		"-64m",
		"+1",
		" 1",
		"1 ",
		"64 m",
		"1kk",
		"12q",
		"1.5",
		"1e3",
		"1e3k",
		"0x40",
		"0x40m",
		"nan",
		"inf",
		"infg",
		"nank",
		"1.2.3k",
		".k",
		"1,5g",
		"64mb",
		"64mib",
		"18446744073709551616",
		"99999999999999999999",
		"16777216t",
		"16777216.5t",
		"18446744073709551615k",
		"18446744073709551616k",
		"9999999999999g",
		"111111111111111111111111111111k",
		"\xff",
		"1\xff",
		"1\n",
		"64m\n",
		"K",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint64_t bytes = 7;

		if (text_size(bad[i], &bytes))
			check_fail("\"%s\" is taken as %llu", bad[i], (unsigned long long)bytes);
		CHECK_INT(bytes, 7);
	}
}

static void numbers(void)
{
	static const struct {
		const char *text;
		double want;
	} good[] = { { "0", 0 },  { "1", 1 },   { "0.5", 0.5 },    { ".25", 0.25 },
		     { "3.", 3 }, { "007", 7 }, { "86400", 86400 } };
	static const char *const bad[] = { "",      ".",   "..",  "-1",  "+1",  " 1",    "1 ",  "1e3", "1E3", "0x10",
					   "0x1p3", "nan", "NaN", "inf", "INF", "1.2.3", "1,5", "1s",  "\n",  "--1" };
	char huge[512];
	double number;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		CHECK(text_number(good[i].text, &number));
		CHECK(number == good[i].want);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (text_number(bad[i], &number))
			check_fail("\"%s\" is taken as %g", bad[i], number);
	/* More digits than a double has: infinity is not a number that anybody means. */
	memset(huge, '9', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = '\0';
	CHECK(!text_number(huge, &number));
	CHECK(text_number("0.1", &number) && number == 0.1);
	CHECK(text_number("12345.678901", &number) && number == 12345.678901);
	CHECK(text_number("0.33333333333333333333333333", &number) && number > 0.333333 && number < 0.333334);
}

static void numbers_are_printed(void)
{
	static const struct {
		double number;
		const char *want;
	} cases[] = { { 0, "0" },         { 30, "30" },     { 0.5, "0.5" },     { 0.001, "0.001" },
		      { 86400, "86400" }, { 1.25, "1.25" }, { 0.0000001, "0" }, { 86399.999999, "86399.999999" } };
	char out[TEXT_NUMBER_MAX];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_STR(text_number_format(cases[i].number, out), cases[i].want);
}

/* A point is a point, also where people write a comma. */
static void numbers_in_another_locale(void)
{
	static const char *const locales[] = { "de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "fr_FR" };
	char out[TEXT_NUMBER_MAX];
	const char *set = NULL;
	double number = 0;

	for (size_t i = 0; i < sizeof(locales) / sizeof(locales[0]) && !set; i++)
		set = setlocale(LC_ALL, locales[i]);
	CHECK(text_number("0.5", &number) && number == 0.5);
	CHECK(!text_number("0,5", &number));
	CHECK_STR(text_number_format(0.5, out), "0.5");
	setlocale(LC_ALL, "C");
}

static void the_nearest_word(void)
{
	static const char *const names[] = { "python", "javascript", "bash", NULL };

	CHECK_STR(text_nearest("pyton", names), "python");
	CHECK_STR(text_nearest("java", names), "javascript");
	CHECK_STR(text_nearest("basch", names), "bash");
	CHECK(!text_nearest("cobol", names));
	CHECK(!text_nearest("", names));
}

static void counts(void)
{
	static const char *const bad[] = {
		"", "-1", "+1", " 1", "1 ", "1.0", "1k", "0x1", "18446744073709551616", "99999999999999999999"
	};
	uint64_t count = 0;

	CHECK(text_count("0", &count) && count == 0);
	CHECK(text_count("64", &count) && count == 64);
	CHECK(text_count("0064", &count) && count == 64);
	CHECK(text_count("18446744073709551615", &count) && count == UINT64_MAX);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		count = 7;
		if (text_count(bad[i], &count))
			check_fail("\"%s\" is taken as %llu", bad[i], (unsigned long long)count);
		CHECK_INT(count, 7);
	}
}

static void sizes_written(void)
{
	char out[TEXT_SIZE_MAX];

	CHECK_STR(text_size_format(0, out), "0");
	CHECK_STR(text_size_format(1, out), "1");
	CHECK_STR(text_size_format(1023, out), "1023");
	CHECK_STR(text_size_format(1024, out), "1k");
	CHECK_STR(text_size_format(1025, out), "1025");
	CHECK_STR(text_size_format(20 << 10, out), "20k");
	CHECK_STR(text_size_format(64 << 20, out), "64m");
	CHECK_STR(text_size_format((64 << 20) + 1024, out), "65537k");
	CHECK_STR(text_size_format(1 << 30, out), "1g");
	CHECK_STR(text_size_format(UINT64_C(1024) << 30, out), "1024g");
	CHECK_STR(text_size_format(UINT64_MAX, out), "18446744073709551615");
}

static void sizes_survive_the_round_trip(void)
{
	static const uint64_t values[] = {
		0, 1, 1000, 1024, 20480, 1 << 20, (1 << 20) + 1, UINT64_C(3) << 29, UINT64_C(1) << 40
	};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		char out[TEXT_SIZE_MAX];

		size_is(text_size_format(values[i], out), values[i]);
	}
}

static const char *fault(const char *path)
{
	const char *what = text_path_fault(path, strlen(path));

	return what ? what : "none";
}

static void paths(void)
{
	char part[300], whole[5000];

	CHECK_STR(fault("x"), "none");
	CHECK_STR(fault("a/b/c.txt"), "none");
	CHECK_STR(fault("..."), "none");
	CHECK_STR(fault("..a/b.."), "none");
	CHECK_STR(fault(".hidden"), "none");
	CHECK_STR(fault("a b\n\xff"), "none");
	CHECK_STR(fault(""), "it is empty");
	CHECK_STR(fault("/abs"), "it is absolute");
	CHECK_STR(fault("/"), "it is absolute");
	CHECK_STR(fault("."), "it has a part \".\" or \"..\"");
	CHECK_STR(fault(".."), "it has a part \".\" or \"..\"");
	CHECK_STR(fault("../x"), "it has a part \".\" or \"..\"");
	CHECK_STR(fault("a/../../b"), "it has a part \".\" or \"..\"");
	CHECK_STR(fault("a/./b"), "it has a part \".\" or \"..\"");
	CHECK_STR(fault("a/.."), "it has a part \".\" or \"..\"");
	CHECK_STR(fault("a//b"), "it has an empty part");
	CHECK_STR(fault("a/"), "it has an empty part");
	CHECK_STR(text_path_fault("a\0b", 3), "it holds a NUL byte");
	CHECK_STR(text_path_fault("\0", 1), "it holds a NUL byte");

	memset(part, 'a', sizeof(part));
	part[255] = '\0';
	CHECK_STR(fault(part), "none");
	part[255] = 'a';
	part[256] = '\0';
	CHECK_STR(fault(part), "a part of it is longer than 255 bytes");

	for (size_t i = 0; i < sizeof(whole); i++)
		whole[i] = i % 2 ? '/' : 'a';
	whole[4095] = '\0';
	CHECK_STR(fault(whole), "none");
	whole[4095] = 'a';
	whole[4096] = '\0';
	CHECK_STR(fault(whole), "it is longer than 4095 bytes");
}

static void paths_need_no_terminator(void)
{
	char *bytes = malloc(2);

	memcpy(bytes, "..", 2);
	CHECK_STR(text_path_fault(bytes, 2), "it has a part \".\" or \"..\"");
	CHECK(!text_path_fault("ab/", 2));
	free(bytes);
}

int main(void)
{
	RUN(sizes);
	RUN(sizes_refused);
	RUN(durations);
	RUN(numbers);
	RUN(numbers_are_printed);
	RUN(numbers_in_another_locale);
	RUN(the_nearest_word);
	RUN(counts);
	RUN(sizes_written);
	RUN(sizes_survive_the_round_trip);
	RUN(paths);
	RUN(paths_need_no_terminator);
	return check_failures != 0;
}
