/* The code of the request: its files by name, and their lines. */
#include "explain/explain_parts.h"

#include "base/own.h"

#include <string.h>

struct span source_short(struct span file)
{
	static const char *const heads[] = { "file://", "/sandbox/code/", "./" };

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		size_t head = strlen(heads[i]);

		if (file.size > head && memcmp(file.start, heads[i], head) == 0) {
			file.start += head;
			file.size -= head;
		}
	}
	return file;
}

const struct explain_source *source_find(const struct explain_input *in, const char *file)
{
	if (!*file)
		return NULL;
	for (size_t i = 0; i < in->code_count; i++)
		if (strcmp(in->code[i].name, file) == 0)
			return &in->code[i];
	/* Java and others print no directories. */
	for (size_t i = 0; i < in->code_count && !strchr(file, '/'); i++) {
		const char *slash = strrchr(in->code[i].name, '/');

		if (slash && strcmp(slash + 1, file) == 0)
			return &in->code[i];
	}
	return NULL;
}

bool source_line(const struct explain_source *source, long number, struct span *line)
{
	const char *at = source ? source->data : NULL, *end = at ? at + source->size : NULL;

	for (long i = 1; at && at < end; i++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		if (i == number) {
			line->start = at;
			line->size = (size_t)((newline ? newline : end) - at);
			if (line->size && at[line->size - 1] == '\r')
				line->size--;
			return true;
		}
		at = newline ? newline + 1 : NULL;
	}
	return false;
}

long source_characters(struct span line, size_t bytes)
{
	long count = 0;

	for (size_t i = 0; i < bytes && i < line.size; i++)
		count += ((unsigned char)line.start[i] & 0xC0) != 0x80;
	return count;
}

/* Copies a line with its indentation. */
static void copy_line(struct span line, char *to, size_t size)
{
	size_t length = line.size < size - 1 ? line.size : size - 1;

	/* Do not cut inside a character. */
	while (length < line.size && length > 0 && (line.start[length] & 0xC0) == 0x80)
		length--;
	for (size_t i = 0; i < length; i++)
		to[i] = (char)(line.start[i] ? line.start[i] : ' ');
	to[length] = '\0';
}

void source_context(struct explainer *x)
{
	struct explanation *out = x->out;
	const struct explain_source *source = source_find(x->in, out->file);
	struct span line;

	for (size_t i = 0; i < out->frame_count; i++) {
		struct explain_frame *frame = &out->frames[i];

		if (frame->user && frame->line > 0 && source_line(source_find(x->in, frame->file), frame->line, &line))
			span_copy(line, frame->text, sizeof(frame->text));
	}
	if (!source || out->line == 0)
		return;
	for (long at = out->line - EXPLAIN_LINES / 2; at <= out->line + EXPLAIN_LINES / 2; at++) {
		struct explain_line *to = &out->context[out->context_count];

		if (at < 1 || !source_line(source, at, &line))
			continue;
		to->line = at;
		to->mark = at == out->line;
		copy_line(line, to->text, sizeof(to->text));
		out->context_count++;
	}
}
