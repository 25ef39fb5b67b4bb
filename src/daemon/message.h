/*
 * What the front and the keeper say to each other, over a SOCK_SEQPACKET pair.
 *
 * One message is a struct message_head, then its body. A body of more than
 * MESSAGE_INLINE bytes travels in a sealed memfd instead, as the message's last
 * descriptor. The front is not trusted: the keeper checks every size, and every
 * value of a request again, by the same functions that checked them first.
 *
 *	front:  RUN (body: struct message_run, then the list of request_parse();
 *	        descriptors: a pipe that ends (MESSAGE_SERVICE_ENDS) when the run is
 *	        to end, stdin's reading end if it is streamed, and that of its
 *	        terminal's sizes, the client itself if the keeper is to answer it)
 *	keeper: STARTED, OUTPUT …, then RESULT or REFUSED; each names its run
 *
 * Beside runs the front has questions, for the keeper and for the store, which
 * is reached in the same way:
 *
 *	front:          ASK (body: JSON {"what": …, "caller": NAME}): a question without
 *	                a caller is refused; who may see everybody's is MESSAGE_EVERYBODY
 *	keeper, store:  TELL with the number of the question; body: JSON, or with a
 *	                status from 400 on a struct message_refusal; a descriptor if
 *	                the answer is a file
 *	store:          TELL with number 0: whether it can write (200) or not (503)
 */
#pragma once

#include "base/error.h"
#include "result/result.h"
#include "daemon/outcome.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum message_kind {
	MESSAGE_RUN = 1, /* front: run this */
	MESSAGE_STARTED, /* keeper: it runs; JSON {"id"} */
	MESSAGE_OUTPUT,  /* keeper: bytes of `stream` */
	MESSAGE_RESULT,  /* keeper: JSON */
	MESSAGE_REFUSED, /* keeper: struct message_refusal; there is no result */
	MESSAGE_ASK,     /* front: JSON {"what": …, "caller": …} */
	MESSAGE_TELL,    /* keeper, store: JSON or a refusal, with its status */
};

enum {
	MESSAGE_INLINE = 64 << 10, /* bytes of a body that travels in the message itself */
	MESSAGE_MAX = 96 << 20,    /* bytes of any body */
	MESSAGE_ASKS = 512,        /* questions of a front that wait for their answer; half of them are the keeper's */
	MESSAGE_FDS = 5,           /* descriptors of one message, the body's memfd included */
};

/* The caller of a question that is about everybody's, or about nobody's. No caller has this name. */
#define MESSAGE_EVERYBODY "*"

/* What to do when a confirmation is needed, whichever process finds that out. */
#define MESSAGE_CONFIRM ": ask a person who may approve it, then send the same request with the field confirm"

/* How a run is answered, and what came with it. */
enum message_manner {
	MESSAGE_STREAM = 1, /* output as it comes, before the result */
	MESSAGE_INPUT = 2,  /* stdin's pipe is the second descriptor */
	MESSAGE_WINDOW = 8, /* beside MESSAGE_INPUT: the pipe of the terminal's sizes is the third */
	MESSAGE_DIRECT = 4, /* the client's socket is the last descriptor, and nothing else is on its way there */
};

enum {
	MESSAGE_SERVICE_ENDS = 'e' /* in a run's pipe before its end: it is not its client who ends it */
};

struct message_head {
	uint32_t kind; /* enum message_kind */
	union {
		uint32_t manner; /* RUN: enum message_manner, or-ed */
		uint32_t stream; /* OUTPUT: 1 or 2 */
		uint32_t direct; /* RESULT: 1 when the client has it already */
		uint32_t status; /* TELL: as HTTP has it */
	};
	uint64_t run;           /* which run, or which question, as the front numbers them */
	uint64_t size;          /* of the body */
	uint64_t waited;        /* RUN: microseconds in the queue */
	struct outcome outcome; /* RESULT: what came of it, for those who count */
};

enum message_run_kind {
	RUN_ALONE,   /* in a box of its own */
	RUN_INSIDE,  /* in a container */
	RUN_START,   /* a container is started, and the code, if there is any, run in it */
	RUN_CELL,    /* in a session */
	RUN_SESSION, /* a session is started */
};

/* Whose run it is, before its list. Texts are terminated. */
struct message_run {
	char id[RESULT_ID];        /* the result's */
	char door[8];              /* how it came: "socket", "http" */
	char caller[40];           /* who asked: "uid 1000", or a token's name */
	char request_id[64];       /* as the client or the front calls the request */
	char profile[64];          /* of the registry; "" */
	char container[RESULT_ID]; /* where it runs, a container or a session; "": in a box of its own */
	char name[64];             /* of a session that starts; "" */
	uint8_t store_code;        /* enum record_code */
	uint8_t kind;              /* enum message_run_kind */
	uint8_t command;           /* in a container: the code is a command of its shell */
	uint8_t auto_cleanup;      /* of a container that starts: it is forgotten when it has ended */
	uint8_t asks;              /* of a container or session that starts: each run in it needs a confirmation */
	uint8_t confirmed;         /* in a container or session: there is one, for this very request */
	uint8_t sees_all;          /* its caller may see everybody's sessions */
	uint32_t max_concurrent;   /* of a container that starts: so many may run; 0: any number */
	uint32_t max_own;          /* the same of its caller's own, and of sessions */
	double ttl;                /* of a container or session that starts: seconds until it ends; 0: the default */
	double idle_ttl;           /* of a session that starts: the same without a cell */
};

/* A struct error on its way between processes. */
struct message_refusal {
	uint32_t code;                /* enum error_code */
	int32_t errnum;               /* as in struct error, and so is the rest */
	uint32_t detail;              /* within the sentence, and so are the next two */
	uint32_t remedy;              /* … */
	uint32_t with;                /* … */
	char field[ERROR_FIELD_MAX];  /* terminated */
	char message[ERROR_TEXT_MAX]; /* terminated */
};

struct message {
	struct message_head head; /* what it is */
	void *body;               /* head.size bytes and a NUL; owned */
	int fds[MESSAGE_FDS];     /* descriptors that came with it, -1: none; owned */
};

int message_send(int socket, const struct message_head *head, const void *body, const int *fds, size_t fd_count,
		 struct error *err);
/* 1, 0 at the end, -1. What is wrong with a peer's message is an error, not a crash. */
int message_receive(int socket, struct message *message, struct error *err);
void message_free(struct message *message);
/* An error for another process, and what came of one: whatever the bytes are, it is an error that can be used. */
void refusal_pack(const struct error *err, struct message_refusal *refusal);
void refusal_unpack(const void *body, size_t size, struct error *err);
