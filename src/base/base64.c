#include "base/base64.h"

#include <stdint.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_add(struct buf *out, const void *data, size_t size)
{
	const unsigned char *at = data;
	char block[4096];
	size_t used = 0;

	for (size_t i = 0; i < size; i += 3) {
		size_t left = size - i;
		unsigned value =
			(unsigned)at[i] << 16 | (left > 1 ? (unsigned)at[i + 1] << 8 : 0) | (left > 2 ? at[i + 2] : 0);

		block[used++] = digits[value >> 18];
		block[used++] = digits[value >> 12 & 63];
		block[used++] = left > 1 ? digits[value >> 6 & 63] : '=';
		block[used++] = left > 2 ? digits[value & 63] : '=';
		if (used == sizeof(block)) {
			buf_add(out, block, used);
			used = 0;
		}
	}
	buf_add(out, block, used);
}

static int digit_of(char c)
{
	const char *at = c ? memchr(digits, c, 64) : NULL;

	return at ? (int)(at - digits) : -1;
}

ssize_t base64_decode(const char *text, size_t size, unsigned char *out)
{
	size_t used = 0, padding = 0;
	uint32_t bits = 0;

	if (size % 4 != 0)
		return -1;
	while (padding < 2 && size > padding && text[size - 1 - padding] == '=')
		padding++;
	for (size_t i = 0; i < size; i++) {
		int digit = i < size - padding ? digit_of(text[i]) : 0;

		if (digit < 0)
			return -1;
		bits = bits << 6 | (uint32_t)digit;
		if (i % 4 != 3)
			continue;
		out[used++] = (unsigned char)(bits >> 16);
		out[used++] = (unsigned char)(bits >> 8);
		out[used++] = (unsigned char)bits;
		bits = 0;
	}
	/* The bits that padding cuts off must be zero. */
	for (size_t i = 0; i < padding; i++)
		if (out[--used] != 0)
			return -1;
	return (ssize_t)used;
}
