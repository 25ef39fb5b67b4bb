/* The front's door of HTTP between clients, a keeper and a store: requests as they come, and what they are answered. */
/* tests/run: timeout=120 */
#include "front_web.h"

static void a_request_runs(void)
{
	struct message run;
	struct message_run about;
	int fd;

	start((struct front_options){ 0 });
	fd = join();
	put_execute(fd, "X-Request-Id: mine-1\r\n", HELLO);
	run = taken();
	CHECK_INT(run.head.manner, 0);
	memcpy(&about, run.body, sizeof(about));
	CHECK_STR(about.door, "http");
	CHECK_STR(about.request_id, "mine-1");
	finish(&run, "{\"status\":\"ok\"}");
	ANSWER(fd, 200, "{\"status\":\"ok\"}");
	CHECK(web_says("X-Request-Id: mine-1"));
	CHECK(web_says("Connection: keep-alive"));
	CHECK(web_says("Content-Type: application/json"));
	CHECK(strstr(web_head, about.id) != NULL);
	one_run(fd, "{\"n\":2}");
	close(fd);
	stop();
}

/* Three in one write, of which the second is no run; the keeper is slow. */
static void pipelined_requests_are_answered_in_order(void)
{
	struct message run;
	int fd;

	start_with((struct front_options){ 0 }, KIT_STORE);
	fd = join();
	put(fd,
	    "POST /v1/execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n" HELLO
	    "GET /v1/executions HTTP/1.1\r\nHost: localhost\r\n\r\n"
	    "GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"
	    "POST /v1/execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n" HELLO,
	    strlen(HELLO), strlen(HELLO));
	run = taken();
	nothing_taken();
	finish(&run, "{\"n\":1}");
	ANSWER(fd, 200, "{\"n\":1}");
	ASKED(store, GET_LIST, 200, "{\"n\":2}");
	ANSWER(fd, 200, "{\"n\":2}");
	CHECK_STR(hear_error(fd), "404 not_found");
	run = taken();
	finish(&run, "{\"n\":4}");
	ANSWER(fd, 200, "{\"n\":4}");
	close(fd);
	stop();
}

static void requests_cut_at_each_byte(void)
{
	char whole[512];
	size_t size;
	int fd;

	size = (size_t)snprintf(whole, sizeof(whole),
				"POST /v1/execute HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
				"chunked\r\n\r\n5\r\n%.5s\r\n%zx;x=y\r\n%s\r\n0\r\nTrailer: x\r\n\r\n",
				HELLO, strlen(HELLO) - 5, HELLO + 5);
	start((struct front_options){ 0 });
	fd = join();
	for (size_t i = 0; i < size; i++) {
		put_bytes(fd, whole + i, 1);
		barrier();
	}
	for (size_t cut = 0; cut < size; cut += 3) {
		struct message run = taken();

		CHECK(memmem(run.body, run.head.size, "print(1)", 8) != NULL);
		finish(&run, "{}");
		ANSWER(fd, 200, "{}");
		put_bytes(fd, whole, cut);
		barrier();
		put_bytes(fd, whole + cut, size - cut);
	}
	close(fd);
	stop();
}

static void a_large_body_and_a_large_result(void)
{
	char *json = malloc(4 * BIG), *result = malloc(2 * BIG + 1), *got;
	struct message run;
	int fd, status;

	start((struct front_options){ 0 });
	fd = join();
	strcpy(json, "{\"language\":\"python\",\"code\":\"");
	memset(json + 29, 'x', 3 * BIG);
	strcpy(json + 29 + 3 * BIG, "\"}");
	memset(result, 'r', 2 * BIG);
	result[2 * BIG] = '\0';
	put_execute(fd, "", json);
	run = taken();
	CHECK(run.head.size > 3 * BIG);
	finish(&run, result);
	got = hear_answer(fd, &status);
	CHECK_INT(status, 200);
	CHECK(strcmp(got, result) == 0);
	free(got);
	free(json);
	free(result);
	close(fd);
	stop();
}

/* Each code of the list with its status, of a run and of a question, from the keeper's word to the client's. */
static void each_code_has_its_status(void)
{
	char want[64];
	struct message message;
	int fd;

	start((struct front_options){ 0 });
	fd = join();
	for (int i = CODE_NONE + 1; i < CODE_COUNT; i++) {
		const enum error_code code = (enum error_code)i;
		struct message_refusal refusal;
		struct message_head head = { .kind = MESSAGE_TELL,
					     .status = (uint32_t)error_code_status(code),
					     .size = sizeof(refusal) };
		struct error err;

		snprintf(want, sizeof(want), "%d %s", error_code_status(code), error_code_name(code));
		error_refuse(&err, code, "", "no");
		refusal_pack(&err, &refusal);
		put_execute(fd, "", HELLO);
		message = taken();
		tell(&message, MESSAGE_REFUSED, 0, &refusal, sizeof(refusal));
		message_free(&message);
		CHECK_STR(hear_error(fd), want);
		put_request(fd, "GET /v1/sessions/abc", "", NULL);
		message = asked(keeper);
		head.run = message.head.run;
		CHECK_INT(message_send(keeper, &head, &refusal, NULL, 0, &err), 0);
		message_free(&message);
		CHECK_STR(hear_error(fd), want);
	}
	close(fd);
	stop();
}

static void a_client_that_waits_for_100(void)
{
	struct message run;
	int fd;

	start((struct front_options){ 0 });
	fd = join();
	put(fd, "POST /v1/execute HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: %zu\r\n\r\n",
	    strlen(HELLO));
	CHECK_INT(hear_head(fd), 100);
	CHECK_STR(web_head, "HTTP/1.1 100 Continue\r\n\r\n");
	put(fd, "%s", HELLO);
	run = taken();
	finish(&run, "{}");
	ANSWER(fd, 200, "{}");
	/* What it sends after a refusal may be the body or another request: nobody knows, so it is neither. */
	put(fd, "POST /nothing HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 40\r\n\r\n");
	CHECK_STR(hear_error(fd), "404 not_found");
	CHECK(web_says("Connection: close"));
	hear_end(fd);
	stop();
}

static void how_long_a_connection_lives(void)
{
	static const struct {
		const char *version, *headers;
		bool lives;
	} cases[] = {
		{ "1.1", "", true },
		{ "1.1", "Connection: close\r\n", false },
		{ "1.1", "Connection: keep-alive\r\n", true },
		{ "1.0", "", false },
		{ "1.0", "Connection: keep-alive\r\n", true },
	};
	int fd;

	start((struct front_options){ 0 });
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fd = join();
		put(fd, "GET /nothing HTTP/%s\r\nHost: localhost\r\n%s\r\n", cases[i].version, cases[i].headers);
		CHECK_STR(hear_error(fd), "404 not_found");
		CHECK(web_says(cases[i].lives ? "Connection: keep-alive" : "Connection: close"));
		if (cases[i].lives) {
			one_run(fd, "{}");
			close(fd);
		} else {
			hear_end(fd);
		}
	}
	stop();
}

static void an_old_client_gets_no_events(void)
{
	struct message run;
	int fd;

	start((struct front_options){ 0 });
	fd = join();
	put(fd, "POST /v1/execute HTTP/1.0\r\nAccept: text/event-stream\r\nContent-Length: %zu\r\n\r\n" STREAMED,
	    strlen(STREAMED));
	run = taken();
	CHECK_INT(run.head.manner, 0);
	finish(&run, "{\"status\":\"ok\"}");
	ANSWER(fd, 200, "{\"status\":\"ok\"}");
	CHECK(web_says("Content-Type: application/json"));
	hear_end(fd);
	stop();
}

static void a_head_without_a_body(void)
{
	int fd, status;
	char *body;

	start_with((struct front_options){ 0 }, KIT_STORE);
	fd = join();
	put_request(fd, "HEAD /v1/executions", "", NULL);
	ASKED(store, GET_LIST, 200, "{\"n\":1}");
	CHECK_INT(hear_head(fd), 200);
	CHECK(web_says("Content-Length: 8"));
	put_request(fd, "GET /v1/executions", "", NULL);
	ASKED(store, GET_LIST, 200, "{\"n\":2}");
	body = hear_answer(fd, &status);
	CHECK_STR(body, "{\"n\":2}");
	free(body);
	close(fd);
	stop();
}

/* The client writes more than anybody reads, and still hears why nobody does. */
static void a_body_that_is_too_large(void)
{
	static char block[BIG];
	int fd;

	memset(block, 'x', sizeof(block));
	start_with((struct front_options){ 0 }, KIT_TCP);
	for (int chunked = 0; chunked < 2; chunked++) {
		fd = chunked ? join() : web_join();
		if (chunked)
			put(fd,
			    "POST /containers/stop HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
			    "chunked\r\n\r\n%x\r\n",
			    BIG);
		else
			put(fd, "POST /v1/nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 67108865\r\n\r\n");
		put_bytes(fd, block, sizeof(block));
		put_bytes(fd, block, sizeof(block));
		CHECK_STR(hear_error(fd), chunked ? "413 too_large" : "401 unauthorized");
		CHECK(web_says("Connection: close"));
		hear_end(fd);
	}
	fd = join();
	put(fd, "POST /v1/execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: 67108865\r\n\r\n");
	put_bytes(fd, block, sizeof(block));
	ANSWER(fd, 413, "{\"error\":{\"code\":\"too_large\",\"message\":\"the body is larger than 64m\"}}");
	hear_end(fd);
	fd = join();
	put(fd, "POST /containers/stop HTTP/1.1\r\nHost: localhost\r\nContent-Length: 65537\r\n\r\n");
	ANSWER(fd, 413, "{\"error\":{\"code\":\"too_large\",\"message\":\"the body is larger than 64k\"}}");
	hear_end(fd);
	stop();
}

/* Of a small one the rest is forgotten, and the next request is as good as any. */
static void the_body_of_what_was_refused(void)
{
	int fd;

	start((struct front_options){ 0 });
	fd = join();
	put(fd, "POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30\r\n\r\n0123456789");
	CHECK_STR(hear_error(fd), "404 not_found");
	CHECK(web_says("Connection: keep-alive"));
	put(fd, "0123456789");
	barrier();
	put(fd, "0123456789");
	one_run(fd, "{}");
	close(fd);
	/* Of one that is the last as well: the client can send it all, and is not reset. */
	fd = join();
	put(fd,
	    "POST /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 30\r\n\r\n0123456789");
	CHECK_STR(hear_error(fd), "404 not_found");
	CHECK(web_says("Connection: close"));
	barrier();
	put(fd, "0123456789");
	put(fd, "0123456789");
	hear_end(fd);
	stop();
}

static void what_is_no_request_ends_the_connection(void)
{
	static const struct {
		const char *text, *answer;
	} cases[] = {
		{ "GET /v1/health\r\n\r\n", "400 bad_request" },
		{ "GET / HTTP/2.0\r\nHost: localhost\r\n\r\n", "505 bad_request" },
		{ "GET /v1/health HTTP/1.1\r\nHost: localhost\r\nHost: b\r\n\r\n", "400 bad_request" },
		{ "POST /v1/execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: "
		  "chunked\r\n\r\n0\r\n\r\n",
		  "400 bad_request" },
		{ "POST /v1/execute HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
		  "400 bad_request" },
	};
	int fd;

	start((struct front_options){ 0 });
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fd = join();
		put(fd, "%s", cases[i].text);
		CHECK_STR(hear_error(fd), cases[i].answer);
		CHECK(web_says("Connection: close"));
		hear_end(fd);
	}
	fd = join();
	one_run(fd, "{}");
	close(fd);
	nothing_taken();
	stop();
}

static uint64_t front_cpu_usec(void)
{
	struct timespec used = { 0 };
	clockid_t clock;

	CHECK_INT(pthread_getcpuclockid(thread, &clock), 0);
	CHECK_INT(clock_gettime(clock, &used), 0);
	return (uint64_t)used.tv_sec * 1000000 + (uint64_t)used.tv_nsec / 1000;
}

/* It asked for much, sends no more and does not read yet: the front sleeps until it does. */
static void who_sends_no_more_and_does_not_read(void)
{
	enum {
		REQUESTS = 100
	};
	uint64_t used;
	int fd;

	start((struct front_options){ 0 });
	fd = join();
	for (int i = 0; i < REQUESTS; i++)
		put_request(fd, "GET /openapi.yaml", "", NULL);
	CHECK_INT(shutdown(fd, SHUT_WR), 0);
	barrier();
	used = front_cpu_usec();
	usleep(200000);
	CHECK(front_cpu_usec() - used < 50000);
	for (int i = 0; i < REQUESTS; i++)
		CHECK_INT(hear_answer_status(fd), 200);
	hear_end(fd);
	stop();
}

/* Deadlines */

static void half_a_head_is_answered_408(void)
{
	static const char late[] =
		"{\"error\":{\"code\":\"timeout\",\"message\":\"the request did not come in time\"}}";
	int fd;

	start_with((struct front_options){ .times = { .head = 50 } }, KIT_STORE);
	fd = join();
	put(fd, "GET /v1/executions HT");
	ANSWER(fd, 408, late);
	CHECK(web_says("Connection: close"));
	hear_end(fd);
	/* Also behind a HEAD, whose answer had no body. */
	fd = join();
	put_request(fd, "HEAD /v1/executions", "", NULL);
	ASKED(store, GET_LIST, 200, "{}");
	CHECK_INT(hear_head(fd), 200);
	put(fd, "GET /v1/executions HT");
	ANSWER(fd, 408, late);
	hear_end(fd);
	stop();
}

static void half_a_body_is_answered_408(void)
{
	int fd;

	start((struct front_options){ .times = { .body = 50 } });
	fd = join();
	put(fd, "POST /v1/execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n{", strlen(HELLO));
	CHECK_STR(hear_error(fd), "408 timeout");
	hear_end(fd);
	nothing_taken();
	/* A run is not hurried. */
	fd = join();
	one_run(fd, "{}");
	close(fd);
	stop();
}

/* Closed without a word: a late answer to nothing would be taken for the next request's. */
static void who_is_idle_is_let_go(void)
{
	struct message run;
	int fd;

	start_with((struct front_options){ .times = { .idle = 50, .first = 50 } }, KIT_TCP);
	fd = join();
	one_run(fd, "{}");
	hear_end(fd);
	fd = join();
	put(fd, "POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n012");
	CHECK_STR(hear_error(fd), "404 not_found");
	hear_end(fd);
	/* Who never said anything, over TCP. */
	hear_end(web_join());
	/* Who waits for its answer is not idle. */
	fd = join();
	put_execute(fd, "", HELLO);
	run = taken();
	usleep(150000);
	barrier();
	CHECK(!is_cancelled(&run));
	finish(&run, "{}");
	ANSWER(fd, 200, "{}");
	close(fd);
	stop();
}

/* For a while what it still sends is read, so that it hears the answer; not for ever. */
static void who_goes_on_sending_is_left(void)
{
	static char block[4096];
	ssize_t n;
	int fd;

	memset(block, 'x', sizeof(block));
	start((struct front_options){ .times = { .linger = 100 } });
	fd = join();
	put(fd, "POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n");
	CHECK_STR(hear_error(fd), "404 not_found");
	while ((n = send(fd, block, sizeof(block), MSG_NOSIGNAL)) > 0)
		;
	CHECK(n < 0 && (errno == EPIPE || errno == ECONNRESET));
	close(fd);
	stop();
}

/* Bounds */

static void too_many_connections(void)
{
	int fd, other;

	start_with((struct front_options){ .max_clients = 1 }, KIT_TCP);
	fd = join();
	one_run(fd, "{}");
	other = web_join();
	ANSWER(other, 503,
	       "{\"error\":{\"code\":\"busy\",\"message\":\"the service is busy: it has as many connections as it may; "
	       "ask "
	       "again later\",\"retry_after\":1}}");
	CHECK(web_says("Retry-After: 1"));
	CHECK(web_says("Connection: close"));
	hear_end(other);
	one_run(fd, "{}");
	close(fd);
	stop();
}

static void as_many_requests_as_may_wait(void)
{
	struct message run;
	int fds[3];

	start((struct front_options){ .max_running = 1, .max_queued = 1 });
	for (int i = 0; i < 3; i++) {
		fds[i] = join();
		put_execute(fds[i], "", HELLO);
		barrier();
	}
	ANSWER(fds[2], 429,
	       "{\"error\":{\"code\":\"busy\",\"message\":\"the service is busy: as many requests wait as may; ask "
	       "again "
	       "later\",\"retry_after\":1}}");
	CHECK(web_says("Retry-After: 1"));
	for (int i = 0; i < 2; i++) {
		run = taken();
		finish(&run, "{}");
		ANSWER(fds[i], 200, "{}");
	}
	one_run(fds[2], "{}");
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	stop();
}

static void memory_is_bounded(void)
{
	static char block[BIG];
	int fd;

	memset(block, ' ', sizeof(block));
	start((struct front_options){ .memory_max = BIG / 2 });
	fd = join();
	put(fd, "POST /v1/execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", 4 * BIG);
	put_bytes(fd, block, sizeof(block));
	ANSWER(fd, 503,
	       "{\"error\":{\"code\":\"busy\",\"message\":\"the service is busy: it holds as many bytes of requests as "
	       "it "
	       "may; ask again later\",\"retry_after\":1}}");
	CHECK(web_says("Retry-After: 1"));
	hear_end(fd);
	fd = join();
	one_run(fd, "{}");
	close(fd);
	stop();
}

/* Questions */

/* What the keeper has is its own: others have the room. */
static void what_runs_is_not_held(void)
{
	struct message runs[2];
	char *json = malloc(BIG);
	int fds[2];

	strcpy(json, "{\"language\":\"python\",\"code\":\"");
	memset(json + 29, 'x', BIG - 32);
	strcpy(json + BIG - 3, "\"}");
	/* Half of it is one caller's. */
	start((struct front_options){ .memory_max = 3 * BIG });
	for (int i = 0; i < 2; i++) {
		fds[i] = join();
		put_execute(fds[i], "", json);
		runs[i] = taken();
	}
	for (int i = 0; i < 2; i++) {
		finish(&runs[i], "{}");
		ANSWER(fds[i], 200, "{}");
		close(fds[i]);
	}
	free(json);
	stop();
}

/* Clients that leave, and runs that are cancelled */

static void who_goes_cancels(void)
{
	struct message run;
	int fd;

	start((struct front_options){ 0 });
	fd = join();
	put_execute(fd, "", HELLO);
	run = taken();
	close(fd);
	hear_cancel(&run);
	finish(&run, "{}");
	stop();
}

/* One that waits is told so, and what it sent behind it goes on. */
static void a_request_is_cancelled_by_another(void)
{
	struct message run, question;
	char id[RESULT_ID], text[128];
	int fd, waiting, other;

	start_with((struct front_options){ .max_running = 1 }, KIT_STORE);
	fd = join();
	put_execute(fd, "", HELLO);
	run = taken();
	waiting = join();
	put_execute(waiting, "Accept: text/event-stream\r\n", HELLO);
	CHECK_INT(hear_head(waiting), 200);
	snprintf(id, sizeof(id), "%s", strstr(web_head, "X-Execution-Id: ") + 16);
	id[strcspn(id, "\r")] = '\0';
	put_request(waiting, "GET /v1/executions/behind", "", NULL);
	barrier();
	other = join();
	snprintf(text, sizeof(text), "DELETE /v1/executions/%s", id);
	put_request(other, text, "", NULL);
	snprintf(text, sizeof(text), "{\"id\":\"%s\",\"status\":\"cancelling\"}", id);
	ANSWER(other, 202, text);
	CHUNK(waiting,
	      "event: error\ndata: {\"error\":{\"code\":\"cancelled\",\"message\":\"the request was cancelled before "
	      "it ran\"}}\n\n");
	CHUNK(waiting, "");
	question = asked(store);
	CHECK_STR(question.body, "{\"what\":\"show\",\"caller\":\"*\",\"id\":\"behind\"}");
	say_answer(store, &question, 200, "{}");
	message_free(&question);
	ANSWER(waiting, 200, "{}");
	/* One that runs hears of it through its pipe. */
	CHECK(!is_cancelled(&run));
	snprintf(text, sizeof(text), "DELETE /v1/executions/%s", ((struct message_run *)run.body)->id);
	put_request(other, text, "", NULL);
	CHECK_INT(hear_head(other), 202);
	hear_cancel(&run);
	finish(&run, "{}");
	ANSWER(fd, 200, "{}");
	close(fd);
	close(waiting);
	close(other);
	stop();
}

static void draining_closes_connections(void)
{
	struct message run;
	int fd, idle;

	start((struct front_options){ .max_running = 1 });
	idle = join();
	one_run(idle, "{}");
	fd = join();
	put_execute(fd, "", HELLO);
	run = taken();
	CHECK_INT(fd_send(control, "d", 1, NULL, 0), 0);
	/* The supervisor's word was there first, and is taken first. */
	put_request(idle, "GET /v1/health", "", NULL);
	CHECK_INT(hear_head(idle), 503);
	CHECK(web_says("Connection: close"));
	finish(&run, "{\"last\":1}");
	ANSWER(fd, 200, "{\"last\":1}");
	joined();
	close(fd);
	close(idle);
	close(control);
	close(keeper);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	RUN(a_request_runs);
	RUN(pipelined_requests_are_answered_in_order);
	RUN(requests_cut_at_each_byte);
	RUN(a_large_body_and_a_large_result);
	RUN(each_code_has_its_status);
	RUN(a_client_that_waits_for_100);
	RUN(how_long_a_connection_lives);
	RUN(an_old_client_gets_no_events);
	RUN(a_head_without_a_body);
	RUN(a_body_that_is_too_large);
	RUN(the_body_of_what_was_refused);
	RUN(what_is_no_request_ends_the_connection);
	RUN(who_sends_no_more_and_does_not_read);
	RUN(half_a_head_is_answered_408);
	RUN(half_a_body_is_answered_408);
	RUN(who_is_idle_is_let_go);
	RUN(who_goes_on_sending_is_left);
	RUN(too_many_connections);
	RUN(as_many_requests_as_may_wait);
	RUN(memory_is_bounded);
	RUN(what_runs_is_not_held);
	RUN(who_goes_cancels);
	RUN(a_request_is_cancelled_by_another);
	RUN(draining_closes_connections);
	return check_failures != 0;
}
