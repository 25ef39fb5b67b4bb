/* Sizes, numbers, counts and paths. */
#include "fuzz.h"

#include "base/text.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text_of(data, size), out[TEXT_SIZE_MAX];
	uint64_t bytes, again;
	double number;

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
