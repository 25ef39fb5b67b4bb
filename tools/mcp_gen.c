/*
 * Turns the descriptions of MCP's tools and the guides of the languages into C
 * tables (src/mcp/tables.h).
 *
 *	mcp_gen OUTPUT TOOLS RUNTIMES
 *
 * TOOLS has a NAME.json for each tool. What several of them share is in
 * TOOLS/schemas: {"$ref": "schemas/FILE.json"} is replaced by that file, with
 * what stands beside it laid over. RUNTIMES has a NAME/SYSTEM.md for each
 * language. OUTPUT.d tells Ninja what was read. A mistake ends the build with
 * the file's name.
 */
#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	NAMES_MAX = 128,     /* entries of a directory */
	PATH_SIZE = 4096,    /* bytes of a path */
	GUIDE_MAX = 8 << 10, /* bytes of a guide: it is read by somebody who pays for each word */
	DEPTH_MAX = 16,      /* of a description */
};

static FILE *depfile;

static _Noreturn void __attribute__((format(printf, 1, 2))) die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("mcp_gen: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

static void path_join(char out[PATH_SIZE], const char *a, const char *b)
{
	if (snprintf(out, PATH_SIZE, "%s/%s", a, b) >= PATH_SIZE)
		die("%s: its path is too long", b);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names of the directory's entries, sorted; how many. */
static size_t list(const char *path, char *names[NAMES_MAX])
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	size_t count = 0;

	if (!dir)
		die("%s: %s", path, strerror(errno));
	fprintf(depfile, " %s", path);
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		if (count == NAMES_MAX || !(names[count++] = strdup(entry->d_name)))
			die("%s: too many entries", path);
	}
	closedir(dir);
	qsort(names, count, sizeof(names[0]), by_name);
	return count;
}

static void put_text(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte == '"' || byte == '\\')
			fprintf(out, "\\%c", byte);
		else if (byte == '\n')
			fputs("\\n\"\n\t\t\"", out);
		else if (byte < 0x20 || byte > 0x7e || byte == '?')
			fprintf(out, "\\%03o", byte);
		else
			fputc(byte, out);
	}
	fputc('"', out);
}

static json_t *load(const char *tools, const char *name)
{
	char path[PATH_SIZE];
	json_error_t why;
	json_t *root;

	path_join(path, tools, name);
	fprintf(depfile, " %s", path);
	root = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
	if (!json_is_object(root))
		die("%s:%d:%d: %s", path, why.line, why.column, root ? "expected an object" : why.text);
	return root;
}

/* The value with references replaced; takes it. */
static json_t *resolve(const char *tools, json_t *value, int depth)
{
	const char *target = json_string_value(json_object_get(value, "$ref")), *key;
	json_t *member, *base;
	size_t i;
	void *next;

	if (depth > DEPTH_MAX)
		die("%s: a description refers to itself, or is too deep", tools);
	if (target) {
		base = resolve(tools, load(tools, target), depth + 1);
		json_object_del(value, "$ref");
		if (json_object_update_recursive(base, value) < 0)
			die("%s: no memory", target);
		json_decref(value);
		return base;
	}
	json_object_foreach_safe(value, next, key, member)
		json_object_set_new(value, key, resolve(tools, json_incref(member), depth + 1));
	json_array_foreach(value, i, member)
		json_array_set_new(value, i, resolve(tools, json_incref(member), depth + 1));
	return value;
}

static void check(const char *file, const char *name, json_t *tool)
{
	static const char *const texts[] = { "name", "title", "description", NULL };
	static const char *const schemas[] = { "inputSchema", "outputSchema", NULL };

	for (const char *const *key = texts; *key; key++)
		if (!json_is_string(json_object_get(tool, *key)))
			die("%s: expected the text \"%s\"", file, *key);
	for (const char *const *key = schemas; *key; key++) {
		const char *type = json_string_value(json_object_get(json_object_get(tool, *key), "type"));

		if (!type || strcmp(type, "object") != 0)
			die("%s: expected \"%s\" of the type object", file, *key);
	}
	if (strcmp(json_string_value(json_object_get(tool, "name")), name) != 0)
		die("%s: expected the name \"%s\", as the file is called", file, name);
	if (!json_is_object(json_object_get(tool, "annotations")))
		die("%s: expected \"annotations\"", file);
}

static size_t put_tools(FILE *out, const char *tools)
{
	char *names[NAMES_MAX];
	size_t count = list(tools, names), put = 0;

	fputs("const struct mcp_definition mcp_definitions[] = {\n", out);
	for (size_t i = 0; i < count; i++) {
		char *dot = strrchr(names[i], '.'), *text;
		json_t *tool;

		if (!dot || strcmp(dot, ".json") != 0) {
			free(names[i]);
			continue;
		}
		tool = resolve(tools, load(tools, names[i]), 0);
		*dot = '\0';
		check(names[i], names[i], tool);
		text = json_dumps(tool, JSON_COMPACT);
		if (!text)
			die("%s: no memory", names[i]);
		fputs("\t{ ", out);
		put_text(out, names[i]);
		fputs(",\n\t  ", out);
		put_text(out, text);
		fputs(" },\n", out);
		put++;
		free(text);
		json_decref(tool);
		free(names[i]);
	}
	fputs("};\n", out);
	return put;
}

/* Its text, terminated; NULL: there is none. The caller frees. */
static char *read_guide(const char *runtimes, const char *language)
{
	char path[PATH_SIZE], folder[PATH_SIZE], *text = calloc(1, GUIDE_MAX + 2);
	FILE *file;
	size_t size;

	path_join(folder, runtimes, language);
	path_join(path, folder, "SYSTEM.md");
	file = fopen(path, "r");
	if (!file || !text) {
		free(text);
		return NULL;
	}
	fprintf(depfile, " %s", path);
	size = fread(text, 1, GUIDE_MAX + 1, file);
	fclose(file);
	if (size > GUIDE_MAX || strlen(text) != size || strncmp(text, "# ", 2) != 0 || !strstr(text, "\n\n"))
		die("%s: expected at most %d bytes of text: a line \"# Title\", an empty one, and what to know", path,
		    GUIDE_MAX);
	return text;
}

static size_t put_guides(FILE *out, const char *runtimes)
{
	char *names[NAMES_MAX];
	size_t count = list(runtimes, names), put = 0;

	fputs("const struct mcp_guide mcp_guides[] = {\n", out);
	for (size_t i = 0; i < count; i++) {
		char *text = read_guide(runtimes, names[i]);

		if (text) {
			fputs("\t{ ", out);
			put_text(out, names[i]);
			fputs(",\n\t  ", out);
			put_text(out, text);
			fputs(" },\n", out);
			put++;
		}
		free(text);
		free(names[i]);
	}
	fputs("\t{ 0 },\n};\n", out);
	return put;
}

int main(int argc, char **argv)
{
	char name[PATH_SIZE];
	size_t tools, guides;
	FILE *out;

	if (argc != 4) {
		fputs("usage: mcp_gen OUTPUT TOOLS RUNTIMES\n", stderr);
		return 2;
	}
	if (snprintf(name, sizeof(name), "%s.d", argv[1]) >= (int)sizeof(name))
		die("%s: its path is too long", argv[1]);
	out = fopen(argv[1], "w");
	depfile = fopen(name, "w");
	if (!out || !depfile)
		die("%s: %s", argv[1], strerror(errno));
	fprintf(depfile, "%s:", argv[1]);
	fputs("/* Made by tools/mcp_gen. */\n#include \"mcp/tables.h\"\n\n", out);
	tools = put_tools(out, argv[2]);
	guides = put_guides(out, argv[3]);
	fprintf(out, "const size_t mcp_definition_count = %zu;\nconst size_t mcp_guide_count = %zu;\n", tools, guides);
	fputc('\n', depfile);
	if (fclose(out) != 0 || fclose(depfile) != 0)
		die("%s: %s", argv[1], strerror(errno));
	return 0;
}
