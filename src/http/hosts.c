/* Checks of Host and Origin, which protect against DNS rebinding: a web page whose host name leads to our address. */
#include "http/http.h"

#include "http/header_text.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

enum {
	ADDRESS_MAX = 64 /* bytes of an address as text, including the NUL */
};

/* Splits off the port; of an IPv6 address also the brackets, and sets *is_ipv6. False if the text is invalid. */
static bool host_split(struct http_text text, struct http_text *name, bool *is_ipv6)
{
	size_t end = 0;

	*is_ipv6 = text.size > 0 && text.data[0] == '[';
	if (*is_ipv6) {
		const char *bracket = memchr(text.data, ']', text.size);

		if (!bracket)
			return false;
		end = (size_t)(bracket - text.data) + 1;
		*name = (struct http_text){ text.data + 1, end - 2 };
	} else {
		while (end < text.size && text.data[end] != ':')
			end++;
		*name = (struct http_text){ text.data, end };
	}
	if (end < text.size) {
		if (text.data[end] != ':' || text.size - end > 6)
			return false;
		for (size_t i = end + 1; i < text.size; i++)
			if (!http_is_digit(text.data[i]))
				return false;
	}
	return name->size > 0;
}

/* Only forms that the kernel parses the same way: "127.1" and "0177.0.0.1" count as names. */
static bool host_is_loopback(struct http_text name, bool is_ipv6)
{
	unsigned char address[16];
	char text[ADDRESS_MAX];

	if (name.size >= sizeof(text))
		return false;
	memcpy(text, name.data, name.size);
	text[name.size] = '\0';
	if (is_ipv6)
		return inet_pton(AF_INET6, text, address) == 1 && memcmp(address, &in6addr_loopback, 16) == 0;
	return strcasecmp(text, "localhost") == 0 || (inet_pton(AF_INET, text, address) == 1 && address[0] == 127);
}

/* Whether the list has the host; an IPv6 address may have brackets there or not. */
static bool host_is_named(struct http_text name, bool is_ipv6, const char *listed)
{
	size_t size = strlen(listed);

	if (is_ipv6 && size >= 2 && listed[0] == '[' && listed[size - 1] == ']') {
		listed++;
		size -= 2;
	} else if (is_ipv6 != (strchr(listed, ':') != NULL)) {
		return false;
	}
	return size == name.size && strncasecmp(listed, name.data, size) == 0;
}

static bool host_plain(struct http_text name)
{
	for (size_t i = 0; i < name.size; i++) {
		char c = name.data[i], small = c | 0x20;

		if (!(small >= 'a' && small <= 'z') && !http_is_digit(c) && (c == '\0' || !strchr("-._~:%", c)))
			return false;
	}
	return true;
}

bool http_host_allowed(struct http_text host, const char *const *names)
{
	struct http_text name;
	bool is_ipv6;

	if (!host.data) {
		for (; names && *names; names++)
			if (strcmp(*names, "*") == 0)
				return true;
		return false;
	}
	if (!host_split(host, &name, &is_ipv6) || !host_plain(name))
		return false;
	if (host_is_loopback(name, is_ipv6))
		return true;
	for (; names && *names; names++)
		if (strcmp(*names, "*") == 0 || host_is_named(name, is_ipv6, *names))
			return true;
	return false;
}

bool http_origin_allowed(struct http_text origin, const char *const *names)
{
	size_t scheme;

	if (origin.size > 7 && strncasecmp(origin.data, "http://", 7) == 0)
		scheme = 7;
	else if (origin.size > 8 && strncasecmp(origin.data, "https://", 8) == 0)
		scheme = 8;
	else
		return false;
	return http_host_allowed((struct http_text){ origin.data + scheme, origin.size - scheme }, names);
}
