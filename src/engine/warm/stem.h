/*
 * The keeper's side of a stem, which makes the boxes of one language and
 * profile, and whose zygotes are forked into them.
 */
#pragma once

#include "engine/local/launch.h"
#include "engine/warm/stem_job.h"

struct stem;

/* A box with a process that waits for its program. */
struct ember {
	struct box box;        /* with the stem's `plan` */
	struct stem *stem;     /* its stem */
	enum zygote_kind kind; /* the zygote that it was forked from */
	uint64_t number;       /* number among the stem's boxes, from 1 */
};

/* The calling thread must outlive the stem: the kernel kills the stem when the thread ends. */
int stem_open(const struct stem_begin *begin, struct stem **out, struct error *err);
/* Kills the stem and its boxes. `stem` may be NULL. */
void stem_close(struct stem *stem);

/* Whether the zygote is alive, as far as known. */
bool stem_has(const struct stem *stem, enum zygote_kind kind);
/* Whether the stem and the zygotes that it started are alive. */
bool stem_is_well(const struct stem *stem);

/* Makes an ember; thread-safe. `hurry`: a program waits for it. After a failure nothing remains. */
int stem_make(struct stem *stem, enum zygote_kind kind, bool hurry, struct ember *out, struct error *err);

/* Marks the box as entered by other processes than the ember and its forks. Returns 0, or -1: the stem does not
 * answer. */
int stem_lend(const struct ember *ember);
/* Sets the number of processors that programs in the box find. Returns as stem_lend(). */
int stem_bound(const struct ember *ember, unsigned cores);

/* Plants sockets in the network of the box; the caller closes them. Returns as stem_lend(). */
int stem_plant(const struct ember *ember, const struct net_plant *plant, struct egress_sockets *out, struct error *err);

/* The name of a step of a fork; "?" for an unknown number. */
const char *ember_step_name(uint32_t step);

/* The main function of the stem's process. */
int stem_role_run(void);
