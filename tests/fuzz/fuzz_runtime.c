/* Which language: the first line is a file's name, the rest its content. */
#include "fuzz.h"

#include "language/runtime.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *newline = size ? memchr(data, '\n', size) : NULL;
	size_t name_size = newline ? (size_t)(newline - data) : size;
	size_t head_size = newline ? size - name_size - 1 : 0;
	char *name = fuzz_text_of(data, name_size);
	/* Exactly as long as it is: no terminator is needed. */
	char *head = malloc(head_size + !head_size);
	const struct runtime *by_line, *by_name, *named;
	struct error err = { 0 };

	MUST(head);
	if (head_size > 0)
		memcpy(head, newline + 1, head_size);
	by_line = runtime_detect(NULL, head, head_size);
	MUST(!by_line || (head_size > 2 && memcmp(head, "#!", 2) == 0));
	by_name = runtime_detect(name, NULL, 0);
	MUST(!by_name || strrchr(name, '.'));
	MUST(runtime_detect(name, head, head_size) == (by_name ? by_name : by_line));
	named = runtime_find(name);
	MUST(!named || runtime_find(named->name) == named);
	MUST(runtime_unknown(name, &err) == -1 && strlen(err.text) < 200);
	free(name);
	free(head);
	return 0;
}
