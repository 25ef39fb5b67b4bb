/* Python: imports of every kind, calls, and names that are given by assignment. */
#include "policy/reader/reader.h"

#include <stdio.h>
#include <string.h>

/* import a.b as c, d */
static void visit_import(struct reader *r, TSNode node)
{
	char module[NAME_ROOM], name[NAME_ROOM];

	for (uint32_t i = 0; i < ts_node_named_child_count(node); i++) {
		TSNode child = ts_node_named_child(node, i);

		if (is_type(child, "aliased_import")) {
			node_text(r, field(child, "name"), module);
			node_text(r, field(child, "alias"), name);
			alias_add(r, name, module);
		} else if (is_type(child, "dotted_name")) {
			node_text(r, child, module);
		} else {
			continue;
		}
		tell_import(r, HOW_PLAIN, child, module);
	}
}

/* from a.b import c as d, e */
static void visit_from(struct reader *r, TSNode node)
{
	TSNode from = field(node, "module_name");
	char module[NAME_ROOM], name[NAME_ROOM], alias[NAME_ROOM], target[2 * NAME_ROOM];

	node_text(r, from, module);
	/* What begins with a dot is the program's own. */
	if (!is_type(from, "dotted_name"))
		return;
	tell_import(r, HOW_FROM, from, module);
	for (uint32_t i = 0; i < ts_node_named_child_count(node); i++) {
		TSNode child = ts_node_named_child(node, i);

		if (ts_node_eq(child, from))
			continue;
		if (is_type(child, "aliased_import")) {
			node_text(r, field(child, "name"), name);
			node_text(r, field(child, "alias"), alias);
		} else if (is_type(child, "dotted_name")) {
			node_text(r, child, name);
			memcpy(alias, name, sizeof(alias));
		} else {
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
	name_of(r, field(node, "function"), name);
	tell_call(r, node, name, field(node, "arguments"));
}

/* x = os.system; m = __import__("os") */
static void visit_assignment(struct reader *r, TSNode node)
{
	TSNode left = field(node, "left"), right = field(node, "right");
	char name[NAME_ROOM], target[NAME_ROOM];

	if (!is_type(left, "identifier") || ts_node_is_null(right))
		return;
	node_text(r, left, name);
	if (is_type(right, "call") ? import_call(r, right, target) != 1
				   : (name_of(r, right, target), target[0] == '\0'))
		return;
	alias_add(r, name, target);
}

/* sys.modules["os"] */
static void visit_subscript(struct reader *r, TSNode node)
{
	char name[NAME_ROOM];

	name_of(r, field(node, "value"), name);
	if (strcmp(name, "sys.modules") == 0 && constant(r, field(node, "subscript"), name))
		tell_import(r, HOW_DYNAMIC, node, name);
}

const struct visitor python_visitors[] = {
	{ "import_statement", visit_import }, { "import_from_statement", visit_from }, { "call", visit_call },
	{ "assignment", visit_assignment },   { "subscript", visit_subscript },        { NULL, NULL },
};
