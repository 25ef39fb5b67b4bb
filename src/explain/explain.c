#include "explain/explain_parts.h"

#include "base/own.h"

#include <stdio.h>
#include <string.h>

const struct runtime *explain_like(const struct explain_input *in)
{
	const char *like = in->runtime->explain.like;

	for (const struct runtime *const *r = in->all; like && r && *r; r++)
		if (strcmp((*r)->name, like) == 0)
			return *r;
	return NULL;
}

/* The patterns of the language, or of the language that it is `like`. */
static const char *const *error_patterns(const struct explainer *x)
{
	const struct runtime *like = explain_like(x->in);

	if (x->in->runtime->explain.errors || !like)
		return x->in->runtime->explain.errors;
	return like->explain.errors;
}

static const char *default_type(const struct explainer *x)
{
	const struct runtime *like = explain_like(x->in);

	if (x->in->runtime->explain.type)
		return x->in->runtime->explain.type;
	return like && like->explain.type ? like->explain.type : "Error";
}

/* Reads the type and the message from the line that says why the program failed. */
static void read_error(struct explainer *x)
{
	struct explanation *out = x->out;
	struct span cause = { out->cause, strlen(out->cause) }, part;
	struct line line = { .here = cause, .text_end = cause.start + cause.size };
	size_t count;
	struct pattern *list = pattern_list(&x->matcher, error_patterns(x), x->in->file, &count);
	const struct pattern *pattern = cause.size ? pattern_match_any(&x->matcher, list, count, &line) : NULL;

	if (pattern) {
		out->there = true;
		if (pattern_group(&x->matcher, pattern, &line, "type", &part))
			span_copy(part, out->type, sizeof(out->type));
		if (pattern_group(&x->matcher, pattern, &line, "message", &part))
			span_copy(part, out->message, sizeof(out->message));
	}
	pattern_list_free(&x->matcher, list, count);
	if (!out->there && out->frame_count == 0 && !x->in->signal)
		return;
	out->there = true;
	if (!out->type[0])
		snprintf(out->type, sizeof(out->type), "%s", x->in->signal ? x->in->signal : default_type(x));
	if (!out->message[0] && !pattern)
		snprintf(out->message, sizeof(out->message), "%s", out->cause);
}

static void take_found(struct explainer *x)
{
	struct explanation *out = x->out;
	const struct errors_found *found = &out->found;
	struct span file = { x->in->file ? x->in->file : "", strlen(x->in->file ? x->in->file : "") };

	out->there = true;
	snprintf(out->type, sizeof(out->type), "%s", found->kind == ERRORS_SYNTAX ? "SyntaxError" : "CompileError");
	memcpy(out->message, found->message, sizeof(out->message));
	if (found->file[0])
		file = (struct span){ found->file, strlen(found->file) };
	span_copy(source_short(file), out->file, sizeof(out->file));
	out->line = found->line;
	out->column = found->column;
}

/* Facts reported by an interpreter itself have precedence over its text. */
static void take_told(struct explainer *x)
{
	const struct explain_input *in = x->in;

	if (!x->out->there || !in->told_file || !*in->told_file || in->told_line <= 0)
		return;
	snprintf(x->out->file, sizeof(x->out->file), "%s", in->told_file);
	x->out->line = in->told_line;
	x->out->column = in->told_column;
}

/* The end of the quoted part that starts at `at`, or NULL. */
static const char *end_of_quote(const char *at)
{
	static const char *const quotes[][2] = {
		{ "'", "'" }, { "\"", "\"" }, { "`", "'" }, { "`", "`" }, { "‘", "’" }
	};

	for (size_t i = 0; i < ARRAY_SIZE(quotes); i++) {
		size_t size = strlen(quotes[i][0]);
		const char *end = strncmp(at, quotes[i][0], size) == 0 ? strstr(at + size, quotes[i][1]) : NULL;

		if (end)
			return end + strlen(quotes[i][1]);
	}
	return NULL;
}

/* Leaves out quoted parts and words that begin with a digit, because they differ from run to run. */
static void make_signature(struct explainer *x)
{
	struct explanation *out = x->out;
	size_t used =
		(size_t)snprintf(out->signature, sizeof(out->signature), "%s %s: ", x->in->runtime->name, out->type);
	const char *at = out->message;

	while (*at && used < sizeof(out->signature) - 8) {
		const char *end = end_of_quote(at);

		if (end) {
			out->signature[used++] = '_';
			at = end;
		} else if (*at >= '0' && *at <= '9') {
			out->signature[used++] = '0';
			at += strspn(at, "0123456789abcdefABCDEFx.");
		} else {
			out->signature[used++] = *at++;
		}
	}
	out->signature[used < sizeof(out->signature) ? used : sizeof(out->signature) - 1] = '\0';
}

void explain_make(const struct explain_input *in, struct heap *heap, struct explanation *out)
{
	struct explainer x = { .in = in, .out = out };
	struct errors_input input = {
		.text = in->text,
		.size = in->size,
		.file = in->file,
		.exit_code = in->exit_code,
		.printed = in->printed,
		.compiling = in->compiling,
		.heap = heap,
	};

	memset(out, 0, sizeof(*out));
	if (in->exited)
		errors_find(in->runtime, &input, &out->found);
	errors_cause(in->runtime, &input, out->cause, sizeof(out->cause));
	if (!matcher_open(&x.matcher, heap)) {
		matcher_close(&x.matcher);
		return;
	}
	x.text = span_part(in->text, in->size, in->compiling);
	if (!in->compiling)
		trace_read(&x);
	if (out->found.kind != ERRORS_NONE)
		take_found(&x);
	else
		read_error(&x);
	take_told(&x);
	caret_read(&x);
	x.matcher.effort.left = PATTERN_STEPS;
	kind_find(&x);
	source_context(&x);
	if (out->there)
		make_signature(&x);
	matcher_close(&x.matcher);
	explanation_settle(out);
}

#define END(text) ((text)[sizeof(text) - 1] = '\0')

static void settle_numbers(long *line, long *column)
{
	*line = *line > 0 ? *line : 0;
	*column = *line > 0 && *column > 0 ? *column : 0;
}

void explanation_settle(struct explanation *e)
{
	END(e->found.message);
	END(e->found.file);
	settle_numbers(&e->found.line, &e->found.column);
	if (e->found.kind != ERRORS_SYNTAX && e->found.kind != ERRORS_COMPILE)
		e->found.kind = ERRORS_NONE;
	END(e->cause);
	END(e->type);
	END(e->message);
	END(e->file);
	settle_numbers(&e->line, &e->column);
	END(e->kind);
	END(e->suggestion);
	END(e->docs);
	END(e->signature);
	END(e->call);
	END(e->host);
	END(e->fix.file);
	END(e->fix.text);
	settle_numbers(&e->fix.line, &e->fix.column);
	if (e->fix.column == 0 || e->fix.end_column < e->fix.column)
		e->fix.line = 0;
	if (e->frame_count > EXPLAIN_FRAMES)
		e->frame_count = EXPLAIN_FRAMES;
	for (size_t i = 0; i < e->frame_count; i++) {
		END(e->frames[i].file);
		END(e->frames[i].function);
		END(e->frames[i].text);
		settle_numbers(&e->frames[i].line, &e->frames[i].column);
	}
	if (e->context_count > EXPLAIN_LINES)
		e->context_count = EXPLAIN_LINES;
	for (size_t i = 0; i < e->context_count; i++)
		END(e->context[i].text);
}
