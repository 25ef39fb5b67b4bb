/* Names that were perhaps meant. */
#include "explain/explain_parts.h"

#include "base/own.h"

#include <string.h>

enum {
	WORD_MAX = 64, /* longer names are no slips */
	WORD_MIN = 3,
	PART_MIN = 3, /* letters that are a part of a name, and no slip */
};

struct nearest {
	const char *word; /* what is not known */
	size_t size;      /* of it */
	size_t limit;     /* how far something may be from it */
	size_t best;      /* how far the nearest is */
	char *out;        /* that */
	size_t room;      /* for it */
};

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static char small(char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

/* Letters that are missing, wrong, too many or in the wrong order; another case of a letter counts as half of one. */
static size_t distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
	size_t rows[3][WORD_MAX + 1], *two = rows[0], *one = rows[1], *now = rows[2];

	for (size_t j = 0; j <= b_size; j++)
		one[j] = 2 * j;
	for (size_t i = 1; i <= a_size; i++) {
		size_t *next = two;

		now[0] = 2 * i;
		for (size_t j = 1; j <= b_size; j++) {
			size_t wrong = a[i - 1] == b[j - 1] ? 0 : small(a[i - 1]) == small(b[j - 1]) ? 1 : 2;

			now[j] = least(least(one[j], now[j - 1]) + 2, one[j - 1] + wrong);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = least(now[j], two[j - 2] + 2);
		}
		two = one;
		one = now;
		now = next;
	}
	return one[b_size];
}

static bool is_keyword(const char *word, size_t size)
{
	static const char *const words[] = { "for", "and",  "not",  "def",  "let",  "var",  "end",  "int",   "new",
					     "use", "else", "elif", "then", "from", "func", "void", "while", "class" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strlen(words[i]) == size && memcmp(words[i], word, size) == 0)
			return true;
	return false;
}

/* Whether the longer is the shorter and a part of its own before or after it: mb_strlen is no slip of strlen. */
static bool has_more(const char *shorter, size_t size, const char *longer, size_t longer_size)
{
	if (longer_size < size + PART_MIN)
		return false;
	return memcmp(longer, shorter, size) == 0 || memcmp(longer + longer_size - size, shorter, size) == 0;
}

bool near_is_part(const char *word, const char *meant)
{
	return has_more(meant, strlen(meant), word, strlen(word));
}

/* The same letters, two of them in the wrong order. */
static bool is_turned(const char *a, const char *b)
{
	return (a[0] == b[1] && a[1] == b[0] && a[2] == b[2]) || (a[0] == b[0] && a[1] == b[2] && a[2] == b[1]);
}

static void consider(struct nearest *n, const char *word, size_t size)
{
	size_t far;

	/* Before a variable where it is used, and in no message about it. */
	while (size > 0 && *word == '$' && *n->word != '$') {
		word++;
		size--;
	}
	if (size < WORD_MIN || size > WORD_MAX || size > n->size + n->limit || n->size > size + n->limit ||
	    (size == n->size && memcmp(word, n->word, size) == 0) || is_keyword(word, size) ||
	    has_more(n->word, n->size, word, size) || has_more(word, size, n->word, n->size))
		return;
	far = distance(n->word, n->size, word, size);
	if (far > 2 * n->limit || far >= n->best || size >= n->room)
		return;
	/* Of three letters one that is wrong is too much: abc is no slip of abs. */
	if (n->size == WORD_MIN && size == WORD_MIN && far > 1 && !is_turned(n->word, word))
		return;
	n->best = far;
	memcpy(n->out, word, size);
	n->out[size] = '\0';
}

static bool nearest_open(struct nearest *n, const char *word, char *out, size_t room)
{
	*n = (struct nearest){ .word = word, .size = strlen(word), .best = SIZE_MAX, .out = out, .room = room };
	out[0] = '\0';
	n->limit = n->size <= 5 ? 1 : n->size <= 8 ? 2 : 3;
	return n->size >= WORD_MIN && n->size <= WORD_MAX;
}

static bool is_letter(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
	       (unsigned char)c >= 0x80;
}

static void consider_code(struct nearest *n, const struct explain_source *source, size_t *left)
{
	size_t size = least(source->size, *left);
	const char *at = source->data, *end = at + size;

	*left -= size;
	while (at < end) {
		const char *word = at;

		while (at < end && is_letter(*at))
			at++;
		if (at > word && !(*word >= '0' && *word <= '9'))
			consider(n, word, (size_t)(at - word));
		else if (at == word)
			at++;
	}
}

static void consider_list(struct nearest *n, const char *const *list)
{
	for (; list && *list; list++)
		consider(n, *list, strlen(*list));
}

bool near_name(const struct explain_input *in, const char *word, char *out, size_t size)
{
	const struct runtime *like = explain_like(in);
	size_t left = EXPLAIN_TEXT_MAX;
	struct nearest n;

	if (!nearest_open(&n, word, out, size))
		return false;
	for (size_t i = 0; i < in->code_count; i++)
		consider_code(&n, &in->code[i], &left);
	consider_list(&n, in->runtime->explain.names);
	consider_list(&n, like ? like->explain.names : NULL);
	return out[0] != '\0';
}

bool near_file(const struct explain_input *in, const char *path, char *out, size_t size)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	char nearest[WORD_MAX + 1];
	struct nearest n;

	if (!nearest_open(&n, name, nearest, sizeof(nearest)))
		return false;
	for (const char *const *file = in->files; file && *file; file++) {
		const char *base = strrchr(*file, '/') ? strrchr(*file, '/') + 1 : *file;
		/* Who leaves the extension out leaves it out of all. */
		size_t before = n.best, compared = strchr(name, '.') ? strlen(base) : strcspn(base, ".");

		/* The right name in another place is as near as can be. */
		if (strcmp(base, name) == 0 && strcmp(*file, path) != 0)
			n.best = 0;
		else
			consider(&n, base, compared);
		if (n.best < before) {
			size_t length = strlen(*file);

			if (length >= size)
				return false;
			memcpy(out, *file, length + 1);
		}
	}
	return n.best != SIZE_MAX;
}
