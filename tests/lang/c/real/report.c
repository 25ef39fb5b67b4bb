#include "report.h"

#include "json/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* names.like.these, and numbers for the items of lists */
static const struct json *walk(const struct json *at, const char *path)
{
	char word[64];

	while (at && *path) {
		size_t size = strcspn(path, ".");

		if (size >= sizeof(word))
			return NULL;
		memcpy(word, path, size);
		word[size] = 0;
		path += size + (path[size] == '.');
		at = at->kind == JSON_LIST ? json_item(at, strtoul(word, NULL, 10)) : json_member(at, word);
	}
	return at;
}

void report_path(const struct json *document, const char *path)
{
	const struct json *found = walk(document, path);

	printf("%s = ", path);
	if (found)
		json_print(found, stdout, -1);
	else
		printf("nothing");
	putchar('\n');
}

struct totals {
	int kinds[JSON_KINDS];
	int depth;
	double squares;
};

static void add(const struct json *at, struct totals *totals, int depth)
{
	totals->kinds[at->kind]++;
	if (depth > totals->depth)
		totals->depth = depth;
	if (at->kind == JSON_NUMBER)
		totals->squares += at->number * at->number;
	for (const struct json *child = at->first; child; child = child->next)
		add(child, totals, depth + 1);
}

void report_totals(const struct json *document)
{
	static const char *const names[JSON_KINDS] = { "null", "booleans", "numbers", "strings", "lists", "objects" };
	struct totals totals = { 0 };

	add(document, &totals, 1);
	for (int i = 0; i < JSON_KINDS; i++)
		printf("%s%d %s", i ? ", " : "", totals.kinds[i], names[i]);
	printf("; %d deep; length %.6f\n", totals.depth, sqrt(totals.squares));
}
