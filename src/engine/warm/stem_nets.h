/*
 * The networks of a stem's boxes: empty namespaces with loopback up.
 *
 * Creating and destroying one takes a fifth of a warm run. A network whose box never requested a socket is unused: a
 * process without capabilities accesses a network only through sockets. Such a network serves another box and is as
 * good as new: no packets, no counters, no ports, no names.
 *
 * The kernel reports each call for a socket and lets it wait for our answer (seccomp's notifications). A report that
 * cannot be attributed counts as use of every network, and a box that others may enter counts as used. If the kernel
 * cannot report (before 5.19, or if there is another listener), each network serves one box.
 *
 * The same listener receives calls that a box's filter refuses; the network shows which box made them.
 *
 * The networks belong to the stem's user namespace, not to the box's, so no process in a box could change them, even
 * with capabilities there.
 */
#pragma once

#include "kernel/refusals.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	NETS_MAX = 4096,    /* known networks */
	NETS_SPARE_MAX = 8, /* networks that wait for a box */
	NETS_LISTENERS = 2, /* one per zygote */
};

struct net {
	int fd;                 /* the namespace, -1: this entry is free */
	ino_t inode;            /* its inode */
	pid_t box;              /* the init of its box; 0: no box */
	uint64_t number;        /* number of the box, as the keeper counts */
	bool used;              /* must not serve another box */
	struct refused refused; /* refused calls of the current box */
};

struct nets {
	int home;                      /* the stem's own network */
	ino_t home_inode;              /* its inode */
	int listeners[NETS_LISTENERS]; /* the zygotes' listeners, -1: none */
	struct refusals refusals;      /* refused calls that wait for an answer */
	struct refused nobodys;        /* refused calls whose network is unknown */
	unsigned cores;                /* default number of processors that a box finds */
	bool again;                    /* all zygotes have listeners: networks may serve again */
	struct net *entered;           /* the network for the box that is being made; NULL: an unlisted one */
	size_t known;                  /* entries from this index on were never used */
	struct net at[NETS_MAX];       /* unordered */
};

/* Call it first; returns 0, or -1 with errno. */
int nets_open(struct nets *nets);
/* Takes the listener of a zygote; -1: it has none. When all zygotes have one, networks may serve again. */
void nets_listen(struct nets *nets, size_t zygote, int listener);
void nets_all_told(struct nets *nets, size_t zygotes);

/* Enters a network for the next box; a process that is created then is in it. Returns 0, or -1 with errno. */
int nets_enter(struct nets *nets, uint64_t number);
/* Returns to the stem's network. `box`: the init of the new box, or 0. */
int nets_leave(struct nets *nets, pid_t box);

/* Handles a notification: allows a socket, refuses other calls. */
void nets_hear(struct nets *nets, size_t zygote);
/* The last refused call of the box with that number, or -1. */
int nets_refused(const struct nets *nets, uint64_t number);
/* Sets the number of processors that the box with that number finds. */
void nets_bound(struct nets *nets, uint64_t number, unsigned cores);
/* Enters the network of the box with that number, which then serves no other box. -1 with errno; nets_home()
 * returns. */
int nets_visit(struct nets *nets, uint64_t number);
/* Returns to the stem's network. */
int nets_home(const struct nets *nets);
/* Marks the box with that number as used: others may enter it. */
void nets_lent(struct nets *nets, uint64_t number);
/* The init of a box has ended, and with it the box. */
void nets_ended(struct nets *nets, pid_t box);
