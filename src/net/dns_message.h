/*
 * DNS messages of a box's name server: one query read strictly, and the answers to it. Pure.
 *
 * A query is one message with one question. Two readers must not understand one name differently, so a name of a host
 * has labels of letters, digits, hyphens and underscores only: the text "a.b" of one label with a dot in it, a NUL or a
 * byte that is not ASCII is DNS_QUERY_BAD_NAME, and such a name never comes further than a report. The two bytes of
 * length that TCP has before a message are the caller's.
 */
#pragma once

#include "net/net_address.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	DNS_HEADER = 12,       /* bytes before the question */
	DNS_UDP_PLAIN = 512,   /* bytes of an answer over UDP to a client without EDNS */
	DNS_UDP_MOST = 1232,   /* and with EDNS, whatever it offers: never fragmented */
	DNS_ANSWER_MOST = 4096 /* bytes that dns_answer_write() ever needs */
};

enum {
	DNS_TYPE_A = 1,
	DNS_TYPE_SOA = 6,
	DNS_TYPE_PTR = 12,
	DNS_TYPE_AAAA = 28,
	DNS_TYPE_OPT = 41,
	DNS_TYPE_HTTPS = 65,
};

enum dns_code {
	DNS_NOERROR = 0,
	DNS_FORMERR = 1,
	DNS_SERVFAIL = 2,
	DNS_NXDOMAIN = 3,
	DNS_NOTIMP = 4,
	DNS_REFUSED = 5,
	DNS_BADVERS = 16, /* of EDNS; reaches only clients with EDNS */
};

enum dns_verdict {
	DNS_QUERY_VALID,    /* all of struct dns_query is set */
	DNS_QUERY_IGNORED,  /* no answer: it is no query (an answer to one could go in circles) */
	DNS_QUERY_REJECTED, /* answer with dns_query.code */
	DNS_QUERY_BAD_NAME, /* a valid message whose name no host can have: NXDOMAIN; `name` is for reports alone */
};

struct dns_query {
	enum dns_code code;            /* with what to answer what is not valid */
	uint16_t id;                   /* of the client */
	uint16_t flags;                /* of the header, as sent */
	uint16_t type;                 /* DNS_TYPE_A, … or any other */
	bool edns;                     /* it came with an OPT record: the answer has one */
	bool dnssec_ok;                /* the bit of it, which the answer repeats */
	uint16_t room;                 /* bytes of an answer over UDP */
	const unsigned char *question; /* as sent, capitals included: the answer repeats it. NULL: it cannot be read */
	size_t question_size;          /* bytes of it: name, type, class */
	char name[254];                /* small letters, without the dot at the end; "": the root */
};

enum dns_verdict dns_query_read(const unsigned char *data, size_t size, struct dns_query *query);

/* Without addresses and target it is a negative answer (NXDOMAIN, or NOERROR: no data of this type) and has a SOA
 * record, so that `ttl` holds for it too. Addresses of another family than the question's type are left out. */
struct dns_answer {
	enum dns_code code;                  /* addresses and target are for DNS_NOERROR */
	uint32_t ttl;                        /* seconds */
	const struct net_address *addresses; /* of A and AAAA */
	size_t count;                        /* of them */
	const char *target;                  /* of PTR: a name's text, without the dot at the end; NULL: none */
};

/* The answer's size, at most `room` (DNS_ANSWER_MOST is always enough). One that is larger than `most` (query->room, or
 * 65535 over TCP) is cut to its question and has the bit TC, so that the client asks again over TCP. */
size_t dns_answer_write(const struct dns_query *query, const struct dns_answer *answer, size_t most,
			unsigned char out[DNS_ANSWER_MOST]);

/* "4.3.2.1.in-addr.arpa" and 32 nibbles below "ip6.arpa". False: another name. */
bool dns_reverse_name(const char *name, struct net_address *address);
