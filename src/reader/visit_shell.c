/* Shells: command lines, pipes, redirections, and sourced files. */
#include "reader/reader.h"

#include <stdio.h>
#include <string.h>

enum {
	WORDS_MAX = 64 /* maximum words of a command */
};

struct shell_line {
	char words[WORDS_MAX][NAME_ROOM]; /* the command first, without quotes */
	size_t count;                     /* number of them */
};

static void word_text(const struct reader *r, TSNode node, char out[NAME_ROOM])
{
	size_t size;

	node_text(r, node, out);
	size = strlen(out);
	if (size >= 2 && (*out == '"' || *out == '\'') && out[size - 1] == *out) {
		memmove(out, out + 1, size - 2);
		out[size - 2] = '\0';
	}
}

static void line_read(const struct reader *r, TSNode command, struct shell_line *line)
{
	_cleanup_children_ struct children words;
	TSNode child;

	line->count = 0;
	children_begin(&words, command);
	while (line->count < WORDS_MAX && children_next(&words, &child)) {
		if (is_type(r, child, TYPE_VARIABLE_ASSIGNMENT) || is_type(r, child, TYPE_FILE_REDIRECT))
			continue;
		word_text(r, child, line->words[line->count++]);
	}
}

/* The index of the command: after sudo, and without a directory as in /bin/rm. */
static size_t line_first(const struct shell_line *line)
{
	static const char *const before[] = {
		"sudo", "env", "nohup", "exec", "command", "time", "xargs", "nice", NULL
	};
	size_t at = 0;

	while (at + 1 < line->count) {
		const char *const *word = before;

		while (*word && strcmp(*word, line->words[at]) != 0)
			word++;
		if (!*word)
			break;
		at++;
		while (at + 1 < line->count && line->words[at][0] == '-')
			at++;
	}
	return at;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* "-rf": whether each of its letters is among the flags. */
static bool has_flags(const struct shell_line *line, size_t from, const char *flags, size_t size)
{
	static const struct {
		char flag;
		const char *word;
	} words[] = { { 'r', "--recursive" }, { 'f', "--force" } };

	for (size_t i = 1; i < size; i++) {
		bool found = false;

		for (size_t w = from; w < line->count && !found; w++) {
			const char *word = line->words[w];

			found = word[0] == '-' && word[1] != '-' &&
				(strchr(word, flags[i]) || (flags[i] == 'r' && strchr(word, 'R')));
			for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
				found |= words[k].flag == flags[i] && strcmp(word, words[k].word) == 0;
		}
		if (!found)
			return false;
	}
	return true;
}

static bool has_word(const struct shell_line *line, size_t from, const char *pattern, size_t size)
{
	for (size_t i = from; i < line->count; i++)
		if (pattern_matches(pattern, size, line->words[i]))
			return true;
	return false;
}

/* Whether the command matches the pattern of `size` bytes. */
static bool line_is(const struct shell_line *line, const char *pattern, size_t size)
{
	size_t first = line_first(line), at = strcspn(pattern, " ");

	/* Two words of a pattern compare with the unchanged command. */
	if (line->count == 0)
		return false;
	at = at < size ? at : size;
	if (at == 4 && memcmp(pattern, "sudo", 4) == 0)
		first = 0;
	if (!pattern_matches(pattern, at, base_name(line->words[first])) && !(at == 1 && *pattern == '*'))
		return false;
	while (at < size) {
		size_t next;

		at++;
		next = strcspn(pattern + at, " ");
		next = next < size - at ? next : size - at;
		if (pattern[at] == '-' && next > 1 && (pattern[at + 1] < '0' || pattern[at + 1] > '9')
			    ? !has_flags(line, first + 1, pattern + at, next)
			    : !has_word(line, first + 1, pattern + at, next))
			return false;
		at += next;
	}
	return true;
}

static void visit_command(struct reader *r, TSNode node)
{
	struct shell_line line;
	char text[NAME_ROOM];

	line_read(r, node, &line);
	if (line.count == 0)
		return;
	if (line.count > 1 && (strcmp(line.words[0], "source") == 0 || strcmp(line.words[0], ".") == 0))
		tell_import(r, strchr(line.words[1], '$') ? HOW_COMPUTED : HOW_SOURCE, node, line.words[1]);
	node_text(r, node, text);
	text[strcspn(text, "\n")] = '\0';
	for (size_t i = 0; i < r->rules->count; i++) {
		const struct policy_rule *rule = &r->rules->rules[i];

		if (rule->kind == POLICY_CALL && !strchr(rule->pattern, '|') && rule->pattern[0] != '>' &&
		    strcmp(rule->pattern, "fork bomb") != 0 && line_is(&line, rule->pattern, strlen(rule->pattern)))
			record_add(r, WIRE_FINDING, 0, (uint32_t)i, node, text);
	}
}

/* "curl | sh": one command anywhere before the other. */
static void visit_pipeline(struct reader *r, TSNode node)
{
	static struct shell_line lines[8];
	_cleanup_children_ struct children commands;
	size_t count = 0;
	char text[NAME_ROOM];
	TSNode child;

	children_begin(&commands, node);
	while (count < 8 && children_next(&commands, &child)) {
		if (is_type(r, child, TYPE_REDIRECTED_STATEMENT))
			child = node_field(r, child, FIELD_BODY);
		if (is_type(r, child, TYPE_COMMAND))
			line_read(r, child, &lines[count++]);
	}
	node_text(r, node, text);
	text[strcspn(text, "\n")] = '\0';
	for (size_t i = 0; i < r->rules->count; i++) {
		const char *pattern = r->rules->rules[i].pattern, *bar = strstr(pattern, " | ");
		bool before = false, found = false;

		for (size_t k = 0; bar && k < count; k++) {
			found |= before && line_is(&lines[k], bar + 3, strlen(bar + 3));
			before |= line_is(&lines[k], pattern, (size_t)(bar - pattern));
		}
		if (found)
			record_add(r, WIRE_FINDING, 0, (uint32_t)i, node, text);
	}
}

static void visit_redirect(struct reader *r, TSNode node)
{
	char text[NAME_ROOM];

	word_text(r, node_field(r, node, FIELD_DESTINATION), text);
	for (size_t i = 0; i < r->rules->count; i++) {
		const char *pattern = r->rules->rules[i].pattern;

		if (strncmp(pattern, "> ", 2) == 0 && pattern_matches(pattern + 2, strlen(pattern + 2), text))
			record_add(r, WIRE_FINDING, 0, (uint32_t)i, node, text);
	}
}

/* f() { f | f & } */
static void visit_function(struct reader *r, TSNode node)
{
	_cleanup_children_ struct children lines;
	char name[NAME_ROOM], word[NAME_ROOM];
	size_t own = 0;
	TSNode child;

	node_text(r, node_field(r, node, FIELD_NAME), name);
	children_begin(&lines, node_field(r, node, FIELD_BODY));
	while (children_next(&lines, &child)) {
		_cleanup_children_ struct children commands;

		if (is_type(r, child, TYPE_PIPELINE))
			children_begin(&commands, child);
		else
			commands = (struct children){ 0 };
		while (children_next(&commands, &child)) {
			node_text(r, child, word);
			own += strcmp(word, name) == 0;
		}
	}
	if (own >= 2)
		tell_rule(r, node, "fork bomb", name);
}

const struct visitor shell_visitors[] = {
	{ "command", visit_command },
	{ "pipeline", visit_pipeline },
	{ "file_redirect", visit_redirect },
	{ "function_definition", visit_function },
	{ NULL, NULL },
};
