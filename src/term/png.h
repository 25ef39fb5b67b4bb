/*
 * Decodes PNG to pixels, for terminals with sixel.
 *
 * This decodes untrusted images in the user's process, so it supports only
 * simple PNG: eight bits a sample, not interlaced, as all libraries write.
 * Other images are not shown but kept as files. zlib decompresses; every size
 * is bounded before memory is allocated. Pure, with a fuzz target.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
	PNG_PIXELS_MAX = 4 << 20, /* maximum pixels of an image */
};

/* RGBA, four bytes a pixel; the caller frees it. NULL: damaged, too large, or unsupported. */
unsigned char *png_pixels(const void *data, size_t size, uint32_t *width, uint32_t *height);
