/* A run in a container: from its spec to its result. */
#include "live/container_parts.h"
#include "live/place_run.h"

#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"
#include "policy/in_force.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	SILENCE_MSEC = 5000 /* for a box to end whose agent has closed its pipes */
};

int container_refuse_ended(struct place *place, struct error *err)
{
	char why[256];

	resident_why(&place->home, why);
	return error_refuse(err, CODE_NOT_FOUND, "id", "the container %s has ended: %s; start another", place->id, why);
}

/* A run cannot change the limits of the box. */
static int check_limits(const struct container *container, const struct limits *asked, struct error *err)
{
	struct limits has = container->place.limits;
	char text[TEXT_NUMBER_MAX];

	/* The limit that was asked for; the one in force is 0 if the host cannot enforce it. */
	has.cpus = container->place.home.job.limits.cpus;
	for (enum limit_id id = 0; id < LIMITS; id++) {
		const struct limit_row *row = &limit_rows[id];
		const double amount = limit_get(&has, id);

		if (row->flags & LIMIT_OF_RUN || limit_get(asked, id) <= 0 || limit_get(asked, id) == amount)
			continue;
		return error_field(err, row->key, "it is the container's, which was started with %s; leave it out",
				   row->kind == LIMIT_BYTES ? text_size_format((uint64_t)amount, text)
							    : text_number_format(amount, text));
	}
	return 0;
}

/* A run in a container, as the target of a run. */
struct exec_run {
	struct place_run run;              /* first */
	const struct container_exec *what; /* what is run */
	bool ended;                        /* the container ended while it ran */
};

static int exec_check(struct place_run *run, struct spec *spec, struct error *err)
{
	const struct container *container = (const struct container *)run->place;
	const char *command = ((const struct exec_run *)run)->what->command;

	if (command && spec->code && spec->code != command)
		return error_field(err, "command", "give it or code, not both");
	if (command && command[0] == '\0')
		return error_field(err, "command", "it is empty");
	/* A command is a line for the shell, which the policy does not parse. Its files are checked. */
	if (command) {
		spec->code = NULL;
		spec->code_size = 0;
	} else {
		run->target.builds = RUN_COMPILES;
	}
	if (spec->rows > 0)
		return error_field(err, "tty", "programs in a container have none; leave it out, or run without one");
	if (spec->project)
		return error_field(err, "project", "a container has the files it was started with; give files");
	for (size_t i = 0; i < spec->file_count; i++)
		if (spec->files[i].host)
			return error_field(err, "file", "a container takes contents, not the path \"%s\" of the host",
					   spec->files[i].host);
	if (container->read_only && (spec->code || spec->file_count > 0))
		return error_field(err, spec->code ? "code" : "files",
				   "the container cannot be written to (read_only); use command");
	spec->profile = container->box_profile;
	spec->read_only = container->read_only;
	spec->policy = in_force_settle(spec, container->policy);
	memcpy(spec->weaker, container->weaker, sizeof(spec->weaker));
	if (check_limits(container, &spec->limits, err) < 0)
		return -1;
	if (!command && !spec->code && !spec->name && !spec_gives(spec, spec_entry(spec)))
		return error_field(err, "code",
				   "it is not set; give the program's text, or a command of the shell as command");
	return 0;
}

static int exec_begin(struct run_target *target, struct run_state *state, struct error *err)
{
	if (!((struct exec_run *)target)->what->command && spec_check(&state->spec, err) < 0)
		return -1;
	return place_run_begin(target, state, err);
}

/* The box is ending: waits for its end, and takes its verdict if that explains more. */
static void await_end(struct container *container, struct verdict *v)
{
	struct resident *home = &container->place.home;

	if (!resident_await_end(home, SILENCE_MSEC)) {
		resident_end(home, "its agent closed its pipes", NULL);
		resident_await_end(home, -1);
	}
	if (v->ended_usec == 0)
		v->ended_usec = clock_usec();
	pthread_mutex_lock(&home->lock);
	if (v->status == STATUS_KILLED && !v->cancelled && home->verdict.status == STATUS_OUT_OF_MEMORY) {
		v->status = STATUS_OUT_OF_MEMORY;
		v->limit = "memory";
		v->memory_peak = home->verdict.memory_peak;
	}
	pthread_mutex_unlock(&home->lock);
}

/* The sentence says that the container ended, whatever the status is. */
static void exec_explained(struct run_target *target, struct result *result)
{
	const struct exec_run *exec = (const struct exec_run *)target;
	char before[sizeof(result->message)], why[256];

	if (!exec->ended)
		return;
	memcpy(before, result->message, sizeof(before));
	resident_why(&exec->run.place->home, why);
	if (result->verdict.status == STATUS_KILLED && !result->verdict.cancelled)
		snprintf(result->message, sizeof(result->message), "The container ended while this ran: %s", why);
	else
		snprintf(result->message, sizeof(result->message), "%.200s; the container ended while this ran: %s",
			 before, why);
}

/* With the turn: the program of the job, or a shell. 0; 1: the container ended; -1. */
static int run_order(struct container *container, const struct job *job, const char *command, struct run_state *state,
		     struct error *err)
{
	const char *const shell[] = { "/bin/sh", "-c", command, NULL };
	const struct order order = {
		.argv = command ? shell : job->argv,
		.envp = job->envp,
		.files = job->files,
		.file_count = job->file_count,
		.input = job->input,
		.input_size = job->input_size,
		.limits = state->result->limits,
		.result = state->result,
	};

	pthread_mutex_lock(&container->place.home.lock);
	container->execs++;
	pthread_mutex_unlock(&container->place.home.lock);
	return order_run(container, &order, state->request->io, err);
}

static int exec_execute(struct place_run *run, struct run_state *state, struct error *err)
{
	struct exec_run *exec = (struct exec_run *)run;
	struct container *container = (struct container *)run->place;
	struct job_given given = build_given(&state->build);
	struct job job;
	int done;

	given.prepared = NULL;
	done = job_make(JOB_RUN, &state->spec, &given, &job, err);
	if (done == 0)
		done = run_order(container, &job, exec->what->command, state, err);
	job_free(&job);
	if (done < 0)
		return -1;
	exec->ended = done == 1;
	if (exec->ended)
		await_end(container, &state->result->verdict);
	place_run_collect(run, state);
	return 0;
}

int containers_exec(struct containers *containers, const struct container_exec *what, const struct run_request *request,
		    struct result **out, struct error *err)
{
	struct exec_run exec = {
		.run = { .target = PLACE_RUN_TARGET,
			 .places = containers_places(containers),
			 .id = what->id,
			 .owner = what->owner,
			 .field = what->field,
			 .check = exec_check,
			 .execute = exec_execute },
		.what = what,
	};

	exec.run.target.begin = exec_begin;
	exec.run.target.explained = exec_explained;
	return place_run(&exec.run, request, out, err);
}
