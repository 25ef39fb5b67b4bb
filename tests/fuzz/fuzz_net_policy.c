/* The text of a policy, as egress gets it: exactly what would be written again, or nothing. */
#include "fuzz.h"

#include "net/net_policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_arena_ struct arena arena = { 0 };
	const struct net_question question = { .name = "a.example", .port = 443, .method = "GET", .path = "/x" };
	struct net_decision decision;
	struct net_policy policy;
	struct error err = { 0 };
	struct buf out = { 0 };
	/* Its own allocation, without a NUL behind it. */
	char *text = malloc(size + !size);

	MUST(text);
	memcpy(text, data, size);
	if (net_policy_read(text, size, &arena, &policy, &err) < 0) {
		MUST(err.text[0] && policy.list_count == 0 && !policy.host_allowed);
	} else {
		net_policy_write(&policy, &out);
		MUST(out.size == size && memcmp(out.data, text, size) == 0);
		MUST(policy.connections <= NET_CONNECTIONS_MAX && policy.list_count <= NET_LISTS_MAX);
		net_policy_decide(&policy, &question, &decision);
		MUST(!decision.allowed || policy.list_count > 0);
	}
	buf_free(&out);
	free(text);
	return 0;
}
