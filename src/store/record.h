/*
 * Records of runs, written before the caller gets an answer.
 *
 * The journal is a file in the state directory to which the service's keeper
 * and `emberbox run` without a service append. A record is one write, and the
 * kernel has it before the answer is sent, so the death of a process does not
 * lose it. (A crash of the machine may lose the last second of a service, and
 * of runs without one the data that the kernel had not written.) The store
 * (store.h) turns it into history, artifacts and the audit log in the
 * background, and replaces the journal when all records are taken.
 */
#pragma once

#include "base/error.h"
#include "result/result.h"
#include "schema/spec.h"

#include <stdbool.h>

struct journal;

/* SANDBOX_STORE_CODE */
enum record_code {
	RECORD_CODE_ON_ERROR,
	RECORD_CODE_ALWAYS,
	RECORD_CODE_NEVER
};
/* The policy of that name; on_error for NULL and unknown names. */
enum record_code record_code_of(const char *word);

struct record_caller {
	const char *door;       /* "cli", "socket", "http", "mcp" */
	const char *name;       /* "uid 1000", or the name of a token */
	const char *request_id; /* X-Request-Id, or "" */
	const char *profile;    /* of the registry, or "" */
	const char *place;      /* id of the container or session, or "" */
};

/* Opens the journal for appending; created with mode 0600 if needed. Thread-safe, and safe to use from several
 * processes. */
int journal_open(struct journal **out, struct error *err);
void journal_close(struct journal *journal);
/* Whether the journal of a state directory is so long that a process without a service should call store_take(). */
bool journal_is_long(int dir);
/* Sets an eventfd that wakes the store after each append, except record_start(): the program should start first. See
 * journal_tell(). Never blocks. */
void journal_nudge(struct journal *journal, int eventfd);
/* Wakes the store; `journal` may be NULL. */
void journal_tell(const struct journal *journal);

/* Records the start of a run, with the size and digest of the code but not its text. */
int record_start(struct journal *journal, const char *id, const struct spec *spec, const struct record_caller *caller,
		 struct error *err);
/* Keeps the files in /sandbox/output: a result_keep whose `data` is the journal. */
void record_keep(void *data, const char *id, int output, struct file_list *list);
/* Records the end of a run: the result, the code according to the policy, and, if the result does not have all of the
 * output (truncated, or not UTF-8), the output in files. Call it before the answer is sent. */
int record_end(struct journal *journal, const struct spec *spec, const struct record_caller *caller,
	       struct result *result, enum record_code policy, struct error *err);
/* Records a refusal after record_start(): there is no result. */
int record_refused(struct journal *journal, const char *id, const struct error *why, struct error *err);
/* Records another event for the audit log: "denied", "confirmed", "token_used", "config_changed", "service_started"…,
 * with a JSON object of details. */
int record_event(struct journal *journal, const char *event, const char *fields_json, struct error *err);
