/*
 * One order: sent to the agent piece by piece, and followed until its end.
 *
 * This is one loop over descriptors, as supervise.c is for a box: the two pipes,
 * the caller's input and cancellation, the container's end, and deadlines. Each
 * frame from the agent is checked against the state of the order. A frame that
 * does not fit ends the container. Every wait for the agent is bounded: after
 * KILL it has GRACE_USEC.
 */
#include "live/container_parts.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/own.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	DELIVER_USEC = 30000000, /* for the agent to take an order; it takes milliseconds */
	GRACE_USEC = 5000000,    /* for it to report the end after KILL */
	CPU_LOOK_USEC = 2000,    /* the least between two looks at the CPU time */
	FRAME_LEAST = 8 << 10,   /* bytes of room without which no frame is made */
};

/* Which part of the order is sent next. */
enum sending {
	SEND_FILES,
	SEND_WORDS,
	SEND_NAMES,
	SEND_START,
	SEND_INPUT,
	SEND_NOTHING,
};

enum {
	WATCH_ANSWERS,
	WATCH_ORDERS,
	WATCH_SOURCE,
	WATCH_CANCEL,
	WATCH_ENDED,
	WATCHES
};

struct order_talk {
	struct container *container; /* the container of the agent */
	struct channel *channel;     /* the pipes to the agent */
	const struct order *order;   /* the order */
	const struct engine_io *io;  /* the caller's side */
	struct result *result;       /* the result to be filled */
	struct verdict *verdict;     /* of the result */
	uint32_t number;             /* of the order */
	enum sending sending;        /* the part that is sent next */
	size_t file;                 /* in SEND_FILES: the index of the file… */
	bool file_open;              /* …whether its head was sent… */
	size_t at;                   /* …and bytes of the current part that were sent */
	struct buf words[2];         /* arguments and variables, each with its NUL */
	size_t held;                 /* bytes of input that the agent has */
	bool source_open;            /* stdin_fd of io has not ended */
	bool killed;                 /* we ended the order; the verdict's status says why */
	bool kill_sent;              /* KILL was sent, or is in the buffer */
	bool over;                   /* the agent reported the end */
	bool broken;                 /* the agent cannot be talked to */
	uint64_t due_usec;           /* the deadline of the current wait */
	uint64_t cpu_look_usec;      /* when the CPU limit is checked next; 0: never */
	uint64_t sent_usec;          /* when START was made; 0: not yet */
	struct engine_usage before;  /* the box's usage then */
};

static void end_order(struct order_talk *t, enum status status, const char *limit)
{
	if (t->killed)
		return;
	t->killed = true;
	t->verdict->status = status;
	t->verdict->limit = limit;
	t->verdict->ended_usec = clock_usec();
	t->due_usec = t->verdict->ended_usec + GRACE_USEC;
}

static void fail_order(struct order_talk *t, const struct error *err)
{
	if (t->verdict->status != STATUS_ERROR)
		t->verdict->failure = *err;
	end_order(t, STATUS_ERROR, NULL);
	t->verdict->status = STATUS_ERROR;
}

static void reject_answer(struct order_talk *t)
{
	resident_end(&t->container->place.home, "its agent said what it may not", NULL);
	t->broken = true;
}

/* Drivers are not sent: every box of the language has them. */
static bool is_sent(const struct job_file *file)
{
	return strncmp(file->path, "opt/", 4) != 0;
}

static void next_file(struct order_talk *t)
{
	t->file++;
	t->file_open = false;
	t->at = 0;
}

static void send_data(struct order_talk *t, const struct job_file *file)
{
	char block[FRAME_LEAST];
	struct error err;
	ssize_t n;

	if (file->fd < 0) {
		size_t left = file->size - t->at, room = channel_room(t->channel);

		n = (ssize_t)(left < room ? left : room);
		if (n > 0)
			channel_put(t->channel, AGENT_DATA, t->number, NULL, 0, (const char *)file->data + t->at,
				    (size_t)n);
	} else {
		n = read(file->fd, block, sizeof(block));
		if (n < 0 && errno == EINTR)
			return;
		if (n < 0) {
			error_errno(&err, "cannot read the compiled program");
			fail_order(t, &err);
			return;
		}
		if (n > 0)
			channel_put(t->channel, AGENT_DATA, t->number, NULL, 0, block, (size_t)n);
	}
	t->at += (size_t)n;
	if (n == 0)
		next_file(t);
}

static void send_files(struct order_talk *t)
{
	const struct job_file *file = &t->order->files[t->file];
	struct agent_file about = { 0 };
	char path[AGENT_PATH_MAX];
	int size;

	if (t->file == t->order->file_count) {
		t->sending = SEND_WORDS;
		return;
	}
	if (!is_sent(file)) {
		next_file(t);
		return;
	}
	if (t->file_open) {
		send_data(t, file);
		return;
	}
	about.mode = file->mode;
	/* Below AGENT_PATH_MAX by text_path_fault(). */
	size = snprintf(path, sizeof(path), "/%s", file->path);
	channel_put(t->channel, AGENT_FILE, t->number, &about, sizeof(about), path, (size_t)size);
	t->file_open = true;
}

static void send_words(struct order_talk *t, int which)
{
	const struct buf *words = &t->words[which];
	size_t left = words->size - t->at, room = channel_room(t->channel);
	size_t part = left < room ? left : room;

	if (part > 0)
		channel_put(t->channel, which == 0 ? AGENT_WORDS : AGENT_NAMES, t->number, NULL, 0, words->data + t->at,
			    part);
	t->at += part;
	if (t->at == words->size) {
		t->at = 0;
		t->sending++;
	}
}

static void send_start(struct order_talk *t)
{
	const struct limits *limits = &t->order->limits;

	channel_put(t->channel, AGENT_START, t->number, NULL, 0, BOX_CODE, strlen(BOX_CODE));
	resident_usage(&t->container->place.home, &t->before);
	t->sent_usec = clock_usec();
	t->due_usec = t->sent_usec + (uint64_t)(limits->timeout * 1e6);
	if (limits->cpu_time > 0)
		t->cpu_look_usec =
			t->sent_usec + (uint64_t)(limits->cpu_time * 1e6 / (limits->cpus > 1 ? limits->cpus : 1));
	t->sending = SEND_INPUT;
}

/* Bytes of input that may be sent to the agent now. */
static size_t input_room(const struct order_talk *t)
{
	size_t room = channel_room(t->channel), window = AGENT_WINDOW - t->held;

	return room < window ? room : window;
}

static void end_input(struct order_talk *t)
{
	channel_put(t->channel, AGENT_INPUT_END, t->number, NULL, 0, NULL, 0);
	t->sending = SEND_NOTHING;
}

/* True: a frame was made. */
static bool send_input(struct order_talk *t)
{
	size_t left = t->order->input_size - t->at, room = input_room(t);
	size_t part = left < room ? left : room;

	if (t->source_open)
		return false;
	if (left == 0) {
		end_input(t);
		return true;
	}
	if (part == 0)
		return false;
	channel_put(t->channel, AGENT_INPUT, t->number, NULL, 0, (const char *)t->order->input + t->at, part);
	t->at += part;
	t->held += part;
	return true;
}

/* Makes frames while there is room for them, in the sequence of enum sending. False: none was made. */
static bool make_frames(struct order_talk *t)
{
	size_t before = t->channel->out_size;
	bool more = true;

	while (more && !t->killed && channel_room(t->channel) >= FRAME_LEAST) {
		if (t->sending == SEND_FILES)
			send_files(t);
		else if (t->sending == SEND_WORDS || t->sending == SEND_NAMES)
			send_words(t, t->sending == SEND_NAMES);
		else if (t->sending == SEND_START)
			send_start(t);
		else
			more = t->sending == SEND_INPUT && send_input(t);
	}
	if (t->killed && !t->kill_sent)
		t->kill_sent = channel_put(t->channel, AGENT_KILL, t->number, NULL, 0, NULL, 0);
	return t->channel->out_size > before;
}

/* Sends until the pipe is full, or nothing is left to send. */
static void send_frames(struct order_talk *t)
{
	while (make_frames(t) || channel_waits(t->channel)) {
		/* The agent is gone. The other pipe tells so, too, after the agent's last frames. */
		if (channel_write(t->channel) < 0) {
			t->channel->out_size = t->channel->out_used = 0;
			return;
		}
		if (channel_waits(t->channel))
			return;
	}
}

/* The caller's input can be read. */
static void on_source(struct order_talk *t)
{
	char block[AGENT_WINDOW];
	ssize_t n = read(t->io->stdin_fd, block, input_room(t));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		t->source_open = false;
		return;
	}
	channel_put(t->channel, AGENT_INPUT, t->number, NULL, 0, block, (size_t)n);
	t->held += (size_t)n;
}

static void on_output(struct order_talk *t, int index, const void *data, size_t size)
{
	struct output *output = &t->result->outputs[index];
	struct error err;
	long fits;

	/* Output beyond the limit is dropped, and all output once we have failed. */
	if (output->over || t->verdict->status == STATUS_ERROR)
		return;
	fits = output_add(output, data, size);
	if (fits < 0) {
		error_errno(&err, "cannot keep the program's output");
		fail_order(t, &err);
		return;
	}
	if (fits > 0 && t->io->on_output)
		t->io->on_output(index + 1, data, (size_t)fits, t->io->userdata);
	if (output->over)
		end_order(t, STATUS_OUTPUT_LIMIT, "output");
}

static void explain_step(struct order_talk *t, const struct agent_ended *ended)
{
	int errnum = ended->errnum > 0 && ended->errnum < 4096 ? ended->errnum : EPROTO;
	struct error err;

	if (ended->step == AGENT_STEP_FILE)
		error_set(&err, ERROR_FAILED, errnum, "cannot write the files into the container");
	else if (ended->step == AGENT_STEP_WORDS)
		error_set(&err, ERROR_FAILED, errnum, "cannot hand the arguments and variables to the container");
	else
		error_set(&err, ERROR_FAILED, errnum, "cannot start %.200s in the container", t->order->argv[0]);
	fail_order(t, &err);
}

/* The box's usage during the order, as the group or the supervisor counts it, or as the agent reports it, if that is
 * more. The agent's numbers are bounded by what is possible. False: the box is ending, because the kernel killed a
 * process for memory, or has ended. */
static bool count_usage(struct order_talk *t, const struct agent_ended *ended)
{
	struct verdict *v = t->verdict;
	uint64_t cpu_most = (clock_usec() - t->sent_usec) * (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t memory_most = t->order->limits.memory;
	struct engine_usage now;
	const bool live = resident_usage(&t->container->place.home, &now);

	v->cpu_usec = ended->cpu_usec < cpu_most ? ended->cpu_usec : cpu_most;
	if (now.cpu_usec > t->before.cpu_usec && now.cpu_usec - t->before.cpu_usec > v->cpu_usec)
		v->cpu_usec = now.cpu_usec - t->before.cpu_usec;
	v->memory_peak = ended->memory < memory_most ? ended->memory : memory_most;
	/* The box's peak is that of its whole life. If it has grown, it was reached during this order. */
	if (now.memory_peak > t->before.memory_peak)
		now.memory = now.memory_peak;
	if (now.memory > v->memory_peak)
		v->memory_peak = now.memory;
	if (now.oom_kills > t->before.oom_kills)
		resident_end(&t->container->place.home, "its memory limit was exceeded", NULL);
	return live && now.oom_kills == t->before.oom_kills;
}

static void on_ended(struct order_talk *t, const struct agent_ended *ended)
{
	struct verdict *v = t->verdict;

	/* The program ended because the box does, and the box's end says why. A program that succeeded has succeeded.
	 */
	if (t->sent_usec && !count_usage(t, ended) && !t->killed && ended->status != 0) {
		t->broken = true;
		return;
	}
	t->over = true;
	if (t->killed)
		return;
	if (ended->step != AGENT_STEP_NONE) {
		explain_step(t, ended);
		return;
	}
	v->ended = true;
	v->wait_status = ended->status;
	v->ended_usec = clock_usec();
	v->status = ended->status == 0 ? STATUS_OK : STATUS_FAILED;
	/* If our own process was stopped meanwhile, the program was late all the same. */
	if (v->ended_usec > t->due_usec) {
		v->status = STATUS_TIMEOUT;
		v->limit = "timeout";
	}
}

static bool is_end(const struct agent_head *head, const void *body, struct agent_ended *ended)
{
	if (head->size != sizeof(*ended))
		return false;
	memcpy(ended, body, sizeof(*ended));
	return ended->step < AGENT_STEPS && ended->spare == 0 && (ended->status & ~0xffff) == 0 &&
	       (WIFEXITED(ended->status) || WIFSIGNALED(ended->status));
}

static void on_taken(struct order_talk *t, const struct agent_head *head, const void *body)
{
	uint32_t size = 0;

	if (head->size == sizeof(size))
		memcpy(&size, body, sizeof(size));
	if (size == 0 || size > t->held)
		reject_answer(t);
	else
		t->held -= size;
}

static void on_frame(struct order_talk *t, const struct agent_head *head, const void *body)
{
	bool running = t->verdict->started_usec != 0;
	struct agent_ended ended;

	if (head->order != t->number)
		reject_answer(t);
	else if (head->kind == AGENT_STARTED && head->size == 0 && t->sent_usec && !running)
		t->verdict->started_usec = t->sent_usec;
	else if ((head->kind == AGENT_STDOUT || head->kind == AGENT_STDERR) && head->size > 0 && running)
		on_output(t, head->kind == AGENT_STDERR, body, head->size);
	else if (head->kind == AGENT_TAKEN)
		on_taken(t, head, body);
	else if (head->kind == AGENT_ENDED && (t->sent_usec || t->kill_sent) && is_end(head, body, &ended))
		on_ended(t, &ended);
	else
		reject_answer(t);
}

static void on_answers(struct order_talk *t)
{
	struct agent_head head;
	const void *body;
	int got = channel_read(t->channel);

	if (got < 0 && errno == EAGAIN)
		return;
	if (got <= 0) {
		t->broken = true;
		return;
	}
	while (!t->over && !t->broken && (got = channel_next(t->channel, &head, &body)) != 0) {
		if (got < 0)
			reject_answer(t);
		else
			on_frame(t, &head, body);
	}
}

static void look_at_cpu(struct order_talk *t, uint64_t now)
{
	const struct limits *limits = &t->order->limits;
	struct engine_usage usage;
	double left = limits->cpu_time * 1e6;

	resident_usage(&t->container->place.home, &usage);
	if (usage.cpu_usec > t->before.cpu_usec)
		left -= (double)(usage.cpu_usec - t->before.cpu_usec);
	if (left <= 0) {
		end_order(t, STATUS_TIMEOUT, "cpu_time");
		return;
	}
	left /= limits->cpus > 1 ? limits->cpus : 1;
	t->cpu_look_usec = now + (uint64_t)(left > CPU_LOOK_USEC ? left : CPU_LOOK_USEC);
}

static void on_time(struct order_talk *t)
{
	uint64_t now = clock_usec();

	if (now >= t->due_usec && (t->killed || !t->sent_usec)) {
		resident_end(&t->container->place.home, "its agent did not answer", NULL);
		t->broken = true;
	} else if (now >= t->due_usec) {
		end_order(t, STATUS_TIMEOUT, "timeout");
	} else if (t->cpu_look_usec && now >= t->cpu_look_usec && !t->killed) {
		look_at_cpu(t, now);
	}
}

static int wait_msec(const struct order_talk *t)
{
	uint64_t due = t->due_usec, now = clock_usec(), msec;

	if (t->cpu_look_usec && !t->killed && t->cpu_look_usec < due)
		due = t->cpu_look_usec;
	if (due <= now)
		return 0;
	msec = (due - now + 999) / 1000;
	return msec < 3600000 ? (int)msec : 3600000;
}

static void fill_polls(struct order_talk *t, struct pollfd *fds)
{
	bool reading = t->source_open && t->sending == SEND_INPUT && !t->killed && input_room(t) > 0;

	fds[WATCH_ANSWERS] = (struct pollfd){ .fd = t->channel->from, .events = POLLIN };
	fds[WATCH_ORDERS] = (struct pollfd){ .fd = channel_waits(t->channel) ? t->channel->to : -1, .events = POLLOUT };
	fds[WATCH_SOURCE] = (struct pollfd){ .fd = reading ? t->io->stdin_fd : -1, .events = POLLIN };
	fds[WATCH_CANCEL] = (struct pollfd){ .fd = t->killed ? -1 : t->io->cancel_fd, .events = POLLIN };
	fds[WATCH_ENDED] = (struct pollfd){ .fd = t->container->place.home.ended_fd, .events = POLLIN };
}

static void dispatch_events(struct order_talk *t, const struct pollfd *fds)
{
	/* Answers first: an end that was reported before a deadline counts, and so does output from before the box's
	 * end. */
	if (fds[WATCH_ANSWERS].revents)
		on_answers(t);
	else if (fds[WATCH_ENDED].revents)
		t->broken = true;
	if (t->over || t->broken)
		return;
	if (fds[WATCH_SOURCE].revents)
		on_source(t);
	if (fds[WATCH_CANCEL].revents && !t->killed) {
		t->verdict->cancelled = true;
		end_order(t, STATUS_KILLED, NULL);
	}
	on_time(t);
}

static void talk_loop(struct order_talk *t)
{
	struct pollfd fds[WATCHES];
	struct error err;

	while (!t->over && !t->broken) {
		send_frames(t);
		fill_polls(t, fds);
		if (poll(fds, WATCHES, wait_msec(t)) < 0) {
			if (errno == EINTR)
				continue;
			error_errno(&err, "cannot watch the container");
			fail_order(t, &err);
			resident_end(&t->container->place.home, err.text, NULL);
			return;
		}
		dispatch_events(t, fds);
	}
}

static int join_words(const char *const *list, const char *what, struct buf *out, struct error *err)
{
	size_t count = 0;

	for (; list[count]; count++)
		buf_add(out, list[count], strlen(list[count]) + 1);
	if (out->failed)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the order");
	if (out->size > AGENT_WORDS_MAX || count > AGENT_WORD_COUNT)
		return error_field(err, what, "they are %zu bytes, more than the 2m that a program can be given",
				   out->size);
	return 0;
}

int order_run(struct container *container, const struct order *order, const struct engine_io *io, struct error *err)
{
	struct order_talk t = {
		.container = container,
		.channel = &container->channel,
		.order = order,
		.io = io,
		.result = order->result,
		.verdict = &order->result->verdict,
		.number = ++container->order,
		.source_open = io->stdin_fd >= 0,
		.due_usec = clock_usec() + DELIVER_USEC,
	};
	int done = join_words(order->argv, "args", &t.words[0], err);

	*t.verdict = (struct verdict){ .status = STATUS_KILLED };
	if (done == 0)
		done = join_words(order->envp, "env", &t.words[1], err);
	if (done == 0) {
		talk_loop(&t);
		done = t.over ? 0 : 1;
	}
	buf_free(&t.words[0]);
	buf_free(&t.words[1]);
	return done;
}
