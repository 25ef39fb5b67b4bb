/* The sentence about each decision, and the rule that would change it. */
#include "../check.h"
#include "net_pool.h"

#include "net/net_why.h"

#define OUTCOME(...) (&(const struct net_outcome){ __VA_ARGS__ })

static void sentence_is(const struct net_outcome *outcome, const char *want, const char *rule)
{
	_cleanup_buf_ struct buf sentence = { 0 }, allow = { 0 };

	net_why_sentence(outcome, &sentence);
	CHECK_STR(sentence.data, want);
	CHECK(net_why_rule(outcome, &allow) == (rule != NULL));
	CHECK_STR(allow.data ?: "", rule ?: "");
}

static void a_missing_rule_is_named(void)
{
	sentence_is(OUTCOME(.host = "pypi.org", .port = 443, .reason = NET_REASON_NO_RULE),
		    "Network access to pypi.org:443 is not allowed; allow it with --net pypi.org:443", "pypi.org:443");
	sentence_is(OUTCOME(.host = "pypi.org", .reason = NET_REASON_NO_RULE),
		    "Network access to pypi.org is not allowed; allow it with --net pypi.org", "pypi.org");
	sentence_is(OUTCOME(.host = "10.0.0.5", .port = 5432, .reason = NET_REASON_NO_RULE),
		    "Network access to 10.0.0.5:5432 is not allowed; allow it with --net 10.0.0.5:5432",
		    "10.0.0.5:5432");
	sentence_is(OUTCOME(.host = "2001:db8::1", .port = 443, .reason = NET_REASON_NO_RULE),
		    "Network access to [2001:db8::1]:443 is not allowed; allow it with --net [2001:db8::1]:443",
		    "[2001:db8::1]:443");
	sentence_is(OUTCOME(.host = "host", .port = 5432, .reason = NET_REASON_NO_RULE),
		    "Network access to host:5432 is not allowed; allow it with --net host:5432", "host:5432");
	sentence_is(OUTCOME(.host = "pypi.org", .port = 22, .reason = NET_REASON_PORT, .rule = "pypi.org"),
		    "Network access to pypi.org:22 is not allowed; allow it with --net pypi.org:22", "pypi.org:22");
}

/* No rule can open these, so none is named. */
static void a_rule_that_cannot_be_is_not_named(void)
{
	sentence_is(OUTCOME(.host = "127.0.0.1", .port = 80, .reason = NET_REASON_NO_RULE),
		    "Network access to 127.0.0.1:80 is not allowed: no rule names the host", NULL);
	sentence_is(OUTCOME(.host = "localhost", .port = 80, .reason = NET_REASON_NO_RULE),
		    "Network access to localhost:80 is not allowed: no rule names the host", NULL);
	sentence_is(OUTCOME(.host = "10.0.0.5", .reason = NET_REASON_NO_RULE),
		    "Network access to 10.0.0.5 is not allowed: no rule names the host", NULL);
	sentence_is(OUTCOME(.host = "224.0.0.1", .port = 80, .reason = NET_REASON_NO_RULE),
		    "Network access to 224.0.0.1:80 is not allowed: no rule names the host", NULL);
	sentence_is(OUTCOME(.host = "a..b", .port = 80, .reason = NET_REASON_PORT),
		    "Network access to a..b:80 is not allowed: a rule names the host, but not this port", NULL);
}

static void what_is_allowed_names_its_rule(void)
{
	sentence_is(OUTCOME(.host = "pypi.org", .port = 443, .reason = NET_REASON_RULE, .rule = "*.org.example"),
		    "Network access to pypi.org:443 is allowed, by the rule *.org.example", NULL);
	sentence_is(OUTCOME(.host = "pypi.org", .reason = NET_REASON_RULE), "Network access to pypi.org is allowed",
		    NULL);
	sentence_is(OUTCOME(.host = "a.example", .port = 443, .reason = NET_REASON_RULE,
			    .rule = "GET https://a.example/x*"),
		    "Network access to a.example:443 is allowed, for some requests, by the rule GET "
		    "https://a.example/x*",
		    NULL);
	sentence_is(OUTCOME(.host = "a.example", .port = 443, .reason = NET_REASON_RULE,
			    .rule = "GET https://a.example/x*", .method = "GET", .path = "/xy"),
		    "The request GET https://a.example/xy is allowed, by the rule GET https://a.example/x*", NULL);
}

static void other_lists_are_not_the_callers(void)
{
	sentence_is(
		OUTCOME(.host = "a.example", .port = 443, .reason = NET_REASON_NARROWED, .rule = "public"),
		"Network access to a.example:443 is not allowed: the rule public would allow it, but the profile, the "
		"token or the service does not allow it",
		NULL);
	sentence_is(
		OUTCOME(.host = "a.example", .port = 443, .reason = NET_REASON_NARROWED),
		"Network access to a.example:443 is not allowed: the profile, the token or the service does not allow "
		"it",
		NULL);
}

static void addresses_that_are_not_public_are_named(void)
{
	sentence_is(
		OUTCOME(.host = "db.corp.example", .port = 5432, .reason = NET_REASON_SCOPE, .address = "10.0.0.5",
			.rule = "db.corp.example:5432"),
		"Network access to db.corp.example:5432 is not allowed: the name leads to 10.0.0.5, a private address; "
		"allow it with --net db.corp.example:5432#private",
		"db.corp.example:5432#private");
	sentence_is(OUTCOME(.host = "a.example", .port = 80, .reason = NET_REASON_SCOPE, .address = "100.64.0.1"),
		    "Network access to a.example:80 is not allowed: the name leads to 100.64.0.1, an address of a "
		    "provider's own network (carrier-grade NAT); allow it with --net a.example:80#private",
		    "a.example:80#private");
	/* No flag opens these to a name. */
	sentence_is(OUTCOME(.host = "a.example", .port = 80, .reason = NET_REASON_SCOPE, .address = "169.254.169.254"),
		    "Network access to a.example:80 is not allowed: the name leads to 169.254.169.254, a link-local or "
		    "metadata address",
		    NULL);
	sentence_is(OUTCOME(.host = "a.example", .port = 80, .reason = NET_REASON_SCOPE, .address = "127.0.0.1"),
		    "Network access to a.example:80 is not allowed: the name leads to 127.0.0.1, a loopback address",
		    NULL);
	sentence_is(OUTCOME(.host = "a.example", .port = 80, .reason = NET_REASON_SCOPE),
		    "Network access to a.example:80 is not allowed: the address is not public, and no rule names it",
		    NULL);
	/* Under public, an address that the program named itself. */
	sentence_is(OUTCOME(.host = "10.0.0.5", .port = 80, .reason = NET_REASON_SCOPE, .rule = "public"),
		    "Network access to 10.0.0.5:80 is not allowed: it is a private address; allow it with --net "
		    "10.0.0.5:80",
		    "10.0.0.5:80");
	sentence_is(
		OUTCOME(.host = "169.254.169.254", .port = 80, .reason = NET_REASON_SCOPE,
			.address = "169.254.169.254"),
		"Network access to 169.254.169.254:80 is not allowed: it is a link-local or metadata address; allow it "
		"with --net 169.254.169.254:80",
		"169.254.169.254:80");
	sentence_is(OUTCOME(.host = "::1", .port = 80, .reason = NET_REASON_SCOPE),
		    "Network access to [::1]:80 is not allowed: it is a loopback address", NULL);
}

static void the_own_machine_is_named(void)
{
	sentence_is(
		OUTCOME(.host = "a.example", .port = 80, .reason = NET_REASON_OWN_ADDRESS, .address = "8.8.8.8"),
		"Network access to a.example:80 is not allowed: the name leads to 8.8.8.8, an address of emberbox's "
		"own machine, whose services are reached as host:PORT if the configuration of emberbox allows it",
		NULL);
	sentence_is(OUTCOME(.host = "8.8.8.8", .port = 80, .reason = NET_REASON_OWN_ADDRESS),
		    "Network access to 8.8.8.8:80 is not allowed: it is an address of emberbox's own machine, whose "
		    "services are reached as host:PORT if the configuration of emberbox allows it",
		    NULL);
}

static void tls_is_explained(void)
{
	sentence_is(OUTCOME(.host = "a.example", .port = 443, .reason = NET_REASON_SNI, .rule = "a.example"),
		    "Network access to a.example:443 is not allowed: the TLS handshake names another host than the one "
		    "that was asked for",
		    NULL);
	sentence_is(
		OUTCOME(.host = "a.example", .port = 443, .reason = NET_REASON_NO_SNI, .rule = "a.example"),
		"Network access to a.example:443 is not allowed: the TLS handshake names no host; allow it with --net "
		"a.example:443#no-sni",
		"a.example:443#no-sni");
	sentence_is(OUTCOME(.host = "a.example", .port = 443, .reason = NET_REASON_CERTIFICATE),
		    "Network access to a.example:443 failed: the certificate of the server is not valid", NULL);
}

static void requests_are_explained(void)
{
	sentence_is(OUTCOME(.host = "a.example", .port = 443, .reason = NET_REASON_REQUEST, .method = "POST",
			    .path = "/repos/x", .rule = "GET https://a.example/repos/*"),
		    "The request POST https://a.example/repos/x is not allowed; allow it with --net 'POST "
		    "https://a.example/repos/x'",
		    "POST https://a.example/repos/x");
	sentence_is(OUTCOME(.host = "a.example", .port = 8443, .reason = NET_REASON_REQUEST, .method = "GET",
			    .path = "/it's/%7e"),
		    "The request GET https://a.example:8443/it's/%7e is not allowed; allow it with --net 'GET "
		    "https://a.example:8443/it'\\''s/~'",
		    "GET https://a.example:8443/it's/~");
	sentence_is(
		OUTCOME(.host = "a.example", .port = 443, .reason = NET_REASON_REQUEST, .method = "GET",
			.path = "/x/../y"),
		"The request GET https://a.example/x/../y is not allowed: no rule allows the method and path of the "
		"request",
		NULL);
	sentence_is(
		OUTCOME(.host = "a.example", .port = 443, .reason = NET_REASON_REQUEST, .method = "PROPFIND",
			.path = "/x"),
		"The request PROPFIND https://a.example/x is not allowed: no rule allows the method and path of the "
		"request",
		NULL);
	sentence_is(OUTCOME(.host = "a.example", .port = 443, .reason = NET_REASON_REQUEST),
		    "Network access to a.example:443 is not allowed: no rule allows the method and path of the request",
		    NULL);
	sentence_is(OUTCOME(.host = "a.example", .port = 443, .reason = NET_REASON_HTTP),
		    "Network access to a.example:443 is not allowed: the HTTP request is malformed or ambiguous", NULL);
}

static void what_no_rule_changes_is_explained(void)
{
	sentence_is(
		OUTCOME(.host = "a.example", .port = 443, .reason = NET_REASON_UNRESOLVED, .rule = "a.example"),
		"Network access to a.example:443 failed: the name does not exist, or its name server does not answer",
		NULL);
	sentence_is(OUTCOME(.host = "a.example", .port = 443, .reason = NET_REASON_UNREACHABLE, .address = "8.8.8.8"),
		    "Network access to a.example:443 failed: 8.8.8.8 does not answer, or refuses the connection", NULL);
	sentence_is(OUTCOME(.host = "a.example", .port = 443, .reason = NET_REASON_UNREACHABLE),
		    "Network access to a.example:443 failed: the host does not answer, or refuses the connection",
		    NULL);
	sentence_is(OUTCOME(.host = "a.example", .port = 443, .reason = NET_REASON_CONNECTIONS),
		    "Network access to a.example:443 is not allowed: the limit of connections is reached", NULL);
	sentence_is(OUTCOME(.host = "a.example", .port = 443, .reason = NET_REASON_TOTAL),
		    "Network access to a.example:443 is not allowed: the limit of bytes is used up; raise it with "
		    "--net-total",
		    NULL);
	sentence_is(OUTCOME(.host = "8.8.8.8", .port = 123, .reason = NET_REASON_UDP),
		    "Network access to 8.8.8.8:123 is not allowed: UDP is not carried, except for DNS", NULL);
	sentence_is(OUTCOME(.host = "a.example", .reason = NET_REASON_QUERIES),
		    "Network access to a.example is not allowed: the limit of DNS queries is reached", NULL);
	sentence_is(OUTCOME(.host = "a b\n\xff", .port = 1, .reason = NET_REASON_NAME),
		    "\"a?b??\" is not a valid name of a host", NULL);
}

/* Every reason has a sentence, and none a second line. */
static void every_reason_has_a_sentence(void)
{
	for (int reason = 0; reason < NET_REASONS; reason++) {
		_cleanup_buf_ struct buf sentence = { 0 };

		net_why_sentence(OUTCOME(.host = "a\n.example", .port = 443, .reason = (enum net_reason)reason),
				 &sentence);
		CHECK(sentence.size > 20 && !strchr(sentence.data, '\n'));
	}
}

/* What is refused becomes allowed by adding the rule that the sentence names, and no rule is named without need. */
static void the_rule_that_is_named_helps(void)
{
	size_t helped = 0;

	chance_state = 4;
	for (int i = 0; i < 20000; i++) {
		_cleanup_arena_ struct arena arena = { 0 };
		_cleanup_buf_ struct buf list = { 0 };
		const char *host = POOL(pool_hosts), *method = POOL(pool_methods), *path = POOL(pool_paths);
		struct net_policy policy, wider;
		struct net_decision decision;
		struct net_address address;
		struct error err = { 0 };

		random_policy(&arena, &policy, 1);
		policy.host_allowed = true;
		const bool numeric = net_address_parse(host, &address);
		const struct net_question question = { .name = numeric ? NULL : host,
						       .address = numeric ? &address : NULL,
						       .port = (uint16_t)POOL(pool_ports),
						       .method = method,
						       .path = path };

		net_policy_decide(&policy, &question, &decision);
		/* The mapped form has the text of the address in it. */
		char text[NET_ADDRESS_TEXT];

		if (numeric)
			net_address_text(&address, text);
		const struct net_outcome outcome = { .host = numeric ? text : host,
						     .port = question.port,
						     .reason = decision.reason,
						     .method = method,
						     .path = method ? path : NULL,
						     .rule = decision.rule ? decision.rule->text : NULL };

		if (!net_why_rule(&outcome, &list))
			continue;
		CHECK(!decision.allowed);
		wider = policy;
		if (policy.lists[0].count > 0) {
			buf_text(&list, ",");
			net_list_write(&policy.lists[0], &list);
		}
		CHECK_INT(net_list_parse(list.data, &arena, &wider.lists[0], &err), 0);
		net_policy_decide(&wider, &question, &decision);
		/* A request whose host no rule named needs a rule for its host first. */
		if (!decision.allowed && !(method && strcmp(method, "CONNECT") == 0))
			check_fail("%s does not allow %s:%u %s %s: %s", list.data, host, question.port, method ?: "",
				   path, net_reason_name(decision.reason));
		helped += decision.allowed;
	}
	CHECK(helped > 1000);
}

static void asked_is(const char *text, const char *name, const char *address, unsigned port)
{
	char got[NET_ADDRESS_TEXT] = "";
	struct net_asked asked;
	struct error err = { 0 };

	if (net_asked_parse(text, &asked, &err) < 0) {
		check_fail("%s: %s", text, err.text);
		return;
	}
	if (!*asked.name)
		net_address_text(&asked.address, got);
	CHECK_STR(asked.name, name);
	CHECK_STR(got, address);
	CHECK_INT(asked.port, port);
}

static void asked_is_refused(const char *text, const char *sentence)
{
	struct net_asked asked;
	struct error err = { 0 };

	CHECK_INT(net_asked_parse(text, &asked, &err), -1);
	CHECK_STR(err.text, sentence);
}

static void what_is_asked_is_a_host_and_a_port(void)
{
	asked_is("PyPI.org", "pypi.org", "", 0);
	asked_is("pypi.org:443", "pypi.org", "", 443);
	asked_is("bücher.example:65535", "xn--bcher-kva.example", "", 65535);
	asked_is("host:5432", "host", "", 5432);
	asked_is("10.0.0.5", "", "10.0.0.5", 0);
	asked_is("10.0.0.5:80", "", "10.0.0.5", 80);
	asked_is("[2001:db8::1]:443", "", "2001:db8::1", 443);
	asked_is("[2001:db8::1]", "", "2001:db8::1", 0);
	asked_is("2001:db8::1", "", "2001:db8::1", 0);
	asked_is("[::ffff:10.0.0.5]:80", "", "10.0.0.5", 80);
	asked_is("127.0.0.1:80", "", "127.0.0.1", 80);
	asked_is_refused("https://pypi.org/",
			 "net: \"https://pypi.org/\" is a URL; ask about its host and port, as in example.com:443");
	asked_is_refused("", "net: \"\" names a host that is empty");
	asked_is_refused(":80", "net: \":80\" names a host that is empty");
	asked_is_refused("pypi.org:", "net: \"pypi.org:\" has a port that is not a number from 1 to 65535");
	asked_is_refused("pypi.org:0", "net: \"pypi.org:0\" has a port that is not a number from 1 to 65535");
	asked_is_refused("pypi.org:080", "net: \"pypi.org:080\" has a port that is not a number from 1 to 65535");
	asked_is_refused("pypi.org:65536", "net: \"pypi.org:65536\" has a port that is not a number from 1 to 65535");
	asked_is_refused("pypi.org:99999999999999999999",
			 "net: \"pypi.org:99999999999999999999\" has a port that is not a number from 1 to 65535");
	asked_is_refused("pypi.org:80+443", "net: \"pypi.org:80+443\" has a port that is not a number from 1 to 65535");
	asked_is_refused("[pypi.org]:80", "net: \"[pypi.org]:80\" has no IPv6 address in its brackets");
	asked_is_refused("[]", "net: \"[]\" has no IPv6 address in its brackets");
	asked_is_refused("[", "net: \"[\" names a host that has a character that no name of a host has");
	asked_is_refused("*.example.com",
			 "net: \"*.example.com\" names a host that has a character that no name of a host has");
	asked_is_refused("127.1:80",
			 "net: \"127.1:80\" names a host that is an address in a spelling that is not taken; "
			 "write four decimal numbers, as in 192.0.2.1");
}

int main(void)
{
	RUN(a_missing_rule_is_named);
	RUN(a_rule_that_cannot_be_is_not_named);
	RUN(what_is_allowed_names_its_rule);
	RUN(other_lists_are_not_the_callers);
	RUN(addresses_that_are_not_public_are_named);
	RUN(the_own_machine_is_named);
	RUN(tls_is_explained);
	RUN(requests_are_explained);
	RUN(what_no_rule_changes_is_explained);
	RUN(every_reason_has_a_sentence);
	RUN(the_rule_that_is_named_helps);
	RUN(what_is_asked_is_a_host_and_a_port);
	return check_failures != 0;
}
