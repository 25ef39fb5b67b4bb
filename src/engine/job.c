#include "engine/job.h"

#include "base/own.h"
#include "engine/box_network.h"
#include "engine/ember/library.h"
#include "engine/ember/ember_wire.h"
#include "net/net_authority.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CODE_PREFIX "sandbox/code/"

static int no_memory(struct error *err)
{
	return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the job");
}

static bool in_code(const struct spec_file *file)
{
	return strncmp(file->box, CODE_PREFIX, sizeof(CODE_PREFIX) - 1) == 0;
}

/* Whether the compiler gets a file: it matches a pattern of the definition, or is the entry. */
static bool is_source(const struct spec *spec, const struct spec_file *file)
{
	const char *slash = strrchr(file->box, '/');
	const char *base = slash ? slash + 1 : file->box;

	if (!in_code(file))
		return false;
	if (!spec->code && strcmp(file->box + sizeof(CODE_PREFIX) - 1, spec_entry(spec)) == 0)
		return true;
	for (const char *const *pattern = spec->runtime->compile.sources; *pattern; pattern++)
		if (fnmatch(*pattern, base, 0) == 0)
			return true;
	return false;
}

static struct job_file *add_file(struct job *job)
{
	struct job_file *file = &job->files[job->file_count++];

	*file = (struct job_file){ .fd = -1, .mode = 0644 };
	return file;
}

static bool uses_drivers(const struct job *job, const char *const *words)
{
	return expand_uses(words, "{drivers}") || expand_uses(job->runtime->environment, "{drivers}");
}

bool job_run_needs_prepared(const struct runtime *runtime)
{
	return expand_uses(runtime->run, "{prepared}") || expand_uses(runtime->environment, "{prepared}");
}

/* Collects the code, the given files, the drivers if a step uses them, and the artifact, with space for an agent. */
static int job_files(struct job *job, const struct job_given *given, const char *const *words, struct error *err)
{
	const struct spec *spec = job->spec;
	const struct runtime *runtime = job->runtime;
	struct job_file *file;

	job->files = calloc(spec->file_count + runtime->driver_count + 5, sizeof(*job->files));
	if (!job->files)
		return no_memory(err);
	if (job->preloads) {
		file = add_file(job);
		file->path = BOX_DRIVERS "/" EMBER_LIBRARY + 1;
		file->data = ember_library_data;
		file->size = ember_library_size;
		file->mode = 0755;
	}
	for (size_t i = 0; uses_drivers(job, words) && i < runtime->driver_count; i++) {
		file = add_file(job);
		file->path = arena_printf(&job->arena, "%s/%s", BOX_DRIVERS + 1, runtime->drivers[i].name);
		file->data = runtime->drivers[i].data;
		file->size = runtime->drivers[i].size;
		file->mode = 0755;
	}
	if (job->rich) {
		file = add_file(job);
		file->path = BOX_OUTPUTS + 1;
		file->data = "";
	}
	if (job->kind == JOB_PREPARE)
		return 0;
	if (spec->code) {
		file = add_file(job);
		file->path = arena_printf(&job->arena, CODE_PREFIX "%s", spec_entry(spec));
		file->data = spec->code;
		file->size = spec->code_size;
	}
	for (size_t i = 0; i < spec->file_count; i++) {
		if (job->kind == JOB_COMPILE && !is_source(spec, &spec->files[i]))
			continue;
		file = add_file(job);
		file->path = spec->files[i].box;
		file->host = spec->files[i].host;
		file->data = spec->files[i].data;
		file->size = spec->files[i].size;
		file->mode = file->host ? 0644 : spec->files[i].mode ?: 0755;
	}
	if (job->kind == JOB_RUN && given->artifact >= 0) {
		file = add_file(job);
		file->path = arena_printf(&job->arena, "%s/%s", BOX_BUILD + 1, runtime->compile.artifact);
		file->fd = given->artifact;
		file->mode = 0755;
	}
	for (size_t i = 0; i < job->file_count; i++)
		if (!job->files[i].path)
			return no_memory(err);
	return 0;
}

static int add_tree(struct job *job, const char *host, int dir, const char *path, bool writable, struct error *err)
{
	if (job->tree_count >= JOB_TREES_MAX)
		return error_set(err, ERROR_FAILED, 0, "%s: its definition binds more than %d paths",
				 job->runtime->name, JOB_TREES_MAX);
	if (!host || !path)
		return no_memory(err);
	job->trees[job->tree_count++] =
		(struct job_tree){ .host = host, .dir = dir, .path = path, .writable = writable };
	return 0;
}

/* Adds the existing paths that match the definition's patterns. */
static int job_binds(struct job *job, struct error *err)
{
	int done = 0;

	for (const char *const *bind = job->runtime->binds; *bind && done == 0; bind++) {
		glob_t found;

		if (glob(*bind, 0, NULL, &found) != 0)
			continue;
		for (size_t i = 0; i < found.gl_pathc && done == 0; i++) {
			const char *host = arena_string(&job->arena, found.gl_pathv[i]);

			done = add_tree(job, host, -1, host ? host + 1 : NULL, false, err);
		}
		globfree(&found);
	}
	return done;
}

int job_show_prepared(struct job *job, const char *path, int dir, struct error *err)
{
	return add_tree(job, path, dir, BOX_PREPARED + 1, job->runtime->prepare.writable, err);
}

static int job_trees(struct job *job, const struct job_given *given, struct error *err)
{
	if (job->kind != JOB_PREPARE && job->spec->project &&
	    add_tree(job, job->spec->project, -1, "sandbox/code", true, err) < 0)
		return -1;
	if (given->prepared && job_show_prepared(job, given->prepared, given->prepared_dir, err) < 0)
		return -1;
	return job->profile ? 0 : job_binds(job, err);
}

/* Adds "K=V" unless the name exists: the first value has precedence. */
static void put_variable(const char **envp, size_t *count, const char *entry)
{
	size_t name = (size_t)(strchr(entry, '=') - entry) + 1;

	for (size_t i = 0; i < *count; i++)
		if (strncmp(envp[i], entry, name) == 0)
			return;
	envp[(*count)++] = entry;
}

static size_t list_length(const char *const *list)
{
	size_t count = 0;

	while (list && list[count])
		count++;
	return count;
}

/* Precedence: the caller's variables, the step's, the language's, ours; of the caller's, the last one. */
static int job_environment(struct job *job, const struct runtime_step *step, const struct expand_values *values,
			   struct error *err)
{
	/* The variables of a login; the box's /etc/passwd agrees. */
	const char *const ours[] = { "HOME=/sandbox/temp", "PATH=/usr/local/bin:/usr/bin:/bin",
				     "LANG=C.UTF-8",       job->rows > 0 ? "TERM=xterm-256color" : "TERM=dumb",
				     "USER=sandbox",       "LOGNAME=sandbox",
				     "SHELL=/bin/sh",      NULL };
	const char *const *const lists[] = { step ? step->environment : NULL, job->runtime->environment, ours };
	size_t count = 0, most = job->spec->env_count;

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		most += list_length(lists[i]);
	if (job->trust)
		most += list_length(net_authority_variables);
	most += job->secrets ? job->secrets->count : 0;
	job->envp = arena_alloc(&job->arena, (most + 1) * sizeof(*job->envp));
	if (!job->envp)
		return no_memory(err);
	/* In the box a secret is its placeholder. */
	for (size_t i = 0; job->secrets && i < job->secrets->count; i++) {
		const char *full = arena_printf(&job->arena, "%s=%s", job->secrets->items[i].name,
						job->secrets->items[i].placeholder);

		if (!full)
			return no_memory(err);
		put_variable(job->envp, &count, full);
	}
	/* The caller's variables are for the program, not for a compiler. */
	for (size_t i = job->spec->env_count; job->kind == JOB_RUN && i > 0; i--)
		put_variable(job->envp, &count, job->spec->env[i - 1]);
	for (const char *const *entry = job->trust ? net_authority_variables : NULL; entry && *entry; entry++)
		put_variable(job->envp, &count, *entry);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		for (const char *const *entry = lists[i]; entry && *entry; entry++) {
			const char *full = expand_word(&job->arena, job->runtime, *entry, values);

			if (!full)
				return no_memory(err);
			put_variable(job->envp, &count, full);
		}
	}
	return 0;
}

/* An executed interpreter reports the position of its buffers with our library, as its zygote does for forks. */
static int job_start_environment(struct job *job, struct error *err)
{
	size_t count = list_length((const char *const *)job->envp);

	job->start_envp = job->envp;
	if (!job->preloads)
		return 0;
	job->start_envp = arena_alloc(&job->arena, (count + 3) * sizeof(*job->envp));
	if (!job->start_envp)
		return no_memory(err);
	memcpy(job->start_envp, job->envp, count * sizeof(*job->envp));
	job->start_envp[count++] = "LD_PRELOAD=" BOX_DRIVERS "/" EMBER_LIBRARY;
	job->start_envp[count] =
		arena_printf(&job->arena, EMBER_VARIABLE "=" EMBER_NOTICE ":" BOX_CODE "/%s", spec_entry(job->spec));
	return job->start_envp[count] ? 0 : no_memory(err);
}

/* The box paths of the given files, or of the sources and the code. */
static const char **list_files(struct job *job, bool sources)
{
	const struct spec *spec = job->spec;
	const char **list = arena_alloc(&job->arena, (spec->file_count + 2) * sizeof(*list));
	size_t n = 0;

	if (list && sources && spec->code)
		list[n++] = arena_printf(&job->arena, "/" CODE_PREFIX "%s", spec_entry(spec));
	for (size_t i = 0; list && i < spec->file_count; i++)
		if (!sources || is_source(spec, &spec->files[i]))
			list[n++] = arena_printf(&job->arena, "/%s", spec->files[i].box);
	return list;
}

static const char *const *choose_words(const struct job *job, const struct runtime_step **step)
{
	const struct runtime *runtime = job->runtime;

	switch (job->kind) {
	case JOB_PREPARE:
		*step = &runtime->prepare.step;
		return runtime->prepare.step.argv;
	case JOB_COMPILE:
		*step = &runtime->compile.step;
		return job->spec->unchecked ? runtime->compile.unchecked : runtime->compile.step.argv;
	case JOB_RUN:
		break;
	}
	*step = job->session ? &runtime->session.step : NULL;
	if (job->buffered)
		return runtime->buffered;
	return job->session ? runtime->session.step.argv : runtime->run;
}

static int job_program(struct job *job, const struct runtime_step *step, const char *const *words, struct error *err)
{
	const struct spec *spec = job->spec;
	const char **args = arena_alloc(&job->arena, (spec->arg_count + 1) * sizeof(*args));
	struct expand_values values = {
		.name = job->kind == JOB_PREPARE ? NULL : spec_entry(spec),
		.artifact = job->runtime->compile.artifact,
		.args = args,
		.limits = &job->limits,
	};

	if (!args)
		return no_memory(err);
	if (spec->arg_count > 0)
		memcpy(args, spec->args, spec->arg_count * sizeof(*args));
	if (job->kind != JOB_PREPARE) {
		values.sources = list_files(job, true);
		values.files = list_files(job, false);
	}
	job->argv = expand_words(&job->arena, job->runtime, words, &values);
	if (!job->argv)
		return no_memory(err);
	return job_environment(job, step, &values, err) < 0 ? -1 : job_start_environment(job, err);
}

/* With such variables, the interpreter starts without our library, or executes itself again. */
static bool is_loaded_otherwise(const struct spec *spec)
{
	static const char *const early[] = { "LD_", "MALLOC_", "GLIBC_TUNABLES=" };

	for (size_t i = 0; i < spec->env_count; i++)
		for (size_t k = 0; k < ARRAY_SIZE(early); k++)
			if (strncmp(spec->env[i], early[k], strlen(early[k])) == 0)
				return true;
	return false;
}

/* Languages whose buffers our library finds. In a compiled program, crash.c reports them. */
static bool tells_by_library(const struct runtime *runtime)
{
	static const char *const points[] = { "python", "ruby", "main" };

	for (size_t i = 0; runtime->ember.point && i < ARRAY_SIZE(points); i++)
		if (strcmp(runtime->ember.point, points[i]) == 0)
			return true;
	return false;
}

/* Sets everything that does not depend on the kind of the job or the language. */
/* Compilers and prepare steps have no network. */
static int job_network(struct job *job, struct error *err)
{
	const struct net_policy *asked = &job->spec->network;
	struct net_policy *policy;
	struct box_plant *plant;
	struct job_trust *trust;

	if (job->kind != JOB_RUN)
		return 0;
	if (job->spec->secrets && job->spec->secrets->count > 0 && net_policy_is_none(asked))
		return error_field(err, "secret",
				   "the program has no network; allow the secret's hosts with --net (network)");
	if (net_policy_is_none(asked))
		return 0;
	policy = arena_copy(&job->arena, asked, sizeof(*asked));
	plant = arena_alloc(&job->arena, sizeof(*plant));
	if (!policy || !plant)
		return no_memory(err);
	net_policy_default(policy);
	if (box_plant_settle(policy, plant, err) < 0)
		return -1;
	if (job->spec->secrets && net_secrets_check(job->spec->secrets, policy, err) < 0)
		return -1;
	if (job_trust_needed(policy, job->spec->secrets)) {
		trust = arena_alloc(&job->arena, sizeof(*trust));
		if (!trust)
			return no_memory(err);
		if (job_trust_make(&job->arena, trust, err) < 0)
			return -1;
		job->trust = trust;
	}
	job->secrets = job->spec->secrets;
	job->network = policy;
	job->plant = &plant->plant;
	return 0;
}

static int job_fill(struct job *job, const struct job_given *given, struct error *err)
{
	const struct spec *spec = job->spec;
	/* A compiler has limits of its own; the caller only decides how much of its output is shown. */
	const struct limits shown = { .max_output = spec->limits.max_output };
	const struct runtime_step *step;
	const char *const *words;

	job->buffered = given->plain && job->kind == JOB_RUN && !job->session && spec->rows == 0 &&
			job->runtime->buffered && !is_loaded_otherwise(spec);
	job->preloads = job->buffered && tells_by_library(job->runtime);
	words = choose_words(job, &step);
	if (job->kind == JOB_RUN) {
		job->limits = limits_settle(&spec->limits, &spec->runtime->limits);
		job->profile = spec_profile(spec);
		/* A driver sends its rich results over its channel. */
		job->rich = spec->runtime->outputs && !job->session;
		/* Only for the program: a compiler writes beside the sources. */
		job->read_only = spec->read_only;
		job->terminals = spec->rows > 0;
		job->rows = spec->rows;
		job->columns = spec->columns;
		job->input = spec->input;
		job->input_size = spec->input_size;
	} else {
		job->limits = limits_settle(&shown, &step->limits);
	}
	if (job_network(job, err) < 0 || job_program(job, step, words, err) < 0 ||
	    job_files(job, given, words, err) < 0 || job_trees(job, given, err) < 0)
		return -1;
	return 0;
}

int job_make(enum job_kind kind, const struct spec *spec, const struct job_given *given, struct job *job,
	     struct error *err)
{
	*job = (struct job){
		.kind = kind, .spec = spec, .runtime = spec->runtime, .around = spec->around, .channel = -1
	};
	return job_fill(job, given, err);
}

/* Limits the disk of a session or container. */
static void bound_disk(struct job *job)
{
	const uint64_t disk = limits_settle_place(&job->spec->limits, &job->runtime->limits).disk;

	job->disk_by_memory = disk < job->limits.disk;
	job->limits.disk = disk;
}

int job_make_session(const struct spec *spec, const struct job_given *given, double ttl, struct job *job,
		     struct error *err)
{
	*job = (struct job){ .kind = JOB_RUN,
			     .spec = spec,
			     .runtime = spec->runtime,
			     .around = spec->around,
			     .session = true,
			     .channel = -1 };
	if (job_fill(job, given, err) < 0)
		return -1;
	job->limits.timeout = ttl;
	bound_disk(job);
	/* Cells have limits of their own; the driver is one process more than requested, as init is. */
	job->limits.cpu_time = 0;
	job->limits.pids++;
	return 0;
}

bool job_session_needs_prepared(const struct runtime *runtime)
{
	return expand_uses(runtime->session.step.argv, "{prepared}") ||
	       expand_uses(runtime->session.step.environment, "{prepared}") ||
	       expand_uses(runtime->environment, "{prepared}");
}

int job_set_agent(struct job *job, const char *path, const void *data, size_t size, double ttl, struct error *err)
{
	struct job_file *file = add_file(job);

	file->path = path + 1;
	file->data = data;
	file->size = size;
	file->mode = 0755;
	job->argv = arena_alloc(&job->arena, 2 * sizeof(*job->argv));
	if (!job->argv)
		return no_memory(err);
	job->argv[0] = path;
	job->agent = true;
	job->input = NULL;
	job->input_size = 0;
	job->limits.timeout = ttl;
	bound_disk(job);
	/* Programs have limits of their own; the agent is one process more than requested, as init is. */
	job->limits.cpu_time = 0;
	job->limits.pids++;
	return 0;
}

void job_free(struct job *job)
{
	free(job->files);
	arena_free(&job->arena);
	*job = (struct job){ 0 };
}
