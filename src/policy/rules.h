/*
 * The rules of the check: notable imports and calls, with the reason. Each language has a file in rules/:
 *
 *	IMPORT(severity, "module", "reason", "triggers it", "does not")
 *	CALL(severity, "what is called", "reason", "triggers it", "does not")
 *
 * The modules of IMPORT rows are the language's blocklist, which the registry can change. A CALL is a name
 * ("os.system"), the beginning of one ("subprocess.*"), or its end ("*.exec"); names that imports and assignments
 * define are resolved. After a blank comes text that the arguments must contain. In a shell, a call is a command line:
 * the command, flags ("-rf": both, in any order and place) and words; "a | b" is a pipe. In SQL, it is the first
 * keywords of a statement; "!where" is one that must be missing; "f(" is a function call anywhere; a "'" stands for a
 * string. The last two fields are programs for the tests: the rule must match the first and not the second.
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
	enum policy_rule_kind kind;    /* import or call */
	enum policy_severity severity; /* its severity */
	char pattern[32]; /* the module or the call; an array, because a pointer would need a relocation at every start
			   */
	char reason[64];  /* half a sentence */
};

struct policy_rules {
	const char *grammar;             /* "python" */
	const struct policy_rule *rules; /* in the order of the file */
	size_t count;                    /* number of them */
};

/* NULL: there are no rules for the grammar. */
const struct policy_rules *policy_rules_of(const char *grammar);
const struct policy_rules *policy_rules_at(size_t index);
