#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool text_number(const char *text, double *number)
{
	char *end;

	/* strtod() takes signs, blanks, hex, inf and nan; nobody means those. */
	if (strspn(text, "0123456789.") != strlen(text) || !strpbrk(text, "0123456789"))
		return false;
	*number = strtod(text, &end);
	return *end == '\0' && isfinite(*number);
}

bool text_count(const char *text, uint64_t *count)
{
	uint64_t value = 0;

	if (*text == '\0')
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
			return false;
	}
	*count = value;
	return true;
}

bool text_size(const char *text, uint64_t *bytes)
{
	static const char units[] = "kmgt";
	size_t length = strlen(text);
	char digits[32];
	uint64_t count, scale;
	const char *unit;
	double number;

	if (length == 0 || length >= sizeof(digits))
		return false;
	memcpy(digits, text, length + 1);
	unit = strchr(units, digits[length - 1] | 0x20);
	if (!unit || *unit == '\0')
		return text_count(text, bytes);
	digits[length - 1] = '\0';
	scale = UINT64_C(1) << (10 * (unit - units + 1));
	/* Whole numbers exactly: a double has 53 bits. */
	if (text_count(digits, &count)) {
		if (__builtin_mul_overflow(count, scale, &count))
			return false;
		*bytes = count;
		return true;
	}
	if (!text_number(digits, &number) || number * (double)scale >= 0x1p64)
		return false;
	*bytes = (uint64_t)(number * (double)scale);
	return true;
}

const char *text_size_format(uint64_t bytes, char *out)
{
	static const char units[] = "gmk";

	for (int i = 0; i < 3; i++) {
		uint64_t unit = UINT64_C(1) << (10 * (3 - i));

		if (bytes >= unit && bytes % unit == 0) {
			snprintf(out, TEXT_SIZE_MAX, "%" PRIu64 "%c", bytes / unit, units[i]);
			return out;
		}
	}
	snprintf(out, TEXT_SIZE_MAX, "%" PRIu64, bytes);
	return out;
}

const char *text_path_fault(const char *path, size_t size)
{
	size_t start = 0;

	if (size == 0)
		return "it is empty";
	if (size >= 4096)
		return "it is longer than 4095 bytes";
	if (memchr(path, '\0', size))
		return "it holds a NUL byte";
	if (path[0] == '/')
		return "it is absolute";
	for (size_t i = 0; i <= size; i++) {
		if (i < size && path[i] != '/')
			continue;
		if (i == start)
			return "it has an empty part";
		if (i - start > 255)
			return "a part of it is longer than 255 bytes";
		if (path[start] == '.' && (i - start == 1 || (i - start == 2 && path[start + 1] == '.')))
			return "it has a part \".\" or \"..\"";
		start = i + 1;
	}
	return NULL;
}
