/* What a cell does, shown as it happens: its streams, its values, its errors, its pictures. */
#pragma once

#include "base/buf.h"
#include "term/filter.h"
#include "term/image.h"
#include "term/traceback.h"

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct line_editor;

struct show {
	bool out_tty, err_tty;      /* which of our streams are terminals */
	bool colour;                /* colours are wanted */
	bool ask;                   /* a person is there: the terminal can be asked what it can */
	bool may_be_kitty;          /* the environment says that the terminal may be asked in kitty's words */
	unsigned width;             /* of the terminal; 0: nothing is cut */
	struct line_editor *editor; /* gets what was typed while the terminal was asked; NULL: nobody */
	struct filter out, err;     /* of the running cell */
	struct trace trace;         /* of its stderr */
	struct filter *last;        /* the one that printed last, or NULL */
	bool failed;                /* nobody reads our output any more */
	bool asked;                 /* whether the terminal was asked */
	enum image_way way;         /* what it said */
	unsigned cell, pictures;    /* the running cell's number, and its files so far */
	char directory[PATH_MAX];   /* of files with pictures; "": none yet */
	json_t *result;             /* of the cell that ran; owned */
	char refused[1024];         /* instead of a result: why there is none; "": not said */
};

void show_open(struct show *show);
void show_begin(struct show *show, unsigned cell);
/* An event of the cell; `userdata` is the struct show. */
void show_event(const char *name, const char *data, size_t size, void *userdata);
/* The cell is over: colours and lines as they were. */
void show_end(struct show *show);
void show_free(struct show *show);
/* The terminal itself has shown something that was typed: `open` in the middle of a line. */
void show_echo(struct show *show, bool open);

/* A sentence of ours, dimmed or as a problem, on a line of its own. */
void show_note(struct show *show, const char *format, ...) EB_PRINTF(2, 3);
void show_problem(struct show *show, const char *format, ...) EB_PRINTF(2, 3);
/* A text on standard output as it is. */
void show_text(struct show *show, const struct buf *text);
/* What the language says of something, from its media types. */
void show_bundle(struct show *show, const json_t *bundle);
/* An error that the program's own output does not tell. */
void show_error(struct show *show, const json_t *result);
