/* Formats the service's answers about sessions and cells for people: the REPL, `emberbox session` and `emberbox run
 * --session`. */
#pragma once

#include "base/buf.h"
#include "client/session_link.h"
#include "cli/table.h"

/* Finds a session by its id, the beginning or the end of one, or its name; a running one has precedence over an ended
 * one. A complete id is not looked up. ERROR_USAGE: there is none, or there are several. */
int session_find(struct session_link *link, const char *typed, struct error *err);
bool session_is_over(const json_t *session);
/* {"path", "entries"…} of a directory; NULL: /sandbox/code. The caller frees *answer. */
int session_files(const struct session_link *link, const char *directory, json_t **answer, struct error *err);
/* Adds the entries of that answer; returns their number. */
size_t session_files_table(const json_t *answer, struct table *table);
/* The session's limits and usage. */
void session_limits_table(const json_t *session, struct table *table);
/* The path of a file for :get: one without a leading slash is below `base`. */
void session_file_path(const char *typed, const char *base, char *out, size_t size);
/* Writes a file of the host. */
int session_write_file(const char *path, const void *data, size_t size, struct error *err);
/* The error of a cell, unless its output has it: the language prints most errors itself. */
void session_error_text(const json_t *result, struct buf *text);
