/*
 * Images in a terminal: converts PNG to escape sequences, and parses a
 * terminal's answers. Pure.
 *
 * kitty's protocol passes the PNG to the terminal. Sixel needs pixels, and
 * decoding an untrusted PNG is a risk, so png_pixels() of png.h is used only if
 * the terminal has sixel and not kitty's protocol.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	IMAGE_SIDE_MAX = 8192, /* maximum width and height in pixels */
};

enum image_way {
	IMAGE_FILE,  /* the terminal shows no images */
	IMAGE_KITTY, /* kitty's graphics protocol */
	IMAGE_SIXEL, /* DEC's sixel graphics */
};

/* Reads the size of a PNG. False if it is no PNG, or too large. */
bool image_png_size(const void *data, size_t size, uint32_t *width, uint32_t *height);
/* kitty's protocol: PNG as base64 in pieces, at the cursor, without an answer. `columns` bounds the width in cells; 0:
 * unbounded. */
void image_kitty(const void *png, size_t size, unsigned columns, struct buf *out);
/* Sixel: RGBA pixels, at most 216 colours, dithered; transparent pixels stay unchanged. */
void image_sixel(const unsigned char *rgba, uint32_t width, uint32_t height, struct buf *out);

/* A question about a terminal's features. `kitty`: only if the environment says that the terminal knows such sequences,
 * because others might print them. Both end with a question that every terminal answers, so that no timeout is
 * needed. */
const char *image_question(bool kitty);
/* Whether the environment variables (TERM and others) indicate kitty's protocol. Any may be NULL. */
bool image_may_be_kitty(const char *term, const char *program, const char *kitty_window, const char *konsole);
/* Parses the answers so far. True if they are complete: *way is set, and they are the *used bytes of `data` at *begin;
 * the other bytes were typed. */
bool image_answer(const char *data, size_t size, size_t *begin, size_t *used, enum image_way *way);
