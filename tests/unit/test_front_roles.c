/* The front's door of HTTP when there is no room, or no store yet. */
/* tests/run: timeout=120 */
#include "front_web.h"

/* Connections that never say who they are make room for those that do. */
static void silent_connections_make_room(void)
{
	enum {
		MOST = 14 /* of 16: two are for the Unix socket */
	};
	int silent[MOST], fd, local;
	char byte;

	start_with((struct front_options){ .max_clients = 16 }, KIT_TCP);
	for (int i = 0; i < MOST; i++) {
		silent[i] = web_join();
		/* It was accepted when another is answered behind it. */
		local = join();
		put_request(local, "GET /v1/health", "", NULL);
		CHECK_INT(hear_answer_status(local), 200);
		close(local);
	}
	fd = web_join();
	put_request(fd, "GET /v1/health", "", NULL);
	CHECK_INT(hear_answer_status(fd), 200);
	CHECK_INT(recv(silent[0], &byte, 1, 0), 0);
	CHECK_ERRNO(recv(silent[1], &byte, 1, MSG_DONTWAIT), EAGAIN);
	for (int i = 0; i < MOST; i++)
		close(silent[i]);
	close(fd);
	stop();
}

/* Nothing runs before the store has said that it can be written down. */
static void runs_wait_for_the_word_of_the_store(void)
{
	struct message run;
	int fd, other;

	start_with((struct front_options){ .wait_for_store = true }, KIT_STORE);
	fd = join();
	put_execute(fd, "", HELLO);
	/* It was heard, and waits: another is answered. */
	other = join();
	put_request(other, "GET /v1/health", "", NULL);
	CHECK_INT(hear_answer_status(other), 200);
	CHECK_ERRNO(recv(keeper, &(char){ 0 }, 1, MSG_DONTWAIT | MSG_PEEK), EAGAIN);
	say_answer(store, NULL, 200, "");
	run = taken();
	finish(&run, "{}");
	CHECK_INT(hear_answer_status(fd), 200);
	close(fd);
	close(other);
	stop();
	start_with((struct front_options){ .wait_for_store = true }, KIT_STORE);
	fd = join();
	put_execute(fd, "", HELLO);
	say_answer(store, NULL, 503, "it is broken");
	CHECK_STR(hear_error(fd), "503 blind");
	close(fd);
	stop();
}

/* What is for the audit log waits for a store, and comes in its order. */
static void events_wait_for_the_store(void)
{
	int fd, front_end;

	start_with((struct front_options){ 0 }, KIT_TCP);
	fd = web_join();
	put_request(fd, "GET /v1/stats", "", NULL);
	CHECK_STR(hear_error(fd), "401 unauthorized");
	close(fd);
	store = role_pair(&front_end);
	CHECK_INT(fd_send(control, &(char){ 's' }, 1, &front_end, 1), 0);
	close(front_end);
	fd = join();
	put_request(fd, "GET /v1/executions", "", NULL);
	ASKED(store, GET_LIST, 200, "[]");
	ANSWER(fd, 200, "[]");
	CHECK(strstr(web_event, "\"event\":\"denied\"") && strstr(web_event, "unauthorized"));
	close(fd);
	stop();
}

int main(void)
{
	RUN(silent_connections_make_room);
	RUN(runs_wait_for_the_word_of_the_store);
	RUN(events_wait_for_the_store);
	return check_failures != 0;
}
