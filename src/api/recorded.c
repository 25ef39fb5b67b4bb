#include "api/recorded.h"

#include "base/own.h"
#include "policy/gate.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct recording {
	struct journal *journal;     /* NULL: nothing is written down */
	struct run_ticket ticket;    /* the run's id */
	struct record_caller caller; /* who asked */
	bool required;               /* no run without a record */
};

/* Only who says so himself gets no run at all: a home that cannot be written to is no reason not to run. */
struct recorded_by recorded_by_environment(const char *caller)
{
	const char *audit = getenv("EMBERBOX_AUDIT");

	return (struct recorded_by){
		.caller = caller,
		.profile = "",
		.code = record_code_of(getenv("SANDBOX_STORE_CODE")),
		.required = audit && strcmp(audit, "required") == 0,
	};
}

static struct record_caller caller_of(const struct recorded_by *by)
{
	return (struct record_caller){
		.door = "cli", .name = by->caller, .request_id = "", .profile = by->profile, .place = ""
	};
}

static int give_up(struct recording *recording, const char *what, struct error *err)
{
	journal_close(recording->journal);
	recording->journal = NULL;
	if (!recording->required)
		return 0;
	error_recode(err, CODE_FAILED);
	return error_prefix(err, "%s, and EMBERBOX_AUDIT is required", what);
}

static int begin(struct recording *recording, const struct spec *spec, struct error *err)
{
	result_make_id(recording->ticket.id);
	if (journal_open(&recording->journal, err) < 0 ||
	    record_start(recording->journal, recording->ticket.id, spec, &recording->caller, err) < 0)
		return give_up(recording, "this run cannot be recorded", err);
	return 0;
}

int judged_run(const struct spec *spec, const struct run_means *means, const struct supervise_io *io,
	       struct result **out, struct error *err)
{
	_cleanup_gate_ struct gate gate = { 0 };
	int done = gate_look(spec, &gate, err);

	if (done == 1) {
		*out = gate_result(&gate, spec, means ? means->ticket : NULL);
		return *out ? 0 : error_set(err, ERROR_FAILED, ENOMEM, "cannot make the result");
	}
	if (done == 0)
		done = run_spec_by(spec, means, io, out, err);
	if (done == 0)
		gate_note(&gate, *out);
	return done;
}

int recorded_run(const struct spec *spec, const struct recorded_by *by, const struct supervise_io *io,
		 struct result **out, struct error *err)
{
	struct recording recording = {
		.caller = caller_of(by),
		.required = by->required,
	};
	struct run_means means = { .ticket = &recording.ticket };
	struct error unwritten = { 0 };
	int done = begin(&recording, spec, &unwritten);

	if (done < 0) {
		*err = unwritten;
		return -1;
	}
	if (recording.journal) {
		recording.ticket.keep_files = record_keep;
		recording.ticket.keep_data = recording.journal;
	}
	done = judged_run(spec, &means, io, out, err);
	if (!recording.journal)
		return done;
	if (done < 0)
		record_refused(recording.journal, recording.ticket.id, err, NULL);
	else if (record_end(recording.journal, spec, &recording.caller, *out, by->code, &unwritten) < 0 &&
		 give_up(&recording, "this run is over, but could not be recorded", &unwritten) < 0) {
		result_free(*out);
		*out = NULL;
		*err = unwritten;
		return -1;
	}
	journal_close(recording.journal);
	return done;
}

void recorded_refusal(const struct spec *spec, const struct recorded_by *by, struct result *result)
{
	const struct record_caller caller = caller_of(by);
	struct journal *journal = NULL;
	struct error ignored;

	if (journal_open(&journal, &ignored) == 0)
		record_end(journal, spec, &caller, result, by->code, &ignored);
	journal_close(journal);
}

static void note(const struct recorded_by *by, const char *event, const char *reason, const char *how)
{
	json_t *fields = json_pack("{s:s, s:s, s:s, s:s, s:s}", "reason", reason, "caller", by->caller, "door", "cli",
				   "profile", by->profile, "how", how);
	_cleanup_free_ char *text = fields ? json_dumps(fields, JSON_COMPACT) : NULL;
	struct journal *journal = NULL;
	struct error ignored;

	json_decref(fields);
	if (text && journal_open(&journal, &ignored) == 0)
		record_event(journal, event, text, &ignored);
	journal_close(journal);
}

void recorded_confirm(const struct recorded_by *by, const char *event, const char *how)
{
	note(by, event, "confirm", how);
}

void recorded_bypass(const struct recorded_by *by, const char *how)
{
	note(by, "policy_bypassed", "policy", how);
}
