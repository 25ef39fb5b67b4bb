/*
 * The agent: the main program of a container's box. live/agent_wire.h has its
 * protocol.
 *
 * It is pid 2 and the parent of all other programs: it adopts orphans
 * (PR_SET_CHILD_SUBREAPER), so that "no children" means that no process is
 * left. At the end of an order it kills all other processes in the pid
 * namespace. So it refuses to run unless it is pid 2 with pid 1 as its parent;
 * on a host, pid 2 is a kernel thread.
 *
 * Programs have its uid. They can kill or stop it, which ends their box; they
 * cannot inspect it or use its pipes, because it is not dumpable. It is static
 * and small, because every container has a copy. It opens only /dev/null for
 * itself and allocates nothing.
 */
#include "live/agent_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	OUTPUT_BLOCK = 32 << 10,                             /* bytes of output in one frame */
	CONTROL_ROOM = 256,                                  /* bytes reserved for frames that are not output */
	KILL_MSEC = 10,                                      /* interval between two rounds of killing */
	HEAD = (int)sizeof(struct agent_head),               /* bytes of a frame's header */
	IN_ROOM = HEAD + AGENT_FRAME_MAX,                    /* one frame */
	OUT_ROOM = 2 * (HEAD + OUTPUT_BLOCK) + CONTROL_ROOM, /* two blocks of output and the reserved bytes */
};

enum agent_state {
	IDLE,       /* between orders */
	DESCRIBING, /* the frames of an order arrive */
	RUNNING,    /* its program runs */
	ENDING,     /* the processes are being killed, and the rest of their output is sent */
};

/* Consecutive strings, for execve(). */
struct words {
	char *bytes;  /* AGENT_WORDS_MAX of them */
	size_t size;  /* bytes in use */
	char **list;  /* pointers to the strings, set at the start */
	size_t count; /* number of strings */
};

static char argument_bytes[AGENT_WORDS_MAX], variable_bytes[AGENT_WORDS_MAX];
static char *argument_list[AGENT_WORD_COUNT + 1], *variable_list[AGENT_WORD_COUNT + 1];
static struct words words[2] = {
	{ .bytes = argument_bytes, .list = argument_list },
	{ .bytes = variable_bytes, .list = variable_list },
};

static int orders = -1, answers = -1;      /* the pipes to the keeper */
static char in[IN_ROOM], out[OUT_ROOM];    /* incomplete input, unsent output */
static size_t in_size, out_size;           /* bytes in use */
static enum agent_state state;             /* state of the order */
static uint32_t order;                     /* number of the order, or of the last one while idle */
static int file = -1;                      /* the file that is being written */
static int program_input = -1;             /* the program's stdin */
static int program_output[2] = { -1, -1 }; /* its stdout and stderr */
static char input[AGENT_WINDOW];           /* input of the program */
static size_t input_size;                  /* bytes in use */
static bool input_over;                    /* the input has ended */
static uint32_t taken;                     /* consumed bytes that the keeper has not been told of */
static pid_t program;                      /* 0: not started, or reaped */
static struct agent_ended ended;           /* the report of the order's end */

static void in_drop(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static size_t out_left(void)
{
	return sizeof(out) - out_size;
}

/* The caller has checked that there is room. */
static void answer_put(uint32_t kind, const void *data, size_t size)
{
	const struct agent_head head = { .kind = kind, .order = order, .size = (uint32_t)size };

	memcpy(out + out_size, &head, sizeof(head));
	memcpy(out + out_size + sizeof(head), data, size);
	out_size += sizeof(head) + size;
}

static void answers_flush(void)
{
	ssize_t n = out_size > 0 ? write(answers, out, out_size) : 0;

	if (n < 0 && errno != EAGAIN && errno != EINTR)
		_exit(AGENT_EXIT_DONE);
	if (n > 0) {
		out_size -= (size_t)n;
		memmove(out, out + n, out_size);
	}
}

/* The first failure is reported. */
static void order_fail(enum agent_step step, int errnum)
{
	if (ended.step != AGENT_STEP_NONE)
		return;
	ended.step = step;
	ended.errnum = errnum;
}

/* Creates the missing parent directories of a path. */
static void make_parents(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
}

/* Replaces an existing file: it may be a program's FIFO, or a file that is still being executed. */
static void open_file(const char *body, size_t size)
{
	char path[AGENT_PATH_MAX];
	struct agent_file about;

	in_drop(&file);
	if (size <= sizeof(about) || size - sizeof(about) >= sizeof(path))
		_exit(AGENT_EXIT_ORDER);
	memcpy(&about, body, sizeof(about));
	memcpy(path, body + sizeof(about), size - sizeof(about));
	path[size - sizeof(about)] = '\0';
	make_parents(path);
	unlink(path);
	file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0 || fchmod(file, about.mode & 0777) < 0)
		order_fail(AGENT_STEP_FILE, errno);
}

static void write_file(const char *body, size_t size)
{
	while (file >= 0 && size > 0) {
		ssize_t n = write(file, body, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			order_fail(AGENT_STEP_FILE, n < 0 ? errno : ENOSPC);
			in_drop(&file);
			return;
		}
		body += n;
		size -= (size_t)n;
	}
}

static void add_words(struct words *to, const char *body, size_t size)
{
	if (size > AGENT_WORDS_MAX - to->size) {
		order_fail(AGENT_STEP_WORDS, E2BIG);
		return;
	}
	memcpy(to->bytes + to->size, body, size);
	to->size += size;
}

/* The last string needs its NUL as well. */
static void list_words(struct words *of)
{
	of->count = 0;
	if (of->size > 0 && of->bytes[of->size - 1] != '\0')
		_exit(AGENT_EXIT_ORDER);
	for (size_t at = 0; at < of->size; at += strlen(of->bytes + at) + 1) {
		if (of->count == AGENT_WORD_COUNT) {
			order_fail(AGENT_STEP_WORDS, E2BIG);
			break;
		}
		of->list[of->count++] = of->bytes + at;
	}
	of->list[of->count] = NULL;
}

/* Releases the pages of large orders. */
static void forget_words(void)
{
	const size_t page = 4096;

	for (int i = 0; i < 2; i++) {
		char *from = (char *)(((uintptr_t)words[i].bytes + page - 1) & ~(uintptr_t)(page - 1));

		if (words[i].size > 2 * page)
			madvise(from, (size_t)(words[i].bytes + AGENT_WORDS_MAX - from) & ~(page - 1), MADV_DONTNEED);
		words[i].size = 0;
	}
}

/* The kernel's type; all zero is SIG_DFL without flags on every architecture. */
struct agent_sigaction {
	unsigned long words[4]; /* handler, flags, restorer, mask */
};

/* Runs in the vforked child, which shares the agent's memory: only system calls are allowed. */
static void become_program(const char *directory, const int ends[3], volatile int *errnum)
{
	sigset_t none;

	setsid();
	for (int i = 1; i < NSIG; i++)
		syscall(SYS_rt_sigaction, i, &(struct agent_sigaction){ 0 }, NULL, sizeof(uint64_t));
	for (int i = 0; i < 3; i++) {
		if (dup2(ends[i], i) < 0) {
			*errnum = errno;
			_exit(1);
		}
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (chdir(directory) == 0)
		execve(words[0].list[0], words[0].list, words[1].list);
	*errnum = errno;
	_exit(1);
}

/* Our ends are non-blocking; the program's ends block, as it expects. */
static int make_pipes(int ends[3])
{
	int *ours[3] = { &program_input, &program_output[0], &program_output[1] };

	for (int i = 0; i < 3; i++) {
		int pair[2];

		if (pipe2(pair, O_CLOEXEC) < 0)
			return -1;
		*ours[i] = pair[i == 0];
		ends[i] = pair[i != 0];
		if (fcntl(*ours[i], F_SETFL, O_NONBLOCK | (i == 0 ? O_WRONLY : O_RDONLY)) < 0)
			return -1;
	}
	return 0;
}

static void run_program(const char *directory)
{
	int ends[3] = { -1, -1, -1 };
	volatile int errnum = 0;

	if (make_pipes(ends) < 0) {
		order_fail(AGENT_STEP_START, errno);
	} else {
		program = vfork();
		if (program == 0)
			become_program(directory, ends, &errnum);
		if (program < 0)
			errnum = errno;
		if (errnum)
			order_fail(AGENT_STEP_START, errnum);
	}
	for (int i = 0; i < 3; i++)
		in_drop(&ends[i]);
}

static void program_start(const char *body, size_t size)
{
	char directory[AGENT_PATH_MAX];

	in_drop(&file);
	if (size == 0 || size >= sizeof(directory))
		_exit(AGENT_EXIT_ORDER);
	memcpy(directory, body, size);
	directory[size] = '\0';
	list_words(&words[0]);
	list_words(&words[1]);
	if (words[0].count == 0)
		order_fail(AGENT_STEP_START, EINVAL);
	if (ended.step == AGENT_STEP_NONE)
		run_program(directory);
	forget_words();
	if (ended.step == AGENT_STEP_NONE) {
		answer_put(AGENT_STARTED, "", 0);
		state = RUNNING;
	} else {
		state = ENDING;
	}
}

static void take_input(const char *body, size_t size)
{
	if (size > sizeof(input) - input_size || input_over)
		_exit(AGENT_EXIT_ORDER);
	memcpy(input + input_size, body, size);
	input_size += size;
}

/* The program may close its input, or never read it. */
static void input_feed(void)
{
	ssize_t n = input_size;

	if (program_input >= 0 && input_size > 0) {
		n = write(program_input, input, input_size);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0) {
			in_drop(&program_input);
			n = (ssize_t)input_size;
		}
	}
	input_size -= (size_t)n;
	taken += (uint32_t)n;
	memmove(input, input + n, input_size);
	if (input_over && input_size == 0)
		in_drop(&program_input);
}

/* Handles the first frame of an order: clears the data of the previous one. */
static void open_order(uint32_t number)
{
	order = number;
	state = DESCRIBING;
	ended = (struct agent_ended){ 0 };
	input_size = taken = 0;
	input_over = false;
	program = 0;
}

static void frame_obey(const struct agent_head *head, const char *body)
{
	bool opens = state == IDLE && head->order > order;

	/* Frames that were in transit when their order ended. */
	if (state == IDLE && !opens)
		return;
	if (opens)
		open_order(head->order);
	if (head->order != order)
		_exit(AGENT_EXIT_ORDER);
	switch (head->kind) {
	case AGENT_INPUT:
		if (state != ENDING)
			take_input(body, head->size);
		return;
	case AGENT_INPUT_END:
		input_over = true;
		return;
	case AGENT_KILL:
		if (state == DESCRIBING)
			ended.status = SIGKILL;
		state = ENDING;
		return;
	default:
		break;
	}
	/* Killed before its start. */
	if (state == ENDING)
		return;
	if (state != DESCRIBING)
		_exit(AGENT_EXIT_ORDER);
	if (head->kind == AGENT_FILE)
		open_file(body, head->size);
	else if (head->kind == AGENT_DATA)
		write_file(body, head->size);
	else if (head->kind == AGENT_WORDS)
		add_words(&words[0], body, head->size);
	else if (head->kind == AGENT_NAMES)
		add_words(&words[1], body, head->size);
	else if (head->kind == AGENT_START)
		program_start(body, head->size);
	else
		_exit(AGENT_EXIT_ORDER);
}

/* Handles the complete frames of the input. */
static void orders_read(void)
{
	ssize_t n = read(orders, in + in_size, sizeof(in) - in_size);
	struct agent_head head;
	size_t at = 0;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		_exit(AGENT_EXIT_DONE);
	in_size += (size_t)n;
	while (in_size - at >= sizeof(head)) {
		memcpy(&head, in + at, sizeof(head));
		if (head.size > AGENT_FRAME_MAX || head.spare != 0)
			_exit(AGENT_EXIT_ORDER);
		if (in_size - at - sizeof(head) < head.size)
			break;
		frame_obey(&head, in + at + sizeof(head));
		at += sizeof(head) + head.size;
	}
	in_size -= at;
	memmove(in, in + at, in_size);
}

/* Returns false if there is no more output for now. */
static bool output_relay(int stream)
{
	char *body = out + out_size + HEAD;
	struct agent_head head = { .kind = stream == 0 ? AGENT_STDOUT : AGENT_STDERR, .order = order };
	ssize_t n;

	if (program_output[stream] < 0 || out_left() < HEAD + OUTPUT_BLOCK + CONTROL_ROOM)
		return false;
	n = read(program_output[stream], body, OUTPUT_BLOCK);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		in_drop(&program_output[stream]);
		return false;
	}
	head.size = (uint32_t)n;
	memcpy(out + out_size, &head, sizeof(head));
	out_size += sizeof(head) + (size_t)n;
	return true;
}

static void tell_taken(void)
{
	if (taken > 0 && out_left() >= CONTROL_ROOM / 2) {
		answer_put(AGENT_TAKEN, &taken, sizeof(taken));
		taken = 0;
	}
}

/* Returns true if no child is left. */
static bool children_reap(void)
{
	struct rusage usage;
	pid_t pid;
	int status;

	while ((pid = wait4(-1, &status, WNOHANG | __WALL, &usage)) > 0) {
		uint64_t memory = (uint64_t)usage.ru_maxrss * 1024;

		ended.cpu_usec += (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
				  (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
		if (memory > ended.memory)
			ended.memory = memory;
		if (pid == program) {
			ended.status = status;
			program = 0;
			if (state == RUNNING)
				state = ENDING;
		}
	}
	return pid < 0 && errno == ECHILD;
}

/*
 * Kills all processes, sends the rest of their output, then reports the end.
 * Does not wait for the end of the pipes: a descriptor in a socket's queue can
 * outlive its processes.
 */
static void order_settle(void)
{
	kill(-1, SIGKILL);
	if (!children_reap())
		return;
	for (int i = 0; i < 2; i++)
		while (output_relay(i))
			;
	if (out_left() < HEAD + OUTPUT_BLOCK + CONTROL_ROOM)
		return;
	in_drop(&program_input);
	in_drop(&program_output[0]);
	in_drop(&program_output[1]);
	in_drop(&file);
	forget_words();
	answer_put(AGENT_ENDED, &ended, sizeof(ended));
	state = IDLE;
}

static void on_child(int number)
{
	(void)number;
}

/* SIGCHLD arrives only during this wait. */
static void wait_for_work(void)
{
	const struct timespec soon = { .tv_nsec = KILL_MSEC * 1000000L };
	bool room = out_left() >= HEAD + OUTPUT_BLOCK + CONTROL_ROOM;
	struct pollfd fds[] = {
		{ .fd = orders, .events = POLLIN },
		{ .fd = out_size > 0 ? answers : -1, .events = POLLOUT },
		{ .fd = room ? program_output[0] : -1, .events = POLLIN },
		{ .fd = room ? program_output[1] : -1, .events = POLLIN },
		{ .fd = input_size > 0 ? program_input : -1, .events = POLLOUT },
	};
	sigset_t none;

	sigemptyset(&none);
	if (ppoll(fds, sizeof(fds) / sizeof(fds[0]), state == ENDING ? &soon : NULL, &none) < 0)
		return;
	if (fds[0].revents)
		orders_read();
	if (fds[1].revents)
		answers_flush();
	for (int i = 0; i < 2; i++)
		if (fds[2 + i].revents)
			output_relay(i);
}

static void ignore_signals(void)
{
	struct sigaction child = { .sa_handler = on_child };
	sigset_t blocked;

	/* Ignores all signals that a program could send, except SIGKILL and SIGSTOP. */
	for (int i = 1; i < NSIG; i++)
		if (i != SIGKILL && i != SIGSTOP && i != SIGCHLD)
			signal(i, SIG_IGN);
	sigaction(SIGCHLD, &child, NULL);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGCHLD);
	sigprocmask(SIG_SETMASK, &blocked, NULL);
}

static bool set_up(void)
{
	int null;

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return false;
	prctl(PR_SET_NAME, "agent", 0, 0, 0);
	orders = fcntl(0, F_DUPFD_CLOEXEC, 3);
	answers = fcntl(1, F_DUPFD_CLOEXEC, 3);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (orders < 0 || answers < 0 || null < 0)
		return false;
	/* A program gets pipes as 0, 1 and 2; until then /dev/null keeps these numbers in use. */
	for (int i = 0; i < 3; i++)
		if (dup3(null, i, O_CLOEXEC) < 0)
			return false;
	close(null);
	umask(022);
	ignore_signals();
	return fcntl(orders, F_SETFL, O_NONBLOCK) == 0 && fcntl(answers, F_SETFL, O_WRONLY | O_NONBLOCK) == 0;
}

int main(void)
{
	const struct agent_hello hello = { .version = AGENT_VERSION };

	if (getpid() != 2 || getppid() != 1)
		return AGENT_EXIT_PLACE;
	if (!set_up())
		return AGENT_EXIT_SETUP;
	answer_put(AGENT_HELLO, &hello, sizeof(hello));
	for (;;) {
		wait_for_work();
		if (state == RUNNING || state == ENDING) {
			input_feed();
			tell_taken();
		}
		if (state == RUNNING)
			children_reap();
		if (state == ENDING)
			order_settle();
		answers_flush();
	}
}
