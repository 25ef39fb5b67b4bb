/* The front's event streams: output as it comes, slow readers, and what ends them. */
/* tests/run: timeout=120 */
#include "front_web.h"

#define EVENTS "Accept: text/event-stream\r\n"

/* A stream whose run has begun. */
static int stream_begin(struct message *run)
{
	int fd = join();

	put_execute(fd, EVENTS, HELLO);
	*run = taken();
	CHECK_INT(run->head.manner, MESSAGE_STREAM);
	tell(run, MESSAGE_STARTED, 0, "{\"id\":\"a\"}", 10);
	CHECK_INT(hear_head(fd), 200);
	CHECK(web_says("Content-Type: text/event-stream"));
	CHECK(web_says("Transfer-Encoding: chunked"));
	CHECK(web_says("Cache-Control: no-cache"));
	CHUNK(fd, "event: start\ndata: {\"id\":\"a\"}\n\n");
	return fd;
}

static void output_as_it_comes(void)
{
	struct message run;
	int fd;

	start((struct front_options){ 0 });
	fd = stream_begin(&run);
	tell(&run, MESSAGE_OUTPUT, 1, "out\n", 4);
	CHUNK(fd, "event: stdout\ndata: {\"text\":\"out\\n\"}\n\n");
	tell(&run, MESSAGE_OUTPUT, 2, "a\0b", 3);
	CHUNK(fd, "event: stderr\ndata: {\"text\":\"a\\u0000b\"}\n\n");
	tell(&run, MESSAGE_OUTPUT, 3, "nothing there is", 16);
	tell(&run, MESSAGE_OUTPUT, 1, "", 0);
	finish(&run, "{\"status\":\"ok\",\"outputs\":[{\"type\":\"x\"},{\"type\":\"y\"}]}");
	CHUNK(fd, "event: output\ndata: {\"type\":\"x\"}\n\n");
	CHUNK(fd, "event: output\ndata: {\"type\":\"y\"}\n\n");
	CHUNK(fd, "event: result\ndata: {\"status\":\"ok\",\"outputs\":[{\"type\":\"x\"},{\"type\":\"y\"}]}\n\n");
	CHUNK(fd, "");
	/* And the connection is as good as before; the field of the request asks for events as well. */
	put_execute(fd, "", STREAMED);
	run = taken();
	CHECK_INT(run.head.manner, MESSAGE_STREAM);
	tell(&run, MESSAGE_STARTED, 0, "{}", 2);
	CHECK_INT(hear_head(fd), 200);
	CHUNK(fd, "event: start\ndata: {}\n\n");
	finish(&run, "{}");
	CHUNK(fd, "event: result\ndata: {}\n\n");
	CHUNK(fd, "");
	close(fd);
	stop();
}

/* What is refused before anything ran has its true status. */
static void a_refusal_is_no_stream(void)
{
	struct message_refusal refusal = { .code = CODE_BAD_REQUEST, .message = "code: there is none" };
	struct message run;
	int fd;

	start((struct front_options){ 0 });
	fd = join();
	put_execute(fd, EVENTS, "{\"language\":\"python\",\"timeout\":0}");
	CHECK_STR(hear_error(fd), "400 bad_request");
	put_execute(fd, EVENTS, HELLO);
	run = taken();
	tell(&run, MESSAGE_REFUSED, 0, &refusal, sizeof(refusal));
	message_free(&run);
	CHECK_STR(hear_error(fd), "400 bad_request");
	close(fd);
	stop();
}

static void characters_that_come_in_pieces(void)
{
	struct message run;
	int fd;

	start((struct front_options){ 0 });
	fd = stream_begin(&run);
	/* U+00E9 in two, with the other stream between, and U+1F525 in four. */
	tell(&run, MESSAGE_OUTPUT, 1, "a\xc3", 2);
	CHUNK(fd, "event: stdout\ndata: {\"text\":\"a\"}\n\n");
	tell(&run, MESSAGE_OUTPUT, 2, "\xa9 is no beginning", 17);
	CHUNK(fd, "event: stderr\ndata: {\"text\":\"\xef\xbf\xbd is no beginning\"}\n\n");
	tell(&run, MESSAGE_OUTPUT, 1, "\xa9z", 2);
	CHUNK(fd, "event: stdout\ndata: {\"text\":\"\xc3\xa9z\"}\n\n");
	for (int i = 0; i < 4; i++)
		tell(&run, MESSAGE_OUTPUT, 1, "\xf0\x9f\x94\xa5" + i, 1);
	CHUNK(fd, "event: stdout\ndata: {\"text\":\"\xf0\x9f\x94\xa5\"}\n\n");
	/* What never becomes whole is shown for what it is, and does not hold the rest back. */
	tell(&run, MESSAGE_OUTPUT, 1, "\xe2\x82", 2);
	tell(&run, MESSAGE_OUTPUT, 1, "x", 1);
	CHUNK(fd, "event: stdout\ndata: {\"text\":\"\xef\xbf\xbdx\"}\n\n");
	tell(&run, MESSAGE_OUTPUT, 2, "end\xf0\x9f", 5);
	CHUNK(fd, "event: stderr\ndata: {\"text\":\"end\"}\n\n");
	finish(&run, "{}");
	CHUNK(fd, "event: stderr\ndata: {\"text\":\"\xef\xbf\xbd\"}\n\n");
	CHUNK(fd, "event: result\ndata: {}\n\n");
	CHUNK(fd, "");
	/* Nothing of it is left for the next. */
	put_execute(fd, EVENTS, HELLO);
	run = taken();
	tell(&run, MESSAGE_STARTED, 0, "{}", 2);
	tell(&run, MESSAGE_OUTPUT, 2, "\xa5", 1);
	CHECK_INT(hear_head(fd), 200);
	CHUNK(fd, "event: start\ndata: {}\n\n");
	CHUNK(fd, "event: stderr\ndata: {\"text\":\"\xef\xbf\xbd\"}\n\n");
	finish(&run, "{}");
	close(fd);
	stop();
}

static void signs_of_life(void)
{
	struct message run, other;
	int fd, waiting;

	start((struct front_options){ .max_running = 1, .times = { .ping = 50 } });
	fd = stream_begin(&run);
	waiting = join();
	put_execute(waiting, EVENTS, HELLO);
	CHECK_INT(hear_head(waiting), 200);
	for (int i = 0; i < 3; i++) {
		CHUNK(fd, ":\n\n");
		CHUNK(waiting, ":\n\n");
	}
	CHECK(!is_cancelled(&run));
	finish(&run, "{}");
	other = taken();
	finish(&other, "{}");
	close(fd);
	close(waiting);
	stop();
}

static void a_slow_reader_holds_nobody_up(void)
{
	static char block[MESSAGE_INLINE];
	struct message run, other;
	int fd, quick;

	start((struct front_options){ 0 });
	fd = stream_begin(&run);
	for (int i = 0; i < 128; i++) {
		memset(block, 'A' + i % 26, sizeof(block));
		tell(&run, MESSAGE_OUTPUT, 1, block, sizeof(block));
	}
	quick = join();
	put_execute(quick, "", HELLO);
	other = taken();
	finish(&other, "{\"quick\":1}");
	ANSWER(quick, 200, "{\"quick\":1}");
	finish(&run, "{\"slow\":1}");
	for (int i = 0; i < 128; i++) {
		char *chunk = hear_chunk(fd);

		CHECK_INT(strlen(chunk), sizeof(block) + strlen("event: stdout\ndata: {\"text\":\"\"}\n\n"));
		CHECK_INT(chunk[100], 'A' + i % 26);
		free(chunk);
	}
	CHUNK(fd, "event: result\ndata: {\"slow\":1}\n\n");
	CHUNK(fd, "");
	close(fd);
	close(quick);
	stop();
}

static void a_flood_that_nobody_reads_ends_the_run(void)
{
	static char block[MESSAGE_INLINE];
	struct message run;
	size_t got = 0;
	char *chunk;
	int fd;

	memset(block, 'x', sizeof(block));
	start((struct front_options){ 0 });
	fd = stream_begin(&run);
	for (int i = 0; i < 40 * BIG / MESSAGE_INLINE; i++)
		tell(&run, MESSAGE_OUTPUT, 2, block, sizeof(block));
	hear_cancel(&run);
	finish(&run, "{}");
	while (strncmp(chunk = hear_chunk(fd), "event: stderr\n", 14) == 0) {
		got += strlen(chunk);
		free(chunk);
	}
	CHECK_STR(chunk,
		  "event: error\ndata: {\"error\":{\"code\":\"failed\",\"message\":\"the program's output was not "
		  "read as fast as it came, and the run was ended\"}}\n\n");
	CHECK(got > 32 * BIG && got < 35 * BIG);
	free(chunk);
	CHUNK(fd, "");
	close(fd);
	stop();
}

static void the_keeper_dies_in_the_middle(void)
{
	struct message run;
	int fd, front_end;

	start((struct front_options){ 0 });
	fd = stream_begin(&run);
	tell(&run, MESSAGE_OUTPUT, 1, "half\xc3", 5);
	CHUNK(fd, "event: stdout\ndata: {\"text\":\"half\"}\n\n");
	close(keeper);
	CHUNK(fd, "event: error\ndata: {\"error\":{\"code\":\"failed\",\"message\":\"the keeper ended while this ran; "
		  "it is "
		  "being restarted\",\"retry_after\":1}}\n\n");
	CHUNK(fd, "");
	hear_cancel(&run);
	message_free(&run);
	/* The next waits for another keeper, with its stream open. */
	put_execute(fd, EVENTS, HELLO);
	CHECK_INT(hear_head(fd), 200);
	keeper_pair(&front_end);
	CHECK_INT(fd_send(control, "k", 1, &front_end, 1), 0);
	close(front_end);
	run = taken();
	finish(&run, "{\"n\":2}");
	CHUNK(fd, "event: result\ndata: {\"n\":2}\n\n");
	CHUNK(fd, "");
	close(fd);
	stop();
}

static void who_goes_ends_its_run_and_no_other(void)
{
	struct message run, other;
	int fd, stays;

	start((struct front_options){ 0 });
	fd = stream_begin(&run);
	stays = stream_begin(&other);
	close(fd);
	hear_cancel(&run);
	/* What it still writes is nobody's. */
	tell(&run, MESSAGE_OUTPUT, 1, "lost", 4);
	finish(&run, "{\"lost\":1}");
	barrier();
	CHECK(!is_cancelled(&other));
	finish(&other, "{\"stays\":1}");
	CHUNK(stays, "event: result\ndata: {\"stays\":1}\n\n");
	CHUNK(stays, "");
	close(stays);
	stop();
}

static void draining_with_open_streams(void)
{
	struct message run;
	int fd, waiting;

	start((struct front_options){ .max_running = 1 });
	fd = stream_begin(&run);
	waiting = join();
	put_execute(waiting, EVENTS, HELLO);
	CHECK_INT(hear_head(waiting), 200);
	CHECK_INT(fd_send(control, "d", 1, NULL, 0), 0);
	CHUNK(waiting,
	      "event: error\ndata: {\"error\":{\"code\":\"draining\",\"message\":\"the service is ending; the request "
	      "was not run\",\"retry_after\":1}}\n\n");
	CHUNK(waiting, "");
	CHECK(!is_cancelled(&run));
	tell(&run, MESSAGE_OUTPUT, 1, "still here", 10);
	CHUNK(fd, "event: stdout\ndata: {\"text\":\"still here\"}\n\n");
	/* The second time it is not waited for. */
	CHECK_INT(fd_send(control, "d", 1, NULL, 0), 0);
	hear_cancel(&run);
	finish(&run, "{\"status\":\"killed\"}");
	CHUNK(fd, "event: result\ndata: {\"status\":\"killed\"}\n\n");
	CHUNK(fd, "");
	joined();
	hear_end(fd);
	hear_end(waiting);
	close(control);
	close(keeper);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	RUN(output_as_it_comes);
	RUN(a_refusal_is_no_stream);
	RUN(characters_that_come_in_pieces);
	RUN(signs_of_life);
	RUN(a_slow_reader_holds_nobody_up);
	RUN(a_flood_that_nobody_reads_ends_the_run);
	RUN(the_keeper_dies_in_the_middle);
	RUN(who_goes_ends_its_run_and_no_other);
	RUN(draining_with_open_streams);
	return check_failures != 0;
}
