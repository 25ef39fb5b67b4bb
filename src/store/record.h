/*
 * What is remembered of runs: written down before anybody is answered.
 *
 * The journal is a file in the state directory to which everybody appends: the
 * keeper of the service, and `emberbox run` when it runs by itself. A record is
 * one write; it is in the kernel's hands before the answer leaves, so no death
 * of a process loses it. (A crash of the machine may lose the last second of a
 * service, and of runs without one what the kernel had not written yet.) The
 * store (store.h) makes history, artifacts and the audit log of it, beside the
 * traffic, and cuts it off when all of it is taken.
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
/* The policy of that name; NULL and what is none: on_error. */
enum record_code record_code_of(const char *word);

struct record_caller {
	const char *door;       /* "cli", "socket", "http", "mcp" */
	const char *name;       /* "uid 1000", or the name of a token */
	const char *request_id; /* X-Request-Id, or "" */
	const char *profile;    /* of the registry, or "" */
	const char *place;      /* the container or session it ran in, or "" */
};

/* Opened for appending; made with mode 0600 if need be. Safe to use from several threads and processes. */
int journal_open(struct journal **out, struct error *err);
void journal_close(struct journal *journal);
/* So much is in that of a state directory that somebody should take it (store_take()): without a service nobody does by
 * himself. */
bool journal_is_long(int dir);
/* Written to after each append, to wake the store. An eventfd: never waits. Not after record_start(), for that would be
 * before the program has its processor: see journal_tell(). */
void journal_nudge(struct journal *journal, int eventfd);
/* Wakes the store; NULL is fine. */
void journal_tell(const struct journal *journal);

/* A run begins. `code_size` and its digest are noted, never its text. */
int record_start(struct journal *journal, const char *id, const struct spec *spec, const struct record_caller *caller,
		 struct error *err);
/* Keeps what the run left in /sandbox/output: a result_keep, whose `data` is the journal. */
void record_keep(void *data, const char *id, int output, struct file_list *list);
/* It is over: the result as every door gives it, the code by the policy, and the whole output where the result does not
 * have it (cut, or not UTF-8), which goes to files of its own. To be called before the answer is sent. */
int record_end(struct journal *journal, const struct spec *spec, const struct record_caller *caller,
	       struct result *result, enum record_code policy, struct error *err);
/* It was refused after record_start(): there is no result. */
int record_refused(struct journal *journal, const char *id, const struct error *why, struct error *err);
/* Anything else for the audit log: "denied", "confirmed", "token_used", "config_changed", "service_started"…, with a
 * JSON object of what belongs to it. */
int record_event(struct journal *journal, const char *event, const char *fields_json, struct error *err);
