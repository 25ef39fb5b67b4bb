/* What a service answers: the same whole and in pieces, a status that is one, and events that are terminated. */
#include "fuzz.h"

#include "client/http_answer.h"

#include <string.h>

struct http_answer_heard {
	size_t events; /* how many */
	size_t bytes;  /* of their data */
};

static void http_answer_hear(const char *name, const char *data, size_t size, void *userdata)
{
	struct http_answer_heard *heard = userdata;

	MUST(strlen(name) < HTTP_EVENT_MAX && data[size] == '\0');
	heard->events++;
	heard->bytes += size;
}

static int http_answer_feed(const char *text, size_t size, size_t step, struct http_answer *answer, struct buf *body,
			    struct http_answer_heard *heard)
{
	struct http_events events = { 0 };
	struct error err = { 0 };
	int done = 0;

	for (size_t at = 0; at < size && done >= 0; at += step)
		done = http_answer_take(answer, text + at, size - at < step ? size - at : step, body, &err);
	MUST(done >= 0 || *err.text);
	MUST(done <= 0 || (answer->status >= 200 && answer->status <= 999));
	for (size_t at = 0; at < body->size; at += step)
		MUST(http_events_take(&events, body->data + at, body->size - at < step ? body->size - at : step,
				      http_answer_hear, heard, &err) == 0);
	http_events_free(&events);
	return done;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http_answer whole = { 0 }, pieces = { 0 };
	struct http_answer_heard once = { 0 }, again = { 0 };
	struct buf a = { 0 }, b = { 0 };
	char *text = fuzz_text_of(data, size);
	int got = http_answer_feed(text, size, size ? size : 1, &whole, &a, &once);
	int same = http_answer_feed(text, size, 1, &pieces, &b, &again);

	MUST(got == same);
	if (got >= 0) {
		MUST(whole.status == pieces.status && whole.events == pieces.events && whole.body == pieces.body);
		MUST(a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0));
		MUST(once.events == again.events && once.bytes == again.bytes);
	}
	free(text);
	http_answer_free(&whole);
	http_answer_free(&pieces);
	buf_free(&a);
	buf_free(&b);
	return 0;
}
