/* JavaScript and TypeScript: imports of three kinds, calls, and names that are given by declarations. */
#include "policy/reader/reader.h"

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
	char name[NAME_ROOM], alias[NAME_ROOM], target[2 * NAME_ROOM];

	for (uint32_t i = 0; i < ts_node_named_child_count(list); i++) {
		TSNode child = ts_node_named_child(list, i);

		if (is_type(child, "import_specifier")) {
			node_text(r, field(child, "name"), name);
			node_text(r, field(child, "alias"), alias);
		} else if (is_type(child, "pair_pattern")) {
			node_text(r, field(child, "key"), name);
			node_text(r, field(child, "value"), alias);
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
	char name[NAME_ROOM];

	for (uint32_t i = 0; i < ts_node_named_child_count(clause); i++) {
		TSNode child = ts_node_named_child(clause, i);

		if (is_type(child, "named_imports")) {
			names_add(r, child, module);
			continue;
		}
		if (is_type(child, "namespace_import"))
			child = ts_node_named_child(child, 0);
		node_text(r, child, name);
		alias_add(r, name, module);
	}
}

/* import … from "x", export … from "x", import x = require("x") */
static void visit_import(struct reader *r, TSNode node)
{
	TSNode source = field(node, "source");
	char module[NAME_ROOM];

	for (uint32_t i = 0; ts_node_is_null(source) && i < ts_node_named_child_count(node); i++)
		source = field(ts_node_named_child(node, i), "source");
	if (ts_node_is_null(source) || !constant(r, source, module))
		return;
	strip_node(module);
	tell_import(r, HOW_PLAIN, node, module);
	for (uint32_t i = 0; i < ts_node_named_child_count(node); i++)
		if (is_type(ts_node_named_child(node, i), "import_clause") ||
		    is_type(ts_node_named_child(node, i), "import_require_clause"))
			clause_add(r, ts_node_named_child(node, i), module);
}

static void visit_call(struct reader *r, TSNode node)
{
	TSNode function = field(node, "function");
	char name[NAME_ROOM];
	int import = import_call(r, node, name);

	if (import > 0) {
		tell_import(r,
			    import == 2                   ? HOW_COMPUTED
			    : is_type(function, "import") ? HOW_DYNAMIC
							  : HOW_PLAIN,
			    node, name);
		if (is_type(function, "import") || node_is(r, function, "require"))
			return;
	}
	name_of(r, function, name);
	/* globalThis.eval is eval. */
	if (strncmp(name, "globalThis.", 11) == 0 || strncmp(name, "window.", 7) == 0)
		memmove(name, strchr(name, '.') + 1, strlen(strchr(name, '.')));
	tell_call(r, node, name, field(node, "arguments"));
}

static void visit_new(struct reader *r, TSNode node)
{
	char name[NAME_ROOM], whole[NAME_ROOM + 8];

	name_of(r, field(node, "constructor"), name);
	snprintf(whole, sizeof(whole), "new %s", name);
	whole[NAME_ROOM - 1] = '\0';
	tell_call(r, node, whole, field(node, "arguments"));
}

/* const fs = require("fs"), {exec} = require("child_process"), run = cp.exec */
static void visit_declarator(struct reader *r, TSNode node)
{
	TSNode name = field(node, "name"), value = field(node, "value");
	char text[NAME_ROOM], target[NAME_ROOM];

	if (is_type(value, "await_expression"))
		value = ts_node_named_child(value, 0);
	if (ts_node_is_null(value))
		return;
	if (is_type(value, "call_expression") ? import_call(r, value, target) != 1
					      : (name_of(r, value, target), target[0] == '\0'))
		return;
	if (is_type(name, "object_pattern")) {
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
