/*
 * A reader's answer, validated and compared with the lists.
 *
 * Pure. The bytes come from a process that parsed untrusted source and may be under its control: invalid values are
 * errors, and lines are quoted from the source itself.
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
	const char *name;               /* the module, the called function, or the mistake */
	const struct policy_rule *rule; /* the rule that it breaks; NULL: none, or the registry's list */
	bool blocked;                   /* the import is blocked */
};

/* The result of a compiler's type check (api/type_check.h). */
struct policy_types {
	const char *unchecked;             /* why the types were not checked; NULL: they were */
	const struct errors_found *errors; /* in the compiler's order */
	size_t count;                      /* number of them */
	bool cut;                          /* there were more errors */
};

struct policy_report {
	struct arena arena;           /* owns the report */
	const char *language;         /* the runtime's name */
	const char *unread;           /* why the source was not checked; NULL: it was */
	struct policy_entry *entries; /* in the order of the source */
	size_t count;                 /* number of them */
	bool cut;                     /* there were more entries */
	struct policy_types *types;   /* NULL: not requested, or the language has no type check */
};

/* Fills the entries from the records of an answer. */
int report_decode(const struct policy_rules *rules, const struct wire_tell *head, const void *records, size_t size,
		  struct policy_report *out, struct error *err);
/* Marks the blocked imports. */
void report_judge(struct policy_report *report, const struct policy_rules *rules, const struct policy_lists *lists);
/* One line of JSON; `code` is the checked source, for quotes. */
void report_json(const struct policy_report *report, const char *code, size_t size, struct buf *out);
/* The number of mistakes, including type errors, and of findings with at least medium severity, including blocked
 * imports. */
void report_count(const struct policy_report *report, size_t *mistakes, size_t *findings);
/* The text of a line without indentation, truncated. */
/* The message of a mistake, without its line, which is shown beside it. */
enum {
	REPORT_MISTAKE_MAX = WIRE_NAME_MAX + 64
};
void report_mistake(const struct policy_entry *entry, const char *line, char out[REPORT_MISTAKE_MAX]);
void report_line(const char *code, size_t size, unsigned line, char *out, size_t room);
const char *severity_name(enum policy_severity severity);
const char *how_name(unsigned how);
enum policy_severity entry_severity(const struct policy_entry *entry);
/* How many bytes of the module's name the list's best entry matches; 0: none matches. */
size_t list_match(const char *grammar, const char *list, const char *module);
void report_free(struct policy_report *report);
#define _cleanup_report_ _cleanup_(report_free)
