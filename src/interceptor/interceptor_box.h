/*
 * The interceptor of one box: a process with the box's channel, and the connections that egress hands it. One thread,
 * one epoll; no call waits but epoll_wait().
 */
#pragma once

#include "base/arena.h"
#include "intercept/http_relay.h"
#include "intercept/intercept_wire.h"
#include "interceptor/interceptor_tls.h"

#include <sys/queue.h>

struct box_flow;

/* What epoll tells of. */
struct box_watch {
	int fd;
	uint32_t events; /* that are asked for, beside the end of both directions */
	bool watched;
	struct box_flow *flow; /* NULL: the channel */
};

enum box_stage {
	STAGE_FIRST, /* the program's first byte says whether it speaks TLS */
	STAGE_SHAKE, /* TLS begins, on both sides */
	STAGE_OPEN,
	STAGE_LINGER, /* all is said: what the program still sends is thrown away */
	STAGE_DEAD,
};

/* A connection. */
struct box_flow {
	LIST_ENTRY(box_flow) link;
	enum box_stage stage;
	uint32_t number; /* egress's */
	bool without_sni;
	char name[NET_NAME_MAX];
	struct tls_side box, world;
	struct box_watch box_watch, world_watch;
	bool box_shaken, world_begun, world_shaken; /* the handshakes; without TLS all true */
	bool box_finished, world_finished;          /* that nothing more comes was said */
	bool announced;                             /* to egress, that the stream will end */
	struct http_relay relay;
	bool relaying;               /* `relay` is set */
	struct buf box_in, world_in; /* what was read and not taken yet */
	uint64_t until_usec;         /* the handshakes, and lingering, end then; 0: no bound */
	size_t lingered;             /* bytes that were thrown away */
	bool again;                  /* there is more to do at once */
};

LIST_HEAD(box_flows, box_flow);

/* One that was handed over and has not begun: messages are read in the middle of other work too. */
struct box_arrival {
	STAILQ_ENTRY(box_arrival) link;
	struct intercept_flow message;
	int stream, world;
};

STAILQ_HEAD(box_arrivals, box_arrival);

struct intercept_box {
	int epoll;
	struct box_watch channel;
	struct arena arena; /* of the policy */
	struct net_policy policy;
	bool has_policy;
	struct arena secret_arena;
	struct net_secrets secrets;
	struct box_arrivals arrivals;
	bool ended;                   /* the channel has */
	struct box_flows flows, dead; /* dead ones are freed when the round is over */
	uint32_t lost;                /* events that found no room */
	uint64_t now;
	bool again; /* of some flow */
};

/* Serves until the channel ends. */
int intercept_box_run(int channel, struct error *err);

/* interceptor_flow.c. Takes both descriptors. */
void flow_begin(struct intercept_box *box, const struct intercept_flow *message, int stream, int world);
void flow_work(struct intercept_box *box, struct box_flow *flow);
void flow_end(struct intercept_box *box, struct box_flow *flow);
void flow_free(struct box_flow *flow);
/* The stream to the box is closed; the time is over. */
void flow_gone(struct intercept_box *box, struct box_flow *flow);
void flow_late(struct intercept_box *box, struct box_flow *flow);

/* interceptor_box.c */
/* Reads what egress has said: a policy that was sent before a request holds for it. */
void channel_read(struct intercept_box *box);
void watch_set(struct intercept_box *box, struct box_watch *watch, uint32_t events, bool watched);
void event_send(struct intercept_box *box, const struct box_flow *flow, enum intercept_kind kind,
		const struct relay_verdict *verdict);
