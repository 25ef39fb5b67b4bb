#include "language/pattern.h"

#include "base/own.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Units of effort: a step is one attempt at an item of a pattern, or 16 bytes that an item runs over. A step takes
 * about 35 ns, so a call takes at most some 40 ms, and a line 1 ms. PCRE's own limits are not enough: they start anew
 * at each byte of a line and do not count bytes.
 */
enum {
	STEPS_MATCH_MAX = 25000, /* steps for one pattern and one line */
	STEPS_MATCH = 5,         /* steps for the call itself */
	STEP_BYTES = 16,
	TEXT_MAX = 1 << 20,  /* bytes that are read */
	LINES_MAX = 16384,   /* lines that are read */
	WINDOW_MAX = 16384,  /* bytes of a line, or of the lines that a pattern spans */
	GROUPS_MAX = 32,     /* groups in a pattern, including the whole match */
	HEAP_KIB_MAX = 4096, /* PCRE's memory for backtracking */
	PATTERN_MAX = 65536, /* bytes of a pattern with the file's name filled in */
	NUMBER_DIGITS = 9,   /* digits of a line number; more are invalid */
};

static void *memory_take(size_t size, void *heap)
{
	return heap_alloc(heap, size);
}

static void memory_give(void *data, void *heap)
{
	heap_free(heap, data);
}

void pattern_free(struct pattern *pattern)
{
	pcre2_code_free(pattern->code);
}

static int count_steps(pcre2_callout_block *block, void *data)
{
	struct effort *effort = data;
	size_t from = effort->position, to = block->current_position;

	effort->position = to;
	effort->match_left -= 1 + (long)((to > from ? to - from : from - to) / STEP_BYTES);
	return effort->match_left < 0 ? PCRE2_ERROR_MATCHLIMIT : 0;
}

static pcre2_code *pattern_compile(const char *text, pcre2_general_context *memory, int *error, size_t *offset)
{
	/* Bytes, not characters: output of programs need not be UTF-8. */
	uint32_t options = PCRE2_NEVER_UTF | PCRE2_NEVER_UCP | PCRE2_DUPNAMES | PCRE2_AUTO_CALLOUT | PCRE2_MULTILINE |
			   PCRE2_FIRSTLINE;
	pcre2_compile_context *context = pcre2_compile_context_create(memory);
	pcre2_code *code = NULL;

	*error = PCRE2_ERROR_NOMEMORY;
	*offset = 0;
	if (!context)
		return NULL;
	pcre2_set_newline(context, PCRE2_NEWLINE_LF);
	pcre2_set_max_pattern_length(context, PATTERN_MAX);
	code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, options, error, offset, context);
	pcre2_compile_context_free(context);
	return code;
}

static bool is_plain(unsigned char c)
{
	return c >= 0x80 || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

/* Escapes each special byte; \Q would end at a \E in the name. */
static char *name_quote(char *to, const char *name)
{
	to = stpcpy(to, "(?:");
	for (; *name; name++) {
		if (!is_plain((unsigned char)*name))
			*to++ = '\\';
		*to++ = *name;
	}
	*to++ = ')';
	return to;
}

/* Replaces {file} by the file's name. The caller frees the result; NULL if memory ran out. */
static char *fill_in(struct heap *heap, const char *text, const char *file)
{
	static const char mark[] = "{file}";
	size_t marks = 0;
	char *filled, *to;

	for (const char *at = text; (at = strstr(at, mark)) != NULL; at += sizeof(mark) - 1)
		marks++;
	filled = heap_alloc(heap, strlen(text) + marks * (2 * strlen(file) + 4) + 1);
	to = filled;
	for (const char *at; filled && (at = strstr(text, mark)) != NULL; text = at + sizeof(mark) - 1) {
		to = mempcpy(to, text, (size_t)(at - text));
		to = name_quote(to, file);
	}
	if (filled)
		strcpy(to, text);
	return filled;
}

struct pattern pattern_make(struct matcher *matcher, const char *text, const char *file)
{
	struct pattern pattern = { 0 };
	char *filled = text ? fill_in(matcher->heap, text, file ? file : "") : NULL;
	size_t offset;
	int error;

	if (!filled)
		return pattern;
	pattern.code = pattern_compile(filled, matcher->memory, &error, &offset);
	pattern.goes_on = strstr(text, "\\n") != NULL;
	heap_free(matcher->heap, filled);
	return pattern;
}

struct pattern *pattern_list(struct matcher *matcher, const char *const *texts, const char *file, size_t *count)
{
	struct pattern *list;

	for (*count = 0; texts && texts[*count]; (*count)++)
		;
	list = heap_alloc(matcher->heap, (*count + 1) * sizeof(*list));
	if (!list)
		*count = 0;
	for (size_t i = 0; i < *count; i++)
		list[i] = pattern_make(matcher, texts[i], file);
	return list;
}

void pattern_list_free(struct matcher *matcher, struct pattern *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		pattern_free(&list[i]);
	heap_free(matcher->heap, list);
}

bool pattern_find(const char *pattern, const char *group, const char *text, char *out, size_t size)
{
	_cleanup_pattern_ struct pattern compiled = { 0 };
	pcre2_match_data *data = pcre2_match_data_create(GROUPS_MAX, NULL);
	size_t offset, room = size;
	int error;
	bool found;

	compiled.code = pattern_compile(pattern, NULL, &error, &offset);
	found = compiled.code && data &&
		pcre2_match(compiled.code, (PCRE2_SPTR)text, strlen(text), 0, 0, data, NULL) > 0 &&
		pcre2_substring_copy_byname(data, (PCRE2_SPTR)group, (PCRE2_UCHAR *)out, &room) == 0;
	pcre2_match_data_free(data);
	return found;
}

bool pattern_check(const char *pattern, char *why, size_t size)
{
	/* As long as {file}, so that offsets in errors are those of the pattern. */
	static const char sample[] = "(?:xy)";
	_cleanup_free_ char *text = strdup(pattern);
	_cleanup_pattern_ struct pattern compiled = { 0 };
	uint32_t groups = 0;
	PCRE2_UCHAR reason[160];
	size_t offset;
	int error;

	if (!text) {
		snprintf(why, size, "out of memory");
		return false;
	}
	for (char *mark; (mark = strstr(text, "{file}")) != NULL;)
		memcpy(mark, sample, sizeof(sample) - 1);
	compiled.code = pattern_compile(text, NULL, &error, &offset);
	if (!compiled.code) {
		pcre2_get_error_message(error, reason, sizeof(reason));
		snprintf(why, size, "%s, at character %zu", (const char *)reason, offset + 1);
		return false;
	}
	pcre2_pattern_info(compiled.code, PCRE2_INFO_CAPTURECOUNT, &groups);
	if (groups >= GROUPS_MAX) {
		snprintf(why, size, "%u groups, more than %d", groups, GROUPS_MAX - 1);
		return false;
	}
	return true;
}

bool matcher_open(struct matcher *matcher, struct heap *heap)
{
	*matcher = (struct matcher){ .effort.left = PATTERN_STEPS, .heap = heap };
	matcher->memory = pcre2_general_context_create(memory_take, memory_give, heap);
	matcher->context = matcher->memory ? pcre2_match_context_create(matcher->memory) : NULL;
	matcher->data = matcher->memory ? pcre2_match_data_create(GROUPS_MAX, matcher->memory) : NULL;
	if (!matcher->context || !matcher->data)
		return false;
	pcre2_set_callout(matcher->context, count_steps, &matcher->effort);
	pcre2_set_match_limit(matcher->context, STEPS_MATCH_MAX);
	pcre2_set_depth_limit(matcher->context, STEPS_MATCH_MAX);
	pcre2_set_heap_limit(matcher->context, HEAP_KIB_MAX);
	return true;
}

void matcher_close(struct matcher *matcher)
{
	pcre2_match_data_free(matcher->data);
	pcre2_match_context_free(matcher->context);
	pcre2_general_context_free(matcher->memory);
}

bool matcher_able(const struct matcher *matcher)
{
	return matcher->effort.left > STEPS_MATCH;
}

bool pattern_match(struct matcher *matcher, const struct pattern *pattern, struct line *line)
{
	struct effort *effort = &matcher->effort;
	size_t size = pattern->goes_on ? (size_t)(line->text_end - line->here.start) : line->here.size;
	long allowed;
	int rc;

	if (!pattern->code || effort->left <= STEPS_MATCH)
		return false;
	effort->left -= STEPS_MATCH;
	allowed = effort->left < STEPS_MATCH_MAX ? effort->left : STEPS_MATCH_MAX;
	effort->match_left = allowed;
	effort->position = 0;
	rc = pcre2_match(pattern->code, (PCRE2_SPTR)line->here.start, size < WINDOW_MAX ? size : WINDOW_MAX, 0, 0,
			 matcher->data, matcher->context);
	effort->left -= allowed - effort->match_left;
	if (rc < 0)
		return false;
	line->match_end = line->here.start + pcre2_get_ovector_pointer(matcher->data)[1];
	return true;
}

const struct pattern *pattern_match_any(struct matcher *matcher, const struct pattern *list, size_t count,
					struct line *line)
{
	for (size_t i = 0; i < count; i++)
		if (pattern_match(matcher, &list[i], line))
			return &list[i];
	return NULL;
}

bool pattern_group(struct matcher *matcher, const struct pattern *pattern, const struct line *line, const char *name,
		   struct span *span)
{
	const size_t *ends = pcre2_get_ovector_pointer(matcher->data);
	PCRE2_SPTR first, last;
	int entry = pcre2_substring_nametable_scan(pattern->code, (PCRE2_SPTR)name, &first, &last);

	if (entry < 0)
		return false;
	for (; first <= last; first += entry) {
		size_t number = (size_t)(first[0] << 8 | first[1]);

		if (number >= GROUPS_MAX || ends[2 * number] == PCRE2_UNSET)
			continue;
		span->start = line->here.start + ends[2 * number];
		span->size = ends[2 * number + 1] - ends[2 * number];
		return true;
	}
	return false;
}

const char *pattern_group_name(const struct pattern *pattern, size_t n)
{
	uint32_t count = 0, size = 0;
	PCRE2_SPTR table = NULL;

	if (!pattern->code || pcre2_pattern_info(pattern->code, PCRE2_INFO_NAMECOUNT, &count) != 0 || n >= count ||
	    pcre2_pattern_info(pattern->code, PCRE2_INFO_NAMEENTRYSIZE, &size) != 0 ||
	    pcre2_pattern_info(pattern->code, PCRE2_INFO_NAMETABLE, &table) != 0)
		return NULL;
	/* The group's number is in the first two bytes. */
	return (const char *)table + n * size + 2;
}

static bool blank_byte(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f';
}

void span_copy(struct span from, char *to, size_t size)
{
	size_t length = 0;

	while (from.size && blank_byte(from.start[from.size - 1]))
		from.size--;
	for (size_t i = 0; i < from.size && length < size - 1; i++) {
		char c = from.start[i];

		if (c == '\n') {
			while (length && blank_byte(to[length - 1]))
				length--;
			/* The last byte is not a blank. */
			while (blank_byte(from.start[i + 1]))
				i++;
			c = ' ';
		}
		to[length++] = (char)(c ? c : ' ');
	}
	to[length] = '\0';
}

long span_number(struct span digits)
{
	long number = 0;

	if (digits.size > NUMBER_DIGITS)
		return 0;
	for (size_t i = 0; i < digits.size; i++) {
		if (digits.start[i] < '0' || digits.start[i] > '9')
			return 0;
		number = number * 10 + digits.start[i] - '0';
	}
	return number;
}

bool span_is(struct span span, const char *text)
{
	return span.size == strlen(text) && memcmp(span.start, text, span.size) == 0;
}

static bool line_blank(struct span span)
{
	for (size_t i = 0; i < span.size; i++)
		if (!blank_byte(span.start[i]))
			return false;
	return true;
}

/* The line that starts at `start`. */
static struct line line_at(struct span text, const char *start)
{
	const char *text_end = text.start + text.size, *end = memchr(start, '\n', (size_t)(text_end - start));
	struct line line = { .here = { start, (size_t)((end ? end : text_end) - start) }, .text_end = text_end };

	if (line.here.size && start[line.here.size - 1] == '\r')
		line.here.size--;
	return line;
}

bool line_next(struct span text, const char **at, struct line *line)
{
	const char *text_end = text.start + text.size;

	while (*at < text_end) {
		const char *end = memchr(*at, '\n', (size_t)(text_end - *at));

		*line = line_at(text, *at);
		*at = end ? end + 1 : text_end;
		if (!line_blank(line->here))
			return true;
	}
	return false;
}

bool line_before(struct span text, const char **at, struct line *line)
{
	while (*at > text.start) {
		do
			--*at;
		while (*at > text.start && (*at)[-1] != '\n');
		*line = line_at(text, *at);
		if (!line_blank(line->here))
			return true;
	}
	return false;
}

struct span span_part(const char *text, size_t size, bool first)
{
	struct span all = { text, size < TEXT_MAX ? size : TEXT_MAX };
	const char *at;
	struct line line;
	size_t count = 0;

	if (!first)
		all.start = text + size - all.size;
	at = first ? all.start : all.start + all.size;
	while (count < LINES_MAX && (first ? line_next(all, &at, &line) : line_before(all, &at, &line)))
		count++;
	if (first)
		all.size = (size_t)(at - all.start);
	else
		all.size -= (size_t)(at - all.start), all.start = at;
	return all;
}
