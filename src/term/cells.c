#include "term/cells.h"

#include "base/own.h"

size_t text_rune(const unsigned char *at, uint32_t *rune)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t size = *at < 0x80                  ? 1
		      : *at >= 0xf0 && *at < 0xf5 ? 4
		      : *at >= 0xe0 && *at < 0xf0 ? 3
		      : *at >= 0xc2 && *at < 0xe0 ? 2
						  : 0;

	*rune = 0xfffd;
	if (size == 0)
		return 1;
	*rune = size == 1 ? *at : *at & (0x7fu >> size);
	for (size_t i = 1; i < size; i++) {
		if ((at[i] & 0xc0) != 0x80) {
			*rune = 0xfffd;
			return 1;
		}
		*rune = *rune << 6 | (at[i] & 0x3f);
	}
	if (*rune < least[size] || *rune > 0x10ffff || (*rune >= 0xd800 && *rune < 0xe000))
		*rune = 0xfffd;
	return size;
}

struct range {
	uint32_t first, last;
};

static bool is_within(uint32_t rune, const struct range *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (rune >= ranges[i].first && rune <= ranges[i].last)
			return true;
	return false;
}

/* The C library's wcwidth() depends on the locale, and a static program has only the locale C. */
size_t rune_cells(uint32_t rune)
{
	static const struct range none[] = { { 0x300, 0x36f },   { 0x483, 0x489 },   { 0x591, 0x5bd },
					     { 0x610, 0x61a },   { 0x64b, 0x65f },   { 0x200b, 0x200f },
					     { 0x202a, 0x202e }, { 0x2060, 0x206f }, { 0x20d0, 0x20f0 },
					     { 0xfe00, 0xfe0f }, { 0xfe20, 0xfe2f }, { 0xfeff, 0xfeff } };
	static const struct range wide[] = { { 0x1100, 0x115f },   { 0x2e80, 0x303e },   { 0x3041, 0xa4cf },
					     { 0xac00, 0xd7a3 },   { 0xf900, 0xfaff },   { 0xfe30, 0xfe6f },
					     { 0xff00, 0xff60 },   { 0xffe0, 0xffe6 },   { 0x1f300, 0x1f64f },
					     { 0x1f680, 0x1f6ff }, { 0x1f900, 0x1f9ff }, { 0x20000, 0x3fffd } };

	if (is_within(rune, none, ARRAY_SIZE(none)))
		return 0;
	return is_within(rune, wide, ARRAY_SIZE(wide)) ? 2 : 1;
}

/* Includes C1 and the characters that change the direction of writing. */
bool text_is_control(uint32_t rune)
{
	return rune < 0x20 || (rune >= 0x7f && rune < 0xa0) || (rune >= 0x202a && rune <= 0x202e) ||
	       (rune >= 0x2066 && rune <= 0x2069);
}

size_t text_cells(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t cells = 0;
	uint32_t rune;

	while (*at) {
		at += text_rune(at, &rune);
		cells += rune_cells(rune);
	}
	return cells;
}

void text_line(const char *text, size_t cells, struct buf *out)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t used = 0, mark = out->size;
	uint32_t rune;

	while (*at && *at != '\n') {
		size_t size = text_rune(at, &rune);
		bool bad = text_is_control(rune) || rune == 0xfffd;
		size_t wide = bad ? 1 : rune_cells(rune);

		if (cells > 0 && used + wide > cells) {
			/* The last cell is replaced by the mark. */
			out->size = mark;
			buf_text(out, "…");
			return;
		}
		if (rune == '\t')
			buf_text(out, " ");
		else if (bad)
			buf_text(out, "\xef\xbf\xbd");
		else
			buf_add(out, at, size);
		at += size;
		used += wide;
		if (used < cells)
			mark = out->size;
	}
}

const char *paint_begin(enum paint paint, bool colour)
{
	static const char *const escapes[] = {
		[PAINT_NONE] = "",          [PAINT_GOOD] = "\033[32m", [PAINT_BAD] = "\033[31m",
		[PAINT_LIMIT] = "\033[33m", [PAINT_DIM] = "\033[2m",   [PAINT_BOLD] = "\033[1m",
		[PAINT_CYAN] = "\033[36m"
	};

	return colour ? escapes[paint] : "";
}

const char *paint_end(enum paint paint, bool colour)
{
	return colour && paint != PAINT_NONE ? "\033[0m" : "";
}
