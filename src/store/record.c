/* Creates records of runs and appends them to the journal (record.h). */
#include "store/record.h"

#include "base/own.h"
#include "schema/spec.h"
#include "result/result_network.h"
#include "store/fields.h"
#include "store/journal.h"
#include "store/kept.h"
#include "store/spool.h"
#include "store/summary.h"

#include <errno.h>
#include <sha2.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum {
	AUDIT_CONNECTIONS = 100 /* of a run, in the audit log */
};

static uint64_t time_msec(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000 + (uint64_t)time->tv_usec / 1000;
}

static uint64_t now_msec(void)
{
	struct timeval now;

	gettimeofday(&now, NULL);
	return time_msec(&now);
}

enum record_code record_code_of(const char *word)
{
	if (word && strcmp(word, "always") == 0)
		return RECORD_CODE_ALWAYS;
	return word && strcmp(word, "never") == 0 ? RECORD_CODE_NEVER : RECORD_CODE_ON_ERROR;
}

static struct iovec fields_part(const void *data, size_t size)
{
	return (struct iovec){ .iov_base = (void *)data, .iov_len = size };
}

static int event_append(struct journal *journal, enum record_kind kind, const struct buf *fields, struct iovec text,
			struct iovec code, struct error *err)
{
	const struct iovec parts[JOURNAL_PARTS] = { fields_part(fields->data, fields->size), text, code };

	if (fields->failed)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot create a record for the journal");
	return journal_append(journal, kind, parts, err);
}

static void add_caller(struct buf *fields, const struct record_caller *caller)
{
	if (!caller)
		return;
	field_add_text(fields, FIELD_DOOR, caller->door);
	field_add_text(fields, FIELD_CALLER, caller->name);
	field_add_text(fields, FIELD_REQUEST_ID, caller->request_id);
	field_add_text(fields, FIELD_PROFILE, caller->profile);
	field_add_text(fields, FIELD_PLACE, caller->place);
}

static void add_code(struct buf *fields, struct journal *journal, const char *id, const struct spec *spec, bool begins)
{
	unsigned char digest[SHA256_DIGEST_LENGTH];
	char text[2 * SHA256_DIGEST_LENGTH + 1];

	if (!spec || !spec->code)
		return;
	if (begins || !journal_noted(journal, id, digest)) {
		SHA2_CTX context;

		SHA256Init(&context);
		SHA256Update(&context, spec->code, spec->code_size);
		SHA256Final(digest, &context);
	}
	if (begins)
		journal_note(journal, id, digest);
	for (size_t i = 0; i < sizeof(digest); i++) {
		text[2 * i] = "0123456789abcdef"[digest[i] >> 4];
		text[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
	}
	text[sizeof(text) - 1] = '\0';
	if (spec->filename)
		field_add_text(fields, FIELD_FILE, spec->filename);
	field_add_number(fields, FIELD_CODE_SIZE, spec->code_size);
	field_add_text(fields, FIELD_CODE_DIGEST, text);
}

int record_start(struct journal *journal, const char *id, const struct spec *spec, const struct record_caller *caller,
		 struct error *err)
{
	_cleanup_buf_ struct buf fields = { 0 };

	field_add_text(&fields, FIELD_ID, id);
	field_add_number(&fields, FIELD_TIME, now_msec());
	field_add_text(&fields, FIELD_LANGUAGE, spec && spec->runtime ? spec->runtime->name : "");
	field_add_number(&fields, FIELD_WRITER, journal_writer(journal));
	field_add_number(&fields, FIELD_PID, (uint64_t)getpid());
	add_caller(&fields, caller);
	add_code(&fields, journal, id, spec, true);
	return event_append(journal, RECORD_START, &fields, fields_part(NULL, 0), fields_part(NULL, 0), err);
}

static uint64_t usec_since(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

static void add_outcome(struct buf *fields, const char *language, const struct result *result)
{
	const struct verdict *v = &result->verdict;
	uint64_t started = v->started_usec ? v->started_usec : result->finish_usec;

	field_add_text(fields, FIELD_STATUS, status_name(v->status));
	field_add_number(fields, FIELD_EXIT_CODE, (uint64_t)result_exit_code(result));
	field_add_number(fields, FIELD_EXECUTION, v->started_usec ? usec_since(v->started_usec, v->ended_usec) : 0);
	field_add_number(fields, FIELD_CPU, v->cpu_usec);
	field_add_number(fields, FIELD_MEMORY, v->memory_peak);
	field_add_number(fields, FIELD_QUEUE, result->waited_usec);
	field_add_number(fields, FIELD_START, usec_since(result->begin_usec, started));
	field_add_number(fields, FIELD_TOTAL,
			 result->waited_usec + usec_since(result->begin_usec, result->finish_usec));
	field_add_number(fields, FIELD_WARM, result->warm);
	field_add_text(fields, FIELD_LIMIT, v->limit);
	field_add_text(fields, FIELD_MESSAGE, result->message);
	if (result->explanation) {
		field_add_text(fields, FIELD_ERROR_TYPE, result->explanation->type);
	}
	/* A run that a limit ended has the limit as its signature, whatever it printed. */
	if (v->status == STATUS_TIMEOUT || v->status == STATUS_OUT_OF_MEMORY || v->status == STATUS_OUTPUT_LIMIT) {
		char signature[96];

		snprintf(signature, sizeof(signature), "%.64s %s", language, status_name(v->status));
		field_add_text(fields, FIELD_SIGNATURE, signature);
	} else if (result->explanation) {
		field_add_text(fields, FIELD_SIGNATURE, result->explanation->signature);
	}
	field_add_number(fields, FIELD_STDOUT, result->outputs[0].bytes);
	field_add_number(fields, FIELD_STDERR, result->outputs[1].bytes);
}

void record_keep(void *data, const char *id, int output, struct file_list *list)
{
	kept_copy(journal_dir(data), id, output, list);
}

/* What the run reached, and what it was refused, for the audit log. */
static int record_network(struct journal *journal, const struct record_caller *caller, const struct result *result,
			  struct error *err)
{
	const struct net_report *report = &result->network;
	_cleanup_free_ char *text = NULL;
	json_t *list = json_array(), *root;

	for (size_t i = 0; i < report->count && i < AUDIT_CONNECTIONS; i++) {
		const struct net_connection *c = &report->connections[i];

		json_array_append_new(list, json_pack("{s:s, s:i, s:s, s:s, s:s, s:s}", "host", c->host, "port",
						      (int)c->port, "address", c->address, "verdict",
						      c->allowed ? "allowed" : "refused", "reason",
						      net_reason_name((enum net_reason)c->reason), "rule", c->rule));
	}
	root = json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:o}", "id", result->id, "caller", caller->name, "mode",
			 result->network_mode ? result->network_mode : "none", "allowed", (json_int_t)report->allowed,
			 "refused", (json_int_t)report->refused, "sent", (json_int_t)report->sent, "received",
			 (json_int_t)report->received, "connections", list);
	text = root ? json_dumps(root, JSON_COMPACT) : NULL;
	json_decref(root);
	return text ? record_event(journal, "network", text, err)
		    : error_set(err, ERROR_FAILED, ENOMEM, "cannot record the network");
}

int record_end(struct journal *journal, const struct spec *spec, const struct record_caller *caller,
	       struct result *result, enum record_code policy, struct error *err)
{
	bool keep =
		policy == RECORD_CODE_ALWAYS || (policy == RECORD_CODE_ON_ERROR && result->verdict.status != STATUS_OK);
	const struct runtime *runtime = result->runtime ? result->runtime : spec ? spec->runtime : NULL;
	struct iovec code =
		fields_part(keep && spec ? spec->code : NULL, keep && spec && spec->code ? spec->code_size : 0);
	const char *json = result_json(result);
	_cleanup_buf_ struct buf fields = { 0 };

	if (!json)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot create the result");
	field_add_text(&fields, FIELD_ID, result->id);
	field_add_number(&fields, FIELD_TIME, time_msec(&result->time));
	field_add_number(&fields, FIELD_ENDED, now_msec());
	field_add_text(&fields, FIELD_LANGUAGE, runtime ? runtime->name : "");
	add_caller(&fields, caller);
	add_code(&fields, journal, result->id, spec, false);
	add_outcome(&fields, runtime ? runtime->name : "", result);
	/* The spools are written before the record that mentions them. */
	field_add_number(&fields, FIELD_SPOOLS,
			 spool_keep(journal_dir(journal), result) | spool_keep_network(journal_dir(journal), result) |
				 (kept_any(&result->files) ? (unsigned)SPOOL_FILES : 0));
	if (keep) {
		_cleanup_free_ char *summary = spec ? summary_json(spec) : NULL;

		field_add_number(&fields, FIELD_KEEP, 1);
		field_add_text(&fields, FIELD_SUMMARY, summary);
	}
	if (result->network.count > 0 && record_network(journal, caller, result, err) < 0)
		return -1;
	return event_append(journal, RECORD_END, &fields, fields_part(json, strlen(json)), code, err);
}

int record_refused(struct journal *journal, const char *id, const struct error *why, struct error *err)
{
	_cleanup_buf_ struct buf fields = { 0 };

	field_add_text(&fields, FIELD_ID, id);
	field_add_number(&fields, FIELD_ENDED, now_msec());
	field_add_text(&fields, FIELD_STATUS, status_name(STATUS_ERROR));
	field_add_number(&fields, FIELD_EXIT_CODE, why->kind);
	field_add_text(&fields, FIELD_MESSAGE, why->text);
	return event_append(journal, RECORD_REFUSED, &fields, fields_part(NULL, 0), fields_part(NULL, 0), err);
}

int record_event(struct journal *journal, const char *event, const char *fields_json, struct error *err)
{
	_cleanup_buf_ struct buf fields = { 0 };
	const char *text = fields_json ? fields_json : "{}";

	field_add_text(&fields, FIELD_EVENT, event);
	field_add_number(&fields, FIELD_TIME, now_msec());
	return event_append(journal, RECORD_EVENT, &fields, fields_part(text, strlen(text)), fields_part(NULL, 0), err);
}
