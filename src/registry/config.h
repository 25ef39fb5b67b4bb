/*
 * Settings: the value of each and its source.
 *
 * Options have precedence over the environment, then .env, then the registry,
 * then the default. An invalid value is an error that names it, even if another
 * source has precedence.
 *
 * .env is in the state directory, like the default registry.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "schema/spec.h"
#include "registry/registry.h"
#include "registry/setting.h"
#include "registry/tokens.h"

/* From the lowest to the highest precedence. */
enum config_source {
	CONFIG_DEFAULT,
	CONFIG_REGISTRY,
	CONFIG_FILE,
	CONFIG_ENVIRONMENT,
	CONFIG_OPTION
};

struct config_value {
	const char *text;          /* NULL: not set, and the default is computed or there is none */
	enum config_source source; /* source of the value */
	const char *where;         /* name of the file; NULL: no file */
	unsigned line;             /* line in the file */
	const char *name;          /* the name as written, if it is not config_name(); or NULL */
	const char *said;          /* the place in a file with the name, for sentences; or NULL */
};

struct config {
	struct arena arena;                      /* owns all members */
	struct config_value values[CONFIG_KEYS]; /* by key */
	struct limit_texts
		said; /* limits set by options, the environment and .env: they have precedence over a profile */
	struct limit_texts settings; /* limits set by the registry's settings: a profile has precedence over them */
	struct registry registry;    /* the parsed registry */
	char registry_where[4096];   /* its file name, even if the file does not exist */
	const char *registry_text;   /* its text, for config_encode() */
	size_t registry_size;        /* bytes of the text; 0: no registry */
};

struct config_option {
	enum config_key key;
	const char *value; /* value on the command line */
};

/* The name by which the user set it: the option or the variable, with its place if it is in a file. */
const char *config_said_by(const struct config *config, enum config_key key);
const char *config_source_name(enum config_source source); /* "default", "registry", ".env"… */

/* Reads environment, .env, registry and options. ERROR_USAGE names the variable or file:line:column. The option's text
 * must outlive `out`; the environment's is copied. After an error `out` is empty. Without .env and a registry it costs
 * two calls of access(). */
int config_load(const struct config_option *options, size_t count, struct config *out, struct error *err);
/* config_load() without options, for commands that need no profile: an invalid registry is ignored, and `registry` has
 * the error (its kind is not ERROR_NONE then). */
int config_load_without(struct config *out, struct error *registry, struct error *err);
/* config_load() for the service, which uses only the engine of SANDBOX_TYPE: an unavailable engine is refused. (With
 * `run`, an option can still choose another.) */
int config_load_service(const struct config_option *options, size_t count, struct config *out, struct error *err);
void config_free(struct config *config);
#define _cleanup_config_ _cleanup_(config_free)

/* Sets the environment variables of this process for the socket's path, the cache size and the name servers if a file
 * or an option set them, because other code reads these variables. config_load() does not take them for the user's.
 * Returns 0, or -1 if memory ran out. */
int config_export(const struct config *config);
/* Undoes config_export(), for a child that reads its own configuration. */
void config_unexport(void);

/* token_first() with EMBERBOX_TOKEN from any source. */
int config_first_token(const struct config *config, char *out, struct error *err);

/* The stricter of SANDBOX_BLOCK_DANGEROUS_IMPORTS and EMBERBOX_POLICY. */
enum policy_mode config_policy(const struct config *config);

/* The part of the configuration that the front needs, as one text for another process: default limits, hosts, registry
 * and tokens (the first token only hashed). config_decode() parses it without opening a file. */
struct front_config {
	struct arena arena;          /* owns all members */
	struct registry registry;    /* the parsed registry */
	struct tokens tokens;        /* valid bearer tokens */
	struct limit_texts said;     /* limits set by the environment and .env */
	struct limit_texts settings; /* limits set by the registry's settings: a profile has precedence over them */
	const char *const *hosts;    /* NULL-terminated, never NULL */
	const char *store_code;      /* SANDBOX_STORE_CODE; NULL: the default */
	enum policy_mode policy;     /* config_policy() */
	const char *audit;           /* EMBERBOX_AUDIT; NULL: the default */
	const char *net;             /* EMBERBOX_NET; NULL: no bound */
	bool net_host;               /* EMBERBOX_NET_HOST */
};
/* `first_token` may be NULL: there is none. The caller frees *text. */
int config_encode(const struct config *config, const char *first_token, const char *tokens_json, size_t tokens_size,
		  char **text, size_t *size, struct error *err);
int config_decode(const char *text, size_t size, struct front_config *out, struct error *err);
void front_config_free(struct front_config *config);
