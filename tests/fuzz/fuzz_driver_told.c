/* Objects of a driver's: whatever they are, what is left of them is one object of known keys, and texts that end. The
 * first byte says what was asked. */
#include "fuzz.h"

#include "base/json_check.h"
#include "live/driver_told.h"

#include <jansson.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct driver_told told, again;
	struct driver_abilities abilities;
	struct driver_told_input in;
	json_t *root;
	char *text;

	if (size < 1)
		return 0;
	text = fuzz_text_of(data + 1, size - 1);
	in = (struct driver_told_input){
		.what = data[0] % 3, .payload = text, .size = size - 1, .code = "x\xc3\xa9y", .code_size = 4
	};
	memset(&told, 0, sizeof(told));
	driver_told_make(&in, NULL, &told);
	MUST(told.size < sizeof(told.text));
	/* Our own is as it should be: nothing is left to mend. */
	again = told;
	driver_told_settle(&again);
	MUST(again.size == told.size && strcmp(again.type, told.type) == 0 && strcmp(again.message, told.message) == 0);
	MUST(strcmp(again.file, told.file) == 0 && again.line == told.line && again.column == told.column);
	if (told.size > 0) {
		root = json_loadb(told.text, told.size, JSON_ALLOW_NUL, NULL);
		MUST(json_is_object(root));
		MUST(json_object_size(root) == (in.what == DRIVER_TOLD_ERROR      ? 7
						: in.what == DRIVER_TOLD_COMPLETE ? 3
										  : 2));
		json_decref(root);
	}
	/* And one that a taken process left. */
	memcpy(&again, data, size < sizeof(again) ? size : sizeof(again));
	again.size = size;
	driver_told_settle(&again);
	MUST(strlen(again.type) < sizeof(again.type) && strlen(again.message) < sizeof(again.message));
	MUST(strlen(again.file) < sizeof(again.file) && again.size < sizeof(again.text) && !again.text[again.size]);
	MUST(again.size == 0 || json_is_object_text(again.text, again.size, DRIVER_TOLD_DEPTH));
	if (driver_ready(text, size - 1, &abilities))
		MUST(strlen(abilities.name) < sizeof(abilities.name));
	free(text);
	return 0;
}
