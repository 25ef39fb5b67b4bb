/*
 * The settings as a table: name, default, what it means, what it may be.
 *
 * Pure. Who says a value (an option, the environment, a file) and which of them
 * counts is config.h's business.
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
	CONFIG_HOSTS,          /* EMBERBOX_HOSTS: names that clients may call us by, separated by commas */
	CONFIG_KEYS
};

const char *config_name(enum config_key key);        /* "SANDBOX_TIMEOUT_SEC" */
const char *config_meaning(enum config_key key);     /* one line */
const char *config_option_name(enum config_key key); /* "--listen", or NULL: there is no such option */

/* The default, NULL when it is computed (a path in the state directory) or there is none. */
const char *setting_default(enum config_key key);
/* Its name that begins with EMBERBOX_, where its own does not; or NULL. In one place it beats the other. */
const char *setting_other_name(enum config_key key);
/* Whether it is a limit of a run, and which. */
bool setting_limit(enum config_key key, enum limit_id *id);
bool setting_find(const char *name, enum config_key *key);
/* The sentence begins with `name` and ": "; it never has the text of a token. */
int setting_check(enum config_key key, const char *name, const char *value, struct error *err);
/* Which places may set it; .env and the registry are found by some of them. */
bool setting_in_file(enum config_key key);
bool setting_in_registry(enum config_key key);
/* What to say to somebody who tries in the registry. */
const char *setting_elsewhere(enum config_key key);
