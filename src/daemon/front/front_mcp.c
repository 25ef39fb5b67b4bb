/* MCP: messages, sessions, and what is answered at once. */
#include "daemon/front/front_mcp.h"

#include "base/clock.h"
#include "base/own.h"
#include "mcp/content.h"
#include "mcp/resource.h"
#include "daemon/front/mcp_fixtures.h"

#include <string.h>
#include <sys/random.h>

enum {
	SESSION_DIGITS = 48 /* of a session's id */
};

/* Tables */

void mcp_free(struct mcp *mcp)
{
	if (!mcp)
		return;
	json_decref(mcp->tools);
	json_decref(mcp->fixtures);
	free(mcp->instructions);
	free(mcp);
}

static bool mcp_open(struct front *front)
{
	struct mcp *mcp = front->mcp ? front->mcp : calloc(1, sizeof(*mcp));

	if (front->mcp || !mcp)
		return mcp != NULL;
	mcp->tools = tools_list();
	mcp->instructions = guide_instructions();
	if (!mcp->tools || !mcp->instructions) {
		mcp_free(mcp);
		return false;
	}
	front->mcp = mcp;
	mcp_fixture_tools(front, mcp->tools);
	return true;
}

/* Sessions */

static bool session_is_over(const struct front *front, const struct mcp_session *session)
{
	return !session->id[0] || clock_usec() - session->used_usec > (uint64_t)front->options.times.session * 1000;
}

static struct mcp_session *session_find(struct front *front, const struct peer *peer, const char *id)
{
	for (struct mcp_session *s = front->mcp->sessions; *id && s < front->mcp->sessions + MCP_SESSIONS; s++)
		if (!session_is_over(front, s) && strcmp(s->id, id) == 0 && strcmp(s->caller, peer->caller.name) == 0)
			return s;
	return NULL;
}

const struct mcp_session *mcp_session_of(const struct front *front, const struct peer *peer)
{
	const struct mcp_exchange *mcp = peer->exchange->mcp;

	return mcp->era == ERA_2025 ? session_find((struct front *)front, peer, mcp->head.session) : NULL;
}

/* A place for one; who has many loses the one that it did not use for longest. NULL: all are taken by others. */
static struct mcp_session *session_place(struct front *front, const struct peer *peer)
{
	struct mcp_session *place = NULL, *oldest = NULL;
	size_t own = 0;

	for (struct mcp_session *s = front->mcp->sessions; s < front->mcp->sessions + MCP_SESSIONS; s++) {
		if (session_is_over(front, s)) {
			place = s;
		} else if (strcmp(s->caller, peer->caller.name) == 0) {
			own++;
			oldest = !oldest || s->used_usec < oldest->used_usec ? s : oldest;
		}
	}
	return place && own < MCP_SESSIONS_EACH ? place : oldest;
}

static struct mcp_session *session_make(struct front *front, const struct peer *peer)
{
	const struct mcp_head *head = &peer->exchange->mcp->head;
	/* Our own command chooses one for its pipe, and takes it again when the front was restarted. */
	const bool chosen = head->pipe && strlen(head->session) == SESSION_DIGITS;
	struct mcp_session *session = chosen ? session_find(front, peer, head->session) : NULL;
	unsigned char chance[SESSION_DIGITS / 2];

	session = session ? session : session_place(front, peer);
	if (!session || getrandom(chance, sizeof(chance), 0) != sizeof(chance))
		return NULL;
	*session = (struct mcp_session){ .used_usec = clock_usec() };
	token_hex(chance, sizeof(chance), session->id);
	if (chosen)
		snprintf(session->id, sizeof(session->id), "%s", head->session);
	snprintf(session->caller, sizeof(session->caller), "%s", peer->caller.name);
	return session;
}

/* Whether another connection's message is a request of that session that is not answered yet. */
static bool is_call_of(const struct peer *peer, const char *caller, const char *session)
{
	const struct mcp_exchange *mcp = peer->exchange ? peer->exchange->mcp : NULL;

	return mcp && !peer->dead && mcp->era == ERA_2025 && mcp->message.kind == RPC_REQUEST && mcp->message.id &&
	       strcmp(mcp->head.session, session) == 0 && strcmp(peer->caller.name, caller) == 0;
}

/* The same by its id; NULL: there is none. */
static struct peer *call_find(struct front *front, const struct peer *who, const json_t *id)
{
	const char *session = who->exchange->mcp->head.session;

	for (struct peer *peer = front->clients; *session && peer; peer = peer->next)
		if (peer != who && is_call_of(peer, who->caller.name, session) &&
		    json_equal(peer->exchange->mcp->message.id, id))
			return peer;
	return NULL;
}

/* Exchanges */

void mcp_exchange_free(struct exchange *x)
{
	struct mcp_exchange *mcp = x->mcp;

	if (!mcp)
		return;
	rpc_message_free(&mcp->message);
	tool_call_free(&mcp->call);
	json_decref(mcp->head.params);
	json_decref(mcp->list);
	json_decref(mcp->sessions);
	free(mcp);
	x->mcp = NULL;
}

static void keep_field(const struct http_head *head, const char *name, char *out, size_t room)
{
	struct http_text text = http_field(head, name, NULL);
	size_t size = text.data && text.size < room ? text.size : 0;

	memcpy(out, text.data ? text.data : "", size);
	out[size] = '\0';
}

bool mcp_begin(struct peer *peer, const struct http_head *head)
{
	struct exchange *x = peer->exchange;
	struct mcp_exchange *mcp;

	mcp_exchange_free(x);
	mcp = x->mcp = calloc(1, sizeof(*mcp));
	if (!mcp)
		return false;
	keep_field(head, "mcp-session-id", mcp->head.session, sizeof(mcp->head.session));
	keep_field(head, "mcp-protocol-version", mcp->head.version, sizeof(mcp->head.version));
	keep_field(head, "mcp-method", mcp->head.method, sizeof(mcp->head.method));
	keep_field(head, "mcp-name", mcp->head.name, sizeof(mcp->head.name));
	for (const struct http_field *field = head->fields; field < head->fields + head->field_count; field++)
		mcp_keep_param(&mcp->head, field->name.data, field->name.size, field->value.data, field->value.size);
	/* Our own command passes on what came by a pipe, where there are no headers. */
	mcp->head.pipe = strcmp(peer->address, "unix") == 0 &&
			 http_text_is(http_field(head, "emberbox-transport", NULL), "stdio");
	x->events = x->events && head->minor > 0;
	return true;
}

bool mcp_is_inside(const struct exchange *x)
{
	return x->mcp && x->mcp->told;
}

bool mcp_is_live(const struct exchange *x)
{
	return x->mcp->progress_token && x->events;
}

bool exchange_outlives(const struct peer *peer)
{
	const struct mcp_exchange *mcp = peer->exchange ? peer->exchange->mcp : NULL;

	/* That it is gone is no cancellation in 2025; there is a message for that. */
	return mcp && mcp->era == ERA_2025 && !mcp->cancelled && !mcp->head.pipe;
}

/* Answers */

/* A message as the last of an answer; takes it. */
static void send_last(struct front *front, struct peer *peer, int status, char *text, const char *extra)
{
	_cleanup_free_ char *owned = text;

	peer->waits = false;
	if (!owned) {
		peer->link.broken = true;
		return;
	}
	if (peer->exchange->streaming) {
		event_send(peer, "message", owned, strlen(owned));
		events_end(front, peer);
	} else {
		http_answer_json_with(front, peer, status, owned, strlen(owned), extra);
	}
}

static void reply_with(struct front *front, struct peer *peer, json_t *result, const char *extra)
{
	struct mcp_exchange *mcp = peer->exchange->mcp;

	if (!result) {
		mcp_fail(front, peer, 500, RPC_FAILED, "cannot hold the answer", NULL);
		return;
	}
	send_last(front, peer, 200, rpc_result_text(mcp->message.id, mcp_finish(mcp->era, mcp->message.method, result)),
		  extra);
}

void mcp_reply(struct front *front, struct peer *peer, json_t *result)
{
	reply_with(front, peer, result, "");
}

void mcp_fail(struct front *front, struct peer *peer, int status, enum rpc_code code, const char *message, json_t *data)
{
	struct mcp_exchange *mcp = peer->exchange->mcp;

	/* In 2025 a status of HTTP is about the transport, and clients look no further. */
	send_last(front, peer, mcp->era == ERA_2025 ? 200 : status,
		  rpc_error_text(mcp->message.id, code, message, data), "");
}

/* What the transport does not take. */
static void refuse(struct front *front, struct peer *peer, int status, enum rpc_code code, json_t *id,
		   const char *message, json_t *data)
{
	send_last(front, peer, status, rpc_error_text(id, code, message, data), "");
}

static void accepted(struct front *front, struct peer *peer)
{
	http_answer(front, peer, 202, NULL, "", 0, "");
}

void mcp_fall_silent(struct front *front, struct peer *peer)
{
	struct exchange *x = peer->exchange;

	peer->waits = false;
	if (!x->streaming && !x->events) {
		accepted(front, peer);
		return;
	}
	events_begin(front, peer);
	events_end(front, peer);
}

/* Requests inside */

/* As the parser of HTTP takes paths: without parts that lead elsewhere. */
static bool is_straight(const char *path)
{
	for (const char *part = strchr(path, '/'); part; part = strchr(part + 1, '/')) {
		size_t size = strcspn(part + 1, "/");

		if ((size == 1 && part[1] == '.') || (size == 2 && part[1] == '.' && part[2] == '.'))
			return false;
	}
	return true;
}

void mcp_ask(struct front *front, struct peer *peer, struct tool_request *request, mcp_told *told)
{
	static const char missing[] = "{\"error\":{\"code\":\"not_available\",\"message\":"
				      "\"this version of emberbox cannot do that yet\"}}";
	static const char crooked[] = "{\"error\":{\"message\":\"path: it has a part . or ..\"}}";
	struct exchange *x = peer->exchange;
	struct mcp_exchange *mcp = x->mcp;
	_cleanup_free_ char *body = take_ptr(request->body);
	const struct route *outside = x->route, *route;

	x->phase = PHASE_ANSWER;
	if (!is_straight(request->path)) {
		told(front, peer, &(struct tool_answer){ .status = 400, .body = crooked, .size = sizeof(crooked) - 1 });
		return;
	}
	route = http_route_find(x, request->method, request->path);
	if (!route || (route->scopes && !(peer->caller.scopes & route->scopes)) || request->size > route->body_max) {
		const char *json = !route ? missing
				   : request->size > route->body_max
					   ? "{\"error\":{\"message\":\"what is sent is too large\"}}"
					   : "{\"error\":{\"message\":\"this token's scopes do not include that\"}}";

		told(front, peer, &(struct tool_answer){ .status = 404, .body = json, .size = strlen(json) });
		return;
	}
	mcp->route = outside;
	mcp->told = told;
	x->route = route;
	x->method = request->method;
	x->ttl = 0;
	x->cut[0].size = x->cut[1].size = 0;
	snprintf(x->query, sizeof(x->query), "%s", request->query);
	x->query_size = strlen(x->query);
	snprintf(x->range, sizeof(x->range), "%s", request->range);
	peer->via = "mcp";
	route->handle(front, peer, body ? body : "", request->size);
	/* A short one is answered whole; who waits longer gets events, to know that we live. */
	if (!peer->dead && mcp_is_inside(x) && x->events && !x->streaming)
		peer_deadline(front, peer, front->options.times.ping);
}

/* "Content-Range: bytes 0-9/100", or "bytes * / 100". */
static uint64_t total_of(const char *extra)
{
	const char *range = strstr(extra, "Content-Range: bytes "), *slash = range ? strchr(range, '/') : NULL;

	return slash ? strtoull(slash + 1, NULL, 10) : 0;
}

void mcp_answered(struct front *front, struct peer *peer, int status, const char *body, size_t size, const char *extra)
{
	struct exchange *x = peer->exchange;
	struct mcp_exchange *mcp = x->mcp;
	mcp_told *told = mcp->told;

	mcp->told = NULL;
	x->route = mcp->route;
	x->method = HTTP_POST;
	/* The answer outside is still to come. */
	x->phase = PHASE_ANSWER;
	if (mcp->cancelled)
		mcp_fall_silent(front, peer);
	else
		told(front, peer,
		     &(struct tool_answer){
			     .status = status, .body = body ? body : "", .size = size, .total = total_of(extra) });
}

void mcp_answered_file(struct front *front, struct peer *peer, int status, int file, uint64_t first, uint64_t last,
		       const char *extra)
{
	_cleanup_close_ int fd = file;
	/* One byte more than may be had, so that who asked sees that there is more. */
	const size_t size = last - first < TOOL_FILE_MAX ? (size_t)(last - first) + 1 : TOOL_FILE_MAX + 1;
	_cleanup_free_ char *data = malloc(size);
	size_t used = 0;
	ssize_t n = 1;

	while (data && used < size && n > 0) {
		n = pread(fd, data + used, size - used, (off_t)(first + used));
		used += n > 0 ? (size_t)n : 0;
	}
	mcp_answered(front, peer, status, data, used, extra);
}

static void notify(struct peer *peer, const char *method, json_t *params)
{
	_cleanup_free_ char *text = rpc_notification_text(method, params);

	if (text)
		event_send(peer, "message", text, strlen(text));
}

void mcp_started(struct front *front, struct peer *peer)
{
	if (!peer->exchange->mcp->cancelled)
		events_begin(front, peer);
}

void mcp_output(struct front *front, struct peer *peer, const char *text, size_t size)
{
	struct mcp_exchange *mcp = peer->exchange->mcp;
	size_t part = size < MCP_PROGRESS_MAX ? size : MCP_PROGRESS_MAX;

	/* It is a view of what happens, not the output: that is in the result. */
	if (size == 0 || mcp->cancelled || connection_pending(&peer->link) > MCP_BEHIND)
		return;
	while (part > 0 && part < size && ((unsigned char)text[part] & 0xC0) == 0x80)
		part--;
	events_begin(front, peer);
	notify(peer, "notifications/progress",
	       json_pack("{s:O, s:I, s:o}", "progressToken", mcp->progress_token, "progress", ++mcp->progress,
			 "message", content_text(text, part)));
}

bool mcp_late(struct front *front, struct peer *peer)
{
	struct exchange *x = peer->exchange;

	if (x->phase != PHASE_ANSWER)
		return false;
	if (peer->waits && x->mcp->give_up_usec <= clock_usec()) {
		mcp_decided(front, peer, NULL);
		return true;
	}
	if (x->streaming || !x->events || !mcp_is_inside(x))
		return false;
	events_begin(front, peer);
	execute_ping(front, peer);
	return true;
}

/* Methods */

static json_t *capabilities(struct front *front)
{
	json_t *can = mcp_capabilities();

	mcp_fixture_capabilities(front, can);
	return can;
}

static void initialize(struct front *front, struct peer *peer)
{
	struct mcp_exchange *mcp = peer->exchange->mcp;
	struct mcp_session *session = session_make(front, peer);
	char extra[128];

	if (!session) {
		mcp_fail(front, peer, 503, RPC_FAILED, "as many clients of MCP have sessions as may; try again later",
			 NULL);
		return;
	}
	session->elicits = mcp_client_elicits(json_object_get(mcp->message.params, "capabilities"));
	session->links = mcp_client_takes_links(json_object_get(mcp->message.params, "capabilities"));
	snprintf(extra, sizeof(extra), "Mcp-Session-Id: %s\r\n", session->id);
	reply_with(front, peer,
		   mcp_initialized(mcp_version_for(mcp->message.params), capabilities(front), front->mcp->instructions),
		   extra);
}

static void ping(struct front *front, struct peer *peer)
{
	mcp_reply(front, peer, json_object());
}

static void discover(struct front *front, struct peer *peer)
{
	mcp_reply(front, peer, mcp_discovered(capabilities(front), front->mcp->instructions));
}

static void list_tools(struct front *front, struct peer *peer)
{
	mcp_reply(front, peer, json_pack("{s:O}", "tools", front->mcp->tools));
}

static void list_templates(struct front *front, struct peer *peer)
{
	mcp_reply(front, peer, json_pack("{s:o}", "resourceTemplates", resource_templates()));
}

/* There are none, but some clients ask all the same and give up on an error. */
static void list_prompts(struct front *front, struct peer *peer)
{
	mcp_reply(front, peer, json_pack("{s:[]}", "prompts"));
}

enum {
	IN_2025 = 1,
	IN_2026 = 2,
	IN_BOTH = 3
};

static const struct mcp_method {
	const char *name;                                       /* as messages have it */
	unsigned eras;                                          /* where there is such a thing */
	void (*handle)(struct front *front, struct peer *peer); /* answers, now or later */
} methods[] = {
	{ "initialize", IN_2025, initialize },
	{ "ping", IN_2025, ping },
	{ "server/discover", IN_2026, discover },
	{ "tools/list", IN_BOTH, list_tools },
	{ "tools/call", IN_BOTH, mcp_call },
	{ "prompts/list", IN_BOTH, list_prompts },
	{ "resources/list", IN_BOTH, mcp_resources_list },
	{ "resources/templates/list", IN_BOTH, list_templates },
	{ "resources/read", IN_BOTH, mcp_resources_read },
};

/* Every list has one page, so no cursor is one of ours. */
static bool asks_for_page(const struct rpc_message *message)
{
	const json_t *cursor = json_object_get(message->params, "cursor");
	const char *slash = strrchr(message->method, '/');

	return cursor && !json_is_null(cursor) && slash && strcmp(slash, "/list") == 0;
}

static void take_request(struct front *front, struct peer *peer)
{
	struct mcp_exchange *mcp = peer->exchange->mcp;
	const unsigned era = mcp->era == ERA_2025 ? IN_2025 : IN_2026;

	if (call_find(front, peer, mcp->message.id)) {
		mcp_fail(front, peer, 400, RPC_BAD_MESSAGE, "id: a request of that id is not answered yet", NULL);
		return;
	}
	if (mcp_fixture(front, peer))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		if (!(methods[i].eras & era) || strcmp(methods[i].name, mcp->message.method) != 0)
			continue;
		if (asks_for_page(&mcp->message))
			mcp_fail(front, peer, 400, RPC_BAD_PARAMS, "cursor: there is one page; leave it out", NULL);
		else
			methods[i].handle(front, peer);
		return;
	}
	mcp_fail(front, peer, 404, RPC_NO_METHOD, "there is no such method", NULL);
}

/* What a call asks goes on until it notices; its answer is nobody's. */
static void cancel(struct front *front, struct peer *call)
{
	struct mcp_exchange *mcp = call->exchange->mcp;

	mcp->cancelled = true;
	if (call->waits)
		mcp_fall_silent(front, call);
	else
		peer_cancel(front, call);
	peer_wake(front, call);
}

static void take_notification(struct front *front, struct peer *peer)
{
	struct mcp_exchange *mcp = peer->exchange->mcp;
	json_t *id = json_object_get(mcp->message.params, "requestId");
	struct peer *call = NULL;

	if (strcmp(mcp->message.method, "notifications/cancelled") == 0 && id)
		call = call_find(front, peer, id);
	if (call)
		cancel(front, call);
	accepted(front, peer);
}

/* To a question of ours. */
static void take_response(struct front *front, struct peer *peer)
{
	struct mcp_exchange *mcp = peer->exchange->mcp;
	const char *id = json_string_value(mcp->message.id);

	for (struct peer *call = front->clients; id && call; call = call->next) {
		if (!call->waits || !is_call_of(call, peer->caller.name, mcp->head.session) ||
		    strcmp(call->exchange->mcp->asked, id) != 0)
			continue;
		mcp_decided(front, call, mcp->message.result);
		peer_wake(front, call);
		break;
	}
	accepted(front, peer);
}

/* A message of 2025 needs a session, but for the first. False: that was answered. */
static bool has_session(struct front *front, struct peer *peer)
{
	struct mcp_exchange *mcp = peer->exchange->mcp;
	struct mcp_session *session;

	if (mcp->message.kind == RPC_REQUEST && strcmp(mcp->message.method, "initialize") == 0)
		return true;
	session = session_find(front, peer, mcp->head.session);
	if (session) {
		session->used_usec = clock_usec();
		return true;
	}
	/* In a pipe there is nothing else to hear before it. */
	refuse(front, peer, mcp->head.session[0] ? 404 : 400, RPC_NO_SESSION, mcp->message.id,
	       mcp->head.session[0] ? "there is no such session; send initialize again"
				    : "send initialize first; over HTTP its answer has an Mcp-Session-Id, which is "
				      "needed from then on",
	       NULL);
	return false;
}

/* Whether it may be heard; false: that was answered. */
static bool is_welcome(struct front *front, struct peer *peer)
{
	struct mcp_exchange *mcp = peer->exchange->mcp;
	struct mcp_fault fault = { 0 };

	mcp->era = mcp_era_of(&mcp->message, &mcp->head);
	if (mcp->era == ERA_2026) {
		if (mcp->message.kind == RPC_RESPONSE ||
		    mcp_check(&mcp->message, &mcp->head, front->mcp->tools, &fault) == 0)
			return true;
		refuse(front, peer, fault.status, fault.code, mcp->message.id, fault.message, fault.data);
		return false;
	}
	if (!mcp_version_known(mcp->head.version)) {
		refuse(front, peer, 400, RPC_NO_SESSION, mcp->message.id,
		       "MCP-Protocol-Version: this version is not spoken here", NULL);
		return false;
	}
	return has_session(front, peer);
}

void mcp_handle(struct front *front, struct peer *peer, const char *body, size_t size)
{
	struct mcp_exchange *mcp = peer->exchange->mcp;
	struct rpc_fault fault;

	if (!mcp_open(front)) {
		peer->link.broken = true;
		return;
	}
	peer->exchange->phase = PHASE_ANSWER;
	if (rpc_decode(body, size, &mcp->message, &fault) < 0) {
		refuse(front, peer, 400, fault.code, fault.id, fault.message, NULL);
		rpc_fault_free(&fault);
		return;
	}
	if (!is_welcome(front, peer))
		return;
	if (mcp->message.kind == RPC_REQUEST)
		take_request(front, peer);
	else if (mcp->message.kind == RPC_NOTIFICATION)
		take_notification(front, peer);
	else
		take_response(front, peer);
}

void mcp_delete(struct front *front, struct peer *peer, const char *body, size_t size)
{
	struct mcp_exchange *mcp = peer->exchange->mcp;
	struct mcp_session *session = mcp_open(front) ? session_find(front, peer, mcp->head.session) : NULL;

	(void)body, (void)size;
	if (strcmp(mcp->head.version, MCP_MODERN) == 0) {
		snprintf(peer->exchange->allow, sizeof(peer->exchange->allow), "POST");
		http_answer_error(front, peer, CODE_METHOD_NOT_ALLOWED, "", 0,
				  "there are no sessions in this version of the protocol");
		return;
	}
	if (!session) {
		refuse(front, peer, mcp->head.session[0] ? 404 : 400, RPC_NO_SESSION, NULL, "there is no such session",
		       NULL);
		return;
	}
	for (struct peer *call = front->clients, *next; call; call = next) {
		next = call->next;
		if (call != peer && is_call_of(call, session->caller, session->id))
			cancel(front, call);
	}
	session->id[0] = '\0';
	http_answer(front, peer, 204, NULL, "", 0, "");
}
