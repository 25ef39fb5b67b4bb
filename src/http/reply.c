/* Writes replies. This is part of every request, so they are built from constants, without printf. */
#include "http/http.h"

#include "base/own.h"

#include <string.h>
#include <strings.h>

#define CACHE  "Cache-Control: no-store\r\n"
#define POLICY "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n"
#define GUARDS                                                                                                         \
	"X-Content-Type-Options: nosniff\r\n"                                                                          \
	"Referrer-Policy: no-referrer\r\n"                                                                             \
	"X-Frame-Options: DENY\r\n"                                                                                    \
	"Cross-Origin-Resource-Policy: same-origin\r\n"
#define ADD(out, constant) buf_add(out, constant, sizeof(constant) - 1)

static const struct {
	int status;         /* status code */
	const char *reason; /* its name in RFC 9110 */
} reasons[] = {
	{ 200, "OK" },
	{ 400, "Bad Request" },
	{ 404, "Not Found" },
	{ 100, "Continue" },
	{ 101, "Switching Protocols" },
	{ 201, "Created" },
	{ 202, "Accepted" },
	{ 204, "No Content" },
	{ 206, "Partial Content" },
	{ 301, "Moved Permanently" },
	{ 302, "Found" },
	{ 303, "See Other" },
	{ 304, "Not Modified" },
	{ 307, "Temporary Redirect" },
	{ 308, "Permanent Redirect" },
	{ 401, "Unauthorized" },
	{ 403, "Forbidden" },
	{ 405, "Method Not Allowed" },
	{ 406, "Not Acceptable" },
	{ 408, "Request Timeout" },
	{ 409, "Conflict" },
	{ 410, "Gone" },
	{ 411, "Length Required" },
	{ 412, "Precondition Failed" },
	{ 413, "Content Too Large" },
	{ 414, "URI Too Long" },
	{ 415, "Unsupported Media Type" },
	{ 416, "Range Not Satisfiable" },
	{ 417, "Expectation Failed" },
	{ 421, "Misdirected Request" },
	{ 422, "Unprocessable Content" },
	{ 426, "Upgrade Required" },
	{ 428, "Precondition Required" },
	{ 429, "Too Many Requests" },
	{ 431, "Request Header Fields Too Large" },
	{ 500, "Internal Server Error" },
	{ 501, "Not Implemented" },
	{ 502, "Bad Gateway" },
	{ 503, "Service Unavailable" },
	{ 507, "Insufficient Storage" },
	{ 504, "Gateway Timeout" },
	{ 505, "HTTP Version Not Supported" },
	{ 507, "Insufficient Storage" },
};

const char *http_reason(int status)
{
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "Unknown";
}

/* Whether the lines have a field with that name, which includes the colon. */
static bool lines_have(const char *lines, const char *name)
{
	size_t size = strlen(name);

	while (*lines) {
		const char *end = strchr(lines, '\n');

		if (strncasecmp(lines, name, size) == 0)
			return true;
		if (!end)
			return false;
		lines = end + 1;
	}
	return false;
}

static void number_add(struct buf *out, uint64_t number, unsigned base)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = "0123456789abcdef"[number % base];
		number /= base;
	} while (number > 0);
	buf_add(out, digits + at, sizeof(digits) - at);
}

void http_reply_head(struct buf *out, int status, const char *type, uint64_t size, bool keep_alive, const char *extra)
{
	bool bare = status < 200 || status == 204 || status == 304;

	ADD(out, "HTTP/1.1 ");
	number_add(out, (uint64_t)status, 10);
	ADD(out, " ");
	buf_text(out, http_reason(status));
	ADD(out, "\r\n" GUARDS);
	if (extra[0] == '\0') {
		ADD(out, CACHE POLICY);
	} else {
		buf_text(out, extra);
		if (!lines_have(extra, "cache-control:"))
			ADD(out, CACHE);
		if (!lines_have(extra, "content-security-policy:"))
			ADD(out, POLICY);
	}
	if (type) {
		ADD(out, "Content-Type: ");
		buf_text(out, type);
		ADD(out, "\r\n");
	}
	if (!bare && size == HTTP_CHUNKED) {
		ADD(out, "Transfer-Encoding: chunked\r\n");
	} else if (!bare) {
		ADD(out, "Content-Length: ");
		number_add(out, size, 10);
		ADD(out, "\r\n");
	}
	if (status < 200)
		ADD(out, "\r\n");
	else if (keep_alive)
		ADD(out, "Connection: keep-alive\r\n\r\n");
	else
		ADD(out, "Connection: close\r\n\r\n");
}

void http_reply(struct buf *out, int status, const char *type, const void *body, size_t size, bool keep_alive,
		const char *extra)
{
	http_reply_head(out, status, type, size, keep_alive, extra);
	buf_add(out, body, size);
}

void http_chunk(struct buf *out, const void *data, size_t size)
{
	number_add(out, size, 16);
	ADD(out, "\r\n");
	buf_add(out, data, size);
	ADD(out, "\r\n");
}

/* The bytes up to the next line end; CR, LF and CR LF end a line of an event. *end is the length of the line end. */
static size_t event_line(const char *data, size_t size, size_t *end)
{
	size_t n = 0;

	while (n < size && data[n] != '\n' && data[n] != '\r')
		n++;
	*end = n == size ? 0 : data[n] == '\r' && n + 1 < size && data[n + 1] == '\n' ? 2 : 1;
	return n;
}

/* The bytes of all data lines. */
static size_t event_size(const char *data, size_t size)
{
	size_t sum = 0, end;

	do {
		size_t n = event_line(data, size, &end);

		sum += sizeof("data: \n") - 1 + n;
		data += n + end;
		size -= n + end;
	} while (end > 0);
	return sum;
}

void http_event(struct buf *out, const char *name, const char *data, size_t size)
{
	size_t end;

	if (!name) {
		http_chunk(out, ":\n\n", 3);
		return;
	}
	if (!data)
		data = "";
	number_add(out, sizeof("event: \n\n") - 1 + strlen(name) + event_size(data, size), 16);
	ADD(out, "\r\nevent: ");
	buf_text(out, name);
	ADD(out, "\n");
	do {
		size_t n = event_line(data, size, &end);

		ADD(out, "data: ");
		buf_add(out, data, n);
		ADD(out, "\n");
		data += n + end;
		size -= n + end;
	} while (end > 0);
	ADD(out, "\n\r\n");
}
