/*
 * Bearer tokens for clients over TCP, with names, scopes and limits.
 *
 *	STATE/token         the first one, created at the first start, 0600; EMBERBOX_TOKEN replaces it
 *	STATE/tokens.json   others, by their SHA-256: the token itself is shown once and not stored
 *
 *	{"tokens": [{"name": "ci", "sha256": "64 hex digits", "scopes": ["execute"],
 *	             "max_concurrent": 4, "limits": {"timeout": "10", "memory": "256m"},
 *	             "net": "pypi.org,*.pythonhosted.org"}]}
 *
 * tokens_parse() and tokens_find() are pure; the rest is in token_store.c.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "schema/limits.h"

#include <stdbool.h>
#include <stddef.h>

enum token_scope {
	SCOPE_EXECUTE = 1,  /* run, check, sessions, containers; own history */
	SCOPE_READ = 2,     /* languages, doctor, all history and stats */
	SCOPE_METRICS = 4,  /* /metrics */
	SCOPE_ADMIN = 8,    /* all paths, and cancelling others' runs */
	SCOPE_TRUSTED = 16, /* runs that the policy would block */
	SCOPE_ALL = 31,     /* the first token's: the state's owner could change the policy anyway */
};

enum {
	TOKEN_MIN = 16,              /* characters of a token chosen by the user */
	TOKEN_MAX = 256,             /* bytes of a token, including the NUL */
	TOKEN_HASH = 32,             /* bytes of a SHA-256 */
	TOKEN_NAME_MAX = 32,         /* characters of a name */
	TOKENS_MAX = 256,            /* tokens in the file */
	TOKENS_SIZE_MAX = 256 << 10, /* bytes of the file */
	TOKEN_CONCURRENT_MAX = 1000, /* maximum of max_concurrent */
};

struct token {
	const char *name;               /* unique, [a-z0-9_.-]{1,32}; the first is "default" */
	unsigned char hash[TOKEN_HASH]; /* SHA-256 of its text */
	unsigned scopes;                /* enum token_scope; the first token has all */
	unsigned max_concurrent;        /* concurrent requests, queued or running; 0: no limit */
	/* Upper bounds of its requests' limits; NULL: none. A request without the limit gets the smaller of this and
	 * the default. See profile.h. */
	struct limit_texts limits;
	const char *net; /* rules, the most that its programs may reach; NULL: every public host, or with the scope
			    `trusted` no bound */
};

struct tokens {
	const struct token *tokens; /* the first token is [0], if there is one */
	size_t count;               /* number of them */
};

/* Parses tokens.json ("" is none) and the first token (NULL: none), into the arena. */
int tokens_parse(const char *where, const char *json, size_t size, const char *first, struct arena *arena,
		 struct tokens *out, struct error *err);
/* tokens_parse() with the hash of the first token (NULL: none). */
int tokens_parse_hashed(const char *where, const char *json, size_t size, const unsigned char *first,
			struct arena *arena, struct tokens *out, struct error *err);
/* The text of tokens.json, without the first token ("default"). The caller frees it. */
int tokens_format(const struct tokens *tokens, char **json, size_t *size, struct error *err);
/* Finds the token in constant time. NULL: there is no such token. */
const struct token *tokens_find(const struct tokens *tokens, const char *text, size_t size);
void token_hash(const void *text, size_t size, unsigned char hash[TOKEN_HASH]);
/* Bytes as 2 × size lower-case hexadecimal digits, terminated. */
void token_hex(const unsigned char *bytes, size_t size, char *out);
bool token_unhex(const char *text, size_t length, unsigned char *out, size_t size);

bool token_name_ok(const char *name);
/* "execute", "read", "metrics", "admin", "trusted"; 0: no such scope. */
unsigned token_scope_of(const char *word, size_t size);
/* "execute,read"; `out` has TOKEN_SCOPES_MAX bytes. */
#define TOKEN_SCOPES_MAX 40
const char *token_scopes_text(unsigned scopes, char *out);
/* Whether a user's text is allowed as a token: TOKEN_MIN to TOKEN_MAX - 1 visible ASCII characters. */
bool token_is_usable(const char *text);

/* "ebt_" and 43 characters of base64url: 32 random bytes. `out` has TOKEN_MAX bytes. */
int token_make(char *out, struct error *err);
/* The first token: EMBERBOX_TOKEN, or the file's, or a new one that is stored. `out` has TOKEN_MAX bytes. A caller with
 * a struct config uses config_first_token(), which knows .env. */
int token_first(char *out, struct error *err);
/* The stored first token. If there is none, it is created with `make`, otherwise `out` is "". */
int token_stored(bool make, char *out, struct error *err);
/* The text of tokens.json, "" if there is none. The caller frees it. `where` receives the path. */
int tokens_read(char **json, size_t *size, char *where, size_t where_size, struct error *err);
/* Replaces the file atomically, with mode 0600. */
int tokens_write(const char *json, size_t size, struct error *err);
/* Takes the lock that guards a change of tokens.json; close the descriptor to release it. -1 with an error. */
int tokens_lock(struct error *err);
