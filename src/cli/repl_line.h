/* A line from a person: editing and history by libedit, completion by whoever knows the session. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct line_editor;

enum line_got {
	LINE_TEXT,        /* a line; what was recalled from history may have several */
	LINE_INTERRUPTED, /* Ctrl-C: what was typed is dropped */
	LINE_END,         /* Ctrl-D, the end of the terminal, or a signal that ends us */
};

/* What a completion found. */
struct line_matches {
	char **words;   /* NULL-terminated; owned */
	size_t replace; /* characters before the cursor that a word replaces */
};

/* Asked at Tab for the line as it is; `cursor` is a byte of it. False: nothing is known. */
typedef bool line_complete_fn(const char *line, size_t cursor, struct line_matches *matches, void *userdata);

struct line_options {
	const char *history;        /* the file's name in the state directory's repl; NULL: none is kept */
	bool plain;                 /* a terminal that can do nothing: no editing */
	unsigned width;             /* of the terminal, for lists */
	int wake_fd;                /* readable: `on_wake` is called */
	int (*on_wake)(void *data); /* 0: go on; 1: the line is interrupted; -1: the end; 2: the size changed */
	line_complete_fn *complete; /* or NULL */
	void *userdata;             /* for both */
};

/* NULL without memory. `options` has to live as long. */
struct line_editor *line_editor_new(const struct line_options *options);
void line_editor_free(struct line_editor *editor);
/* `prompt` may have escapes between \1 and \1. *text is terminated, without the line's end, until the next call. */
enum line_got line_editor_read(struct line_editor *editor, const char *prompt, const char **text);
/* A cell for the history, here and in the file. */
void line_editor_remember(struct line_editor *editor, const char *cell);
/* Bytes that were typed while the terminal was not the editor's: a NUL among them is a Ctrl-D. */
void line_editor_push(struct line_editor *editor, const char *data, size_t size);

/* The longest beginning that all words have in common, in bytes; whole characters. Pure. */
size_t line_common(char *const *words);
/* Words in columns for a terminal of `width` cells. Pure. */
void line_columns(char *const *words, unsigned width, struct buf *out);
