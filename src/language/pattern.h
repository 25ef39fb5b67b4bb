/*
 * Matching of program output: PCRE on bytes, line by line, with bounded effort.
 *
 * A pattern sees one line, without its line end. A pattern with \n in it starts in a line and may span the following
 * ones, up to 16 KiB; ^ and $ then match at every line. If several groups have one name, the first one that took part
 * is used. {file} in a pattern is the code file's path, quoted.
 */
#pragma once

#include "base/heap.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	PATTERN_STEPS = 800000 /* effort for one text; at most some 40 ms */
};

struct span {
	const char *start; /* first byte */
	size_t size;       /* bytes */
};

/* A line of a text, and the last match in it. */
struct line {
	struct span here;      /* the line, without its end */
	const char *text_end;  /* end of the whole text */
	const char *match_end; /* end of the match */
};

struct pattern {
	void *code;   /* pcre2_code; NULL: matches nothing */
	bool goes_on; /* may span several lines */
};

struct effort {
	long left;       /* steps left for the text */
	long match_left; /* steps left for the match */
	size_t position; /* position in the line at the last count */
};

/* State shared by matches: the remaining effort, and the last match. */
struct matcher {
	struct effort effort; /* the caller sets `left` for each text */
	struct heap *heap;    /* memory; NULL: malloc() */
	void *memory;         /* PCRE's general context */
	void *context;        /* PCRE's match context */
	void *data;           /* the last match */
};

/* False if memory ran out. matcher_close() accepts half-opened ones. */
bool matcher_open(struct matcher *matcher, struct heap *heap);
void matcher_close(struct matcher *matcher);
#define _cleanup_matcher_ _cleanup_(matcher_close)
/* Whether effort is left. If not, unread text might have changed the answer. */
bool matcher_able(const struct matcher *matcher);

/* A pattern that matches nothing if the text is NULL or does not compile. */
struct pattern pattern_make(struct matcher *matcher, const char *text, const char *file);
void pattern_free(struct pattern *pattern);
#define _cleanup_pattern_ _cleanup_(pattern_free)
/* A list ended by NULL, or NULL for none; free it with pattern_list_free(). */
struct pattern *pattern_list(struct matcher *matcher, const char *const *texts, const char *file, size_t *count);
void pattern_list_free(struct matcher *matcher, struct pattern *list, size_t count);

bool pattern_match(struct matcher *matcher, const struct pattern *pattern, struct line *line);
/* The first pattern of the list that matches the line, or NULL. */
const struct pattern *pattern_match_any(struct matcher *matcher, const struct pattern *list, size_t count,
					struct line *line);
/* The group with that name in the last match. False if there is none or it took no part. */
bool pattern_group(struct matcher *matcher, const struct pattern *pattern, const struct line *line, const char *name,
		   struct span *span);
/* The name of the pattern's n-th named group; NULL after the last. */
const char *pattern_group_name(const struct pattern *pattern, size_t n);
/* Finds a group in the output of a trusted tool. False if the pattern does not match or the text does not fit. */
bool pattern_find(const char *pattern, const char *group, const char *text, char *out, size_t size);
/* Whether the pattern compiles; otherwise `why` has the reason and the position. */
bool pattern_check(const char *pattern, char *why, size_t size);

/* Moves to the next line that is not blank; `at` is where to start. False at the end. */
bool line_next(struct span text, const char **at, struct line *line);
/* Moves to the previous line that is not blank; `at` is the start of the line after it. */
bool line_before(struct span text, const char **at, struct line *line);
/* The part of a text that is searched: the first lines of a compiler, the last lines of a program. */
struct span span_part(const char *text, size_t size, bool first);
/* Copies text as one line: without the blanks at both ends and around newlines. A NUL becomes a blank. */
void span_copy(struct span from, char *to, size_t size);
/* 0: not a line number. */
long span_number(struct span digits);
bool span_is(struct span span, const char *text);
