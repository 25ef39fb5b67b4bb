/* A policy as text, between the process that made it and egress. */
#include "net/net_policy.h"

#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Lines "KEY VALUE" that are read one after another. */
struct policy_lines {
	char *rest;        /* what is not read yet */
	struct error *err; /* the caller's */
};

void net_policy_write(const struct net_policy *policy, struct buf *out)
{
	buf_printf(out, "rate %" PRIu64 "\n", policy->rate);
	buf_printf(out, "total %" PRIu64 "\n", policy->total);
	buf_printf(out, "connections %" PRIu32 "\n", policy->connections);
	buf_printf(out, "connections-total %" PRIu32 "\n", policy->connections_total);
	buf_printf(out, "host %d\n", policy->host_allowed);
	for (size_t i = 0; i < policy->list_count; i++) {
		buf_text(out, "list ");
		net_list_write(&policy->lists[i], out);
		buf_text(out, "\n");
	}
}

static int refuse_text(struct error *err)
{
	return error_set(err, ERROR_FAILED, 0, "the text of a network policy is not one that emberbox wrote");
}

/* The value of the next line; NULL: it has another key. */
static char *next_value(struct policy_lines *lines, const char *key)
{
	const size_t size = strlen(key);
	char *end = strchr(lines->rest, '\n'), *value = lines->rest + size + 1;

	if (!end || strncmp(lines->rest, key, size) != 0 || lines->rest[size] != ' ')
		return NULL;
	*end = '\0';
	lines->rest = end + 1;
	return value;
}

static int read_number(struct policy_lines *lines, const char *key, uint64_t most, uint64_t *number)
{
	const char *value = next_value(lines, key);

	if (!value || !text_count(value, number) || *number > most)
		return refuse_text(lines->err);
	return 0;
}

static int read_numbers(struct policy_lines *lines, struct net_policy *policy)
{
	uint64_t connections, connections_total, host;

	if (read_number(lines, "rate", UINT64_MAX, &policy->rate) < 0 ||
	    read_number(lines, "total", UINT64_MAX, &policy->total) < 0 ||
	    read_number(lines, "connections", NET_CONNECTIONS_MAX, &connections) < 0 ||
	    read_number(lines, "connections-total", UINT32_MAX, &connections_total) < 0 ||
	    read_number(lines, "host", 1, &host) < 0)
		return -1;
	policy->connections = (uint32_t)connections;
	policy->connections_total = (uint32_t)connections_total;
	policy->host_allowed = host;
	return 0;
}

static int read_policy(char *text, struct arena *arena, struct net_policy *policy, struct error *err)
{
	struct policy_lines lines = { .rest = text, .err = err };

	if (read_numbers(&lines, policy) < 0)
		return -1;
	while (*lines.rest) {
		const char *value = next_value(&lines, "list");

		if (!value || policy->list_count == NET_LISTS_MAX)
			return refuse_text(err);
		if (net_list_parse(value, arena, &policy->lists[policy->list_count], err) < 0)
			return -1;
		policy->list_count++;
	}
	return 0;
}

/* Exactly what the policy would be written as: nothing that a reader might understand in another way. */
static int check_same(const struct net_policy *policy, const char *text, size_t size, struct error *err)
{
	_cleanup_buf_ struct buf again = { 0 };

	net_policy_write(policy, &again);
	if (again.failed)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the network policy");
	return again.size == size && memcmp(again.data, text, size) == 0 ? 0 : refuse_text(err);
}

int net_policy_read(const char *text, size_t size, struct arena *arena, struct net_policy *policy, struct error *err)
{
	char *copy;

	*policy = (struct net_policy){ 0 };
	if (size >= NET_POLICY_TEXT || memchr(text, '\0', size))
		return refuse_text(err);
	copy = arena_copy(arena, text, size);
	if (!copy)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the network policy");
	if (read_policy(copy, arena, policy, err) == 0 && check_same(policy, text, size, err) == 0)
		return 0;
	*policy = (struct net_policy){ 0 };
	return -1;
}
