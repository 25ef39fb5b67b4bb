/* The front between clients, a keeper and a supervisor: frames, refusals, cancellation, and output. */
/* tests/run: timeout=120 */
#include "front_kit.h"

#define CANCELLED "{\"error\":{\"code\":\"cancelled\",\"message\":\"the request was cancelled before it ran\"}}"

static void a_request_runs(void)
{
	struct message run;
	struct error err;
	struct spec spec;
	int fd;

	start((struct front_options){ 0 });
	fd = join();
	for (int i = 0; i < 3; i++) {
		say(fd, FRAME_REQUEST, HELLO);
		run = taken();
		CHECK_INT(run.head.manner, MESSAGE_DIRECT);
		CHECK(run.fds[0] >= 0 && run.fds[1] >= 0 && run.fds[2] < 0);
		CHECK(!is_cancelled(&run));
		spec_init(&spec);
		CHECK_INT(request_decode((char *)run.body + sizeof(struct message_run),
					 run.head.size - sizeof(struct message_run), &spec, &err),
			  0);
		CHECK_STR(spec.code, "print(1)");
		spec_free(&spec);
		finish(&run, "{\"status\":\"ok\"}");
		HEAR(fd, FRAME_RESULT, "{\"status\":\"ok\"}");
	}
	close(fd);
	stop();
}

/* By the keeper's own hand; and when the client does not read, from some frame on by the front's. */
static void the_keeper_answers_the_client_itself(void)
{
	static const char result[] = "{\"status\":\"ok\"}";
	const struct frame frame = { .kind = FRAME_RESULT, .size = sizeof(result) - 1 };
	const struct frame output = { .kind = FRAME_STDOUT, .size = 1 };
	unsigned char whole[FRAME_HEADER + sizeof(result) - 1], one[FRAME_HEADER + 1];
	struct message run;
	int fd;

	start((struct front_options){ .max_running = 1 });
	fd = join();
	frame_encode(&frame, whole);
	memcpy(whole + FRAME_HEADER, result, sizeof(result) - 1);
	frame_encode(&output, one);
	one[FRAME_HEADER] = 'a';
	for (int told = 0; told <= 1; told++) {
		say(fd, FRAME_REQUEST, HELLO);
		run = taken();
		if (told)
			CHECK_INT(write(run.fds[1], whole, sizeof(whole)), (long)sizeof(whole));
		tell(&run, MESSAGE_RESULT, (uint32_t)told, result, told ? 0 : sizeof(result) - 1);
		message_free(&run);
		HEAR(fd, FRAME_RESULT, result);
	}
	say(fd, FRAME_REQUEST, "{\"language\":\"python\",\"code\":\"print(1)\",\"stream\":true,\"input\":\"stream\"}");
	run = taken();
	CHECK_INT(run.head.manner, MESSAGE_STREAM | MESSAGE_INPUT | MESSAGE_DIRECT);
	CHECK(run.fds[0] >= 0 && run.fds[1] >= 0 && run.fds[2] >= 0);
	CHECK_INT(write(run.fds[2], one, sizeof(one)), (long)sizeof(one));
	tell(&run, MESSAGE_OUTPUT, 1, "b", 1);
	tell(&run, MESSAGE_RESULT, 0, result, sizeof(result) - 1);
	message_free(&run);
	HEAR(fd, FRAME_STDOUT, "a");
	HEAR(fd, FRAME_STDOUT, "b");
	HEAR(fd, FRAME_RESULT, result);
	close(fd);
	stop();
}

static void a_large_request_and_a_large_result(void)
{
	char *json = malloc(4 * BIG), *result = malloc(2 * BIG + 1);
	struct frame frame;
	struct message run;
	struct error err;
	struct spec spec;
	char *got;
	int fd;

	start((struct front_options){ 0 });
	fd = join();
	strcpy(json, "{\"language\":\"python\",\"code\":\"");
	memset(json + strlen(json), 'x', 3 * BIG);
	strcpy(json + 29 + 3 * BIG, "\"}");
	memset(result, 'r', 2 * BIG);
	result[2 * BIG] = '\0';
	say(fd, FRAME_REQUEST, json);
	run = taken();
	spec_init(&spec);
	CHECK_INT(request_decode((char *)run.body + sizeof(struct message_run),
				 run.head.size - sizeof(struct message_run), &spec, &err),
		  0);
	CHECK_INT(spec.code_size, 3 * BIG);
	spec_free(&spec);
	finish(&run, result);
	got = hear_bytes(fd, &frame);
	CHECK_INT(frame.size, 2 * BIG);
	CHECK(strcmp(got, result) == 0);
	free(got);
	free(json);
	free(result);
	close(fd);
	stop();
}

static void frames_cut_at_each_byte(void)
{
	char whole[FRAME_HEADER + sizeof(HELLO) - 1];
	struct frame frame = { .kind = FRAME_REQUEST, .size = sizeof(HELLO) - 1 };
	int fd;

	frame_encode(&frame, (unsigned char *)whole);
	memcpy(whole + FRAME_HEADER, HELLO, sizeof(HELLO) - 1);
	start((struct front_options){ 0 });
	fd = join();
	for (size_t cut = 1; cut < sizeof(whole); cut++) {
		struct message run;

		CHECK_INT(send(fd, whole, cut, 0), cut);
		barrier();
		CHECK_INT(send(fd, whole + cut, sizeof(whole) - cut, 0), sizeof(whole) - cut);
		run = taken();
		finish(&run, "{}");
		HEAR(fd, FRAME_RESULT, "{}");
	}
	close(fd);
	stop();
}

static void what_is_no_frame_ends_the_connection(void)
{
	static const char *const headers[] = {
		"\0\0\0\0X\0\0\0", "\0\0\0\0R\0\0\1", "\1\0\0\4R\0\0\0", "\xff\xff\xff\xffR\0\0\0", "\1\0\0\0C\0\0\0",
	};
	static const enum frame_kind ours[] = { FRAME_STARTED, FRAME_STDOUT, FRAME_STDERR, FRAME_RESULT, FRAME_ERROR };
	int fd;

	start((struct front_options){ 0 });
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		fd = join();
		CHECK_INT(send(fd, headers[i], FRAME_HEADER, 0), FRAME_HEADER);
		HEAR(fd, FRAME_ERROR,
		     "{\"error\":{\"code\":\"bad_request\",\"message\":\"what was sent is no frame, or a larger one "
		     "than there may be\"}}");
		hear_end(fd);
	}
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		fd = join();
		say(fd, ours[i], "{}");
		HEAR(fd, FRAME_ERROR,
		     "{\"error\":{\"code\":\"bad_request\",\"message\":\"a frame of this kind is the service's to "
		     "send\"}}");
		hear_end(fd);
	}
	stop();
}

static void nonsense_while_it_runs_ends_the_run(void)
{
	struct message run;
	int fd;

	start((struct front_options){ 0 });
	fd = join();
	say(fd, FRAME_REQUEST, HELLO);
	run = taken();
	say(fd, FRAME_STDOUT, "x");
	CHECK_STR(hear_code(fd), "bad_request 0");
	hear_end(fd);
	hear_cancel(&run);
	finish(&run, "{}");
	stop();
}

static void a_request_that_cannot_be_meant(void)
{
	struct message run;
	int fd;

	start((struct front_options){ 0 });
	fd = join();
	say(fd, FRAME_REQUEST, "{\"language\":\"python\",\"timeout\":0}");
	HEAR(fd, FRAME_ERROR,
	     "{\"error\":{\"code\":\"bad_request\",\"message\":\"timeout: \\\"0\\\" is not a time between "
	     "0.001 and 86400 seconds; write it as 30, 500ms, 2m or 1h30m\",\"field\":\"timeout\"}}");
	say(fd, FRAME_REQUEST, "{\"language\":\"python\",\"files\":{\"../x\":\"\"}}");
	HEAR(fd, FRAME_ERROR,
	     "{\"error\":{\"code\":\"bad_request\",\"message\":\"file: \\\"../x\\\" cannot be a path in the box: it "
	     "has a part \\\".\\\" or \\\"..\\\"\",\"field\":\"files\"}}");
	nothing_taken();
	/* And the next one is as good as any. */
	say(fd, FRAME_REQUEST, HELLO);
	run = taken();
	finish(&run, "{}");
	HEAR(fd, FRAME_RESULT, "{}");
	close(fd);
	stop();
}

static void the_keeper_refuses(void)
{
	static const struct {
		enum error_code code;
		const char *field, *message, *answer;
	} refusals[] = {
		{ CODE_BAD_REQUEST, "code", "code: there is none",
		  "{\"error\":{\"code\":\"bad_request\",\"message\":\"code: there is none\",\"field\":\"code\"}}" },
		{ CODE_UNKNOWN_LANGUAGE, "language", "Unknown language",
		  "{\"error\":{\"code\":\"unknown_language\",\"message\":\"Unknown "
		  "language\",\"field\":\"language\"}}" },
		{ CODE_FAILED, "", "no \xff memory",
		  "{\"error\":{\"code\":\"failed\",\"message\":\"no \xef\xbf\xbd memory\"}}" },
		{ CODE_CANNOT_ENFORCE, "", "no layer",
		  "{\"error\":{\"code\":\"cannot_enforce\",\"message\":\"no layer\"}}" },
	};
	struct message run;
	int fd;

	start((struct front_options){ 0 });
	fd = join();
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		struct message_refusal refusal = { .code = refusals[i].code };

		snprintf(refusal.field, sizeof(refusal.field), "%s", refusals[i].field);
		snprintf(refusal.message, sizeof(refusal.message), "%s", refusals[i].message);
		/* Which languages there are is the keeper's to say. */
		say(fd, FRAME_REQUEST, "{\"language\":\"klingon\"}");
		run = taken();
		tell(&run, MESSAGE_REFUSED, 0, &refusal, sizeof(refusal));
		message_free(&run);
		HEAR(fd, FRAME_ERROR, refusals[i].answer);
	}
	say(fd, FRAME_REQUEST, HELLO);
	run = taken();
	tell(&run, MESSAGE_REFUSED, 0, "x", 1);
	message_free(&run);
	HEAR(fd, FRAME_ERROR, "{\"error\":{\"code\":\"failed\",\"message\":\"the keeper gave no reason\"}}");
	close(fd);
	stop();
}

/* Each code of the list, at this door: as it is called there, or by the name that frames have for it. */
static void each_code_is_told(void)
{
	char answer[256];
	struct message run;
	int fd;

	start((struct front_options){ 0 });
	fd = join();
	for (int i = CODE_NONE + 1; i < CODE_COUNT; i++) {
		const enum error_code code = (enum error_code)i;
		const enum error_code here = code == CODE_NOT_FOUND       ? CODE_BAD_REQUEST
					     : code == CODE_NOT_INSTALLED ? CODE_UNKNOWN_LANGUAGE
									  : code;
		struct message_refusal refusal;
		struct error err;

		error_refuse(&err, code, "", "no");
		refusal_pack(&err, &refusal);
		say(fd, FRAME_REQUEST, HELLO);
		run = taken();
		tell(&run, MESSAGE_REFUSED, 0, &refusal, sizeof(refusal));
		message_free(&run);
		snprintf(answer, sizeof(answer), "{\"error\":{\"code\":\"%s\",\"message\":\"no\"}}",
			 error_code_name(here));
		HEAR(fd, FRAME_ERROR, answer);
	}
	close(fd);
	stop();
}

static void an_early_request_waits(void)
{
	struct message run;
	int fd;

	start((struct front_options){ .max_running = 2 });
	fd = join();
	say(fd, FRAME_REQUEST, HELLO);
	run = taken();
	say(fd, FRAME_REQUEST, HELLO);
	say(fd, FRAME_REQUEST, "[]");
	nothing_taken();
	finish(&run, "{\"n\":1}");
	HEAR(fd, FRAME_RESULT, "{\"n\":1}");
	run = taken();
	finish(&run, "{\"n\":2}");
	HEAR(fd, FRAME_RESULT, "{\"n\":2}");
	CHECK_STR(hear_code(fd), "bad_request 0");
	close(fd);
	stop();
}

static void busy(void)
{
	struct message run;
	int fds[4];

	start((struct front_options){ .max_running = 1, .max_queued = 2, .max_queued_each = 2 });
	for (int i = 0; i < 4; i++) {
		fds[i] = join();
		say(fds[i], FRAME_REQUEST, HELLO);
		barrier();
	}
	HEAR(fds[3], FRAME_ERROR,
	     "{\"error\":{\"code\":\"busy\",\"message\":\"the service is busy: as many requests wait as may; ask again "
	     "later\",\"retry_after\":1}}");
	for (int i = 0; i < 3; i++) {
		run = taken();
		finish(&run, "{}");
		HEAR(fds[i], FRAME_RESULT, "{}");
	}
	for (int i = 0; i < 4; i++)
		close(fds[i]);
	stop();
}

static void busy_for_one_caller(void)
{
	struct message run;
	int fds[3];

	start((struct front_options){ .max_running = 1, .max_queued = 9, .max_queued_each = 1 });
	for (int i = 0; i < 3; i++) {
		fds[i] = join();
		say(fds[i], FRAME_REQUEST, HELLO);
		barrier();
	}
	HEAR(fds[2], FRAME_ERROR,
	     "{\"error\":{\"code\":\"busy\",\"message\":\"the service is busy: as many requests of yours wait as may; "
	     "ask again later\",\"retry_after\":1}}");
	run = taken();
	finish(&run, "{}");
	run = taken();
	finish(&run, "{}");
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	stop();
}

static void too_many_connections(void)
{
	int first, second, third;

	start((struct front_options){ .max_clients = 2 });
	first = join();
	second = join();
	third = join();
	CHECK_STR(hear_code(third), "busy 1");
	hear_end(third);
	close(first);
	/* Its end has to be seen before there is room. */
	for (;;) {
		third = join();
		say(third, FRAME_CANCEL, "");
		say(third, FRAME_REQUEST, "[]");
		if (strcmp(hear_code(third), "bad_request 0") == 0)
			break;
		close(third);
	}
	close(second);
	close(third);
	stop();
}

static void cancel_in_each_state(void)
{
	struct message run, other;
	int fd, waiting;

	start((struct front_options){ .max_running = 1 });
	fd = join();
	say(fd, FRAME_CANCEL, "");
	say(fd, FRAME_REQUEST, HELLO);
	run = taken();
	waiting = join();
	say(waiting, FRAME_REQUEST, HELLO);
	say(waiting, FRAME_CANCEL, "");
	HEAR(waiting, FRAME_ERROR, CANCELLED);
	CHECK(!is_cancelled(&run));
	say(fd, FRAME_CANCEL, "");
	say(fd, FRAME_CANCEL, "");
	hear_cancel(&run);
	say(waiting, FRAME_REQUEST, HELLO);
	nothing_taken();
	finish(&run, "{\"status\":\"killed\"}");
	HEAR(fd, FRAME_RESULT, "{\"status\":\"killed\"}");
	other = taken();
	CHECK(!is_cancelled(&other));
	finish(&other, "{}");
	HEAR(waiting, FRAME_RESULT, "{}");
	close(fd);
	close(waiting);
	stop();
}

static void who_goes_cancels(void)
{
	struct message run;
	int fd, waiting, last;

	start((struct front_options){ .max_running = 1 });
	fd = join();
	say(fd, FRAME_REQUEST, HELLO);
	run = taken();
	waiting = join();
	say(waiting, FRAME_REQUEST, "{\"language\":\"ruby\"}");
	barrier();
	last = join();
	say(last, FRAME_REQUEST, "{\"language\":\"perl\"}");
	barrier();
	close(waiting);
	close(fd);
	hear_cancel(&run);
	/* The place is free only when the keeper has answered; an early request behind it does not hide the end. */
	nothing_taken();
	finish(&run, "{}");
	run = taken();
	CHECK(memmem(run.body, run.head.size, "perl", 4) != NULL);
	say(last, FRAME_REQUEST, HELLO);
	barrier();
	close(last);
	hear_cancel(&run);
	finish(&run, "{}");
	nothing_taken();
	stop();
}

static void who_only_sends_no_more_hears_the_answer(void)
{
	struct message run;
	int fd;

	start((struct front_options){ 0 });
	fd = join();
	say(fd, FRAME_REQUEST, HELLO);
	say(fd, FRAME_REQUEST, HELLO);
	CHECK_INT(shutdown(fd, SHUT_WR), 0);
	for (int i = 0; i < 2; i++) {
		run = taken();
		barrier();
		CHECK(!is_cancelled(&run));
		finish(&run, "{}");
		HEAR(fd, FRAME_RESULT, "{}");
	}
	hear_end(fd);
	stop();
}

static void the_keeper_dies(void)
{
	struct message run;
	int fd, waiting, front_end;
	char byte;

	start((struct front_options){ .max_running = 1 });
	fd = join();
	say(fd, FRAME_REQUEST, HELLO);
	run = taken();
	waiting = join();
	say(waiting, FRAME_REQUEST, HELLO);
	barrier();
	close(keeper);
	HEAR(fd, FRAME_ERROR,
	     "{\"error\":{\"code\":\"failed\",\"message\":\"the keeper ended while this ran; it is being restarted\","
	     "\"retry_after\":1}}");
	hear_cancel(&run);
	/* It may have been writing to the client: nothing that comes after that could be told from an answer. */
	CHECK_INT(read(fd, &byte, 1), 0);
	message_free(&run);
	close(fd);
	keeper_pair(&front_end);
	CHECK_INT(fd_send(control, "k", 1, &front_end, 1), 0);
	close(front_end);
	run = taken();
	finish(&run, "{\"n\":1}");
	HEAR(waiting, FRAME_RESULT, "{\"n\":1}");
	close(waiting);
	stop();
}

static void a_keeper_that_talks_nonsense_is_left(void)
{
	struct message run;
	struct frame frame;
	char *got;
	int fd;

	start((struct front_options){ 0 });
	fd = join();
	say(fd, FRAME_REQUEST, HELLO);
	run = taken();
	/* Runs that nobody knows, and then what is no message. */
	run.head.run += 1;
	tell(&run, MESSAGE_RESULT, 0, "{}", 2);
	run.head.run = 0;
	tell(&run, MESSAGE_RESULT, 0, "{}", 2);
	CHECK_INT(send(keeper, "x", 1, 0), 1);
	got = hear_bytes(fd, &frame);
	CHECK_INT(frame.kind, FRAME_ERROR);
	CHECK(strstr(got, "the keeper ended") != NULL);
	free(got);
	message_free(&run);
	close(fd);
	stop();
}

static void drain(void)
{
	struct message run;
	int fd, waiting, idle;

	start((struct front_options){ .max_running = 1 });
	idle = join();
	fd = join();
	say(fd, FRAME_REQUEST, HELLO);
	run = taken();
	waiting = join();
	say(waiting, FRAME_REQUEST, HELLO);
	barrier();
	CHECK_INT(fd_send(control, "d", 1, NULL, 0), 0);
	HEAR(waiting, FRAME_ERROR,
	     "{\"error\":{\"code\":\"draining\",\"message\":\"the service is ending; the request was not "
	     "run\",\"retry_after\":1}}");
	say(idle, FRAME_REQUEST, HELLO);
	HEAR(idle, FRAME_ERROR,
	     "{\"error\":{\"code\":\"draining\",\"message\":\"the service is ending and takes no more requests\","
	     "\"retry_after\":1}}");
	CHECK(!is_cancelled(&run));
	close(waiting);
	waiting = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_ERRNO(connect(waiting, (struct sockaddr *)&address, address_size), ECONNREFUSED);
	finish(&run, "{\"last\":1}");
	HEAR(fd, FRAME_RESULT, "{\"last\":1}");
	joined();
	hear_end(fd);
	hear_end(idle);
	close(waiting);
	close(control);
	close(keeper);
}

static void drain_without_runs(void)
{
	start((struct front_options){ 0 });
	CHECK_INT(fd_send(control, "d", 1, NULL, 0), 0);
	joined();
	close(control);
	close(keeper);
}

static void output_as_it_comes(void)
{
	struct message run;
	int fd;

	start((struct front_options){ 0 });
	fd = join();
	say(fd, FRAME_REQUEST, STREAMED);
	run = taken();
	CHECK_INT(run.head.manner, MESSAGE_STREAM | MESSAGE_DIRECT);
	tell(&run, MESSAGE_STARTED, 0, "{\"id\":\"abc\"}", 12);
	HEAR(fd, FRAME_STARTED, "{\"id\":\"abc\"}");
	tell(&run, MESSAGE_OUTPUT, 1, "out", 3);
	HEAR(fd, FRAME_STDOUT, "out");
	tell(&run, MESSAGE_OUTPUT, 2, "err", 3);
	HEAR(fd, FRAME_STDERR, "err");
	finish(&run, "{}");
	HEAR(fd, FRAME_RESULT, "{}");
	/* Who did not ask for it gets none. */
	say(fd, FRAME_REQUEST, HELLO);
	run = taken();
	tell(&run, MESSAGE_STARTED, 0, NULL, 0);
	tell(&run, MESSAGE_OUTPUT, 1, "out", 3);
	finish(&run, "{}");
	HEAR(fd, FRAME_RESULT, "{}");
	close(fd);
	stop();
}

static void a_slow_reader_holds_nobody_up(void)
{
	static char block[MESSAGE_INLINE];
	struct message run, other;
	size_t got = 0;
	int fd, quick;

	start((struct front_options){ 0 });
	fd = join();
	say(fd, FRAME_REQUEST, STREAMED);
	run = taken();
	for (int i = 0; i < 256; i++) {
		memset(block, 'A' + i % 26, sizeof(block));
		tell(&run, MESSAGE_OUTPUT, 1, block, sizeof(block));
	}
	quick = join();
	say(quick, FRAME_REQUEST, HELLO);
	other = taken();
	finish(&other, "{\"quick\":1}");
	HEAR(quick, FRAME_RESULT, "{\"quick\":1}");
	finish(&run, "{\"slow\":1}");
	for (int i = 0; i < 256; i++) {
		struct frame frame;
		char *piece = hear_bytes(fd, &frame);

		CHECK_INT(frame.kind, FRAME_STDOUT);
		CHECK_INT(piece[0], 'A' + i % 26);
		CHECK_INT(piece[frame.size - 1], 'A' + i % 26);
		got += frame.size;
		free(piece);
	}
	CHECK_INT(got, 16 * BIG);
	HEAR(fd, FRAME_RESULT, "{\"slow\":1}");
	close(fd);
	close(quick);
	stop();
}

static void a_flood_that_nobody_reads_ends_the_run(void)
{
	static char block[MESSAGE_INLINE];
	struct message run;
	struct frame frame;
	size_t got = 0;
	char *payload;
	int fd;

	start((struct front_options){ 0 });
	fd = join();
	say(fd, FRAME_REQUEST, STREAMED);
	run = taken();
	for (int i = 0; i < 40 * BIG / MESSAGE_INLINE; i++)
		tell(&run, MESSAGE_OUTPUT, 2, block, sizeof(block));
	hear_cancel(&run);
	finish(&run, "{}");
	for (;;) {
		payload = hear_bytes(fd, &frame);
		if (frame.kind != FRAME_STDERR)
			break;
		got += frame.size;
		free(payload);
	}
	CHECK_INT(frame.kind, FRAME_ERROR);
	CHECK_STR(payload, "{\"error\":{\"code\":\"failed\",\"message\":\"the program's output was not read as fast as "
			   "it came, and the run was ended\"}}");
	CHECK(got > 32 * BIG && got < 34 * BIG);
	free(payload);
	close(fd);
	stop();
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	RUN(a_request_runs);
	RUN(the_keeper_answers_the_client_itself);
	RUN(a_large_request_and_a_large_result);
	RUN(frames_cut_at_each_byte);
	RUN(what_is_no_frame_ends_the_connection);
	RUN(nonsense_while_it_runs_ends_the_run);
	RUN(a_request_that_cannot_be_meant);
	RUN(the_keeper_refuses);
	RUN(each_code_is_told);
	RUN(an_early_request_waits);
	RUN(busy);
	RUN(busy_for_one_caller);
	RUN(too_many_connections);
	RUN(cancel_in_each_state);
	RUN(who_goes_cancels);
	RUN(who_only_sends_no_more_hears_the_answer);
	RUN(the_keeper_dies);
	RUN(a_keeper_that_talks_nonsense_is_left);
	RUN(drain);
	RUN(drain_without_runs);
	RUN(output_as_it_comes);
	RUN(a_slow_reader_holds_nobody_up);
	RUN(a_flood_that_nobody_reads_ends_the_run);
	return check_failures != 0;
}
