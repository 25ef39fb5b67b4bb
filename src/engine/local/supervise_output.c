/* What a program writes, and what it has printed and not written yet. */
#include "engine/local/supervise_parts.h"

#include "base/clock.h"
#include "base/own.h"
#include "base/fault.h"
#include "kernel/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

enum {
	PIPE_LARGE = 256 << 10, /* bytes that the pipe of a program with much output holds */
	QUIET_BYTES = 4096,     /* at once are much output */
	LAST_MAX = 16,          /* times that a program is stopped before it is killed */
	MOMENT_NSEC = 2000000,  /* that it then goes on */
	DRAIN_MAX = 64,         /* blocks that are taken before something else is looked at */
};

/* Much output goes from the pipe to the spool, and from there to who wants it, without being copied here. False: as
 * ever, which also tells of ends and failures. */
static bool on_plenty(struct watch *w, int index)
{
	struct output *output = &w->outputs[index];
	uint64_t from = output->bytes;
	long n = fault_hit("output") ? -1 : output_move(output, w->box->output[index], PIPE_LARGE);

	if (n > 0 && w->io->on_kept)
		w->io->on_kept(index + 1, output->spool, from, (size_t)n, w->io->userdata);
	if (n > 0)
		w->quiet_usec = clock_usec() + WATCH_QUIET_USEC;
	return n > 0;
}

void watch_take_output(struct watch *w, int index, const char *data, size_t size)
{
	struct error err;
	long fits = fault_hit("output") ? -1 : output_add(&w->outputs[index], data, size);

	if (fits < 0) {
		error_errno(&err, "cannot keep the program's output");
		watch_fail(w, &err);
		return;
	}
	if (fits > 0 && w->io->on_output)
		w->io->on_output(index + 1, data, (size_t)fits, w->io->userdata);
	if (w->outputs[index].over) {
		watch_end(w, STATUS_OUTPUT_LIMIT, "output");
		/* A program can write faster than the kernel ends it. */
		close_fd(&w->box->output[index]);
	}
}

void watch_output(struct watch *w, int index)
{
	int *fd = &w->box->output[index];
	const bool ahead = index == 0 && w->peek.ahead.size > 0;
	ssize_t n;

	if (w->plenty[index] && !ahead && on_plenty(w, index))
		return;
	n = read(*fd, w->block, WATCH_BLOCK);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		close_fd(fd);
		return;
	}
	/* Who writes much need not wait for us after each block, nor wake us. What is in the pipe counts as the
	 * program's memory; an ordinary user may have too many of them already, and then it stays as it is. */
	if (n >= QUIET_BYTES) {
		if (!w->large[index])
			fcntl(*fd, F_SETPIPE_SZ, PIPE_LARGE);
		w->large[index] = true;
		w->quiet_usec = clock_usec() + WATCH_QUIET_USEC;
	}
	if (n == WATCH_BLOCK)
		w->plenty[index] = !w->io->on_output || w->io->on_kept;
	if (ahead)
		watch_take_output(w, index, w->due, ahead_take(&w->peek.ahead, w->block, (size_t)n, w->due));
	else
		watch_take_output(w, index, w->block, (size_t)n);
}

/* All that the pipe has of standard output. False: it has more, or is closed. */
static bool drain_stdout(struct watch *w)
{
	for (int i = 0; i < DRAIN_MAX; i++) {
		struct pollfd pipe = { .fd = w->box->output[0], .events = POLLIN };

		if (pipe.fd < 0)
			return false;
		if (poll(&pipe, 1, 0) <= 0)
			return true;
		watch_output(w, 0);
	}
	return false;
}

void watch_peek(struct watch *w, uint64_t now)
{
	struct peek *peek = &w->peek;
	const char *news;
	uint64_t used = 0;
	size_t size;

	if (w->box->group)
		cgroup_memory_now(w->box->group, &used);
	if (!peek_is_due(peek, used, now) || !drain_stdout(w) || w->killed)
		return;
	size = peek_read(peek, w->box->handles[REPORT_FD_PROC], w->box->output[0], &w->outputs[0], &news);
	if (size == 0)
		return;
	if (!peek->shows)
		peek_keep(peek, news, size, w->outputs[0].bytes);
	else if (ahead_add(&peek->ahead, news, size) == 0)
		watch_take_output(w, 0, news, size);
}

static void say_last(const char *text, size_t size, void *data)
{
	struct watch *w = data;

	if (size > 0 && !w->outputs[0].over)
		watch_take_output(w, 0, text, size);
}

void watch_last_words(struct watch *w)
{
	const struct timespec moment = { .tv_nsec = MOMENT_NSEC };
	int proc = w->box->handles[REPORT_FD_PROC];

	if (!w->peek.on || proc < 0)
		return;
	for (int i = 0; i < LAST_MAX; i++) {
		const enum pending_place place = pending_place(proc, PEEK_PROGRAM);

		pending_stop(proc);
		if (!drain_stdout(w) ||
		    peek_last(&w->peek, proc, w->box->output[0], &w->outputs[0], place, say_last, w))
			return;
		pending_continue(proc, PEEK_PROGRAM);
		nanosleep(&moment, NULL);
	}
}
