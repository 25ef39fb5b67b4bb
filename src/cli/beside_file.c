#include "cli/beside_file.h"

#include "base/buf.h"
#include "base/json_check.h"
#include "base/own.h"

#include <dirent.h>
#include <jansson.h>
#include <stdbool.h>
#include <string.h>

enum {
	ENTRIES = 4096, /* maximum entries of a directory */
	NAME_MIN = 2,   /* letters of a name that is distinct from the words around it */
};

static bool is_letter(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' ||
	       (unsigned char)c >= 0x80;
}

/* Whether the text contains the name as a whole word. */
static bool text_names(const char *text, const char *name, size_t size)
{
	for (const char *at = text; *at; at++)
		if (strncmp(at, name, size) == 0 && (at == text || !is_letter(at[-1])) && !is_letter(at[size]))
			return true;
	return false;
}

/* helper.py, helper and helper/ are all possible targets of `import helper`. */
static bool is_missed(const char *entry, const char *message, const char *suggestion)
{
	size_t stem = strcspn(entry, ".");

	return stem >= NAME_MIN && (text_names(message, entry, stem) || text_names(suggestion, entry, strlen(entry)));
}

static bool missing_find(const char *directory, const char *itself, const char *message, const char *suggestion,
			 char *found)
{
	DIR *stream = opendir(directory);
	struct dirent *entry;
	bool there = false;

	for (int i = 0; stream && !there && i < ENTRIES && (entry = readdir(stream)); i++) {
		if (entry->d_name[0] == '.' || strcmp(entry->d_name, itself) == 0 ||
		    !is_missed(entry->d_name, message, suggestion))
			continue;
		strcpy(found, entry->d_name);
		there = true;
	}
	if (stream)
		closedir(stream);
	return there;
}

/* Kinds of failures that miss a file or a module. */
static bool is_wanting(const char *kind)
{
	static const char *const kinds[] = { "missing-module", "missing-file-module", "missing-header-file",
					     "missing-file" };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(kinds[i], kind) == 0)
			return true;
	return false;
}

char *beside_suggest(const char *json, const char *file)
{
	const char *slash = strrchr(file, '/'), *error, *value;
	_cleanup_free_ char *directory =
		slash ? strndup(file, slash == file ? 1 : (size_t)(slash - file)) : strdup(".");
	char kind[64], message[1024], suggestion[1024], found[256];
	_cleanup_buf_ struct buf said = { 0 }, out = { 0 };
	_cleanup_free_ char *text = NULL;
	size_t size, value_size;
	json_t *string;

	if (!directory || !json_member(json, strlen(json), "error", &error, &size) || *error != '{' ||
	    !json_member(error, size, "kind", &value, &value_size) ||
	    !json_string_copy(value, value_size, kind, sizeof(kind)) || !is_wanting(kind) ||
	    !json_member(error, size, "message", &value, &value_size) ||
	    !json_string_copy(value, value_size, message, sizeof(message)) ||
	    !json_member(error, size, "suggestion", &value, &value_size) ||
	    !json_string_copy(value, value_size, suggestion, sizeof(suggestion)) ||
	    !missing_find(directory, slash ? slash + 1 : file, message, suggestion, found))
		return NULL;
	buf_printf(&said, "Add \"--project %s\": %s is beside %s, and only that file was given.", directory, found,
		   file);
	string = json_string(said.data ? said.data : "");
	text = json_dumps(string, JSON_ENCODE_ANY);
	json_decref(string);
	if (!text)
		return NULL;
	/* The rest of the result is unchanged. */
	buf_add(&out, json, (size_t)(value - json));
	buf_text(&out, text);
	buf_text(&out, value + value_size);
	return out.failed ? NULL : buf_take(&out);
}
