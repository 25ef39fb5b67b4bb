/*
 * Does the author of a chat message want its code run?
 *
 * The message is cut into blocks of code and the words around them. The words are
 * held against phrases, which are data (detect_rules.def): some ask for a run,
 * some ask a question that a run answers, some want something else. A phrase
 * behind a negation counts for the other side, or not at all. Without any phrase
 * it is how much is said around the code that decides.
 *
 * Pure and deterministic: nothing is run, opened or asked.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "registry/registry.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	DETECT_MESSAGE_MAX = 1 << 20, /* bytes of a message */
	DETECT_BLOCKS_MAX = 64,       /* blocks that are told; more are left out */
};

struct detect_block {
	const char *language; /* a language's name, or "": nothing tells */
	const char *code;     /* without fence, quote marks, prompts and their output; terminated */
	size_t size;          /* of it */
	bool runnable;        /* it may be a program: not data, not an error message */
};

struct detected {
	bool execute;                                  /* run it */
	double confidence;                             /* 0.5 to 0.99 in `execute` */
	const char *reason;                            /* a sentence for a person */
	const char *profile;                           /* of the registry, whose trigger the message has; NULL: none */
	struct detect_block blocks[DETECT_BLOCKS_MAX]; /* in their order */
	size_t block_count;                            /* how many */
};

/* All texts of `out` live in the arena, or for ever. `registry` may be NULL. ERROR_USAGE: more than DETECT_MESSAGE_MAX.
 */
int detect_message(const char *message, size_t size, const struct registry *registry, struct arena *arena,
		   struct detected *out, struct error *err);
/* {"execute", "confidence", "reason", "blocks": [{"language", "code"}], "profile"} */
void detect_json(const struct detected *found, struct buf *out);
