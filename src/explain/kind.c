/* Finds the kind of a failure and fills its sentences. */
#include "explain/explain_parts.h"

#include "base/own.h"

#include <stdio.h>
#include <string.h>

enum {
	TEXT_LINES = 12,      /* lines of standard error that are searched for a kind's `text`, besides the cause */
	COMPILER_LINES = 200, /* the same number for a compiler */
	LIST_NAMES = 8,       /* names in a printed list */
};

/* A matching kind, with the values that its sentences can use. */
struct finding {
	struct explainer *x;
	const struct runtime_kind *kind;
	struct groups groups;
	char close[160];   /* {close} */
	char files[200];   /* {files} */
	char code[160];    /* {code}: the failing line, trimmed */
	char number[24];   /* {line} */
	struct span where; /* the failing line, untrimmed */
};

static bool has_type(const struct runtime_kind *kind, const struct explanation *e)
{
	if (!kind->types)
		return true;
	for (const char *const *type = kind->types; *type; type++)
		if (strcmp(*type, e->type) == 0)
			return true;
	return false;
}

static void take_groups(struct finding *f, const struct pattern *pattern, const struct line *line)
{
	const char *name;

	for (size_t i = 0; (name = pattern_group_name(pattern, i)) != NULL; i++) {
		struct group_value *to = &f->groups.list[f->groups.count];
		struct span part;

		if (f->groups.count == EXPLAIN_GROUPS || !pattern_group(&f->x->matcher, pattern, line, name, &part))
			continue;
		snprintf(to->name, sizeof(to->name), "%s", name);
		span_copy(part, to->text, sizeof(to->text));
		f->groups.count++;
	}
}

static bool finding_matches(struct finding *f, const char *text, struct span in)
{
	struct line line = { .here = in, .text_end = in.start + in.size };
	_cleanup_pattern_ struct pattern pattern = pattern_make(&f->x->matcher, text, f->x->in->file);
	bool is = pattern_match(&f->x->matcher, &pattern, &line);

	if (is)
		take_groups(f, &pattern, &line);
	return is;
}

/* Searches the line with the cause, then other lines of standard error: the first of a compiler, the last of a
 * program. */
static bool text_matches(struct finding *f)
{
	struct explainer *x = f->x;
	const bool first = x->in->compiling;
	const char *at = first ? x->text.start : x->text.start + x->text.size;
	_cleanup_pattern_ struct pattern pattern = pattern_make(&x->matcher, f->kind->text, x->in->file);
	const char *cause = x->out->cause;
	struct line line = { .here = { cause, strlen(cause) }, .text_end = cause + strlen(cause) };

	if (!first && pattern_match(&x->matcher, &pattern, &line)) {
		take_groups(f, &pattern, &line);
		return true;
	}
	for (int i = 0; i < (first ? COMPILER_LINES : TEXT_LINES); i++) {
		if (!(first ? line_next(x->text, &at, &line) : line_before(x->text, &at, &line)))
			return false;
		if (pattern_match(&x->matcher, &pattern, &line)) {
			take_groups(f, &pattern, &line);
			return true;
		}
	}
	return false;
}

static bool finding_applies(struct finding *f)
{
	const struct runtime_kind *kind = f->kind;
	const struct explanation *e = f->x->out;

	/* Without an error, only the lines of standard error can match. */
	if (!has_type(kind, e) || (!e->there && !kind->text))
		return false;
	if (kind->match && !finding_matches(f, kind->match, (struct span){ e->message, strlen(e->message) }))
		return false;
	if (kind->text && !text_matches(f))
		return false;
	return !kind->code || finding_matches(f, kind->code, f->where);
}

static const char *group_text(const struct finding *f, const char *name)
{
	for (size_t i = 0; i < f->groups.count; i++)
		if (strcmp(f->groups.list[i].name, name) == 0)
			return f->groups.list[i].text;
	return NULL;
}

static const char *word_of(const struct runtime_word *words, size_t count, const char *key)
{
	for (size_t i = 0; key && i < count; i++)
		if (strcmp(words[i].key, key) == 0)
			return words[i].value;
	return NULL;
}

/* Looks a word up in the language, then in the language that it is `like`. */
static const char *known_word(const struct finding *f, bool package)
{
	const char *key = group_text(f, f->kind->near ? f->kind->near : "name");
	const struct runtime *const both[] = { f->x->in->runtime, explain_like(f->x->in) };

	for (size_t i = 0; i < ARRAY_SIZE(both) && both[i]; i++) {
		const struct runtime_explain *by = &both[i]->explain;
		const char *value = package ? word_of(by->packages, by->package_count, key)
					    : word_of(by->homes, by->home_count, key);

		if (value)
			return value;
	}
	return NULL;
}

static const char *value_of(struct finding *f, const char *name)
{
	const struct explanation *e = f->x->out;
	const char *text = group_text(f, name);

	if (text)
		return text;
	if (strcmp(name, "close") == 0)
		return f->close;
	if (strcmp(name, "package") == 0)
		return known_word(f, true);
	if (strcmp(name, "home") == 0)
		return known_word(f, false);
	if (strcmp(name, "files") == 0)
		return f->files;
	if (strcmp(name, "code") == 0)
		return f->code;
	if (strcmp(name, "line") == 0)
		return f->number;
	if (strcmp(name, "file") == 0)
		return e->file;
	if (strcmp(name, "message") == 0)
		return e->message;
	return strcmp(name, "type") == 0 ? e->type : NULL;
}

/* False if a value is missing or the text does not fit. */
static bool fill_in(struct finding *f, const char *sentence, char *out, size_t size)
{
	size_t used = 0;

	while (*sentence) {
		size_t length = strspn(sentence + 1, "abcdefghijklmnopqrstuvwxyz_");
		const char *value = NULL;
		char name[32];

		if (*sentence == '{' && sentence[length + 1] == '}' && length > 0 && length < sizeof(name)) {
			memcpy(name, sentence + 1, length);
			name[length] = '\0';
			value = value_of(f, name);
			if (!value || !*value || strlen(value) >= size - used)
				return false;
			used += (size_t)sprintf(out + used, "%s", value);
			sentence += length + 2;
			continue;
		}
		if (used + 1 >= size)
			return false;
		out[used++] = *sentence++;
	}
	out[used] = '\0';
	return used > 0;
}

static void list_files(struct finding *f)
{
	size_t used = 0, count = 0;

	for (const char *const *file = f->x->in->files; file && *file && count < LIST_NAMES; file++, count++) {
		if (used + strlen(*file) + 3 >= sizeof(f->files))
			break;
		used += (size_t)sprintf(f->files + used, "%s%s", used ? ", " : "", *file);
	}
}

/* Looks up the values that depend on the kind. */
static void look_up(struct finding *f)
{
	const char *name = f->kind->near ? group_text(f, f->kind->near) : NULL, *meant = group_text(f, "meant");

	list_files(f);
	if (f->x->out->line > 0)
		snprintf(f->number, sizeof(f->number), "%ld", f->x->out->line);
	/* The language has more names than the source contains. */
	if (meant && !(name && near_is_part(name, meant)))
		snprintf(f->close, sizeof(f->close), "%s", meant);
	else if (name && f->kind->among_files)
		near_file(f->x->in, name, f->close, sizeof(f->close));
	else if (name)
		near_name(f->x->in, name, f->close, sizeof(f->close));
}

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       (unsigned char)c >= 0x80;
}

/* Whether all characters before the column are ASCII, so that bytes and characters are equal. */
static bool is_ascii(struct span line, size_t before)
{
	for (size_t i = 0; i < before && i < line.size; i++)
		if ((unsigned char)line.start[i] >= 0x80)
			return false;
	return before <= line.size;
}

/* Finds the word in the line if it occurs exactly once. */
static bool find_word(struct span line, const char *word, size_t *at)
{
	size_t size = strlen(word), times = 0;

	for (size_t i = 0; size > 0 && i + size <= line.size; i++) {
		if (memcmp(line.start + i, word, size) != 0 || (i > 0 && is_word(line.start[i - 1])) ||
		    (i + size < line.size && is_word(line.start[i + size])))
			continue;
		*at = i;
		times++;
	}
	return times == 1;
}

static void make_fix(struct finding *f)
{
	const char *word = f->kind->near ? group_text(f, f->kind->near) : NULL;
	struct explanation *e = f->x->out;
	struct explain_fix *fix = &e->fix;
	size_t at = 0;

	if (f->where.size == 0 || !fill_in(f, f->kind->fix, fix->text, sizeof(fix->text)))
		return;
	if (word && find_word(f->where, word, &at)) {
		fix->column = source_characters(f->where, at) + 1;
		fix->end_column = fix->column + source_characters((struct span){ word, strlen(word) }, strlen(word));
	} else if (!word && e->column > 0 && is_ascii(f->where, (size_t)e->column - 1)) {
		fix->column = fix->end_column = e->column;
	} else {
		return;
	}
	memcpy(fix->file, e->file, sizeof(fix->file));
	fix->line = e->line;
}

static bool finding_say(struct finding *f)
{
	struct explanation *e = f->x->out;

	look_up(f);
	for (const char *const *sentence = f->kind->say; *sentence; sentence++) {
		if (!fill_in(f, *sentence, e->suggestion, sizeof(e->suggestion)))
			continue;
		snprintf(e->kind, sizeof(e->kind), "%s", f->kind->name);
		if (!f->kind->docs || !fill_in(f, f->kind->docs, e->docs, sizeof(e->docs)))
			e->docs[0] = '\0';
		/* The change must be the one that the sentence names. */
		if (f->kind->fix && (!strstr(f->kind->fix, "{close}") || strstr(*sentence, "{close}")))
			make_fix(f);
		if (strcmp(e->kind, "not-permitted") == 0) {
			refused_find(e->cause, e->call, sizeof(e->call));
			refused_find(f->code, e->call, sizeof(e->call));
		}
		if (group_text(f, "host"))
			snprintf(e->host, sizeof(e->host), "%s", group_text(f, "host"));
		return true;
	}
	e->suggestion[0] = '\0';
	return false;
}

/* A match in a line of standard error alone becomes an error with that message. */
static void finding_adopt(struct finding *f)
{
	struct explanation *e = f->x->out;

	if (e->there)
		return;
	e->there = true;
	snprintf(e->type, sizeof(e->type), "%s",
		 f->x->in->signal ? f->x->in->signal
				  : (f->x->in->runtime->explain.type ? f->x->in->runtime->explain.type : "Error"));
	memcpy(e->message, e->cause, sizeof(e->message));
}

static bool try_kinds(struct explainer *x, const struct runtime_kind *kinds, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct finding f = { .x = x, .kind = &kinds[i], .where = { "", 0 } };

		if (source_line(source_find(x->in, x->out->file), x->out->line, &f.where))
			span_copy(f.where, f.code, sizeof(f.code));
		if (finding_applies(&f) && finding_say(&f)) {
			finding_adopt(&f);
			return true;
		}
	}
	return false;
}

void kind_find(struct explainer *x)
{
	const struct runtime_explain *own = &x->in->runtime->explain;
	const struct runtime *like = explain_like(x->in), *meant = looks_like(x);
	struct explanation *e = x->out;

	if (meant) {
		snprintf(e->kind, sizeof(e->kind), "wrong-language");
		snprintf(e->suggestion, sizeof(e->suggestion),
			 "This looks like %s, and was run as %s: say that its language is %s.", meant->display,
			 x->in->runtime->display, meant->name);
		return;
	}
	if (!try_kinds(x, own->kinds, own->kind_count) &&
	    !(like && try_kinds(x, like->explain.kinds, like->explain.kind_count)))
		try_kinds(x, explain_common, explain_common_count);
}
