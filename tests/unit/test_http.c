/* The head of a request: what is taken and how it reads, and every refusal with its status and sentence. Texts are
 * parsed from allocations of their own size, so that the sanitizer sees a read beyond. */
#include "../check.h"

#include "http/http.h"

static struct http_head head;
static struct http_fault fault;
static char *text; /* what `head` points into */

static long parse_bytes(const char *data, size_t size)
{
	fault = (struct http_fault){ 0, "none" };
	free(text);
	text = malloc(size + !size);
	memcpy(text, data, size);
	return http_parse(text, size, &head, &fault);
}

static long parse(const char *data)
{
	return parse_bytes(data, strlen(data));
}

static void refused_bytes(const char *data, size_t size, int status, const char *message)
{
	long got = parse_bytes(data, size);

	if (got != -1 || fault.status != status || strcmp(fault.message, message) != 0)
		check_fail("\"%.60s\" gave %ld, %d, \"%s\"", data, got, fault.status, fault.message);
}

static void refused(const char *data, int status, const char *message)
{
	refused_bytes(data, strlen(data), status, message);
}

/* Taken whole. */
static void taken(const char *data)
{
	long got = parse(data);

	if (got != (long)strlen(data))
		check_fail("\"%.60s\" gave %ld, %d, \"%s\"", data, got, fault.status, fault.message);
}

static void text_is(struct http_text got, const char *want)
{
	if (!got.data || got.size != strlen(want) || memcmp(got.data, want, got.size) != 0)
		check_fail("\"%.*s\" is not \"%s\"", (int)got.size, got.data ? got.data : "", want);
}

#define GET  "GET / HTTP/1.1\r\n"
#define POST "POST / HTTP/1.1\r\nHost: a\r\n"
#define END  "Host: localhost\r\n\r\n"

static void simple(void)
{
	taken("GET /v1/health?a=b HTTP/1.1\r\nHost: 127.0.0.1:7320\r\nX-Thing:  a b \t\r\nEmpty:\r\n\r\n");
	CHECK_INT(head.method, HTTP_GET);
	CHECK_STR(head.path, "/v1/health");
	text_is(head.query, "a=b");
	text_is(head.host, "127.0.0.1:7320");
	CHECK_INT(head.field_count, 3);
	text_is(head.fields[0].name, "Host");
	text_is(head.fields[1].name, "X-Thing");
	text_is(head.fields[1].value, "a b");
	text_is(head.fields[2].value, "");
	CHECK_INT(head.length, 0);
	CHECK_INT(head.minor, 1);
	CHECK(!head.chunked && head.keep_alive && !head.expects_continue && !head.upgrade);
	taken("GET / HTTP/1.1\r\n" END);
	CHECK(head.query.data == NULL);
	taken("GET /? HTTP/1.1\r\n" END);
	CHECK(head.query.data != NULL && head.query.size == 0);
	taken("GET /?a?b/../%zz HTTP/1.1\r\n" END);
	text_is(head.query, "a?b/../%zz");
}

static void methods(void)
{
	static const struct {
		const char *line;        /* the first line */
		enum http_method method; /* what it has to be */
	} known[] = {
		{ "GET", HTTP_GET },       { "HEAD", HTTP_HEAD },       { "POST", HTTP_POST },   { "PUT", HTTP_PUT },
		{ "DELETE", HTTP_DELETE }, { "OPTIONS", HTTP_OPTIONS }, { "PATCH", HTTP_PATCH },
	};
	static const char *const unknown[] = {
		"get", "TRACE", "CONNECT", "GETS", "GE", "M-SEARCH", "!#$%&'*+-.^_`|~09"
	};
	char line[128];

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		snprintf(line, sizeof(line), "%s / HTTP/1.1\r\n" END, known[i].line);
		taken(line);
		CHECK_INT(head.method, known[i].method);
	}
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		snprintf(line, sizeof(line), "%s / HTTP/1.1\r\n" END, unknown[i]);
		refused(line, 501, "the method is not one of GET, HEAD, POST, PUT, PATCH, DELETE and OPTIONS");
	}
}

static void first_line(void)
{
	static const char *const bad[] = {
		"GET\r\n",
		"GET \r\n",
		"GET /\r\n",
		"GET / \r\n",
		"GET  / HTTP/1.1\r\n",
		"GET /  HTTP/1.1\r\n",
		"GET / HTTP/1.1 \r\n",
		" GET / HTTP/1.1\r\n",
		"GET / http/1.1\r\n",
		"GET / HTTP/1\r\n",
		"GET / HTTP/1.10\r\n",
		"GET / HTTP/11\r\n",
		"GET / HTTP/x.1\r\n",
		"GET / HTTP/1.x\r\n",
		"GET / HTTPS/1.1\r\n",
		"GET /a b HTTP/1.1\r\n",
		"G@T / HTTP/1.1\r\n",
		"G\xc3\xa9T / HTTP/1.1\r\n",
		"(GET) / HTTP/1.1\r\n",
		"GET\t/\tHTTP/1.1\r\n",
		"GET HTTP/1.1\r\n",
		"hello\r\n",
		"GET / HTTP/-1.1\r\n",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refused(bad[i], 400, "the first line has to be a method, a target and HTTP/1.1");
	taken("GET / HTTP/1.1\r\n" END);
}

static void versions(void)
{
	static const char *const bad[] = { "GET / HTTP/2.0\r\n", "GET / HTTP/0.9\r\n", "GET / HTTP/1.2\r\n",
					   "GET / HTTP/3.1\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refused(bad[i], 505, "the version has to be HTTP/1.1 or HTTP/1.0");
	taken("GET / HTTP/1.0\r\n\r\n");
	CHECK_INT(head.minor, 0);
	CHECK(head.host.data == NULL);
}

static void connections(void)
{
	static const struct {
		const char *head; /* the request */
		bool stays;       /* whether it may carry another */
	} cases[] = {
		{ "GET / HTTP/1.1\r\nHost: a\r\n\r\n", true },
		{ "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", false },
		{ "GET / HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n", false },
		{ "GET / HTTP/1.1\r\nHost: a\r\nConnection: x, close\r\n\r\n", false },
		{ "GET / HTTP/1.1\r\nHost: a\r\nConnection: closed\r\n\r\n", true },
		{ "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nConnection: keep-alive\r\n\r\n", false },
		{ "GET / HTTP/1.0\r\n\r\n", false },
		{ "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true },
		{ "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true },
		{ "GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		taken(cases[i].head);
		if (head.keep_alive != cases[i].stays)
			check_fail("case %zu stays: %d", i, head.keep_alive);
	}
}

static void upgrades(void)
{
	taken(GET "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n" END);
	CHECK(head.upgrade);
	taken(GET "Upgrade: websocket\r\n" END);
	CHECK(!head.upgrade);
	taken(GET "Connection: Upgrade\r\n" END);
	CHECK(!head.upgrade);
	taken("GET / HTTP/1.0\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" END);
	CHECK(!head.upgrade);
}

static void expectations(void)
{
	taken(POST "Expect: 100-Continue\r\nContent-Length: 1\r\n\r\n");
	CHECK(head.expects_continue);
	taken(POST "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n");
	CHECK(head.expects_continue);
	taken(POST "Expect: 100-continue\r\nContent-Length: 0\r\n\r\n");
	CHECK(!head.expects_continue);
	taken("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n");
	CHECK(!head.expects_continue);
	refused(POST "Expect: more\r\n", 417, "Expect: only 100-continue is supported; leave it out");
	refused(POST "Expect:\r\n", 417, "Expect: only 100-continue is supported; leave it out");
}

static void lengths(void)
{
	static const char *const bad[] = { "",     "-1",  "+1",  "1 1", "0x10",  "1e3",      "1,1",
					   "1, 1", "1.0", "abc", "1;",  "\"1\"", "\xd9\xa1", "1\t2" };
	char line[160];

	taken(POST "Content-Length: 0\r\n\r\n");
	CHECK_INT(head.length, 0);
	taken(POST "content-length:\t42 \r\n\r\n");
	CHECK_INT(head.length, 42);
	taken(POST "Content-Length: 00010\r\n\r\n");
	CHECK_INT(head.length, 10);
	taken(POST "Content-Length: 18446744073709551615\r\n\r\n");
	CHECK(head.length == UINT64_MAX);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(line, sizeof(line), POST "Content-Length: %s\r\n\r\n", bad[i]);
		refused(line, 400, "Content-Length: expected a number in decimal digits");
	}
	refused(POST "Content-Length: 18446744073709551616\r\n", 413,
		"Content-Length: a body of that size is not accepted");
	refused(POST "Content-Length: 99999999999999999999999999999999\r\n", 413,
		"Content-Length: a body of that size is not accepted");
	refused(POST "Content-Length: 99999999999999999999999999999999x\r\n", 400,
		"Content-Length: expected a number in decimal digits");
}

/* Where one server sees the end of a body and another does not. */
static void smuggling(void)
{
	static const char *const both = "Content-Length: it cannot be given with Transfer-Encoding; leave one out";
	static const char *const once = "Transfer-Encoding: it has to be chunked, once and without another coding";
	static const char *const unknown = "Transfer-Encoding: only chunked is supported; send the body unencoded";

	taken(POST "Transfer-Encoding: Chunked\r\n\r\n");
	CHECK(head.chunked);
	CHECK_INT(head.length, 0);
	refused(POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400, both);
	refused(POST "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n", 400, both);
	refused(POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", 400,
		"Content-Length: it is given twice; leave one out");
	refused(POST "Content-Length: 5\r\ncontent-length: 6\r\n\r\n", 400,
		"Content-Length: it is given twice; leave one out");
	refused(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400,
		"Transfer-Encoding: it is given twice; leave one out");
	refused(POST "Transfer-Encoding: chunked, chunked\r\n", 400, once);
	refused(POST "Transfer-Encoding: gzip, chunked\r\n", 400, once);
	refused(POST "Transfer-Encoding: chunked, identity\r\n", 400, once);
	refused(POST "Transfer-Encoding: chunked;q=1\r\n", 400, once);
	refused(POST "Transfer-Encoding:\r\n", 400, once);
	refused(POST "Transfer-Encoding: identity\r\n", 501, unknown);
	refused(POST "Transfer-Encoding: gzip\r\n", 501, unknown);
	refused(POST "Transfer-Encoding: xchunked\r\n", 501, unknown);
	refused(POST "Transfer-Encoding: \"chunked\"\r\n", 501, unknown);
	refused("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400,
		"Transfer-Encoding: HTTP/1.0 does not support it; give a Content-Length");
	/* An underscore is another name, and no length of ours. */
	taken(POST "Content_Length: 5\r\n\r\n");
	CHECK_INT(head.length, 0);
}

static void lines(void)
{
	static const char *const alone = "a line of the head ends with LF alone; it has to be CR LF";
	static const char *const folded = "a field of the head is folded; write it in one line";
	static const char *const none = "a line of the head is no field; it has to be NAME: VALUE";
	static const char *const control = "a field of the head has a control byte in it";

	refused("GET / HTTP/1.1\nHost: a\n\n", 400, alone);
	refused(GET "Host: a\n\r\n", 400, alone);
	refused(GET "Host: a\r\n\n", 400, alone);
	refused("\nGET / HTTP/1.1\r\n", 400, alone);
	refused(GET "A: b\r\n c\r\n", 400, folded);
	refused(GET "A: b\r\n\tc\r\n", 400, folded);
	refused(GET " A: b\r\n", 400, folded);
	refused(GET " \r\n", 400, folded);
	refused(GET "Host : a\r\n", 400, none);
	refused(GET "Transfer-Encoding : chunked\r\n", 400, none);
	refused(GET "Content-Length\t: 5\r\n", 400, none);
	refused(GET ": a\r\n", 400, none);
	refused(GET "Host\r\n", 400, none);
	refused(GET "A B: c\r\n", 400, none);
	refused(GET "A\xe9: c\r\n", 400, none);
	refused(GET "A(b): c\r\n", 400, none);
	refused(GET "\"A\": c\r\n", 400, none);
	refused(GET "A: b\rc\r\n", 400, control);
	refused(GET "A: b\r\r\n", 400, control);
	refused(GET "A: \x7f\r\n", 400, control);
	taken(GET "A:b\tc d:e \xe9\r\n" END);
	text_is(head.fields[0].value, "b\tc d:e \xe9");
	taken("\r\n\r\nGET / HTTP/1.1\r\n" END);
	CHECK_INT(head.method, HTTP_GET);
}

/* Each control byte in a name, a value and the target: none is taken, also while the line has no end. */
static void control_bytes(void)
{
	for (int c = 0; c < 0x20; c++) {
		char line[128];
		int size;

		if (c == '\n')
			continue;
		if (c != '\t') {
			size = snprintf(line, sizeof(line), GET "A: b%cc\r\n", 1);
			line[strlen(GET) + 4] = (char)c;
			refused_bytes(line, (size_t)size, 400, "a field of the head has a control byte in it");
			refused_bytes(line, (size_t)size - 2, 400, "the head has a control byte in it; is it HTTP?");
		}
		size = snprintf(line, sizeof(line), GET "A%cb: c\r\n", 1);
		line[strlen(GET) + 1] = (char)c;
		refused_bytes(line, (size_t)size, 400, "a line of the head is no field; it has to be NAME: VALUE");
		size = snprintf(line, sizeof(line), "GET /%cb HTTP/1.1\r\n", 1);
		line[5] = (char)c;
		refused_bytes(line, (size_t)size, 400, "the target has a byte in it that has to be written as %XX");
	}
	refused_bytes("\x16\x03\x01\x02", 4, 400, "the head has a control byte in it; is it HTTP?");
	refused_bytes("\0", 1, 400, "the head has a control byte in it; is it HTTP?");
}

static void hosts(void)
{
	static const char *const bad[] = { "a b", "a/b",  "user@a",   "a,b",  "a?b",
					   "a#b", "a\\b", "\xc3\xa9", "a\"b", "a;b" };
	char line[128];

	refused(GET "\r\n", 400, "Host: it is missing; HTTP/1.1 requires it");
	refused(GET "Host: a\r\nHost: a\r\n", 400, "Host: it is given twice; leave one out");
	refused(GET "Host: a\r\nhOST: b\r\n", 400, "Host: it is given twice; leave one out");
	refused("GET / HTTP/1.0\r\nHost:\r\nHost: b\r\n", 400, "Host: it is given twice; leave one out");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(line, sizeof(line), GET "Host: %s\r\n\r\n", bad[i]);
		refused(line, 400, "Host: expected a host's name and maybe a port");
	}
	taken(GET "Host:\r\n\r\n");
	CHECK(head.host.data != NULL && head.host.size == 0);
	taken(GET "Host: [::1]:80\r\n\r\n");
	text_is(head.host, "[::1]:80");
}

static void who_asks(void)
{
	refused(GET "Origin: null\r\norigin: http://localhost\r\n", 400, "Origin: it is given twice; leave one out");
	refused(GET "Authorization: a\r\nAUTHORIZATION: a\r\n", 400, "Authorization: it is given twice; leave one out");
	taken(GET "Origin: null\r\nAuthorization: a\r\n" END);
}

static void absolute_targets(void)
{
	static const char *const no_path = "the target has to be a path that begins with /";
	static const char *const no_host = "the target has no valid host";

	taken("GET http://localhost:80/a%20b?q HTTP/1.1\r\nHost: LOCALHOST:80\r\n\r\n");
	CHECK_STR(head.path, "/a b");
	text_is(head.query, "q");
	text_is(head.host, "localhost:80");
	taken("GET HTTPS://a HTTP/1.1\r\nHost: a\r\n\r\n");
	CHECK_STR(head.path, "/");
	taken("GET http://a?b HTTP/1.1\r\nHost: a\r\n\r\n");
	CHECK_STR(head.path, "/");
	text_is(head.query, "b");
	taken("GET http://a/ HTTP/1.0\r\n\r\n");
	text_is(head.host, "a");
	refused("GET http://evil/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "Host: it is not the host of the target");
	refused("GET http://a/ HTTP/1.1\r\n\r\n", 400, "Host: it is missing; HTTP/1.1 requires it");
	refused("GET http:///a HTTP/1.1\r\n", 400, no_host);
	refused("GET http:// HTTP/1.1\r\n", 400, no_host);
	refused("GET http://?a HTTP/1.1\r\n", 400, no_host);
	refused("GET http://u:p@a/ HTTP/1.1\r\n", 400, no_host);
	refused("GET http://a\\b/ HTTP/1.1\r\n", 400, no_host);
	refused("GET ftp://a/ HTTP/1.1\r\n", 400, no_path);
	refused("GET http:/a HTTP/1.1\r\n", 400, no_path);
	refused("GET a HTTP/1.1\r\n", 400, no_path);
	refused("GET a:80 HTTP/1.1\r\n", 400, no_path);
	refused("GET ?a HTTP/1.1\r\n", 400, no_path);
	refused("GET %2Fa HTTP/1.1\r\n", 400, no_path);
	refused("GET ** HTTP/1.1\r\n", 400, no_path);
	refused("GET * HTTP/1.1\r\n", 400, "the target * is for OPTIONS only");
	taken("OPTIONS * HTTP/1.1\r\n" END);
	CHECK_STR(head.path, "*");
}

static void path_is(const char *sent, const char *want)
{
	char line[256];

	snprintf(line, sizeof(line), "GET %s HTTP/1.1\r\n" END, sent);
	taken(line);
	CHECK_STR(head.path, want);
}

static void path_refused(const char *sent, const char *message)
{
	char line[256];

	snprintf(line, sizeof(line), "GET %s HTTP/1.1\r\n" END, sent);
	refused(line, 400, message);
}

/* Nothing is there by such a name, whatever a reader makes of it. */
static void path_absent(const char *sent, const char *message)
{
	char line[256];

	snprintf(line, sizeof(line), "GET %s HTTP/1.1\r\n" END, sent);
	refused(line, 404, message);
}

static void paths(void)
{
	static const char *const percent = "the path has a % that is not followed by two hexadecimal digits";
	static const char *const control = "the path has an encoded control byte in it";
	static const char *const slash = "the path has an encoded slash (%2F) in it; write /";
	static const char *const dots = "the path has a \".\" or \"..\" part; write the path without it";
	static const char *const encode = "the target has a byte in it that has to be written as %XX";
	static const char *const utf8 = "the path is not valid UTF-8";

	path_is("/", "/");
	path_is("//a//", "//a//");
	path_is("/a+b", "/a+b");
	path_is("/%41%6a%6A%7e", "/Ajj~");
	path_is("/%C3%a9", "/\xc3\xa9");
	path_is("/%25%32%65", "/%2e");
	path_is("/%252e%252e", "/%2e%2e");
	path_is("/...", "/...");
	path_is("/.a/a./..a/a..", "/.a/a./..a/a..");
	path_is("/a%3Fb%23c", "/a?b#c");
	path_is("/a%5Cb", "/a\\b");
	path_is("/a?/../%00%2f", "/a");
	path_refused("/%", percent);
	path_refused("/%4", percent);
	path_refused("/%4g", percent);
	path_refused("/%g4", percent);
	path_refused("/%%41", percent);
	path_refused("/%+1", percent);
	path_refused("/%4?1", percent);
	path_refused("/a%00", control);
	path_refused("/a%0d%0aX:y", control);
	path_refused("/%7F", control);
	path_refused("/%1f", control);
	path_absent("/a%2fb", slash);
	path_absent("/a%2Fb", slash);
	path_absent("/..%2f..%2fetc", slash);
	/* Of a file below files/ it separates, and is looked at like any other; what leads there is written out. */
	path_is("/v1/sessions/a/files/output%2Fh.txt", "/v1/sessions/a/files/output/h.txt");
	path_is("/files/a%2fb%2Fc", "/files/a/b/c");
	path_is("/files/%2Fa%2F%2Fb", "/files//a//b");
	path_is("/files/a%252Fb", "/files/a%2Fb");
	path_absent("/v1/sessions/a%2Fb/files/c", slash);
	path_absent("/v1/sessions/a/files%2Fb", slash);
	path_absent("/v1/sessions/a%2Ffiles/b", slash);
	path_absent("/v1%2Fsessions/a/files/b", slash);
	path_absent("/xfiles/a%2Fb", slash);
	path_absent("/files/a%2F..%2Fb", dots);
	path_absent("/files/..%2F..%2Fetc", dots);
	path_absent("/files/a%2F%2e%2e", dots);
	path_absent("/files/a%2F.%2fb", dots);
	path_refused("/files/a%2F%00", control);
	path_refused("/files/a%2", percent);
	path_refused("/files/a%2F\\..\\b", "the path has a backslash in it; write / or %5C");
	path_refused("/a\\..\\b", "the path has a backslash in it; write / or %5C");
	path_absent("/.", dots);
	path_absent("/..", dots);
	path_absent("/./a", dots);
	path_absent("/../a", dots);
	path_absent("/a/.", dots);
	path_absent("/a/../b", dots);
	path_absent("/%2e%2e/etc", dots);
	path_absent("/a/%2E%2e", dots);
	path_absent("/a/.%2e?b", dots);
	path_absent("/a/%2e", dots);
	path_absent("http://a/../b", dots);
	path_refused("/a#b", "the target has a # in it; leave the fragment out, or write %23");
	path_refused("/a?b#c", "the target has a # in it; leave the fragment out, or write %23");
	path_refused("/\xc3\xa9", encode);
	path_refused("/a?\xff", encode);
	path_refused("/\x7f", encode);
	path_refused("/%ff", utf8);
	path_refused("/%c0%af", utf8);
	path_refused("/%c0%ae%c0%ae/", utf8);
	path_refused("/%ed%a0%80", utf8);
}

static void path_lengths(void)
{
	static char line[4096], want[HTTP_PATH_MAX];

	memset(want, 'a', sizeof(want));
	want[0] = '/';
	want[HTTP_PATH_MAX - 1] = '\0';
	snprintf(line, sizeof(line), "GET %s HTTP/1.1\r\n" END, want);
	taken(line);
	CHECK_STR(head.path, want);
	snprintf(line, sizeof(line), "GET %sa HTTP/1.1\r\n" END, want);
	refused(line, 414, "the path is longer than 1023 bytes");
	snprintf(line, sizeof(line), "GET %s%%61 HTTP/1.1\r\n" END, want);
	refused(line, 414, "the path is longer than 1023 bytes");
	snprintf(line, sizeof(line), "GET /?%s%s HTTP/1.1\r\n" END, want, want);
	taken(line);
	CHECK_INT(head.query.size, 2 * strlen(want));
}

/* A head of exactly that many bytes, one field of it filled up. */
static const char *head_of(size_t size)
{
	static char line[HTTP_HEAD_MAX + 64];
	static const char begin[] = "GET / HTTP/1.1\r\nHost: a\r\nX: ";

	memset(line, 'x', size);
	memcpy(line, begin, strlen(begin));
	memcpy(line + size - 4, "\r\n\r\n", 4);
	line[size] = '\0';
	return line;
}

static void head_lengths(void)
{
	static const char *const head_long = "the head of the request is longer than 16384 bytes";
	static char junk[HTTP_HEAD_MAX + 64], behind[HTTP_HEAD_MAX + 64];

	taken(head_of(HTTP_HEAD_MAX));
	refused(head_of(HTTP_HEAD_MAX + 1), 431, head_long);
	CHECK_INT(parse_bytes(head_of(HTTP_HEAD_MAX), HTTP_HEAD_MAX - 1), 0);
	refused_bytes(head_of(HTTP_HEAD_MAX + 8), HTTP_HEAD_MAX, 431, head_long);
	memset(junk, 'A', sizeof(junk));
	CHECK_INT(parse_bytes(junk, HTTP_HEAD_MAX - 1), 0);
	refused_bytes(junk, HTTP_HEAD_MAX, 414, "the first line of the request is longer than 16384 bytes");
	for (size_t i = 0; i < sizeof(junk); i++)
		junk[i] = i % 2 ? '\n' : '\r';
	CHECK_INT(parse_bytes(junk, HTTP_HEAD_MAX - 2), 0);
	refused_bytes(junk, sizeof(junk), 414, "the first line of the request is longer than 16384 bytes");
	/* What is behind the head does not count. */
	memset(behind, 0, sizeof(behind));
	memcpy(behind, GET END, strlen(GET END));
	CHECK_INT(parse_bytes(behind, sizeof(behind)), strlen(GET END));
}

static void many_fields(void)
{
	static char line[4096];
	size_t at = (size_t)sprintf(line, GET "Host: a\r\n");

	for (int i = 1; i < HTTP_HEADERS_MAX; i++)
		at += (size_t)sprintf(line + at, "a%d: %d\r\n", i, i);
	strcpy(line + at, "\r\n");
	taken(line);
	CHECK_INT(head.field_count, HTTP_HEADERS_MAX);
	text_is(head.fields[63].value, "63");
	strcpy(line + at, "b: c\r\n\r\n");
	refused(line, 431, "the head has more than 64 fields");
}

/* Bytes behind the head are the body's or the next request's. */
static void pipelining(void)
{
	static const char two[] =
		"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nxyzGET /b HTTP/1.1\r\nHost: b\r\n\r\n\0";
	size_t first = (size_t)(strstr(two, "xyz") - two);

	CHECK_INT(parse_bytes(two, sizeof(two) - 1), (long)first);
	CHECK_STR(head.path, "/a");
	text_is(head.host, "a");
	CHECK_INT(head.length, 3);
	CHECK_INT(head.field_count, 2);
	CHECK_INT(parse_bytes(two + first + 3, sizeof(two) - first - 4), (long)strlen(two) - (long)first - 3);
	CHECK_STR(head.path, "/b");
	text_is(head.host, "b");
	CHECK_INT(head.length, 0);
	CHECK_INT(head.field_count, 1);
}

static void cut(const char *whole)
{
	size_t size = strlen(whole);

	for (size_t i = 0; i < size; i++) {
		long got = parse_bytes(whole, i);

		if (got != 0)
			check_fail("cut at %zu of \"%.40s\": %ld, %d, \"%s\"", i, whole, got, fault.status,
				   fault.message);
	}
	taken(whole);
}

static void cut_anywhere(void)
{
	cut("\r\n\r\nGET /v1/executions/a%20b?limit=5 HTTP/1.1\r\nHost: localhost:7320\r\nAccept: */*\r\n\r\n");
	cut("POST http://a/b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nExpect: "
	    "100-continue\r\nEmpty:\r\n\r\n");
	cut("OPTIONS * HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
}

/* Nothing of an earlier request stays in a head that is used again. */
static void reuse(void)
{
	taken("POST http://a/b?c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n"
	      "Connection: upgrade\r\nUpgrade: x\r\n\r\n");
	CHECK(head.chunked && head.expects_continue && head.upgrade && head.query.data);
	taken("GET / HTTP/1.0\r\n\r\n");
	CHECK(!head.chunked && !head.expects_continue && !head.upgrade && !head.query.data && !head.host.data);
	CHECK_INT(head.field_count, 0);
	CHECK_STR(head.path, "/");
}

static void fields(void)
{
	bool twice = true;

	taken(GET "Accept: a\r\nX: 1\r\nx: 2\r\nAUTHORIZATION: Bearer b\r\n" END);
	text_is(http_field(&head, "accept", &twice), "a");
	CHECK(!twice);
	text_is(http_field(&head, "authorization", NULL), "Bearer b");
	CHECK(http_field(&head, "x", &twice).data == NULL);
	CHECK(twice);
	CHECK(http_field(&head, "x", NULL).data == NULL);
	CHECK(http_field(&head, "accep", &twice).data == NULL);
	CHECK(!twice);
	CHECK(http_field(&head, "accept-x", &twice).data == NULL);
}

static struct http_text of(const char *words)
{
	return (struct http_text){ words, strlen(words) };
}

static void tokens(void)
{
	CHECK(http_text_is(of("ClOsE"), "close"));
	CHECK(!http_text_is(of("closed"), "close"));
	CHECK(!http_text_is(of("clos"), "close"));
	CHECK(!http_text_is((struct http_text){ NULL, 0 }, ""));
	CHECK(http_text_has_token(of("a, B ,c"), "b"));
	CHECK(http_text_has_token(of("a,,b"), "b"));
	CHECK(http_text_has_token(of(" b"), "b"));
	CHECK(http_text_has_token(of("b "), "b"));
	CHECK(http_text_has_token(of("text/html, text/event-stream;q=0.9"), "text/event-stream"));
	CHECK(http_text_has_token(of("text/event-stream ; q=0.9, x"), "text/event-stream"));
	CHECK(http_text_has_token(of("x;a=b,y"), "y"));
	CHECK(!http_text_has_token(of("x;b,y"), "b"));
	CHECK(!http_text_has_token(of("ab, bc"), "b"));
	CHECK(!http_text_has_token(of("a b"), "b"));
	CHECK(!http_text_has_token(of(""), "b"));
	CHECK(!http_text_has_token((struct http_text){ NULL, 0 }, "b"));
}

int main(void)
{
	RUN(simple);
	RUN(methods);
	RUN(first_line);
	RUN(versions);
	RUN(connections);
	RUN(upgrades);
	RUN(expectations);
	RUN(lengths);
	RUN(smuggling);
	RUN(lines);
	RUN(control_bytes);
	RUN(hosts);
	RUN(who_asks);
	RUN(absolute_targets);
	RUN(paths);
	RUN(path_lengths);
	RUN(head_lengths);
	RUN(many_fields);
	RUN(pipelining);
	RUN(cut_anywhere);
	RUN(reuse);
	RUN(fields);
	RUN(tokens);
	free(text);
	return check_failures != 0;
}
