/* What a program leaves as rich results: whatever is taken here, Jansson takes as well, and the other way round. */
#include "fuzz.h"

#include "base/json_check.h"

#include <jansson.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool taken = json_is_object_text((const char *)data, size, 64);
	char place[32];
	json_error_t why;
	json_t *other = json_loadb((const char *)data, size, JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, &why);

	MUST(!taken || json_is_object(other) || json_error_code(&why) == json_error_numeric_overflow);
	/* It is stricter in three things: an empty object is nothing, depth has a bound, and a NUL stands nowhere. */
	if (json_is_object(other) && json_object_size(other) > 0 && !memchr(data, '[', size) &&
	    !memchr(data, '\0', size) && !taken) {
		size_t braces = 0;

		for (size_t i = 0; i < size; i++)
			braces += data[i] == '{';
		MUST(braces > 64);
	}
	/* Where a byte is can be asked of anything; what is named is plain, and whole. */
	for (size_t at = 0; at <= size && at <= 64; at++)
		if (json_place((const char *)data, at, place, sizeof(place)))
			MUST(strlen(place) < sizeof(place) && json_is_plain_text(place, strlen(place)));
	json_decref(other);
	return 0;
}
