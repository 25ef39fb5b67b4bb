/* MCP's tools and resources: what is asked of other paths, and what becomes of the answers. */
#include "daemon/front/front_mcp.h"

#include "base/base64.h"
#include "base/clock.h"
#include "base/json_check.h"
#include "base/own.h"
#include "base/text.h"
#include "mcp/content.h"
#include "mcp/resource.h"
#include "daemon/front/mcp_fixtures.h"

#include <string.h>

/* Whether the client that called takes resource links in results. */
static bool takes_links(const struct front *front, const struct peer *peer)
{
	const struct mcp_exchange *mcp = peer->exchange->mcp;
	const struct mcp_session *session = mcp_session_of(front, peer);

	return mcp->era == ERA_2026 ? mcp_client_takes_links(mcp_capabilities_of(&mcp->message))
				    : session && session->links;
}

/* Confirmations */

/* Whether the answer says that a person has to agree first; the text to send along into `confirm`. */
static bool wants_confirmation(const struct tool_answer *answer, char confirm[TOOL_CONFIRM_MAX], char *sentence,
			       size_t size)
{
	json_t *body = answer->status == 409 ? json_loadb(answer->body, answer->size, 0, NULL) : NULL;
	json_t *error = json_object_get(body, "error");
	const char *code = json_string_value(json_object_get(error, "code"));
	const char *text = json_string_value(json_object_get(error, "confirm"));
	bool wants = code && strcmp(code, "needs_confirmation") == 0 && text && strlen(text) < TOOL_CONFIRM_MAX;

	if (wants) {
		snprintf(confirm, TOOL_CONFIRM_MAX, "%s", text);
		tool_refusal(answer, sentence, size);
	}
	json_decref(body);
	return wants;
}

static void call_told(struct front *front, struct peer *peer, const struct tool_answer *answer);

static void ask_next(struct front *front, struct peer *peer, struct tool_request *request)
{
	mcp_ask(front, peer, request, call_told);
}

/* What a person is asked. */
static void question_text(const struct peer *peer, char *out, size_t size)
{
	const struct tool_call *call = &peer->exchange->mcp->call;
	const char *profile = json_string_value(json_object_get(call->arguments, "profile"));
	const char *container = json_string_value(json_object_get(call->arguments, "container"));
	const char *id = json_string_value(json_object_get(call->arguments, "id"));
	const char *name = profile ? profile : container ? container : id ? id : "";

	snprintf(out, size,
		 "The assistant wants to run code in the sandbox \"%.64s\", which needs your agreement. May it run?",
		 name);
}

/* 2025: a request of ours on the stream of its own; the answer comes as another message. */
static void ask_person(struct front *front, struct peer *peer)
{
	struct mcp_exchange *mcp = peer->exchange->mcp;
	char question[256];
	_cleanup_free_ char *text = NULL;

	snprintf(mcp->asked, sizeof(mcp->asked), "ask-%llu", (unsigned long long)++front->mcp->asked);
	question_text(peer, question, sizeof(question));
	text = rpc_request_text(mcp->asked, "elicitation/create", mcp_question(question));
	if (!text) {
		peer->link.broken = true;
		return;
	}
	events_begin(front, peer);
	event_send(peer, "message", text, strlen(text));
	peer->waits = true;
	mcp->give_up_usec = clock_usec() + (uint64_t)MCP_ASK_MSEC * 1000;
	peer_deadline(front, peer, front->options.times.ping);
}

/* 2026: a result that asks; who answers it calls again, with the seal. */
static void require_input(struct front *front, struct peer *peer, const char *confirm)
{
	char question[256];

	question_text(peer, question, sizeof(question));
	mcp_reply(front, peer,
		  json_pack("{s:s, s:{s:{s:s, s:o}}, s:s}", "resultType", "input_required", "inputRequests", "confirm",
			    "method", "elicitation/create", "params", mcp_question(question), "requestState", confirm));
}

static void confirm(struct front *front, struct peer *peer, const char *sentence)
{
	struct mcp_exchange *mcp = peer->exchange->mcp;
	const struct mcp_session *session = mcp_session_of(front, peer);
	char refusal[1200];

	snprintf(refusal, sizeof(refusal),
		 "%s by a person, whom this client cannot ask; use another profile, or ask the user to run it with "
		 "emberbox run --profile",
		 sentence);
	if (mcp->era == ERA_2026 && mcp_client_elicits(mcp_capabilities_of(&mcp->message))) {
		require_input(front, peer, mcp->call.confirm);
	} else if (mcp->era == ERA_2025 && session && session->elicits && peer->exchange->events) {
		ask_person(front, peer);
	} else {
		/* Not -32021: a client tells a model that a call failed, and not what an error of the protocol says. */
		mcp_reply(front, peer, content_refusal(refusal));
	}
}

void mcp_decided(struct front *front, struct peer *peer, const json_t *answer)
{
	struct mcp_exchange *mcp = peer->exchange->mcp;
	struct tool_request request;
	struct error err = { 0 };

	peer->waits = false;
	mcp->asked[0] = '\0';
	if (mcp->fixture)
		mcp_fixture_decided(front, peer, answer);
	else if (!mcp_agreed(answer))
		mcp_reply(front, peer, content_refusal("it was not run: the person who was asked did not agree"));
	else if (tool_again(&mcp->call, &request, &err) < 0)
		mcp_reply(front, peer, content_refusal(err.text));
	else
		ask_next(front, peer, &request);
}

/* Tools */

static void call_told(struct front *front, struct peer *peer, const struct tool_answer *answer)
{
	struct mcp_exchange *mcp = peer->exchange->mcp;
	struct tool_request request;
	char sentence[1024], seal[TOOL_CONFIRM_MAX];
	json_t *result;

	/* A confirmation that did not do is not asked for again. */
	if (!mcp->call.confirm[0] && wants_confirmation(answer, seal, sentence, sizeof(sentence))) {
		snprintf(mcp->call.confirm, sizeof(mcp->call.confirm), "%s", seal);
		confirm(front, peer, sentence);
		return;
	}
	result = tool_answer(&mcp->call, answer, &request);
	if (result)
		mcp_reply(front, peer, result);
	else
		ask_next(front, peer, &request);
}

/* 2026: the answer to what was required, and what it was required with. False: that was answered. */
static bool take_input(struct front *front, struct peer *peer, char seal[TOOL_CONFIRM_MAX])
{
	const json_t *params = peer->exchange->mcp->message.params;
	const json_t *responses = json_object_get(params, "inputResponses");
	const json_t *state = json_object_get(params, "requestState"), *answer = json_object_get(responses, "confirm");
	const char *text = json_string_value(state);

	seal[0] = '\0';
	if (!answer)
		return true;
	if (!mcp_agreed(answer)) {
		mcp_reply(front, peer, content_refusal("it was not run: the person who was asked did not agree"));
		return false;
	}
	if (!text || strlen(text) != json_string_length(state) || strlen(text) >= TOOL_CONFIRM_MAX) {
		mcp_fail(front, peer, 400, RPC_BAD_PARAMS, "requestState: expected the one that the result had", NULL);
		return false;
	}
	snprintf(seal, TOOL_CONFIRM_MAX, "%s", text);
	return true;
}

/* What the caller's token lets a result show of a stream; 0: it does not say. */
static uint64_t shown_max(struct front *front, const struct peer *peer)
{
	const struct token *token = peer->caller.token ? policy_token(front, peer->caller.name) : NULL;
	uint64_t bytes = 0;

	return token && token->limits.max_output && text_size(token->limits.max_output, &bytes) ? bytes : 0;
}

void mcp_call(struct front *front, struct peer *peer)
{
	struct mcp_exchange *mcp = peer->exchange->mcp;
	const json_t *params = mcp->message.params;
	const char *name = json_string_value(json_object_get(params, "name"));
	json_t *arguments = json_object_get(params, "arguments");
	json_t *token = json_object_get(json_object_get(params, "_meta"), "progressToken");
	char seal[TOOL_CONFIRM_MAX] = "";
	struct tool_request request;
	struct error err = { 0 };

	if (!name || !tool_is_known(name)) {
		mcp_fail(front, peer, 400, RPC_BAD_PARAMS, "name: there is no such tool; tools/list has them", NULL);
		return;
	}
	if (arguments && !json_is_object(arguments) && !json_is_null(arguments)) {
		mcp_fail(front, peer, 400, RPC_BAD_PARAMS, "arguments: expected an object", NULL);
		return;
	}
	if (mcp->era == ERA_2026 && !take_input(front, peer, seal))
		return;
	mcp->progress_token = json_is_string(token) || json_is_number(token) ? token : NULL;
	if (tool_begin(&mcp->call, front->mcp->tools, name, arguments, shown_max(front, peer), &request, &err) < 0) {
		mcp_reply(front, peer, content_refusal(err.text));
		return;
	}
	mcp->call.links = takes_links(front, peer);
	if (seal[0]) {
		snprintf(mcp->call.confirm, sizeof(mcp->call.confirm), "%s", seal);
		tool_request_free(&request);
		if (tool_again(&mcp->call, &request, &err) < 0) {
			mcp_reply(front, peer, content_refusal(err.text));
			return;
		}
	}
	ask_next(front, peer, &request);
}

/* Resources */

static void no_resource(struct front *front, struct peer *peer, const char *uri)
{
	struct mcp_exchange *mcp = peer->exchange->mcp;

	mcp_fail(front, peer, 400, mcp->era == ERA_2025 ? RPC_NO_RESOURCE : RPC_BAD_PARAMS, "there is no such resource",
		 json_pack("{s:o}", "uri", content_text(uri, strlen(uri))));
}

static const char *uri_of(const struct peer *peer)
{
	const json_t *uri = json_object_get(peer->exchange->mcp->message.params, "uri");

	return json_is_string(uri) ? json_string_value(uri) : "";
}

/* A resource's content: text where it is text, else base64. */
static json_t *contents(const char *uri, const char *type, const char *data, size_t size)
{
	_cleanup_buf_ struct buf coded = { 0 };
	const bool text = json_is_plain_text(data, size);

	if (!text)
		base64_add(&coded, data, size);
	return json_pack("{s:[{s:s, s:s, s:o}]}", "contents", "uri", uri, "mimeType",
			 type   ? type
			 : text ? "text/plain"
				: "application/octet-stream",
			 text ? "text" : "blob",
			 text ? json_stringn(data, size) : json_string(coded.data ? coded.data : ""));
}

static void read_told(struct front *front, struct peer *peer, const struct tool_answer *answer)
{
	const char *uri = uri_of(peer);

	if (answer->status >= 300)
		no_resource(front, peer, uri);
	else if (answer->total > TOOL_FILE_MAX || answer->size > TOOL_FILE_MAX)
		mcp_fail(front, peer, 400, RPC_BAD_PARAMS, "the file is larger than 4m; read_file has it in pages",
			 NULL);
	else
		mcp_reply(front, peer, contents(uri, content_image_type(uri), answer->body, answer->size));
}

void mcp_resources_read(struct front *front, struct peer *peer)
{
	struct tool_request request = { .method = HTTP_GET };
	const struct mcp_guide *guide;
	struct resource resource;
	const char *uri = uri_of(peer);

	if (!resource_parse(uri, &resource)) {
		no_resource(front, peer, uri);
		return;
	}
	if (resource.kind == RESOURCE_RUNTIME) {
		guide = guide_find(resource.id);
		if (guide)
			mcp_reply(front, peer, contents(uri, "text/markdown", guide->text, strlen(guide->text)));
		else
			no_resource(front, peer, uri);
		return;
	}
	snprintf(request.range, sizeof(request.range), "bytes=0-%d", TOOL_FILE_MAX);
	if (resource.kind == RESOURCE_SESSION)
		snprintf(request.path, sizeof(request.path), "/v1/sessions/%s/files/output/%s", resource.id,
			 resource.path);
	else
		snprintf(request.path, sizeof(request.path), "/v1/executions/%s/files/%s", resource.id, resource.path);
	mcp_ask(front, peer, &request, read_told);
}

static void list_next(struct front *front, struct peer *peer);

static void files_told(struct front *front, struct peer *peer, const struct tool_answer *answer)
{
	struct mcp_exchange *mcp = peer->exchange->mcp;
	json_t *body = answer->status == 200 ? json_loadb(answer->body, answer->size, 0, NULL) : NULL, *file;
	size_t i;

	json_array_foreach(json_object_get(body, "entries"), i, file)
	{
		const char *path = json_string_value(json_object_get(file, "name"));
		const char *type = json_string_value(json_object_get(file, "type"));
		json_t *resource = NULL;

		if (path && (!type || strcmp(type, "file") == 0))
			resource = resource_file(mcp->listing, path, json_integer_value(json_object_get(file, "size")));
		if (resource)
			json_array_append_new(mcp->list, resource);
	}
	json_decref(body);
	list_next(front, peer);
}

/* The files of the next session; or all are told. */
static void list_next(struct front *front, struct peer *peer)
{
	struct mcp_exchange *mcp = peer->exchange->mcp;
	struct tool_request request = { .method = HTTP_GET };

	while (mcp->next < json_array_size(mcp->sessions) && mcp->next < MCP_LISTED) {
		const json_t *session = json_array_get(mcp->sessions, mcp->next++);
		const char *id = json_string_value(json_object_get(session, "id"));
		const char *status = json_string_value(json_object_get(session, "status"));

		if (!id || strlen(id) >= sizeof(mcp->listing) || (status && strcmp(status, "ended") == 0))
			continue;
		snprintf(mcp->listing, sizeof(mcp->listing), "%s", id);
		snprintf(request.path, sizeof(request.path), "/v1/sessions/%s/files", id);
		snprintf(request.query, sizeof(request.query), "path=output");
		mcp_ask(front, peer, &request, files_told);
		return;
	}
	mcp_reply(front, peer, json_pack("{s:O}", "resources", mcp->list));
}

static void sessions_told(struct front *front, struct peer *peer, const struct tool_answer *answer)
{
	struct mcp_exchange *mcp = peer->exchange->mcp;
	json_t *body = answer->status == 200 ? json_loadb(answer->body, answer->size, 0, NULL) : NULL;

	mcp->sessions = json_incref(json_object_get(body, "sessions"));
	json_decref(body);
	list_next(front, peer);
}

void mcp_resources_list(struct front *front, struct peer *peer)
{
	struct tool_request request = { .method = HTTP_GET, .path = "/v1/sessions" };

	peer->exchange->mcp->list = resource_guides();
	mcp_ask(front, peer, &request, sessions_told);
}
