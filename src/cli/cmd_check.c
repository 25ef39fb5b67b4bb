/* emberbox check: checks a program before it runs. The program is not executed. */
#include "api/type_check.h"
#include "base/own.h"
#include "cli/cmd.h"
#include "cli/options.h"
#include "cli/program_source.h"
#include "policy/policy.h"
#include "registry/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	OPT_LANGUAGE = 1,
	OPT_CODE,
	OPT_JSON,
	OPT_REGISTRY,
	OPT_NO_CHECK,
	OPT_HELP
};

static const struct option_spec specs[] = {
	{ OPT_LANGUAGE, 'l', "language", "LANG", "the language; default: by the file's name or its #! line" },
	{ OPT_CODE, 'c', "code", "CODE", "the program's text, instead of a FILE" },
	{ OPT_JSON, 0, "json", NULL, "print one report object" },
	{ OPT_REGISTRY, 0, "registry", "FILE", "the registry, for its lists" },
	{ OPT_NO_CHECK, 0, "no-check", NULL, "TypeScript: skip the compiler's type check" },
	{ OPT_HELP, 'h', "help", NULL, "show this help" },
	{ 0 },
};

struct check {
	const char *file, *code, *language; /* as passed, or NULL */
	const char *registry;               /* value of --registry, or NULL */
	bool refuses;                       /* the settings refuse runs with findings */
	int json;                           /* --json */
	bool without_types;                 /* --no-check */
};

static int print_help(void)
{
	puts("Usage: emberbox check FILE|- [options]\n"
	     "Checks a program without running it: its syntax, its imports, and calls that are\n"
	     "dangerous. TypeScript is compiled as well, in a box, for the errors of its\n"
	     "types.\n");
	option_print(stdout, specs);
	puts("\n"
	     "Exit code: 0 clean; 1 syntax errors, type errors, blocked imports or findings of\n"
	     "medium or high severity; 2 bad usage; 125 it could not be checked; 127 unknown\n"
	     "language.");
	return cmd_flush(0);
}

/* Prints "4:9 high import os: files, processes and the environment" and the line. */
static void entry_print(const struct policy_entry *entry, bool refuses, const char *code, size_t size, struct buf *out)
{
	char line[120], mistake[REPORT_MISTAKE_MAX];

	report_line(code, size, entry->line, line, sizeof(line));
	buf_printf(out, "%u:%u ", entry->line, entry->column);
	if (entry->kind == WIRE_SYNTAX)
		buf_printf(out, "syntax error: %s\n", (report_mistake(entry, line, mistake), mistake));
	else if (entry->kind == WIRE_FINDING)
		buf_printf(out, "%s %s: %s\n", severity_name(entry->rule->severity), entry->rule->pattern,
			   entry->rule->reason);
	else if (entry->how == HOW_COMPUTED)
		buf_printf(out, "high import of %s: the module's name is computed at run time\n", entry->name);
	else if (entry->blocked)
		buf_printf(out, "%s import %s: %s%s%s\n", severity_name(entry_severity(entry)), entry->name,
			   refuses ? "blocked" : "would be refused by --policy block",
			   entry->rule ? ": " : ", it is on the blocklist of the registry",
			   entry->rule ? entry->rule->reason : "");
	else
		buf_printf(out, "import %s\n", entry->name);
	if (entry->kind != WIRE_IMPORT || entry->blocked || entry->how == HOW_COMPUTED)
		buf_printf(out, "    %s\n", line);
}

/* Prints "1:7 type error: Type 'string' is not assignable to type 'number'. (TS2322)" and the line. */
static void type_error_print(const struct errors_found *error, const char *code, size_t size, struct buf *out)
{
	const bool placed = !error->file[0] && error->line > 0;
	char line[120];

	if (placed)
		buf_printf(out, "%ld:%ld ", error->line, error->column);
	buf_text(out, "type error: ");
	if (error->file[0])
		buf_printf(out, "%s: ", error->file);
	buf_text(out, error->message);
	if (error->code[0])
		buf_printf(out, " (%s)", error->code);
	buf_text(out, "\n");
	if (placed) {
		report_line(code, size, (unsigned)error->line, line, sizeof(line));
		buf_printf(out, "    %s\n", line);
	}
}

static void types_print(const struct policy_report *report, const struct source *source, struct buf *out)
{
	const struct policy_types *types = report->types;

	for (size_t i = 0; types && i < types->count; i++)
		type_error_print(&types->errors[i], source->data, source->size, out);
	if (types && types->unchecked)
		buf_printf(out, "%s: types are not checked: %s\n", report->language, types->unchecked);
}

static int report_print(const struct check *check, const struct policy_report *report, const struct source *source)
{
	_cleanup_buf_ struct buf raw = { 0 }, text = { 0 };
	size_t mistakes, findings;
	int code;

	report_count(report, &mistakes, &findings);
	code = report->unread ? EXIT_BROKEN : mistakes + findings > 0 ? 1 : 0;
	if (check->json) {
		report_json(report, source->data, source->size, &text);
		buf_add(&text, "\n", 1);
	} else {
		for (size_t i = 0; i < report->count; i++)
			entry_print(&report->entries[i], check->refuses, source->data, source->size, &raw);
		types_print(report, source, &raw);
		if (report->cut || (report->types && report->types->cut))
			buf_text(&raw, "and more\n");
		if (report->unread)
			buf_printf(&raw, "%s: not checked: %s\n", report->language, report->unread);
		else if (code == 0)
			buf_printf(&raw, "%s: no findings\n", report->language);
		buf_utf8(&text, raw.data, raw.size);
	}
	if (text.failed || raw.failed) {
		cmd_complain("no memory for the report");
		return EXIT_BROKEN;
	}
	return cmd_print(text.data ? text.data : "", code);
}

static int source_take(const struct check *check, struct source *source)
{
	char message[1024] = "";
	int done;

	if (check->code) {
		source->data = strdup(check->code);
		source->size = strlen(check->code);
		return source->data ? 0 : EXIT_BROKEN;
	}
	done = strcmp(check->file, "-") == 0
		       ? source_read_fd(source, STDIN_FILENO, "standard input", message, sizeof(message))
		       : source_read_file(source, check->file, message, sizeof(message));
	if (done == 0)
		return 0;
	cmd_complain("%s", message);
	return EXIT_USAGE;
}

static bool report_has_mistake(const struct policy_report *report)
{
	size_t mistakes, findings;

	report_count(report, &mistakes, &findings);
	return mistakes > 0;
}

/* After syntax errors, a compiler would only repeat them. */
static void ask_compiler(const struct check *check, const struct runtime *runtime, const struct source *source,
			 struct policy_report *report)
{
	const char *slash = source->name ? strrchr(source->name, '/') : NULL;

	if (check->without_types || !type_check_there(runtime) || report->unread || report_has_mistake(report))
		return;
	type_check(runtime, slash ? slash + 1 : source->name, source->data, source->size, report);
}

static int program_check(const struct check *check, const struct source *source, const struct config *config)
{
	_cleanup_report_ struct policy_report report = { 0 };
	const char *name = source->name ? source->name : "";
	const struct runtime *runtime =
		check->language ? runtime_find(check->language) : runtime_detect(name, source->data, source->size);
	struct policy_lists lists;
	struct error err = { 0 };

	if (!runtime && check->language) {
		runtime_unknown(check->language, &err);
		cmd_complain("%s", err.text);
		return EB_NO_LANGUAGE;
	}
	if (!runtime)
		return cmd_usage("check", "the language of %s is unknown; name it with -l LANG",
				 source->name ? source->name : "the code");
	lists = registry_lists(&config->registry, runtime->name);
	if (policy_check(runtime, source->data, source->size, &lists, &report, &err) < 0) {
		cmd_complain("%s", err.text);
		return EXIT_BROKEN;
	}
	ask_compiler(check, runtime, source, &report);
	return report_print(check, &report, source);
}

int cmd_check(int argc, char **argv)
{
	struct option_reader reader = { .specs = specs, .argc = argc, .argv = argv, .next = 1 };
	struct config_option chosen = { CONFIG_REGISTRY_FILE, NULL };
	_cleanup_config_ struct config config = { 0 };
	struct source source = { 0 };
	struct check check = { 0 };
	struct error err = { 0 };
	int option, code;

	while ((option = option_next(&reader)) != OPTION_END) {
		switch (option) {
		case OPT_LANGUAGE:
			check.language = reader.value;
			break;
		case OPT_CODE:
			check.code = reader.value;
			break;
		case OPT_JSON:
			check.json = 1;
			break;
		case OPT_REGISTRY:
			chosen.value = reader.value;
			break;
		case OPT_NO_CHECK:
			check.without_types = true;
			break;
		case OPT_HELP:
			return print_help();
		case OPTION_WORD:
			if (check.file)
				return cmd_usage("check", "unexpected argument \"%s\"", reader.value);
			check.file = reader.value;
			break;
		default:
			return cmd_usage("check", "%s", reader.message);
		}
	}
	if (!check.file == !check.code)
		return cmd_usage("check", check.file
						  ? "the code is given twice"
						  : "nothing to check: give a FILE, - for standard input, or -c CODE");
	if (config_load(&chosen, chosen.value ? 1 : 0, &config, &err) < 0)
		return cmd_misconfigured(err.text);
	check.refuses = config_policy(&config) == POLICY_BLOCK;
	code = source_take(&check, &source);
	if (code == 0)
		code = program_check(&check, &source, &config);
	free(source.data);
	policy_close();
	return code;
}
