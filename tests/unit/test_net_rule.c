/* Rules and lists: what they mean, their one text, and the sentence about each that is wrong. */
#include "../check.h"

#include "net/net_policy.h"

static void rule_is(const char *text, const char *canonical)
{
	_cleanup_arena_ struct arena arena = { 0 };
	struct error err = { 0 };
	struct net_rule rule, again;

	if (net_rule_parse(text, &arena, &rule, &err) < 0) {
		check_fail("%s: %s", text, err.text);
		return;
	}
	CHECK_STR(rule.text, canonical);
	if (net_rule_parse(canonical, &arena, &again, &err) < 0) {
		check_fail("%s: %s", canonical, err.text);
		return;
	}
	CHECK_STR(again.text, canonical);
	CHECK_INT(again.kind, rule.kind);
	CHECK_INT(again.port_count, rule.port_count);
}

/* The whole sentence. */
static void rule_is_refused(const char *text, const char *sentence)
{
	_cleanup_arena_ struct arena arena = { 0 };
	struct error err = { 0 };
	struct net_rule rule;

	if (net_rule_parse(text, &arena, &rule, &err) == 0) {
		check_fail("%s becomes %s", text, rule.text);
		return;
	}
	CHECK_STR(err.text, sentence);
	CHECK_STR(err.field, "net");
	CHECK_INT(err.code, CODE_BAD_REQUEST);
}

static void rules_have_one_text(void)
{
	rule_is("pypi.org", "pypi.org");
	rule_is("  PyPI.org.  ", "pypi.org");
	rule_is("pypi.org:80+443", "pypi.org");
	rule_is("pypi.org:443+80+443", "pypi.org");
	rule_is("pypi.org:443", "pypi.org:443");
	rule_is("pypi.org:8443+443+80", "pypi.org:80+443+8443");
	rule_is("pypi.org:1+65535", "pypi.org:1+65535");
	rule_is("db", "db");
	rule_is("bücher.example:443", "xn--bcher-kva.example:443");
	rule_is("*.Example.COM", "*.example.com");
	rule_is("*.bücher.example:80", "*.xn--bcher-kva.example:80");
	rule_is("*.a.b.c.example.com:22", "*.a.b.c.example.com:22");
	rule_is("93.184.216.34:443", "93.184.216.34:443");
	rule_is("10.0.0.5/32:5432", "10.0.0.5:5432");
	rule_is("10.0.0.0/8:22+80", "10.0.0.0/8:22+80");
	rule_is("0.0.0.0/0:443", "0.0.0.0/0:443");
	rule_is("169.254.169.254:80", "169.254.169.254:80");
	rule_is("[2001:DB8:0::1]:443", "[2001:db8::1]:443");
	rule_is("[2001:db8::/32]:443", "[2001:db8::/32]:443");
	rule_is("[2001:db8::1/128]:443", "[2001:db8::1]:443");
	rule_is("[::/0]:443", "[::/0]:443");
	rule_is("[::ffff:10.0.0.5]:80", "10.0.0.5:80");
	rule_is("[64:ff9b::a9fe:a9fe]:80", "[64:ff9b::a9fe:a9fe]:80");
	rule_is("host:5432", "host:5432");
	rule_is("HOST:80+443", "host:80+443");
	rule_is("public", "public");
	rule_is("Public", "public");
}

static void rules_of_requests_have_one_text(void)
{
	rule_is("GET https://api.example.com/repos/*", "GET https://api.example.com/repos/*");
	rule_is("get   HTTPS://API.example.com:443/repos/*", "GET https://api.example.com/repos/*");
	rule_is("* https://api.example.com/*", "* https://api.example.com/*");
	rule_is("POST https://api.example.com:8443+443/a", "POST https://api.example.com:443+8443/a");
	rule_is("DELETE https://*.example.com/", "DELETE https://*.example.com/");
	rule_is("HEAD https://a.example/%7euser/%2a", "HEAD https://a.example/~user/%2A");
	rule_is("PATCH https://a.example/a%2cb*", "PATCH https://a.example/a%2Cb*");
	rule_is("PUT https://a.example/x#private", "PUT https://a.example/x#private");
	rule_is("OPTIONS https://a.example/x#terminate", "OPTIONS https://a.example/x");
}

static void flags_have_one_order(void)
{
	rule_is("db.corp.example:5432#private", "db.corp.example:5432#private");
	rule_is("a.example#terminate+private+no-sni", "a.example#no-sni+private+terminate");
	rule_is("a.example#private+private", "a.example#private");
	rule_is("*.corp.example#private", "*.corp.example#private");
	rule_is("public#no-sni", "public#no-sni");
	rule_is("host:443#no-sni", "host:443#no-sni");
}

static void parts_of_rules_are_what_was_written(void)
{
	_cleanup_arena_ struct arena arena = { 0 };
	struct error err = { 0 };
	struct net_rule rule;

	CHECK_INT(net_rule_parse("PyPI.org", &arena, &rule, &err), 0);
	CHECK_INT(rule.kind, NET_RULE_NAME);
	CHECK_STR(rule.name, "pypi.org");
	CHECK_INT(rule.port_count, 2);
	CHECK_INT(rule.ports[0], 80);
	CHECK_INT(rule.ports[1], 443);
	CHECK(!rule.method && !rule.path && !rule.terminate && !rule.private_too && !rule.without_sni);

	CHECK_INT(net_rule_parse("*.example.com:65535#private", &arena, &rule, &err), 0);
	CHECK_INT(rule.kind, NET_RULE_BELOW);
	CHECK_STR(rule.name, "example.com");
	CHECK_INT(rule.ports[0], 65535);
	CHECK(rule.private_too && !rule.terminate && !rule.without_sni);

	CHECK_INT(net_rule_parse("10.1.0.0/16:80", &arena, &rule, &err), 0);
	CHECK_INT(rule.kind, NET_RULE_ADDRESS);
	CHECK_INT(rule.bits, 16);
	CHECK_INT(rule.address.family, AF_INET);
	CHECK_INT(rule.address.bytes[1], 1);
	CHECK(!rule.name);

	CHECK_INT(net_rule_parse("host:1", &arena, &rule, &err), 0);
	CHECK_INT(rule.kind, NET_RULE_HOST);
	CHECK(!rule.name);

	CHECK_INT(net_rule_parse("public#no-sni", &arena, &rule, &err), 0);
	CHECK_INT(rule.kind, NET_RULE_PUBLIC);
	CHECK_INT(rule.port_count, 0);
	CHECK(rule.without_sni);

	CHECK_INT(net_rule_parse("GET https://a.example/b*", &arena, &rule, &err), 0);
	CHECK_INT(rule.kind, NET_RULE_NAME);
	CHECK_STR(rule.method, "GET");
	CHECK_STR(rule.path, "/b*");
	CHECK_INT(rule.port_count, 1);
	CHECK_INT(rule.ports[0], 443);
	CHECK(rule.terminate);

	CHECK_INT(net_rule_parse("a.example:443#terminate", &arena, &rule, &err), 0);
	CHECK(rule.terminate && !rule.method && !rule.path);
}

static void hosts_that_are_wrong_are_refused(void)
{
	rule_is_refused("", "net: a rule is empty; rules have one comma between them");
	rule_is_refused("  ", "net: a rule is empty; rules have one comma between them");
	rule_is_refused("a\nb", "net: a rule has a control character");
	rule_is_refused("a\x7f", "net: a rule has a control character");
	rule_is_refused("a\xff", "net: a rule is not valid UTF-8");
	rule_is_refused("*", "net: \"*\" would allow every host; name the hosts, or write public for all of them");
	rule_is_refused("*.", "net: \"*.\" would allow every host; name the hosts, or write public for all of them");
	rule_is_refused("*:443",
			"net: \"*:443\" would allow every host; name the hosts, or write public for all of them");
	rule_is_refused("*.com", "net: \"*.com\" would allow all names below a top-level domain; name a domain, as in "
				 "*.example.com");
	rule_is_refused("*.com.",
			"net: \"*.com.\" would allow all names below a top-level domain; name a domain, as in "
			"*.example.com");
	rule_is_refused("*.xn--p1ai", "net: \"*.xn--p1ai\" would allow all names below a top-level domain; name a "
				      "domain, as in *.example.com");
	rule_is_refused("a*.com",
			"net: \"a*.com\" has a star in another place than *.DOMAIN, where it stands for whole "
			"labels");
	rule_is_refused("a.*.com",
			"net: \"a.*.com\" has a star in another place than *.DOMAIN, where it stands for whole "
			"labels");
	rule_is_refused("*.*.com",
			"net: \"*.*.com\" has a star in another place than *.DOMAIN, where it stands for whole "
			"labels");
	rule_is_refused("xn--*.com",
			"net: \"xn--*.com\" has a star in another place than *.DOMAIN, where it stands for "
			"whole labels");
	rule_is_refused("*a.example.com", "net: \"*a.example.com\" has a star in another place than *.DOMAIN, where it "
					  "stands for whole labels");
	rule_is_refused("localhost:80", "net: \"localhost:80\" names the box itself; for a service on emberbox's own "
					"machine write host:PORT");
	rule_is_refused("*.localhost", "net: \"*.localhost\" names the box itself; for a service on emberbox's own "
				       "machine write host:PORT");
	rule_is_refused("a.LOCALHOST", "net: \"a.LOCALHOST\" names the box itself; for a service on emberbox's own "
				       "machine write host:PORT");
	rule_is_refused("none", "net: \"none\" is no rule: none stands alone, and allows nothing");
	rule_is_refused("none:80", "net: \"none:80\" is no rule: none stands alone, and allows nothing");
	rule_is_refused("host", "net: \"host\" needs a port: host:PORT is a service on emberbox's own machine");
	rule_is_refused("public:443", "net: \"public:443\" has ports, and public means every port; leave them out");
	rule_is_refused("a..b", "net: \"a..b\" names a host that has an empty label");
	rule_is_refused("a_b!", "net: \"a_b!\" names a host that has a character that no name of a host has");
	rule_is_refused(":443", "net: \":443\" names a host that is empty");
	rule_is_refused("☃.net", "net: \"☃.net\" names a host that is no internationalized name of IDNA2008; if it has "
				 "an A-label form (xn--…), write that");
	rule_is_refused("user@example.com",
			"net: \"user@example.com\" names a host that has a character that no name of a host has");
}

static void ports_that_are_wrong_are_refused(void)
{
	static const char *const texts[] = {
		"a.example:0",     "a.example:70000", "a.example:65536",       "a.example:",   "a.example:http",
		"a.example:+80",   "a.example:80+",   "a.example:080",         "a.example:-1", "a.example:80-90",
		"a.example:80:90", "a.example:8 ",    "a.example:99999999999", "a.example:*",  "host:0",
		"10.0.0.5:0",      "[2001:db8::1]:0",
	};
	char many[600] = "a.example:";

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		char sentence[256];

		if (strcmp(texts[i], "a.example:8 ") == 0) {
			rule_is(texts[i], "a.example:8");
			continue;
		}
		snprintf(sentence, sizeof(sentence),
			 "net: \"%s\" has a port that is not a number from 1 to 65535; several have + between them, as "
			 "in "
			 "example.com:80+443",
			 texts[i]);
		rule_is_refused(texts[i], sentence);
	}
	for (int i = 1; i <= NET_PORTS_MAX + 1; i++)
		sprintf(many + strlen(many), "%s%d", i > 1 ? "+" : "", i);
	{
		_cleanup_arena_ struct arena arena = { 0 };
		struct error err = { 0 };
		struct net_rule rule;

		CHECK_INT(net_rule_parse(many, &arena, &rule, &err), -1);
		CHECK(strstr(err.text, "…\" has more than 64 ports"));
		*strrchr(many, '+') = '\0';
		CHECK_INT(net_rule_parse(many, &arena, &rule, &err), 0);
		CHECK_INT(rule.port_count, NET_PORTS_MAX);
	}
}

static void addresses_that_are_wrong_are_refused(void)
{
	static const char spelling[] =
		"is an address in a spelling that is not taken; write four decimal numbers, as in "
		"192.0.2.1";
	static const char *const spelt[] = { "127.1:80",        "0x7f000001:80",    "2130706433:80",
					     "017700000001:80", "0300.0250.0.1:80", "1.2.3.4.5:80" };
	static const char box[] = "names the box itself; for a service on emberbox's own machine write host:PORT";
	static const char *const boxes[] = { "127.0.0.1:80", "127.0.0.0/8:80",        "127.9.9.9:80",
					     "[::1]:80",     "[::ffff:127.0.0.1]:80", "[64:ff9b::7f00:1]:80" };
	char sentence[256];

	for (size_t i = 0; i < sizeof(spelt) / sizeof(*spelt); i++) {
		snprintf(sentence, sizeof(sentence), "net: \"%s\" names a host that %s", spelt[i], spelling);
		rule_is_refused(spelt[i], sentence);
	}
	for (size_t i = 0; i < sizeof(boxes) / sizeof(*boxes); i++) {
		snprintf(sentence, sizeof(sentence), "net: \"%s\" %s", boxes[i], box);
		rule_is_refused(boxes[i], sentence);
	}
	rule_is_refused("10.0.0.5", "net: \"10.0.0.5\" is an address, and needs a port, as in 192.0.2.1:443");
	rule_is_refused("10.0.0.0/8", "net: \"10.0.0.0/8\" is an address, and needs a port, as in 192.0.2.1:443");
	rule_is_refused("[2001:db8::1]", "net: \"[2001:db8::1]\" is an address, and needs a port, as in "
					 "[2001:db8::1]:443");
	rule_is_refused("10.0.0.5/8:80",
			"net: \"10.0.0.5/8:80\" has an address that does not begin its range; write 10.0.0.0/8");
	rule_is_refused(
		"[2001:db8::1/32]:80",
		"net: \"[2001:db8::1/32]:80\" has an address that does not begin its range; write 2001:db8::/32");
	rule_is_refused("10.0.0.0/33:80", "net: \"10.0.0.0/33:80\" has a range of more than 32 bits");
	rule_is_refused("[2001:db8::/129]:80", "net: \"[2001:db8::/129]:80\" has a range of more than 128 bits");
	rule_is_refused("10.0.0.0/:80",
			"net: \"10.0.0.0/:80\" has a range whose bits are not a number, as in 10.0.0.0/8:443");
	rule_is_refused("10.0.0.0/08:80",
			"net: \"10.0.0.0/08:80\" has a range whose bits are not a number, as in 10.0.0.0/8:443");
	rule_is_refused("10.0.0.0/255.0.0.0:80",
			"net: \"10.0.0.0/255.0.0.0:80\" has a range whose bits are not a number, "
			"as in 10.0.0.0/8:443");
	rule_is_refused("2001:db8::1:443",
			"net: \"2001:db8::1:443\" is an IPv6 address without brackets; write [2001:db8::1]:443");
	rule_is_refused("::1", "net: \"::1\" is an IPv6 address without brackets; write [2001:db8::1]:443");
	rule_is_refused("[2001:db8::1:443", "net: \"[2001:db8::1:443\" has a bracket that is not closed");
	rule_is_refused("[10.0.0.1]:443", "net: \"[10.0.0.1]:443\" has no IPv6 address in its brackets");
	rule_is_refused("[example.com]:443", "net: \"[example.com]:443\" has no IPv6 address in its brackets");
	rule_is_refused("[fe80::1%eth0]:443", "net: \"[fe80::1%eth0]:443\" has no IPv6 address in its brackets");
	rule_is_refused("[2001:db8::1]443",
			"net: \"[2001:db8::1]443\" has something else than a port after the bracket");
	rule_is_refused("[fe80::1]:80", "net: \"[fe80::1]:80\" names a link-local IPv6 address, which means nothing "
					"without an interface");
	rule_is_refused("224.0.0.1:80",
			"net: \"224.0.0.1:80\" names a multicast or broadcast address, to which there are "
			"no connections");
	rule_is_refused("0.0.0.0:80",
			"net: \"0.0.0.0:80\" names an unspecified address, to which there are no connections");
	rule_is_refused("[::]:80", "net: \"[::]:80\" names an unspecified address, to which there are no connections");
	rule_is_refused("198.18.0.1:80",
			"net: \"198.18.0.1:80\" names an address of 198.18.0.0/15, which stand for names "
			"inside boxes");
	rule_is_refused("198.18.0.0/15:80",
			"net: \"198.18.0.0/15:80\" names an address of 198.18.0.0/15, which stand for "
			"names inside boxes");
}

static void requests_that_are_wrong_are_refused(void)
{
	static const char unknown[] = "begins with an unknown method; rules know GET, HEAD, POST, PUT, PATCH, DELETE, "
				      "OPTIONS, and * for all of them";
	static const char *const methods[] = { "FETCH https://a.example/", "CONNECT https://a.example/",
					       "TRACE https://a.example/", "GETS https://a.example/", "pypi.org 443" };
	static const char path[] =
		"has a path that servers read in different ways (a \".\" or \"..\" segment, a blank, "
		"what is encoded twice, other alphabets that are not percent-encoded), or a very long one";
	static const char *const paths[] = { "GET https://a.example/../b", "GET https://a.example/a%252fb",
					     "GET https://a.example/a b", "GET https://a.example/ü",
					     "GET https://a.example/.*" };
	char sentence[512];

	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
		snprintf(sentence, sizeof(sentence), "net: \"%s\" %s", methods[i], unknown);
		rule_is_refused(methods[i], sentence);
	}
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		snprintf(sentence, sizeof(sentence), "net: \"%s\" %s", paths[i], path);
		rule_is_refused(paths[i], sentence);
	}
	rule_is_refused("https://pypi.org/simple",
			"net: \"https://pypi.org/simple\" is a URL; write the host alone, or a "
			"method before it for requests that egress checks, as in GET "
			"https://example.com/PATH*");
	rule_is_refused("ftp://a.example",
			"net: \"ftp://a.example\" is a URL; write the host alone, or a method before it "
			"for requests that egress checks, as in GET https://example.com/PATH*");
	rule_is_refused("a.example/b", "net: \"a.example/b\" has a path, which needs a method: GET "
				       "https://example.com/PATH; without one write the host alone");
	rule_is_refused("GET http://a.example/",
			"net: \"GET http://a.example/\" has a method without a URL of https, as "
			"in GET https://example.com/PATH*");
	rule_is_refused("GET a.example", "net: \"GET a.example\" has a method without a URL of https, as in GET "
					 "https://example.com/PATH*");
	rule_is_refused("GET https://a.example",
			"net: \"GET https://a.example\" has no path; write /* at its end for all paths");
	rule_is_refused("GET https://a.example/?q=1",
			"net: \"GET https://a.example/?q=1\" has a query, and rules compare "
			"paths alone; leave out the part from \"?\"");
	rule_is_refused("GET https://a.example?q=1",
			"net: \"GET https://a.example?q=1\" has a query, and rules compare "
			"paths alone; leave out the part from \"?\"");
	rule_is_refused("GET https://a.example/*/b", "net: \"GET https://a.example/*/b\" has a star within its path; a "
						     "star stands for the rest, at the end");
	rule_is_refused("GET https://u:p@a.example/",
			"net: \"GET https://u:p@a.example/\" has a user or password; leave "
			"out the part up to \"@\"");
	rule_is_refused("GET https://10.0.0.5/",
			"net: \"GET https://10.0.0.5/\" names an address, and requests are "
			"checked for names only; write the address and its port, without method "
			"and path");
	rule_is_refused("GET https://[::1]/",
			"net: \"GET https://[::1]/\" names an address, and requests are checked for "
			"names only; write the address and its port, without method and path");
	rule_is_refused("GET https://host:8443/",
			"net: \"GET https://host:8443/\" needs the name of a host in its URL");
	rule_is_refused("GET https://public/", "net: \"GET https://public/\" needs the name of a host in its URL");
	rule_is_refused("GET https:///", "net: \"GET https:///\" names a host that is empty");
	rule_is_refused("GET https://*.com/",
			"net: \"GET https://*.com/\" would allow all names below a top-level domain; "
			"name a domain, as in *.example.com");
	rule_is_refused(
		"GET https://a.example:0/",
		"net: \"GET https://a.example:0/\" has a port that is not a number from 1 to 65535; several have + "
		"between them, as in example.com:80+443");
}

static void flags_that_are_wrong_are_refused(void)
{
	static const char *const unknown[] = { "a.example#",
					       "a.example#Private",
					       "a.example#x",
					       "a.example#private+",
					       "a.example#private,",
					       "a.example##private",
					       "a.example#private#no-sni" };
	char sentence[256];

	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++) {
		snprintf(
			sentence, sizeof(sentence),
			"net: \"%s\" has something else after \"#\" than private, no-sni and terminate, with + between "
			"them",
			unknown[i]);
		rule_is_refused(unknown[i], sentence);
	}
	rule_is_refused("10.0.0.5:80#private",
			"net: \"10.0.0.5:80#private\" says private, which is for names: an address "
			"that a rule names is allowed as it is");
	rule_is_refused("10.0.0.5:80#no-sni",
			"net: \"10.0.0.5:80#no-sni\" says no-sni, and TLS to an address needs no name anyway");
	rule_is_refused("10.0.0.5:80#terminate",
			"net: \"10.0.0.5:80#terminate\" says terminate, which needs the name of a host");
	rule_is_refused("host:80#terminate",
			"net: \"host:80#terminate\" says terminate, which needs the name of a host");
	rule_is_refused("public#terminate", "net: \"public#terminate\" says terminate, which needs the name of a host");
	rule_is_refused("public#private", "net: \"public#private\" says private, which is for names: an address that a "
					  "rule names is allowed as it is");
}

static void long_rules_are_refused(void)
{
	_cleanup_arena_ struct arena arena = { 0 };
	char text[4000] = "GET https://a.example/";
	const size_t begin = strlen(text);
	struct error err = { 0 };
	struct net_rule rule;

	memset(text + begin, 'a', NET_RULE_MAX - 1 - begin);
	text[NET_RULE_MAX - 1] = '\0';
	CHECK_INT(net_rule_parse(text, &arena, &rule, &err), 0);
	CHECK_STR(rule.text, text);
	text[NET_RULE_MAX - 1] = 'a';
	text[NET_RULE_MAX] = '\0';
	CHECK_INT(net_rule_parse(text, &arena, &rule, &err), -1);
	CHECK(strstr(err.text, "…\" is longer than 511 bytes"));
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	CHECK_INT(net_rule_parse(text, &arena, &rule, &err), -1);
	CHECK(strstr(err.text, "…\" is longer than 511 bytes"));
	CHECK(strlen(err.text) < 200);
	/* Cut between characters. */
	for (size_t i = 0; i + 2 < sizeof(text); i += 2)
		memcpy(text + i, "ü", 2);
	memcpy(text + sizeof(text) - 2, "a", 2);
	memcpy(text, "ab", 2);
	text[1] = 'b';
	CHECK_INT(net_rule_parse(text + 1, &arena, &rule, &err), -1);
	CHECK(strstr(err.text, "ü…\" is longer than 511 bytes"));
}

static void list_is(const char *text, const char *canonical, size_t count)
{
	_cleanup_arena_ struct arena arena = { 0 };
	_cleanup_buf_ struct buf out = { 0 };
	struct error err = { 0 };
	struct net_list list;

	if (net_list_parse(text, &arena, &list, &err) < 0) {
		check_fail("%s: %s", text, err.text);
		return;
	}
	CHECK_INT(list.count, count);
	net_list_write(&list, &out);
	CHECK_STR(out.data, canonical);
}

static void list_is_refused(const char *text, const char *sentence)
{
	_cleanup_arena_ struct arena arena = { 0 };
	struct error err = { 0 };
	struct net_list list;

	CHECK_INT(net_list_parse(text, &arena, &list, &err), -1);
	CHECK_STR(err.text, sentence);
	CHECK_STR(err.field, "net");
	CHECK_INT(list.count, 0);
}

static void lists_have_one_text(void)
{
	list_is("none", "none", 0);
	list_is(" none ", "none", 0);
	list_is("pypi.org", "pypi.org", 1);
	list_is("pypi.org,FILES.pythonhosted.org:443 , *.example.com",
		"pypi.org,files.pythonhosted.org:443,*.example.com", 3);
	list_is("a.example,a.example:80+443,A.EXAMPLE.", "a.example", 1);
	list_is("public,10.0.0.5:5432", "public,10.0.0.5:5432", 2);
	list_is("GET https://a.example/b%2cc*,db:5432#private", "GET https://a.example/b%2Cc*,db:5432#private", 2);
}

static void lists_that_are_wrong_are_refused(void)
{
	list_is_refused("", "net: the list of rules is empty; write none to allow nothing");
	list_is_refused("  ", "net: the list of rules is empty; write none to allow nothing");
	list_is_refused(",", "net: a rule is empty; rules have one comma between them");
	list_is_refused("a.example,", "net: a rule is empty; rules have one comma between them");
	list_is_refused("a.example,,b.example", "net: a rule is empty; rules have one comma between them");
	list_is_refused("none,a.example", "net: \"none\" is no rule: none stands alone, and allows nothing");
	list_is_refused("a.example,none", "net: \"none\" is no rule: none stands alone, and allows nothing");
	list_is_refused("a.example,*.com",
			"net: \"*.com\" would allow all names below a top-level domain; name a domain, "
			"as in *.example.com");
	/* A path's comma is not the list's. */
	list_is_refused("GET https://a.example/b,c!", "net: \"c!\" names a host that has a character that no name of a "
						      "host has");
}

static void lists_have_bounds(void)
{
	_cleanup_buf_ struct buf text = { 0 };
	_cleanup_arena_ struct arena arena = { 0 };
	struct error err = { 0 };
	struct net_list list;

	for (int i = 0; i < NET_RULES_MAX; i++)
		buf_printf(&text, "%sa%d.example", i > 0 ? "," : "", i);
	CHECK_INT(net_list_parse(text.data, &arena, &list, &err), 0);
	CHECK_INT(list.count, NET_RULES_MAX);
	buf_text(&text, ",b.example");
	list_is_refused(text.data, "net: the list has more than 256 rules");
	text.size = 0;
	while (text.size < NET_LIST_TEXT)
		buf_printf(&text, "%s%063d.%063d.%063d.example", text.size > 0 ? "," : "", 1, 2, (int)text.size);
	list_is_refused(text.data, "net: the list of rules is longer than 30719 bytes");
	*strrchr(text.data, ',') = '\0';
	CHECK_INT(net_list_parse(text.data, &arena, &list, &err), 0);
}

#define PARTS(...) (&(const struct net_rule_parts){ __VA_ARGS__ })
#define PORTS(...) .ports = (const int64_t[]){ __VA_ARGS__ }, .port_count = sizeof((const int64_t[]){ __VA_ARGS__ }) / 8
#define METHODS(...)                                                                                                   \
	.methods = (const char *const[]){ __VA_ARGS__ },                                                               \
	.method_count = sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *)
#define PATHS(...)                                                                                                     \
	.paths = (const char *const[]){ __VA_ARGS__ },                                                                 \
	.path_count = sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *)

static void parts_are(const struct net_rule_parts *parts, const char *want)
{
	_cleanup_buf_ struct buf list = { 0 };
	_cleanup_arena_ struct arena arena = { 0 };
	struct error err = { 0 };
	struct net_list parsed;

	if (net_rule_from_parts(parts, &list, &err) < 0) {
		check_fail("%s: %s", want, err.text);
		return;
	}
	CHECK_STR(list.data, want);
	CHECK_INT(net_list_parse(list.data, &arena, &parsed, &err), 0);
}

static void parts_are_refused(const struct net_rule_parts *parts, const char *sentence)
{
	_cleanup_buf_ struct buf list = { 0 };
	struct error err = { 0 };

	buf_text(&list, "first.example");
	if (net_rule_from_parts(parts, &list, &err) == 0) {
		check_fail("%s becomes %s", parts->host, list.data);
		return;
	}
	CHECK_STR(err.text, sentence);
	CHECK_STR(err.field, "net");
	/* As it was. */
	CHECK_STR(list.data, "first.example");
	CHECK_INT(list.size, strlen("first.example"));
}

static void objects_become_rules(void)
{
	parts_are(PARTS(.host = "PyPI.org"), "pypi.org");
	parts_are(PARTS(.host = "a.example", PORTS(443)), "a.example:443");
	parts_are(PARTS(.host = "a.example", PORTS(8080, 80)), "a.example:80+8080");
	parts_are(PARTS(.host = "*.a.example", PORTS(1, 65535)), "*.a.example:1+65535");
	parts_are(PARTS(.host = "10.0.0.5", PORTS(5432)), "10.0.0.5:5432");
	parts_are(PARTS(.host = "10.0.0.0/8", PORTS(5432)), "10.0.0.0/8:5432");
	parts_are(PARTS(.host = "2001:db8::1", PORTS(443)), "[2001:db8::1]:443");
	parts_are(PARTS(.host = "[2001:db8::/32]", PORTS(443)), "[2001:db8::/32]:443");
	parts_are(PARTS(.host = "2001:db8::/32", PORTS(443)), "[2001:db8::/32]:443");
	parts_are(PARTS(.host = "host", PORTS(5432)), "host:5432");
	parts_are(PARTS(.host = "public"), "public");
	parts_are(PARTS(.host = "db.example", PORTS(5432), .private_too = true), "db.example:5432#private");
	parts_are(PARTS(.host = "a.example", .tls = NET_TLS_TERMINATE, .without_sni = true),
		  "a.example#no-sni+terminate");
	parts_are(PARTS(.host = "a.example", .tls = NET_TLS_PASS), "a.example");
	parts_are(PARTS(.host = "a.example", METHODS("get")), "GET https://a.example/*");
	parts_are(PARTS(.host = "a.example", PATHS("/b/*")), "* https://a.example/b/*");
	parts_are(PARTS(.host = "a.example", PORTS(8443), METHODS("GET", "POST"), PATHS("/b", "/c*"),
			.private_too = true, .tls = NET_TLS_TERMINATE),
		  "GET https://a.example:8443/b#private,GET https://a.example:8443/c*#private,"
		  "POST https://a.example:8443/b#private,POST https://a.example:8443/c*#private");
	/* A comma of a path is not the list's. */
	parts_are(PARTS(.host = "a.example", METHODS("GET"), PATHS("/b,c")), "GET https://a.example/b%2Cc");
}

static void objects_that_are_wrong_are_refused(void)
{
	parts_are_refused(PARTS(.host = NULL), "net: a rule has no host");
	parts_are_refused(PARTS(.host = ""), "net: a rule has an empty host");
	parts_are_refused(PARTS(.host = "10.0.0.5"),
			  "net: \"10.0.0.5\" is an address, and needs a port, as in 192.0.2.1:443");
	parts_are_refused(PARTS(.host = "host"),
			  "net: \"host\" needs a port: host:PORT is a service on emberbox's own machine");
	parts_are_refused(PARTS(.host = "none"), "net: \"none\" is no rule: none stands alone, and allows nothing");
	parts_are_refused(PARTS(.host = "a.example:443"),
			  "net: \"a.example:443\" is more than a host; put the port into ports");
	parts_are_refused(PARTS(.host = "[2001:db8::1]:443"),
			  "net: \"[2001:db8::1]:443\" is more than a host; put the port into ports");
	parts_are_refused(PARTS(.host = "a.example", .ports = (const int64_t[]){ 1 }, .port_count = 0),
			  "net: \"a.example\" has no ports in its list; leave ports out for 80 and 443");
	parts_are_refused(PARTS(.host = "a.example", PORTS(0)),
			  "net: \"a.example\" has the port 0; ports are numbers from 1 to 65535");
	parts_are_refused(PARTS(.host = "a.example", PORTS(80, 70000)),
			  "net: \"a.example\" has the port 70000; ports are numbers from 1 to 65535");
	parts_are_refused(PARTS(.host = "a.example", PORTS(INT64_MIN)),
			  "net: \"a.example\" has the port -9223372036854775808; ports are numbers from 1 to 65535");
	parts_are_refused(PARTS(.host = "public", PORTS(443)),
			  "net: \"public:443\" has ports, and public means every port; leave them out");
	parts_are_refused(PARTS(.host = "a.example", METHODS("GET"), .tls = NET_TLS_PASS),
			  "net: \"a.example\" has methods or paths, for which egress ends TLS; leave out tls: pass");
	parts_are_refused(PARTS(.host = "a.example", PATHS("/"), .tls = NET_TLS_PASS),
			  "net: \"a.example\" has methods or paths, for which egress ends TLS; leave out tls: pass");
	parts_are_refused(
		PARTS(.host = "a.example", METHODS("GET", "FETCH")),
		"net: \"FETCH\" is no method that rules know: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, and * "
		"for all of them");
	parts_are_refused(
		PARTS(.host = "a.example", METHODS("GET https://b.example/,GET")),
		"net: \"GET https://b.example/,GET\" is no method that rules know: GET, HEAD, POST, PUT, PATCH, "
		"DELETE, OPTIONS, and * for all of them");
	parts_are_refused(
		PARTS(.host = "a.example", METHODS("")),
		"net: \"\" is no method that rules know: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, and * for "
		"all of them");
	parts_are_refused(PARTS(.host = "a.example", .methods = (const char *const[]){ "" }),
			  "net: \"a.example\" has no methods in its list; leave methods out for all");
	parts_are_refused(PARTS(.host = "a.example", .paths = (const char *const[]){ "" }),
			  "net: \"a.example\" has no paths in its list; leave paths out for all");
	parts_are_refused(PARTS(.host = "a.example", PATHS("b")),
			  "net: \"b\" has a path that does not begin with a slash");
	parts_are_refused(PARTS(.host = "a.example", PATHS("")),
			  "net: \"\" has a path that does not begin with a slash");
	parts_are_refused(
		PARTS(.host = "a.example", PATHS("/b#private")),
		"net: \"/b#private\" has a path that servers read in different ways (a \".\" or \"..\" segment, "
		"a blank, what is encoded twice, other alphabets that are not percent-encoded), or a very long one");
	parts_are_refused(
		PARTS(.host = "10.0.0.5", PORTS(443), METHODS("GET")),
		"net: \"GET https://10.0.0.5:443/*\" names an address, and requests are checked for names only; "
		"write the address and its port, without method and path");
	parts_are_refused(PARTS(.host = "a\n.example", PORTS(0)),
			  "net: \"a?.example\" has the port 0; ports are numbers from 1 to 65535");
	parts_are_refused(PARTS(.host = "a\xff.example", PORTS(0)),
			  "net: \"a?.example\" has the port 0; ports are numbers from 1 to 65535");
	parts_are_refused(PARTS(.host = "a\n.example"), "net: a rule has a control character");
}

/* What would be another part of the rule's text stays what it is in the object: an error. */
static void hosts_of_objects_are_hosts_alone(void)
{
	static const char *const hosts[] = { "a.example#private",     "a.example,b.example",
					     "GET https://a.example", "a.example+80",
					     "user@a.example",        "a.example?b",
					     "https://a.example",     " a.example",
					     "a.example/b",           "a.b/c",
					     "10.0.0.300/8" };
	char sentence[256];

	for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++) {
		snprintf(sentence, sizeof(sentence),
			 "net: \"%s\" is more than a host; ports, paths and flags are members of their own", hosts[i]);
		parts_are_refused(PARTS(.host = hosts[i]), sentence);
		parts_are_refused(PARTS(.host = hosts[i], METHODS("GET")), sentence);
	}
}

static void objects_have_bounds(void)
{
	static const char *many[NET_RULES_MAX + 1];
	static int64_t ports[NET_PORTS_MAX + 1];

	for (size_t i = 0; i < NET_RULES_MAX + 1; i++)
		many[i] = "/";
	for (size_t i = 0; i < NET_PORTS_MAX + 1; i++)
		ports[i] = 443;
	parts_are_refused(PARTS(.host = "a.example", .ports = ports, .port_count = NET_PORTS_MAX + 1),
			  "net: \"a.example\" has more than 64 ports");
	parts_are_refused(PARTS(.host = "a.example", .paths = many, .path_count = NET_RULES_MAX + 1),
			  "net: \"a.example\" has more than 256 methods times paths");
	parts_are_refused(PARTS(.host = "a.example", .paths = many, .path_count = 129, METHODS("GET", "PUT")),
			  "net: \"a.example\" has more than 256 methods times paths");
	/* The second of two rules is wrong: neither is added. */
	parts_are_refused(PARTS(.host = "a.example", METHODS("GET"), PATHS("/", "b")),
			  "net: \"b\" has a path that does not begin with a slash");
}

static void texts_are_added_to_lists(void)
{
	_cleanup_buf_ struct buf list = { 0 };
	struct error err = { 0 };

	CHECK_INT(net_rule_from_text("A.example", &list, &err), 0);
	CHECK_INT(net_rule_from_parts(PARTS(.host = "b.example", PORTS(22)), &list, &err), 0);
	CHECK_INT(net_rule_from_text(" c.example ", &list, &err), 0);
	CHECK_STR(list.data, "a.example,b.example:22,c.example");
	CHECK_INT(net_rule_from_text("d.example,e.example", &list, &err), -1);
	CHECK_STR(err.text,
		  "net: \"d.example,e.example\" names a host that has a character that no name of a host has");
	CHECK_INT(net_rule_from_text("none", &list, &err), -1);
	CHECK_STR(list.data, "a.example,b.example:22,c.example");
}

int main(void)
{
	RUN(rules_have_one_text);
	RUN(rules_of_requests_have_one_text);
	RUN(flags_have_one_order);
	RUN(parts_of_rules_are_what_was_written);
	RUN(hosts_that_are_wrong_are_refused);
	RUN(ports_that_are_wrong_are_refused);
	RUN(addresses_that_are_wrong_are_refused);
	RUN(requests_that_are_wrong_are_refused);
	RUN(flags_that_are_wrong_are_refused);
	RUN(long_rules_are_refused);
	RUN(lists_have_one_text);
	RUN(lists_that_are_wrong_are_refused);
	RUN(lists_have_bounds);
	RUN(objects_become_rules);
	RUN(objects_that_are_wrong_are_refused);
	RUN(hosts_of_objects_are_hosts_alone);
	RUN(objects_have_bounds);
	RUN(texts_are_added_to_lists);
	return check_failures != 0;
}
