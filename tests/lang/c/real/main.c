/*
 * Questions about a JSON document. Standard input has paths, one on a line, an
 * empty line, and the document. For each path what is there is printed, and at
 * the end the whole document, with the names of its objects in order.
 */
#include "report.h"

#include "json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PATHS = 64
};

static char *read_all(FILE *in)
{
	size_t size = 0, room = 64, got;
	char *text = malloc(room);

	while (text && (got = fread(text + size, 1, room - size - 1, in)) > 0) {
		size += got;
		if (room - size < 2)
			text = realloc(text, room *= 2);
	}
	if (text)
		text[size] = 0;
	return text;
}

int main(void)
{
	char *text = read_all(stdin), *paths[PATHS], *at = text;
	struct json_error error;
	struct json *document;
	size_t count = 0;

	if (!text)
		return 1;
	while (*at && *at != '\n' && count < PATHS) {
		paths[count++] = at;
		at += strcspn(at, "\n");
		if (*at)
			*at++ = 0;
	}
	document = json_parse(at, &error);
	if (!document) {
		printf("line %d: %s\n", error.line, error.message);
		free(text);
		return 1;
	}
	for (size_t i = 0; i < count; i++)
		report_path(document, paths[i]);
	json_sort(document);
	json_print(document, stdout, 0);
	putchar('\n');
	report_totals(document);
	json_free(document);
	free(text);
}
