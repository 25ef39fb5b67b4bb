/* Go: imports by path, and calls of imported packages. */
#include "reader/reader.h"

#include <string.h>

static void visit_import(struct reader *r, TSNode node)
{
	char module[NAME_ROOM], name[NAME_ROOM];
	const char *slash;

	if (!constant_of(r, node_field(r, node, FIELD_PATH), module))
		return;
	tell_import(r, HOW_PLAIN, node, module);
	node_text(r, node_field(r, node, FIELD_NAME), name);
	slash = strrchr(module, '/');
	/* Without an explicit name, the last part of the path is the name. */
	if (*name != '.' && *name != '_')
		alias_add(r, *name ? name : slash ? slash + 1 : module, module);
}

static void visit_call(struct reader *r, TSNode node)
{
	char name[NAME_ROOM], own[NAME_ROOM];
	TSNode function = node_field(r, node, FIELD_FUNCTION), package;

	name_of(r, function, name);
	/* Only imported names are packages: a variable of the same name is not. */
	package = node_field(r, function, FIELD_OPERAND);
	if (is_type(r, package, TYPE_IDENTIFIER)) {
		node_text(r, package, own);
		for (size_t i = 0; i < r->alias_count; i++)
			if (strcmp(r->aliases[i].name, own) == 0)
				tell_call(r, node, name, node_field(r, node, FIELD_ARGUMENTS));
		/* alias_add() omits names that are equal to their target: fmt, os. */
		if (strncmp(name, own, strlen(own)) == 0)
			tell_call(r, node, name, node_field(r, node, FIELD_ARGUMENTS));
	}
}

const struct visitor go_visitors[] = {
	{ "import_spec", visit_import },
	{ "call_expression", visit_call },
	{ NULL, NULL },
};
