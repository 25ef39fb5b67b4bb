/* Shared by history, show, stats and audit. */
#pragma once

#include "base/error.h"
#include "result/result.h"
#include "cli/cmd.h"
#include "cli/table.h"
#include "store/store.h"

#include <jansson.h>

/* Opens the store and takes all records of the journal. *store NULL with exit code 0: there are no runs. Otherwise 0,
 * or the exit code after an error message. */
int past_open(const char *command, struct store **store);
/* Call it after a local run: without a service, the journal and the kept outputs must not grow for ever. Only works if
 * the journal is long, or `large` output was added. */
void past_tidy(bool large);
/* Reports an error of a query; returns the exit code. */
int past_failed(const char *command, const struct error *err);
/* past_failed() by the status of a query: returns 0 for 200, 1 for 404. */
int past_answer(const char *command, int status, const struct error *err);
/* The id with this beginning or end, if it is unique; "last": the newest, "last~N": N before it. Returns 0, or the exit
 * code. */
int past_find(const char *command, struct store *store, const char *typed, char id[RESULT_ID]);
/* Converts a WHEN of the command line to RFC 3339: a time in that form, or 30s, 10m, 2h, 7d before now. False: it is
 * neither. */
#define PAST_WHEN_MAX 48
bool past_when(const char *text, char out[PAST_WHEN_MAX]);
#define PAST_WHEN_WRONG "--since: expected 30s, 10m, 2h, 7d or a time like 2026-01-31T12:00:00Z, not \"%.64s\""
/* A number from 1 to `most`. */
bool past_count(const char *text, unsigned most, unsigned *out);

/* Local time as "2026-11-16 14:25:11"; an invalid time is unchanged. */
const char *past_time(const char *rfc3339, char out[TABLE_WORD]);
enum paint past_status_paint(const char *status);
/* A string member: "" if it is missing. */
const char *past_text(const json_t *object, const char *key);
double past_number(const json_t *object, const char *key);
/* Whether the program of the run started: otherwise its times mean nothing. */
bool past_ran(const json_t *run);
/* The sentence of an error for a table, without its common prefix. */
const char *past_error(const char *sentence);
/* These print and return the exit code. JSON is one line; the plain text contains untrusted quotes unchanged; the
 * painted text has our colours, and its quotes went through text_line(). */
int past_print_json(struct buf *json);
int past_print_plain(const struct buf *text, int code);
int past_print(const struct buf *text, int code);

#define NOTHING_YET "nothing has been run yet; try: emberbox run -c 'print(1)' -l python"
