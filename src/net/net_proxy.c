#include "net/net_proxy.h"

#include "base/base64.h"
#include "base/own.h"
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	PROXY_PORT = 80,      /* of a URL without one */
	CREDENTIALS_MAX = 512 /* bytes of user and password, decoded */
};

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* user:password, percent-decoded. The size; -1: neither can be in a header. */
static long decode_credentials(const char *text, size_t size, unsigned char out[CREDENTIALS_MAX])
{
	size_t used = 0;

	for (size_t i = 0; i < size; i++) {
		int byte = (unsigned char)text[i];

		if (byte == '%') {
			const int high = i + 2 < size ? hex_digit(text[i + 1]) : -1;
			const int low = i + 2 < size ? hex_digit(text[i + 2]) : -1;

			if (high < 0 || low < 0)
				return -1;
			byte = high << 4 | low;
			i += 2;
		}
		if (byte < 0x20 || byte == 0x7f || used >= CREDENTIALS_MAX)
			return -1;
		out[used++] = (unsigned char)byte;
	}
	return (long)used;
}

/* "host", "host:port", "[v6]:port". The parts; false: it is none of these. */
static bool split_host(const char *text, size_t size, const char **host, size_t *host_size, uint16_t *port)
{
	const char *end = text + size, *colon;
	char digits[8];
	uint64_t number;

	if (size > 0 && *text == '[') {
		const char *close = memchr(text, ']', size);

		if (!close)
			return false;
		*host = text + 1;
		*host_size = (size_t)(close - text) - 1;
		colon = close + 1;
		if (colon != end && *colon != ':')
			return false;
	} else {
		colon = memchr(text, ':', size);
		*host = text;
		*host_size = colon ? (size_t)(colon - text) : size;
		/* An IPv6 address without brackets has no port. */
		if (colon && memchr(colon + 1, ':', (size_t)(end - colon) - 1)) {
			*host_size = size;
			colon = end;
		}
	}
	if (!colon || colon == end)
		return *host_size > 0;
	if ((size_t)(end - colon) - 1 >= sizeof(digits))
		return false;
	memcpy(digits, colon + 1, (size_t)(end - colon) - 1);
	digits[(end - colon) - 1] = '\0';
	if (!text_count(digits, &number) || number == 0 || number > 65535)
		return false;
	*port = (uint16_t)number;
	return *host_size > 0;
}

static bool parse_address(const char *text, size_t size, struct net_address *address)
{
	char copy[NET_ADDRESS_TEXT];

	if (size >= sizeof(copy))
		return false;
	memcpy(copy, text, size);
	copy[size] = '\0';
	return net_address_parse(copy, address);
}

int net_proxy_parse(const char *name, const char *url, const char *no_proxy, struct net_proxy *proxy, struct error *err)
{
	const char *scheme = strstr(url, "://"), *at = scheme ? scheme + 3 : url, *user, *host;
	size_t size = strcspn(at, "/?#"), host_size;

	*proxy = (struct net_proxy){ .port = PROXY_PORT };
	if (scheme && !((size_t)(scheme - url) == 4 && strncasecmp(url, "http", 4) == 0))
		return error_set(err, ERROR_FAILED, 0,
				 "%s: a proxy of \"%.*s\" cannot be used; only http://HOST:PORT can", name,
				 (int)(scheme - url < 20 ? scheme - url : 20), url);
	/* A password may contain the character, encoded or not. */
	user = memrchr(at, '@', size);
	if (user) {
		unsigned char credentials[CREDENTIALS_MAX];
		const long used = decode_credentials(at, (size_t)(user - at), credentials);
		struct buf text = { 0 };

		if (used >= 0)
			base64_add(&text, credentials, (size_t)used);
		explicit_bzero(credentials, sizeof(credentials));
		proxy->authorization = used >= 0 ? buf_take(&text) : NULL;
		if (!proxy->authorization)
			return error_set(err, ERROR_FAILED, 0, "%s: its user and password cannot be used", name);
		size -= (size_t)(user + 1 - at);
		at = user + 1;
	}
	if (!split_host(at, size, &host, &host_size, &proxy->port) ||
	    (!parse_address(host, host_size, &proxy->address) && !net_name_canonical(host, host_size, proxy->host))) {
		error_set(err, ERROR_FAILED, 0, "%s: \"%.*s\" is not HOST:PORT of a proxy", name,
			  (int)(size < 80 ? size : 80), at);
		net_proxy_free(proxy);
		return -1;
	}
	proxy->no_proxy = no_proxy && *no_proxy ? strdup(no_proxy) : NULL;
	return 0;
}

void net_proxy_free(struct net_proxy *proxy)
{
	if (proxy->authorization)
		explicit_bzero(proxy->authorization, strlen(proxy->authorization));
	free(take_ptr(proxy->authorization));
	free(take_ptr(proxy->no_proxy));
}

/* An address or a range. */
static bool is_within(const char *text, size_t size, const struct net_address *address)
{
	const char *slash = memchr(text, '/', size);
	struct net_address base;
	uint64_t bits;
	char digits[8];

	if (!parse_address(text, slash ? (size_t)(slash - text) : size, &base))
		return false;
	if (!slash)
		return net_address_equal(&base, address);
	size -= (size_t)(slash + 1 - text);
	if (size >= sizeof(digits))
		return false;
	memcpy(digits, slash + 1, size);
	digits[size] = '\0';
	return text_count(digits, &bits) && bits <= 128 && net_address_within(address, &base, (unsigned)bits);
}

/* The name itself, and those below it. */
static bool is_below(const char *text, size_t size, const char *host)
{
	const size_t length = strlen(host);

	if (size > 1 && text[0] == '*' && text[1] == '.') {
		text++;
		size--;
	}
	if (size > 0 && text[0] == '.') {
		text++;
		size--;
	}
	if (size == 0 || size > length || strncasecmp(host + length - size, text, size) != 0)
		return false;
	return size == length || host[length - size - 1] == '.';
}

bool net_proxy_exempts(const struct net_proxy *proxy, const char *host, const struct net_address *address,
		       uint16_t port)
{
	const char *at = proxy->no_proxy ? proxy->no_proxy : "";

	for (at += strspn(at, ", \t"); *at; at += strspn(at, ", \t")) {
		const size_t size = strcspn(at, ", \t");
		const char *name = at;
		size_t name_size = size;
		uint16_t only = 0;

		/* A range has a slash where a port would be. */
		if (!memchr(at, '/', size) && !split_host(at, size, &name, &name_size, &only))
			name_size = 0;
		at += size;
		if (only != 0 && only != port)
			continue;
		if (name_size == 1 && *name == '*')
			return true;
		if (host ? is_below(name, name_size, host) : is_within(name, name_size, address))
			return true;
	}
	return false;
}

void net_proxy_request(const struct net_proxy *proxy, const char *host, const struct net_address *address,
		       uint16_t port, struct buf *out)
{
	char text[NET_ADDRESS_TEXT + 2];

	if (address) {
		text[0] = '[';
		net_address_text(address, text + 1);
		host = text + 1;
		if (address->family == AF_INET6) {
			strcat(text, "]");
			host = text;
		}
	}
	buf_printf(out, "CONNECT %s:%u HTTP/1.1\r\nHost: %s:%u\r\n", host, port, host, port);
	if (proxy->authorization)
		buf_printf(out, "Proxy-Authorization: Basic %s\r\n", proxy->authorization);
	buf_text(out, "\r\n");
}

long net_proxy_answer(const char *data, size_t size)
{
	static const char begin[] = "HTTP/1.";
	const char *end = memmem(data, size, "\r\n\r\n", 4);

	if (memcmp(data, begin, size < sizeof(begin) - 1 ? size : sizeof(begin) - 1) != 0)
		return -1;
	if (!end)
		return size >= NET_PROXY_ANSWER ? -1 : 0;
	/* HTTP/1.x 2xx, and a blank or the end of the line behind it. */
	if (end - data < 12 || !isdigit((unsigned char)data[7]) || data[8] != ' ' || data[9] != '2' ||
	    !isdigit((unsigned char)data[10]) || !isdigit((unsigned char)data[11]) || isdigit((unsigned char)data[12]))
		return -1;
	return end + 4 - data;
}
