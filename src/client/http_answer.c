#include "client/http_answer.h"

#include "http/header_text.h"

#include <errno.h>
#include <string.h>

static int not_http(struct error *err, const char *what)
{
	return error_set(err, ERROR_FAILED, 0, "the service gave an invalid answer: %s", what);
}

/* "HTTP/1.1 200 OK" */
static int read_status(struct http_answer *answer, const char *line, size_t size, struct error *err)
{
	if (size < 12 || memcmp(line, "HTTP/1.", 7) != 0 || (line[7] != '0' && line[7] != '1') || line[8] != ' ' ||
	    !http_is_digit(line[9]) || !http_is_digit(line[10]) || !http_is_digit(line[11]) ||
	    (size > 12 && line[12] != ' '))
		return not_http(err, "no status line");
	answer->status = (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
	if (answer->status < 100)
		return not_http(err, "no status");
	answer->keep_alive = line[7] == '1';
	return 0;
}

static int read_length(struct http_text value, uint64_t *length, struct error *err)
{
	*length = 0;
	if (value.size == 0 || value.size > 15)
		return not_http(err, "no length");
	for (size_t i = 0; i < value.size; i++) {
		if (!http_is_digit(value.data[i]))
			return not_http(err, "no length");
		*length = *length * 10 + (uint64_t)(value.data[i] - '0');
	}
	return 0;
}

/* One line of the head. A length together with chunks is refused, as in the parser of requests. */
static int read_field(struct http_answer *answer, const char *line, size_t size, bool *sized, struct error *err)
{
	const char *colon = memchr(line, ':', size);
	struct http_text name = { line, colon ? (size_t)(colon - line) : 0 }, value;

	if (!colon || name.size == 0)
		return not_http(err, "no header");
	value = (struct http_text){ colon + 1, size - name.size - 1 };
	while (value.size > 0 && http_is_blank(*value.data))
		value.data++, value.size--;
	while (value.size > 0 && http_is_blank(value.data[value.size - 1]))
		value.size--;
	if (http_text_is(name, "content-length")) {
		if (*sized || read_length(value, &answer->left, err) < 0)
			return *sized ? not_http(err, "two lengths") : -1;
		*sized = true;
		answer->body = HTTP_BODY_LENGTH;
	} else if (http_text_is(name, "transfer-encoding")) {
		if (*sized || !http_text_is(value, "chunked"))
			return not_http(err, "an encoding that nobody asked for");
		*sized = true;
		answer->body = HTTP_BODY_CHUNKED;
	} else if (http_text_is(name, "content-type")) {
		answer->events = http_text_has_token(value, "text/event-stream");
	} else if (http_text_is(name, "connection")) {
		answer->keep_alive = !http_text_has_token(value, "close");
	}
	return 0;
}

static int read_head(struct http_answer *answer, struct error *err)
{
	const char *at = answer->head.data, *end = at + answer->head.size - 2;
	bool first = true, sized = false;

	answer->body = HTTP_BODY_CLOSE;
	answer->events = false;
	while (at < end) {
		const char *stop = memmem(at, (size_t)(end - at) + 2, "\r\n", 2);
		size_t size = (size_t)(stop - at);

		if (memchr(at, '\0', size))
			return not_http(err, "a NUL in its head");
		if ((first ? read_status(answer, at, size, err) : read_field(answer, at, size, &sized, err)) < 0)
			return -1;
		first = false;
		at = stop + 2;
	}
	if (first)
		return not_http(err, "no status line");
	/* An interim response: the final one follows. */
	if (answer->status < 200) {
		if (answer->status == 101)
			return not_http(err, "another protocol");
		answer->status = 0;
		answer->body = HTTP_BODY_HEAD;
	} else if (answer->status == 204 || answer->status == 304 ||
		   (answer->body == HTTP_BODY_LENGTH && answer->left == 0)) {
		answer->body = HTTP_BODY_DONE;
	}
	if (answer->body == HTTP_BODY_CLOSE)
		answer->keep_alive = false;
	answer->head.size = 0;
	return 0;
}

/* Returns the number of consumed bytes, or -1. */
static long take_head(struct http_answer *answer, const char *data, size_t size, struct error *err)
{
	size_t before = answer->head.size, from = before < 3 ? 0 : before - 3;
	const char *end;

	if (size > HTTP_HEAD_MAX - before)
		size = HTTP_HEAD_MAX - before;
	if (size == 0)
		return not_http(err, "its head is too long");
	buf_add(&answer->head, data, size);
	if (answer->head.failed)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the answer of the service");
	end = memmem(answer->head.data + from, answer->head.size - from, "\r\n\r\n", 4);
	if (!end)
		return (long)size;
	size = (size_t)(end + 4 - answer->head.data) - before;
	answer->head.size = before + size;
	return read_head(answer, err) < 0 ? -1 : (long)size;
}

/* Returns the number of consumed bytes, or -1. */
static long take_body(struct http_answer *answer, const char *data, size_t size, struct buf *out, struct error *err)
{
	struct http_fault fault;
	size_t used = size;
	int done;

	if (answer->body == HTTP_BODY_CHUNKED) {
		/* Events are removed as they arrive; a body that is kept is bounded. */
		done = http_chunks_take(&answer->chunks, data, size, &used,
					answer->events ? UINT64_MAX : HTTP_ANSWER_MAX, out, &fault);
		if (done < 0)
			return not_http(err, fault.message);
		if (done > 0)
			answer->body = HTTP_BODY_DONE;
	} else {
		if (answer->body == HTTP_BODY_LENGTH && used > answer->left)
			used = (size_t)answer->left;
		buf_add(out, data, used);
		if (answer->body == HTTP_BODY_LENGTH) {
			answer->left -= used;
			if (answer->left == 0)
				answer->body = HTTP_BODY_DONE;
		}
	}
	if (out->failed)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the answer of the service");
	if (out->size > HTTP_ANSWER_MAX)
		return not_http(err, "it is too long");
	return (long)used;
}

int http_answer_take(struct http_answer *answer, const char *data, size_t size, struct buf *out, struct error *err)
{
	while (size > 0 && answer->body != HTTP_BODY_DONE) {
		long used = answer->body == HTTP_BODY_HEAD ? take_head(answer, data, size, err)
							   : take_body(answer, data, size, out, err);

		if (used < 0)
			return -1;
		data += used;
		size -= (size_t)used;
	}
	/* Only one answer is expected. */
	if (size > 0)
		return not_http(err, "there is more than one answer");
	return answer->body == HTTP_BODY_DONE;
}

int http_answer_end(struct http_answer *answer, struct error *err)
{
	if (answer->body != HTTP_BODY_CLOSE && answer->body != HTTP_BODY_DONE)
		return error_set(err, ERROR_FAILED, 0, "the service closed the connection");
	answer->body = HTTP_BODY_DONE;
	return 0;
}

void http_answer_free(struct http_answer *answer)
{
	buf_free(&answer->head);
}

static void end_event(struct http_events *events, http_event_fn *on_event, void *userdata)
{
	if (events->has_data) {
		buf_add(&events->name, "", 0);
		buf_add(&events->data, "", 0);
		if (!events->name.failed && !events->data.failed)
			on_event(events->name.size > 0 ? events->name.data : "message", events->data.data,
				 events->data.size, userdata);
	}
	events->name.size = events->data.size = 0;
	events->has_data = false;
}

static void end_line(struct http_events *events, http_event_fn *on_event, void *userdata)
{
	const char *line = events->line.data, *colon, *value;
	size_t size = events->line.size, name;

	events->line.size = 0;
	if (size == 0) {
		end_event(events, on_event, userdata);
		return;
	}
	colon = memchr(line, ':', size);
	name = colon ? (size_t)(colon - line) : size;
	value = colon ? colon + 1 : line + size;
	if (value < line + size && *value == ' ')
		value++;
	size = (size_t)(line + size - value);
	if (name == 5 && memcmp(line, "event", 5) == 0) {
		events->name.size = 0;
		buf_add(&events->name, value, size);
	} else if (name == 4 && memcmp(line, "data", 4) == 0) {
		if (events->has_data)
			buf_text(&events->data, "\n");
		buf_add(&events->data, value, size);
		events->has_data = true;
	}
	/* A comment (no name), or an unknown field. */
}

int http_events_take(struct http_events *events, const char *data, size_t size, http_event_fn *on_event, void *userdata,
		     struct error *err)
{
	while (size > 0) {
		size_t part = 0;

		if (events->after_cr && *data == '\n')
			data++, size--;
		events->after_cr = false;
		while (part < size && data[part] != '\n' && data[part] != '\r')
			part++;
		if (events->line.size + events->data.size + part > HTTP_EVENT_MAX)
			return not_http(err, "an event is too long");
		buf_add(&events->line, data, part);
		if (part < size) {
			events->after_cr = data[part] == '\r';
			end_line(events, on_event, userdata);
			part++;
		}
		data += part;
		size -= part;
		if (events->line.failed || events->data.failed || events->name.failed)
			return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the answer of the service");
	}
	return 0;
}

void http_events_free(struct http_events *events)
{
	buf_free(&events->line);
	buf_free(&events->name);
	buf_free(&events->data);
}
