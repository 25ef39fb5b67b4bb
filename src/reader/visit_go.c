/* Go: imports by their paths, and calls of what they bring. */
#include "reader/reader.h"

#include <string.h>

static void visit_import(struct reader *r, TSNode node)
{
	char module[NAME_ROOM], name[NAME_ROOM];
	const char *slash;

	if (!constant(r, field(r, node, FIELD_PATH), module))
		return;
	tell_import(r, HOW_PLAIN, node, module);
	node_text(r, field(r, node, FIELD_NAME), name);
	slash = strrchr(module, '/');
	/* Without a name of its own it is called like the end of its path. */
	if (*name != '.' && *name != '_')
		alias_add(r, *name ? name : slash ? slash + 1 : module, module);
}

static void visit_call(struct reader *r, TSNode node)
{
	char name[NAME_ROOM], own[NAME_ROOM];
	TSNode function = field(r, node, FIELD_FUNCTION), package;

	name_of(r, function, name);
	/* A package is only what was imported: a variable of that name is something else. */
	package = field(r, function, FIELD_OPERAND);
	if (is_type(r, package, TYPE_IDENTIFIER)) {
		node_text(r, package, own);
		for (size_t i = 0; i < r->alias_count; i++)
			if (strcmp(r->aliases[i].name, own) == 0)
				tell_call(r, node, name, field(r, node, FIELD_ARGUMENTS));
		/* alias_add() leaves out names that are what they stand for: fmt, os. */
		if (strncmp(name, own, strlen(own)) == 0)
			tell_call(r, node, name, field(r, node, FIELD_ARGUMENTS));
	}
}

const struct visitor go_visitors[] = {
	{ "import_spec", visit_import },
	{ "call_expression", visit_call },
	{ NULL, NULL },
};
