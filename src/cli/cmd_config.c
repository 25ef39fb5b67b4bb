/* emberbox config: prints each setting and its source. */
#include "registry/config.h"
#include "base/buf.h"
#include "base/own.h"
#include "cli/cmd.h"
#include "cli/options.h"
#include "cli/table.h"
#include "base/state.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	OPT_JSON = 1,
	OPT_REGISTRY,
	OPT_LISTEN,
	OPT_SOCKET,
	OPT_HELP
};

static const struct option_spec specs[] = {
	{ OPT_JSON, 0, "json", NULL, "print JSON" },
	{ OPT_REGISTRY, 0, "registry", "FILE", "use this registry" },
	{ OPT_LISTEN, 0, "listen", "HOST:PORT", "show the settings of a service with this option" },
	{ OPT_SOCKET, 0, "socket", "PATH", "show the settings of a service with this option" },
	{ OPT_HELP, 'h', "help", NULL, "show this help" },
	{ 0 },
};

/* One row of the output. */
struct config_row {
	const char *name;    /* name of the setting */
	const char *value;   /* NULL: none */
	const char *source;  /* "default", and so on */
	const char *file;    /* file of the source, or NULL */
	unsigned line;       /* line in it; 0: unknown */
	const char *option;  /* "--listen", or NULL */
	const char *as;      /* the alias, if it was set by that; or NULL */
	const char *meaning; /* one sentence */
};

/* Defaults that depend on the path of the state directory. */
static const char *default_computed(enum config_key key, const struct config *config, char path[PATH_MAX])
{
	size_t length;

	if (key == CONFIG_REGISTRY_FILE)
		return config->registry_where[0] ? config->registry_where : NULL;
	if (key == CONFIG_SOCKET)
		return state_path("emberbox.sock", path, PATH_MAX) == 0 ? path : NULL;
	if (key != CONFIG_HOME || state_path("", path, PATH_MAX) < 0)
		return NULL;
	length = strlen(path);
	if (length > 1 && path[length - 1] == '/')
		path[length - 1] = '\0';
	return path;
}

static struct config_row row_of(const struct config *config, enum config_key key, char path[PATH_MAX])
{
	const struct config_value *value = &config->values[key];

	return (struct config_row){
		.name = config_name(key),
		.value = value->text ? value->text : default_computed(key, config, path),
		.source = config_source_name(value->source),
		.file = value->where,
		.line = value->line,
		.as = value->name && strcmp(value->name, config_name(key)) != 0 ? value->name : NULL,
		.option = value->source == CONFIG_OPTION ? config_option_name(key) : NULL,
		.meaning = config_meaning(key),
	};
}

static const char *value_shown(const struct config_row *row)
{
	bool secret = strcmp(row->name, config_name(CONFIG_TOKEN)) == 0;

	return !row->value ? "-" : secret ? "(set, not shown)" : row->value;
}

/* On a terminal, shortens the user's home directory to ~. */
static void add_path(struct buf *out, const char *path)
{
	const char *home = getenv("HOME");
	size_t size = home ? strlen(home) : 0;
	bool below = size > 1 && strncmp(path, home, size) == 0 && (path[size] == '/' || path[size] == '\0');

	if (terminal_width() > 0 && below)
		buf_printf(out, "~%s", path + size);
	else
		buf_text(out, path);
}

static void add_text(struct table *table, const struct config_row *row)
{
	_cleanup_buf_ struct buf value = { 0 }, where = { 0 };

	add_path(&value, value_shown(row));
	table_add(table, PAINT_NONE, row->name);
	table_add(table, row->value ? PAINT_NONE : PAINT_DIM, value.data);
	table_add(table, strcmp(row->source, "default") == 0 ? PAINT_DIM : PAINT_GOOD, row->source);
	if (row->file) {
		/* The directory is another row of the table. */
		const char *slash = terminal_width() > 0 ? strrchr(row->file, '/') : NULL;

		buf_printf(&where, "%s:%u", slash ? slash + 1 : row->file, row->line);
	}
	buf_text(&where, row->option ? row->option : "");
	if (row->as)
		buf_printf(&where, "%sas %s", where.size > 0 ? ", " : "", row->as);
	table_add(table, PAINT_NONE, where.data ? where.data : "");
	table->failed |= value.failed || where.failed;
}

/* A path need not be UTF-8, but JSON must be. */
static json_t *text_json(const char *text)
{
	_cleanup_buf_ struct buf clean = { 0 };

	if (!text)
		return json_null();
	buf_utf8(&clean, text, strlen(text));
	return json_string(clean.data ? clean.data : "");
}

static void add_json(json_t *list, const struct config_row *row)
{
	bool secret = strcmp(row->name, config_name(CONFIG_TOKEN)) == 0;

	json_array_append_new(list,
			      json_pack("{ss so sb ss so so ss}", "name", row->name, "value",
					secret ? json_null() : text_json(row->value), "set", row->value != NULL,
					"source", row->source, "file", text_json(row->file), "line",
					row->file ? json_integer(row->line) : json_null(), "meaning", row->meaning));
}

/* Settings that only the registry has. */
static void registry_rows(const struct config *config, struct config_row rows[2], char number[16])
{
	const struct registry *registry = &config->registry;

	snprintf(number, 16, "%u", registry->max_concurrent);
	rows[0] = (struct config_row){ .name = "auto_cleanup",
				       .value = registry->auto_cleanup ? "true" : "false",
				       .line = registry->auto_cleanup_line,
				       .meaning = "whether to remove containers when they have ended" };
	rows[1] = (struct config_row){ .name = "max_concurrent",
				       .value = number,
				       .line = registry->max_concurrent_line,
				       .meaning = "maximum of concurrent containers" };
	for (int i = 0; i < 2; i++) {
		rows[i].source = config_source_name(rows[i].line ? CONFIG_REGISTRY : CONFIG_DEFAULT);
		rows[i].file = rows[i].line ? config->registry_where : NULL;
	}
}

static int config_show(const struct config *config, bool json)
{
	_cleanup_buf_ struct buf text = { 0 };
	json_t *list = json ? json_array() : NULL;
	struct config_row rows[CONFIG_KEYS + 2];
	char home[PATH_MAX], socket[PATH_MAX], number[16];
	_cleanup_table_ struct table table = { 0 };

	for (int i = 0; i < CONFIG_KEYS; i++)
		rows[i] = row_of(config, (enum config_key)i, i == CONFIG_HOME ? home : socket);
	registry_rows(config, rows + CONFIG_KEYS, number);
	table_begin(&table, "SETTING|VALUE|SOURCE|WHERE");
	/* The source matters more; the whole value is in that file, and in --json. */
	table.yields = 2;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (json)
			add_json(list, &rows[i]);
		else
			add_text(&table, &rows[i]);
	}
	if (!json)
		table_print(&table, terminal_width(), terminal_colour(), &text);
	if (json) {
		json_t *root = json_pack("{so}", "settings", list);
		char *dump = json_dumps(root, JSON_INDENT(2));

		buf_printf(&text, "%s\n", dump ? dump : "");
		text.failed |= !dump;
		free(dump);
		json_decref(root);
	}
	if (text.failed) {
		cmd_complain("no memory");
		return EXIT_BROKEN;
	}
	return cmd_print_painted(text.data, 0);
}

static int print_help(void)
{
	puts("Usage: emberbox config [options]\n"
	     "Prints each setting, its value, and its source: an option, the environment,\n"
	     ".env, the registry, or the default. Tokens are not shown.\n");
	option_print(stdout, specs);
	return cmd_flush(0);
}

int cmd_config(int argc, char **argv)
{
	struct option_reader reader = { .specs = specs, .argc = argc, .argv = argv, .next = 1 };
	_cleanup_config_ struct config config = { 0 };
	struct config_option options[3];
	size_t count = 0;
	struct error err = { 0 };
	bool json = false;
	int option;

	while ((option = option_next(&reader)) != OPTION_END) {
		enum config_key key = option == OPT_LISTEN   ? CONFIG_LISTEN
				      : option == OPT_SOCKET ? CONFIG_SOCKET
							     : CONFIG_REGISTRY_FILE;

		if (option == OPT_HELP)
			return print_help();
		if (option == OPTION_WORD)
			return cmd_usage("config", "unexpected argument \"%s\"", reader.value);
		if (option == OPTION_BAD)
			return cmd_usage("config", "%s", reader.message);
		json |= option == OPT_JSON;
		if (option == OPT_JSON)
			continue;
		if (count == ARRAY_SIZE(options))
			return cmd_usage("config", "an option is given twice");
		options[count++] = (struct config_option){ key, reader.value };
	}
	if (config_load(options, count, &config, &err) == 0)
		return config_show(&config, json);
	cmd_complain("%s", err.text);
	return err.kind == ERROR_USAGE ? EXIT_USAGE : EXIT_BROKEN;
}
