/*
 * The paths of HTTP below /v1/sessions/ID/files.
 *
 * The keeper does it all, and gives a descriptor of a file that is to be read;
 * contents go to it in a memfd. Nothing of a session is named by a path of the
 * host's, and nothing is opened here.
 */
#include "daemon/front/front_http.h"

#include "base/fd.h"
#include "base/own.h"
#include "schema/file_path.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* A path as the keeper has it, below /sandbox; one that leads elsewhere as it stands, for the keeper to refuse. */
static json_t *path_text(const char *given)
{
	char path[HTTP_PATH_MAX + sizeof("code/")];

	return json_string(file_path_below(given, path, sizeof(path)) ? path : given);
}

/* The question about one file, or with `path` NULL the one in the request's path; the caller frees. */
static char *question_of(const struct front *front, const struct peer *peer, const char *what, const char *path,
			 const char *key, json_t *value)
{
	_cleanup_free_ char *plain = http_question(peer, SCOPE_ADMIN, what, peer->exchange->part);
	_cleanup_free_ char *in_force = policy_in_force(front);
	json_t *root = plain ? json_loads(plain, 0, NULL) : NULL;
	char *text;

	/* Paths are valid UTF-8: no other is taken from a request. */
	json_object_set_new(root, "path", path_text(path ? path : peer->exchange->rest));
	json_object_set_new(root, "in_force", json_string(in_force));
	if (key)
		json_object_set_new(root, key, value);
	text = root ? json_dumps(root, JSON_COMPACT) : NULL;
	json_decref(root);
	return text;
}

static void put_question(struct front *front, struct peer *peer, const char *question, int given, ask_told *told)
{
	peer->exchange->phase = PHASE_ANSWER;
	if (!question || ask_with(front, peer, false, question, given, told) < 0)
		http_answer_error(front, peer, CODE_FAILED, "", 1, "the keeper cannot be asked now");
}

static void told_file(struct front *front, struct peer *peer, int status, const char *body, size_t size, int file)
{
	if (status == 200 && file >= 0) {
		http_answer_range(front, peer, file);
		return;
	}
	close_fd(&file);
	http_answer_json(front, peer, status == 200 ? 500 : status, body, size);
}

static void told_words(struct front *front, struct peer *peer, int status, const char *body, size_t size, int file)
{
	close_fd(&file);
	http_answer_json(front, peer, status, body, size);
}

void session_route_file_get(struct front *front, struct peer *peer, const char *body, size_t size)
{
	_cleanup_free_ char *question = question_of(front, peer, "file_open", NULL, NULL, NULL);

	put_question(front, peer, question, -1, told_file);
}

void session_route_file_delete(struct front *front, struct peer *peer, const char *body, size_t size)
{
	_cleanup_free_ char *question = question_of(front, peer, "file_remove", NULL, NULL, NULL);

	http_pass(front, peer, false, question);
}

void session_route_file_move(struct front *front, struct peer *peer, const char *body, size_t size)
{
	static const char *const known[] = { "move", NULL };
	json_t *root = http_load_object(front, peer, body, size), *to = json_object_get(root, "move");
	_cleanup_free_ char *question = NULL;

	if (!root || !http_has_only(front, peer, root, known)) {
		/* It was answered. */
	} else if (!json_is_string(to) || strlen(json_string_value(to)) != json_string_length(to)) {
		http_refuse_field(front, peer, "move", "expected {\"move\": PATH}, the path that it is to have");
	} else {
		question = question_of(front, peer, "file_move", NULL, "move", path_text(json_string_value(to)));
		http_pass(front, peer, false, question);
	}
	json_decref(root);
}

/* Of ?offset=N; -1: there is none; -2: it was answered. */
static int64_t offset_of(struct front *front, struct peer *peer)
{
	const struct http_text query = { peer->exchange->query, peer->exchange->query_size };
	char value[32], *end = value;
	size_t at = 0;
	char name[32];
	long long offset = -1;
	int got = 0;

	while (http_query_next(query, &at, name, sizeof(name)))
		if (strcmp(name, "offset") != 0) {
			http_refuse_field(front, peer, name, "there is no such parameter; leave it out");
			return -2;
		}
	got = http_query_get(query, "offset", value, sizeof(value));
	if (got == 0)
		return -1;
	if (got > 0 && *value >= '0' && *value <= '9' && strlen(value) < 18)
		offset = strtoll(value, &end, 10);
	if (offset >= 0 && *end == '\0')
		return offset;
	http_refuse_field(front, peer, "offset", "expected a number of bytes");
	return -2;
}

void session_route_file_put(struct front *front, struct peer *peer, const char *body, size_t size)
{
	int64_t offset = offset_of(front, peer);
	_cleanup_close_ int content = -1;
	_cleanup_free_ char *question = NULL;

	if (offset == -2)
		return;
	content = memfd_create("content", MFD_CLOEXEC);
	if (content < 0 || fd_write(content, body, size) < 0) {
		http_answer_error(front, peer, CODE_FAILED, "", 1, "there is no memory for the content now");
		return;
	}
	question = offset < 0 ? question_of(front, peer, "file_write", NULL, NULL, NULL)
			      : question_of(front, peer, "file_write", NULL, "offset", json_integer(offset));
	put_question(front, peer, question, content, told_words);
}

/* A parameter that is 1 or 0, which it is if it is not there; -1: it was answered. */
static int flag_of(struct front *front, struct peer *peer, const char *name)
{
	const struct http_text query = { peer->exchange->query, peer->exchange->query_size };
	char value[8] = "0";
	int got = http_query_get(query, name, value, sizeof(value));

	if (got >= 0 && (strcmp(value, "0") == 0 || strcmp(value, "1") == 0))
		return value[0] == '1';
	http_refuse_field(front, peer, name, "expected 1 or 0");
	return -1;
}

void session_route_files(struct front *front, struct peer *peer, const char *body, size_t size)
{
	const struct http_text query = { peer->exchange->query, peer->exchange->query_size };
	char path[HTTP_PATH_MAX] = "", name[32];
	_cleanup_free_ char *question = NULL;
	size_t at = 0;
	int watch, recursive;

	while (http_query_next(query, &at, name, sizeof(name)))
		if (strcmp(name, "path") != 0 && strcmp(name, "watch") != 0 && strcmp(name, "recursive") != 0) {
			http_refuse_field(front, peer, name, "there is no such parameter; leave it out");
			return;
		}
	if (http_query_get(query, "path", path, sizeof(path)) < 0) {
		http_refuse_field(front, peer, "path", "it is given twice, too long, or no valid UTF-8");
		return;
	}
	watch = flag_of(front, peer, "watch");
	recursive = watch < 0 ? -1 : flag_of(front, peer, "recursive");
	if (recursive < 0)
		return;
	if (watch) {
		question = question_of(front, peer, "file_watch", path, "recursive", json_boolean(recursive));
		watch_begin(front, peer, question);
		return;
	}
	if (recursive) {
		http_refuse_field(front, peer, "recursive", "it is for watch=1; leave it out");
		return;
	}
	question = question_of(front, peer, "file_list", path, NULL, NULL);
	http_pass(front, peer, false, question);
}
