/* Parses a source, walks the tree once, and writes the records. */
#include "reader/reader.h"

#include <string.h>

enum {
	SYNTAX_MAX = 20,      /* maximum of reported mistakes: later ones are often consequences of the first */
	PARSE_USEC = 2000000, /* time limit for one source */
	COMMENTS_MAX = 32,    /* maximum of skipped comments with elements */
};

void tell_at(struct reader *r, enum wire_kind kind, uint32_t how, uint32_t rule, TSPoint at, const char *name)
{
	struct wire_record record = { .kind = (uint32_t)kind,
				      .how = how,
				      .rule = rule,
				      .line = at.row + 1,
				      .column = at.column + 1,
				      .size = (uint32_t)strnlen(name, WIRE_NAME_MAX) };

	if (r->count == WIRE_RECORDS_MAX || r->used + sizeof(record) + record.size > WIRE_TELL_MAX) {
		r->cut = true;
		return;
	}
	memcpy(r->out + r->used, &record, sizeof(record));
	memcpy(r->out + r->used + sizeof(record), name, record.size);
	r->used += (uint32_t)sizeof(record) + record.size;
	r->count++;
}

void record_add(struct reader *r, enum wire_kind kind, uint32_t how, uint32_t rule, TSNode node, const char *name)
{
	tell_at(r, kind, how, rule, ts_node_start_point(node), name);
}

void tell_import(struct reader *r, enum wire_how how, TSNode node, const char *module)
{
	if (*module)
		record_add(r, WIRE_IMPORT, how, 0, node, module);
}

void tell_rule(struct reader *r, TSNode node, const char *pattern, const char *name)
{
	for (size_t i = 0; i < r->rules->count; i++)
		if (r->rules->rules[i].kind == POLICY_CALL && strcmp(r->rules->rules[i].pattern, pattern) == 0)
			record_add(r, WIRE_FINDING, 0, (uint32_t)i, node, name);
}

/* Whether the text of the arguments contains the pattern; a leading quotation mark stands for any. */
static bool arguments_have(const struct reader *r, TSNode arguments, const char *wanted)
{
	uint32_t from = ts_node_is_null(arguments) ? 0 : ts_node_start_byte(arguments);
	uint32_t to = ts_node_is_null(arguments) ? 0 : ts_node_end_byte(arguments);

	if (to <= from || to > r->size)
		return false;
	if (*wanted == '\'') {
		const char *at = r->source + from + (r->source[from] == '(');

		return (*at == '\'' || *at == '"') && strncmp(at + 1, wanted + 1, strlen(wanted + 1)) == 0;
	}
	return memmem(r->source + from, to - from, wanted, strlen(wanted)) != NULL;
}

void tell_call(struct reader *r, TSNode node, const char *name, TSNode arguments)
{
	if (!*name)
		return;
	for (size_t i = 0; i < r->rules->count; i++) {
		const struct policy_rule *rule = &r->rules->rules[i];
		const char *pattern = rule->pattern, *blank;
		size_t size;

		if (rule->kind != POLICY_CALL)
			continue;
		blank = strncmp(pattern, "new ", 4) == 0 ? NULL : strchr(pattern, ' ');
		size = blank ? (size_t)(blank - pattern) : strlen(pattern);
		if (pattern_matches(pattern, size, name) && (!blank || arguments_have(r, arguments, blank + 1)))
			record_add(r, WIRE_FINDING, 0, (uint32_t)i, node, name);
	}
}

static void tell_syntax(struct reader *r, TSNode node, size_t *mistakes)
{
	char text[NAME_ROOM];

	if ((*mistakes)++ >= SYNTAX_MAX)
		return;
	if (ts_node_is_missing(node)) {
		record_add(r, WIRE_SYNTAX, SYNTAX_MISSING, 0, node, ts_node_type(node));
		return;
	}
	node_text(r, node, text);
	text[strcspn(text, "\n")] = '\0';
	record_add(r, WIRE_SYNTAX, 0, 0, node, text);
}

struct walk {
	struct reader *reader; /* the reader with the functions for nodes */
	size_t mistakes;       /* number of mistakes so far */
};

static void visit_node(void *data, TSNode node, TSSymbol symbol)
{
	struct walk *walk = data;

	/* Nodes inside of a mistake are visited too: their calls and imports count. */
	if (ts_node_is_error(node) || ts_node_is_missing(node))
		tell_syntax(walk->reader, node, &walk->mistakes);
	if (symbol < walk->reader->numbers->symbols && walk->reader->numbers->visits[symbol])
		walk->reader->numbers->visits[symbol](walk->reader, node);
}

static bool read_tree(struct reader *r, const TSTree *tree, const TSLanguage *grammar)
{
	struct walk walk = { .reader = r };

	r->numbers = numbers_of(r->language, grammar);
	return r->numbers && tree_walk(tree, r->numbers->wanted, visit_node, &walk);
}

/* Without an element that ends, the code is not JSX, and the second grammar is not tried. Elements in comments do not
 * count. */
static bool has_elements(const struct reader *r, const TSTree *tree)
{
	size_t comments = 0;

	for (uint32_t at = 0; at + 1 < r->size && comments < COMMENTS_MAX; at++) {
		const char *slash = memchr(r->source + at, '/', r->size - at);
		TSNode node;

		if (!slash)
			return false;
		at = (uint32_t)(slash - r->source);
		if (r->source[at + 1] != '>' && (at == 0 || r->source[at - 1] != '<'))
			continue;
		node = ts_node_descendant_for_byte_range(ts_tree_root_node(tree), at, at);
		if (strcmp(ts_node_type(node), "comment") != 0)
			return true;
		/* The next element may be far behind its end. */
		at = ts_node_end_byte(node) > at ? ts_node_end_byte(node) - 1 : at;
		comments++;
	}
	return comments == COMMENTS_MAX;
}

/* Python and JavaScript accept a lone carriage return as a line end, which also ends a comment; the grammars do not. */
static void mend_returns(struct reader *r)
{
	for (char *at = r->source, *end = at + r->size; (at = memchr(at, '\r', (size_t)(end - at))); at++)
		if (at[1] != '\n')
			*at = '\n';
}

uint32_t reader_read(struct reader *r, TSParser *parser)
{
	const TSLanguage *grammar = r->language->tree();
	TSTree *tree = NULL, *other = NULL;
	bool whole = false;

	if (r->language->visitors == sql_visitors)
		sql_words(r);
	if (r->language->visitors == python_visitors || r->language->visitors == script_visitors)
		mend_returns(r);
	ts_parser_set_timeout_micros(parser, PARSE_USEC);
	if (ts_parser_set_language(parser, grammar))
		tree = ts_parser_parse_string(parser, NULL, r->source, r->size);
	if (tree && r->language->other && ts_node_has_error(ts_tree_root_node(tree)) && has_elements(r, tree) &&
	    ts_parser_set_language(parser, r->language->other()))
		other = ts_parser_parse_string(parser, NULL, r->source, r->size);
	if (other && !ts_node_has_error(ts_tree_root_node(other)))
		whole = read_tree(r, other, r->language->other());
	else if (tree)
		whole = read_tree(r, tree, grammar);
	ts_parser_reset(parser);
	if (other && !r->emptied)
		ts_tree_delete(other);
	if (tree && !r->emptied)
		ts_tree_delete(tree);
	if (!whole)
		return WIRE_HARD;
	return r->cut ? WIRE_CUT : WIRE_WHOLE;
}
