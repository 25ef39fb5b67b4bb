/* Reads lines from a person: editing and history by libedit, completion by the caller. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct line_editor;

enum line_got {
	LINE_TEXT,        /* a line; one from the history may have several lines */
	LINE_INTERRUPTED, /* Ctrl-C: the line is dropped */
	LINE_END,         /* Ctrl-D, the end of the terminal, or a signal to exit */
};

/* The completions. */
struct line_matches {
	char **words;   /* NULL-terminated; owned */
	size_t replace; /* characters before the cursor that a completion replaces */
};

/* Called at Tab with the line; `cursor` is a byte offset. False: no completions. */
typedef bool line_complete_fn(const char *line, size_t cursor, struct line_matches *matches, void *userdata);

struct line_options {
	const char *history;        /* file name in the directory repl of the state directory; NULL: no history */
	bool plain;                 /* the terminal does not support editing */
	unsigned width;             /* width of the terminal, for lists */
	int wake_fd;                /* `on_wake` is called if it is readable */
	int (*on_wake)(void *data); /* returns 0: continue; 1: the line is interrupted; -1: end; 2: the size changed */
	line_complete_fn *complete; /* or NULL */
	void *userdata;             /* argument of both */
};

/* NULL if memory ran out. `options` must outlive the editor. */
struct line_editor *line_editor_new(const struct line_options *options);
void line_editor_free(struct line_editor *editor);
/* `prompt` may contain escapes between \1 and \1. *text is terminated, without the line end, and valid until the next
 * call. */
enum line_got line_editor_read(struct line_editor *editor, const char *prompt, const char **text);
/* Adds a cell to the history, in memory and in the file. */
void line_editor_remember(struct line_editor *editor, const char *cell);
/* Adds bytes that were typed before the editor had the terminal; a NUL is a Ctrl-D. */
void line_editor_push(struct line_editor *editor, const char *data, size_t size);

/* The length of the longest common beginning of all words, in bytes, without partial characters. Pure. */
size_t line_common(char *const *words);
/* Arranges words in columns for a terminal of `width` cells. Pure. */
void line_columns(char *const *words, unsigned width, struct buf *out);
