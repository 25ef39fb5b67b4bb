/* The front's questions that only the keeper can answer: it sees the host, and has the boxes. */
#include "serve/keeper_work.h"

#include "base/clock.h"
#include "base/own.h"
#include "pool/pool.h"
#include "service/doctor.h"
#include "service/languages.h"
#include "session/container.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <string.h>

#include "emberbox.h"

enum {
	DOCTOR_USEC = 5000000 /* what it said holds for so long */
};

static int tell_error(struct buf *out, int status, const char *code, const char *field, const char *message)
{
	json_t *error = json_pack("{s:s, s:s}", "code", code, "message", message);
	json_t *root = json_pack("{s:o?}", "error", error);
	_cleanup_free_ char *text = NULL;

	if (*field)
		json_object_set_new(error, "field", json_string(field));
	text = root ? json_dumps(root, JSON_COMPACT) : NULL;
	json_decref(root);
	buf_text(out, text ? text : "{}");
	return status;
}

static int tell_failure(struct buf *out, const struct error *err)
{
	if (err->errnum == ENOENT || err->errnum == ESRCH)
		return tell_error(out, 404, "not_found", "id", err->text);
	return tell_error(out, err->kind == ERROR_USAGE ? 400 : 500,
			  err->kind == ERROR_USAGE ? "bad_request" : "failed", "", err->text);
}

static int tell_text(struct buf *out, int done, char *text, const char *message)
{
	if (done < 0)
		return tell_error(out, 500, "failed", "", message);
	buf_text(out, text);
	free(text);
	return 200;
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

static const char *owner(const json_t *question)
{
	return json_string_value(json_object_get(question, "caller"));
}

static int pool(struct keeper_work *work, const json_t *question, struct buf *out)
{
	struct pool_stats stats;

	pool_stats(work->pool, &stats);
	buf_printf(out,
		   "{\"idle\":%zu,\"zygotes\":%zu,\"warm\":%llu,\"cold\":%llu,\"forked\":%llu,\"failed\":%llu,"
		   "\"containers\":%zu}",
		   stats.idle, stats.zygotes, (unsigned long long)stats.warm, (unsigned long long)stats.cold,
		   (unsigned long long)stats.forked, (unsigned long long)stats.failed,
		   containers_running(work->containers));
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
	size_t count = owner(question) ? containers_end(work->containers, owner(question), "its token was removed") : 0;

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

int keeper_ask(struct keeper_work *work, const char *json, size_t size, struct buf *out)
{
	static const struct {
		const char *what;                                                               /* the question */
		int (*tell)(struct keeper_work *work, const json_t *question, struct buf *out); /* its status */
	} answers[] = {
		{ "languages", languages },
		{ "doctor", doctor },
		{ "pool", pool },
		{ "container_status", container_status },
		{ "container_stop", container_stop },
		{ "container_end", container_end },
		{ "container_cleanup", container_cleanup },
	};
	json_t *question = json_loadb(json, size, 0, NULL);
	const char *what = json_string_value(json_object_get(question, "what"));
	int status = 0;

	for (size_t i = 0; what && i < ARRAY_SIZE(answers); i++)
		if (strcmp(what, answers[i].what) == 0)
			status = answers[i].tell(work, question, out);
	json_decref(question);
	return status ? status : tell_error(out, 500, "failed", "", "the keeper does not know this question");
}
