#include "language/definition_explain.h"

#include "base/own.h"
#include "base/yaml.h"
#include "language/pattern.h"

#include <errno.h>
#include <string.h>

enum {
	KINDS_MAX = 128 /* maximum of kinds in one language */
};

struct kinds_reader {
	struct yaml_doc doc; /* the document */
	struct error *err;   /* the first mistake */
};

/* A key: its reader, and where its value is stored. */
struct key {
	const char *name;
	int (*read)(struct kinds_reader *r, const struct yaml_node *node, void *at);
	size_t offset;
};

static int out_of_memory(struct kinds_reader *r)
{
	return error_set(r->err, ERROR_FAILED, ENOMEM, "cannot hold %s", r->doc.where);
}

static int read_text(struct kinds_reader *r, const struct yaml_node *node, void *at)
{
	return yaml_text(&r->doc, node, "a string", at, r->err);
}

static int read_list(struct kinds_reader *r, const struct yaml_node *node, void *at)
{
	return yaml_list(&r->doc, node, "a list of strings", at, r->err);
}

static int read_pattern(struct kinds_reader *r, const struct yaml_node *node, void *at)
{
	char why[256] = "";

	if (yaml_text(&r->doc, node, "a pattern", at, r->err) < 0)
		return -1;
	if (!pattern_check(node->text, why, sizeof(why)))
		return yaml_fault(&r->doc, node, r->err, "expected a pattern that compiles: %s", why);
	return 0;
}

static int read_patterns(struct kinds_reader *r, const struct yaml_node *node, void *at)
{
	const char *text;

	if (yaml_expect(&r->doc, node, YAML_LIST, "a list of patterns", r->err) < 0)
		return -1;
	yaml_each(item, node) if (read_pattern(r, item, &text) < 0) return -1;
	return yaml_list(&r->doc, node, "a list of patterns", at, r->err);
}

/* Reads one of two words as a flag: true if it is the second. */
static int read_word(struct kinds_reader *r, const struct yaml_node *node, const char *const words[2], bool *at)
{
	const char *text;
	char what[64];

	snprintf(what, sizeof(what), "%s or %s", words[0], words[1]);
	if (yaml_text(&r->doc, node, what, &text, r->err) < 0)
		return -1;
	*at = strcmp(text, words[1]) == 0;
	return *at || strcmp(text, words[0]) == 0 ? 0 : yaml_expected(&r->doc, node, r->err, "%s", what);
}

static int read_newest(struct kinds_reader *r, const struct yaml_node *node, void *at)
{
	return read_word(r, node, (const char *const[]){ "first", "last" }, at);
}

static int read_among(struct kinds_reader *r, const struct yaml_node *node, void *at)
{
	return read_word(r, node, (const char *const[]){ "names", "files" }, at);
}

struct word_list {
	const struct runtime_word *words; /* layout of struct runtime_explain */
	size_t count;
};

static int read_words(struct kinds_reader *r, const struct yaml_node *node, void *at)
{
	struct word_list *list = at;
	struct runtime_word *words;

	if (yaml_expect(&r->doc, node, YAML_MAP, "a mapping of words to words", r->err) < 0)
		return -1;
	words = arena_alloc(r->doc.arena, (node->count + 1) * sizeof(*words));
	if (!words)
		return out_of_memory(r);
	list->words = words;
	list->count = node->count;
	yaml_each(value, node)
	{
		words->key = value->key->text;
		if (yaml_text(&r->doc, value, "a string", &words++->value, r->err) < 0)
			return -1;
	}
	return 0;
}

static int read_keys(struct kinds_reader *r, const struct yaml_node *node, const struct key *keys, void *at)
{
	const char *known[24] = { NULL };

	for (size_t i = 0; keys[i].name; i++)
		known[i] = keys[i].name;
	if (yaml_expect(&r->doc, node, YAML_MAP, "a mapping", r->err) < 0 ||
	    yaml_unknown_keys(&r->doc, node, known, r->err) < 0)
		return -1;
	for (; keys->name; keys++) {
		const struct yaml_node *value = yaml_map_get(node, keys->name);

		if (value && keys->read(r, value, (char *)at + keys->offset) < 0)
			return -1;
	}
	return 0;
}

static const struct key kind_keys[] = {
	{ "type", read_list, offsetof(struct runtime_kind, types) },
	{ "match", read_pattern, offsetof(struct runtime_kind, match) },
	{ "text", read_pattern, offsetof(struct runtime_kind, text) },
	{ "code", read_pattern, offsetof(struct runtime_kind, code) },
	{ "near", read_text, offsetof(struct runtime_kind, near) },
	{ "among", read_among, offsetof(struct runtime_kind, among_files) },
	{ "say", read_list, offsetof(struct runtime_kind, say) },
	{ "fix", read_text, offsetof(struct runtime_kind, fix) },
	{ "docs", read_text, offsetof(struct runtime_kind, docs) },
	{ NULL },
};

static int read_kinds(struct kinds_reader *r, const struct yaml_node *node, void *at)
{
	struct runtime_explain *out = at;
	struct runtime_kind *kinds;

	if (yaml_expect(&r->doc, node, YAML_MAP, "a mapping of names to kinds of failures", r->err) < 0)
		return -1;
	if (node->count > KINDS_MAX)
		return yaml_fault(&r->doc, node, r->err, "expected at most %d kinds", KINDS_MAX);
	kinds = arena_alloc(r->doc.arena, (node->count + 1) * sizeof(*kinds));
	if (!kinds)
		return out_of_memory(r);
	out->kinds = kinds;
	out->kind_count = node->count;
	yaml_each(value, node)
	{
		kinds->name = value->key->text;
		if (read_keys(r, value, kind_keys, kinds) < 0)
			return -1;
		if (!kinds->types && !kinds->match && !kinds->text)
			return yaml_fault(&r->doc, value, r->err, "expected \"type\", \"match\" or \"text\"");
		if (!kinds->say || !kinds->say[0])
			return yaml_fault(&r->doc, value, r->err, "expected \"say\", with at least one sentence");
		kinds++;
	}
	return 0;
}

static const struct key explain_keys[] = {
	{ "like", read_text, offsetof(struct runtime_explain, like) },
	{ "start", read_pattern, offsetof(struct runtime_explain, start) },
	{ "stop", read_pattern, offsetof(struct runtime_explain, stop) },
	{ "frames", read_patterns, offsetof(struct runtime_explain, frames) },
	{ "newest", read_newest, offsetof(struct runtime_explain, newest_last) },
	{ "errors", read_patterns, offsetof(struct runtime_explain, errors) },
	{ "type", read_text, offsetof(struct runtime_explain, type) },
	{ "looks", read_patterns, offsetof(struct runtime_explain, looks) },
	{ "names", read_list, offsetof(struct runtime_explain, names) },
	{ "packages", read_words, offsetof(struct runtime_explain, packages) },
	{ "homes", read_words, offsetof(struct runtime_explain, homes) },
	{ "kinds", read_kinds, 0 },
	{ NULL },
};

_Static_assert(offsetof(struct runtime_explain, package_count) - offsetof(struct runtime_explain, packages) ==
		       offsetof(struct word_list, count),
	       "a list of words and its length stand side by side");
_Static_assert(offsetof(struct runtime_explain, home_count) - offsetof(struct runtime_explain, homes) ==
		       offsetof(struct word_list, count),
	       "a list of words and its length stand side by side");

int definition_explain_read(const char *where, const char *text, size_t size, struct arena *arena,
			    struct runtime_explain *out, struct error *err)
{
	struct kinds_reader r = { .doc.where = where, .err = err };

	*out = (struct runtime_explain){ 0 };
	if (yaml_load(where, text, size, arena, &r.doc, err) < 0)
		return -1;
	return read_keys(&r, r.doc.root, explain_keys, out);
}
