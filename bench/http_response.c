/* What a server answers, as it comes. */
#include "http_load.h"

#include "base/own.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	HEAD_MAX = 64 << 10, /* bytes of a head */
	KEPT_MAX = 64 << 10, /* bytes of a body that are looked at */
};

/* Where in a chunk the next byte is. */
enum part {
	PART_SIZE,    /* in the line before it */
	PART_DATA,    /* in it */
	PART_END,     /* in the line end behind it */
	PART_TRAILER, /* behind the last */
};

/* The value of a header field, blanks skipped; NULL: there is none. */
static const char *field(const char *head, const char *name)
{
	size_t size = strlen(name);

	for (const char *line = strstr(head, "\r\n"); line; line = strstr(line, "\r\n")) {
		line += 2;
		if (strncasecmp(line, name, size) == 0 && line[size] == ':')
			return line + size + 1 + strspn(line + size + 1, " \t");
	}
	return NULL;
}

static bool says(const char *value, const char *word)
{
	return value && strncasecmp(value, word, strlen(word)) == 0;
}

static const char *head_read(struct http_response *response)
{
	const char *text = response->text.data, *length, *version = "HTTP/1.";
	int status;

	if (strncmp(text, version, strlen(version)) != 0 || text[8] != ' ')
		return "the answer is not HTTP/1";
	status = atoi(text + 9);
	if (status < 100 || status > 599)
		return "the answer has no status";
	response->status = status;
	response->chunked = says(field(text, "Transfer-Encoding"), "chunked");
	response->close = says(field(text, "Connection"), "close") ||
			  (text[7] == '0' && !says(field(text, "Connection"), "keep-alive"));
	length = field(text, "Content-Length");
	if (length)
		response->length = strtoull(length, NULL, 10);
	if (status == 204 || status == 304)
		response->length = 0;
	if (!response->chunked && response->length == UINT64_MAX)
		response->close = true;
	return NULL;
}

static void body_keep(struct http_response *response, const char *data, size_t size)
{
	size_t kept = response->text.size - response->head;

	response->body += size;
	if (kept < KEPT_MAX)
		buf_add(&response->text, data, size < KEPT_MAX - kept ? size : KEPT_MAX - kept);
}

/* One byte of what is around chunks. */
static const char *frame_take(struct http_response *response, char c)
{
	if (c != '\n') {
		if (response->line_size < sizeof(response->line) - 1)
			response->line[response->line_size++] = c;
		return NULL;
	}
	if (response->line_size == 0 || response->line[response->line_size - 1] != '\r')
		return "a line of a chunk does not end with CR LF";
	response->line[response->line_size - 1] = '\0';
	response->line_size = 0;
	switch ((enum part)response->part) {
	case PART_SIZE:
		if (!strchr("0123456789abcdefABCDEF", response->line[0]) || !response->line[0])
			return "a chunk has no size";
		response->chunk = strtoull(response->line, NULL, 16);
		response->part = response->chunk ? PART_DATA : PART_TRAILER;
		return NULL;
	case PART_END:
		response->part = PART_SIZE;
		return response->line[0] ? "a chunk is longer than it said" : NULL;
	case PART_TRAILER:
		response->done = response->line[0] == '\0';
		return NULL;
	case PART_DATA:
		break;
	}
	return NULL;
}

static const char *chunks_take(struct http_response *response, const char *data, size_t size)
{
	const char *fault = NULL;

	while (size > 0 && !fault && !response->done) {
		size_t part = response->chunk < size ? (size_t)response->chunk : size;

		if (response->part != PART_DATA) {
			fault = frame_take(response, *data++);
			size--;
			continue;
		}
		body_keep(response, data, part);
		response->chunk -= part;
		data += part;
		size -= part;
		if (response->chunk == 0)
			response->part = PART_END;
	}
	return !fault && size > 0 ? "more came than the answer" : fault;
}

static const char *body_take(struct http_response *response, const char *data, size_t size)
{
	if (response->chunked)
		return chunks_take(response, data, size);
	if (size > response->length - response->body)
		return "more came than the answer";
	body_keep(response, data, size);
	response->done = response->body == response->length;
	return NULL;
}

/* An interim answer is followed by the real one, of which a part may be there. */
static const char *interim_skip(struct http_response *response)
{
	size_t rest = response->text.size - response->head;
	_cleanup_free_ char *copy = malloc(rest + 1);

	if (!copy)
		return "no memory";
	memcpy(copy, response->text.data + response->head, rest);
	response->text.size = 0;
	*response = (struct http_response){ .text = response->text, .length = UINT64_MAX };
	return rest ? http_response_take(response, copy, rest) : NULL;
}

const char *http_response_take(struct http_response *response, const char *data, size_t size)
{
	const char *end, *fault;
	size_t rest;

	if (response->head)
		return body_take(response, data, size);
	buf_add(&response->text, data, size);
	if (response->text.failed)
		return "no memory";
	end = strstr(response->text.data, "\r\n\r\n");
	if (!end)
		return response->text.size > HEAD_MAX ? "the head of the answer is too long" : NULL;
	response->head = (size_t)(end - response->text.data) + 4;
	fault = head_read(response);
	if (fault)
		return fault;
	if (response->status < 200)
		return interim_skip(response);
	rest = response->text.size - response->head;
	response->text.size = response->head;
	response->text.data[response->head] = '\0';
	if (rest == 0) {
		response->done = response->length == 0 && !response->chunked;
		return NULL;
	}
	return body_take(response, data + (size - rest), rest);
}

const char *http_response_ends(struct http_response *response)
{
	if (response->head && !response->chunked && response->length == UINT64_MAX) {
		response->done = true;
		return NULL;
	}
	return response->text.size ? "the connection ended in the middle of an answer"
				   : "the connection ended before an answer";
}
