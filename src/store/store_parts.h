/* Shared by the parts of the store: store.c, database_schema.c, take.c, artifact.c, history_query.c, stats.c,
 * sweep.c. */
#pragma once

#include "store/audit.h"
#include "store/fields.h"
#include "store/journal.h"
#include "store/store.h"

#include <jansson.h>
#include <sqlite3.h>

enum {
	STORE_STATEMENTS = 48, /* maximum of different SQL statements */
	STORE_TIME = 32,       /* bytes of a time as text */
	STORE_ARTIFACT = 48,   /* bytes of an artifact's name */
};

struct store {
	struct store_options options; /* options of store_open() */
	unsigned interrupted;         /* interrupted runs that were not reported yet */
	int dir;                      /* the state directory */
	int executions;               /* directory of artifacts and spools; -1 until it exists */
	int lock;                     /* history.lock; locked if `taking` */
	bool taking;                  /* this process takes records from the journal */
	sqlite3 *db;                  /* history.db */
	struct audit *audit;          /* open while `taking`, if enabled */
	struct journal_reader reader; /* reader of the journal */
	uint64_t taken;               /* bytes of results and spools since the last sweep */
	bool placed;                  /* the reader knows its start position */
	struct {
		const char *sql;        /* a static string */
		sqlite3_stmt *stmt;     /* the prepared statement */
	} statements[STORE_STATEMENTS]; /* prepared at the first use */
};

/* database_schema.c. */
int schema_settle(struct store *store, struct error *err);

/* store.c. `sql` must be a static string. Returns the statement, reset and without bindings; NULL with `err`. */
sqlite3_stmt *store_sql(struct store *store, const char *sql, struct error *err);
int store_exec(struct store *store, const char *sql, struct error *err);
/* Runs a statement without rows. */
int store_done(struct store *store, sqlite3_stmt *stmt, struct error *err);
/* Sets SQLite's error, with the failed action before it. */
int store_failed(struct store *store, struct error *err, const char *what);
void store_bind(sqlite3_stmt *stmt, int place, const char *text); /* Binds a string; "" is bound as NULL. */
/* 26 letters and digits: only these become part of a path. */
bool store_is_id(const char *id);
/* RFC 3339 in UTC. */
const char *store_time(uint64_t msec, char text[STORE_TIME]);
bool store_parse_time(const char *text, uint64_t *msec);
uint64_t store_now(void);
/* The directory of artifacts and spools; -1 with errno. */
int store_executions(struct store *store);
/* Any bytes as a JSON string. */
json_t *store_utf8(const char *bytes, size_t size);

/* artifact.c: writes an artifact and returns its name. */
int artifact_write(struct store *store, const struct field_set *fields, const struct journal_record *record,
		   char name[STORE_ARTIFACT], struct error *err);
/* The code and the request in an artifact, which the caller releases. NULL: missing; both are with fd -1. */
void artifact_read(int fd, json_t **code, json_t **request);

/* apply.c: turns one record into rows, an artifact and an entry of the audit log. */
int record_apply(struct store *store, const struct journal_record *record, struct error *err);
int store_audit(struct store *store, const char *record_id, const char *event, const char *fields, struct error *err);
