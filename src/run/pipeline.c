/* The steps of every run; run.h names them. */
#include "run/run.h"

#include "base/clock.h"
#include "base/own.h"
#include "policy/gate.h"

#include <errno.h>
#include <string.h>

static struct result *new_result(const struct run_request *request, const struct spec *spec, uint64_t begin_usec)
{
	struct result *result = result_new(spec);

	if (!result)
		return NULL;
	result->begin_usec = begin_usec;
	result->waited_usec = request->waited_usec;
	if (request->id)
		memcpy(result->id, request->id, sizeof(result->id));
	if (request->record && request->record->journal) {
		result->keep_files = record_keep;
		result->keep_data = request->record->journal;
	}
	return result;
}

/* 1: it does not compile, and the result says so. */
static int build_step(struct run_state *run, unsigned builds, struct error *err)
{
	const struct engine_io *io = run->request->io;
	int done = 0;

	if (builds & RUN_COMPILES)
		done = build_compile(&run->spec, run->engines, io, &run->build, run->result, err);
	if (done == 0 && builds & RUN_PREPARES && job_run_needs_prepared(run->spec.runtime))
		done = build_prepare(&run->spec, run->engines, io, &run->build, err);
	return done;
}

static int execute_step(struct run_target *target, struct run_state *run, struct error *err)
{
	struct engines own = { 0 };
	int done = run->engines ? 0 : engines_open(&own, engine_table, NULL, err);

	if (!run->engines)
		run->engines = &own;
	if (done == 0)
		done = build_step(run, target->builds, err);
	if (done == 0)
		done = target->execute(target, run, err);
	build_free(&run->build);
	run->engines = run->request->engines;
	engines_close(&own);
	return done;
}

/* The caller gets an error, and no result, for a request that is invalid, and for a place that has ended or is busy.
 * Every other failure is a result. */
static int fail_step(struct run_state *run, const struct error *err)
{
	if (err->kind == ERROR_USAGE || err->code == CODE_NOT_FOUND || err->code == CODE_BUSY ||
	    err->code == CODE_TOO_MANY)
		return -1;
	/* Cancelled before the program was executed: there is no verdict of an engine. */
	if (err->code == CODE_CANCELLED)
		run->result->verdict = (struct verdict){ .status = STATUS_KILLED, .cancelled = true };
	else
		result_fail(run->result, err);
	return 0;
}

static void explain_step(struct run_target *target, struct run_state *run, bool blocked, const struct gate *gate)
{
	run->result->finish_usec = clock_usec();
	result_explain(run->result, blocked ? NULL : &run->spec);
	if (!blocked && target->explained)
		target->explained(target, run->result);
	gate_note(gate, run->result);
	if (!blocked && run->request->explained)
		run->request->explained(run->request, run->result);
}

/* With the result there. */
static int steps_of_result(struct run_target *target, struct run_state *run, struct error *err)
{
	_cleanup_gate_ struct gate gate = { 0 };
	int done = target->begin ? target->begin(target, run, err) : 0, seen = 0;

	/* A program that cannot be checked is not executed. */
	if (done == 0 && (seen = gate_look(&run->spec, &gate, err)) < 0)
		return -1;
	if (seen == 1) {
		gate_block(&gate, run->result);
		if (target->blocked)
			target->blocked(target, run->result);
	} else if (done == 0) {
		done = execute_step(target, run, err);
	}
	if (done < 0 && fail_step(run, err) < 0)
		return -1;
	explain_step(target, run, seen == 1, &gate);
	return 0;
}

static int steps(struct run_target *target, struct run_state *run, struct error *err)
{
	const uint64_t begin_usec = clock_usec();

	if (target->admit && target->admit(target, &run->spec, err) < 0)
		return -1;
	run->result = new_result(run->request, &run->spec, begin_usec);
	if (!run->result)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot make the result");
	if (steps_of_result(target, run, err) == 0)
		return 0;
	result_free(run->result);
	run->result = NULL;
	return -1;
}

static int record_unwritten(const struct run_record *record, bool over, struct error *err)
{
	return record->unwritten ? record->unwritten(record, over, err) : 0;
}

static int begin_step(const struct run_request *request, struct error *err)
{
	const struct run_record *record = request->record;

	if (record && record->journal &&
	    record_start(record->journal, request->id, request->spec, &record->caller, err) < 0)
		return record_unwritten(record, false, err);
	return 0;
}

static int record_step(const struct run_request *request, struct result *result, struct error *err)
{
	const struct run_record *record = request->record;

	if (!record || !record->journal)
		return 0;
	if (!result_json(result))
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot make the result");
	if (record_end(record->journal, request->spec, &record->caller, result, record->code, err) < 0)
		return record_unwritten(record, true, err);
	return 0;
}

int pipeline_run(const struct run_request *request, struct result **out, struct error *err)
{
	struct run_target own_box = run_own_box;
	struct run_target *target = request->target ?: &own_box;
	struct run_state run = {
		.request = request, .engines = request->engines, .spec = *request->spec, .build = BUILD_INIT
	};
	int done = begin_step(request, err);

	if (done < 0)
		return -1;
	if (request->begun)
		done = request->begun(request, err);
	if (done == 0)
		done = steps(target, &run, err);
	if (target->leave)
		target->leave(target);
	if (done == 0)
		done = record_step(request, run.result, err);
	if (done == 0) {
		*out = run.result;
		return 0;
	}
	result_free(run.result);
	/* Also when the result could not be recorded: history shall not show the run as running. */
	if (request->record && request->record->journal)
		record_refused(request->record->journal, request->id, err, NULL);
	return -1;
}

struct result *pipeline_refuse(const struct run_request *request, const struct error *why)
{
	struct result *result = result_refused(request->spec, why);
	struct error ignored;

	/* Nothing was executed, so an answer without a record does no harm. */
	if (result)
		record_step(request, result, &ignored);
	return result;
}
