/* A look at what a client sends, and nothing run: /v1/check and /v1/detect. */
#include "daemon/front/front_http.h"

#include "base/own.h"
#include "policy/detect.h"
#include "policy/reader_wire.h"

#include <jansson.h>
#include <string.h>

/* The member as a text; NULL: it is none, and that was answered. */
static const char *text_member(struct front *front, struct peer *peer, const json_t *root, const char *name,
			       const char *what)
{
	const char *text = json_string_value(json_object_get(root, name));

	if (!text)
		http_refuse_field(front, peer, name, what);
	return text;
}

/* The keeper starts readers; the front may not start anything. */
static void pass_check(struct front *front, struct peer *peer, const char *language, json_t *code)
{
	const struct policy_lists lists = registry_lists(&front->config.registry, language);
	json_t *question = json_pack("{s:s, s:s, s:s, s:O, s:s, s:s}", "what", "check", "caller", peer->caller.name,
				     "language", language, "code", code, "block", lists.block ? lists.block : "",
				     "allow", lists.allow ? lists.allow : "");
	_cleanup_free_ char *text = question ? json_dumps(question, JSON_COMPACT) : NULL;

	json_decref(question);
	http_pass(front, peer, false, text);
}

void judge_check(struct front *front, struct peer *peer, const char *body, size_t size)
{
	static const char *const known[] = { "language", "code", NULL };
	json_t *root = http_load_object(front, peer, body, size);
	const char *language, *code;

	if (root && http_has_only(front, peer, root, known) &&
	    (language = text_member(front, peer, root, "language", "expected a language such as python")) &&
	    (code = text_member(front, peer, root, "code", "expected the program's text"))) {
		if (strlen(language) != json_string_length(json_object_get(root, "language")))
			http_refuse_field(front, peer, "language", "it has a NUL byte in it");
		else if (json_string_length(json_object_get(root, "code")) > WIRE_SOURCE_MAX)
			http_refuse_field(front, peer, "code", "expected at most 4 MiB");
		else
			pass_check(front, peer, language, json_object_get(root, "code"));
	}
	json_decref(root);
}

void judge_detect(struct front *front, struct peer *peer, const char *body, size_t size)
{
	static const char *const known[] = { "message", NULL };
	json_t *root = http_load_object(front, peer, body, size);
	_cleanup_arena_ struct arena arena = { 0 };
	_cleanup_buf_ struct buf answer = { 0 };
	struct detected found;
	struct error err = { 0 };
	const char *message;

	if (root && http_has_only(front, peer, root, known) &&
	    (message = text_member(front, peer, root, "message", "expected the message's text"))) {
		if (detect_message(message, json_string_length(json_object_get(root, "message")),
				   &front->config.registry, &arena, &found, &err) < 0) {
			if (err.kind == ERROR_USAGE)
				http_refuse_field(front, peer, "message", "expected at most 1 MiB");
			else
				http_answer_error(front, peer, CODE_FAILED, "", 0, err.text);
		} else {
			detect_json(&found, &answer);
			if (answer.failed)
				http_answer_error(front, peer, CODE_FAILED, "", 0, "cannot hold the answer");
			else
				http_answer_json(front, peer, 200, answer.data, answer.size);
		}
	}
	json_decref(root);
}
