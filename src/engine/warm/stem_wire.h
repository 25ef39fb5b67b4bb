/* The protocol between the keeper and a stem, over a SOCK_SEQPACKET pair. Both are this program. */
#pragma once

#include "engine/box_network.h"
#include "engine/local/box_report.h"
#include "kernel/probe.h"
#include "kernel/userns.h"
#include "schema/surroundings.h"

#include <stdint.h>

enum {
	STEM_FD_SOCKET = 3, /* of a stem after exec */
	STEM_NAME_MAX = 64, /* bytes of a name */
	STEM_MAKE_FDS = 2,  /* descriptors of struct stem_make without the groups */
};

/* Kinds of zygotes. */
enum zygote_kind {
	ZYGOTE_FORK, /* the interpreter; pid 2, as its forks are in their boxes */
	ZYGOTE_EXEC, /* this program: its forks execute a command */
	ZYGOTE_KINDS
};

/* The first message, with the sockets of its zygotes. The stem answers with a struct stem_answer when it is ready. */
struct stem_begin {
	struct probe probe;            /* the keeper's probe of the host */
	bool weaker[LAYERS];           /* waived layers */
	bool forks;                    /* start an interpreter */
	char language[STEM_NAME_MAX];  /* the runtime's name */
	char profile[STEM_NAME_MAX];   /* a profile of the runtime, or empty */
	char around[SURROUNDINGS_MAX]; /* surroundings_text() */
};

enum stem_ask {
	STEM_ASK_MAKE, /* make a box; with its control socket, the lock of its uid (or the socket again), the groups */
	STEM_ASK_LENT, /* the box is lent: others may enter it after the answer */
	STEM_ASK_REFUSED, /* the last refused call of the box */
	STEM_ASK_CORES,   /* set the number of processors that the box finds */
	STEM_ASK_PLANT,   /* plant sockets in its network; with a struct stem_plant */
};

/* Every further message, about one box. */
struct stem_make {
	struct userns_ids ids; /* as numbered in the stem */
	uint64_t number;       /* number of the box */
	uint32_t groups;       /* number of group files */
	uint32_t ask;          /* enum stem_ask */
	uint32_t cores;        /* for STEM_ASK_CORES */
};

/* What to plant in the network of a box (kernel/net_plant.h). */
struct stem_plant {
	uint32_t port_count;                     /* number of ports */
	uint32_t range_count;                    /* number of ranges */
	uint8_t everything;                      /* as in struct net_plant */
	uint8_t again;                           /* as in struct net_plant */
	uint32_t bound_count;                    /* number of bound */
	uint16_t bound[NET_PORTS_MAX];           /* as in struct net_plant */
	uint16_t ports[NET_PORTS_MAX];           /* ports to listen on */
	struct net_range ranges[NET_RANGES_MAX]; /* local routes */
};

/* The answer. For a new box with the pidfd of its init; for STEM_ASK_PLANT with sockets, as many as one message
 * holds. */
struct stem_answer {
	int32_t errnum; /* 0: done; ENOENT: there is no such call */
	uint32_t index; /* for struct stem_begin: the failed operation; for STEM_ASK_REFUSED: the call's number; for
			   STEM_ASK_PLANT: the sockets left for further answers */
};
