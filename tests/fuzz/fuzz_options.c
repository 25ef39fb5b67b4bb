/* The option reader: every line is one argument. */
#include "fuzz.h"

/* The command line is not part of the library; its pure core is compiled in. */
#include "cli/options.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct option_spec table[] = {
		{ 1, 'l', "language", "LANG", "" },
		{ 2, 0, "memory", "SIZE", "" },
		{ 3, 'q', "quiet", NULL, "" },
		{ 4, 'j', "json", NULL, "" },
		{ 0 },
	};
	static const char *const names[] = { "run", "languages", "doctor", NULL };
	enum {
		ARGUMENTS_MAX = 256
	};
	char *text = fuzz_text_of(data, size), *rest = text, *argv[ARGUMENTS_MAX + 2] = { (char *)"command" };
	struct option_reader reader = { .specs = table, .argc = 1, .argv = argv, .next = 1 };
	size_t turns = 0;
	int id;

	while (rest && reader.argc < ARGUMENTS_MAX)
		argv[reader.argc++] = strsep(&rest, "\n");
	while ((id = option_next(&reader)) != OPTION_END) {
		/* A letter or a word is used up each time. */
		MUST(++turns <= size + ARGUMENTS_MAX);
		MUST(reader.next <= reader.argc);
		if (id == OPTION_BAD) {
			MUST(reader.message[0] && memchr(reader.message, '\0', sizeof(reader.message)));
			break;
		}
		MUST(id == OPTION_WORD || (id >= 1 && id <= 4));
		MUST((reader.value != NULL) == (id == OPTION_WORD || id <= 2));
		if (reader.value)
			(void)text_nearest(reader.value, names);
	}
	free(text);
	return 0;
}
