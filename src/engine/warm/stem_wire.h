/* What the keeper and a stem say to each other, over a SOCK_SEQPACKET pair. Both are this very program. */
#pragma once

#include "engine/box_network.h"
#include "engine/local/box_report.h"
#include "kernel/probe.h"
#include "kernel/userns.h"
#include "schema/surroundings.h"

#include <stdint.h>

enum {
	STEM_FD_SOCKET = 3, /* of a stem that was just executed */
	STEM_NAME_MAX = 64, /* bytes of a name */
	STEM_MAKE_FDS = 2,  /* descriptors of struct stem_make but for the groups */
};

/* A zygote's kinds. */
enum zygote_kind {
	ZYGOTE_FORK, /* the interpreter; pid 2, as its forks are in their boxes */
	ZYGOTE_EXEC, /* this program: its forks execute what they are told */
	ZYGOTE_KINDS
};

/* First, with the sockets of its zygotes: what the stem is for. It answers with a struct stem_answer when it is made.
 */
struct stem_begin {
	struct probe probe;            /* of the host, as the keeper found it */
	bool weaker[LAYERS];           /* layers that the host may lack */
	bool forks;                    /* an interpreter is wanted */
	char language[STEM_NAME_MAX];  /* the runtime's name */
	char profile[STEM_NAME_MAX];   /* one of it, or empty */
	char around[SURROUNDINGS_MAX]; /* surroundings_text() */
};

enum stem_ask {
	STEM_ASK_MAKE, /* a box; with it: its control socket, the lock of its uid (or the socket again), the groups */
	STEM_ASK_LENT, /* it is lent, and others may enter it when this was answered */
	STEM_ASK_REFUSED, /* the call that it was refused last */
	STEM_ASK_CORES,   /* nothing: from now on it finds so many processors */
	STEM_ASK_PLANT,   /* sockets in its network; a struct stem_plant comes with it */
};

/* Then each time, of one box. */
struct stem_make {
	struct userns_ids ids; /* as the stem calls them */
	uint64_t number;       /* of the box */
	uint32_t groups;       /* files of groups */
	uint32_t ask;          /* enum stem_ask */
	uint32_t cores;        /* of STEM_ASK_CORES */
};

/* What is to be planted in the network of a box (kernel/net_plant.h). */
struct stem_plant {
	uint32_t port_count;                     /* of ports */
	uint32_t range_count;                    /* of ranges */
	uint8_t everything;                      /* as in struct net_plant */
	uint8_t again;                           /* the same */
	uint32_t bound_count;                    /* of bound */
	uint16_t bound[NET_PORTS_MAX];           /* as in struct net_plant */
	uint16_t ports[NET_PORTS_MAX];           /* to listen on */
	struct net_range ranges[NET_RANGES_MAX]; /* local routes */
};

/* Of a box that was made with the pidfd of its init; of STEM_ASK_PLANT with sockets, as many as one message holds. */
struct stem_answer {
	int32_t errnum; /* 0: done; ENOENT: there is no such call */
	uint32_t index; /* of struct stem_begin: the operation that failed; of STEM_ASK_REFUSED: the call's number; of
			   STEM_ASK_PLANT: how many sockets are to come in further answers */
};
