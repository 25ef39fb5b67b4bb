/*
 * Pictures in a terminal. Pure: PNG in, escape sequences out, and what a
 * terminal's answers mean.
 *
 * kitty's protocol hands the PNG to the terminal as it is. Sixel needs pixels,
 * and reading a stranger's PNG is a risk of its own, so that is done by
 * png_pixels() of png.h only where a terminal has sixel and not kitty's.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	IMAGE_SIDE_MAX = 8192, /* pixels */
};

enum image_way {
	IMAGE_FILE,  /* the terminal shows no pictures */
	IMAGE_KITTY, /* kitty's graphics protocol */
	IMAGE_SIXEL, /* DEC's sixel graphics */
};

/* Reads the size of a PNG. False: it is none, or none of a size that we show. */
bool image_png_size(const void *data, size_t size, uint32_t *width, uint32_t *height);
/* kitty's protocol: PNG, in pieces of base64, shown where the cursor is, no answer wanted. `columns` bounds its width
 * in cells; 0: as large as it is. */
void image_kitty(const void *png, size_t size, unsigned columns, struct buf *out);
/* Sixel: RGBA pixels, at most 216 colours, dithered; what is transparent stays as it is. */
void image_sixel(const unsigned char *rgba, uint32_t width, uint32_t height, struct buf *out);

/* What asks a terminal what it can. `kitty` only where the environment says that the terminal knows such sequences:
 * others might print them. Both end with the question that every terminal answers, so nobody waits for nothing. */
const char *image_question(bool kitty);
/* By the names of the environment: TERM and what terminals set. Any may be NULL. */
bool image_may_be_kitty(const char *term, const char *program, const char *kitty_window, const char *konsole);
/* Reads the answers so far. True: they are whole, *way is set, and *used bytes of `data` from *begin belong to them:
 * what is around them was typed. */
bool image_answer(const char *data, size_t size, size_t *begin, size_t *used, enum image_way *way);
