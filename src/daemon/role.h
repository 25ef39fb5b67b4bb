/*
 * Roles of the service: each is this program, executed again, with what it
 * needs and nothing else.
 *
 * One descriptor crosses the exec besides the standard ones: a control socket,
 * on which the role's settings wait, and with them its other descriptors. What
 * the supervisor says later goes the same way, a byte at a time:
 *
 *	to all:          ROLE_PEER with a socket to the other (the store's is the
 *	                 front); its end: end
 *	to the front:    ROLE_DRAIN: end when the last run is answered; again: and
 *	                 end them. ROLE_STORE_PEER with a socket to the store, ROLE_CONFIG
 *	                 with another configuration; ROLE_STALE when what people wrote last cannot be
 *	                 used, ROLE_CURRENT when it is what the front has
 *	to the keeper:   ROLE_LANGUAGES: read the languages again; ROLE_RELOAD: and make boxes
 *	                 ahead anew
 *	from all:        ROLE_READY once it serves
 *	from the keeper: ROLE_LANGUAGES, ROLE_RELOAD when that was done; ROLE_PEER when a front
 *	                 sent nonsense, to have it introduced anew
 *	from the front:  ROLE_PEER and ROLE_STORE_PEER when a message of the other
 *	                 could not be taken, for the same
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

enum role {
	ROLE_KEEPER,
	ROLE_STORE,
	ROLE_FRONT,
	ROLES
};

enum {
	ROLE_PEER = 'k',
	ROLE_STORE_PEER = 's',
	ROLE_CONFIG = 'c',
	ROLE_STALE = 'o',
	ROLE_CURRENT = 'n',
	ROLE_DRAIN = 'd',
	ROLE_RELOAD = 'r',
	ROLE_LANGUAGES = 'l',
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
	GIVEN_TLS = 8,      /* the front: a memfd with the certificate, and one with its key */
	GIVEN_NUDGE = 16,   /* keeper and store: the eventfd that says that there is something in the journal */
};

enum {
	ROLE_FDS = 6 /* that one can have */
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
	uint32_t given;         /* the front: which of its descriptors came, in their order: bits of enum role_given */
	uint32_t become;        /* the front: its uid and gid, 0: the caller's */
	uint32_t become_anyway; /* the front: a uid that is not mapped here is no error */
};

struct role_process {
	pid_t pid;   /* not reaped yet; 0: none */
	int pidfd;   /* the same; -1 */
	int control; /* our end; -1 */
};

const char *role_name(enum role role);

/* In the supervisor: starts one, with copies of the descriptors that settings->given names. */
int role_start(const struct role_settings *settings, const int *fds, size_t count, struct role_process *process,
	       struct error *err);
/* Says a byte to one, with a descriptor unless that is -1. A role that does not hear is not waited for: it is told by
 * its death. */
void role_say(const struct role_process *process, char what, int fd);

/* In the role: takes what role_start() gave; those descriptors that did not come are -1. ERROR_USAGE when it did not.
 */
int role_enter(enum role role, struct role_settings *settings, int *control, int fds[ROLE_FDS], struct error *err);
/* Which of them is this one; the key is behind the certificate. */
int role_fd(const struct role_settings *settings, const int fds[ROLE_FDS], enum role_given which);
/* Ends with the supervisor, and cannot do more than its work. */
int role_confine(const struct role_settings *settings, int control, struct error *err);
/* Tells the supervisor that it serves. */
int role_ready(int control, struct error *err);
/* What starting touched of the program's own file is taken out of this process's memory; what is used comes back. */
void role_shrink(void);
