/*
 * The front: the role that strangers talk to.
 *
 * One thread that waits for descriptors, and for the deadlines of connections
 * that have one: an idle front is never woken. A connection (connection.h) has
 * at most one request, which is idle, queued or running, or a question to the
 * keeper or the store. What may run goes to the keeper as a message with a pipe
 * that the front holds open; closing it ends the run. The place of a run is free
 * again when the keeper has answered, also if the client is gone.
 *
 * Clients come through doors: frames (front_frames.c) and HTTP (front_http.c).
 * Over the Unix socket they may use either, and are who the kernel says; over
 * TCP it is HTTP, and they are who their token says.
 *
 * The supervisor's messages on `control` are one byte each: 'k' with a
 * descriptor brings a new keeper after the old one has died, 's' a new store,
 * 'c' another configuration, 'd' lets the front end when the last run is
 * answered, and a second 'd' ends the runs. At its end the supervisor is gone,
 * and the front ends as well.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tls_context;

/* How long it waits for a client, in milliseconds. 0 in any: the default. */
struct front_times {
	unsigned first;   /* for the first byte of a connection over TCP; 30 s */
	unsigned head;    /* for a request's head, once it has begun; 10 s */
	unsigned body;    /* for its body, and a second more for each 64k of it; 30 s */
	unsigned idle;    /* between requests, and for who does not read; 75 s */
	unsigned linger;  /* for who goes on sending what was refused; 3 s */
	unsigned ping;    /* between signs of life on an event stream; 15 s */
	unsigned confirm; /* how long a confirmation is good, in whole seconds; 10 min */
	unsigned orphan;  /* for the end of a run whose client of MCP is gone and did not cancel it; 30 s */
	unsigned session; /* for the next message of a session of MCP; 1 h */
};

/* 0 in any: the default. */
struct front_options {
	size_t max_clients;       /* connections; 4096 */
	size_t max_running;       /* runs at the keeper at a time; 16 */
	size_t max_queued;        /* requests that wait; 2048 */
	size_t max_queued_each;   /* of one caller; 1024 */
	uint64_t memory_max;      /* bytes held for connections that have more than 128k on their way; 512 MiB */
	struct tls_context *tls;  /* for connections over TCP, or NULL; the caller's */
	struct front_times times; /* patience */
	bool tell_ready;          /* the supervisor is to be told when it serves: ROLE_READY */
	bool mcp_fixtures;        /* for tests: what the conformance suite of MCP wants to see is there */
	bool wait_for_store;      /* nothing runs before a store said that it can write */
	int config;               /* a memfd with what config_encode() made; 0: none. Taken over */
};

/* Descriptors, taken over whatever happens. */
struct front_fds {
	int listen;  /* the Unix socket */
	int tcp;     /* or -1 */
	int keeper;  /* or -1: one comes */
	int store;   /* or -1: one comes */
	int control; /* of the supervisor */
};

struct role_row;
/* Its row, see daemon/role.h. */
extern const struct role_row front_role;

/* Ends with 0 when it was told to, or when the supervisor is gone. */
int front_run(const struct front_fds *fds, const struct front_options *options, struct error *err);
