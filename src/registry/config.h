/*
 * Settings: each with its value and where that came from.
 *
 * An option beats the environment, which beats .env, which beats the registry,
 * which beats the default. A value that cannot be used is an error that names
 * it, whoever it would have been beaten by.
 *
 * .env lies in the state directory, beside the usual registry.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "schema/spec.h"
#include "registry/registry.h"
#include "registry/setting.h"
#include "registry/tokens.h"

/* From the weakest to the strongest. */
enum config_source {
	CONFIG_DEFAULT,
	CONFIG_REGISTRY,
	CONFIG_FILE,
	CONFIG_ENVIRONMENT,
	CONFIG_OPTION
};

struct config_value {
	const char *text;          /* NULL: not set, and the default is computed or there is none */
	enum config_source source; /* of it */
	const char *where;         /* of a file: its name; NULL: no file */
	unsigned line;             /* of a file */
	const char *name;          /* as it was written, if not config_name(); or NULL */
	const char *said;          /* of a file: where it stands and its name, for sentences; or NULL */
};

struct config {
	struct arena arena;                      /* owns all */
	struct config_value values[CONFIG_KEYS]; /* by their key */
	struct limit_texts said;                 /* by options, the environment and .env: they beat a profile */
	struct limit_texts settings;             /* by the registry's settings: a profile beats them */
	struct registry registry;                /* as parsed */
	char registry_where[4096];               /* the file's name, also of one that is not there */
	const char *registry_text;               /* as read, for config_encode() */
	size_t registry_size;                    /* bytes of it; 0: there is none */
};

struct config_option {
	enum config_key key;
	const char *value; /* from the command line */
};

/* What a person wrote to set it: the option if it was that, else the variable, of a file with its place there. */
const char *config_said_by(const struct config *config, enum config_key key);
const char *config_source_name(enum config_source source); /* "default", "registry", ".env"… */

/* Environment, .env, registry, options. ERROR_USAGE names the variable or file:line:column. The option's text has to
 * live as long as `out`; the environment's is copied. After an error `out` holds nothing. Without a .env and a registry
 * it costs two access(). */
int config_load(const struct config_option *options, size_t count, struct config *out, struct error *err);
/* The same without options for who needs nothing of the registry but settings that have a default: one that is wrong is
 * as if there were none, and `registry` tells what is wrong (its kind is not ERROR_NONE then). */
int config_load_without(struct config *out, struct error *registry, struct error *err);
/* The same for the service, which runs programs by no other engine than SANDBOX_TYPE: one that is not there yet is
 * refused. (With `run` an option may still choose another.) */
int config_load_service(const struct config_option *options, size_t count, struct config *out, struct error *err);
void config_free(struct config *config);
#define _cleanup_config_ _cleanup_(config_free)

/* The socket's path and the size of the cache, which others ask the environment for, become variables of this process
 * if a file or an option set them. config_load() knows them for what they are. 0, or -1 without memory. */
int config_export(const struct config *config);
/* Takes that back, for a child that is to find out by itself. */
void config_unexport(void);

/* token_first(), with EMBERBOX_TOKEN from wherever it came. */
int config_first_token(const struct config *config, char *out, struct error *err);

/* The stricter of SANDBOX_BLOCK_DANGEROUS_IMPORTS and EMBERBOX_POLICY. */
enum policy_mode config_policy(const struct config *config);

/* What the front gets of it, in one text that crosses to another process: the limits' defaults, hosts, registry and
 * tokens (with the first token's text hashed). Parsed again there by config_decode(), which opens nothing. */
struct front_config {
	struct arena arena;          /* owns all */
	struct registry registry;    /* as parsed */
	struct tokens tokens;        /* who may ask */
	struct limit_texts said;     /* limits by the environment and .env */
	struct limit_texts settings; /* by the registry's settings, which a profile beats */
	const char *const *hosts;    /* NULL-terminated, never NULL */
	const char *store_code;      /* SANDBOX_STORE_CODE; NULL: the default */
	enum policy_mode policy;     /* config_policy() */
	const char *audit;           /* EMBERBOX_AUDIT; NULL: the default */
};
/* `first_token` may be NULL: there is none then. The caller frees *text. */
int config_encode(const struct config *config, const char *first_token, const char *tokens_json, size_t tokens_size,
		  char **text, size_t *size, struct error *err);
int config_decode(const char *text, size_t size, struct front_config *out, struct error *err);
void front_config_free(struct front_config *config);
