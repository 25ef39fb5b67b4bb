/* What the front asks of the store and the keeper for a client, and what becomes of it when they are late or gone. */
/* tests/run: timeout=120 */
#include "front_web.h"

static void answers_of_the_store_and_the_keeper(void)
{
	int fd;

	start_with((struct front_options){ 0 }, KIT_STORE);
	fd = join();
	put_request(fd, "GET /v1/executions?limit=2&caller=x", "", NULL);
	ASKED(store, "{\"what\":\"list\",\"caller\":\"x\",\"limit\":\"2\"}", 200, "[]");
	ANSWER(fd, 200, "[]");
	put_request(fd, "GET /v1/executions/abc", "", NULL);
	ASKED(store, "{\"what\":\"show\",\"caller\":\"*\",\"id\":\"abc\"}", 404, "there is none");
	ANSWER(fd, 404, "{\"error\":{\"code\":\"not_found\",\"message\":\"there is none\"}}");
	/* The rest of a path, whatever is in it; and no rest is none. */
	put_request(fd, "GET /v1/executions/abc/files/a%20b//%C3%BC%22*", "", NULL);
	ASKED(store, "{\"what\":\"file\",\"caller\":\"*\",\"id\":\"abc\",\"path\":\"a b//\xc3\xbc\\\"*\"}", 404,
	      "there is none");
	ANSWER(fd, 404, "{\"error\":{\"code\":\"not_found\",\"message\":\"there is none\"}}");
	put_request(fd, "GET /v1/executions/abc/files/", "", NULL);
	CHECK_STR(hear_error(fd), "404 not_found");
	put_request(fd, "GET /v1/executions//files/x", "", NULL);
	CHECK_STR(hear_error(fd), "404 not_found");
	put_request(fd, "DELETE /v1/executions/abc/files/x", "", NULL);
	CHECK_STR(hear_error(fd), "405 method_not_allowed");
	put_request(fd, "GET /v1/languages", "", NULL);
	ASKED(keeper, "{\"what\":\"languages\",\"caller\":\"*\"}", 200, "{}");
	ANSWER(fd, 200, "{}");
	put_request(fd, "GET /v1/executions?limit=2&limit=3", "", NULL);
	CHECK_STR(hear_error(fd), "400 bad_request");
	put_request(fd, "GET /v1/executions?nothing=2", "", NULL);
	CHECK_STR(hear_error(fd), "400 bad_request");
	close(fd);
	stop();
}

static void without_a_store_and_a_keeper(void)
{
	int fd, waiting, front_end;

	start_with((struct front_options){ 0 }, KIT_STORE);
	fd = join();
	waiting = join();
	put_request(waiting, "GET /v1/executions", "", NULL);
	barrier();
	close(store);
	ANSWER(waiting, 503,
	       "{\"error\":{\"code\":\"failed\",\"message\":\"the store ended before it answered; it is being "
	       "restarted\",\"retry_after\":1}}");
	CHECK(web_says("Retry-After: 1"));
	put_request(fd, "GET /v1/executions", "", NULL);
	ANSWER(fd, 503,
	       "{\"error\":{\"code\":\"failed\",\"message\":\"the store cannot be asked now\",\"retry_after\":1}}");
	put_request(waiting, "GET /v1/doctor", "", NULL);
	barrier();
	close(keeper);
	CHECK_STR(hear_error(waiting), "503 failed");
	put_request(fd, "GET /v1/languages", "", NULL);
	ANSWER(fd, 503,
	       "{\"error\":{\"code\":\"failed\",\"message\":\"the keeper cannot be asked now\",\"retry_after\":1}}");
	put_request(fd, "GET /v1/health", "", NULL);
	CHECK_INT(hear_head(fd), 503);
	close(fd);
	/* Others come, and all is as before. */
	keeper_pair(&front_end);
	CHECK_INT(fd_send(control, "k", 1, &front_end, 1), 0);
	close(front_end);
	store = role_pair(&front_end);
	CHECK_INT(fd_send(control, "s", 1, &front_end, 1), 0);
	close(front_end);
	barrier();
	put_request(waiting, "GET /v1/executions", "", NULL);
	ASKED(store, GET_LIST, 200, "[]");
	ANSWER(waiting, 200, "[]");
	one_run(waiting, "{}");
	close(waiting);
	stop();
}

/* An answer whose client is gone reaches nobody, however late and however often. */
static void an_answer_that_comes_too_late(void)
{
	struct message lost, mine;
	int fd;

	start_with((struct front_options){ 0 }, KIT_STORE);
	fd = join();
	put_request(fd, "GET /v1/executions/lost", "", NULL);
	lost = asked(store);
	close(fd);
	barrier();
	fd = join();
	put_request(fd, "GET /v1/executions/mine", "", NULL);
	mine = asked(store);
	say_answer(store, &lost, 200, "\"lost\"");
	say_answer(store, &lost, 200, "\"lost\"");
	say_answer(keeper, &mine, 200, "\"not the keeper's to answer\"");
	barrier();
	say_answer(store, &mine, 200, "\"mine\"");
	ANSWER(fd, 200, "\"mine\"");
	message_free(&mine);
	/* Now its place is another's. */
	put_request(fd, "GET /v1/executions/mine", "", NULL);
	mine = asked(store);
	say_answer(store, &lost, 200, "\"lost\"");
	say_answer(store, &mine, 200, "\"mine\"");
	ANSWER(fd, 200, "\"mine\"");
	message_free(&lost);
	message_free(&mine);
	close(fd);
	stop();
}

static void more_questions_than_may_wait(void)
{
	enum {
		MOST = 192 /* FRONT_ASKS_EACH: more are for others */
	};
	static struct message questions[MOST];
	static int fds[MOST + 1];
	char text[32];

	start_with((struct front_options){ 0 }, KIT_STORE);
	for (int i = 0; i < MOST; i++) {
		fds[i] = join();
		snprintf(text, sizeof(text), "GET /v1/executions/n%d", i);
		put_request(fds[i], text, "", NULL);
		questions[i] = asked(store);
	}
	fds[MOST] = join();
	put_request(fds[MOST], "GET /v1/executions", "", NULL);
	CHECK_STR(hear_error(fds[MOST]), "503 failed");
	/* Backwards, and each hears its own. */
	for (int i = MOST - 1; i >= 0; i--) {
		snprintf(text, sizeof(text), "\"n%d\"", i);
		CHECK(strstr(questions[i].body, text) != NULL);
		say_answer(store, &questions[i], 200, text);
		message_free(&questions[i]);
		ANSWER(fds[i], 200, text);
		close(fds[i]);
	}
	put_request(fds[MOST], "GET /v1/executions", "", NULL);
	ASKED(store, GET_LIST, 200, "[]");
	ANSWER(fds[MOST], 200, "[]");
	close(fds[MOST]);
	stop();
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	RUN(answers_of_the_store_and_the_keeper);
	RUN(without_a_store_and_a_keeper);
	RUN(an_answer_that_comes_too_late);
	RUN(more_questions_than_may_wait);
	return check_failures != 0;
}
