#include "base/yaml.h"

#include "base/own.h"
#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

enum {
	PATH_ROOM = 160 /* bytes of the keys that lead to a node, in an error */
};

/* A list or mapping whose end has not been read. */
struct yaml_frame {
	struct yaml_node *node; /* the list or mapping */
	struct yaml_node *last; /* its last child so far */
	struct yaml_node *key;  /* in a mapping: the key that waits for its value */
};

struct loader {
	struct yaml_doc *doc;                     /* the document that is built */
	struct error *err;                        /* the first mistake */
	struct yaml_frame frames[YAML_DEPTH_MAX]; /* the open lists and mappings, the innermost last */
	size_t depth;                             /* frames in use */
	size_t count;                             /* nodes so far */
	bool ended;                               /* the first document has ended */
};

static int out_of_memory(const struct yaml_doc *doc, struct error *err)
{
	return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold %s", doc->where);
}

/* Writes the keys from the root to the node: "compile.limits". */
static void node_path(const struct yaml_node *node, char *out, size_t size)
{
	const struct yaml_node *keys[YAML_DEPTH_MAX + 1];
	size_t count = 0, used = 0;

	for (; node && count < ARRAY_SIZE(keys); node = node->parent)
		if (node->key)
			keys[count++] = node->key;
	*out = '\0';
	while (count > 0 && used < size) {
		count--;
		used += (size_t)snprintf(out + used, size - used, "%.40s%s", keys[count]->text, count ? "." : ": ");
	}
}

/* Sets an error with its position, on one line whatever the document contains. */
static int place_fault(const char *where, size_t line, size_t column, const char *path, const char *text,
		       struct error *err)
{
	error_usage(err, "%s:%zu:%zu: %s%s", where, line, column, path, text);
	for (char *c = err ? err->text : NULL; c && *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	return -1;
}

int yaml_fault(const struct yaml_doc *doc, const struct yaml_node *node, struct error *err, const char *format, ...)
{
	char text[sizeof(err->text)], path[PATH_ROOM];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	node_path(node, path, sizeof(path));
	return place_fault(doc->where, node->line, node->column, path, text, err);
}

int yaml_expected(const struct yaml_doc *doc, const struct yaml_node *node, struct error *err, const char *format, ...)
{
	char what[sizeof(err->text)];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	switch (node->kind) {
	case YAML_NOTHING:
		return yaml_fault(doc, node, err, "expected %s, but there is nothing", what);
	case YAML_TEXT:
		return yaml_fault(doc, node, err, "expected %s, not \"%.64s\"", what, node->text);
	case YAML_LIST:
		return yaml_fault(doc, node, err, "expected %s, not a list", what);
	case YAML_MAP:
		break;
	}
	return yaml_fault(doc, node, err, "expected %s, not a mapping", what);
}

static struct yaml_node *node_new(struct loader *loader, enum yaml_kind kind, const yaml_mark_t *mark)
{
	struct yaml_node *node = arena_alloc(loader->doc->arena, sizeof(*node));

	if (!node) {
		out_of_memory(loader->doc, loader->err);
		return NULL;
	}
	node->kind = kind;
	node->line = (unsigned)mark->line + 1;
	node->column = (unsigned)mark->column + 1;
	node->parent = loader->depth ? loader->frames[loader->depth - 1].node : NULL;
	return node;
}

static int key_add(struct loader *loader, struct yaml_frame *frame, struct yaml_node *key)
{
	if (key->kind == YAML_NOTHING)
		key->kind = YAML_TEXT;
	if (key->kind != YAML_TEXT)
		return yaml_expected(loader->doc, key, loader->err, "a string as key");
	if (frame->node->count >= YAML_KEYS_MAX)
		return yaml_fault(loader->doc, key, loader->err, "expected at most %d keys in a mapping",
				  YAML_KEYS_MAX);
	yaml_each(other, frame->node) if (strcmp(other->key->text, key->text) == 0) return yaml_fault(
		loader->doc, key, loader->err, "expected each key once; \"%.64s\" is on line %u already", key->text,
		other->key->line);
	frame->key = key;
	return 0;
}

/* Adds a node to the innermost list or mapping. */
static int node_add(struct loader *loader, struct yaml_node *node)
{
	struct yaml_frame *frame = loader->depth ? &loader->frames[loader->depth - 1] : NULL;

	if (++loader->count > YAML_NODES_MAX)
		return yaml_fault(loader->doc, node, loader->err, "expected at most %d values in all", YAML_NODES_MAX);
	/* There is always a frame here. */
	if (!frame || !frame->node) {
		loader->doc->root = node;
		return 0;
	}
	if (frame->node->kind == YAML_MAP && !frame->key)
		return key_add(loader, frame, node);
	node->key = frame->key;
	frame->key = NULL;
	if (frame->last)
		frame->last->next = node;
	else
		frame->node->first = node;
	frame->last = node;
	frame->node->count++;
	return 0;
}

static int mark_fault(struct loader *loader, const yaml_mark_t *mark, const char *text)
{
	return place_fault(loader->doc->where, mark->line + 1, mark->column + 1, "", text, loader->err);
}

static bool means_nothing(const yaml_event_t *event)
{
	static const char *const words[] = { "", "~", "null", "Null", "NULL" };

	if (event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp((const char *)event->data.scalar.value, words[i]) == 0)
			return true;
	return false;
}

static int read_scalar(struct loader *loader, const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value;
	size_t size = event->data.scalar.length;
	struct yaml_node *node;

	if (event->data.scalar.anchor)
		return mark_fault(loader, &event->start_mark, "expected no anchor: anchors (&) are not used here");
	if (event->data.scalar.tag)
		return mark_fault(loader, &event->start_mark, "expected no tag: tags (!) are not used here");
	if (memchr(text, '\0', size))
		return mark_fault(loader, &event->start_mark, "expected a string without NUL bytes");
	node = node_new(loader, means_nothing(event) ? YAML_NOTHING : YAML_TEXT, &event->start_mark);
	if (!node)
		return -1;
	node->text = arena_copy(loader->doc->arena, text, size);
	if (!node->text)
		return out_of_memory(loader->doc, loader->err);
	return node_add(loader, node);
}

static int read_start(struct loader *loader, enum yaml_kind kind, const void *anchor, const void *tag,
		      const yaml_event_t *event)
{
	struct yaml_node *node;

	if (anchor)
		return mark_fault(loader, &event->start_mark, "expected no anchor: anchors (&) are not used here");
	if (tag)
		return mark_fault(loader, &event->start_mark, "expected no tag: tags (!) are not used here");
	node = node_new(loader, kind, &event->start_mark);
	if (!node || node_add(loader, node) < 0)
		return -1;
	if (loader->depth == YAML_DEPTH_MAX)
		return yaml_fault(loader->doc, node, loader->err, "expected at most %d levels", YAML_DEPTH_MAX);
	loader->frames[loader->depth++] = (struct yaml_frame){ .node = node };
	return 0;
}

static int read_event(struct loader *loader, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (loader->ended)
			return mark_fault(loader, &event->start_mark, "expected one document; another one begins here");
		return 0;
	case YAML_DOCUMENT_END_EVENT:
		loader->ended = true;
		return 0;
	case YAML_ALIAS_EVENT:
		return mark_fault(loader, &event->start_mark, "expected no alias: aliases (*) are not used here");
	case YAML_SCALAR_EVENT:
		return read_scalar(loader, event);
	case YAML_SEQUENCE_START_EVENT:
		return read_start(loader, YAML_LIST, event->data.sequence_start.anchor, event->data.sequence_start.tag,
				  event);
	case YAML_MAPPING_START_EVENT:
		return read_start(loader, YAML_MAP, event->data.mapping_start.anchor, event->data.mapping_start.tag,
				  event);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		loader->depth--;
		return 0;
	default:
		return 0;
	}
}

/* Line and column of a byte, for errors of libyaml's reader, which have no mark. */
static yaml_mark_t mark_of(const char *text, size_t size, size_t offset)
{
	yaml_mark_t mark = { 0 };

	for (size_t i = 0; i < offset && i < size; i++) {
		if (text[i] == '\n') {
			mark.line++;
			mark.column = 0;
		} else if (((unsigned char)text[i] & 0xc0) != 0x80) {
			mark.column++;
		}
	}
	return mark;
}

/* Whether a tab indents the line of the mark. libyaml only reports an invalid character. */
static bool is_tab_indent(const char *text, size_t size, const yaml_mark_t *mark)
{
	const char *at = text, *end = text + size;

	for (size_t line = 0; line < mark->line; line++) {
		at = memchr(at, '\n', (size_t)(end - at));
		if (!at)
			return false;
		at++;
	}
	for (size_t column = 0; column < mark->column && at < end; column++)
		if (*at++ != ' ')
			return false;
	return at < end && *at == '\t';
}

static int parser_fault(struct loader *loader, const yaml_parser_t *parser, const char *text, size_t size)
{
	const char *problem = parser->problem ? parser->problem : "it is not YAML";
	yaml_mark_t mark = parser->problem_mark;
	char sentence[256];

	if (parser->error == YAML_MEMORY_ERROR)
		return out_of_memory(loader->doc, loader->err);
	if (parser->error == YAML_READER_ERROR)
		mark = mark_of(text, size, parser->problem_offset);
	if (parser->error == YAML_SCANNER_ERROR && is_tab_indent(text, size, &mark))
		return mark_fault(loader, &mark, "expected spaces: YAML does not allow tabs as indentation");
	if (parser->context && parser->error != YAML_READER_ERROR)
		snprintf(sentence, sizeof(sentence), "%s, %s that begins on line %zu", problem, parser->context,
			 parser->context_mark.line + 1);
	else
		snprintf(sentence, sizeof(sentence), "%s", problem);
	return mark_fault(loader, &mark, sentence);
}

static int read_events(struct loader *loader, yaml_parser_t *parser, const char *text, size_t size)
{
	yaml_event_t event;
	bool over = false;

	while (!over) {
		int result;

		if (!yaml_parser_parse(parser, &event))
			return parser_fault(loader, parser, text, size);
		over = event.type == YAML_STREAM_END_EVENT;
		result = read_event(loader, &event);
		yaml_event_delete(&event);
		if (result < 0)
			return -1;
	}
	return 0;
}

int yaml_load(const char *where, const char *text, size_t size, struct arena *arena, struct yaml_doc *out,
	      struct error *err)
{
	struct loader loader = { .doc = out, .err = err };
	yaml_parser_t parser;
	int result;

	*out = (struct yaml_doc){ .where = where, .arena = arena };
	if (size > YAML_SIZE_MAX)
		return place_fault(where, 1, 1, "", "expected at most 256 KiB", err);
	if (!yaml_parser_initialize(&parser))
		return out_of_memory(out, err);
	/* Without this, two bytes at the start could make it UTF-16. */
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
	result = read_events(&loader, &parser, text, size);
	yaml_parser_delete(&parser);
	if (result < 0)
		return -1;
	if (!out->root) {
		out->root = node_new(&loader, YAML_NOTHING, &(yaml_mark_t){ 0 });
		if (!out->root)
			return -1;
		((struct yaml_node *)out->root)->text = "";
	}
	return 0;
}

const struct yaml_node *yaml_map_get(const struct yaml_node *map, const char *key)
{
	if (map->kind != YAML_MAP)
		return NULL;
	yaml_each(value, map) if (strcmp(value->key->text, key) == 0) return value;
	return NULL;
}

int yaml_expect(const struct yaml_doc *doc, const struct yaml_node *node, enum yaml_kind kind, const char *what,
		struct error *err)
{
	return node->kind == kind ? 0 : yaml_expected(doc, node, err, "%s", what);
}

int yaml_text(const struct yaml_doc *doc, const struct yaml_node *node, const char *what, const char **out,
	      struct error *err)
{
	if (yaml_expect(doc, node, YAML_TEXT, what, err) < 0)
		return -1;
	*out = node->text;
	return 0;
}

int yaml_list(const struct yaml_doc *doc, const struct yaml_node *node, const char *what, const char *const **out,
	      struct error *err)
{
	const char **list;
	size_t count = 0;

	if (yaml_expect(doc, node, YAML_LIST, what, err) < 0)
		return -1;
	list = arena_alloc(doc->arena, (node->count + 1) * sizeof(*list));
	if (!list)
		return out_of_memory(doc, err);
	yaml_each(item, node) if (yaml_text(doc, item, "a string", &list[count++], err) < 0) return -1;
	*out = list;
	return 0;
}

int yaml_bool(const struct yaml_doc *doc, const struct yaml_node *node, bool *out, struct error *err)
{
	bool yes = node->kind == YAML_TEXT && strcmp(node->text, "true") == 0;

	if (!yes && (node->kind != YAML_TEXT || strcmp(node->text, "false") != 0))
		return yaml_expected(doc, node, err, "true or false");
	*out = yes;
	return 0;
}

static void list_known(const char *const *known, char *out, size_t size)
{
	size_t used = 0;

	*out = '\0';
	for (size_t i = 0; known[i] && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", known[i]);
}

int yaml_unknown_keys(const struct yaml_doc *doc, const struct yaml_node *map, const char *const *known,
		      struct error *err)
{
	yaml_each(value, map)
	{
		const char *key = value->key->text, *nearest;
		char list[512];
		size_t i = 0;

		while (known[i] && strcmp(known[i], key) != 0)
			i++;
		if (known[i])
			continue;
		nearest = text_nearest(key, known);
		if (nearest)
			return yaml_fault(doc, value->key, err, "unknown key \"%.64s\"; did you mean \"%s\"?", key,
					  nearest);
		list_known(known, list, sizeof(list));
		return yaml_fault(doc, value->key, err, "unknown key \"%.64s\"; expected one of %s", key, list);
	}
	return 0;
}
