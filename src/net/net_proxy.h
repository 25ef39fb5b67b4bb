/* The host's proxy for connections to the internet, as HTTPS_PROXY and NO_PROXY name it, and what is said to it. Pure.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "net/net_policy.h"

enum {
	NET_PROXY_ANSWER = 8 << 10 /* bytes of an answer's head at most */
};

struct net_proxy {
	char host[NET_NAME_MAX];    /* its name, canonical; "": by address */
	struct net_address address; /* of one without a name */
	uint16_t port;
	char *authorization; /* base64 of user:password; NULL: none; owned */
	char *no_proxy;      /* hosts that are connected to without it; NULL: none; owned */
};

/* [http://][user[:password]@]host[:port][/]; `name` is the variable, for errors, which have nothing of a password.
 * no_proxy may be NULL. */
int net_proxy_parse(const char *name, const char *url, const char *no_proxy, struct net_proxy *proxy,
		    struct error *err);
void net_proxy_free(struct net_proxy *proxy);

/* Whether NO_PROXY names it: "*", a name with those below it, an address or a range, each perhaps with a port. `host`
 * is a canonical name, or NULL; `address` is that of a question without a name, or NULL. Port 0: not known yet. */
bool net_proxy_exempts(const struct net_proxy *proxy, const char *host, const struct net_address *address,
		       uint16_t port);

/* The request for a connection to a name, or to an address if that is not NULL. */
void net_proxy_request(const struct net_proxy *proxy, const char *host, const struct net_address *address,
		       uint16_t port, struct buf *out);
/* The size of the answer's head, if the connection is made; 0: more is needed; -1: it is not made. */
long net_proxy_answer(const char *data, size_t size);
