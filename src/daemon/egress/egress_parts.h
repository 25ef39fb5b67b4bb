/*
 * What the files of egress share. One thread, one epoll, and no call that waits but epoll_wait().
 *
 * Sockets are watched edge by edge: an event notes what a socket can do, and puts its flow, listener or name server
 * into the queue of its box. Boxes with a queue take turns, one bounded turn each a round, so that a box with a
 * thousand busy connections has as much of egress as a box with one.
 *
 * What ends during a round is only marked (its descriptors are closed at once), for events of the same round may still
 * point at it; it is freed when the round is over.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "net/egress_link.h"
#include "net/net_secret.h"
#include "net/net_policy.h"
#include "net/net_proxy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

struct egress;
struct egress_box;

enum {
	/* Documented in docs/network.md. */
	EGRESS_CONNECT_USEC = 10000000, /* for a connection to be made, all addresses of its name together */
	EGRESS_ATTEMPT_USEC = 2500000,  /* for one address, while others are left */
	EGRESS_RESOLVE_USEC = 8000000,  /* for a name to be resolved */
	EGRESS_IDLE_USEC = 600000000,   /* without a byte in either direction */
	EGRESS_FRESH_USEC = 5000000,    /* addresses of a name are used again for so long */
	EGRESS_ADDRESSES_MAX = 16,      /* addresses of a name that are looked at */
	EGRESS_NAMES_MAX = 4096,        /* names of a box */
	EGRESS_LOOKUPS_MAX = 32,        /* of a box, at once */
	EGRESS_QUERIES_RATE = 200,      /* queries a second, of a box … */
	EGRESS_QUERIES_BURST = 1000,    /* … and so many at once */
	EGRESS_TURN = 512 << 10,        /* bytes that a flow may move in a turn, in each direction */
	EGRESS_REPORTS_MAX = 64 << 10,  /* bytes of reports of a box that wait for room in its socket */
};

/* Something that epoll watches. */
struct egress_watch {
	int fd; /* -1: it ended */
	void (*ready)(struct egress *e, struct egress_watch *watch, uint32_t events);
};

/* A time. Set as often as one likes. */
struct egress_timer {
	uint64_t when_usec;
	size_t place; /* in the heap, from 1; 0: it is not set */
	void (*fire)(struct egress *e, struct egress_timer *timer);
};

/* Something that a box has to do. */
struct egress_turn {
	TAILQ_ENTRY(egress_turn) link; /* in its box's queue, if: */
	bool queued;
	struct egress_box *box;
	bool (*take)(struct egress *e, struct egress_turn *turn); /* a bounded part of it; true: there is more */
};

/* What may pass by a rate: bytes, or queries. */
struct egress_bucket {
	uint64_t rate;           /* a second; 0: no limit */
	uint64_t size;           /* at most so much is in it */
	unsigned __int128 parts; /* what is in it, in millionths: so no microsecond is rounded */
	uint64_t filled_usec;    /* when it was filled last */
};
/* Pure. It begins full. */
void egress_bucket_open(struct egress_bucket *bucket, uint64_t rate, uint64_t size, uint64_t now_usec);
/* The size for a rate of bytes. */
uint64_t egress_bucket_size(uint64_t rate);
/* How much may pass now; UINT64_MAX: all. */
uint64_t egress_bucket_level(struct egress_bucket *bucket, uint64_t now_usec);
void egress_bucket_take(struct egress_bucket *bucket, uint64_t bytes);
/* When a turn is worth it again. */
uint64_t egress_bucket_next(const struct egress_bucket *bucket, uint64_t now_usec);

/* A pipe between two sockets. */
struct egress_pipe {
	struct egress_pipe *next; /* in the pool */
	int in, out;
};

/* What a name leads to. */
enum egress_found {
	EGRESS_UNKNOWN, /* not asked yet */
	EGRESS_FOUND,
	EGRESS_NO_NAME,    /* it does not exist */
	EGRESS_NO_ADDRESS, /* it has none */
	EGRESS_FAILED,     /* no name server answered */
};

/* Who waits for it. */
struct egress_name;
struct egress_waiter {
	LIST_ENTRY(egress_waiter) link; /* in the name's list, if: */
	bool waits;
	void (*resolved)(struct egress *e, struct egress_waiter *waiter, struct egress_name *name);
};

struct egress_name {
	LIST_ENTRY(egress_name) link; /* those of the same hash */
	uint32_t index;               /* of its address: 198.18.0.0 and so many; 0: none yet */
	enum egress_found found;
	bool told; /* that it does not exist, or does not answer, was reported */
	uint64_t found_usec;
	struct net_address addresses[EGRESS_ADDRESSES_MAX];
	size_t count;
	struct egress_lookup *lookup; /* under way; NULL: none */
	LIST_HEAD(, egress_waiter) waiters;
	char text[]; /* canonical */
};

/* Of a box. */
struct egress_names {
	LIST_HEAD(egress_bin, egress_name) * table; /* by hash; NULL until there is one */
	struct egress_name **by_index;
	size_t room, count;
	size_t indexes;    /* addresses that were given */
	char *refused[16]; /* the last that were refused and reported, in a ring */
	size_t refused_next;
	struct egress_bucket queries;
	bool too_many; /* reported */
	size_t lookups;
};

/* Which way bytes go. */
enum egress_direction {
	EGRESS_UP,   /* from the box */
	EGRESS_DOWN, /* to it */
};

struct egress_lane {
	struct egress_pipe *pipe; /* what is in it is `piped` bytes; NULL: none */
	size_t piped;
	uint64_t moved; /* bytes that arrived */
	bool eof;       /* the sender will send no more */
	bool shut;      /* and the receiver was told so */
};

struct egress_side {
	struct egress_watch watch;
	struct egress_flow *flow;
	bool readable, writable; /* as far as is known: until EAGAIN */
	bool ended;              /* no more comes than is there */
	bool broken;             /* a reset, or an error of the network */
};

enum egress_state {
	FLOW_RESOLVING,
	FLOW_CONNECTING,
	FLOW_OPEN,
	FLOW_DEAD,
};

/* How far a connection through the host's proxy is. */
enum egress_proxy_state {
	PROXY_NONE,
	PROXY_CONNECTS, /* to the proxy */
	PROXY_ASKED,    /* for a connection */
	PROXY_DONE,
};

/* What of TLS is still to be looked at, before the box's bytes go on. */
enum egress_hello {
	HELLO_FIRST,  /* the box's first bytes */
	HELLO_SERVER, /* the server's: TLS 1.3 may want another hello */
	HELLO_SECOND, /* that */
	HELLO_DONE,
};

/* A connection of a box. */
struct egress_flow {
	struct egress_turn turn;
	LIST_ENTRY(egress_flow) link;     /* in the box's list, or that of the dead */
	TAILQ_ENTRY(egress_flow) wanting; /* those that wait for the box's rate, if: */
	bool wants;
	enum egress_state state;
	struct egress_side box, world;
	struct egress_lane ways[2];
	struct egress_timer timer; /* until it is resolved, connected; while open: idle */
	uint64_t active_usec;      /* when something moved last */
	uint64_t deadline_usec;    /* to be connected */
	struct egress_waiter waiter;
	/* What is asked for */
	struct egress_name *name; /* NULL: an address */
	struct net_address asked;
	uint16_t port;
	struct net_decision decision;
	/* Where it goes */
	struct net_address addresses[EGRESS_ADDRESSES_MAX];
	size_t count, at;
	enum egress_proxy_state proxy;
	struct net_address through; /* what the proxy is asked for, if: */
	bool through_address;
	/* The look at TLS */
	enum egress_hello hello;
	unsigned char *held; /* bytes of the box; NULL: none */
	size_t held_size, held_room;
	size_t held_free; /* of them, so many may go on */
	size_t held_sent; /* and so many did */
	/* What is reported */
	uint32_t number; /* 0: not reported yet */
	uint64_t time_usec, start_usec;
	bool allowed;
	uint8_t reason, level;
	/* Through the interceptor */
	uint32_t intercepted; /* its number there; 0: it does not go there */
	bool told;            /* some request was reported */
	bool ends;            /* the end of the stream is one that its sides meant; any other is a reset */
	bool breaks;          /* for this reason */
	uint8_t breaks_reason;
	char *rule; /* of the first request that was allowed; owned; NULL: that of the decision */
};

struct egress_listener {
	struct egress_turn turn;
	struct egress_watch watch;
	LIST_ENTRY(egress_listener) link;
};

/* A box's name server. */
struct egress_dns {
	struct egress_turn udp_turn, tcp_turn;
	struct egress_watch udp, tcp;
	LIST_HEAD(, egress_stream) streams; /* connections over TCP */
	size_t stream_count;
	LIST_HEAD(, egress_query) queries; /* that wait for what a name leads to */
	size_t waiting;                    /* how many */
};

struct egress_box {
	LIST_ENTRY(egress_box) link;  /* all of them, or the dead */
	TAILQ_ENTRY(egress_box) turn; /* those that have something to do, if: */
	bool in_turn;
	bool dead;
	TAILQ_HEAD(, egress_turn) turns;
	struct egress_watch socket; /* the egress socket */
	struct arena arena;         /* of the policy */
	struct net_policy policy;
	LIST_HEAD(, egress_listener) listeners;
	struct egress_dns dns;
	struct egress_names names;
	LIST_HEAD(, egress_flow) flows;
	size_t flow_count;
	uint64_t flows_made;
	struct egress_bucket buckets[2]; /* by direction */
	TAILQ_HEAD(, egress_flow) wanting;
	struct egress_timer rate_timer;
	uint64_t left;       /* of the total; UINT64_MAX: no limit */
	size_t pipes;        /* that its flows hold */
	struct buf reports;  /* that found no room yet */
	size_t reports_sent; /* bytes of them that went */
	bool finishing;      /* the totals are to be sent, and then all is over */
	bool totals_wanted;  /* an answer found no room */
	/* The interceptor */
	struct net_secrets secrets; /* whose values were overwritten when they had been handed on */
	struct arena secret_arena;
	bool channel_made;           /* there was one: a box gets no second */
	struct egress_watch channel; /* -1: there is none */
	int channel_end;             /* the other end, until it is handed over */
	bool channel_waits;          /* for room in the main socket */
	TAILQ_ENTRY(egress_box) channel_next;
	uint32_t intercepted; /* flows that were handed over */
	/* Counts */
	uint32_t numbers;
	uint64_t allowed, refused, queries, lost, sent, received;
};

struct egress {
	int epoll;
	bool end;
	uint64_t now; /* of this round */
	int control;  /* -1: none */
	struct egress_watch control_watch, link;
	LIST_HEAD(, egress_box) boxes;
	TAILQ_HEAD(, egress_box) turns; /* boxes with a queue */
	size_t turn_count;
	struct egress_watch intercept;     /* the main socket of interceptors; -1: there are none */
	TAILQ_HEAD(, egress_box) channels; /* boxes whose channel waits for room there */
	LIST_HEAD(, egress_flow) dead_flows;
	LIST_HEAD(, egress_box) dead_boxes;
	LIST_HEAD(, egress_stream) dead_streams;
	struct egress_timer retry;    /* there was no descriptor for a connection */
	struct egress_timer **timers; /* a heap */
	size_t timer_count, timer_room;
	struct egress_pipe *pipes; /* that are free */
	size_t pipe_count, pipes_free, pipes_max;
	size_t flow_count, flows_max;
	struct egress_resolver *resolver;
	int route;                     /* netlink: which addresses are the machine's own */
	const struct net_proxy *proxy; /* the host's; NULL: none */
};

/* egress.c */
int egress_watch_add(struct egress *e, struct egress_watch *watch, uint32_t events);
void egress_watch_end(struct egress *e, struct egress_watch *watch);
void egress_timer_set(struct egress *e, struct egress_timer *timer, uint64_t when_usec);
void egress_timer_end(struct egress *e, struct egress_timer *timer);
void egress_queue(struct egress *e, struct egress_turn *turn);
void egress_unqueue(struct egress_turn *turn);
void egress_box_unqueue(struct egress *e, struct egress_box *box);
/* What it finds out before it is confined. */
struct egress_start {
	int authority; /* its file; -1: there is none, and no interceptor */
	int intercept; /* the main socket; -1 */
	struct egress_resolver *resolver;
	struct net_proxy proxy;
	bool has_proxy;
	int route;
	size_t flows_max; /* connections that it has descriptors for */
	size_t pipes_max; /* and pipes */
};
int egress_run(int control, int link, const struct egress_start *start, struct error *err);

/* egress_box.c */
void egress_link_ready(struct egress *e, struct egress_watch *watch, uint32_t events);
void egress_box_end(struct egress *e, struct egress_box *box);
void egress_box_free(struct egress_box *box);

/* egress_names.c: the box's names, and its name server. */
int egress_names_open(struct egress *e, struct egress_box *box, int udp, int tcp);
void egress_names_close(struct egress *e, struct egress_box *box);
void egress_names_free(struct egress_box *box);
void egress_streams_free(struct egress *e);
/* One by its text; NULL: there are too many. */
struct egress_name *egress_name_get(struct egress_box *box, const char *text);
/* The name behind an address of 198.18.0.0/15; NULL: none was given that. */
struct egress_name *egress_name_at(const struct egress_box *box, const struct net_address *address);
bool egress_is_synthetic(const struct net_address *address);

/* egress_resolve.c: what names lead to. */
int egress_resolver_open(struct egress_resolver **out, struct error *err);
void egress_resolver_start(struct egress *e);
/* Other name servers, from a file as resolv.conf. */
void egress_resolver_read(struct egress *e, int fd);
/* After a round: sets the resolver's timer. */
void egress_resolver_settle(struct egress *e);
/* Calls waiter->resolved() with what the name leads to now: at once if that is fresh. False: too many are asked. */
bool egress_resolve(struct egress *e, struct egress_box *box, struct egress_name *name, struct egress_waiter *waiter);
void egress_waiter_end(struct egress_waiter *waiter);
void egress_lookup_end(struct egress_name *name);
/* Netlink: whether the address is one of this machine's own. 1, 0; -1: cannot be known. */
int egress_route_open(struct error *err);
int egress_route_is_own(int route, const struct net_address *address);

/* egress_flow.c: a connection until it is open, and its end. egress_relay.c: while it is. */
bool egress_accept(struct egress *e, struct egress_turn *turn);
void egress_flow_end(struct egress *e, struct egress_flow *flow, enum net_reason reason);
void egress_flow_review(struct egress *e, struct egress_flow *flow);
void egress_flow_finish(struct egress *e, struct egress_flow *flow);
void egress_connect_next(struct egress *e, struct egress_flow *flow);
bool egress_flow_turn(struct egress *e, struct egress_turn *turn);
void egress_accept_again(struct egress *e, struct egress_timer *timer);
void egress_rate_due(struct egress *e, struct egress_timer *timer);
void egress_side_ready(struct egress *e, struct egress_watch *watch, uint32_t events);
void egress_pipes_give(struct egress *e, struct egress_flow *flow);

/* egress_proxy.c: `address` is that of a question without a name, and `to` what was checked; NULL: the name. */
bool egress_proxy_takes(const struct egress *e, const char *name, const struct net_address *address, uint16_t port);
void egress_proxy_connect(struct egress *e, struct egress_flow *flow, const struct net_address *to);
void egress_proxy_ask(struct egress *e, struct egress_flow *flow);
bool egress_proxy_answered(struct egress *e, struct egress_flow *flow);

/* egress_launch.c: before egress is confined. */
/* The authority's file, made if there is none. */
int egress_authority_open(struct error *err);
/* Starts the launcher. The main socket. */
int egress_launch(int authority, struct error *err);

/* egress_intercept.c: connections whose requests are looked at. */
bool egress_intercepts(const struct egress_flow *flow);
/* The policy has changed, or is the first; its text goes on, with that of the secrets the first time. */
void egress_intercept_policy(struct egress *e, struct egress_box *box, const char *policy, size_t policy_size,
			     const char *secrets, size_t secrets_size);
/* An open connection: the stream takes the server's place. -1: there is no interceptor. */
int egress_intercept_flow(struct egress *e, struct egress_flow *flow);
/* What it said so far. */
void egress_intercept_read(struct egress *e, struct egress_box *box);
void egress_intercept_close(struct egress *e, struct egress_box *box);
void egress_intercept_ready(struct egress *e, struct egress_watch *watch, uint32_t events);

/* egress_report.c */
void egress_report_flow(struct egress *e, struct egress_flow *flow);
void egress_report_refused(struct egress *e, struct egress_box *box, const char *host, enum net_reason reason,
			   const struct net_rule *rule);
/* A request of an intercepted connection that was refused. */
void egress_report_request(struct egress *e, const struct egress_flow *flow, enum net_reason reason, const char *rule,
			   const char *request);
void egress_report_totals(struct egress *e, struct egress_box *box);
/* There is room for more again. */
void egress_report_room(struct egress *e, struct egress_box *box);
