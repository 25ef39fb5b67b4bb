/* Names: of nodes, of what they were imported or assigned from, and texts that do not depend on the run. */
#include "policy/reader/reader.h"

#include <stdio.h>
#include <string.h>

enum {
	DEPTH_MAX = 16 /* of an expression that is looked at */
};

TSNode field(TSNode node, const char *name)
{
	return ts_node_child_by_field_name(node, name, (uint32_t)strlen(name));
}

bool is_type(TSNode node, const char *type)
{
	return !ts_node_is_null(node) && strcmp(ts_node_type(node), type) == 0;
}

/* At the end of what is there, as far as there is room. */
static void append(char out[NAME_ROOM], const char *text, size_t size)
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
		append(out, r->source + from, strnlen(r->source + from, to - from));
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

static bool any_type(TSNode node, const char *const *types)
{
	for (; *types; types++)
		if (is_type(node, *types))
			return true;
	return false;
}

/* The parts of a text literal; false: something in it is computed. */
static bool literal_add(const struct reader *r, TSNode node, char out[NAME_ROOM])
{
	static const char *const parts[] = { "string_content",
					     "string_fragment",
					     "interpreted_string_literal_content",
					     "raw_string_literal_content",
					     "escape_sequence",
					     NULL };
	static const char *const ends[] = { "string_start", "string_end", NULL };

	for (uint32_t i = 0; i < ts_node_named_child_count(node); i++) {
		TSNode child = ts_node_named_child(node, i);

		if (any_type(child, parts))
			append_node(r, child, out);
		else if (!any_type(child, ends))
			return false;
	}
	return true;
}

static bool constant_add(const struct reader *r, TSNode node, char out[NAME_ROOM], int depth)
{
	static const char *const literals[] = { "string",         "template_string",    "interpreted_string_literal",
						"string_literal", "raw_string_literal", NULL };
	static const char *const sums[] = { "binary_operator", "binary_expression", "binary", NULL };
	static const char *const lists[] = { "concatenated_string", "chained_string", NULL };

	if (ts_node_is_null(node) || depth > DEPTH_MAX)
		return false;
	if (any_type(node, literals))
		return literal_add(r, node, out);
	if (is_type(node, "simple_symbol")) {
		char text[NAME_ROOM];

		node_text(r, node, text);
		append(out, text + 1, strlen(text) > 0 ? strlen(text) - 1 : 0);
		return true;
	}
	if (is_type(node, "parenthesized_expression"))
		return constant_add(r, ts_node_named_child(node, 0), out, depth + 1);
	if (any_type(node, sums))
		return node_is(r, field(node, "operator"), "+") &&
		       constant_add(r, field(node, "left"), out, depth + 1) &&
		       constant_add(r, field(node, "right"), out, depth + 1);
	if (!any_type(node, lists))
		return false;
	for (uint32_t i = 0; i < ts_node_named_child_count(node); i++)
		if (!constant_add(r, ts_node_named_child(node, i), out, depth + 1))
			return false;
	return true;
}

bool constant(const struct reader *r, TSNode node, char out[NAME_ROOM])
{
	out[0] = '\0';
	return constant_add(r, node, out, 0);
}

/* The list that a name is in. Whoever fills one on purpose makes it as slow as if there were only one. */
static size_t slot_of(const char *name, size_t size)
{
	uint32_t hash = 2166136261U;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (unsigned char)name[i]) * 16777619U;
	return (hash ^ hash >> 16) & (ALIAS_SLOTS - 1);
}

void aliases_forget(struct reader *r)
{
	r->alias_count = 0;
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

/* The newest of that name: what came later holds. */
static const char *alias_find(const struct reader *r, const char *name, size_t size)
{
	for (uint32_t i = r->newest[slot_of(name, size)]; i > 0; i = r->aliases[i - 1].older)
		if (strncmp(r->aliases[i - 1].name, name, size) == 0 && r->aliases[i - 1].name[size] == '\0')
			return r->aliases[i - 1].target;
	return NULL;
}

void resolve(const struct reader *r, char name[NAME_ROOM])
{
	char whole[NAME_ROOM];

	/* An alias of an alias of an alias; a circle ends. */
	for (int i = 0; i < 4; i++) {
		size_t first = strcspn(name, ".");
		const char *target = alias_find(r, name, first);

		if (!target)
			return;
		whole[0] = '\0';
		append(whole, target, strlen(target));
		append(whole, name + first, strlen(name + first));
		memcpy(name, whole, sizeof(whole));
	}
}

/* Object and member of the expressions that have both, by their fields. */
static const struct {
	const char *type, *object, *member;
} members[] = {
	{ "attribute", "object", "attribute" },
	{ "member_expression", "object", "property" },
	{ "selector_expression", "operand", "field" },
	{ "scope_resolution", "scope", "name" },
	{ "call", "receiver", "method" },
	{ "field_expression", "argument", "field" },
};

static bool name_add(const struct reader *r, TSNode node, char out[NAME_ROOM], int depth)
{
	static const char *const plain[] = { "identifier",          "constant",    "field_identifier",
					     "package_identifier",  "word",        "type_identifier",
					     "property_identifier", "dotted_name", NULL };
	char text[NAME_ROOM];

	if (ts_node_is_null(node) || depth > DEPTH_MAX)
		return false;
	if (any_type(node, plain)) {
		append_node(r, node, out);
		return true;
	}
	if (is_type(node, "parenthesized_expression"))
		return name_add(r, ts_node_named_child(node, 0), out, depth + 1);
	if (is_type(node, "non_null_expression") || is_type(node, "as_expression"))
		return name_add(r, ts_node_named_child(node, 0), out, depth + 1);
	/* (0, eval)("…"): the last of a sequence is its value. */
	if (is_type(node, "sequence_expression") && ts_node_named_child_count(node) > 0)
		return name_add(r, ts_node_named_child(node, ts_node_named_child_count(node) - 1), out, depth + 1);
	if (is_type(node, "subscript_expression") || is_type(node, "subscript")) {
		TSNode index = field(node, "index"), object = field(node, "object");

		if (ts_node_is_null(index)) {
			index = field(node, "subscript");
			object = field(node, "value");
		}
		if (!name_add(r, object, out, depth + 1) || !constant(r, index, text))
			return false;
		append(out, ".", 1);
		append(out, text, strlen(text));
		return true;
	}
	if ((is_type(node, "call") || is_type(node, "call_expression")) && import_call(r, node, text) == 1) {
		append(out, text, strlen(text));
		return true;
	}
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		TSNode member;

		if (!is_type(node, members[i].type))
			continue;
		member = field(node, members[i].member);
		if (ts_node_is_null(member))
			return false;
		/* What has no name itself has members: ().__class__. */
		(void)name_add(r, field(node, members[i].object), out, depth + 1);
		append(out, ".", 1);
		append_node(r, member, out);
		return true;
	}
	return false;
}

void name_of(const struct reader *r, TSNode node, char out[NAME_ROOM])
{
	out[0] = '\0';
	if (!name_add(r, node, out, 0))
		out[0] = '\0';
	/* Ruby: a method without a receiver. */
	if (out[0] == '.' && is_type(node, "call") && ts_node_is_null(field(node, "receiver")))
		memmove(out, out + 1, strlen(out));
	resolve(r, out);
}

static bool is_import_function(const struct reader *r, const char *name)
{
	static const char *const python[] = { "__import__",
					      "builtins.__import__",
					      "importlib.import_module",
					      "importlib.__import__",
					      "__builtins__.__import__",
					      "runpy.run_module",
					      "imp.load_module",
					      NULL };
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
	TSNode function = field(call, "function"), argument;
	char name[NAME_ROOM] = "";

	if (ts_node_is_null(function))
		return 0;
	if (is_type(function, "import"))
		snprintf(name, sizeof(name), "import");
	else if (!is_type(function, "call") && !is_type(function, "call_expression"))
		name_of(r, function, name);
	if (!is_import_function(r, name))
		return 0;
	argument = ts_node_named_child(field(call, "arguments"), 0);
	if (ts_node_is_null(argument))
		return 0;
	if (constant(r, argument, out)) {
		if (strncmp(out, "node:", 5) == 0)
			memmove(out, out + 5, strlen(out + 5) + 1);
		return 1;
	}
	node_text(r, argument, out);
	return 2;
}

bool matches(const char *pattern, size_t size, const char *text)
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
