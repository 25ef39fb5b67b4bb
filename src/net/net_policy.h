/*
 * What a box may reach: rules, and the decision about a name or an address and a port. Pure.
 *
 * A rule has one text, which is the same in options, requests, the registry, tokens and results:
 *
 *	HOST[:PORT[+PORT…]]     a name; without a port 80 and 443
 *	*.DOMAIN[:PORT…]        every name below the domain, not the domain itself
 *	IP[/BITS]:PORT…         an address or a range, as the program writes it: no name
 *	[V6]:PORT…, [V6/BITS]:PORT…
 *	host:PORT               a service on the machine of emberbox itself
 *	public                  every public address, every port
 *	METHOD https://HOST/PATH*   HTTP requests, for which egress ends TLS
 *
 * What a rule says beside that stands at its end, in this order, after a "#": RULE#no-sni+private+terminate. No name,
 * port or path can contain that character, and a shell leaves it alone within a word.
 *
 * A list has one text, too, of one line: rules with commas between them, or "none". Paths have %2C for a comma. So a
 * list travels as text from where it was given to egress, and is parsed again wherever it arrives.
 *
 * A policy is one to NET_LISTS_MAX lists of rules: the request's, its profile's, its token's, the service's. A
 * connection needs a rule in each list. So a further list can narrow a policy, and never widen it.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "net/net_address.h"

enum {
	NET_NAME_MAX = 254,         /* bytes of a name, its NUL included */
	NET_RULE_MAX = 512,         /* bytes of a rule's text, its NUL included */
	NET_RULES_MAX = 256,        /* rules of a list */
	NET_LISTS_MAX = 4,          /* lists of a policy */
	NET_LIST_TEXT = 30 << 10,   /* bytes of a list's text, its NUL included */
	NET_PATH_MAX = 1024,        /* bytes of a request's path, canonical, its NUL included */
	NET_PORTS_MAX = 64,         /* different ports of a policy but for public */
	NET_RANGES_MAX = 256,       /* addresses and ranges that are planted in a box */
	NET_POLICY_TEXT = 128 << 10 /* bytes of net_policy_write() */
};

enum net_rule_kind {
	NET_RULE_NAME,    /* that name */
	NET_RULE_BELOW,   /* the names below it */
	NET_RULE_ADDRESS, /* an address or a range */
	NET_RULE_HOST,    /* emberbox's own machine */
	NET_RULE_PUBLIC,  /* every public address and name */
};

struct net_rule {
	enum net_rule_kind kind;
	const char *text;           /* canonical */
	const char *name;           /* NAME, BELOW: canonical, without "*."; else NULL */
	struct net_address address; /* ADDRESS */
	unsigned bits;              /* ADDRESS: of the range */
	const uint16_t *ports;      /* in rising order */
	size_t port_count;          /* 0: every port (public alone) */
	const char *method;         /* of an HTTP rule; "*": any; NULL: it is no HTTP rule */
	const char *path; /* of an HTTP rule, canonical, begins with a slash; a * at the end stands for the rest */
	bool terminate;   /* egress ends TLS: an HTTP rule, or {tls: "terminate"} */
	bool private_too; /* {private: true}: the name may lead to a private address */
	bool without_sni; /* {sni: false}: TLS whose ClientHello has no name is let through */
};

struct net_list {
	const struct net_rule *rules;
	size_t count; /* 0: nothing is allowed */
};

struct net_policy {
	struct net_list lists[NET_LISTS_MAX]; /* the first is the request's own, or its profile's */
	size_t list_count;                    /* 0: none, the box has no network */
	bool host_allowed;                    /* the service's configuration allows rules of the kind HOST */
	uint64_t rate;                        /* bytes a second, in each direction; 0: no limit */
	uint64_t total;                       /* bytes in both directions; 0: no limit */
	uint32_t connections;                 /* at once */
	uint32_t connections_total;           /* altogether; 0: no limit */
};

enum {
	NET_RATE_DEFAULT = 1 << 20,
	NET_CONNECTIONS_DEFAULT = 64,
	NET_CONNECTIONS_MAX = 16384,
	NET_RATE_MIN = 1 << 10
};
#define NET_BYTES_MAX (1024ULL << 30) /* of a rate and a total */

enum net_reason {
	NET_REASON_RULE,        /* a rule allows it */
	NET_REASON_NO_RULE,     /* no rule names it */
	NET_REASON_PORT,        /* a rule names the host, and not this port */
	NET_REASON_NARROWED,    /* a rule of the request allows it; the profile, the token or the service do not */
	NET_REASON_SCOPE,       /* the name leads to an address that is not public */
	NET_REASON_OWN_ADDRESS, /* the name leads to emberbox's own machine */
	NET_REASON_NAME,        /* no valid name */
	NET_REASON_SNI,         /* TLS for another name (fronting) */
	NET_REASON_NO_SNI,      /* TLS without a name */
	NET_REASON_REQUEST,     /* HTTP: no rule allows the method and path */
	NET_REASON_HTTP,        /* HTTP that is malformed or ambiguous */
	NET_REASON_UNRESOLVED,  /* the name does not exist, or its server does not answer */
	NET_REASON_UNREACHABLE, /* the address does not answer, or refuses */
	NET_REASON_CERTIFICATE, /* egress ends TLS, and the server's certificate is not valid */
	NET_REASON_CONNECTIONS, /* too many connections */
	NET_REASON_TOTAL,       /* the policy's total is used up */
	NET_REASON_UDP,         /* UDP other than DNS */
	NET_REASON_QUERIES,     /* too many DNS queries */
	NET_REASON_SECRET,      /* HTTP with a secret's placeholder where it is not replaced */
	NET_REASONS
};

/* How much was checked before a connection was let through. */
enum net_level {
	NET_LEVEL_NAME,    /* name or address and port */
	NET_LEVEL_SNI,     /* and the name in the ClientHello */
	NET_LEVEL_REQUEST, /* and each HTTP request */
};

struct net_question {
	const char *name;                  /* canonical; "host": emberbox's machine; NULL: an address was asked for */
	const struct net_address *address; /* of a question without a name */
	uint16_t port;                     /* 0: any port, for a DNS query */
	const char *method;                /* of a request; NULL: not known yet, the connection is asked about */
	const char *path;                  /* of a request, as it was sent, up to its "?"; queries are not compared */
};

struct net_decision {
	bool allowed;
	enum net_reason reason;
	const struct net_rule *rule; /* of the first list: that allows it, else the nearest; NULL: none is near */
	bool terminate;              /* a rule of some list needs each request to be seen */
	bool private_too;            /* the rules of all lists allow a private address for this name */
	bool without_sni;            /* the same */
};

/* "name" in results: "no-rule", "port", …; and the sentence about it for a person, without the host. */
const char *net_reason_name(enum net_reason reason);
const char *net_reason_words(enum net_reason reason);
const char *net_level_name(enum net_level level);

/* Lower case, A-labels, no dot at the end. False: no name that DNS could have (NUL, an address in any spelling, more
 * than 253 bytes, an empty label, a label of more than 63 bytes, other bytes than letters, digits, hyphen and
 * underscore after conversion). A name whose last label is a number is an address that is spelt badly, not a name. */
bool net_name_canonical(const char *text, size_t size, char out[NET_NAME_MAX]);
/* The same: NULL, or what is wrong, for a sentence that begins with the name: "is empty". */
const char *net_name_fault(const char *text, size_t size, char out[NET_NAME_MAX]);
/* The same for names that come out of a box (DNS, SNI, Host), which are ASCII: what is not, is no name there. */
bool net_name_of_wire(const char *text, size_t size, char out[NET_NAME_MAX]);
/* The path of a request as it is compared: percent-encoding in one form, a comma and a star always encoded, an encoded
 * slash still so. False: a path that servers could understand in two ways (a "." or ".." segment in any spelling, a
 * NUL, what is encoded twice, what is no URL). Only rules with a path need it: others allow requests with any. */
bool net_path_canonical(const char *text, size_t size, char out[NET_PATH_MAX]);

/* One rule, allocated from the arena. Errors have the field "net". */
int net_rule_parse(const char *text, struct arena *arena, struct net_rule *rule, struct error *err);
/* "none", or rules with commas between them: a list. "none" is a list of count 0. */
int net_list_parse(const char *text, struct arena *arena, struct net_list *list, struct error *err);
/* The list's one text, which net_list_parse() reads. */
void net_list_write(const struct net_list *list, struct buf *out);

enum net_tls {
	NET_TLS_DEFAULT,  /* as the other parts need it */
	NET_TLS_PASS,     /* {tls: "pass"}: an error beside methods or paths */
	NET_TLS_TERMINATE /* {tls: "terminate"} */
};

/* A rule as an object of a request or the registry: {host, ports?, methods?, paths?, tls?, private?, sni?}. Lists that
 * are not there have the pointer NULL; ones that are empty have another, and are errors. */
struct net_rule_parts {
	const char *host;     /* all but the port of HOST, *.DOMAIN, IP[/BITS], V6 or [V6]; "host", "public" */
	const int64_t *ports; /* as they were given: any number */
	size_t port_count;
	const char *const *methods; /* without paths: for every path */
	size_t method_count;
	const char *const *paths; /* without methods: for every method */
	size_t path_count;
	enum net_tls tls;
	bool private_too;
	bool without_sni; /* {sni: false} */
};

/* For making the text of a list rule by rule: checks the rule, and adds its canonical text to the list's, with a comma
 * if that is not empty. An object becomes a rule for each of its methods and paths. On an error the text stays as it
 * was. */
int net_rule_from_parts(const struct net_rule_parts *parts, struct buf *list, struct error *err);
int net_rule_from_text(const char *rule, struct buf *list, struct error *err);

/* The decision is a pure function of the policy and the question. A policy without lists allows nothing.
 *
 * An address that is not public is allowed only by a rule whose own address or range is not public as a whole: a rule
 * for 0.0.0.0/0 does not lead to 10.0.0.1. Whether a name leads to such an address, only egress knows; private_too says
 * what to do then. The flags of a question about a request are those of the rules that allow it, which can be fewer
 * than those that allowed the connection: egress uses those of the request. */
void net_policy_decide(const struct net_policy *policy, const struct net_question *question,
		       struct net_decision *decision);
static inline bool net_policy_is_none(const struct net_policy *policy)
{
	return policy->list_count == 0 || policy->lists[0].count == 0;
}
/* Sets the bounds that were not said to what they are then. */
static inline void net_policy_default(struct net_policy *policy)
{
	policy->rate = policy->rate ? policy->rate : NET_RATE_DEFAULT;
	policy->connections = policy->connections ? policy->connections : NET_CONNECTIONS_DEFAULT;
}
bool net_policy_is_public(const struct net_policy *policy);

/* What has to be in the box's network for the policy: see kernel/net_plant.h. Only what some connection that is allowed
 * by all lists could need. An error: a rule of the first list for the host, without host_allowed; too many ports. */
struct net_needs {
	uint16_t ports[NET_PORTS_MAX]; /* to listen on */
	size_t port_count;
	struct {
		struct net_address base;
		unsigned bits;
	} ranges[NET_RANGES_MAX]; /* routed to the box itself, beside the synthetic range */
	size_t range_count;
	bool everything; /* public: every address and port, by a redirect; the rest is empty then */
};
int net_policy_needs(const struct net_policy *policy, struct net_needs *needs, struct error *err);

/* Between processes: lines of text. Reading checks everything again. */
void net_policy_write(const struct net_policy *policy, struct buf *out);
int net_policy_read(const char *text, size_t size, struct arena *arena, struct net_policy *policy, struct error *err);
