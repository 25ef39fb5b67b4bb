/*
 * YAML, as far as settings use it: mappings, lists and strings.
 *
 * A document is a tree of nodes with their positions, so that a mistake in
 * settings can be reported as WHERE:LINE:COLUMN, with the keys that lead to it
 * and the value that was expected. Scalars are not typed here: `1` and `yes`
 * are both texts. Only an empty value (no value, ~ or null, unquoted) is a kind
 * of its own.
 *
 * Documents are untrusted, so their size, depth and number of nodes are
 * bounded. Features that settings do not need are refused: anchors and aliases
 * (a small text could expand to a huge document), tags, several documents, keys
 * that are not strings, duplicate keys, NUL bytes.
 *
 * The reader uses libyaml's events, because libyaml's documents have their
 * aliases expanded already.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	YAML_SIZE_MAX = 256 << 10, /* bytes of a document */
	YAML_DEPTH_MAX = 16,       /* levels of mappings and lists */
	YAML_NODES_MAX = 65536,    /* in a document, including keys */
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
	unsigned line, column;          /* where the node begins, from 1 */
	const char *text;               /* of a scalar ("" for nothing), or NULL */
	size_t count;                   /* number of children; a key and its value count as one */
	const struct yaml_node *first;  /* the first item of a list or value of a mapping */
	const struct yaml_node *next;   /* the next sibling */
	const struct yaml_node *key;    /* of a value in a mapping, otherwise NULL */
	const struct yaml_node *parent; /* NULL for the root */
};

struct yaml_doc {
	const char *where;            /* the file's name, for errors */
	struct arena *arena;          /* owns all nodes and text */
	const struct yaml_node *root; /* never NULL; YAML_NOTHING for an empty document */
};

/* Parses a document; its nodes and text are in the arena. ERROR_USAGE if it is not YAML or exceeds the bounds. `where`
 * must outlive the document. */
int yaml_load(const char *where, const char *text, size_t size, struct arena *arena, struct yaml_doc *out,
	      struct error *err);

/* Both return -1. The position and the keys are put before the sentence; control characters in it become '?'. */
int yaml_fault(const struct yaml_doc *doc, const struct yaml_node *node, struct error *err, const char *format, ...)
	EB_PRINTF(4, 5);
/* Reports "expected WHAT, not …", with the kind of the node. */
int yaml_expected(const struct yaml_doc *doc, const struct yaml_node *node, struct error *err, const char *format, ...)
	EB_PRINTF(4, 5);

/* The value of a key, or NULL if there is no such key or `map` is not a mapping. */
const struct yaml_node *yaml_map_get(const struct yaml_node *map, const char *key);

/* Loops over the items of a list, or the values of a mapping, in order. */
#define yaml_each(item, node) for (const struct yaml_node *item = (node)->first; item != NULL; item = (item)->next)

/* Checks the kind of a node. `what` names the expected value for yaml_expected(): "a list of words". */
int yaml_expect(const struct yaml_doc *doc, const struct yaml_node *node, enum yaml_kind kind, const char *what,
		struct error *err);
int yaml_text(const struct yaml_doc *doc, const struct yaml_node *node, const char *what, const char **out,
	      struct error *err);
/* Reads a list of strings, ended by NULL. `what` names the list in errors. */
int yaml_list(const struct yaml_doc *doc, const struct yaml_node *node, const char *what, const char *const **out,
	      struct error *err);
/* Accepts true and false only; yes, on and 1 are ambiguous. */
int yaml_bool(const struct yaml_doc *doc, const struct yaml_node *node, bool *out, struct error *err);

/* Fails if the mapping has a key that is not in the list (ended by NULL), and suggests the nearest. */
int yaml_unknown_keys(const struct yaml_doc *doc, const struct yaml_node *map, const char *const *known,
		      struct error *err);
