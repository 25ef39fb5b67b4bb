/*
 * For tests: a tool or a prompt there has a `result`, and may have before it: `notify`,
 * notifications; `ask`, a request to the client (2025); `rounds`, input that is
 * required (2026); `requires`, a capability. "$NAME" in its texts stands for an
 * argument, "$progressToken" for that, "$answer" for what the client answered.
 */
#include "daemon/front/mcp_fixtures.h"

#include "base/clock.h"
#include "base/own.h"
#include "daemon/front/front_mcp.h"

#include <stdlib.h>
#include <string.h>

extern const unsigned char mcp_fixtures_data[];
extern const size_t mcp_fixtures_size;

bool mcp_fixtures_wanted(void)
{
	return getenv("EMBERBOX_TEST_MCP_FIXTURES") != NULL;
}

static json_t *fixtures(struct front *front)
{
	if (!front->options.mcp_fixtures)
		return NULL;
	if (!front->mcp->fixtures)
		front->mcp->fixtures = json_loadb((const char *)mcp_fixtures_data, mcp_fixtures_size, 0, NULL);
	return front->mcp->fixtures;
}

void mcp_fixture_capabilities(struct front *front, json_t *capabilities)
{
	if (!fixtures(front))
		return;
	json_object_set_new(capabilities, "prompts", json_object());
	json_object_set_new(capabilities, "completions", json_object());
	json_object_set_new(capabilities, "logging", json_object());
}

static json_t *definitions(json_t *things)
{
	json_t *list = json_array(), *thing;
	const char *name;

	json_object_foreach(things, name, thing) json_array_append(list, json_object_get(thing, "definition"));
	return list;
}

void mcp_fixture_tools(struct front *front, json_t *list)
{
	json_t *more = definitions(json_object_get(fixtures(front), "tools"));

	json_array_extend(list, more);
	json_decref(more);
}

/* The text with every "$NAME" of the values replaced. */
static json_t *fill_text(const char *text, json_t *values)
{
	_cleanup_buf_ struct buf out = { 0 };
	const char *name;
	json_t *value;

	while (*text) {
		size_t used = 0;

		json_object_foreach(values, name, value)
		{
			size_t size = strlen(name);

			if (*text != '$' || strncmp(text + 1, name, size) != 0)
				continue;
			if (text[1 + size] == '\0' && out.size == 0 && !json_is_string(value))
				return json_incref(value);
			buf_text(&out, json_is_string(value) ? json_string_value(value) : "(an object)");
			used = size + 1;
			break;
		}
		if (used == 0)
			buf_add(&out, text, used = 1);
		text += used;
	}
	return json_string(out.data ? out.data : "");
}

static json_t *fill(const json_t *from, json_t *values)
{
	const char *key;
	json_t *member, *out;
	size_t i;

	if (json_is_string(from))
		return fill_text(json_string_value(from), values);
	if (json_is_array(from)) {
		out = json_array();
		json_array_foreach(from, i, member) json_array_append_new(out, fill(member, values));
		return out;
	}
	if (!json_is_object(from))
		return json_incref((json_t *)from);
	out = json_object();
	json_object_foreach((json_t *)from, key, member) json_object_set_new(out, key, fill(member, values));
	return out;
}

/* What stands for names in its texts; the caller frees. */
static json_t *values_of(const struct mcp_exchange *mcp)
{
	json_t *arguments = json_object_get(mcp->message.params, "arguments");
	json_t *values = json_is_object(arguments) ? json_copy(arguments) : json_object();
	json_t *token = json_object_get(json_object_get(mcp->message.params, "_meta"), "progressToken");

	if (token)
		json_object_set(values, "progressToken", token);
	return values;
}

static void send_event(struct front *front, struct peer *peer, char *text)
{
	events_begin(front, peer);
	if (text)
		event_send(peer, "message", text, strlen(text));
	free(text);
}

/* Those that the client wants: progress with a token, and log messages; of 2026 none, as it asks for none. */
static void notify(struct front *front, struct peer *peer, const json_t *list, json_t *values)
{
	const struct mcp_exchange *mcp = peer->exchange->mcp;
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
	{
		const char *method = json_string_value(json_object_get(one, "method"));
		const bool log = strcmp(method, "notifications/message") == 0;

		if (peer->exchange->events &&
		    (log ? mcp->era == ERA_2025 : json_object_get(values, "progressToken") != NULL))
			send_event(front, peer,
				   rpc_notification_text(method, fill(json_object_get(one, "params"), values)));
	}
}

static bool has_responses(const json_t *round, const json_t *responses)
{
	const char *key;
	json_t *value;

	json_object_foreach(json_object_get(round, "inputRequests"), key,
			    value) if (!json_is_object(json_object_get(responses, key))) return false;
	return true;
}

/* Which round the request is at; -1: its state is none of ours. */
static int round_of(const json_t *rounds, const json_t *params)
{
	const json_t *responses = json_object_get(params, "inputResponses");
	const char *state = json_string_value(json_object_get(params, "requestState"));

	for (size_t i = 0; state && i < json_array_size(rounds); i++) {
		const json_t *round = json_array_get(rounds, i);
		const char *sealed = json_string_value(json_object_get(round, "requestState"));

		if (sealed && strcmp(sealed, state) == 0)
			return (int)i + has_responses(round, responses);
	}
	return state ? -1 : has_responses(json_array_get(rounds, 0), responses);
}

static json_t *require_input(const struct mcp_exchange *mcp, const json_t *thing, const json_t *round)
{
	json_t *result = json_deep_copy(round), *requests = json_object_get(result, "inputRequests"), *one;
	const json_t *can = mcp_capabilities_of(&mcp->message);
	const char *key;
	void *next;

	json_object_set_new(result, "resultType", json_string("input_required"));
	json_object_foreach_safe(requests, next, key, one)
	{
		const char *method = json_string_value(json_object_get(one, "method"));
		const char *needs = *method == 'e' ? "elicitation" : *method == 's' ? "sampling" : "roots";

		if (json_is_true(json_object_get(thing, "declared")) && !json_object_get(can, needs))
			json_object_del(requests, key);
	}
	return result;
}

/* A tool or a prompt. */
static void use(struct front *front, struct peer *peer, const json_t *thing)
{
	struct mcp_exchange *mcp = peer->exchange->mcp;
	const json_t *rounds = json_object_get(thing, "rounds"), *ask = json_object_get(thing, "ask");
	const char *needs = json_string_value(json_object_get(thing, "requires"));
	json_t *values = values_of(mcp);
	int round;

	notify(front, peer, json_object_get(thing, "notify"), values);
	if (needs && mcp->era == ERA_2026 && !json_object_get(mcp_capabilities_of(&mcp->message), needs)) {
		mcp_fail(front, peer, 400, RPC_CANNOT_ASK, "the client did not declare a capability that is needed",
			 json_pack("{s:{s:{}}}", "requiredCapabilities", needs));
	} else if (rounds && mcp->era == ERA_2026) {
		round = round_of(rounds, mcp->message.params);
		if (round < 0)
			mcp_fail(front, peer, 400, RPC_BAD_PARAMS, "requestState: it is not one of ours", NULL);
		else if ((size_t)round < json_array_size(rounds))
			mcp_reply(front, peer, require_input(mcp, thing, json_array_get(rounds, (size_t)round)));
		else
			mcp_reply(front, peer, fill(json_object_get(thing, "result"), values));
	} else if (ask && mcp->era == ERA_2025 && peer->exchange->events) {
		snprintf(mcp->asked, sizeof(mcp->asked), "fixture-%llu", (unsigned long long)++front->mcp->asked);
		send_event(front, peer,
			   rpc_request_text(mcp->asked, json_string_value(json_object_get(ask, "method")),
					    fill(json_object_get(ask, "params"), values)));
		mcp->fixture = thing;
		mcp->give_up_usec = clock_usec() + (uint64_t)MCP_ASK_MSEC * 1000;
		peer->waits = true;
	} else {
		mcp_reply(front, peer, fill(json_object_get(thing, "result"), values));
	}
	json_decref(values);
}

void mcp_fixture_decided(struct front *front, struct peer *peer, const json_t *answer)
{
	const struct mcp_exchange *mcp = peer->exchange->mcp;
	json_t *values = values_of(mcp), *text;
	_cleanup_free_ char *dumped = answer ? json_dumps(answer, JSON_COMPACT) : NULL;

	text = json_string(dumped ? dumped : "none");
	json_object_set_new(values, "answer", text);
	mcp_reply(front, peer, fill(json_object_get(mcp->fixture, "result"), values));
	json_decref(values);
}

bool mcp_fixture(struct front *front, struct peer *peer)
{
	static const char *const empty[] = { "logging/setLevel", "resources/subscribe", "resources/unsubscribe", NULL };
	struct mcp_exchange *mcp = peer->exchange->mcp;
	const json_t *all = fixtures(front), *params = mcp->message.params, *found;
	const char *method = mcp->message.method, *name = json_string_value(json_object_get(params, "name"));
	const char *uri = json_string_value(json_object_get(params, "uri"));

	if (!all)
		return false;
	for (const char *const *one = empty; mcp->era == ERA_2025 && *one; one++) {
		if (strcmp(*one, method) != 0)
			continue;
		mcp_reply(front, peer, json_object());
		return true;
	}
	if (strcmp(method, "completion/complete") == 0) {
		mcp_reply(front, peer,
			  json_pack("{s:{s:[], s:i, s:b}}", "completion", "values", "total", 0, "hasMore", 0));
		return true;
	}
	if (strcmp(method, "prompts/list") == 0) {
		mcp_reply(front, peer, json_pack("{s:o}", "prompts", definitions(json_object_get(all, "prompts"))));
		return true;
	}
	found = strcmp(method, "tools/call") == 0 && name    ? json_object_get(json_object_get(all, "tools"), name)
		: strcmp(method, "prompts/get") == 0 && name ? json_object_get(json_object_get(all, "prompts"), name)
							     : NULL;
	if (found) {
		use(front, peer, found);
		return true;
	}
	found = strcmp(method, "resources/read") == 0 && uri ? json_object_get(json_object_get(all, "resources"), uri)
							     : NULL;
	if (found)
		mcp_reply(front, peer, json_pack("{s:[O]}", "contents", found));
	return found != NULL;
}
