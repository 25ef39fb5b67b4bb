/*
 * YAML, as far as people write it in settings: mappings, lists and texts.
 *
 * A document is a tree of nodes that know where they stand, so that a reader of
 * settings can say of each mistake where it is: WHERE:LINE:COLUMN, the keys that
 * lead there, and what was expected. Kinds of scalars are the reader's business:
 * each is a text here, `1` as well as `yes`; only what stands for nothing (no
 * value, ~ or null, not quoted) is told apart.
 *
 * Bounded, for it reads what others wrote: size, depth and number of nodes. What
 * settings do not need is refused: anchors and aliases (a small text could mean
 * a huge document), tags, several documents, keys that are no texts, keys given
 * twice, NUL bytes.
 *
 * It is built on libyaml's events and not on its documents: those have followed
 * the aliases already.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	YAML_SIZE_MAX = 256 << 10, /* bytes of a document */
	YAML_DEPTH_MAX = 16,       /* mappings and lists inside each other */
	YAML_NODES_MAX = 65536,    /* in a document, keys included */
	YAML_KEYS_MAX = 1024,      /* in one mapping */
};

enum yaml_kind {
	YAML_NOTHING, /* a key without a value, ~ or null */
	YAML_TEXT,    /* any other scalar */
	YAML_LIST,
	YAML_MAP,
};

struct yaml_node {
	enum yaml_kind kind;            /* what it is */
	unsigned line, column;          /* where it begins, from 1 */
	const char *text;               /* of a scalar, "" for nothing; NULL for a list or a mapping */
	size_t count;                   /* how many are below it; keys and their values are one */
	const struct yaml_node *first;  /* of a list: the items; of a mapping: the values */
	const struct yaml_node *next;   /* beside it */
	const struct yaml_node *key;    /* of a value in a mapping; NULL otherwise */
	const struct yaml_node *parent; /* NULL for the root */
};

struct yaml_doc {
	const char *where;            /* the file's name, for errors */
	struct arena *arena;          /* holds all of it */
	const struct yaml_node *root; /* never NULL, YAML_NOTHING for an empty document */
};

/* The nodes are in the arena, and so is all text. ERROR_USAGE when it is no YAML or beyond the bounds. `where` has to
 * live as long as the document is used. */
int yaml_load(const char *where, const char *text, size_t size, struct arena *arena, struct yaml_doc *out,
	      struct error *err);

/* Both return -1. The sentence gets the place and the keys before it; control characters in it become '?'. */
int yaml_fault(const struct yaml_doc *doc, const struct yaml_node *node, struct error *err, const char *format, ...)
	EB_PRINTF(4, 5);
/* "expected WHAT, not …" with what the node is. */
int yaml_expected(const struct yaml_doc *doc, const struct yaml_node *node, struct error *err, const char *format, ...)
	EB_PRINTF(4, 5);

/* The value, or NULL when there is no such key; also when `map` is no mapping. */
const struct yaml_node *yaml_map_get(const struct yaml_node *map, const char *key);

/* Items of a list, or values of a mapping, in their order. */
#define yaml_each(item, node) for (const struct yaml_node *item = (node)->first; item != NULL; item = (item)->next)

/* `what` is what is expected, as in yaml_expected(): "a list of words". */
int yaml_expect(const struct yaml_doc *doc, const struct yaml_node *node, enum yaml_kind kind, const char *what,
		struct error *err);
int yaml_text(const struct yaml_doc *doc, const struct yaml_node *node, const char *what, const char **out,
	      struct error *err);
/* A list of texts, with NULL at its end; `what` is said of the list, an item is "a text". */
int yaml_list(const struct yaml_doc *doc, const struct yaml_node *node, const char *what, const char *const **out,
	      struct error *err);
/* true or false, nothing else: yes, on and 1 mean too much. */
int yaml_bool(const struct yaml_doc *doc, const struct yaml_node *node, bool *out, struct error *err);

/* An error unless every key of the mapping is in the list (ended by NULL); it names the nearest. */
int yaml_unknown_keys(const struct yaml_doc *doc, const struct yaml_node *map, const char *const *known,
		      struct error *err);
