/* emberbox prepare: prepares languages before their first run. */
#include "cli/cmd.h"
#include "cli/options.h"

#include <stdio.h>
#include <string.h>

enum {
	OPT_HELP = 1,
};

static const struct option_spec specs[] = {
	{ OPT_HELP, 'h', "help", NULL, "show this help" },
	{ 0 },
};

static int prepare_one(const char *language, int named)
{
	eb_error err = { 0 };

	if (eb_prepare(language, &err) == 0) {
		printf("%s: ready\n", language);
		return cmd_flush(0);
	}
	/* If no language is named, those that are not installed are skipped. */
	if (!named && err.code == EB_NO_LANGUAGE)
		return 0;
	cmd_complain("%s", err.message);
	return (int)err.code;
}

int cmd_prepare(int argc, char **argv)
{
	struct option_reader reader = { .specs = specs, .argc = argc, .argv = argv, .next = 1 };
	int code = 0, failed, named = 0, option;
	const char *language;

	while ((option = option_next(&reader)) != OPTION_END) {
		if (option == OPT_HELP) {
			puts("Usage: emberbox prepare [LANG...]\n"
			     "Prepares what the first run of a language needs: Go's standard library,\n"
			     "PostgreSQL's template. Without LANG, prepares every installed language.\n");
			option_print(stdout, specs);
			return cmd_flush(0);
		}
		if (option != OPTION_WORD)
			return cmd_usage("prepare", "%s", reader.message);
		named = 1;
		failed = prepare_one(reader.value, 1);
		code = code ? code : failed;
	}
	/* A failure is reported, and the others continue. */
	for (size_t i = 0; !named && (language = eb_language_at(i)); i++) {
		failed = prepare_one(language, 0);
		code = code ? code : failed;
	}
	return code;
}
