/*
 * Input that comes after the request: of a program that runs, and of a session's cell.
 *
 * It goes where the connection of the run itself would send it, if that were one of frames, and no further than the
 * program reads: what waits is bounded.
 */
#include "daemon/front/front_http.h"

#include "base/own.h"

#include <string.h>

enum {
	INPUT_MAX = 1 << 20 /* bytes that wait for a program */
};

/* The client of a run that takes input; NULL: there is none. Nobody's but who asks, also for a token of scope admin:
 * it may end the runs of others, and not speak for them. */
static struct peer *find_run(struct front *front, const struct peer *asks, bool cell)
{
	for (size_t i = 0; i < front->options.max_running; i++) {
		const struct front_run *run = &front->runs[i];

		if (run->number && run->peer && run->peer->manner.input && (run->about.kind == RUN_CELL) == cell &&
		    strcmp(cell ? run->about.container : run->about.id, asks->exchange->part) == 0 &&
		    strcmp(run->about.caller, asks->caller.name) == 0)
			return run->peer;
	}
	return NULL;
}

static void input(struct front *front, struct peer *peer, struct peer *reader, const char *none, const char *body,
		  size_t size)
{
	static const char *const known[] = { "data", "eof", NULL };
	json_t *root = http_load_object(front, peer, body, size);
	const json_t *data = json_object_get(root, "data"), *end = json_object_get(root, "eof");
	const bool eof = json_is_true(end);

	if (!root)
		return;
	if (!http_has_only(front, peer, root, known)) {
		/* It was answered. */
	} else if (end && !json_is_boolean(end)) {
		http_refuse_field(front, peer, "eof", "expected true or false");
	} else if (data ? !json_is_string(data) : !eof) {
		http_refuse_field(front, peer, "data", "expected a string, or eof: true");
	} else if (!reader || reader->input_ended) {
		http_answer_error(front, peer, CODE_NOT_FOUND, "id", 0, none);
	} else if (reader->input.size + json_string_length(data) > INPUT_MAX) {
		http_answer_error(front, peer, CODE_BUSY, "data", 1, "the program has not read what was sent before");
	} else {
		buf_add(&reader->input, json_string_value(data), json_string_length(data));
		reader->link.broken |= reader->input.failed;
		reader->input_ended = eof;
		run_feed(front, reader->run);
		http_answer_json(front, peer, 200, "{}", 2);
	}
	json_decref(root);
}

void execute_input(struct front *front, struct peer *peer, const char *body, size_t size)
{
	input(front, peer, find_run(front, peer, false),
	      "no execution of that id and of yours runs whose input is \"stream\" and open", body, size);
}

void session_route_input(struct front *front, struct peer *peer, const char *body, size_t size)
{
	input(front, peer, find_run(front, peer, true),
	      "no cell runs in that session whose input is \"stream\" and open", body, size);
}
