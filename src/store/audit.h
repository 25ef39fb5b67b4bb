/*
 * The audit log: runs, refusals, confirmations and changes, in an order that cannot be altered without detection.
 *
 *	STATE/audit.log          one JSON object a line
 *	STATE/audit-SEQ.log      earlier entries, moved when it grew too large; SEQ is the first
 *	STATE/audit.head         the end of the log, and of the batch that is being written
 *	STATE/audit.torn         incomplete lines left by a crash
 *
 *	{"seq":1,"time":"…","event":"…","record":"…", …fields… ,"previous":"HEX","hash":"HEX"}
 *
 * `hash` is the SHA-256 of the line without `,"hash":"…"`, `previous` that of the line before (zeros for the first), so
 * changing, removing, adding or moving an entry breaks the chain. The chain does not show that its end was cut off; the
 * head does, and so does a copy of it in history.db (audit_head()). The head is also written before the log, with the
 * planned end, so that after a crash only the entries that we were writing may be missing.
 *
 * The log is evidence against mistakes and against a user who can write to one of these files. A user who can write to
 * all of them can create a new chain. Against this, keep the hash that `emberbox audit verify` prints in another place.
 *
 * Only one process at a time may have it open, which the store's lock ensures.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* A record among this many newest entries is recognized and not logged twice. So the caller has to commit its records
 * at least once in this many entries. */
#define AUDIT_REMEMBERED 4096
/* A file of this size is renamed before the next batch. */
#define AUDIT_FILE_MAX (64u << 20)
/* The end of the chain as text with its NUL: "SEQ:HASH". */
#define AUDIT_HEAD_MAX 88

struct audit;

/* Opens the log in the state directory, or creates one. An incomplete line left by a crash moves to audit.torn, which
 * is logged ("torn_tail"). If the log differs from the state in which we left it, this is an error, and nothing is
 * repaired. */
int audit_open(int dir, struct audit **out, struct error *err);
/* Adds an entry to the batch; writes nothing yet. `fields_json` is the text of an object, or NULL. Its member "time"
 * (RFC 3339) is the entry's time, otherwise it is now. Its names must not be seq, event, record, previous or hash. An
 * entry with the record and event of a remembered one is skipped, unless the record is "" or NULL. */
int audit_append(struct audit *audit, const char *record_id, const char *event, const char *fields_json,
		 struct error *err);
/* Writes the batch in one write, and syncs it at most once a second and at the close. After an error the batch and its
 * remembered records are dropped: append them again. With an empty batch, only syncs. */
int audit_flush(struct audit *audit, struct error *err);
/* Closes without writing the batch. `audit` may be NULL. */
void audit_close(struct audit *audit);

/* Replaces AUDIT_FILE_MAX, for tests. */
void audit_rotate_at(struct audit *audit, uint64_t bytes);

/* The end of the flushed chain. The store keeps a copy in history.db, as meta's key "audit_head", in the transaction
 * that applies the records. */
void audit_head(const struct audit *audit, char out[AUDIT_HEAD_MAX]);

/* audit_verify() of store.h for any directory. `witness`: an earlier copy of audit_head(), or NULL. `head` (or NULL)
 * receives the end of the chain. Needs no lock, and works beside a writer. */
int audit_verify_at(int dir, const char *witness, uint64_t *entries, char head[AUDIT_HEAD_MAX], struct error *err);
/* The newest `count` entries, oldest first, one a line, without verification. */
int audit_tail(int dir, unsigned count, struct buf *out, struct error *err);
