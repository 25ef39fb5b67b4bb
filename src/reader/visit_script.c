/* JavaScript and TypeScript: imports of three kinds, calls, and names defined by declarations. */
#include "reader/reader.h"

#include <stdio.h>
#include <string.h>

static void strip_node(char module[NAME_ROOM])
{
	if (strncmp(module, "node:", 5) == 0)
		memmove(module, module + 5, strlen(module + 5) + 1);
}

/* {a, b as c} of an import, {a, b: c} of a declaration. */
static void names_add(struct reader *r, TSNode list, const char *module)
{
	_cleanup_children_ struct children names;
	char name[NAME_ROOM], alias[NAME_ROOM], target[2 * NAME_ROOM];
	TSNode child;

	children_begin(&names, list);
	while (children_next(&names, &child)) {
		if (is_type(r, child, TYPE_IMPORT_SPECIFIER)) {
			node_text(r, node_field(r, child, FIELD_NAME), name);
			node_text(r, node_field(r, child, FIELD_ALIAS), alias);
		} else if (is_type(r, child, TYPE_PAIR_PATTERN)) {
			node_text(r, node_field(r, child, FIELD_KEY), name);
			node_text(r, node_field(r, child, FIELD_VALUE), alias);
		} else {
			node_text(r, child, name);
			alias[0] = '\0';
		}
		snprintf(target, sizeof(target), "%s.%s", module, name);
		alias_add(r, alias[0] ? alias : name, target);
	}
}

static void clause_add(struct reader *r, TSNode clause, const char *module)
{
	_cleanup_children_ struct children parts;
	char name[NAME_ROOM];
	TSNode child;

	children_begin(&parts, clause);
	while (children_next(&parts, &child)) {
		if (is_type(r, child, TYPE_NAMED_IMPORTS)) {
			names_add(r, child, module);
			continue;
		}
		if (is_type(r, child, TYPE_NAMESPACE_IMPORT))
			child = ts_node_named_child(child, 0);
		node_text(r, child, name);
		alias_add(r, name, module);
	}
}

/* import … from "x", export … from "x", import x = require("x") */
static void visit_import(struct reader *r, TSNode node)
{
	_cleanup_children_ struct children of_source, parts;
	TSNode source = node_field(r, node, FIELD_SOURCE), child;
	char module[NAME_ROOM];

	children_begin(&of_source, node);
	children_begin(&parts, node);
	while (ts_node_is_null(source) && children_next(&of_source, &child))
		source = node_field(r, child, FIELD_SOURCE);
	if (ts_node_is_null(source) || !constant_of(r, source, module))
		return;
	strip_node(module);
	tell_import(r, HOW_PLAIN, node, module);
	while (children_next(&parts, &child))
		if (is_type(r, child, TYPE_IMPORT_CLAUSE) || is_type(r, child, TYPE_IMPORT_REQUIRE_CLAUSE))
			clause_add(r, child, module);
}

static void visit_call(struct reader *r, TSNode node)
{
	TSNode function = node_field(r, node, FIELD_FUNCTION);
	char name[NAME_ROOM];
	int import = import_call(r, node, name);

	if (import > 0) {
		tell_import(r,
			    import == 2                         ? HOW_COMPUTED
			    : is_type(r, function, TYPE_IMPORT) ? HOW_DYNAMIC
								: HOW_PLAIN,
			    node, name);
		if (is_type(r, function, TYPE_IMPORT) || node_is(r, function, "require"))
			return;
	}
	name_of(r, function, name);
	name_strip(r, name);
	tell_call(r, node, name, node_field(r, node, FIELD_ARGUMENTS));
}

static void visit_new(struct reader *r, TSNode node)
{
	char name[NAME_ROOM], whole[NAME_ROOM + 8];

	name_of(r, node_field(r, node, FIELD_CONSTRUCTOR), name);
	snprintf(whole, sizeof(whole), "new %s", name);
	whole[NAME_ROOM - 1] = '\0';
	tell_call(r, node, whole, node_field(r, node, FIELD_ARGUMENTS));
}

/* const fs = require("fs"), {exec} = require("child_process"), run = cp.exec */
static void visit_declarator(struct reader *r, TSNode node)
{
	TSNode name = node_field(r, node, FIELD_NAME), value = node_field(r, node, FIELD_VALUE);
	char text[NAME_ROOM], target[NAME_ROOM];

	if (is_type(r, value, TYPE_AWAIT_EXPRESSION))
		value = ts_node_named_child(value, 0);
	if (ts_node_is_null(value))
		return;
	if (is_type(r, value, TYPE_CALL_EXPRESSION) ? import_call(r, value, target) != 1
						    : (name_of(r, value, target), target[0] == '\0'))
		return;
	if (is_type(r, name, TYPE_OBJECT_PATTERN)) {
		names_add(r, name, target);
		return;
	}
	node_text(r, name, text);
	alias_add(r, text, target);
}

const struct visitor script_visitors[] = {
	{ "import_statement", visit_import },        { "export_statement", visit_import },
	{ "call_expression", visit_call },           { "new_expression", visit_new },
	{ "variable_declarator", visit_declarator }, { NULL, NULL },
};
