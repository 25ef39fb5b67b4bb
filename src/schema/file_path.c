#include "schema/file_path.h"

#include "base/own.h"

#include <stdio.h>
#include <string.h>

static bool is_in_place(const char *path)
{
	static const char *const places[] = { "code", "data", "output", "temp" };
	const size_t size = strcspn(path, "/");

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (strlen(places[i]) == size && memcmp(path, places[i], size) == 0)
			return true;
	return false;
}

bool file_path_below(const char *given, char *out, size_t room)
{
	static const char root[] = "/sandbox";
	const size_t size = strlen(root);
	const char *before = "";

	if (*given == '/') {
		if (strncmp(given, root, size) != 0 || (given[size] != '/' && given[size] != '\0'))
			return false;
		given += size + (given[size] == '/');
		if (*given && !is_in_place(given))
			return false;
	} else if (*given && !is_in_place(given)) {
		before = "code/";
	}
	return (size_t)snprintf(out, room, "%s%s", before, given) < room;
}
