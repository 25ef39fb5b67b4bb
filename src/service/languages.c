#include "service/languages.h"

#include "base/own.h"
#include "runtime/runtime.h"
#include "service/public.h"

#include <stdlib.h>
#include <string.h>

enum {
	VERSION_MAX = 64
};

static json_t *language_json(const struct runtime *runtime)
{
	const char *path = runtime_program(runtime);
	char version[VERSION_MAX];
	json_t *aliases = json_array();

	for (const char *const *alias = runtime->aliases; *alias; alias++)
		json_array_append_new(aliases, json_string(*alias));
	/* "s?": NULL becomes null, which says "not known" where an empty string would not. */
	return json_pack("{s:s, s:s, s:o, s:b, s:s?, s:s?, s:s}", "name", runtime->name, "display", runtime->display,
			 "aliases", aliases, "available", path != NULL, "version",
			 runtime_version(runtime, version, sizeof(version)) ? version : NULL, "path", path, "install",
			 runtime->install);
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

void languages_table(struct buf *out)
{
	const struct runtime *runtime;

	buf_printf(out, "%-14s %-12s %s\n", "LANGUAGE", "VERSION", "WHERE");
	for (size_t i = 0; (runtime = runtime_at(i)); i++) {
		const char *path = runtime_program(runtime);
		char version[VERSION_MAX];

		if (path)
			buf_printf(out, "%-14s %-12s %s\n", runtime->name,
				   runtime_version(runtime, version, sizeof(version)) ? version : "unknown", path);
		else
			buf_printf(out, "%-14s %-12s not installed; install it with: %s\n", runtime->name, "-",
				   runtime->install);
	}
}

bool languages_any(void)
{
	const struct runtime *runtime;

	for (size_t i = 0; (runtime = runtime_at(i)); i++) {
		if (runtime_program(runtime))
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
		return public_error(err, &(struct error){ .kind = ERROR_FAILED, .text = "no memory" });
	return 0;
}
