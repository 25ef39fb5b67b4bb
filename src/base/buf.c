#include "base/buf.h"

#include "base/own.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool buf_reserve(struct buf *buf, size_t more)
{
	size_t need = buf->size + more + 1;
	size_t room = buf->room ? buf->room : 256;
	char *data;

	if (more > SIZE_MAX / 4 - buf->size)
		buf->failed = true;
	if (buf->failed)
		return false;
	if (need <= buf->room)
		return true;
	while (room < need)
		room *= 2;
	data = realloc(buf->data, room);
	if (!data) {
		buf->failed = true;
		return false;
	}
	buf->data = data;
	buf->room = room;
	return true;
}

void buf_add(struct buf *buf, const void *data, size_t size)
{
	if (!buf_reserve(buf, size))
		return;
	if (size > 0)
		memcpy(buf->data + buf->size, data, size);
	buf->size += size;
	buf->data[buf->size] = '\0';
}

void buf_text(struct buf *buf, const char *text)
{
	buf_add(buf, text, strlen(text));
}

void buf_printf(struct buf *buf, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (n < 0 || !buf_reserve(buf, (size_t)n))
		return;
	va_start(args, format);
	vsnprintf(buf->data + buf->size, (size_t)n + 1, format, args);
	va_end(args);
	buf->size += (size_t)n;
}

/* Returns the length of the valid sequence at `at`, or 0. *bad is the number of bytes that one U+FFFD replaces. */
static size_t utf8_length(const uint8_t *at, size_t left, size_t *bad)
{
	uint8_t low = 0x80, high = 0xBF;
	size_t need;

	*bad = 1;
	if (at[0] < 0x80)
		return 1;
	if (at[0] >= 0xC2 && at[0] <= 0xDF) {
		need = 2;
	} else if (at[0] >= 0xE0 && at[0] <= 0xEF) {
		need = 3;
		low = at[0] == 0xE0 ? 0xA0 : low;   /* overlong */
		high = at[0] == 0xED ? 0x9F : high; /* surrogates */
	} else if (at[0] >= 0xF0 && at[0] <= 0xF4) {
		need = 4;
		low = at[0] == 0xF0 ? 0x90 : low;
		high = at[0] == 0xF4 ? 0x8F : high; /* above U+10FFFF */
	} else {
		return 0;
	}
	for (size_t i = 1; i < need; i++) {
		if (i >= left || at[i] < low || at[i] > high) {
			*bad = i;
			return 0;
		}
		low = 0x80;
		high = 0xBF;
	}
	return need;
}

void buf_utf8(struct buf *buf, const void *data, size_t size)
{
	const uint8_t *at = data;

	while (size > 0) {
		size_t good = 0, bad = 0, n = 1;

		while (good < size && n > 0) {
			n = utf8_length(at + good, size - good, &bad);
			good += n;
		}
		buf_add(buf, at, good);
		at += good;
		size -= good;
		if (size > 0) {
			buf_add(buf, "\xEF\xBF\xBD", 3);
			at += bad;
			size -= bad;
		}
	}
}

char *buf_take(struct buf *buf)
{
	char *data;

	buf_add(buf, "", 0);
	if (buf->failed)
		return NULL;
	data = buf->data;
	*buf = (struct buf){ 0 };
	return data;
}

void buf_free(struct buf *buf)
{
	free(buf->data);
	*buf = (struct buf){ 0 };
}
