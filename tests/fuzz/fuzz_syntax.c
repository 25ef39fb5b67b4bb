/*
 * Syntax errors: the program chooses its code file's name, its exit code and what stands on standard error. The first
 * byte is the exit code and whether it printed, the first line the name, the rest what it wrote.
 */
#include "fuzz.h"

#include "runtime/syntax.h"

static void syntax_answer_holds(syntax_reader *reader, const struct syntax_input *input)
{
	char detail[384], small[8], *answer = malloc(sizeof(detail));
	bool found;

	MUST(answer);
	/* Its own allocation of just this size, so that the sanitizer sees a byte too many. */
	memset(answer, 'x', sizeof(detail));
	found = reader(input, answer, sizeof(detail));
	MUST(found || answer[0] == 'x');
	if (found) {
		MUST(memchr(answer, '\0', sizeof(detail)));
		MUST(!strchr(answer, '\n'));
		/* Nothing is a syntax error that does not name the code file. */
		MUST(strstr(input->errors, input->file));
		MUST(input->exit_code == 1 || input->exit_code == 2);
	}
	memset(small, 'x', sizeof(small));
	MUST(reader(input, small, sizeof(small)) == found);
	MUST(!found || memchr(small, '\0', sizeof(small)));
	free(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static syntax_reader *const readers[] = { syntax_python, syntax_node, syntax_bash };
	const uint8_t *newline = size > 1 ? memchr(data + 1, '\n', size - 1) : NULL;
	size_t name_size = newline ? (size_t)(newline - data) - 1 : 0;
	struct syntax_input input = { .exit_code = size ? data[0] & 3 : 0, .printed = size && (data[0] & 4) };
	char *file, *errors;

	if (!newline)
		return 0;
	file = fuzz_text_of(data + 1, name_size);
	errors = fuzz_text_of(newline + 1, size - name_size - 2);
	input.file = file;
	input.errors = errors;
	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
		syntax_answer_holds(readers[i], &input);
	free(file);
	free(errors);
	return 0;
}
