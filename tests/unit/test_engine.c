/* Engines: a third one gives the same results as ours, and which of several executes a job. */
#include "bare_engine.h"
#include "state_home.h"

#include "base/own.h"
#include "engine/local/local_engine.h"
#include "live/container.h"
#include "run/run.h"

#include <jansson.h>
#include <unistd.h>

static const struct engine *const bare_table[] = { &bare_engine, NULL };
static struct error err;

struct run_case {
	const char *code;
	const char *keys[8]; /* of the spec: name, value, …; NULL at the end */
	bool cancelled;      /* after its first output */
};

static void cancel(int stream, const void *data, size_t size, void *userdata)
{
	(void)!write(*(int *)userdata, "x", 1);
}

static json_t *run_by(const struct engine *const *table, const struct run_case *what)
{
	struct engine_io io = { .cancel_fd = -1, .stdin_fd = -1 };
	struct engines engines;
	struct run_request request = { .engines = &engines };
	struct result *result = NULL;
	struct spec spec;
	json_t *root = NULL;
	int ends[2];

	if (pipe(ends) < 0)
		abort();
	io.cancel_fd = ends[0];
	io.on_output = what->cancelled ? cancel : NULL;
	io.userdata = &ends[1];
	spec_init(&spec);
	CHECK_INT(spec_set(&spec, "language", "bash", &err), 0);
	CHECK_INT(spec_set_code(&spec, what->code, strlen(what->code), &err), 0);
	for (size_t i = 0; what->keys[i]; i += 2)
		CHECK_INT(strcmp(what->keys[i], "stdin") == 0
				  ? spec_set_input(&spec, what->keys[i + 1], strlen(what->keys[i + 1]), &err)
				  : spec_set(&spec, what->keys[i], what->keys[i + 1], &err),
			  0);
	CHECK_INT(engines_open(&engines, table, NULL, &err), 0);
	request.spec = &spec;
	request.io = &io;
	if (pipeline_run(&request, &result, &err) < 0)
		check_fail("no result: %s", err.text);
	else
		root = json_loads(result_json(result), 0, NULL);
	result_free(result);
	engines_close(&engines);
	spec_free(&spec);
	close(ends[0]);
	close(ends[1]);
	return root;
}

static const json_t *at(const json_t *root, const char *path)
{
	char copy[128], *rest = copy, *part;

	snprintf(copy, sizeof(copy), "%s", path);
	while ((part = strsep(&rest, ".")) != NULL)
		root = json_object_get(root, part);
	return root;
}

static const char *text_at(const json_t *root, const char *path)
{
	return json_string_value(at(root, path)) ?: "(no text)";
}

/* What neither chance nor the engine has a part in. */
static const char *const same[] = {
	"status",
	"success",
	"exit_code",
	"signal",
	"stdout",
	"stderr",
	"stdout_bytes",
	"stderr_bytes",
	"truncated",
	"timeout",
	"language",
	"error_message",
	"error",
	"verdict",
	"outputs",
	"files",
	"meta.limit",
	"meta.phase",
	"meta.terminal",
	"meta.truncated",
	"meta.build",
	"meta.blocked_imports",
	"meta.policy_warnings",
};

/* How long a program took differs from run to run, and its verdict says so. */
static void forget_times(json_t *root)
{
	json_object_del(json_object_get(root, "verdict"), "used");
	json_object_del(json_object_get(root, "verdict"), "message");
}

static void another_engine_gives_the_same_results(void)
{
	static const struct run_case cases[] = {
		{ .code = "echo out; echo error >&2" },
		{ .code = "printf 'no newline'; exit 3" },
		{ .code = "kill -TERM $$" },
		{ .code = "exec sleep 600", .keys = { "timeout", "0.3" } },
		{ .code = "read -r line; echo \"got $line\"", .keys = { "stdin", "some input\nmore" } },
		{ .code = "echo $NAME", .keys = { "env", "NAME=a value" } },
		{ .code = "printf 'left' > ../output/a.txt; mkdir ../output/sub; : > ../output/sub/b" },
		{ .code = "for i in {1..3000}; do echo \"a line that is printed again and again\"; done",
		  .keys = { "max-output", "2k" } },
		{ .code = "echo begun; exec sleep 600", .cancelled = true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		json_t *ours = run_by(engine_table, &cases[i]), *theirs = run_by(bare_table, &cases[i]);

		forget_times(ours);
		forget_times(theirs);
		CHECK_STR(text_at(ours, "meta.runtime"), "local");
		CHECK_STR(text_at(theirs, "meta.runtime"), "bare");
		for (size_t k = 0; k < ARRAY_SIZE(same); k++) {
			const json_t *one = at(ours, same[k]), *other = at(theirs, same[k]);
			_cleanup_free_ char *text = json_dumps(one, JSON_ENCODE_ANY | JSON_COMPACT);
			_cleanup_free_ char *is = json_dumps(other, JSON_ENCODE_ANY | JSON_COMPACT);

			if (!one || !json_equal(one, other))
				check_fail("case %zu: %s is %s, not %s", i, same[k], is ?: "absent", text ?: "absent");
		}
		CHECK(json_array_size(at(ours, "meta.isolation")) > 5);
		CHECK_INT(json_array_size(at(theirs, "meta.isolation")), 0);
		json_decref(ours);
		json_decref(theirs);
	}
}

static int opened; /* places of the unusable engine */

static int open_unusable(void *self, const struct job *job, struct engine_place **out, struct error *e)
{
	int done = bare_engine.place_open(self, job, out, e);

	opened++;
	return done;
}

/* It ends the program at once, and says that nothing was executed. */
static int watch_unusable(struct engine_place *place, const struct job *job, const struct engine_io *io,
			  struct output outputs[2], struct verdict *verdict)
{
	bare_engine.place_watch(place, job, io, outputs, verdict);
	return 1;
}

static int open_never(const struct engine_options *options, void **self, struct error *e)
{
	return 1;
}

static int fail_to_open(const struct engine_options *options, void **self, struct error *e)
{
	return error_set(e, ERROR_FAILED, 0, "there is no host");
}

static int decline(void *self, const struct job *job, struct engine_place **out, struct error *e)
{
	return 1;
}

static void the_first_engine_that_has_a_place_is_taken(void)
{
	struct engine declines = bare_engine, unusable = bare_engine, late = bare_engine;
	const struct engine *const both[] = { &declines, &unusable, &bare_engine, &late, NULL };
	const struct run_case what = { .code = "echo once >> ../output/file; echo out" };
	json_t *root;

	declines.runtime = "declines";
	declines.place_open = decline;
	unusable.runtime = "unusable";
	unusable.place_open = open_unusable;
	unusable.place_watch = watch_unusable;
	late.runtime = "late";
	opened = 0;
	root = run_by(both, &what);
	CHECK_STR(text_at(root, "meta.runtime"), "bare");
	CHECK_STR(text_at(root, "meta.start"), "cold");
	/* Nothing of the unusable place is in the result. */
	CHECK_STR(text_at(root, "stdout"), "out\n");
	CHECK_INT(opened, 1);
	json_decref(root);
}

static void a_warm_engine_says_so(void)
{
	struct engine warm = bare_engine;
	const struct engine *const table[] = { &warm, NULL };
	const struct run_case what = { .code = "true" };
	json_t *root;

	warm.can = ENGINE_IS_WARM | ENGINE_CLOSES_LATE;
	root = run_by(table, &what);
	CHECK_STR(text_at(root, "status"), "ok");
	CHECK_STR(text_at(root, "meta.start"), "warm");
	json_decref(root);
}

static void without_an_engine_nothing_runs(void)
{
	struct engine declines = bare_engine;
	const struct engine *const table[] = { &declines, NULL };
	const struct run_case what = { .code = "true" };
	json_t *root;

	declines.place_open = decline;
	root = run_by(table, &what);
	CHECK_STR(text_at(root, "status"), "error");
	CHECK_STR(text_at(root, "error_message"), "no engine accepts this run");
	CHECK_INT(json_integer_value(at(root, "exit_code")), 125);
	json_decref(root);
}

static void engines_are_opened_where_they_are_of_use(void)
{
	struct engine never = bare_engine, fails = bare_engine;
	const struct engine *const some[] = { &never, &bare_engine, NULL };
	const struct engine *const none[] = { &bare_engine, &fails, NULL };
	const struct engine *many[ENGINES_MAX + 2] = { NULL };
	struct engines engines;

	never.open = open_never;
	fails.open = fail_to_open;
	CHECK_INT(engines_open(&engines, some, NULL, &err), 0);
	CHECK_INT(engines.count, 1);
	CHECK(engines.open[0].engine == &bare_engine);
	engines_close(&engines);
	CHECK_INT(engines_open(&engines, none, NULL, &err), -1);
	CHECK_STR(err.text, "there is no host");
	CHECK_INT(engines.count, 0);
	for (size_t i = 0; i <= ENGINES_MAX; i++)
		many[i] = &bare_engine;
	CHECK_INT(engines_open(&engines, many, NULL, &err), -1);
	CHECK_STR(err.text, "there are more than 8 engines");
}

static int fail_to_build(void *self, const struct job *job, struct engine_place **out, struct error *e)
{
	return error_set(e, ERROR_FAILED, 0, "asked to %s", job->kind == JOB_RUN ? "run" : "build");
}

/* One that does not build is passed over, though it takes every job. */
static void only_some_engines_build(void)
{
	struct engine builds = bare_engine;
	const struct engine *const table[] = { &bare_engine, &builds, NULL };
	const struct run_case what = { .code = "int main(void) { return 0; }", .keys = { "language", "c" } };
	json_t *root = run_by(bare_table, &what);

	CHECK(strstr(text_at(root, "error_message"), "no engine accepts this run") != NULL);
	json_decref(root);
	builds.can = ENGINE_BUILDS;
	builds.place_open = fail_to_build;
	root = run_by(table, &what);
	CHECK(strstr(text_at(root, "error_message"), "asked to build") != NULL);
	json_decref(root);
}

/* A request that names its engine is not for another one. */
static void the_engine_that_was_named_is_taken(void)
{
	static const struct engine *const both[] = { &bare_engine, &local_engine, NULL };
	const struct run_case any = { .code = "true" }, named = { .code = "true", .keys = { "engine", "local" } };
	json_t *root = run_by(both, &any);

	CHECK_STR(text_at(root, "meta.runtime"), "bare");
	json_decref(root);
	root = run_by(both, &named);
	CHECK_STR(text_at(root, "meta.runtime"), "local");
	CHECK_STR(text_at(root, "status"), "ok");
	json_decref(root);
	root = run_by(bare_table, &named);
	CHECK_STR(text_at(root, "error_message"), "no engine accepts this run");
	json_decref(root);
}

/* The control is test_container, with our engines. */
static void containers_are_for_engines_whose_places_stay(void)
{
	const struct container_options options = { .profile = "p", .owner = "ann", .ttl = 60 };
	struct containers *containers;
	struct engines engines;
	char id[RESULT_ID];
	struct spec spec;

	spec_init(&spec);
	CHECK_INT(spec_set(&spec, "language", "bash", &err), 0);
	CHECK_INT(engines_open(&engines, bare_table, NULL, &err), 0);
	CHECK_INT(containers_open(&engines, NULL, &containers, &err), 0);
	CHECK_INT(containers_start(containers, &spec, &options, id, &err), -1);
	CHECK_STR(err.text, "cannot start the container: no engine has a place that stays");
	CHECK_INT(containers_running(containers), 0);
	containers_close(containers);
	engines_close(&engines);
	spec_free(&spec);
}

int main(void)
{
	/* What was compiled before is not compiled again. */
	home_new();
	RUN(another_engine_gives_the_same_results);
	RUN(the_first_engine_that_has_a_place_is_taken);
	RUN(a_warm_engine_says_so);
	RUN(without_an_engine_nothing_runs);
	RUN(engines_are_opened_where_they_are_of_use);
	RUN(only_some_engines_build);
	RUN(the_engine_that_was_named_is_taken);
	RUN(containers_are_for_engines_whose_places_stay);
	home_free();
	return check_failures > 0;
}
