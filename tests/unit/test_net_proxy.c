/* HTTPS_PROXY, NO_PROXY, and the words of CONNECT. */
#include "../check.h"

#include "net/net_proxy.h"

static struct net_proxy proxy;
static struct error err;

static int parse(const char *url, const char *no_proxy)
{
	net_proxy_free(&proxy);
	return net_proxy_parse("HTTPS_PROXY", url, no_proxy, &proxy, &err);
}

static void proxies_are_parsed(void)
{
	char text[NET_ADDRESS_TEXT];

	CHECK_INT(parse("http://Proxy.Example.com:3128/", NULL), 0);
	CHECK_STR(proxy.host, "proxy.example.com");
	CHECK_INT(proxy.port, 3128);
	CHECK(!proxy.authorization);
	CHECK_INT(parse("proxy:8080", NULL), 0);
	CHECK_STR(proxy.host, "proxy");
	CHECK_INT(proxy.port, 8080);
	CHECK_INT(parse("HTTP://10.0.0.1", NULL), 0);
	CHECK_STR(proxy.host, "");
	net_address_text(&proxy.address, text);
	CHECK_STR(text, "10.0.0.1");
	CHECK_INT(proxy.port, 80);
	CHECK_INT(parse("http://[2001:db8::1]:3128", NULL), 0);
	net_address_text(&proxy.address, text);
	CHECK_STR(text, "2001:db8::1");
	CHECK_INT(parse("http://us%65r:p%40ss:w@rd@proxy:1", NULL), 0);
	CHECK_STR(proxy.authorization, "dXNlcjpwQHNzOndAcmQ="); /* user:p@ss:w@rd */
	CHECK_STR(proxy.host, "proxy");
	net_proxy_free(&proxy);
}

static void what_is_no_proxy_is_refused(void)
{
	static const char *const urls[] = { "https://proxy:1",       "socks5://proxy:1",   "http://",
					    "http://proxy:0",        "http://proxy:65536", "http://proxy:x",
					    "http://proxy:",         "http://[::1",        "http://[::1]x:1",
					    "http://pro xy:1",       "http://a\nb:1",      "http://u%0d%0aX:y@proxy:1",
					    "http://u%zz:y@proxy:1", "http://u%4@proxy:1", "http://[10.0.0.1:1",
					    "http://u:\x01@proxy" };

	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		if (parse(urls[i], NULL) == 0)
			check_fail("%s was taken", urls[i]);
		CHECK(strncmp(err.text, "HTTPS_PROXY: ", 13) == 0);
	}
	/* Nothing of a password is said. */
	CHECK_INT(parse("http://user:secret@proxy:x", NULL), -1);
	CHECK(!strstr(err.text, "secret"));
	CHECK_INT(parse("socks5://user:secret@proxy:1", NULL), -1);
	CHECK_STR(err.text, "HTTPS_PROXY: a proxy of \"socks5\" cannot be used; only http://HOST:PORT can");
}

static bool exempts(const char *host, const char *address, uint16_t port)
{
	struct net_address parsed;

	if (address)
		CHECK(net_address_parse(address, &parsed));
	return net_proxy_exempts(&proxy, host, address ? &parsed : NULL, port);
}

static void exceptions_are_hosts_and_ranges(void)
{
	CHECK_INT(parse("proxy:1",
			"example.com, .example.net  10.0.0.0/8,fd00::/8,*.Example.org,host.test:8443,1.2.3.4,[::5]:9"),
		  0);
	CHECK(exempts("example.com", NULL, 443));
	CHECK(exempts("a.example.com", NULL, 443));
	CHECK(!exempts("notexample.com", NULL, 443));
	CHECK(!exempts("example.com.evil.test", NULL, 443));
	CHECK(exempts("a.example.net", NULL, 443));
	CHECK(exempts("b.example.org", NULL, 443));
	CHECK(exempts("host.test", NULL, 8443));
	CHECK(!exempts("host.test", NULL, 443));
	CHECK(!exempts("host.test", NULL, 0));
	CHECK(exempts(NULL, "10.9.8.7", 443));
	CHECK(!exempts(NULL, "11.9.8.7", 443));
	CHECK(exempts(NULL, "fd00::1", 443));
	CHECK(exempts(NULL, "1.2.3.4", 443));
	CHECK(!exempts(NULL, "1.2.3.5", 443));
	CHECK(exempts(NULL, "::5", 9));
	CHECK(!exempts(NULL, "::5", 10));
	CHECK_INT(parse("proxy:1", "*"), 0);
	CHECK(exempts("anything.test", NULL, 443));
	CHECK(exempts(NULL, "8.8.8.8", 443));
	CHECK_INT(parse("proxy:1", ",, :80,/8,10.0.0.0/,10.0.0.0/999,[,"), 0);
	CHECK(!exempts("anything.test", NULL, 80));
	CHECK(!exempts(NULL, "10.0.0.0", 80));
	CHECK_INT(parse("proxy:1", NULL), 0);
	CHECK(!exempts("anything.test", NULL, 80));
	net_proxy_free(&proxy);
}

static void requests_name_host_and_port(void)
{
	struct buf text = { 0 };
	struct net_address address;

	CHECK_INT(parse("http://u:p@proxy:1", NULL), 0);
	net_proxy_request(&proxy, "example.com", NULL, 443, &text);
	CHECK_STR(text.data, "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n"
			     "Proxy-Authorization: Basic dTpw\r\n\r\n");
	buf_free(&text);
	text = (struct buf){ 0 };
	CHECK_INT(parse("proxy:1", NULL), 0);
	CHECK(net_address_parse("2001:db8::1", &address));
	net_proxy_request(&proxy, NULL, &address, 80, &text);
	CHECK_STR(text.data, "CONNECT [2001:db8::1]:80 HTTP/1.1\r\nHost: [2001:db8::1]:80\r\n\r\n");
	buf_free(&text);
	text = (struct buf){ 0 };
	CHECK(net_address_parse("10.0.0.1", &address));
	net_proxy_request(&proxy, NULL, &address, 80, &text);
	CHECK_STR(text.data, "CONNECT 10.0.0.1:80 HTTP/1.1\r\nHost: 10.0.0.1:80\r\n\r\n");
	buf_free(&text);
	net_proxy_free(&proxy);
}

static void answers_are_understood(void)
{
	static const char good[] = "HTTP/1.1 200 Connection established\r\nX: y\r\n\r\nrest";
	static const char *const bad[] = { "HTTP/1.1 403 Forbidden\r\n\r\n",
					   "HTTP/2 200\r\n\r\n",
					   "220 hello\r\n\r\n",
					   "HTTP/1.1 2\r\n\r\n",
					   "HTTP/1.1 2000 x\r\n\r\n",
					   "HTTP/1.1  200\r\n\r\n",
					   "HTTP/1.x 200 OK\r\n\r\n",
					   "HTTP/1.1 20x OK\r\n\r\n",
					   "X" };
	static char large[NET_PROXY_ANSWER];

	for (size_t size = 0; size < sizeof(good) - 1 - 4; size++)
		CHECK_INT(net_proxy_answer(good, size), 0);
	CHECK_INT(net_proxy_answer(good, sizeof(good) - 1), sizeof(good) - 1 - 4);
	CHECK_INT(net_proxy_answer("HTTP/1.0 200\r\n\r\n", 16), 16);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_INT(net_proxy_answer(bad[i], strlen(bad[i])), -1);
	memset(large, 'x', sizeof(large));
	memcpy(large, good, 20);
	CHECK_INT(net_proxy_answer(large, sizeof(large) - 1), 0);
	CHECK_INT(net_proxy_answer(large, sizeof(large)), -1);
}

int main(void)
{
	RUN(proxies_are_parsed);
	RUN(what_is_no_proxy_is_refused);
	RUN(exceptions_are_hosts_and_ranges);
	RUN(requests_name_host_and_port);
	RUN(answers_are_understood);
	return check_failures ? 1 : 0;
}
