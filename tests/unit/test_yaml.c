/* YAML: the tree and its places, what is refused, and the readers of values. */
#include "../check.h"

#include "base/own.h"
#include "base/yaml.h"

static int load(const char *text, struct arena *arena, struct yaml_doc *doc, struct error *err)
{
	return yaml_load("x.yaml", text, strlen(text), arena, doc, err);
}

static void check_fault(const char *text, const char *want)
{
	_cleanup_arena_ struct arena arena = { 0 };
	struct error err = { 0 };
	struct yaml_doc doc;

	CHECK_INT(load(text, &arena, &doc, &err), -1);
	CHECK_INT(err.kind, ERROR_USAGE);
	CHECK_STR(err.text, want);
}

static void tree(void)
{
	_cleanup_arena_ struct arena arena = { 0 };
	const struct yaml_node *b, *c;
	struct error err = { 0 };
	struct yaml_doc doc;
	size_t count = 0;

	CHECK_INT(
		load("# a comment\na: one\nb:\n  - two\n  - [3, 'four', ~]\nc: {é: \"\\u00e9\"}\n", &arena, &doc, &err),
		0);
	CHECK_STR(err.text, "");
	CHECK_INT(doc.root->kind, YAML_MAP);
	CHECK_INT(doc.root->count, 3);
	CHECK_INT(doc.root->line, 2);
	CHECK(!doc.root->parent && !doc.root->key && !doc.root->text);
	CHECK_STR(yaml_map_get(doc.root, "a")->text, "one");
	CHECK_INT(yaml_map_get(doc.root, "a")->column, 4);
	CHECK(!yaml_map_get(doc.root, "d"));
	b = yaml_map_get(doc.root, "b");
	CHECK_INT(b->kind, YAML_LIST);
	CHECK_INT(b->line, 4);
	CHECK_INT(b->column, 3);
	CHECK_STR(b->key->text, "b");
	CHECK(b->parent == doc.root && b->first->parent == b);
	CHECK(!yaml_map_get(b, "two"));
	CHECK_STR(b->first->text, "two");
	CHECK_INT(b->first->next->count, 3);
	CHECK_INT(b->first->next->first->next->line, 5);
	/* Columns are those of the quotes. */
	CHECK_INT(b->first->next->first->next->column, 9);
	CHECK_INT(b->first->next->first->next->next->kind, YAML_NOTHING);
	c = yaml_map_get(doc.root, "c");
	CHECK_STR(yaml_map_get(c, "é")->text, "é");
	/* Letters are counted, not bytes. */
	CHECK_INT(yaml_map_get(c, "é")->column, 8);
	yaml_each(value, doc.root) count++;
	CHECK_INT(count, 3);
}

static void scalars(void)
{
	static const struct {
		const char *text;
		enum yaml_kind kind;
		const char *value;
	} cases[] = {
		{ "", YAML_NOTHING, "" },
		{ "# only this\n", YAML_NOTHING, "" },
		{ "---\n", YAML_NOTHING, "" },
		{ "~", YAML_NOTHING, "~" },
		{ "null", YAML_NOTHING, "null" },
		{ "'null'", YAML_TEXT, "null" },
		{ "\"\"", YAML_TEXT, "" },
		{ "1.50", YAML_TEXT, "1.50" },
		{ "yes", YAML_TEXT, "yes" },
		{ "'it''s'", YAML_TEXT, "it's" },
		{ "|\n  a\n  b\n", YAML_TEXT, "a\nb\n" },
		{ ">-\n  a\n  b\n", YAML_TEXT, "a b" },
		{ "\xef\xbb\xbfx", YAML_TEXT, "x" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_arena_ struct arena arena = { 0 };
		struct error err = { 0 };
		struct yaml_doc doc;

		CHECK_INT(load(cases[i].text, &arena, &doc, &err), 0);
		CHECK_STR(err.text, "");
		CHECK_INT(doc.root->kind, cases[i].kind);
		CHECK_STR(doc.root->text, cases[i].value);
	}
}

static void refused(void)
{
	check_fault("a: &x [1]\n", "x.yaml:1:4: expected no anchor: anchors (&) are not used here");
	check_fault("a: &x {b: 1}\n", "x.yaml:1:4: expected no anchor: anchors (&) are not used here");
	check_fault("a: &x 1\n", "x.yaml:1:4: expected no anchor: anchors (&) are not used here");
	check_fault("a: *x\n", "x.yaml:1:4: expected no alias: aliases (*) are not used here");
	check_fault("a: !!map {}\n", "x.yaml:1:4: expected no tag: tags (!) are not used here");
	check_fault("a: !x []\n", "x.yaml:1:4: expected no tag: tags (!) are not used here");
	check_fault("a: !x 1\n", "x.yaml:1:4: expected no tag: tags (!) are not used here");
	check_fault("a: 1\n--- b\n", "x.yaml:2:1: expected one document; another one begins here");
	check_fault("a: {b: 1, c: 2, b: 3}\n", "x.yaml:1:17: a: expected each key once; \"b\" is on line 1 already");
	check_fault("{a: 1}: 2\n", "x.yaml:1:1: expected a string as key, not a mapping");
	check_fault("a: \"\\0\"\n", "x.yaml:1:4: expected a string without NUL bytes");
	check_fault("a:\n  b: 1\n c: 2\n",
		    "x.yaml:3:2: did not find expected key, while parsing a block mapping that begins on line 1");
	check_fault("a:\n\tb: 1\n", "x.yaml:2:1: expected spaces: YAML does not allow tabs as indentation");
	check_fault("a:\n  b: 1\n  \tc: 1\n", "x.yaml:3:3: expected spaces: YAML does not allow tabs as indentation");
	check_fault("a: @b\n", "x.yaml:1:4: found character that cannot start any token, while scanning for the next "
			       "token that begins on line 1");
	check_fault("a: [1\n", "x.yaml:2:1: did not find expected ',' or ']', while parsing a flow sequence that "
			       "begins on line 1");
	check_fault("a: é\nb: é\xff\n", "x.yaml:2:5: invalid leading UTF-8 octet");
	check_fault("a: 1\nb: \x01\n", "x.yaml:2:4: control characters are not allowed");
}

/* Fills the text with `count` times `piece`, and what is around them. */
static char *repeat(const char *before, const char *piece, size_t count, const char *after)
{
	size_t size = strlen(before) + count * strlen(piece) + strlen(after);
	char *text = malloc(size + 1), *end = stpcpy(text, before);

	for (size_t i = 0; i < count; i++)
		end = stpcpy(end, piece);
	strcpy(end, after);
	return text;
}

static void bounds(void)
{
	static const struct {
		const char *before, *piece, *after;
		size_t most; /* so many are read, one more is not */
		const char *want;
	} cases[] = {
		{ "", "[", "", YAML_DEPTH_MAX, "x.yaml:1:17: expected at most 16 levels" },
		{ "", "{a: ", "", YAML_DEPTH_MAX,
		  "x.yaml:1:65: a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a: expected at most 16 levels" },
		{ "[", "a,", "]", YAML_NODES_MAX - 1, "x.yaml:1:131072: expected at most 65536 values in all" },
		{ "", "#", "", YAML_SIZE_MAX, "x.yaml:1:1: expected at most 256 KiB" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *more = repeat(cases[i].before, cases[i].piece, cases[i].most + 1, cases[i].after);
		_cleanup_free_ char *most = repeat(cases[i].before, cases[i].piece, cases[i].most, cases[i].after);
		_cleanup_arena_ struct arena arena = { 0 };
		struct error err = { 0 };
		struct yaml_doc doc;

		check_fault(more, cases[i].want);
		/* Brackets that are left open are another mistake. */
		if (load(most, &arena, &doc, &err) < 0)
			CHECK(i < 2 && strstr(err.text, "while parsing a flow"));
	}
}

static void keys_bound(void)
{
	_cleanup_arena_ struct arena arena = { 0 };
	struct error err = { 0 };
	struct yaml_doc doc;
	char text[32768] = "";
	size_t used = 0;

	for (int i = 0; i < YAML_KEYS_MAX; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "k%d: v\n", i);
	CHECK_INT(load(text, &arena, &doc, &err), 0);
	CHECK_INT(doc.root->count, YAML_KEYS_MAX);
	snprintf(text + used, sizeof(text) - used, "more: v\n");
	check_fault(text, "x.yaml:1025:1: expected at most 1024 keys in a mapping");
}

static void values(void)
{
	_cleanup_arena_ struct arena arena = { 0 };
	const char *const *list = NULL;
	const char *text = NULL;
	struct error err = { 0 };
	struct yaml_doc doc;
	bool yes = false;

	CHECK_INT(load("t: word\nl: [a, b]\ny: true\nn: false\nm: {x: [a, [b]]}\ne:\n", &arena, &doc, &err), 0);
	CHECK_INT(yaml_text(&doc, yaml_map_get(doc.root, "t"), "a word", &text, &err), 0);
	CHECK_STR(text, "word");
	CHECK_INT(yaml_list(&doc, yaml_map_get(doc.root, "l"), "words", &list, &err), 0);
	CHECK_STR(list[0], "a");
	CHECK_STR(list[1], "b");
	CHECK(!list[2]);
	CHECK_INT(yaml_bool(&doc, yaml_map_get(doc.root, "y"), &yes, &err), 0);
	CHECK(yes);
	CHECK_INT(yaml_bool(&doc, yaml_map_get(doc.root, "n"), &yes, &err), 0);
	CHECK(!yes);
	CHECK_STR(err.text, "");
	CHECK_INT(yaml_text(&doc, yaml_map_get(doc.root, "l"), "a word", &text, &err), -1);
	CHECK_STR(err.text, "x.yaml:2:4: l: expected a word, not a list");
	CHECK_INT(yaml_text(&doc, yaml_map_get(doc.root, "e"), "a word", &text, &err), -1);
	CHECK_STR(err.text, "x.yaml:6:3: e: expected a word, but there is nothing");
	CHECK_INT(yaml_list(&doc, yaml_map_get(doc.root, "m"), "words", &list, &err), -1);
	CHECK_STR(err.text, "x.yaml:5:4: m: expected words, not a mapping");
	CHECK_INT(yaml_list(&doc, yaml_map_get(yaml_map_get(doc.root, "m"), "x"), "words", &list, &err), -1);
	CHECK_STR(err.text, "x.yaml:5:12: m.x: expected a string, not a list");
	CHECK_INT(yaml_bool(&doc, yaml_map_get(doc.root, "t"), &yes, &err), -1);
	CHECK_STR(err.text, "x.yaml:1:4: t: expected true or false, not \"word\"");
}

static void unknown_keys(void)
{
	static const char *const known[] = { "display", "memory", NULL };
	_cleanup_arena_ struct arena arena = { 0 };
	struct error err = { 0 };
	struct yaml_doc doc;

	CHECK_INT(load("memory: 1\ndisplay: 2\n", &arena, &doc, &err), 0);
	CHECK_INT(yaml_unknown_keys(&doc, doc.root, known, &err), 0);
	CHECK_STR(err.text, "");
	CHECK_INT(load("memory: 1\ndispaly: 2\n", &arena, &doc, &err), 0);
	CHECK_INT(yaml_unknown_keys(&doc, doc.root, known, &err), -1);
	CHECK_INT(err.kind, ERROR_USAGE);
	CHECK_STR(err.text, "x.yaml:2:1: unknown key \"dispaly\"; did you mean \"display\"?");
	CHECK_INT(load("\"\\e[31m\": 1\n", &arena, &doc, &err), 0);
	CHECK_INT(yaml_unknown_keys(&doc, doc.root, known, &err), -1);
	/* It goes to somebody's terminal. */
	CHECK_STR(err.text, "x.yaml:1:1: unknown key \"?[31m\"; expected one of display, memory");
}

int main(void)
{
	RUN(tree);
	RUN(scalars);
	RUN(refused);
	RUN(bounds);
	RUN(keys_bound);
	RUN(values);
	RUN(unknown_keys);
	return check_failures != 0;
}
