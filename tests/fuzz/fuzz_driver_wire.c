/* What a driver says: cut at any place it is the same messages, none is larger than it may be, and nothing behind what
 * is no message is taken for one. The first byte says how it is cut. */
#include "fuzz.h"

#include "live/driver_wire.h"

/* A digest of all messages, and how many they are. */
static uint64_t driver_digest(const uint8_t *data, size_t size, size_t step, size_t *count)
{
	struct driver_reader reader = { 0 };
	struct driver_message message;
	uint64_t digest = 14695981039346656037u;
	int got = 0;

	*count = 0;
	for (size_t at = 0; at < size && got >= 0; at += step) {
		driver_feed(&reader, data + at, step < size - at ? step : size - at);
		while ((got = driver_next(&reader, &message)) > 0) {
			MUST(message.word < DRIVER_WORDS && message.size <= DRIVER_PAYLOAD_MAX);
			MUST(message.word == DRIVER_OUTPUT || message.size <= DRIVER_SMALL_MAX);
			MUST(strlen(message.secret) == (message.word == DRIVER_READY ? 0 : DRIVER_SECRET - 1));
			digest = (digest ^ message.word) * 1099511628211u;
			for (size_t i = 0; i < message.size; i++)
				digest = (digest ^ (uint8_t)message.payload[i]) * 1099511628211u;
			++*count;
		}
		MUST(got < 0 || reader.in.size - reader.used <= DRIVER_LINE_MAX + DRIVER_PAYLOAD_MAX + step);
	}
	driver_reader_free(&reader);
	return digest;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;
	size_t whole, cut, chars;
	bool ok;
	int code;

	if (size < 2)
		return 0;
	MUST(driver_digest(data + 1, size - 1, size - 1, &whole) ==
	     driver_digest(data + 1, size - 1, (size_t)data[0] + 1, &cut));
	MUST(whole == cut);
	if (driver_done(text, size - 1, &ok, &code))
		MUST(code >= 0 && code <= 255);
	chars = driver_chars(text, size - 1, size - 1);
	MUST(chars <= size - 1 && driver_bytes(text, size - 1, chars) <= size - 1);
	MUST(driver_bytes(text, size - 1, chars + 1) == size - 1);
	return 0;
}
