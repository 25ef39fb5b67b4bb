#include "language/errors.h"

#include "base/own.h"

#include <string.h>

#define CODE_PLACE "/sandbox/code/"

/* State of one call of errors_find() or errors_cause(). */
struct errors_reader {
	struct matcher matcher; /* a compiler's output gets half as much effort again */
	const char *file;       /* the code file's path */
	struct span text;       /* the text that is searched */
	const char *at;         /* start of the line of the last syntax error */
};

static bool reader_open(struct errors_reader *reader, const char *file, struct heap *heap)
{
	reader->file = file ? file : "";
	return matcher_open(&reader->matcher, heap);
}

static void reader_close(struct errors_reader *reader)
{
	matcher_close(&reader->matcher);
}

/* The path as the author knows it: below the directory of the code. */
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

/* Overwrites the known place with the one in the last match. */
static bool take_place(struct errors_reader *reader, const struct pattern *pattern, const struct line *line,
		       struct errors_found *found)
{
	struct span span, code;
	bool told = pattern_group(&reader->matcher, pattern, line, "line", &span);

	if (told) {
		found->line = span_number(span);
		found->column = 0;
	}
	if (pattern_group(&reader->matcher, pattern, line, "column", &span))
		found->column = span_number(span);
	if (pattern_group(&reader->matcher, pattern, line, "file", &span)) {
		span = short_name(span.start, span.size);
		code = short_name(reader->file, strlen(reader->file));
		found->file[0] = '\0';
		if (span.size != code.size || memcmp(span.start, code.start, code.size) != 0)
			span_copy(span, found->file, sizeof(found->file));
	}
	return told;
}

static void take_message(struct errors_reader *reader, const struct pattern *pattern, const struct line *line,
			 struct errors_found *found)
{
	struct span span;

	if (!pattern_group(&reader->matcher, pattern, line, "message", &span))
		span = line->here;
	span_copy(span, found->message, sizeof(found->message));
	if (pattern_group(&reader->matcher, pattern, line, "code", &span))
		span_copy(span, found->code, sizeof(found->code));
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

/* Whether the line is the error; if so, fills *found. */
static bool is_error(struct errors_reader *reader, const struct form *form, struct line *line,
		     struct errors_found *place, bool *placed, struct errors_found *found)
{
	bool own;

	if (pattern_match(&reader->matcher, &form->place, line)) {
		take_place(reader, &form->place, line, place);
		*placed = true;
	}
	if (!pattern_match(&reader->matcher, &form->match, line))
		return false;
	*found = *place;
	own = take_place(reader, &form->match, line, found);
	if (form->place.code && !*placed && !own)
		return false;
	take_message(reader, &form->match, line, found);
	found->kind = ERRORS_SYNTAX;
	return true;
}

static bool find_form(struct errors_reader *reader, const struct runtime_syntax *syntax, struct errors_found *found)
{
	_cleanup_(form_free) struct form form = {
		.unless = pattern_make(&reader->matcher, syntax->unless, reader->file),
		.place = pattern_make(&reader->matcher, syntax->place, reader->file),
		.match = pattern_make(&reader->matcher, syntax->match, reader->file),
		.ends = pattern_make(&reader->matcher, syntax->ends, reader->file),
	};
	struct errors_found place = { .kind = ERRORS_NONE };
	const char *at = reader->text.start, *match_end = NULL;
	bool placed = false, is = false;
	struct line line;

	while (line_next(reader->text, &at, &line)) {
		if (pattern_match(&reader->matcher, &form.unless, &line))
			return false;
		if (is && form.ends.code && line.here.start >= match_end &&
		    !pattern_match(&reader->matcher, &form.ends, &line))
			is = false;
		if (is)
			continue;
		is = is_error(reader, &form, &line, &place, &placed, found);
		match_end = line.match_end;
		if (is)
			reader->at = line.here.start;
		if (is && !form.unless.code && !form.ends.code)
			break;
	}
	/* Unknown if effort ran out: an unread line might decide otherwise. */
	return is && matcher_able(&reader->matcher);
}

/* Collects the first `max` errors and returns their number. */
static size_t find_compile(struct errors_reader *reader, const char *const *texts, struct errors_found *found,
			   size_t max)
{
	size_t count, told = 0;
	struct pattern *list = pattern_list(&reader->matcher, texts, reader->file, &count);
	const char *at = reader->text.start;
	struct line line;

	while (count && told < max && line_next(reader->text, &at, &line)) {
		const struct pattern *pattern = pattern_match_any(&reader->matcher, list, count, &line);

		if (!pattern)
			continue;
		found[told] = (struct errors_found){ .kind = ERRORS_COMPILE };
		take_place(reader, pattern, &line, &found[told]);
		take_message(reader, pattern, &line, &found[told]);
		told++;
	}
	pattern_list_free(&reader->matcher, list, count);
	return told;
}

/* A compiler that continues after an error reports consequences of it, so the first error is the cause. */
static void find_earlier(struct errors_reader *reader, const struct runtime_errors *errors, struct errors_found *found)
{
	reader->text.size = (size_t)(reader->at - reader->text.start);
	reader->matcher.effort.left = PATTERN_STEPS / 2;
	find_compile(reader, errors->compile, found, 1);
}

void errors_find(const struct runtime *runtime, const struct errors_input *input, struct errors_found *found)
{
	const struct runtime_errors *errors = &runtime->errors;
	_cleanup_(reader_close) struct errors_reader reader = { 0 };

	*found = (struct errors_found){ .kind = ERRORS_NONE };
	/* The output comes from the program, which a compiler has compiled. */
	if (input->size == 0 || (runtime->compile.step.argv && !input->compiling) ||
	    !reader_open(&reader, input->file, input->heap))
		return;
	reader.text = span_part(input->text, input->size, input->compiling);
	for (size_t i = 0; i < errors->syntax_count; i++) {
		const struct runtime_syntax *syntax = &errors->syntax[i];

		if ((syntax->exit >= 0 && syntax->exit != input->exit_code) || (syntax->silent && input->printed))
			continue;
		if (find_form(&reader, syntax, found)) {
			if (syntax->first && input->compiling)
				find_earlier(&reader, errors, found);
			return;
		}
		*found = (struct errors_found){ .kind = ERRORS_NONE };
	}
	if (input->compiling) {
		/* Slow syntax forms must not use up the effort for other patterns. */
		reader.matcher.effort.left = PATTERN_STEPS / 2;
		find_compile(&reader, errors->compile, found, 1);
	}
}

size_t errors_list(const struct runtime *runtime, const struct errors_input *input, struct errors_found *found,
		   size_t max)
{
	_cleanup_(reader_close) struct errors_reader reader = { 0 };

	if (input->size == 0 || !reader_open(&reader, input->file, input->heap))
		return 0;
	reader.text = span_part(input->text, input->size, true);
	reader.matcher.effort.left = PATTERN_STEPS;
	return find_compile(&reader, runtime->errors.compile, found, max);
}

/* The last line that matches one of the patterns, or none of them; its message is in *said. */
static bool last_line(struct errors_reader *reader, const char *const *texts, bool like, struct span *said)
{
	size_t count;
	struct pattern *list = pattern_list(&reader->matcher, texts, reader->file, &count);
	const char *at = reader->text.start + reader->text.size;
	struct line line;
	bool is = false;

	while (!is && line_before(reader->text, &at, &line)) {
		const struct pattern *pattern = pattern_match_any(&reader->matcher, list, count, &line);

		is = (pattern != NULL) == like;
		if (is && (!pattern || !pattern_group(&reader->matcher, pattern, &line, "message", said)))
			*said = line.here;
	}
	pattern_list_free(&reader->matcher, list, count);
	return is;
}

void errors_cause(const struct runtime *runtime, const struct errors_input *input, char *line, size_t size)
{
	const struct runtime_errors *errors = &runtime->errors;
	_cleanup_(reader_close) struct errors_reader reader = { 0 };
	struct span said;
	bool is;

	line[0] = '\0';
	if (input->size == 0 || !reader_open(&reader, NULL, input->heap))
		return;
	reader.text = span_part(input->text, input->size, false);
	reader.matcher.effort.left = PATTERN_STEPS / 2;
	is = errors->cause && errors->cause[0] && last_line(&reader, errors->cause, true, &said);
	reader.matcher.effort.left = PATTERN_STEPS / 2;
	if (is || last_line(&reader, errors->noise, false, &said))
		span_copy(said, line, size);
}
