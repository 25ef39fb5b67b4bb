/* What the readers of rules share: sentences, and the parts that objects have as well. */
#pragma once

#include "net/net_policy.h"

/* "RULE" and what is wrong with it, in a sentence with the field "net"; a long rule is cut. Returns -1. */
int net_rule_refuse(struct error *err, const char *rule, const char *format, ...) EB_PRINTF(3, 4);

int net_rule_no_memory(struct error *err);

/* The method as rules have it, from a static table; NULL: rules do not know it. */
const char *net_rule_method(const char *text, size_t size);
/* The path of a rule, canonical but for the star at its end. NULL, or what is wrong with it: "has a query". */
const char *net_rule_path_fault(const char *text, size_t size, char out[NET_PATH_MAX]);

/* Flags, as bits; their names stand in rules in the order of the bits. */
enum net_rule_flag {
	NET_FLAG_NO_SNI = 1,
	NET_FLAG_PRIVATE = 2,
	NET_FLAG_TERMINATE = 4,
};
enum {
	NET_FLAGS = 3
};
extern const char *const net_rule_flag_names[NET_FLAGS];
