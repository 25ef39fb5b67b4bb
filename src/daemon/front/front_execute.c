/* The paths of HTTP that run something: answered whole, or by events as they happen. */
#include "daemon/front/front_http.h"

#include "base/json_check.h"
#include "base/own.h"

#include <jansson.h>
#include <string.h>
#include <sys/uio.h>

/* Events */

static void send_buf(struct peer *peer, const struct buf *out)
{
	peer->link.broken |= out->failed;
	connection_write(&peer->link, &(struct iovec){ out->data, out->size }, 1);
}

void events_begin(struct front *front, struct peer *peer)
{
	struct exchange *x = peer->exchange;
	_cleanup_buf_ struct buf out = { 0 };
	const char *id = peer->about.id;
	char lines[192];

	if (x->streaming)
		return;
	snprintf(lines, sizeof(lines), "Cache-Control: no-cache\r\nX-Accel-Buffering: no\r\nX-Request-Id: %s\r\n%s%s%s",
		 x->request_id, *id ? "X-Execution-Id: " : "", id, *id ? "\r\n" : "");
	http_reply_head(&out, 200, x->lines ? "application/x-ndjson" : "text/event-stream", HTTP_CHUNKED, x->keep_alive,
			lines);
	send_buf(peer, &out);
	x->streaming = true;
	front->streams++;
	peer_deadline(front, peer, front->options.times.ping);
}

void event_send(struct peer *peer, const char *name, const char *data, size_t size)
{
	_cleanup_buf_ struct buf out = { 0 };

	http_event(&out, name, data, size);
	send_buf(peer, &out);
}

void events_end(struct front *front, struct peer *peer)
{
	_cleanup_buf_ struct buf out = { 0 };

	http_chunk(&out, NULL, 0);
	send_buf(peer, &out);
	http_answered(front, peer, 200);
}

void execute_ping(struct front *front, struct peer *peer)
{
	/* There is no line that means nothing. */
	if (!peer->exchange->lines)
		event_send(peer, NULL, "ping", 4);
}

/* It gets the events of a run; who speaks MCP gets other ones. */
static bool has_events(const struct exchange *x)
{
	return x->streaming && !mcp_is_inside(x);
}

void execute_started(struct front *front, struct peer *peer, const char *json, size_t size)
{
	if (mcp_is_inside(peer->exchange)) {
		mcp_started(front, peer);
		return;
	}
	events_begin(front, peer);
	event_send(peer, "start", json, size);
}

/* How many bytes at the end are the beginning of a character that may still become whole. */
static size_t unfinished(const char *data, size_t size)
{
	for (size_t back = 1; back <= 3 && back <= size; back++) {
		unsigned char byte = (unsigned char)data[size - back];

		if ((byte & 0xC0) == 0x80)
			continue;
		if (byte >= 0xC0)
			return back < (byte >= 0xF0 ? 4U : byte >= 0xE0 ? 3U : 2U) ? back : 0;
		return 0;
	}
	return 0;
}

static void text_event(struct peer *peer, const char *name, const char *data, size_t size)
{
	_cleanup_buf_ struct buf text = { 0 };
	_cleanup_free_ char *json = NULL;
	json_t *root;

	if (size == 0)
		return;
	buf_utf8(&text, data, size);
	root = json_pack("{s:o}", "text", json_stringn(text.data ? text.data : "", text.size));
	json = root ? json_dumps(root, JSON_COMPACT) : NULL;
	json_decref(root);
	if (json)
		event_send(peer, name, json, strlen(json));
	else
		peer->link.broken = true;
}

/* A character that comes in two pieces is shown when it is whole. */
void execute_output(struct front *front, struct peer *peer, int stream, const char *data, size_t size)
{
	const char *name = stream == 1 ? "stdout" : "stderr";
	struct exchange *x = peer->exchange;
	_cleanup_buf_ struct buf whole = { 0 };
	size_t keep;

	buf_add(&whole, x->cut[stream - 1].bytes, x->cut[stream - 1].size);
	buf_add(&whole, data, size);
	if (whole.failed) {
		peer->link.broken = true;
		return;
	}
	keep = unfinished(whole.data, whole.size);
	memcpy(x->cut[stream - 1].bytes, whole.data + whole.size - keep, keep);
	x->cut[stream - 1].size = keep;
	if (mcp_is_inside(x))
		mcp_output(front, peer, whole.data, whole.size - keep);
	else
		text_event(peer, name, whole.data, whole.size - keep);
	peer_deadline(front, peer, front->options.times.ping);
}

/* Rich results, one event each, before the result that has them all. */
static void rich_events(struct peer *peer, const char *json, size_t size)
{
	const char *value;
	size_t value_size, i;
	json_t *list, *item;

	if (!json_member(json, size, "outputs", &value, &value_size) || value_size <= 2)
		return;
	list = json_loadb(value, value_size, JSON_ALLOW_NUL, NULL);
	json_array_foreach(list, i, item)
	{
		_cleanup_free_ char *text = json_dumps(item, JSON_COMPACT);

		if (text)
			event_send(peer, "output", text, strlen(text));
	}
	json_decref(list);
}

/* The sentence of a result. */
static void result_sentence(const char *json, size_t size, char *out, size_t room)
{
	const char *value;
	size_t value_size;

	if (!json_member(json, size, "error_message", &value, &value_size) ||
	    !json_string_copy(value, value_size, out, room))
		snprintf(out, room, "it cannot be run here");
}

void execute_result(struct front *front, struct peer *peer, const struct message *message)
{
	const struct outcome *outcome = &message->head.outcome;
	struct exchange *x = peer->exchange;
	const char *json = message->body;
	size_t size = message->head.size;
	char extra[64], sentence[ERROR_TEXT_MAX];
	struct error err;

	if (has_events(x)) {
		for (int i = 0; i < 2; i++)
			text_event(peer, i == 0 ? "stdout" : "stderr", x->cut[i].bytes, x->cut[i].size);
		rich_events(peer, json, size);
		event_send(peer, "result", json, size);
		events_end(front, peer);
	} else if (outcome->status == STATUS_ERROR && outcome->exit_code == 127) {
		result_sentence(json, size, sentence, sizeof(sentence));
		error_refuse(&err, CODE_NOT_INSTALLED, "", "%s", sentence);
		error_about(&err, "language");
		if (outcome->with <= strlen(sentence)) {
			err.remedy = outcome->remedy;
			err.with = outcome->with;
		}
		http_answer_refusal(front, peer, &err, 0);
	} else {
		/* A session that starts runs nothing yet. */
		snprintf(extra, sizeof(extra), "X-Execution-Id: %s\r\n", peer->about.id);
		if (x->route->handle == session_route_create)
			http_answer_json(front, peer, 201, json, size);
		else
			http_answer_json_with(front, peer, 200, json, size, extra);
	}
}

/* The client knows a field by the name that its path has for it. */
static void name_as_sent(const struct peer *peer, struct error *err)
{
	const struct route *route = peer->exchange->route;

	if (route->handle == execute_exec && strcmp(err->field, "container") == 0)
		error_rename(err, "id");
	else if (route->handle == execute_start && strcmp(err->field, "profile") == 0)
		error_rename(err, "container");
}

void execute_refuse(struct front *front, struct peer *peer, const struct error *err, unsigned retry_after)
{
	_cleanup_free_ char *json = NULL;
	struct error named = *err;

	name_as_sent(peer, &named);
	if (!has_events(peer->exchange)) {
		http_answer_refusal(front, peer, &named, retry_after);
		return;
	}
	json = front_error_json(&named, retry_after, NULL, false);
	if (json)
		event_send(peer, "error", json, strlen(json));
	events_end(front, peer);
}

/* Requests */

void execute_confirm(struct front *front, struct peer *peer, const char *confirm, const struct error *err)
{
	_cleanup_free_ char *json = front_error_json(err, 0, confirm, mcp_is_inside(peer->exchange));
	const char *text = json ? json : "{}";

	peer_abandon(front, peer);
	if (!has_events(peer->exchange)) {
		http_answer_json(front, peer, error_code_status(err->code), text, strlen(text));
		return;
	}
	event_send(peer, "error", text, strlen(text));
	events_end(front, peer);
}

/* What was applied and is to be run. */
void execute_submit(struct front *front, struct peer *peer)
{
	struct exchange *x = peer->exchange;

	x->phase = PHASE_ANSWER;
	if (mcp_is_inside(x)) {
		peer->manner.stream = mcp_is_live(x);
		peer_submit(front, peer);
		return;
	}
	x->events = (x->events || peer->manner.stream) && !x->plain;
	peer->manner.stream = x->events;
	peer_submit(front, peer);
	/* Who has to wait is told that it is heard; who has not gets the true status first. */
	if (peer->state == PEER_QUEUED && x->events)
		events_begin(front, peer);
}

/* 0, or -1: it was answered. */
static int apply(struct front *front, struct peer *peer, const char *json, size_t size)
{
	char confirm[CONFIRM_MAX];
	struct error err = { 0 };

	peer->about.kind = peer->exchange->route->handle == execute_start          ? RUN_START
			   : peer->exchange->route->handle == session_route_create ? RUN_SESSION
										   : RUN_ALONE;
	peer->about.ttl = peer->exchange->ttl;
	peer->about.idle_ttl = peer->exchange->idle_ttl;
	snprintf(peer->about.name, sizeof(peer->about.name), "%s", peer->exchange->name);
	snprintf(peer->about.request_id, sizeof(peer->about.request_id), "%s", peer->exchange->request_id);
	switch (policy_apply(front, peer, json, size, confirm, &err)) {
	case POLICY_CONFIRM:
		execute_confirm(front, peer, confirm, &err);
		return -1;
	case POLICY_REFUSED:
		peer_refuse_error(front, peer, &err);
		return -1;
	default:
		break;
	}
	/* By requests of their own: front_input.c. */
	if (!peer->manner.input || peer->about.kind == RUN_ALONE || peer->about.kind == RUN_CELL)
		return 0;
	peer_refuse(
		front, peer, CODE_BAD_REQUEST, "input", 0,
		"input: it is for programs in a box of their own and for cells; give stdin whole in the field stdin");
	return -1;
}

void execute_handle(struct front *front, struct peer *peer, const char *body, size_t size)
{
	if (apply(front, peer, body, size) == 0)
		execute_submit(front, peer);
}

/* The request's object; NULL: it is none, and that was answered. What is said of it is what request_parse() says. */
json_t *http_load_object(struct front *front, struct peer *peer, const char *body, size_t size)
{
	struct request_manner manner;
	struct buf list = { 0 };
	struct error err = { 0 };
	json_t *root = NULL;

	if (request_has_few_values(body, size) && !memchr(body, '\0', size))
		root = json_loadb(body, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	if (json_is_object(root))
		return root;
	json_decref(root);
	if (request_parse(body, size, &list, &manner, &err) == 0)
		error_usage(&err, "the request has to be an object");
	buf_free(&list);
	peer_refuse_error(front, peer, &err);
	return NULL;
}

void http_refuse_field(struct front *front, struct peer *peer, const char *field, const char *what)
{
	char sentence[256];

	snprintf(sentence, sizeof(sentence), "%.64s: %s", field, what);
	peer_abandon(front, peer);
	http_answer_error(front, peer, CODE_BAD_REQUEST, field, 0, sentence);
}

bool execute_has_known(struct front *front, struct peer *peer, json_t *root, const char *const *own,
		       const struct foreign *foreign)
{
	const char *key;
	json_t *value;
	char why[128];

	json_object_foreach(root, key, value)
	{
		const struct foreign *found = foreign;

		while (found->name && strcmp(found->name, key) != 0)
			found++;
		if (!found->name && !request_unknown(key, own, why, sizeof(why)))
			continue;
		http_refuse_field(front, peer, key, found->name ? found->why : why);
		return false;
	}
	return true;
}

/* Moves a member to another name; false: it is not there as a text, and that was answered. */
static bool rename_member(struct front *front, struct peer *peer, json_t *root, const char *from, const char *to,
			  const char *hint, const char *remedy)
{
	json_t *value = json_object_get(root, from);
	const char *text = json_string_value(value);
	struct error err;

	if (!text || !*text || strlen(text) != json_string_length(value)) {
		error_field(&err, from, "%s", hint);
		error_remedy(&err, remedy, "");
		peer_abandon(front, peer);
		http_answer_refusal(front, peer, &err, 0);
		return false;
	}
	json_object_set(root, to, value);
	json_object_del(root, from);
	return true;
}

int execute_apply_object(struct front *front, struct peer *peer, json_t *root)
{
	_cleanup_free_ char *json = json_dumps(root, JSON_COMPACT);

	if (json)
		return apply(front, peer, json, strlen(json));
	peer_refuse(front, peer, CODE_FAILED, "", 0, "cannot hold the request");
	return -1;
}

void execute_exec(struct front *front, struct peer *peer, const char *body, size_t size)
{
	static const char *const own[] = { "id", NULL };
	static const struct foreign foreign[] = {
		{ "container", "there is no such field here; give the container's id as id" },
		{ NULL, NULL },
	};
	json_t *root = http_load_object(front, peer, body, size);

	if (root && execute_has_known(front, peer, root, own, foreign) &&
	    rename_member(front, peer, root, "id", "container",
			  "expected the id of a container, as /containers/start gave it", "") &&
	    execute_apply_object(front, peer, root) == 0)
		execute_submit(front, peer);
	json_decref(root);
}

/* False: it was answered. */
static bool take_ttl(struct front *front, struct peer *peer, json_t *root)
{
	json_t *value = json_object_get(root, "ttl");
	double ttl = value ? json_number_value(value) : 0;

	if (value && (!json_is_number(value) || ttl < 1 || ttl > 86400)) {
		peer_refuse(front, peer, CODE_BAD_REQUEST, "ttl", 0, "ttl: expected seconds from 1 to 86400");
		return false;
	}
	json_object_del(root, "ttl");
	peer->exchange->ttl = ttl;
	return true;
}

void execute_start(struct front *front, struct peer *peer, const char *body, size_t size)
{
	static const char *const own[] = { "ttl", NULL };
	static const struct foreign foreign[] = {
		{ "profile", "there is no such field here; give the profile's name as container" },
		{ "command", "start first, then POST /containers/exec" },
		{ NULL, NULL },
	};
	json_t *root = http_load_object(front, peer, body, size);
	const struct token *token = peer->caller.token ? policy_token(front, peer->caller.name) : NULL;
	const struct profile *profile;
	struct error err;

	if (!root)
		return;
	if (execute_has_known(front, peer, root, own, foreign) && take_ttl(front, peer, root) &&
	    rename_member(front, peer, root, "container", "profile", "expected the name of a container",
			  "; GET /containers lists them")) {
		profile = registry_find(&front->config.registry, json_string_value(json_object_get(root, "profile")),
					NULL);
		if (!profile) {
			error_refuse(&err, CODE_NOT_FOUND, "container", "the registry has none of that name");
			error_remedy(&err, "; GET /containers lists them", "");
			peer_refuse_error(front, peer, &err);
		} else if (execute_apply_object(front, peer, root) == 0) {
			peer->about.auto_cleanup = front->config.registry.auto_cleanup;
			peer->about.max_concurrent = front->config.registry.max_concurrent;
			peer->about.max_own = token ? token->max_concurrent : 0;
			execute_submit(front, peer);
		}
	}
	json_decref(root);
}

static void told_cancel(struct front *front, struct peer *peer, int status, const char *body, size_t size, int fd)
{
	const char *value;
	size_t value_size;
	char state[16];

	close_fd(&fd);
	if (status == 200 && json_member(body, size, "status", &value, &value_size) &&
	    json_string_copy(value, value_size, state, sizeof(state)) && strcmp(state, "running") == 0)
		http_answer_error(front, peer, CODE_FORBIDDEN_SCOPE, "", 0,
				  "only who started this execution, or a token of scope admin, may end it");
	else if (status == 200)
		http_answer_error(front, peer, CODE_NOT_RUNNING, "", 0, "this execution is over");
	else
		http_answer_json(front, peer, status, body, size);
}

static bool may_cancel(const struct peer *who, const struct message_run *about, const char *id)
{
	return strcmp(about->id, id) == 0 && *id &&
	       ((who->caller.scopes & SCOPE_ADMIN) || strcmp(about->caller, who->caller.name) == 0);
}

void execute_cancel(struct front *front, struct peer *peer, const char *body, size_t size)
{
	const char *id = peer->exchange->part;
	_cleanup_free_ char *question = NULL;
	bool found = false;
	char json[96];

	for (size_t i = 0; !found && i < front->options.max_running; i++) {
		found = front->runs[i].number && may_cancel(peer, &front->runs[i].about, id);
		if (found)
			close_fd(&front->runs[i].cancel);
	}
	for (struct peer *other = front->clients; !found && other; other = other->next) {
		found = other != peer && other->state == PEER_QUEUED && may_cancel(peer, &other->about, id);
		if (found) {
			peer_cancel(front, other);
			peer_wake(front, other);
			break;
		}
	}
	if (found) {
		snprintf(json, sizeof(json), "{\"id\":\"%s\",\"status\":\"cancelling\"}", id);
		http_answer_json(front, peer, 202, json, strlen(json));
		return;
	}
	question = http_question(peer, SCOPE_READ | SCOPE_ADMIN, "show", id);
	peer->exchange->phase = PHASE_ANSWER;
	if (!question || ask(front, peer, true, question, told_cancel) < 0)
		http_answer_error(front, peer, CODE_FAILED, "", 1, "the store cannot be asked now");
}
