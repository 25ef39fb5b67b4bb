/*
 * The policy before a run: looks at what is to be run, and says whether it may.
 *
 *	struct gate gate = { 0 };
 *	switch (gate_look(spec, &gate, err)) { … }
 *
 * What is looked at: the code, or the entry among the files, and the files of the
 * same language beside it. Of a project on the host only its entry.
 */
#pragma once

#include "result/result.h"
#include "schema/spec.h"

enum {
	GATE_NAMES_MAX = 64 /* modules and warnings that are told */
};

struct gate {
	struct arena arena;                   /* owns the texts */
	const char *blocked[GATE_NAMES_MAX];  /* modules, each once */
	size_t blocked_count;                 /* how many */
	const char *warnings[GATE_NAMES_MAX]; /* sentences, with POLICY_WARN */
	size_t warning_count;                 /* how many */
	const char *unread;                   /* why a program could not be looked at, with POLICY_BLOCK; or NULL */
};

/* 0: it may run; 1: it may not; -1: it could not be looked at, which is no leave to run. */
int gate_look(const struct spec *spec, struct gate *gate, struct error *err);
/* Whether it would look at a file of that path in the box, "sandbox/code/lib.py" or below /sandbox/code. */
bool gate_takes(const struct spec *spec, const char *path);
/* After 1: the refusal of what is no run and has no result. CODE_BLOCKED; -1. `what`: "file", "program". */
int gate_refuse(const struct gate *gate, const char *what, struct error *err);
/* The result is that of a run that was not allowed. */
void gate_block(const struct gate *gate, struct result *result);
/* After a run: what was only warned of. */
void gate_note(const struct gate *gate, struct result *result);
void gate_free(struct gate *gate);
#define _cleanup_gate_ _cleanup_(gate_free)
