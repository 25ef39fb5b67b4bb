/* What was shown before it was written is left out when it comes. */
#include "../check.h"

#include "engine/local/pending.h"

#include <stdint.h>

/* What is shown of `comes`, in pieces of `step` bytes, when `shown` was shown ahead. */
static const char *taken(const char *shown, const char *comes, size_t step)
{
	static char out[256];
	struct ahead ahead = { 0 };
	size_t made = 0, size = strlen(comes);

	/* In two pieces, for it is found bit by bit. */
	CHECK_INT(ahead_add(&ahead, shown, strlen(shown) / 2), 0);
	CHECK_INT(ahead_add(&ahead, shown + strlen(shown) / 2, strlen(shown) - strlen(shown) / 2), 0);
	for (size_t at = 0; at < size; at += step)
		made += ahead_take(&ahead, comes + at, size - at < step ? size - at : step, out + made);
	out[made] = '\0';
	ahead_clear(&ahead);
	return out;
}

static void is_left_out(void)
{
	static const struct {
		const char *shown, *comes, *left;
	} cases[] = {
		{ "", "abc", "abc" },       { "abc", "abc", "" },
		{ "abc", "abcdef", "def" }, { "abc", "ab", "" },
		{ "abc", "xyabcz", "xyz" }, { "abc", "ababcabc", "ababc" },
		{ "aab", "aaaab", "aa" },   { "abab", "abaabab", "aba" },
		{ "aa", "aaaa", "aa" },     { "a\nb\n", "a\na\nb\nb\n", "a\nb\n" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (size_t step = 1; step < 9; step++)
			CHECK_STR(taken(cases[i].shown, cases[i].comes, step), cases[i].left);
}

/* Whatever comes, as many bytes are shown as came, but for those shown before. */
static void nothing_is_lost(void)
{
	uint32_t random = 1;

	for (int round = 0; round < 5000; round++) {
		char shown[8] = "", comes[33] = "";
		size_t i, length = 0;

		for (i = 0; i < 3 + round % 4U; i++)
			shown[i] = (char)('a' + ((random = random * 1664525 + 1013904223) >> 30 & 1));
		for (i = 0; i < 32; i++)
			comes[i] = (char)('a' + ((random = random * 1664525 + 1013904223) >> 30 & 1));
		length = strlen(taken(shown, comes, 1 + round % 7U));
		if (strstr(comes, shown))
			CHECK_INT(length, 32 - strlen(shown));
		else
			CHECK(length <= 32 && length > 32 - strlen(shown));
	}
}

int main(void)
{
	RUN(is_left_out);
	RUN(nothing_is_lost);
	return check_failures != 0;
}
