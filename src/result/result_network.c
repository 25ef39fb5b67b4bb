#include "result/result_network.h"

#include "base/own.h"
#include "net/net_why.h"

#include <stdlib.h>
#include <time.h>

void result_set_network(struct result *result, const struct net_policy *policy, struct net_report *report)
{
	free(result->network.connections);
	result->network = *report;
	result->network_mode = !policy ? "none" : net_policy_is_public(policy) ? "public" : "allow";
	*report = (struct net_report){ 0 };
}

static json_t *connection_time(uint64_t usec)
{
	const time_t second = (time_t)(usec / 1000000);
	struct tm parts;
	char day[32], text[48];

	gmtime_r(&second, &parts);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &parts);
	snprintf(text, sizeof(text), "%s.%03dZ", day, (int)(usec % 1000000 / 1000));
	return json_string(text);
}

static json_t *text_or_null(const char *text)
{
	return *text ? json_string(text) : json_null();
}

json_t *result_connection_json(const struct net_connection *c)
{
	return json_pack("{s:o, s:o, s:o, s:i, s:o, s:s, s:s, s:s, s:I, s:I, s:f, s:b}", "time",
			 connection_time(c->time_usec), "host", text_or_null(c->host), "address",
			 text_or_null(c->address), "port", (int)c->port, "rule", text_or_null(c->rule), "verdict",
			 c->allowed ? "allowed" : "refused", "reason", net_reason_name((enum net_reason)c->reason),
			 "level", net_level_name((enum net_level)c->level), "sent", (json_int_t)c->sent, "received",
			 (json_int_t)c->received, "duration", (double)c->duration_usec / 1e6, "open", c->open);
}

json_t *result_network_json(const struct result *result, size_t most)
{
	const struct net_report *report = &result->network;
	json_t *list = json_array();

	for (size_t i = 0; i < report->count && i < most; i++)
		json_array_append_new(list, result_connection_json(&report->connections[i]));
	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:b, s:o}", "mode", result->network_mode ?: "none", "allowed",
			 (json_int_t)report->allowed, "refused", (json_int_t)report->refused, "queries",
			 (json_int_t)report->queries, "sent", (json_int_t)report->sent, "received",
			 (json_int_t)report->received, "complete", !report->gone && report->lost == 0, "connections",
			 list);
}

static struct net_outcome outcome_of(const struct net_connection *connection)
{
	return (struct net_outcome){ .host = connection->host,
				     .port = connection->port,
				     .reason = (enum net_reason)connection->reason,
				     .rule = connection->rule,
				     .address = connection->address };
}

void result_refusal_sentence(const struct net_connection *connection, struct buf *out)
{
	const struct net_outcome outcome = outcome_of(connection);

	net_why_sentence(&outcome, out);
}

bool result_refusal_rule(const struct net_connection *connection, struct buf *out)
{
	const struct net_outcome outcome = outcome_of(connection);

	return net_why_rule(&outcome, out);
}

const struct net_connection *result_refused_connection(const struct result *result)
{
	const struct net_connection *found = NULL;

	for (size_t i = 0; i < result->network.count; i++) {
		const struct net_connection *connection = &result->network.connections[i];
		_cleanup_buf_ struct buf rule = { 0 };

		if (connection->allowed)
			continue;
		if (result_refusal_rule(connection, &rule))
			found = connection;
		else if (!found)
			found = connection;
	}
	return found;
}
