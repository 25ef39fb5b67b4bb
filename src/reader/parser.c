/*
 * tree-sitter's parser, compiled here with four parts replaced. A reader has one thread, its source is in memory as a
 * whole, and it is parsed once.
 *
 * - References to nodes are counted without atomic operations.
 * - Table entries are cached: the actions of a state for a symbol are in a list that the parser would search each time,
 *   which takes a third of the time for SQL.
 * - Lists are not balanced, which helps editors that parse repeatedly: 8 % of the time.
 * - Scanners read characters through lexing.h, as the rest of a grammar does.
 *
 * The included files depend on the version in tools/setup; another version may need changes here.
 */
#include "reader/parser.h"

#include <stddef.h>
#include <stdint.h>

/* Replaces atomic.h. */
#define TREE_SITTER_ATOMIC_H_

static inline size_t atomic_load(const volatile size_t *at)
{
	return *at;
}

static inline uint32_t atomic_inc(volatile uint32_t *at)
{
	return ++*at;
}

static inline uint32_t atomic_dec(volatile uint32_t *at)
{
	return --*at;
}

/* language.h contains the function, which gets another name. */
#define ts_language_lookup list_lookup
#include "language.h"
#undef ts_language_lookup

enum {
	ENTRIES = 1 << 14 /* cached entries; a program has few states */
};

static struct {
	const TSLanguage *language; /* the grammar of the entries */
	struct {
		uint32_t key;   /* state and symbol plus 1; 0: empty */
		uint32_t value; /* the cached value */
	} entries[ENTRIES];
} known;

/* For TypeScript, which has two grammars. */
static __attribute__((noinline, cold)) void known_forget(const TSLanguage *language)
{
	memset(known.entries, 0, sizeof(known.entries));
	known.language = language;
}

static inline uint16_t ts_language_lookup(const TSLanguage *language, TSStateId state, TSSymbol symbol)
{
	uint32_t key, place;

	if (state < language->large_state_count)
		return language->parse_table[state * language->symbol_count + symbol];
	if (known.language != language)
		known_forget(language);
	key = ((uint32_t)state << 16 | symbol) + 1;
	place = (state * 61U + symbol) & (ENTRIES - 1);
	if (known.entries[place].key != key) {
		known.entries[place].value = list_lookup(language, state, symbol);
		known.entries[place].key = key;
	}
	return (uint16_t)known.entries[place].value;
}

/*
 * The balancing function keeps its body under another name, and its call becomes `true`:
 *	static bool ts_parser__balance_subtree(TSParser *self) {
 *	if (!ts_parser__balance_subtree(self)) {
 */
#define ts_parser__balance_subtree(parameter) balance_##parameter)
#define balance_TSParser                      balance_never(TSParser
#define balance_self                          (true

#include "lib.c"

#include "reader/lexing.h"

static void advance_scanner(TSLexer *data, bool skip)
{
	lexer_advance(data, skip, ts_lexer__advance);
}

TSParser *parser_new(void)
{
	TSParser *parser = ts_parser_new();

	parser->lexer.data.advance = advance_scanner;
	return parser;
}
