/*
 * Containers, with real boxes: few, and one after the other.
 *
 * tests/run: args=--as root | --as user
 * tests/run: timeout=150
 */
#include "../check.h"
#include "../kern/as.h"
#include "state_home.h"

#include "base/clock.h"
#include "base/own.h"
#include "live/container_parts.h"

#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

static struct engines engines;
static struct containers *all;
static char id[RESULT_ID];
static struct result *result; /* of the last exec */
static struct error err;      /* of the last call */

static struct spec spec_of(const char *language)
{
	struct spec spec;
	struct error ignored;

	spec_init(&spec);
	if (spec_set(&spec, "language", language, &ignored) < 0)
		abort();
	return spec;
}

static int start_with(struct spec *spec, double ttl, const char *owner)
{
	const struct container_options options = { .profile = "test", .owner = owner, .ttl = ttl, .most = 2 };
	int done = containers_start(all, spec, &options, id, &err);

	spec_free(spec);
	return done;
}

static void start(const char *language)
{
	struct spec spec = spec_of(language);

	CHECK_INT(spec_set(&spec, "memory", "128m", &err), 0);
	CHECK_INT(spec_set(&spec, "pids", "32", &err), 0);
	CHECK_INT(spec_set(&spec, "disk", "32m", &err), 0);
	if (start_with(&spec, 100, "ann") < 0)
		check_fail("containers_start: %s", err.text);
}

static void stop(void)
{
	CHECK_INT(containers_stop(all, id, "ann", "ann", &err), 0);
}

static int exec_io(struct spec *spec, const char *command, const struct engine_io *io)
{
	int done;

	result_free(result);
	result = NULL;
	err = (struct error){ 0 };
	done = containers_exec(all, &(struct container_exec){ id, "ann", command, NULL },
			       &(struct run_request){ .spec = spec, .io = io }, &result, &err);
	spec_free(spec);
	return done;
}

static int exec_spec(struct spec *spec, const char *command)
{
	const struct engine_io io = { .cancel_fd = -1, .stdin_fd = -1 };

	return exec_io(spec, command, &io);
}

static const char *text_of(int stream)
{
	static char text[2][4096];
	long n = result ? output_read(&result->outputs[stream], text[stream], sizeof(text[0]) - 1, 0) : 0;

	text[stream][n > 0 ? n : 0] = '\0';
	return text[stream];
}

/* The command's status and what it printed. */
static void runs(const char *command, const char *status, const char *printed)
{
	struct spec spec;

	spec_init(&spec);
	if (exec_spec(&spec, command) < 0) {
		check_fail("%s: %s", command, err.text);
		return;
	}
	if (strcmp(status_name(result->verdict.status), status) != 0)
		check_fail("%s: %s, not %s: %s %s", command, status_name(result->verdict.status), status,
			   result->message, text_of(1));
	if (printed)
		CHECK_STR(text_of(0), printed);
}

static void runs_code(const char *code, const char *status, const char *printed)
{
	struct spec spec;

	spec_init(&spec);
	CHECK_INT(spec_set_code(&spec, code, strlen(code), &err), 0);
	if (exec_spec(&spec, NULL) < 0) {
		check_fail("%s: %s", code, err.text);
		return;
	}
	if (strcmp(status_name(result->verdict.status), status) != 0)
		check_fail("%s: %s, not %s: %s %s", code, status_name(result->verdict.status), status, result->message,
			   text_of(1));
	if (printed)
		CHECK_STR(text_of(0), printed);
}

/* What status says of the container; borrowed until the next call. NULL: nothing. */
static json_t *status_for(const char *owner)
{
	static json_t *root;
	_cleanup_free_ char *text = NULL;
	json_t *entry;
	size_t i;

	json_decref(root);
	root = NULL;
	if (containers_status(all, owner, &text, &err) < 0)
		return NULL;
	root = json_loads(text, 0, NULL);
	json_array_foreach(json_object_get(root, "containers"), i,
			   entry) if (strcmp(json_string_value(json_object_get(entry, "id")), id) == 0) return entry;
	return NULL;
}

static const char *status_text(const char *key)
{
	const char *text = json_string_value(json_object_get(status_for("ann"), key));

	return text ? text : "";
}

static double status_number(const char *key)
{
	return json_number_value(json_object_get(status_for("ann"), key));
}

/* It ends by itself: waits for that, at most 20 s. */
static void await_exit(void)
{
	uint64_t until = clock_usec() + 20000000;

	while (strcmp(status_text("status"), "exited") != 0 && clock_usec() < until)
		poll(NULL, 0, 20);
	CHECK_STR(status_text("status"), "exited");
}

static size_t open_fds(void)
{
	int dir = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	size_t count = count_entries(dir, "fd");

	close(dir);
	return count;
}

static void state_stays_and_processes_do_not(void)
{
	json_t *root;

	start("python");
	runs_code("open('/sandbox/temp/kept', 'w').write('first')\nprint('wrote')", "ok", "wrote\n");
	runs_code("print(open('/sandbox/temp/kept').read())", "ok", "first\n");
	runs("cat /sandbox/temp/kept; sleep 1000 >/dev/null 2>&1 & setsid sleep 1000 >/dev/null 2>&1 & echo", "ok",
	     NULL);
	/* init, the agent, this shell and its cat are all there are. */
	runs("for p in /proc/[0-9]*; do read n <$p/comm && echo $n; done", "ok", "init\nagent\nsh\n");
	/* The control: what is counted there while it lives. */
	runs("sleep 1000 & for p in /proc/[0-9]*; do read n <$p/comm && echo $n; done | grep -c -e sleep -e sh", "ok",
	     NULL);
	CHECK(atoi(text_of(0)) >= 2);
	runs("echo out; echo err >&2; exit 3", "failed", "out\n");
	CHECK_STR(text_of(1), "err\n");
	CHECK_STR(result->message, "Execution failed: err");
	runs("echo x > /sandbox/output/made", "ok", "");
	CHECK_INT(result->files.count, 1);
	CHECK_STR(result->files.entries[0].path, "made");
	root = json_loads(result_json(result), 0, NULL);
	CHECK_STR(json_string_value(json_object_get(root, "language")), "python");
	CHECK(json_array_size(json_object_get(json_object_get(root, "meta"), "isolation")) > 8);
	CHECK_INT(json_integer_value(
			  json_object_get(json_object_get(json_object_get(root, "meta"), "resource_limits"), "memory")),
		  128 << 20);
	json_decref(root);
	CHECK_INT(status_number("execs"), 7);
	stop();
	CHECK_STR(status_text("status"), "exited");
	CHECK_STR(status_text("reason"), "it was stopped");
	stop();
}

struct streamed {
	char text[256]; /* what came */
	int cancel;     /* written to when it has come; -1: not */
};

static void on_output(int stream, const void *data, size_t size, void *userdata)
{
	struct streamed *streamed = userdata;

	(void)stream;
	strncat(streamed->text, data, size < 100 ? size : 100);
	if (streamed->cancel >= 0)
		CHECK_INT(write(streamed->cancel, "c", 1), 1);
}

static void input_streams_and_cancels(void)
{
	struct streamed streamed = { .cancel = -1 };
	struct engine_io io = { .on_output = on_output, .userdata = &streamed, .cancel_fd = -1, .stdin_fd = -1 };
	static char large[1 << 20];
	struct spec spec;
	int ends[2];

	start("python");
	spec_init(&spec);
	memset(large, 'x', sizeof(large));
	CHECK_INT(spec_set_input(&spec, large, sizeof(large), &err), 0);
	CHECK_INT(spec_set(&spec, "env", "NAME=value", &err), 0);
	CHECK_INT(spec_add_content(&spec, "/sandbox/data/given", "content", 7, &err), 0);
	CHECK_INT(spec_add_content(&spec, "/sandbox/data/large", large, sizeof(large), &err), 0);
	CHECK_INT(exec_io(&spec, "wc -c; echo $NAME; wc -c </sandbox/data/large; cat /sandbox/data/given", &io), 0);
	CHECK_STR(text_of(0), "1048576\nvalue\n1048576\ncontent");
	CHECK_STR(streamed.text, "1048576\nvalue\n1048576\ncontent");
	/* From a pipe. */
	CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
	CHECK_INT(write(ends[1], "by pipe", 7), 7);
	close(ends[1]);
	io.stdin_fd = ends[0];
	spec_init(&spec);
	CHECK_INT(exec_io(&spec, "cat", &io), 0);
	CHECK_STR(text_of(0), "by pipe");
	close(ends[0]);
	io.stdin_fd = -1;
	/* The first output cancels. */
	CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
	io.cancel_fd = ends[0];
	streamed.cancel = ends[1];
	spec_init(&spec);
	CHECK_INT(exec_io(&spec, "echo up; sleep 1000", &io), 0);
	CHECK_STR(status_name(result->verdict.status), "killed");
	CHECK_STR(result->message, "Execution was cancelled");
	close(ends[0]);
	close(ends[1]);
	runs("echo next", "ok", "next\n");
	stop();
}

static void limits_of_an_exec_end_it_alone(void)
{
	struct spec spec;

	start("python");
	spec_init(&spec);
	CHECK_INT(spec_set(&spec, "timeout", "0.5", &err), 0);
	CHECK_INT(exec_spec(&spec, "trap '' TERM; echo begun; while :; do sleep 1; done"), 0);
	CHECK_STR(status_name(result->verdict.status), "timeout");
	CHECK_STR(result->message, "Code execution timed out after 0.5s");
	CHECK_STR(text_of(0), "begun\n");
	runs("echo alive", "ok", "alive\n");
	spec_init(&spec);
	CHECK_INT(spec_set(&spec, "cpu-time", "0.3", &err), 0);
	CHECK_INT(exec_spec(&spec, "while :; do :; done"), 0);
	CHECK_STR(status_name(result->verdict.status), "timeout");
	CHECK_STR(result->verdict.limit, "cpu_time");
	runs("cat /dev/zero", "output_limit", NULL);
	CHECK_INT(result->outputs[0].bytes > OUTPUT_SPOOL_MAX, 1);
	/* The 16m are of one exec. */
	runs("head -c 10000000 /dev/zero", "ok", NULL);
	runs("head -c 10000000 /dev/zero", "ok", NULL);
	CHECK_INT(result->outputs[0].bytes, 10000000);
	/* A bomb stays within its processes, and is gone with its exec. */
	spec_init(&spec);
	CHECK_INT(spec_set(&spec, "timeout", "1", &err), 0);
	CHECK_INT(exec_spec(&spec, "b() { b | b & }; b 2>/dev/null; sleep 1000"), 0);
	CHECK(result->verdict.status != STATUS_ERROR);
	runs("echo after; sleep 0 && echo forked", "ok", "after\nforked\n");
	/* The disk is full: that is said, and can be mended. */
	runs("head -c 100000000 /dev/zero > /sandbox/temp/full", "failed", "");
	runs_code("print(1)", "error", "");
	CHECK_STR(result->message, "cannot write the files into the container: No space left on device");
	runs("rm /sandbox/temp/full; echo mended", "ok", "mended\n");
	runs_code("print(1)", "ok", "1\n");
	stop();
}

static void refuses_what_is_not_its_own(void)
{
	struct spec spec = spec_of("bash");

	start("python");
	CHECK_INT(exec_spec(&spec, "echo"), -1);
	CHECK_STR(err.text, "language: the container's is python, not bash; start another for that");
	spec_init(&spec);
	CHECK_INT(spec_set(&spec, "memory", "64m", &err), 0);
	CHECK_INT(exec_spec(&spec, "echo"), -1);
	CHECK_STR(err.text, "memory: it is the container's, which was started with 128m; leave it out");
	spec_init(&spec);
	CHECK_INT(spec_set(&spec, "memory", "128m", &err), 0);
	CHECK_INT(exec_spec(&spec, "echo"), 0);
	spec_init(&spec);
	CHECK_INT(exec_spec(&spec, NULL), -1);
	CHECK_STR(err.text, "code: it is not set; give the program's text, or a command of the shell as command");
	spec_init(&spec);
	CHECK_INT(exec_spec(&spec, ""), -1);
	CHECK_STR(err.text, "command: it is empty");
	runs_code("print(", "failed", "");
	CHECK_INT(result->explanation->found.kind, ERRORS_SYNTAX);
	/* Another's is as if it were not there. */
	CHECK(status_for("ann") != NULL);
	CHECK(status_for(NULL) != NULL);
	CHECK(status_for("bob") == NULL);
	CHECK_INT(containers_stop(all, id, "bob", "bob", &err), -1);
	CHECK_INT(err.code, CODE_NOT_FOUND);
	CHECK(strncmp(err.text, "id: there is no container \"", 27) == 0);
	runs("echo still", "ok", "still\n");
	stop();
}

static void counts(void)
{
	struct spec spec;
	char first[RESULT_ID], second[RESULT_ID];
	size_t removed = 0;

	CHECK_INT(containers_cleanup(all, NULL, &removed, &err), 0);
	start("python");
	memcpy(first, id, sizeof(id));
	start("python");
	memcpy(second, id, sizeof(id));
	spec = spec_of("python");
	CHECK_INT(start_with(&spec, 10, "ann"), -1);
	CHECK_STR(err.text, "max_concurrent: 2 containers run already, as many as may; stop one first");
	CHECK_INT(err.code, CODE_TOO_MANY);
	CHECK_INT(containers_running(all), 2);
	memcpy(id, first, sizeof(id));
	status_for("ann");
	runs("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done", "ok", "");
	CHECK(status_number("cpu_percent") > 1);
	CHECK(status_number("cpu_time") > 0.05);
	CHECK(status_number("memory_used") > 100000);
	CHECK_INT(status_number("memory_limit"), 128 << 20);
	CHECK_INT(status_number("pids"), 0);
	stop();
	CHECK_STR(status_text("status"), "exited");
	CHECK_INT(containers_running(all), 1);
	memcpy(id, second, sizeof(id));
	CHECK_STR(status_text("status"), "running");
	CHECK_INT(containers_cleanup(all, "bob", &removed, &err), 0);
	CHECK_INT(removed, 0);
	CHECK_INT(containers_cleanup(all, "ann", &removed, &err), 0);
	CHECK_INT(removed, 1);
	runs("echo other", "ok", "other\n");
	stop();
}

static void *exec_in_thread(void *argument)
{
	const struct engine_io io = { .cancel_fd = -1, .stdin_fd = -1 };
	struct result *mine = NULL;
	struct error ignored;
	struct spec spec;

	spec_init(&spec);
	if (containers_exec(all, &(struct container_exec){ id, "ann", argument, NULL },
			    &(struct run_request){ .spec = &spec, .io = &io }, &mine, &ignored) < 0)
		mine = NULL;
	spec_free(&spec);
	return mine;
}

/* Both write and read one file: were they to run at once, they would see each other. */
static void execs_take_turns(void)
{
	static char sleepers[] = "sleep 1000 & sleep 1000";
	static char script[] = "cd /sandbox/temp; [ -e busy ] && exit 9; echo > busy; sleep 0.3; rm busy";
	pthread_t threads[3];

	start("python");
	for (int i = 0; i < 3; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, exec_in_thread, script), 0);
	for (int i = 0; i < 3; i++) {
		void *mine = NULL;

		pthread_join(threads[i], &mine);
		CHECK(mine && ((struct result *)mine)->verdict.status == STATUS_OK);
		result_free(mine);
	}
	/* Status is live while something runs. */
	CHECK_INT(pthread_create(&threads[0], NULL, exec_in_thread, sleepers), 0);
	for (int i = 0; i < 500 && status_number("pids") < 3; i++)
		poll(NULL, 0, 10);
	CHECK_INT(status_number("pids"), 3);
	/* Stopped while that runs. */
	stop();
	{
		void *mine = NULL;

		pthread_join(threads[0], &mine);
		CHECK(mine != NULL);
		if (mine) {
			CHECK_STR(((struct result *)mine)->message,
				  "The container ended while this ran: it was stopped");
			CHECK_STR(status_name(((struct result *)mine)->verdict.status), "killed");
		}
		result_free(mine);
	}
}

static void hostile_programs_end_their_own_box(void)
{
	struct spec spec;

	start("python");
	/* The agent's pipes are not to be had. */
	runs("ls /proc/2/fd; echo x > /proc/2/fd/4; cat /proc/2/mem; cat /proc/2/environ; echo tried", "ok", "tried\n");
	CHECK(strstr(text_of(1), "Permission denied") != NULL);
	/* Nothing of it is handed on, and signals are as they should be. */
	runs("ls /proc/$$/fd; :", "ok", "0\n1\n2\n");
	runs("exec grep -e SigBlk -e SigIgn /proc/self/status", "ok",
	     "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
	/* The control: its own are. */
	runs("ls /proc/$$/fd >/dev/null && echo seen", "ok", "seen\n");
	runs("kill -9 2; sleep 1000", "killed", "");
	CHECK_STR(result->message, "The container ended while this ran: its agent was ended by signal SIGKILL");
	CHECK_STR(status_text("status"), "exited");
	CHECK_STR(status_text("reason"), "its agent was ended by signal SIGKILL");
	spec_init(&spec);
	CHECK_INT(exec_spec(&spec, "echo"), -1);
	CHECK_INT(err.code, CODE_NOT_FOUND);
	CHECK(strstr(err.text, "has ended: its agent was ended by signal SIGKILL; start another") != NULL);
	start("python");
	spec_init(&spec);
	CHECK_INT(spec_set(&spec, "timeout", "0.5", &err), 0);
	CHECK_INT(exec_spec(&spec, "kill -STOP 2; sleep 1000"), 0);
	CHECK_STR(status_name(result->verdict.status), "timeout");
	CHECK_STR(result->message, "Code execution timed out after 0.5s; the container ended while this ran: its agent "
				   "did not answer");
	CHECK_STR(status_text("status"), "exited");
	start("python");
	runs_code("x = []\nwhile True: x.append(bytearray(b'x' * 1000000))", "out_of_memory", "");
	CHECK_STR(result->message,
		  "Memory limit of 128m exceeded; the container ended while this ran: its memory limit was exceeded");
	CHECK_STR(status_text("reason"), "its memory limit was exceeded");
}

static void ends_with_its_time(void)
{
	struct spec spec = spec_of("python");

	if (start_with(&spec, 1, "ann") < 0)
		check_fail("%s", err.text);
	runs("sleep 1000", "killed", "");
	CHECK_STR(result->message, "The container ended while this ran: its time to live of 1s was over");
	await_exit();
	spec = spec_of("python");
	CHECK_INT(start_with(&spec, 0, "ann"), -1);
	CHECK_STR(err.text, "ttl: expected seconds above 0 and at most 2592000");
}

/* Compiled in a box of its own, then brought in. */
static void compiled_languages_run_too(void)
{
	if (!runtime_program(runtime_find("c"), false)) {
		check_skip("compiled_languages_run_too", "the language has no compiler here");
		return;
	}
	start("c");
	runs_code("#include <stdio.h>\nint main(void){puts(\"hello\");return 4;}", "failed", "hello\n");
	CHECK_INT(result_exit_code(result), 4);
	CHECK(result->built);
	runs_code("int main(void){return 0;}", "ok", "");
	runs_code("int main(void){", "failed", "");
	CHECK_INT(result->phase, JOB_COMPILE);
	runs("ls /sandbox/build", "ok", NULL);
	stop();
}

/* A container without a box, for an agent that is a test's. */
static void no_files(const struct engine_place *place, struct engine_files *files)
{
	*files = (struct engine_files){ 0 };
}

static void no_usage(const struct engine_place *place, struct engine_usage *usage)
{
}

static struct container *fake_new(int *orders, int *answers)
{
	static const struct engine nothing = { .place_files = no_files, .place_usage = no_usage };
	static struct engine_place nowhere = { .engine = &nothing };
	struct container *fake = calloc(1, sizeof(*fake));
	int to[2], from[2];

	if (!fake || pipe2(to, O_CLOEXEC | O_NONBLOCK) < 0 || pipe2(from, O_CLOEXEC | O_NONBLOCK) < 0)
		abort();
	if (resident_init(&fake->place.home) < 0)
		abort();
	fake->place.home.place = &nowhere;
	fake->place.home.live = true;
	fake->channel.to = fake->place.home.input = to[1];
	fake->channel.from = fake->place.home.output[0] = from[0];
	*orders = to[0];
	*answers = from[1];
	return fake;
}

struct lie {
	const char *name;           /* for the sentence of a test that fails */
	uint32_t kind, order, size; /* a frame, after STARTED… */
	bool first;                 /* …or without that */
	uint32_t word;              /* its body's first four bytes */
};

/* 1 when the container is to end for it. */
static int order_with(const struct lie *lie)
{
	static const char *const argv[] = { "/bin/true", NULL }, *const envp[] = { NULL };
	const struct engine_io io = { .cancel_fd = -1, .stdin_fd = -1 };
	const struct agent_head started = { .kind = AGENT_STARTED, .order = 1 };
	const struct agent_head head = { .kind = lie->kind, .order = lie->order, .size = lie->size };
	const struct agent_ended end = { .status = (int32_t)lie->word };
	struct order order = { .argv = argv, .envp = envp, .limits = { .timeout = 20, .memory = 1 << 20 } };
	int orders, answers, done;
	struct container *fake = fake_new(&orders, &answers);
	struct spec spec = spec_of("python");

	order.result = result_new(&spec);
	/* It is read when it may come: after what it answers was made. */
	if (!lie->first)
		CHECK_INT(write(answers, &started, sizeof(started)), sizeof(started));
	CHECK_INT(write(answers, &head, sizeof(head)), sizeof(head));
	if (lie->size <= sizeof(end))
		CHECK_INT(write(answers, &end, lie->size), lie->size);
	done = order_run(fake, &order, &io, &err);
	if (done == 1)
		CHECK_STR(fake->place.home.why, "its agent said what it may not");
	else
		CHECK_STR(status_name(order.result->verdict.status), lie->word ? "failed" : "ok");
	result_free(order.result);
	spec_free(&spec);
	container_free(&fake->place);
	close(orders);
	close(answers);
	return done;
}

static void an_agent_that_lies_ends_its_container(void)
{
	static const struct lie lies[] = {
		{ "another's order", AGENT_ENDED, 2, sizeof(struct agent_ended), false, 0 },
		{ "output of nothing", AGENT_STDOUT, 1, 4, true, 0 },
		{ "empty output", AGENT_STDERR, 1, 0, false, 0 },
		{ "started twice", AGENT_STARTED, 1, 0, false, 0 },
		{ "started with words", AGENT_STARTED, 1, 4, true, 0 },
		{ "took what it never had", AGENT_TAKEN, 1, 4, false, 1 },
		{ "took nothing", AGENT_TAKEN, 1, 4, false, 0 },
		{ "half an end", AGENT_ENDED, 1, 16, false, 0 },
		{ "stopped is no end", AGENT_ENDED, 1, sizeof(struct agent_ended), false, 0x7f },
		{ "no status at all", AGENT_ENDED, 1, sizeof(struct agent_ended), false, 0x10000 },
		{ "a greeting", AGENT_HELLO, 1, sizeof(struct agent_hello), false, 1 },
		{ "an order", AGENT_KILL, 1, 0, false, 0 },
		{ "too large", AGENT_STDOUT, 1, AGENT_FRAME_MAX + 1, false, 0 },
		{ "no kind", 0, 1, 0, false, 0 },
	};
	const struct lie truth = { "an end", AGENT_ENDED, 1, sizeof(struct agent_ended), false, 0x100 };

	CHECK_INT(order_with(&truth), 0);
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++)
		if (order_with(&lies[i]) != 1)
			check_fail("%s: it was believed", lies[i].name);
}

/* What a box leaves when its keeper is killed: nothing, not even for a while. */
static void dies_with_its_keeper(void)
{
	int ready[2], status;
	pid_t pid, got;
	char byte;

	CHECK_INT(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	CHECK_INT(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		struct streamed streamed = { .cancel = ready[1] };
		struct engine_io io = {
			.on_output = on_output, .userdata = &streamed, .cancel_fd = -1, .stdin_fd = -1
		};
		struct spec spec;

		alarm(60);
		start("python");
		spec_init(&spec);
		exec_io(&spec, "echo up; exec sleep 1000", &io);
		_exit(1);
	}
	close(ready[1]);
	CHECK_INT(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	CHECK_INT(kill(pid, SIGKILL), 0);
	/* Its box is ours to reap now: it ends by itself, or this never does. */
	for (int boxes = 0;;) {
		got = waitpid(-1, &status, __WALL);
		if (got < 0) {
			CHECK_INT(errno, ECHILD);
			CHECK_INT(boxes, 2);
			break;
		}
		boxes++;
	}
	CHECK_INT(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
}

#ifdef EMBERBOX_FAULTS
static void a_start_that_fails_leaves_nothing(void)
{
	static const char *const faults[] = { "launch-clone", "pivot", "exec", "launch-account" };
	size_t before = open_fds();

	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		struct spec spec = spec_of("python");
		int done;

		setenv("EMBERBOX_FAULT", faults[i], 1);
		done = start_with(&spec, 10, "ann");
		unsetenv("EMBERBOX_FAULT");
		/* With a group nobody opens an account. */
		if (done == 0 && strcmp(faults[i], "launch-account") == 0) {
			stop();
			continue;
		}
		if (done == 0 || strncmp(err.text, "cannot start the container: ", 28) != 0)
			check_fail("%s: %d %s", faults[i], done, err.text);
	}
	CHECK_INT(open_fds(), before);
	CHECK_ERRNO(waitpid(-1, NULL, WNOHANG | __WALL), ECHILD);
}
#endif

/* Rich results are of one exec, and a language's prepared tree is there. */
static void rich_results_are_not_kept(void)
{
	if (!runtime_program(runtime_find("sqlite"), false)) {
		check_skip("rich_results_are_not_kept", "the language has no program here");
		return;
	}
	start("sqlite");
	runs_code("create table t(a); insert into t values (1); select * from t;", "ok", NULL);
	CHECK(result->rich_size > 0);
	runs("true", "ok", "");
	CHECK_INT(result->rich_size, 0);
	stop();
}

static void nothing_is_left(void)
{
	size_t before, after;

	/* Its spools are descriptors too. */
	result_free(result);
	result = NULL;
	before = open_fds();
	start("python");
	runs("echo", "ok", "\n");
	result_free(result);
	result = NULL;
	containers_close(all);
	after = open_fds();
	CHECK_INT(after, before);
	CHECK_INT(containers_open(&engines, NULL, &all, &err), 0);
	/* No children: every box has been reaped. */
	CHECK_ERRNO(waitpid(-1, NULL, WNOHANG | __WALL), ECHILD);
}

int main(int argc, char **argv)
{
	as_enter(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	alarm(140);
	home_new();
	if (engines_open(&engines, engine_table, NULL, &err) < 0 || containers_open(&engines, NULL, &all, &err) < 0) {
		printf("not ok set_up: %s\n", err.text);
		return 1;
	}
	RUN(state_stays_and_processes_do_not);
	RUN(input_streams_and_cancels);
	RUN(limits_of_an_exec_end_it_alone);
	RUN(refuses_what_is_not_its_own);
	RUN(counts);
	RUN(execs_take_turns);
	RUN(hostile_programs_end_their_own_box);
	RUN(ends_with_its_time);
	RUN(compiled_languages_run_too);
	RUN(rich_results_are_not_kept);
	RUN(an_agent_that_lies_ends_its_container);
	status_for("nobody");
	containers_close(all);
	CHECK_INT(containers_open(&engines, NULL, &all, &err), 0);
	RUN(nothing_is_left);
	RUN(dies_with_its_keeper);
#ifdef EMBERBOX_FAULTS
	RUN(a_start_that_fails_leaves_nothing);
#endif
	result_free(result);
	containers_close(all);
	home_free();
	return check_failures > 0;
}
