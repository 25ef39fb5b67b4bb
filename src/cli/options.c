#include "cli/options.h"

#include "base/text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	NAMES_MAX = 64,
	WORD_MAX = 63,
	HELP_COLUMN = 28, /* column of the descriptions */
	HELP_WIDTH = 80   /* default width of a terminal */
};

static int option_unknown(struct option_reader *reader, const char *typed, size_t size)
{
	const char *names[NAMES_MAX + 1] = { NULL };
	char word[WORD_MAX + 1];
	const char *nearest;

	snprintf(word, sizeof(word), "%.*s", (int)(size < WORD_MAX ? size : WORD_MAX), typed);
	for (size_t i = 0; reader->specs[i].id && i < NAMES_MAX; i++)
		names[i] = reader->specs[i].name;
	nearest = text_nearest(word, names);
	snprintf(reader->unknown, sizeof(reader->unknown), "--%s", word);
	reader->suggests = nearest != NULL;
	if (nearest)
		snprintf(reader->message, sizeof(reader->message), "unknown option --%s; did you mean --%s?", word,
			 nearest);
	else
		snprintf(reader->message, sizeof(reader->message), "unknown option --%s", word);
	return OPTION_BAD;
}

/* Takes the next argument as the value of the option. */
static int option_take_value(struct option_reader *reader, const struct option_spec *spec)
{
	if (reader->next >= reader->argc) {
		snprintf(reader->message, sizeof(reader->message), "option --%s needs a value: %s", spec->name,
			 spec->value);
		return OPTION_BAD;
	}
	reader->value = reader->argv[reader->next++];
	return spec->id;
}

static int option_long(struct option_reader *reader, const char *typed)
{
	const char *equals = strchr(typed, '=');
	size_t size = equals ? (size_t)(equals - typed) : strlen(typed);

	for (const struct option_spec *spec = reader->specs; spec->id; spec++) {
		if (strlen(spec->name) != size || memcmp(spec->name, typed, size) != 0)
			continue;
		if (!spec->value && equals) {
			snprintf(reader->message, sizeof(reader->message), "option --%s takes no value", spec->name);
			return OPTION_BAD;
		}
		if (!spec->value)
			return spec->id;
		if (!equals)
			return option_take_value(reader, spec);
		reader->value = equals + 1;
		return spec->id;
	}
	return option_unknown(reader, typed, size);
}

static int option_short(struct option_reader *reader)
{
	char letter = *reader->cluster++;
	const char *rest = reader->cluster;

	if (!*rest)
		reader->cluster = NULL;
	for (const struct option_spec *spec = reader->specs; spec->id; spec++) {
		if (spec->letter != letter)
			continue;
		if (!spec->value)
			return spec->id;
		reader->cluster = NULL;
		if (!*rest)
			return option_take_value(reader, spec);
		reader->value = rest;
		return spec->id;
	}
	reader->cluster = NULL;
	snprintf(reader->unknown, sizeof(reader->unknown), "-%c", letter);
	snprintf(reader->message, sizeof(reader->message), "unknown option -%c", letter);
	return OPTION_BAD;
}

int option_next(struct option_reader *reader)
{
	const char *arg;

	reader->value = NULL;
	if (reader->cluster)
		return option_short(reader);
	if (reader->next >= reader->argc)
		return OPTION_END;
	arg = reader->argv[reader->next++];
	if (!reader->only_words && strcmp(arg, "--") == 0) {
		reader->only_words = 1;
		return option_next(reader);
	}
	/* A single dash is a word: standard input. */
	if (reader->only_words || arg[0] != '-' || arg[1] == '\0') {
		reader->value = arg;
		return OPTION_WORD;
	}
	if (arg[1] == '-')
		return option_long(reader, arg + 2);
	reader->cluster = arg + 1;
	return option_short(reader);
}

/* Wraps between words, with each line in the same column. */
static void print_wrapped(FILE *out, const char *text)
{
	const size_t room = HELP_WIDTH - HELP_COLUMN;

	while (strlen(text) > room) {
		size_t size = room;

		while (size > 0 && text[size] != ' ')
			size--;
		/* A word that is longer than a line is not split. */
		if (size == 0)
			size = strcspn(text, " ");
		if (text[size] == '\0')
			break;
		fprintf(out, "%.*s\n%*s", (int)size, text, HELP_COLUMN, "");
		text += size + 1;
	}
	fprintf(out, "%s\n", text);
}

void option_print(FILE *out, const struct option_spec *specs)
{
	for (const struct option_spec *spec = specs; spec->id; spec++) {
		char form[64];

		snprintf(form, sizeof(form), "--%s%s%s", spec->name, spec->value ? " " : "",
			 spec->value ? spec->value : "");
		if (spec->letter)
			fprintf(out, "  -%c, %-*s ", spec->letter, HELP_COLUMN - 7, form);
		else
			fprintf(out, "      %-*s ", HELP_COLUMN - 7, form);
		print_wrapped(out, spec->help);
	}
}
