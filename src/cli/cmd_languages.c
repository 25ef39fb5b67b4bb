/* emberbox languages: lists the languages that this host can run. */
#include "cli/cmd.h"
#include "cli/options.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	OPT_JSON = 1,
	OPT_HELP
};

static const struct option_spec specs[] = {
	{ OPT_JSON, 0, "json", NULL, "print JSON" },
	{ OPT_HELP, 'h', "help", NULL, "show this help" },
	{ 0 },
};

int cmd_languages(int argc, char **argv)
{
	struct option_reader reader = { .specs = specs, .argc = argc, .argv = argv, .next = 1 };
	int json = 0, code, option;
	char *text = NULL;
	eb_error err = { 0 };

	while ((option = option_next(&reader)) != OPTION_END) {
		switch (option) {
		case OPT_JSON:
			json = 1;
			break;
		case OPT_HELP:
			puts("Usage: emberbox languages [options]\n"
			     "Lists the languages with versions and aliases, and the commands that install the\n"
			     "missing ones.\n");
			option_print(stdout, specs);
			return cmd_flush(0);
		case OPTION_WORD:
			return cmd_usage("languages", "unexpected argument \"%s\"", reader.value);
		default:
			return cmd_usage("languages", "%s", reader.message);
		}
	}
	if (eb_languages(json, &text, &err) < 0) {
		cmd_complain("%s", err.message);
		return (int)err.code;
	}
	code = cmd_print(text, 0);
	free(text);
	return code;
}
