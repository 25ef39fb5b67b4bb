/* A chat message: any bytes are one, and what is found in it stays inside of it. */
#include "fuzz.h"

#include "policy/detect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text_of(data, size);
	struct arena arena = { 0 };
	struct buf json = { 0 };
	struct detected found;
	struct error err = { 0 };

	if (detect_message(text, size, NULL, &arena, &found, &err) == 0) {
		MUST(found.block_count <= DETECT_BLOCKS_MAX && found.confidence >= 0.5 && found.confidence <= 0.99);
		MUST(!found.execute || found.block_count > 0);
		for (size_t i = 0; i < found.block_count; i++)
			MUST(found.blocks[i].size <= size + 1 && found.blocks[i].language);
		detect_json(&found, &json);
		MUST(!json.failed && json.data[0] == '{');
	}
	buf_free(&json);
	arena_free(&arena);
	free(text);
	return 0;
}
