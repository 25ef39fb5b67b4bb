/*
 * What standard error tells: the program chooses its code file's name, its exit code and what it writes; who defines a
 * language, the pattern. The first byte is the exit code (2 bits), whether it printed, whether it was the compiler and
 * whether a pattern is given; then a line with the name, maybe one with the pattern, and what was written.
 */
#include "fuzz.h"

#include "language/errors.h"

static void errors_line_holds(const char *line, size_t size)
{
	MUST(memchr(line, '\0', size));
	MUST(!strchr(line, '\n'));
}

static void errors_answer_holds(const struct runtime *runtime, const struct errors_input *input, bool named)
{
	struct errors_found found, again;
	char cause[384], small[8];

	memset(&found, 'x', sizeof(found));
	errors_find(runtime, input, &found);
	errors_line_holds(found.message, sizeof(found.message));
	errors_line_holds(found.file, sizeof(found.file));
	MUST(found.line >= 0 && found.column >= 0);
	MUST(found.kind == ERRORS_NONE || found.kind == ERRORS_SYNTAX ||
	     (found.kind == ERRORS_COMPILE && input->compiling));
	if (found.kind == ERRORS_NONE)
		MUST(!found.message[0] && !found.file[0] && !found.line && !found.column);
	/* Nothing is a syntax error that does not name the code file. */
	if (found.kind == ERRORS_SYNTAX && named) {
		MUST(memmem(input->text, input->size, input->file, strlen(input->file)));
		MUST(input->exit_code == 1 || input->exit_code == 2);
	}
	/* The effort is counted, not timed: the same again. */
	errors_find(runtime, input, &again);
	MUST(again.kind == found.kind && again.line == found.line && strcmp(again.message, found.message) == 0);
	memset(cause, 'x', sizeof(cause));
	errors_cause(runtime, input, cause, sizeof(cause));
	errors_line_holds(cause, sizeof(cause));
	memset(small, 'x', sizeof(small));
	errors_cause(runtime, input, small, sizeof(small));
	errors_line_holds(small, sizeof(small));
	MUST(strncmp(small, cause, strlen(small)) == 0);
}

static void errors_pattern_holds(const char *pattern, const struct errors_input *input)
{
	const struct runtime_syntax forms[] = {
		{ .exit = -1, .match = pattern },
		{ .exit = 1, .silent = true, .unless = "^no", .place = pattern, .match = "bad", .ends = pattern },
		{ .exit = 2, .unless = pattern, .place = "^(?<line>\\d+)", .match = "bad|\\n(?<message>.*)" },
	};
	const char *const list[] = { pattern, NULL }, *const none[] = { NULL };
	struct runtime runtime = { .errors = { forms, sizeof(forms) / sizeof(forms[0]), list, list, none } };
	char why[200] = "";
	bool usable = pattern_check(pattern, why, sizeof(why));

	MUST(usable == !why[0] && memchr(why, '\0', sizeof(why)));
	errors_answer_holds(&runtime, input, false);
	runtime.errors.noise = list;
	errors_answer_holds(&runtime, input, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const languages[] = { "python", "javascript", "bash", "perl", "rust" };
	const uint8_t *newline = size > 1 ? memchr(data + 1, '\n', size - 1) : NULL;
	const uint8_t *rest = newline ? newline + 1 : NULL, *end = data + size, *second;
	struct errors_input input = { .exit_code = size ? data[0] & 3 : 0 };
	char *file, *pattern = NULL, *text;

	if (!newline)
		return 0;
	input.printed = data[0] & 4;
	input.compiling = data[0] & 8;
	second = data[0] & 16 ? memchr(rest, '\n', (size_t)(end - rest)) : NULL;
	if (second) {
		pattern = fuzz_text_of(rest, (size_t)(second - rest));
		rest = second + 1;
	}
	file = fuzz_text_of(data + 1, (size_t)(newline - data) - 1);
	text = fuzz_text_of(rest, (size_t)(end - rest));
	input.file = file;
	input.text = text;
	input.size = (size_t)(end - rest);
	for (size_t i = 0; i < sizeof(languages) / sizeof(languages[0]) && !pattern; i++) {
		MUST(runtime_find(languages[i]));
		errors_answer_holds(runtime_find(languages[i]), &input, i < 3);
	}
	if (pattern)
		errors_pattern_holds(pattern, &input);
	free(file);
	free(text);
	free(pattern);
	return 0;
}
