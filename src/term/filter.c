#include "term/filter.h"

#include "term/cells.h"

#include <string.h>

enum {
	PLAIN,
	ESCAPE,     /* after ESC */
	SHIFTED,    /* ESC and an intermediate byte: one more byte ends the sequence */
	CONTROL,    /* in a CSI */
	STRING,     /* in an OSC, DCS, APC, PM or SOS: ended by BEL or ST */
	STRING_ESC, /* after an ESC in such a sequence */
	HALF,       /* after 0xC2, the first byte of a C1 control or another character */
};

/* Allows cursor movement, erasing, scrolling, inserting and deleting, and colours; not reports, modes, the scroll
 * region, or printing. */
static bool control_passes(const char *sequence, size_t size)
{
	/* The allowed private modes: the cursor's visibility, and synchronized updates. */
	static const char *const modes[] = { "?25h", "?25l", "?2026h", "?2026l" };

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (size == strlen(modes[i]) && memcmp(sequence, modes[i], size) == 0)
			return true;
	for (size_t i = 0; i + 1 < size; i++)
		if (!strchr("0123456789;:", sequence[i]))
			return false;
	return strchr("ABCDEFGHJKLMPSTX@`adefmsu", sequence[size - 1]) != NULL;
}

static void sequence_keep(struct filter *filter, char c)
{
	if (filter->size < FILTER_SEQUENCE_MAX)
		filter->sequence[filter->size] = c;
	filter->size += filter->size <= FILTER_SEQUENCE_MAX;
}

static void end_control(struct filter *filter, struct buf *out)
{
	filter->state = PLAIN;
	if (filter->size > FILTER_SEQUENCE_MAX || !control_passes(filter->sequence, filter->size))
		return;
	buf_text(out, "\033[");
	buf_add(out, filter->sequence, filter->size);
	filter->painted = true;
	/* After a cursor movement, the cursor may be anywhere. */
	if (filter->sequence[filter->size - 1] != 'm')
		filter->open_line = true;
}

static void after_escape(struct filter *filter, char c, struct buf *out)
{
	filter->size = 0;
	filter->state = c == '['                  ? CONTROL
			: c && strchr("]P_^X", c) ? STRING
			: c >= 0x20 && c <= 0x2f  ? SHIFTED
			: c == '\033'             ? ESCAPE
						  : PLAIN;
	/* Save and restore the cursor, index, next line, reverse index. */
	if (c && strchr("78DEM", c)) {
		const char sequence[] = { '\033', c };

		buf_add(out, sequence, 2);
		filter->open_line = filter->painted = true;
	}
}

static void plain_step(struct filter *filter, char c, struct buf *out)
{
	unsigned char u = (unsigned char)c;

	if (c == '\033') {
		filter->state = ESCAPE;
	} else if (u == 0xc2) {
		filter->state = HALF;
	} else if (u >= 0x20 ? u != 0x7f : c && strchr("\n\r\t\b\a", c)) {
		buf_add(out, &c, 1);
		if (c != '\a')
			filter->open_line = c != '\n' && (c != '\r' || filter->open_line);
	}
}

static void after_half(struct filter *filter, char c, struct buf *out)
{
	unsigned char u = (unsigned char)c;

	filter->state = PLAIN;
	if (u >= 0xa0 && u < 0xc0) {
		const char character[] = { (char)0xc2, c };

		buf_add(out, character, 2);
		filter->open_line = true;
	} else if (u >= 0x80 && u < 0xa0) {
		/* A C1 control is equal to ESC and a letter. */
		after_escape(filter, (char)(u - 0x40), &(struct buf){ .failed = true });
	} else {
		plain_step(filter, c, out);
	}
}

void filter_take(struct filter *filter, const char *data, size_t size, struct buf *out)
{
	for (size_t i = 0; i < size; i++) {
		char c = data[i];

		switch (filter->state) {
		case PLAIN:
			plain_step(filter, c, out);
			break;
		case ESCAPE:
			after_escape(filter, c, out);
			break;
		case SHIFTED:
			if (c < 0x20 || c > 0x2f)
				filter->state = c == '\033' ? ESCAPE : PLAIN;
			break;
		case CONTROL:
			if (c == '\033')
				filter->state = ESCAPE;
			else if (c < 0x20 || c == 0x7f)
				filter->state = PLAIN;
			else
				sequence_keep(filter, c);
			if (filter->state == CONTROL && c >= 0x40 && c <= 0x7e)
				end_control(filter, out);
			break;
		case STRING:
			if (c == '\a' || c == 0x18 || c == 0x1a)
				filter->state = PLAIN;
			else if (c == '\033')
				filter->state = STRING_ESC;
			break;
		case STRING_ESC:
			/* ST ends the string; another escape sequence aborts it and is handled itself. */
			if (c == '\\')
				filter->state = PLAIN;
			else
				after_escape(filter, c, out);
			break;
		default:
			after_half(filter, c, out);
		}
	}
}

/* The bytes of one of our own colours at the start of the text; 0: there is none. */
static size_t own_paint(const char *text)
{
	size_t size = strlen(paint_end(PAINT_BOLD, true));

	if (strncmp(text, paint_end(PAINT_BOLD, true), size) == 0)
		return size;
	for (enum paint paint = PAINT_NONE + 1; paint <= PAINT_CYAN; paint++) {
		size = strlen(paint_begin(paint, true));
		if (strncmp(text, paint_begin(paint, true), size) == 0)
			return size;
	}
	return 0;
}

void filter_text(const char *text, bool painted, struct buf *out)
{
	while (*text) {
		uint32_t rune;
		size_t size = text_rune((const unsigned char *)text, &rune);
		const size_t paint = painted && rune == 0x1b ? own_paint(text) : 0;

		if (paint > 0)
			size = paint;
		if (paint > 0 || rune == '\n' || rune == '\t')
			buf_add(out, text, size);
		else if (text_is_control(rune))
			buf_printf(out, "\\u%04x", rune);
		else if (rune == 0xfffd)
			buf_text(out, "\xef\xbf\xbd");
		else
			buf_add(out, text, size);
		text += size;
	}
}

void filter_end(struct filter *filter, struct buf *out)
{
	if (filter->painted)
		buf_text(out, "\033[0m\033[?25h");
	if (filter->open_line)
		buf_text(out, "\n");
	*filter = (struct filter){ 0 };
}
