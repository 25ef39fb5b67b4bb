/*
 * The rules: what is worth a word, and why. Data, a file for each language in rules/:
 *
 *	IMPORT(severity, "module", "reason", "triggers it", "does not")
 *	CALL(severity, "what is called", "reason", "triggers it", "does not")
 *
 * An import of the first kind is on the language's blocklist, if nobody says
 * otherwise. A call is a name ("os.system"), the beginning of one ("subprocess.*"),
 * or its end ("*.exec"), with the names that imports and assignments gave resolved;
 * behind a blank stands what its arguments must have in them. In a shell it is a
 * command line: the command, flags ("-rf": both, in any order and place) and words;
 * "a | b" is a pipe. In SQL it is the first keywords of a statement; "!where" is one
 * that it must not have; "f(" is a function that it calls anywhere; a "'" stands for
 * a text. The last two fields are programs for the tests: every rule
 * has to fire on the one and not on the other.
 */
#pragma once

#include <stddef.h>

enum policy_severity {
	POLICY_LOW,
	POLICY_MEDIUM,
	POLICY_HIGH,
};

enum policy_rule_kind {
	POLICY_IMPORT,
	POLICY_CALL,
};

struct policy_rule {
	enum policy_rule_kind kind;    /* what it is about */
	enum policy_severity severity; /* how bad */
	char pattern[32]; /* the module, or what is called; no pointer, which would be relocated at every start */
	char reason[64];  /* half a sentence for a person */
};

struct policy_rules {
	const char *grammar;             /* "python" */
	const struct policy_rule *rules; /* in the file's order */
	size_t count;                    /* how many */
};

/* NULL: there is none of that name. */
const struct policy_rules *policy_rules_of(const char *grammar);
const struct policy_rules *policy_rules_at(size_t index);
