/*
 * The parser of tree-sitter, compiled from here with four of its parts exchanged for what a
 * reader allows: it has one thread, its source lies in memory as a whole, and is parsed once.
 *
 * - References to nodes are counted without locking the memory.
 * - The entries of its tables that are asked for are remembered: what a state does with a symbol
 *   stands in a list that it goes through each time, and that is a third of the work for SQL.
 * - Lists are not balanced, which is for editors, who parse the same again: 8 % of the work.
 * - Scanners get their characters by lexing.h, as the rest of a grammar does.
 *
 * What it includes belongs to the version that tools/setup names; another may need another file.
 */
#include "reader/parser.h"

#include <stddef.h>
#include <stdint.h>

/* Instead of atomic.h. */
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

/* language.h has the list's function in it, which gets another name. */
#define ts_language_lookup list_lookup
#include "language.h"
#undef ts_language_lookup

enum {
	ENTRIES = 1 << 14 /* that are remembered; the states of a program are few */
};

static struct {
	const TSLanguage *language; /* whose they are */
	struct {
		uint32_t key;   /* state and symbol, and 1 is added; 0: empty */
		uint32_t value; /* what the list has */
	} entries[ENTRIES];
} known;

/* TypeScript has two grammars. */
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
 * The function that balances keeps its body under another name, and its call is `true`:
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
