/*
 * Moves a lexer from one character to the next. The build inserts this before a grammar's tables.
 *
 * A grammar normally calls a function pointer for each character, which supports every encoding, several ranges and a
 * source in pieces, and another one to check for the end. Nearly all characters are ASCII, in the middle of a line of
 * the single piece. So they are handled here, and the lexer is updated when another character comes, or at the end.
 *
 * "tree_sitter/parser.h" is the grammar's, because it differs between versions; struct Lexer begins with the common
 * members.
 */
#pragma once

#include <tree_sitter/api.h>

#ifndef TREE_SITTER_PARSER_H_
#include "tree_sitter/parser.h"
#endif

#include "lexer.h"

#define LEXING_INLINE static inline __attribute__((always_inline))

/* Whether the next character is ASCII and its predecessor does not end a line. A NUL may be the end. */
LEXING_INLINE bool lexing_easy(const Lexer *lexer, uint32_t next)
{
	return next < lexer->chunk_size && (signed char)lexer->chunk[next] > 0;
}

/* For scanners, which use the ordinary interface. */
LEXING_INLINE void lexer_advance(TSLexer *data, bool skip, void (*slowly)(TSLexer *, bool))
{
	Lexer *lexer = (Lexer *)(void *)data;
	uint32_t next = lexer->current_position.bytes + 1 - lexer->chunk_start;

	if (lexer->lookahead_size != 1 || data->lookahead == '\n' || !lexing_easy(lexer, next)) {
		slowly(data, skip);
		return;
	}
	lexer->current_position.bytes++;
	lexer->current_position.extent.column++;
	lexer->column_data.value += lexer->column_data.valid;
	data->lookahead = lexer->chunk[next];
	if (skip)
		lexer->token_start_position = lexer->current_position;
}

/* Positions are in bytes from the start of the piece. */
struct lexing {
	uint32_t known;  /* position that the lexer knows */
	uint32_t here;   /* current position */
	uint32_t begins; /* start of the token, if `skipped` */
	uint32_t ends;   /* end of the token, if `marked` */
	bool easy;       /* the current character is one byte */
	bool skipped;    /* the characters before the token were skipped */
	bool marked;     /* the end of the token was marked */
};

LEXING_INLINE void lexing_open(struct lexing *at, const Lexer *lexer)
{
	at->known = at->here = lexer->current_position.bytes - lexer->chunk_start;
	at->easy = lexer->lookahead_size == 1 && lexer->chunk_size > 0;
	at->skipped = at->marked = false;
}

LEXING_INLINE Length lexing_place(const Lexer *lexer, uint32_t more)
{
	Length place = lexer->current_position;

	place.bytes += more;
	place.extent.column += more;
	return place;
}

LEXING_INLINE void lexing_tell(struct lexing *at, Lexer *lexer, int32_t lookahead)
{
	const uint32_t more = at->here - at->known;

	/* With one range, the end is the marked position. */
	if (at->marked)
		lexer->token_end_position = lexing_place(lexer, at->ends - at->known);
	if (at->skipped)
		lexer->token_start_position = lexing_place(lexer, at->begins - at->known);
	lexer->current_position = lexing_place(lexer, more);
	lexer->column_data.value += lexer->column_data.valid ? more : 0;
	lexer->data.lookahead = lookahead;
}

/* Returns the character after the step. */
LEXING_INLINE int32_t lexing_step(struct lexing *at, TSLexer *data, int32_t lookahead, bool skip)
{
	Lexer *lexer = (Lexer *)(void *)data;

	if (at->easy && lookahead != '\n' && lexing_easy(lexer, at->here + 1)) {
		at->here++;
		if (skip) {
			at->begins = at->here;
			at->skipped = true;
		}
		return lexer->chunk[at->here];
	}
	lexing_tell(at, lexer, lookahead);
	data->advance(data, skip);
	lexing_open(at, lexer);
	return data->lookahead;
}

/* The ranges are sorted. Few of them are ASCII, so those are searched linearly, the others by bisection. */
static inline bool set_has(const TSCharacterRange *ranges, uint32_t count, int32_t character)
{
	if (character < 0 || character > 127)
		return set_contains((TSCharacterRange *)ranges, count, character);
	for (; count > 0 && ranges->end < character; count--)
		ranges++;
	return count > 0 && ranges->start <= character;
}

#define set_contains set_has

#undef START_LEXER
#define START_LEXER()                                                                                                  \
	bool result = false, skip = false;                                                                             \
	UNUSED bool eof = false;                                                                                       \
	int32_t lookahead = lexer->lookahead;                                                                          \
	struct lexing at;                                                                                              \
	lexing_open(&at, (Lexer *)(void *)lexer);                                                                      \
	goto start;                                                                                                    \
	finish:                                                                                                        \
	lexing_tell(&at, (Lexer *)(void *)lexer, lookahead);                                                           \
	return result;                                                                                                 \
	next_state:                                                                                                    \
	lookahead = lexing_step(&at, lexer, lookahead, skip);                                                          \
	start:                                                                                                         \
	skip = false;

/* Generated tables contain "eof = lexer->eof(lexer)" for each character. The character at the end is a NUL, which is
 * never easy. */
#define eof(lexer) eof &&lookahead == 0 && (lexer)->eof(lexer)

#undef ACCEPT_TOKEN
#define ACCEPT_TOKEN(symbol)                                                                                           \
	result = true;                                                                                                 \
	lexer->result_symbol = symbol;                                                                                 \
	at.ends = at.here;                                                                                             \
	at.marked = true;

#undef END_STATE
#define END_STATE() goto finish;
