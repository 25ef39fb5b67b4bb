/*
 * The networks of a stem's boxes: a namespace each, empty, with its loopback up.
 *
 * To make one and to take it down again is a fifth of what a warm run costs. In one whose box never asked for a socket
 * nothing has happened: a process without capabilities reaches a network through sockets alone. So that one serves
 * another box, and is as good as new: no packet was ever in it, no counter has moved, no port was taken, no name given.
 *
 * The kernel tells us of each call for a socket and lets it wait until we have heard (seccomp's notifications); what we
 * do not understand counts as used, and so does a box that was lent, for others may enter that. Where the kernel cannot
 * tell (before 5.19, or when somebody listens already) each network serves one box.
 *
 * By the same way we hear of calls that a box's filter refuses, and say so; the network tells whose they are.
 *
 * They belong to the stem's user namespace, not to the box's: nobody in a box could change them, whatever it had there.
 */
#pragma once

#include "kernel/refusals.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	NETS_MAX = 4096,    /* networks that are known */
	NETS_SPARE_MAX = 8, /* that wait for a box */
	NETS_LISTENERS = 2, /* one for each zygote */
};

struct net {
	int fd;                 /* the namespace, -1: this place is free */
	ino_t inode;            /* of it */
	pid_t box;              /* the init of its box; 0: it waits for one */
	uint64_t number;        /* of the box, as the keeper calls it */
	bool used;              /* never again */
	struct refused refused; /* what the box that is in it was refused */
};

struct nets {
	int home;                      /* the stem's own */
	ino_t home_inode;              /* of it */
	int listeners[NETS_LISTENERS]; /* where the kernel tells of sockets and refusals, -1: none */
	struct refusals refusals;      /* that are to be answered */
	struct refused nobodys;        /* what was refused to those whose network is not known */
	unsigned cores;                /* that a box finds, unless it is said otherwise */
	bool again;                    /* all zygotes are listened to: a network may serve again */
	struct net *entered;     /* where the stem is, for the box that is being made; NULL: one that is not known */
	size_t known;            /* places below this one were used */
	struct net at[NETS_MAX]; /* in no order */
};

/* Before anything else; 0, or -1 with errno. */
int nets_open(struct nets *nets);
/* The listener of a zygote, which is ours from now on; -1: it has none. When all are told, networks may serve again. */
void nets_listen(struct nets *nets, size_t zygote, int listener);
void nets_all_told(struct nets *nets, size_t zygotes);

/* Into a network for the next box; a process that is made then is there. 0, or -1 with errno. */
int nets_enter(struct nets *nets, uint64_t number);
/* Home again. The box's init, or 0: there is none. */
int nets_leave(struct nets *nets, pid_t box);

/* Something asks for a socket, and is let go on, or for what it may not have, and is refused. */
void nets_hear(struct nets *nets, size_t zygote);
/* The last call that the box of that number was refused, or -1. */
int nets_refused(const struct nets *nets, uint64_t number);
/* The box of that number finds so many processors. */
void nets_bound(struct nets *nets, uint64_t number, unsigned cores);
/* Into the network of the box of that number, which then serves no other box. -1 with errno; nets_home() leads back. */
int nets_visit(struct nets *nets, uint64_t number);
/* Back to the stem's own. */
int nets_home(const struct nets *nets);
/* The box of that number was lent. */
void nets_lent(struct nets *nets, uint64_t number);
/* That init is dead, and all of its box. */
void nets_ended(struct nets *nets, pid_t box);
