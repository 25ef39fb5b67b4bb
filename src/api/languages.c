#include "api/languages.h"

#include "base/own.h"
#include "language/runtime.h"
#include "language/version.h"
#include "api/public.h"

#include <stdlib.h>
#include <string.h>

enum {
	VERSION_MAX = 64,
	/* Widths of columns: 35 of 80 cells remain for the path, enough for most. */
	NAME_CELLS = 12,
	VERSION_CELLS = 9,
	ALIASES_CELLS = 21
};

static json_t *list_json(const char *const *words)
{
	json_t *list = json_array();

	for (; *words; words++)
		json_array_append_new(list, json_string(*words));
	return list;
}

static json_t *language_json(const struct runtime *runtime)
{
	const char *path = runtime_program(runtime, false);
	char version[VERSION_MAX];
	json_t *profiles = json_array();

	for (size_t i = 0; i < runtime->profile_count; i++)
		json_array_append_new(profiles, json_string(runtime->profiles[i].name));
	/* "s?": NULL becomes null, which means unknown. */
	return json_pack("{s:s, s:s, s:o, s:o, s:s?, s:b, s:s?, s:s?, s:s, s:b, s:b, s:o, s:s?, s:s?}", "name",
			 runtime->name, "display", runtime->display, "aliases", list_json(runtime->aliases),
			 "extensions", list_json(runtime->extensions), "file", runtime->file, "available", path != NULL,
			 "version", runtime_version_cached(runtime, version, sizeof(version)) ? version : NULL, "path",
			 path, "install", runtime->install, "compiled", runtime->compile.step.argv != NULL, "session",
			 runtime->session.step.argv != NULL, "profiles", profiles, "notes", runtime->notes, "broken",
			 runtime->broken ? runtime->broken : runtime->stale);
}

json_t *languages_json(void)
{
	json_t *list = json_array();
	const struct runtime *runtime;

	for (size_t i = 0; list && (runtime = runtime_at(i)); i++) {
		if (json_array_append_new(list, language_json(runtime)) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

/* "js,node,nodejs", or "-", so that every row has the same number of words. */
static void add_aliases(struct buf *out, const struct runtime *runtime)
{
	_cleanup_buf_ struct buf list = { 0 };

	for (const char *const *alias = runtime->aliases; *alias; alias++)
		buf_printf(&list, "%s%s", list.size > 0 ? "," : "", *alias);
	buf_printf(out, "%-*s ", ALIASES_CELLS, list.size > 0 ? list.data : "-");
	out->failed |= list.failed;
}

static void add_sessions(struct buf *out)
{
	const struct runtime *runtime;
	bool any = false;

	for (size_t i = 0; (runtime = runtime_at(i)); i++) {
		if (!runtime->session.step.argv || !runtime_program(runtime, false))
			continue;
		buf_printf(out, "%s%s", any ? ", " : "\nSessions: ", runtime->name);
		any = true;
	}
	if (any)
		buf_text(out, "\n");
}

void languages_table(struct buf *out)
{
	const struct runtime *runtime;

	buf_printf(out, "%-*s %-*s %-*s %s\n", NAME_CELLS, "LANGUAGE", VERSION_CELLS, "VERSION", ALIASES_CELLS,
		   "ALIASES", "WHERE");
	for (size_t i = 0; (runtime = runtime_at(i)); i++) {
		const char *path = runtime_program(runtime, false), *shown = "-";
		char version[VERSION_MAX];

		if (path)
			shown = runtime_version_cached(runtime, version, sizeof(version)) ? version : "unknown";
		buf_printf(out, "%-*s %-*s ", NAME_CELLS, runtime->name, VERSION_CELLS, shown);
		add_aliases(out, runtime);
		if (path)
			buf_printf(out, "%s\n", path);
		else if (runtime->broken)
			buf_printf(out, "broken: %s\n", runtime->broken);
		else
			buf_printf(out, "not installed; install it with: %s\n", runtime->install);
	}
	add_sessions(out);
	if (runtime_note())
		buf_printf(out, "\n%s\n", runtime_note());
}

bool languages_any(void)
{
	const struct runtime *runtime;

	for (size_t i = 0; (runtime = runtime_at(i)); i++) {
		if (runtime_program(runtime, false))
			return true;
	}
	return false;
}

char *languages_dump(json_t *json)
{
	char *compact = json ? json_dumps(json, JSON_INDENT(2)) : NULL;
	struct buf text = { 0 };

	json_decref(json);
	if (!compact)
		return NULL;
	buf_printf(&text, "%s\n", compact);
	free(compact);
	return buf_take(&text);
}

int eb_languages(int json, char **text, eb_error *err)
{
	if (json) {
		*text = languages_dump(languages_json());
	} else {
		struct buf table = { 0 };

		languages_table(&table);
		*text = buf_take(&table);
	}
	if (!*text)
		return public_error(err,
				    &(struct error){ .kind = ERROR_FAILED, .code = CODE_FAILED, .text = "no memory" });
	return 0;
}
