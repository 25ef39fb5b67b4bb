/* The decision about a connection, what a policy needs in the box, and the policy as text. */
#include "../check.h"
#include "net_pool.h"

static void decide(const struct net_policy *policy, const char *host, unsigned port, const char *method,
		   const char *path, struct net_decision *decision)
{
	struct net_address address;
	const bool numeric = net_address_parse(host, &address);
	const struct net_question question = {
		.name = numeric ? NULL : host,
		.address = numeric ? &address : NULL,
		.port = (uint16_t)port,
		.method = method,
		.path = path,
	};

	net_policy_decide(policy, &question, decision);
}

/* The reason and the rule, "" for none. */
static void request_is(const char *const *lists, const char *host, unsigned port, const char *method, const char *path,
		       enum net_reason reason, const char *rule)
{
	_cleanup_arena_ struct arena arena = { 0 };
	struct net_policy policy;
	struct net_decision decision;

	make_policy(lists, &arena, &policy);
	decide(&policy, host, port, method, path, &decision);
	if (decision.reason != reason || decision.allowed != (reason == NET_REASON_RULE))
		check_fail("%s: %s:%u %s %s: %s", lists[0], host, port, method ?: "", path ?: "",
			   net_reason_name(decision.reason));
	CHECK_STR(decision.rule ? decision.rule->text : "", rule);
}

static void connection_is(const char *const *lists, const char *host, unsigned port, enum net_reason reason,
			  const char *rule)
{
	request_is(lists, host, port, NULL, NULL, reason, rule);
}

static void names_are_allowed_by_their_rules(void)
{
	const char *const *lists = LISTS("pypi.org,db.example:5432");

	connection_is(lists, "pypi.org", 443, NET_REASON_RULE, "pypi.org");
	connection_is(lists, "pypi.org", 80, NET_REASON_RULE, "pypi.org");
	connection_is(lists, "db.example", 5432, NET_REASON_RULE, "db.example:5432");
	connection_is(lists, "pypi.org", 0, NET_REASON_RULE, "pypi.org");
	connection_is(lists, "pypi.org", 22, NET_REASON_PORT, "pypi.org");
	connection_is(lists, "db.example", 443, NET_REASON_PORT, "db.example:5432");
	connection_is(lists, "www.pypi.org", 443, NET_REASON_NO_RULE, "");
	connection_is(lists, "ypi.org", 443, NET_REASON_NO_RULE, "");
	connection_is(lists, "xpypi.org", 443, NET_REASON_NO_RULE, "");
	connection_is(lists, "pypi.org.evil.example", 443, NET_REASON_NO_RULE, "");
	connection_is(lists, "org", 443, NET_REASON_NO_RULE, "");
	connection_is(lists, "host", 443, NET_REASON_NO_RULE, "");
	connection_is(lists, "151.101.0.223", 443, NET_REASON_NO_RULE, "");
}

static void a_wildcard_does_not_match_its_apex(void)
{
	const char *const *lists = LISTS("*.example.com:443");

	connection_is(lists, "a.example.com", 443, NET_REASON_RULE, "*.example.com:443");
	connection_is(lists, "a.b.c.example.com", 443, NET_REASON_RULE, "*.example.com:443");
	connection_is(lists, "a.example.com", 80, NET_REASON_PORT, "*.example.com:443");
	connection_is(lists, "example.com", 443, NET_REASON_NO_RULE, "");
	connection_is(lists, "aexample.com", 443, NET_REASON_NO_RULE, "");
	connection_is(lists, "example.com.evil.org", 443, NET_REASON_NO_RULE, "");
	connection_is(lists, "com", 443, NET_REASON_NO_RULE, "");
}

static void names_that_are_not_canonical_are_refused(void)
{
	static const char *const names[] = { "PyPI.org",   "pypi.org.",      "",       "pypi..org",
					     "pypi.org\n", "bücher.example", "0x7f.1", "127.1" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		connection_is(LISTS("pypi.org,public"), names[i], 443, NET_REASON_NAME, "");
}

static void a_question_about_nothing_is_refused(void)
{
	_cleanup_arena_ struct arena arena = { 0 };
	const struct net_question question = { .port = 443 };
	struct net_decision decision;
	struct net_policy policy;

	make_policy(LISTS("public"), &arena, &policy);
	net_policy_decide(&policy, &question, &decision);
	CHECK(!decision.allowed);
	CHECK_INT(decision.reason, NET_REASON_NO_RULE);
}

static void addresses_are_allowed_by_their_ranges(void)
{
	const char *const *lists = LISTS("10.0.0.0/8:22,93.184.216.34:443,[2001:db8::/32]:443,169.254.169.254:80");

	connection_is(lists, "10.1.2.3", 22, NET_REASON_RULE, "10.0.0.0/8:22");
	connection_is(lists, "10.1.2.3", 23, NET_REASON_PORT, "10.0.0.0/8:22");
	connection_is(lists, "11.1.2.3", 22, NET_REASON_NO_RULE, "");
	connection_is(lists, "::ffff:10.1.2.3", 22, NET_REASON_RULE, "10.0.0.0/8:22");
	connection_is(lists, "93.184.216.34", 443, NET_REASON_RULE, "93.184.216.34:443");
	connection_is(lists, "93.184.216.35", 443, NET_REASON_NO_RULE, "");
	connection_is(lists, "2001:db8:1::1", 443, NET_REASON_RULE, "[2001:db8::/32]:443");
	connection_is(lists, "169.254.169.254", 80, NET_REASON_RULE, "169.254.169.254:80");
	connection_is(lists, "169.254.169.253", 80, NET_REASON_NO_RULE, "");
	/* The address in another form is another address. */
	connection_is(lists, "64:ff9b::a9fe:a9fe", 80, NET_REASON_NO_RULE, "");
}

/* A range that merely covers special addresses does not name them. */
static void wide_ranges_lead_to_public_addresses_alone(void)
{
	const char *const *lists = LISTS("0.0.0.0/0:80,[::/0]:80");

	connection_is(lists, "8.8.8.8", 80, NET_REASON_RULE, "0.0.0.0/0:80");
	connection_is(lists, "2606:4700::1", 80, NET_REASON_RULE, "[::/0]:80");
	connection_is(lists, "10.0.0.1", 80, NET_REASON_SCOPE, "0.0.0.0/0:80");
	connection_is(lists, "127.0.0.1", 80, NET_REASON_SCOPE, "0.0.0.0/0:80");
	connection_is(lists, "169.254.169.254", 80, NET_REASON_SCOPE, "0.0.0.0/0:80");
	connection_is(lists, "fd00::1", 80, NET_REASON_SCOPE, "[::/0]:80");
	connection_is(lists, "::1", 80, NET_REASON_SCOPE, "[::/0]:80");
	connection_is(lists, "64:ff9b::a9fe:a9fe", 80, NET_REASON_SCOPE, "[::/0]:80");
	connection_is(lists, "64:ff9b::808:808", 80, NET_REASON_RULE, "[::/0]:80");
	connection_is(LISTS("[64:ff9b::/96]:80"), "64:ff9b::a9fe:a9fe", 80, NET_REASON_SCOPE, "[64:ff9b::/96]:80");
	connection_is(LISTS("[64:ff9b::a9fe:a9fe]:80"), "64:ff9b::a9fe:a9fe", 80, NET_REASON_RULE,
		      "[64:ff9b::a9fe:a9fe]:80");
	connection_is(LISTS("10.0.0.0/7:80"), "10.0.0.1", 80, NET_REASON_SCOPE, "10.0.0.0/7:80");
	connection_is(LISTS("10.0.0.0/7:80"), "11.0.0.1", 80, NET_REASON_RULE, "10.0.0.0/7:80");
}

static void public_allows_every_public_host(void)
{
	const char *const *lists = LISTS("public");

	connection_is(lists, "anything.example", 443, NET_REASON_RULE, "public");
	connection_is(lists, "anything.example", 1, NET_REASON_RULE, "public");
	connection_is(lists, "8.8.8.8", 53, NET_REASON_RULE, "public");
	connection_is(lists, "2606:4700::1", 65535, NET_REASON_RULE, "public");
	connection_is(lists, "10.0.0.1", 80, NET_REASON_SCOPE, "public");
	connection_is(lists, "169.254.169.254", 80, NET_REASON_SCOPE, "public");
	connection_is(lists, "168.63.129.16", 80, NET_REASON_SCOPE, "public");
	connection_is(lists, "::ffff:127.0.0.1", 80, NET_REASON_SCOPE, "public");
	connection_is(lists, "2002:7f00:1::", 80, NET_REASON_SCOPE, "public");
	connection_is(lists, "198.18.0.1", 80, NET_REASON_SCOPE, "public");
	/* emberbox's own machine is not public. */
	connection_is(lists, "host", 443, NET_REASON_NO_RULE, "");
	connection_is(LISTS("public,10.0.0.1:80"), "10.0.0.1", 80, NET_REASON_RULE, "10.0.0.1:80");
	connection_is(LISTS("public,10.0.0.1:80"), "10.0.0.1", 81, NET_REASON_PORT, "10.0.0.1:80");
}

static void the_host_needs_the_configuration(void)
{
	_cleanup_arena_ struct arena arena = { 0 };
	struct net_decision decision;
	struct net_policy policy;

	make_policy(LISTS("host:5432"), &arena, &policy);
	decide(&policy, "host", 5432, NULL, NULL, &decision);
	CHECK(!decision.allowed);
	CHECK_INT(decision.reason, NET_REASON_NARROWED);
	policy.host_allowed = true;
	decide(&policy, "host", 5432, NULL, NULL, &decision);
	CHECK(decision.allowed);
	CHECK_STR(decision.rule->text, "host:5432");
	decide(&policy, "host", 5433, NULL, NULL, &decision);
	CHECK_INT(decision.reason, NET_REASON_PORT);
	/* Only under its name. */
	decide(&policy, "127.0.0.1", 5432, NULL, NULL, &decision);
	CHECK_INT(decision.reason, NET_REASON_NO_RULE);
	decide(&policy, "a.host", 5432, NULL, NULL, &decision);
	CHECK_INT(decision.reason, NET_REASON_NO_RULE);
}

static void none_allows_nothing(void)
{
	_cleanup_arena_ struct arena arena = { 0 };
	struct net_policy policy = { 0 };
	struct net_decision decision;

	connection_is(LISTS("none"), "pypi.org", 443, NET_REASON_NO_RULE, "");
	connection_is(LISTS("none", "public"), "pypi.org", 443, NET_REASON_NO_RULE, "");
	connection_is(LISTS("public", "none"), "pypi.org", 443, NET_REASON_NARROWED, "public");
	decide(&policy, "pypi.org", 443, NULL, NULL, &decision);
	CHECK(!decision.allowed);
	CHECK_INT(decision.reason, NET_REASON_NO_RULE);
	CHECK(net_policy_is_none(&policy));
	CHECK(!net_policy_is_public(&policy));
	make_policy(LISTS("none"), &arena, &policy);
	CHECK(net_policy_is_none(&policy));
	make_policy(LISTS("a.example"), &arena, &policy);
	CHECK(!net_policy_is_none(&policy));
	CHECK(!net_policy_is_public(&policy));
	make_policy(LISTS("public"), &arena, &policy);
	CHECK(net_policy_is_public(&policy));
	make_policy(LISTS("public", "public,a.example"), &arena, &policy);
	CHECK(net_policy_is_public(&policy));
	make_policy(LISTS("public", "a.example"), &arena, &policy);
	CHECK(!net_policy_is_public(&policy));
}

static void further_lists_narrow(void)
{
	connection_is(LISTS("pypi.org,a.example", "pypi.org"), "pypi.org", 443, NET_REASON_RULE, "pypi.org");
	connection_is(LISTS("pypi.org,a.example", "pypi.org"), "a.example", 443, NET_REASON_NARROWED, "a.example");
	connection_is(LISTS("pypi.org", "pypi.org,a.example"), "a.example", 443, NET_REASON_NO_RULE, "");
	connection_is(LISTS("pypi.org", "pypi.org:443"), "pypi.org", 80, NET_REASON_NARROWED, "pypi.org");
	connection_is(LISTS("pypi.org", "*.org.example,public"), "pypi.org", 443, NET_REASON_RULE, "pypi.org");
	connection_is(LISTS("public", "*.example.com", "a.example.com:443"), "a.example.com", 443, NET_REASON_RULE,
		      "public");
	connection_is(LISTS("public", "*.example.com", "a.example.com:443"), "b.example.com", 443, NET_REASON_NARROWED,
		      "public");
	connection_is(LISTS("10.0.0.5:80", "public"), "10.0.0.5", 80, NET_REASON_NARROWED, "10.0.0.5:80");
	connection_is(LISTS("10.0.0.5:80", "10.0.0.0/8:80"), "10.0.0.5", 80, NET_REASON_RULE, "10.0.0.5:80");
	connection_is(LISTS("a.example", "b.example", "a.example"), "a.example", 443, NET_REASON_NARROWED, "a.example");
	connection_is(LISTS("a.example", "a.example", "a.example", "none"), "a.example", 443, NET_REASON_NARROWED,
		      "a.example");
}

static void the_nearest_rule_is_named(void)
{
	connection_is(LISTS("public,*.example.com,*.a.example.com,b.a.example.com"), "b.a.example.com", 443,
		      NET_REASON_RULE, "b.a.example.com");
	connection_is(LISTS("public,*.example.com,*.a.example.com"), "b.a.example.com", 443, NET_REASON_RULE,
		      "*.a.example.com");
	connection_is(LISTS("*.example.com:1,a.example.com:2,*.com.example:3"), "a.example.com", 443, NET_REASON_PORT,
		      "a.example.com:2");
	connection_is(LISTS("a.example.com:2,*.example.com:1"), "a.example.com", 443, NET_REASON_PORT,
		      "a.example.com:2");
	connection_is(LISTS("10.0.0.0/8:1,10.0.0.0/24:2,10.0.0.0/16:3"), "10.0.0.9", 443, NET_REASON_PORT,
		      "10.0.0.0/24:2");
	/* What allows it comes before what is nearer. */
	connection_is(LISTS("a.example.com:22,*.example.com"), "a.example.com", 443, NET_REASON_RULE, "*.example.com");
}

static void requests_need_a_rule_for_their_method_and_path(void)
{
	const char *const *lists = LISTS("GET https://api.example/repos/*,POST https://api.example/login,"
					 "* https://api.example/any*,HEAD https://*.b.example/*");

	connection_is(lists, "api.example", 443, NET_REASON_RULE, "GET https://api.example/repos/*");
	connection_is(lists, "api.example", 80, NET_REASON_PORT, "GET https://api.example/repos/*");
	request_is(lists, "api.example", 443, "GET", "/repos/a", NET_REASON_RULE, "GET https://api.example/repos/*");
	request_is(lists, "api.example", 443, "GET", "/repos/", NET_REASON_RULE, "GET https://api.example/repos/*");
	request_is(lists, "api.example", 443, "GET", "/repos/%7Euser/a%2fb", NET_REASON_RULE,
		   "GET https://api.example/repos/*");
	request_is(lists, "api.example", 443, "GET", "/repos", NET_REASON_REQUEST, "GET https://api.example/repos/*");
	request_is(lists, "api.example", 443, "GET", "/repos%2Fa", NET_REASON_REQUEST,
		   "GET https://api.example/repos/*");
	request_is(lists, "api.example", 443, "POST", "/repos/a", NET_REASON_REQUEST,
		   "GET https://api.example/repos/*");
	request_is(lists, "api.example", 443, "get", "/repos/a", NET_REASON_REQUEST, "GET https://api.example/repos/*");
	request_is(lists, "api.example", 443, "HEAD", "/repos/a", NET_REASON_REQUEST,
		   "GET https://api.example/repos/*");
	request_is(lists, "api.example", 443, "POST", "/login", NET_REASON_RULE, "POST https://api.example/login");
	request_is(lists, "api.example", 443, "POST", "/%6cogin", NET_REASON_RULE, "POST https://api.example/login");
	request_is(lists, "api.example", 443, "POST", "/login/", NET_REASON_REQUEST, "GET https://api.example/repos/*");
	request_is(lists, "api.example", 443, "POST", "/Login", NET_REASON_REQUEST, "GET https://api.example/repos/*");
	request_is(lists, "api.example", 443, "PROPFIND", "/anything", NET_REASON_RULE, "* https://api.example/any*");
	request_is(lists, "api.example", 443, "CONNECT", "/anything", NET_REASON_REQUEST,
		   "GET https://api.example/repos/*");
	request_is(lists, "a.b.example", 443, "HEAD", "/", NET_REASON_RULE, "HEAD https://*.b.example/*");
	request_is(lists, "b.example", 443, "HEAD", "/", NET_REASON_NO_RULE, "");
}

static void paths_that_could_lead_elsewhere_match_no_path(void)
{
	static const char *const paths[] = { "/repos/../admin",
					     "/repos/%2e%2e/admin",
					     "/repos/..%2fadmin",
					     "/repos/..;/admin",
					     "/repos/%252e%252e/admin",
					     "/repos/a%00",
					     "/repos/a b",
					     "/repos/./a",
					     "/repos/a\r\nX: y",
					     "repos/a",
					     "",
					     "*",
					     "https://api.example/repos/a" };

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		request_is(LISTS("GET https://api.example/repos/*"), "api.example", 443, "GET", paths[i],
			   NET_REASON_REQUEST, "GET https://api.example/repos/*");
	request_is(LISTS("GET https://api.example/repos/*"), "api.example", 443, "GET", NULL, NET_REASON_REQUEST,
		   "GET https://api.example/repos/*");
	/* A rule for all paths, or none for requests, needs no form of them. */
	request_is(LISTS("GET https://api.example/*"), "api.example", 443, "GET", "/a/../b%00", NET_REASON_RULE,
		   "GET https://api.example/*");
	request_is(LISTS("GET https://api.example/*"), "api.example", 443, "GET", "http://b/", NET_REASON_REQUEST,
		   "GET https://api.example/*");
	request_is(LISTS("GET https://api.example/*"), "api.example", 443, "GET", NULL, NET_REASON_REQUEST,
		   "GET https://api.example/*");
	request_is(LISTS("api.example#terminate"), "api.example", 443, "GET", "/a/../b", NET_REASON_RULE,
		   "api.example#terminate");
	request_is(LISTS("api.example"), "api.example", 443, "CONNECT", "b:443", NET_REASON_REQUEST, "api.example");
}

static void lists_narrow_requests(void)
{
	const char *const *lists = LISTS("GET https://a.example/x/*", "* https://a.example/x/y*");

	request_is(lists, "a.example", 443, "GET", "/x/y", NET_REASON_RULE, "GET https://a.example/x/*");
	request_is(lists, "a.example", 443, "GET", "/x/z", NET_REASON_NARROWED, "GET https://a.example/x/*");
	request_is(lists, "a.example", 443, "PUT", "/x/y", NET_REASON_REQUEST, "GET https://a.example/x/*");
	request_is(LISTS("a.example", "GET https://a.example/x"), "a.example", 443, "GET", "/x", NET_REASON_RULE,
		   "a.example");
	request_is(LISTS("a.example", "GET https://a.example/x"), "a.example", 443, "GET", "/y", NET_REASON_NARROWED,
		   "a.example");
}

static void flags_are(const char *const *lists, const char *host, unsigned port, const char *method, bool terminate,
		      bool private_too, bool without_sni)
{
	_cleanup_arena_ struct arena arena = { 0 };
	struct net_decision decision;
	struct net_policy policy;

	make_policy(lists, &arena, &policy);
	decide(&policy, host, port, method, method ? "/" : NULL, &decision);
	if (decision.terminate != terminate || decision.private_too != private_too ||
	    decision.without_sni != without_sni)
		check_fail("%s for %s:%u %s: %d %d %d", lists[0], host, port, method ?: "", decision.terminate,
			   decision.private_too, decision.without_sni);
}

static void flags_hold_for_what_allows(void)
{
	flags_are(LISTS("a.example"), "a.example", 443, NULL, false, false, false);
	flags_are(LISTS("a.example#private"), "a.example", 443, NULL, false, true, false);
	flags_are(LISTS("a.example#no-sni"), "a.example", 443, NULL, false, false, true);
	flags_are(LISTS("a.example#terminate"), "a.example", 443, NULL, true, false, false);
	flags_are(LISTS("GET https://a.example/"), "a.example", 443, NULL, true, false, false);
	/* A rule for another port says nothing. */
	flags_are(LISTS("a.example,a.example:8443#private+no-sni+terminate"), "a.example", 443, NULL, false, false,
		  false);
	/* One rule that ends TLS ends it beside others. */
	flags_are(LISTS("*.b.example,a.b.example#terminate"), "a.b.example", 443, NULL, true, false, false);
	flags_are(LISTS("public,GET https://a.example/"), "a.example", 443, NULL, true, false, false);
	flags_are(LISTS("public,GET https://a.example/"), "b.example", 443, NULL, false, false, false);
	flags_are(LISTS("a.example", "a.example#terminate"), "a.example", 443, NULL, true, false, false);
	/* Of a private address and a missing name all lists have to approve. */
	flags_are(LISTS("a.example#private+no-sni", "a.example#private"), "a.example", 443, NULL, false, true, false);
	flags_are(LISTS("a.example#private+no-sni", "public#no-sni"), "a.example", 443, NULL, false, false, true);
	/* A request has those of the rules that allow it. */
	flags_are(LISTS("a.example,GET https://a.example/#private"), "a.example", 443, NULL, true, true, false);
	flags_are(LISTS("a.example,GET https://a.example/#private"), "a.example", 443, "GET", true, true, false);
	flags_are(LISTS("a.example,GET https://a.example/#private"), "a.example", 443, "PUT", true, false, false);
	/* What is refused has none. */
	flags_are(LISTS("a.example#private+no-sni"), "a.example", 22, NULL, false, false, false);
	flags_are(LISTS("a.example#private+no-sni", "none"), "a.example", 443, NULL, false, false, false);
	/* TLS to an address has no name. */
	flags_are(LISTS("10.0.0.5:443"), "10.0.0.5", 443, NULL, false, false, true);
}

/* Each list by itself allows what all of them allow, and with no wider flags. */
static void check_narrowing(const struct net_policy *policy, const char *host, unsigned port, const char *method,
			    const char *path, size_t *allowed)
{
	struct net_decision all;

	decide(policy, host, port, method, path, &all);
	if (all.allowed)
		++*allowed;
	bool every = true;

	for (size_t i = 0; i < policy->list_count; i++) {
		struct net_policy one = *policy;
		struct net_decision decision;

		one.lists[0] = policy->lists[i];
		one.list_count = 1;
		decide(&one, host, port, method, path, &decision);
		every &= decision.allowed;
		if ((all.allowed && !decision.allowed) || (all.private_too && !decision.private_too) ||
		    (all.without_sni && !decision.without_sni) || (all.allowed && decision.terminate && !all.terminate))
			check_fail("list %zu does not allow %s:%u %s %s", i, host, port, method ?: "", path);
	}
	if (every != all.allowed)
		check_fail("every list allows %s:%u %s %s, and together they do not", host, port, method ?: "", path);
}

static void narrowing_never_widens(void)
{
	size_t allowed = 0;

	chance_state = 1;
	for (int i = 0; i < 4000; i++) {
		_cleanup_arena_ struct arena arena = { 0 };
		struct net_policy policy;

		random_policy(&arena, &policy, 1 + chance(NET_LISTS_MAX));
		for (int k = 0; k < 12; k++)
			check_narrowing(&policy, POOL(pool_hosts), POOL(pool_ports), POOL(pool_methods),
					POOL(pool_paths), &allowed);
	}
	/* The control: not everything was refused. */
	CHECK(allowed > 1000);
}

/* Whatever is allowed can be planted. */
static void needs_cover(const struct net_policy *policy, const char *host, unsigned port, size_t *allowed)
{
	struct net_address address;
	struct error err = { 0 };
	struct net_decision decision;
	struct net_needs needs;
	bool has_port = false, has_range = false;

	decide(policy, host, port, NULL, NULL, &decision);
	if (!decision.allowed || port == 0 || net_policy_needs(policy, &needs, &err) < 0)
		return;
	++*allowed;
	for (size_t i = 0; i < needs.port_count; i++)
		has_port |= needs.ports[i] == port;
	for (size_t i = 0; net_address_parse(host, &address) && i < needs.range_count; i++)
		has_range |= net_address_within(&address, &needs.ranges[i].base, needs.ranges[i].bits);
	if (!needs.everything && (!has_port || (net_address_parse(host, &address) && !has_range)))
		check_fail("%s:%u is allowed, and not planted", host, port);
}

static void needs_cover_all_that_is_allowed(void)
{
	size_t allowed = 0;

	chance_state = 2;
	for (int i = 0; i < 4000; i++) {
		_cleanup_arena_ struct arena arena = { 0 };
		struct net_policy policy;

		random_policy(&arena, &policy, 1 + chance(3));
		for (int k = 0; k < 12; k++)
			needs_cover(&policy, POOL(pool_hosts), POOL(pool_ports), &allowed);
	}
	CHECK(allowed > 1000);
}

static void needs_are(const char *const *lists, const char *want)
{
	_cleanup_arena_ struct arena arena = { 0 };
	_cleanup_buf_ struct buf got = { 0 };
	char text[NET_ADDRESS_TEXT];
	struct error err = { 0 };
	struct net_policy policy;
	struct net_needs needs;

	make_policy(lists, &arena, &policy);
	policy.host_allowed = true;
	if (net_policy_needs(&policy, &needs, &err) < 0) {
		check_fail("%s: %s", lists[0], err.text);
		return;
	}
	for (size_t i = 0; i < needs.port_count; i++)
		buf_printf(&got, "%u ", needs.ports[i]);
	for (size_t i = 0; i < needs.range_count; i++) {
		net_address_text(&needs.ranges[i].base, text);
		buf_printf(&got, "%s/%u ", text, needs.ranges[i].bits);
	}
	buf_text(&got, needs.everything ? "everything" : "");
	CHECK_STR(got.data ?: "", want);
}

static void needs_are_what_could_be_reached(void)
{
	needs_are(LISTS("none"), "");
	needs_are(LISTS("a.example"), "80 443 ");
	needs_are(LISTS("a.example,b.example:22,host:5432"), "22 80 443 5432 ");
	needs_are(LISTS("GET https://a.example/"), "443 ");
	needs_are(LISTS("10.0.0.5:22,10.0.0.0/8:80,[2001:db8::1]:80"), "22 80 10.0.0.0/8 2001:db8::1/128 ");
	needs_are(LISTS("10.0.0.0/8:80,10.0.0.5:22,10.0.0.0/8:23"), "22 23 80 10.0.0.0/8 ");
	needs_are(LISTS("0.0.0.0/0:80"), "80 0.0.0.0/0 ");
	needs_are(LISTS("public"), "everything");
	needs_are(LISTS("public,10.0.0.5:22"), "everything");
	needs_are(LISTS("public", "public"), "everything");
	needs_are(LISTS("public", "a.example:443"), "443 ");
	needs_are(LISTS("a.example", "public"), "80 443 ");
	needs_are(LISTS("a.example", "a.example:443,b.example:22"), "443 ");
	needs_are(LISTS("a.example", "b.example:22"), "");
	needs_are(LISTS("a.example,10.0.0.0/8:80", "none"), "");
	needs_are(LISTS("10.0.0.0/8:80", "10.1.0.0/16:80,11.0.0.0/8:80"), "80 10.1.0.0/16 ");
	needs_are(LISTS("10.1.0.0/16:80", "10.0.0.0/8:80"), "80 10.1.0.0/16 ");
	needs_are(LISTS("10.0.0.0/8:80", "public"), "80 ");
	needs_are(LISTS("8.8.8.8:53,10.0.0.0/8:80", "public"), "53 80 8.8.8.8/32 ");
	needs_are(LISTS("public", "8.8.8.8:53,10.0.0.0/8:80"), "53 80 8.8.8.8/32 ");
	needs_are(LISTS("public,10.0.0.5:80", "10.0.0.0/8:80"), "80 10.0.0.5/32 ");
}

static void needs_have_bounds(void)
{
	_cleanup_arena_ struct arena arena = { 0 };
	_cleanup_buf_ struct buf text = { 0 };
	struct error err = { 0 };
	struct net_policy policy;
	struct net_needs needs;

	for (int i = 0; i <= NET_PORTS_MAX; i++)
		buf_printf(&text, "%sa.example:%d", i > 0 ? "," : "", 1000 + i);
	make_policy(LISTS(text.data), &arena, &policy);
	CHECK_INT(net_policy_needs(&policy, &needs, &err), -1);
	CHECK_STR(err.text, "net: the rules have more than 64 different ports");
	CHECK_STR(err.field, "net");
	*strrchr(text.data, ',') = '\0';
	make_policy(LISTS(text.data), &arena, &policy);
	CHECK_INT(net_policy_needs(&policy, &needs, &err), 0);
	CHECK_INT(needs.port_count, NET_PORTS_MAX);
	/* A list that narrows makes room. */
	buf_text(&text, "");
	text.data[strlen(text.data)] = ',';
	make_policy(LISTS(text.data, "a.example:1000+1064"), &arena, &policy);
	CHECK_INT(net_policy_needs(&policy, &needs, &err), 0);
	CHECK_INT(needs.port_count, 2);
	/* As many ranges as a list has rules. */
	text.size = 0;
	for (int i = 0; i < NET_RULES_MAX; i++)
		buf_printf(&text, "%s10.0.%d.0/24:80", i > 0 ? "," : "", i);
	make_policy(LISTS(text.data, text.data), &arena, &policy);
	CHECK_INT(net_policy_needs(&policy, &needs, &err), 0);
	CHECK_INT(needs.range_count, NET_RANGES_MAX);
}

static void a_rule_for_the_host_needs_the_configuration(void)
{
	_cleanup_arena_ struct arena arena = { 0 };
	struct error err = { 0 };
	struct net_policy policy;
	struct net_needs needs;

	make_policy(LISTS("a.example,host:5432"), &arena, &policy);
	CHECK_INT(net_policy_needs(&policy, &needs, &err), -1);
	CHECK_STR(err.text,
		  "net: \"host:5432\" is not allowed: the configuration of emberbox opens no services of its own "
		  "machine to boxes");
	CHECK_INT(err.code, CODE_BLOCKED);
	policy.host_allowed = true;
	CHECK_INT(net_policy_needs(&policy, &needs, &err), 0);
	/* A token may name what nobody asks for. */
	make_policy(LISTS("a.example", "a.example,host:5432"), &arena, &policy);
	CHECK_INT(net_policy_needs(&policy, &needs, &err), 0);
}

static void every_reason_has_a_name_and_words(void)
{
	for (int i = 0; i < NET_REASONS; i++) {
		const char *name = net_reason_name((enum net_reason)i), *words = net_reason_words((enum net_reason)i);

		CHECK(name && *name && strspn(name, "abcdefghijklmnopqrstuvwxyz-") == strlen(name));
		CHECK(words && *words && words[strlen(words) - 1] != '.');
		for (int k = 0; k < i; k++) {
			CHECK(strcmp(name, net_reason_name((enum net_reason)k)) != 0);
			CHECK(strcmp(words, net_reason_words((enum net_reason)k)) != 0);
		}
	}
	CHECK_STR(net_reason_name(NET_REASON_NO_RULE), "no-rule");
	CHECK_STR(net_reason_name(NET_REASON_PORT), "port");
	CHECK_STR(net_reason_name(NET_REASONS), "");
	CHECK_STR(net_reason_words(NET_REASONS), "");
	CHECK_STR(net_level_name(NET_LEVEL_NAME), "name");
	CHECK_STR(net_level_name(NET_LEVEL_SNI), "sni");
	CHECK_STR(net_level_name(NET_LEVEL_REQUEST), "request");
	CHECK_STR(net_level_name((enum net_level)9), "");
}

int main(void)
{
	RUN(names_are_allowed_by_their_rules);
	RUN(a_wildcard_does_not_match_its_apex);
	RUN(names_that_are_not_canonical_are_refused);
	RUN(a_question_about_nothing_is_refused);
	RUN(addresses_are_allowed_by_their_ranges);
	RUN(wide_ranges_lead_to_public_addresses_alone);
	RUN(public_allows_every_public_host);
	RUN(the_host_needs_the_configuration);
	RUN(none_allows_nothing);
	RUN(further_lists_narrow);
	RUN(the_nearest_rule_is_named);
	RUN(requests_need_a_rule_for_their_method_and_path);
	RUN(paths_that_could_lead_elsewhere_match_no_path);
	RUN(lists_narrow_requests);
	RUN(flags_hold_for_what_allows);
	RUN(narrowing_never_widens);
	RUN(needs_cover_all_that_is_allowed);
	RUN(needs_are_what_could_be_reached);
	RUN(needs_have_bounds);
	RUN(a_rule_for_the_host_needs_the_configuration);
	RUN(every_reason_has_a_name_and_words);
	return check_failures != 0;
}
