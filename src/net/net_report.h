/* What egress reports of a box's network: each decision once, and again when its connection ends. */
#pragma once

#include "net/net_policy.h"

enum {
	NET_REQUEST_MAX = 256,  /* bytes of a request's method and path, its NUL included; what is longer is cut */
	NET_REPORT_SHOWN = 20,  /* connections in a result */
	NET_REPORT_KEPT = 1000, /* connections that are kept; more are counted */
};

struct net_connection {
	uint64_t time_usec;             /* of the decision, on the wall clock */
	uint64_t duration_usec;         /* until it ended; 0: it has not, or was refused */
	uint64_t sent, received;        /* bytes, as the box sees them */
	uint32_t number;                /* of the box, from 1 */
	uint16_t port;                  /* as the program asked for it */
	uint8_t allowed;                /* the verdict */
	uint8_t reason;                 /* enum net_reason */
	uint8_t level;                  /* enum net_level */
	uint8_t open;                   /* it has not ended */
	char host[NET_NAME_MAX];        /* the name, or the address as text */
	char address[NET_ADDRESS_TEXT]; /* that was connected to, or refused; "": none yet */
	char rule[NET_RULE_MAX];        /* that decided; "": none */
	char request[NET_REQUEST_MAX];  /* "METHOD /path" of HTTP that was refused; "": it is a connection */
};

struct net_report {
	char *mode;                         /* "none", "allow", "public"; owned by who made the report */
	struct net_connection *connections; /* in order; owned */
	size_t count;                       /* of them */
	uint64_t allowed, refused;          /* counts of all, those that are not kept too */
	uint64_t queries;                   /* DNS */
	uint64_t lost;                      /* reports that found no room on their way */
	uint64_t sent, received;            /* bytes of all connections */
	bool gone;                          /* egress ended meanwhile: what it had not reported is not known */
};
