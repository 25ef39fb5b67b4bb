/* The public face: opaque handles around specs and results. */
#include "base/error.h"
#include "box/run.h"
#include "box/spec.h"
#include "service/prove.h"
#include "service/public.h"

#include <errno.h>
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

int eb_execute(const eb_request *request, const eb_options *options, eb_result **result, eb_error *err)
{
	struct supervise_io io = { .cancel_fd = -1, .stdin_fd = -1 };
	struct error e;

	if (options) {
		io.on_output = options->on_output;
		io.userdata = options->userdata;
		io.cancel_fd = options->cancel_fd > 0 ? options->cancel_fd : -1;
		io.stdin_fd = options->stdin_fd > 0 ? options->stdin_fd : -1;
	}
	*result = calloc(1, sizeof(**result));
	if (!*result) {
		error_set(&e, ERROR_FAILED, ENOMEM, "cannot make the result");
		return public_error(err, &e);
	}
	if (run_spec(&request->spec, &io, &(*result)->result, &e) < 0) {
		free(*result);
		*result = NULL;
		return public_error(err, &e);
	}
	return 0;
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

const char *eb_detect_language(const char *name, const void *head, size_t size)
{
	const struct runtime *runtime = runtime_detect(name, head, size);

	return runtime ? runtime->name : NULL;
}

int eb_prove(char **text, int *all_hold, eb_error *err)
{
	struct error e;
	bool hold;

	if (prove_host(text, &hold, &e) < 0)
		return public_error(err, &e);
	*all_hold = hold;
	return 0;
}

const char *eb_version(void)
{
	return EMBERBOX_VERSION;
}
