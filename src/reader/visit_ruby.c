/* Ruby: require and similar methods, calls with and without a receiver, backticks. */
#include "reader/reader.h"

#include <string.h>

static bool is_require(const char *name)
{
	return strcmp(name, "require") == 0 || strcmp(name, "load") == 0 || strcmp(name, "Kernel.require") == 0;
}

static void visit_call(struct reader *r, TSNode node)
{
	TSNode arguments = node_field(r, node, FIELD_ARGUMENTS), first;
	char name[NAME_ROOM], text[NAME_ROOM];

	name_of(r, node, name);
	first = ts_node_is_null(arguments) ? arguments : ts_node_named_child(arguments, 0);
	if (is_require(name) && !ts_node_is_null(first)) {
		if (constant_of(r, first, text)) {
			tell_import(r, HOW_PLAIN, node, text);
			return;
		}
		node_text(r, first, text);
		tell_import(r, HOW_COMPUTED, node, text);
		return;
	}
	/* A block is readable code, not a string. */
	if (pattern_matches("*_eval", 6, name) && ts_node_is_null(first))
		return;
	/* send(:system, "ls") is system("ls"); method(:system) will be called. */
	if ((pattern_matches("*send", 5, name) || pattern_matches("*public_send", 12, name) ||
	     strcmp(name, "method") == 0 || pattern_matches("*.method", 8, name)) &&
	    !ts_node_is_null(first) && constant_of(r, first, text))
		memcpy(name, text, sizeof(text));
	tell_call(r, node, name, arguments);
}

static void visit_subshell(struct reader *r, TSNode node)
{
	char text[NAME_ROOM];

	node_text(r, node, text);
	text[strcspn(text, "\n")] = '\0';
	tell_rule(r, node, "`", text);
}

/* F = FileUtils */
static void visit_assignment(struct reader *r, TSNode node)
{
	char name[NAME_ROOM], target[NAME_ROOM];

	if (!is_type(r, node_field(r, node, FIELD_RIGHT), TYPE_CONSTANT) &&
	    !is_type(r, node_field(r, node, FIELD_RIGHT), TYPE_SCOPE_RESOLUTION))
		return;
	node_text(r, node_field(r, node, FIELD_LEFT), name);
	name_of(r, node_field(r, node, FIELD_RIGHT), target);
	if (*target)
		alias_add(r, name, target);
}

const struct visitor ruby_visitors[] = {
	{ "call", visit_call },
	{ "subshell", visit_subshell },
	{ "assignment", visit_assignment },
	{ NULL, NULL },
};
