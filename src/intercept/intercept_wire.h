/*
 * What egress (daemon/egress/) and the interceptor (interceptor/) say to each other.
 *
 * The interceptor ends TLS for a box and relays its HTTP requests. It is a program of its own, a process for each box,
 * and connects to nothing: egress connects, and hands it the socket. Sockets of messages (SOCK_SEQPACKET):
 *
 *	the main socket      to the interceptor: a byte with a descriptor, the channel of a box. It makes a process for
 *it a box's channel      to the interceptor: INTERCEPT_POLICY, with the secrets the first time; INTERCEPT_FLOW with two
 *descriptors, a stream that leads to the box and the socket of the server; from it: struct intercept_event. Its end
 *ends the process
 *
 * Egress moves the bytes between the box's socket and the stream, so its limits and counts hold as for every other
 * connection. It trusts events as far as they go: they are about flows that it handed over.
 */
#pragma once

#include "net/net_policy.h"
#include "net/net_secret.h"

enum intercept_kind {
	INTERCEPT_POLICY = 1, /* struct intercept_policy, the texts */
	INTERCEPT_FLOW,       /* struct intercept_flow */
	INTERCEPT_REQUEST,    /* struct intercept_event: a request was decided */
	INTERCEPT_ENDED, /* the same: the flow is over. Allowed: as its sides meant it; else it was refused as a whole,
			  * or broken off (NET_REASON_RULE), and the box must not take the end for that of the server */
};

struct intercept_policy {
	uint32_t kind;
	uint32_t policy_size;  /* bytes of its text, which comes first */
	uint32_t secrets_size; /* bytes of theirs, behind it; not 0 only in the first message */
};

struct intercept_flow {
	uint32_t kind;
	uint32_t flow;           /* egress's number of it */
	uint16_t port;           /* that the program asked for */
	uint8_t without_sni;     /* a ClientHello without a name is let through */
	char name[NET_NAME_MAX]; /* canonical: rules for requests, and secrets, are for names alone */
};

enum {
	INTERCEPT_PATH = 512 /* bytes of a path in an event, its NUL included; a longer one is cut */
};

struct intercept_event {
	uint32_t kind;
	uint32_t flow;
	uint32_t lost; /* events before this one that found no room */
	uint8_t allowed;
	uint8_t reason; /* enum net_reason */
	char method[32];
	char path[INTERCEPT_PATH]; /* without its query; "": none */
	char rule[NET_RULE_MAX];   /* that decided; "": none */
};

enum {
	INTERCEPT_MAIN_FD = 3,  /* the main socket, in a process that was just started */
	INTERCEPT_KEY_FD = 4,   /* the authority's key and certificate (PEM) */
	INTERCEPT_STORE_FD = 5, /* certificates of the authorities that the host trusts (PEM) */
};
