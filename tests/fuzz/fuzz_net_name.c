/* Names of hosts, addresses and paths of requests, as boxes and people write them. */
#include "fuzz.h"

#include "net/net_policy.h"

#include <arpa/inet.h>

static void name_holds(const char *text, size_t size)
{
	char name[NET_NAME_MAX], again[NET_NAME_MAX];
	struct in_addr address;

	if (net_name_of_wire(text, size, again)) {
		MUST(net_name_canonical(text, size, name));
		MUST(strcmp(name, again) == 0);
	}
	if (!net_name_canonical(text, size, name)) {
		MUST(*name == '\0');
		return;
	}
	MUST(strlen(name) <= 253 && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == strlen(name));
	MUST(name[0] != '.' && !strstr(name, "..") && name[strlen(name) - 1] != '.');
	MUST(inet_aton(name, &address) == 0);
	MUST(net_name_of_wire(name, strlen(name), again));
	MUST(strcmp(name, again) == 0);
}

static void path_holds(const char *text, size_t size)
{
	char path[NET_PATH_MAX], again[NET_PATH_MAX];

	if (!net_path_canonical(text, size, path)) {
		MUST(*path == '\0');
		return;
	}
	MUST(path[0] == '/' && !strpbrk(path, ",*? #\\\n") && !strstr(path, "/../") && !strstr(path, "/./"));
	MUST(net_path_canonical(path, strlen(path), again));
	MUST(strcmp(path, again) == 0);
}

static void address_holds(const char *text)
{
	struct net_address address, again;
	char spelt[NET_ADDRESS_TEXT];

	if (!net_address_parse(text, &address))
		return;
	net_address_text(&address, spelt);
	MUST(net_address_parse(spelt, &again) && net_address_equal(&address, &again));
	MUST(net_address_scope(&address) == net_address_scope(&again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text_of(data, size);

	name_holds(text, size);
	path_holds(text, size);
	address_holds(text);
	free(text);
	return 0;
}
