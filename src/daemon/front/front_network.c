/* What an execution did with the network: the whole report of one that is over, and decisions as they are made. */
#include "daemon/front/front_http.h"

#include "base/own.h"

#include <jansson.h>
#include <string.h>

enum {
	SEE = SCOPE_READ | SCOPE_ADMIN /* everybody's */
};

void network_route(struct front *front, struct peer *peer, const char *body, size_t size)
{
	_cleanup_free_ char *question = http_question(peer, SEE, "network", peer->exchange->part);

	http_pass(front, peer, true, question);
}

/* Of a run that is over: a line for each connection of its report. */
static void told_decisions(struct front *front, struct peer *peer, int status, const char *body, size_t size, int file)
{
	json_t *root = status == 200 ? json_loadb(body, size, 0, NULL) : NULL, *connection;
	_cleanup_buf_ struct buf lines = { 0 };
	size_t i;

	close_fd(&file);
	if (status != 200 || !root) {
		http_answer_json(front, peer, status == 200 ? 500 : status, body, size);
		json_decref(root);
		return;
	}
	buf_text(&lines, "");
	json_array_foreach(json_object_get(root, "connections"), i, connection)
	{
		static const char *const later[] = { "sent", "received", "duration", "open" };
		_cleanup_free_ char *text = NULL;

		for (size_t k = 0; k < ARRAY_SIZE(later); k++)
			json_object_del(connection, later[k]);
		json_object_set_new(connection, "schema_version", json_integer(1));
		text = json_dumps(connection, JSON_COMPACT);
		if (text && peer->exchange->events)
			http_event(&lines, "decision", text, strlen(text));
		else if (text)
			buf_printf(&lines, "%s\n", text);
	}
	json_decref(root);
	if (lines.failed)
		http_answer_error(front, peer, CODE_FAILED, "", 0, "cannot hold the answer");
	else
		http_answer(front, peer, 200, peer->exchange->events ? "text/event-stream" : "application/x-ndjson",
			    lines.data ? lines.data : "", lines.size, "");
}

static bool is_running(const struct front *front, const char *id)
{
	for (size_t i = 0; i < front->options.max_running; i++)
		if (front->runs[i].number && strcmp(front->runs[i].about.id, id) == 0)
			return true;
	return false;
}

void decisions_route(struct front *front, struct peer *peer, const char *body, size_t size)
{
	const bool running = is_running(front, peer->exchange->part);
	_cleanup_free_ char *question =
		http_question(peer, SEE, running ? "run_decisions" : "network", peer->exchange->part);

	if (running) {
		peer->exchange->lines = !peer->exchange->events;
		watch_begin(front, peer, question);
		return;
	}
	peer->exchange->phase = PHASE_ANSWER;
	if (!question || ask(front, peer, true, question, told_decisions) < 0)
		http_answer_error(front, peer, CODE_FAILED, "", 1, "the store cannot be asked now");
}
