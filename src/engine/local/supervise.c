#include "engine/local/supervise_parts.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "base/fault.h"
#include "kernel/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	SAMPLE_USEC = 10000,    /* between two counts where the supervisor counts */
	LAUNCH_USEC = 30000000, /* for a box to get ready; it takes milliseconds */
	END_USEC = 10000000,    /* for the kernel to end a killed box */
};

enum {
	WATCH_CONTROL,
	WATCH_DEATH,
	WATCH_OOM,
	WATCH_STDOUT,
	WATCH_STDERR,
	WATCH_INPUT,
	WATCH_SOURCE,
	WATCH_WINDOW,
	WATCH_CANCEL,
	WATCH_WARDEN,
	WATCH_REFUSALS,
	WATCH_NETWORK,
	WATCHES
};

/* Large, and mostly never touched: not on the stack of a caller's thread, which may be small. */
struct buffers {
	struct account account;
	struct refusals refusals;
	char input[WATCH_BLOCK];
	char output[WATCH_BLOCK];
	char due[WATCH_BLOCK + PENDING_MAX];
};

void watch_end(struct watch *w, enum status status, const char *limit)
{
	if (w->killed)
		return;
	w->killed = true;
	w->killed_usec = clock_usec();
	if (!w->reported) {
		w->verdict->status = status;
		w->verdict->limit = limit;
		w->verdict->ended_usec = w->killed_usec;
	}
	if (status == STATUS_OUT_OF_MEMORY)
		witness_biggest(w->box, &w->verdict->witness);
	if (status != STATUS_ERROR && status != STATUS_OUTPUT_LIMIT && !w->reported)
		watch_last_words(w);
	launch_kill(w->box);
}

void watch_fail(struct watch *w, const struct error *err)
{
	if (w->verdict->status != STATUS_ERROR)
		w->verdict->failure = *err;
	watch_end(w, STATUS_ERROR, NULL);
	w->verdict->status = STATUS_ERROR;
}

/* The sentence for an operation that failed inside; index and errno come from the box, so they are checked. */
static void explain_failure(struct watch *w, const struct report *report)
{
	const struct plan *plan = w->box->plan;
	struct error err = { 0 };
	_cleanup_buf_ struct buf text = { 0 };

	if (report->index >= plan->op_count) {
		error_set(&err, ERROR_FAILED, EPROTO, "the box reported a step that is not in its plan");
	} else {
		const struct op *op = &plan->ops[report->index];

		op_explain(plan, op, 0, &text);
		if (op->kind == OP_PROVE)
			error_refuse(&err, CODE_CANNOT_ENFORCE, "",
				     "step %u of the launch, prove: the isolation \"%s\" does not hold on this host",
				     report->index, op->path);
		else
			error_set(&err, ERROR_FAILED, report->errnum > 0 ? report->errnum : EPROTO,
				  "step %u of the launch failed, %.200s", report->index,
				  text.data ? text.data : op_name(op->kind));
		/* AppArmor and container runtimes let a namespace be made, and then deny what it is for. */
		if (op->kind <= OP_PROC && (report->errnum == EPERM || report->errnum == EACCES))
			error_hint(&err, " (`emberbox doctor` shows what to change)");
	}
	watch_fail(w, &err);
}

/* An ember that cannot take its program: nothing ran, and another can. */
static void explain_unfit(struct watch *w, const struct report *report)
{
	struct error err;

	error_set(&err, ERROR_FAILED, report->errnum > 0 ? report->errnum : EPROTO,
		  "the program could not be started in the box that was ready for it");
	w->verdict->started_usec = 0;
	watch_fail(w, &err);
}

static void open_account(struct watch *w)
{
	struct error err;

	if (!w->box->plan->accounted)
		return;
	if (fault_fail("account", &err) < 0 ||
	    account_open(w->box->handles[REPORT_FD_PROC], w->box->handles[REPORT_FD_WORK], w->account, &err) < 0) {
		watch_fail(w, &err);
		return;
	}
	w->account->limit = w->job->limits.memory;
	/* Of an ember's box another directory may be in its place. */
	if (w->box->plan->segments)
		w->account->segments_fd = take_fd(&w->box->handles[REPORT_FD_SEGMENTS]);
	w->counting = true;
}

/* A moment that the box reported: as it says, if that can be. */
static uint64_t reported_time(uint64_t at)
{
	uint64_t now = clock_usec();

	return at <= now && now - at < LAUNCH_USEC ? at : now;
}

static void on_started(struct watch *w, const struct report *report)
{
	const struct limits *limits = &w->job->limits;
	uint64_t now = reported_time(report->at_usec);

	w->verdict->started_usec = now;
	w->own_cpu_usec = report->cpu_usec;
	if (limits->cpu_time > 0)
		w->cpu_check_usec = now + (uint64_t)(limits->cpu_time * 1e6 / (limits->cpus > 1 ? limits->cpus : 1));
	/* Before 5.19 a v2 group does not tell its peak. */
	if (w->counting || (w->box->group && !cgroup_knows_peak(w->box->group)))
		w->sample_usec = now;
	if (w->job->buffered)
		peek_begin(&w->peek, w->io->on_output != NULL, w->box->group ? limits->memory : 0, now);
	if (w->io->on_started)
		w->io->on_started(w->io->userdata);
}

static uint64_t deadline(const struct watch *w)
{
	if (w->verdict->started_usec)
		return w->verdict->started_usec + (uint64_t)(w->job->limits.timeout * 1e6);
	return w->launch_usec + LAUNCH_USEC;
}

static void on_ended(struct watch *w, const struct report *report)
{
	struct verdict *v = w->verdict;

	if (w->reported || w->killed)
		return;
	w->reported = true;
	v->ended = true;
	v->ended_usec = reported_time(report->at_usec);
	v->wait_status = report->status;
	v->status = report->status == 0 ? STATUS_OK : STATUS_FAILED;
	/* It was in nobody's power to end it in time if we were stopped meanwhile; late it is all the same. */
	if (v->started_usec && v->ended_usec > deadline(w)) {
		v->status = STATUS_TIMEOUT;
		v->limit = "timeout";
	}
	if (report->cpu_usec > w->own_cpu_usec && v->cpu_usec < report->cpu_usec - w->own_cpu_usec)
		v->cpu_usec = report->cpu_usec - w->own_cpu_usec;
	/* Where we count ourselves, a peak between two samples is missed; that of one process is not. */
	if (w->counting && v->memory_peak < report->memory)
		v->memory_peak = report->memory;
	/* RLIMIT_CPU, the fence behind our own. A program may also send itself that signal. */
	if (w->job->limits.cpu_time > 0 && WIFSIGNALED(v->wait_status) && WTERMSIG(v->wait_status) == SIGXCPU &&
	    (double)v->cpu_usec >= w->job->limits.cpu_time * 1e6) {
		v->status = STATUS_TIMEOUT;
		v->limit = "cpu_time";
	}
}

/* Nothing more comes: a pipe is closed, at a terminal its end is typed. */
static void end_input(struct watch *w)
{
	if (w->box->terminal >= 0 && w->box->input >= 0) {
		w->pending = w->end_typed;
		w->pending_size = terminal_end(w->box->terminal, w->last_typed, w->end_typed);
		w->end_size = w->pending_size;
		w->typing_end = true;
	} else if (w->box->terminal < 0) {
		close_fd(&w->box->input);
	}
}

/* It was made inside. */
static void take_terminal(struct watch *w, int fd)
{
	struct box *box = w->box;
	struct error err;

	box->terminal = fd;
	box->input = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	box->output[0] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (box->input < 0 || box->output[0] < 0) {
		error_errno(&err, "cannot hold the box's terminal");
		watch_fail(w, &err);
	} else if (!w->source_open && w->pending_size == 0) {
		end_input(w);
	}
}

static void take_report(struct watch *w, const struct report *report)
{
	if (report->kind == REPORT_READY)
		open_account(w);
	else if (report->kind == REPORT_FAILED)
		explain_failure(w, report);
	else if (report->kind == REPORT_STARTED)
		on_started(w, report);
	else if (report->kind == REPORT_ENDED)
		on_ended(w, report);
	else if (report->kind == REPORT_UNFIT)
		explain_unfit(w, report);
}

static void on_control(struct watch *w)
{
	struct report report;
	struct error err;
	size_t count;
	int fds[FD_MESSAGE_MAX];
	ssize_t n = fd_receive(w->box->control, &report, sizeof(report), fds, &count);

	if (n < 0) {
		/* Above all: its directories, for which we have no descriptor left. */
		error_errno(&err, "cannot hear the box");
		watch_fail(w, &err);
	}
	if (n != sizeof(report)) {
		for (size_t i = 0; i < count; i++)
			close_fd(&fds[i]);
		close_fd(&w->box->control);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		if (report.kind == REPORT_READY && i < REPORT_FDS && w->box->handles[i] < 0)
			w->box->handles[i] = fds[i];
		else if (report.kind == REPORT_HEARD && w->box->listener < 0 && !w->verdict->started_usec)
			w->box->listener = fds[i];
		else if (report.kind == REPORT_TERMINAL && w->box->plan->terminal && w->box->terminal < 0)
			take_terminal(w, fds[i]);
		else
			close_fd(&fds[i]);
	}
	take_report(w, &report);
}

/* The caller's input, or the spec's, to the program; it may read none of it, or close it early. */
static void on_input(struct watch *w)
{
	ssize_t n = write(w->box->input, w->pending, w->pending_size);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		w->pending_size = 0;
		w->source_open = false;
	} else {
		w->last_typed = n > 0 ? w->pending[n - 1] : w->last_typed;
		w->pending += n;
		w->pending_size -= (size_t)n;
	}
	if (w->pending_size > 0 || w->source_open)
		return;
	if (n >= 0 && w->typing_end)
		terminal_again_begin(&w->end_again, w->end_size, clock_usec());
	if (n < 0 || w->typing_end)
		close_fd(&w->box->input);
	else
		end_input(w);
}

static void on_source(struct watch *w)
{
	ssize_t n = read(w->io->stdin_fd, w->input_block, WATCH_BLOCK);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		w->source_open = false;
		end_input(w);
		return;
	}
	w->pending = w->input_block;
	w->pending_size = (size_t)n;
}

/* What the whole box has used so far, from whoever counts. */
static void count_usage(struct watch *w)
{
	struct verdict *v = w->verdict;
	struct cgroup_usage group;
	struct account_usage account;
	uint64_t memory = 0, cpu = 0;

	if (w->box->group && cgroup_usage(w->box->group, &group, NULL) == 0) {
		memory = group.memory_peak > group.memory_now ? group.memory_peak : group.memory_now;
		cpu = group.cpu_usec > w->box->cpu_usec ? group.cpu_usec - w->box->cpu_usec : 0;
		if (group.oom_kills > 0 && v->status != STATUS_ERROR && (!v->ended || v->wait_status != 0) &&
		    v->limit == NULL) {
			v->status = STATUS_OUT_OF_MEMORY;
			v->limit = "memory";
		}
	} else if (w->counting && !w->dead) {
		struct error err;

		if (fault_hit("count") || account_sample(w->account, &account) < 0) {
			/* Unless it is that the box has just ended, nobody holds its memory limit any more. */
			if (errno != ESRCH && errno != ENOENT && !w->reported) {
				error_errno(&err, "cannot count what the box uses");
				watch_fail(w, &err);
			}
			return;
		}
		memory = account.memory_now < account.memory_peak ? account.memory_peak : account.memory_now;
		cpu = account.cpu_usec > w->own_cpu_usec ? account.cpu_usec - w->own_cpu_usec : 0;
		if (account.memory_now > w->job->limits.memory)
			watch_end(w, STATUS_OUT_OF_MEMORY, "memory");
	}
	if (memory > v->memory_peak)
		v->memory_peak = memory;
	if (cpu > v->cpu_usec)
		v->cpu_usec = cpu;
}

static void take_sample(struct watch *w)
{
	uint64_t memory;

	if (!w->box->group)
		count_usage(w);
	else if (cgroup_memory_now(w->box->group, &memory) == 0 && memory > w->verdict->memory_peak)
		w->verdict->memory_peak = memory;
}

static void on_oom(struct watch *w)
{
	short events;
	uint64_t count;
	int fd = cgroup_oom_fd(w->box->group, &events);

	if (events & POLLIN) {
		/* v1: an eventfd that only tells of this. */
		(void)!read(fd, &count, sizeof(count));
	} else if (cgroup_oom_kills(w->box->group, &count) < 0 || count == 0) {
		/* v2: other events, such as reaching the limit and being helped by reclaim, wake us as well. */
		return;
	}
	watch_end(w, STATUS_OUT_OF_MEMORY, "memory");
}

/* Who would tell of the program's end is gone. */
static void on_warden(struct watch *w)
{
	struct error err;

	if (w->reported || w->killed)
		return;
	error_set(&err, ERROR_FAILED, 0, "the process that the program was forked from ended; try again");
	watch_fail(w, &err);
}

static void check_cpu(struct watch *w, uint64_t now)
{
	const struct limits *limits = &w->job->limits;
	double limit = limits->cpu_time * 1e6, left;

	count_usage(w);
	left = limit - (double)w->verdict->cpu_usec;
	if (left <= 0) {
		watch_end(w, STATUS_TIMEOUT, "cpu_time");
		w->cpu_check_usec = 0;
		return;
	}
	/* It cannot be used up before the remaining time is spent on every core it may have. */
	left /= limits->cpus > 1 ? limits->cpus : 1;
	w->cpu_check_usec = now + (uint64_t)(left > 2000 ? left : 2000);
}

static void on_time(struct watch *w)
{
	uint64_t now = clock_usec();
	struct error err;

	if (!w->killed && !w->reported && now >= deadline(w)) {
		if (w->verdict->started_usec) {
			watch_end(w, STATUS_TIMEOUT, "timeout");
		} else {
			error_set(&err, ERROR_FAILED, ETIMEDOUT, "the box was not ready in time");
			watch_fail(w, &err);
		}
	}
	if (now >= w->quiet_usec)
		w->quiet_usec = 0;
	if (w->sample_usec && now >= w->sample_usec) {
		take_sample(w);
		w->sample_usec = now + SAMPLE_USEC;
	}
	if (w->cpu_check_usec && now >= w->cpu_check_usec)
		check_cpu(w, now);
	if (w->peek.due_usec && now >= w->peek.due_usec && !w->killed && !w->reported)
		watch_peek(w, now);
	refusals_on_time(w->refusals);
	terminal_again_on_time(&w->end_again, w->box->terminal, now);
}

/* The next moment at which something is due; after the end, when patience ends. */
static uint64_t next_due(const struct watch *w)
{
	const uint64_t others[] = { w->cpu_check_usec,     w->sample_usec,        w->quiet_usec,
				    w->refusals->due_usec, w->end_again.due_usec, w->peek.due_usec };
	uint64_t due;

	if (w->killed || w->reported)
		return (w->killed ? w->killed_usec : w->verdict->ended_usec) + END_USEC;
	due = deadline(w);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (others[i] && others[i] < due)
			due = others[i];
	return due;
}

/* As poll(), until something is due at the latest; then 0. */
static int wait_for(const struct watch *w, struct pollfd *fds)
{
	uint64_t now = clock_usec(), due = next_due(w), left = due > now ? due - now : 0;
	const struct timespec patience = { .tv_sec = (time_t)(left / 1000000),
					   .tv_nsec = (long)(left % 1000000) * 1000 };

	return ppoll(fds, WATCHES, &patience, NULL);
}

static void fill(struct watch *w, struct pollfd *fds)
{
	short oom_events = 0;
	int oom = w->box->group && !w->killed ? cgroup_oom_fd(w->box->group, &oom_events) : -1;
	bool writing = w->box->input >= 0 && w->pending_size > 0;
	bool following = w->box->terminal >= 0 && w->io->window_fd > 0 && !w->window_lost && !w->killed;
	bool reading =
		w->box->input >= 0 && w->source_open && w->pending_size == 0 && w->verdict->started_usec && !w->killed;

	fds[WATCH_CONTROL] = (struct pollfd){ .fd = w->box->control, .events = POLLIN };
	fds[WATCH_DEATH] = (struct pollfd){ .fd = w->dead ? -1 : w->box->pidfd, .events = POLLIN };
	fds[WATCH_OOM] = (struct pollfd){ .fd = oom, .events = oom_events };
	fds[WATCH_STDOUT] = (struct pollfd){ .fd = w->quiet_usec ? -1 : w->box->output[0], .events = POLLIN };
	fds[WATCH_STDERR] = (struct pollfd){ .fd = w->quiet_usec ? -1 : w->box->output[1], .events = POLLIN };
	fds[WATCH_INPUT] = (struct pollfd){ .fd = writing ? w->box->input : -1, .events = POLLOUT };
	fds[WATCH_SOURCE] = (struct pollfd){ .fd = reading ? w->io->stdin_fd : -1, .events = POLLIN };
	fds[WATCH_WINDOW] = (struct pollfd){ .fd = following ? w->io->window_fd : -1, .events = POLLIN };
	fds[WATCH_CANCEL] = (struct pollfd){ .fd = w->killed ? -1 : w->io->cancel_fd, .events = POLLIN };
	/* Only that it hangs up: what it says is for others. */
	fds[WATCH_WARDEN] = (struct pollfd){ .fd = w->killed || w->reported ? -1 : w->box->warden };
	fds[WATCH_NETWORK] = (struct pollfd){ .fd = w->io->network ? w->io->network->fd : -1, .events = POLLIN };
	fds[WATCH_REFUSALS] = (struct pollfd){ .fd = w->killed ? -1 : w->box->listener, .events = POLLIN };
}

static void dispatch(struct watch *w, const struct pollfd *fds)
{
	/* Reports first: an end that came before a deadline counts. */
	if (fds[WATCH_CONTROL].revents)
		on_control(w);
	if (fds[WATCH_OOM].revents && fds[WATCH_OOM].fd >= 0 && (fds[WATCH_OOM].revents & fds[WATCH_OOM].events))
		on_oom(w);
	if (fds[WATCH_STDOUT].revents)
		watch_output(w, 0);
	if (fds[WATCH_STDERR].revents)
		watch_output(w, 1);
	if (fds[WATCH_INPUT].revents)
		on_input(w);
	if (fds[WATCH_SOURCE].revents)
		on_source(w);
	if (fds[WATCH_WINDOW].revents && terminal_follow(w->box->terminal, w->io->window_fd) < 0)
		w->window_lost = true;
	if (fds[WATCH_CANCEL].revents && !w->killed && !w->reported) {
		w->verdict->cancelled = true;
		watch_end(w, STATUS_KILLED, NULL);
	}
	if (fds[WATCH_WARDEN].revents)
		on_warden(w);
	if (fds[WATCH_REFUSALS].revents)
		refusals_hear(w->refusals, &w->box->listener, &w->box->refused);
	if (fds[WATCH_NETWORK].revents)
		box_network_read(w->io->network);
	if (fds[WATCH_DEATH].revents)
		w->dead = true;
}

/*
 * Once init is dead nothing of its namespace lives, and what was written is in
 * the pipes. Their end is not waited for: another thread of the caller's may have
 * forked while we made them, and its child holds copies.
 */
static void drain(struct watch *w)
{
	struct pollfd fds[WATCHES];

	for (;;) {
		w->quiet_usec = 0;
		fill(w, fds);
		for (int i = 0; i < WATCHES; i++)
			if (i != WATCH_CONTROL && i != WATCH_STDOUT && i != WATCH_STDERR)
				fds[i].fd = -1;
		if (poll(fds, WATCHES, 0) <= 0)
			return;
		dispatch(w, fds);
	}
}

/* Nobody reported an end: the kernel killed the box's init for memory, it ended itself a little after the program's
 * time, or somebody outside killed it. */
static void explain_silence(struct watch *w)
{
	struct verdict *v = w->verdict;
	struct error err;

	if (w->reported || w->killed)
		return;
	v->ended_usec = clock_usec();
	v->status = STATUS_KILLED;
	count_usage(w);
	if (v->status == STATUS_OUT_OF_MEMORY)
		return;
	if (v->started_usec && v->ended_usec >= deadline(w)) {
		v->status = STATUS_TIMEOUT;
		v->limit = "timeout";
	} else if (!v->started_usec) {
		error_set(&err, ERROR_FAILED, 0, "the box ended before its program started");
		watch_fail(w, &err);
	}
}

/*
 * A program could call a process of its own so: that would live until the
 * answer is out, and then die with the box. Nobody holds memory where the
 * supervisor adds it up.
 */
static bool is_holder(const struct watch *w, const char *pid)
{
	char path[32], name[32];

	if (!w->box->group)
		return false;
	snprintf(path, sizeof(path), "%.20s/comm", pid);
	return fd_slurp(w->box->handles[REPORT_FD_PROC], path, name, sizeof(name)) > 0 &&
	       strcmp(name, REPORT_HOLDER "\n") == 0;
}

/* Whether nobody is left but init and the one that holds the program's memory, by the box's own list; for small
 * programs by the group's count, and the next process after theirs, which is cheaper than a list. */
static bool is_alone(const struct watch *w)
{
	_Alignas(struct dirent64) char block[4096];
	int dir = w->box->handles[REPORT_FD_PROC], holders = 0;
	uint64_t tasks;
	ssize_t n;

	if (w->box->group && cgroup_tasks_now(w->box->group, &tasks) == 0 &&
	    (tasks <= 1 || (tasks == 2 && is_holder(w, "3"))))
		return true;
	if (dir < 0 || lseek(dir, 0, SEEK_SET) < 0)
		return false;
	while ((n = getdents64(dir, block, sizeof(block))) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *entry = (const void *)(block + at);

			at += entry->d_reclen;
			if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || strcmp(entry->d_name, "1") == 0)
				continue;
			if (!is_holder(w, entry->d_name) || ++holders > 1)
				return false;
		}
	}
	return n == 0;
}

/*
 * A box whose init is not its program's parent does not end with it. If the
 * program has left nobody behind and all it wrote is read, that is all there
 * will be: the box is over, and ending it is for later, when the answer is out.
 * Otherwise it is ended now.
 */
static void settle_shared(struct watch *w)
{
	if (!w->box->plan->shared || !w->reported || w->killed)
		return;
	drain(w);
	if (w->verdict->status == STATUS_FAILED)
		witness_ask(w->box);
	w->over = w->box->output[0] < 0 && w->box->output[1] < 0 && is_alone(w);
	w->box->over = w->over;
	if (w->over)
		return;
	w->killed = true;
	w->killed_usec = clock_usec();
	launch_kill(w->box);
}

static void watch_loop(struct watch *w)
{
	struct pollfd fds[WATCHES];
	struct error err;

	while (!w->dead) {
		fill(w, fds);
		if (wait_for(w, fds) < 0) {
			if (errno == EINTR)
				continue;
			error_errno(&err, "cannot watch the box");
			watch_fail(w, &err);
			return;
		}
		dispatch(w, fds);
		if (clock_usec() >= next_due(w))
			on_time(w);
		settle_shared(w);
		if (w->over)
			return;
		/* launch_end() says what is wrong with a box that will not die. */
		if ((w->killed || w->reported) && clock_usec() >= next_due(w))
			return;
	}
	drain(w);
}

/* A program that closes its input must not kill us by SIGPIPE: blocked here, and taken away if it came. */
static void with_pipe_signal_held(struct watch *w, void (*loop)(struct watch *))
{
	const struct timespec none = { 0 };
	sigset_t pipe_set, before, pending;

	sigemptyset(&pipe_set);
	sigaddset(&pipe_set, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &pipe_set, &before);
	loop(w);
	if (!sigismember(&pending, SIGPIPE))
		while (sigtimedwait(&pipe_set, NULL, &none) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void supervise_box(struct box *box, const struct job *job, const struct engine_io *io, struct output outputs[2],
		   struct verdict *verdict)
{
	struct buffers *buffers = malloc(sizeof(*buffers));
	struct watch w = {
		.box = box,
		.job = job,
		.io = io,
		.outputs = outputs,
		.verdict = verdict,
		.account = buffers ? &buffers->account : NULL,
		.refusals = buffers ? &buffers->refusals : NULL,
		.input_block = buffers ? buffers->input : NULL,
		.block = buffers ? buffers->output : NULL,
		.due = buffers ? buffers->due : NULL,
		.launch_usec = clock_usec(),
		.source_open = io->stdin_fd >= 0,
		.pending = job->input,
		.pending_size = job->input_size,
	};
	struct error err;

	*verdict = (struct verdict){ .status = STATUS_KILLED };
	if (!buffers) {
		error_set(&err, ERROR_FAILED, ENOMEM, "cannot watch the box");
		watch_fail(&w, &err);
		return;
	}
	buffers->refusals.first = buffers->refusals.count = 0;
	buffers->refusals.due_usec = 0;
	buffers->account.proc_fd = -1;
	buffers->account.work_fd = -1;
	buffers->account.segments_fd = -1;
	if (!w.source_open && w.pending_size == 0)
		close_fd(&box->input);
	/* A box that was made before has reported that it is ready. */
	if (box->handles[REPORT_FD_PROC] >= 0)
		open_account(&w);
	/*
	 * Who waited for its program says nothing when it begins, and while
	 * nobody wants its first words they wait for its end, which is mostly
	 * near: each would wake us while it needs the processor.
	 */
	if (box->ordered_usec) {
		on_started(&w, &(struct report){ .at_usec = box->ordered_usec, .cpu_usec = box->own_cpu_usec });
		w.quiet_usec = io->on_output ? 0 : box->ordered_usec + WATCH_QUIET_USEC;
	}
	if (box->input < 0)
		watch_loop(&w);
	else
		with_pipe_signal_held(&w, watch_loop);
	explain_silence(&w);
	count_usage(&w);
	/* The kernel ended it before we could look once more. */
	if (verdict->status == STATUS_OUT_OF_MEMORY && w.peek.last_size > 0 && w.peek.last_at == outputs[0].bytes)
		watch_take_output(&w, 0, w.peek.last, w.peek.last_size);
	if (verdict->status != STATUS_OK && verdict->status != STATUS_ERROR)
		witness_limits(box, &verdict->witness);
	account_close(&buffers->account);
	peek_end(&w.peek);
	free(buffers);
}
