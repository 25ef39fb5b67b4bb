/* A network policy as text between processes. */
#include "../check.h"
#include "net_pool.h"

static void policies_come_back_from_their_text(void)
{
	chance_state = 3;
	for (int i = 0; i < 1000; i++) {
		_cleanup_arena_ struct arena arena = { 0 };
		_cleanup_buf_ struct buf once = { 0 }, twice = { 0 };
		struct net_policy policy, again;
		struct error err = { 0 };

		random_policy(&arena, &policy, chance(NET_LISTS_MAX + 1));
		net_policy_write(&policy, &once);
		if (net_policy_read(once.data, once.size, &arena, &again, &err) < 0) {
			check_fail("%s: %s", once.data, err.text);
			return;
		}
		net_policy_write(&again, &twice);
		CHECK_STR(twice.data, once.data);
		CHECK_INT(again.list_count, policy.list_count);
		CHECK(again.rate == policy.rate && again.total == policy.total &&
		      again.connections == policy.connections && again.connections_total == policy.connections_total &&
		      again.host_allowed == policy.host_allowed);
		for (size_t k = 0; k < policy.list_count; k++)
			CHECK_INT(again.lists[k].count, policy.lists[k].count);
	}
}

/* The largest policy has room in its text. */
static void the_text_of_a_policy_is_bounded(void)
{
	_cleanup_arena_ struct arena arena = { 0 };
	_cleanup_buf_ struct buf list = { 0 }, text = { 0 };
	struct net_policy policy, again;
	struct error err = { 0 };

	while (list.size + 200 < NET_LIST_TEXT)
		buf_printf(&list, "%s%063d.%063d.%063d.ex", list.size > 0 ? "," : "", 1, 2, (int)list.size);
	make_policy(LISTS(list.data, list.data, list.data, list.data), &arena, &policy);
	policy.rate = policy.total = UINT64_MAX;
	policy.connections = NET_CONNECTIONS_MAX;
	policy.connections_total = UINT32_MAX;
	policy.host_allowed = true;
	net_policy_write(&policy, &text);
	CHECK(text.size < NET_POLICY_TEXT);
	CHECK(text.size + 4 * 200 + 200 > 4 * NET_LIST_TEXT);
	CHECK_INT(net_policy_read(text.data, text.size, &arena, &again, &err), 0);
}

#define HEAD "rate 1\ntotal 2\nconnections 3\nconnections-total 4\nhost 1\n"

static void text_is_refused(const char *text, size_t size)
{
	_cleanup_arena_ struct arena arena = { 0 };
	struct net_policy policy;
	struct error err = { 0 };

	if (net_policy_read(text, size, &arena, &policy, &err) == 0)
		check_fail("\"%s\" is read", text);
	CHECK(err.text[0] != '\0');
	CHECK_INT(policy.list_count, 0);
	CHECK(!policy.host_allowed && policy.connections == 0);
}

static void texts_of_policies_are_checked_again(void)
{
	static const char *const texts[] = {
		"",
		"\n",
		"rate 1\n",
		"rate 1\ntotal 2\nconnections 3\nconnections-total 4\n",
		"rate 1\ntotal 2\nconnections 3\nconnections-total 4\nhost 1",
		"rate 1\ntotal 2\nconnections 3\nconnections-total 4\nhost 2\n",
		"rate 1\ntotal 2\nconnections 3\nconnections-total 4\nhost 01\n",
		"rate -1\ntotal 2\nconnections 3\nconnections-total 4\nhost 1\n",
		"rate +1\ntotal 2\nconnections 3\nconnections-total 4\nhost 1\n",
		"rate 1k\ntotal 2\nconnections 3\nconnections-total 4\nhost 1\n",
		"rate \ntotal 2\nconnections 3\nconnections-total 4\nhost 1\n",
		"rate 18446744073709551616\ntotal 2\nconnections 3\nconnections-total 4\nhost 1\n",
		"rate 1\ntotal 2\nconnections 16385\nconnections-total 4\nhost 1\n",
		"rate 1\ntotal 2\nconnections 3\nconnections-total 4294967296\nhost 1\n",
		"total 2\nrate 1\nconnections 3\nconnections-total 4\nhost 1\n",
		"rate 1\nrate 1\ntotal 2\nconnections 3\nconnections-total 4\nhost 1\n",
		" " HEAD,
		HEAD "\n",
		HEAD "list\n",
		HEAD "list \n",
		HEAD "list a.example",
		HEAD "list a.example\nx",
		HEAD "list a.example\nrate 1\n",
		HEAD "list A.example\n",
		HEAD "list  a.example\n",
		HEAD "list a.example:80+443\n",
		HEAD "list a.example,a.example\n",
		HEAD "list b.example#private+no-sni\n",
		HEAD "list *.com\n",
		HEAD "list 127.0.0.1:80\n",
		HEAD "list a.example\nlist none\nlist none\nlist none\nlist none\n",
		HEAD "list a.example\r\n",
	};
	_cleanup_arena_ struct arena arena = { 0 };
	_cleanup_buf_ struct buf large = { 0 };
	struct net_policy policy;
	struct error err = { 0 };

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		text_is_refused(texts[i], strlen(texts[i]));
	text_is_refused(HEAD "\0", strlen(HEAD) + 1);
	text_is_refused("rate 1\0\ntotal 2\n", 16);
	while (large.size < NET_POLICY_TEXT)
		buf_text(&large, "list none\n");
	text_is_refused(large.data, large.size);
	/* The control. */
	CHECK_INT(net_policy_read(HEAD "list a.example\n", strlen(HEAD "list a.example\n"), &arena, &policy, &err), 0);
	CHECK_INT(policy.rate, 1);
	CHECK_INT(policy.total, 2);
	CHECK_INT(policy.connections, 3);
	CHECK_INT(policy.connections_total, 4);
	CHECK(policy.host_allowed);
	CHECK_INT(policy.list_count, 1);
	CHECK_STR(policy.lists[0].rules[0].text, "a.example");
	CHECK_INT(net_policy_read(HEAD, strlen(HEAD), &arena, &policy, &err), 0);
	CHECK_INT(policy.list_count, 0);
}

int main(void)
{
	RUN(policies_come_back_from_their_text);
	RUN(the_text_of_a_policy_is_bounded);
	RUN(texts_of_policies_are_checked_again);
	return check_failures != 0;
}
