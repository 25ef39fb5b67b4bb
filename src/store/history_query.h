/* What questions have in common. */
#pragma once

#include "store/store_parts.h"

/* 400, with the field. */
int query_bad(struct store *store, const char *field, struct error *err, const char *format, ...) EB_PRINTF(4, 5);
/* 200 or 400; `limit` and `before` are the list's own. */
int query_check(struct store *store, const struct store_filter *filter, uint64_t *since, struct error *err);
/* SELECT columns FROM executions, filtered, in the newest-first order if `limit` is not 0. Made for the filter at hand,
 * so that an index serves it. NULL with `err`; the caller finalizes it. */
sqlite3_stmt *query_rows(struct store *store, const char *columns, const struct store_filter *filter, uint64_t since,
			 unsigned limit, struct error *err);
/* Columns as JSON; null for NULL. */
json_t *query_text(sqlite3_stmt *stmt, int column);
json_t *query_number(sqlite3_stmt *stmt, int column);
json_t *query_seconds(sqlite3_stmt *stmt, int column);
json_t *query_time(sqlite3_stmt *stmt, int column);
/* Takes `root`, adds its text. 200 or 500. */
int query_answer(json_t *root, struct buf *out, struct error *err);
