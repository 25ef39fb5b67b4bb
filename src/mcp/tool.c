#include "mcp/tool_parts.h"

#include "base/base64.h"
#include "base/own.h"
#include "mcp/content.h"
#include "mcp/tool_schema.h"
#include "mcp/tables.h"
#include "mcp/words.h"
#include "schema/file_path.h"

#include <stdio.h>
#include <string.h>

enum {
	SHOWN_USUAL = 20 << 10, /* bytes of a stream in a result by default */
};

const char *tool_argument(const struct tool_call *call, const char *name)
{
	return json_string_value(json_object_get(call->arguments, name));
}

static int no_memory(struct error *err)
{
	return error_set(err, ERROR_FAILED, 0, "cannot hold the request");
}

/* A JSON body; takes it. */
static int put_body(struct tool_request *request, json_t *body, struct error *err)
{
	request->body = body ? json_dumps(body, JSON_COMPACT) : NULL;
	json_decref(body);
	if (!request->body)
		return no_memory(err);
	request->size = strlen(request->body);
	return 0;
}

/* A budget above a result's default needs a result with more output. */
static void show_more(const struct tool_call *call, json_t *body)
{
	uint64_t wanted = (uint64_t)call->tokens * CONTENT_TOKEN_BYTES;

	wanted = call->shown_max && call->shown_max < wanted ? call->shown_max : wanted;
	if (wanted > SHOWN_USUAL)
		json_object_set_new(body, "limits", json_pack("{s:I}", "max_output", (json_int_t)wanted));
}

/* The arguments as a body, without MCP's own, and with a confirmation if there is one. */
int tool_post_arguments(struct tool_call *call, const char *path, struct tool_request *request, struct error *err)
{
	json_t *body = json_copy(call->arguments);

	json_object_del(body, "max_tokens");
	show_more(call, body);
	if (call->confirm[0])
		json_object_set_new(body, "confirm", json_string(call->confirm));
	request->method = HTTP_POST;
	snprintf(request->path, sizeof(request->path), "%s", path);
	return put_body(request, body, err);
}

static void query_get(struct tool_request *request, const char *path)
{
	request->method = HTTP_GET;
	snprintf(request->path, sizeof(request->path), "%s", path);
}

/* The id becomes part of a path, so it must be a plain id. */
int tool_take_id(const struct tool_call *call, const char *name, char out[64], struct error *err)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
	const json_t *value = json_object_get(call->arguments, name);
	const char *id = json_string_value(value);
	size_t size = json_string_length(value);

	if (size == 0 || size >= 64 || strspn(id, plain) != size)
		return error_field(err, name, "expected an id from an earlier answer");
	memcpy(out, id, size + 1);
	return 0;
}

json_t *tool_load(const struct tool_answer *answer)
{
	return json_loadb(answer->body, answer->size, JSON_ALLOW_NUL, NULL);
}

json_t *tool_no_answer(void)
{
	return content_refusal("the service gave an invalid answer");
}

/* Runs: the run itself, and then each image in /sandbox/output. */

enum {
	PICTURES_MAX = 4,      /* maximum of images in an answer */
	PICTURE_MAX = 1 << 20, /* bytes of one image */
};

/* The path of the next image; NULL: there are no more. */
static const char *next_picture(const struct tool_call *call)
{
	const json_t *files = json_object_get(call->kept, "files"), *file;
	int seen = 0;
	size_t i;

	json_array_foreach(files, i, file)
	{
		const char *path = json_string_value(json_object_get(file, "path"));

		if (!path || !content_image_type(path) || !json_is_true(json_object_get(file, "kept")) ||
		    json_integer_value(json_object_get(file, "size")) > PICTURE_MAX)
			continue;
		if (++seen == call->step && seen <= PICTURES_MAX)
			return path;
	}
	return NULL;
}

static int ask_picture(struct tool_call *call, struct tool_request *request, struct error *err)
{
	const char *id = json_string_value(json_object_get(call->kept, "id")), *path = next_picture(call);

	request->method = HTTP_GET;
	if (!id || !path ||
	    snprintf(request->path, sizeof(request->path), "/v1/executions/%s/files/%s", id, path) >=
		    (int)sizeof(request->path))
		return error_set(err, ERROR_FAILED, 0, "the image cannot be read");
	return 0;
}

static json_t *base64_text(const char *data, size_t size)
{
	_cleanup_buf_ struct buf text = { 0 };

	base64_add(&text, data, size);
	return json_string(text.data ? text.data : "");
}

/* Converts a run's result to that of the call; takes it. */
static json_t *told_result(const struct tool_call *call, json_t *result, const char *lead)
{
	return content_run(result, &(struct content_form){ .lead = lead,
							   .pictures = call->pictures,
							   .tokens = call->tokens,
							   .links = call->links });
}

static json_t *told_run(struct tool_call *call, const struct tool_answer *answer)
{
	if (call->step == 0) {
		call->kept = tool_load(answer);
		call->pictures = json_array();
	} else if (answer->status == 200) {
		json_array_append_new(call->pictures, json_pack("{s:s, s:o, s:s}", "type", "image", "data",
								base64_text(answer->body, answer->size), "mimeType",
								content_image_type(next_picture(call))));
	}
	if (!json_is_object(call->kept))
		return tool_no_answer();
	call->step++;
	return next_picture(call) ? NULL : told_result(call, take_ptr(call->kept), "");
}

static int ask_run(struct tool_call *call, struct tool_request *request, struct error *err)
{
	if (call->step > 0)
		return ask_picture(call, request, err);
	if (!tool_argument(call, "language") && !tool_argument(call, "profile"))
		return error_field(err, "language", "name a language, or a profile that has one");
	return tool_post_arguments(call, "/v1/execute", request, err);
}

static int ask_exec(struct tool_call *call, struct tool_request *request, struct error *err)
{
	if (call->step > 0)
		return ask_picture(call, request, err);
	if (!json_object_get(call->arguments, "code") == !json_object_get(call->arguments, "command"))
		return error_field(err, "code", "give either code or a command");
	return tool_post_arguments(call, "/containers/exec", request, err);
}

/* Sessions. */

enum {
	SESSION_MAKE,
	SESSION_RUN,
	SESSION_END,
};

static int ask_new_session(struct tool_call *call, struct tool_request *request, struct error *err)
{
	static const char *const names[] = { "language", "profile", "network", NULL };
	json_t *body = json_object(), *memory = json_object_get(call->arguments, "memory_limit");

	for (const char *const *name = names; *name; name++)
		if (json_object_get(call->arguments, *name))
			json_object_set(body, *name, json_object_get(call->arguments, *name));
	if (memory)
		json_object_set_new(body, "limits", json_pack("{s:O}", "memory", memory));
	if (call->confirm[0])
		json_object_set_new(body, "confirm", json_string(call->confirm));
	request->method = HTTP_POST;
	snprintf(request->path, sizeof(request->path), "/v1/sessions");
	return put_body(request, body, err);
}

static int ask_cell(struct tool_call *call, struct tool_request *request, struct error *err)
{
	static const char *const names[] = { "code", "stdin", "timeout", NULL };
	json_t *body = json_object();

	for (const char *const *name = names; *name; name++)
		if (json_object_get(call->arguments, *name))
			json_object_set(body, *name, json_object_get(call->arguments, *name));
	show_more(call, body);
	request->method = HTTP_POST;
	snprintf(request->path, sizeof(request->path), "/v1/sessions/%s/execute", call->session);
	return put_body(request, body, err);
}

static int ask_session(struct tool_call *call, struct tool_request *request, struct error *err)
{
	bool given = json_object_get(call->arguments, "session");

	if (call->step == SESSION_END) {
		request->method = HTTP_DELETE;
		snprintf(request->path, sizeof(request->path), "/v1/sessions/%s", call->session);
		return 0;
	}
	if (call->step == SESSION_MAKE && given) {
		/* Left out silently it would look as if the network did not work. */
		if (tool_argument(call, "network"))
			return error_field(err, "network", "it is set when a session is started; leave session out");
		if (tool_take_id(call, "session", call->session, err) < 0)
			return -1;
		call->step = SESSION_RUN;
	}
	if (call->step == SESSION_RUN)
		return ask_cell(call, request, err);
	if (!tool_argument(call, "language") && !tool_argument(call, "profile"))
		return error_field(err, "language", "name the language of a new session, or give the id of a session");
	return ask_new_session(call, request, err);
}

static json_t *told_session(struct tool_call *call, const struct tool_answer *answer)
{
	json_t *body = call->step == SESSION_END ? json_incref(call->kept) : tool_load(answer);
	const char *id = json_string_value(json_object_get(body, "id"));

	if (!json_is_object(body)) {
		json_decref(body);
		return tool_no_answer();
	}
	if (call->step == SESSION_MAKE && id && strlen(id) < sizeof(call->session)) {
		snprintf(call->session, sizeof(call->session), "%s", id);
		call->step = SESSION_RUN;
		json_decref(body);
		return NULL;
	}
	if (call->step == SESSION_RUN && json_is_true(json_object_get(call->arguments, "end"))) {
		call->kept = body;
		call->step = SESSION_END;
		return NULL;
	}
	return told_result(call, body, call->step == SESSION_END ? "the session has ended\n" : "");
}

/* Files. */

/* The full path of a session's file, for messages: the given path may be short. */
static void path_shown(const char *given, char out[TOOL_PATH_MAX])
{
	char below[TOOL_PATH_MAX - sizeof("/sandbox/")];

	if (!file_path_below(given, below, sizeof(below)))
		snprintf(out, TOOL_PATH_MAX, "%s", given);
	else
		snprintf(out, TOOL_PATH_MAX, "/sandbox%s%s", below[0] ? "/" : "", below);
}

/* Sets the path of the request; 0, or -1. */
static int file_place(struct tool_call *call, const char *path, struct tool_request *request, struct error *err)
{
	const bool run = json_object_get(call->arguments, "execution");
	char id[64], below[TOOL_PATH_MAX];

	if (run == (json_object_get(call->arguments, "session") != NULL))
		return error_field(err, "session", "give either a session or an execution");
	if (tool_take_id(call, run ? "execution" : "session", id, err) < 0)
		return -1;
	if (run && strncmp(path, "/sandbox/output/", 16) == 0)
		path += 16;
	if (!*path ||
	    strlen(tool_argument(call, "path")) != json_string_length(json_object_get(call->arguments, "path")))
		return error_field(err, "path", "expected the path of a file");
	if (!run && (!file_path_below(path, below, sizeof(below)) || !below[0]))
		return error_field(err, "path", "expected a file below /sandbox/code, data, output or temp");
	if (snprintf(request->path, sizeof(request->path), "/v1/%s/%s/files/%s", run ? "executions" : "sessions", id,
		     run ? path : below) >= (int)sizeof(request->path))
		return error_field(err, "path", "it is too long");
	return 0;
}

static size_t page_size(const struct tool_call *call)
{
	return call->tokens * CONTENT_TOKEN_BYTES;
}

static json_int_t offset_of(const struct tool_call *call)
{
	return (json_int_t)json_number_value(json_object_get(call->arguments, "offset"));
}

static int ask_read(struct tool_call *call, struct tool_request *request, struct error *err)
{
	const char *path = tool_argument(call, "path");
	json_int_t from = offset_of(call);

	request->method = HTTP_GET;
	snprintf(request->range, sizeof(request->range), "bytes=%lld-%lld", (long long)from,
		 (long long)from + (content_image_type(path) ? TOOL_FILE_MAX : (json_int_t)page_size(call)) - 1);
	return file_place(call, path, request, err);
}

/* Cuts the requested part out of an answer, which may be the whole file. */
static void answer_page(const struct tool_call *call, const struct tool_answer *answer, size_t most, const char **data,
			size_t *size, json_int_t *from, json_int_t *total)
{
	*from = offset_of(call);
	*total = answer->total ? (json_int_t)answer->total : (json_int_t)answer->size;
	*data = answer->body;
	*size = answer->size;
	if (*from < 0)
		*from = *total + *from > 0 ? *total + *from : 0;
	if (answer->status == 200) {
		size_t skip = (size_t)*from < answer->size ? (size_t)*from : answer->size;

		*data += skip;
		*size -= skip;
	}
	*size = *size < most ? *size : most;
}

static json_t *told_read(struct tool_call *call, const struct tool_answer *answer)
{
	const char *path = tool_argument(call, "path"), *image = content_image_type(path), *data;
	json_int_t from, total, next;
	size_t size, whole;
	bool text;
	json_t *facts, *block;
	_cleanup_buf_ struct buf note = { 0 };

	answer_page(call, answer, image ? TOOL_FILE_MAX : page_size(call), &data, &size, &from, &total);
	whole = content_whole(data, size, &text);
	/* A character is incomplete at the end of a page, not at the end of a file. */
	size = text && whole > 0 && from + (json_int_t)size < total ? whole : size;
	text = text && (whole == size || whole == 0 || size < whole + 1);
	next = from + (json_int_t)size;
	facts = json_pack("{s:s, s:I, s:I, s:s, s:o}", "path", path, "size", total, "offset", from, "encoding",
			  text ? "utf-8" : "base64", "next_offset", next < total ? json_integer(next) : json_null());
	if (image && from == 0 && next >= total) {
		block = json_pack("{s:s, s:o, s:s}", "type", "image", "data", base64_text(data, size), "mimeType",
				  image);
		buf_printf(&note, "%s: %lld bytes, %s", path, (long long)total, image);
		return json_pack("{s:[o, o], s:o}", "content", content_block(note.data, note.size), block,
				 "structuredContent", facts);
	}
	json_object_set_new(facts, text ? "text" : "data", text ? content_text(data, size) : base64_text(data, size));
	if (next < total || from > 0)
		buf_printf(&note, "[bytes %lld to %lld of %lld%s]\n", (long long)from, (long long)next,
			   (long long)total, next < total ? "; continue with this offset" : "");
	if (text)
		buf_add(&note, data, size);
	else
		buf_printf(&note, "[%zu bytes of binary data; they are in structuredContent.data, as base64]", size);
	return content_answer(facts, note.data ? note.data : "", note.size);
}

static int ask_write(struct tool_call *call, struct tool_request *request, struct error *err)
{
	const json_t *text = json_object_get(call->arguments, "content");
	const json_t *coded = json_object_get(call->arguments, "base64");
	size_t size = json_string_length(text);
	ssize_t decoded = 0;

	if (!text == !coded)
		return error_field(err, "content", "give either content or base64");
	request->method = HTTP_PUT;
	request->body = malloc((text ? size : json_string_length(coded)) + 1);
	if (!request->body)
		return no_memory(err);
	if (text)
		memcpy(request->body, json_string_value(text), size);
	else
		decoded = base64_decode(json_string_value(coded), json_string_length(coded),
					(unsigned char *)request->body);
	if (decoded < 0)
		return error_field(err, "base64", "expected bytes as base64");
	request->size = text ? size : (size_t)decoded;
	return file_place(call, tool_argument(call, "path"), request, err);
}

static json_t *told_write(struct tool_call *call, const struct tool_answer *answer)
{
	const json_t *text = json_object_get(call->arguments, "content");
	const json_t *coded = json_object_get(call->arguments, "base64");
	size_t size = json_string_length(text);
	_cleanup_buf_ struct buf note = { 0 };
	char path[TOOL_PATH_MAX];

	(void)answer;
	path_shown(tool_argument(call, "path"), path);
	if (coded) {
		const char *end = json_string_value(coded) + json_string_length(coded);

		size = json_string_length(coded) / 4 * 3;
		while (size > 0 && end[-1] == '=') {
			size--;
			end--;
		}
	}
	buf_printf(&note, "%s: %zu bytes written", path, size);
	return content_answer(json_pack("{s:s, s:I}", "path", tool_argument(call, "path"), "size", (json_int_t)size),
			      note.data, note.size);
}

static int ask_list(struct tool_call *call, struct tool_request *request, struct error *err)
{
	const bool run = json_object_get(call->arguments, "execution");
	const char *path = tool_argument(call, "path") ? tool_argument(call, "path") : "/sandbox/output";
	char id[64], below[TOOL_PATH_MAX];
	size_t used;

	if (run == (json_object_get(call->arguments, "session") != NULL))
		return error_field(err, "session", "give either a session or an execution");
	if (tool_take_id(call, run ? "execution" : "session", id, err) < 0)
		return -1;
	request->method = HTTP_GET;
	snprintf(request->path, sizeof(request->path), run ? "/v1/executions/%s" : "/v1/sessions/%s/files", id);
	if (run)
		return 0;
	if (!file_path_below(path, below, sizeof(below)))
		return error_field(err, "path",
				   "expected /sandbox, or a directory below code, data, output or temp there");
	/* /sandbox itself has an empty name. */
	used = below[0] ? (size_t)snprintf(request->query, sizeof(request->query), "path=") : 0;
	for (path = below; *path; path++) {
		if (used + 4 > sizeof(request->query))
			return error_field(err, "path", "it is too long");
		used += (size_t)snprintf(request->query + used, 4, "%%%02X", (unsigned char)*path);
	}
	return 0;
}

/* Converts a session's directory to a list like a run's: paths and sizes. Takes it. */
static json_t *files_of(json_t *body, const char *directory)
{
	json_t *files = json_array(), *file;
	size_t i;

	json_array_foreach(json_object_get(body, "files"), i, file) json_array_append(files, file);
	json_array_foreach(json_object_get(body, "entries"), i, file)
	{
		const char *name = json_string_value(json_object_get(file, "name"));
		_cleanup_buf_ struct buf path = { 0 };

		buf_printf(&path, "%s/%s", directory, name ? name : "");
		json_object_set_new(file, "path", json_string(path.data ? path.data : ""));
		json_array_append(files, file);
	}
	json_decref(body);
	return files;
}

static json_t *told_list(struct tool_call *call, const struct tool_answer *answer)
{
	const char *given = tool_argument(call, "path") ? tool_argument(call, "path") : "/sandbox/output";
	json_t *files, *file, *facts;
	_cleanup_buf_ struct buf note = { 0 };
	char path[TOOL_PATH_MAX];
	size_t i;

	path_shown(given, path);
	files = files_of(tool_load(answer), path);
	buf_printf(&note, "%zu in %s\n", json_array_size(files), path);
	json_array_foreach(files, i, file)
	{
		const char *name = json_string_value(json_object_get(file, "path"));
		const char *type = json_string_value(json_object_get(file, "type"));

		if (note.size >= page_size(call)) {
			buf_printf(&note, "[… and %zu more; give a path to shorten the list …]\n",
				   json_array_size(files) - i);
			break;
		}
		buf_printf(&note, "%s (%s%s%lld bytes)\n", name ? name : "?", type ? type : "", type ? ", " : "",
			   (long long)json_integer_value(json_object_get(file, "size")));
	}
	facts = json_pack("{s:s, s:o}", "path", path, "files", files);
	return content_answer(facts, note.data, note.size);
}

/* Outputs. */

static int ask_output(struct tool_call *call, struct tool_request *request, struct error *err)
{
	const char *stream = tool_argument(call, "stream") ? tool_argument(call, "stream") : "stdout";
	json_int_t from = offset_of(call);
	char id[64];

	if (tool_take_id(call, "id", id, err) < 0)
		return -1;
	request->method = HTTP_GET;
	snprintf(request->path, sizeof(request->path), "/v1/executions/%s/%s", id, stream);
	if (from < 0)
		snprintf(request->range, sizeof(request->range), "bytes=%lld", (long long)from);
	else
		snprintf(request->range, sizeof(request->range), "bytes=%lld-%lld", (long long)from,
			 (long long)from + (json_int_t)page_size(call) - 1);
	return 0;
}

static json_t *told_output(struct tool_call *call, const struct tool_answer *answer)
{
	const char *stream = tool_argument(call, "stream") ? tool_argument(call, "stream") : "stdout", *data;
	json_int_t from, total, next;
	size_t size, whole;
	bool text;
	_cleanup_buf_ struct buf note = { 0 };

	answer_page(call, answer, page_size(call), &data, &size, &from, &total);
	if (from > total) {
		buf_printf(&note, "offset: the output has only %lld bytes", (long long)total);
		return content_refusal(note.data ? note.data : "");
	}
	/* Binary data is shown as far as possible; only a character that the page cuts is left for the next one. */
	whole = content_whole(data, size, &text);
	size = whole > 0 && from + (json_int_t)size < total ? whole : size;
	next = from + (json_int_t)size;
	buf_printf(&note, "[%s of %s: bytes %lld to %lld of %lld%s", stream, tool_argument(call, "id"), (long long)from,
		   (long long)next, (long long)total, next < total ? "; the next page begins at offset " : "]\n");
	if (next < total)
		buf_printf(&note, "%lld]\n", (long long)next);
	buf_add(&note, data, size);
	return content_answer(json_pack("{s:s, s:s, s:I, s:I, s:o, s:o}", "id", tool_argument(call, "id"), "stream",
					stream, "offset", from, "size", total, "text", content_text(data, size),
					"next_offset", next < total ? json_integer(next) : json_null()),
			      note.data ? note.data : "", note.size);
}

/* Containers. */

static int ask_containers(struct tool_call *call, struct tool_request *request, struct error *err)
{
	(void)err;
	query_get(request, call->step == 0 ? "/containers" : "/containers/status");
	return 0;
}

static json_t *told_containers(struct tool_call *call, const struct tool_answer *answer)
{
	json_t *body = tool_load(answer), *list = json_incref(json_object_get(body, "containers")), *facts;
	_cleanup_buf_ struct buf text = { 0 };

	json_decref(body);
	if (!json_is_array(list)) {
		json_decref(list);
		return tool_no_answer();
	}
	if (call->step == 0) {
		call->kept = list;
		call->step = 1;
		return NULL;
	}
	words_containers(call->kept, list, &text);
	facts = json_pack("{s:O, s:o}", "profiles", call->kept, "running", list);
	return facts && text.data ? content_answer(facts, text.data, text.size) : tool_no_answer();
}

static int ask_start(struct tool_call *call, struct tool_request *request, struct error *err)
{
	return tool_post_arguments(call, "/containers/start", request, err);
}

static json_t *told_start(struct tool_call *call, const struct tool_answer *answer)
{
	json_t *body = tool_load(answer), *result = json_object_get(body, "result"), *made;
	const char *id = json_string_value(json_object_get(body, "id"));
	char line[160];

	if (!id) {
		json_decref(body);
		return tool_no_answer();
	}
	snprintf(line, sizeof(line), "container %.64s is running; use container_exec to run commands in it\n", id);
	if (!json_is_object(result))
		return content_answer(body, line, strlen(line));
	made = told_result(call, json_incref(result), line);
	json_object_set_new(made, "structuredContent", body);
	return made;
}

static int ask_stop(struct tool_call *call, struct tool_request *request, struct error *err)
{
	return tool_post_arguments(call, "/containers/stop", request, err);
}

static json_t *told_stop(struct tool_call *call, const struct tool_answer *answer)
{
	_cleanup_buf_ struct buf text = { 0 };
	json_t *body = tool_load(answer);

	buf_printf(&text, "container %s: %s\n", tool_argument(call, "id"),
		   json_string_value(json_object_get(body, "status")));
	if (json_is_object(body) && text.data)
		return content_answer(body, text.data, text.size);
	json_decref(body);
	return tool_no_answer();
}

static const struct tool tools[] = {
	{ "check_code", tool_ask_check, tool_told_check },
	{ "container_exec", ask_exec, told_run },
	{ "container_list", ask_containers, told_containers },
	{ "container_start", ask_start, told_start },
	{ "container_stop", ask_stop, told_stop },
	{ "detect_intent", tool_ask_detect, tool_told_detect },
	{ "get_output", ask_output, told_output },
	{ "get_report", tool_ask_report, tool_told_report },
	{ "list_files", ask_list, told_list },
	{ "read_file", ask_read, told_read },
	{ "run_code", ask_run, told_run },
	{ "run_in_session", ask_session, told_session },
	{ "write_file", ask_write, told_write },
};

static const struct tool *tool_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		if (strcmp(tools[i].name, name) == 0)
			return &tools[i];
	return NULL;
}

bool tool_is_known(const char *name)
{
	return tool_find(name) != NULL;
}

json_t *tools_list(void)
{
	json_t *list = json_array();

	for (size_t i = 0; i < mcp_definition_count; i++) {
		json_t *tool = json_loads(mcp_definitions[i].json, 0, NULL);

		if (!tool || json_array_append_new(list, tool) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static const json_t *schema_of(const json_t *list, const char *name)
{
	const json_t *tool;
	size_t i;

	json_array_foreach(list, i, tool) if (strcmp(json_string_value(json_object_get(tool, "name")), name) ==
					      0) return json_object_get(tool, "inputSchema");
	return NULL;
}

static int call_ask(struct tool_call *call, struct tool_request *request, struct error *err)
{
	*request = (struct tool_request){ 0 };
	if (call->tool->ask(call, request, err) == 0)
		return 0;
	tool_request_free(request);
	return -1;
}

/* Removes null arguments: some clients send every argument, and null for unused ones. */
static json_t *arguments_given(json_t *arguments)
{
	json_t *kept = json_object(), *value;
	const char *name;

	json_object_foreach(arguments, name, value)
	{
		if (!json_is_null(value))
			json_object_set(kept, name, value);
	}
	return kept;
}

int tool_begin(struct tool_call *call, const json_t *list, const char *name, json_t *arguments, uint64_t shown_max,
	       struct tool_request *request, struct error *err)
{
	const json_t *tokens;

	*request = (struct tool_request){ 0 };
	*call = (struct tool_call){ .tool = tool_find(name),
				    .arguments = arguments_given(arguments),
				    .shown_max = shown_max };
	if (!call->tool)
		return error_usage(err, "there is no such tool");
	if (schema_check(schema_of(list, name), call->arguments, err) < 0)
		return -1;
	tokens = json_object_get(call->arguments, "max_tokens");
	call->tokens = tokens ? (size_t)json_number_value(tokens) : CONTENT_TOKENS;
	return call_ask(call, request, err);
}

int tool_again(struct tool_call *call, struct tool_request *request, struct error *err)
{
	return call_ask(call, request, err);
}

void tool_refusal(const struct tool_answer *answer, char *sentence, size_t size)
{
	json_t *body = tool_load(answer);
	_cleanup_buf_ struct buf words = { 0 };

	words_refusal(json_object_get(body, "error"), &words);
	snprintf(sentence, size, "%s", words.data ? words.data : "no memory");
	json_decref(body);
}

/* There is no data: the output is empty, or the offset is beyond it. */
static json_t *told_nothing(struct tool_call *call, const struct tool_answer *answer)
{
	const struct tool_answer none = { .status = 206, .body = "", .total = answer->total };

	return answer->total == 0 || (uint64_t)offset_of(call) <= answer->total
		       ? call->tool->told(call, &none)
		       : content_refusal("offset: it is beyond the end");
}

json_t *tool_answer(struct tool_call *call, const struct tool_answer *answer, struct tool_request *request)
{
	char sentence[1024];
	struct error err = { 0 };
	json_t *result;

	*request = (struct tool_request){ 0 };
	if (answer->status == 416)
		return told_nothing(call, answer);
	/* A failure after the run (of its images, or of the session's end) does not change the run's result. */
	if (answer->status >= 300 &&
	    !(call->kept && (call->tool->told == told_run || call->tool->told == told_session))) {
		tool_refusal(answer, sentence, sizeof(sentence));
		return content_refusal(sentence);
	}
	result = call->tool->told(call, answer);
	if (!result && call_ask(call, request, &err) < 0)
		result = content_refusal(err.text);
	return result;
}

void tool_call_free(struct tool_call *call)
{
	json_decref(call->arguments);
	json_decref(call->kept);
	json_decref(call->pictures);
	*call = (struct tool_call){ 0 };
}

void tool_request_free(struct tool_request *request)
{
	free(request->body);
	request->body = NULL;
	request->size = 0;
}
