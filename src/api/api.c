/* The public API: opaque handles for specs and results. */
#include "base/error.h"
#include "run/run.h"
#include "schema/spec.h"
#include "api/prove.h"
#include "api/public.h"
#include "api/recorded.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

struct eb_request {
	struct spec spec;
};

struct eb_result {
	struct result *result;
};

eb_request *eb_request_new(void)
{
	eb_request *request = calloc(1, sizeof(*request));

	if (request)
		spec_init(&request->spec);
	return request;
}

void eb_request_free(eb_request *request)
{
	if (!request)
		return;
	spec_free(&request->spec);
	free(request);
}

const struct spec *request_spec(const eb_request *request)
{
	return &request->spec;
}

int eb_request_set(eb_request *request, const char *key, const char *value, eb_error *err)
{
	struct error e;

	return spec_set(&request->spec, key, value, &e) < 0 ? public_error(err, &e) : 0;
}

int eb_request_set_code(eb_request *request, const void *code, size_t size, eb_error *err)
{
	struct error e;

	return spec_set_code(&request->spec, code, size, &e) < 0 ? public_error(err, &e) : 0;
}

int eb_request_set_stdin(eb_request *request, const void *data, size_t size, eb_error *err)
{
	struct error e;

	return spec_set_input(&request->spec, data, size, &e) < 0 ? public_error(err, &e) : 0;
}

int eb_request_add_content(eb_request *request, const char *box_path, const void *data, size_t size, eb_error *err)
{
	struct error e;

	return spec_add_content(&request->spec, box_path, data, size, &e) < 0 ? public_error(err, &e) : 0;
}

/* A caller built with a newer header may pass a larger struct if its additional fields are not set; one built with an
 * older header does not have `record`. */
static int options_read(const eb_options *options, struct engine_io *io, const char **record, struct error *err)
{
	const unsigned char *bytes = (const unsigned char *)options;

	if (options->size < offsetof(eb_options, record))
		return error_usage(err, "options: the size is not set; initialize them with EB_OPTIONS_INIT");
	for (size_t i = sizeof(*options); i < options->size; i++)
		if (bytes[i] != 0)
			return error_usage(err, "options: this version of libemberbox (%s) does not know all of them",
					   EMBERBOX_VERSION);
	io->on_output = options->on_output;
	io->userdata = options->userdata;
	io->cancel_fd = options->cancel_fd;
	io->stdin_fd = options->stdin_fd;
	if (options->size >= offsetof(eb_options, record) + sizeof(options->record))
		*record = options->record;
	if (options->size >= offsetof(eb_options, window_fd) + sizeof(options->window_fd))
		io->window_fd = options->window_fd;
	return 0;
}

static eb_result *result_wrap(struct result *inner)
{
	eb_result *result = inner ? calloc(1, sizeof(*result)) : NULL;

	if (result)
		result->result = inner;
	else
		result_free(inner);
	return result;
}

int request_execute(const eb_request *request, const eb_options *options, const struct recorded_by *by,
		    eb_result **result, eb_error *err)
{
	struct engine_io io = { .cancel_fd = -1, .stdin_fd = -1 };
	struct recorded_by environment;
	struct result *inner = NULL;
	const char *record = NULL;
	struct error e = { 0 };

	*result = NULL;
	if (options && options_read(options, &io, &record, &e) < 0)
		return public_error(err, &e);
	if (record && !by) {
		environment = recorded_by_environment(record);
		by = &environment;
	}
	if ((by ? recorded_run(&request->spec, by, &io, &inner, &e)
		: pipeline_run(&(struct run_request){ .spec = &request->spec, .io = &io }, &inner, &e)) < 0)
		return public_error(err, &e);
	*result = result_wrap(inner);
	if (!*result) {
		error_set(&e, ERROR_FAILED, ENOMEM, "cannot make the result");
		return public_error(err, &e);
	}
	return 0;
}

int eb_execute(const eb_request *request, const eb_options *options, eb_result **result, eb_error *err)
{
	return request_execute(request, options, NULL, result, err);
}

static struct error error_of(const eb_error *err)
{
	struct error inner;

	error_set(&inner, err->code == EB_OK ? ERROR_FAILED : (enum error_kind)err->code, 0, "%.*s",
		  (int)sizeof(inner.text) - 1, err->message);
	inner.errnum = err->errnum;
	return inner;
}

eb_result *eb_result_of_error(const eb_request *request, const eb_error *err)
{
	const struct error inner = error_of(err);

	return result_wrap(result_refused(request ? &request->spec : NULL, &inner));
}

eb_result *request_blocked(const eb_request *request, const eb_error *err, const struct recorded_by *by)
{
	const struct error inner = error_of(err);

	return result_wrap(recorded_refusal(&request->spec, by, &inner));
}

int eb_explain(const eb_request *request, char **text, eb_error *err)
{
	struct error e;

	return run_explain(&request->spec, text, &e) < 0 ? public_error(err, &e) : 0;
}

void eb_result_free(eb_result *result)
{
	if (!result)
		return;
	result_free(result->result);
	free(result);
}

const char *eb_result_status(const eb_result *result)
{
	return status_name(result->result->verdict.status);
}

const char *eb_result_message(const eb_result *result)
{
	return result->result->message[0] ? result->result->message : NULL;
}

int eb_result_exit_code(const eb_result *result)
{
	return result_exit_code(result->result);
}

int eb_result_signal(const eb_result *result)
{
	return result_signal(result->result);
}

const char *eb_result_json(const eb_result *result)
{
	return result_json(result->result);
}

long eb_result_read(const eb_result *result, int stream, void *data, size_t size, uint64_t offset)
{
	if (stream != EB_STDOUT && stream != EB_STDERR) {
		errno = EINVAL;
		return -1;
	}
	return output_read(&result->result->outputs[stream - 1], data, size, offset);
}

uint64_t result_kept(const eb_result *result)
{
	const struct file_list *files = &result->result->files;
	uint64_t size = 0;

	for (size_t i = 0; i < files->count; i++)
		size += files->entries[i].kept ? files->entries[i].size : 0;
	return size;
}

bool result_has_warnings(const eb_result *result)
{
	return result->result->warning_count > 0;
}

int eb_prepare(const char *language, eb_error *err)
{
	struct spec spec;
	struct error e;
	int done;

	spec_init(&spec);
	done = spec_set(&spec, "language", language, &e);
	if (done == 0)
		done = run_prepare(&spec, &e);
	spec_free(&spec);
	return done < 0 ? public_error(err, &e) : 0;
}

const char *eb_detect_language(const char *name, const void *head, size_t size)
{
	const struct runtime *runtime = runtime_detect(name, head, size);

	return runtime ? runtime->name : NULL;
}

const char *eb_language_at(size_t index)
{
	const struct runtime *runtime = runtime_at(index);

	return runtime ? runtime->name : NULL;
}

int eb_prove(char **text, int *all_hold, eb_error *err)
{
	struct error e;
	bool hold;

	if (prove_host(false, text, &hold, &e) < 0)
		return public_error(err, &e);
	*all_hold = hold;
	return 0;
}

const char *eb_version(void)
{
	return EMBERBOX_VERSION;
}
