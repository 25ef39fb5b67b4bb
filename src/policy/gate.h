/*
 * The check before a run: whether the policy allows the program.
 *
 *	struct gate gate = { 0 };
 *	switch (gate_look(spec, &gate, err)) { … }
 *
 * Checked are the code, or the entry among the files, and the given files of the same language. In a project on the
 * host, only the entry.
 */
#pragma once

#include "result/result.h"
#include "schema/spec.h"

enum {
	GATE_NAMES_MAX = 64 /* maximum of modules and of warnings */
};

struct gate {
	struct arena arena;                   /* owns the strings */
	const char *blocked[GATE_NAMES_MAX];  /* modules without duplicates */
	size_t blocked_count;                 /* number of them */
	const char *warnings[GATE_NAMES_MAX]; /* sentences, with POLICY_WARN */
	size_t warning_count;                 /* number of them */
	const char *unread;                   /* with POLICY_BLOCK: why a program could not be checked; or NULL */
};

/* 0: the program may run; 1: it may not; -1: it could not be checked, so it must not run. */
int gate_look(const struct spec *spec, struct gate *gate, struct error *err);
/* Whether gate_look() would check a file with that path in the box, "sandbox/code/lib.py" or below /sandbox/code. */
bool gate_takes(const struct spec *spec, const char *path);
/* The error after a 1 for a request without a result: CODE_BLOCKED. Returns -1. `what`: "file", "program". */
int gate_refuse(const struct gate *gate, const char *what, struct error *err);
/* Makes the result that of a blocked run. */
void gate_block(const struct gate *gate, struct result *result);
/* Adds the warnings to the result of a run. */
void gate_note(const struct gate *gate, struct result *result);
void gate_free(struct gate *gate);
#define _cleanup_gate_ _cleanup_(gate_free)
