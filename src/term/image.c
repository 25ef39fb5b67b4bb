#include "term/image.h"

#include "base/base64.h"

#include <string.h>

enum {
	KITTY_PIECE = 4096,  /* bytes of base64 in one sequence, by kitty's protocol */
	SIXEL_ROWS = 6,      /* height of a band in pixels */
	SIXEL_LEVELS = 6,    /* levels of each of red, green, blue */
	SIXEL_COLOURS = 216, /* number of colours */
	SIXEL_NONE = 255,    /* a transparent pixel */
	OPAQUE = 128,        /* alpha from which a pixel is opaque */
};

static uint32_t big_endian(const unsigned char *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

bool image_png_size(const void *data, size_t size, uint32_t *width, uint32_t *height)
{
	const unsigned char *png = data;

	if (size < 33 || memcmp(png, "\x89PNG\r\n\x1a\n", 8) != 0 || memcmp(png + 12, "IHDR", 4) != 0)
		return false;
	*width = big_endian(png + 16);
	*height = big_endian(png + 20);
	return *width > 0 && *height > 0 && *width <= IMAGE_SIDE_MAX && *height <= IMAGE_SIDE_MAX;
}

void image_kitty(const void *png, size_t size, unsigned columns, struct buf *out)
{
	struct buf text = { 0 };

	base64_add(&text, png, size);
	for (size_t at = 0; at < text.size && !text.failed; at += KITTY_PIECE) {
		size_t piece = text.size - at < KITTY_PIECE ? text.size - at : KITTY_PIECE;
		bool more = at + piece < text.size;

		/* q=2: no answer, which would be read as input. */
		if (at > 0)
			buf_printf(out, "\033_Gm=%d;", more);
		else if (columns > 0)
			buf_printf(out, "\033_Ga=T,f=100,q=2,c=%u,m=%d;", columns, more);
		else
			buf_printf(out, "\033_Ga=T,f=100,q=2,m=%d;", more);
		buf_add(out, text.data + at, piece);
		buf_text(out, "\033\\");
	}
	buf_free(&text);
	buf_text(out, "\n");
}

/* The colour of a pixel, dithered with a 4×4 matrix. */
static unsigned char sixel_colour(const unsigned char *pixel, uint32_t x, uint32_t y)
{
	static const unsigned char bayer[4][4] = {
		{ 0, 8, 2, 10 }, { 12, 4, 14, 6 }, { 3, 11, 1, 9 }, { 15, 7, 13, 5 }
	};
	unsigned colour = 0;

	if (pixel[3] < OPAQUE)
		return SIXEL_NONE;
	for (int i = 0; i < 3; i++) {
		unsigned scaled = pixel[i] * (SIXEL_LEVELS - 1) * 16u, level = scaled / (255 * 16);

		if (scaled % (255 * 16) > bayer[y % 4][x % 4] * 255u + 127)
			level++;
		colour = colour * SIXEL_LEVELS + level;
	}
	return (unsigned char)colour;
}

static void sixel_run(struct buf *out, char sixel, uint32_t count)
{
	if (count > 3) {
		buf_printf(out, "!%u%c", count, sixel);
		return;
	}
	while (count-- > 0)
		buf_add(out, &sixel, 1);
}

/* Writes one colour of a band: six bits for each column. */
static void sixel_line(const unsigned char *band, uint32_t width, uint32_t rows, unsigned colour, struct buf *out)
{
	uint32_t count = 0;
	char last = 0;

	buf_printf(out, "#%u", colour);
	for (uint32_t x = 0; x < width; x++) {
		char sixel = 0;

		for (uint32_t y = 0; y < rows; y++)
			sixel |= (char)((band[y * width + x] == colour) << y);
		sixel = (char)(sixel + '?');
		if (sixel != last) {
			sixel_run(out, last, count);
			count = 0;
		}
		last = sixel;
		count++;
	}
	/* Trailing empty columns are omitted. */
	if (last != '?')
		sixel_run(out, last, count);
	buf_text(out, "$");
}

void image_sixel(const unsigned char *rgba, uint32_t width, uint32_t height, struct buf *out)
{
	struct buf space = { 0 };
	unsigned char *band;

	for (uint32_t i = 0; i < SIXEL_ROWS; i++)
		for (uint32_t x = 0; x < width; x += 64)
			buf_add(&space, (char[64]){ 0 }, 64);
	if (space.failed) {
		buf_free(&space);
		return;
	}
	band = (unsigned char *)space.data;
	/* 1: transparent pixels stay unchanged. */
	buf_printf(out, "\033P0;1q\"1;1;%u;%u", width, height);
	for (unsigned c = 0; c < SIXEL_COLOURS; c++)
		buf_printf(out, "#%u;2;%u;%u;%u", c, c / 36 * 20, c / 6 % 6 * 20, c % 6 * 20);
	for (uint32_t top = 0; top < height; top += SIXEL_ROWS) {
		uint32_t rows = height - top < SIXEL_ROWS ? height - top : SIXEL_ROWS;
		bool used[256] = { false };

		for (uint32_t y = 0; y < rows; y++)
			for (uint32_t x = 0; x < width; x++) {
				unsigned char c = sixel_colour(rgba + ((size_t)(top + y) * width + x) * 4, x, top + y);

				band[y * width + x] = c;
				used[c] = true;
			}
		for (unsigned c = 0; c < SIXEL_COLOURS; c++)
			if (used[c])
				sixel_line(band, width, rows, c, out);
		buf_text(out, "-");
	}
	buf_text(out, "\033\\\n");
	buf_free(&space);
}

const char *image_question(bool kitty)
{
	return kitty ? "\033_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\033\\\033[c" : "\033[c";
}

bool image_may_be_kitty(const char *term, const char *program, const char *kitty_window, const char *konsole)
{
	static const char *const names[] = { "kitty", "ghostty", "wezterm", "WezTerm", "konsole" };

	/* A multiplexer hides the terminal, whatever the other variables say. */
	if (!term || strncmp(term, "screen", 6) == 0 || strncmp(term, "tmux", 4) == 0)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strstr(term, names[i]) || (program && strcmp(program, names[i]) == 0))
			return true;
	return (kitty_window && *kitty_window) || (konsole && *konsole);
}

bool image_answer(const char *data, size_t size, size_t *begin, size_t *used, enum image_way *way)
{
	const char *kitty = memmem(data, size, "\033_Gi=31;", 8), *kitty_end = NULL;
	const char *at = kitty ? kitty : data, *attributes, *end;

	if (kitty) {
		kitty_end = memmem(kitty, size - (size_t)(kitty - data), "\033\\", 2);
		if (!kitty_end)
			return false;
		at = kitty_end + 2;
	}
	attributes = memmem(at, size - (size_t)(at - data), "\033[?", 3);
	if (!attributes)
		return false;
	end = attributes + 3;
	while (end < data + size && ((*end >= '0' && *end <= '9') || *end == ';'))
		end++;
	if (end == data + size || *end != 'c')
		return false;
	*way = IMAGE_FILE;
	/* ESC [ ? LEVEL ; ATTRIBUTE ; … c: attribute 4 is sixel. */
	for (const char *item = memchr(attributes, ';', (size_t)(end - attributes)); item;
	     item = memchr(item + 1, ';', (size_t)(end - item - 1)))
		if (item[1] == '4' && (item[2] == ';' || item[2] == 'c'))
			*way = IMAGE_SIXEL;
	if (kitty && memmem(kitty, (size_t)(kitty_end - kitty), ";OK", 3))
		*way = IMAGE_KITTY;
	*begin = (size_t)((kitty ? kitty : attributes) - data);
	*used = (size_t)(end + 1 - data) - *begin;
	return true;
}
