/* A client's frames: what comes out of them is inside its bounds, and no byte is used twice. */
#include "fuzz.h"

#include "http/websocket.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct websocket stream = { 0 };
	struct websocket_message message;
	char *copy = malloc(size + 1);
	size_t at = 0, used = 1;
	unsigned code = 0;
	int got = 0;

	MUST(copy != NULL);
	memcpy(copy, data, size);
	while (got >= 0 && used > 0) {
		got = websocket_take(&stream, copy + at, size - at, &used, &message, &code);
		MUST(used <= size - at);
		MUST(got >= 0 || (code >= 1000 && code < 1015));
		MUST(got != 1 || message.size <= WEBSOCKET_MESSAGE_MAX);
		MUST(got != 1 || message.kind < WEBSOCKET_CLOSE || message.size <= WEBSOCKET_CONTROL_MAX);
		at += used;
	}
	websocket_free(&stream);
	free(copy);
	return 0;
}
