/*
 * The places of one kind: sessions, or containers.
 *
 * A place is a resident (live/resident.h) that callers know by an id. What both
 * kinds share is here: who may see which place, how many there may be, how one
 * is found, held, listed and ended, and when it is forgotten. What runs in a
 * place, and how, is its kind's own.
 *
 * One lock is for the list and for the counts of those who hold its entries. It
 * is never held while anything is waited for. A place is freed by the thread
 * that takes it off the list, once nobody holds it and its own thread is done
 * with it. When a place has ended, what only a living one needs is freed at
 * once; the rest stays for those who list places, until newer ones push it out.
 *
 * Functions that take an `owner` see the places of that caller; NULL: all. An id
 * that is unknown, or another caller's: CODE_NOT_FOUND.
 */
#pragma once

#include "live/resident.h"

#include <jansson.h>
#include <sys/time.h>

struct place;

/* A place that has ended. */
struct place_ended {
	const char *id;       /* its name */
	const char *owner;    /* whose it was */
	const char *profile;  /* that it was started from; or "" */
	const char *language; /* of it */
	const char *why;      /* a sentence */
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
	struct place_watch watch;      /* whom to tell of ends */
	pthread_mutex_t lock;          /* for all below */
	pthread_cond_t left;           /* an entry was let go of, or a call has returned */
	struct place *list;            /* newest first */
	size_t callers;                /* calls that have not returned */
	bool closing;                  /* no new calls */
};

struct place {
	struct resident home;          /* first: its box */
	struct places *places;         /* its list */
	struct place *next;            /* in that list; under its lock, as the four below */
	unsigned users;                /* calls that hold it */
	bool replaced;                 /* another is being made in its place */
	bool gone;                     /* its thread needs it no more */
	bool fleeting;                 /* it is forgotten as soon as it has ended */
	struct arena arena;            /* owns its strings */
	char id[RESULT_ID];            /* its name */
	const char *owner;             /* the caller that started it */
	const char *profile;           /* of the registry, that it was started from; or "" */
	bool asks;                     /* nothing runs in it unconfirmed */
	const struct runtime *runtime; /* its language */
	struct limits limits;          /* of its box; timeout and cpu_time of a run that does not say */
	const char *engine;            /* meta.runtime of its results, once its box was described */
	const char **layers;           /* the same of meta.isolation */
	size_t layer_count;            /* how many */
	struct timeval created;        /* for people */
};

void places_init(struct places *places, const struct place_kind *kind, const struct place_watch *watch);
/* Ends all of them, and waits for calls that have not returned. There may be no new ones. */
void places_close(struct places *places, const char *why);

/* A new place, zeroed but for what its kind has made of the rest of it. -1 with errno. */
int place_init(struct place *place, struct places *places, const char *owner, const char *profile);
/* For the kind's own shrink and free: what is in struct place. */
void place_shrink(struct place *place);
void place_destroy(struct place *place);

/* Whether there is room for it, with the lock held; 0 or -1 with an error. */
typedef int place_admit(struct places *places, const struct place *place, const void *options, struct error *err);
/* Puts it on the list, held; from then on it counts, and nobody finds it before it runs. The start then ends with
 * places_settle(). After -1 it is freed. */
int places_add(struct places *places, struct place *place, place_admit *admit, const void *options, struct error *err);
/* Puts a place of the same id where one was that has ended and is held. The new one is held instead, as by
 * places_add(). */
void places_replace(struct place *old, struct place *place);
/* Lets go of it, or forgets it if it was not `launched`. Returns `launched`: 0 or -1. */
int places_settle(struct place *place, int launched);

/* Its program is ready: what results say of its box is kept, and the limits that are not enforced are 0. */
int place_describe_box(struct place *place, struct error *err);
/* The same to a result. */
int place_fill_result(const struct place *place, struct result *result, struct error *err);

/* The place, held until place_let_go(); NULL with an error. */
struct place *places_find(struct places *places, const char *id, const char *owner, struct error *err);
void place_let_go(struct place *place);

/* With the lock held, or while no call changes it: how many have not ended. */
size_t places_living(const struct places *places, const char *owner);
/* The same, by itself. */
size_t places_count(struct places *places);
/* Ends it, and returns when nothing of its box is left. One that has ended already is stopped too. */
int places_stop(struct places *places, const char *id, const char *owner, const char *by, struct error *err);
/* Ends all of an owner, and waits for none; how many. */
size_t places_end(struct places *places, const char *owner, const char *why);
/* Whether a run in it needs a confirmation: it was started so, or its profile says so now (policy/in_force.h). False
 * of an unknown id. */
bool places_confirm(struct places *places, const char *id, const char *owner, const char *in_force);
/* {KEY: [what describe() says, oldest first]}; the caller frees. */
int places_list(struct places *places, const char *owner, const char *key, char **json, struct error *err);
/* Forgets those that have ended; how many. */
int places_cleanup(struct places *places, const char *owner, size_t *removed, struct error *err);

bool place_has_ended(struct place *place);

/* Whether enough descriptors are left for runs beside the place, which is not made yet. */
bool place_leaves_files(const struct place *place);
/* RFC 3339, so many seconds later. */
json_t *place_time_json(const struct timeval *time, double later);
/* A whole number as one: as it was given. */
json_t *place_seconds_json(double seconds);
/* Takes the object; the text is the caller's. */
int place_print(json_t *root, char **json, struct error *err);
