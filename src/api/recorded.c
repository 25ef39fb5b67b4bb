#include "api/recorded.h"

#include "base/own.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* How to record a run without a service. */
struct recording {
	struct run_record record; /* first */
	bool required;            /* a run without a record is refused */
	struct error *missing;    /* receives the reason for a missing record */
};

/* Only a caller who requires it is refused without a record: a home directory that is not writable is no reason to
 * refuse a run. */
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

static int record_unwritten(const struct run_record *record, bool over, struct error *err)
{
	const struct recording *recording = (const struct recording *)record;

	if (!recording->required) {
		if (recording->missing)
			*recording->missing = *err;
		return 0;
	}
	error_recode(err, CODE_FAILED);
	return error_prefix(err, "%s, and EMBERBOX_AUDIT is required",
			    over ? "this run is over, but could not be recorded" : "this run cannot be recorded");
}

static struct recording recording_of(const struct recorded_by *by)
{
	return (struct recording){
		.record = { .caller = caller_of(by), .code = by->code, .unwritten = record_unwritten },
		.required = by->required,
		.missing = by->missing
	};
}

int recorded_run(const struct spec *spec, const struct recorded_by *by, const struct engine_io *io, struct result **out,
		 struct error *err)
{
	struct recording recording = recording_of(by);
	char id[RESULT_ID];
	const struct run_request request = { .spec = spec, .id = id, .io = io, .record = &recording.record };
	int done = 0;

	result_make_id(id);
	if (journal_open(&recording.record.journal, err) < 0)
		done = record_unwritten(&recording.record, false, err);
	if (done == 0)
		done = pipeline_run(&request, out, err);
	journal_close(recording.record.journal);
	return done;
}

struct result *recorded_refusal(const struct spec *spec, const struct recorded_by *by, const struct error *why)
{
	struct recording recording = recording_of(by);
	const struct run_request request = { .spec = spec, .record = &recording.record };
	struct result *result;
	struct error ignored;

	journal_open(&recording.record.journal, &ignored);
	result = pipeline_refuse(&request, why);
	journal_close(recording.record.journal);
	return result;
}

static void record_note(const struct recorded_by *by, const char *event, const char *reason, const char *how)
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
	record_note(by, event, "confirm", how);
}

void recorded_bypass(const struct recorded_by *by, const char *how)
{
	record_note(by, "policy_bypassed", "policy", how);
}
