/*
 * The agent's words, without a box: in a pid namespace of its own, because it
 * kills whoever else is there.
 *
 * tests/run: args=--as root | --as user
 */
#include "../check.h"
#include "../kern/as.h"
#include "tree.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "kernel/clone.h"
#include "kernel/userns.h"
#include "live/channel.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

extern const unsigned char agent_data[];
extern const size_t agent_size;

enum {
	PATIENCE_USEC = 20000000 /* for an answer; it takes milliseconds */
};

static struct channel *agent; /* to the running one */
static pid_t init;            /* its parent, pid 1 of its namespace */
static struct userns_ids ids; /* of it */
static uint32_t number;       /* the last order's */
static char *place;           /* a directory that it may write to */

/* What came of an order. */
static struct agent_ended ended; /* its end */
static char output[2][64 << 10]; /* the beginning of its streams */
static size_t bytes[2];          /* how much they were */
static size_t taken;             /* input that the agent let go of */

static int agent_file(void)
{
	int fd = memfd_create("agent", MFD_CLOEXEC);

	if (fd < 0 || fd_write(fd, agent_data, agent_size) < 0)
		abort();
	return fd;
}

static _Noreturn void become_agent(int file, int in, int out)
{
	static char name[] = "agent";
	char *argv[] = { name, NULL }, *envp[] = { NULL };

	if (dup2(in, 0) >= 0 && dup2(out, 1) >= 0)
		fexecve(file, argv, envp);
	_exit(99);
}

/* pid 1: passes on how the agent, pid 2, ended. */
static _Noreturn void run_init(int go, int file, int in, int out)
{
	sigset_t none;
	int status = 0;
	pid_t pid;
	char byte;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	alarm(60);
	if (read(go, &byte, 1) != 1 || userns_become(ids.own) < 0)
		_exit(98);
	pid = fork();
	if (pid == 0)
		become_agent(file, in, out);
	close(in);
	close(out);
	while (waitpid(-1, &status, 0) != pid)
		;
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status));
}

static int wait_frame(struct agent_head *head, const void **body)
{
	uint64_t until = clock_usec() + PATIENCE_USEC;
	struct pollfd from = { .fd = agent->from, .events = POLLIN };
	int got;

	while ((got = channel_next(agent, head, body)) == 0) {
		if (clock_usec() > until || poll(&from, 1, PATIENCE_USEC / 1000) != 1)
			return -2;
		if (channel_read(agent) == 0)
			return -1;
	}
	return got;
}

static void agent_start(void)
{
	int to[2], from[2], go[2], pidfd = -1, file = agent_file();
	struct agent_head head = { 0 };
	struct agent_hello hello = { 0 };
	const void *body = NULL;
	struct error err = { 0 };

	if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0 || pipe2(go, O_CLOEXEC) < 0 ||
	    userns_take(userns_can_range(), &ids, &err) < 0)
		abort();
	fflush(stdout);
	init = clone_into(CLONE_NEWUSER | CLONE_NEWPID, -1, &pidfd);
	if (init == 0) {
		close(to[1]);
		close(from[0]);
		close(go[1]);
		run_init(go[0], file, to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	close(go[0]);
	close(file);
	close(pidfd);
	CHECK_INT(userns_map(init, &ids, &err), 0);
	CHECK_INT(write(go[1], "g", 1), 1);
	close(go[1]);
	agent = calloc(1, sizeof(*agent));
	agent->to = to[1];
	agent->from = from[0];
	fcntl(agent->to, F_SETFL, O_NONBLOCK | O_WRONLY);
	fcntl(agent->from, F_SETFL, O_NONBLOCK);
	CHECK_INT(wait_frame(&head, &body), 1);
	CHECK_INT(head.kind, AGENT_HELLO);
	CHECK_INT(head.order, 0);
	CHECK_INT(head.size, sizeof(hello));
	if (!check_failed)
		memcpy(&hello, body, sizeof(hello));
	CHECK_INT(hello.version, AGENT_VERSION);
	number = 0;
}

/* How the agent ended, once its orders do. */
static int agent_end(void)
{
	int status = -1;

	close(agent->to);
	close(agent->from);
	free(agent);
	agent = NULL;
	CHECK_INT(clone_wait(init, &status), 0);
	userns_release(&ids);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

/* All of it: the agent never leaves its orders unread. */
static void say_as(uint32_t order, enum agent_kind kind, const void *data, size_t size)
{
	struct pollfd to = { .fd = agent->to, .events = POLLOUT };

	CHECK(channel_put(agent, kind, order, NULL, 0, data, size));
	while (channel_waits(agent)) {
		if (poll(&to, 1, PATIENCE_USEC / 1000) != 1 || channel_write(agent) < 0)
			return;
	}
	channel_write(agent);
}

static void say(enum agent_kind kind, const void *data, size_t size)
{
	say_as(number, kind, data, size);
}

static void say_file(const char *path, unsigned mode, const char *content)
{
	char body[4200];
	const struct agent_file about = { .mode = mode };

	memcpy(body, &about, sizeof(about));
	memcpy(body + sizeof(about), path, strlen(path));
	say(AGENT_FILE, body, sizeof(about) + strlen(path));
	if (*content)
		say(AGENT_DATA, content, strlen(content));
}

static void begin(void)
{
	number++;
	bytes[0] = bytes[1] = taken = 0;
	memset(output, 0, sizeof(output));
	ended = (struct agent_ended){ .status = -1 };
}

static void say_shell(const char *script)
{
	static const char shell[] = "/bin/sh\0-c";

	say(AGENT_WORDS, shell, sizeof(shell));
	say(AGENT_WORDS, script, strlen(script) + 1);
	say(AGENT_START, "/", 1);
}

static void keep(int stream, const void *body, size_t size)
{
	size_t room =
		sizeof(output[0]) - 1 - (bytes[stream] < sizeof(output[0]) ? bytes[stream] : sizeof(output[0]) - 1);

	memcpy(output[stream] + sizeof(output[0]) - 1 - room, body, size < room ? size : room);
	bytes[stream] += size;
}

/* One frame of the order. 1: it was the end. */
static int follow(void)
{
	struct agent_head head;
	const void *body;
	uint32_t part;

	if (wait_frame(&head, &body) != 1) {
		check_fail("the agent said nothing more");
		return 1;
	}
	CHECK_INT(head.order, number);
	if (head.kind == AGENT_STDOUT || head.kind == AGENT_STDERR) {
		keep(head.kind == AGENT_STDERR, body, head.size);
	} else if (head.kind == AGENT_TAKEN) {
		memcpy(&part, body, sizeof(part));
		taken += part;
	} else if (head.kind == AGENT_ENDED) {
		CHECK_INT(head.size, sizeof(ended));
		memcpy(&ended, body, sizeof(ended));
		return 1;
	} else {
		CHECK_INT(head.kind, AGENT_STARTED);
	}
	return 0;
}

static void finish(void)
{
	while (!follow())
		;
}

static void run_shell(const char *script)
{
	begin();
	say_shell(script);
	say(AGENT_INPUT_END, NULL, 0);
	finish();
}

/* On a host it would kill everybody: pid 2 of a namespace is what it has to be. */
static void refuses_another_place(void)
{
	int file = agent_file(), status = -1;
	pid_t pid = fork();

	if (pid == 0)
		become_agent(file, 0, 1);
	close(file);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(WIFEXITED(status) ? WEXITSTATUS(status) : -1, AGENT_EXIT_PLACE);
}

static void runs_what_is_ordered(void)
{
	static const char names[] = "A=1\0B=two words";

	agent_start();
	begin();
	say(AGENT_NAMES, names, sizeof(names));
	say_shell("pwd; echo \"$A,$B\"; cat; echo err >&2; exit 7");
	say(AGENT_INPUT, "in", 2);
	say(AGENT_INPUT, "put\n", 4);
	say(AGENT_INPUT_END, NULL, 0);
	finish();
	CHECK_STR(output[0], "/\n1,two words\ninput\n");
	CHECK_STR(output[1], "err\n");
	CHECK_INT(ended.step, AGENT_STEP_NONE);
	CHECK(WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == 7);
	CHECK_INT(taken, 6);
	CHECK(ended.memory > 100000);
	run_shell("kill -TERM $$");
	CHECK(WIFSIGNALED(ended.status) && WTERMSIG(ended.status) == SIGTERM);
	CHECK_INT(agent_end(), AGENT_EXIT_DONE);
}

static void writes_files(void)
{
	char path[512], below[520], script[2048];
	struct stat st;

	agent_start();
	snprintf(path, sizeof(path), "%s/a/b/file", place);
	snprintf(below, sizeof(below), "%s/below", path);
	begin();
	say_file(path, 0755, "#!/bin/sh\necho one\n");
	say_shell(path);
	finish();
	CHECK_STR(output[0], "one\n");
	CHECK_INT(stat(path, &st), 0);
	CHECK_INT(st.st_mode & 07777, 0755);
	/* What is in the way would hold up who opens it. */
	snprintf(script, sizeof(script), "rm %s && mkfifo %s", path, path);
	run_shell(script);
	CHECK_INT(ended.status, 0);
	begin();
	say_file(path, 0644, "two\n");
	snprintf(script, sizeof(script), "cat %s", path);
	say_shell(script);
	finish();
	CHECK_STR(output[0], "two\n");
	begin();
	say_file(below, 0644, "three\n");
	say_shell("echo never");
	finish();
	CHECK_INT(ended.step, AGENT_STEP_FILE);
	CHECK_INT(ended.errnum, ENOTDIR);
	CHECK_INT(bytes[0], 0);
	run_shell("echo after");
	CHECK_STR(output[0], "after\n");
	CHECK_INT(agent_end(), AGENT_EXIT_DONE);
}

static void tells_what_cannot_start(void)
{
	static const char missing[] = "/no/such/program";

	agent_start();
	begin();
	say(AGENT_WORDS, missing, sizeof(missing));
	say(AGENT_START, "/", 1);
	finish();
	CHECK_INT(ended.step, AGENT_STEP_START);
	CHECK_INT(ended.errnum, ENOENT);
	begin();
	say(AGENT_START, "/", 1);
	finish();
	CHECK_INT(ended.step, AGENT_STEP_START);
	CHECK_INT(ended.errnum, EINVAL);
	CHECK_INT(agent_end(), AGENT_EXIT_DONE);
}

static void takes_as_many_words_as_the_kernel(void)
{
	static char word[100 << 10];

	agent_start();
	begin();
	memset(word, 'x', sizeof(word) - 1);
	/* More than a frame: cut anywhere. */
	say(AGENT_NAMES, "A=", 2);
	say(AGENT_NAMES, word, 50 << 10);
	say(AGENT_NAMES, word + (50 << 10), sizeof(word) - (50 << 10));
	say_shell("echo ${#A}");
	finish();
	CHECK_STR(output[0], "102399\n");
	begin();
	for (int i = 0; i < 42; i++)
		say(AGENT_NAMES, word, 50 << 10);
	say(AGENT_NAMES, "", 1);
	say_shell("echo never");
	finish();
	CHECK_INT(ended.step, AGENT_STEP_WORDS);
	CHECK_INT(ended.errnum, E2BIG);
	run_shell("echo ${#A}");
	CHECK_STR(output[0], "0\n");
	CHECK_INT(agent_end(), AGENT_EXIT_DONE);
}

/* No process outlives its order, however it hides. */
static void leaves_nobody(void)
{
	char script[256];
	int pids[3] = { 0 };

	agent_start();
	run_shell("sleep 1000 & echo $!; setsid sleep 1000 & echo $!; (trap '' TERM HUP; sleep 1000 & echo $!) & wait "
		  "$!");
	CHECK_INT(ended.status, 0);
	CHECK_INT(sscanf(output[0], "%d %d %d", &pids[0], &pids[1], &pids[2]), 3);
	for (int i = 0; i < 3; i++) {
		snprintf(script, sizeof(script), "kill -0 %d", pids[i]);
		run_shell(script);
		CHECK(WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == 1);
	}
	/* The control: a signal to somebody who is there. */
	run_shell("sleep 1000 & kill -0 $!");
	CHECK_INT(ended.status, 0);
	CHECK_INT(agent_end(), AGENT_EXIT_DONE);
}

/* Output that nobody reads holds up the program, not the agent: a KILL is heard. */
static void is_not_flooded(void)
{
	agent_start();
	run_shell("head -c 10000000 /dev/zero; head -c 5000 /dev/zero >&2");
	CHECK_INT(ended.status, 0);
	CHECK_INT(bytes[0], 10000000);
	CHECK_INT(bytes[1], 5000);
	begin();
	say_shell("cat /dev/zero");
	while (bytes[0] == 0)
		follow();
	say(AGENT_KILL, NULL, 0);
	finish();
	CHECK(WIFSIGNALED(ended.status) && WTERMSIG(ended.status) == SIGKILL);
	/* What was in pipes and buffers, and no more. */
	CHECK(bytes[0] < 1 << 20);
	run_shell("echo alive");
	CHECK_STR(output[0], "alive\n");
	CHECK_INT(agent_end(), AGENT_EXIT_DONE);
}

static void holds_one_window_of_input(void)
{
	static char block[AGENT_WINDOW];

	agent_start();
	begin();
	say_shell("echo up; exec sleep 1000");
	while (bytes[0] == 0)
		follow();
	/* Its pipe takes one window, the agent holds another. */
	say(AGENT_INPUT, block, sizeof(block));
	while (taken < sizeof(block))
		follow();
	say(AGENT_INPUT, block, sizeof(block));
	say(AGENT_KILL, NULL, 0);
	finish();
	CHECK(WIFSIGNALED(ended.status) && WTERMSIG(ended.status) == SIGKILL);
	/* The second was held until there was nobody to write it to. */
	CHECK(taken == sizeof(block) || taken == 2 * sizeof(block));
	/* A program that closes its input gets none, and the keeper is told that it is gone. */
	begin();
	say_shell("exec <&-; echo up; exec sleep 1000");
	while (bytes[0] == 0)
		follow();
	say(AGENT_INPUT, block, sizeof(block));
	while (taken < sizeof(block))
		follow();
	say(AGENT_KILL, NULL, 0);
	finish();
	/* More than was granted. */
	begin();
	say_shell("echo up; exec sleep 1000");
	while (bytes[0] == 0)
		follow();
	for (int i = 0; i < 3; i++)
		say(AGENT_INPUT, block, sizeof(block));
	CHECK_INT(agent_end(), AGENT_EXIT_ORDER);
}

static void drops_what_comes_late(void)
{
	agent_start();
	begin();
	say(AGENT_WORDS, "/bin/sh", 8);
	say(AGENT_KILL, NULL, 0);
	say(AGENT_INPUT, "late", 4);
	say(AGENT_START, "/", 1);
	finish();
	CHECK(WIFSIGNALED(ended.status) && WTERMSIG(ended.status) == SIGKILL);
	CHECK_INT(ended.step, AGENT_STEP_NONE);
	say(AGENT_KILL, NULL, 0);
	say(AGENT_INPUT, "late", 4);
	run_shell("echo next");
	CHECK_STR(output[0], "next\n");
	CHECK_INT(agent_end(), AGENT_EXIT_DONE);
}

/* The frame makes it give up: nobody guesses what was meant. */
static void ends_by(const void *frame, size_t size, const char *name)
{
	struct pollfd from;
	int got;

	agent_start();
	CHECK_INT(write(agent->to, frame, size), (ssize_t)size);
	from = (struct pollfd){ .fd = agent->from, .events = POLLIN };
	CHECK_INT(poll(&from, 1, PATIENCE_USEC / 1000), 1);
	got = agent_end();
	if (got != AGENT_EXIT_ORDER)
		check_fail("%s: the agent ended with %d", name, got);
}

static void gives_up_on_nonsense(void)
{
	struct {
		struct agent_head head;
		char body[16];
	} frame = { .head = { .kind = 99, .order = 1 } };

	ends_by(&frame, sizeof(frame.head), "unknown kind");
	frame.head = (struct agent_head){ .kind = AGENT_DATA, .order = 1, .size = AGENT_FRAME_MAX + 1 };
	ends_by(&frame, sizeof(frame.head), "too large");
	frame.head = (struct agent_head){ .kind = AGENT_DATA, .order = 1, .spare = 1 };
	ends_by(&frame, sizeof(frame.head), "spare");
	frame.head = (struct agent_head){ .kind = AGENT_FILE, .order = 1, .size = 4 };
	ends_by(&frame, sizeof(frame.head) + 4, "file without a path");
	frame.head = (struct agent_head){ .kind = AGENT_START, .order = 1, .size = 0 };
	ends_by(&frame, sizeof(frame.head), "no directory");
}

static void dies_with_its_orders(void)
{
	agent_start();
	begin();
	say_shell("echo up; exec sleep 1000");
	while (bytes[0] == 0)
		follow();
	CHECK_INT(agent_end(), AGENT_EXIT_DONE);
}

/* All signals but two are nothing to it. */
static void shrugs_off_signals(void)
{
	agent_start();
	run_shell("for s in HUP INT QUIT TERM USR1 PIPE ALRM XCPU XFSZ TSTP CHLD SEGV ABRT 40; do kill -$s 2; done; "
		  "echo done");
	CHECK_STR(output[0], "done\n");
	/* And they are what they were for whom it starts. */
	run_shell("(trap - TERM; kill -TERM $(exec sh -c 'echo $PPID')) ; echo $?");
	CHECK_STR(output[0], "143\n");
	begin();
	say_shell("kill -KILL 2");
	{
		struct agent_head head;
		const void *body;
		int got;

		while ((got = wait_frame(&head, &body)) == 1)
			;
		CHECK_INT(got, -1);
	}
	CHECK_INT(agent_end(), 100 + SIGKILL);
}

/* The keeper's end: what a stranger sends. */
static void channel_checks_frames(void)
{
	struct agent_head head = { .kind = AGENT_STDOUT, .order = 1, .size = 3 }, got;
	struct channel *channel = calloc(1, sizeof(*channel));
	const void *body;
	int ends[2];

	CHECK_INT(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
	channel->from = ends[0];
	channel->to = -1;
	CHECK_INT(channel_next(channel, &got, &body), 0);
	CHECK_ERRNO(channel_read(channel), EAGAIN);
	CHECK_INT(write(ends[1], &head, sizeof(head)), sizeof(head));
	CHECK_INT(channel_read(channel), 1);
	CHECK_INT(channel_next(channel, &got, &body), 0);
	CHECK_INT(write(ends[1], "abc", 3), 3);
	CHECK_INT(channel_read(channel), 1);
	CHECK_INT(channel_next(channel, &got, &body), 1);
	CHECK(got.size == 3 && memcmp(body, "abc", 3) == 0);
	CHECK_INT(channel_next(channel, &got, &body), 0);
	head.size = AGENT_FRAME_MAX + 1;
	CHECK_INT(write(ends[1], &head, sizeof(head)), sizeof(head));
	CHECK_INT(channel_read(channel), 1);
	CHECK_INT(channel_next(channel, &got, &body), -1);
	channel->in_used = channel->in_size;
	head = (struct agent_head){ .kind = AGENT_STDOUT, .spare = 1 };
	CHECK_INT(write(ends[1], &head, sizeof(head)), sizeof(head));
	CHECK_INT(channel_read(channel), 1);
	CHECK_INT(channel_next(channel, &got, &body), -1);
	close(ends[1]);
	CHECK_INT(channel_read(channel), 0);
	close(ends[0]);
	free(channel);
}

int main(int argc, char **argv)
{
	as_enter(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	alarm(110);
	place = tree_new();
	chmod(place, 0777);
	RUN(channel_checks_frames);
	RUN(refuses_another_place);
	RUN(runs_what_is_ordered);
	RUN(writes_files);
	RUN(tells_what_cannot_start);
	RUN(takes_as_many_words_as_the_kernel);
	RUN(leaves_nobody);
	RUN(is_not_flooded);
	RUN(holds_one_window_of_input);
	RUN(drops_what_comes_late);
	RUN(gives_up_on_nonsense);
	RUN(dies_with_its_orders);
	RUN(shrugs_off_signals);
	tree_free(place);
	return check_failures > 0;
}
