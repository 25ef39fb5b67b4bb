/* C: includes, calls, and inline assembly. */
#include "reader/reader.h"

#include <string.h>

static void visit_include(struct reader *r, TSNode node)
{
	TSNode path = node_field(r, node, FIELD_PATH);
	char module[NAME_ROOM];
	size_t size;

	/* "own.h" is a file of the program. */
	if (!is_type(r, path, TYPE_SYSTEM_LIB_STRING))
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

	name_of(r, node_field(r, node, FIELD_FUNCTION), name);
	tell_call(r, node, name, node_field(r, node, FIELD_ARGUMENTS));
}

static void visit_asm(struct reader *r, TSNode node)
{
	tell_rule(r, node, "asm", "asm");
}

/* int (*run)(const char *) = system; */
static void visit_declarator(struct reader *r, TSNode node)
{
	TSNode name = node_field(r, node, FIELD_DECLARATOR);
	char own[NAME_ROOM], target[NAME_ROOM];

	for (int i = 0; i < 6 && !ts_node_is_null(name) && !is_type(r, name, TYPE_IDENTIFIER); i++) {
		TSNode inner = node_field(r, name, FIELD_DECLARATOR);

		name = ts_node_is_null(inner) ? ts_node_named_child(name, 0) : inner;
	}
	if (!is_type(r, name, TYPE_IDENTIFIER) || !is_type(r, node_field(r, node, FIELD_VALUE), TYPE_IDENTIFIER))
		return;
	node_text(r, name, own);
	name_of(r, node_field(r, node, FIELD_VALUE), target);
	alias_add(r, own, target);
}

/* #define RUN system */
static void visit_define(struct reader *r, TSNode node)
{
	char name[NAME_ROOM], value[NAME_ROOM], *target = value;

	node_text(r, node_field(r, node, FIELD_NAME), name);
	node_text(r, node_field(r, node, FIELD_VALUE), value);
	target += strspn(target, " \t");
	target[strcspn(target, " \t\r\n")] = '\0';
	if (*target)
		alias_add(r, name, target);
}

const struct visitor c_visitors[] = {
	{ "preproc_include", visit_include },    { "call_expression", visit_call }, { "gnu_asm_expression", visit_asm },
	{ "init_declarator", visit_declarator }, { "preproc_def", visit_define },   { NULL, NULL },
};
