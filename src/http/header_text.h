/* Character classes of HTTP. Pure, shared by the parsers of this folder. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A character of a method or a field's name: RFC 9110, tchar. */
static inline bool http_is_token(char c)
{
	static const uint64_t map[2] = { UINT64_C(0x03ff6cfa00000000), UINT64_C(0x57ffffffc7fffffe) };
	unsigned char u = (unsigned char)c;

	return u < 128 && (map[u / 64] >> (u % 64) & 1) != 0;
}

/* A character of a field's value, including non-ASCII bytes, which are not interpreted. */
static inline bool http_is_value(char c)
{
	unsigned char u = (unsigned char)c;

	return (u >= 0x20 && u != 0x7f) || u == '\t';
}

static inline bool http_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static inline bool http_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The value of a hexadecimal digit, or -1. */
static inline int http_hex(char c)
{
	if (http_is_digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte encoded by "%XX" at `at`, or -1; `left` bytes are available. */
static inline int http_percent(const char *at, size_t left)
{
	int high, low;

	if (left < 3 || at[0] != '%')
		return -1;
	high = http_hex(at[1]);
	low = http_hex(at[2]);
	return high < 0 || low < 0 ? -1 : high * 16 + low;
}
