/* Names of nodes, with imports and assignments resolved, and constant strings. */
#include "reader/reader.h"

#include <stdio.h>
#include <string.h>

enum {
	DEPTH_MAX = 16 /* maximum depth of an expression */
};

TSNode node_field(const struct reader *r, TSNode node, enum field which)
{
	return ts_node_is_null(node) ? node : ts_node_child_by_field_id(node, r->numbers->fields[which]);
}

enum type type_of(const struct reader *r, TSNode node)
{
	TSSymbol symbol = ts_node_is_null(node) ? 0 : ts_node_symbol(node);

	return symbol < r->numbers->symbols ? (enum type)r->numbers->types[symbol] : TYPE_OTHER;
}

bool is_type(const struct reader *r, TSNode node, enum type type)
{
	return type_of(r, node) == type;
}

/* Appends text, truncated to the room. */
static void name_append(char out[NAME_ROOM], const char *text, size_t size)
{
	size_t used = strlen(out), room = NAME_ROOM - 1 - used;

	size = size < room ? size : room;
	memcpy(out + used, text, size);
	out[used + size] = '\0';
}

static void append_node(const struct reader *r, TSNode node, char out[NAME_ROOM])
{
	uint32_t from = ts_node_start_byte(node), to = ts_node_end_byte(node);

	if (from <= to && to <= r->size)
		name_append(out, r->source + from, strnlen(r->source + from, to - from));
}

void node_text(const struct reader *r, TSNode node, char out[NAME_ROOM])
{
	out[0] = '\0';
	if (!ts_node_is_null(node))
		append_node(r, node, out);
}

bool node_is(const struct reader *r, TSNode node, const char *text)
{
	uint32_t from = ts_node_start_byte(node), to = ts_node_end_byte(node);

	return !ts_node_is_null(node) && to - from == strlen(text) && to <= r->size &&
	       memcmp(r->source + from, text, to - from) == 0;
}

/* Appends the parts of a string literal. False if a part is computed. */
static bool literal_add(const struct reader *r, TSNode node, char out[NAME_ROOM])
{
	_cleanup_children_ struct children parts;
	TSNode child;

	children_begin(&parts, node);
	/* Parts that do not fit are ignored. */
	while (strlen(out) < NAME_ROOM - 1 && children_next(&parts, &child)) {
		switch (type_of(r, child)) {
		case TYPE_STRING_CONTENT:
		case TYPE_STRING_FRAGMENT:
		case TYPE_INTERPRETED_STRING_LITERAL_CONTENT:
		case TYPE_RAW_STRING_LITERAL_CONTENT:
		case TYPE_ESCAPE_SEQUENCE:
			append_node(r, child, out);
			break;
		case TYPE_STRING_START:
		case TYPE_STRING_END:
			break;
		default:
			return false;
		}
	}
	return true;
}

static bool constant_add(const struct reader *r, TSNode node, char out[NAME_ROOM], int depth);

static bool list_add(const struct reader *r, TSNode node, char out[NAME_ROOM], int depth)
{
	_cleanup_children_ struct children parts;
	TSNode child;

	children_begin(&parts, node);
	while (strlen(out) < NAME_ROOM - 1 && children_next(&parts, &child))
		if (!constant_add(r, child, out, depth + 1))
			return false;
	return true;
}

static bool constant_add(const struct reader *r, TSNode node, char out[NAME_ROOM], int depth)
{
	char text[NAME_ROOM];

	if (depth > DEPTH_MAX)
		return false;
	switch (type_of(r, node)) {
	case TYPE_STRING:
	case TYPE_TEMPLATE_STRING:
	case TYPE_INTERPRETED_STRING_LITERAL:
	case TYPE_STRING_LITERAL:
	case TYPE_RAW_STRING_LITERAL:
		return literal_add(r, node, out);
	case TYPE_SIMPLE_SYMBOL:
		node_text(r, node, text);
		name_append(out, text + 1, strlen(text) > 0 ? strlen(text) - 1 : 0);
		return true;
	case TYPE_PARENTHESIZED_EXPRESSION:
		return constant_add(r, ts_node_named_child(node, 0), out, depth + 1);
	case TYPE_BINARY_OPERATOR:
	case TYPE_BINARY_EXPRESSION:
	case TYPE_BINARY:
		return node_is(r, node_field(r, node, FIELD_OPERATOR), "+") &&
		       constant_add(r, node_field(r, node, FIELD_LEFT), out, depth + 1) &&
		       constant_add(r, node_field(r, node, FIELD_RIGHT), out, depth + 1);
	case TYPE_CONCATENATED_STRING:
	case TYPE_CHAINED_STRING:
		return list_add(r, node, out, depth);
	default:
		return false;
	}
}

bool constant_of(const struct reader *r, TSNode node, char out[NAME_ROOM])
{
	out[0] = '\0';
	return constant_add(r, node, out, 0);
}

/* The list for a name. A program with many collisions only makes the lookup linear. */
static size_t slot_of(const char *name, size_t size)
{
	uint32_t hash = 2166136261U;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (unsigned char)name[i]) * 16777619U;
	return (hash ^ hash >> 16) & (ALIAS_SLOTS - 1);
}

void aliases_forget(struct reader *r)
{
	r->alias_count = r->star_count = 0;
	memset(r->newest, 0, sizeof(r->newest));
}

void alias_add(struct reader *r, const char *name, const char *target)
{
	struct alias *alias;
	size_t slot;

	if (r->alias_count == ALIASES_MAX || !*name || strcmp(name, target) == 0 ||
	    strlen(name) >= sizeof(alias->name) || strlen(target) >= sizeof(alias->target))
		return;
	slot = slot_of(name, strlen(name));
	alias = &r->aliases[r->alias_count++];
	alias->older = r->newest[slot];
	r->newest[slot] = (uint32_t)r->alias_count;
	snprintf(alias->name, sizeof(alias->name), "%s", name);
	snprintf(alias->target, sizeof(alias->target), "%s", target);
}

/* The newest entry of that name: later assignments replace earlier ones. */
static const char *alias_find(const struct reader *r, const char *name, size_t size)
{
	for (uint32_t i = r->newest[slot_of(name, size)]; i > 0; i = r->aliases[i - 1].older)
		if (strncmp(r->aliases[i - 1].name, name, size) == 0 && r->aliases[i - 1].name[size] == '\0')
			return r->aliases[i - 1].target;
	return NULL;
}

void alias_resolve(const struct reader *r, char name[NAME_ROOM])
{
	char whole[NAME_ROOM];

	/* Follows aliases of aliases; the bound ends a cycle. */
	for (int i = 0; i < 4; i++) {
		size_t first = strcspn(name, ".");
		const char *target = alias_find(r, name, first);

		if (!target)
			return;
		whole[0] = '\0';
		name_append(whole, target, strlen(target));
		name_append(whole, name + first, strlen(name + first));
		memcpy(name, whole, sizeof(whole));
	}
}

static bool name_add(const struct reader *r, TSNode node, char out[NAME_ROOM], int depth);

/* object.member; an object without a name has members too: ().__class__. */
static bool member_add(const struct reader *r, TSNode node, enum field object, enum field member, char out[NAME_ROOM],
		       int depth)
{
	TSNode last = node_field(r, node, member);

	if (ts_node_is_null(last))
		return false;
	(void)name_add(r, node_field(r, node, object), out, depth + 1);
	/* x.__dict__["y"] is x.y. */
	if (node_is(r, last, "__dict__"))
		return *out != '\0';
	name_append(out, ".", 1);
	append_node(r, last, out);
	return true;
}

/* Python's globals(), which has every name, and vars(x), which has the members of x. */
static bool scope_add(const struct reader *r, TSNode node, char out[NAME_ROOM], int depth)
{
	TSNode function = node_field(r, node, FIELD_FUNCTION), first;

	if (r->language->visitors != python_visitors || !is_type(r, node, TYPE_CALL))
		return false;
	if (node_is(r, function, "globals") || node_is(r, function, "locals"))
		return true;
	first = ts_node_named_child(node_field(r, node, FIELD_ARGUMENTS), 0);
	return node_is(r, function, "vars") && (ts_node_is_null(first) || name_add(r, first, out, depth + 1));
}

/* object["member"]. */
static bool element_add(const struct reader *r, TSNode node, char out[NAME_ROOM], int depth)
{
	TSNode index = node_field(r, node, FIELD_INDEX), object = node_field(r, node, FIELD_OBJECT);
	char text[NAME_ROOM];

	if (ts_node_is_null(index)) {
		index = node_field(r, node, FIELD_SUBSCRIPT);
		object = node_field(r, node, FIELD_VALUE);
	}
	if ((!name_add(r, object, out, depth + 1) && !scope_add(r, object, out, depth)) || !constant_of(r, index, text))
		return false;
	if (*out)
		name_append(out, ".", 1);
	name_append(out, text, strlen(text));
	return true;
}

static bool name_add(const struct reader *r, TSNode node, char out[NAME_ROOM], int depth)
{
	enum type type = type_of(r, node);
	char text[NAME_ROOM];
	uint32_t count;

	if (depth > DEPTH_MAX)
		return false;
	switch (type) {
	case TYPE_IDENTIFIER:
	case TYPE_CONSTANT:
	case TYPE_FIELD_IDENTIFIER:
	case TYPE_PACKAGE_IDENTIFIER:
	case TYPE_WORD:
	case TYPE_TYPE_IDENTIFIER:
	case TYPE_PROPERTY_IDENTIFIER:
	case TYPE_DOTTED_NAME:
		append_node(r, node, out);
		return true;
	case TYPE_PARENTHESIZED_EXPRESSION:
	case TYPE_NON_NULL_EXPRESSION:
	case TYPE_AS_EXPRESSION:
		return name_add(r, ts_node_named_child(node, 0), out, depth + 1);
	case TYPE_SEQUENCE_EXPRESSION:
		/* (0, eval)("…"): a sequence has the value of its last expression. */
		count = ts_node_named_child_count(node);
		return count > 0 && name_add(r, ts_node_named_child(node, count - 1), out, depth + 1);
	case TYPE_SUBSCRIPT_EXPRESSION:
	case TYPE_SUBSCRIPT:
		return element_add(r, node, out, depth);
	case TYPE_CALL:
	case TYPE_CALL_EXPRESSION:
		if (import_call(r, node, text) == 1) {
			name_append(out, text, strlen(text));
			return true;
		}
		return type == TYPE_CALL && member_add(r, node, FIELD_RECEIVER, FIELD_METHOD, out, depth);
	case TYPE_ATTRIBUTE:
		return member_add(r, node, FIELD_OBJECT, FIELD_ATTRIBUTE, out, depth);
	case TYPE_MEMBER_EXPRESSION:
		return member_add(r, node, FIELD_OBJECT, FIELD_PROPERTY, out, depth);
	case TYPE_SELECTOR_EXPRESSION:
		return member_add(r, node, FIELD_OPERAND, FIELD_FIELD, out, depth);
	case TYPE_SCOPE_RESOLUTION:
		return member_add(r, node, FIELD_SCOPE, FIELD_NAME, out, depth);
	case TYPE_FIELD_EXPRESSION:
		return member_add(r, node, FIELD_ARGUMENT, FIELD_FIELD, out, depth);
	default:
		return false;
	}
}

void name_of(const struct reader *r, TSNode node, char out[NAME_ROOM])
{
	out[0] = '\0';
	if (!name_add(r, node, out, 0))
		out[0] = '\0';
	/* Ruby: a method call without a receiver. */
	if (out[0] == '.' && is_type(r, node, TYPE_CALL) && ts_node_is_null(node_field(r, node, FIELD_RECEIVER)))
		memmove(out, out + 1, strlen(out));
	alias_resolve(r, out);
}

void name_strip(const struct reader *r, char name[NAME_ROOM])
{
	static const char *const python[] = { "builtins.", "__builtins__.", NULL };
	static const char *const script[] = { "globalThis.", "window.", "global.", NULL };
	const char *const *known = r->language->visitors == script_visitors   ? script
				   : r->language->visitors == python_visitors ? python
									      : NULL;

	for (; known && *known; known++)
		if (strncmp(name, *known, strlen(*known)) == 0)
			memmove(name, name + strlen(*known), strlen(name + strlen(*known)) + 1);
}

static bool is_import_function(const struct reader *r, const char *name)
{
	static const char *const python[] = { "__import__",       "importlib.import_module", "importlib.__import__",
					      "runpy.run_module", "imp.load_module",         NULL };
	static const char *const script[] = { "require", "module.require", "process.mainModule.require", "import",
					      NULL };
	const char *const *known = strcmp(r->language->grammar, "python") == 0 ? python
				   : r->language->visitors == script_visitors  ? script
									       : NULL;

	for (; known && *known; known++)
		if (strcmp(*known, name) == 0)
			return true;
	return false;
}

int import_call(const struct reader *r, TSNode call, char out[NAME_ROOM])
{
	TSNode function = node_field(r, call, FIELD_FUNCTION), argument;
	char name[NAME_ROOM] = "";

	if (ts_node_is_null(function))
		return 0;
	if (is_type(r, function, TYPE_IMPORT))
		snprintf(name, sizeof(name), "import");
	else if (!is_type(r, function, TYPE_CALL) && !is_type(r, function, TYPE_CALL_EXPRESSION))
		name_of(r, function, name);
	name_strip(r, name);
	if (!is_import_function(r, name))
		return 0;
	argument = ts_node_named_child(node_field(r, call, FIELD_ARGUMENTS), 0);
	if (ts_node_is_null(argument))
		return 0;
	if (constant_of(r, argument, out)) {
		if (strncmp(out, "node:", 5) == 0)
			memmove(out, out + 5, strlen(out + 5) + 1);
		return 1;
	}
	node_text(r, argument, out);
	return 2;
}

bool pattern_matches(const char *pattern, size_t size, const char *text)
{
	size_t length = strlen(text);
	bool front = size > 0 && pattern[0] == '*', back = size > 1 && pattern[size - 1] == '*';
	const char *part = pattern + front;
	size_t part_size = size - front - back;

	if (front && back)
		return memmem(text, length, part, part_size) != NULL;
	if (front)
		return length >= part_size && memcmp(text + length - part_size, part, part_size) == 0;
	if (back)
		return length >= part_size && memcmp(text, part, part_size) == 0;
	return length == part_size && memcmp(text, part, part_size) == 0;
}
