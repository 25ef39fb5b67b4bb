#include "policy/in_force.h"

#include "policy/policy.h"

#include <string.h>

enum {
	WORDS_MAX = 4,   /* words of a line */
	NAME_ROOM = 128, /* bytes of a language's name */
};

struct word {
	const char *text; /* not terminated */
	size_t size;      /* bytes */
};

/* Whether the text is one word. */
static bool is_word(const char *text)
{
	for (const char *at = text; *at; at++)
		if ((unsigned char)*at <= ' ' || *at == 0x7f)
			return false;
	return *text != '\0';
}

void in_force_write(const struct registry *registry, enum policy_mode mode, struct buf *out)
{
	buf_printf(out, "mode %s\n", policy_mode_name(mode));
	for (size_t i = 0; i < registry->policy_count; i++) {
		const struct registry_policy *policy = &registry->policies[i];
		const char *block = policy->lists.block, *allow = policy->lists.allow;

		/* Names of modules are words. A language whose name is not cannot exist. */
		if (is_word(policy->language))
			buf_printf(out, "lists %s %s %s\n", policy->language, block && *block ? block : "-",
				   allow && *allow ? allow : "-");
	}
	for (size_t i = 0; i < registry->count; i++)
		if (registry->profiles[i].needs_confirm && !registry->profiles[i].confirm_once)
			buf_printf(out, "confirm %s\n", registry->profiles[i].name);
}

/* Splits the line at *at into words and moves *at behind it. Returns their number; 0 at the end or for an invalid
 * line. */
static size_t next_line(const char **at, struct word words[WORDS_MAX])
{
	const char *line = *at, *end = line ? strchr(line, '\n') : NULL;
	size_t count = 0;

	if (!end)
		return 0;
	*at = end + 1;
	while (line < end && count < WORDS_MAX) {
		size_t size = strcspn(line, " \n");

		words[count++] = (struct word){ line, size };
		line += size + (line[size] == ' ');
	}
	return line < end ? 0 : count;
}

static bool word_is(const struct word *word, const char *text)
{
	return strlen(text) == word->size && memcmp(word->text, text, word->size) == 0;
}

static bool mode_of(const struct word *word, enum policy_mode *mode)
{
	for (enum policy_mode m = POLICY_OFF; m <= POLICY_BLOCK; m++)
		if (word_is(word, policy_mode_name(m))) {
			*mode = m;
			return true;
		}
	return false;
}

bool in_force_valid(const char *text)
{
	struct word words[WORDS_MAX];
	enum policy_mode ignored;
	const char *at = text;
	size_t count;

	if (next_line(&at, words) != 2 || !word_is(&words[0], "mode") || !mode_of(&words[1], &ignored))
		return false;
	while ((count = next_line(&at, words)) > 0)
		if (!(count == 4 && word_is(&words[0], "lists")) && !(count == 2 && word_is(&words[0], "confirm")))
			return false;
	return *at == '\0';
}

enum policy_mode in_force_mode(const char *text)
{
	enum policy_mode mode = POLICY_OFF;
	struct word words[WORDS_MAX];

	if (next_line(&text, words) == 2)
		mode_of(&words[1], &mode);
	return mode;
}

static int copy_list(struct arena *arena, const struct word *word, const char **out)
{
	*out = word_is(word, "-") ? NULL : arena_copy(arena, word->text, word->size);
	return *out || word_is(word, "-") ? 0 : -1;
}

/* Compares with all names of the language, as registry_lists() does. */
static bool word_names(const struct word *word, const struct runtime *runtime)
{
	char name[NAME_ROOM];

	if (word->size >= sizeof(name))
		return false;
	memcpy(name, word->text, word->size);
	name[word->size] = '\0';
	return strcmp(name, runtime->name) == 0 || runtime_find(name) == runtime;
}

int in_force_lists(const char *text, const struct runtime *runtime, struct arena *arena, struct policy_lists *out)
{
	struct word words[WORDS_MAX];
	size_t count;

	*out = (struct policy_lists){ NULL, NULL };
	while ((count = next_line(&text, words)) > 0)
		if (count == 4 && word_names(&words[1], runtime))
			return copy_list(arena, &words[2], &out->block) < 0 ||
					       copy_list(arena, &words[3], &out->allow) < 0
				       ? -1
				       : 0;
	return 0;
}

enum policy_mode in_force_settle(const struct spec *asked, enum policy_mode least)
{
	const enum policy_mode now = in_force_mode(asked->policy_in_force);

	if (asked->policy_said)
		return asked->policy;
	return now > least ? now : least;
}

bool in_force_confirms(const char *text, const char *profile)
{
	struct word words[WORDS_MAX];
	size_t count;

	while ((count = next_line(&text, words)) > 0)
		if (count == 2 && word_is(&words[0], "confirm") && word_is(&words[1], profile))
			return true;
	return false;
}
