#include "language/definition.h"

#include "base/own.h"
#include "base/text.h"
#include "base/yaml.h"
#include "language/pattern.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Keys in which a placeholder is allowed. */
enum {
	IN_VERSION = 1 << 0,
	IN_PREPARE = 1 << 1,
	IN_COMPILE = 1 << 2,
	IN_RUN = 1 << 3,
	IN_SESSION = 1 << 4,
	IN_ENVIRONMENT = 1 << 5, /* the runtime's environment, which every step gets */
	IN_ALL = IN_PREPARE | IN_COMPILE | IN_RUN | IN_SESSION | IN_ENVIRONMENT,
};

enum {
	LIST_MAX = 256, /* maximum of items in a list */
	CALLS_MAX = 32, /* maximum of additions to the filter */
};

#define SMALL  "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"
#define LARGE  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

static const char *const nothing[] = { NULL };

const char *const definition_placeholders[] = { "entry",    "name",      "stem", "artifact", "drivers",
						"prepared", "outputs",   "args", "sources",  "files",
						"memory",   "memory_mb", "cpus", "timeout",  NULL };

/* In the order of definition_placeholders. */
/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): a table is read in the order of its columns */
static const struct placeholder {
	unsigned where;    /* where it is allowed */
	const char *needs; /* the key that it requires; NULL: none */
	bool many;         /* a word of its own that expands to several words */
} placeholders[] = {
	{ IN_COMPILE | IN_RUN, NULL, false },                       /* entry */
	{ IN_COMPILE | IN_RUN, NULL, false },                       /* name */
	{ IN_COMPILE | IN_RUN, NULL, false },                       /* stem */
	{ IN_RUN, "compile", false },                               /* artifact */
	{ IN_ALL, NULL, false },                                    /* drivers */
	{ IN_ALL, "prepare", false },                               /* prepared */
	{ IN_RUN | IN_SESSION | IN_ENVIRONMENT, "outputs", false }, /* outputs */
	{ IN_RUN | IN_SESSION, NULL, true },                        /* args */
	{ IN_COMPILE, NULL, true },                                 /* sources */
	{ IN_COMPILE | IN_RUN | IN_SESSION, NULL, true },           /* files */
	{ IN_ALL, NULL, false },                                    /* memory */
	{ IN_ALL, NULL, false },                                    /* memory_mb */
	{ IN_ALL, NULL, false },                                    /* cpus */
	{ IN_ALL, NULL, false },                                    /* timeout */
};
static_assert(ARRAY_SIZE(placeholders) == ARRAY_SIZE(definition_placeholders) - 1, "one for each");

struct definition_reader {
	struct yaml_doc doc; /* the document */
	struct arena *arena; /* owns the result */
	struct runtime *out; /* the result, as far as it is read */
	struct error *err;   /* the first mistake */
};

/* A key: the expected value, and where it is stored. */
struct definition_field {
	const char *key; /* name of the key */
	int (*read)(struct definition_reader *r, const struct yaml_node *node, const struct definition_field *f,
		    void *at);           /* into `at` */
	size_t offset;                   /* of `at` */
	const char *needed;              /* hint if the required key is missing; NULL: the key is optional */
	const char *what;                /* the expected value: of a string, or of each item of a list */
	bool (*check)(const char *text); /* whether the value is valid */
	unsigned scope;                  /* where the placeholders of a command line or an environment are: IN_… */
	const struct definition_field *fields; /* of a mapping, ended by one without a key */
};

static int out_of_memory(struct definition_reader *r)
{
	return error_set(r->err, ERROR_FAILED, ENOMEM, "cannot hold %s", r->doc.where);
}

/* Whether a word has only allowed characters. */

static bool word_of(const char *text, const char *first, const char *rest)
{
	return *text && strchr(first, *text) && text[1 + strspn(text + 1, rest)] == '\0' && strlen(text) <= 64;
}

static bool is_line(const char *text)
{
	return *text && !strpbrk(text, "\r\n");
}

static bool is_name(const char *text)
{
	return word_of(text, SMALL, SMALL DIGITS "_-");
}

static bool is_runtime_name(const char *text)
{
	return word_of(text, SMALL, SMALL DIGITS "+_-");
}

static bool is_alias(const char *text)
{
	return word_of(text, SMALL DIGITS, SMALL DIGITS "+#._-");
}

static bool is_extension(const char *text)
{
	return word_of(text, SMALL LARGE DIGITS "_+", SMALL LARGE DIGITS "_+-");
}

static bool is_interpreter(const char *text)
{
	return word_of(text, SMALL LARGE DIGITS "_", SMALL LARGE DIGITS "._+-");
}

static bool is_variable(const char *text)
{
	return word_of(text, SMALL LARGE "_", SMALL LARGE DIGITS "_");
}

static bool is_variables(const char *text)
{
	return word_of(text, SMALL LARGE "_*", SMALL LARGE DIGITS "_*");
}

static bool is_point(const char *text)
{
	static const char *const points[] = { "main", "node", "python", "ruby" };

	for (size_t i = 0; i < ARRAY_SIZE(points); i++)
		if (strcmp(points[i], text) == 0)
			return true;
	return false;
}

static bool is_call(const char *text)
{
	return word_of(text, SMALL "_", SMALL DIGITS "_");
}

static bool is_file_name(const char *text)
{
	return !strchr(text, '/') && !text_path_fault(text, strlen(text));
}

static bool is_absolute(const char *text)
{
	return text[0] == '/' && !text_path_fault(text + 1, strlen(text + 1));
}

static bool is_command(const char *text)
{
	return is_file_name(text) || is_absolute(text);
}

/* Placeholders. */

static int unknown_placeholder(struct definition_reader *r, const struct yaml_node *node, unsigned scope,
			       const char *name)
{
	const char *known[256];
	size_t count = 0;

	for (size_t i = 0; i < r->out->tool_count && i < 200; i++)
		known[count++] = r->out->tools[i].name;
	for (size_t i = 0; i < ARRAY_SIZE(placeholders); i++)
		if (placeholders[i].where & scope)
			known[count++] = definition_placeholders[i];
	known[count] = NULL;
	if (text_nearest(name, known))
		return yaml_fault(&r->doc, node, r->err, "expected a known placeholder, not {%s}; did you mean {%s}?",
				  name, text_nearest(name, known));
	return yaml_fault(&r->doc, node, r->err, "expected a known placeholder or the name of a tool, not {%s}", name);
}

static int misplaced_placeholder(struct definition_reader *r, const struct yaml_node *node, size_t index)
{
	static const char *const places[] = { "version", "prepare", "compile", "run", "session", "environment" };
	unsigned where = placeholders[index].where;
	char list[96] = "";

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		size_t used = strlen(list);

		if (where & (1U << i))
			snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "", places[i]);
	}
	return yaml_fault(&r->doc, node, r->err, "expected no {%s} here; it has a meaning in: %s",
			  definition_placeholders[index], list);
}

static bool is_there(const struct definition_reader *r, const char *key)
{
	const struct yaml_node *node = yaml_map_get(r->doc.root, key);

	return node && (node->kind != YAML_TEXT || strcmp(node->text, "false") != 0);
}

static int check_placeholder(struct definition_reader *r, const struct yaml_node *node, unsigned scope,
			     const char *name, bool whole)
{
	size_t i = 0;

	for (size_t t = 0; t < r->out->tool_count; t++)
		if (strcmp(r->out->tools[t].name, name) == 0)
			return 0;
	while (i < ARRAY_SIZE(placeholders) && strcmp(definition_placeholders[i], name) != 0)
		i++;
	if (i == ARRAY_SIZE(placeholders))
		return unknown_placeholder(r, node, scope, name);
	if (!(placeholders[i].where & scope))
		return misplaced_placeholder(r, node, i);
	if (placeholders[i].needs && !is_there(r, placeholders[i].needs))
		return yaml_fault(&r->doc, node, r->err, "expected no {%s}: it has no meaning without \"%s\"", name,
				  strcmp(name, "outputs") == 0 ? "outputs: true" : placeholders[i].needs);
	if (placeholders[i].many && !whole)
		return yaml_fault(&r->doc, node, r->err,
				  "expected {%s} as a word of its own in a command line: it expands to several words",
				  name);
	return 0;
}

/* `word`: it is a whole word of a command line, so it may be a placeholder that expands to several words. */
static int check_placeholders(struct definition_reader *r, const struct yaml_node *node, unsigned scope, bool word)
{
	for (const char *at = strchr(node->text, '{'); at; at = strchr(at + 1, '{')) {
		size_t length = placeholder_length(at);
		bool whole = word && at == node->text && at[length + 2] == '\0';
		char name[64];

		if (length == 0)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)length, at + 1);
		if (check_placeholder(r, node, scope, name, whole) < 0)
			return -1;
	}
	return 0;
}

/* Values. */

static int read_text(struct definition_reader *r, const struct yaml_node *node, const struct definition_field *f,
		     void *at)
{
	if (node->kind != YAML_TEXT || !f->check(node->text))
		return yaml_expected(&r->doc, node, r->err, "%s", f->what);
	*(const char **)at = node->text;
	return 0;
}

static int read_bool(struct definition_reader *r, const struct yaml_node *node, const struct definition_field *f,
		     void *at)
{
	return yaml_bool(&r->doc, node, at, r->err);
}

static int read_list(struct definition_reader *r, const struct yaml_node *node, const struct definition_field *f,
		     void *at)
{
	if (node->kind != YAML_LIST)
		return yaml_expected(&r->doc, node, r->err, "a list, each item %s", f->what);
	if (node->count > LIST_MAX)
		return yaml_fault(&r->doc, node, r->err, "expected at most %d items", LIST_MAX);
	yaml_each(item, node)
	{
		if (item->kind != YAML_TEXT || !f->check(item->text))
			return yaml_expected(&r->doc, item, r->err, "%s", f->what);
		yaml_each(other, node)
		{
			if (other == item)
				break;
			if (strcmp(other->text, item->text) == 0)
				return yaml_fault(&r->doc, item, r->err, "expected each once; \"%.64s\" is given twice",
						  item->text);
		}
	}
	return yaml_list(&r->doc, node, "a list", at, r->err);
}

/* The program needs an absolute path, because the box has no search for it. */
static bool starts_program(const char *word)
{
	return word[0] == '/' || (word[0] == '{' && placeholder_length(word) > 0 && strcmp(word, "{args}") != 0 &&
				  strcmp(word, "{sources}") != 0 && strcmp(word, "{files}") != 0);
}

static int read_command(struct definition_reader *r, const struct yaml_node *node, const struct definition_field *f,
			void *at)
{
	if (yaml_list(&r->doc, node, "a command line, as a list of words", at, r->err) < 0)
		return -1;
	if (!node->first)
		return yaml_fault(&r->doc, node, r->err, "expected at least one word in the command line");
	yaml_each(word, node) if (check_placeholders(r, word, f->scope, true) < 0) return -1;
	if (!starts_program(node->first->text))
		return yaml_expected(&r->doc, node->first, r->err,
				     "an absolute path or a tool, as {%s}, for the program", r->out->tools[0].name);
	return 0;
}

static int read_environment(struct definition_reader *r, const struct yaml_node *node, const struct definition_field *f,
			    void *at)
{
	const char **list;
	size_t count = 0;

	if (yaml_expect(&r->doc, node, YAML_MAP, "a mapping of names to values", r->err) < 0)
		return -1;
	list = arena_alloc(r->arena, (node->count + 1) * sizeof(*list));
	if (!list)
		return out_of_memory(r);
	yaml_each(value, node)
	{
		if (!is_variable(value->key->text))
			return yaml_expected(&r->doc, value->key, r->err,
					     "a variable's name, of letters, digits and _");
		if (yaml_expect(&r->doc, value, YAML_TEXT, "a string", r->err) < 0 ||
		    check_placeholders(r, value, f->scope, false) < 0)
			return -1;
		list[count] = arena_printf(r->arena, "%s=%s", value->key->text, value->text);
		if (!list[count++])
			return out_of_memory(r);
	}
	*(const char *const **)at = list;
	return 0;
}

static int read_exit(struct definition_reader *r, const struct yaml_node *node, const struct definition_field *f,
		     void *at)
{
	uint64_t code;

	if (node->kind != YAML_TEXT || !text_count(node->text, &code) || code > 255)
		return yaml_expected(&r->doc, node, r->err, "an exit code between 0 and 255");
	*(int *)at = (int)code;
	return 0;
}

/* `what` is a required group, as "(?<line>", or NULL. */
static int read_pattern(struct definition_reader *r, const struct yaml_node *node, const struct definition_field *f,
			void *at)
{
	char why[256] = "";

	if (yaml_expect(&r->doc, node, YAML_TEXT, "a pattern", r->err) < 0)
		return -1;
	if (!*node->text)
		return yaml_expected(&r->doc, node, r->err, "a pattern");
	if (!pattern_check(node->text, why, sizeof(why)))
		return yaml_fault(&r->doc, node, r->err, "expected a pattern that compiles: %s", why);
	if (f->what && !strstr(node->text, f->what))
		return yaml_fault(&r->doc, node, r->err, "expected a pattern with %s…)", f->what);
	*(const char **)at = node->text;
	return 0;
}

static int read_patterns(struct definition_reader *r, const struct yaml_node *node, const struct definition_field *f,
			 void *at)
{
	const char *text;

	if (yaml_expect(&r->doc, node, YAML_LIST, "a list of patterns", r->err) < 0)
		return -1;
	yaml_each(item, node) if (read_pattern(r, item, f, &text) < 0) return -1;
	return yaml_list(&r->doc, node, "a list of patterns", at, r->err);
}

/* Reads a mapping by its table; offsets are relative to `at`. */
static int read_fields(struct definition_reader *r, const struct yaml_node *node, const struct definition_field *f,
		       void *at)
{
	const char *known[32] = { NULL };
	size_t count = 0;

	if (yaml_expect(&r->doc, node, YAML_MAP, f->what, r->err) < 0)
		return -1;
	for (const struct definition_field *field = f->fields; field->key; field++)
		known[count++] = field->key;
	if (yaml_unknown_keys(&r->doc, node, known, r->err) < 0)
		return -1;
	for (const struct definition_field *field = f->fields; field->key; field++) {
		const struct yaml_node *value = yaml_map_get(node, field->key);

		if (!value && field->needed)
			return yaml_fault(&r->doc, node, r->err, "expected the key \"%s\": %s", field->key,
					  field->needed);
		if (value && field->read(r, value, field, (char *)at + field->offset) < 0)
			return -1;
	}
	return 0;
}

static int read_limits(struct definition_reader *r, const struct yaml_node *node, const struct definition_field *f,
		       void *at)
{
	const char *known[LIMITS + 1] = { NULL };
	char expected[LIMIT_SENTENCE];
	size_t count = 0;

	(void)f;
	if (yaml_expect(&r->doc, node, YAML_MAP, "a mapping of limits", r->err) < 0)
		return -1;
	for (size_t i = 0; i < LIMITS; i++)
		if (limit_rows[i].flags & LIMIT_IN_DEFINITION)
			known[count++] = limit_rows[i].name;
	if (yaml_unknown_keys(&r->doc, node, known, r->err) < 0)
		return -1;
	for (enum limit_id id = 0; id < LIMITS; id++) {
		const struct yaml_node *value = yaml_map_get(node, limit_rows[id].name);

		if (value && (value->kind != YAML_TEXT || !limit_set_plain(at, id, value->text)))
			return yaml_expected(&r->doc, value, r->err, "%s", limit_expected(id, expected));
	}
	return 0;
}

/* The tables, innermost first. */

#define COMMAND(KEY, OFFSET, NEEDED, SCOPE)                                                                            \
	{                                                                                                              \
		KEY, read_command, OFFSET, .needed = NEEDED, .scope = SCOPE                                            \
	}
#define ENVIRONMENT(OFFSET, SCOPE)                                                                                     \
	{                                                                                                              \
		"environment", read_environment, OFFSET, .scope = SCOPE                                                \
	}
#define LIMITS_AT(OFFSET)                                                                                              \
	{                                                                                                              \
		"limits", read_limits, OFFSET                                                                          \
	}
#define LIST(KEY, OFFSET, WHAT, CHECK)                                                                                 \
	{                                                                                                              \
		KEY, read_list, OFFSET, .what = WHAT, .check = CHECK                                                   \
	}
#define TEXT(KEY, OFFSET, NEEDED, WHAT, CHECK)                                                                         \
	{                                                                                                              \
		KEY, read_text, OFFSET, .needed = NEEDED, .what = WHAT, .check = CHECK                                 \
	}

static const struct definition_field prepare_fields[] = {
	COMMAND("run", offsetof(struct runtime_prepare, step.argv),
		"the command line that creates files in /sandbox/output", IN_PREPARE),
	ENVIRONMENT(offsetof(struct runtime_prepare, step.environment), IN_PREPARE),
	LIMITS_AT(offsetof(struct runtime_prepare, step.limits)),
	{ "writable", read_bool, offsetof(struct runtime_prepare, writable) },
	{ NULL },
};

static const struct definition_field compile_fields[] = {
	COMMAND("run", offsetof(struct runtime_compile, step.argv), "the compiler's command line", IN_COMPILE),
	COMMAND("unchecked", offsetof(struct runtime_compile, unchecked), NULL, IN_COMPILE),
	LIST("needs", offsetof(struct runtime_compile, needs), "an absolute path without . and ..", is_absolute),
	LIST("sources", offsetof(struct runtime_compile, sources), "a pattern of file names, as \"*.c\"", is_file_name),
	TEXT("artifact", offsetof(struct runtime_compile, artifact),
	     "the name of the file that it creates in /sandbox/output", "a file's name without directories",
	     is_file_name),
	ENVIRONMENT(offsetof(struct runtime_compile, step.environment), IN_COMPILE),
	LIMITS_AT(offsetof(struct runtime_compile, step.limits)),
	{ NULL },
};

static const struct definition_field ember_fields[] = {
	TEXT("point", offsetof(struct runtime_ember, point), "where the interpreter waits for a program",
	     "one of main, node, python, ruby", is_point),
	COMMAND("run", offsetof(struct runtime_ember, argv), NULL, IN_RUN),
	ENVIRONMENT(offsetof(struct runtime_ember, environment), IN_RUN),
	LIST("not_with", offsetof(struct runtime_ember, not_with), "a pattern of variables' names, as \"LC_*\"",
	     is_variables),
	{ "any_entry", read_bool, offsetof(struct runtime_ember, any_entry) },
	{ NULL },
};

static const struct definition_field session_fields[] = {
	COMMAND("run", offsetof(struct runtime_session, step.argv), "the driver's command line", IN_SESSION),
	ENVIRONMENT(offsetof(struct runtime_session, step.environment), IN_SESSION),
	{ "fork", read_bool, offsetof(struct runtime_session, fork) },
	{ NULL },
};

static const struct definition_field syntax_fields[] = {
	{ "exit", read_exit, offsetof(struct runtime_syntax, exit) },
	{ "silent", read_bool, offsetof(struct runtime_syntax, silent) },
	{ "first", read_bool, offsetof(struct runtime_syntax, first) },
	{ "unless", read_pattern, offsetof(struct runtime_syntax, unless) },
	{ "place", read_pattern, offsetof(struct runtime_syntax, place), .what = "(?<line>" },
	{ "match", read_pattern, offsetof(struct runtime_syntax, match),
	  .needed = "the pattern of the line with the message" },
	{ "ends", read_pattern, offsetof(struct runtime_syntax, ends) },
	{ NULL },
};

static const struct definition_field call_fields[] = {
	TEXT("call", offsetof(struct runtime_call, name), "the system call's name", "a system call's name", is_call),
	TEXT("reason", offsetof(struct runtime_call, reason), "why its programs need it", "one line of text", is_line),
	{ NULL },
};

static const struct definition_field profile_fields[] = {
	{ "commands", read_list, offsetof(struct runtime_profile, commands),
	  .needed = "the commands that can be executed", .what = "a command's name or absolute path",
	  .check = is_command },
	{ NULL },
};

static int read_tools(struct definition_reader *r, const struct yaml_node *node, const struct definition_field *f,
		      void *at)
{
	static const struct definition_field candidates = { .what = "an absolute path without . and ..",
							    .check = is_absolute };
	struct runtime_tool *tools, *tool;

	if (yaml_expect(&r->doc, node, YAML_MAP, "a mapping of names to lists of paths", r->err) < 0)
		return -1;
	if (!node->first)
		return yaml_fault(&r->doc, node, r->err, "expected at least one tool");
	tool = tools = arena_alloc(r->arena, node->count * sizeof(*tools));
	if (!tools)
		return out_of_memory(r);
	yaml_each(value, node)
	{
		tool->name = value->key->text;
		if (!is_name(tool->name) || strlen(tool->name) > 32)
			return yaml_expected(&r->doc, value->key, r->err,
					     "a tool's name, of small letters, digits, - and _");
		for (const char *const *other = definition_placeholders; *other; other++)
			if (strcmp(*other, tool->name) == 0)
				return yaml_fault(&r->doc, value->key, r->err,
						  "expected another name: {%s} is a placeholder of its own",
						  tool->name);
		if (read_list(r, value, &candidates, &tool->candidates) < 0)
			return -1;
		if (!value->first)
			return yaml_fault(&r->doc, value, r->err, "expected at least one path");
		tool++;
	}
	r->out->tools = tools;
	r->out->tool_count = node->count;
	return 0;
}

static int read_calls(struct definition_reader *r, const struct yaml_node *node, const struct definition_field *f,
		      void *at)
{
	static const struct definition_field call = { .what = "a mapping with \"call\" and \"reason\"",
						      .fields = call_fields };
	struct runtime_call *calls;
	size_t count = 0;

	if (yaml_expect(&r->doc, node, YAML_LIST, "a list of system calls", r->err) < 0)
		return -1;
	if (node->count > CALLS_MAX)
		return yaml_fault(&r->doc, node, r->err, "expected at most %d system calls", CALLS_MAX);
	calls = arena_alloc(r->arena, node->count * sizeof(*calls));
	if (!calls)
		return out_of_memory(r);
	yaml_each(item, node) if (read_fields(r, item, &call, &calls[count++]) < 0) return -1;
	r->out->calls = calls;
	r->out->call_count = count;
	return 0;
}

static int read_profiles(struct definition_reader *r, const struct yaml_node *node, const struct definition_field *f,
			 void *at)
{
	static const struct definition_field profile = { .what = "a mapping with \"commands\"",
							 .fields = profile_fields };
	struct runtime_profile *profiles;
	size_t count = 0;

	if (yaml_expect(&r->doc, node, YAML_MAP, "a mapping of names to profiles", r->err) < 0)
		return -1;
	profiles = arena_alloc(r->arena, node->count * sizeof(*profiles));
	if (!profiles)
		return out_of_memory(r);
	yaml_each(value, node)
	{
		profiles[count].name = value->key->text;
		if (!is_name(value->key->text))
			return yaml_expected(&r->doc, value->key, r->err,
					     "a profile's name, of small letters, digits, - and _");
		if (read_fields(r, value, &profile, &profiles[count++]) < 0)
			return -1;
	}
	r->out->profiles = profiles;
	r->out->profile_count = count;
	return 0;
}

static int read_syntax(struct definition_reader *r, const struct yaml_node *node, const struct definition_field *f,
		       void *at)
{
	static const struct definition_field form = { .what = "a mapping with \"match\"", .fields = syntax_fields };
	struct runtime_syntax *forms;
	size_t count = 0;

	if (yaml_expect(&r->doc, node, YAML_LIST, "a list of forms of a syntax error", r->err) < 0)
		return -1;
	forms = arena_alloc(r->arena, node->count * sizeof(*forms));
	if (!forms)
		return out_of_memory(r);
	yaml_each(item, node)
	{
		forms[count].exit = -1;
		if (read_fields(r, item, &form, &forms[count++]) < 0)
			return -1;
	}
	r->out->errors.syntax = forms;
	r->out->errors.syntax_count = count;
	return 0;
}

static const struct definition_field errors_fields[] = {
	{ "syntax", read_syntax },
	{ "compile", read_patterns, offsetof(struct runtime_errors, compile) },
	{ "cause", read_patterns, offsetof(struct runtime_errors, cause) },
	{ "noise", read_patterns, offsetof(struct runtime_errors, noise) },
	{ NULL },
};

/* Tools first: their names are placeholders in what follows. */
static const struct definition_field runtime_fields[] = {
	{ "tools", read_tools, .needed = "what has to be installed, as name: [paths]" },
	TEXT("display", offsetof(struct runtime, display), "the language's name in sentences", "one line of text",
	     is_line),
	LIST("aliases", offsetof(struct runtime, aliases), "another name of the language, in small letters", is_alias),
	LIST("extensions", offsetof(struct runtime, extensions), "an extension of file names, without the dot",
	     is_extension),
	LIST("interpreters", offsetof(struct runtime, interpreters),
	     "a program's name in #! lines, without directories", is_interpreter),
	TEXT("file", offsetof(struct runtime, file), "the code file's name when the caller gives none",
	     "a file's name without directories", is_file_name),
	COMMAND("version", offsetof(struct runtime, version), "the command line that prints the version", IN_VERSION),
	{ "version_pattern", read_pattern, offsetof(struct runtime, version_pattern), .what = "(?<version>" },
	TEXT("install", offsetof(struct runtime, install), "the command that installs it", "one line of text", is_line),
	LIST("needs", offsetof(struct runtime, needs), "an absolute path without . and ..", is_absolute),
	LIST("binds", offsetof(struct runtime, binds), "an absolute path without . and ..", is_absolute),
	LIST("scratch", offsetof(struct runtime, scratch), "an absolute path without . and ..", is_absolute),
	ENVIRONMENT(offsetof(struct runtime, environment), IN_ENVIRONMENT),
	LIMITS_AT(offsetof(struct runtime, limits)),
	{ "prepare", read_fields, offsetof(struct runtime, prepare), .what = "a mapping with \"run\"",
	  .fields = prepare_fields },
	{ "compile", read_fields, offsetof(struct runtime, compile), .what = "a mapping with \"run\" and \"artifact\"",
	  .fields = compile_fields },
	COMMAND("run", offsetof(struct runtime, run), "the program's command line", IN_RUN),
	COMMAND("buffered", offsetof(struct runtime, buffered), NULL, IN_RUN),
	{ "session", read_fields, offsetof(struct runtime, session), .what = "a mapping with \"run\"",
	  .fields = session_fields },
	{ "ember", read_fields, offsetof(struct runtime, ember), .what = "a mapping with \"point\" and \"run\"",
	  .fields = ember_fields },
	{ "outputs", read_bool, offsetof(struct runtime, outputs) },
	{ "seccomp", read_calls },
	{ "profiles", read_profiles },
	{ "errors", read_fields, offsetof(struct runtime, errors), .what = "a mapping of patterns",
	  .fields = errors_fields },
	TEXT("notes", offsetof(struct runtime, notes), NULL, "one line of text", is_line),
	{ NULL },
};

int definition_read(const char *name, const char *where, const char *text, size_t size, struct arena *arena,
		    struct runtime *out, struct error *err)
{
	static const struct definition_field whole = { .what = "a mapping with the language's definition",
						       .fields = runtime_fields };
	struct definition_reader r = { .doc.where = where, .arena = arena, .out = out, .err = err };

	*out = (struct runtime){
		.aliases = nothing,
		.extensions = nothing,
		.interpreters = nothing,
		.binds = nothing,
		.needs = nothing,
		.scratch = nothing,
		.environment = nothing,
		.ember = { .environment = nothing, .not_with = nothing },
		.prepare.step.environment = nothing,
		.compile.step.environment = nothing,
		.compile.sources = nothing,
		.compile.needs = nothing,
		.session.step.environment = nothing,
		.errors = { .compile = nothing, .cause = nothing, .noise = nothing },
	};
	if (!is_runtime_name(name) || strlen(name) > 32)
		return error_usage(
			err,
			"%s: expected a folder named after the language, with small letters, digits, +, - and _, "
			"not \"%.64s\"",
			where, name);
	out->name = arena_string(arena, name);
	if (!out->name)
		return out_of_memory(&r);
	if (yaml_load(where, text, size, arena, &r.doc, err) < 0)
		return -1;
	return read_fields(&r, r.doc.root, &whole, out);
}
