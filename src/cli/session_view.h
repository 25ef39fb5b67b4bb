/* What the service tells of sessions and their cells, as people read it: for the REPL, `emberbox session` and
 * `emberbox run --session`. */
#pragma once

#include "base/buf.h"
#include "client/session_link.h"
#include "cli/table.h"

/* Keeps the id of the session that was meant: by its id, the beginning or the end of one, or its name; one that lives
 * before one that has ended. An id that is whole is not asked for. ERROR_USAGE: there is none, or there are several. */
int session_find(struct session_link *link, const char *typed, struct error *err);
bool session_is_over(const json_t *session);
/* {"path", "entries"…} of a directory; NULL: /sandbox/code. The caller frees *answer. */
int session_files(const struct session_link *link, const char *directory, json_t **answer, struct error *err);
/* The entries of that answer; how many. */
size_t session_files_table(const json_t *answer, struct table *table);
/* What a session may use, and what it uses. */
void session_limits_table(const json_t *session, struct table *table);
/* A path of a file as :get has it: one that does not begin with a slash is below `base`. */
void session_file_path(const char *typed, const char *base, char *out, size_t size);
/* Writes a file of the host. */
int session_write_file(const char *path, const void *data, size_t size, struct error *err);
/* What a cell failed by, if what it printed does not tell: the language prints most errors itself. */
void session_error_text(const json_t *result, struct buf *text);
