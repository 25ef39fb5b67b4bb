#include "run/run.h"

#include "base/fd.h"
#include "base/own.h"
#include "run/build.h"
#include "base/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	RICH_MAX = 4 << 20 /* maximum bytes of rich results */
};

/* Reads the plain file {outputs} of the program, up to RICH_MAX. Its content is checked when it is shown. */
static int collect_rich(int dir, struct result *result, struct error *err)
{
	_cleanup_close_ int fd = fd_open_beneath(dir, "outputs", O_RDONLY);
	struct stat st;
	ssize_t n;

	/* The program may have removed or replaced it: then it has no rich results. */
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
		return 0;
	result->rich_cut = st.st_size > RICH_MAX;
	result->rich_size = result->rich_cut ? RICH_MAX : (size_t)st.st_size;
	result->rich = malloc(result->rich_size + 1);
	n = result->rich ? fd_read(fd, result->rich, result->rich_size) : -1;
	if (n < 0)
		return error_errno(err, "cannot read the rich results");
	result->rich_size = (size_t)n;
	result->rich[n] = '\0';
	return 0;
}

int run_collect(const int handles[], struct result *result, void *userdata, struct error *err)
{
	const struct spec *spec = userdata;
	int dir = handles[REPORT_FD_OUTPUT];

	if (fault_fail("collect", err) < 0 || files_list(dir, &result->files, err) < 0)
		return -1;
	files_since(&result->files, result->since_nsec);
	if (spec->output && files_copy(dir, &result->files, spec->output, result->limits.disk, err) < 0)
		return -1;
	if (result->keep_files)
		result->keep_files(result->keep_data, result->id, dir, &result->files);
	/* A session's driver has sent its rich results. */
	return !spec->runtime->outputs || result->session.id[0] ? 0
								: collect_rich(handles[REPORT_FD_RICH], result, err);
}

/* Without this check, a missing entry would be an error of the interpreter, as if the program had failed. */
static int check_entry(const struct spec *spec, struct error *err)
{
	_cleanup_close_ int dir = -1;
	struct stat st;

	if (!spec->project || spec->code || spec_gives(spec, spec_entry(spec)))
		return 0;
	dir = open(spec->project, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return error_field_errno(err, "project", "cannot open the directory \"%s\"", spec->project);
	if (fstatat(dir, spec_entry(spec), &st, 0) < 0)
		return error_field_errno(err, "entry", "\"%.64s\" is not in the project", spec_entry(spec));
	if (!S_ISREG(st.st_mode))
		return error_field(err, "entry", "\"%.64s\" of the project is not a plain file", spec_entry(spec));
	return 0;
}

static int own_begin(struct run_target *target, struct run_state *run, struct error *err)
{
	const struct spec *spec = &run->spec;

	if (spec_check(spec, err) < 0 || check_entry(spec, err) < 0)
		return -1;
	return spec->output ? files_check_target(spec->output, err) : 0;
}

static int own_execute(struct run_target *target, struct run_state *run, struct error *err)
{
	struct job_given given = build_given(&run->build);
	struct job job;
	int done;

	/* The prepared tree is only for the compiler. */
	if (!job_run_needs_prepared(run->spec.runtime))
		given.prepared = NULL;
	given.plain = run->request->io->stdin_fd < 0;
	done = job_make(JOB_RUN, &run->spec, &given, &job, err);
	if (done == 0)
		done = engines_run(run->engines, &job, run->request->io, run->result, run_collect, &run->spec, err);
	job_free(&job);
	return done;
}

const struct run_target run_own_box = {
	.begin = own_begin,
	.builds = RUN_COMPILES | RUN_PREPARES,
	.execute = own_execute,
};

int run_prepare(const struct spec *spec, struct error *err)
{
	const struct engine_io io = { .cancel_fd = -1, .stdin_fd = -1 };
	struct engines engines = { 0 };
	struct build build = BUILD_INIT;
	int done = runtime_program(spec->runtime, false) ? 0 : runtime_missing(spec->runtime, err);

	if (done == 0)
		done = engines_open(&engines, engine_table, NULL, err);
	if (done == 0)
		done = build_prepare(spec, &engines, &io, &build, err);
	build_free(&build);
	engines_close(&engines);
	return done;
}

int run_compile(const struct spec *spec, struct result *result, struct error *err)
{
	const struct engine_io io = { .cancel_fd = -1, .stdin_fd = -1 };
	struct engines engines = { 0 };
	struct build build = BUILD_INIT;
	int done = spec_check(spec, err);

	if (done == 0)
		done = engines_open(&engines, engine_table, NULL, err);
	if (done == 0)
		done = build_compile(spec, &engines, &io, &build, result, err);
	build_free(&build);
	engines_close(&engines);
	return done;
}

/* Prints the plan of one job, with a heading if there are several. */
static int explain_job(enum job_kind kind, const struct spec *spec, const struct engines *engines, struct buf *out,
		       struct error *err)
{
	static const char *const headings[] = { "prepare:\n", "compile:\n", "run:\n" };
	bool shown = kind == JOB_COMPILE || (kind == JOB_RUN && job_run_needs_prepared(spec->runtime));
	const struct job_given given = {
		.prepared = shown && spec->runtime->prepare.step.argv ? "the prepared tree" : NULL,
		.prepared_dir = -1,
		.artifact = spec->runtime->compile.step.argv ? 0 : -1,
	};
	struct job job;
	int done = job_make(kind, spec, &given, &job, err);

	if (done == 0 && (spec->runtime->compile.step.argv || spec->runtime->prepare.step.argv))
		buf_text(out, headings[kind]);
	if (done == 0)
		done = engines_explain(engines, &job, out, err);
	job_free(&job);
	return done;
}

static int explain_jobs(const struct spec *spec, const struct engines *engines, struct buf *out, struct error *err)
{
	if (spec->runtime->prepare.step.argv && explain_job(JOB_PREPARE, spec, engines, out, err) < 0)
		return -1;
	if (spec->runtime->compile.step.argv && explain_job(JOB_COMPILE, spec, engines, out, err) < 0)
		return -1;
	return explain_job(JOB_RUN, spec, engines, out, err);
}

int run_explain(const struct spec *spec, char **text, struct error *err)
{
	_cleanup_buf_ struct buf out = { 0 };
	struct engines engines;
	int done;

	if (spec_check(spec, err) < 0 || engines_open(&engines, engine_table, NULL, err) < 0)
		return -1;
	done = explain_jobs(spec, &engines, &out, err);
	engines_close(&engines);
	if (done < 0)
		return -1;
	*text = buf_take(&out);
	return *text ? 0 : error_set(err, ERROR_FAILED, ENOMEM, "cannot print the plan");
}
