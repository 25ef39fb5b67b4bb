/* The front's questions that only the keeper can answer: it sees the host, and has the boxes. */
#include "daemon/keeper/keeper_work.h"

#include "base/clock.h"
#include "base/own.h"
#include "policy/policy.h"
#include "api/doctor.h"
#include "api/languages.h"
#include "live/container.h"
#include "live/session.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <string.h>

#include "emberbox.h"

enum {
	DOCTOR_USEC = 5000000 /* what it said holds for so long */
};

int keeper_tell_refusal(struct buf *out, const struct error *err)
{
	struct message_refusal refusal;

	refusal_pack(err, &refusal);
	buf_add(out, &refusal, sizeof(refusal));
	return error_code_status(err->code);
}

/* Of questions that name an id and no more: what is wrong is the id, or nothing that was sent. */
static int tell_failure(struct buf *out, struct error *err)
{
	if (err->code != CODE_NOT_FOUND)
		error_about(err, "");
	return keeper_tell_refusal(out, err);
}

const char *keeper_caller(const json_t *question)
{
	const char *caller = json_string_value(json_object_get(question, "caller"));

	/* Never NULL for want of a caller: that would be everybody. */
	return !caller ? "" : strcmp(caller, MESSAGE_EVERYBODY) == 0 ? NULL : caller;
}

static int tell_text(struct buf *out, int done, char *text, const char *message)
{
	struct error err;

	if (done < 0) {
		error_set(&err, ERROR_FAILED, 0, "%s", message);
		return keeper_tell_refusal(out, &err);
	}
	buf_text(out, text);
	free(text);
	return 200;
}

/* What the program looks like, by a reader. */
static int check(struct keeper_work *work, const json_t *question, struct buf *out)
{
	const json_t *code = json_object_get(question, "code");
	const char *language = json_string_value(json_object_get(question, "language"));
	const struct policy_lists lists = { json_string_value(json_object_get(question, "block")),
					    json_string_value(json_object_get(question, "allow")) };
	struct error err = { 0 };
	char *text = NULL;

	if (!language || !json_is_string(code)) {
		error_field(&err, "code", "expected the program's text");
		return keeper_tell_refusal(out, &err);
	}
	if (policy_check_json(language, json_string_value(code), json_string_length(code), &lists, &text, &err) == 0)
		return tell_text(out, 0, text, "");
	return err.kind == ERROR_LANGUAGE ? keeper_tell_refusal(out, &err) : tell_failure(out, &err);
}

static int languages(struct keeper_work *work, const json_t *question, struct buf *out)
{
	eb_error err = { 0 };
	char *text = NULL;
	int done = eb_languages(1, &text, &err);

	return tell_text(out, done, text, err.message);
}

/* It makes namespaces and processes to see whether that can be done: one at a time, and who asks within some seconds
 * hears the same. */
static int doctor(struct keeper_work *work, const json_t *question, struct buf *out)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static char *last;
	static uint64_t last_usec;
	eb_error err = { 0 };
	char *text = NULL;
	int healthy, done = 0;

	pthread_mutex_lock(&lock);
	if (!last || clock_usec() - last_usec > DOCTOR_USEC) {
		done = eb_doctor(1, &healthy, &text, &err);
		if (done == 0) {
			free(last);
			last = text;
			last_usec = clock_usec();
		}
	}
	text = done == 0 ? strdup(last) : NULL;
	pthread_mutex_unlock(&lock);
	return tell_text(out, text ? 0 : -1, text, done < 0 ? err.message : "cannot hold the answer");
}

/* Whose they are; NULL: everybody's, which keeper_ask() has seen to be said. */
static const char *owner(const json_t *question)
{
	return keeper_caller(question);
}

static int pool(struct keeper_work *work, const json_t *question, struct buf *out)
{
	struct engine_stats stats;

	engines_stats(&work->engines, &stats);
	buf_printf(out,
		   "{\"idle\":%zu,\"zygotes\":%zu,\"warm\":%llu,\"cold\":%llu,\"forked\":%llu,\"failed\":%llu,"
		   "\"containers\":%zu,\"sessions\":%zu}",
		   stats.idle, stats.zygotes, (unsigned long long)stats.warm, (unsigned long long)stats.cold,
		   (unsigned long long)stats.forked, (unsigned long long)stats.failed,
		   containers_running(work->containers), sessions_running(work->sessions));
	return 200;
}

static int container_status(struct keeper_work *work, const json_t *question, struct buf *out)
{
	struct error err = { 0 };
	char *text = NULL;
	int done = containers_status(work->containers, owner(question), &text, &err);

	return tell_text(out, done, text, err.text);
}

static int container_stop(struct keeper_work *work, const json_t *question, struct buf *out)
{
	const char *id = json_string_value(json_object_get(question, "id"));
	const char *by = json_string_value(json_object_get(question, "by"));
	struct error err = { 0 };

	if (containers_stop(work->containers, id ? id : "", owner(question), by, &err) < 0)
		return tell_failure(out, &err);
	buf_printf(out, "{\"id\":\"%s\",\"status\":\"stopped\"}", id);
	return 200;
}

/* All of a caller that may not ask any more. */
static int container_end(struct keeper_work *work, const json_t *question, struct buf *out)
{
	const char *gone = "its token was removed";
	size_t count = 0;

	if (owner(question))
		count = containers_end(work->containers, owner(question), gone) +
			sessions_end(work->sessions, owner(question), gone);

	buf_printf(out, "{\"ended\":%zu}", count);
	return 200;
}

static int container_cleanup(struct keeper_work *work, const json_t *question, struct buf *out)
{
	struct error err = { 0 };
	size_t removed = 0;

	if (containers_cleanup(work->containers, owner(question), &removed, &err) < 0)
		return tell_failure(out, &err);
	buf_printf(out, "{\"removed\":%zu}", removed);
	return 200;
}

static const char *text_of(const json_t *question, const char *key)
{
	const char *text = json_string_value(json_object_get(question, key));

	return text ? text : "";
}

static int tell_session(struct buf *out, int done, char *json, struct error *err)
{
	return done == 0 ? tell_text(out, 0, json, "") : tell_failure(out, err);
}

static int session_status(struct keeper_work *work, const json_t *question, struct buf *out)
{
	const char *id = json_string_value(json_object_get(question, "id"));
	struct error err = { 0 };
	char *json = NULL;

	int done = sessions_status(work->sessions, id, owner(question), &json, &err);

	return tell_session(out, done, json, &err);
}

static int session_stop(struct keeper_work *work, const json_t *question, struct buf *out)
{
	const char *id = text_of(question, "id");
	struct error err = { 0 };

	if (sessions_stop(work->sessions, id, owner(question), text_of(question, "by"), &err) < 0)
		return tell_failure(out, &err);
	buf_printf(out, "{\"id\":\"%s\",\"status\":\"ended\"}", id);
	return 200;
}

static int session_interrupt(struct keeper_work *work, const json_t *question, struct buf *out)
{
	const char *id = text_of(question, "id");
	struct error err = { 0 };
	bool interrupted = false;

	if (sessions_interrupt(work->sessions, id, owner(question), &interrupted, &err) < 0)
		return tell_failure(out, &err);
	buf_printf(out, "{\"id\":\"%s\",\"interrupted\":%s}", id, interrupted ? "true" : "false");
	return 200;
}

static int session_restart(struct keeper_work *work, const json_t *question, struct buf *out)
{
	const char *id = text_of(question, "id");
	struct error err = { 0 };

	if (sessions_restart(work->sessions, id, owner(question), text_of(question, "by"), &err) < 0)
		return tell_failure(out, &err);
	return session_status(work, question, out);
}

static int session_ask(struct keeper_work *work, const json_t *question, struct buf *out)
{
	const json_t *code = json_object_get(question, "code");
	const json_int_t cursor = json_integer_value(json_object_get(question, "cursor"));
	struct error err = { 0 };
	char *json = NULL;
	int done =
		sessions_ask(work->sessions, text_of(question, "id"), owner(question),
			     strcmp(text_of(question, "what"), "session_inspect") == 0, json_string_value(code) ?: "",
			     json_string_length(code), cursor > 0 ? (size_t)cursor : 0, &json, &err);

	return tell_session(out, done, json, &err);
}

static int session_cells(struct keeper_work *work, const json_t *question, struct buf *out)
{
	struct error err = { 0 };
	char *json = NULL;
	int done = sessions_cells(work->sessions, text_of(question, "id"), owner(question), &json, &err);

	return tell_session(out, done, json, &err);
}

/* The keys of a spec as members; the front has checked them. */
static int session_network(struct keeper_work *work, const json_t *question, struct buf *out)
{
	static const char *const keys[] = { "net", "net-rate", "net-total", "net-connections", "net-host" };
	struct error err = { 0 };
	struct spec spec;
	int done = 0;

	spec_init(&spec);
	for (size_t i = 0; i < ARRAY_SIZE(keys) && done == 0; i++) {
		const char *value = json_string_value(json_object_get(question, keys[i]));

		if (value)
			done = spec_set(&spec, keys[i], value, &err);
	}
	if (done == 0)
		done = sessions_network(work->sessions, text_of(question, "id"), owner(question), &spec.network, &err);
	spec_free(&spec);
	if (done == 0)
		return session_status(work, question, out);
	if (err.field[0] && err.code != CODE_NOT_FOUND)
		error_about(&err, "network");
	return keeper_tell_refusal(out, &err);
}

int keeper_ask(struct keeper_work *work, const char *json, size_t size, int given, struct buf *out, int *file)
{
	static const struct {
		const char *what;                                                               /* the question */
		int (*tell)(struct keeper_work *work, const json_t *question, struct buf *out); /* its status */
	} answers[] = {
		{ "check", check },
		{ "languages", languages },
		{ "doctor", doctor },
		{ "pool", pool },
		{ "container_status", container_status },
		{ "container_stop", container_stop },
		{ "container_end", container_end },
		{ "container_cleanup", container_cleanup },
		{ "session_status", session_status },
		{ "session_stop", session_stop },
		{ "session_interrupt", session_interrupt },
		{ "session_restart", session_restart },
		{ "session_complete", session_ask },
		{ "session_inspect", session_ask },
		{ "session_cells", session_cells },
		{ "session_network", session_network },
	};
	json_t *question = json_loadb(json, size, JSON_ALLOW_NUL, NULL);
	const char *what = json_string_value(json_object_get(question, "what"));
	const char *caller = json_string_value(json_object_get(question, "caller"));
	struct error err;
	int status = 0;

	*file = -1;
	/* One that was left out must not be everybody. */
	if (what && (!caller || !*caller)) {
		error_field(&err, "caller", "the question does not say whose");
		status = keeper_tell_refusal(out, &err);
	}
	for (size_t i = 0; what && !status && i < ARRAY_SIZE(answers); i++)
		if (strcmp(what, answers[i].what) == 0)
			status = answers[i].tell(work, question, out);
	if (what && !status)
		status = keeper_ask_live(work, question, given, out, file);
	json_decref(question);
	if (status)
		return status;
	error_set(&err, ERROR_FAILED, 0, "the keeper does not know this question");
	return keeper_tell_refusal(out, &err);
}
