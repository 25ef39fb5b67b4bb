/* The option reader: every form of an option, and what is said about a wrong one. */
#include "../check.h"

/* The command line is not part of the library; its pure core is compiled in. */
#include "cli/options.c"

enum {
	OPT_LANGUAGE = 1,
	OPT_MEMORY,
	OPT_QUIET,
	OPT_JSON
};

static const struct option_spec table[] = {
	{ OPT_LANGUAGE, 'l', "language", "LANG", "" },
	{ OPT_MEMORY, 0, "memory", "SIZE", "" },
	{ OPT_QUIET, 'q', "quiet", NULL, "" },
	{ OPT_JSON, 'j', "json", NULL, "" },
	{ 0 },
};

#define READER(...)                                                                                                    \
	const char *argv_[] = { "command", __VA_ARGS__, NULL };                                                        \
	struct option_reader reader = {                                                                                \
		.specs = table,                                                                                        \
		.argc = (int)(sizeof(argv_) / sizeof(argv_[0])) - 1,                                                   \
		.argv = (char **)argv_,                                                                                \
		.next = 1,                                                                                             \
	}

static void long_forms(void)
{
	READER("--language", "python", "--memory=64m", "--memory=", "--quiet");

	CHECK_INT(option_next(&reader), OPT_LANGUAGE);
	CHECK_STR(reader.value, "python");
	CHECK_INT(option_next(&reader), OPT_MEMORY);
	CHECK_STR(reader.value, "64m");
	CHECK_INT(option_next(&reader), OPT_MEMORY);
	CHECK_STR(reader.value, "");
	CHECK_INT(option_next(&reader), OPT_QUIET);
	CHECK(!reader.value);
	CHECK_INT(option_next(&reader), OPTION_END);
	CHECK_INT(option_next(&reader), OPTION_END);
}

static void short_forms(void)
{
	READER("-l", "python", "-lbash", "-qj", "-qlnode");

	CHECK_INT(option_next(&reader), OPT_LANGUAGE);
	CHECK_STR(reader.value, "python");
	CHECK_INT(option_next(&reader), OPT_LANGUAGE);
	CHECK_STR(reader.value, "bash");
	CHECK_INT(option_next(&reader), OPT_QUIET);
	CHECK_INT(option_next(&reader), OPT_JSON);
	CHECK_INT(option_next(&reader), OPT_QUIET);
	CHECK_INT(option_next(&reader), OPT_LANGUAGE);
	CHECK_STR(reader.value, "node");
	CHECK_INT(option_next(&reader), OPTION_END);
}

static void words_and_dashes(void)
{
	READER("a", "-q", "-", "", "--", "-q", "--", "--memory=1");

	CHECK_INT(option_next(&reader), OPTION_WORD);
	CHECK_STR(reader.value, "a");
	CHECK_INT(option_next(&reader), OPT_QUIET);
	CHECK_INT(option_next(&reader), OPTION_WORD);
	CHECK_STR(reader.value, "-");
	CHECK_INT(option_next(&reader), OPTION_WORD);
	CHECK_STR(reader.value, "");
	CHECK_INT(reader.only_words, 0);
	CHECK_INT(option_next(&reader), OPTION_WORD);
	CHECK_STR(reader.value, "-q");
	CHECK_INT(reader.only_words, 1);
	CHECK_INT(option_next(&reader), OPTION_WORD);
	CHECK_STR(reader.value, "--");
	CHECK_INT(option_next(&reader), OPTION_WORD);
	CHECK_STR(reader.value, "--memory=1");
	CHECK_INT(option_next(&reader), OPTION_END);
}

static void values_may_look_like_options(void)
{
	READER("-l", "-q", "--memory", "--");

	CHECK_INT(option_next(&reader), OPT_LANGUAGE);
	CHECK_STR(reader.value, "-q");
	CHECK_INT(option_next(&reader), OPT_MEMORY);
	CHECK_STR(reader.value, "--");
	CHECK_INT(option_next(&reader), OPTION_END);
}

#define CHECK_BAD(argument, sentence)                                                                                  \
	do {                                                                                                           \
		READER(argument);                                                                                      \
		CHECK_INT(option_next(&reader), OPTION_BAD);                                                           \
		CHECK_STR(reader.message, sentence);                                                                   \
		CHECK_INT(option_next(&reader), OPTION_END);                                                           \
	} while (0)

static void mistakes_are_named(void)
{
	CHECK_BAD("--mem", "unknown option --mem; did you mean --memory?");
	CHECK_BAD("--memroy=64m", "unknown option --memroy; did you mean --memory?");
	CHECK_BAD("--zzzzzz", "unknown option --zzzzzz");
	CHECK_BAD("--=x", "unknown option --");
	CHECK_BAD("-z", "unknown option -z");
	CHECK_BAD("-zq", "unknown option -z");
	CHECK_BAD("--quiet=yes", "option --quiet takes no value");
	CHECK_BAD("--memory", "option --memory needs a value: SIZE");
}

static void long_words_are_cut(void)
{
	char word[4096];

	memset(word, 'x', sizeof(word) - 1);
	memcpy(word, "--", 2);
	word[sizeof(word) - 1] = '\0';
	READER(word);
	CHECK_INT(option_next(&reader), OPTION_BAD);
	CHECK_INT(strlen(reader.message), strlen("unknown option --") + WORD_MAX);
}

int main(void)
{
	RUN(long_forms);
	RUN(short_forms);
	RUN(words_and_dashes);
	RUN(values_may_look_like_options);
	RUN(mistakes_are_named);
	RUN(long_words_are_cut);
	return check_failures != 0;
}
