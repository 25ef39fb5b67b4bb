/*
 * Turns the folders of languages into tables.
 *
 *	runtime_gen OUTPUT DIR…
 *	runtime_gen OUTPUT PARENT/
 *
 * reads each DIR as a user's own is read when emberbox runs (folder.c), and
 * writes a C source with all of them, sorted by name: language/builtin.h. A
 * mistake in one is an error of the build, and no output is left. OUTPUT.d tells
 * Ninja what was read, so that a driver that is changed or added counts.
 */
#include "base/own.h"
#include "language/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The bytes as a C string. Three octal digits end by themselves, whatever follows; '?' could begin a trigraph. */
static void put_bytes(FILE *out, const void *data, size_t size)
{
	const unsigned char *bytes = data;

	putc('"', out);
	for (size_t i = 0; i < size; i++) {
		if (bytes[i] == '\n' && i + 1 < size)
			fputs("\\n\"\n\t\t\"", out);
		else if (bytes[i] < ' ' || bytes[i] > '~' || strchr("\"\\?", bytes[i]))
			fprintf(out, "\\%03o", bytes[i]);
		else
			putc(bytes[i], out);
	}
	putc('"', out);
}

static void put_text(FILE *out, const char *text)
{
	if (text)
		put_bytes(out, text, strlen(text));
	else
		fputs("NULL", out);
}

static void put_text_field(FILE *out, const char *field, const char *text)
{
	fprintf(out, "\t.%s = ", field);
	put_text(out, text);
	fputs(",\n", out);
}

static void put_list(FILE *out, const char *field, const char *const *list)
{
	fprintf(out, "\t.%s = ", field);
	if (!list) {
		fputs("NULL,\n", out);
		return;
	}
	fputs("(const char *const[]){ ", out);
	for (; *list; list++) {
		put_text(out, *list);
		fputs(", ", out);
	}
	fputs("NULL },\n", out);
}

static void put_limits(FILE *out, const char *field, const struct limits *l)
{
	fprintf(out, "\t.%s = { ", field);
	/* 17 digits give the same double back. */
	for (enum limit_id id = 0; id < LIMITS; id++)
		fprintf(out, ".%s = %.17g, ", limit_rows[id].name, limit_get(l, id));
	fputs("},\n", out);
}

static void put_tools(FILE *out, const struct runtime *r)
{
	fprintf(out, "\t.tools = (const struct runtime_tool[]){\n");
	for (size_t i = 0; i < r->tool_count; i++) {
		fputs("\t{\n", out);
		put_text_field(out, "name", r->tools[i].name);
		put_list(out, "candidates", r->tools[i].candidates);
		fputs("\t},\n", out);
	}
	fprintf(out, "\t},\n\t.tool_count = %zu,\n", r->tool_count);
}

static void put_steps(FILE *out, const struct runtime *r)
{
	put_list(out, "prepare.step.argv", r->prepare.step.argv);
	put_list(out, "prepare.step.environment", r->prepare.step.environment);
	put_limits(out, "prepare.step.limits", &r->prepare.step.limits);
	fprintf(out, "\t.prepare.writable = %d,\n", r->prepare.writable);
	put_list(out, "compile.step.argv", r->compile.step.argv);
	put_list(out, "compile.step.environment", r->compile.step.environment);
	put_limits(out, "compile.step.limits", &r->compile.step.limits);
	put_list(out, "compile.unchecked", r->compile.unchecked);
	put_list(out, "compile.needs", r->compile.needs);
	put_list(out, "compile.sources", r->compile.sources);
	put_text_field(out, "compile.artifact", r->compile.artifact);
	put_list(out, "run", r->run);
	put_list(out, "buffered", r->buffered);
	put_list(out, "session.step.argv", r->session.step.argv);
	put_list(out, "session.step.environment", r->session.step.environment);
	fprintf(out, "\t.session.fork = %d,\n", r->session.fork);
	put_text_field(out, "ember.point", r->ember.point);
	put_list(out, "ember.argv", r->ember.argv);
	put_list(out, "ember.environment", r->ember.environment);
	put_list(out, "ember.not_with", r->ember.not_with);
	fprintf(out, "\t.ember.any_entry = %d,\n", r->ember.any_entry);
	fprintf(out, "\t.outputs = %d,\n", r->outputs);
}

static void put_errors(FILE *out, const struct runtime_errors *errors)
{
	if (errors->syntax_count)
		fprintf(out, "\t.errors.syntax = (const struct runtime_syntax[]){\n");
	for (size_t i = 0; i < errors->syntax_count; i++) {
		const struct runtime_syntax *form = &errors->syntax[i];

		fprintf(out, "\t{\n\t.exit = %d,\n\t.silent = %d,\n\t.first = %d,\n", form->exit, form->silent,
			form->first);
		put_text_field(out, "unless", form->unless);
		put_text_field(out, "place", form->place);
		put_text_field(out, "match", form->match);
		put_text_field(out, "ends", form->ends);
		fputs("\t},\n", out);
	}
	if (errors->syntax_count)
		fprintf(out, "\t},\n");
	fprintf(out, "\t.errors.syntax_count = %zu,\n", errors->syntax_count);
	put_list(out, "errors.compile", errors->compile);
	put_list(out, "errors.cause", errors->cause);
	put_list(out, "errors.noise", errors->noise);
}

static void put_words(FILE *out, const char *field, const struct runtime_word *words, size_t count)
{
	if (count)
		fprintf(out, "\t.explain.%ss = (const struct runtime_word[]){\n", field);
	for (size_t i = 0; i < count; i++) {
		fputs("\t{ ", out);
		put_text(out, words[i].key);
		fputs(", ", out);
		put_text(out, words[i].value);
		fputs(" },\n", out);
	}
	if (count)
		fputs("\t},\n", out);
	fprintf(out, "\t.explain.%s_count = %zu,\n", field, count);
}

static void put_kind(FILE *out, const struct runtime_kind *kind)
{
	fputs("\t{\n", out);
	put_text_field(out, "name", kind->name);
	put_list(out, "types", kind->types);
	put_text_field(out, "match", kind->match);
	put_text_field(out, "text", kind->text);
	put_text_field(out, "code", kind->code);
	put_text_field(out, "near", kind->near);
	fprintf(out, "\t.among_files = %d,\n", kind->among_files);
	put_list(out, "say", kind->say);
	put_text_field(out, "fix", kind->fix);
	put_text_field(out, "docs", kind->docs);
	fputs("\t},\n", out);
}

static void put_explain(FILE *out, const struct runtime_explain *explain)
{
	put_text_field(out, "explain.like", explain->like);
	put_text_field(out, "explain.start", explain->start);
	put_text_field(out, "explain.stop", explain->stop);
	put_list(out, "explain.frames", explain->frames);
	fprintf(out, "\t.explain.newest_last = %d,\n", explain->newest_last);
	put_list(out, "explain.errors", explain->errors);
	put_text_field(out, "explain.type", explain->type);
	put_list(out, "explain.looks", explain->looks);
	put_list(out, "explain.names", explain->names);
	put_words(out, "package", explain->packages, explain->package_count);
	put_words(out, "home", explain->homes, explain->home_count);
	if (explain->kind_count)
		fputs("\t.explain.kinds = (const struct runtime_kind[]){\n", out);
	for (size_t i = 0; i < explain->kind_count; i++)
		put_kind(out, &explain->kinds[i]);
	if (explain->kind_count)
		fputs("\t},\n", out);
	fprintf(out, "\t.explain.kind_count = %zu,\n", explain->kind_count);
}

static void put_confinement(FILE *out, const struct runtime *r)
{
	if (r->call_count)
		fprintf(out, "\t.calls = (const struct runtime_call[]){\n");
	for (size_t i = 0; i < r->call_count; i++) {
		fputs("\t{\n", out);
		put_text_field(out, "name", r->calls[i].name);
		put_text_field(out, "reason", r->calls[i].reason);
		fputs("\t},\n", out);
	}
	if (r->call_count)
		fputs("\t},\n", out);
	fprintf(out, "\t.call_count = %zu,\n", r->call_count);
	if (r->profile_count)
		fprintf(out, "\t.profiles = (const struct runtime_profile[]){\n");
	for (size_t i = 0; i < r->profile_count; i++) {
		fputs("\t{\n", out);
		put_text_field(out, "name", r->profiles[i].name);
		put_list(out, "commands", r->profiles[i].commands);
		fputs("\t},\n", out);
	}
	if (r->profile_count)
		fputs("\t},\n", out);
	fprintf(out, "\t.profile_count = %zu,\n", r->profile_count);
}

static void put_drivers(FILE *out, const struct runtime *r)
{
	if (r->driver_count)
		fprintf(out, "\t.drivers = (const struct runtime_driver[]){\n");
	for (size_t i = 0; i < r->driver_count; i++) {
		const struct runtime_driver *driver = &r->drivers[i];

		fputs("\t{\n", out);
		put_text_field(out, "name", driver->name);
		fputs("\t.data = ", out);
		put_bytes(out, driver->data, driver->size);
		fprintf(out, ",\n\t.size = %zu,\n\t},\n", driver->size);
	}
	if (r->driver_count)
		fputs("\t},\n", out);
	fprintf(out, "\t.driver_count = %zu,\n", r->driver_count);
}

static void put_runtime(FILE *out, const struct runtime *r)
{
	fputs("{\n", out);
	put_text_field(out, "name", r->name);
	put_text_field(out, "display", r->display);
	put_list(out, "aliases", r->aliases);
	put_list(out, "extensions", r->extensions);
	put_list(out, "interpreters", r->interpreters);
	put_text_field(out, "file", r->file);
	put_tools(out, r);
	put_list(out, "version", r->version);
	put_text_field(out, "version_pattern", r->version_pattern);
	put_text_field(out, "install", r->install);
	put_list(out, "needs", r->needs);
	put_list(out, "binds", r->binds);
	put_list(out, "scratch", r->scratch);
	put_list(out, "environment", r->environment);
	put_limits(out, "limits", &r->limits);
	put_steps(out, r);
	put_confinement(out, r);
	put_errors(out, &r->errors);
	put_explain(out, &r->explain);
	put_drivers(out, r);
	put_text_field(out, "notes", r->notes);
	fputs("},\n", out);
}

static void put_all(FILE *out, const struct runtime *all, size_t count)
{
	fputs("/* Made by tools/runtime_gen. */\n#include \"language/builtin.h\"\n\nconst struct runtime "
	      "runtime_builtin[] = {\n",
	      out);
	for (size_t i = 0; i < count; i++)
		put_runtime(out, &all[i]);
	fprintf(out, "};\nconst size_t runtime_builtin_count = %zu;\n", count);
}

static bool list_has(const char *const *list, const char *word)
{
	for (; *list; list++)
		if (strcasecmp(*list, word) == 0)
			return true;
	return false;
}

static bool has_name(const struct runtime *r, const char *name)
{
	return strcasecmp(r->name, name) == 0 || list_has(r->aliases, name);
}

static int clash(const struct runtime *a, const struct runtime *b, const char *what, const char *word)
{
	fprintf(stderr, "runtime_gen: %s and %s both have the %s \"%s\"\n", a->name, b->name, what, word);
	return -1;
}

/* A word that two languages claim would mean either. */
static int check_pair(const struct runtime *a, const struct runtime *b)
{
	if (has_name(a, b->name))
		return clash(a, b, "name", b->name);
	for (const char *const *word = b->aliases; *word; word++)
		if (has_name(a, *word))
			return clash(a, b, "name", *word);
	for (const char *const *word = b->extensions; *word; word++)
		if (list_has(a->extensions, *word))
			return clash(a, b, "extension", *word);
	for (const char *const *word = b->interpreters; *word; word++)
		if (list_has(a->interpreters, *word))
			return clash(a, b, "interpreter", *word);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct runtime *)a)->name, ((const struct runtime *)b)->name);
}

static int read_dir(char *path, struct arena *arena, struct runtime *out)
{
	_cleanup_close_ int dir = -1;
	struct error err = { 0 };
	const char *slash, *where;

	while (strlen(path) > 1 && path[strlen(path) - 1] == '/')
		path[strlen(path) - 1] = '\0';
	slash = strrchr(path, '/');
	where = arena_printf(arena, "%s/runtime.yaml", path);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || !where) {
		fprintf(stderr, "runtime_gen: cannot open %s: %s\n", path, strerror(errno));
		return -1;
	}
	if (folder_read(dir, slash ? slash + 1 : path, where, false, arena, out, &err) < 0) {
		fprintf(stderr, "runtime_gen: %s\n", err.text);
		return -1;
	}
	return 0;
}

/* A path as Make writes it. */
static void put_path(FILE *out, const char *path)
{
	for (; *path; path++) {
		if (strchr(" #\\", *path))
			putc('\\', out);
		putc(*path, out);
	}
}

static void put_depends(FILE *out, const char *dir, const struct runtime *r)
{
	fputs(" \\\n ", out);
	put_path(out, dir);
	fputs(" \\\n ", out);
	put_path(out, dir);
	fputs("/runtime.yaml", out);
	if (r->explain.kinds || r->explain.frames) {
		fputs(" \\\n ", out);
		put_path(out, dir);
		fputs("/explain.yaml", out);
	}
	for (size_t i = 0; i < r->driver_count; i++) {
		fputs(" \\\n ", out);
		put_path(out, dir);
		putc('/', out);
		put_path(out, r->drivers[i].name);
	}
}

static int write_output(const char *path, const char *text, size_t size)
{
	FILE *out = fopen(path, "w");
	bool good = out && fwrite(text, 1, size, out) == size;

	if (out && fclose(out) != 0)
		good = false;
	if (good)
		return 0;
	fprintf(stderr, "runtime_gen: cannot write %s: %s\n", path, strerror(errno));
	unlink(path);
	return -1;
}

static int write_all(const char *output, const char *parent, char **dirs, struct runtime *all, size_t count)
{
	_cleanup_free_ char *text = NULL, *depends = NULL, *depends_path = NULL;
	size_t size = 0, depends_size = 0;
	FILE *out = open_memstream(&depends, &depends_size);

	if (!out || asprintf(&depends_path, "%s.d", output) < 0)
		return -1;
	put_path(out, output);
	fputs(": ", out);
	put_path(out, parent);
	for (size_t i = 0; i < count; i++)
		put_depends(out, dirs[i], &all[i]);
	putc('\n', out);
	if (fclose(out) != 0)
		return -1;
	qsort(all, count, sizeof(*all), by_name);
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			if (check_pair(&all[j], &all[i]) < 0)
				return -1;
	/* Written when it is whole. */
	out = open_memstream(&text, &size);
	if (!out)
		return -1;
	put_all(out, all, count);
	if (fclose(out) != 0)
		return -1;
	if (write_output(depends_path, depends, depends_size) < 0)
		return -1;
	return write_output(output, text, size);
}

static int generate(const char *output, const char *parent, char **dirs, size_t count)
{
	_cleanup_free_ struct runtime *all = calloc(count + 1, sizeof(*all));
	_cleanup_arena_ struct arena arena = { 0 };

	for (size_t i = 0; all && i < count; i++)
		if (read_dir(dirs[i], &arena, &all[i]) < 0)
			return -1;
	return all ? write_all(output, parent, dirs, all, count) : -1;
}

/* Every folder below one, so that a new one counts without a word to the build. */
static int generate_below(const char *output, const char *parent)
{
	_cleanup_free_ char *pattern = NULL;
	glob_t found;
	int result;

	if (asprintf(&pattern, "%s*/", parent) < 0 || glob(pattern, 0, NULL, &found) != 0) {
		fprintf(stderr, "runtime_gen: there is no folder in %s\n", parent);
		return -1;
	}
	result = generate(output, parent, found.gl_pathv, found.gl_pathc);
	globfree(&found);
	return result;
}

int main(int argc, char **argv)
{
	int result;

	if (argc < 3) {
		fputs("usage: runtime_gen OUTPUT DIR… | PARENT/\n", stderr);
		return 2;
	}
	if (argc == 3 && argv[2][strlen(argv[2]) - 1] == '/')
		result = generate_below(argv[1], argv[2]);
	else
		result = generate(argv[1], "", argv + 2, (size_t)argc - 2);
	/* What an earlier build left would be taken for this one's. */
	if (result < 0)
		unlink(argv[1]);
	return result < 0 ? 1 : 0;
}
