/* emberbox doctor: what this host can enforce. */
#include "cmd/cmd.h"
#include "cmd/options.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	OPT_JSON = 1,
	OPT_PROVE,
	OPT_HELP
};

static const struct option_spec specs[] = {
	{ OPT_JSON, 0, "json", NULL, "print JSON" },
	{ OPT_PROVE, 0, "prove", NULL, "attack a box on this very host and print what held" },
	{ OPT_HELP, 'h', "help", NULL, "this text" },
	{ 0 },
};

static int print_help(void)
{
	puts("Usage: emberbox doctor [options]\n"
	     "What this host can enforce, what is missing, and how to get it.\n"
	     "Exits with 1 when something essential is missing.\n");
	option_print(stdout, specs);
	return cmd_flush(0);
}

int cmd_doctor(int argc, char **argv)
{
	struct option_reader reader = { .specs = specs, .argc = argc, .argv = argv, .next = 1 };
	int json = 0, prove = 0, good = 0, code, option;
	char *text = NULL;
	eb_error err = { 0 };

	while ((option = option_next(&reader)) != OPTION_END) {
		switch (option) {
		case OPT_JSON:
			json = 1;
			break;
		case OPT_PROVE:
			prove = 1;
			break;
		case OPT_HELP:
			return print_help();
		case OPTION_WORD:
			return cmd_usage("doctor", "unexpected argument \"%s\"", reader.value);
		default:
			return cmd_usage("doctor", "%s", reader.message);
		}
	}
	if (json && prove)
		return cmd_usage("doctor", "--prove prints a table; it cannot be combined with --json");
	if ((prove ? eb_prove(&text, &good, &err) : eb_doctor(json, &good, &text, &err)) < 0) {
		cmd_complain("%s", err.message);
		return (int)err.code;
	}
	code = cmd_print(text, good ? 0 : 1);
	free(text);
	return code;
}
