/* Reads frames by the language's patterns, line by line. */
#include "explain/explain_parts.h"

#include "base/own.h"

#include <string.h>

enum {
	OLDEST = 8 /* oldest frames that are kept of a trace that is too long: they show where it came from */
};

/* A trace that is being read. */
struct stack_trace {
	struct explanation *out; /* receives the frames */
	size_t total;            /* number of frames so far */
	size_t keep;             /* number of first frames that are kept if there are too many */
};

static bool is_user(const struct explainer *x, struct span file, bool library)
{
	static const char place[] = "/sandbox/";
	struct span name = source_short(file);
	char text[256];

	if (library || file.size == 0)
		return false;
	if (name.start[0] == '/')
		return name.size > sizeof(place) - 1 && memcmp(name.start, place, sizeof(place) - 1) == 0;
	if (name.size != file.size)
		return true;
	span_copy(name, text, sizeof(text));
	/* Not every name in a project is known here. */
	return source_find(x->in, text) || (!memchr(text, ':', strlen(text)) && text[0] != '<' && text[0] != '[');
}

/* Adds a frame after `total` others. If there are too many, the ones in the middle are dropped. */
static struct explain_frame *frame_add(struct stack_trace *trace)
{
	struct explanation *out = trace->out;
	struct explain_frame *rest = &out->frames[trace->keep];

	trace->total++;
	if (out->frame_count < EXPLAIN_FRAMES)
		out->frame_count++;
	else
		memmove(rest, rest + 1, (EXPLAIN_FRAMES - trace->keep - 1) * sizeof(*rest));
	memset(&out->frames[out->frame_count - 1], 0, sizeof(out->frames[0]));
	return &out->frames[out->frame_count - 1];
}

static void read_frame(struct explainer *x, struct stack_trace *trace, const struct pattern *pattern, struct line *line)
{
	struct explain_frame *frame = frame_add(trace);
	struct span part, file = { "", 0 }, ignored;
	bool library = pattern_group(&x->matcher, pattern, line, "library", &ignored);

	if (pattern_group(&x->matcher, pattern, line, "file", &file))
		span_copy(source_short(file), frame->file, sizeof(frame->file));
	if (pattern_group(&x->matcher, pattern, line, "line", &part))
		frame->line = span_number(part);
	if (pattern_group(&x->matcher, pattern, line, "column", &part))
		frame->column = span_number(part);
	if (pattern_group(&x->matcher, pattern, line, "function", &part))
		span_copy(part, frame->function, sizeof(frame->function));
	frame->user = is_user(x, file, library);
}

static void turn_round(struct explanation *out)
{
	for (size_t i = 0; i < out->frame_count / 2; i++) {
		struct explain_frame other = out->frames[i];

		out->frames[i] = out->frames[out->frame_count - 1 - i];
		out->frames[out->frame_count - 1 - i] = other;
	}
}

static void take_place(struct explanation *out)
{
	for (size_t i = 0; i < out->frame_count; i++) {
		const struct explain_frame *frame = &out->frames[i];

		if (!frame->user || frame->line == 0)
			continue;
		memcpy(out->file, frame->file, sizeof(out->file));
		out->line = frame->line;
		out->column = frame->column;
		return;
	}
}

void trace_read(struct explainer *x)
{
	const struct runtime *like = explain_like(x->in);
	const struct runtime_explain *by = &x->in->runtime->explain;
	const char *at = x->text.start;
	struct stack_trace trace = { .out = x->out };
	struct pattern start, stop, *list;
	bool open = true;
	struct line line;
	size_t count;

	if (!by->frames && like)
		by = &like->explain;
	if (!by->frames)
		return;
	trace.keep = by->newest_last ? OLDEST : EXPLAIN_FRAMES - OLDEST;
	start = pattern_make(&x->matcher, by->start, x->in->file);
	stop = pattern_make(&x->matcher, by->stop, x->in->file);
	list = pattern_list(&x->matcher, by->frames, x->in->file, &count);
	while (line_next(x->text, &at, &line)) {
		const struct pattern *pattern;

		if (pattern_match(&x->matcher, &start, &line)) {
			open = true;
			trace.total = x->out->frame_count = 0;
		} else if (pattern_match(&x->matcher, &stop, &line)) {
			open = false;
		}
		pattern = open ? pattern_match_any(&x->matcher, list, count, &line) : NULL;
		if (pattern)
			read_frame(x, &trace, pattern, &line);
	}
	pattern_list_free(&x->matcher, list, count);
	pattern_free(&start);
	pattern_free(&stop);
	if (by->newest_last)
		turn_round(x->out);
	x->out->frame_total = trace.total;
	take_place(x->out);
}
