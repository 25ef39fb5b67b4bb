/*
 * Secrets that never enter a box. Pure, but for the random bytes of placeholders.
 *
 * In the box a secret's variable has a placeholder. The interceptor (intercept/) puts the value in its place in the
 * headers of HTTP requests, over TLS alone, and to the secret's own hosts alone. So a secret is its name, its
 * placeholder, its value, and its hosts.
 *
 *	HOST[:PORT]        a name; without a port 443
 *	*.DOMAIN[:PORT]    every name below the domain, not the domain itself
 *
 * With a header, that field of every request to the hosts is set to the format ("{}" stands for the value), whatever
 * the program sent, and the placeholder is not replaced anywhere else.
 */
#pragma once

#include "net/net_policy.h"

enum {
	NET_SECRETS_MAX = 16,      /* of a box */
	NET_SECRET_HOSTS_MAX = 16, /* of a secret */
	NET_SECRET_NAME_MAX = 64,  /* bytes of the variable's name, its NUL included */
	NET_SECRET_VALUE_MIN = 6,  /* bytes of a value: a shorter one would be masked in texts that only look like it */
	NET_SECRET_VALUE_MAX = 4096, /* the same, at most */
	NET_SECRET_HEADER_MAX = 64,  /* bytes of a header's name, its NUL included */
	NET_SECRET_FORMAT_MAX = 128, /* bytes of a format, its NUL included */
	NET_SECRETS_TEXT = 48 << 10  /* bytes of net_secrets_write() */
};

/* "ember-secret-" and 32 digits. */
#define NET_SECRET_PREFIX "ember-secret-"
enum {
	NET_PLACEHOLDER_SIZE = sizeof(NET_SECRET_PREFIX) - 1 + 32
};

struct net_secret_host {
	const char *name; /* canonical, without "*." */
	bool below;       /* the names below it */
	uint16_t port;
};

struct net_secret {
	const char *name;        /* of the variable in the box */
	const char *placeholder; /* what that has for its value; NET_PLACEHOLDER_SIZE bytes */
	char *value;             /* terminated; no control character, no blank at its ends */
	size_t size;             /* of the value */
	const struct net_secret_host *hosts;
	size_t host_count;
	const char *header; /* NULL: placeholders are replaced in every header */
	const char *format; /* NULL without a header; has "{}" once */
};

struct net_secrets {
	struct net_secret items[NET_SECRETS_MAX];
	size_t count;
};

/* A secret as it was given. */
struct net_secret_parts {
	const char *name;
	const char *value;
	size_t size;
	const char *const *hosts;
	size_t host_count;
	const char *header; /* NULL: none */
	const char *format; /* NULL: "{}" */
};

/* Checks it, and adds it with a placeholder of its own, allocated from the arena. The errors name a field below
 * "secrets", and never contain the value. */
int net_secret_add(struct net_secrets *secrets, const struct net_secret_parts *parts, struct arena *arena,
		   struct error *err);

/* "NAME@HOST", "NAME=file:PATH@HOST", "NAME=-@HOST", as --secret has them. */
enum net_secret_source {
	NET_SECRET_VARIABLE, /* the variable NAME of emberbox's own environment */
	NET_SECRET_FILE,
	NET_SECRET_STDIN,
};
struct net_secret_option {
	char name[NET_SECRET_NAME_MAX];
	enum net_secret_source source;
	char path[4096]; /* of NET_SECRET_FILE */
	char host[NET_NAME_MAX + 16];
};
int net_secret_option_parse(const char *text, struct net_secret_option *option, struct error *err);

/* Whether the policy can hold what the secrets promise: each host is allowed with its port, and none has one header
 * set by two secrets. To be asked before anything is started. */
int net_secrets_check(const struct net_secrets *secrets, const struct net_policy *policy, struct error *err);

bool net_secret_covers(const struct net_secret *secret, const char *name, uint16_t port);
/* Whether one of them is for that host: then TLS is ended there, whatever the rules say. */
bool net_secrets_cover(const struct net_secrets *secrets, const char *name, uint16_t port);
/* The secret whose placeholder begins at `text`; NULL: there is none. */
const struct net_secret *net_secret_at(const struct net_secrets *secrets, const char *text, size_t size);

/* Between processes: lines of text, which contain the values. Reading checks everything again. */
void net_secrets_write(const struct net_secrets *secrets, struct buf *out);
int net_secrets_read(const char *text, size_t size, struct arena *arena, struct net_secrets *secrets,
		     struct error *err);
/* Overwrites the values, and leaves the rest. */
void net_secrets_wipe(struct net_secrets *secrets);
