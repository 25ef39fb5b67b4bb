/* Shared by the queries. */
#pragma once

#include "store/store_parts.h"

/* Returns 400 with the field in the error. */
int query_bad(struct store *store, const char *field, struct error *err, const char *format, ...) EB_PRINTF(4, 5);
/* Returns 200 or 400; does not check `limit` and `before`, which only lists have. */
int query_check(struct store *store, const struct store_filter *filter, uint64_t *since, struct error *err);
/* SELECT columns FROM executions with the filter, newest first if `limit` is not 0. The text depends on the filter, so
 * that an index can be used. NULL with `err`; the caller finalizes it. */
sqlite3_stmt *query_rows(struct store *store, const char *columns, const struct store_filter *filter, uint64_t since,
			 unsigned limit, struct error *err);
/* Columns as JSON; null for NULL. */
json_t *query_text(sqlite3_stmt *stmt, int column);
json_t *query_number(sqlite3_stmt *stmt, int column);
json_t *query_seconds(sqlite3_stmt *stmt, int column);
json_t *query_time(sqlite3_stmt *stmt, int column);
/* Appends the text of `root`, which it takes. Returns 200 or 500. */
int query_answer(json_t *root, struct buf *out, struct error *err);
