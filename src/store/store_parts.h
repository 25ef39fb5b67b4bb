/* What the parts of the store share: store.c, database_schema.c, take.c, artifact.c, history_query.c, stats.c, sweep.c.
 */
#pragma once

#include "store/audit.h"
#include "store/fields.h"
#include "store/journal.h"
#include "store/store.h"

#include <jansson.h>
#include <sqlite3.h>

enum {
	STORE_STATEMENTS = 48, /* different texts of SQL */
	STORE_TIME = 32,       /* bytes of a time as text */
	STORE_ARTIFACT = 48,   /* bytes of an artifact's name */
};

struct store {
	struct store_options options; /* as given */
	unsigned interrupted;         /* runs found so since somebody asked */
	int dir;                      /* the state directory */
	int executions;               /* its directory of artifacts and spools; -1 until there is one */
	int lock;                     /* history.lock; held if `taking` */
	bool taking;                  /* we take from the journal */
	sqlite3 *db;                  /* history.db */
	struct audit *audit;          /* open while we take, if there is to be one */
	struct journal_reader reader; /* of the journal */
	uint64_t taken;               /* bytes that came since the last sweep: results and spools */
	bool placed;                  /* the reader knows from where to go on */
	struct {
		const char *sql;        /* a text that stays */
		sqlite3_stmt *stmt;     /* the same, prepared */
	} statements[STORE_STATEMENTS]; /* each prepared when it is first used */
};

/* database_schema.c */
int schema_settle(struct store *store, struct error *err);

/* store.c: SQL. `sql` is a text that stays where it is. NULL with `err`; reset and without bindings. */
sqlite3_stmt *store_sql(struct store *store, const char *sql, struct error *err);
int store_exec(struct store *store, const char *sql, struct error *err);
/* For statements without rows. */
int store_done(struct store *store, sqlite3_stmt *stmt, struct error *err);
/* The sentence of what SQLite says, with what we wanted before it. */
int store_failed(struct store *store, struct error *err, const char *what);
void store_bind(sqlite3_stmt *stmt, int place, const char *text); /* "" is NULL */
/* 26 letters and digits: nothing else ever becomes part of a path. */
bool store_is_id(const char *id);
/* RFC 3339 in UTC. */
const char *store_time(uint64_t msec, char text[STORE_TIME]);
bool store_parse_time(const char *text, uint64_t *msec);
uint64_t store_now(void);
/* The directory of artifacts and spools; -1 with errno. */
int store_executions(struct store *store);
/* Any bytes as a JSON string. */
json_t *store_utf8(const char *bytes, size_t size);

/* artifact.c: writes it and gives its name. */
int artifact_write(struct store *store, const struct field_set *fields, const struct journal_record *record,
		   char name[STORE_ARTIFACT], struct error *err);
/* What is in one, for the caller to release: the code, and what came with it. NULL: it is not there; so with fd -1. */
void artifact_read(int fd, json_t **code, json_t **request);

/* apply.c: one record becomes rows, an artifact and an entry of the audit log. */
int record_apply(struct store *store, const struct journal_record *record, struct error *err);
int store_audit(struct store *store, const char *record_id, const char *event, const char *fields, struct error *err);
