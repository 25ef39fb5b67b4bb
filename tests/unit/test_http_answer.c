/* What a service says over HTTP: whole or byte by byte, it is understood the same; what is no answer is refused. */
#include "../check.h"
#include "base/own.h"
#include "client/http_answer.h"
#include "client/http_call.h"

static struct buf body, heard;
static struct http_answer answer;
static struct error err;

static void begin(void)
{
	http_answer_free(&answer);
	answer = (struct http_answer){ 0 };
	body.size = heard.size = 0;
	err = (struct error){ 0 };
}

/* The last thing that was said of it, `step` bytes at a time. */
static int take(const char *text, size_t size, size_t step)
{
	int done = 0;

	begin();
	for (size_t at = 0; at < size && done >= 0; at += step)
		done = http_answer_take(&answer, text + at, size - at < step ? size - at : step, &body, &err);
	buf_add(&body, "", 0);
	return done;
}

static void whole(const char *text, int status, const char *content)
{
	const size_t steps[] = { 1, 2, 7, strlen(text) };

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		CHECK_INT(take(text, strlen(text), steps[i]), 1);
		CHECK_INT(answer.status, status);
		CHECK_STR(body.data, content);
	}
}

static void with_a_length(void)
{
	whole("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: application/json\r\n\r\nhello", 200, "hello");
	CHECK(!answer.events);
	CHECK(answer.keep_alive);
	whole("HTTP/1.1 404 Not Found\r\ncontent-length:0\r\nConnection: close\r\n\r\n", 404, "");
	CHECK(!answer.keep_alive);
	whole("HTTP/1.1 204 No Content\r\n\r\n", 204, "");
	/* Half of it is not all of it. */
	CHECK_INT(take("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", 42, 42), 0);
	CHECK_INT(http_answer_end(&answer, &err), -1);
	CHECK_STR(err.text, "the service closed the connection");
}

static void in_chunks(void)
{
	whole("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", 200, "hello");
	CHECK_INT(take("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 51, 51), -1);
}

static void until_the_end(void)
{
	CHECK_INT(take("HTTP/1.0 200 OK\r\n\r\nall of it", 28, 3), 0);
	CHECK_INT(http_answer_end(&answer, &err), 0);
	CHECK_STR(body.data, "all of it");
	CHECK(!answer.keep_alive);
}

static void interim_answers_are_skipped(void)
{
	whole("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}", 201, "{}");
}

static void what_is_no_answer(void)
{
	static const char *const bad[] = {
		"SSH-2.0-OpenSSH_9.2\r\n\r\n",
		"HTTP/2 200\r\n\r\n",
		"HTTP/1.1 2x0 OK\r\n\r\n",
		"HTTP/1.1 2000\r\n\r\n",
		"\r\n\r\n",
		"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
		"HTTP/1.1 200 OK\r\n: empty\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 9999999999999999\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
		"HTTP/1.1 101 Switching Protocols\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		if (take(bad[i], strlen(bad[i]), 1) != -1 || take(bad[i], strlen(bad[i]), strlen(bad[i])) != -1)
			check_fail("taken: %s", bad[i]);
		CHECK(strncmp(err.text, "the service gave an invalid answer: ", 36) == 0);
	}
}

static void a_head_has_a_bound(void)
{
	static char text[HTTP_HEAD_MAX + 100] = "HTTP/1.1 200 OK\r\nX: ";

	memset(text + 20, 'x', sizeof(text) - 20);
	CHECK_INT(take(text, sizeof(text), 1000), -1);
	CHECK(strstr(err.text, "its head is too long"));
}

static void hear(const char *name, const char *data, size_t size, void *userdata)
{
	CHECK_INT(strlen(data), size);
	buf_printf(&heard, "%s=%s;", name, data);
}

static void events_come_whole(void)
{
	const char *text =
		": hello\n\nevent: stdout\ndata: {\"text\":\"a\"}\n\nevent:result\r\ndata: one\r\ndata:two\r\n\r\n"
		"data\rid: 7\r\rdata: late";

	for (size_t step = 1; step < 12; step++) {
		struct http_events events = { 0 };

		begin();
		for (size_t at = 0; at < strlen(text); at += step)
			CHECK_INT(http_events_take(&events, text + at,
						   strlen(text) - at < step ? strlen(text) - at : step, hear, NULL,
						   &err),
				  0);
		buf_add(&heard, "", 0);
		CHECK_STR(heard.data, "stdout={\"text\":\"a\"};result=one\ntwo;message=;");
		http_events_free(&events);
	}
}

static void paths_are_encoded(void)
{
	struct buf path = { 0 };

	http_path_add(&path, "a b/ü?.txt", true);
	CHECK_STR(path.data, "a%20b/%C3%BC%3F.txt");
	path.size = 0;
	http_path_add(&path, "a/b", false);
	CHECK_STR(path.data, "a%2Fb");
	buf_free(&path);
}

static void a_service_that_is_not_there(void)
{
	const struct http_call call = { .socket = "/nonexistent/emberbox.sock", .method = "GET", .path = "/v1/health" };
	struct http_reply reply;

	err = (struct error){ 0 };
	CHECK_INT(http_call(&call, &reply, &err), -1);
	CHECK_INT(err.errnum, ENOENT);
	CHECK_STR(err.text, "cannot reach the service at \"/nonexistent/emberbox.sock\": No such file or directory");
	http_reply_free(&reply);
}

int main(void)
{
	RUN(with_a_length);
	RUN(in_chunks);
	RUN(until_the_end);
	RUN(interim_answers_are_skipped);
	RUN(what_is_no_answer);
	RUN(a_head_has_a_bound);
	RUN(events_come_whole);
	RUN(paths_are_encoded);
	RUN(a_service_that_is_not_there);
	http_answer_free(&answer);
	buf_free(&body);
	buf_free(&heard);
	return check_failures > 0;
}
