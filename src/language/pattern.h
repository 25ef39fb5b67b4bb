/*
 * Patterns on what a program wrote: PCRE as bytes, line by line, with a bounded effort.
 *
 * A pattern sees one line, without its end. One with \n in it starts in a line
 * and goes on into those that follow, up to 16 KiB. ^ and $ are then those of
 * any line. Of several groups of one name the first that took part counts.
 * {file} in a pattern is the code file's path, quoted.
 */
#pragma once

#include "base/heap.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	PATTERN_STEPS = 800000 /* of effort for one text; some 40 ms at most */
};

struct span {
	const char *start; /* of some bytes */
	size_t size;       /* how many */
};

/* A line of a text, and the last match in it. */
struct line {
	struct span here;      /* without its end */
	const char *text_end;  /* of all lines */
	const char *match_end; /* where the match ends */
};

struct pattern {
	void *code;   /* pcre2_code; NULL: it matches nothing */
	bool goes_on; /* into the lines that follow */
};

struct effort {
	long left;       /* steps of all */
	long match_left; /* of the match */
	size_t position; /* in the line, when last counted */
};

/* What matches share: how much effort is left, and the last match. */
struct matcher {
	struct effort effort; /* set `left` before a text */
	struct heap *heap;    /* for all that is made here; NULL: malloc() */
	void *memory;         /* PCRE's word for it */
	void *context;        /* of matches */
	void *data;           /* the last match */
};

/* False without memory. Closing takes also half-made ones. */
bool matcher_open(struct matcher *matcher, struct heap *heap);
void matcher_close(struct matcher *matcher);
#define _cleanup_matcher_ _cleanup_(matcher_close)
/* Whether effort is left: what was not looked at might have said otherwise. */
bool matcher_able(const struct matcher *matcher);

/* NULL text, or one that does not compile: a pattern that matches nothing. */
struct pattern pattern_make(struct matcher *matcher, const char *text, const char *file);
void pattern_free(struct pattern *pattern);
#define _cleanup_pattern_ _cleanup_(pattern_free)
/* A list that ends with NULL, or NULL for none; freed by pattern_list_free(). */
struct pattern *pattern_list(struct matcher *matcher, const char *const *texts, const char *file, size_t *count);
void pattern_list_free(struct matcher *matcher, struct pattern *list, size_t count);

bool pattern_match(struct matcher *matcher, const struct pattern *pattern, struct line *line);
/* The first of the list that the line matches, or NULL. */
const struct pattern *pattern_match_any(struct matcher *matcher, const struct pattern *list, size_t count,
					struct line *line);
/* The group of that name, in the last match; false when it has none or took no part. */
bool pattern_group(struct matcher *matcher, const struct pattern *pattern, const struct line *line, const char *name,
		   struct span *span);
/* The name of the pattern's n-th group that has one; NULL past the last. */
const char *pattern_group_name(const struct pattern *pattern, size_t n);
/* Of a text that is no program's but a tool's. False: it did not match, or does not fit. */
bool pattern_find(const char *pattern, const char *group, const char *text, char *out, size_t size);
/* Whether the pattern can be used; if not, why, and where in it. */
bool pattern_check(const char *pattern, char *why, size_t size);

/* Steps to the next line that is not blank; `at` is where to look. False at the end. */
bool line_next(struct span text, const char **at, struct line *line);
/* The same from the end of the text: `at` is where the line after it starts. */
bool line_before(struct span text, const char **at, struct line *line);
/* As much of a text as is looked at: a compiler's first errors matter, and a program's last words. */
struct span span_part(const char *text, size_t size, bool first);
/* As one line: its ends and what surrounds a newline are cut. A zero byte becomes a blank. */
void span_copy(struct span from, char *to, size_t size);
/* 0: it is no number of a line. */
long span_number(struct span digits);
bool span_is(struct span span, const char *text);
