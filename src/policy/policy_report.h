/*
 * What a reader told, checked, and held against the lists.
 *
 * Pure. The bytes come from a process that parsed a stranger's source and may have
 * been taken over by it: what cannot be meant is an error, and lines are quoted from
 * the source itself.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "language/errors.h"
#include "policy/rules.h"
#include "policy/reader_wire.h"
#include "registry/registry.h"

#include <stdbool.h>
#include <stddef.h>

struct policy_entry {
	enum wire_kind kind;            /* a mistake, an import or a call */
	unsigned how;                   /* enum wire_how of an import; SYNTAX_MISSING */
	unsigned line, column;          /* from 1 */
	const char *name;               /* the module, what is called, what is wrong */
	const struct policy_rule *rule; /* that it breaks; NULL: none, or the registry's own */
	bool blocked;                   /* an import on the list */
};

/* What the compiler of a language says of a program's types (api/type_check.h). */
struct policy_types {
	const char *unchecked;             /* why they were not checked; NULL: they were */
	const struct errors_found *errors; /* in the compiler's order */
	size_t count;                      /* how many */
	bool cut;                          /* there were more */
};

struct policy_report {
	struct arena arena;           /* owns all */
	const char *language;         /* as the runtime is called */
	const char *unread;           /* why nothing was looked at; NULL: it was */
	struct policy_entry *entries; /* in the source's order */
	size_t count;                 /* how many */
	bool cut;                     /* there were more */
	struct policy_types *types;   /* NULL: nobody asked the compiler, or the language has none that checks types */
};

/* Fills the entries from an answer's records. */
int report_decode(const struct policy_rules *rules, const struct wire_tell *head, const void *records, size_t size,
		  struct policy_report *out, struct error *err);
/* Says which imports are blocked. */
void report_judge(struct policy_report *report, const struct policy_rules *rules, const struct policy_lists *lists);
/* One line; `code` is what was read, for the lines' texts. */
void report_json(const struct policy_report *report, const char *code, size_t size, struct buf *out);
/* How many mistakes, errors of types among them, and findings of at least medium severity; blocked imports are such. */
void report_count(const struct policy_report *report, size_t *mistakes, size_t *findings);
/* A line's text without its blanks, cut. */
/* What is wrong at a mistake, without its line once more, which stands beside it. */
enum {
	REPORT_MISTAKE_MAX = WIRE_NAME_MAX + 64
};
void report_mistake(const struct policy_entry *entry, const char *line, char out[REPORT_MISTAKE_MAX]);
void report_line(const char *code, size_t size, unsigned line, char *out, size_t room);
const char *severity_name(enum policy_severity severity);
const char *how_name(unsigned how);
enum policy_severity entry_severity(const struct policy_entry *entry);
/* Whether the list has the module, and how many bytes of it that says; 0: not. */
size_t list_match(const char *grammar, const char *list, const char *module);
void report_free(struct policy_report *report);
#define _cleanup_report_ _cleanup_(report_free)
