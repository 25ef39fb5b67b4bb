/* SQL: the keywords of each statement, without those of nested statements. */
#include "reader/reader.h"

#include "base/own.h"

#include <string.h>

enum {
	KEYWORDS_MAX = 128, /* maximum keywords of a statement */
	NODES_MAX = 4096,   /* maximum nodes of a statement */
	WORDS_MAX = 64,     /* maximum words of a statement */
	WORD_ROOM = 32,     /* bytes of a word, including the NUL */
};

struct keywords {
	const char *words[KEYWORDS_MAX]; /* "drop", "table": static strings of the grammar */
	size_t count;                    /* number of them */
};

/* Whether a rule begins with the word. */
static bool is_first(const struct reader *r, const char *word)
{
	const size_t size = strlen(word);

	for (size_t i = 0; i < r->rules->count; i++)
		if (strncmp(r->rules->rules[i].pattern, word, size) == 0 &&
		    (r->rules->rules[i].pattern[size] == ' ' || r->rules->rules[i].pattern[size] == '\0'))
			return true;
	return false;
}

/* Collects nothing if no rule is about this kind of statement. */
static void keywords_collect(const struct reader *r, TSNode node, struct keywords *out)
{
	_cleanup_children_ struct children nodes;
	TSNode child;

	out->count = 0;
	children_begin(&nodes, node);
	for (size_t i = 0; i < NODES_MAX && out->count < KEYWORDS_MAX && children_next(&nodes, &child); i++) {
		const char *type = ts_node_type(child);

		if (strncmp(type, "keyword_", 8) != 0) {
			if (strcmp(type, "subquery") != 0 && strcmp(type, "cte") != 0)
				children_enter(&nodes, child);
			continue;
		}
		/* WITH x AS (…) DELETE FROM t. */
		if (out->count == 0 && (strcmp(type + 8, "with") == 0 || strcmp(type + 8, "recursive") == 0))
			continue;
		if (out->count == 0 && !is_first(r, type + 8))
			return;
		out->words[out->count++] = type + 8;
	}
}

static bool keywords_have(const struct keywords *keywords, const char *word, size_t size)
{
	for (size_t i = 0; i < keywords->count; i++)
		if (strlen(keywords->words[i]) == size && memcmp(keywords->words[i], word, size) == 0)
			return true;
	return false;
}

/* Whether the words occur in order, the first at the beginning; words with "!" must be missing. */
static bool keywords_match(const struct keywords *keywords, const char *pattern)
{
	size_t next = 0;

	while (*pattern) {
		size_t size = strcspn(pattern, " ");

		if (*pattern == '!') {
			if (keywords_have(keywords, pattern + 1, size - 1))
				return false;
		} else {
			bool first = next == 0;

			while (next < keywords->count && (strlen(keywords->words[next]) != size ||
							  memcmp(keywords->words[next], pattern, size) != 0)) {
				if (first)
					return false;
				next++;
			}
			if (next++ == keywords->count)
				return false;
		}
		pattern += size + strspn(pattern + size, " ");
	}
	return true;
}

static bool is_word_letter(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* First words of statements that the grammar lacks, which are only matched by words. */
static const char *const foreign[] = { "attach", "copy",   "detach", "do",     "grant",
				       "listen", "notify", "pragma", "revoke", "vacuum" };

static bool is_foreign_word(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++)
		if (strcmp(word, foreign[i]) == 0)
			return true;
	return false;
}

static void visit_statement(struct reader *r, TSNode node)
{
	struct keywords keywords;
	char text[NAME_ROOM];

	keywords_collect(r, node, &keywords);
	if (keywords.count == 0)
		return;
	node_text(r, node, text);
	text[strcspn(text, "\n")] = '\0';
	for (size_t i = 0; i < r->rules->count; i++)
		if (r->rules->rules[i].kind == POLICY_CALL && !is_foreign_word(keywords.words[0]) &&
		    keywords_match(&keywords, r->rules->rules[i].pattern))
			record_add(r, WIRE_FINDING, 0, (uint32_t)i, node, text);
}

/* A statement as words: lower case, "'" for a string. */
struct sql_sentence {
	char words[WORDS_MAX][WORD_ROOM];
	bool called[WORDS_MAX]; /* a parenthesis follows */
	size_t count;
	uint32_t from, to; /* range in the source */
	TSPoint at;
};

struct sql_scan {
	const char *text;
	uint32_t size;
	uint32_t at;
	uint32_t row, line; /* number of the line, and its start */
};

static void scan_step(struct sql_scan *s)
{
	if (s->text[s->at++] == '\n') {
		s->row++;
		s->line = s->at;
	}
}

static bool scan_starts(const struct sql_scan *s, const char *text)
{
	size_t size = strlen(text);

	return s->size - s->at >= size && memcmp(s->text + s->at, text, size) == 0;
}

/* Skips to after the next `end`, or to the end of the source. */
static void skip_to(struct sql_scan *s, const char *end, size_t size)
{
	while (s->at < s->size && !(s->size - s->at >= size && memcmp(s->text + s->at, end, size) == 0))
		scan_step(s);
	for (size_t i = 0; i < size && s->at < s->size; i++)
		scan_step(s);
}

/* $tag$ … $tag$. */
static bool skip_dollars(struct sql_scan *s)
{
	uint32_t end = s->at + 1;
	const char *tag = s->text + s->at;

	while (end < s->size && is_word_letter(s->text[end]))
		end++;
	if (end == s->size || s->text[end] != '$')
		return false;
	end++;
	end -= s->at;
	s->at += end;
	skip_to(s, tag, end);
	return true;
}

/* Skips a comment or a string; *text says that it was a string. */
static bool skip_other(struct sql_scan *s, bool *text)
{
	char quote = s->text[s->at];

	*text = quote == '\'' || quote == '$';
	if (scan_starts(s, "--")) {
		skip_to(s, "\n", 1);
	} else if (scan_starts(s, "/*")) {
		skip_to(s, "*/", 2);
	} else if (quote == '\'' || quote == '"') {
		scan_step(s);
		skip_to(s, &quote, 1);
	} else if (quote != '$' || !skip_dollars(s)) {
		return false;
	}
	return true;
}

static void word_add(struct sql_sentence *to, const char *word, size_t size, bool called)
{
	if (to->count == WORDS_MAX || size >= WORD_ROOM)
		return;
	for (size_t i = 0; i < size; i++)
		to->words[to->count][i] = (char)(word[i] >= 'A' && word[i] <= 'Z' ? word[i] + 32 : word[i]);
	to->words[to->count][size] = '\0';
	to->called[to->count++] = called;
}

/* Reads the next statement. False if there is none. */
static bool sentence_next(struct sql_scan *s, struct sql_sentence *to)
{
	bool text;

	to->count = 0;
	while (s->at < s->size && s->text[s->at] != ';') {
		uint32_t from = s->at;

		if (skip_other(s, &text)) {
			if (text)
				word_add(to, "'", 1, false);
			continue;
		}
		while (s->at < s->size && is_word_letter(s->text[s->at]))
			s->at++;
		if (s->at == from) {
			scan_step(s);
			continue;
		}
		if (to->count == 0) {
			to->from = from;
			to->at = (TSPoint){ s->row, from - s->line };
		}
		word_add(to, s->text + from, s->at - from, s->at < s->size && s->text[s->at] == '(');
	}
	to->to = s->at;
	if (s->at == s->size)
		return to->count > 0;
	scan_step(s);
	return true;
}

/* "f(": whether the function is called anywhere; otherwise whether all words occur, the first at the beginning. */
static bool sentence_is(const struct sql_sentence *of, const char *pattern, bool is_foreign)
{
	size_t size = strlen(pattern);

	if (pattern[size - 1] == '(') {
		for (size_t i = 0; i < of->count; i++)
			if (of->called[i] && pattern_matches(pattern, size - 1, of->words[i]))
				return true;
		return false;
	}
	for (const char *word = pattern; is_foreign && *word; word += size + strspn(word + size, " ")) {
		bool there = false;

		size = strcspn(word, " ");
		for (size_t i = 0; i < (word == pattern ? 1 : of->count); i++)
			there |= strlen(of->words[i]) == size && memcmp(of->words[i], word, size) == 0;
		if (!there)
			return false;
	}
	return is_foreign;
}

/* Keeps line ends, so that positions after it are unchanged. */
static void make_blank(struct reader *r, const struct sql_sentence *of)
{
	for (uint32_t i = of->from; i <= of->to && i < r->size; i++)
		if (r->source[i] != '\n')
			r->source[i] = ' ';
}

void sql_words(struct reader *r)
{
	static struct sql_sentence sentence;
	struct sql_scan scan = { .text = r->source, .size = r->size };

	while (sentence_next(&scan, &sentence)) {
		const bool other = sentence.count > 0 && is_foreign_word(sentence.words[0]);
		char text[NAME_ROOM] = "";
		size_t size = sentence.to - sentence.from;

		if (sentence.count == 0)
			continue;
		memcpy(text, r->source + sentence.from, size < NAME_ROOM ? size : NAME_ROOM - 1);
		text[strcspn(text, "\n")] = '\0';
		for (size_t i = 0; i < r->rules->count; i++)
			if (r->rules->rules[i].kind == POLICY_CALL &&
			    sentence_is(&sentence, r->rules->rules[i].pattern, other))
				tell_at(r, WIRE_FINDING, 0, (uint32_t)i, sentence.at, text);
		if (other)
			make_blank(r, &sentence);
	}
}

const struct visitor sql_visitors[] = {
	{ "statement", visit_statement },
	{ NULL, NULL },
};
