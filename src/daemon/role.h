/*
 * Roles of the service: each is this program, executed again, with what it
 * needs and nothing else.
 *
 * A role is a folder beside this file and a row of the table in
 * supervisor/role_table.c: its descriptors, the roles that it talks with, its
 * confinement, its entry. The supervisor starts, connects, restarts and ends
 * roles by their rows and knows little else of them. To add one, give it a
 * number in `enum role`, write its folder with a `struct role_row`, name that
 * in the table, and give its directory a line in src/tiers.
 *
 * One descriptor crosses the exec besides the standard ones: a control socket,
 * on which the role's settings wait, and with them its other descriptors. What
 * the supervisor says later goes the same way, a byte at a time:
 *
 *	to all:          ROLE_PEER with a socket to the other (the store's is the
 *	                 front); its end: end
 *	to the front:    ROLE_DRAIN: end when the last run is answered; again: and
 *	                 end them. ROLE_STORE_PEER with a socket to the store,
 *	                 ROLE_CONFIG with another configuration; ROLE_STALE when
 *	                 what people wrote last cannot be used, ROLE_CURRENT when
 *	                 it is what the front has
 *	to the keeper:   ROLE_EGRESS_PEER with a socket to egress; ROLE_LANGUAGES:
 *	                 read the languages again; ROLE_RELOAD: and make boxes
 *	                 ahead anew
 *	to egress:       ROLE_RESOLVER with a file of name servers, as resolv.conf
 *	                 has them
 *	from all:        ROLE_READY once it serves
 *	from the keeper: ROLE_LANGUAGES, ROLE_RELOAD when that was done; ROLE_PEER
 *	                 when a front sent nonsense, to have it introduced anew
 *	from the front:  ROLE_PEER and ROLE_STORE_PEER when a message of the other
 *	                 could not be taken, for the same
 *	from egress:     ROLE_RESOLVER: which name servers are there now?
 *
 * A role takes from itself what it does not need before it hears anybody, reads
 * back that it is gone, and tries the forbidden once. If that is not refused as
 * it has to be, it does not serve.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* In the order in which they are started. */
enum role {
	ROLE_EGRESS,
	ROLE_KEEPER,
	ROLE_STORE,
	ROLE_FRONT,
	ROLES
};

#define ROLE_BIT(role) (1u << (role))

enum {
	ROLE_PEER = 'k',
	ROLE_STORE_PEER = 's',
	ROLE_EGRESS_PEER = 'e',
	ROLE_CONFIG = 'c',
	ROLE_STALE = 'o',
	ROLE_CURRENT = 'n',
	ROLE_DRAIN = 'd',
	ROLE_RELOAD = 'r',
	ROLE_LANGUAGES = 'l',
	ROLE_RESOLVER = 'w',
	ROLE_READY = '+',
};

enum role_audit {
	AUDIT_REQUIRED,    /* what cannot be written down is not run */
	AUDIT_BEST_EFFORT, /* it is run all the same */
	AUDIT_OFF,
};

/* Descriptors of a role, in this order. */
enum role_given {
	GIVEN_LISTENER = 1, /* the front: the Unix socket */
	GIVEN_TCP = 2,      /* the front: the same for HTTP */
	GIVEN_CONFIG = 4,   /* the front: a memfd of config_encode() */
	GIVEN_TLS_CERT = 8, /* the front: a memfd with the certificate */
	GIVEN_TLS_KEY = 16, /* the front: a memfd with its key */
	GIVEN_NUDGE = 32,   /* keeper and store: the eventfd that says that there is something in the journal */
};

enum {
	ROLE_FDS = 6,      /* descriptors that one can have: the bits of enum role_given */
	ROLE_NAME_MAX = 16 /* bytes of a name */
};

struct role_settings {
	uint32_t size;          /* of this struct: the supervisor is the same program */
	uint32_t role;          /* enum role */
	uint64_t max_running;   /* runs at once */
	uint64_t max_queued;    /* requests that wait */
	uint64_t embers;        /* idle embers at most */
	uint64_t ember_memory;  /* bytes that they may take */
	uint64_t history_size;  /* the store: bytes that it keeps; 0: no bound */
	uint32_t history_days;  /* the store: for so long; 0: for ever */
	uint32_t audit;         /* enum role_audit */
	uint32_t log;           /* enum log_format */
	uint32_t mcp_fixtures;  /* the front, for tests: see mcp_fixtures.h */
	uint32_t given;         /* which of its descriptors came, in their order: bits of enum role_given */
	uint32_t no_landlock;   /* the store: a kernel without Landlock is no error */
	uint32_t become;        /* front and egress: its uid and gid, 0: the caller's */
	uint32_t become_anyway; /* front and egress: a uid that is not mapped here is no error */
};

/* Another role that one talks with, over a socket pair that the supervisor makes whenever one of the two was started.
 */
struct role_peer {
	enum role other;       /* which; its row names this one in turn */
	char word;             /* comes with our end of the pair; said by us, it asks for another pair. 0: no peer */
	const char *complaint; /* the supervisor's sentence for a person when we ask */
};

struct role_row {
	const char *name;              /* after --role=, and in the log */
	unsigned given;                /* the descriptors that it may get: enum role_given, or-ed */
	struct role_peer peers[ROLES]; /* ended by one without a word */
	unsigned outlives; /* ROLE_BIT() of roles: it is told to end when these have ended, for they may need it till
			      then. 0: ends by itself, at ROLE_DRAIN */
	bool optional;     /* the service goes on without it where it cannot serve */
	const char *const *variables; /* of the environment, that it has; NULL: all */
	/* Before it is confined: reads what it cannot reach afterwards. May be NULL. */
	int (*prepare)(const struct role_settings *settings, const int fds[ROLE_FDS], void **own, struct error *err);
	/* Takes from itself what it does not need, and proves it. No exec gives it privileges already. */
	int (*confine)(const struct role_settings *settings, int control, struct error *err);
	/* Serves until it is to end; `own` is what prepare() left. */
	int (*run)(const struct role_settings *settings, int control, const int fds[ROLE_FDS], void *own,
		   struct error *err);
};

struct role_process {
	pid_t pid;   /* not reaped yet; 0: none */
	int pidfd;   /* the same; -1 */
	int control; /* our end; -1 */
};

/* In the supervisor: starts one, with copies of the descriptors that settings->given names. */
int role_start(const struct role_row *row, const struct role_settings *settings, const int *fds, size_t count,
	       struct role_process *process, struct error *err);
/* Says a byte to one, with a descriptor unless that is -1. A role that does not hear is not waited for: it is told by
 * its death. */
void role_say(const struct role_process *process, char what, int fd);

/* In the role: takes what role_start() gave; those descriptors that did not come are -1. ERROR_USAGE when it did not.
 */
int role_enter(const struct role_row *row, enum role role, struct role_settings *settings, int *control,
	       int fds[ROLE_FDS], struct error *err);
/* As many descriptors as it may have, up to what a role needs; role_enter() does it. */
void role_take_files(void);
/* Which of them is this one; -1: it did not come. */
int role_fd(const struct role_settings *settings, const int fds[ROLE_FDS], enum role_given which);
/* Tells the supervisor that it serves. */
int role_ready(int control, struct error *err);
/* What starting touched of the program's own file is taken out of this process's memory; what is used comes back. */
void role_shrink(void);
