/* What is remembered of a version: the first line is the key, the rest the file in the cache. */
#include "fuzz.h"

#include "language/version.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *newline = size ? memchr(data, '\n', size) : NULL;
	size_t key_size = newline ? (size_t)(newline - data) : 0;
	char *key, *text, *out = malloc(32);

	if (!newline) {
		free(out);
		return 0;
	}
	MUST(out);
	key = fuzz_text_of(data, key_size);
	text = fuzz_text_of(newline + 1, size - key_size - 1);
	if (runtime_version_recall(text, key, out, 32)) {
		size_t length = strlen(out);

		MUST(length > 0 && length < 32 && strspn(out, "0123456789.") == length);
		MUST(strncmp(text, key, strlen(key)) == 0 && strncmp(text + strlen(key), out, length) == 0);
	}
	free(key);
	free(text);
	free(out);
	return 0;
}
