#include "engine/warm/stem_job.h"

#include "base/own.h"
#include "engine/ember/library.h"
#include "engine/ember/ember_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(struct error *err)
{
	return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the stem's plan");
}

static int set_spec(const struct stem_begin *begin, struct spec *spec, struct error *err)
{
	if (spec_set(spec, "language", begin->language, err) < 0)
		return -1;
	if (begin->profile[0] && spec_set(spec, "profile", begin->profile, err) < 0)
		return -1;
	memcpy(spec->weaker, begin->weaker, sizeof(spec->weaker));
	return spec_set_surroundings(spec, begin->around, err);
}

/* All drivers, and the library; the files of a box come with its program. */
static int set_files(struct stem_job *stem, struct error *err)
{
	const struct runtime *runtime = stem->spec.runtime;
	struct job *job = &stem->job;

	free(job->files);
	job->file_count = 0;
	job->files = calloc(runtime->driver_count + 1, sizeof(*job->files));
	if (!job->files)
		return no_memory(err);
	for (size_t i = 0; i <= runtime->driver_count; i++) {
		struct job_file *file = &job->files[job->file_count++];
		const struct runtime_driver library = { EMBER_LIBRARY, ember_library_data, ember_library_size };
		const struct runtime_driver *from = i == runtime->driver_count ? &library : &runtime->drivers[i];

		*file = (struct job_file){ .fd = -1, .mode = 0755, .data = from->data, .size = from->size };
		file->path = arena_printf(&job->arena, "%s/%s", BOX_DRIVERS + 1, from->name);
		if (!file->path)
			return no_memory(err);
	}
	return 0;
}

static int set_zygote(struct stem_job *stem, struct error *err)
{
	const struct runtime_ember *ember = &stem->spec.runtime->ember;
	struct job *job = &stem->job;
	const struct expand_values values = { .name = spec_entry(&stem->spec),
					      .artifact = stem->spec.runtime->compile.artifact,
					      .limits = &job->limits };
	size_t count = 0, most = 3;

	if (!ember->point)
		return 0;
	stem->argv = expand_words(&job->arena, stem->spec.runtime, ember->argv ? ember->argv : stem->spec.runtime->run,
				  &values);
	while (job->envp[count])
		count++;
	for (const char *const *entry = ember->environment; entry && *entry; entry++)
		most++;
	stem->envp = arena_alloc(&job->arena, (count + most + 1) * sizeof(char *));
	if (!stem->argv || !stem->envp)
		return no_memory(err);
	memcpy(stem->envp, job->envp, count * sizeof(char *));
	for (const char *const *entry = ember->environment; entry && *entry; entry++)
		stem->envp[count++] = expand_word(&job->arena, stem->spec.runtime, *entry, &values);
	stem->envp[count++] = "LD_PRELOAD=" BOX_DRIVERS "/" EMBER_LIBRARY;
	stem->envp[count++] =
		arena_printf(&job->arena, EMBER_VARIABLE "=%s:" BOX_CODE "/%s", ember->point, spec_entry(&stem->spec));
	for (size_t i = 0; i < count; i++)
		if (!stem->envp[i])
			return no_memory(err);
	return 0;
}

int stem_job_make(const struct stem_begin *begin, enum stem_part part, struct stem_job *out, struct error *err)
{
	const struct job_given given = { .prepared_dir = -1, .artifact = -1 };

	*out = (struct stem_job){ 0 };
	spec_init(&out->spec);
	if (set_spec(begin, &out->spec, err) < 0 || job_make(JOB_RUN, &out->spec, &given, &out->job, err) < 0)
		return -1;
	if (part == STEM_BOX)
		return plan_make_box(&out->job, &begin->probe, &out->plan, err);
	if (part == STEM_ZYGOTE)
		return set_zygote(out, err) < 0 ? -1 : plan_make_zygote(&out->job, &begin->probe, &out->plan, err);
	return set_files(out, err) < 0 ? -1 : plan_make_stem(&out->job, &begin->probe, &out->plan, err);
}

void stem_job_free(struct stem_job *job)
{
	plan_free(&job->plan);
	job_free(&job->job);
	spec_free(&job->spec);
}
