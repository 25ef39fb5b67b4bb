#include "runtime/errors.h"

#include "base/own.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <limits.h>
#include <pcre2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CODE_PLACE "/sandbox/code/"

/*
 * What the effort is counted in: a step is an item of a pattern that is tried, or 16 bytes that one runs over. About
 * 35 ns, so that a call takes some 40 ms at most, and a line 1 ms. PCRE's own limits begin anew at each byte of a
 * line, and count no bytes, so they alone would bound nothing.
 */
enum {
	STEPS_MAX = 800000,      /* of a call; half as many again for what a compiler says */
	STEPS_MATCH_MAX = 25000, /* of a pattern and a line */
	STEPS_MATCH = 5,         /* for the call itself */
	STEP_BYTES = 16,
	TEXT_MAX = 1 << 20,  /* bytes looked at */
	LINES_MAX = 16384,   /* lines looked at */
	WINDOW_MAX = 16384,  /* of a line, or of the lines that a pattern goes on into */
	GROUPS_MAX = 32,     /* in a pattern, with the whole */
	HEAP_KIB_MAX = 4096, /* what a match may remember to come back to */
	PATTERN_MAX = 65536, /* with the file's name in it */
	NUMBER_DIGITS = 9,   /* of a line's number; more are no number */
};

struct pattern {
	pcre2_code *code;
	bool goes_on; /* into the lines that follow */
};

struct span {
	const char *start;
	size_t size;
};

struct effort {
	long left;       /* steps of the call */
	long match_left; /* of the match */
	size_t position; /* in the line, when last counted */
};

/* One call of errors_find or errors_cause. */
struct reader {
	struct effort effort;
	pcre2_match_context *context;
	pcre2_match_data *data;
	const char *file;
	struct span text;
};

/* A line of the text, and the last match in it. */
struct line {
	struct span here;      /* without its end */
	const char *text_end;  /* of all lines */
	const char *match_end; /* where the match ends */
};

static void pattern_free(struct pattern *pattern)
{
	pcre2_code_free(pattern->code);
}

#define _cleanup_pattern_ _cleanup_(pattern_free)

static int count_steps(pcre2_callout_block *block, void *data)
{
	struct effort *effort = data;
	size_t from = effort->position, to = block->current_position;

	effort->position = to;
	effort->match_left -= 1 + (long)((to > from ? to - from : from - to) / STEP_BYTES);
	return effort->match_left < 0 ? PCRE2_ERROR_MATCHLIMIT : 0;
}

static pcre2_code *compile(const char *text, int *error, size_t *offset)
{
	/* Bytes, not characters: what a program writes need not be UTF-8. */
	uint32_t options = PCRE2_NEVER_UTF | PCRE2_NEVER_UCP | PCRE2_DUPNAMES | PCRE2_AUTO_CALLOUT | PCRE2_MULTILINE |
			   PCRE2_FIRSTLINE;
	pcre2_compile_context *context = pcre2_compile_context_create(NULL);
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

/* Every byte that could mean something with a backslash; \Q would end at a \E in the name. */
static void quote(FILE *out, const char *name)
{
	fputs("(?:", out);
	for (; *name; name++) {
		unsigned char c = (unsigned char)*name;
		bool plain = c >= 0x80 || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');

		if (!plain)
			fputc('\\', out);
		fputc(c, out);
	}
	fputc(')', out);
}

/* The pattern with the file's name for {file}; freed by the caller, NULL without memory. */
static char *fill_in(const char *text, const char *file)
{
	char *filled = NULL;
	size_t size;
	FILE *out = open_memstream(&filled, &size);

	if (!out)
		return NULL;
	for (const char *mark; (mark = strstr(text, "{file}")) != NULL; text = mark + strlen("{file}")) {
		fwrite(text, 1, (size_t)(mark - text), out);
		quote(out, file);
	}
	fputs(text, out);
	if (fclose(out) == 0)
		return filled;
	free(filled);
	return NULL;
}

static struct pattern pattern_make(const char *text, const char *file)
{
	struct pattern pattern = { 0 };
	_cleanup_free_ char *filled = text ? fill_in(text, file ? file : "") : NULL;
	size_t offset;
	int error;

	if (!filled)
		return pattern;
	pattern.code = compile(filled, &error, &offset);
	pattern.goes_on = strstr(text, "\\n") != NULL;
	return pattern;
}

bool errors_group(const char *pattern, const char *group, const char *text, char *out, size_t size)
{
	_cleanup_pattern_ struct pattern compiled = { 0 };
	pcre2_match_data *data = pcre2_match_data_create(GROUPS_MAX, NULL);
	size_t offset, room = size;
	int error;
	bool found;

	compiled.code = compile(pattern, &error, &offset);
	found = compiled.code && data &&
		pcre2_match(compiled.code, (PCRE2_SPTR)text, strlen(text), 0, 0, data, NULL) > 0 &&
		pcre2_substring_copy_byname(data, (PCRE2_SPTR)group, (PCRE2_UCHAR *)out, &room) == 0;
	pcre2_match_data_free(data);
	return found;
}

bool errors_pattern_check(const char *pattern, char *why, size_t size)
{
	/* As long as {file}, so that the place in it is that in the pattern. */
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
	compiled.code = compile(text, &error, &offset);
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

static bool reader_open(struct reader *reader)
{
	reader->effort.left = STEPS_MAX;
	reader->context = pcre2_match_context_create(NULL);
	reader->data = pcre2_match_data_create(GROUPS_MAX, NULL);
	if (!reader->context || !reader->data)
		return false;
	pcre2_set_callout(reader->context, count_steps, &reader->effort);
	pcre2_set_match_limit(reader->context, STEPS_MATCH_MAX);
	pcre2_set_depth_limit(reader->context, STEPS_MATCH_MAX);
	pcre2_set_heap_limit(reader->context, HEAP_KIB_MAX);
	return true;
}

static void reader_close(struct reader *reader)
{
	pcre2_match_data_free(reader->data);
	pcre2_match_context_free(reader->context);
}

#define _cleanup_reader_ _cleanup_(reader_close)

static bool matches(struct reader *reader, const struct pattern *pattern, struct line *line)
{
	struct effort *effort = &reader->effort;
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
			 reader->data, reader->context);
	effort->left -= allowed - effort->match_left;
	if (rc < 0)
		return false;
	line->match_end = line->here.start + pcre2_get_ovector_pointer(reader->data)[1];
	return true;
}

/* The group of that name, in the last match; false when it has none or took no part. */
static bool group(struct reader *reader, const struct pattern *pattern, const struct line *line, const char *name,
		  struct span *span)
{
	const size_t *ends = pcre2_get_ovector_pointer(reader->data);
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

static bool blank_byte(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f';
}

/* As one line: its ends and what surrounds a newline are cut. A zero byte would hide the rest. */
static void copy(struct span from, char *to, size_t size)
{
	size_t length = 0;

	while (from.size && blank_byte(from.start[from.size - 1]))
		from.size--;
	for (size_t i = 0; i < from.size && length < size - 1; i++) {
		char c = from.start[i];

		if (c == '\n') {
			while (length && blank_byte(to[length - 1]))
				length--;
			/* The last byte is no blank. */
			while (blank_byte(from.start[i + 1]))
				i++;
			c = ' ';
		}
		to[length++] = (char)(c ? c : ' ');
	}
	to[length] = '\0';
}

static long number_of(struct span digits)
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

/* As the program's author knows it: below the directory of the code. */
static struct span short_name(const char *name, size_t size)
{
	struct span span = { name, size };
	static const char *const heads[] = { CODE_PLACE, "./" };

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		size_t head = strlen(heads[i]);

		if (span.size > head && memcmp(span.start, heads[i], head) == 0) {
			span.start += head;
			span.size -= head;
		}
	}
	return span;
}

/* Where the last match says that it is, over what is known so far. */
static bool take_place(struct reader *reader, const struct pattern *pattern, const struct line *line,
		       struct errors_found *found)
{
	struct span span, code;
	bool told = group(reader, pattern, line, "line", &span);

	if (told) {
		found->line = number_of(span);
		found->column = 0;
	}
	if (group(reader, pattern, line, "column", &span))
		found->column = number_of(span);
	if (group(reader, pattern, line, "file", &span)) {
		span = short_name(span.start, span.size);
		code = short_name(reader->file, strlen(reader->file));
		found->file[0] = '\0';
		if (span.size != code.size || memcmp(span.start, code.start, code.size) != 0)
			copy(span, found->file, sizeof(found->file));
	}
	return told;
}

static void take_message(struct reader *reader, const struct pattern *pattern, const struct line *line,
			 struct errors_found *found)
{
	struct span span;

	if (!group(reader, pattern, line, "message", &span))
		span = line->here;
	copy(span, found->message, sizeof(found->message));
}

static bool blank(struct span span)
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

/* Steps to the next line that is not blank; `at` is where to look. False at the end. */
static bool line_next(struct span text, const char **at, struct line *line)
{
	const char *text_end = text.start + text.size;

	while (*at < text_end) {
		const char *end = memchr(*at, '\n', (size_t)(text_end - *at));

		*line = line_at(text, *at);
		*at = end ? end + 1 : text_end;
		if (!blank(line->here))
			return true;
	}
	return false;
}

/* The same from the end of the text: `at` is where the line after it starts. */
static bool line_before(struct span text, const char **at, struct line *line)
{
	while (*at > text.start) {
		do
			--*at;
		while (*at > text.start && (*at)[-1] != '\n');
		*line = line_at(text, *at);
		if (!blank(line->here))
			return true;
	}
	return false;
}

/* A compiler's first errors matter, and a program's last words. */
static struct span part(const char *text, size_t size, bool first)
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

struct form {
	struct pattern unless, place, match, ends;
};

static void form_free(struct form *form)
{
	pattern_free(&form->unless);
	pattern_free(&form->place);
	pattern_free(&form->match);
	pattern_free(&form->ends);
}

/* Whether the line is the error; if so, it is in *found. */
static bool is_error(struct reader *reader, const struct form *form, struct line *line, struct errors_found *place,
		     bool *placed, struct errors_found *found)
{
	bool own;

	if (matches(reader, &form->place, line)) {
		take_place(reader, &form->place, line, place);
		*placed = true;
	}
	if (!matches(reader, &form->match, line))
		return false;
	*found = *place;
	own = take_place(reader, &form->match, line, found);
	if (form->place.code && !*placed && !own)
		return false;
	take_message(reader, &form->match, line, found);
	found->kind = ERRORS_SYNTAX;
	return true;
}

static bool find_form(struct reader *reader, const struct runtime_syntax *syntax, struct errors_found *found)
{
	_cleanup_(form_free) struct form form = {
		.unless = pattern_make(syntax->unless, reader->file),
		.place = pattern_make(syntax->place, reader->file),
		.match = pattern_make(syntax->match, reader->file),
		.ends = pattern_make(syntax->ends, reader->file),
	};
	struct errors_found place = { .kind = ERRORS_NONE };
	const char *at = reader->text.start, *match_end = NULL;
	bool placed = false, is = false;
	struct line line;

	while (line_next(reader->text, &at, &line)) {
		if (matches(reader, &form.unless, &line))
			return false;
		if (is && form.ends.code && line.here.start >= match_end && !matches(reader, &form.ends, &line))
			is = false;
		if (is)
			continue;
		is = is_error(reader, &form, &line, &place, &placed, found);
		match_end = line.match_end;
		if (is && !form.unless.code && !form.ends.code)
			break;
	}
	/* What was not looked at might have said otherwise. */
	return is && reader->effort.left > STEPS_MATCH;
}

static struct pattern *pattern_list(const char *const *texts, const char *file, size_t *count)
{
	struct pattern *list;

	for (*count = 0; texts && texts[*count]; (*count)++)
		;
	list = calloc(*count + 1, sizeof(*list));
	if (!list)
		*count = 0;
	for (size_t i = 0; i < *count; i++)
		list[i] = pattern_make(texts[i], file);
	return list;
}

static void pattern_list_free(struct pattern *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		pattern_free(&list[i]);
	free(list);
}

/* The first of the patterns that the line matches, or NULL. */
static const struct pattern *match_any(struct reader *reader, const struct pattern *list, size_t count,
				       struct line *line)
{
	for (size_t i = 0; i < count; i++)
		if (matches(reader, &list[i], line))
			return &list[i];
	return NULL;
}

static void find_compile(struct reader *reader, const char *const *texts, struct errors_found *found)
{
	size_t count;
	struct pattern *list = pattern_list(texts, reader->file, &count);
	const char *at = reader->text.start;
	struct line line;

	while (count && line_next(reader->text, &at, &line)) {
		const struct pattern *pattern = match_any(reader, list, count, &line);

		if (!pattern)
			continue;
		found->kind = ERRORS_COMPILE;
		take_place(reader, pattern, &line, found);
		take_message(reader, pattern, &line, found);
		break;
	}
	pattern_list_free(list, count);
}

void errors_find(const struct runtime *runtime, const struct errors_input *input, struct errors_found *found)
{
	const struct runtime_errors *errors = &runtime->errors;
	_cleanup_reader_ struct reader reader = { .file = input->file ? input->file : "" };

	*found = (struct errors_found){ .kind = ERRORS_NONE };
	/* What runs after a compiler was compiled: the program itself said this. */
	if (input->size == 0 || (runtime->compile.step.argv && !input->compiling) || !reader_open(&reader))
		return;
	reader.text = part(input->text, input->size, input->compiling);
	for (size_t i = 0; i < errors->syntax_count; i++) {
		const struct runtime_syntax *syntax = &errors->syntax[i];

		if ((syntax->exit >= 0 && syntax->exit != input->exit_code) || (syntax->silent && input->printed))
			continue;
		if (find_form(&reader, syntax, found))
			return;
		*found = (struct errors_found){ .kind = ERRORS_NONE };
	}
	if (input->compiling) {
		/* Syntax forms that took long must not hide what else there is. */
		reader.effort.left = STEPS_MAX / 2;
		find_compile(&reader, errors->compile, found);
	}
}

/* The last line that is like one of the patterns, or like none of them; what it says is in *said. */
static bool last_line(struct reader *reader, const char *const *texts, bool like, struct span *said)
{
	size_t count;
	struct pattern *list = pattern_list(texts, reader->file, &count);
	const char *at = reader->text.start + reader->text.size;
	struct line line;
	bool is = false;

	while (!is && line_before(reader->text, &at, &line)) {
		const struct pattern *pattern = match_any(reader, list, count, &line);

		is = (pattern != NULL) == like;
		if (is && (!pattern || !group(reader, pattern, &line, "message", said)))
			*said = line.here;
	}
	pattern_list_free(list, count);
	return is;
}

void errors_cause(const struct runtime *runtime, const char *text, size_t size, char *line, size_t line_size)
{
	const struct runtime_errors *errors = &runtime->errors;
	_cleanup_reader_ struct reader reader = { .file = "" };
	struct span said;
	bool is;

	line[0] = '\0';
	if (size == 0 || !reader_open(&reader))
		return;
	reader.text = part(text, size, false);
	reader.effort.left = STEPS_MAX / 2;
	is = errors->cause && errors->cause[0] && last_line(&reader, errors->cause, true, &said);
	reader.effort.left = STEPS_MAX / 2;
	if (is || last_line(&reader, errors->noise, false, &said))
		copy(said, line, line_size);
}
