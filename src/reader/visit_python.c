/* Python: imports of every kind, calls, and names defined by assignment. */
#include "reader/reader.h"

#include <stdio.h>
#include <string.h>

/* import a.b as c, d */
static void visit_import(struct reader *r, TSNode node)
{
	_cleanup_children_ struct children list;
	char module[NAME_ROOM], name[NAME_ROOM];
	TSNode child;

	children_begin(&list, node);
	while (children_next(&list, &child)) {
		if (is_type(r, child, TYPE_ALIASED_IMPORT)) {
			node_text(r, node_field(r, child, FIELD_NAME), module);
			node_text(r, node_field(r, child, FIELD_ALIAS), name);
			alias_add(r, name, module);
		} else if (is_type(r, child, TYPE_DOTTED_NAME)) {
			node_text(r, child, module);
		} else {
			continue;
		}
		tell_import(r, HOW_PLAIN, child, module);
	}
}

/* from a.b import * */
static void star_add(struct reader *r, TSNode node, const char *module)
{
	if (is_type(r, node, TYPE_WILDCARD_IMPORT) && r->star_count < STARS_MAX && strlen(module) < sizeof(r->stars[0]))
		snprintf(r->stars[r->star_count++], sizeof(r->stars[0]), "%s", module);
}

/* from a.b import c as d, e */
static void visit_from(struct reader *r, TSNode node)
{
	_cleanup_children_ struct children list;
	TSNode from = node_field(r, node, FIELD_MODULE_NAME), child;
	char module[NAME_ROOM], name[NAME_ROOM], alias[NAME_ROOM], target[2 * NAME_ROOM];

	children_begin(&list, node);
	node_text(r, from, module);
	/* A relative import is the program's own module. */
	if (!is_type(r, from, TYPE_DOTTED_NAME))
		return;
	tell_import(r, HOW_FROM, from, module);
	while (children_next(&list, &child)) {
		if (ts_node_eq(child, from))
			continue;
		if (is_type(r, child, TYPE_ALIASED_IMPORT)) {
			node_text(r, node_field(r, child, FIELD_NAME), name);
			node_text(r, node_field(r, child, FIELD_ALIAS), alias);
		} else if (is_type(r, child, TYPE_DOTTED_NAME)) {
			node_text(r, child, name);
			memcpy(alias, name, sizeof(alias));
		} else {
			star_add(r, child, module);
			continue;
		}
		snprintf(target, sizeof(target), "%s.%s", module, name);
		alias_add(r, alias, target);
	}
}

static void visit_call(struct reader *r, TSNode node)
{
	char name[NAME_ROOM];
	int import = import_call(r, node, name);

	if (import > 0) {
		tell_import(r, import == 1 ? HOW_DYNAMIC : HOW_COMPUTED, node, name);
		return;
	}
	name_of(r, node_field(r, node, FIELD_FUNCTION), name);
	name_strip(r, name);
	tell_call(r, node, name, node_field(r, node, FIELD_ARGUMENTS));
	for (size_t i = 0; i < r->star_count && *name && !strchr(name, '.'); i++) {
		char whole[sizeof(r->stars[0]) + NAME_ROOM + 1];

		snprintf(whole, sizeof(whole), "%s.%s", r->stars[i], name);
		tell_call(r, node, whole, node_field(r, node, FIELD_ARGUMENTS));
	}
}

/* Attributes that matter even if they are only read: x.__mro__. */
static void tell_hidden(struct reader *r, TSNode node, const char *name)
{
	const char *last = strrchr(name, '.');

	if (last && strncmp(last, ".__", 3) == 0)
		tell_call(r, node, name, (TSNode){ 0 });
}

/* x = os.system; m = __import__("os") */
static void visit_assignment(struct reader *r, TSNode node)
{
	TSNode left = node_field(r, node, FIELD_LEFT), right = node_field(r, node, FIELD_RIGHT);
	char name[NAME_ROOM], target[NAME_ROOM];

	if (!is_type(r, left, TYPE_IDENTIFIER) || ts_node_is_null(right))
		return;
	node_text(r, left, name);
	if (is_type(r, right, TYPE_CALL) ? import_call(r, right, target) != 1
					 : (name_of(r, right, target), target[0] == '\0'))
		return;
	alias_add(r, name, target);
	tell_hidden(r, node, target);
}

/* sys.modules["os"], f.__globals__["os"] */
static void visit_subscript(struct reader *r, TSNode node)
{
	char name[NAME_ROOM];

	name_of(r, node_field(r, node, FIELD_VALUE), name);
	tell_hidden(r, node, name);
	if (strcmp(name, "sys.modules") == 0 && constant_of(r, node_field(r, node, FIELD_SUBSCRIPT), name))
		tell_import(r, HOW_DYNAMIC, node, name);
}

const struct visitor python_visitors[] = {
	{ "import_statement", visit_import }, { "import_from_statement", visit_from }, { "call", visit_call },
	{ "assignment", visit_assignment },   { "subscript", visit_subscript },        { NULL, NULL },
};
