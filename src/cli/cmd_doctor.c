/* emberbox doctor: reports what this host can enforce. */
#include "base/buf.h"
#include "cli/cmd.h"
#include "cli/options.h"
#include "cli/table.h"
#include "registry/config.h"
#include "base/state.h"
#include "api/doctor.h"
#include "api/prove.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	OPT_JSON = 1,
	OPT_PROVE,
	OPT_HELP
};

static const struct option_spec specs[] = {
	{ OPT_JSON, 0, "json", NULL, "print JSON" },
	{ OPT_PROVE, 0, "prove", NULL, "attack a box on this host and print which attacks failed" },
	{ OPT_HELP, 'h', "help", NULL, "show this help" },
	{ 0 },
};

static int print_help(void)
{
	puts("Usage: emberbox doctor [options]\n"
	     "Reports the isolation that this host can enforce, with fixes, and whether the\n"
	     "settings are valid. Exits with 1 if something essential is missing or wrong.\n");
	option_print(stdout, specs);
	return cmd_flush(0);
}

enum {
	SETTINGS = 2 /* rows about settings */
};

/* Checks the settings: an invalid one makes every run fail. Returns the number of rows. The path of the registry
 * depends on the variables. */
static size_t look_at_settings(struct doctor_setting settings[SETTINGS])
{
	struct doctor_setting *variables = &settings[0], *registry = &settings[1];
	_cleanup_config_ struct config config = { 0 };
	struct error wrong = { 0 }, err = { 0 };
	char path[PATH_MAX] = ".env";
	struct stat st;
	bool there = state_path(".env", path, sizeof(path)) == 0 && lstat(path, &st) == 0;

	*variables = (struct doctor_setting){ .name = "environment, .env" };
	*registry = (struct doctor_setting){ .name = "registry.yaml" };
	if (config_load_without(&config, &wrong, &err) < 0) {
		variables->wrong = true;
		variables->fix = "correct that line or variable; see `man emberbox-config`";
		snprintf(variables->detail, sizeof(variables->detail), "%s", err.text);
		return 1;
	}
	/* Root may have the HOME of another user, whose settings are not read. */
	snprintf(variables->detail, sizeof(variables->detail),
		 !there                                     ? "there is no %.900s"
		 : st.st_uid != geteuid() && st.st_uid != 0 ? "%.900s belongs to another user, and is not read"
							    : "%.900s is read; `emberbox config` shows what it sets",
		 path);
	if (wrong.kind != ERROR_NONE) {
		registry->wrong = true;
		registry->fix = "correct that place (line:column); see `man emberbox-config`";
		snprintf(registry->detail, sizeof(registry->detail), "%s", wrong.text);
	} else if (config.registry_size > 0) {
		snprintf(registry->detail, sizeof(registry->detail), "%.900s has %zu profile%s", config.registry_where,
			 config.registry.count, config.registry.count == 1 ? "" : "s");
	} else {
		snprintf(registry->detail, sizeof(registry->detail), "there is no %.900s", config.registry_where);
	}
	return SETTINGS;
}

/* The start of the last column of a row: after the last two blanks in its first half. */
static size_t last_column(const char *line, size_t width)
{
	size_t column = 0;

	for (size_t i = 1; i + 1 < width / 2; i++)
		if (line[i] == ' ' && line[i - 1] == ' ' && line[i + 1] != ' ')
			column = i + 1;
	return column;
}

/* Wraps lines at the width, except longer words. Takes the text; NULL: memory ran out. 0: no limit. */
static char *text_wrap(char *text, unsigned width)
{
	struct buf out = { 0 };

	if (width < 40)
		return text;
	for (char *line = text, *end; *line; line = end) {
		size_t length = strcspn(line, "\n"), indent = 0;

		end = line + length + (line[length] != '\0');
		while (length > width - indent) {
			size_t cut = width - indent, least = 0;

			if (indent == 0)
				indent = least = last_column(line, width);
			while (cut > least && line[cut] != ' ')
				cut--;
			if (cut <= least)
				break;
			buf_printf(&out, "%.*s\n%*s", (int)cut, line, (int)indent, "");
			line += cut + 1;
			length -= cut + 1;
		}
		buf_printf(&out, "%.*s\n", (int)length, line);
	}
	free(text);
	return buf_take(&out);
}

int cmd_doctor(int argc, char **argv)
{
	struct option_reader reader = { .specs = specs, .argc = argc, .argv = argv, .next = 1 };
	int json = 0, prove = 0, good = 0, code, option;
	struct doctor_setting settings[SETTINGS];
	size_t count;
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
	count = look_at_settings(settings);
	if (prove) {
		struct error wrong = { 0 };
		bool hold = false;

		if (prove_host(json, &text, &hold, &wrong) < 0) {
			cmd_complain("%s", wrong.text);
			return (int)wrong.kind;
		}
		good = hold;
	} else if (doctor_report(json, settings, count, &good, &text, &err) < 0) {
		cmd_complain("%s", err.message);
		return (int)err.code;
	}
	if (!json)
		text = text_wrap(text, terminal_width());
	code = cmd_print(text ? text : "", good ? 0 : 1);
	free(text);
	return code;
}
