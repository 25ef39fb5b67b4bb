/*
 * A check of a program before it runs: mistakes, imports, and notable calls.
 *
 * The check is advice, not a boundary: a program can hide an import. The box is the boundary.
 *
 * The source is parsed by another process, the reader (reader/), which has no privileges and no resources. A reader
 * that hangs is killed and replaced. Readers are reused for the next source of their language, and shared by threads.
 */
#pragma once

#include "schema/spec.h"
#include "policy/policy_report.h"
#include "language/runtime.h"

/* The name of the language's grammar, or NULL. */
const char *policy_grammar(const char *language);
bool policy_mode_of(const char *word, enum policy_mode *mode);
const char *policy_mode_name(enum policy_mode mode);

/*
 * Checks the source. `lists` may be NULL. A language without a grammar, or a source that cannot be checked (too large,
 * too complex, it crashed the reader), is no error: the report says so (`unread`). Mistakes in the program are no error
 * either.
 */
int policy_check(const struct runtime *runtime, const void *code, size_t size, const struct policy_lists *lists,
		 struct policy_report *out, struct error *err);
/* The report as one JSON object, which the caller frees. ERROR_LANGUAGE: the language is unknown. */
int policy_check_json(const char *language, const void *code, size_t size, const struct policy_lists *lists,
		      char **json, struct error *err);
/* Ends the idle readers. */
void policy_close(void);
