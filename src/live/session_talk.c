/*
 * One question to a driver, or one cell: sent, and followed until its end.
 *
 * This is one loop over descriptors, as supervise.c is for a box: the channel,
 * the program's two outputs, the caller's input and cancellation, the interrupt
 * of another caller, the box's end, and deadlines. Each message by the channel
 * has to fit the secret, the state of the talk and the bounds. A message that
 * does not fit was written by the program and ends the session. Every wait is
 * bounded: after an interrupt the driver has GRACE_USEC.
 */
#include "live/session_parts.h"

#include "base/clock.h"
#include "base/own.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	GRACE_USEC = 2000000,  /* for a cell to answer an interrupt */
	AGAIN_USEC = 1000000,  /* before that time is over the cell is interrupted again: interpreters lose an interrupt
				  now and then */
	CPU_LOOK_USEC = 2000,  /* the least between two looks at the CPU time */
	BLOCK = 65536,         /* bytes read at once, as many as a pipe holds */
	PIPE_LARGE = 256 << 10 /* bytes that the pipe of a cell with much output holds */
};

enum {
	WATCH_CHANNEL,
	WATCH_STDOUT,
	WATCH_STDERR,
	WATCH_CANCEL,
	WATCH_ENDED,
	WATCH_INTERRUPT,
	WATCH_SOURCE,
	WATCH_INPUT,
	WATCHES
};

void talk_free(struct talk *talk)
{
	buf_free(&talk->out);
	buf_free(&talk->reply);
	buf_free(&talk->rich);
	buf_free(&talk->error);
	free(talk->pending);
}

/* A signal does not name its cell, and may arrive before the driver has begun the cell or after its end. So the driver
 * is told first, on the channel, for which cell the signal is. */
static void signal_driver(struct talk *t)
{
	if (t->session->hears)
		driver_interrupt(&t->out, t->secret);
	t->to_signal = true;
}

/* The first reason counts. */
static void interrupt_cell(struct talk *t, enum status status, const char *limit)
{
	if (t->interrupted)
		return;
	t->interrupted = true;
	t->status = status;
	t->limit = limit;
	t->due_usec = clock_usec() + GRACE_USEC;
	signal_driver(t);
}

static enum talk_end fail_talk(struct talk *t, const char *what)
{
	error_errno(&t->err, "%s", what);
	return TALK_FAILED;
}

/* Outputs */

/* Adds output that was read. -1: it cannot be kept. */
static int take_output(struct talk *t, int index, const char *block, size_t size)
{
	struct output *output = t->result ? &t->result->outputs[index] : NULL;
	long fits;

	/* The output of a question is dropped, and so is output beyond the limit. */
	if (!output || output->over)
		return 0;
	fits = output_add(output, block, size);
	if (fits < 0)
		return -1;
	if (fits > 0 && t->io && t->io->on_output)
		t->io->on_output(index + 1, block, (size_t)fits, t->io->userdata);
	if (output->over)
		interrupt_cell(t, STATUS_OUTPUT_LIMIT, "output");
	return 0;
}

/* Reads at most `most` bytes. Returns how many; 0: none now; -1: they cannot be kept. */
static ssize_t read_output(struct talk *t, int index, size_t most)
{
	const int fd = t->session->place.home.output[index];
	char block[BLOCK];
	ssize_t n;

	while ((n = read(fd, block, most < sizeof(block) ? most : sizeof(block))) < 0 && errno == EINTR)
		;
	if (n <= 0)
		return 0;
	/* A program that writes that much need not wait for us after each block. */
	if (n == BLOCK && t->result && t->result->outputs[index].bytes == 0)
		fcntl(fd, F_SETPIPE_SZ, PIPE_LARGE);
	return take_output(t, index, block, (size_t)n) < 0 ? -1 : n;
}

/* Reads the output from before the driver's last message. Output that background processes write meanwhile belongs to
 * the next cell. */
static int drain_outputs(struct talk *t)
{
	for (int i = 0; i < 2; i++) {
		int left = 0;

		if (ioctl(t->session->place.home.output[i], FIONREAD, &left) < 0)
			continue;
		while (left > 0) {
			ssize_t got = read_output(t, i, (size_t)left);

			if (got < 0)
				return -1;
			if (got == 0)
				break;
			left -= (int)got;
		}
	}
	return 0;
}

/* The channel */

/* Newlines in JSON are white space: those in strings are escaped. */
static void add_line(struct buf *out, const char *text, size_t size)
{
	const size_t at = out->size;

	buf_add(out, text, size);
	for (size_t i = at; !out->failed && i < out->size; i++)
		if (out->data[i] == '\n' || out->data[i] == '\r')
			out->data[i] = ' ';
	buf_text(out, "\n");
}

/* True: that was the last message. *end tells what is wrong with a message that does not fit. */
static bool on_message(struct talk *t, const struct driver_message *message, enum talk_end *end)
{
	const bool cell = t->result != NULL;

	t->heard += message->size;
	*end = TALK_FORGED;
	if (strcmp(message->secret, t->secret) != 0 || t->heard > DRIVER_ANSWER_MAX)
		return true;
	if (message->word == DRIVER_OUTPUT && cell) {
		add_line(&t->rich, message->payload, message->size);
		return false;
	}
	if (message->word == DRIVER_ERROR && cell && t->error.size == 0 && message->size > 0) {
		buf_add(&t->error, message->payload, message->size);
		return false;
	}
	if (message->word == DRIVER_REPLY && !cell)
		buf_add(&t->reply, message->payload, message->size);
	else if (message->word != DRIVER_DONE || !driver_done(message->payload, message->size, &t->ok, &t->exit_code))
		return true;
	/* No bytes may follow it. */
	if (driver_is_empty(&t->session->reader))
		*end = TALK_DONE;
	return true;
}

static bool on_channel(struct talk *t, enum talk_end *end)
{
	struct driver_message message;
	char block[BLOCK];
	ssize_t n = recv(t->session->channel, block, sizeof(block), MSG_DONTWAIT);
	int got;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	*end = TALK_BROKEN;
	if (n <= 0)
		return true;
	driver_feed(&t->session->reader, block, (size_t)n);
	while ((got = driver_next(&t->session->reader, &message)) > 0)
		if (on_message(t, &message, end))
			return true;
	*end = TALK_FORGED;
	return got < 0;
}

static void say_more(struct talk *t)
{
	while (t->out_used < t->out.size) {
		ssize_t n = send(t->session->channel, t->out.data + t->out_used, t->out.size - t->out_used,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		/* The driver has closed the channel. That is handled where the channel is read, after its last
		 * messages. */
		t->out_used = n < 0 ? t->out.size : t->out_used + (size_t)n;
	}
	/* A driver that does not read the cell may be busy with threads that an earlier cell left. */
	if (t->to_signal && (t->out_used == t->out.size || t->again)) {
		t->to_signal = false;
		session_signal(t->session);
	}
}

/* Streamed input, from the caller's pipe to the program's */

static void end_input(struct talk *t)
{
	t->source_open = false;
	close_fd(&t->session->place.home.input);
}

static void on_source(struct talk *t)
{
	ssize_t n;

	if (!t->pending)
		t->pending = malloc(BLOCK);
	n = t->pending ? read(t->io->stdin_fd, t->pending, BLOCK) : 0;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	t->pending_at = 0;
	t->pending_size = n > 0 ? (size_t)n : 0;
	if (n <= 0)
		end_input(t);
}

static void on_input(struct talk *t)
{
	ssize_t n = write(t->session->place.home.input, t->pending + t->pending_at, t->pending_size - t->pending_at);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0)
		end_input(t);
	t->pending_at = n < 0 ? t->pending_size : t->pending_at + (size_t)n;
}

/* Time */

static void look_at_cpu(struct talk *t, uint64_t now)
{
	const struct limits *limits = t->limits;
	struct engine_usage usage;
	double left = limits->cpu_time * 1e6;

	resident_usage(&t->session->place.home, &usage);
	if (usage.cpu_usec > t->before.cpu_usec)
		left -= (double)(usage.cpu_usec - t->before.cpu_usec);
	if (left <= 0) {
		interrupt_cell(t, STATUS_TIMEOUT, "cpu_time");
		return;
	}
	left /= limits->cpus > 1 ? limits->cpus : 1;
	t->cpu_look_usec = now + (uint64_t)(left > CPU_LOOK_USEC ? left : CPU_LOOK_USEC);
}

/* True: the driver is stuck. */
static bool on_time(struct talk *t)
{
	const uint64_t now = clock_usec();

	if (now >= t->due_usec && t->interrupted)
		return true;
	if (t->interrupted && !t->again && now >= t->due_usec - AGAIN_USEC) {
		/* An interrupt may be lost: Python drops exceptions in destructors, and some code catches all of them.
		 */
		t->again = true;
		signal_driver(t);
	}
	if (now >= t->due_usec)
		interrupt_cell(t, STATUS_TIMEOUT, "timeout");
	else if (t->cpu_look_usec && now >= t->cpu_look_usec && !t->interrupted)
		look_at_cpu(t, now);
	return false;
}

static int wait_msec(const struct talk *t)
{
	uint64_t due = t->due_usec, now = clock_usec(), msec;

	if (t->cpu_look_usec && !t->interrupted && t->cpu_look_usec < due)
		due = t->cpu_look_usec;
	if (t->interrupted && !t->again)
		due -= AGAIN_USEC;
	if (due <= now)
		return 0;
	msec = (due - now + 999) / 1000;
	return msec < 3600000 ? (int)msec : 3600000;
}

static void fill_polls(const struct talk *t, struct pollfd *fds)
{
	const struct session *session = t->session;
	const bool writing = t->pending_at < t->pending_size && session->place.home.input >= 0;
	const bool saying = t->out_used < t->out.size;

	fds[WATCH_CHANNEL] = (struct pollfd){ .fd = session->channel, .events = POLLIN | (saying ? POLLOUT : 0) };
	fds[WATCH_STDOUT] = (struct pollfd){ .fd = session->place.home.output[0], .events = POLLIN };
	fds[WATCH_STDERR] = (struct pollfd){ .fd = session->place.home.output[1], .events = POLLIN };
	fds[WATCH_CANCEL] = (struct pollfd){ .fd = t->io && !t->interrupted ? t->io->cancel_fd : -1, .events = POLLIN };
	fds[WATCH_ENDED] = (struct pollfd){ .fd = session->place.home.ended_fd, .events = POLLIN };
	fds[WATCH_INTERRUPT] =
		(struct pollfd){ .fd = t->result && !t->interrupted ? session->interrupt_fd : -1, .events = POLLIN };
	fds[WATCH_SOURCE] =
		(struct pollfd){ .fd = t->source_open && !writing ? t->io->stdin_fd : -1, .events = POLLIN };
	fds[WATCH_INPUT] = (struct pollfd){ .fd = writing ? session->place.home.input : -1, .events = POLLOUT };
}

/* True: the talk is over. */
static bool dispatch_events(struct talk *t, struct pollfd *fds, enum talk_end *end)
{
	bool gone[2] = { false, false };
	uint64_t count;

	/* Messages and output that came before a deadline count. Output is read before the last message. */
	for (int i = 0; i < 2; i++) {
		if (fds[WATCH_STDOUT + i].revents & POLLIN && read_output(t, i, SIZE_MAX) < 0) {
			*end = fail_talk(t, "cannot keep the cell's output");
			return true;
		}
		gone[i] = (fds[WATCH_STDOUT + i].revents & (POLLHUP | POLLIN)) == POLLHUP;
	}
	if (fds[WATCH_CHANNEL].revents & (POLLIN | POLLHUP | POLLERR) && on_channel(t, end))
		return true;
	if (fds[WATCH_ENDED].revents) {
		*end = TALK_BROKEN;
		return true;
	}
	/* All writers have closed it, and poll() would report that for ever. */
	for (int i = 0; i < 2; i++)
		if (gone[i])
			close_fd(&t->session->place.home.output[i]);
	if (fds[WATCH_SOURCE].revents)
		on_source(t);
	if (fds[WATCH_INPUT].revents)
		on_input(t);
	if (fds[WATCH_INTERRUPT].revents && read(t->session->interrupt_fd, &count, sizeof(count)) > 0)
		interrupt_cell(t, STATUS_FAILED, NULL);
	if (fds[WATCH_CANCEL].revents && !t->interrupted) {
		t->cancelled = true;
		interrupt_cell(t, STATUS_KILLED, NULL);
	}
	*end = TALK_STUCK;
	return on_time(t);
}

enum talk_end talk_run(struct talk *t)
{
	struct pollfd fds[WATCHES];
	enum talk_end end = TALK_BROKEN;
	char byte;

	/* Between talks the driver writes nothing, so these bytes are not its. */
	if (!driver_is_empty(&t->session->reader) || recv(t->session->channel, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0)
		return TALK_FORGED;
	for (;;) {
		say_more(t);
		fill_polls(t, fds);
		if (poll(fds, WATCHES, wait_msec(t)) < 0) {
			if (errno == EINTR)
				continue;
			return fail_talk(t, "cannot watch the session");
		}
		if (dispatch_events(t, fds, &end))
			break;
	}
	if (end == TALK_DONE && drain_outputs(t) < 0)
		end = fail_talk(t, "cannot keep the cell's output");
	if (end == TALK_DONE && (t->rich.failed || t->reply.failed || t->error.failed)) {
		errno = ENOMEM;
		end = fail_talk(t, "cannot hold what the driver says");
	}
	return end;
}
