/* A cell, from its spec to its result; and questions: completion and inspection. */
#include "live/place_run.h"
#include "live/session_parts.h"

#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"
#include "live/driver_told.h"
#include "policy/in_force.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	SILENCE_MSEC = 1000, /* for a box to end whose driver has closed its channel */
	ASK_TURN_MSEC = 500, /* that a question waits for its turn… */
	ASK_USEC = 5000000,  /* …and for its answer */
	UNREAD_MAX = 65536,  /* bytes of unread input that are returned: as many as a pipe holds */
};

int session_refuse_ended(struct place *place, struct error *err)
{
	char why[256];

	resident_why(&place->home, why);
	error_refuse(err, CODE_NOT_FOUND, "session", "%s has ended: %s", place->id, why);
	return error_remedy(err, "; start another, or restart it", "");
}

/* A cell, as the target of a run. */
struct cell_run {
	struct place_run run;            /* first */
	struct sessions *sessions;       /* of the session */
	const struct session_cell *cell; /* which */
};

static int cell_check(struct place_run *run, struct spec *spec, struct error *err)
{
	const struct session *session = (const struct session *)run->place;

	if (!spec->code)
		return error_field(err, "code", "it is not set; give the cell's text");
	if (spec->project || spec->file_count > 0)
		return error_field(err, spec->project ? "project" : "files",
				   "a cell is code alone; the session has its own");
	if (spec->arg_count > 0 || spec->env_count > 0)
		return error_field(err, spec->arg_count > 0 ? "args" : "env",
				   "a cell is code alone; the session has its own");
	if (!net_policy_is_none(&spec->network))
		return error_field(err, "network", "it is the session's; PATCH /v1/sessions/ID changes it");
	if (spec->profile || spec->read_only)
		return error_field(err, spec->profile ? "profile" : "read_only",
				   "it is the session's, since it was started; leave it out");
	for (enum limit_id id = 0; id < LIMITS; id++)
		if (!(limit_rows[id].flags & LIMIT_OF_RUN) && limit_get(&spec->limits, id) > 0)
			return error_field(err, limit_rows[id].key,
					   "it is the session's, since it was started; leave it out");
	spec->policy = in_force_settle(spec, session->spec.policy);
	return 0;
}

/* Discards input that an earlier cell did not read, and opens the pipe again if it was closed. */
static int open_input(struct session *session, struct error *err)
{
	char block[4096], path[32];
	int left = 0;
	ssize_t n;

	if (session->input_fd < 0) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", session->place.home.input);
		session->input_fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	}
	if (session->input_fd < 0)
		return error_errno(err, "cannot open the cell's input");
	/* Only the bytes that are there now: the program may be able to write to the pipe as well, and could keep us
	 * here. */
	if (ioctl(session->input_fd, FIONREAD, &left) < 0)
		left = 0;
	while (left > 0 && (n = read(session->input_fd, block, sizeof(block))) > 0)
		left -= (int)n;
	if (session->place.home.input >= 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", session->input_fd);
	session->place.home.input = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	return session->place.home.input >= 0 ? 0 : error_errno(err, "cannot open the cell's input");
}

/* Adds the bytes that are in the pipe now, up to `most` in all. */
static void add_rest(struct buf *rest, int fd, size_t most)
{
	char block[4096];
	int left = 0;
	ssize_t n;

	if (fd < 0 || ioctl(fd, FIONREAD, &left) < 0)
		return;
	while (left > 0 && rest->size < most &&
	       (n = read(fd, block, (size_t)left < sizeof(block) ? (size_t)left : sizeof(block))) > 0) {
		buf_add(rest, block, (size_t)n);
		left -= (int)n;
	}
}

/* Input that was sent while the cell ran, and that it has not read, is returned to the caller. */
static void take_unread(const struct talk *t, struct result_session *session)
{
	_cleanup_buf_ struct buf rest = { 0 };

	add_rest(&rest, t->session->input_fd, UNREAD_MAX);
	if (t->pending_at < t->pending_size)
		buf_add(&rest, t->pending + t->pending_at, t->pending_size - t->pending_at);
	if (t->source_open)
		add_rest(&rest, t->io->stdin_fd, UNREAD_MAX);
	if (rest.size == 0 || rest.failed)
		return;
	session->unread_size = rest.size;
	session->unread = buf_take(&rest);
}

/* The cell begins. Returns its number. */
static uint64_t begin_cell(struct session *session)
{
	uint64_t count;

	pthread_mutex_lock(&session->place.home.lock);
	session->busy = true;
	/* If this fails other callers cannot interrupt the cell, and their calls report that. */
	session->interrupt_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	count = ++session->cells;
	gettimeofday(&session->used, NULL);
	pthread_mutex_unlock(&session->place.home.lock);
	return count;
}

static void end_cell(struct session *session)
{
	pthread_mutex_lock(&session->place.home.lock);
	session->busy = false;
	close_fd(&session->interrupt_fd);
	gettimeofday(&session->used, NULL);
	pthread_mutex_unlock(&session->place.home.lock);
}

/* With home.lock held. */
static void forget_oldest(struct session *session)
{
	struct cell_record *oldest = &session->records[session->first++ % SESSION_CELLS_MAX];

	session->record_bytes -= oldest->size;
	free(oldest->code);
	*oldest = (struct cell_record){ 0 };
}

/* Keeps the cell for callers that replay cells. Without memory it is dropped, and counts as such. */
static void remember_cell(struct session *session, uint64_t count, const struct spec *spec, const struct result *result)
{
	struct cell_record record = { .count = count,
				      .code = malloc(spec->code_size + 1),
				      .size = spec->code_size,
				      .status = result->verdict.status,
				      .exit_code = result_exit_code(result),
				      .at = result->time };

	if (result->verdict.started_usec && result->verdict.ended_usec > result->verdict.started_usec)
		record.usec = result->verdict.ended_usec - result->verdict.started_usec;
	if (!record.code)
		return;
	memcpy(record.code, spec->code, spec->code_size);
	pthread_mutex_lock(&session->place.home.lock);
	if (!session->records)
		session->records = calloc(SESSION_CELLS_MAX, sizeof(*session->records));
	if (!session->records || record.size > SESSION_CODE_MAX) {
		free(record.code);
	} else {
		while (session->recorded - session->first >= SESSION_CELLS_MAX ||
		       session->record_bytes + record.size > SESSION_CODE_MAX)
			forget_oldest(session);
		session->records[session->recorded++ % SESSION_CELLS_MAX] = record;
		session->record_bytes += record.size;
	}
	pthread_mutex_unlock(&session->place.home.lock);
}

/* The box's usage during the cell. The box's peak is that of its whole life; if it has grown, it was reached now. */
static void count_usage(const struct talk *t, struct verdict *v)
{
	struct engine_usage now;

	resident_usage(&t->session->place.home, &now);
	if (now.cpu_usec > t->before.cpu_usec)
		v->cpu_usec = now.cpu_usec - t->before.cpu_usec;
	v->memory_peak = now.memory_peak > t->before.memory_peak ? now.memory_peak : now.memory;
	if (v->memory_peak < now.memory)
		v->memory_peak = now.memory;
}

/* The driver has answered: the verdict is what it reports, unless a limit or a cancellation came first. */
static void judge_done(const struct talk *t, struct verdict *v)
{
	v->ended = true;
	v->status = t->ok && t->exit_code == 0 ? STATUS_OK : STATUS_FAILED;
	v->wait_status = (t->exit_code ? t->exit_code : t->ok ? 0 : 1) << 8;
	if (t->interrupted && t->status != STATUS_FAILED) {
		v->status = t->status;
		v->limit = t->limit;
		v->cancelled = t->cancelled;
	}
	/* If our own process was stopped meanwhile, the cell was late all the same. */
	if (!t->interrupted && v->ended_usec > t->due_usec) {
		v->status = STATUS_TIMEOUT;
		v->limit = "timeout";
	}
	count_usage(t, v);
}

/* The rest of the output, when no process is left. */
static void drain_rest(struct talk *t)
{
	char block[65536];
	ssize_t n;

	for (int i = 0; i < 2; i++)
		while (!t->result->outputs[i].over &&
		       (n = read(t->session->place.home.output[i], block, sizeof(block))) > 0) {
			long fits = output_add(&t->result->outputs[i], block, (size_t)n);

			if (fits > 0 && t->io && t->io->on_output)
				t->io->on_output(i + 1, block, (size_t)fits, t->io->userdata);
			if (fits < 0)
				break;
		}
}

/* The session has ended with the cell: the verdict is the supervisor's. */
static void judge_lost(struct talk *t, enum talk_end end, struct verdict *v)
{
	struct resident *home = &t->session->place.home;

	if (end == TALK_FORGED)
		resident_end(home, "the program wrote to its driver's channel", NULL);
	else if (end == TALK_STUCK)
		resident_end(home, "the cell did not end within 2s of being interrupted", NULL);
	else if (end == TALK_FAILED)
		resident_end(home, t->err.text, NULL);
	else if (!resident_await_end(home, SILENCE_MSEC))
		resident_end(home, "the program closed its driver's channel", NULL);
	resident_await_end(home, -1);
	drain_rest(t);
	pthread_mutex_lock(&home->lock);
	*v = home->verdict;
	pthread_mutex_unlock(&home->lock);
	v->started_usec = t->sent_usec;
	v->cpu_usec -= v->cpu_usec < t->before.cpu_usec ? v->cpu_usec : t->before.cpu_usec;
	if (end == TALK_FAILED) {
		v->status = STATUS_ERROR;
		v->failure = t->err;
	} else if (t->interrupted && t->status != STATUS_FAILED && v->status != STATUS_OUT_OF_MEMORY) {
		v->status = t->status;
		v->limit = t->limit;
		v->cancelled = t->cancelled;
	} else if (v->status == STATUS_TIMEOUT || !v->ended) {
		/* The session's time was over, or it was ended: that is not the cell's limit. */
		v->status = v->status == STATUS_OUT_OF_MEMORY || v->status == STATUS_ERROR ? v->status : STATUS_KILLED;
		v->limit = v->status == STATUS_OUT_OF_MEMORY ? v->limit : NULL;
		v->cancelled = false;
	}
}

static int cell_execute(struct place_run *run, struct run_state *state, struct error *err)
{
	struct session *session = (struct session *)run->place;
	const struct engine_io *io = state->request->io;
	const struct spec *spec = &state->spec;
	struct result *result = state->result;
	struct talk t = { .session = session, .io = io, .limits = &result->limits, .result = result };
	const bool streams = io->stdin_fd >= 0;
	const uint64_t count = begin_cell(session);
	enum driver_input how = streams ? DRIVER_INPUT_PIPE : spec->input ? DRIVER_INPUT_WHOLE : DRIVER_INPUT_NONE;
	struct verdict *v = &result->verdict;
	struct timespec now;
	enum talk_end end = TALK_FAILED;

	/* The clock of the time stamps of files. */
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	result->since_nsec = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	resident_usage(&session->place.home, &t.before);
	if (driver_secret(t.secret) < 0)
		error_errno(&t.err, "cannot get random bytes");
	else if (!streams || open_input(session, &t.err) == 0) {
		driver_execute(&t.out, t.secret, count, spec->code, spec->code_size, how, spec->input,
			       spec->input_size);
		t.source_open = streams;
		t.sent_usec = v->started_usec = clock_usec();
		t.due_usec = t.sent_usec + (uint64_t)(result->limits.timeout * 1e6);
		if (result->limits.cpu_time > 0)
			t.cpu_look_usec = t.sent_usec + (uint64_t)(result->limits.cpu_time * 1e6 /
								   (result->limits.cpus > 1 ? result->limits.cpus : 1));
		if (t.out.failed) {
			errno = ENOMEM;
			error_errno(&t.err, "cannot hold the cell");
		} else {
			end = talk_run(&t);
		}
	}
	v->ended_usec = clock_usec();
	if (end == TALK_DONE)
		judge_done(&t, v);
	else
		judge_lost(&t, end, v);
	session_take_error(result, &t.error);
	place_run_collect(run, state);
	if (run->handles[REPORT_FD_OUTPUT] >= 0 && v->status != STATUS_ERROR)
		session_offer_pictures(run->handles[REPORT_FD_OUTPUT], &result->files, &t.rich);
	result->rich = buf_take(&t.rich);
	result->rich_size = result->rich ? strlen(result->rich) : 0;
	result->session.kept = end == TALK_DONE;
	result->session.cells = count;
	if (end != TALK_DONE)
		resident_why(&session->place.home, result->session.reason);
	else if (streams)
		take_unread(&t, &result->session);
	talk_free(&t);
	remember_cell(session, count, spec, result);
	end_cell(session);
	return 0;
}

static int cell_admit(struct run_target *target, struct spec *spec, struct error *err)
{
	const struct cell_run *cell = (const struct cell_run *)target;

	if (place_run_admit(target, spec, err) == 0)
		return 0;
	/* A caller that sees the session in the list is not told that there is none. */
	if (!cell->run.place && cell->cell->sees_all)
		sessions_tell_owner(cell->sessions, cell->cell->id, err);
	return -1;
}

static int cell_begin(struct run_target *target, struct run_state *state, struct error *err)
{
	const struct place *place = ((struct place_run *)target)->place;

	memcpy(state->result->session.id, place->id, sizeof(place->id));
	/* Until a cell has lost it. */
	state->result->session.kept = true;
	return place_run_begin(target, state, err);
}

static void cell_blocked(struct run_target *target, struct result *result)
{
	struct session *session = (struct session *)((struct place_run *)target)->place;

	pthread_mutex_lock(&session->place.home.lock);
	result->session.cells = session->cells;
	pthread_mutex_unlock(&session->place.home.lock);
}

int sessions_execute(struct sessions *sessions, const struct session_cell *which, const struct run_request *request,
		     struct result **out, struct error *err)
{
	struct cell_run cell = {
		.run = { .target = PLACE_RUN_TARGET,
			 .places = sessions_places(sessions),
			 .id = which->id,
			 .owner = which->owner,
			 .check = cell_check,
			 .execute = cell_execute },
		.sessions = sessions,
		.cell = which,
	};

	cell.run.target.admit = cell_admit;
	cell.run.target.begin = cell_begin;
	cell.run.target.blocked = cell_blocked;
	return place_run(&cell.run, request, out, err);
}

/* Questions */

/* An answer that is none is one without anything. */
static char *answer_text(const struct talk *t, bool inspect, const char *code, size_t size)
{
	struct driver_told *told = driver_told_read(
		&(struct driver_told_input){ .what = inspect ? DRIVER_TOLD_INSPECT : DRIVER_TOLD_COMPLETE,
					     .payload = t->reply.data ? t->reply.data : "",
					     .size = t->reply.size,
					     .code = code,
					     .code_size = size });
	char *text = strdup(told      ? told->text
			    : inspect ? "{\"found\":false,\"data\":{}}"
				      : "{\"matches\":[],\"cursor_start\":0,\"cursor_end\":0}");

	driver_told_free(told);
	return text;
}

int session_ask(struct session *session, bool inspect, const char *code, size_t size, size_t cursor, char **json,
		struct error *err)
{
	struct talk t = { .session = session, .limits = &session->place.limits };
	struct verdict ignored;
	struct result lost = { 0 };
	enum talk_end end;
	int turn = resident_take_turn(&session->place.home, -1, ASK_TURN_MSEC);

	if (turn < 0 && errno == ESRCH)
		return session_refuse_ended(&session->place, err);
	if (turn <= 0)
		return error_refuse(err, CODE_BUSY, "session", "a cell runs; ask again when it is over");
	if (driver_secret(t.secret) < 0) {
		resident_give_turn(&session->place.home);
		return error_errno(err, "cannot get random bytes");
	}
	driver_ask(&t.out, inspect, t.secret, code, size, driver_bytes(code, size, cursor));
	resident_usage(&session->place.home, &t.before);
	t.sent_usec = clock_usec();
	t.due_usec = t.sent_usec + ASK_USEC;
	end = talk_run(&t);
	*json = end == TALK_DONE ? answer_text(&t, inspect, code, size) : NULL;
	if (end != TALK_DONE) {
		output_init(&lost.outputs[0]);
		output_init(&lost.outputs[1]);
		t.result = &lost;
		judge_lost(&t, end, &ignored);
		output_free(&lost.outputs[0]);
		output_free(&lost.outputs[1]);
		session_refuse_ended(&session->place, err);
	} else if (!*json) {
		error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the answer");
	}
	talk_free(&t);
	resident_give_turn(&session->place.home);
	return *json ? 0 : -1;
}
