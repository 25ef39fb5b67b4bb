/*
 * A message cut into blocks of code and the words around them.
 *
 * A block is between fences (``` or ~~~), also behind the marks of a quotation;
 * without any fence it is a run of lines that look like code. What a terminal
 * showed becomes the commands that were typed there.
 */
#include "policy/detect_parts.h"

#include "base/own.h"

#include <ctype.h>
#include <string.h>

struct block_line {
	const char *text; /* without quotation marks and its end */
	size_t size;      /* of it */
	size_t quotes;    /* marks of a quotation that were there */
};

enum {
	QUOTES_MAX = 8 /* quotations in quotations */
};

/* The next line without at most so many marks of quotations, and where it ends. */
static size_t line_next(const char *at, size_t left, size_t quotes, struct block_line *out)
{
	const char *newline = memchr(at, '\n', left);
	size_t size = newline ? (size_t)(newline - at) : left, step = size + (newline != NULL);

	*out = (struct block_line){ .text = at, .size = size };
	if (out->size > 0 && out->text[out->size - 1] == '\r')
		out->size--;
	while (out->quotes < quotes && out->size > 0 && out->text[0] == '>') {
		size_t mark = out->size > 1 && out->text[1] == ' ' ? 2 : 1;

		out->text += mark;
		out->size -= mark;
		out->quotes++;
	}
	return step;
}

/* How many marks of a fence the line begins with; 0: none. */
static size_t fence_of(const struct block_line *line, char *mark, size_t *indent)
{
	size_t at = 0, count = 0;

	while (at < line->size && line->text[at] == ' ')
		at++;
	if (at == line->size || (line->text[at] != '`' && line->text[at] != '~'))
		return 0;
	*mark = line->text[at];
	*indent = at;
	while (at + count < line->size && line->text[at + count] == *mark)
		count++;
	return count >= 3 ? count : 0;
}

/* The end of a terminal's prompt: "$ ", "user@host:~$ ", "root@box:~# ", ">>> "; 0: none. */
static size_t prompt_of(const struct block_line *line)
{
	size_t at = 0;

	if (line->size >= 2 && memcmp(line->text, "$ ", 2) == 0)
		return 2;
	if (line->size >= 2 && memcmp(line->text, "% ", 2) == 0)
		return 2;
	if (line->size >= 4 && (memcmp(line->text, ">>> ", 4) == 0 || memcmp(line->text, "... ", 4) == 0))
		return 4;
	while (at < line->size && at < 64 &&
	       (isalnum((unsigned char)line->text[at]) || strchr("@:~/._-", line->text[at])))
		at++;
	if (at + 1 < line->size && memchr(line->text, '@', at) && (line->text[at] == '$' || line->text[at] == '#') &&
	    line->text[at + 1] == ' ')
		return at + 2;
	return 0;
}

/* What was typed at the prompts of a terminal; `output`: something else was there too. False: there were none. */
static bool transcript_read(const char *code, size_t size, struct buf *typed, bool *output, bool *python)
{
	bool found = false;

	*output = *python = false;
	for (size_t at = 0; at < size;) {
		struct block_line line;
		size_t prompt;

		at += line_next(code + at, size - at, 0, &line);
		prompt = prompt_of(&line);
		if (!prompt) {
			/* A comment or a program that only begins like a transcript. */
			if (!found && line.size > 0)
				return false;
			*output |= line.size > 0;
			continue;
		}
		found = true;
		*python |= prompt == 4;
		buf_add(typed, line.text + prompt, line.size - prompt);
		buf_add(typed, "\n", 1);
	}
	return found;
}

size_t detect_look(struct detect_parts *parts, size_t size)
{
	size_t left = parts->looked < DETECT_LOOK_ALL ? DETECT_LOOK_ALL - parts->looked : 0;
	size_t most = left < DETECT_LOOK_MAX ? left : DETECT_LOOK_MAX;

	most = most < DETECT_LOOK_MIN ? DETECT_LOOK_MIN : most;
	size = size < most ? size : most;
	parts->looked += size;
	return size;
}

static void block_add(struct detect_parts *parts, const char *word, const char *code, size_t size)
{
	struct detected *found = parts->found;
	_cleanup_buf_ struct buf typed = { 0 };
	struct detect_block *block;
	const char *language;
	bool output, python, data = *word && detect_is_data(word);
	size_t look;

	if (found->block_count == DETECT_BLOCKS_MAX)
		return;
	block = &found->blocks[found->block_count];
	language = data ? NULL : detect_fence_language(word);
	look = detect_look(parts, size);
	block->runnable = !data && !detect_is_complaint(code, look);
	if (block->runnable && transcript_read(code, size, &typed, &output, &python)) {
		parts->transcript |= output;
		language = python ? "python" : "bash";
		code = typed.data;
		size = typed.size;
	}
	if (!language)
		language = data ? "" : detect_content(code, size < look ? size : look);
	/* A word that nobody knows, and nothing to see in the code. */
	if (!*language && *word)
		block->runnable = false;
	block->language = language;
	block->code = arena_copy(parts->arena, code ? code : "", size);
	block->size = size;
	parts->no_memory |= !block->code || typed.failed;
	if (block->code)
		found->block_count++;
}

/* Prose, with code between single backticks taken out of it. */
static void prose_add(struct detect_parts *parts, const struct block_line *line)
{
	const char *at = line->text, *end = line->text + line->size;

	while (at < end) {
		const char *open = memchr(at, '`', (size_t)(end - at));
		const char *close = open ? memchr(open + 1, '`', (size_t)(end - open - 1)) : NULL;

		if (!close) {
			buf_add(&parts->prose, at, (size_t)(end - at));
			break;
		}
		buf_add(&parts->prose, at, (size_t)(open - at));
		buf_add(&parts->prose, " ", 1);
		buf_add(&parts->inlined, open + 1, (size_t)(close - open - 1));
		buf_add(&parts->inlined, "", 1);
		at = close + 1;
	}
	buf_add(&parts->prose, "\n", 1);
}

/* ```code``` in the middle of a line. True: it was there. */
static bool fence_inside(struct detect_parts *parts, const struct block_line *line)
{
	const char *open = memmem(line->text, line->size, "```", 3), *close, *end = line->text + line->size;

	close = open ? memmem(open + 3, (size_t)(end - open) - 3, "```", 3) : NULL;
	if (!close || close == open + 3)
		return false;
	prose_add(parts, &(struct block_line){ .text = line->text, .size = (size_t)(open - line->text) });
	block_add(parts, "", open + 3, (size_t)(close - open) - 3);
	prose_add(parts, &(struct block_line){ .text = close + 3, .size = (size_t)(end - close) - 3 });
	return true;
}

/* The first word behind a fence: "python", "{.python}", "js title=x". */
static void fence_word(const char *text, size_t size, char out[32])
{
	size_t used = 0, at = 0;

	while (at < size && (text[at] == ' ' || text[at] == '{' || text[at] == '.'))
		at++;
	while (at < size && used + 1 < 32 && !isspace((unsigned char)text[at]) && !strchr("}{,:", text[at]))
		out[used++] = text[at++];
	out[used] = '\0';
}

struct fence {
	char mark;     /* '`' or '~' */
	size_t count;  /* of them */
	size_t indent; /* blanks before them, which its lines have too */
	size_t quotes; /* the same of marks of a quotation */
	char word[32]; /* behind them */
};

/* From behind the fence's line to behind its end. */
static size_t fence_read(struct detect_parts *parts, const char *message, size_t at, size_t size,
			 const struct fence *fence)
{
	_cleanup_buf_ struct buf code = { 0 };

	while (at < size) {
		struct block_line line;
		char other = 0;
		size_t skip = 0, blank = 0, closing;

		at += line_next(message + at, size - at, fence->quotes, &line);
		closing = fence_of(&line, &other, &blank);
		if (closing >= fence->count && other == fence->mark && blank + closing == line.size)
			break;
		while (skip < fence->indent && skip < line.size && line.text[skip] == ' ')
			skip++;
		buf_add(&code, line.text + skip, line.size - skip);
		buf_add(&code, "\n", 1);
	}
	parts->no_memory |= code.failed;
	block_add(parts, fence->word, code.data ? code.data : "", code.size);
	return at;
}

/* Without fences: from the first line that looks like code to the last, if enough of them do. */
static void cut_plain(struct detect_parts *parts)
{
	_cleanup_buf_ struct buf prose = { 0 };
	const char *text = parts->prose.data;
	size_t size = parts->prose.size, first = size, head = size, last = 0, sure = 0, doubtful = 0;
	const size_t most = size < DETECT_PLAIN_MAX ? size : DETECT_PLAIN_MAX;
	const char *line, *newline;

	for (size_t at = 0; at < most; at = (size_t)(newline - text) + 1) {
		int like;

		line = text + at;
		newline = memchr(line, '\n', size - at);
		if (!newline || newline > text + most)
			newline = text + most;
		like = detect_code_line(line, (size_t)(newline - line));
		sure += like == 2;
		doubtful += like == 0 && first < size && newline > line;
		if (like == 2 || (like == 1 && first < size)) {
			first = first < at ? first : head < at ? head : at;
			last = (size_t)(newline - text);
		}
		/* Lines before the first that belong to it; blank ones may be among them. */
		if (newline > line)
			head = !detect_code_head(line, (size_t)(newline - line)) ? size : head < at ? head : at;
	}
	if (sure == 0 || doubtful > sure + 2)
		return;
	/* Code up to where nobody looks any more goes on behind it. */
	if (last == most)
		last = size;
	buf_add(&prose, text, first);
	buf_add(&prose, "\n", 1);
	buf_add(&prose, text + last, size - last);
	block_add(parts, "", text + first, last - first);
	if (prose.failed) {
		parts->no_memory = true;
		return;
	}
	buf_free(&parts->prose);
	parts->prose = (struct buf){ .data = prose.data, .size = prose.size, .room = prose.room };
	prose = (struct buf){ 0 };
}

void detect_cut(const char *message, size_t size, struct detect_parts *parts)
{
	for (size_t at = 0; at < size;) {
		struct block_line line;
		struct fence fence = { .mark = '`', .count = 3 };
		size_t count;

		at += line_next(message + at, size - at, QUOTES_MAX, &line);
		fence.quotes = line.quotes;
		if (fence_inside(parts, &line))
			continue;
		count = fence_of(&line, &fence.mark, &fence.indent);
		if (!count) {
			/* A fence may also open behind words: "is it right? ```python". */
			const char *open = memmem(line.text, line.size, "```", 3);
			size_t before = open ? (size_t)(open - line.text) : line.size;

			prose_add(parts, &(struct block_line){ .text = line.text, .size = before });
			if (!open)
				continue;
			fence = (struct fence){ .mark = '`', .count = 3, .quotes = line.quotes };
			fence_word(open + 3, line.size - before - 3, fence.word);
			at = fence_read(parts, message, at, size, &fence);
			continue;
		}
		fence.count = count;
		fence_word(line.text + fence.indent + count, line.size - fence.indent - count, fence.word);
		at = fence_read(parts, message, at, size, &fence);
	}
	if (parts->found->block_count == 0 && parts->prose.data)
		cut_plain(parts);
	parts->no_memory |= parts->prose.failed || parts->inlined.failed;
}
