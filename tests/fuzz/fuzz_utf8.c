/* Any bytes become valid UTF-8, and valid UTF-8 stays what it is. */
#include "fuzz.h"

#include "base/buf.h"

#include <jansson.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf once = { 0 }, twice = { 0 };
	json_t *before = json_stringn((const char *)data, size), *after;

	buf_utf8(&once, data, size);
	MUST(!once.failed);
	/* Jansson has a decoder of its own: it refuses what is not valid. */
	after = json_stringn(once.data ? once.data : "", once.size);
	MUST(after);
	if (size > 0 && before)
		MUST(once.size == size && memcmp(once.data, data, size) == 0);
	MUST(once.size <= 3 * size);
	buf_utf8(&twice, once.data, once.size);
	MUST(twice.size == once.size && (once.size == 0 || memcmp(once.data, twice.data, once.size) == 0));
	json_decref(before);
	json_decref(after);
	buf_free(&once);
	buf_free(&twice);
	return 0;
}
