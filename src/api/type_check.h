/*
 * Type errors reported by a language's compiler. The program is not executed.
 *
 * This is the compile step of a run, in a box with that step's limits. Its result is cached, so a run of the same
 * program need not compile it again.
 */
#pragma once

#include "policy/policy_report.h"

/* Whether the language's compiler checks types. */
bool type_check_there(const struct runtime *runtime);

/* Adds the compiler's errors to the report. `filename` is the name of the program's file, or NULL. A failure is no
 * error: the report says why the types were not checked. */
void type_check(const struct runtime *runtime, const char *filename, const void *code, size_t size,
		struct policy_report *report);
