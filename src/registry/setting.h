/*
 * The table of settings: name, default, meaning, valid values.
 *
 * Pure. config.h handles the sources of a value (an option, the environment, a
 * file) and their precedence.
 */
#pragma once

#include "base/error.h"
#include "schema/limits.h"

#include <stdbool.h>

enum config_key {
	CONFIG_TYPE,           /* SANDBOX_TYPE */
	CONFIG_TIMEOUT,        /* SANDBOX_TIMEOUT_SEC */
	CONFIG_MAX_OUTPUT,     /* SANDBOX_MAX_OUTPUT_KB */
	CONFIG_BLOCK_IMPORTS,  /* SANDBOX_BLOCK_DANGEROUS_IMPORTS */
	CONFIG_POLICY,         /* EMBERBOX_POLICY: off (default), warn, block */
	CONFIG_STORE_CODE,     /* SANDBOX_STORE_CODE: always, on_error (default), never */
	CONFIG_MEMORY,         /* DOCKER_MEMORY_LIMIT */
	CONFIG_CPUS,           /* DOCKER_CPU_LIMIT */
	CONFIG_HOME,           /* EMBERBOX_HOME */
	CONFIG_LISTEN,         /* EMBERBOX_LISTEN: HOST:PORT, default 127.0.0.1:7320; "none" */
	CONFIG_TOKEN,          /* EMBERBOX_TOKEN; never shown */
	CONFIG_SOCKET,         /* EMBERBOX_SOCKET */
	CONFIG_SERVICE,        /* EMBERBOX_SERVICE */
	CONFIG_CACHE_SIZE,     /* EMBERBOX_CACHE_SIZE */
	CONFIG_REGISTRY_FILE,  /* EMBERBOX_REGISTRY: default registry.yaml in the state directory */
	CONFIG_HISTORY_DAYS,   /* EMBERBOX_HISTORY_DAYS: 30; 0: for ever */
	CONFIG_HISTORY_SIZE,   /* EMBERBOX_HISTORY_SIZE: 1g */
	CONFIG_AUDIT,          /* EMBERBOX_AUDIT: required (default), best_effort, off */
	CONFIG_LOG,            /* EMBERBOX_LOG: events (default), text, json */
	CONFIG_TLS_CERT,       /* EMBERBOX_TLS_CERT: a PEM file */
	CONFIG_TLS_KEY,        /* EMBERBOX_TLS_KEY: a PEM file */
	CONFIG_SERVICE_WEAKER, /* EMBERBOX_SERVICE_WEAKER: none (default), landlock */
	CONFIG_HOSTS,          /* EMBERBOX_HOSTS: host names that clients may use, separated by commas */
	CONFIG_NET,            /* EMBERBOX_NET: rules, the most that any program may reach */
	CONFIG_NET_HOST,       /* EMBERBOX_NET_HOST: whether rules may name services of this machine */
	CONFIG_RESOLVER,       /* EMBERBOX_RESOLVER: name servers for the names that programs ask for */
	CONFIG_KEYS
};

const char *config_name(enum config_key key);        /* "SANDBOX_TIMEOUT_SEC" */
const char *config_meaning(enum config_key key);     /* one line */
const char *config_option_name(enum config_key key); /* "--listen", or NULL: there is no such option */

/* The default; NULL if it is computed (a path in the state directory) or there is none. */
const char *setting_default(enum config_key key);
/* The alias that begins with EMBERBOX_, or NULL. In one source the alias has precedence. */
const char *setting_other_name(enum config_key key);
/* Whether the setting is a limit of a run, and which one. */
bool setting_limit(enum config_key key, enum limit_id *id);
bool setting_find(const char *name, enum config_key *key);
/* Checks a value. The error begins with `name` and ": "; it never contains a token. */
int setting_check(enum config_key key, const char *name, const char *value, struct error *err);
/* Whether .env and the registry may set it; some settings determine the paths of these files. */
bool setting_in_file(enum config_key key);
bool setting_in_registry(enum config_key key);
/* The error for a setting that is not allowed in the registry. */
const char *setting_elsewhere(enum config_key key);
