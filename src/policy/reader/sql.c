/* SQL: the keywords of each statement, those of what is inside of it left out. */
#include "policy/reader/reader.h"

#include <string.h>

enum {
	KEYWORDS_MAX = 128, /* of a statement that are looked at */
	NODES_MAX = 4096,   /* the same of nodes */
};

struct keywords {
	const char *words[KEYWORDS_MAX]; /* "drop", "table": static, of the grammar */
	size_t count;                    /* how many */
};

/* A rule begins with it. */
static bool is_first(const struct reader *r, const char *word)
{
	const size_t size = strlen(word);

	for (size_t i = 0; i < r->rules->count; i++)
		if (strncmp(r->rules->rules[i].pattern, word, size) == 0 &&
		    (r->rules->rules[i].pattern[size] == ' ' || r->rules->rules[i].pattern[size] == '\0'))
			return true;
	return false;
}

/* Nothing, if the statement is of a kind that no rule is about. */
static void collect(const struct reader *r, TSNode node, struct keywords *out)
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
		/* WITH x AS (…) DELETE FROM t */
		if (out->count == 0 && (strcmp(type + 8, "with") == 0 || strcmp(type + 8, "recursive") == 0))
			continue;
		if (out->count == 0 && !is_first(r, type + 8))
			return;
		out->words[out->count++] = type + 8;
	}
}

static bool has(const struct keywords *keywords, const char *word, size_t size)
{
	for (size_t i = 0; i < keywords->count; i++)
		if (strlen(keywords->words[i]) == size && memcmp(keywords->words[i], word, size) == 0)
			return true;
	return false;
}

/* The words in their order, the first at the beginning; none with a "!". */
static bool is(const struct keywords *keywords, const char *pattern)
{
	size_t next = 0;

	while (*pattern) {
		size_t size = strcspn(pattern, " ");

		if (*pattern == '!') {
			if (has(keywords, pattern + 1, size - 1))
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

static void visit_statement(struct reader *r, TSNode node)
{
	struct keywords keywords;
	char text[NAME_ROOM];

	collect(r, node, &keywords);
	if (keywords.count == 0)
		return;
	node_text(r, node, text);
	text[strcspn(text, "\n")] = '\0';
	for (size_t i = 0; i < r->rules->count; i++)
		if (r->rules->rules[i].kind == POLICY_CALL && is(&keywords, r->rules->rules[i].pattern))
			tell(r, WIRE_FINDING, 0, (uint32_t)i, node, text);
}

const struct visitor sql_visitors[] = {
	{ "statement", visit_statement },
	{ NULL, NULL },
};
