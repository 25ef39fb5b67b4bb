#include "run/build.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "base/fault.h"
#include "result/output_files.h"
#include "language/cache.h"
#include "schema/host_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Libraries, headers and helpers of a compiler belong to other packages, so a change of any package changes the key. */
static const char *const package_lists[] = { "/var/lib/dpkg/status", "/var/lib/rpm/rpmdb.sqlite",
					     "/usr/lib/sysimage/rpm/rpmdb.sqlite", "/lib/apk/db/installed",
					     "/var/lib/pacman/local" };

struct job_given build_given(const struct build *build)
{
	return (struct job_given){
		.prepared = build->prepared.dir >= 0 ? build->prepared.path : NULL,
		.prepared_dir = build->prepared.dir,
		.artifact = build->artifact,
	};
}

void build_free(struct build *build)
{
	prepared_close(&build->prepared);
	close_fd(&build->artifact);
}

/* Digests all inputs of the job's step: our version, the toolchain, the command line, and every file's content. */
static int job_digest(const struct job *job, const struct digest *prepared, struct digest *key, struct error *err)
{
	const struct runtime *runtime = job->runtime;
	struct digester *d = digester_new();
	char path[4096];

	if (!d)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot make a digest");
	digester_add_text(d, "emberbox " EMBERBOX_VERSION);
	digester_add_text(d, job->kind == JOB_PREPARE ? "prepare" : "compile");
	digester_add_text(d, runtime->name);
	digester_add_text(d, runtime->compile.artifact);
	for (size_t i = 0; i < runtime->tool_count; i++)
		if (runtime_tool_path(&runtime->tools[i], path, sizeof(path)))
			digester_add_file(d, path);
	if (runtime_needed_path(runtime->needs, path, sizeof(path)))
		digester_add_text(d, path);
	if (runtime_needed_path(runtime->compile.needs, path, sizeof(path)))
		digester_add_text(d, path);
	for (size_t i = 0; i < ARRAY_SIZE(package_lists); i++)
		digester_add_file(d, package_lists[i]);
	if (prepared)
		digester_add(d, prepared->bytes, sizeof(prepared->bytes));
	for (const char **word = job->argv; *word; word++)
		digester_add_text(d, *word);
	digester_add_text(d, NULL);
	for (const char **entry = job->envp; *entry; entry++)
		digester_add_text(d, *entry);
	digester_add_text(d, NULL);
	for (size_t i = 0; i < job->file_count; i++) {
		digester_add_text(d, job->files[i].path);
		digester_add(d, job->files[i].data, job->files[i].size);
	}
	digester_finish(d, key);
	digester_free(d);
	return 0;
}

/* Reads each source once, so that the key and the compiler see the same content even if the file changes. */
static int load_sources(struct job *job, struct error *err)
{
	for (size_t i = 0; i < job->file_count; i++) {
		struct job_file *file = &job->files[i];
		_cleanup_close_ int fd = -1;
		struct stat st;
		ssize_t n;
		void *data;

		if (!file->host)
			continue;
		fd = host_file_open(file->host, &st, err);
		if (fd < 0)
			return -1;
		if (st.st_size > SPEC_CODE_MAX)
			return error_field(err, "file", "\"%s\" is a source and larger than 16m", file->host);
		data = arena_alloc(&job->arena, (size_t)st.st_size + 1);
		n = data ? fd_read(fd, data, (size_t)st.st_size) : -1;
		if (n < 0)
			return error_errno(err, "cannot read \"%s\"", file->host);
		file->data = data;
		file->size = (size_t)n;
		file->mode = st.st_mode & 0111 ? 0755 : 0644;
		file->host = NULL;
	}
	return 0;
}

/* The caller's engine_io without the streams: a compiler reads no input, and its output is only shown if it fails. */
static struct engine_io quiet_io(const struct engine_io *io)
{
	return (struct engine_io){ .cancel_fd = io->cancel_fd, .stdin_fd = -1 };
}

struct keeping {
	const char *name;          /* name of the language */
	const struct digest *key;  /* key of the prepared tree */
	struct prepared *prepared; /* receives the tree */
};

static int keep_prepared(const int handles[], struct result *result, void *userdata, struct error *err)
{
	struct keeping *keeping = userdata;

	if (result->verdict.status != STATUS_OK)
		return 0;
	return prepared_keep(keeping->name, keeping->key, handles[REPORT_FD_OUTPUT], keeping->prepared, err);
}

static int make_prepared(const struct job *job, const struct engines *engines, const struct engine_io *io,
			 const struct digest *key, struct prepared *prepared, struct error *err)
{
	struct keeping keeping = { .name = job->runtime->name, .key = key, .prepared = prepared };
	struct engine_io quiet = quiet_io(io);
	struct result *result = result_new(job->spec);
	int done;

	if (!result)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot make the result");
	done = engines_run(engines, job, &quiet, result, keep_prepared, &keeping, err);
	if (done == 0 && result->verdict.cancelled) {
		done = error_refuse(err, CODE_CANCELLED, "", "preparing %s was cancelled", job->runtime->display);
	} else if (done == 0 && result->verdict.status != STATUS_OK) {
		result_explain(result, NULL);
		done = error_set(err, ERROR_FAILED, 0, "cannot prepare %s: %s", job->runtime->display, result->message);
	}
	result_free(result);
	return done;
}

/* The job that prepares, and the key of its result. */
static int prepare_job(const struct spec *spec, struct job *job, struct digest *key, struct error *err)
{
	const struct job_given nothing = { .prepared_dir = -1, .artifact = -1 };

	if (job_make(JOB_PREPARE, spec, &nothing, job, err) < 0)
		return -1;
	return job_digest(job, NULL, key, err);
}

int build_prepare(const struct spec *spec, const struct engines *engines, const struct engine_io *io,
		  struct build *build, struct error *err)
{
	const char *name = spec->runtime->name;
	struct digest key;
	struct job job;
	int done;

	if (!spec->runtime->prepare.step.argv || build->prepared.dir >= 0)
		return 0;
	done = prepare_job(spec, &job, &key, err);
	if (done == 0)
		done = fault_fail("prepare", err) < 0 ? -1 : prepared_open(name, &key, &build->prepared, err);
	if (done == 0 && build->prepared.dir < 0) {
		done = prepared_begin(name, &key, job.limits.timeout + 10, io->cancel_fd, &build->prepared, err);
		if (done == 0)
			done = make_prepared(&job, engines, io, &key, &build->prepared, err);
	}
	job_free(&job);
	return done < 0 ? -1 : 0;
}

struct building {
	const struct job *job;    /* the compiler's job */
	const struct digest *key; /* NULL: the result is not cached */
	int artifact;             /* out */
};

static int keep_artifact(const int handles[], struct result *result, void *userdata, struct error *err)
{
	struct building *building = userdata;
	const struct runtime *runtime = building->job->runtime;
	_cleanup_close_ int fd = -1;
	struct stat st;
	uint64_t size;

	if (result->verdict.status != STATUS_OK)
		return 0;
	fd = fd_open_beneath(handles[REPORT_FD_OUTPUT], runtime->compile.artifact, O_RDONLY);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return error_set(err, ERROR_FAILED, 0, "the compile step of %s created no file %s in /sandbox/output",
				 runtime->display, runtime->compile.artifact);
	if (st.st_size > CACHE_ENTRY_MAX)
		return error_set(err, ERROR_FAILED, 0, "the compiled program is larger than %dm",
				 CACHE_ENTRY_MAX >> 20);
	if (fault_fail("keep", err) < 0)
		return -1;
	building->artifact = building->key ? cache_put(building->key, fd, &size, err) : take_fd(&fd);
	return building->artifact < 0 ? -1 : 0;
}

/* A compiler has no terminal that converts line ends, but the receiver of the output may be a raw one. */
static void show_lines(int stream, const char *data, size_t size, const struct engine_io *io)
{
	while (size > 0) {
		const char *end = memchr(data, '\n', size);
		size_t part = end ? (size_t)(end - data) : size;

		if (part > 0)
			io->on_output(stream, data, part, io->userdata);
		if (end)
			io->on_output(stream, "\r\n", 2, io->userdata);
		part += end ? 1 : 0;
		data += part;
		size -= part;
	}
}

/* Passes the compiler's output to the receiver of the run's output. */
static void show_output(const struct job *job, const struct result *result, const struct engine_io *io)
{
	char block[16384];

	for (int i = 0; i < 2 && io->on_output; i++) {
		uint64_t at = 0;
		long n;

		while ((n = output_read(&result->outputs[i], block, sizeof(block), at)) > 0) {
			if (job->spec->rows > 0)
				show_lines(i + 1, block, (size_t)n, io);
			else
				io->on_output(i + 1, block, (size_t)n, io->userdata);
			at += (uint64_t)n;
		}
	}
}

static int program_compile(const struct job *job, const struct engines *engines, const struct engine_io *io,
			   const struct digest *key, struct build *build, struct result *result, struct error *err)
{
	struct building building = { .job = job, .key = key, .artifact = -1 };
	struct engine_io quiet = quiet_io(io);

	if (engines_run(engines, job, &quiet, result, keep_artifact, &building, err) < 0)
		return -1;
	build->artifact = building.artifact;
	if (result->verdict.status == STATUS_OK)
		return 0;
	show_output(job, result, io);
	return 1;
}

/* The key of the artifact: the compiler's inputs, and the key of the prepared tree, whether or not it exists. */
static int artifact_key(const struct spec *spec, struct job *job, struct digest *key, struct error *err)
{
	struct digest prepared;
	struct job prepare;
	int done;

	if (load_sources(job, err) < 0)
		return -1;
	if (!spec->runtime->prepare.step.argv)
		return job_digest(job, NULL, key, err);
	done = prepare_job(spec, &prepare, &prepared, err);
	job_free(&prepare);
	return done < 0 ? -1 : job_digest(job, &prepared, key, err);
}

static int build_miss(struct job *job, const struct engines *engines, const struct engine_io *io,
		      const struct digest *key, struct build *build, struct result *result, struct error *err)
{
	if (build_prepare(job->spec, engines, io, build, err) < 0)
		return -1;
	if (build->prepared.dir >= 0 && job_show_prepared(job, build->prepared.path, build->prepared.dir, err) < 0)
		return -1;
	return program_compile(job, engines, io, key, build, result, err);
}

int build_compile(const struct spec *spec, const struct engines *engines, const struct engine_io *io,
		  struct build *build, struct result *result, struct error *err)
{
	const struct job_given nothing = { .prepared_dir = -1, .artifact = -1 };
	uint64_t began = clock_usec(), size;
	/* A project may change during the compilation, so its result is not cached. */
	bool kept = !spec->project;
	struct digest key;
	struct job job;
	int done;

	if (!spec->runtime->compile.step.argv)
		return 0;
	done = job_make(JOB_COMPILE, spec, &nothing, &job, err);
	if (done == 0 && kept)
		done = artifact_key(spec, &job, &key, err);
	if (done == 0 && kept)
		build->artifact = cache_get(&key, &size);
	result->built = true;
	result->build_cached = build->artifact >= 0;
	if (done == 0 && build->artifact < 0)
		done = build_miss(&job, engines, io, kept ? &key : NULL, build, result, err);
	result->build_usec = clock_usec() - began;
	job_free(&job);
	return done;
}
