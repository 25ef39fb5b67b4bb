/* Finds the name that a misspelled one was probably meant to be. */
#include "explain/explain_parts.h"

#include "base/own.h"

#include <string.h>

enum {
	WORD_MAX = 64, /* longer names are not compared */
	WORD_MIN = 3,
	PART_MIN = 3, /* at least so many extra letters are a part of a name, not a typing error */
};

struct nearest {
	const char *word; /* the unknown name */
	size_t size;      /* its size */
	size_t limit;     /* maximum distance */
	size_t best;      /* smallest distance so far */
	char *out;        /* the name with that distance */
	size_t room;      /* size of `out` */
};

static size_t size_min(size_t a, size_t b)
{
	return a < b ? a : b;
}

static char letter_small(char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

/* The number of letters that are missing, wrong, extra or swapped; a letter in the wrong case counts as half. */
static size_t word_distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
	size_t rows[3][WORD_MAX + 1], *two = rows[0], *one = rows[1], *now = rows[2];

	for (size_t j = 0; j <= b_size; j++)
		one[j] = 2 * j;
	for (size_t i = 1; i <= a_size; i++) {
		size_t *next = two;

		now[0] = 2 * i;
		for (size_t j = 1; j <= b_size; j++) {
			size_t wrong = a[i - 1] == b[j - 1]                               ? 0
				       : letter_small(a[i - 1]) == letter_small(b[j - 1]) ? 1
											  : 2;

			now[j] = size_min(size_min(one[j], now[j - 1]) + 2, one[j - 1] + wrong);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = size_min(now[j], two[j - 2] + 2);
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

/* Whether the longer name is the shorter one with a word before or after it: mb_strlen is not a misspelling of
 * strlen. */
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

/* Whether the names differ by two swapped letters. */
static bool is_turned(const char *a, const char *b)
{
	return (a[0] == b[1] && a[1] == b[0] && a[2] == b[2]) || (a[0] == b[0] && a[1] == b[2] && a[2] == b[1]);
}

static void word_consider(struct nearest *n, const char *word, size_t size)
{
	size_t far;

	/* A variable has the $ in the code, but not in every message. */
	while (size > 0 && *word == '$' && *n->word != '$') {
		word++;
		size--;
	}
	if (size < WORD_MIN || size > WORD_MAX || size > n->size + n->limit || n->size > size + n->limit ||
	    (size == n->size && memcmp(word, n->word, size) == 0) || is_keyword(word, size) ||
	    has_more(n->word, n->size, word, size) || has_more(word, size, n->word, n->size))
		return;
	far = word_distance(n->word, n->size, word, size);
	if (far > 2 * n->limit || far >= n->best || size >= n->room)
		return;
	/* In a word of three letters, one difference is too much: abc is not a misspelling of abs. */
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
	size_t size = size_min(source->size, *left);
	const char *at = source->data, *end = at + size;

	*left -= size;
	while (at < end) {
		const char *word = at;

		while (at < end && is_letter(*at))
			at++;
		if (at > word && !(*word >= '0' && *word <= '9'))
			word_consider(n, word, (size_t)(at - word));
		else if (at == word)
			at++;
	}
}

static void consider_list(struct nearest *n, const char *const *list)
{
	for (; list && *list; list++)
		word_consider(n, *list, strlen(*list));
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
		/* A path without an extension is compared with names without theirs. */
		size_t before = n.best, compared = strchr(name, '.') ? strlen(base) : strcspn(base, ".");

		/* The right name in another directory is the nearest match. */
		if (strcmp(base, name) == 0 && strcmp(*file, path) != 0)
			n.best = 0;
		else
			word_consider(&n, base, compared);
		if (n.best < before) {
			size_t length = strlen(*file);

			if (length >= size)
				return false;
			memcpy(out, *file, length + 1);
		}
	}
	return n.best != SIZE_MAX;
}
