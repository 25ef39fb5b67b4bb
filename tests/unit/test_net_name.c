/* Names and paths in the one spelling in which they are compared with rules. */
#include "../check.h"

#include "net/net_policy.h"

#include <arpa/inet.h>

static void name_is(const char *text, const char *want)
{
	char out[NET_NAME_MAX];
	const char *fault = net_name_fault(text, strlen(text), out);

	if (fault)
		check_fail("\"%s\" %s", text, fault);
	else
		CHECK_STR(out, want);
	CHECK(net_name_canonical(text, strlen(text), out));
}

static void name_is_none(const char *text, const char *why)
{
	char out[NET_NAME_MAX] = "unchanged";
	const char *fault = net_name_fault(text, strlen(text), out);

	if (!fault)
		check_fail("\"%s\" becomes \"%s\"", text, out);
	else if (!strstr(fault, why))
		check_fail("\"%s\" %s", text, fault);
	CHECK_STR(out, "");
	CHECK(!net_name_canonical(text, strlen(text), out));
}

static void names_have_one_spelling(void)
{
	name_is("example.com", "example.com");
	name_is("EXAMPLE.Com", "example.com");
	name_is("example.com.", "example.com");
	name_is("db", "db");
	name_is("_sip._tcp.example.com", "_sip._tcp.example.com");
	name_is("r3---sn-abc.example.com", "r3---sn-abc.example.com");
	name_is("-a-.example.com", "-a-.example.com");
	name_is("XN--BCHER-KVA.example", "xn--bcher-kva.example");
	name_is("3.example", "3.example");
	name_is("1.2.3.4.example", "1.2.3.4.example");
	name_is("0x7f.example", "0x7f.example");
	name_is("4ever", "4ever");
	name_is("0xg", "0xg");
}

static void other_alphabets_become_a_labels(void)
{
	name_is("bücher.example", "xn--bcher-kva.example");
	name_is("BÜCHER.EXAMPLE", "xn--bcher-kva.example");
	name_is("bu\u0308cher.example", "xn--bcher-kva.example");
	name_is("faß.de", "xn--fa-hia.de");
	name_is("例え.jp", "xn--r8jz45g.jp");
	name_is("例え。jp", "xn--r8jz45g.jp");
	name_is("ＥＸＡＭＰＬＥ.com", "example.com");
	name_is("bücher.example.", "xn--bcher-kva.example");
	/* Look-alikes are other names, and look so. */
	name_is("раypal.com", "xn--ypal-43d9g.com");
	name_is("exam\u00adple.com", "example.com");
}

static void what_is_no_name_is_refused(void)
{
	name_is_none("", "is empty");
	name_is_none(".", "is empty");
	name_is_none("..", "empty label");
	name_is_none("a..b", "empty label");
	name_is_none(".a", "empty label");
	name_is_none("a..", "empty label");
	name_is_none("a b", "a character that no name");
	name_is_none(" a", "a character that no name");
	name_is_none("a\n", "a character that no name");
	name_is_none("a\x01", "a character that no name");
	name_is_none("a\x7f", "a character that no name");
	name_is_none("a/b", "a character that no name");
	name_is_none("a:80", "a character that no name");
	name_is_none("a@b", "a character that no name");
	name_is_none("*.a", "a character that no name");
	name_is_none("a%2eb", "a character that no name");
	name_is_none("[::1]", "a character that no name");
	name_is_none("::1", "a character that no name");
	name_is_none("a\\b", "a character that no name");
}

static void what_idna_refuses_is_refused(void)
{
	name_is_none("☃.net", "IDNA2008");
	name_is_none("a\xff.com", "IDNA2008");
	name_is_none("a\xc3", "IDNA2008");
	name_is_none("a\xc0\xae"
		     "b.com",
		     "IDNA2008");
	name_is_none("a\u200db.com", "IDNA2008");
	name_is_none("⒈com", "IDNA2008");
	name_is_none("-ü.com", "IDNA2008");
	/* Mapped to what no name may have. */
	name_is_none("℀.com", "a character that no name");
	name_is_none("ａ/b.com", "a character that no name");
	name_is_none("ü。。com", "empty label");
}

static void names_without_text_are_refused(void)
{
	char out[NET_NAME_MAX];

	CHECK(!net_name_canonical("a\0b.com", 7, out));
	CHECK(!net_name_canonical("example.com\0.evil.com", 21, out));
	CHECK(!net_name_canonical("ü\0.com", 7, out));
	CHECK(!net_name_canonical("\0", 1, out));
	CHECK(!net_name_of_wire("example.com\0", 12, out));
	/* The control. */
	CHECK(net_name_canonical("example.com\0.evil.com", 11, out));
	CHECK_STR(out, "example.com");
}

static void lengths_are_those_of_dns(void)
{
	char text[300], label[80];
	size_t used = 0;

	memset(label, 'a', sizeof(label));
	snprintf(text, sizeof(text), "%.63s.com", label);
	name_is(text, text);
	snprintf(text, sizeof(text), "%.64s.com", label);
	name_is_none(text, "more than 63");
	/* 253: three labels of 63 and one of 61. */
	used = (size_t)snprintf(text, sizeof(text), "%.63s.%.63s.%.63s.%.61s", label, label, label, label);
	CHECK_INT(used, 253);
	name_is(text, text);
	snprintf(text + used, sizeof(text) - used, ".");
	used = (size_t)snprintf(text, sizeof(text), "%.63s.%.63s.%.63s.%.62s", label, label, label, label);
	CHECK_INT(used, 254);
	name_is_none(text, "more than 253");
	/* 126 labels. */
	for (used = 0; used < 252; used += 2)
		memcpy(text + used, "a.", 2);
	text[251] = '\0';
	name_is(text, text);
	/* Short in characters, long in A-labels. */
	for (used = 0; used + 2 < 126; used += 2)
		memcpy(text + used, "ü", 2);
	text[used] = '\0';
	name_is_none(text, "");
	memset(text, 'a', 299);
	text[299] = '\0';
	name_is_none(text, "more than 253");
	static char large[2000] = "ü";
	memset(large + 2, 'a', sizeof(large) - 3);
	name_is_none(large, "more than 253");
}

/* Whatever inet_aton() takes, in every spelling, is an address or nothing. */
static void addresses_in_any_spelling_are_no_names(void)
{
	static const char *const texts[] = {
		"127.0.0.1",
		"127.1",
		"127.0.1",
		"2130706433",
		"017700000001",
		"0x7f000001",
		"0x7F000001",
		"0x7f.1",
		"0x7f.0.0.1",
		"0177.0.0.1",
		"0177.0.0.01",
		"127.0.0.0x1",
		"127.0x1",
		"0",
		"00",
		"0x0",
		"1",
		"4294967295",
		"10.0.513",
		"10.0xff.1",
		"0300.0250.0.1",
		"0xc0.0xa8.0.01",
		"169.16689662",
		"255.255.255.255",
		"0xA9FEA9FE",
		"2852039166",
	};
	struct in_addr address;
	char out[NET_NAME_MAX];

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		CHECK(inet_aton(texts[i], &address) != 0);
		name_is_none(texts[i], "an address in a spelling");
		CHECK(!net_name_of_wire(texts[i], strlen(texts[i]), out));
	}
	/* As URLs do (WHATWG): a last label that is a number. */
	name_is_none("127.0.0.1.", "an address");
	name_is_none("1.2.3.4.5", "an address");
	name_is_none("256.256.256.256", "an address");
	name_is_none("example.1", "an address");
	name_is_none("example.0x", "an address");
	name_is_none("09", "an address");
	name_is_none("１２７.０.０.１", "an address");
	name_is_none("127。0。0。1", "an address");
	name_is_none("①②⑦.1", "an address");
}

static void names_of_the_wire_are_ascii(void)
{
	char out[NET_NAME_MAX];

	CHECK(net_name_of_wire("WWW.Example.com.", 16, out));
	CHECK_STR(out, "www.example.com");
	CHECK(net_name_of_wire("xn--bcher-kva.example", 21, out));
	CHECK_STR(out, "xn--bcher-kva.example");
	CHECK(!net_name_of_wire("bücher.example", strlen("bücher.example"), out));
	CHECK_STR(out, "");
	CHECK(!net_name_of_wire("", 0, out));
	/* The control: it is a name outside. */
	CHECK(net_name_canonical("bücher.example", strlen("bücher.example"), out));
}

static void canonical_names_stay_as_they_are(void)
{
	static const char *const texts[] = { "BÜCHER.example.", "A.b_C.-D", "例え。jp", "faß.de" };
	char once[NET_NAME_MAX], twice[NET_NAME_MAX];

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		CHECK(net_name_canonical(texts[i], strlen(texts[i]), once));
		CHECK(net_name_of_wire(once, strlen(once), twice));
		CHECK_STR(twice, once);
	}
}

static void path_is(const char *text, const char *want)
{
	char out[NET_PATH_MAX], again[NET_PATH_MAX];

	if (!net_path_canonical(text, strlen(text), out)) {
		check_fail("\"%s\" has no canonical form", text);
		return;
	}
	CHECK_STR(out, want);
	CHECK(net_path_canonical(out, strlen(out), again));
	CHECK_STR(again, out);
}

static void paths_have_one_spelling(void)
{
	path_is("/", "/");
	path_is("/a/b", "/a/b");
	path_is("/A", "/A");
	path_is("/%61%2D%7e", "/a-~");
	path_is("/%2b%3a", "/%2B%3A");
	path_is("/a,b", "/a%2Cb");
	path_is("/a%2cb", "/a%2Cb");
	path_is("/a*", "/a%2A");
	path_is("/a%2ab", "/a%2Ab");
	path_is("/%c3%bc", "/%C3%BC");
	path_is("/%e9", "/%E9");
	path_is("/a%20b", "/a%20b");
	path_is("/a//b/", "/a//b/");
	path_is("/...", "/...");
	path_is("/.git/a..b/..c", "/.git/a..b/..c");
	path_is("/a;v=1", "/a;v=1");
	path_is("/a:@!$&'()+=~_-b", "/a:@!$&'()+=~_-b");
	path_is("/%23%3f", "/%23%3F");
	path_is("/100%25", "/100%25");
	path_is("/%2541", "/%2541");
	path_is("/@scope%2fpackage", "/@scope%2Fpackage");
	path_is("/a%5cb", "/a%5Cb");
	path_is("/a%2f...%2f", "/a%2F...%2F");
}

static void paths_of_two_meanings_are_refused(void)
{
	static const char *const texts[] = {
		"",
		"a",
		"*",
		"http://a/",
		"/.",
		"/..",
		"/../a",
		"/a/..",
		"/a/./b",
		"/a/../b",
		"/%2e%2e/a",
		"/%2E./a",
		"/.%2e",
		"/a/..;x/b",
		"/..;",
		"/.;a=1",
		"/%2e%2e%3bx",
		"/a%2f..",
		"/a%2f%2e%2e%2fb",
		"/a%5c..%5cb",
		"/..%2fb",
		"/..%5cb",
		"/.%2fb",
		"/a%2f.",
		"/a%2f..;x/b",

		"/a\\b",
		"/a%00b",
		"/a%0",
		"/a%",
		"/a%zz",
		"/a%u002e",
		"/a b",
		"/a\tb",
		"/a\r\nb",
		"/a\x7f",
		"/\xc3\xbc",
		"/a#b",
		"/a?b",
		"/a\"b",
		"/a<b",
		"/a|b",
		"/a^b",
		"/a`b",
		"/{a}",
		"/%252e%252e/a",
		"/%252fa",
		"/%25%32%65%25%32%65/a",
		"/%25%32f",
		"/%255c",
		"/%2500",
		"/%2525",
		"/%c0%ae%c0%ae/",
		"/%c1%9c",
		"/%e0%80%af",
		"/%f0%80%80%af",
	};
	char out[NET_PATH_MAX], large[NET_PATH_MAX + 8];

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		if (net_path_canonical(texts[i], strlen(texts[i]), out))
			check_fail("\"%s\" becomes \"%s\"", texts[i], out);
		CHECK_STR(out, "");
	}
	CHECK(!net_path_canonical("/a\0b", 4, out));
	memset(large, '/', sizeof(large));
	CHECK(!net_path_canonical(large, sizeof(large), out));
	CHECK(!net_path_canonical(large, NET_PATH_MAX, out));
	CHECK(net_path_canonical(large, NET_PATH_MAX - 4, out));
}

int main(void)
{
	RUN(names_have_one_spelling);
	RUN(other_alphabets_become_a_labels);
	RUN(what_is_no_name_is_refused);
	RUN(what_idna_refuses_is_refused);
	RUN(names_without_text_are_refused);
	RUN(lengths_are_those_of_dns);
	RUN(addresses_in_any_spelling_are_no_names);
	RUN(names_of_the_wire_are_ascii);
	RUN(canonical_names_stay_as_they_are);
	RUN(paths_have_one_spelling);
	RUN(paths_of_two_meanings_are_refused);
	return check_failures != 0;
}
