/* A run in a container: from its spec to its result. */
#include "live/container_parts.h"

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

static int has_ended(struct container *container, struct error *err)
{
	char why[256];

	resident_why(&container->place.home, why);
	return error_refuse(err, CODE_NOT_FOUND, "id", "the container %s has ended: %s; start another",
			    container->place.id, why);
}

/* Limits of the box cannot be another's for a while. */
static int check_limits(const struct container *container, const struct limits *asked, struct error *err)
{
	struct limits has = container->place.limits;
	char text[TEXT_NUMBER_MAX];

	/* Those it was started with: what the host cannot enforce is not in force. */
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
struct exec_target {
	struct run_target target;         /* first */
	struct containers *containers;    /* all of them */
	const struct container_exec *run; /* which, and what */
	struct container *container;      /* the same, held; NULL: not found */
	bool ended;                       /* the container ended while it ran */
};

/* What the spec says, with what is the container's to say. */
static int check_spec(const struct container *container, bool command, struct spec *spec, struct error *err)
{
	if (spec->runtime && spec->runtime != container->place.runtime &&
	    strcmp(spec->runtime->name, container->place.runtime->name) != 0)
		return error_field(err, "language", "the container's is %s, not %s; start another for that",
				   container->place.runtime->name, spec->runtime->name);
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
	spec->runtime = container->place.runtime;
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

/* An error about the container names the field of the request. Returns -1. */
static int blame_field(const struct exec_target *exec, struct error *err)
{
	if (exec->run->field && strcmp(err->field, "id") == 0)
		error_rename(err, exec->run->field);
	return -1;
}

static int exec_admit(struct run_target *target, struct spec *spec, struct error *err)
{
	struct exec_target *exec = (struct exec_target *)target;
	const char *command = exec->run->command;

	exec->container = containers_hold(exec->containers, exec->run->id, exec->run->owner, err);
	if (!exec->container)
		return blame_field(exec, err);
	if (place_has_ended(&exec->container->place)) {
		has_ended(exec->container, err);
		return blame_field(exec, err);
	}
	if (command && spec->code && spec->code != command)
		return error_field(err, "command", "give it or code, not both");
	if (command && command[0] == '\0')
		return error_field(err, "command", "it is empty");
	/* A command is a shell's line, which nobody reads; its files are looked at. */
	if (command) {
		spec->code = NULL;
		spec->code_size = 0;
	} else {
		target->builds = RUN_COMPILES;
	}
	return check_spec(exec->container, command != NULL, spec, err);
}

static int exec_begin(struct run_target *target, struct run_state *run, struct error *err)
{
	return ((struct exec_target *)target)->run->command ? 0 : spec_check(&run->spec, err);
}

/* The box is ending: waits for that, and takes its verdict. */
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

/* That the container ended is news whatever else happened. */
static void exec_explained(struct run_target *target, struct result *result)
{
	const struct exec_target *exec = (struct exec_target *)target;
	char before[sizeof(result->message)], why[256];

	if (!exec->ended)
		return;
	memcpy(before, result->message, sizeof(before));
	resident_why(&exec->container->place.home, why);
	if (result->verdict.status == STATUS_KILLED && !result->verdict.cancelled)
		snprintf(result->message, sizeof(result->message), "The container ended while this ran: %s", why);
	else
		snprintf(result->message, sizeof(result->message), "%.200s; the container ended while this ran: %s",
			 before, why);
}

/* With the turn: 0, 1 when the container ended, -1. */
static int run_order(struct container *container, const struct order *order, const struct engine_io *io,
		     const struct spec *spec, struct error *err)
{
	struct result *result = order->result;
	int handles[REPORT_FDS], done;
	struct error later;

	resident_handles(&container->place.home, handles);
	pthread_mutex_lock(&container->place.home.lock);
	container->execs++;
	pthread_mutex_unlock(&container->place.home.lock);
	done = order_run(container, order, io, err);
	if (done == 1)
		await_end(container, &result->verdict);
	if (done >= 0 && handles[REPORT_FD_OUTPUT] >= 0 && result->verdict.status != STATUS_ERROR &&
	    run_collect(handles, result, (void *)spec, &later) < 0)
		result_fail(result, &later);
	for (int i = 0; i < REPORT_FDS; i++)
		close_fd(&handles[i]);
	return done;
}

/* With the errno of resident_take_turn(). */
static int refuse_turn(struct container *container, struct error *err)
{
	if (errno == ESRCH)
		return has_ended(container, err);
	if (errno != EBUSY)
		return error_errno(err, "cannot wait for the container");
	return error_refuse(err, CODE_TOO_MANY, "id", "%d runs wait for their turn already; ask again later",
			    RESIDENT_WAITING_MAX);
}

/* What the order names: the program of the job, or a shell. */
static int run_job(struct container *container, struct job *job, const char *command, const struct spec *spec,
		   const struct engine_io *io, struct result *result, struct error *err)
{
	const char *const shell[] = { "/bin/sh", "-c", command, NULL };
	const struct order order = {
		.argv = command ? shell : job->argv,
		.envp = job->envp,
		.files = job->files,
		.file_count = job->file_count,
		.input = job->input,
		.input_size = job->input_size,
		.limits = result->limits,
		.result = result,
	};
	uint64_t began = clock_usec();
	int done = resident_take_turn(&container->place.home, io->cancel_fd, -1);

	result->waited_usec += clock_usec() - began;
	if (done == 0) {
		result->verdict = (struct verdict){ .status = STATUS_KILLED, .cancelled = true };
		return 0;
	}
	if (done < 0)
		return refuse_turn(container, err);
	done = run_order(container, &order, io, spec, err);
	resident_give_turn(&container->place.home);
	return done;
}

static int exec_execute(struct run_target *target, struct run_state *run, struct error *err)
{
	struct exec_target *exec = (struct exec_target *)target;
	struct container *container = exec->container;
	const struct limits limits = limits_of_run(&run->spec.limits, &container->place.limits);
	struct job_given given = build_given(&run->build);
	struct result *result = run->result;
	struct job job;
	int done;

	given.prepared = NULL;
	done = job_make(JOB_RUN, &run->spec, &given, &job, err);
	if (done == 0) {
		result_begin(result, JOB_RUN, &limits);
		result->warm = true;
		done = place_fill_result(&container->place, result, err);
	}
	if (done == 0)
		done = run_job(container, &job, exec->run->command, &run->spec, run->request->io, result, err);
	exec->ended = done == 1;
	job_free(&job);
	return done < 0 ? blame_field(exec, err) : 0;
}

static void exec_leave(struct run_target *target)
{
	struct container *container = ((struct exec_target *)target)->container;

	if (container)
		place_let_go(&container->place);
}

int containers_exec(struct containers *containers, const struct container_exec *what, const struct run_request *request,
		    struct result **out, struct error *err)
{
	struct exec_target exec = {
		.target = { .admit = exec_admit,
			    .begin = exec_begin,
			    .execute = exec_execute,
			    .explained = exec_explained,
			    .leave = exec_leave },
		.containers = containers,
		.run = what,
	};
	struct run_request targeted = *request;

	targeted.target = &exec.target;
	return pipeline_run(&targeted, out, err);
}
