#include "explain/explanation_json.h"

#include "base/buf.h"
#include "base/own.h"

#include <string.h>

static json_t *text(const char *bytes)
{
	_cleanup_buf_ struct buf out = { 0 };

	buf_utf8(&out, bytes, strlen(bytes));
	return json_stringn(out.data ? out.data : "", out.size);
}

static json_t *text_or_null(const char *bytes)
{
	return *bytes ? text(bytes) : json_null();
}

static json_t *number_or_null(long number)
{
	return number > 0 ? json_integer(number) : json_null();
}

static json_t *frames_json(const struct explanation *e)
{
	json_t *list = json_array();

	for (size_t i = 0; i < e->frame_count; i++) {
		const struct explain_frame *frame = &e->frames[i];

		json_array_append_new(list,
				      json_pack("{s:o, s:o, s:o, s:o, s:b}", "file", text_or_null(frame->file), "line",
						number_or_null(frame->line), "function", text_or_null(frame->function),
						"text", text_or_null(frame->text), "user", frame->user));
	}
	return list;
}

static json_t *context_json(const struct explanation *e)
{
	json_t *list = json_array();

	for (size_t i = 0; i < e->context_count; i++)
		json_array_append_new(list, json_pack("{s:I, s:o, s:b}", "line", (json_int_t)e->context[i].line, "text",
						      text(e->context[i].text), "mark", e->context[i].mark));
	return list;
}

static json_t *fix_json(const struct explain_fix *fix)
{
	if (fix->line == 0)
		return json_null();
	return json_pack("{s:o, s:I, s:I, s:I, s:o}", "file", text(fix->file), "line", (json_int_t)fix->line, "column",
			 (json_int_t)fix->column, "end_column", (json_int_t)fix->end_column, "text", text(fix->text));
}

json_t *explanation_json(const struct explanation *e)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "type", text(e->type),
			 "message", text(e->message), "file", text_or_null(e->file), "line", number_or_null(e->line),
			 "column", number_or_null(e->column), "frames", frames_json(e), "frame_count",
			 (json_int_t)e->frame_total, "context", context_json(e), "kind", text_or_null(e->kind),
			 "suggestion", text_or_null(e->suggestion), "fix", fix_json(&e->fix), "docs",
			 text_or_null(e->docs), "signature", text(e->signature));
}
