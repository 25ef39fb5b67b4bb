#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	WORD_MAX = 63 /* letters that text_nearest() compares */
};

bool text_number(const char *text, double *number)
{
	double scale = 1;
	uint64_t digits = 0;
	bool any = false, fraction = false;

	/* Not strtod(), which accepts signs, hex, inf and nan, and in some locales a decimal comma. */
	for (; *text; text++) {
		if (*text == '.' && !fraction) {
			fraction = true;
			continue;
		}
		if (*text < '0' || *text > '9')
			return false;
		any = true;
		/* At most 18 digits: further decimals are ignored, a larger whole number is refused. */
		if (digits >= UINT64_C(100000000000000000)) {
			if (!fraction)
				return false;
			continue;
		}
		digits = digits * 10 + (uint64_t)(*text - '0');
		if (fraction)
			scale *= 10;
	}
	/* One division of two exact numbers gives the nearest double, as strtod() does. */
	*number = (double)digits / scale;
	return any;
}

const char *text_number_format(double number, char *out)
{
	uint64_t millionths = (uint64_t)(number * 1e6 + 0.5);
	int size = snprintf(out, TEXT_NUMBER_MAX, "%" PRIu64 ".%06" PRIu64, millionths / 1000000, millionths % 1000000);

	while (out[size - 1] == '0')
		size--;
	if (out[size - 1] == '.')
		size--;
	out[size] = '\0';
	return out;
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

bool text_duration(const char *text, double *seconds)
{
	static const struct {
		const char *name; /* the unit */
		double one, per;  /* the unit is one/per seconds: 0.001 is no exact double */
	} units[] = { { "h", 3600, 1 }, { "m", 60, 1 }, { "s", 1, 1 }, { "ms", 1, 1000 } };
	size_t unit = 0;
	double sum = 0;

	if (text_number(text, seconds))
		return true;
	while (*text) {
		size_t digits = strspn(text, "0123456789."), letters = strspn(text + digits, "hms");
		char part[TEXT_NUMBER_MAX];
		double number;

		if (digits >= sizeof(part))
			return false;
		memcpy(part, text, digits);
		part[digits] = '\0';
		if (!text_number(part, &number))
			return false;
		text += digits;
		while (unit < sizeof(units) / sizeof(units[0]) &&
		       (strlen(units[unit].name) != letters || memcmp(units[unit].name, text, letters) != 0))
			unit++;
		if (unit == sizeof(units) / sizeof(units[0]))
			return false;
		sum += number * units[unit].one / units[unit].per;
		unit++;
		text += letters;
	}
	*seconds = sum;
	return unit > 0;
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
	/* Whole numbers are parsed exactly: a double has only 53 bits. */
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

static size_t size_min(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

/* The number of edits (insert, remove, replace) between two words, both truncated at WORD_MAX. */
static size_t word_distance(const char *a, const char *b)
{
	size_t row[WORD_MAX + 1];
	size_t a_size = strnlen(a, WORD_MAX), b_size = strnlen(b, WORD_MAX);

	for (size_t j = 0; j <= b_size; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_size; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_size; j++) {
			size_t above = row[j];

			row[j] = size_min(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[b_size];
}

const char *text_nearest(const char *typed, const char *const *names)
{
	const char *best = NULL;
	size_t typed_size = strlen(typed);
	size_t best_distance = typed_size < 6 ? 3 : typed_size / 3 + 2;

	if (typed_size == 0)
		return NULL;
	for (size_t i = 0; names[i]; i++) {
		/* A prefix matches the whole name, however many letters are missing: `mem` means `memory`. */
		size_t distance = typed_size >= 2 && strncmp(typed, names[i], typed_size) == 0
					  ? 1
					  : word_distance(typed, names[i]);

		if (distance < best_distance && distance < strlen(names[i])) {
			best = names[i];
			best_distance = distance;
		}
	}
	return best;
}
