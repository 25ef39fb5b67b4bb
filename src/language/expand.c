#include "language/expand.h"

#include "base/buf.h"
#include "base/own.h"
#include "language/definition.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool word_is(const char *name, size_t length, const char *word)
{
	return strlen(word) == length && memcmp(name, word, length) == 0;
}

static bool put_number(struct buf *out, const struct expand_values *values, const char *name, size_t length)
{
	const struct limits *limits = values->limits;

	if (!limits)
		return false;
	if (word_is(name, length, "memory"))
		buf_printf(out, "%" PRIu64, limits->memory);
	else if (word_is(name, length, "memory_mb"))
		buf_printf(out, "%" PRIu64, limits->memory >> 20);
	else if (word_is(name, length, "cpus"))
		buf_printf(out, "%d", (int)ceil(limits->cpus));
	else if (word_is(name, length, "timeout"))
		buf_printf(out, "%d", (int)ceil(limits->timeout));
	else
		return false;
	return true;
}

static bool put_place(struct buf *out, const struct expand_values *values, const char *name, size_t length)
{
	if (word_is(name, length, "drivers")) {
		buf_printf(out, "%s", BOX_DRIVERS);
	} else if (word_is(name, length, "prepared")) {
		buf_printf(out, "%s", BOX_PREPARED);
	} else if (word_is(name, length, "outputs")) {
		buf_printf(out, "%s", BOX_OUTPUTS);
	} else if (word_is(name, length, "artifact") && values->artifact) {
		buf_printf(out, BOX_BUILD "/%s", values->artifact);
	} else if (word_is(name, length, "entry") && values->name) {
		buf_printf(out, BOX_CODE "/%s", values->name);
	} else if (word_is(name, length, "name") && values->name) {
		buf_printf(out, "%s", values->name);
	} else if (word_is(name, length, "stem") && values->name) {
		const char *slash = strrchr(values->name, '/'), *dot = strrchr(values->name, '.');

		buf_printf(out, "%.*s", dot && dot > slash ? (int)(dot - values->name) : (int)strlen(values->name),
			   values->name);
	} else {
		return false;
	}
	return true;
}

static bool put_tool(struct buf *out, const struct runtime *runtime, const char *name, size_t length)
{
	char path[4096];

	for (size_t i = 0; i < runtime->tool_count; i++) {
		if (!word_is(name, length, runtime->tools[i].name))
			continue;
		if (!runtime_tool_path(&runtime->tools[i], path, sizeof(path)))
			return false;
		buf_printf(out, "%s", path);
		return true;
	}
	return false;
}

const char *expand_word(struct arena *arena, const struct runtime *runtime, const char *word,
			const struct expand_values *values)
{
	_cleanup_buf_ struct buf out = { 0 };

	if (!strchr(word, '{'))
		return arena_string(arena, word);
	while (*word) {
		size_t length = *word == '{' ? placeholder_length(word) : 0;

		if (length == 0) {
			buf_add(&out, word++, 1);
			continue;
		}
		if (!put_tool(&out, runtime, word + 1, length) && !put_place(&out, values, word + 1, length) &&
		    !put_number(&out, values, word + 1, length))
			return NULL;
		word += length + 2;
	}
	return out.failed ? NULL : arena_copy(arena, out.data ? out.data : "", out.size);
}

/* The values of a placeholder that expands to several words, or NULL if `word` is none. */
static const char *const *list_of(const char *word, const struct expand_values *values)
{
	static const char *const none[] = { NULL };
	const struct {
		const char *name;
		const char *const *words;
	} lists[] = { { "{args}", values->args }, { "{sources}", values->sources }, { "{files}", values->files } };

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		if (strcmp(word, lists[i].name) == 0)
			return lists[i].words ? lists[i].words : none;
	return NULL;
}

const char **expand_words(struct arena *arena, const struct runtime *runtime, const char *const *words,
			  const struct expand_values *values)
{
	size_t count = 0, n = 0;
	const char **out;

	for (const char *const *word = words; *word; word++) {
		const char *const *list = list_of(*word, values);

		count++;
		while (list && *list++)
			count++;
	}
	out = arena_alloc(arena, (count + 1) * sizeof(*out));
	for (; out && *words; words++) {
		const char *const *list = list_of(*words, values);

		while (list && *list)
			out[n++] = *list++;
		if (list)
			continue;
		out[n] = expand_word(arena, runtime, *words, values);
		if (!out[n++])
			return NULL;
	}
	return out;
}

bool expand_uses(const char *const *words, const char *placeholder)
{
	for (; words && *words; words++)
		if (strstr(*words, placeholder))
			return true;
	return false;
}
