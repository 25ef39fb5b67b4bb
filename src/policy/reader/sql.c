/* SQL: the keywords of each statement, those of what is inside of it left out. */
#include "policy/reader/reader.h"

#include <string.h>

enum {
	KEYWORDS_MAX = 128, /* of a statement that are looked at */
	NODES_MAX = 4096,   /* the same of nodes */
	DEPTH_MAX = 12,     /* the same of levels */
};

struct keywords {
	const char *words[KEYWORDS_MAX]; /* "drop", "table": static, of the grammar */
	size_t count;                    /* how many */
	size_t nodes;                    /* that were seen */
};

static void collect(TSNode node, struct keywords *out, int depth)
{
	for (uint32_t i = 0; i < ts_node_named_child_count(node) && out->nodes < NODES_MAX; i++) {
		TSNode child = ts_node_named_child(node, i);
		const char *type = ts_node_type(child);

		out->nodes++;
		if (strncmp(type, "keyword_", 8) == 0 && out->count < KEYWORDS_MAX)
			out->words[out->count++] = type + 8;
		else if (depth < DEPTH_MAX && strcmp(type, "subquery") != 0 && strcmp(type, "cte") != 0)
			collect(child, out, depth + 1);
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
	struct keywords keywords = { .count = 0 };
	char text[NAME_ROOM];

	collect(node, &keywords, 0);
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
