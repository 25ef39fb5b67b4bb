/*
 * The load generator: does one thing again and again, and tells how long it took.
 *
 * A worker is a thread that does one attempt after the other (a closed loop).
 * What an attempt is, there are three kinds of: a request over the service's
 * socket, a call to an MCP server on its stdin and stdout, and a bare command
 * with a pipe for its output. All are measured by the same loop and the same
 * clock, so their figures may be compared.
 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In a request or an argument: becomes another number in each attempt, so that it is another program. */
#define LOAD_NUMBER "@N@"

struct load_options {
	const char *socket;    /* the service's; NULL: a command */
	char *request;         /* JSON; owned. Of MCP: the arguments of run_code */
	char **argv;           /* the command, or the MCP server */
	bool mcp;              /* it is one */
	const char *expect;    /* the whole output; NULL: whatever it is */
	const char *contains;  /* a part of the output; or NULL */
	uint64_t expect_bytes; /* the output's size; UINT64_MAX: whatever it is */
	size_t workers;        /* threads, each with its own connection */
	uint64_t count;        /* attempts altogether; 0: no limit */
	uint64_t nsec;         /* how long; 0: no limit */
	uint64_t max_cold;     /* stop after so many cold starts */
	uint64_t pause_usec;   /* of each worker between two attempts */
	bool samples;          /* print each time, too */
};

/* What came of one attempt; times from its start. */
struct load_attempt {
	uint64_t number;   /* which, from 1: what LOAD_NUMBER becomes, mixed with chance */
	uint64_t begin;    /* when it began, on the monotonic clock */
	uint64_t whole;    /* nanoseconds until the result was there */
	uint64_t first;    /* until the first byte of output */
	uint64_t last;     /* until the last byte of output */
	uint64_t bytes;    /* of output */
	uint64_t refused;  /* how often the service said that it is busy */
	bool warm;         /* meta.start */
	bool cold;         /* meta.start */
	bool cut;          /* all was stopped while it went on: it does not count */
	bool failed;       /* the output or the status is wrong, or there is no result */
	char problem[256]; /* why */
	struct buf head;   /* the first bytes of output */
};

/* What all workers share. */
struct load {
	struct load_options options; /* what is wanted */
	atomic_uint_fast64_t ticket; /* attempts begun */
	atomic_uint_fast64_t cold;   /* cold starts seen */
	atomic_bool stop;            /* begin no more */
	uint64_t salt;               /* by chance: two loads do not make the same programs */
	uint64_t deadline;           /* begin none after this; 0: no limit */
	atomic_int *sockets;         /* of the workers, or the other end of their servers; -1: none */
};

uint64_t load_clock(void);
/* Marks the attempt as failed; only the first reason is kept. */
void load_fail(struct load_attempt *attempt, const char *format, ...) EB_PRINTF(2, 3);
/* More bytes of output, at this moment. */
void load_output(struct load_attempt *attempt, const void *data, size_t size);
/* The text with the attempt's number in place of LOAD_NUMBER. */
void load_fill(const struct load *load, const struct load_attempt *attempt, const char *text, struct buf *out);

/* The result of a run, once the attempt's time is taken. */
void load_judge(const json_t *result, struct load_attempt *attempt);
/* Stops when there were too many cold starts. */
void load_count_cold(struct load *load, const struct load_attempt *attempt);

/* One request over the worker's connection, which is made again if it broke. */
void load_socket_attempt(struct load *load, size_t worker, struct load_attempt *attempt);
/* Begins no more, and cuts off what waits. */
void load_stop(struct load *load);
/* A connection, or -1 with errno. */
int load_socket_connect(const char *path);
/* A server that has said hello, or -1 with errno. */
int load_mcp_connect(char **argv);
/* One call. */
void load_mcp_attempt(struct load *load, size_t worker, struct load_attempt *attempt);
/* One command, from its start to its end. */
void load_command_attempt(struct load *load, size_t worker, struct load_attempt *attempt);

/* Runs all of it and prints the report. The exit code. */
int load_run(struct load *load);
