/* What history, show, stats and audit share. */
#pragma once

#include "base/error.h"
#include "result/result.h"
#include "cli/cmd.h"
#include "cli/table.h"
#include "store/store.h"

#include <jansson.h>

/* The store, with all that is in the journal taken. *store NULL with exit code 0: nothing was ever run here. Else 0, or
 * the exit code: it was said why. */
int past_open(const char *command, struct store **store);
/* After a run of our own: where no service and nobody who asks takes what the journal has, it must not grow for ever,
 * nor the outputs that are kept. Does something only when there is much of the first, or `large` output was added. */
void past_tidy(bool large);
/* An error of a question: said; returns the exit code. */
int past_failed(const char *command, const struct error *err);
/* The same by the status of a store's answer: 0 for 200, 1 for 404. */
int past_answer(const char *command, int status, const struct error *err);
/* The id that begins or ends as typed, if there is one only; "last": the newest, "last~N": N before it. 0, or the exit
 * code. */
int past_find(const char *command, struct store *store, const char *typed, char id[RESULT_ID]);
/* A WHEN of the command line as RFC 3339: that itself, or 30s, 10m, 2h, 7d before now. False: it is neither. */
#define PAST_WHEN_MAX 48
bool past_when(const char *text, char out[PAST_WHEN_MAX]);
#define PAST_WHEN_WRONG "--since: expected 30s, 10m, 2h, 7d or a time like 2026-01-31T12:00:00Z, not \"%.64s\""
/* From 1 to `most`. */
bool past_count(const char *text, unsigned most, unsigned *out);

/* Local time as "2026-11-16 14:25:11"; what is no time stays as it is. */
const char *past_time(const char *rfc3339, char out[TABLE_WORD]);
enum paint past_status_paint(const char *status);
/* A member as text: "" for what is not there. */
const char *past_text(const json_t *object, const char *key);
double past_number(const json_t *object, const char *key);
/* Whether a program of it ran: else its times mean nothing. */
bool past_ran(const json_t *run);
/* An error's sentence in a table, without the words that all have in common. */
const char *past_error(const char *sentence);
/* All print the whole and return the exit code. JSON is one line; the plain text is one that quotes strangers as it
 * stands, the other has our colours, and text_line() had its quotes. */
int past_print_json(struct buf *json);
int past_print_plain(const struct buf *text, int code);
int past_print(const struct buf *text, int code);

#define NOTHING_YET "nothing has been run yet; try: emberbox run -c 'print(1)' -l python"
