/* What a result says of the program's network: meta.network, and the sentence about a refusal. */
#pragma once

#include "result/result.h"

/* The report's connections move to the result. `policy` NULL: the box had no network. */
void result_set_network(struct result *result, const struct net_policy *policy, struct net_report *report);
/* meta.network with at most `most` connections; a json_t. */
struct json_t *result_network_json(const struct result *result, size_t most);
/* One of them. */
struct json_t *result_connection_json(const struct net_connection *connection);
/* The refusal that explains best why the program failed: the last one that a rule would change, else the last one.
 * NULL: nothing was refused. */
const struct net_connection *result_refused_connection(const struct result *result);
/* One sentence about it, and the rule that would allow it: false if none would. */
void result_refusal_sentence(const struct net_connection *connection, struct buf *out);
bool result_refusal_rule(const struct net_connection *connection, struct buf *out);
