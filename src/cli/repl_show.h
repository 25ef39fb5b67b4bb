/* Shows the events of a cell: its streams, values, errors and images. */
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
	bool out_tty, err_tty;      /* whether our streams are terminals */
	bool colour;                /* use colours */
	bool ask;                   /* the terminal can be asked about images */
	bool may_be_kitty;          /* the environment indicates kitty's protocol */
	unsigned width;             /* width of the terminal; 0: no truncation */
	struct line_editor *editor; /* receives input that arrives while the terminal is asked; NULL: none */
	struct filter out, err;     /* filters of the running cell */
	struct trace trace;         /* traceback filter of its stderr */
	struct filter *last;        /* the filter that printed last, or NULL */
	bool failed;                /* our output has no reader any more */
	bool asked;                 /* the terminal was asked */
	enum image_way way;         /* its answer */
	unsigned cell, pictures;    /* number of the running cell, and of its images so far */
	char directory[PATH_MAX];   /* directory of files with images; "": none yet */
	json_t *result;             /* result of the last cell; owned */
	char refused[1024];         /* why there is no result; "": unknown */
};

void show_open(struct show *show);
void show_begin(struct show *show, unsigned cell);
/* Handles an event of the cell; `userdata` is the struct show. */
void show_event(const char *name, const char *data, size_t size, void *userdata);
/* Call it when the cell has ended: resets colours, and ends an open line. */
void show_end(struct show *show);
void show_free(struct show *show);
/* Call it after the terminal has echoed input: `open`: in the middle of a line. */
void show_echo(struct show *show, bool open);

/* Prints a message of ours on a line of its own: dimmed, or as a problem. */
void show_note(struct show *show, const char *format, ...) EB_PRINTF(2, 3);
void show_problem(struct show *show, const char *format, ...) EB_PRINTF(2, 3);
/* Prints a text on standard output. */
void show_text(struct show *show, const struct buf *text);
/* Shows a value by its media types. */
void show_bundle(struct show *show, const json_t *bundle);
/* Shows an error that is not in the program's output. */
void show_error(struct show *show, const json_t *result);
