#include "client/session_link.h"

#include "base/own.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	PATIENCE_MSEC = 30000, /* for requests without a long run, which may wait for one cell */
	PATH_SIZE = 256,       /* bytes of a path without a file's name */
};

static void own_json(json_t **value)
{
	json_decref(*value);
}

int session_link_refusal(const struct http_reply *reply, struct error *err)
{
	_cleanup_(own_json) json_t *answer =
		json_loadb(reply->body.data ? reply->body.data : "", reply->body.size, 0, NULL);
	const json_t *error = json_object_get(answer, "error");
	const char *message = json_string_value(json_object_get(error, "message"));
	enum error_code code = error_code_find(json_string_value(json_object_get(error, "code")) ?: "");

	/* A newer service may have codes that are unknown here. */
	if (code == CODE_NONE)
		code = reply->status == 400 ? CODE_BAD_REQUEST : CODE_FAILED;
	if (message)
		error_refuse(err, code, "", "%s", message);
	else
		error_refuse(err, code, "", "the service answered %d", reply->status);
	return error_about(err, json_string_value(json_object_get(error, "field")) ?: "");
}

static int link_ask(const struct session_link *link, const char *method, const char *path, const json_t *body,
		    json_t **answer, struct error *err)
{
	_cleanup_http_reply_ struct http_reply reply = { 0 };
	_cleanup_free_ char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
	struct http_call call = { .socket = link->socket,
				  .method = method,
				  .path = path,
				  .body = text,
				  .body_size = text ? strlen(text) : 0,
				  .timeout_msec = PATIENCE_MSEC };
	json_error_t why;

	if (body && !text)
		return error_set(err, ERROR_FAILED, 0, "the code is not valid UTF-8 text");
	/* A POST needs a body. */
	if (!text && strcmp(method, "POST") == 0) {
		call.body = "{}";
		call.body_size = 2;
	}
	if (http_call(&call, &reply, err) < 0)
		return -1;
	if (reply.status >= 300)
		return session_link_refusal(&reply, err);
	if (!answer)
		return 0;
	*answer = json_loadb(reply.body.data ? reply.body.data : "", reply.body.size, JSON_DECODE_ANY, &why);
	if (!*answer)
		return error_set(err, ERROR_FAILED, 0, "the service's answer is not JSON: %s", why.text);
	return 0;
}

int session_link_list(const struct session_link *link, json_t **answer, struct error *err)
{
	return link_ask(link, "GET", "/v1/sessions", NULL, answer, err);
}

int session_link_open(struct session_link *link, const json_t *request, json_t **object, struct error *err)
{
	const char *id;

	if (link_ask(link, "POST", "/v1/sessions", request, object, err) < 0)
		return -1;
	id = json_string_value(json_object_get(*object, "id"));
	if (!id || strlen(id) >= sizeof(link->id)) {
		json_decref(*object);
		*object = NULL;
		return error_set(err, ERROR_FAILED, 0, "the service's answer has no session id");
	}
	strcpy(link->id, id);
	return 0;
}

static void put_path(const struct session_link *link, const char *tail, struct buf *path)
{
	buf_text(path, "/v1/sessions/");
	http_path_add(path, link->id, false);
	if (*tail)
		buf_printf(path, "%s%s", *tail == '?' ? "" : "/", tail);
}

int session_link_ask(const struct session_link *link, const char *method, const char *tail, const json_t *body,
		     json_t **answer, struct error *err)
{
	_cleanup_buf_ struct buf path = { 0 };

	put_path(link, tail, &path);
	if (path.failed)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot create the request");
	return link_ask(link, method, path.data, body, answer, err);
}

int session_link_execute(const struct session_link *link, const json_t *body, http_event_fn *on_event, void *userdata,
			 const struct http_watch watches[HTTP_CALL_WATCHES], struct error *err)
{
	_cleanup_http_reply_ struct http_reply reply = { 0 };
	_cleanup_buf_ struct buf path = { 0 };
	_cleanup_free_ char *text = json_dumps(body, JSON_COMPACT);
	struct http_call call = { .socket = link->socket,
				  .method = "POST",
				  .body = text,
				  .body_size = text ? strlen(text) : 0,
				  .on_event = on_event,
				  .userdata = userdata };

	put_path(link, "execute", &path);
	if (!text || path.failed)
		return error_set(err, ERROR_FAILED, 0, "the code is not valid UTF-8 text");
	call.path = path.data;
	for (size_t i = 0; i < HTTP_CALL_WATCHES && watches; i++)
		call.watches[i] = watches[i];
	if (http_call(&call, &reply, err) < 0)
		return -1;
	if (reply.status >= 300)
		return session_link_refusal(&reply, err);
	/* The service may answer a short cell without events. */
	if (!reply.events)
		on_event("result", reply.body.data ? reply.body.data : "", reply.body.size, userdata);
	return 0;
}

const char *session_link_path(const char *path)
{
	if (strncmp(path, "/sandbox", 8) == 0 && (path[8] == '/' || path[8] == '\0'))
		path += 8;
	return path + strspn(path, "/");
}

int session_link_get_file(const struct session_link *link, const char *path, struct buf *content, struct error *err)
{
	_cleanup_http_reply_ struct http_reply reply = { 0 };
	_cleanup_buf_ struct buf full = { 0 };
	struct http_call call = { .socket = link->socket, .method = "GET", .timeout_msec = PATIENCE_MSEC };

	put_path(link, "files/", &full);
	http_path_add(&full, session_link_path(path), true);
	if (full.failed)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot create the request");
	call.path = full.data;
	if (http_call(&call, &reply, err) < 0)
		return -1;
	if (reply.status >= 300)
		return session_link_refusal(&reply, err);
	*content = reply.body;
	reply.body = (struct buf){ 0 };
	return 0;
}

int session_link_put_file(const struct session_link *link, const char *path, const void *data, size_t size,
			  struct error *err)
{
	_cleanup_http_reply_ struct http_reply reply = { 0 };
	_cleanup_buf_ struct buf full = { 0 };
	struct http_call call = { .socket = link->socket,
				  .method = "PUT",
				  .body = data,
				  .body_size = size,
				  .body_type = "application/octet-stream",
				  .timeout_msec = PATIENCE_MSEC };

	put_path(link, "files/", &full);
	http_path_add(&full, session_link_path(path), true);
	if (full.failed)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot create the request");
	call.path = full.data;
	if (http_call(&call, &reply, err) < 0)
		return -1;
	return reply.status >= 300 ? session_link_refusal(&reply, err) : 0;
}
