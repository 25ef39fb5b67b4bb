#include "daemon/keeper/keeper_work.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "run/run.h"
#include "policy/gate.h"
#include "daemon/keeper/direct.h"
#include "schema/request.h"
#include "live/container.h"
#include "live/place.h"
#include "live/session.h"
#include "store/record.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

enum {
	DIRECT_MAX = 32 << 10, /* bytes of a result that the keeper hands to a client itself */
	CONTAINER_TTL = 3600   /* seconds of a container that nobody said more of */
};

/* One run, on its thread's stack. */
struct keeper_run {
	struct keeper_work *work;        /* where it is recorded */
	int front;                       /* whose it is */
	uint64_t number;                 /* as the front calls it */
	uint64_t begun_usec;             /* when it came */
	const struct message_run *about; /* what is said of it */
	char container[RESULT_ID];       /* that it started */
	struct spec *spec;               /* what is to be run */
	struct run_record record;        /* how it is written down */
	struct run_request request;      /* it, as the pipeline takes it */
	bool stream;                     /* its client wants to hear of it as it runs */
	bool unrecorded;                 /* it goes on, though it could not be recorded */
	struct decisions decisions;      /* about its network */
	struct direct direct;            /* its client, while we answer it ourselves */
};

/* History is kept also where there is no audit log. Without a place for it the service can only refuse, or run blind if
 * it may: until there is one. */
static int journal_settle(struct keeper_work *work, struct error *err)
{
	struct journal *journal = NULL;
	int done = 0;

	if (work->journal)
		return 0;
	pthread_mutex_lock(&work->lock);
	if (!work->journal && (done = journal_open(&journal, err)) == 0) {
		if (work->nudge >= 0)
			journal_nudge(journal, work->nudge);
		work->journal = journal;
	}
	pthread_mutex_unlock(&work->lock);
	return done;
}

static void keeper_note(const struct keeper_work *work, const char *event, json_t *fields)
{
	_cleanup_free_ char *text = work->journal && fields ? json_dumps(fields, JSON_COMPACT) : NULL;
	struct error ignored;

	json_decref(fields);
	if (text)
		record_event(work->journal, event, text, &ignored);
}

/* On the container's thread, whatever ended it. */
static void on_container_end(const struct place_ended *ended, void *userdata)
{
	keeper_note(userdata, "container_stopped",
		    json_pack("{s:s, s:s, s:s, s:s, s:s}", "id", ended->id, "caller", ended->owner, "profile",
			      ended->profile, "reason", ended->why, "by", ended->by));
}

/* On the session's thread. */
static void on_session_end(const struct place_ended *ended, void *userdata)
{
	keeper_note(userdata, "session_ended",
		    json_pack("{s:s, s:s, s:s, s:s, s:s}", "id", ended->id, "caller", ended->owner, "language",
			      ended->language, "reason", ended->why, "by", ended->by));
}

int keeper_work_open(struct keeper_work *work, int nudge, struct error *err)
{
	struct error ignored;

	pthread_mutex_init(&work->lock, NULL);
	pthread_mutex_init(&work->decisions.lock, NULL);
	work->nudge = nudge;
	journal_settle(work, &ignored);
	if (sessions_open(&work->engines, &(struct place_watch){ on_session_end, work }, &work->sessions, err) < 0)
		return -1;
	return containers_open(&work->engines, &(struct place_watch){ on_container_end, work }, &work->containers, err);
}

void keeper_work_close(struct keeper_work *work)
{
	sessions_close(work->sessions);
	containers_close(work->containers);
	journal_close(work->journal);
	pthread_mutex_destroy(&work->lock);
}

/* A front that is gone needs no answer: failures to send are its own. It is one of ours and always reads; if it does
 * not, we wait, and its death ends that. */
static void answer(const struct keeper_run *run, enum message_kind kind, uint32_t stream, const void *body, size_t size)
{
	const struct message_head head = { .kind = kind, .stream = stream, .run = run->number, .size = size };
	struct error ignored;

	message_send(run->front, &head, body, NULL, 0, &ignored);
}

static void refuse(const struct keeper_run *run, const struct error *err)
{
	struct message_refusal refusal;

	refusal_pack(err, &refusal);
	answer(run, MESSAGE_REFUSED, 0, &refusal, sizeof(refusal));
}

static void on_output(int stream, const void *data, size_t size, void *userdata)
{
	struct keeper_run *run = userdata;
	const char *at = data;

	_Static_assert((int)MESSAGE_INLINE <= (int)FRAME_BYTES_MAX, "what fits a message fits a frame");
	while (size > 0) {
		size_t part = size < MESSAGE_INLINE ? size : MESSAGE_INLINE;

		if (!direct_send(&run->direct, stream == 1 ? FRAME_STDOUT : FRAME_STDERR, at, part))
			answer(run, MESSAGE_OUTPUT, (uint32_t)stream, at, part);
		at += part;
		size -= part;
	}
}

static void on_kept(int stream, int file, uint64_t offset, size_t size, void *userdata)
{
	struct keeper_run *run = userdata;
	char part[MESSAGE_INLINE];

	while (size > 0) {
		size_t most = size < MESSAGE_INLINE ? size : MESSAGE_INLINE;
		ssize_t n = (ssize_t)most;

		if (!direct_send_file(&run->direct, stream == 1 ? FRAME_STDOUT : FRAME_STDERR, file, offset, most)) {
			n = pread(file, part, most, (off_t)offset);
			if (n <= 0)
				return; /* its own memory: cannot be */
			answer(run, MESSAGE_OUTPUT, (uint32_t)stream, part, (size_t)n);
		}
		offset += (uint64_t)n;
		size -= (size_t)n;
	}
}

/* The run is written down already; history may have it now that the program has begun. */
static void on_started(void *userdata)
{
	const struct keeper_run *run = userdata;

	journal_tell(run->work->journal);
}

static void on_network(const struct net_report *report, size_t from, void *userdata)
{
	struct keeper_run *run = userdata;

	decisions_add(&run->work->decisions, &run->decisions, report, from);
}

/* A front that was taken over could pass anything; what is not a pipe could hold us up. */
static bool is_pipe(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode);
}

static bool is_socket(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

static struct outcome outcome_of(const struct keeper_run *run, const struct result *result)
{
	const struct verdict *v = &result->verdict;
	struct outcome outcome = {
		.status = (uint8_t)v->status,
		.warm = result->warm,
		.unrecorded = run->unrecorded,
		.limit = outcome_limit(v->limit),
		.exit_code = (uint32_t)result_exit_code(result),
		.usec = clock_usec() - run->begun_usec,
		.run_usec = v->started_usec && v->ended_usec > v->started_usec ? v->ended_usec - v->started_usec : 0,
		.memory = v->memory_peak,
		.remedy = v->failure.remedy,
		.with = v->failure.with,
		.net_allowed = result->network.allowed,
		.net_refused = result->network.refused,
		.net_sent = result->network.sent,
		.net_received = result->network.received,
	};

	if (result->runtime)
		memcpy(outcome.language, result->runtime->name,
		       strnlen(result->runtime->name, sizeof(outcome.language)));
	return outcome;
}

/* The front waits for a word of every run: of a result that cannot be sent it hears why. */
static int answer_result(struct keeper_run *run, const struct outcome *outcome, const char *json, struct error *err)
{
	const size_t size = strlen(json);
	const bool told = size <= DIRECT_MAX && direct_send(&run->direct, FRAME_RESULT, json, size);
	const struct message_head head = {
		.kind = MESSAGE_RESULT, .direct = told, .run = run->number, .size = told ? 0 : size, .outcome = *outcome
	};

	if (message_send(run->front, &head, json, NULL, 0, err) == 0)
		return 0;
	return error_prefix(err, "the result cannot be sent");
}

/* Logs when recording stops and when it works again: one line each, because a full disk may be what stops it. */
static void tell_recording(struct keeper_work *work, const struct error *failure)
{
	if (work->unrecorded == (failure != NULL) ||
	    atomic_exchange(&work->unrecorded, failure != NULL) == (failure != NULL))
		return;
	if (failure)
		log_say("runs are not recorded, and EMBERBOX_AUDIT lets them go on: %s", failure->text);
	else
		log_say("runs are recorded again");
}

/* A run that cannot be recorded goes on only if EMBERBOX_AUDIT allows it. */
static int go_on_unrecorded(struct keeper_run *run, struct error *err)
{
	if (run->work->audit == AUDIT_REQUIRED) {
		error_hint(err, "; nothing runs unrecorded unless EMBERBOX_AUDIT is best_effort or off");
		return error_prefix(err, "audit");
	}
	run->unrecorded = true;
	tell_recording(run->work, err);
	return 0;
}

static int may_begin(struct keeper_run *run, struct error *err)
{
	return journal_settle(run->work, err) == 0 ? 0 : go_on_unrecorded(run, err);
}

static int unwritten(const struct run_record *record, bool over, struct error *err)
{
	return go_on_unrecorded(record->userdata, err);
}

/* Whoever reads the result shall not look for a person who cancelled it. */
static void explained(const struct run_request *request, struct result *result)
{
	struct pollfd pipe = { .fd = request->io->cancel_fd, .events = POLLIN };
	char byte = 0;

	if (result->verdict.cancelled && poll(&pipe, 1, 0) == 1 && (pipe.revents & POLLIN) &&
	    read(pipe.fd, &byte, 1) == 1 && byte == MESSAGE_SERVICE_ENDS)
		snprintf(result->message, sizeof(result->message), "The service ended while this ran");
}

/* Files that a box starts with are there for all that runs in it later. What is run at once is looked at by itself. */
static int check_files(const struct spec *spec, struct error *err)
{
	_cleanup_gate_ struct gate gate = { 0 };
	struct spec files = *spec; /* what it points to stays the run's */
	int done;

	files.code = NULL;
	files.code_size = 0;
	done = files.file_count > 0 ? gate_look(&files, &gate, err) : 0;
	if (done == 1) {
		gate_refuse(&gate, "files", err);
		return error_prefix(err, "files");
	}
	return done;
}

static struct container_options container_options(const struct message_run *about)
{
	return (struct container_options){
		.profile = about->profile,
		.owner = about->caller,
		.ttl = about->ttl > 0 ? about->ttl : CONTAINER_TTL,
		.auto_cleanup = about->auto_cleanup,
		.asks = about->asks,
		.most = about->max_concurrent,
		.most_own = about->max_own,
	};
}

static int start_container(struct keeper_run *run, struct error *err)
{
	const struct container_options options = container_options(run->about);

	if (check_files(run->spec, err) < 0 ||
	    containers_start(run->work->containers, run->spec, &options, run->container, err) < 0)
		return -1;
	keeper_note(run->work, "container_started",
		    json_pack("{s:s, s:s, s:s}", "id", run->container, "caller", options.owner, "profile",
			      options.profile));
	/* Nobody knew it when the run was written down. */
	run->record.caller.place = run->container;
	return 0;
}

/* The answer to a start is an object of its own, with the result in it if something ran. */
static int container_json(const struct keeper_run *run, struct result *result, struct buf *json, struct error *err)
{
	const struct container_options options = container_options(run->about);

	buf_printf(json, "{\"id\":\"%s\",\"container\":\"%s\",\"status\":\"running\",\"ttl\":%.9g,\"result\":%s}",
		   run->container, options.profile, options.ttl, result ? result_json(result) ?: "null" : "null");
	return json->failed ? error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the answer") : 0;
}

/* Starts a session; the answer is what is told of it. */
static int start_session(struct keeper_run *run, struct buf *json, struct error *err)
{
	const struct keeper_work *work = run->work;
	const struct session_options options = {
		.owner = run->about->caller,
		.name = run->about->name,
		.ttl = run->about->ttl,
		.idle_ttl = run->about->idle_ttl,
		.most_own = run->about->max_own,
		.profile = run->about->profile,
		.asks = run->about->asks,
	};
	const char *language = run->spec->runtime ? run->spec->runtime->name : "";
	_cleanup_free_ char *text = NULL;
	char *id = run->container;

	if (check_files(run->spec, err) < 0)
		return -1;
	if (sessions_start(work->sessions, run->spec, &options, id, err) < 0)
		return -1;
	keeper_note(work, "session_started",
		    json_pack("{s:s, s:s, s:s}", "id", id, "caller", options.owner, "language", language));
	if (sessions_status(work->sessions, id, NULL, &text, err) < 0)
		return -1;
	buf_text(json, text);
	return json->failed ? error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the answer") : 0;
}

/* Before anything of it is said or written down: the front answers with the confirmation that is missing. */
static int check_confirmed(const struct keeper_work *work, const struct keeper_run *run, struct error *err)
{
	const struct message_run *about = run->about;
	const char *in_force = run->spec->policy_in_force;
	const bool cell = about->kind == RUN_CELL;

	if ((about->kind != RUN_INSIDE && !cell) || about->confirmed)
		return 0;
	if (!(cell ? sessions_confirm(work->sessions, about->container, about->caller, in_force)
		   : containers_ask(work->containers, about->container, about->caller, in_force)))
		return 0;
	error_refuse(err, CODE_NEEDS_CONFIRMATION, cell ? "session" : "container", "%s needs a confirmation",
		     cell ? "each cell of it" : "it");
	return error_remedy(err, MESSAGE_CONFIRM, "");
}

/* The run is written down: its client hears that it begins. What it is to run in is made, if that came with it. */
static int begun(const struct run_request *request, struct error *err)
{
	struct keeper_run *run = request->userdata;
	char started[RESULT_ID + 16];

	snprintf(started, sizeof(started), "{\"id\":\"%s\"}", run->about->id);
	if (run->stream && !direct_send(&run->direct, FRAME_STARTED, started, strlen(started)))
		answer(run, MESSAGE_STARTED, 0, started, strlen(started));
	return run->about->kind == RUN_START ? start_container(run, err) : 0;
}

/* By the pipeline, wherever it is to run. */
static int execute(struct keeper_run *run, struct result **out, struct error *err)
{
	const struct keeper_work *work = run->work;
	const struct message_run *about = run->about;
	const bool starts = about->kind == RUN_START;
	const struct container_exec exec = {
		.id = starts ? run->container : about->container,
		.owner = about->caller,
		.command = about->command ? run->spec->code : NULL,
		.field = "container",
	};
	const struct session_cell cell = { about->container, about->caller, about->sees_all };
	struct error ignored;
	int done;

	if (about->kind == RUN_CELL)
		return sessions_execute(work->sessions, &cell, &run->request, out, err);
	if (about->kind != RUN_INSIDE && !starts)
		return pipeline_run(&run->request, out, err);
	done = containers_exec(work->containers, &exec, &run->request, out, err);
	/* Nobody hears its id. */
	if (done < 0 && starts && run->container[0])
		containers_stop(work->containers, run->container, NULL, NULL, &ignored);
	return done;
}

/* A start has a record of its own only when something runs; that it started is in the audit log in any case. */
static bool is_recorded(const struct keeper_run *run)
{
	return run->about->kind != RUN_SESSION && (run->about->kind != RUN_START || run->spec->code);
}

static void log_run(const struct keeper_run *run, const struct outcome *outcome)
{
	const char *status = !is_recorded(run) ? "started" : status_name((enum status)outcome->status);

	log_event("run", (const struct log_field[]){
				 { .key = "execution", .text = run->about->id },
				 { .key = "request_id", .text = run->about->request_id },
				 { .key = "caller", .text = run->about->caller },
				 { .key = "status", .text = status },
				 { .key = "seconds", .number = (double)outcome->usec / 1e6 },
				 { .key = run->unrecorded ? "recorded" : NULL, .text = "no" },
				 { 0 },
			 });
}

/* What there is to answer, in `json` if it is more than the result. */
static int carry_out(struct keeper_run *run, struct result **result, struct buf *json, struct error *err)
{
	const bool starts = run->about->kind == RUN_START;

	if (check_confirmed(run->work, run, err) < 0 || may_begin(run, err) < 0)
		return -1;
	run->record.journal = run->work->journal;
	if (!is_recorded(run)) {
		if ((begun(&run->request, err) < 0) || (!starts && start_session(run, json, err) < 0))
			return -1;
	} else if (execute(run, result, err) < 0) {
		return -1;
	}
	return starts ? container_json(run, *result, json, err) : 0;
}

static int run_spec_of(struct keeper_run *run, struct error *err)
{
	_cleanup_buf_ struct buf own = { 0 };
	struct outcome outcome = { 0 };
	struct result *result = NULL;
	int done = carry_out(run, &result, &own, err);
	const char *json = own.size > 0 ? own.data : result ? result_json(result) : NULL;

	if (result)
		outcome = outcome_of(run, result);
	if (done == 0 && !json)
		done = error_set(err, ERROR_FAILED, ENOMEM, "cannot make the result");
	/* One that was ended because the front is gone is not what its client asked for. */
	if (result && result->verdict.cancelled)
		run->direct.client = -1;
	if (done == 0)
		done = answer_result(run, &outcome, json, err);
	if (done == 0)
		log_run(run, &outcome);
	if (is_recorded(run) && result && !run->unrecorded)
		tell_recording(run->work, NULL);
	result_free(result);
	return done;
}

/* All of these are names that the front made or checked: a line of plain characters. */
static bool is_name(const char *text, size_t size)
{
	size_t length = strnlen(text, size);

	for (size_t i = 0; i < length; i++)
		if (text[i] < 0x20 || text[i] > 0x7e)
			return false;
	return length < size;
}

/* What the front says of a run, as far as it can be said. */
static int check_about(const struct message_run *about, struct error *err)
{
	if (is_name(about->id, sizeof(about->id)) && strlen(about->id) == RESULT_ID - 1 &&
	    strspn(about->id, "0123456789ABCDEFGHJKMNPQRSTVWXYZabcdefghijklmnopqrstuvwxyz") == RESULT_ID - 1 &&
	    is_name(about->door, sizeof(about->door)) && is_name(about->caller, sizeof(about->caller)) &&
	    is_name(about->request_id, sizeof(about->request_id)) && is_name(about->profile, sizeof(about->profile)) &&
	    is_name(about->container, sizeof(about->container)) && is_name(about->name, sizeof(about->name)) &&
	    about->kind <= RUN_SESSION)
		return 0;
	return error_set(err, ERROR_FAILED, 0, "a run came without saying whose it is");
}

static int take_run(struct keeper_run *run, const struct message *message, struct error *err)
{
	const uint32_t manner = message->head.manner;
	const bool input = manner & MESSAGE_INPUT;
	const bool window = input && (manner & MESSAGE_WINDOW);
	struct engine_io io = { .cancel_fd = message->fds[0],
				.stdin_fd = input ? message->fds[1] : -1,
				.window_fd = window ? message->fds[2] : -1 };
	struct message_run about;
	struct spec spec;
	int done;

	if (message->head.size < sizeof(about))
		return error_set(err, ERROR_FAILED, 0, "a run came without saying whose it is");
	memcpy(&about, message->body, sizeof(about));
	if (check_about(&about, err) < 0)
		return -1;
	if (!is_pipe(io.cancel_fd) || (input && !is_pipe(io.stdin_fd)) || (window && !is_pipe(io.window_fd)))
		return error_set(err, ERROR_FAILED, 0, "a run came without its pipe");
	run->direct.client = manner & MESSAGE_DIRECT ? message->fds[1 + input + window] : -1;
	if ((manner & MESSAGE_DIRECT) && !is_socket(run->direct.client))
		return error_set(err, ERROR_FAILED, 0, "a run came without its client");
	io.on_started = on_started;
	io.on_network = on_network;
	io.userdata = run;
	run->stream = manner & MESSAGE_STREAM;
	if (run->stream) {
		io.on_output = on_output;
		io.on_kept = on_kept;
	}
	spec_init(&spec);
	run->about = &about;
	run->spec = &spec;
	run->record = (struct run_record){
		.caller = { about.door, about.caller, about.request_id, about.profile, about.container },
		.code = (enum record_code)about.store_code,
		.unwritten = unwritten,
		.userdata = run,
	};
	run->request = (struct run_request){
		.spec = &spec,
		.id = about.id,
		.waited_usec = message->head.waited,
		.io = &io,
		.engines = &run->work->engines,
		.record = &run->record,
		.begun = begun,
		.explained = explained,
		.userdata = run,
	};
	done = request_decode((const char *)message->body + sizeof(about), message->head.size - sizeof(about), &spec,
			      err);
	decisions_begin(&run->work->decisions, &run->decisions, about.id, about.caller);
	if (done == 0)
		done = run_spec_of(run, err);
	decisions_end(&run->work->decisions, &run->decisions);
	spec_free(&spec);
	return done;
}

void keeper_handle(struct keeper_work *work, int front, const struct message *message)
{
	struct keeper_run run = { .work = work,
				  .front = front,
				  .number = message->head.run,
				  .begun_usec = clock_usec(),
				  .direct = { .client = -1 } };
	_cleanup_buf_ struct buf told = { 0 };
	_cleanup_close_ int file = -1;
	struct message_head tell;
	struct error err = { 0 };
	int status;

	switch (message->head.kind) {
	case MESSAGE_RUN:
		if (take_run(&run, message, &err) < 0)
			refuse(&run, &err);
		break;
	case MESSAGE_ASK:
		status = keeper_ask(work, message->body, message->head.size, message->fds[0], &told, &file);
		tell = (struct message_head){
			.kind = MESSAGE_TELL, .status = (uint32_t)status, .run = run.number, .size = told.size
		};
		message_send(front, &tell, told.data, &file, file >= 0, &err);
		break;
	default:
		break; /* not a front's to say */
	}
}
