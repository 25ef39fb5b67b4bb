#include "policy/rules.h"

#include "base/own.h"

#include <string.h>

#define HIGH                                         POLICY_HIGH
#define MEDIUM                                       POLICY_MEDIUM
#define LOW                                          POLICY_LOW
#define IMPORT(severity, pattern, reason, bad, good) { POLICY_IMPORT, severity, pattern, reason },
#define CALL(severity, pattern, reason, bad, good)   { POLICY_CALL, severity, pattern, reason },

static const struct policy_rule python[] = {
#include "policy/rules/python.def"
};
static const struct policy_rule javascript[] = {
#include "policy/rules/javascript.def"
};
static const struct policy_rule bash[] = {
#include "policy/rules/bash.def"
};
static const struct policy_rule ruby[] = {
#include "policy/rules/ruby.def"
};
static const struct policy_rule go[] = {
#include "policy/rules/go.def"
};
static const struct policy_rule c[] = {
#include "policy/rules/c.def"
};
static const struct policy_rule sql[] = {
#include "policy/rules/sql.def"
};

#define TABLE(name, rules)                                                                                             \
	{                                                                                                              \
		name, rules, ARRAY_SIZE(rules)                                                                         \
	}

/* TypeScript uses JavaScript's. */
static const struct policy_rules tables[] = {
	TABLE("python", python),
	TABLE("javascript", javascript),
	TABLE("typescript", javascript),
	TABLE("bash", bash),
	TABLE("ruby", ruby),
	TABLE("go", go),
	TABLE("c", c),
	TABLE("sql", sql),
};

const struct policy_rules *policy_rules_at(size_t index)
{
	return index < ARRAY_SIZE(tables) ? &tables[index] : NULL;
}

const struct policy_rules *policy_rules_of(const char *grammar)
{
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		if (strcmp(tables[i].grammar, grammar) == 0)
			return &tables[i];
	return NULL;
}
