/*
 * The places of one kind: sessions, or containers.
 *
 * A place is a resident (live/resident.h) that callers know by an id. This file
 * has what the kinds share: which caller may see which place, how many places
 * there may be, how one is found, held, listed and ended, and when it is
 * forgotten. The kind decides which program runs in a place, and how.
 *
 * One lock protects the list, and the counts of the calls that hold its entries.
 * No thread waits for another while it has the lock. The thread that takes a
 * place off the list frees it, once no call holds it and its own thread is done
 * with it. When a place has ended, memory and descriptors that only a living
 * place needs are freed at once. The rest stays for lists, until newer places
 * that have ended push it out.
 *
 * Functions that take an `owner` see the places of that caller; NULL: of all
 * callers. CODE_NOT_FOUND: the id is unknown, or another caller's.
 */
#pragma once

#include "live/resident.h"

#include <jansson.h>
#include <sys/time.h>

struct place;

/* A place that has ended. */
struct place_ended {
	const char *id;       /* its name */
	const char *owner;    /* the caller that started it */
	const char *profile;  /* that it was started from; or "" */
	const char *language; /* its language */
	const char *why;      /* the reason: a sentence */
	const char *by;       /* the caller that ended it, or "service" */
};

/* Is called on the place's own thread, for each place whose start returned an id. */
struct place_watch {
	void (*ended)(const struct place_ended *ended, void *userdata); /* NULL: no calls */
	void *userdata;                                                 /* its argument */
};

/* What differs from kind to kind. */
struct place_kind {
	const char *noun;                         /* "session" */
	const char *field;                        /* with which errors about an id begin */
	const char *program;                      /* what its first program is: "driver" */
	const char *stopped;                      /* why a place ended that places_stop() ended */
	size_t kept_max;                          /* places that have ended and are still listed; the oldest go */
	void (*shrink)(struct place *place);      /* frees what only a living place needs; may be called again */
	void (*free)(struct place *place);        /* frees all of it, a half-made one as well */
	json_t *(*describe)(struct place *place); /* its entry in the list */
	const char *runs;                         /* what waits for the turn: "cells" */
	int (*refuse_ended)(struct place *place, struct error *err); /* says that it has ended, and why. -1 */
};

struct places {
	const struct place_kind *kind; /* of all of them */
	struct place_watch watch;      /* called at the end of a place */
	pthread_mutex_t lock;          /* for all below */
	pthread_cond_t left;           /* signalled when a place was let go of or is gone, or a call has returned */
	struct place *list;            /* newest first */
	size_t callers;                /* calls that have not returned */
	bool closing;                  /* no new calls */
};

struct place {
	struct resident home;          /* first: its box */
	struct places *places;         /* its list */
	struct place *next;            /* in that list; under its lock, as the four below */
	unsigned users;                /* calls that hold it */
	bool replaced;                 /* a restart makes another of the same id */
	bool gone;                     /* its thread uses it no more */
	bool fleeting;                 /* it is forgotten as soon as it has ended */
	struct arena arena;            /* owns its strings */
	char id[RESULT_ID];            /* its name */
	const char *owner;             /* the caller that started it */
	const char *profile;           /* of the registry, that it was started from; or "" */
	bool asks;                     /* nothing runs in it unconfirmed */
	const struct runtime *runtime; /* its language */
	struct limits limits;          /* of its box; timeout and cpu_time are the defaults of a run */
	const char *engine;            /* meta.runtime of its results, once its box was described */
	const char **layers;           /* the same of meta.isolation */
	size_t layer_count;            /* how many */
	struct timeval created;        /* for people */
};

void places_init(struct places *places, const struct place_kind *kind, const struct place_watch *watch);
/* Ends all of them, and waits for calls that have not returned. There may be no new calls. */
void places_close(struct places *places, const char *why);

/* `place` is zeroed. -1 with errno: there is no memory, or no descriptor. */
int place_init(struct place *place, struct places *places, const char *owner, const char *profile);
/* Parts of the kind's shrink and free, for struct place itself. */
void place_shrink(struct place *place);
void place_destroy(struct place *place);

/* With the lock held: 0 if there is room for the place, or -1 with an error. */
typedef int place_admit(struct places *places, const struct place *place, const void *options, struct error *err);
/* Puts it on the list and holds it. From then on it counts for admissions, but is found only once it runs. The start
 * has to end with places_settle(). After -1 the place is freed. */
int places_add(struct places *places, struct place *place, place_admit *admit, const void *options, struct error *err);
/* Puts `place` on the list in the stead of `old`, which has ended, is held, and has the same id. `place` is held as by
 * places_add(), and `old` is freed. */
void places_replace(struct place *old, struct place *place);
/* `launched` is 0: lets go of it. -1: ends and forgets it. Returns `launched`. */
int places_settle(struct place *place, int launched);

/* Its program is ready: what results say of its box is kept, and the limits that are not enforced are 0. */
int place_describe_box(struct place *place, struct error *err);
/* The same to a result. */
int place_fill_result(const struct place *place, struct result *result, struct error *err);

/* The place, held until place_let_go(); NULL with an error. */
struct place *places_find(struct places *places, const char *id, const char *owner, struct error *err);
void place_let_go(struct place *place);

/* With the lock held: how many have not ended. */
size_t places_living(const struct places *places, const char *owner);
/* How many have not ended, of all owners. */
size_t places_count(struct places *places);
/* Ends it, and returns when nothing of its box is left. Stopping a place that has ended succeeds. */
int places_stop(struct places *places, const char *id, const char *owner, const char *by, struct error *err);
/* Ends all places of an owner, without waiting. Returns how many. */
size_t places_end(struct places *places, const char *owner, const char *why);
/* Whether each run in it needs a confirmation, because it was started so or its profile now says so
 * (policy/in_force.h). False for an unknown id. */
bool places_confirm(struct places *places, const char *id, const char *owner, const char *in_force);
/* {KEY: [the results of describe(), oldest first]}; the caller frees. */
int places_list(struct places *places, const char *owner, const char *key, char **json, struct error *err);
/* Forgets those that have ended. *removed: how many. */
int places_cleanup(struct places *places, const char *owner, size_t *removed, struct error *err);

bool place_has_ended(struct place *place);

/* Whether enough descriptors are left for runs beside the place, which is not made yet. */
bool place_leaves_files(const struct place *place);
/* The time, `later` seconds after `time`, as RFC 3339 has it. */
json_t *place_time_json(const struct timeval *time, double later);
/* A whole number of seconds is an integer, as in requests. */
json_t *place_seconds_json(double seconds);
/* Prints and frees `root`, which may be NULL for want of memory. The caller frees *json. */
int place_print(json_t *root, char **json, struct error *err);
