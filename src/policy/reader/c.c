/* C: what is included, called, and written as instructions. */
#include "policy/reader/reader.h"

#include <string.h>

static void visit_include(struct reader *r, TSNode node)
{
	TSNode path = field(node, "path");
	char module[NAME_ROOM];
	size_t size;

	/* "own.h" is the program's. */
	if (!is_type(path, "system_lib_string"))
		return;
	node_text(r, path, module);
	size = strlen(module);
	if (size < 3)
		return;
	memmove(module, module + 1, size - 2);
	module[size - 2] = '\0';
	tell_import(r, HOW_PLAIN, node, module);
}

static void visit_call(struct reader *r, TSNode node)
{
	char name[NAME_ROOM];

	name_of(r, field(node, "function"), name);
	tell_call(r, node, name, field(node, "arguments"));
}

static void visit_asm(struct reader *r, TSNode node)
{
	tell_rule(r, node, "asm", "asm");
}

/* int (*run)(const char *) = system; */
static void visit_declarator(struct reader *r, TSNode node)
{
	TSNode name = field(node, "declarator");
	char own[NAME_ROOM], target[NAME_ROOM];

	for (int i = 0; i < 6 && !ts_node_is_null(name) && !is_type(name, "identifier"); i++) {
		TSNode inner = field(name, "declarator");

		name = ts_node_is_null(inner) ? ts_node_named_child(name, 0) : inner;
	}
	if (!is_type(name, "identifier") || !is_type(field(node, "value"), "identifier"))
		return;
	node_text(r, name, own);
	name_of(r, field(node, "value"), target);
	alias_add(r, own, target);
}

const struct visitor c_visitors[] = {
	{ "preproc_include", visit_include },
	{ "call_expression", visit_call },
	{ "gnu_asm_expression", visit_asm },
	{ "init_declarator", visit_declarator },
	{ NULL, NULL },
};
