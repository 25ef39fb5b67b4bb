/*
 * PNG to pixels, for terminals that want those: sixel.
 *
 * What a stranger's program drew is read here, in the user's own process, so it
 * is only the plain part of PNG: eight bits a sample, not interlaced, as all
 * libraries write. Anything else is not shown but kept as a file. zlib inflates;
 * every size is known and bounded before memory is asked for. Pure, with a fuzz
 * target.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
	PNG_PIXELS_MAX = 4 << 20, /* of a picture that is shown */
};

/* RGBA, four bytes a pixel; the caller frees it. NULL: it is damaged, too large, or of a kind that is not read here. */
unsigned char *png_pixels(const void *data, size_t size, uint32_t *width, uint32_t *height);
