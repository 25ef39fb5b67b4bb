/*
 * Failures: the program chooses what it writes, its code, its exit code and its signal. The first byte is the language,
 * the second the rest: the exit code (2 bits), whether it printed, compiled, was killed, and how much memory there is.
 * Then a line with a file's name, the code up to a zero byte, and standard error.
 */
#include "fuzz.h"

#include "explain/explain.h"

static void text_holds(const char *text, size_t size)
{
	MUST(memchr(text, '\0', size));
	MUST(!strchr(text, '\n'));
}

static void explanation_holds(const struct explanation *e)
{
	text_holds(e->cause, sizeof(e->cause));
	text_holds(e->type, sizeof(e->type));
	text_holds(e->message, sizeof(e->message));
	text_holds(e->file, sizeof(e->file));
	text_holds(e->kind, sizeof(e->kind));
	text_holds(e->suggestion, sizeof(e->suggestion));
	text_holds(e->docs, sizeof(e->docs));
	text_holds(e->signature, sizeof(e->signature));
	text_holds(e->call, sizeof(e->call));
	text_holds(e->host, sizeof(e->host));
	MUST(e->frame_count <= EXPLAIN_FRAMES && e->frame_count <= e->frame_total);
	MUST(e->context_count <= EXPLAIN_LINES);
	MUST(e->line >= 0 && e->column >= 0);
	for (size_t i = 0; i < e->frame_count; i++) {
		text_holds(e->frames[i].file, sizeof(e->frames[i].file));
		text_holds(e->frames[i].function, sizeof(e->frames[i].function));
		text_holds(e->frames[i].text, sizeof(e->frames[i].text));
	}
	for (size_t i = 0; i < e->context_count; i++)
		text_holds(e->context[i].text, sizeof(e->context[i].text));
	if (e->there)
		MUST(e->type[0] && e->signature[0]);
	if (e->suggestion[0])
		MUST(e->kind[0]);
	if (e->fix.line > 0)
		MUST(e->fix.column >= 1 && e->fix.end_column >= e->fix.column && e->fix.line == e->line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct explanation e, settled;
	static char memory[8 << 20];
	static const struct runtime *all[64];
	const uint8_t *newline = size > 3 ? memchr(data + 2, '\n', size - 2) : NULL, *end = data + size, *zero;
	struct explain_input in = { .all = all };
	struct explain_source code[2] = { 0 };
	struct heap heap = { .base = memory };
	const char *files[2] = { NULL };
	char *name, *text;
	size_t count = 0;

	if (!newline)
		return 0;
	while (count < 63 && runtime_at(count)) {
		all[count] = runtime_at(count);
		count++;
	}
	in.runtime = all[data[0] % count];
	in.exit_code = data[1] & 3;
	in.printed = data[1] & 4;
	in.compiling = data[1] & 8;
	in.exited = !(data[1] & 16);
	in.signal = in.exited ? NULL : "SIGSEGV";
	heap.size = data[1] & 32 ? 64 << 10 : sizeof(memory);
	name = fuzz_text_of(data + 2, (size_t)(newline - data) - 2);
	zero = memchr(newline + 1, '\0', (size_t)(end - newline) - 1);
	if (zero) {
		code[0] = (struct explain_source){ name, (const char *)newline + 1, (size_t)(zero - newline) - 1 };
		in.code_count = 1;
	}
	text = fuzz_text_of(zero ? zero + 1 : newline + 1, (size_t)(end - (zero ? zero + 1 : newline + 1)));
	in.text = text;
	in.size = (size_t)(end - (zero ? zero + 1 : newline + 1));
	in.file = name;
	in.code = code;
	files[0] = name;
	in.files = files;
	memset(&e, 'x', sizeof(e));
	explain_make(&in, &heap, &e);
	explanation_holds(&e);
	settled = e;
	explanation_settle(&settled);
	MUST(memcmp(&settled, &e, sizeof(e)) == 0);
	/* Whoever filled it. */
	memset(&settled, 'x', sizeof(settled));
	explanation_settle(&settled);
	MUST(memchr(settled.type, '\0', sizeof(settled.type)) && settled.frame_count <= EXPLAIN_FRAMES);
	free(name);
	free(text);
	return 0;
}
