/*
 * The paths of HTTP below /v1/sessions.
 *
 * A session that starts and a cell are runs: they wait in the queue, and are
 * answered by front_execute.c. The rest are questions to the keeper, which has
 * the sessions; but for input, which is front_input.c's.
 */
#include "daemon/front/front_http.h"

#include "base/own.h"

#include <string.h>

/* A number of seconds into *out; false: it is none, and that was answered. */
static bool take_seconds(struct front *front, struct peer *peer, json_t *root, const char *name, double *out)
{
	json_t *value = json_object_get(root, name);

	*out = value ? json_number_value(value) : 0;
	if (value && (!json_is_number(value) || *out < 1 || *out > 30 * 86400.0)) {
		http_refuse_field(front, peer, name, "expected seconds from 1 to 2592000");
		return false;
	}
	json_object_del(root, name);
	return true;
}

static bool is_plain(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (text[i] < 0x20 || text[i] > 0x7e)
			return false;
	return true;
}

static bool take_name(struct front *front, struct peer *peer, json_t *root)
{
	struct exchange *x = peer->exchange;
	json_t *value = json_object_get(root, "name");
	const char *text = json_string_value(value);

	x->name[0] = '\0';
	if (value &&
	    (!text || json_string_length(value) >= sizeof(x->name) || !is_plain(text, json_string_length(value)))) {
		http_refuse_field(front, peer, "name", "expected at most 63 plain characters");
		return false;
	}
	if (text)
		memcpy(x->name, text, json_string_length(value) + 1);
	json_object_del(root, "name");
	return true;
}

void session_route_create(struct front *front, struct peer *peer, const char *body, size_t size)
{
	static const char *const own[] = { "ttl", "idle_ttl", "name", NULL };
	static const char later[] = "a session starts without; send it with a cell";
	static const struct foreign foreign[] = {
		{ "code", later },
		{ "stdin", later },
		{ "args", later },
		{ "command", later },
		{ "input", later },
		{ "stream", "there are no events of it; leave it out" },
		{ "entry", "there is no program; leave it out" },
		{ "filename", "there is no program; leave it out" },
		{ "container", "a session has a box of its own; leave it out" },
		{ "session", "to go on with one, POST /v1/sessions/ID/execute" },
		{ NULL, NULL },
	};
	const struct token *token = peer->caller.token ? policy_token(front, peer->caller.name) : NULL;
	json_t *root = http_load_object(front, peer, body, size);

	if (root && execute_has_known(front, peer, root, own, foreign) &&
	    take_seconds(front, peer, root, "ttl", &peer->exchange->ttl) &&
	    take_seconds(front, peer, root, "idle_ttl", &peer->exchange->idle_ttl) && take_name(front, peer, root) &&
	    execute_apply_object(front, peer, root) == 0) {
		peer->about.max_own = token ? token->max_concurrent : 0;
		peer->exchange->events = false;
		execute_submit(front, peer);
	}
	json_decref(root);
}

void session_route_execute(struct front *front, struct peer *peer, const char *body, size_t size)
{
	static const char alone[] = "a cell is code alone; the session has its own";
	static const struct foreign foreign[] = {
		{ "session", "it is in the path; leave it out" },
		{ "container", "it is for /containers/exec; leave it out" },
		{ "command", "give code" },
		{ "files", alone },
		{ "args", alone },
		{ "env", alone },
		{ NULL, NULL },
	};
	json_t *root = http_load_object(front, peer, body, size);

	if (root && execute_has_known(front, peer, root, NULL, foreign)) {
		json_object_set_new(root, "session", json_string(peer->exchange->part) ?: json_string("?"));
		if (execute_apply_object(front, peer, root) == 0)
			execute_submit(front, peer);
	}
	json_decref(root);
}

/* {"what", "id", "caller", "by"}, with fields of the body where there are some; NULL: no memory. */
static char *question_of(const struct peer *peer, const char *what, json_t *fields)
{
	_cleanup_free_ char *plain = http_question(peer, SCOPE_ADMIN, what, peer->exchange->part);
	json_t *root = plain ? json_loads(plain, 0, NULL) : NULL;
	char *text;

	json_object_set_new(root, "by", json_string(peer->caller.name));
	if (fields)
		json_object_update_missing(root, fields);
	text = root ? json_dumps(root, JSON_COMPACT) : NULL;
	json_decref(root);
	return text;
}

static void pass(struct front *front, struct peer *peer, const char *what)
{
	_cleanup_free_ char *question = question_of(peer, what, NULL);

	http_pass(front, peer, false, question);
}

void session_route_list(struct front *front, struct peer *peer, const char *body, size_t size)
{
	_cleanup_free_ char *question = http_question(peer, SCOPE_ADMIN, "session_status", NULL);

	http_pass(front, peer, false, question);
}

void session_route_get(struct front *front, struct peer *peer, const char *body, size_t size)
{
	pass(front, peer, "session_status");
}

void session_route_delete(struct front *front, struct peer *peer, const char *body, size_t size)
{
	pass(front, peer, "session_stop");
}

/* What the session may reach, as the list of a request has it. */
static json_t *network_fields(const struct front *front, const struct buf *list)
{
	static const char *const keys[] = { "net", "net-rate", "net-total", "net-connections" };
	json_t *fields = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *value = request_value(list->data, list->size, keys[i]);

		if (value)
			json_object_set_new(fields, keys[i], json_string(value));
	}
	if (front->config.net_host)
		json_object_set_new(fields, "net-host", json_string("yes"));
	return fields;
}

void session_route_change(struct front *front, struct peer *peer, const char *body, size_t size)
{
	static const char *const known[] = { "network", NULL };
	json_t *root = http_load_object(front, peer, body, size), *fields;
	_cleanup_buf_ struct buf list = { 0 };
	_cleanup_free_ char *text = NULL, *question = NULL;
	struct request_manner manner;
	struct error err = { 0 };

	if (!root)
		return;
	if (!http_has_only(front, peer, root, known)) {
		json_decref(root);
		return;
	}
	/* So that the request is one, for its reader. */
	json_object_set_new(root, "session", json_string("s"));
	text = json_dumps(root, JSON_COMPACT);
	if (!json_object_get(root, "network")) {
		http_refuse_field(front, peer, "network", "it is not set; expected what the session may reach");
	} else if (!text || request_parse(text, strlen(text), &list, &manner, &err) < 0) {
		peer_refuse_error(front, peer, &err);
	} else {
		fields = network_fields(front, &list);
		question = question_of(peer, "session_network", fields);
		json_decref(fields);
		http_pass(front, peer, false, question);
	}
	json_decref(root);
}

void session_route_cells(struct front *front, struct peer *peer, const char *body, size_t size)
{
	pass(front, peer, "session_cells");
}

/* Nothing has to be said, and nothing else may be. */
static void pass_empty(struct front *front, struct peer *peer, const char *what, const char *body, size_t size)
{
	json_t *root = size > 0 ? http_load_object(front, peer, body, size) : json_object();

	if (root && json_object_size(root) > 0)
		http_refuse_field(front, peer, json_object_iter_key(json_object_iter(root)),
				  "there is no such field; leave it out");
	else if (root)
		pass(front, peer, what);
	json_decref(root);
}

void session_route_interrupt(struct front *front, struct peer *peer, const char *body, size_t size)
{
	pass_empty(front, peer, "session_interrupt", body, size);
}

void session_route_restart(struct front *front, struct peer *peer, const char *body, size_t size)
{
	pass_empty(front, peer, "session_restart", body, size);
}

static void ask_about(struct front *front, struct peer *peer, const char *what, const char *body, size_t size)
{
	static const char *const known[] = { "code", "cursor", NULL };
	json_t *root = http_load_object(front, peer, body, size), *fields;
	json_t *code = json_object_get(root, "code"), *cursor = json_object_get(root, "cursor");
	_cleanup_free_ char *question = NULL;

	if (!root)
		return;
	if (!http_has_only(front, peer, root, known)) {
		/* It was answered. */
	} else if (!json_is_string(code)) {
		http_refuse_field(front, peer, "code", "expected the cell's text so far");
	} else if (!json_is_integer(cursor) || json_integer_value(cursor) < 0) {
		http_refuse_field(front, peer, "cursor", "expected a number of characters of code, from 0");
	} else {
		fields = json_pack("{s:O, s:O}", "code", code, "cursor", cursor);
		question = question_of(peer, what, fields);
		json_decref(fields);
		http_pass(front, peer, false, question);
	}
	json_decref(root);
}

void session_route_complete(struct front *front, struct peer *peer, const char *body, size_t size)
{
	ask_about(front, peer, "session_complete", body, size);
}

void session_route_inspect(struct front *front, struct peer *peer, const char *body, size_t size)
{
	ask_about(front, peer, "session_inspect", body, size);
}
