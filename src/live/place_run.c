#include "live/place_run.h"

#include "base/clock.h"
#include "base/own.h"

#include <errno.h>
#include <string.h>

/* Renames the field of an error about the place to that of the request. Returns -1. */
static int blame_field(const struct place_run *run, struct error *err)
{
	if (run->field && strcmp(err->field, run->places->kind->field) == 0)
		error_rename(err, run->field);
	return -1;
}

static int admit_place(struct place_run *run, struct spec *spec, struct error *err)
{
	const struct place *place = run->place = places_find(run->places, run->id, run->owner, err);

	if (!place)
		return -1;
	if (place_has_ended(run->place))
		return place->places->kind->refuse_ended(run->place, err);
	if (spec->runtime && spec->runtime != place->runtime && strcmp(spec->runtime->name, place->runtime->name) != 0)
		return error_field(err, "language", "the %s's is %s, not %s; start another for that", place->home.noun,
				   place->runtime->name, spec->runtime->name);
	spec->runtime = place->runtime;
	return run->check(run, spec, err);
}

int place_run_admit(struct run_target *target, struct spec *spec, struct error *err)
{
	struct place_run *run = (struct place_run *)target;

	return admit_place(run, spec, err) == 0 ? 0 : blame_field(run, err);
}

int place_run_begin(struct run_target *target, struct run_state *state, struct error *err)
{
	const struct place *place = ((struct place_run *)target)->place;
	const struct limits limits = limits_of_run(&state->spec.limits, &place->limits);

	result_begin(state->result, JOB_RUN, &limits);
	state->result->warm = true;
	return place_fill_result(place, state->result, err);
}

/* As resident_take_turn(), with an error after -1. */
static int take_turn(struct place *place, const struct engine_io *io, struct error *err)
{
	const struct place_kind *kind = place->places->kind;
	int turn = resident_take_turn(&place->home, io->cancel_fd, -1);

	if (turn >= 0)
		return turn;
	if (errno == ESRCH)
		return kind->refuse_ended(place, err);
	if (errno == EBUSY)
		return error_refuse(err, CODE_TOO_MANY, kind->field,
				    "%d %s wait for their turn already; ask again later", RESIDENT_WAITING_MAX,
				    kind->runs);
	return error_errno(err, "cannot wait for the %s", kind->noun);
}

int place_run_execute(struct run_target *target, struct run_state *state, struct error *err)
{
	struct place_run *run = (struct place_run *)target;
	const uint64_t began = clock_usec();
	struct live_network_mark mark;
	int done = take_turn(run->place, state->request->io, err);

	state->result->waited_usec += clock_usec() - began;
	if (done == 0)
		state->result->verdict = (struct verdict){ .status = STATUS_KILLED, .cancelled = true };
	if (done <= 0)
		return done == 0 ? 0 : blame_field(run, err);
	resident_handles(&run->place->home, run->handles);
	/* The compiler was a job of its own, and the result has its limits and layers. */
	done = state->result->built ? place_run_begin(target, state, err) : 0;
	if (done == 0) {
		resident_network_mark(&run->place->home, state->request->io, &mark);
		done = run->execute(run, state, err);
		resident_network_fill(&run->place->home, &mark, state->result);
	}
	for (int i = 0; i < REPORT_FDS; i++)
		close_fd(&run->handles[i]);
	resident_give_turn(&run->place->home);
	return done;
}

void place_run_collect(struct place_run *run, struct run_state *state)
{
	struct error err;

	if (run->handles[REPORT_FD_OUTPUT] >= 0 && state->result->verdict.status != STATUS_ERROR &&
	    run_collect(run->handles, state->result, &state->spec, &err) < 0)
		result_fail(state->result, &err);
}

void place_run_leave(struct run_target *target)
{
	struct place *place = ((struct place_run *)target)->place;

	if (place)
		place_let_go(place);
}

int place_run(struct place_run *run, const struct run_request *request, struct result **out, struct error *err)
{
	struct run_request targeted = *request;

	targeted.target = &run->target;
	return pipeline_run(&targeted, out, err);
}
