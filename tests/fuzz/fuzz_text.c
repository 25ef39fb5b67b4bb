/* Sizes, numbers, counts and paths; and texts on their way to a terminal. */
#include "fuzz.h"

#include "base/text.h"
#include "term/filter.h"

#include <math.h>

/* A path that is taken stays below its directory, whatever is put in front of it. */
static void text_path_holds(const char *path, size_t size)
{
	char *copy = fuzz_text_of(path, size), *rest = copy, *part;

	MUST(size > 0 && size < 4096 && strlen(copy) == size && copy[0] != '/');
	while ((part = strsep(&rest, "/")) != NULL)
		MUST(*part && strlen(part) <= 255 && strcmp(part, ".") != 0 && strcmp(part, "..") != 0);
	free(copy);
}

/* Whatever is quoted, no control character comes out but our own colours, and those only where they are meant. */
static void text_is_printable(const char *text, bool painted)
{
	struct buf out = { 0 };

	filter_text(text, painted, &out);
	MUST(!out.failed && (out.size > 0) == (*text != '\0'));
	for (const unsigned char *at = (const unsigned char *)(out.data ? out.data : ""); *at; at++) {
		MUST(*at >= 0x20 || *at == '\n' || *at == '\t' || (painted && *at == 0x1b && at[1] == '['));
		MUST(*at != 0x7f && (*at != 0xc2 || at[1] >= 0xa0));
	}
	buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text_of(data, size), out[TEXT_SIZE_MAX];
	uint64_t bytes, again;
	double number;

	text_is_printable(text, false);
	text_is_printable(text, true);
	if (text_size(text, &bytes)) {
		MUST(strspn(text, "0123456789.kmgtKMGT") == strlen(text));
		/* Sizes with a unit go through a double, exact up to 2^53; the largest limit is 2^40. */
		if (bytes <= UINT64_C(1) << 53)
			MUST(text_size(text_size_format(bytes, out), &again) && again == bytes);
	}
	if (text_number(text, &number))
		MUST(isfinite(number) && number >= 0);
	if (text_count(text, &bytes))
		MUST(text_size(text, &again) ? again == bytes : strlen(text) >= 32);
	/* Not the copy: it needs no terminator. */
	if (!text_path_fault((const char *)data, size))
		text_path_holds((const char *)data, size);
	free(text);
	return 0;
}
