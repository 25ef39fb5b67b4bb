/*
 * Walks the tree in memory.
 *
 * tree-sitter's cursor is general, and costs a third of the parsing: it counts descendants and keeps the way back. This
 * walk only goes forward and builds only the wanted nodes. A list of a thousand items is a chain of a thousand pairs
 * (parser.c), so requesting children by number would be quadratic: struct children iterates instead.
 */
#include "reader/syntax_tree.h"

#include "alloc.h"
#include "language.h"
#include "tree.h"

/* A node whose children are being visited. */
struct level {
	const Subtree *children; /* its children */
	const TSSymbol *aliases; /* their names in the grammar's rule; NULL: unchanged */
	uint32_t count;          /* number of children */
	uint32_t next;           /* index of the next child */
	uint32_t place;          /* index of that child in the rule, which does not count comments */
	Length end;              /* end of the previous child; initially the start of the first one */
};

/* A position in the tree. */
struct spot {
	const Subtree *node; /* the node */
	Length start;        /* its start */
	TSSymbol alias;      /* its name in the rule; 0: unchanged */
};

static bool level_add(struct levels *levels, const TSTree *tree, const struct spot *spot)
{
	const SubtreeHeapData *node = spot->node->ptr;

	if (levels->count == levels->room) {
		uint32_t room = levels->room ? 2 * levels->room : 64;
		struct level *all = ts_realloc(levels->all, room * sizeof(*all));

		if (!all)
			return false;
		levels->all = all;
		levels->room = room;
	}
	/* A large tree does not fit into caches, so prefetch its parts together. */
	for (uint32_t i = 0; i < node->child_count && i < 8; i++) {
		const Subtree child = ts_subtree_children(*spot->node)[i];

		if (!child.data.is_inline) {
			__builtin_prefetch(child.ptr);
			__builtin_prefetch((const char *)child.ptr - 64);
		}
	}
	levels->all[levels->count++] = (struct level){
		.children = ts_subtree_children(*spot->node),
		.aliases = ts_language_alias_sequence(tree->language, node->production_id),
		.count = node->child_count,
		.end = spot->start,
	};
	return true;
}

/* Moves to the next child of the innermost level that has one. False at the end. */
static bool levels_next(struct levels *levels, struct spot *spot)
{
	struct level *level;

	while (levels->count > 0 && levels->all[levels->count - 1].next == levels->all[levels->count - 1].count)
		levels->count--;
	if (levels->count == 0)
		return false;
	level = &levels->all[levels->count - 1];
	spot->node = &level->children[level->next];
	spot->start = level->next > 0 ? length_add(level->end, ts_subtree_padding(*spot->node)) : level->end;
	level->end = length_add(spot->start, ts_subtree_size(*spot->node));
	level->next++;
	spot->alias = 0;
	if (!ts_subtree_extra(*spot->node)) {
		spot->alias = level->aliases ? level->aliases[level->place] : 0;
		level->place++;
	}
	return true;
}

/* Whether the node is a mistake: an unexpected or missing token. */
static bool is_mistake(const struct spot *spot)
{
	return (ts_subtree_symbol(*spot->node) == ts_builtin_sym_error || ts_subtree_missing(*spot->node)) &&
	       (spot->alias || ts_subtree_visible(*spot->node));
}

bool tree_walk(const TSTree *tree, const bool *wanted, tree_visit *visit, void *data)
{
	const uint32_t symbols = ts_language_symbol_count(tree->language);
	const bool wrong = ts_subtree_error_cost(tree->root) > 0;
	struct spot spot = { &tree->root, ts_subtree_padding(tree->root), 0 };
	struct levels levels = { 0 };
	bool whole = true;

	do {
		TSSymbol symbol = spot.alias ? spot.alias : ts_subtree_symbol(*spot.node);

		if ((symbol < symbols && wanted[symbol]) || (wrong && is_mistake(&spot)))
			visit(data, ts_node_new(tree, spot.node, spot.start, spot.alias), symbol);
		if (ts_subtree_child_count(*spot.node) > 0)
			whole = level_add(&levels, tree, &spot);
	} while (whole && levels_next(&levels, &spot));
	ts_free(levels.all);
	return whole;
}

/* Counts as ts_node_named_child() does. */
static bool is_named(const TSTree *tree, const struct spot *spot)
{
	if (spot->alias)
		return ts_language_symbol_metadata(tree->language, spot->alias).named;
	return ts_subtree_visible(*spot->node) && ts_subtree_named(*spot->node);
}

void children_begin(struct children *children, TSNode node)
{
	*children = (struct children){ .tree = node.tree };
	if (ts_node_is_null(node))
		return;
	children_enter(children, node);
}

void children_enter(struct children *children, TSNode node)
{
	const struct spot spot = {
		.node = node.id,
		.start = { ts_node_start_byte(node), ts_node_start_point(node) },
	};

	if (ts_subtree_child_count(*spot.node) > 0)
		(void)level_add(&children->levels, children->tree, &spot);
}

bool children_next(struct children *children, TSNode *node)
{
	const TSTree *tree = children->tree;
	struct spot spot;

	while (levels_next(&children->levels, &spot)) {
		if (is_named(tree, &spot)) {
			*node = ts_node_new(tree, spot.node, spot.start, spot.alias);
			return true;
		}
		if (ts_subtree_child_count(*spot.node) > 0 && !level_add(&children->levels, tree, &spot))
			break;
	}
	return false;
}

void children_end(struct children *children)
{
	ts_free(children->levels.all);
}
