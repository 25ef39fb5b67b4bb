/* What code looks like, and what does not look like code. */
#include "policy/detect_parts.h"

#include "base/own.h"
#include "language/runtime.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum where {
	START,
	END,
	ANY
};

static const struct language_look {
	char language[12]; /* whose it is; these are no pointers, which would be relocated at every start */
	int weight;        /* how surely */
	enum where where;  /* of a line */
	char text[32];     /* the bytes */
} looks[] = {
#define LOOK(language, weight, where, text) { language, weight, where, text },
#include "policy/detect_language.def"
#undef LOOK
};

enum {
	LANGUAGES_MAX = 24 /* different ones among the looks */
};

static bool line_has(const struct language_look *look, const char *line, size_t size)
{
	size_t length = strlen(look->text), blank = 0;

	while (blank < size && (line[blank] == ' ' || line[blank] == '\t'))
		blank++;
	switch (look->where) {
	case START:
		return size - blank >= length && memcmp(line + blank, look->text, length) == 0;
	case END:
		return size >= length && memcmp(line + size - length, look->text, length) == 0;
	default:
		return memmem(line, size, look->text, length) != NULL;
	}
}

struct tally {
	const char *language; /* of the looks */
	int weight;           /* so far */
};

static void tally_add(struct tally *tally, const struct language_look *look)
{
	for (size_t i = 0; i < LANGUAGES_MAX; i++) {
		if (!tally[i].language)
			tally[i].language = look->language;
		if (strcmp(tally[i].language, look->language) != 0)
			continue;
		tally[i].weight += look->weight;
		return;
	}
}

const char *detect_content(const char *code, size_t size)
{
	struct tally tally[LANGUAGES_MAX] = { { NULL, 0 } }, *best = &tally[0];
	bool seen[ARRAY_SIZE(looks)] = { false };
	size_t left = size;

	for (const char *line = code; left > 0;) {
		const char *newline = memchr(line, '\n', left);
		size_t length = newline ? (size_t)(newline - line) : left;

		for (size_t i = 0; i < ARRAY_SIZE(looks); i++) {
			if (seen[i] || !line_has(&looks[i], line, length))
				continue;
			seen[i] = true;
			tally_add(tally, &looks[i]);
		}
		left -= length + (newline != NULL);
		line += length + (newline != NULL);
	}
	for (size_t i = 1; i < LANGUAGES_MAX && tally[i].language; i++)
		if (tally[i].weight > best->weight)
			best = &tally[i];
	return best->language && best->weight >= 2 ? best->language : "";
}

const char *detect_fence_language(const char *word)
{
	static const struct {
		char word[16], language[12];
	} also[] = {
		{ "console", "bash" },     { "shell-session", "bash" }, { "terminal", "bash" },
		{ "jsx", "javascript" },   { "tsx", "typescript" },     { "mysql", "sqlite" },
		{ "plpgsql", "postgres" },
	};
	char lower[32];
	const struct runtime *runtime;
	size_t length = strlen(word);

	if (length == 0 || length >= sizeof(lower))
		return NULL;
	for (size_t i = 0; i <= length; i++)
		lower[i] = (char)tolower((unsigned char)word[i]);
	for (size_t i = 0; i < ARRAY_SIZE(also); i++)
		if (strcmp(lower, also[i].word) == 0)
			return also[i].language;
	runtime = runtime_find(lower);
	return runtime ? runtime->name : NULL;
}

bool detect_is_data(const char *word)
{
	static const char words[][16] = { "json",       "jsonc",    "yaml",      "yml",   "toml",  "ini",
					  "xml",        "html",     "css",       "diff",  "patch", "text",
					  "txt",        "plain",    "plaintext", "log",   "csv",   "md",
					  "latex",      "markdown", "output",    "regex", "http",  "mermaid",
					  "dockerfile", "makefile" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcasecmp(word, words[i]) == 0)
			return true;
	return false;
}

bool detect_is_complaint(const char *code, size_t size)
{
	static const char marks[][32] = {
		"Traceback (most recent",
		"error[E",
		"npm ERR!",
		"npm error",
		"undefined reference to",
		": error:",
		": warning:",
		"Exception in thread",
		"panic: ",
		"Segmentation fault",
		"UnhandledPromiseRejection",
		": fatal error:",
	};

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (memmem(code, size, marks[i], strlen(marks[i])))
			return true;
	return false;
}

/* Words of letters that stand between blanks, as prose has them. */
static size_t plain_words(const char *line, size_t size)
{
	size_t count = 0, run = 0;
	bool plain = true;

	for (size_t i = 0; i <= size; i++) {
		unsigned char c = i < size ? (unsigned char)line[i] : ' ';

		if (c == ' ' || c == '\t') {
			count += run > 1 && plain;
			run = 0;
			plain = true;
			continue;
		}
		run++;
		plain &= isalpha(c) || c >= 0x80 || c == '\'' || ((c == ',' || c == '.' || c == '?') && run > 1);
	}
	return count;
}

int detect_code_line(const char *line, size_t size)
{
	size_t blank = 0, marks = 0, prose;
	int weight = 0;

	while (blank < size && (line[blank] == ' ' || line[blank] == '\t'))
		blank++;
	if (blank == size)
		return 0;
	for (size_t i = blank; i < size; i++)
		marks += strchr("(){}[];=<>|$", line[i]) != NULL && line[i];
	prose = plain_words(line, size);
	for (size_t i = 0; i < ARRAY_SIZE(looks); i++)
		if (looks[i].weight >= 2 && line_has(&looks[i], line, size) && looks[i].weight > weight)
			weight = looks[i].weight;
	/* A sentence has words and ends like one; code has marks. */
	if (prose >= 3 && marks < 2 && strchr(".?!:,", line[size - 1]) && weight < 5)
		return 0;
	if (weight >= 3 && (marks > 0 || weight >= 5) && prose < 6)
		return 2;
	if (marks >= 2 && (prose < 4 || marks > prose))
		return 2;
	/* `puts "a".upcase`, and a query, which is nearly prose. */
	if ((weight >= 4 && prose < 3) || (weight >= 5 && line[size - 1] == ';'))
		return 2;
	if ((line[size - 1] == ';' || line[size - 1] == '{' || line[size - 1] == '}') && prose < 6)
		return 2;
	return (weight >= 2 && prose < 4) || blank >= 2;
}

bool detect_code_head(const char *line, size_t size)
{
	static const char starts[][12] = { "import ", "class ", "#", "//", "@" };

	if (size == 0 || strchr(".?!,", line[size - 1]) || plain_words(line, size) > 4)
		return false;
	if (size > 5 && memcmp(line, "from ", 5) == 0)
		return memmem(line, size, " import ", 8);
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		if (size > strlen(starts[i]) && memcmp(line, starts[i], strlen(starts[i])) == 0)
			return line[size - 1] != ':' || strcmp(starts[i], "class ") == 0;
	return false;
}
