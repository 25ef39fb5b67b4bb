/* The paths of HTTP, and what each asks. */
#include "daemon/front/front_http.h"

#include "base/clock.h"
#include "base/own.h"
#include "daemon/front/openapi.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>

enum {
	SMALL = 64 << 10,  /* bytes of a body that names something */
	MEDIUM = 1 << 20,  /* and of one that has a cell's code, or input */
	JUDGED = 25 << 20, /* bytes of one with a program or a message that is looked at, escaped as JSON has it */
	SEE = SCOPE_READ | SCOPE_ADMIN /* who sees what others run */
};

/* {"what", "id"?, "caller"}: a client with none of the scopes that reach everybody's reaches its own. The caller frees.
 */
char *http_question(const struct peer *peer, unsigned everybodys, const char *what, const char *id)
{
	const char *caller = peer->caller.scopes & everybodys ? MESSAGE_EVERYBODY : peer->caller.name;
	json_t *root = json_pack("{s:s, s:s}", "what", what, "caller", caller);
	char *text;

	if (id)
		json_object_set_new(root, "id", json_string(id) ?: json_string(""));
	text = root ? json_dumps(root, JSON_COMPACT) : NULL;
	json_decref(root);
	return text;
}

static void health(struct front *front, struct peer *peer, const char *body, size_t size)
{
	const bool well = front->keeper.fd >= 0 && !front->blind[0] && !front->draining;
	char json[160];
	int length = snprintf(
		json, sizeof(json), "{\"status\":\"%s\",\"version\":\"%s\",\"uptime\":%.3f,\"configuration\":\"%s\"}",
		front->draining ? "draining"
		: well          ? "ok"
				: "degraded",
		EMBERBOX_VERSION, (double)(clock_usec() - front->begun_usec) / 1e6, front->stale ? "stale" : "current");

	http_answer_json(front, peer, well ? 200 : 503, json, (size_t)length);
}

static void languages(struct front *front, struct peer *peer, const char *body, size_t size)
{
	http_pass(front, peer, false, "{\"what\":\"languages\",\"caller\":\"" MESSAGE_EVERYBODY "\"}");
}

static void doctor(struct front *front, struct peer *peer, const char *body, size_t size)
{
	http_pass(front, peer, false, "{\"what\":\"doctor\",\"caller\":\"" MESSAGE_EVERYBODY "\"}");
}

static void openapi(struct front *front, struct peer *peer, const char *body, size_t size)
{
	http_answer(front, peer, 200, "application/yaml", openapi_yaml_data, openapi_yaml_size, "");
}

/* Parameters of the query into the question. 0, or -1: it was answered. */
static int take_query(struct front *front, struct peer *peer, const char *const *known, json_t *question)
{
	const struct exchange *x = peer->exchange;
	const struct http_text query = { x->query, x->query_size };
	char name[64], value[128], sentence[192];
	size_t at = 0;

	while (http_query_next(query, &at, name, sizeof(name))) {
		const char *const *found = known;
		int got;

		while (*found && strcmp(*found, name) != 0)
			found++;
		got = *found ? http_query_get(query, name, value, sizeof(value)) : -2;
		if (got == 1 && json_object_set_new(question, name, json_string(value) ?: json_null()) == 0 &&
		    json_is_string(json_object_get(question, name)))
			continue;
		snprintf(sentence, sizeof(sentence), "%.64s: %s", name,
			 got == -2 ? "there is no such parameter; leave it out"
				   : "it is given twice, too long, or no valid UTF-8");
		http_answer_error(front, peer, CODE_BAD_REQUEST, name, 0, sentence);
		return -1;
	}
	return 0;
}

static void ask_with_query(struct front *front, struct peer *peer, const char *what, const char *const *known)
{
	_cleanup_free_ char *plain = http_question(peer, SEE, what, NULL), *text = NULL;
	json_t *question = plain ? json_loads(plain, 0, NULL) : NULL;
	json_t *own = peer->caller.scopes & SEE ? NULL : json_incref(json_object_get(question, "caller"));

	if (!question || take_query(front, peer, known, question) == 0) {
		/* Who sees only its own cannot ask for another's. */
		if (own)
			json_object_set(question, "caller", own);
		text = question ? json_dumps(question, JSON_COMPACT) : NULL;
		http_pass(front, peer, true, text);
	}
	json_decref(own);
	json_decref(question);
}

static void executions(struct front *front, struct peer *peer, const char *body, size_t size)
{
	static const char *const known[] = { "limit", "language", "status", "before", "since", "caller", NULL };

	ask_with_query(front, peer, "list", known);
}

static void stats(struct front *front, struct peer *peer, const char *body, size_t size)
{
	static const char *const known[] = { "language", "since", "caller", NULL };

	ask_with_query(front, peer, "stats", known);
}

static void execution(struct front *front, struct peer *peer, const char *body, size_t size)
{
	_cleanup_free_ char *question = http_question(peer, SEE, "show", peer->exchange->part);

	http_pass(front, peer, true, question);
}

static void told_spool(struct front *front, struct peer *peer, int status, const char *body, size_t size, int file)
{
	if (status == 200 && file >= 0) {
		http_answer_range(front, peer, file);
		return;
	}
	close_fd(&file);
	http_answer_json(front, peer, status == 200 ? 500 : status, body, size);
}

/* {"markdown": text}, or the report as it is. */
static void told_report(struct front *front, struct peer *peer, int status, const char *body, size_t size, int file)
{
	json_t *root = status == 200 ? json_loadb(body, size, JSON_ALLOW_NUL, NULL) : NULL;
	const json_t *text = json_object_get(root, "markdown");

	close_fd(&file);
	if (json_is_string(text))
		http_answer(front, peer, 200, "text/markdown; charset=utf-8", json_string_value(text),
			    json_string_length(text), "");
	else
		http_answer_json(front, peer, status, body, size);
	json_decref(root);
}

static bool is_report_format(const json_t *format)
{
	const char *name = json_string_value(format);

	return !name || strcmp(name, "json") == 0 || strcmp(name, "markdown") == 0;
}

static void report(struct front *front, struct peer *peer, const char *body, size_t size)
{
	static const char *const known[] = { "format", NULL };
	_cleanup_free_ char *plain = http_question(peer, SEE, "report", peer->exchange->part), *text = NULL;
	json_t *question = plain ? json_loads(plain, 0, NULL) : NULL;

	if (question && peer->exchange->markdown)
		json_object_set_new(question, "format", json_string("markdown"));
	if (question && take_query(front, peer, known, question) < 0) {
		/* It was answered. */
	} else if (!is_report_format(json_object_get(question, "format"))) {
		http_refuse_field(front, peer, "format", "expected json or markdown");
	} else {
		text = question ? json_dumps(question, JSON_COMPACT) : NULL;
		peer->exchange->phase = PHASE_ANSWER;
		if (!text || ask(front, peer, true, text, told_report) < 0)
			http_answer_error(front, peer, CODE_FAILED, "", 1, "the store cannot be asked now");
	}
	json_decref(question);
}

static void ask_for_file(struct front *front, struct peer *peer, const char *question)
{
	peer->exchange->phase = PHASE_ANSWER;
	if (!question || ask(front, peer, true, question, told_spool) < 0)
		http_answer_error(front, peer, CODE_FAILED, "", 1, "the store cannot be asked now");
}

static void spool(struct front *front, struct peer *peer, const char *what)
{
	_cleanup_free_ char *question = http_question(peer, SEE, what, peer->exchange->part);

	ask_for_file(front, peer, question);
}

static void spool_stdout(struct front *front, struct peer *peer, const char *body, size_t size)
{
	spool(front, peer, "stdout");
}

static void spool_stderr(struct front *front, struct peer *peer, const char *body, size_t size)
{
	spool(front, peer, "stderr");
}

static void file_of(struct front *front, struct peer *peer, const char *body, size_t size)
{
	_cleanup_free_ char *plain = http_question(peer, SEE, "file", peer->exchange->part), *question = NULL;
	json_t *root = plain ? json_loads(plain, 0, NULL) : NULL;

	/* Its path is valid UTF-8: no other is taken from a request. */
	if (root && json_object_set_new(root, "path", json_string(peer->exchange->rest)) == 0)
		question = json_dumps(root, JSON_COMPACT);
	json_decref(root);
	ask_for_file(front, peer, question);
}

static size_t number_of(const json_t *root, const char *key)
{
	return (size_t)json_integer_value(json_object_get(root, key));
}

static void answer_metrics(struct front *front, struct peer *peer, const struct metrics_pool *pool, size_t containers,
			   size_t sessions)
{
	const struct metrics_now now = {
		.clients = front->client_count,
		.running = front->running,
		.queued = front->queue.count,
		.streams = front->streams,
		.containers = containers,
		.sessions = sessions,
		.held = front->held,
		.pool = pool,
		.uptime_usec = clock_usec() - front->begun_usec,
	};
	_cleanup_buf_ struct buf text = { 0 };

	metrics_text(front->metrics, &now, &text);
	http_answer(front, peer, 200, "text/plain; version=0.0.4", text.data, text.size, "");
}

static void told_metrics(struct front *front, struct peer *peer, int status, const char *body, size_t size, int fd)
{
	json_t *root = json_loadb(body, size, 0, NULL);
	const struct metrics_pool pool = {
		.idle = number_of(root, "idle"),
		.zygotes = number_of(root, "zygotes"),
		.warm = number_of(root, "warm"),
		.cold = number_of(root, "cold"),
		.forked = number_of(root, "forked"),
		.failed = number_of(root, "failed"),
	};

	close_fd(&fd);
	answer_metrics(front, peer, status == 200 ? &pool : NULL, number_of(root, "containers"),
		       number_of(root, "sessions"));
	json_decref(root);
}

static void metrics(struct front *front, struct peer *peer, const char *body, size_t size)
{
	peer->exchange->phase = PHASE_ANSWER;
	if (ask(front, peer, false, "{\"what\":\"pool\",\"caller\":\"" MESSAGE_EVERYBODY "\"}", told_metrics) < 0)
		answer_metrics(front, peer, NULL, 0, 0);
}

/*
 * What a page that stays open asks every few seconds. Whoever may do anything
 * may ask it, so nothing here tells of others' runs: that is what /metrics is for.
 */
static void answer_status(struct front *front, struct peer *peer, json_t *ready)
{
	const char *state = front->draining                             ? "draining"
			    : front->keeper.fd >= 0 && !front->blind[0] ? "ok"
									: "degraded";
	json_t *root = json_pack("{s:s, s:s, s:f, s:o}", "status", state, "version", EMBERBOX_VERSION, "uptime",
				 (double)(clock_usec() - front->begun_usec) / 1e6, "ready", ready);
	_cleanup_free_ char *text = root ? json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(12)) : NULL;

	json_decref(root);
	if (text)
		http_answer_json(front, peer, 200, text, strlen(text));
	else
		http_answer_error(front, peer, CODE_FAILED, "", 0, "memory ran out");
}

static void told_status(struct front *front, struct peer *peer, int status, const char *body, size_t size, int fd)
{
	json_t *root = json_loadb(body, size, 0, NULL);

	close_fd(&fd);
	answer_status(front, peer, status == 200 ? json_integer((json_int_t)number_of(root, "idle")) : json_null());
	json_decref(root);
}

static void status_now(struct front *front, struct peer *peer, const char *body, size_t size)
{
	peer->exchange->phase = PHASE_ANSWER;
	if (ask(front, peer, false, "{\"what\":\"pool\",\"caller\":\"" MESSAGE_EVERYBODY "\"}", told_status) < 0)
		answer_status(front, peer, json_null());
}

/* Containers */

/* network_mode as the registry has it: commas separate the rules of a list. */
static json_t *network_json(const struct profile *profile)
{
	const char *at = profile->network;
	json_t *rules;

	if (!at || strcmp(at, "none") == 0)
		return json_string("none");
	if (strcmp(at, "public") == 0)
		return json_string("bridge");
	rules = json_array();
	while (*at) {
		const size_t size = strcspn(at, ",");

		json_array_append_new(rules, json_stringn(at, size));
		at += size + (at[size] == ',');
	}
	return json_pack("{s:o}", "allow", rules);
}

static json_t *profile_json(const struct profile *profile)
{
	const char *how_often = !profile->needs_confirm ? NULL : profile->confirm_once ? "once" : "each";
	json_t *triggers = json_array();

	for (const char *const *trigger = profile->triggers; *trigger; trigger++)
		json_array_append_new(triggers, json_string(*trigger));
	return json_pack("{s:s, s:s, s:s?, s:s?, s:o, s:{s:o, s:b, s:b, s:s?}, s:{s:s?, s:s?, s:s?}}", "name",
			 profile->name, "description", profile->description, "language", profile->language, "image",
			 profile->image, "triggers", triggers, "security", "network_mode", network_json(profile),
			 "read_only", profile->read_only, "needs_confirm", profile->needs_confirm, "confirm", how_often,
			 "resources", "memory", profile->limits.memory, "cpus", profile->limits.cpus, "timeout",
			 profile->limits.timeout);
}

static void containers(struct front *front, struct peer *peer, const char *body, size_t size)
{
	const struct registry *registry = &front->config.registry;
	json_t *list = json_array(), *root;
	_cleanup_free_ char *json = NULL;

	for (size_t i = 0; i < registry->count; i++)
		json_array_append_new(list, profile_json(&registry->profiles[i]));
	root = json_pack("{s:o, s:{s:b, s:i}}", "containers", list, "settings", "auto_cleanup", registry->auto_cleanup,
			 "max_concurrent", (int)registry->max_concurrent);
	json = root ? json_dumps(root, JSON_COMPACT) : NULL;
	json_decref(root);
	if (json)
		http_answer_json(front, peer, 200, json, strlen(json));
	else
		http_answer_error(front, peer, CODE_FAILED, "", 0, "cannot hold the answer");
}

static void container_status(struct front *front, struct peer *peer, const char *body, size_t size)
{
	_cleanup_free_ char *question = http_question(peer, SEE, "container_status", NULL);

	http_pass(front, peer, false, question);
}

/* Whether the object has no field but this one (NULL: none at all); false: it has, and that was answered. */
static bool has_only(struct front *front, struct peer *peer, json_t *root, const char *field)
{
	const char *key;
	json_t *value;

	json_object_foreach(root, key, value)
	{
		if (field && strcmp(key, field) == 0)
			continue;
		http_refuse_field(front, peer, key, "there is no such field; leave it out");
		return false;
	}
	return true;
}

static void container_cleanup(struct front *front, struct peer *peer, const char *body, size_t size)
{
	_cleanup_free_ char *question = http_question(peer, SCOPE_ADMIN, "container_cleanup", NULL);
	json_t *root = size > 0 ? http_load_object(front, peer, body, size) : json_object();

	/* Nothing has to be said, and nothing else may be. */
	if (root && has_only(front, peer, root, NULL))
		http_pass(front, peer, false, question);
	json_decref(root);
}

/* Who stops it is written down, also who may stop anybody's. */
static char *stop_question(const struct peer *peer, const char *id)
{
	_cleanup_free_ char *plain = http_question(peer, SCOPE_ADMIN, "container_stop", id);
	json_t *root = plain ? json_loads(plain, 0, NULL) : NULL;
	char *text;

	json_object_set_new(root, "by", json_string(peer->caller.name));
	text = root ? json_dumps(root, JSON_COMPACT) : NULL;
	json_decref(root);
	return text;
}

static void container_stop(struct front *front, struct peer *peer, const char *body, size_t size)
{
	json_t *root = http_load_object(front, peer, body, size), *value = json_object_get(root, "id");
	const char *id = json_string_value(value);
	_cleanup_free_ char *question = NULL;

	if (root && (!id || strlen(id) != json_string_length(value))) {
		http_refuse_field(front, peer, "id", "expected the id of a container, as /containers/start gave it");
	} else if (root && has_only(front, peer, root, "id")) {
		question = stop_question(peer, id);
		http_pass(front, peer, false, question);
	}
	json_decref(root);
}

#define ANY (SCOPE_EXECUTE | SCOPE_READ | SCOPE_ADMIN)
#define RUN (SCOPE_EXECUTE | SCOPE_ADMIN)

const struct route http_routes[] = {
	{ HTTP_GET, "/", 0, 0, site_page },
	{ HTTP_GET, "/favicon.svg", 0, 0, site_icon },
	{ HTTP_GET, "/assets/**", 0, 0, site_asset },
	{ HTTP_GET, "/v1/health", 0, 0, health },
	{ HTTP_POST, "/v1/execute", RUN, FRAME_REQUEST_MAX, execute_handle },
	{ HTTP_POST, "/v1/check", RUN, JUDGED, judge_check },
	{ HTTP_POST, "/v1/detect", RUN, JUDGED, judge_detect },
	{ HTTP_GET, "/v1/languages", ANY, 0, languages },
	{ HTTP_GET, "/v1/doctor", ANY, 0, doctor },
	{ HTTP_GET, "/v1/status", ANY | SCOPE_METRICS, 0, status_now },
	{ HTTP_GET, "/metrics", SCOPE_METRICS | SCOPE_ADMIN, 0, metrics },
	{ HTTP_GET, "/openapi.yaml", ANY | SCOPE_METRICS, 0, openapi },
	{ HTTP_GET, "/v1/executions", ANY, 0, executions },
	{ HTTP_GET, "/v1/executions/*", ANY, 0, execution },
	{ HTTP_DELETE, "/v1/executions/*", RUN, 0, execute_cancel },
	{ HTTP_POST, "/v1/executions/*/input", RUN, MEDIUM, execute_input },
	{ HTTP_GET, "/v1/executions/*/report", ANY, 0, report },
	{ HTTP_GET, "/v1/executions/*/stdout", ANY, 0, spool_stdout },
	{ HTTP_GET, "/v1/executions/*/network", ANY, 0, network_route },
	{ HTTP_GET, "/v1/executions/*/decisions", ANY, 0, decisions_route },
	{ HTTP_GET, "/v1/executions/*/stderr", ANY, 0, spool_stderr },
	{ HTTP_GET, "/v1/executions/*/files/**", ANY, 0, file_of },
	{ HTTP_GET, "/v1/stats", ANY, 0, stats },
	{ HTTP_GET, "/v1/sessions", ANY, 0, session_route_list },
	{ HTTP_POST, "/v1/sessions", RUN, FRAME_REQUEST_MAX, session_route_create },
	{ HTTP_GET, "/v1/sessions/*", ANY, 0, session_route_get },
	{ HTTP_DELETE, "/v1/sessions/*", RUN, 0, session_route_delete },
	{ HTTP_PATCH, "/v1/sessions/*", RUN, MEDIUM, session_route_change },
	{ HTTP_POST, "/v1/sessions/*/execute", RUN, FRAME_REQUEST_MAX, session_route_execute },
	{ HTTP_POST, "/v1/sessions/*/input", RUN, MEDIUM, session_route_input },
	{ HTTP_POST, "/v1/sessions/*/interrupt", RUN, SMALL, session_route_interrupt },
	{ HTTP_POST, "/v1/sessions/*/restart", RUN, SMALL, session_route_restart },
	{ HTTP_POST, "/v1/sessions/*/complete", RUN, MEDIUM, session_route_complete },
	{ HTTP_POST, "/v1/sessions/*/inspect", RUN, MEDIUM, session_route_inspect },
	{ HTTP_GET, "/v1/sessions/*/terminal", RUN, 0, session_route_terminal },
	{ HTTP_GET, "/v1/sessions/*/files", ANY, 0, session_route_files },
	{ HTTP_GET, "/v1/sessions/*/files/**", ANY, 0, session_route_file_get },
	{ HTTP_PUT, "/v1/sessions/*/files/**", RUN, FRAME_REQUEST_MAX, session_route_file_put },
	{ HTTP_DELETE, "/v1/sessions/*/files/**", RUN, 0, session_route_file_delete },
	{ HTTP_POST, "/v1/sessions/*/files/**", RUN, SMALL, session_route_file_move },
	{ HTTP_GET, "/v1/sessions/*/cells", ANY, 0, session_route_cells },
	{ HTTP_GET, "/containers", ANY, 0, containers },
	{ HTTP_POST, "/containers/start", RUN, FRAME_REQUEST_MAX, execute_start },
	{ HTTP_POST, "/containers/exec", RUN, FRAME_REQUEST_MAX, execute_exec },
	{ HTTP_POST, "/containers/stop", RUN, SMALL, container_stop },
	{ HTTP_GET, "/containers/status", ANY, 0, container_status },
	{ HTTP_POST, "/containers/cleanup", RUN, SMALL, container_cleanup },
	{ HTTP_POST, "/mcp", ANY, FRAME_REQUEST_MAX, mcp_handle },
	{ HTTP_DELETE, "/mcp", ANY, 0, mcp_delete },
};

const size_t http_route_count = ARRAY_SIZE(http_routes);
