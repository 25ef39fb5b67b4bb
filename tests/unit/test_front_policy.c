/* Who may ask the front for what: tokens, confirmations, turns, and what another configuration changes. */
/* tests/run: timeout=120 */
#include "front_web.h"

#include <time.h>

#define PROFILES                                                                                                       \
	"containers:\n"                                                                                                \
	"  asks: {language: python, security: {needs_confirm: true}}\n"                                                \
	"  twin: {language: python, security: {needs_confirm: true}}\n"                                                \
	"  free: {language: python}\n"
#define ASKS(code, more) "{\"profile\":\"asks\",\"code\":\"" code "\"" more "}"

static const struct web_token all[TOKENS] = {
	{ "alpha", "[\"execute\"]", "" },
	{ "beta", "[\"execute\",\"read\"]", "" },
	{ "gauge", "[\"metrics\"]", "" },
};

static void start_tokens(struct front_options with, const struct web_token tokens[TOKENS])
{
	with.config = web_config(PROFILES, tokens);
	start_with(with, KIT_STORE | KIT_TCP);
}

static void reload(const struct web_token tokens[TOKENS])
{
	int config = web_config(PROFILES, tokens);

	CHECK_INT(fd_send(control, "c", 1, &config, 1), 0);
	close(config);
	barrier();
}

/* The confirmation that the answer to a request has; the caller frees. */
static char *hear_confirm(int fd)
{
	int status;
	char *body = hear_answer(fd, &status), *confirm;
	json_t *root = json_loads(body, 0, NULL);

	CHECK_INT(status, 409);
	CHECK_STR(json_string_value(json_object_get(json_object_get(root, "error"), "code")), "needs_confirmation");
	confirm = strdup(json_string_value(json_object_get(json_object_get(root, "error"), "confirm")) ?: body);
	json_decref(root);
	free(body);
	return confirm;
}

/* A request with its confirmation as the last member. */
static void put_confirmed(int fd, const char *line, const char *auth, const char *json, const char *confirm)
{
	char text[1024];

	snprintf(text, sizeof(text), "%.*s,\"confirm\":\"%s\"}", (int)strlen(json) - 1, json, confirm);
	put_request(fd, line, auth, text);
}

static void refused_confirm(int fd, const char *why)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"error\":{\"code\":\"bad_request\",\"message\":\"confirm: %s\",\"field\":\"confirm\"}}", why);
	ANSWER(fd, 400, text);
}

#define ANOTHER "it is for another request, or from before the service was restarted; ask again without it"

static void tokens_and_scopes(void)
{
	static const struct {
		const char *line, *auth, *answer;
	} cases[] = {
		{ "GET /v1/executions", "", "401 unauthorized" },
		{ "GET /v1/executions", AUTH("delta"), "401 unauthorized" },
		{ "GET /v1/executions", "Authorization: Basic alpha-0123456789abcdef\r\n", "401 unauthorized" },
		{ "GET /v1/executions", "Authorization: Bearer alpha-0123456789abcde\r\n", "401 unauthorized" },
		{ "GET /nothing", "", "401 unauthorized" },
		{ "GET /nothing", AUTH("alpha"), "404 not_found" },
		{ "GET /metrics", AUTH("alpha"), "403 forbidden_scope" },
		{ "GET /v1/executions", AUTH("gauge"), "403 forbidden_scope" },
		{ "DELETE /v1/executions/x", AUTH("gauge"), "403 forbidden_scope" },
		{ "GET /v1/execute", AUTH("alpha"), "405 method_not_allowed" },
	};
	struct message run;
	int fd;

	start_tokens((struct front_options){ 0 }, all);
	fd = web_join();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put_request(fd, cases[i].line, cases[i].auth, NULL);
		CHECK_STR(hear_error(fd), cases[i].answer);
	}
	/* Each on the same connection is who its own token says: who may not see everything sees its own. */
	put_request(fd, "GET /v1/executions?caller=beta", AUTH("alpha"), NULL);
	ASKED(store, "{\"what\":\"list\",\"caller\":\"alpha\"}", 200, "[]");
	ANSWER(fd, 200, "[]");
	put_request(fd, "GET /v1/executions?caller=alpha", AUTH("beta"), NULL);
	ASKED(store, "{\"what\":\"list\",\"caller\":\"alpha\"}", 200, "[]");
	ANSWER(fd, 200, "[]");
	put_request(fd, "GET /v1/executions", AUTH("beta"), NULL);
	ASKED(store, "{\"what\":\"list\",\"caller\":\"*\"}", 200, "[]");
	ANSWER(fd, 200, "[]");
	put_request(fd, "GET /metrics", AUTH("gauge"), NULL);
	ASKED(keeper, "{\"what\":\"pool\",\"caller\":\"*\"}", 200, "{}");
	CHECK_INT(hear_head(fd), 200);
	close(fd);
	fd = web_join();
	put_execute(fd, AUTH("alpha"), HELLO);
	run = taken();
	CHECK_STR(((struct message_run *)run.body)->caller, "alpha");
	finish(&run, "{}");
	ANSWER(fd, 200, "{}");
	put_request(fd, "GET /v1/health", "", NULL);
	CHECK_INT(hear_head(fd), 200);
	close(fd);
	stop();
}

static void hosts_and_origins(void)
{
	int fd;

	start_tokens((struct front_options){ 0 }, all);
	fd = web_join();
	put(fd, "GET /v1/health HTTP/1.1\r\nHost: evil.example\r\n\r\n");
	CHECK_STR(hear_error(fd), "403 forbidden_host");
	put_request(fd, "GET /v1/health", "Origin: https://evil.example\r\n", NULL);
	CHECK_STR(hear_error(fd), "403 forbidden_origin");
	put_request(fd, "GET /v1/health", "Origin: http://localhost:3000\r\n", NULL);
	CHECK_INT(hear_head(fd), 200);
	close(fd);
	stop();
}

static void a_confirmation_is_good_once(void)
{
	static const char json[] = ASKS("print(1)", "");
	struct message run;
	char *confirm;
	int fd;

	start_tokens((struct front_options){ 0 }, all);
	fd = web_join();
	put_execute(fd, AUTH("alpha"), "{\"profile\":\"free\",\"code\":\"\"}");
	run = taken();
	finish(&run, "{}");
	ANSWER(fd, 200, "{}");
	put_execute(fd, AUTH("alpha"), json);
	confirm = hear_confirm(fd);
	nothing_taken();
	put_confirmed(fd, "POST /v1/execute", AUTH("alpha"), json, confirm);
	run = taken();
	CHECK_STR(((struct message_run *)run.body)->profile, "asks");
	finish(&run, "{}");
	ANSWER(fd, 200, "{}");
	put_confirmed(fd, "POST /v1/execute", AUTH("alpha"), json, confirm);
	refused_confirm(fd, "it was used already; ask again without it");
	nothing_taken();
	free(confirm);
	close(fd);
	stop();
}

/* Who is told to ask again later was not run. */
static void a_confirmation_outlives_a_full_queue(void)
{
	static const char json[] = ASKS("print(1)", "");
	struct message run;
	int fd, others[2];
	char *confirm;

	start_tokens((struct front_options){ .max_running = 1, .max_queued = 1 }, all);
	fd = web_join();
	put_execute(fd, AUTH("alpha"), json);
	confirm = hear_confirm(fd);
	for (int i = 0; i < 2; i++) {
		others[i] = web_join();
		put_execute(others[i], AUTH("beta"), "{\"profile\":\"free\",\"code\":\"\"}");
		barrier();
	}
	put_confirmed(fd, "POST /v1/execute", AUTH("alpha"), json, confirm);
	CHECK_STR(hear_error(fd), "429 busy");
	for (int i = 0; i < 2; i++) {
		run = taken();
		finish(&run, "{}");
		ANSWER(others[i], 200, "{}");
		close(others[i]);
	}
	put_confirmed(fd, "POST /v1/execute", AUTH("alpha"), json, confirm);
	run = taken();
	finish(&run, "{}");
	ANSWER(fd, 200, "{}");
	put_confirmed(fd, "POST /v1/execute", AUTH("alpha"), json, confirm);
	refused_confirm(fd, "it was used already; ask again without it");
	free(confirm);
	close(fd);
	stop();
}

static void a_confirmation_is_for_one_request(void)
{
	static const char json[] = ASKS("print(1)", ",\"args\":[\"a\"]");
	static const struct {
		const char *line, *auth, *json;
	} others[] = {
		{ "POST /v1/execute", AUTH("beta"), ASKS("print(1)", ",\"args\":[\"a\"]") },
		{ "POST /v1/execute", AUTH("alpha"), ASKS("print(2)", ",\"args\":[\"a\"]") },
		{ "POST /v1/execute", AUTH("alpha"), ASKS("print(1)", ",\"args\":[\"b\"]") },
		{ "POST /v1/execute", AUTH("alpha"), ASKS("print(1)", "") },
		{ "POST /v1/execute", AUTH("alpha"), ASKS("print(1)", ",\"args\":[\"a\"],\"timeout\":9") },
		{ "POST /v1/execute", AUTH("alpha"), "{\"profile\":\"twin\",\"code\":\"print(1)\",\"args\":[\"a\"]}" },
		{ "POST /v1/execute", AUTH("alpha"), ASKS("print(1)", ",\"args\":[\"a\"],\"container\":\"01C\"") },
		{ "POST /containers/start", AUTH("alpha"),
		  "{\"container\":\"asks\",\"code\":\"print(1)\",\"args\":[\"a\"]}" },
		/* Who agreed to a shell did not agree to what is sent to it later. */
		{ "POST /v1/execute", AUTH("alpha"), ASKS("print(1)", ",\"args\":[\"a\"],\"input\":\"stream\"") },
		{ "POST /v1/execute", AUTH("alpha"), ASKS("print(1)", ",\"args\":[\"a\"],\"tty\":true") },
		{ "POST /v1/execute", AUTH("alpha"), ASKS("print(1)", ",\"args\":[\"a\"],\"read_only\":true") },
	};
	struct message run;
	char *confirm, *flipped;
	int fd;

	start_tokens((struct front_options){ 0 }, all);
	fd = web_join();
	put_execute(fd, AUTH("alpha"), json);
	confirm = hear_confirm(fd);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		put_confirmed(fd, others[i].line, others[i].auth, others[i].json, confirm);
		refused_confirm(fd, ANOTHER);
	}
	/* Nor can it be made of one: its time, its chance and its seal hold each other. */
	for (size_t i = 4; confirm[i]; i++) {
		if (confirm[i] == '-')
			continue;
		flipped = strdup(confirm);
		flipped[i] = flipped[i] == '0' ? '1' : '0';
		put_confirmed(fd, "POST /v1/execute", AUTH("alpha"), json, flipped);
		refused_confirm(fd, ANOTHER);
		free(flipped);
	}
	put_confirmed(fd, "POST /v1/execute", AUTH("alpha"), json, "yes");
	refused_confirm(fd, "it is not a confirmation; send the one that the service answered with");
	put_confirmed(fd, "POST /v1/execute", AUTH("alpha"), json, confirm);
	run = taken();
	finish(&run, "{}");
	ANSWER(fd, 200, "{}");
	free(confirm);
	close(fd);
	stop();
}

/* Of a container that starts, its time is agreed to as well. */
static void a_confirmation_of_a_container(void)
{
	struct message run;
	char *confirm;
	int fd;

	start_tokens((struct front_options){ 0 }, all);
	fd = web_join();
	put_request(fd, "POST /containers/start", AUTH("alpha"), "{\"container\":\"asks\",\"ttl\":60}");
	confirm = hear_confirm(fd);
	put_confirmed(fd, "POST /containers/start", AUTH("alpha"), "{\"container\":\"asks\",\"ttl\":86400}", confirm);
	refused_confirm(fd, ANOTHER);
	put_confirmed(fd, "POST /containers/start", AUTH("alpha"), "{\"container\":\"asks\",\"ttl\":60}", confirm);
	run = taken();
	CHECK_INT(((struct message_run *)run.body)->kind, RUN_START);
	CHECK(((struct message_run *)run.body)->ttl == 60);
	finish(&run, "{}");
	ANSWER(fd, 200, "{}");
	/* Nothing of it is left for the next. */
	put_execute(fd, AUTH("alpha"), HELLO);
	run = taken();
	CHECK_INT(((struct message_run *)run.body)->kind, RUN_ALONE);
	CHECK(((struct message_run *)run.body)->ttl == 0);
	finish(&run, "{}");
	ANSWER(fd, 200, "{}");
	free(confirm);
	close(fd);
	stop();
}

/* Input that comes later is agreed to as that: the sentence says so, and that seal is for no other request either. */
static void a_confirmation_of_streamed_input(void)
{
	static const char json[] = ASKS("print(1)", ",\"input\":\"stream\"");
	struct message run;
	char *body, *confirm;
	json_t *root, *error;
	int fd, status;

	start_tokens((struct front_options){ 0 }, all);
	fd = web_join();
	put_execute(fd, AUTH("alpha"), json);
	body = hear_answer(fd, &status);
	CHECK_INT(status, 409);
	root = json_loads(body, 0, NULL);
	error = json_object_get(root, "error");
	CHECK_STR(
		json_string_value(json_object_get(error, "message")),
		"profile \"asks\" needs a confirmation (its input comes later, and is not shown with it): ask a person "
		"who may approve it, then send the same request with the field confirm");
	confirm = strdup(json_string_value(json_object_get(error, "confirm")) ?: "");
	json_decref(root);
	free(body);
	put_confirmed(fd, "POST /v1/execute", AUTH("alpha"), ASKS("print(1)", ""), confirm);
	refused_confirm(fd, ANOTHER);
	put_confirmed(fd, "POST /v1/execute", AUTH("alpha"), json, confirm);
	run = taken();
	finish(&run, "{}");
	ANSWER(fd, 200, "{}");
	free(confirm);
	close(fd);
	stop();
}

/* The same of a session that starts: how long it lives is part of what is agreed to. */
static void a_confirmation_of_a_session(void)
{
	static const char *const others[] = {
		"{\"profile\":\"asks\",\"idle_ttl\":61,\"name\":\"a\"}",
		"{\"profile\":\"asks\",\"idle_ttl\":60,\"name\":\"b\"}",
		"{\"profile\":\"asks\",\"idle_ttl\":60,\"name\":\"a\",\"ttl\":70}",
	};
	static const char json[] = "{\"profile\":\"asks\",\"idle_ttl\":60,\"name\":\"a\"}";
	struct message run;
	char *confirm;
	int fd;

	start_tokens((struct front_options){ 0 }, all);
	fd = web_join();
	put_request(fd, "POST /v1/sessions", AUTH("alpha"), json);
	confirm = hear_confirm(fd);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		put_confirmed(fd, "POST /v1/sessions", AUTH("alpha"), others[i], confirm);
		refused_confirm(fd, ANOTHER);
	}
	put_confirmed(fd, "POST /v1/sessions", AUTH("alpha"), json, confirm);
	run = taken();
	CHECK_INT(((struct message_run *)run.body)->kind, RUN_SESSION);
	CHECK_INT(((struct message_run *)run.body)->asks, 1);
	CHECK_STR(((struct message_run *)run.body)->profile, "asks");
	finish(&run, "{}");
	CHECK_INT(hear_answer_status(fd), 201);
	free(confirm);
	close(fd);
	stop();
}

static void a_confirmation_grows_old(void)
{
	static const char json[] = ASKS("", "");
	time_t made;
	char *confirm;
	int fd;

	/* Good for the second in which it was made. */
	start_tokens((struct front_options){ .times = { .confirm = 1 } }, all);
	fd = web_join();
	put_execute(fd, AUTH("alpha"), json);
	confirm = hear_confirm(fd);
	for (made = time(NULL); time(NULL) == made;)
		usleep(10000);
	put_confirmed(fd, "POST /v1/execute", AUTH("alpha"), json, confirm);
	refused_confirm(fd, "it is more than 10 minutes old; ask again without it");
	free(confirm);
	close(fd);
	stop();
}

static void a_token_has_so_many_at_a_time(void)
{
	static const struct web_token bounded[TOKENS] = {
		{ "alpha", "[\"execute\"]", ",\"max_concurrent\":2" },
		{ "beta", "[\"execute\"]", "" },
	};
	struct message run;
	int fds[3], other;

	start_tokens((struct front_options){ .max_running = 1 }, bounded);
	for (int i = 0; i < 3; i++) {
		fds[i] = web_join();
		put_execute(fds[i], AUTH("alpha"), HELLO);
		barrier();
	}
	/* One runs, one waits, and they are two. */
	ANSWER(fds[2], 429,
	       "{\"error\":{\"code\":\"busy\",\"message\":\"as many requests of this token are under way as may; ask "
	       "again "
	       "later\",\"retry_after\":1}}");
	CHECK(web_says("Retry-After: 1"));
	other = web_join();
	put_execute(other, AUTH("beta"), HELLO);
	barrier();
	for (int i = 0; i < 2; i++) {
		run = taken();
		finish(&run, "{}");
		ANSWER(fds[i], 200, "{}");
	}
	run = taken();
	CHECK_STR(((struct message_run *)run.body)->caller, "beta");
	finish(&run, "{}");
	ANSWER(other, 200, "{}");
	put_execute(fds[2], AUTH("alpha"), HELLO);
	run = taken();
	finish(&run, "{}");
	ANSWER(fds[2], 200, "{}");
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	close(other);
	stop();
}

static void tokens_take_turns(void)
{
	static const char *const asked_by[] = { "alpha", "alpha", "alpha", "alpha", "beta", "beta" };
	static const char *const served[] = { "alpha", "alpha", "beta", "alpha", "beta", "alpha" };
	char auth[96];
	int fds[6];

	start_tokens((struct front_options){ .max_running = 1 }, all);
	for (int i = 0; i < 6; i++) {
		fds[i] = web_join();
		snprintf(auth, sizeof(auth), "Authorization: Bearer %s-0123456789abcdef\r\n", asked_by[i]);
		put_execute(fds[i], auth, HELLO);
		barrier();
	}
	for (int i = 0; i < 6; i++) {
		struct message run = taken();

		CHECK_STR(((struct message_run *)run.body)->caller, served[i]);
		finish(&run, "{}");
	}
	for (int i = 0; i < 6; i++) {
		ANSWER(fds[i], 200, "{}");
		close(fds[i]);
	}
	stop();
}

static void nothing_runs_that_cannot_be_written_down(void)
{
	struct message run;
	int fd;

	start_with((struct front_options){ 0 }, KIT_STORE);
	fd = join();
	say_answer(store, NULL, 503, "the disk is full");
	barrier();
	put_execute(fd, "", HELLO);
	ANSWER(fd, 503,
	       "{\"error\":{\"code\":\"blind\",\"message\":\"nothing is run while nothing can be written down: the "
	       "disk is "
	       "full; EMBERBOX_AUDIT=best_effort allows it\",\"retry_after\":5}}");
	put_request(fd, "GET /v1/health", "", NULL);
	CHECK_INT(hear_answer_status(fd), 503);
	nothing_taken();
	say_answer(store, NULL, 200, "{}");
	barrier();
	put_execute(fd, "", HELLO);
	run = taken();
	finish(&run, "{}");
	ANSWER(fd, 200, "{}");
	put_request(fd, "GET /v1/health", "", NULL);
	CHECK_INT(hear_answer_status(fd), 200);
	close(fd);
	stop();
}

static void another_configuration_in_the_middle(void)
{
	static const struct web_token only_beta[TOKENS] = { { "beta", "[\"execute\"]", "" } };
	struct message run;
	int fd, half;

	start_tokens((struct front_options){ 0 }, all);
	fd = web_join();
	put_execute(fd, AUTH("alpha"), HELLO);
	run = taken();
	half = web_join();
	put(half, "POST /v1/execute HTTP/1.1\r\nHost: localhost\r\n" AUTH("alpha") "Content-Length: %zu\r\n\r\n{",
	    strlen(HELLO));
	barrier();
	reload(only_beta);
	/* The containers of those that are gone are ended, and nobody else's. */
	ASKED(keeper, "{\"what\":\"container_end\",\"caller\":\"alpha\"}", 200, "{}");
	ASKED(keeper, "{\"what\":\"container_end\",\"caller\":\"gauge\"}", 200, "{}");
	/* What runs is answered; what is not whole yet has nobody's leave any more. */
	put(half, "%s", HELLO + 1);
	CHECK_STR(hear_error(half), "401 unauthorized");
	finish(&run, "{}");
	ANSWER(fd, 200, "{}");
	put_execute(fd, AUTH("alpha"), HELLO);
	CHECK_STR(hear_error(fd), "401 unauthorized");
	put_execute(fd, AUTH("beta"), HELLO);
	run = taken();
	finish(&run, "{}");
	ANSWER(fd, 200, "{}");
	/* And back again, between the halves of one whose token stayed. */
	put(half, "POST /v1/execute HTTP/1.1\r\nHost: localhost\r\n" AUTH("beta") "Content-Length: %zu\r\n\r\n{",
	    strlen(HELLO));
	barrier();
	reload(all);
	put(half, "%s", HELLO + 1);
	run = taken();
	finish(&run, "{}");
	ANSWER(half, 200, "{}");
	close(fd);
	close(half);
	stop();
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	RUN(tokens_and_scopes);
	RUN(hosts_and_origins);
	RUN(a_confirmation_is_good_once);
	RUN(a_confirmation_outlives_a_full_queue);
	RUN(a_confirmation_is_for_one_request);
	RUN(a_confirmation_of_a_container);
	RUN(a_confirmation_of_streamed_input);
	RUN(a_confirmation_of_a_session);
	RUN(a_confirmation_grows_old);
	RUN(a_token_has_so_many_at_a_time);
	RUN(tokens_take_turns);
	RUN(nothing_runs_that_cannot_be_written_down);
	RUN(another_configuration_in_the_middle);
	return check_failures != 0;
}
