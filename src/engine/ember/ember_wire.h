/*
 * What the keeper says to a zygote and to its embers. Both are our own code,
 * and what they are told comes from the keeper alone; still, nothing here is
 * taken for a size or a number before it was checked.
 */
#pragma once

#include "kernel/seccomp.h"

#include <stdint.h>

/* In an interpreter's environment: it is a zygote. "POINT:PROGRAM": where it waits, and the program of its command
 * line, which is not there. */
#define EMBER_VARIABLE "EMBERBOX_EMBER"
/* As a point: it runs its program at once, and only says where its output waits (notice.h). */
#define EMBER_NOTICE "notice"

/* Numbers of descriptors in a zygote and its forks. Its own are all at or above ZYGOTE_FD_FIRST, so that a fork drops
 * them in one step and keeps what belongs to the interpreter. */
enum {
	EMBER_FD_INIT = SECCOMP_GATE,                        /* the box's init, to enter its namespaces */
	EMBER_FD_RULESET,                                    /* Landlock's rules */
	EMBER_FD_CONTROL,                                    /* the socket to the keeper */
	EMBER_FD_JOIN,                                       /* files of the control groups, the first */
	EMBER_FD_HOME = SECCOMP_GATE + SECCOMP_GATE_FDS - 1, /* the zygote's own pid namespace, to return to */
	ZYGOTE_FD_FIRST = SECCOMP_GATE + SECCOMP_GATE_FDS,   /* the first of the zygote's own… */
	ZYGOTE_FD_SOCKET = ZYGOTE_FD_FIRST,                  /* …the socket on which the keeper asks for forks */
	EMBER_JOIN_MAX = EMBER_FD_HOME - EMBER_FD_JOIN,      /* groups */
	EMBER_FORK_FDS = 6,                                  /* descriptors of struct ember_fork but for the groups */
	EMBER_FD_CHANNEL = 3,                                /* the channel of a session's driver */
	EMBER_CHILDREN_MAX = 4096,                           /* forks of one zygote that live */
	EMBER_ORDER_INLINE = 96 << 10,                       /* bytes of an order that travel in the message */
};

/* Fork one into this box. With it: the box's init (a pidfd), the ember's control socket, its stdin, stdout and stderr,
 * the rules (or anything, without Landlock), and the files of the groups to join. */
struct ember_fork {
	uint32_t landlock; /* ABI, 0: none */
	uint32_t groups;   /* files of groups */
	uint32_t hurry;    /* 1: somebody waits for it, so that a rehearsal would cost what it saves */
	uint32_t spare;    /* 0 */
	uint64_t nofile;   /* RLIMIT_NOFILE */
	uint64_t fsize;    /* RLIMIT_FSIZE */
};

/* What a fork does, in order; a report of REPORT_UNFIT names the step that failed. */
enum ember_step {
	EMBER_STEP_FORK,
	EMBER_STEP_DESCRIPTORS,
	EMBER_STEP_GROUP,
	EMBER_STEP_NAMESPACES,
	EMBER_STEP_IDENTITY,
	EMBER_STEP_LANDLOCK,
	EMBER_STEP_CAPS,
	EMBER_STEP_PROVE,
	EMBER_STEP_ORDER,
	EMBER_STEP_LIMITS,
	EMBER_STEP_FILES,
	EMBER_STEP_GATE,
	EMBER_STEP_EXEC,
	EMBER_STEPS
};

/*
 * An order: the program of an ember. Behind the head lie the texts, each ended
 * by a NUL: the entry, the words of the command line, the environment; then for
 * each file a struct ember_file, its path with a NUL, and its content. More than
 * EMBER_ORDER_INLINE bytes come as a descriptor; after it the channel of a
 * session's driver, and files that are open.
 */
struct ember_order {
	uint64_t size;     /* bytes behind the head */
	uint64_t seed;     /* by chance */
	uint64_t nproc;    /* RLIMIT_NPROC */
	uint64_t cpu;      /* RLIMIT_CPU, seconds; 0: as it is */
	uint64_t fsize;    /* RLIMIT_FSIZE, no more than it is */
	uint32_t words;    /* of the command line */
	uint32_t first;    /* of those the first that is an argument of the program's own */
	uint32_t env;      /* variables */
	uint32_t files;    /* files */
	uint32_t detached; /* 1: the texts are behind the first descriptor */
	uint32_t linger;   /* 1: its memory may be held when it has ended, for nobody adds up what processes have */
	uint32_t channel;  /* 1: the next descriptor after that of the texts is to be the program's 3 */
	uint32_t spare;    /* 0 */
};

struct ember_file {
	uint64_t size; /* of the content; of a descriptor's, how much of it is taken at most */
	uint32_t mode; /* permissions */
	uint32_t open; /* 1: the content is behind the next descriptor */
};
