#include "run/run.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "run/build.h"
#include "engine/local/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	RICH_MAX = 4 << 20 /* bytes of rich results that are taken */
};

/* What the program left in {outputs}: a plain file, as far as RICH_MAX goes; what it says is checked when it is shown.
 */
static int collect_rich(int dir, struct result *result, struct error *err)
{
	_cleanup_close_ int fd = fd_open_beneath(dir, "outputs", O_RDONLY);
	struct stat st;
	ssize_t n;

	/* The program may have removed it, or put something else there: then it has none. */
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
	/* A driver has told what it has to show. */
	return !spec->runtime->outputs || result->session.id[0] ? 0
								: collect_rich(handles[REPORT_FD_RICH], result, err);
}

void run_begin(struct result *result, const struct run_ticket *ticket)
{
	result->begin_usec = clock_usec();
	if (!ticket)
		return;
	memcpy(result->id, ticket->id, sizeof(result->id));
	result->waited_usec = ticket->waited_usec;
	result->keep_files = ticket->keep_files;
	result->keep_data = ticket->keep_data;
}

static int run_program(const struct spec *spec, const struct engines *engines, const struct supervise_io *io,
		       const struct build *build, struct result *result, struct error *err)
{
	struct job_given given = build_given(build);
	struct job job;
	int done;

	if (!job_run_needs_prepared(spec->runtime))
		given.prepared = NULL;
	given.plain = io->stdin_fd < 0;
	done = job_make(JOB_RUN, spec, &given, &job, err);
	if (done == 0)
		done = engines_run(engines, &job, io, result, run_collect, (void *)spec, err);
	job_free(&job);
	return done;
}

/* An entry that is not there would be the interpreter's complaint, as if the program had failed. */
static int check_entry(const struct spec *spec, struct error *err)
{
	_cleanup_close_ int dir = -1;
	struct stat st;

	if (!spec->project || spec->code || spec_gives(spec, spec_entry(spec)))
		return 0;
	dir = open(spec->project, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return error_set(err, ERROR_USAGE, errno, "project: cannot open the directory \"%s\"", spec->project);
	if (fstatat(dir, spec_entry(spec), &st, 0) < 0)
		return error_set(err, ERROR_USAGE, errno, "entry: \"%.64s\" is not in the project", spec_entry(spec));
	if (!S_ISREG(st.st_mode))
		return error_usage(err, "entry: \"%.64s\" of the project is not a plain file", spec_entry(spec));
	return 0;
}

static int run_jobs(const struct spec *spec, const struct engines *engines, const struct supervise_io *io,
		    struct result *result, struct error *err)
{
	struct build build = BUILD_INIT;
	int done = spec_check(spec, err);

	if (done == 0)
		done = check_entry(spec, err);
	if (done == 0 && spec->output)
		done = files_check_target(spec->output, err);
	if (done == 0)
		done = build_compile(spec, engines, io, &build, result, err);
	if (done == 0 && job_run_needs_prepared(spec->runtime))
		done = build_prepare(spec, engines, io, &build, err);
	if (done == 0)
		done = run_program(spec, engines, io, &build, result, err);
	build_free(&build);
	return done < 0 ? -1 : 0;
}

int run_spec(const struct spec *spec, const struct supervise_io *io, struct result **out, struct error *err)
{
	return run_spec_by(spec, NULL, io, out, err);
}

static int run_with(const struct spec *spec, const struct engines *engines, const struct supervise_io *io,
		    struct result *result, struct error *err)
{
	struct engines own = { 0 };
	int done = engines ? 0 : engines_open(&own, engine_table, NULL, err);

	if (done == 0)
		done = run_jobs(spec, engines ? engines : &own, io, result, err);
	engines_close(&own);
	return done;
}

int run_spec_by(const struct spec *spec, const struct run_means *means, const struct supervise_io *io,
		struct result **out, struct error *err)
{
	struct result *result = result_new(spec);

	if (!result)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot make the result");
	run_begin(result, means ? means->ticket : NULL);
	if (run_with(spec, means ? means->engines : NULL, io, result, err) < 0) {
		/* A request that cannot be meant is the caller's to mend; all else is a result. */
		if (err->kind == ERROR_USAGE) {
			result_free(result);
			return -1;
		}
		/* Before the program had a box: there is no verdict, but the caller's wish is one. */
		if (err->errnum == ECANCELED)
			result->verdict = (struct verdict){ .status = STATUS_KILLED, .cancelled = true };
		else
			result_fail(result, err);
	}
	result->finish_usec = clock_usec();
	result_explain(result, spec);
	*out = result;
	return 0;
}

int run_prepare(const struct spec *spec, struct error *err)
{
	const struct supervise_io io = { .cancel_fd = -1, .stdin_fd = -1 };
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

/* One job's plan, under a heading when there are several. */
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
