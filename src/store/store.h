/*
 * The store: history, artifacts and the audit log, made of the journal.
 *
 *	STATE/journal            what is not taken yet (record.h)
 *	STATE/history.db         SQLite, WAL: every run, with its result
 *	STATE/executions/        <timestamp>-<hash>.json artifacts, ID.out and ID.err spools, ID.files/ directories
 *	STATE/audit.log          one JSON object a line, each with the hash of the one before
 *
 * One process at a time takes from the journal (a lock): the service's store
 * role, or a command such as `emberbox history` when no service runs. Reading
 * history needs no lock.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;

struct store_options {
	unsigned days;          /* of history that are kept; 0: for ever */
	uint64_t size_max;      /* bytes of history, artifacts, spools and kept files; 0: no bound */
	bool audit;             /* the audit log is written */
	bool audit_best_effort; /* if it cannot be, history goes on without it */
};

/* The sentence of a run whose process died. */
#define STORE_INTERRUPTED "Execution was interrupted: the process that ran it ended"

/* Opens and migrates; takes the lock if it is free (`*taking` tells). Runs that a dead process had under way become
 * "interrupted". */
int store_open(const struct store_options *options, bool *taking, struct store **out, struct error *err);
void store_close(struct store *store);
/* Takes all that is in the journal, in one transaction or a few. Without the lock: waits up to half a second for who
 * has it to have taken it. ERROR_FAILED when history or audit cannot be written: nothing is lost, it stays in the
 * journal. */
int store_take(struct store *store, struct error *err);
/* Something in the journal is not taken yet: another has the lock, or a writer is in the middle of a record. */
bool store_behind(struct store *store);
/* How many runs were found to be interrupted since it was last asked. */
unsigned store_interrupted(struct store *store);
/* What was written so far is safe from a crash of the machine. */
void store_sync(struct store *store);
/* About how many bytes came since store_sweep() was last called. */
uint64_t store_taken(const struct store *store);
/* Removes what is older or larger than the options allow. */
int store_sweep(struct store *store, struct error *err);

/* Questions. They return the status as HTTP has it: 200, and the answer is JSON added to `out`; 400, 404 or 500, and
 * `err` has the sentence. `caller` NULL: all; else only that caller's runs exist. */
struct store_filter {
	const char *language, *status, *caller, *before, *since; /* NULL: any; before: an id; since: RFC 3339 */
	const char *ends;                                        /* the last letters of an id; NULL: any */
	unsigned limit;                                          /* 1 to 1000 */
};
int store_list(struct store *store, const struct store_filter *filter, struct buf *out, struct error *err);
int store_show(struct store *store, const char *id, const char *caller, struct buf *out, struct error *err);
/* A run with those that failed alike, and what changed since the last success; as JSON, or {"markdown": text}. */
int store_report(struct store *store, const char *id, const char *caller, bool markdown, struct buf *out,
		 struct error *err);
int store_stats(struct store *store, const struct store_filter *filter, struct buf *out, struct error *err);
/* The whole output as a descriptor to read from its beginning, or -1 with status in *status (404). stream: 1 or 2. */
int store_spool(struct store *store, const char *id, const char *caller, int stream, int *status, struct error *err);
/* A file that the program left in /sandbox/output, if it was kept, by its path there; any path may be asked for. */
int store_file(struct store *store, const char *id, const char *caller, const char *path, int *status,
	       struct error *err);
/* The code, if it was kept: an artifact's descriptor. */
int store_artifact(struct store *store, const char *id, const char *caller, int *status, struct error *err);

/* Audit. 0 with *entries, or -1 with the first line that is wrong and how. */
int audit_verify(uint64_t *entries, struct error *err);

/* The role: takes from the journal when `nudge` says so, answers MESSAGE_ASK of fronts whose sockets come over
 * `control`. daemon/store/store_role.c. */
