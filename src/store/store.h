/*
 * The store: history, artifacts and the audit log, built from the journal.
 *
 *	STATE/journal            records that are not taken yet (record.h)
 *	STATE/history.db         SQLite, WAL: every run, with its result
 *	STATE/executions/        <timestamp>-<hash>.json artifacts, ID.out and ID.err spools, ID.files/ directories
 *	STATE/audit.log          one JSON object a line, each with the hash of the one before
 *
 * One process at a time takes records from the journal, under a lock: the service's store role, or a command such as
 * `emberbox history` if no service runs. Reading the history needs no lock.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;

struct store_options {
	unsigned days;          /* days for which history is kept; 0: no limit */
	uint64_t size_max;      /* maximum bytes of history, artifacts, spools and kept files; 0: no limit */
	bool audit;             /* write the audit log */
	bool audit_best_effort; /* continue without the audit log if it cannot be written */
};

/* The sentence of a run whose process died. */
#define STORE_INTERRUPTED "Execution was interrupted: the process that ran it ended"

/* Opens and migrates the store, and takes the lock if it is free (*taking). Running runs of a dead process become
 * "interrupted". */
int store_open(const struct store_options *options, bool *taking, struct store **out, struct error *err);
void store_close(struct store *store);
/* Takes all records of the journal in one or a few transactions. Without the lock: waits up to half a second for the
 * lock's holder to do so. ERROR_FAILED if history or audit log cannot be written: the records stay in the journal. */
int store_take(struct store *store, struct error *err);
/* Whether the journal has records that are not taken: another process has the lock, or a writer has not finished a
 * record. */
bool store_behind(struct store *store);
/* The number of runs that were found to be interrupted since the last call. */
unsigned store_interrupted(struct store *store);
/* Syncs the data to the disk. */
void store_sync(struct store *store);
/* An estimate of the bytes added since the last store_sweep(). */
uint64_t store_taken(const struct store *store);
/* Removes data that is older or larger than the options allow. */
int store_sweep(struct store *store, struct error *err);

/* Queries. They return an HTTP status: 200 with JSON appended to `out`; 400, 404 or 500 with the sentence in `err`.
 * `caller`: only this caller's runs are visible; NULL: all are. */
struct store_filter {
	const char *language, *status, *caller, *before, *since; /* NULL: any; before: an id; since: RFC 3339 */
	const char *ends;                                        /* last letters of an id; NULL: any */
	unsigned limit;                                          /* 1 to 1000 */
};
int store_list(struct store *store, const struct store_filter *filter, struct buf *out, struct error *err);
int store_show(struct store *store, const char *id, const char *caller, struct buf *out, struct error *err);
/* A run with similar failures and the changes since the last success, as JSON or {"markdown": text}. */
int store_report(struct store *store, const char *id, const char *caller, bool markdown, struct buf *out,
		 struct error *err);
int store_stats(struct store *store, const struct store_filter *filter, struct buf *out, struct error *err);
/* A descriptor of the whole output, at its beginning, or -1 with the HTTP status in *status (404). stream: 1 or 2. */
int store_spool(struct store *store, const char *id, const char *caller, int stream, int *status, struct error *err);
/* What a run did with the network, as meta.network, with all connections. Returns a status of HTTP. */
int store_network(struct store *store, const char *id, const char *caller, struct buf *out, struct error *err);
/* A kept file of /sandbox/output, by its path there; the path may be invalid. */
int store_file(struct store *store, const char *id, const char *caller, const char *path, int *status,
	       struct error *err);
/* A descriptor of the artifact with the code, if it was kept. */
int store_artifact(struct store *store, const char *id, const char *caller, int *status, struct error *err);

/* Verifies the audit log. 0 with *entries, or -1 with the first wrong line and the reason. */
int audit_verify(uint64_t *entries, struct error *err);

/* The store role: takes records when `nudge` is written to, and answers MESSAGE_ASK of fronts, whose sockets arrive
 * over `control`. daemon/store/store_role.c. */
