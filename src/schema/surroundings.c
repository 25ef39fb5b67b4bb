#include "schema/surroundings.h"

#include <stdio.h>
#include <string.h>

bool engine_is_named(const char *name)
{
	const size_t size = strlen(name);

	for (const char *at = ENGINE_NAMES; *at; at += strspn(at, ", ")) {
		if (strcspn(at, ",") == size && memcmp(at, name, size) == 0)
			return true;
		at += strcspn(at, ",");
	}
	return false;
}

static bool add_line(char *out, const char *key, const char *value)
{
	const size_t used = strlen(out);

	return !strchr(value, '\n') &&
	       snprintf(out + used, SURROUNDINGS_MAX - used, "%s %s\n", key, value) < (int)(SURROUNDINGS_MAX - used);
}

bool surroundings_text(const struct surroundings *around, char out[SURROUNDINGS_MAX])
{
	static const char *const engines[] = { [ENGINE_AUTO] = "local", [ENGINE_LOCAL] = "local" };

	*out = '\0';
	if (!add_line(out, "engine", engines[around->engine]))
		return false;
	for (size_t i = 0; i < around->package_count; i++)
		if (!add_line(out, "package", around->packages[i]))
			return false;
	return !around->image || add_line(out, "image", around->image);
}
