/*
 * A stem as the keeper sees it: where the boxes of one language and profile are
 * made, and whose zygotes are forked into them.
 */
#pragma once

#include "engine/local/launch.h"
#include "engine/warm/stem_job.h"

struct stem;

/* A box with a process in it that waits for its program. */
struct ember {
	struct box box;        /* whose `plan` is the stem's */
	struct stem *stem;     /* where it comes from */
	enum zygote_kind kind; /* of what it was forked */
	uint64_t number;       /* of the stem's, from 1 */
};

/* The thread that opens a stem has to live as long as it: the kernel ends the one with the other. */
int stem_open(const struct stem_begin *begin, struct stem **out, struct error *err);
/* What is left of it is killed, its boxes with it. NULL is fine. */
void stem_close(struct stem *stem);

/* Whether that zygote lives, as far as we know. */
bool stem_has(const struct stem *stem, enum zygote_kind kind);
/* Whether it lives, and those zygotes that came up. */
bool stem_is_well(const struct stem *stem);

/* From any thread. `hurry`: a program waits for it. After a failure nothing is left of it. */
int stem_make(struct stem *stem, enum zygote_kind kind, bool hurry, struct ember *out, struct error *err);

/* Others than the ember and what it forks may enter its box afterwards. 0, or -1: the stem does not answer. */
int stem_lend(const struct ember *ember);
/* Its programs find so many processors, and not those that its plan has. Likewise. */
int stem_bound(const struct ember *ember, unsigned cores);

/* Sockets in the network of its box, which the caller closes. Likewise. */
int stem_plant(const struct ember *ember, const struct net_plant *plant, struct egress_sockets *out, struct error *err);

/* The name of a step that a fork may fail at; "?" for what is none. */
const char *ember_step_name(uint32_t step);

/* The main function of the process itself. */
int stem_role_run(void);
