#include "term/png.h"

#include "base/own.h"
#include "term/image.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
	SIGNATURE = 8, /* bytes before the first chunk */
	COLOURS = 256, /* entries of a palette */
	GREY = 0,      /* kinds of pixels, as numbered by the format */
	RGB = 2,
	PALETTE = 3,
	GREY_ALPHA = 4,
	RGBA = 6,
};

struct png {
	uint32_t width, height;            /* in pixels */
	unsigned kind;                     /* kind of the pixels */
	size_t sample;                     /* bytes of a pixel in the file */
	unsigned char palette[COLOURS][4]; /* of PALETTE */
	unsigned char *raw;                /* rows, each after its filter byte; owned */
	size_t raw_size;                   /* bytes */
	size_t filled;                     /* bytes so far */
	z_stream inflater;                 /* over all IDAT chunks */
};

static uint32_t big_endian(const unsigned char *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static bool read_head(struct png *png, const unsigned char *data, size_t size)
{
	static const size_t samples[] = { [GREY] = 1, [RGB] = 3, [PALETTE] = 1, [GREY_ALPHA] = 2, [RGBA] = 4 };

	if (!image_png_size(data, size, &png->width, &png->height) || big_endian(data + SIGNATURE) != 13)
		return false;
	png->kind = data[25];
	/* Depth, then compression, filter and interlacing, which must be 0. */
	if (data[24] != 8 || data[26] || data[27] || data[28] || png->kind > RGBA || !samples[png->kind] ||
	    (uint64_t)png->width * png->height > PNG_PIXELS_MAX)
		return false;
	png->sample = samples[png->kind];
	png->raw_size = (1 + (size_t)png->width * png->sample) * png->height;
	png->raw = malloc(png->raw_size);
	return png->raw != NULL;
}

static bool inflate_part(struct png *png, const unsigned char *data, size_t size)
{
	int said;

	png->inflater.next_in = (unsigned char *)data;
	png->inflater.avail_in = (uInt)size;
	png->inflater.next_out = png->raw + png->filled;
	png->inflater.avail_out = (uInt)(png->raw_size - png->filled);
	said = inflate(&png->inflater, Z_NO_FLUSH);
	png->filled = png->raw_size - png->inflater.avail_out;
	/* An empty chunk, or one behind the last row, makes no progress. */
	return said == Z_OK || said == Z_STREAM_END || said == Z_BUF_ERROR;
}

static bool read_chunks(struct png *png, const unsigned char *data, size_t size)
{
	size_t at = SIGNATURE;

	for (size_t i = 0; i < COLOURS; i++)
		png->palette[i][3] = 255;
	/* Length, kind, content, checksum. */
	while (size - at >= 12) {
		uint32_t length = big_endian(data + at);
		const unsigned char *kind = data + at + 4, *content = kind + 4;

		if (length > size - at - 12)
			return false;
		if (memcmp(kind, "PLTE", 4) == 0)
			for (size_t i = 0; i < length / 3 && i < COLOURS; i++)
				memcpy(png->palette[i], content + i * 3, 3);
		else if (memcmp(kind, "tRNS", 4) == 0 && png->kind == PALETTE)
			for (size_t i = 0; i < length && i < COLOURS; i++)
				png->palette[i][3] = content[i];
		else if (memcmp(kind, "IDAT", 4) == 0 && !inflate_part(png, content, length))
			return false;
		else if (memcmp(kind, "IEND", 4) == 0)
			break;
		at += 12 + (size_t)length;
	}
	return png->filled == png->raw_size;
}

static unsigned char paeth_of(int left, int up, int corner)
{
	int guess = left + up - corner, a = abs(guess - left), b = abs(guess - up), c = abs(guess - corner);

	return (unsigned char)(a <= b && a <= c ? left : b <= c ? up : corner);
}

/* The bytes of a row are differences to their neighbours, according to the row's filter. */
static bool rows_unfilter(struct png *png)
{
	size_t row = (size_t)png->width * png->sample;

	for (uint32_t y = 0; y < png->height; y++) {
		unsigned char *line = png->raw + (1 + row) * y + 1, *above = y > 0 ? line - 1 - row : NULL;

		if (line[-1] > 4)
			return false;
		for (size_t x = 0; x < row; x++) {
			int left = x >= png->sample ? line[x - png->sample] : 0, up = above ? above[x] : 0;
			int corner = above && x >= png->sample ? above[x - png->sample] : 0;

			line[x] = (unsigned char)(line[x] + (line[-1] == 1   ? left
							     : line[-1] == 2 ? up
							     : line[-1] == 3 ? (left + up) / 2
							     : line[-1] == 4 ? paeth_of(left, up, corner)
									     : 0));
		}
	}
	return true;
}

static void to_rgba(const struct png *png, unsigned char *out)
{
	for (uint32_t y = 0; y < png->height; y++) {
		const unsigned char *at = png->raw + (1 + (size_t)png->width * png->sample) * y + 1;

		for (uint32_t x = 0; x < png->width; x++, at += png->sample, out += 4) {
			if (png->kind == PALETTE) {
				memcpy(out, png->palette[*at], 4);
				continue;
			}
			for (int i = 0; i < 3; i++)
				out[i] = png->kind == RGB || png->kind == RGBA ? at[i] : at[0];
			out[3] = png->kind == RGBA ? at[3] : png->kind == GREY_ALPHA ? at[1] : 255;
		}
	}
}

unsigned char *png_pixels(const void *data, size_t size, uint32_t *width, uint32_t *height)
{
	struct png png = { 0 };
	unsigned char *pixels = NULL;

	if (!read_head(&png, data, size))
		return NULL;
	if (inflateInit(&png.inflater) == Z_OK) {
		if (read_chunks(&png, data, size) && rows_unfilter(&png))
			pixels = malloc((size_t)png.width * png.height * 4);
		if (pixels)
			to_rgba(&png, pixels);
		inflateEnd(&png.inflater);
	}
	free(png.raw);
	*width = png.width;
	*height = png.height;
	return pixels;
}
