/* HTTP beside the head: chunked bodies, queries, hosts and origins, ranges, and replies byte by byte. */
#include "../check.h"

#include "http/http.h"

static struct http_text of(const char *words)
{
	return (struct http_text){ words, words ? strlen(words) : 0 };
}

/* ---- chunked bodies ---- */

static struct buf body;
static struct http_fault fault;
static size_t used;

/* The body in pieces of `step` bytes, each in an allocation of its own size. */
static int chunks_take(const char *data, size_t size, size_t step, uint64_t most)
{
	struct http_chunks chunks = { 0 };
	int got = 0;

	buf_free(&body);
	body = (struct buf){ 0 };
	fault = (struct http_fault){ 0, "none" };
	used = 0;
	while (used < size && got == 0) {
		size_t n = size - used < step ? size - used : step, taken = 0;
		char *piece = malloc(n);

		memcpy(piece, data + used, n);
		got = http_chunks_take(&chunks, piece, n, &taken, most, &body, &fault);
		free(piece);
		CHECK(taken == n || got != 0);
		used += taken;
	}
	return got;
}

static void chunks_are(const char *data, const char *content, const char *behind)
{
	size_t size = strlen(data);

	for (size_t step = 1; step <= size; step++) {
		if (chunks_take(data, size, step, 100) != 1)
			check_fail("\"%s\" by %zu: %d, \"%s\"", data, step, fault.status, fault.message);
		CHECK_STR(body.data ? body.data : "", content);
		CHECK_STR(data + used, behind);
	}
	/* Cut anywhere, it is not whole, and not wrong. */
	for (size_t i = 0; i < size - strlen(behind); i++)
		CHECK_INT(chunks_take(data, i, i, 100), 0);
}

static void chunks_refused(const char *data, int status, const char *message)
{
	size_t size = strlen(data);

	for (size_t step = 1; step <= size; step += size - 1) {
		int got = chunks_take(data, size, step, 100);

		if (got != -1 || fault.status != status || strcmp(fault.message, message) != 0)
			check_fail("\"%.40s\" by %zu: %d, %d, \"%s\"", data, step, got, fault.status, fault.message);
	}
}

static void chunks_good(void)
{
	chunks_are("0\r\n\r\n", "", "");
	chunks_are("5\r\nhello\r\n0\r\n\r\nGET /", "hello", "GET /");
	chunks_are("5\r\nhello\r\nA\r\n world, hi\r\n0\r\n\r\n", "hello world, hi", "");
	chunks_are("00000003\r\na\r\n\r\n000\r\n\r\n0", "a\r\n", "0");
	chunks_are("0000000000000001\r\na\r\n0\r\n\r\n", "a", "");
	chunks_are("1;a=b;c=\"d\"\r\nx\r\n0;z\r\n\r\n", "x", "");
	chunks_are("1\r\nx\r\n0\r\nX-Sum: 5\r\nEmpty:\r\n\r\nrest", "x", "rest");
	chunks_are("a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n", "01234567890123456789", "");
}

static void chunks_whole_stays(void)
{
	struct http_chunks chunks = { 0 };
	struct buf out = { 0 };
	size_t n = 7;

	CHECK_INT(http_chunks_take(&chunks, "0\r\n\r\n", 5, &n, 10, &out, &fault), 1);
	CHECK_INT(http_chunks_take(&chunks, "5\r\n", 3, &n, 10, &out, &fault), 1);
	CHECK_INT(n, 0);
	CHECK_INT(out.size, 0);
	buf_free(&out);
}

/* A relay passes trailers on. */
static void chunks_trailers(void)
{
	static const char data[] = "1\r\nx\r\n0;e=1\r\nX-Sum: 5\r\nEmpty:\r\n\r\nrest";

	for (size_t step = 1; step <= sizeof(data); step += sizeof(data) - 1) {
		struct buf lines = { 0 }, out = { 0 };
		struct http_chunks chunks = { .trailers = &lines };
		size_t n = 0;
		int got = 0;

		for (size_t at = 0; got == 0 && at < strlen(data); at += n)
			got = http_chunks_take(&chunks, data + at, step < strlen(data) ? step : strlen(data), &n, 100, &out,
					       &fault);
		CHECK_INT(got, 1);
		CHECK_STR(lines.data, "X-Sum: 5\r\nEmpty:\r\n");
		CHECK_STR(out.data, "x");
		buf_free(&lines);
		buf_free(&out);
	}
}

static void chunks_broken(void)
{
	static const char *const broken = "the chunked body is broken: expected chunks as SIZE CR LF CONTENT CR LF";
	static const char *const bad[] = {
		"\r\n\r\n",
		"g\r\n",
		"-1\r\n",
		"+5\r\nhello",
		"0x5\r\n",
		" 5\r\n",
		"5 \r\n",
		"5\nhello",
		"5\r\rhello",
		"5\r\nhello0\r\n",
		"5\r\nhello\n0\r\n",
		"5\r\nhello\r0\r\n",
		"1\r\nx\rX0\r\n\r\n",
		"5\r\nhell\r\n0\r\n\r\n",
		";a\r\n",
		"5;a\nb",
		"5;\x01\r\n",
		"5;a\rb",
		"0\r\n\n",
		"0\r\n\rX",
		"0\r\n a: b\r\n",
		"0\r\nab\r\n\r\n",
		"0\r\na b: c\r\n",
		"0\r\n: c\r\n",
		"0\r\na: b\n\r\n",
		"0\r\na: b\r\r\n",
		"0\r\na: \x7f\r\n",
		"0\r\na: b\r\n c\r\n",
		"00000000000000001\r\n",
		"00000000000000000\r\n",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		chunks_refused(bad[i], 400, broken);
	CHECK_INT(chunks_take("5;\0\r\n", 5, 5, 100), -1);
	CHECK_STR(fault.message, broken);
	CHECK_INT(chunks_take("0\r\na:\0\r\n", 8, 8, 100), -1);
	CHECK_STR(fault.message, broken);
}

static void chunks_large(void)
{
	static const char *const large = "the body is larger than it may be";
	char text[512];

	chunks_refused("65\r\n", 413, large);
	chunks_refused("FFFFFFFFFFFFFFFF\r\n", 413, large);
	chunks_refused("10000000000000000\r\n", 413, large);
	chunks_refused("FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF", 413, large);
	snprintf(text, sizeof(text), "64\r\n%0100d\r\n1\r\nx\r\n0\r\n\r\n", 0);
	chunks_refused(text, 413, large);
	snprintf(text, sizeof(text), "64\r\n%0100d\r\n0\r\n\r\n", 0);
	CHECK_INT(chunks_take(text, strlen(text), 7, 100), 1);
	CHECK_INT(body.size, 100);
	CHECK_INT(chunks_take("1\r\nx", 4, 1, 0), -1);
	CHECK_INT(chunks_take("0\r\n\r\n", 5, 1, 0), 1);
	/* A size that fits no sum: bytes before it and all of 64 bits. */
	CHECK_INT(chunks_take("1\r\nx\r\nFFFFFFFFFFFFFFFF\r\n", 24, 1, UINT64_MAX), -1);
	CHECK_INT(fault.status, 413);
}

static void chunks_overhead(void)
{
	static const char *const long_ones =
		"the extensions and trailers of the chunked body are longer than 16384 bytes";
	static char text[32 << 10];
	size_t at = 0;

	for (int i = 0; i < 70; i++)
		at += (size_t)sprintf(text + at, "1;%0300d\r\nx\r\n", 0);
	chunks_refused(text, 431, long_ones);
	at = (size_t)sprintf(text, "0\r\nA: ");
	memset(text + at, 'x', 17 << 10);
	text[at + (17 << 10)] = '\0';
	chunks_refused(text, 431, long_ones);
	memset(text + at, ':', 17 << 10);
	chunks_refused(text, 431, long_ones);
	/* Many small chunks are no overhead. */
	struct http_chunks chunks = { 0 };
	struct buf out = { 0 };
	for (int i = 0; i < 20000; i++) {
		size_t n;

		CHECK_INT(http_chunks_take(&chunks, "1\r\nx\r\n", 6, &n, 20000, &out, &fault), 0);
	}
	CHECK_INT(out.size, 20000);
	buf_free(&out);
}

/* ---- queries ---- */

static void query_is(const char *query, const char *name, int want, const char *value)
{
	char out[16] = "untouched";
	int got = http_query_get(of(query), name, out, sizeof(out));

	if (got != want || (want == 1 && strcmp(out, value) != 0))
		check_fail("\"%s\" of \"%s\": %d, \"%s\"", name, query ? query : "(null)", got, out);
}

static void queries(void)
{
	query_is(NULL, "a", 0, NULL);
	query_is("", "a", 0, NULL);
	query_is("a=1", "a", 1, "1");
	query_is("a=1&b=2", "b", 1, "2");
	query_is("a=1&b=2", "c", 0, NULL);
	query_is("ab=1", "a", 0, NULL);
	query_is("a", "a", 1, "");
	query_is("a=", "a", 1, "");
	query_is("&&a=x&", "a", 1, "x");
	query_is("a=b=c", "a", 1, "b=c");
	query_is("a=x+y%2bz%26", "a", 1, "x y+z&");
	query_is("%61=1", "a", 1, "1");
	query_is("a=%C3%A9", "a", 1, "\xc3\xa9");
	query_is("a=123456789012345", "a", 1, "123456789012345");
	query_is("A=1", "a", 0, NULL);
	query_is("b=%zz&a=1", "a", 1, "1");
	query_is("%=1&a=1", "a", 1, "1");
}

static void queries_refused(void)
{
	query_is("a=1234567890123456", "a", -1, NULL);
	query_is("a=1&a=1", "a", -1, NULL);
	query_is("a=1&%61=2", "a", -1, NULL);
	query_is("a&a", "a", -1, NULL);
	query_is("a=%", "a", -1, NULL);
	query_is("a=%1", "a", -1, NULL);
	query_is("a=%1&b=2", "a", -1, NULL);
	query_is("a=%zz", "a", -1, NULL);
	query_is("a=x%00y", "a", -1, NULL);
	query_is("a=%ff", "a", -1, NULL);
	query_is("a=%c0%80", "a", -1, NULL);
}

static void query_names(void)
{
	static const char *const want[] = { "a", "b c", "", "%zz", "%00", "aVeryLo...", "d" };
	char name[11];
	size_t at = 0, i = 0;

	while (http_query_next(of("a=1&&b+c=2&=3&%zz=4&%00&aVeryLongName=5&d"), &at, name, sizeof(name))) {
		CHECK(i < 7);
		CHECK_STR(name, want[i < 7 ? i : 0]);
		i++;
	}
	CHECK_INT(i, 7);
	at = 0;
	CHECK(!http_query_next(of(""), &at, name, sizeof(name)));
	CHECK(!http_query_next(of(NULL), &at, name, sizeof(name)));
	CHECK(http_query_next(of("abcd"), &at, name, 4));
	CHECK_STR(name, "");
}

/* ---- hosts ---- */

static const char *const ours[] = { "box.example", "10.0.0.5", "fe80::1", "[fe80::2]", NULL };
static const char *const any[] = { "x", "*", NULL };

static void hosts(void)
{
	static const char *const good[] = {
		"localhost",   "localhost:7320", "LocalHost",  "127.0.0.1",         "127.0.0.1:80",
		"127.255.1.2", "[::1]",          "[::1]:7320", "[0:0:0:0:0:0:0:1]", "localhost:",
	};
	static const char *const bad[] = {
		"",
		":80",
		"evil.example",
		"localhost.evil.example",
		"evil-localhost",
		"localhost.",
		"127.0.0.1.evil.example",
		"128.0.0.1",
		"0.0.0.0",
		"127.1",
		"0177.0.0.1",
		"2130706433",
		"127.0.0.256",
		"::1",
		"[::1",
		"[::2]",
		"[::1]x",
		"[::1]:8x",
		"[]",
		"localhost:80x",
		"localhost:-1",
		"localhost:123456",
		"localhost:80:90",
		"user@localhost",
		"localhost/",
		"localhost ",
		" localhost",
		"[::ffff:127.0.0.1]",
		"[127.0.0.1]",
		"[localhost]",
		"*",
		"localhost,a",
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!http_host_allowed(of(good[i]), NULL) || !http_host_allowed(of(good[i]), ours))
			check_fail("\"%s\" is refused", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (http_host_allowed(of(bad[i]), NULL) || http_host_allowed(of(bad[i]), ours))
			check_fail("\"%s\" is taken", bad[i]);
	CHECK(!http_host_allowed(of(NULL), NULL));
	CHECK(!http_host_allowed(of(NULL), ours));
	CHECK(!http_host_allowed((struct http_text){ "localhost\0x", 11 }, NULL));
	CHECK(!http_host_allowed((struct http_text){ "127.0.0.1\0x", 11 }, NULL));
}

static void host_names(void)
{
	CHECK(http_host_allowed(of("box.example"), ours));
	CHECK(http_host_allowed(of("BOX.example:1"), ours));
	CHECK(http_host_allowed(of("10.0.0.5:99"), ours));
	CHECK(http_host_allowed(of("[fe80::1]:99"), ours));
	CHECK(http_host_allowed(of("[fe80::2]"), ours));
	CHECK(!http_host_allowed(of("fe80::1"), ours));
	CHECK(!http_host_allowed(of("box.example.org"), ours));
	CHECK(!http_host_allowed(of("a.box.example"), ours));
	CHECK(!http_host_allowed(of("[box.example]"), ours));
	CHECK(http_host_allowed(of("anything.example:5"), any));
	CHECK(http_host_allowed(of(NULL), any));
	CHECK(!http_host_allowed(of(""), any));
	CHECK(!http_host_allowed(of("a b"), any));
	CHECK(!http_host_allowed(of("a/b"), any));
}

static void origins(void)
{
	CHECK(http_origin_allowed(of("http://localhost:7320"), NULL));
	CHECK(http_origin_allowed(of("HTTPS://127.0.0.1"), NULL));
	CHECK(http_origin_allowed(of("http://[::1]:5"), NULL));
	CHECK(http_origin_allowed(of("https://box.example"), ours));
	CHECK(http_origin_allowed(of("https://x.example"), any));
	CHECK(!http_origin_allowed(of("https://box.example"), NULL));
	CHECK(!http_origin_allowed(of("null"), NULL));
	CHECK(!http_origin_allowed(of("null"), any));
	CHECK(!http_origin_allowed(of(""), any));
	CHECK(!http_origin_allowed(of(NULL), any));
	CHECK(!http_origin_allowed(of("http://"), any));
	CHECK(!http_origin_allowed(of("localhost"), NULL));
	CHECK(!http_origin_allowed(of("ftp://localhost"), NULL));
	CHECK(!http_origin_allowed(of("file://localhost"), any));
	CHECK(!http_origin_allowed(of("chrome-extension://localhost"), any));
	CHECK(!http_origin_allowed(of("http://localhost/"), NULL));
	CHECK(!http_origin_allowed(of("http://localhost@evil.example"), NULL));
	CHECK(!http_origin_allowed(of("http://evil.example http://localhost"), NULL));
	CHECK(!http_origin_allowed(of("http://localhost.evil.example"), NULL));
}

/* ---- ranges ---- */

static void range_is(const char *value, uint64_t total, int want, uint64_t want_first, uint64_t want_last)
{
	uint64_t first = 77, last = 88;
	int got = http_range(of(value), total, &first, &last);

	if (got != want || (got == 1 && (first != want_first || last != want_last)))
		check_fail("\"%s\" of %llu: %d, %llu-%llu", value ? value : "(null)", (unsigned long long)total, got,
			   (unsigned long long)first, (unsigned long long)last);
}

static void ranges(void)
{
	static const char *const ignored[] = { "",          "bytes",      "bytes=",     "bytes=-",    "bytes=a-b",
					       "bytes=5-4", "bytes=1",    "bytes= 1-2", "bytes=1-2,", "bytes=1-2,4-5",
					       "items=1-2", "bytes=+1-2", "bytes=-1-2", "bytes=1-2x", "bytes=0x1-2",
					       "1-2",       "bytes=--1" };

	range_is("bytes=0-0", 10, 1, 0, 0);
	range_is("bytes=2-5", 10, 1, 2, 5);
	range_is("Bytes=2-", 10, 1, 2, 9);
	range_is("bytes=0-99", 10, 1, 0, 9);
	range_is("bytes=9-9", 10, 1, 9, 9);
	range_is("bytes=-3", 10, 1, 7, 9);
	range_is("bytes=-10", 10, 1, 0, 9);
	range_is("bytes=-99", 10, 1, 0, 9);
	range_is("bytes=0-99999999999999999999999", 10, 1, 0, 9);
	range_is("bytes=-99999999999999999999999", 10, 1, 0, 9);
	range_is("bytes=10-", 10, -1, 0, 0);
	range_is("bytes=10-20", 10, -1, 0, 0);
	range_is("bytes=99999999999999999999999-", 10, -1, 0, 0);
	range_is("bytes=18446744073709551615-", UINT64_MAX, -1, 0, 0);
	range_is("bytes=-0", 10, -1, 0, 0);
	range_is("bytes=0-", 0, -1, 0, 0);
	range_is("bytes=-5", 0, -1, 0, 0);
	range_is(NULL, 10, 0, 0, 0);
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		range_is(ignored[i], 10, 0, 0, 0);
}

/* ---- replies ---- */

#define GUARDS                                                                                                         \
	"X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nX-Frame-Options: DENY\r\n"                 \
	"Cross-Origin-Resource-Policy: same-origin\r\n"
#define CACHE  "Cache-Control: no-store\r\n"
#define POLICY "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n"

static void out_is(struct buf *out, const char *want)
{
	CHECK_STR(out->data, want);
	CHECK_INT(out->size, strlen(want));
	buf_free(out);
	*out = (struct buf){ 0 };
}

static void replies(void)
{
	struct buf out = { 0 };

	http_reply(&out, 200, "application/json", "{}", 2, true, "");
	out_is(&out, "HTTP/1.1 200 OK\r\n" GUARDS CACHE POLICY "Content-Type: application/json\r\nContent-Length: 2\r\n"
		     "Connection: keep-alive\r\n\r\n{}");
	http_reply(&out, 404, "text/plain", "", 0, false, "X-A: b\r\nX-C: d\r\n");
	out_is(&out, "HTTP/1.1 404 Not Found\r\n" GUARDS "X-A: b\r\nX-C: d\r\n" CACHE POLICY
		     "Content-Type: text/plain\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
	http_reply_head(&out, 200, "text/event-stream", HTTP_CHUNKED, true, "");
	out_is(&out, "HTTP/1.1 200 OK\r\n" GUARDS CACHE POLICY
		     "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n");
	http_reply_head(&out, 200, NULL, UINT64_MAX - 1, true, "");
	out_is(&out, "HTTP/1.1 200 OK\r\n" GUARDS CACHE POLICY
		     "Content-Length: 18446744073709551614\r\nConnection: keep-alive\r\n\r\n");
	http_reply(&out, 204, NULL, NULL, 0, true, "");
	out_is(&out, "HTTP/1.1 204 No Content\r\n" GUARDS CACHE POLICY "Connection: keep-alive\r\n\r\n");
	http_reply_head(&out, 101, NULL, 0, true, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
	out_is(&out, "HTTP/1.1 101 Switching Protocols\r\n" GUARDS
		     "Connection: Upgrade\r\nUpgrade: websocket\r\n" CACHE POLICY "\r\n");
}

static void replies_own_policy(void)
{
	struct buf out = { 0 };

	http_reply(&out, 200, "text/html", "x", 1, true, "cache-control: max-age=5\r\n");
	out_is(&out, "HTTP/1.1 200 OK\r\n" GUARDS "cache-control: max-age=5\r\n" POLICY
		     "Content-Type: text/html\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\nx");
	http_reply(&out, 200, "text/html", "x", 1, true,
		   "X-A: Cache-Control: no\r\nContent-Security-Policy: default-src 'self'\r\n");
	out_is(&out, "HTTP/1.1 200 OK\r\n" GUARDS
		     "X-A: Cache-Control: no\r\nContent-Security-Policy: default-src 'self'\r\n" CACHE
		     "Content-Type: text/html\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\nx");
}

static void reasons(void)
{
	static const int known[] = { 100, 101, 200, 201, 202, 204, 206, 304, 400, 401, 403, 404,
				     405, 406, 408, 409, 411, 413, 414, 415, 416, 417, 421, 422,
				     426, 429, 431, 500, 501, 502, 503, 504, 505, 507 };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		CHECK(strcmp(http_reason(known[i]), "Unknown") != 0);
	CHECK_STR(http_reason(413), "Content Too Large");
	CHECK_STR(http_reason(505), "HTTP Version Not Supported");
	CHECK_STR(http_reason(299), "Unknown");
}

static void chunked_replies(void)
{
	static char large[70000];
	struct buf out = { 0 };

	http_chunk(&out, "hello", 5);
	http_chunk(&out, "0123456789abcdefX", 17);
	http_chunk(&out, NULL, 0);
	out_is(&out, "5\r\nhello\r\n11\r\n0123456789abcdefX\r\n0\r\n\r\n");
	memset(large, 'x', sizeof(large));
	http_chunk(&out, large, sizeof(large));
	http_chunk(&out, "", 0);
	CHECK(memcmp(out.data, "11170\r\nxx", 9) == 0);
	CHECK_INT(chunks_take(out.data, out.size, 4096, sizeof(large)), 1);
	CHECK_INT(body.size, sizeof(large));
	buf_free(&out);
}

static void events(void)
{
	struct buf out = { 0 };

	http_event(&out, "start", "{}", 2);
	out_is(&out, "17\r\nevent: start\ndata: {}\n\n\r\n");
	http_event(&out, "a", "", 0);
	out_is(&out, "11\r\nevent: a\ndata: \n\n\r\n");
	http_event(&out, "a", NULL, 0);
	out_is(&out, "11\r\nevent: a\ndata: \n\n\r\n");
	http_event(&out, "a", "b\nc", 3);
	out_is(&out, "1a\r\nevent: a\ndata: b\ndata: c\n\n\r\n");
	/* To a reader of events CR is the end of a line too: none may begin a field of its own. */
	http_event(&out, "a", "b\rid: 1\r\nc\n", 11);
	http_chunk(&out, "", 0);
	CHECK_INT(chunks_take(out.data, out.size, 3, 100), 1);
	CHECK_STR(body.data, "event: a\ndata: b\ndata: id: 1\ndata: c\ndata: \n\n");
	buf_free(&out);
	out = (struct buf){ 0 };
	http_event(&out, NULL, NULL, 0);
	out_is(&out, "3\r\n:\n\n\r\n");
}

int main(void)
{
	RUN(chunks_good);
	RUN(chunks_whole_stays);
	RUN(chunks_trailers);
	RUN(chunks_broken);
	RUN(chunks_large);
	RUN(chunks_overhead);
	RUN(queries);
	RUN(queries_refused);
	RUN(query_names);
	RUN(hosts);
	RUN(host_names);
	RUN(origins);
	RUN(ranges);
	RUN(replies);
	RUN(replies_own_policy);
	RUN(reasons);
	RUN(chunked_replies);
	RUN(events);
	buf_free(&body);
	return check_failures != 0;
}
