/*
 * The audit log: what was run, refused, confirmed and changed, in an order that cannot be altered unseen.
 *
 *	STATE/audit.log          one JSON object a line
 *	STATE/audit-SEQ.log      what was in it before it grew too large; SEQ is its first entry
 *	STATE/audit.head         where the log ends, and what is just being written
 *	STATE/audit.torn         half lines that a crash left
 *
 *	{"seq":1,"time":"…","event":"…","record":"…", …fields… ,"previous":"HEX","hash":"HEX"}
 *
 * `hash` is the SHA-256 of the line without `,"hash":"…"`, `previous` that of the line before (zeros for the first), so
 * an entry cannot be changed, left out, added or moved without breaking the chain. A chain does not show that its end
 * was cut off: the head does, and so does a copy of it in history.db (audit_head()). The head is written before the log
 * too, with what is about to be added, so that after a crash exactly what we were writing may be there or not be there,
 * and nothing else.
 *
 * It is evidence against mistakes and against who can write to one of these files. Who can write to all of them can
 * make a new chain: keep the hash that `emberbox audit verify` shows elsewhere, if that matters.
 *
 * One process at a time may have it open: the store's lock sees to that.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* A record is known again, and not logged twice, if it is among so many newest entries. So who appends has to commit
 * that it took the records at least once in so many of them. */
#define AUDIT_REMEMBERED 4096
/* A file that has so many bytes is put aside when the next batch comes. */
#define AUDIT_FILE_MAX (64u << 20)
/* A text that names the end of the chain, with its NUL: "SEQ:HASH". */
#define AUDIT_HEAD_MAX 88

struct audit;

/* Opens the log in the state directory, or begins one. A half line that a crash left goes to audit.torn, and this is
 * logged ("torn_tail"). If the log is not as we left it, that is an error, and nothing is repaired. */
int audit_open(int dir, struct audit **out, struct error *err);
/* Adds an entry to the batch; nothing is written yet. `fields_json` is the text of an object, or NULL; a member "time"
 * (RFC 3339) in it is the entry's time, else it is now. Its names must not be seq, event, record, previous or hash.
 * What has the same record and event as a remembered entry is skipped; record "" or NULL is never skipped. */
int audit_append(struct audit *audit, const char *record_id, const char *event, const char *fields_json,
		 struct error *err);
/* Writes the batch, in one write. On disk at most once a second, and at the close. After an error the batch is gone,
 * and so is what was remembered of it: append it again. Without a batch it only sees to the disk. */
int audit_flush(struct audit *audit, struct error *err);
/* Does not write what was not flushed. Takes NULL. */
void audit_close(struct audit *audit);

/* Another bound than AUDIT_FILE_MAX, for tests. */
void audit_rotate_at(struct audit *audit, uint64_t bytes);

/* The end of the chain as flushed, for a copy of it: the store keeps it in history.db, as meta's value of the key
 * "audit_head", in the transaction that takes the records. */
void audit_head(const struct audit *audit, char out[AUDIT_HEAD_MAX]);

/* What audit_verify() of store.h does, for any directory. `witness`: a copy of audit_head() from before, or NULL.
 * `head` (or NULL) is where the chain ends. Needs no lock: it also works while somebody appends. */
int audit_verify_at(int dir, const char *witness, uint64_t *entries, char head[AUDIT_HEAD_MAX], struct error *err);
/* The newest `count` entries, oldest first, as they stand in the log: one a line. Nothing is verified. */
int audit_tail(int dir, unsigned count, struct buf *out, struct error *err);
