#include "intercept/relay_head.h"

#include "base/own.h"
#include "http/header_text.h"

#include <string.h>
#include <strings.h>

static int head_refuse(struct http_fault *fault, int status, const char *message)
{
	fault->status = status;
	fault->message = message;
	return -1;
}

size_t relay_head_end(const char *data, size_t size, size_t from)
{
	size_t at = from > 3 ? from - 3 : 0;

	for (;;) {
		const char *line = at < size ? memchr(data + at, '\n', size - at) : NULL;

		if (!line)
			return 0;
		at = (size_t)(line - data) + 1;
		if (at < size && data[at] == '\n')
			return at + 1;
		if (at + 1 < size && data[at] == '\r' && data[at + 1] == '\n')
			return at + 2;
	}
}

/* ---- lines ---- */

struct relay_lines {
	const char *data;
	size_t size, at;
	struct http_fault *fault;
};

/* 1: the next line, without its end; -1. */
static int line_next(struct relay_lines *lines, struct http_text *line)
{
	const char *start = lines->data + lines->at;
	const size_t left = lines->size - lines->at;
	const char *end = left > 0 ? memchr(start, '\n', left) : NULL;

	if (!end)
		return head_refuse(lines->fault, 400, "the head is cut off");
	if (end == start || end[-1] != '\r')
		return head_refuse(lines->fault, 400, "a line of the head ends with LF alone; it has to be CR LF");
	line->data = start;
	line->size = (size_t)(end - start) - 1;
	lines->at += line->size + 2;
	for (size_t i = 0; i < line->size; i++)
		if (!http_is_value(line->data[i]))
			return head_refuse(lines->fault, 400, "the head contains a control character");
	return 1;
}

/* "HTTP/1.0" or "HTTP/1.1" */
static int version_take(struct http_text text, unsigned *minor, struct http_fault *fault)
{
	if (text.size != 8 || memcmp(text.data, "HTTP/", 5) != 0 || !http_is_digit(text.data[5]) ||
	    text.data[6] != '.' || !http_is_digit(text.data[7]))
		return head_refuse(fault, 400, "the first line is not one of HTTP/1.1");
	if (text.data[5] != '1' || text.data[7] > '1')
		return head_refuse(fault, 505, "the version of HTTP is not 1.1 or 1.0");
	*minor = (unsigned)(text.data[7] - '0');
	return 0;
}

static int request_line(struct http_text line, struct relay_head *head, struct http_fault *fault)
{
	static const char expected[] = "the first line is not METHOD TARGET HTTP/1.1";
	const char *first = memchr(line.data, ' ', line.size), *second;
	size_t method;

	if (!first)
		return head_refuse(fault, 400, expected);
	method = (size_t)(first - line.data);
	second = memchr(first + 1, ' ', line.size - method - 1);
	if (!second || second == first + 1)
		return head_refuse(fault, 400, expected);
	head->method = (struct http_text){ line.data, method };
	head->target = (struct http_text){ first + 1, (size_t)(second - first) - 1 };
	for (size_t i = 0; i < method; i++)
		if (!http_is_token(line.data[i]))
			return head_refuse(fault, 400, expected);
	if (method == 0 || method >= RELAY_METHOD_MAX)
		return head_refuse(fault, 400, expected);
	for (size_t i = 0; i < head->target.size; i++)
		if (head->target.data[i] <= ' ' || head->target.data[i] >= 0x7f)
			return head_refuse(fault, 400, "the target contains a byte that has to be written as %XX");
	return version_take((struct http_text){ second + 1, line.size - (size_t)(second + 1 - line.data) },
			    &head->minor, fault);
}

/* "HTTP/1.1 200 OK"; the reason, with its blank, may be missing. */
static int status_line(struct http_text line, struct relay_head *head, struct http_fault *fault)
{
	const char *at = line.data + 9;

	if (line.size < 12 || line.data[8] != ' ' || (line.size > 12 && line.data[12] != ' '))
		return head_refuse(fault, 502, "the first line is not one of HTTP/1.1");
	if (version_take((struct http_text){ line.data, 8 }, &head->minor, fault) < 0)
		return -1;
	if (at[0] < '1' || at[0] > '5' || !http_is_digit(at[1]) || !http_is_digit(at[2]))
		return head_refuse(fault, 502, "the status is not one of HTTP/1.1");
	head->status = (unsigned)(at[0] - '0') * 100 + (unsigned)(at[1] - '0') * 10 + (unsigned)(at[2] - '0');
	if (line.size > 13)
		head->reason = (struct http_text){ line.data + 13, line.size - 13 };
	return 0;
}

/* ---- fields that say where a message ends ---- */

static int length_take(struct relay_head *head, struct http_text value, struct http_fault *fault)
{
	if (head->has_length)
		return head_refuse(fault, 400, "Content-Length is given twice");
	head->has_length = true;
	/* 18 digits always fit. */
	if (value.size == 0 || value.size > 18)
		return head_refuse(fault, 400, "Content-Length is not a number");
	for (size_t i = 0; i < value.size; i++) {
		if (!http_is_digit(value.data[i]))
			return head_refuse(fault, 400, "Content-Length is not a number");
		head->length = head->length * 10 + (uint64_t)(value.data[i] - '0');
	}
	return 0;
}

static int coding_take(struct relay_head *head, struct http_text value, struct http_fault *fault)
{
	if (head->chunked)
		return head_refuse(fault, 400, "Transfer-Encoding is given twice");
	if (!http_text_is(value, "chunked"))
		return head_refuse(fault, 400, "Transfer-Encoding is not chunked, once and alone");
	head->chunked = true;
	return 0;
}

static int host_take(struct relay_head *head, struct http_text value, struct http_fault *fault)
{
	if (head->host.data)
		return head_refuse(fault, 400, "Host is given twice");
	head->host = value;
	return 0;
}

static int expect_take(struct relay_head *head, struct http_text value, struct http_fault *fault)
{
	if (head->expects_continue || !http_text_is(value, "100-continue"))
		return head_refuse(fault, 417, "Expect is not 100-continue");
	head->expects_continue = true;
	return 0;
}

static int upgrade_take(struct relay_head *head, struct http_text value, struct http_fault *fault)
{
	if (head->upgrade.data)
		return head_refuse(fault, 400, "Upgrade is given twice");
	head->upgrade = value;
	return 0;
}

static const struct {
	const char *name;
	bool of_requests; /* alone */
	int (*take)(struct relay_head *head, struct http_text value, struct http_fault *fault);
} known[] = {
	{ "content-length", false, length_take },
	{ "transfer-encoding", false, coding_take },
	{ "host", true, host_take },
	{ "expect", true, expect_take },
	{ "upgrade", false, upgrade_take },
};

static int field_take(struct relay_head *head, struct http_text line, bool is_request, struct http_fault *fault)
{
	struct http_field *field;
	size_t colon = 0, from, to = line.size;

	if (http_is_blank(line.data[0]))
		return head_refuse(fault, 400, "a line of the head is folded");
	while (colon < line.size && http_is_token(line.data[colon]))
		colon++;
	if (colon == 0 || colon == line.size || line.data[colon] != ':')
		return head_refuse(fault, 400, "a line of the head is not NAME: VALUE");
	if (head->field_count == RELAY_FIELDS_MAX)
		return head_refuse(fault, 431, "the head has more than 128 fields");
	for (from = colon + 1; from < to && http_is_blank(line.data[from]);)
		from++;
	while (to > from && http_is_blank(line.data[to - 1]))
		to--;
	field = &head->fields[head->field_count++];
	field->name = (struct http_text){ line.data, colon };
	field->value = (struct http_text){ line.data + from, to - from };
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (http_text_is(field->name, known[i].name) && (is_request || !known[i].of_requests))
			return known[i].take(head, field->value, fault);
	return 0;
}

static bool connection_lists(const struct relay_head *head, const char *word, size_t size)
{
	char name[64];

	if (size >= sizeof(name))
		return false;
	memcpy(name, word, size);
	name[size] = '\0';
	for (size_t i = 0; i < head->field_count; i++)
		if (http_text_is(head->fields[i].name, "connection") &&
		    http_text_has_token(head->fields[i].value, name))
			return true;
	return false;
}

static int fields_read(struct relay_lines *lines, struct relay_head *head, bool is_request)
{
	struct http_text line;

	for (;;) {
		if (line_next(lines, &line) < 0)
			return -1;
		if (line.size == 0)
			break;
		if (field_take(head, line, is_request, lines->fault) < 0)
			return -1;
	}
	if (lines->at != lines->size)
		return head_refuse(lines->fault, 400, "a line of the head ends with LF alone; it has to be CR LF");
	if (head->chunked && head->has_length)
		return head_refuse(lines->fault, 400, "Content-Length and Transfer-Encoding are both given");
	if (head->chunked && head->minor == 0)
		return head_refuse(lines->fault, 400, "HTTP/1.0 has no Transfer-Encoding");
	head->close =
		connection_lists(head, "close", 5) || (head->minor == 0 && !connection_lists(head, "keep-alive", 10));
	if (!connection_lists(head, "upgrade", 7) || head->minor == 0)
		head->upgrade = (struct http_text){ NULL, 0 };
	return 0;
}

static void head_clear(struct relay_head *head)
{
	const struct http_text none = { NULL, 0 };

	head->method = head->target = head->reason = head->host = head->upgrade = none;
	head->status = head->minor = 0;
	head->field_count = 0;
	head->length = 0;
	head->has_length = head->chunked = head->close = head->expects_continue = false;
}

int relay_request_read(const char *data, size_t size, struct relay_head *head, struct http_fault *fault)
{
	struct relay_lines lines = { data, size, 0, fault };
	struct http_text line;

	head_clear(head);
	if (line_next(&lines, &line) < 0 || request_line(line, head, fault) < 0 || fields_read(&lines, head, true) < 0)
		return -1;
	if (!head->host.data)
		return head_refuse(fault, 400, "Host is missing");
	head->expects_continue &= head->minor > 0;
	return 0;
}

int relay_response_read(const char *data, size_t size, struct relay_head *head, struct http_fault *fault)
{
	struct relay_lines lines = { data, size, 0, fault };
	struct http_text line;

	head_clear(head);
	if (line_next(&lines, &line) < 0 || status_line(line, head, fault) < 0 ||
	    fields_read(&lines, head, false) < 0) {
		fault->status = 502;
		return -1;
	}
	return 0;
}

const struct http_field *relay_field(const struct relay_head *head, const char *name)
{
	for (size_t i = 0; i < head->field_count; i++)
		if (http_text_is(head->fields[i].name, name))
			return &head->fields[i];
	return NULL;
}

bool relay_field_is_hop(const struct relay_head *head, const struct http_field *field)
{
	static const char *const hop[] = {
		"connection", "keep-alive",        "proxy-connection", "proxy-authorization", "proxy-authenticate",
		"te",         "transfer-encoding", "upgrade",          "http2-settings",      "content-length",
		"expect"
	};

	for (size_t i = 0; i < ARRAY_SIZE(hop); i++)
		if (http_text_is(field->name, hop[i]))
			return true;
	/* Host and the like cannot be taken out so. */
	return !http_text_is(field->name, "host") && connection_lists(head, field->name.data, field->name.size);
}
