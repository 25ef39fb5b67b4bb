/*
 * What the compiler says of a program's types. Nothing of the program is executed.
 *
 * It is the compile step of a run, in a box and with that step's limits. What it
 * makes is kept, so that a run of the same program need not compile it again.
 */
#pragma once

#include "policy/policy_report.h"

/* Whether the compiler of the language checks types, so that there is something to ask it. */
bool type_check_there(const struct runtime *runtime);

/* Adds what the compiler says to the report. `filename` is what the program's file is called, or NULL. No failure is an
 * error: the report says why the types were not checked. */
void type_check(const struct runtime *runtime, const char *filename, const void *code, size_t size,
		struct policy_report *report);
