/*
 * A look at a program before it runs: its mistakes, its imports, and calls that are worth a word.
 *
 * Advice and hygiene, not a boundary: who wants to hide an import can. The box is
 * what keeps a program in.
 *
 * The source is parsed by another process, the reader (reader/), which has nothing
 * and can do nothing; one that hangs is killed, one that dies is replaced. Readers
 * are kept for the next source of their language, and shared by threads.
 */
#pragma once

#include "schema/spec.h"
#include "policy/policy_report.h"
#include "language/runtime.h"

/* Whether there is a grammar for the language; its name, or NULL. */
const char *policy_grammar(const char *language);
bool policy_mode_of(const char *word, enum policy_mode *mode);
const char *policy_mode_name(enum policy_mode mode);

/*
 * Reads the source. `lists` may be NULL. A language without a grammar, and a source
 * that cannot be read (too large, too hard, the reader died of it), is a report that
 * says so (`unread`), not an error. What is wrong with a program is no error either.
 */
int policy_check(const struct runtime *runtime, const void *code, size_t size, const struct policy_lists *lists,
		 struct policy_report *out, struct error *err);
/* The same as JSON, for doors: one object, which the caller frees. ERROR_LANGUAGE: it is unknown. */
int policy_check_json(const char *language, const void *code, size_t size, const struct policy_lists *lists,
		      char **json, struct error *err);
/* Ends the readers that are kept. */
void policy_close(void);
