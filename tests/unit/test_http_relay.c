/* HTTP through the relay, in one piece, in sevens and byte by byte: what passes, what is refused and how, where
 * messages end, and what neither side may do to the other. */
#include "relay_world.h"

#define ANY "* https://api.example.com/*"

/* One request and its answer pass; both sides are open for the next one. */
static void exchange_works(void)
{
	box_sends("GET /ok HTTP/1.1\r\nHost: api.example.com\r\n\r\n");
	CHECK_STR(server_got(), "GET /ok HTTP/1.1\r\nHost: api.example.com\r\n\r\n");
	server_sends("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
	CHECK_STR(box_got(), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
	CHECK(!world_.relay.box_over && !world_.relay.world_over);
}

static void requests_pass(void)
{
	EACH_STEP
	{
		world_open(ANY, true);
		exchange_works();
		box_sends(
			"POST /x?q=1 HTTP/1.1\r\nhost: API.example.com:443\r\nUser-Agent: a b\r\nContent-Length: 5\r\n"
			"X-Empty:\r\nX-Tab:\t \tv\t \r\n\r\nhello");
		CHECK_STR(server_got(),
			  "POST /x?q=1 HTTP/1.1\r\nHost: api.example.com\r\nUser-Agent: a b\r\nX-Empty: \r\n"
			  "X-Tab: v\r\nContent-Length: 5\r\n\r\nhello");
		server_sends("HTTP/1.1 201 Created\r\nX-A: 1\r\nX-A: 2\r\nTransfer-Encoding: chunked\r\n\r\n"
			     "3;ext=1\r\nabc\r\n0\r\nX-Sum: 9\r\nContent-Length: 7\r\n\r\n");
		CHECK(strstr(world_.to_box.data,
			     "HTTP/1.1 201 Created\r\nX-A: 1\r\nX-A: 2\r\nTransfer-Encoding: chunked\r\n\r\n"));
		CHECK(strstr(world_.to_box.data, "0\r\nX-Sum: 9\r\n\r\n"));
		box_got();
		exchange_works();
		CHECK_INT(world_.told, 3);
		CHECK_INT(world_.told_allowed, 3);
		CHECK_STR(world_.rule, "* https://api.example.com/*");
	}
}

static void chunked_requests(void)
{
	EACH_STEP
	{
		world_open(ANY, true);
		box_sends(
			"PUT /x HTTP/1.1\r\nHost: api.example.com\r\nTransfer-Encoding: Chunked\r\nTE: trailers\r\n\r\n"
			"5;x=\"y\"\r\nhello\r\n00\r\nX-Check: 1\r\nHost: evil.example\r\n\r\n");
		if (world_.step == 1)
			CHECK_STR(server_got(),
				  "PUT /x HTTP/1.1\r\nHost: api.example.com\r\nConnection: TE\r\nTE: trailers\r\n"
				  "Transfer-Encoding: chunked\r\n\r\n1\r\nh\r\n1\r\ne\r\n1\r\nl\r\n1\r\nl\r\n1\r\no\r\n"
				  "0\r\nX-Check: 1\r\n\r\n");
		else if (world_.step > 7)
			CHECK_STR(server_got(),
				  "PUT /x HTTP/1.1\r\nHost: api.example.com\r\nConnection: TE\r\nTE: trailers\r\n"
				  "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Check: 1\r\n\r\n");
		server_got();
		server_sends("HTTP/1.1 204 No Content\r\n\r\n");
		CHECK_STR(box_got(), "HTTP/1.1 204 No Content\r\n\r\n");
		exchange_works();
	}
}

static void pipelined_requests_wait(void)
{
	static const char two[] = "GET /1 HTTP/1.1\r\nHost: api.example.com\r\n\r\n"
				  "GET /2 HTTP/1.1\r\nHost: api.example.com\r\n\r\n";

	EACH_STEP
	{
		world_open(ANY, true);
		CHECK_INT(box_sends(two), strlen(two) / 2);
		CHECK_STR(server_got(), "GET /1 HTTP/1.1\r\nHost: api.example.com\r\n\r\n");
		CHECK_INT(box_sends(two), 0);
		server_sends("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
		CHECK_INT(box_sends(two + strlen(two) / 2), strlen(two) / 2);
		CHECK_STR(server_got(), "GET /2 HTTP/1.1\r\nHost: api.example.com\r\n\r\n");
	}
}

/* Where an answer ends. */
static void responses_end(void)
{
	static const struct {
		const char *request, *response, *got;
		bool over;
	} rows[] = {
		{ "GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		  false },
		{ "GET", "HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx", "HTTP/1.1 200 \r\nContent-Length: 1\r\n\r\nx",
		  false },
		{ "GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\nETag: x\r\n\r\n",
		  "HTTP/1.1 304 Not Modified\r\nETag: x\r\nContent-Length: 7\r\n\r\n", false },
		{ "GET", "HTTP/1.1 204 No Content\r\nContent-Length: 7\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n",
		  false },
		{ "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n",
		  "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", false },
		{ "HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n", false },
		{ "GET", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx",
		  "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx", true },
		{ "GET", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx",
		  "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx", true },
		{ "GET",
		  "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\nContent-Length: 1\r\n\r\nx",
		  "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", false },
		/* Interim answers. */
		{ "GET", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		  "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false },
		/* Other doors of the server, and our own word. */
		{ "GET",
		  "HTTP/1.1 200 OK\r\nAlt-Svc: h3=\":443\"\r\nUpgrade: h2c\r\nX-Emberbox-Denied: no\r\nContent-Length: "
		  "0\r\n\r\n",
		  "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false },
		/* Something behind it that nobody asked for. */
		{ "GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		  "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", true },
		{ "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nsurplus",
		  "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", true },
	};

	EACH_STEP
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char request[128];

		world_open(ANY, true);
		snprintf(request, sizeof(request), "%s / HTTP/1.1\r\nHost: api.example.com\r\n\r\n", rows[i].request);
		box_sends(request);
		server_got();
		server_sends(rows[i].response);
		CHECK_STR(box_got(), rows[i].got);
		CHECK_INT(world_.relay.box_over, rows[i].over);
		CHECK(!world_.relay.broken);
		if (!rows[i].over)
			exchange_works();
	}
}

static void bodies_that_end_with_the_connection(void)
{
	for (int clean = 0; clean < 2; clean++)
		EACH_STEP
		{
			world_open(ANY, true);
			box_sends("GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n");
			server_sends("HTTP/1.1 200 OK\r\n\r\nall of");
			server_sends(" it");
			CHECK(!world_.relay.box_over);
			http_relay_world_ended(&world_.relay, clean);
			CHECK_STR(box_got(), "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it");
			CHECK(world_.relay.box_over);
			/* A cut connection is not a short answer. */
			CHECK_INT(world_.relay.broken, !clean);
		}
}

static void old_clients(void)
{
	EACH_STEP
	{
		world_open(ANY, true);
		box_sends("GET / HTTP/1.0\r\nHost: api.example.com\r\nConnection: keep-alive\r\n\r\n");
		CHECK_STR(server_got(), "GET / HTTP/1.1\r\nHost: api.example.com\r\nConnection: close\r\n\r\n");
		server_sends("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: "
			     "chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
		CHECK_STR(box_got(), "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello");
		CHECK(world_.relay.box_over && !world_.relay.broken);
	}
}

/* Requests that are not understood, or not as one only. Nothing of them reaches the server. */
static void malformed_requests(void)
{
#define H "Host: api.example.com\r\n"
	static const struct {
		const char *request;
		unsigned status;
		const char *message;
	} rows[] = {
		/* Framing in two ways. */
		{ "POST / HTTP/1.1\r\n" H "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400,
		  "are both given" },
		{ "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n", 400,
		  "are both given" },
		{ "POST / HTTP/1.1\r\n" H "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", 400, "given twice" },
		{ "POST / HTTP/1.1\r\n" H "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", 400, "given twice" },
		{ "POST / HTTP/1.1\r\n" H "Content-Length: 5, 5\r\n\r\n", 400, "not a number" },
		{ "POST / HTTP/1.1\r\n" H "Content-Length: +5\r\n\r\n", 400, "not a number" },
		{ "POST / HTTP/1.1\r\n" H "Content-Length: -5\r\n\r\n", 400, "not a number" },
		{ "POST / HTTP/1.1\r\n" H "Content-Length: 0x5\r\n\r\n", 400, "not a number" },
		{ "POST / HTTP/1.1\r\n" H "Content-Length: 5 \t5\r\n\r\n", 400, "not a number" },
		{ "POST / HTTP/1.1\r\n" H "Content-Length:\r\n\r\n", 400, "not a number" },
		{ "POST / HTTP/1.1\r\n" H "Content-Length: 18446744073709551616\r\n\r\n", 400, "not a number" },
		{ "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400,
		  "given twice" },
		{ "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked, chunked\r\n\r\n", 400, "not chunked" },
		{ "POST / HTTP/1.1\r\n" H "Transfer-Encoding: gzip, chunked\r\n\r\n", 400, "not chunked" },
		{ "POST / HTTP/1.1\r\n" H "Transfer-Encoding: identity\r\n\r\n", 400, "not chunked" },
		{ "POST / HTTP/1.1\r\n" H "Transfer-Encoding: xchunked\r\n\r\n", 400, "not chunked" },
		{ "POST / HTTP/1.1\r\n" H "Transfer-Encoding: \"chunked\"\r\n\r\n", 400, "not chunked" },
		{ "POST / HTTP/1.1\r\n" H "Transfer-Encoding:\r\n\r\n", 400, "not chunked" },
		{ "POST / HTTP/1.1\r\n" H "Transfer-Encoding: \x0b"
		  "chunked\r\n\r\n",
		  400, "control character" },
		{ "POST / HTTP/1.0\r\n" H "Transfer-Encoding: chunked\r\n\r\n", 400, "HTTP/1.0 has no" },
		{ "POST / HTTP/1.1\r\n" H "Transfer-Encoding : chunked\r\n\r\n", 400, "not NAME: VALUE" },
		{ "POST / HTTP/1.1\r\n" H "Content-Length : 5\r\n\r\n", 400, "not NAME: VALUE" },
		{ "POST / HTTP/1.1\r\n" H " Content-Length: 5\r\n\r\n", 400, "folded" },
		{ "POST / HTTP/1.1\r\n" H "X: a\r\n\tb\r\n\r\n", 400, "folded" },
		{ "POST / HTTP/1.1\r\n" H "X: a\r\n Transfer-Encoding: chunked\r\n\r\n", 400, "folded" },
		{ "POST / HTTP/1.1\r\n" H ": x\r\n\r\n", 400, "not NAME: VALUE" },
		{ "POST / HTTP/1.1\r\n" H "X\r\n\r\n", 400, "not NAME: VALUE" },
		{ "POST / HTTP/1.1\r\n" H "X\x80: x\r\n\r\n", 400, "not NAME: VALUE" },
		/* Line ends. */
		{ "GET / HTTP/1.1\n" H "\r\n", 400, "LF alone" },
		{ "GET / HTTP/1.1\r\n" H "\n", 400, "LF alone" },
		{ "GET / HTTP/1.1\r\nHost: api.example.com\n\n", 400, "LF alone" },
		{ "GET / HTTP/1.1\r\nX: a\rHost: x\r\n" H "\r\n", 400, "control character" },
		{ "GET / HTTP/1.1\r\nX: a\x7f\r\n" H "\r\n", 400, "control character" },
		/* The first line. */
		{ "GET / HTTP/1.1 \r\n" H "\r\n", 400, "first line" },
		{ "GET  / HTTP/1.1\r\n" H "\r\n", 400, "first line" },
		{ "GET /a b HTTP/1.1\r\n" H "\r\n", 400, "first line" },
		{ "GET\t/ HTTP/1.1\r\n" H "\r\n", 400, "first line" },
		{ " GET / HTTP/1.1\r\n" H "\r\n", 400, "first line" },
		{ "G(T / HTTP/1.1\r\n" H "\r\n", 400, "first line" },
		{ "GET /\r\n\r\n", 400, "first line" },
		{ "GET / HTTP/2.0\r\n" H "\r\n", 505, "version" },
		{ "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "version" },
		{ "GET / HTTP/1.2\r\n" H "\r\n", 505, "version" },
		{ "GET / http/1.1\r\n" H "\r\n", 400, "first line" },
		{ "GET /\xc3\xbc HTTP/1.1\r\n" H "\r\n", 400, "written as %XX" },
		{ "GET /# HTTP/1.1\r\n" H "\r\n", 400, "contains a #" },
		{ "AMETHODTHATISLONGERTHANANYTHATIS1 / HTTP/1.1\r\n" H "\r\n", 400, "first line" },
		/* Hosts. */
		{ "GET / HTTP/1.1\r\n\r\n", 400, "Host is missing" },
		{ "GET / HTTP/1.0\r\n\r\n", 400, "Host is missing" },
		{ "GET / HTTP/1.1\r\n" H H "\r\n", 400, "Host is given twice" },
		{ "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403, "field Host" },
		{ "GET / HTTP/1.1\r\nHost: api.example.com:8443\r\n\r\n", 403, "field Host" },
		{ "GET / HTTP/1.1\r\nHost: api.example.com:443:443\r\n\r\n", 403, "field Host" },
		{ "GET / HTTP/1.1\r\nHost: api.example.com:0443\r\n\r\n", 403, "field Host" },
		{ "GET / HTTP/1.1\r\nHost: api.example.com, evil.example\r\n\r\n", 403, "field Host" },
		{ "GET / HTTP/1.1\r\nHost: api.example.com@evil.example\r\n\r\n", 403, "field Host" },
		{ "GET / HTTP/1.1\r\nHost: api.example.com/x\r\n\r\n", 403, "field Host" },
		{ "GET / HTTP/1.1\r\nHost:\r\n\r\n", 403, "field Host" },
		{ "GET https://evil.example/ HTTP/1.1\r\n" H "\r\n", 400, "another host" },
		{ "GET https://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", 400, "another host" },
		{ "GET https://api.example.com@evil.example/ HTTP/1.1\r\n" H "\r\n", 400, "another host" },
		{ "GET http://api.example.com/ HTTP/1.1\r\n" H "\r\n", 400, "no URL of this host" },
		{ "GET https://api.example.com/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403, "field Host" },
		{ "GET https://api.example.com HTTP/1.1\r\n" H "\r\n", 400, "no path" },
		{ "GET https://api.example.com?x HTTP/1.1\r\n" H "\r\n", 400, "no path" },
		{ "GET api.example.com:443 HTTP/1.1\r\n" H "\r\n", 400, "no URL" },
		{ "GET * HTTP/1.1\r\n" H "\r\n", 400, "OPTIONS" },
		{ "CONNECT evil.example:443 HTTP/1.1\r\n" H "\r\n", 403, "CONNECT" },
		{ "CONNECT api.example.com:443 HTTP/1.1\r\n" H "\r\n", 403, "CONNECT" },
		{ "TRACE / HTTP/1.1\r\n" H "\r\n", 403, "TRACE" },
		{ "GET / HTTP/1.1\r\n" H "Expect: 200-ok\r\n\r\n", 417, "Expect" },
		{ "GET / HTTP/1.1\r\n" H "X-HTTP-Method-Override: A B\r\n\r\n", 400, "overrides the method" },
		{ "GET / HTTP/1.1\r\n" H "X-HTTP-Method:\r\n\r\n", 400, "overrides the method" },
	};

	EACH_STEP
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char status[32];
		const char *got;

		world_open(ANY, true);
		box_sends(rows[i].request);
		CHECK_STR(server_got(), "");
		got = box_got();
		snprintf(status, sizeof(status), "HTTP/1.1 %u ", rows[i].status);
		if (strncmp(got, status, strlen(status)) != 0 || !strstr(got, rows[i].message) ||
		    !strstr(got, "\r\nx-emberbox-denied: http\r\n") || !strstr(got, "\r\nConnection: close\r\n") ||
		    !strstr(got, "\r\n\r\n{\"error\": {\"code\": \"http\", \"message\": \"The request is refused: "))
			check_fail("row %zu: %s", i, got);
		CHECK(world_.relay.box_over && world_.relay.world_over && !world_.relay.broken);
		CHECK_INT(world_.told, 1);
		CHECK_INT(world_.reason, NET_REASON_HTTP);
		/* Whatever comes behind it is thrown away. */
		CHECK_INT(box_sends("GET / HTTP/1.1\r\n" H "\r\n"), strlen("GET / HTTP/1.1\r\n" H "\r\n"));
		CHECK_STR(server_got(), "");
		CHECK_STR(box_got(), "");
	}
}

static void a_nul_in_a_head(void)
{
	static const char request[] = "GET / HTTP/1.1\r\n" H "X: a\0b\r\n\r\n";

	EACH_STEP
	{
		world_open(ANY, true);
		world_give(http_relay_from_box, request, sizeof(request) - 1);
		CHECK_STR(server_got(), "");
		CHECK(strstr(box_got(), "control character"));
	}
}

static void heads_that_are_too_long(void)
{
	static char request[RELAY_REQUEST_MAX + 100];
	struct buf many = { 0 };

	world_.step = 1000;
	snprintf(request, sizeof(request), "GET /%0*d", RELAY_REQUEST_MAX, 0);
	world_open(ANY, true);
	box_sends(request);
	CHECK(strncmp(box_got(), "HTTP/1.1 431 ", 13) == 0);
	buf_text(&many, "GET / HTTP/1.1\r\n" H);
	for (int i = 0; i < RELAY_FIELDS_MAX; i++)
		buf_text(&many, "A: b\r\n");
	buf_text(&many, "\r\n");
	world_open(ANY, true);
	box_sends(many.data);
	CHECK(strstr(box_got(), "more than 128 fields"));
	/* Just as many as there may be: Host is one of them. */
	many.size -= 8;
	many.data[many.size] = '\0';
	buf_text(&many, "\r\n");
	world_open(ANY, true);
	box_sends(many.data);
	CHECK_INT(world_.told_allowed, 1);
	buf_free(&many);
}

/* What the rules say, and that the connection can be used on. */
static void rules_hold(void)
{
	static const char rules[] = "GET https://api.example.com/repos/*,POST https://api.example.com/issues";
	static const struct {
		const char *line, *fields;
		bool allowed;
		const char *message; /* of a refusal */
	} rows[] = {
		{ "GET /repos/a", "", true, "" },
		{ "GET /repos/", "", true, "" },
		{ "GET /repos/a?x=/../../admin", "", true, "" },
		{ "GET https://api.example.com/repos/a", "", true, "" },
		{ "GET https://API.EXAMPLE.COM:443/repos/a", "", true, "" },
		{ "POST /issues", "", true, "" },
		{ "POST /repos/a", "", false,
		  "POST https://api.example.com/repos/a is not allowed; allow it with --net 'POST "
		  "https://api.example.com/repos/a'." },
		{ "GET /issues", "", false, "--net 'GET https://api.example.com/issues'" },
		{ "GET /", "", false, "--net 'GET https://api.example.com/'" },
		{ "GET /Repos/a", "", false, "--net 'GET https://api.example.com/Repos/a'" },
		{ "get /repos/a", "", false, "get https://api.example.com/repos/a is not allowed" },
		{ "DELETE /repos/a?x", "", false, "--net 'DELETE https://api.example.com/repos/a'" },
		{ "GET /repos/../admin", "", false, "understand its path in two ways" },
		{ "GET /repos/%2e%2e/admin", "", false, "understand its path in two ways" },
		{ "GET /repos/%2E%2E%2fadmin", "", false, "understand its path in two ways" },
		{ "GET /repos/..%2fadmin", "", false, "understand its path in two ways" },
		{ "GET /repos/..;/admin", "", false, "understand its path in two ways" },
		{ "GET /repos/a%2Fb", "", true, "" },
		{ "GET /repos/..\\admin", "", false, "understand its path in two ways" },
		{ "GET /repos/%00", "", false, "understand its path in two ways" },
		{ "GET /repos/%252e%252e/x", "", false, "understand its path in two ways" },
		{ "GET /%72epos/a", "", true, "" },
		{ "GET //repos/a", "", false, "is not allowed" },
		{ "GET /./repos/a", "", false, "understand its path in two ways" },
		{ "OPTIONS *", "", false, "understand its path in two ways" },
		/* A method or a path that some servers take instead. */
		{ "GET /repos/a", "X-HTTP-Method-Override: DELETE\r\n", false,
		  "DELETE https://api.example.com/repos/a is not allowed" },
		{ "GET /repos/a", "x-http-method: delete\r\n", false,
		  "DELETE https://api.example.com/repos/a is not allowed" },
		{ "GET /repos/a", "X-Method-Override: GET\r\n", true, "" },
		{ "GET /repos/a", "X-Original-URL: /admin?x\r\n", false,
		  "GET https://api.example.com/admin is not allowed" },
		{ "GET /repos/a", "X-Rewrite-Url: /repos/../admin\r\n", false, "in two ways" },
		{ "GET /repos/a", "X-Rewrite-Url: /repos/b\r\n", true, "" },
		{ "GET /repos/a", "Connection: x-original-url\r\nX-Original-URL: /admin\r\n", false,
		  "/admin is not allowed" },
	};

	EACH_STEP
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char request[512];
		const char *got;

		world_open(rules, true);
		snprintf(request, sizeof(request), "%s HTTP/1.1\r\n" H "%s\r\n", rows[i].line, rows[i].fields);
		box_sends(request);
		if (world_.told != 1 || world_.told_allowed != rows[i].allowed)
			check_fail("row %zu: %s: %u told, %u allowed", i, rows[i].line, world_.told,
				   world_.told_allowed);
		if (rows[i].allowed) {
			CHECK(strlen(server_got()) > 0);
			continue;
		}
		CHECK_STR(server_got(), "");
		got = box_got();
		if (strncmp(got, "HTTP/1.1 403 Forbidden\r\n", 24) != 0 || !strstr(got, rows[i].message) ||
		    !strstr(got, "\r\nx-emberbox-denied: request\r\n") ||
		    !strstr(got, "\r\nConnection: keep-alive\r\n"))
			check_fail("row %zu: %s", i, got);
		CHECK_INT(world_.reason, NET_REASON_REQUEST);
		CHECK(!world_.relay.box_over);
		/* The control: what is allowed still is. */
		box_sends("GET /repos/b HTTP/1.1\r\n" H "\r\n");
		CHECK_STR(server_got(), "GET /repos/b HTTP/1.1\r\n" H "\r\n");
	}
}

static void a_refused_request_with_a_body(void)
{
	EACH_STEP
	{
		world_open("GET https://api.example.com/*", true);
		box_sends("POST / HTTP/1.1\r\n" H
			  "Content-Length: 43\r\n\r\nGET / HTTP/1.1\r\nHost: api.example.com\r\n\r\nab");
		CHECK_STR(server_got(), "");
		CHECK(strstr(box_got(), "\r\nConnection: close\r\n"));
		CHECK(world_.relay.box_over && !world_.relay.broken);
		CHECK_INT(world_.told, 1);
	}
	/* HEAD: the answer has no body. */
	world_.step = 100;
	world_open("GET https://api.example.com/x", true);
	box_sends("HEAD / HTTP/1.1\r\n" H "\r\n");
	CHECK_STR(strstr(box_got(), "\r\n\r\n"), "\r\n\r\n");
}

static void narrowed(void)
{
	world_.step = 1000;
	world_open(ANY, true);
	make_policy(LISTS(ANY, "GET https://api.example.com/*"), &world_.arena, &world_.policy);
	box_sends("POST / HTTP/1.1\r\n" H "\r\n");
	CHECK(strstr(box_got(), "POST https://api.example.com/ is not allowed: the profile, the token or the service "
				"does not allow it."));
	CHECK_INT(world_.reason, NET_REASON_NARROWED);
}

static void plain_http(void)
{
	EACH_STEP
	{
		world_open("api.example.com:80", false);
		box_sends("GET http://api.example.com/a HTTP/1.1\r\n" H "Proxy-Connection: keep-alive\r\n\r\n");
		CHECK_STR(server_got(), "GET /a HTTP/1.1\r\n" H "\r\n");
		world_open("api.example.com:80", false);
		box_sends("GET https://api.example.com/a HTTP/1.1\r\n" H "\r\n");
		CHECK_STR(server_got(), "");
		CHECK(strstr(box_got(), "no URL of this host"));
	}
}

/* ---- the sides' own ways ---- */

static void continue_100(void)
{
	EACH_STEP
	{
		world_open(ANY, true);
		box_sends("PUT / HTTP/1.1\r\n" H "Expect: 100-Continue\r\nContent-Length: 2\r\n\r\n");
		CHECK_STR(server_got(), "PUT / HTTP/1.1\r\n" H "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
		server_sends("HTTP/1.1 100 Continue\r\n\r\n");
		CHECK_STR(box_got(), "HTTP/1.1 100 Continue\r\n\r\n");
		box_sends("hi");
		CHECK_STR(server_got(), "hi");
		server_sends("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
		CHECK_STR(box_got(), "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
		exchange_works();
		/* A final answer instead: whether the body comes is not sure, so nothing comes behind it. */
		box_sends("PUT / HTTP/1.1\r\n" H "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
		server_got();
		server_sends("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n");
		CHECK_STR(box_got(), "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
		CHECK(world_.relay.box_over);
		box_sends("GET / HTTP/1.1\r\n" H "\r\n");
		CHECK_STR(server_got(), "");
	}
}

static void web_sockets(void)
{
	static const char asks[] = "GET /ws HTTP/1.1\r\n" H "Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n"
				   "Sec-WebSocket-Key: x\r\n\r\n";

	EACH_STEP
	{
		world_open(ANY, true);
		box_sends(asks);
		CHECK_STR(server_got(), "GET /ws HTTP/1.1\r\n" H "Sec-WebSocket-Key: x\r\nConnection: Upgrade\r\n"
					"Upgrade: websocket\r\n\r\n");
		server_sends("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
			     "Sec-WebSocket-Accept: y\r\n\r\n\x81\x02hi");
		CHECK_STR(box_got(),
			  "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: y\r\nConnection: Upgrade\r\n"
			  "Upgrade: websocket\r\n\r\n\x81\x02hi");
		box_sends("\x81\x82 GET /not-looked-at HTTP/1.1\r\n\r\n");
		CHECK_STR(server_got(), "\x81\x82 GET /not-looked-at HTTP/1.1\r\n\r\n");
		CHECK_INT(world_.told, 1);
		http_relay_box_ended(&world_.relay);
		CHECK(world_.relay.world_over && !world_.relay.box_over);
		server_sends("bye");
		CHECK_STR(box_got(), "bye");
		http_relay_world_ended(&world_.relay, true);
		CHECK(world_.relay.box_over && !world_.relay.broken);
		/* The server does not want: HTTP goes on. */
		world_open(ANY, true);
		box_sends(asks);
		server_got();
		server_sends("HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\n\r\n");
		CHECK_STR(box_got(), "HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\n\r\n");
		exchange_works();
	}
}

/* Ways out of HTTP/1.1 that nobody would look at. */
static void no_other_upgrade(void)
{
	static const char *const asks[] = {
		"GET / HTTP/1.1\r\n" H
		"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP\r\n\r\n",
		"GET / HTTP/1.1\r\n" H "Connection: Upgrade\r\nUpgrade: websocket, h2c\r\n\r\n",
		"GET / HTTP/1.1\r\n" H "Connection: Upgrade\r\nUpgrade: TLS/1.0\r\n\r\n",
		"GET / HTTP/1.1\r\n" H "Upgrade: websocket\r\n\r\n",
	};

	EACH_STEP
	for (size_t i = 0; i < ARRAY_SIZE(asks); i++) {
		world_open(ANY, true);
		box_sends(asks[i]);
		CHECK_STR(server_got(), "GET / HTTP/1.1\r\n" H "\r\n");
		server_sends("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\nframes");
		CHECK(strstr(box_got(), "HTTP/1.1 502 Bad Gateway\r\n") == world_.to_box.data ||
		      world_.reason == NET_REASON_HTTP);
		CHECK(world_.relay.box_over);
		CHECK_INT(world_.reason, NET_REASON_HTTP);
		box_sends("frames");
		CHECK_STR(server_got(), "");
	}
	/* Asked for, and another one comes. */
	EACH_STEP
	{
		world_open(ANY, true);
		box_sends("GET / HTTP/1.1\r\n" H "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
		server_got();
		server_sends("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n");
		CHECK(strstr(box_got(), "HTTP/1.1 502 Bad Gateway\r\n"));
		CHECK(world_.relay.box_over);
	}
	/* With a body it is not passed on: what follows could be read as either. */
	world_.step = 1000;
	world_open(ANY, true);
	box_sends("POST / HTTP/1.1\r\n" H "Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n");
	CHECK_STR(server_got(), "POST / HTTP/1.1\r\n" H "Content-Length: 0\r\n\r\n");
}

static void fields_of_the_connection(void)
{
	EACH_STEP
	{
		world_open(ANY, true);
		box_sends("GET / HTTP/1.1\r\n" H
			  "Connection: X-Own, close, host\r\nX-Own: 1\r\nKeep-Alive: 5\r\nTE: gzip\r\n"
			  "Proxy-Authorization: Basic eA==\r\nX-Else: 2\r\n\r\n");
		CHECK_STR(server_got(), "GET / HTTP/1.1\r\n" H "X-Else: 2\r\nConnection: close\r\n\r\n");
		server_sends("HTTP/1.1 200 OK\r\nConnection: X-Back\r\nX-Back: 1\r\nContent-Length: 0\r\n\r\n");
		CHECK_STR(box_got(), "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
		CHECK(world_.relay.box_over);
	}
}

static void malformed_responses(void)
{
	static const struct {
		const char *response, *message;
	} rows[] = {
		{ "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "are both given" },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", "given twice" },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "not chunked" },
		{ "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.0 has no" },
		{ "HTTP/1.1 200 OK\nContent-Length: 0\n\n", "LF alone" },
		{ "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n", "folded" },
		{ "HTTP/1.1 2000 OK\r\n\r\n", "first line" },
		{ "HTTP/1.1 999 OK\r\n\r\n", "status" },
		{ "HTTP/1.1 000 OK\r\n\r\n", "status" },
		{ "HTTP/2 200\r\n\r\n", "first line" },
		{ "HTTP/2.0 200\r\n\r\n", "version" },
		{ "ICY 200 OK\r\n\r\n", "first line" },
		{ "\r\n\r\n", "first line" },
		{ "SSH-2.0-x\r\n\r\n", "first line" },
	};

	EACH_STEP
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *got;

		world_open(ANY, true);
		box_sends("GET / HTTP/1.1\r\n" H "\r\n");
		server_sends(rows[i].response);
		got = box_got();
		if (strncmp(got, "HTTP/1.1 502 Bad Gateway\r\n", 26) != 0 || !strstr(got, rows[i].message) ||
		    !strstr(got, "The answer of api.example.com is refused: "))
			check_fail("row %zu: %s", i, got);
		CHECK(world_.relay.box_over && !world_.relay.broken);
		CHECK_INT(world_.told, 2);
	}
}

static void endless_interim_answers(void)
{
	world_.step = 1000;
	world_open(ANY, true);
	box_sends("GET / HTTP/1.1\r\n" H "\r\n");
	for (int i = 0; i < RELAY_INTERIM_MAX; i++)
		server_sends("HTTP/1.1 102 Processing\r\n\r\n");
	CHECK(!world_.relay.box_over);
	server_sends("HTTP/1.1 102 Processing\r\n\r\n");
	CHECK(world_.relay.box_over);
}

static void broken_bodies(void)
{
	EACH_STEP
	{
		world_open(ANY, true);
		box_sends("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n5\r\nhelloX");
		CHECK(world_.relay.broken && world_.relay.box_over && world_.relay.world_over);
		CHECK_INT(world_.reason, NET_REASON_HTTP);
		CHECK(!strstr(server_got(), "0\r\n\r\n"));
		world_open(ANY, true);
		box_sends("GET / HTTP/1.1\r\n" H "\r\n");
		server_sends("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n");
		CHECK(world_.relay.broken);
		CHECK(!strstr(box_got(), "\r\n0\r\n"));
	}
}

/* Ends in the middle of things: 1 when that is seen as a break. */
static void ends(void)
{
	static const struct {
		const char *box, *server;
		bool of_box, over, broken;
	} rows[] = {
		{ "", "", true, true, false },
		{ "GET / HT", "", true, true, false },
		{ "GET / HTTP/1.1\r\n" H "\r\n", "", true, false, false },
		{ "PUT / HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\nab", "", true, true, true },
		{ "PUT / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", "", true, true, true },
		{ "", "", false, true, false },
		{ "GET / HTTP/1.1\r\n" H "\r\n", "", false, true, true },
		{ "GET / HTTP/1.1\r\n" H "\r\n", "HTTP/1.1 200 OK\r\nConte", false, true, true },
		{ "GET / HTTP/1.1\r\n" H "\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", false, true, true },
		{ "GET / HTTP/1.1\r\n" H "\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
		  false, true, true },
		{ "GET / HTTP/1.1\r\n" H "\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", false, true, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		world_.step = 1000;
		world_open(ANY, true);
		box_sends(rows[i].box);
		server_sends(rows[i].server);
		if (rows[i].of_box)
			http_relay_box_ended(&world_.relay);
		else
			http_relay_world_ended(&world_.relay, true);
		if (world_.relay.box_over != rows[i].over || world_.relay.broken != rows[i].broken)
			check_fail("row %zu: over %d, broken %d", i, world_.relay.box_over, world_.relay.broken);
	}
	/* A program that ends its side behind its request gets the answer. */
	world_open(ANY, true);
	box_sends("GET / HTTP/1.1\r\n" H "\r\n");
	http_relay_box_ended(&world_.relay);
	server_sends("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab");
	CHECK_STR(box_got(), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nab");
	CHECK(world_.relay.box_over && !world_.relay.broken);
}

static void no_server(void)
{
	EACH_STEP
	{
		world_open(ANY, true);
		box_sends("GET /1 HTTP/1.1\r\n" H "\r\n");
		http_relay_world_failed(&world_.relay, NET_REASON_CERTIFICATE, "The certificate \"x\" is bad.");
		CHECK(strstr(world_.to_box.size ? box_got() : relay_queue_data(&world_.relay.to_box),
			     "HTTP/1.1 502 Bad Gateway\r\n"));
		CHECK(world_.relay.box_over);
		world_open(ANY, true);
		http_relay_world_failed(&world_.relay, NET_REASON_CERTIFICATE, "The certificate \"x\" is bad.");
		CHECK(!world_.relay.box_over);
		box_sends("GET /1 HTTP/1.1\r\n" H "\r\n");
		CHECK(strstr(world_.to_box.data, "\r\nx-emberbox-denied: certificate\r\n"));
		CHECK(strstr(box_got(), "{\"error\": {\"code\": \"certificate\", \"message\": \"The certificate "
					"\\\"x\\\" is bad.\"}}"));
		CHECK_INT(world_.reason, NET_REASON_CERTIFICATE);
		/* A request that is not allowed is told so. */
		world_open("GET https://api.example.com/x", true);
		http_relay_world_failed(&world_.relay, NET_REASON_CERTIFICATE, "The certificate is bad.");
		box_sends("GET /1 HTTP/1.1\r\n" H "\r\n");
		CHECK(strstr(box_got(), "\r\nx-emberbox-denied: request\r\n"));
	}
}

/* Neither side can make us hold more than a bound for the other. */
static void backpressure(void)
{
	static char block[32 << 10];
	struct http_relay *relay = &world_.relay;
	size_t total = 0, n;

	memset(block, 'x', sizeof(block));
	world_.step = 1 << 20;
	world_open(ANY, true);
	box_sends("PUT / HTTP/1.1\r\n" H "Content-Length: 1000000000\r\n\r\n");
	while ((n = http_relay_from_box(relay, block, sizeof(block))) > 0)
		total += n;
	CHECK(total >= RELAY_QUEUE && total <= RELAY_QUEUE + sizeof(block));
	CHECK_INT(relay_queue_left(&relay->to_world), total);
	relay_queue_take(&relay->to_world, total);
	CHECK_INT(http_relay_from_box(relay, block, 10), 10);
	/* Also if the queue is never empty. */
	for (int i = 0; i < 1000; i++) {
		n = http_relay_from_box(relay, block, sizeof(block));
		if (relay_queue_left(&relay->to_world) > 1)
			relay_queue_take(&relay->to_world, relay_queue_left(&relay->to_world) - 1);
	}
	CHECK(relay->to_world.buf.room <= 4 * RELAY_QUEUE);
	world_open(ANY, true);
	box_sends("GET / HTTP/1.1\r\n" H "\r\n");
	server_sends("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n");
	for (total = 0; (n = http_relay_from_world(relay, block, sizeof(block))) > 0; total += n)
		;
	CHECK(total >= RELAY_QUEUE && total <= RELAY_QUEUE + sizeof(block));
	CHECK(!relay->failed && !relay->box_over);
}

int main(void)
{
	RUN(requests_pass);
	RUN(chunked_requests);
	RUN(pipelined_requests_wait);
	RUN(responses_end);
	RUN(bodies_that_end_with_the_connection);
	RUN(old_clients);
	RUN(malformed_requests);
	RUN(a_nul_in_a_head);
	RUN(heads_that_are_too_long);
	RUN(rules_hold);
	RUN(a_refused_request_with_a_body);
	RUN(narrowed);
	RUN(plain_http);
	RUN(continue_100);
	RUN(web_sockets);
	RUN(no_other_upgrade);
	RUN(fields_of_the_connection);
	RUN(malformed_responses);
	RUN(endless_interim_answers);
	RUN(broken_bodies);
	RUN(ends);
	RUN(no_server);
	RUN(backpressure);
	world_close();
	return check_failures != 0;
}
