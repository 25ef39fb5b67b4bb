/* The front between clients, a keeper and a supervisor: what goes to a program, and what the front holds. */
/* tests/run: timeout=120 */
#include "front_kit.h"

static void input_reaches_the_program(void)
{
	static char block[FRAME_BYTES_MAX];
	struct message run;
	char got[32] = "";
	size_t sum = 0;
	ssize_t n;
	int fd;

	start((struct front_options){ 0 });
	fd = join();
	say(fd, FRAME_REQUEST, FED);
	run = taken();
	CHECK(run.fds[1] >= 0);
	say(fd, FRAME_INPUT, "hello");
	CHECK_INT(read(run.fds[1], got, sizeof(got)), 5);
	CHECK_STR(got, "hello");
	/* As much as fits on the way without a reader; then the program reads. */
	for (int i = 0; i < 3; i++)
		say_bytes(fd, FRAME_INPUT, block, sizeof(block));
	barrier();
	while (sum < 3 * sizeof(block) && (n = read(run.fds[1], block, 1000)) > 0)
		sum += (size_t)n;
	CHECK_INT(sum, 3 * sizeof(block));
	say(fd, FRAME_INPUT, "end");
	say(fd, FRAME_INPUT, "");
	say(fd, FRAME_INPUT, "too late");
	CHECK_INT(fd_read(run.fds[1], got, sizeof(got)), 3);
	finish(&run, "{}");
	HEAR(fd, FRAME_RESULT, "{}");
	close(fd);
	stop();
}

static void input_before_it_runs(void)
{
	struct message run;
	char got[32] = "";
	int fd, waiting;

	start((struct front_options){ .max_running = 1 });
	fd = join();
	say(fd, FRAME_REQUEST, HELLO);
	run = taken();
	waiting = join();
	say(waiting, FRAME_REQUEST, FED);
	say(waiting, FRAME_INPUT, "early");
	say(waiting, FRAME_INPUT, "");
	barrier();
	finish(&run, "{}");
	run = taken();
	CHECK_INT(fd_read(run.fds[1], got, sizeof(got)), 5);
	CHECK_STR(got, "early");
	finish(&run, "{}");
	HEAR(waiting, FRAME_RESULT, "{}");
	close(fd);
	close(waiting);
	stop();
}

/* More than is held for one who waits: it comes in when its turn does. */
static void much_input_before_it_runs(void)
{
	static char block[FRAME_BYTES_MAX];
	struct message run;
	char got[8] = "";
	int fd, waiting;

	start((struct front_options){ .max_running = 1 });
	fd = join();
	say(fd, FRAME_REQUEST, HELLO);
	run = taken();
	waiting = join();
	say(waiting, FRAME_REQUEST, FED);
	say_bytes(waiting, FRAME_INPUT, block, sizeof(block));
	say(waiting, FRAME_INPUT, "last");
	say(waiting, FRAME_INPUT, "");
	barrier();
	finish(&run, "{}");
	run = taken();
	CHECK_INT(fd_read(run.fds[1], block, sizeof(block)), sizeof(block));
	CHECK_INT(fd_read(run.fds[1], got, sizeof(got)), 4);
	CHECK_STR(got, "last");
	finish(&run, "{}");
	HEAR(waiting, FRAME_RESULT, "{}");
	close(fd);
	close(waiting);
	stop();
}

static void input_that_nobody_reads(void)
{
	static char block[FRAME_BYTES_MAX];
	struct message run;
	int fd;

	start((struct front_options){ 0 });
	fd = join();
	say(fd, FRAME_REQUEST, FED);
	run = taken();
	for (int i = 0; i < 3; i++)
		say_bytes(fd, FRAME_INPUT, block, sizeof(block));
	/* The program closes its stdin: the rest goes nowhere, and holds nothing up. */
	close(run.fds[1]);
	run.fds[1] = -1;
	for (int i = 0; i < 30; i++)
		say_bytes(fd, FRAME_INPUT, block, sizeof(block));
	finish(&run, "{}");
	HEAR(fd, FRAME_RESULT, "{}");
	/* Also one who waits with a full pipe is seen to go. */
	say(fd, FRAME_REQUEST, FED);
	run = taken();
	for (int i = 0; i < 3; i++)
		say_bytes(fd, FRAME_INPUT, block, sizeof(block));
	barrier();
	close(fd);
	hear_cancel(&run);
	finish(&run, "{}");
	stop();
}

static void memory_is_bounded(void)
{
	char *json = malloc(2 * BIG);
	struct message run;
	int fd;

	start((struct front_options){ .memory_max = BIG / 2 });
	fd = join();
	memset(json, ' ', 2 * BIG);
	say_bytes(fd, FRAME_REQUEST, json, 2 * BIG);
	HEAR(fd, FRAME_ERROR,
	     "{\"error\":{\"code\":\"busy\",\"message\":\"the service is busy: it holds as many bytes of requests as "
	     "it may; ask again later\",\"retry_after\":1}}");
	say(fd, FRAME_REQUEST, HELLO);
	run = taken();
	finish(&run, "{}");
	HEAR(fd, FRAME_RESULT, "{}");
	free(json);
	close(fd);
	stop();
}

static void a_keeper_that_is_slow_to_take(void)
{
	char *json = malloc(64 << 10);
	struct message run;
	int fds[20];

	start((struct front_options){ .max_running = 20 });
	strcpy(json, "{\"language\":\"python\",\"code\":\"");
	memset(json + 29, 'x', 50000);
	strcpy(json + 29 + 50000, "\"}");
	for (int i = 0; i < 20; i++) {
		fds[i] = join();
		say(fds[i], FRAME_REQUEST, json);
	}
	barrier();
	for (int i = 0; i < 20; i++) {
		run = taken();
		finish(&run, "{}");
	}
	for (int i = 0; i < 20; i++) {
		HEAR(fds[i], FRAME_RESULT, "{}");
		close(fds[i]);
	}
	free(json);
	stop();
}

struct visitor {
	uid_t uid; /* who connects */
	int fd;    /* the connection */
};

/* Only this thread becomes somebody else. */
static void *join_as(void *data)
{
	struct visitor *visitor = data;

	CHECK_INT(syscall(SYS_setresuid, visitor->uid, visitor->uid, visitor->uid), 0);
	visitor->fd = join();
	return NULL;
}

static void callers_take_turns(void)
{
	static const struct {
		uid_t uid;
		const char *code;
	} asked[] = { { 1001, "a0" }, { 1001, "a1" }, { 1001, "a2" }, { 1001, "a3" },
		      { 1002, "b0" }, { 1003, "c0" }, { 1002, "b1" } };
	static const char *const served[] = { "a0", "a1", "b0", "c0", "a2", "b1", "a3" };
	int fds[7];

	start((struct front_options){ .max_running = 1 });
	for (size_t i = 0; i < 7; i++) {
		struct visitor visitor = { .uid = asked[i].uid };
		char json[64];
		pthread_t other;

		CHECK_INT(pthread_create(&other, NULL, join_as, &visitor), 0);
		CHECK_INT(pthread_join(other, NULL), 0);
		fds[i] = visitor.fd;
		snprintf(json, sizeof(json), "{\"language\":\"python\",\"code\":\"%s\"}", asked[i].code);
		say(fds[i], FRAME_REQUEST, json);
		barrier();
	}
	for (size_t i = 0; i < 7; i++) {
		struct message run = taken();
		struct error err;
		struct spec spec;

		spec_init(&spec);
		CHECK_INT(request_decode((char *)run.body + sizeof(struct message_run),
					 run.head.size - sizeof(struct message_run), &spec, &err),
			  0);
		CHECK_STR(spec.code, served[i]);
		spec_free(&spec);
		finish(&run, "{}");
	}
	for (size_t i = 0; i < 7; i++)
		close(fds[i]);
	stop();
}

static long switches(void)
{
	char path[64], text[4096];
	const char *at;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", thread_id);
	CHECK(fd_slurp(AT_FDCWD, path, text, sizeof(text)) > 0);
	at = strstr(text, "\nvoluntary_ctxt_switches:");
	return at ? strtol(at + 25, NULL, 10) : -1;
}

/* Half a frame, a run and one who waits: none of them is a reason to wake up. */
static void waiting_costs_nothing(void)
{
	struct message run;
	int half, fd, waiting;
	long before;

	start((struct front_options){ .max_running = 1 });
	half = join();
	CHECK_INT(send(half, "\1\0\0", 3, 0), 3);
	fd = join();
	say(fd, FRAME_REQUEST, FED);
	run = taken();
	say(fd, FRAME_INPUT, "x");
	waiting = join();
	say(waiting, FRAME_REQUEST, HELLO);
	say(waiting, FRAME_REQUEST, HELLO);
	shutdown(waiting, SHUT_WR);
	barrier();
	barrier();
	/* The last connection's end is still to be seen; then it is the time itself that is tested. */
	usleep(100000);
	before = switches();
	usleep(300000);
	CHECK_INT(switches(), before);
	finish(&run, "{}");
	close(half);
	close(fd);
	close(waiting);
	stop();
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	RUN(input_reaches_the_program);
	RUN(input_before_it_runs);
	RUN(much_input_before_it_runs);
	RUN(input_that_nobody_reads);
	RUN(memory_is_bounded);
	RUN(a_keeper_that_is_slow_to_take);
	if (geteuid() == 0)
		RUN(callers_take_turns);
	else
		check_skip("callers_take_turns", "only root can be several callers");
	RUN(waiting_costs_nothing);
	return check_failures != 0;
}
