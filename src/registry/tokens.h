/*
 * Who may ask over TCP: bearer tokens with names, scopes and limits.
 *
 *	STATE/token         the first one, made at the first start, 0600; EMBERBOX_TOKEN stands in for it
 *	STATE/tokens.json   others, by their SHA-256: what was shown once is stored nowhere
 *
 *	{"tokens": [{"name": "ci", "sha256": "64 hex digits", "scopes": ["execute"],
 *	             "max_concurrent": 4, "limits": {"timeout": "10", "memory": "256m"}}]}
 *
 * tokens_parse() and tokens_find() are pure; the rest is token_store.c.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "schema/limits.h"

#include <stdbool.h>
#include <stddef.h>

enum token_scope {
	SCOPE_EXECUTE = 1,  /* run, check, sessions, containers; its own history */
	SCOPE_READ = 2,     /* languages, doctor, everybody's history and stats */
	SCOPE_METRICS = 4,  /* /metrics */
	SCOPE_ADMIN = 8,    /* all of it, and cancelling others' runs */
	SCOPE_TRUSTED = 16, /* may run what the policy would not let run */
	SCOPE_ALL = 31,     /* of the first token: it is of who owns the state, and could change the policy itself */
};

enum {
	TOKEN_MIN = 16,              /* characters of one that somebody chose */
	TOKEN_MAX = 256,             /* bytes of a token's text, with its end */
	TOKEN_HASH = 32,             /* bytes of a SHA-256 */
	TOKEN_NAME_MAX = 32,         /* characters of a name */
	TOKENS_MAX = 256,            /* in the file */
	TOKENS_SIZE_MAX = 256 << 10, /* bytes of the file */
	TOKEN_CONCURRENT_MAX = 1000, /* of max_concurrent */
};

struct token {
	const char *name;               /* unique, [a-z0-9_.-]{1,32}; the first is "default" */
	unsigned char hash[TOKEN_HASH]; /* SHA-256 of its text */
	unsigned scopes;                /* enum token_scope; the first has all */
	unsigned max_concurrent;        /* requests at a time, queued or running; 0: no bound of its own */
	/* The most that its requests may ask for; NULL: no bound of its own. A request without the limit gets the
	 * smaller of this and the default. See profile.h. */
	struct limit_texts limits;
};

struct tokens {
	const struct token *tokens; /* the first one first, if there is one */
	size_t count;               /* how many */
};

/* tokens.json's text ("" is none) and the first token's text (NULL: none), into the arena. */
int tokens_parse(const char *where, const char *json, size_t size, const char *first, struct arena *arena,
		 struct tokens *out, struct error *err);
/* The same when of the first token only its hash is known (NULL: none). */
int tokens_parse_hashed(const char *where, const char *json, size_t size, const unsigned char *first,
			struct arena *arena, struct tokens *out, struct error *err);
/* tokens.json's text; the first token ("default") is not in it. The caller frees. */
int tokens_format(const struct tokens *tokens, char **json, size_t *size, struct error *err);
/* Whose it is; the time does not depend on where a wrong one differs, or which is right. NULL: nobody's. */
const struct token *tokens_find(const struct tokens *tokens, const char *text, size_t size);
void token_hash(const void *text, size_t size, unsigned char hash[TOKEN_HASH]);
/* Bytes as 2 × size small hexadecimal digits, terminated. */
void token_hex(const unsigned char *bytes, size_t size, char *out);
bool token_unhex(const char *text, size_t length, unsigned char *out, size_t size);

bool token_name_ok(const char *name);
/* "execute", "read", "metrics", "admin", "trusted"; 0: no such scope. */
unsigned token_scope_of(const char *word, size_t size);
/* "execute,read"; `out` has TOKEN_SCOPES_MAX bytes. */
#define TOKEN_SCOPES_MAX 40
const char *token_scopes_text(unsigned scopes, char *out);
/* Whether somebody's own text may be a token: TOKEN_MIN to TOKEN_MAX - 1 visible ASCII characters. */
bool token_is_usable(const char *text);

/* "ebt_" and 43 characters of base64url: 32 random bytes. `out` has TOKEN_MAX bytes. */
int token_make(char *out, struct error *err);
/* The first token's text: EMBERBOX_TOKEN, else the file's, else made and stored. `out` has TOKEN_MAX bytes. One in .env
 * is config.h's: a caller that has a struct config uses config_first_token(). */
int token_first(char *out, struct error *err);
/* Only what is stored. When there is none: with `make` one is made, without it `out` is "". */
int token_stored(bool make, char *out, struct error *err);
/* tokens.json as it is, "" when there is none. The caller frees. `where` gets its path. */
int tokens_read(char **json, size_t *size, char *where, size_t where_size, struct error *err);
/* Replaces it at once, 0600. */
int tokens_write(const char *json, size_t size, struct error *err);
/* A lock that whoever changes tokens.json holds between reading and writing; closed to let go. -1 with an error. */
int tokens_lock(struct error *err);
