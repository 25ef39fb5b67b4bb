#include "registry/setting.h"

#include "base/own.h"
#include "base/text.h"
#include "net/net_policy.h"
#include "registry/tokens.h"
#include "schema/surroundings.h"

#include <stdio.h>
#include <string.h>

enum setting_place {
	NOT_IN_FILE = 1,     /* it determines the path of .env */
	NOT_IN_REGISTRY = 2, /* it determines the path of the registry, or is a secret */
};

struct setting {
	const char *name;     /* name in the environment, .env and the registry */
	const char *option;   /* option of the command line, or NULL */
	const char *fallback; /* default; NULL: computed, or none */
	/* returns 0, or -1 with the name as the error's field */
	int (*check)(const char *name, const char *value, const char *detail, struct error *err);
	const char *detail;  /* for the check: a limit's key, or a list of words */
	unsigned places;     /* enum setting_place */
	const char *meaning; /* one line */
};

/* Checks a limit; errors name the setting instead of the limit's key. */
static int check_limit(const char *name, const char *value, const char *key, struct error *err)
{
	const enum limit_id id = (enum limit_id)(limit_by_key(key) - limit_rows);
	struct limits checks = { 0 };
	struct error why = { 0 };

	if (limit_set(&checks, id, value, &why) == 0)
		return 0;
	return error_field(err, name, "%s", error_detail(&why));
}

/* The unit is fixed, so a value with another unit is refused. */
static int check_output(const char *name, const char *value, const char *key, struct error *err)
{
	char text[32];

	snprintf(text, sizeof(text), "%.16sk", value);
	if (!*value || strlen(value) > 16 || strspn(value, "0123456789") != strlen(value) ||
	    check_limit(name, text, key, NULL) < 0)
		return error_field(err, name, "\"%.80s\" is not a number of KiB between 1 and 16384", value);
	return 0;
}

/* Whether the value is a word of a list like "auto, never, start". */
static bool is_word(const char *value, const char *words)
{
	size_t length = strlen(value);

	for (; *words; words += strspn(words, ", ")) {
		size_t size = strcspn(words, ",");

		if (size == length && memcmp(words, value, size) == 0)
			return true;
		words += size;
	}
	return false;
}

static int check_word(const char *name, const char *value, const char *words, struct error *err)
{
	return is_word(value, words) ? 0 : error_field(err, name, "\"%.80s\" is not one of %s", value, words);
}

static int check_type(const char *name, const char *value, const char *words, struct error *err)
{
	return is_word(value, words) ? 0 : error_field(err, name, "\"%.80s\" is not one of %s", value, words);
}

static int check_imports(const char *name, const char *value, const char *words, struct error *err)
{
	return is_word(value, words) ? 0 : error_field(err, name, "\"%.80s\" is not true or false", value);
}

static int check_path(const char *name, const char *value, const char *detail, struct error *err)
{
	(void)detail;
	return *value == '/' ? 0 : error_field(err, name, "\"%.80s\" is not an absolute path", value);
}

static int check_size(const char *name, const char *value, const char *detail, struct error *err)
{
	uint64_t bytes;

	(void)detail;
	if (text_size(value, &bytes))
		return 0;
	return error_field(err, name, "\"%.80s\" is not a size such as 256m or 1g", value);
}

static int check_history_size(const char *name, const char *value, const char *detail, struct error *err)
{
	uint64_t bytes;

	(void)detail;
	if (text_size(value, &bytes) && bytes >= 1 << 20)
		return 0;
	return error_field(err, name, "\"%.80s\" is not a size of at least 1m such as 256m or 1g", value);
}

static int check_days(const char *name, const char *value, const char *detail, struct error *err)
{
	uint64_t days;

	(void)detail;
	if (text_count(value, &days) && days <= 36500)
		return 0;
	return error_field(err, name, "\"%.80s\" is not a number of days between 0 (no limit) and 36500", value);
}

#define HOST_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"

/* The length of the host at the start: a name, an address, or [V6]; 0: there is none. */
static size_t host_length(const char *text)
{
	size_t length;

	if (*text != '[') {
		length = strspn(text, HOST_CHARACTERS);
		return length <= 253 ? length : 0;
	}
	length = 1 + strspn(text + 1, "0123456789abcdefABCDEF:.%");
	return length >= 3 && length < 64 && text[length] == ']' ? length + 1 : 0;
}

static int check_listen(const char *name, const char *value, const char *detail, struct error *err)
{
	size_t length = host_length(value);
	uint64_t port;

	(void)detail;
	if (strcmp(value, "none") == 0)
		return 0;
	if (length > 0 && value[length] == ':' && text_count(value + length + 1, &port) && port <= 65535)
		return 0;
	return error_field(err, name,
			   "\"%.80s\" is not HOST:PORT such as 127.0.0.1:7320 or [::1]:7320, and not the word none",
			   value);
}

static int check_hosts(const char *name, const char *value, const char *detail, struct error *err)
{
	const char *at = value;

	(void)detail;
	for (;;) {
		size_t length = host_length(at);

		if (length == 0 || (at[length] != ',' && at[length] != '\0'))
			return error_field(err, name,
					   "\"%.80s\" is not a list of host names such as box.example.com,10.0.0.7",
					   value);
		if (at[length] == '\0')
			return 0;
		at += length + 1;
	}
}

static int check_net(const char *name, const char *value, const char *detail, struct error *err)
{
	_cleanup_arena_ struct arena arena = { 0 };
	struct net_list list;
	struct error why = { 0 };

	(void)detail;
	if (net_list_parse(value, &arena, &list, &why) == 0)
		return 0;
	return error_field(err, name, "%s", error_detail(&why));
}

/* IP, IP:PORT, V6, [V6] or [V6]:PORT, of this size: what c-ares takes as well. */
static bool is_server(const char *text, size_t size)
{
	char host[NET_ADDRESS_TEXT + 16], *end = host, *port = NULL;
	struct net_address address;
	uint64_t number;

	if (size == 0 || size >= sizeof(host))
		return false;
	memcpy(host, text, size);
	host[size] = '\0';
	if (*host == '[') {
		end = strchr(host, ']');
		if (!end || (end[1] != ':' && end[1] != '\0') || !strchr(host, ':') || strchr(host, ':') > end)
			return false;
		port = end[1] == ':' ? end + 2 : NULL;
		*end = '\0';
	} else if (strchr(host, ':') && strchr(host, ':') == strrchr(host, ':')) {
		port = strchr(host, ':');
		*port++ = '\0';
	}
	if (port && (!text_count(port, &number) || number < 1 || number > UINT16_MAX))
		return false;
	return net_address_parse(*host == '[' ? host + 1 : host, &address);
}

static int check_resolver(const char *name, const char *value, const char *detail, struct error *err)
{
	(void)detail;
	for (const char *at = value;; at++) {
		const size_t size = strcspn(at, ",");

		if (!is_server(at, size))
			return error_field(
				err, name,
				"\"%.80s\" is not a list of addresses such as 192.0.2.53,[2001:db8::53]:5353", value);
		at += size;
		if (!*at)
			return 0;
	}
}

static int check_token(const char *name, const char *value, const char *detail, struct error *err)
{
	(void)detail;
	if (token_is_usable(value))
		return 0;
	return error_field(err, name, "it has to be %d to %d visible ASCII characters without blanks", TOKEN_MIN,
			   TOKEN_MAX - 1);
}

static const struct setting settings[CONFIG_KEYS] = {
	[CONFIG_TYPE] = { "SANDBOX_TYPE", NULL, "auto", check_type, ENGINE_NAMES, 0,
			  "the engine that runs programs: " ENGINE_NAMES },
	[CONFIG_TIMEOUT] = { "SANDBOX_TIMEOUT_SEC", NULL, "30", check_limit, "timeout", 0,
			     "wall time of a run, in seconds or as 500ms, 1m, 1h30m" },
	[CONFIG_MAX_OUTPUT] = { "SANDBOX_MAX_OUTPUT_KB", NULL, "20", check_output, "max-output", 0,
				"maximum of each stream in a result, in KiB" },
	[CONFIG_BLOCK_IMPORTS] = { "SANDBOX_BLOCK_DANGEROUS_IMPORTS", NULL, "false", check_imports, "true, false", 0,
				   "refuse programs with dangerous imports" },
	[CONFIG_POLICY] = { "EMBERBOX_POLICY", NULL, "off", check_word, "off, warn, block", 0,
			    "the policy for programs with dangerous imports: off, warn or block" },
	[CONFIG_STORE_CODE] = { "SANDBOX_STORE_CODE", NULL, "on_error", check_word, "always, on_error, never", 0,
				"when to keep the code of a run: always, on_error or never" },
	[CONFIG_MEMORY] = { "DOCKER_MEMORY_LIMIT", NULL, "512m", check_limit, "memory", 0, "memory of a run" },
	[CONFIG_CPUS] = { "DOCKER_CPU_LIMIT", NULL, "1", check_limit, "cpus", 0, "cores of a run" },
	[CONFIG_HOME] = { "EMBERBOX_HOME", NULL, NULL, check_path, NULL, NOT_IN_FILE | NOT_IN_REGISTRY,
			  "the state directory: history, artifacts, sockets, .env and the registry" },
	[CONFIG_LISTEN] = { "EMBERBOX_LISTEN", "--listen", "127.0.0.1:7320", check_listen, NULL, 0,
			    "the address on which the service listens for HTTP: HOST:PORT or none" },
	[CONFIG_TOKEN] = { "EMBERBOX_TOKEN", NULL, NULL, check_token, NULL, NOT_IN_REGISTRY,
			   "the first bearer token; never shown" },
	[CONFIG_SOCKET] = { "EMBERBOX_SOCKET", "--socket", NULL, check_path, NULL, 0, "the service's Unix socket" },
	[CONFIG_SERVICE] = { "EMBERBOX_SERVICE", NULL, "auto", check_word, "auto, never, start", 0,
			     "whether run uses the service: auto, never or start" },
	[CONFIG_CACHE_SIZE] = { "EMBERBOX_CACHE_SIZE", NULL, "1g", check_size, NULL, 0,
				"maximum size of the cache of compiled programs" },
	[CONFIG_REGISTRY_FILE] = { "EMBERBOX_REGISTRY", "--registry", NULL, check_path, NULL, NOT_IN_REGISTRY,
				   "the registry's file" },
	[CONFIG_HISTORY_DAYS] = { "EMBERBOX_HISTORY_DAYS", NULL, "30", check_days, NULL, 0,
				  "how long to keep the history, in days; 0: no limit" },
	[CONFIG_HISTORY_SIZE] = { "EMBERBOX_HISTORY_SIZE", NULL, "1g", check_history_size, NULL, 0,
				  "maximum size of the history" },
	[CONFIG_AUDIT] = { "EMBERBOX_AUDIT", NULL, "required", check_word, "required, best_effort, off", 0,
			   "the audit log: required, best_effort or off" },
	[CONFIG_LOG] = { "EMBERBOX_LOG", "--log", "events", check_word, "events, text, json", 0,
			 "the service's log: events, text or json" },
	[CONFIG_TLS_CERT] = { "EMBERBOX_TLS_CERT", "--tls-cert", NULL, check_path, NULL, 0,
			      "a PEM file with the certificate for HTTPS" },
	[CONFIG_TLS_KEY] = { "EMBERBOX_TLS_KEY", "--tls-key", NULL, check_path, NULL, 0, "a PEM file with its key" },
	[CONFIG_SERVICE_WEAKER] = { "EMBERBOX_SERVICE_WEAKER", "--allow-weaker", "none", check_word, "none, landlock",
				    0, "a layer of isolation that the service's processes may lack: none or landlock" },
	[CONFIG_HOSTS] = { "EMBERBOX_HOSTS", NULL, NULL, check_hosts, NULL, 0,
			   "host names that clients may use for the service, separated by commas" },
	[CONFIG_NET] = { "EMBERBOX_NET", NULL, NULL, check_net, NULL, 0,
			 "the most that programs may reach, as --net; default: what their requests say" },
	[CONFIG_NET_HOST] = { "EMBERBOX_NET_HOST", NULL, "false", check_imports, "true, false", 0,
			      "whether --net host:PORT may name services of this machine" },
	[CONFIG_RESOLVER] = { "EMBERBOX_RESOLVER", NULL, NULL, check_resolver, NULL, 0,
			      "addresses of name servers for the names that programs ask for; default: resolv.conf" },
};

/* These settings have the names of other sandboxes; emberbox's own names are aliases. */
static const char *const others[CONFIG_KEYS] = {
	[CONFIG_TYPE] = "EMBERBOX_ENGINE",
	[CONFIG_TIMEOUT] = "EMBERBOX_TIMEOUT",
	[CONFIG_MAX_OUTPUT] = "EMBERBOX_MAX_OUTPUT_KB",
	[CONFIG_BLOCK_IMPORTS] = "EMBERBOX_BLOCK_DANGEROUS_IMPORTS",
	[CONFIG_STORE_CODE] = "EMBERBOX_STORE_CODE",
	[CONFIG_MEMORY] = "EMBERBOX_MEMORY",
	[CONFIG_CPUS] = "EMBERBOX_CPUS",
};

const char *setting_other_name(enum config_key key)
{
	return others[key];
}

const char *config_name(enum config_key key)
{
	return settings[key].name;
}

const char *config_meaning(enum config_key key)
{
	return settings[key].meaning;
}

const char *config_option_name(enum config_key key)
{
	return settings[key].option;
}

const char *setting_default(enum config_key key)
{
	return settings[key].fallback;
}

bool setting_limit(enum config_key key, enum limit_id *id)
{
	if (settings[key].check != check_limit && settings[key].check != check_output)
		return false;
	*id = (enum limit_id)(limit_by_key(settings[key].detail) - limit_rows);
	return true;
}

bool setting_find(const char *name, enum config_key *key)
{
	for (int i = 0; i < CONFIG_KEYS; i++) {
		if (strcmp(settings[i].name, name) == 0 || (others[i] && strcmp(others[i], name) == 0)) {
			*key = (enum config_key)i;
			return true;
		}
	}
	return false;
}

int setting_check(enum config_key key, const char *name, const char *value, struct error *err)
{
	return settings[key].check(name, value, settings[key].detail, err);
}

bool setting_in_file(enum config_key key)
{
	return !(settings[key].places & NOT_IN_FILE);
}

bool setting_in_registry(enum config_key key)
{
	return !(settings[key].places & NOT_IN_REGISTRY);
}

const char *setting_elsewhere(enum config_key key)
{
	if (key == CONFIG_TOKEN)
		return "a secret must not be in the registry; set EMBERBOX_TOKEN in the environment or in .env";
	return "it determines the path of the registry; set it in the environment";
}
