/* Parses the head of a request: the first line (target.c), its fields, and their consequences for the body and the
 * connection. */
#include "http/http.h"

#include "base/own.h"
#include "http/target.h"
#include "http/header_text.h"

#include <string.h>
#include <strings.h>

/* State of parsing a head. */
struct head_reading {
	const char *data;         /* received bytes */
	size_t size;              /* how many of them may belong to the head */
	size_t at;                /* how many are parsed */
	struct http_head *head;   /* the result */
	struct http_fault *fault; /* or the reason for a refusal */
	bool full;                /* the head has its maximum size */
	bool begun;               /* the first line is parsed */
	bool has_length;          /* a Content-Length is present */
	struct http_text coding;  /* value of Transfer-Encoding */
	struct http_text target;  /* host of an absolute target */
	bool close, stay;         /* tokens of Connection */
	bool upgrade_listed;      /* upgrade is a token of Connection */
	bool upgrade_named;       /* an Upgrade is present */
	bool has_origin;          /* an Origin is present */
	bool has_authorization;   /* an Authorization is present */
};

int http_refuse(struct http_fault *fault, int status, const char *message)
{
	fault->status = status;
	fault->message = message;
	return -1;
}

/* Checks an incomplete line. Invalid bytes are reported at once, because their sender (TLS to a plain port) would wait
 * for an answer. */
static int line_cut(struct head_reading *r, const char *line, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (!http_is_value(line[i]) && !(line[i] == '\r' && i + 1 == size))
			return http_refuse(r->fault, 400, "the head has a control byte in it; is it HTTP?");
	if (!r->full)
		return 0;
	return r->begun ? http_refuse(r->fault, 431, "the head of the request is longer than 16384 bytes")
			: http_refuse(r->fault, 414, "the first line of the request is longer than 16384 bytes");
}

/* Reads the next line, without its end. 1; 0: incomplete; -1: invalid. */
static int line_next(struct head_reading *r, struct http_text *line)
{
	const char *start = r->data + r->at;
	size_t left = r->size - r->at;
	const char *end = left > 0 ? memchr(start, '\n', left) : NULL;

	if (!end)
		return line_cut(r, start, left);
	if (end == start || end[-1] != '\r')
		return http_refuse(r->fault, 400, "a line of the head ends with LF alone; it has to be CR LF");
	line->data = start;
	line->size = (size_t)(end - start) - 1;
	r->at += line->size + 2;
	return 1;
}

/* The first line. */

static const struct {
	const char *name;        /* as sent */
	enum http_method method; /* what it is */
} methods[] = {
	{ "GET", HTTP_GET },   { "POST", HTTP_POST },       { "PUT", HTTP_PUT },     { "DELETE", HTTP_DELETE },
	{ "HEAD", HTTP_HEAD }, { "OPTIONS", HTTP_OPTIONS }, { "PATCH", HTTP_PATCH },
};

static int method_read(struct head_reading *r, const char *name, size_t size)
{
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		if (strlen(methods[i].name) == size && memcmp(methods[i].name, name, size) == 0) {
			r->head->method = methods[i].method;
			return 0;
		}
	}
	return http_refuse(r->fault, 501, "the method is not one of GET, HEAD, POST, PUT, PATCH, DELETE and OPTIONS");
}

static int version_read(struct head_reading *r, const char *text, size_t size)
{
	if (size != 8 || memcmp(text, "HTTP/", 5) != 0 || !http_is_digit(text[5]) || text[6] != '.' ||
	    !http_is_digit(text[7]))
		return http_refuse(r->fault, 400, "the first line has to be a method, a target and HTTP/1.1");
	if (text[5] != '1' || text[7] > '1')
		return http_refuse(r->fault, 505, "the version has to be HTTP/1.1 or HTTP/1.0");
	r->head->minor = (unsigned)(text[7] - '0');
	return 0;
}

static int request_line(struct head_reading *r, struct http_text line)
{
	const char *end = line.data + line.size, *target, *version;
	size_t method = 0;

	while (method < line.size && http_is_token(line.data[method]))
		method++;
	target = line.data + method + 1;
	if (method == 0 || target >= end || target[-1] != ' ')
		return http_refuse(r->fault, 400, "the first line has to be a method, a target and HTTP/1.1");
	version = memchr(target, ' ', (size_t)(end - target));
	if (!version || version == target)
		return http_refuse(r->fault, 400, "the first line has to be a method, a target and HTTP/1.1");
	if (version_read(r, version + 1, (size_t)(end - version) - 1) < 0 || method_read(r, line.data, method) < 0)
		return -1;
	return http_target((struct http_text){ target, (size_t)(version - target) }, r->head, &r->target, r->fault);
}

/* Fields that affect the body and the connection. */

static int take_host(struct head_reading *r, struct http_text value)
{
	if (r->head->host.data)
		return http_refuse(r->fault, 400, "Host: it is given twice; leave one out");
	if (!http_is_authority(value))
		return http_refuse(r->fault, 400, "Host: expected a host's name and maybe a port");
	r->head->host = value;
	return 0;
}

static int take_length(struct head_reading *r, struct http_text value)
{
	uint64_t length = 0;

	if (r->has_length)
		return http_refuse(r->fault, 400, "Content-Length: it is given twice; leave one out");
	r->has_length = true;
	for (size_t i = 0; i < value.size; i++)
		if (!http_is_digit(value.data[i]))
			return http_refuse(r->fault, 400, "Content-Length: expected a number in decimal digits");
	if (value.size == 0)
		return http_refuse(r->fault, 400, "Content-Length: expected a number in decimal digits");
	for (size_t i = 0; i < value.size; i++)
		if (__builtin_mul_overflow(length, 10, &length) ||
		    __builtin_add_overflow(length, (uint64_t)(value.data[i] - '0'), &length))
			return http_refuse(r->fault, 413, "Content-Length: a body of that size is not accepted");
	r->head->length = length;
	return 0;
}

static int take_coding(struct head_reading *r, struct http_text value)
{
	if (r->coding.data)
		return http_refuse(r->fault, 400, "Transfer-Encoding: it is given twice; leave one out");
	r->coding = value;
	if (http_text_is(value, "chunked"))
		r->head->chunked = true;
	else if (value.size == 0 || http_text_has_token(value, "chunked"))
		return http_refuse(r->fault, 400,
				   "Transfer-Encoding: it has to be chunked, once and without another coding");
	else
		return http_refuse(r->fault, 501,
				   "Transfer-Encoding: only chunked is supported; send the body unencoded");
	return 0;
}

static int take_connection(struct head_reading *r, struct http_text value)
{
	r->close |= http_text_has_token(value, "close");
	r->stay |= http_text_has_token(value, "keep-alive");
	r->upgrade_listed |= http_text_has_token(value, "upgrade");
	return 0;
}

static int take_upgrade(struct head_reading *r, struct http_text value)
{
	r->upgrade_named = true;
	return 0;
}

static int take_expect(struct head_reading *r, struct http_text value)
{
	if (!http_text_is(value, "100-continue"))
		return http_refuse(r->fault, 417, "Expect: only 100-continue is supported; leave it out");
	r->head->expects_continue = true;
	return 0;
}

/* A second Origin is refused: a proxy might check the other one. */
static int take_origin(struct head_reading *r, struct http_text value)
{
	if (r->has_origin)
		return http_refuse(r->fault, 400, "Origin: it is given twice; leave one out");
	r->has_origin = true;
	return 0;
}

static int take_authorization(struct head_reading *r, struct http_text value)
{
	if (r->has_authorization)
		return http_refuse(r->fault, 400, "Authorization: it is given twice; leave one out");
	r->has_authorization = true;
	return 0;
}

static const struct {
	const char *name;                                            /* name of the field */
	size_t size;                                                 /* its length */
	int (*take)(struct head_reading *r, struct http_text value); /* handles the value */
} known[] = {
	{ "host", 4, take_host },
	{ "expect", 6, take_expect },
	{ "origin", 6, take_origin },
	{ "upgrade", 7, take_upgrade },
	{ "connection", 10, take_connection },
	{ "authorization", 13, take_authorization },
	{ "content-length", 14, take_length },
	{ "transfer-encoding", 17, take_coding },
};

static int field_known(struct head_reading *r, const struct http_field *field)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (field->name.size == known[i].size &&
		    strncasecmp(field->name.data, known[i].name, known[i].size) == 0)
			return known[i].take(r, field->value);
	return 0;
}

/* Fields. */

static int field_read(struct head_reading *r, struct http_text line)
{
	struct http_head *head = r->head;
	struct http_field *field;
	size_t colon = 0, from, to = line.size;

	if (http_is_blank(line.data[0]))
		return http_refuse(r->fault, 400, "a field of the head is folded; write it in one line");
	while (colon < line.size && http_is_token(line.data[colon]))
		colon++;
	if (colon == 0 || colon == line.size || line.data[colon] != ':')
		return http_refuse(r->fault, 400, "a line of the head is no field; it has to be NAME: VALUE");
	for (size_t i = colon; i < line.size; i++)
		if (!http_is_value(line.data[i]))
			return http_refuse(r->fault, 400, "a field of the head has a control byte in it");
	if (head->field_count == HTTP_HEADERS_MAX)
		return http_refuse(r->fault, 431, "the head has more than 64 fields");
	for (from = colon + 1; from < to && http_is_blank(line.data[from]);)
		from++;
	while (to > from && http_is_blank(line.data[to - 1]))
		to--;
	field = &head->fields[head->field_count++];
	field->name = (struct http_text){ line.data, colon };
	field->value = (struct http_text){ line.data + from, to - from };
	return field_known(r, field);
}

static bool text_same(struct http_text a, struct http_text b)
{
	return a.size == b.size && strncasecmp(a.data, b.data, a.size) == 0;
}

/* Checks that need all fields. */
static int head_settle(struct head_reading *r)
{
	struct http_head *head = r->head;

	if (head->minor > 0 && !head->host.data)
		return http_refuse(r->fault, 400, "Host: it is missing; HTTP/1.1 requires it");
	if (r->target.data && head->host.data && !text_same(r->target, head->host))
		return http_refuse(r->fault, 400, "Host: it is not the host of the target");
	if (r->target.data)
		head->host = r->target;
	if (head->chunked && r->has_length)
		return http_refuse(r->fault, 400,
				   "Content-Length: it cannot be given with Transfer-Encoding; leave one out");
	if (head->chunked && head->minor == 0)
		return http_refuse(r->fault, 400,
				   "Transfer-Encoding: HTTP/1.0 does not support it; give a Content-Length");
	head->keep_alive = !r->close && (head->minor > 0 || r->stay);
	head->upgrade = r->upgrade_listed && r->upgrade_named && head->minor > 0;
	/* RFC 9110, 10.1.1: ignored from an HTTP/1.0 client, and pointless without a body. */
	head->expects_continue &= head->minor > 0 && (head->chunked || head->length > 0);
	return 0;
}

long http_parse(const char *data, size_t size, struct http_head *head, struct http_fault *fault)
{
	struct head_reading r = { .data = data, .size = size, .head = head, .fault = fault };
	struct http_text line = { NULL, 0 };
	int got;

	if (size >= HTTP_HEAD_MAX) {
		r.size = HTTP_HEAD_MAX;
		r.full = true;
	}
	head->query = head->host = (struct http_text){ NULL, 0 };
	head->path[0] = '\0';
	head->field_count = 0;
	head->length = 0;
	head->minor = 0;
	head->chunked = head->keep_alive = head->expects_continue = head->upgrade = false;
	do
		got = line_next(&r, &line);
	while (got > 0 && line.size == 0);
	if (got <= 0)
		return got;
	r.begun = true;
	if (request_line(&r, line) < 0)
		return -1;
	for (;;) {
		got = line_next(&r, &line);
		if (got <= 0)
			return got;
		if (line.size == 0)
			return head_settle(&r) < 0 ? -1 : (long)r.at;
		if (field_read(&r, line) < 0)
			return -1;
	}
}

struct http_text http_field(const struct http_head *head, const char *name, bool *twice)
{
	struct http_text found = { NULL, 0 };
	size_t size = strlen(name);

	if (twice)
		*twice = false;
	for (size_t i = 0; i < head->field_count; i++) {
		const struct http_field *field = &head->fields[i];

		if (field->name.size != size || strncasecmp(field->name.data, name, size) != 0)
			continue;
		if (found.data) {
			if (twice)
				*twice = true;
			return (struct http_text){ NULL, 0 };
		}
		found = field->value;
	}
	return found;
}

bool http_text_is(struct http_text text, const char *word)
{
	return text.data && strlen(word) == text.size && strncasecmp(text.data, word, text.size) == 0;
}

bool http_text_has_token(struct http_text text, const char *word)
{
	for (size_t at = 0; at < text.size;) {
		const char *comma = memchr(text.data + at, ',', text.size - at);
		size_t end = comma ? (size_t)(comma - text.data) : text.size, stop = end;
		const char *parameters = memchr(text.data + at, ';', end - at);

		if (parameters)
			stop = (size_t)(parameters - text.data);
		while (at < stop && http_is_blank(text.data[at]))
			at++;
		while (stop > at && http_is_blank(text.data[stop - 1]))
			stop--;
		if (http_text_is((struct http_text){ text.data + at, stop - at }, word))
			return true;
		at = end + 1;
	}
	return false;
}
