/* What the parts of detection share: detect.c decides, the others cut the message and know words. */
#pragma once

#include "policy/detect.h"

enum {
	DETECT_WORD_MAX = 32,        /* bytes of a word that are looked at */
	DETECT_PROSE_END = 4 << 10,  /* bytes of the prose that are looked at, at either end: a wish stands there */
	DETECT_WORDS_MAX = 8 << 10,  /* words of it: never more than bytes */
	DETECT_PLAIN_MAX = 32 << 10, /* bytes in which lines of code are looked for, if there is no fence */
	DETECT_LOOK_MAX = 8 << 10,   /* bytes of a block that tell its language */
	DETECT_LOOK_ALL = 64 << 10,  /* the same of all blocks together; then each has DETECT_LOOK_MIN */
	DETECT_LOOK_MIN = 256,
};

/* A message, cut: words are prose, blocks are code. */
struct detect_parts {
	struct arena *arena;    /* for all that is kept */
	struct buf prose;       /* what is around the blocks; a line between two of them */
	struct buf inlined;     /* code between single backticks, each followed by a NUL */
	struct detected *found; /* its blocks are filled */
	size_t looked;          /* bytes of blocks that were held against what languages look like */
	bool transcript;        /* a block was a terminal's, with output */
	bool no_memory;         /* something is missing */
};

/* detect_blocks.c */
void detect_cut(const char *message, size_t size, struct detect_parts *parts);
/* How much of a block is looked at, which is counted: the front has one thread, and others wait for it. */
size_t detect_look(struct detect_parts *parts, size_t size);

/* detect_language.c: by what the code looks like; "" when nothing tells. */
const char *detect_content(const char *code, size_t size);
/* The language's own name for a fence's word; NULL: it is none that runs. */
const char *detect_fence_language(const char *word);
/* A fence's word for what is no program: json, diff, text… */
bool detect_is_data(const char *word);
/* An error message, a log, or a trace. */
bool detect_is_complaint(const char *code, size_t size);
/* Whether the line, without its end, is more likely code than prose: 0 no, 1 perhaps, 2 surely. */
int detect_code_line(const char *line, size_t size);
/* Whether the line is how code begins, if code follows: an import, a class, a comment. */
bool detect_code_head(const char *line, size_t size);

/* detect_words.c: the prose as words, folded: lower case, no accents, a character of Chinese, Japanese or Korean is a
 * word. */
struct detect_word {
	char text[DETECT_WORD_MAX]; /* terminated */
	unsigned clause;            /* which part of a sentence it is in */
	bool asked;                 /* its sentence ends with a question mark */
};

struct detect_words {
	struct detect_word *words; /* in the arena */
	size_t count;              /* how many */
};

int detect_split(const char *prose, size_t size, struct arena *arena, struct detect_words *out);

enum detect_kind {
	DETECT_RUN,     /* asks for a run */
	DETECT_OUTCOME, /* asks what a run would tell */
	DETECT_OTHER,   /* wants something else */
	DETECT_STOP,    /* wants no run */
	DETECT_KINDS
};

/* What the phrases say together. */
struct detect_score {
	int weight[DETECT_KINDS];         /* of all that were found */
	const char *phrase[DETECT_KINDS]; /* the weightiest of each */
	int phrase_weight[DETECT_KINDS];  /* its weight */
	size_t asked;                     /* sentences that are questions have words */
	bool direct;                      /* a clause asks for a run and nothing else */
};

void detect_score(const struct detect_words *words, struct detect_score *out);
/* Whether the words say nothing: few, no question, and nearly all of them fillers. */
bool detect_is_bare(const struct detect_words *words);
/* Whether the phrase, written as a person would, is among the words. */
bool detect_has_phrase(const struct detect_words *words, const char *phrase);
