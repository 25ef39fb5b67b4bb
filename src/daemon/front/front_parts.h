/*
 * What the front's parts know of each other.
 *
 *	front.c          waits and listens
 *	front_peer.c     clients: their life, and their requests to be run
 *	front_run.c      runs at the keeper
 *	front_ask.c      questions to the keeper and the store
 *	front_policy.c   what a caller and a profile make of a request
 *	front_frames.c   the door of frames
 *	front_http.c     the door of HTTP: requests in, answers out
 *	front_routes.c   its paths
 *	front_execute.c  those that run something
 *	front_network.c  what executions did with the network
 *	front_watch.c    what is followed: files of a session, decisions about a network
 *	front_mcp.c      MCP: messages, sessions, what is answered at once
 *	front_mcp_call.c tools and resources, which ask other paths
 *	mcp_fixtures.c   in builds for tests: what MCP's conformance suite wants to see
 */
#pragma once

#include "base/buf.h"
#include "http/http.h"
#include "registry/config.h"
#include "daemon/front/connection.h"
#include "daemon/front/front.h"
#include "daemon/message.h"
#include "daemon/front/metrics.h"
#include "daemon/front/queue.h"
#include "schema/request.h"

#include <stdbool.h>
#include <sys/types.h>

enum {
	FRONT_READ_MAX = FRAME_HEADER + (64 << 10), /* bytes read at once */
	FRONT_ASKS_EACH = 192,                      /* of one caller to one of them */
	CALLER_MAX = 40,                            /* bytes of a caller's name, as struct message_run has it */
	MILLION = 1000000,
};

struct front;
struct peer;

/* What epoll speaks of. */
struct front_source {
	void (*ready)(struct front *front, struct front_source *source, uint32_t events); /* NULL: it is not watched */
	int fd;                                                                           /* -1: none */
	uint32_t events; /* that are watched for, beside its end */
};

enum {
	CONFIRM_MAX = 128 /* bytes of a confirmation */
};

enum peer_state {
	PEER_IDLE,    /* its next request may begin */
	PEER_QUEUED,  /* its request waits in the queue */
	PEER_RUNNING, /* its request is at the keeper */
};

/* Who asks. */
struct caller {
	char name[CALLER_MAX]; /* "uid 1000", or a token's name */
	uint32_t key;          /* whose turn it is in the queue: the uid, or a number made of the token */
	unsigned scopes;       /* enum token_scope */
	bool token;            /* it is a token's */
};

struct exchange;
/* How a client talks. */
struct door {
	const char *name; /* in history */
	bool half_open;   /* a client that sends no more still hears its answer */
	/* Takes what it can of the bytes; how many. Sets peer->blocked if the rest has to wait. */
	size_t (*take)(struct front *front, struct peer *peer, const char *data, size_t size);
	/* The client sends no more. */
	void (*ended)(struct front *front, struct peer *peer);
	/* Its run began, wrote something, has its result (which the keeper may have sent already, see head.direct), or
	 * is refused. After the last two it is idle. */
	void (*started)(struct front *front, struct peer *peer, const char *json, size_t size);
	void (*output)(struct front *front, struct peer *peer, int stream, const char *data, size_t size);
	void (*result)(struct front *front, struct peer *peer, const struct message *message);
	void (*refuse)(struct front *front, struct peer *peer, const struct error *err, unsigned retry_after);
	/* The same for want of a confirmation, which is this. */
	void (*confirm)(struct front *front, struct peer *peer, const char *confirm, const struct error *err);
	/* Too many bytes of requests are held: what it has on its way is refused and forgotten. */
	void (*crowded)(struct front *front, struct peer *peer);
	/* Its deadline is over; NULL: it never has one. */
	void (*late)(struct front *front, struct peer *peer);
	/* There is room for more of a long answer; NULL: it has none. */
	void (*more)(struct front *front, struct peer *peer);
};

extern const struct door door_frames, door_http;

struct front_run;
struct confirm_used;
struct peer {
	struct front_source source;     /* first: the event's source is the peer */
	struct connection link;         /* its bytes */
	const struct door *door;        /* NULL: its first bytes are to tell */
	struct terminal *terminal;      /* after the door of terminals; freed with it. NULL: none */
	struct front_watch *watch;      /* of files, whose events it gets; freed with it. NULL: none */
	bool more;                      /* its answer goes on when there is room */
	struct exchange *exchange;      /* of HTTP: the request and its answer; NULL: none yet */
	const char *via;                /* what is spoken through the door, in history; NULL: nothing else */
	struct peer *next, *previous;   /* of all, or of the dead */
	struct caller caller;           /* who it is; of HTTP over TCP: who asked last */
	char address[48];               /* where it is: "unix", or an IP address */
	enum peer_state state;          /* of its request */
	struct request_manner manner;   /* how it is to be run */
	struct buf list;                /* the request as the keeper gets it; empty when it has it */
	struct message_run about;       /* whose it is */
	struct confirm_used *confirmed; /* the confirmation that it took; NULL: it needed none */
	char seal[CONFIRM_MAX];         /* one for its request in a container, should that need it */
	struct queue_item item;         /* its place in the queue */
	uint64_t asked_usec;            /* when it had to wait for its turn; 0: it had not */
	uint64_t deadline_usec;         /* when it has to have done something; 0: whenever it likes */
	struct front_run *run;          /* its run, if it is running */
	struct buf input;               /* stdin on its way to the program */
	uint64_t ask;                   /* the question whose answer it waits for; 0: none */
	bool waits;                     /* for a word of its client's that comes by another connection */
	bool input_ended;               /* all of it was sent */
	bool blocked;                   /* what comes next has to wait, and so nothing is read */
	bool closing;                   /* it is closed when all is written */
	bool lingering;                 /* what it still sends is read and forgotten */
	bool dead;                      /* it is closed, and freed when no event can speak of it */
	size_t held;                    /* its part of the front's */
};

struct front_run {
	struct front_source input; /* first: stdin's writing end; -1: none */
	uint64_t number;           /* as the keeper knows it; 0: this place is free */
	int window;                /* the writing end of its terminal's sizes; -1: none */
	int cancel;                /* the writing end whose closing ends it; -1: it was closed */
	struct peer *peer;         /* whom it is for; NULL: gone */
	struct message_run about;  /* which it is */
	uint64_t begun_usec;       /* when the keeper got it */
	uint64_t waited_usec;      /* in the queue before */
	bool flooded;              /* its output was more than the peer read in time */
	bool direct;               /* the keeper has the peer's socket, and may be writing to it */
	uint64_t orphan_usec; /* when it is ended, since its client went away and may not have meant that; 0: not so */
};

/* Called with the answer; `fd` is -1 or a file that is the callee's now. */
typedef void ask_told(struct front *front, struct peer *peer, int status, const char *body, size_t size, int fd);

struct ask {
	uint64_t number;   /* 0: this place is free */
	struct peer *peer; /* NULL: gone, or nobody */
	ask_told *told;    /* what to do with it */
	bool store;        /* it is the store's to answer */
	bool asked;        /* a client did, if it is gone or not… */
	uint32_t caller;   /* …of this key */
};

enum {
	TOKENS_WATCHED = TOKENS_MAX + 1, /* tokens whose use is written down: those of the file, and the first */
	UNSAID_MAX = 1024,               /* events that wait for a store */
	CONFIRMS_EACH = 256,             /* of one caller */
	CONFIRMS_MAX = 1024              /* confirmations that were used and are not too old yet */
};

struct confirm_used {
	uint32_t caller;         /* whose it was */
	uint64_t until;          /* when it is too old, in seconds since 1970; past: this place is free */
	unsigned char nonce[16]; /* which */
};

struct front {
	struct front_source listen, tcp, keeper, store, control; /* as front_run() got them */
	int epoll;                                               /* watches all */
	struct front_options options;                            /* without zeros */
	struct front_config config;                              /* registry, tokens, defaults */
	struct queue queue;                                      /* clients that wait */
	struct front_run *runs;                                  /* options.max_running places */
	size_t running;                                          /* of them are taken */
	uint64_t number;                                         /* of the last round of runs: see run_take() */
	uint64_t run_usec;                      /* how long runs take, an average that forgets; 0: none ended yet */
	struct ask asks[MESSAGE_ASKS];          /* questions */
	uint64_t ask_number;                    /* of the last round of them */
	struct peer *clients, *dead;            /* lists */
	size_t client_count;                    /* that live */
	size_t streams;                         /* of them, those that get events */
	uint64_t held;                          /* bytes of clients that have more than a little */
	uint64_t alarm_usec;                    /* the earliest deadline there may be; 0: none */
	uint64_t begun_usec;                    /* when it began to serve */
	uint64_t denied_usec;                   /* when a denial was last written down */
	uint64_t denied_more;                   /* denials since then that were not */
	uint64_t token_usec[TOKENS_WATCHED];    /* when the use of a token was, by its place */
	uint64_t request_number;                /* of the last request that had no name of its own */
	struct metrics *metrics;                /* what it counts */
	struct mcp *mcp;                        /* MCP's sessions and tables; NULL until it is spoken */
	unsigned char secret[32];               /* behind confirmations */
	struct confirm_used used[CONFIRMS_MAX]; /* confirmations that were used */
	char *unsaid[UNSAID_MAX];               /* events for the audit log while there is no store */
	size_t unsaid_count;                    /* how many */
	char blind[256];                        /* why nothing can be written down; "": it can */
	bool unsettled;                         /* the store has not said yet whether it can write: what comes waits */
	bool deaf;                              /* no descriptor was left for a connection: wait until one is */
	bool draining;                          /* nothing new begins */
	bool stale;                             /* the configuration is not what people wrote last, which is wrong */
	bool over;                              /* the supervisor is gone */
	struct error *err;                      /* what ends it, if that is not meant */
	bool failed;                            /* that is set */
	char room[FRONT_READ_MAX];              /* where bytes are read to; empty between events */
};

/* Watches for other events. */
int source_watch(struct front *front, struct front_source *source, uint32_t events);
int source_add(struct front *front, struct front_source *source, uint32_t events,
	       void (*ready)(struct front *, struct front_source *, uint32_t));
void source_close(struct front *front, struct front_source *source);
/* It can serve: the supervisor hears of it, once. */
void front_settle(struct front *front);
/* Lets connections in again, if there was no descriptor left for them. */
void front_hear(struct front *front);

/* A connection was accepted; it is closed if it cannot be watched. `door` NULL: its first bytes tell. */
void peer_accept(struct front *front, int fd, const struct door *door, const char *address);
/* The refusal of one that is no peer yet. */
void peer_turn_away(const struct front *front, int fd, const struct door *door);
/* Closes it and ends what it asked for; it is freed by the loop. */
void peer_drop(struct front *front, struct peer *peer);
/* Forgets its request, wherever that is. */
void peer_abandon(struct front *front, struct peer *peer);
/* After anything that was done with it: closes it, or watches for what it can do next. */
void peer_settle(struct front *front, struct peer *peer);
/* As peer_settle(), after taking what had to wait. */
void peer_resume(struct front *front, struct peer *peer);
/* As peer_resume(), but when those that are being served are done: for who is not the one that is served. */
void peer_wake(struct front *front, struct peer *peer);
/* It has to do something within so many milliseconds; 0: it may take its time. */
void peer_deadline(struct front *front, struct peer *peer, unsigned msec);
/* Its request, whose list and manner are set, begins or waits for its turn; or it is refused. */
void peer_submit(struct front *front, struct peer *peer);
/* The answer to its request; the next may begin. `field` may be "", `retry_after` 0. */
void peer_refuse(struct front *front, struct peer *peer, enum error_code code, const char *field, unsigned retry_after,
		 const char *message);
void peer_refuse_error(struct front *front, struct peer *peer, const struct error *err);
/* The field that an error of a request is about; over HTTP its sentence begins with that name. */
void peer_name_field(const struct peer *peer, struct error *err);
/* Ends its run, or takes it out of the queue. */
void peer_cancel(struct front *front, struct peer *peer);
/* Refuses it if nothing may run because nothing can be written down; whether it did. */
bool peer_refuse_blind(struct front *front, struct peer *peer);
struct peer *peer_of_item(struct queue_item *item);
/* When it is worth to ask again: as long as those that wait will take. */
unsigned front_retry_after(const struct front *front);
/* {"error": {"code", "message", "field"?, "retry_after"?, "confirm"?}}; the caller frees. NULL without memory. What a
 * call of MCP is answered with inside of us has `problem`, the message without its remedy, and `with` as well: a model
 * has other tools. */
char *front_error_json(const struct error *err, unsigned retry_after, const char *confirm, bool inside);

/* Sends its request to the keeper. 0; -1: it cannot be run, and was told so; 1: the keeper cannot take it now. */
int run_start(struct front *front, struct peer *peer);
/* Writes stdin as far as the program reads. */
void run_feed(struct front *front, struct front_run *run);
/* Its client is gone: it goes on alone, for so many milliseconds at most. */
void run_orphan(struct front *front, struct front_run *run, unsigned msec);
/* Starts who waits, as far as there are places. */
void run_dispatch(struct front *front);
/* A new keeper, whose socket is taken over. */
int keeper_set(struct front *front, int fd);

/* Asks the keeper or the store; `told` hears the answer unless the peer is gone by then. -1: it cannot be asked now. */
int ask(struct front *front, struct peer *peer, bool store, const char *json, ask_told *told);
/* The same with a descriptor, which stays the caller's; -1: none. */
int ask_with(struct front *front, struct peer *peer, bool store, const char *json, int given, ask_told *told);
/* The peer waits no more. */
void ask_forget(struct front *front, struct peer *peer);
/* What the keeper or the store says to a question. */
void ask_answer(struct front *front, const struct message *message, int fd, bool store);
/* Who was asked is gone. */
void ask_lost(struct front *front, bool store);
/* A new store, whose socket is taken over. */
int store_set(struct front *front, int fd);
/* Something for the audit log: fields is a JSON object's text. Never waits; what the store cannot take yet is said
 * again when it can, as far as there is room. */
bool front_audit_full(const struct front *front);
void front_audit(struct front *front, const char *event, const char *fields);

/* MCP's sessions and tables. */
void mcp_free(struct mcp *mcp);
/* Whether what it runs goes on for a while when its client is gone. */
bool exchange_outlives(const struct peer *peer);
/* Closes what is behind it; front_terminal.c. */
void terminal_drop(struct front *front, struct peer *peer);

/* The same; front_watch.c. */
void watch_drop(struct front *front, struct peer *peer);

/* Bytes that it holds, and its end. */
size_t exchange_held(const struct peer *peer);
void exchange_free(struct front *front, struct peer *peer);

enum policy_answer {
	POLICY_GO,
	POLICY_REFUSED, /* the error says why */
	POLICY_CONFIRM, /* a person has to agree first: the text to send along is in `confirm` */
};
/* A request's JSON to peer->list, ->manner and ->about (of which the door has set request_id, and of a container that
 * is to start kind and ttl): the profile's and the environment's defaults, the token's bounds, and whether it needs a
 * confirmation. */
enum policy_answer policy_apply(struct front *front, struct peer *peer, const char *json, size_t size,
				char confirm[CONFIRM_MAX], struct error *err);
/* What holds for boxes that live, as policy/in_force.h has it; the caller frees. NULL without memory. */
char *policy_in_force(const struct front *front);
/* Takes another configuration; the old one stays if it cannot be read. */
int policy_load(struct front *front, int memory, struct error *err);
/* The same while it serves: of tokens that are gone the containers are ended. */
int policy_change(struct front *front, int memory, struct error *err);
/* A run in a container was refused for want of a confirmation: answers with one. */
void policy_ask(struct front *front, struct peer *peer, const struct error *err);
const struct token *policy_token(const struct front *front, const char *name);
/* Ends what a token that is gone has started; nothing where it is there. */
void policy_end_containers(struct front *front, const char *name);
