/*
 * A plan: the job turned into an ordered list of kernel operations.
 *
 * Pure data. It is made and checked whole before anything is done, printed by
 * `emberbox run --explain`, and interpreted by the box's first process
 * (inside.c), which reports the operation, its index and the errno when one
 * fails. Paths are relative to the new root unless they name something of the
 * host's.
 */
#pragma once

#include "base/buf.h"
#include "engine/job.h"
#include "kernel/net_plant.h"
#include "kernel/landlock.h"
#include "kernel/probe.h"
#include "kernel/rlimit.h"

enum op_kind {
	OP_NETNS,        /* a network namespace, while the parent writes the maps */
	OP_LOOPBACK,     /* bring lo up */
	OP_PLANT,        /* routes and listeners by which the box reaches what it may; its sockets go to the supervisor */
	OP_MAPPED,       /* wait for the parent's maps, and its v1 groups */
	OP_JOIN,         /* enter those */
	OP_BECOME,       /* uid and gid 1000 */
	OP_LEASH,        /* die with the supervisor */
	OP_CGROUPNS,     /* a cgroup namespace, whose root is the box's group */
	OP_HOSTNAME,     /* path: the name */
	OP_ISOLATE,      /* no mount goes out or comes in */
	OP_TREE,         /* from: a directory or file of the host, taken before the root hides it; index */
	OP_ROOT,         /* the tmpfs that becomes / */
	OP_DIR,          /* path, mode */
	OP_LINK,         /* path is a link to from */
	OP_TEXT,         /* path has this content, mode */
	OP_BIND,         /* from (host) at path, read-only */
	OP_DEVICE,       /* from (host) at path */
	OP_PTS,          /* terminals of its own at path; most */
	OP_MQUEUE,       /* the box's POSIX message queues at path */
	OP_TERMINAL,     /* one of those, for the program; rows, columns */
	OP_PROC,         /* a fresh /proc; flags: MOUNT_READONLY in boxes */
	OP_MASK,         /* path is hidden */
	OP_WORK,         /* the tmpfs that holds all that can be written; size, inodes */
	OP_CORES,        /* path shows a file of the work tmpfs with the text in data */
	OP_PLACE,        /* path is a directory of the work tmpfs */
	OP_ATTACH,       /* path shows the tree of that index, read-only */
	OP_OVERLAY,      /* path shows it, changes go to the work tmpfs */
	OP_FREEZE,       /* path, a directory of the work tmpfs or an overlay, is read-only */
	OP_COPY,         /* path gets what the host file behind index fd holds */
	OP_PIVOT,        /* the new root becomes /, and nothing of the old one stays */
	OP_SEAL,         /* / is read-only */
	OP_RLIMIT,       /* path: the limit's name; resource, value */
	OP_HANDLES,      /* hand directories to the supervisor, then keep only what is needed */
	OP_NO_NEW_PRIVS, /* no exec gives privileges */
	OP_LANDLOCK,     /* the rules */
	OP_CAPS,         /* drop them all */
	OP_SECCOMP,      /* profile; data: count numbers of calls that the language adds; gated */
	OP_PROVE,        /* path: which property; try the forbidden thing once */
	OP_EXEC,         /* start the program */
	OP_KINDS,
};

struct op {
	enum op_kind kind; /* what to do */
	const char *path;  /* target */
	const char *from;  /* source */
	const void *data;  /* content */
	union {
		uint64_t size;      /* OP_TEXT, OP_WORK: bytes */
		uint64_t most;      /* OP_PTS: how many terminals there may be */
		uint64_t rows;      /* OP_TERMINAL */
		uint64_t value;     /* OP_RLIMIT */
		uint64_t profile;   /* OP_SECCOMP: enum seccomp_profile */
		uint64_t no_groups; /* OP_BECOME: whether the supplementary groups are dropped */
	};
	union {
		uint64_t inodes;  /* OP_WORK: how many files there may be */
		uint64_t index;   /* OP_COPY: of the file in the job; OP_TREE, OP_ATTACH, OP_OVERLAY: of the tree */
		uint64_t columns; /* OP_TERMINAL */
		uint64_t count;   /* OP_SECCOMP: of the numbers in data */
		uint64_t cores;   /* OP_CORES: how many processors the text in data names */
	};
	union {
		unsigned mode;     /* of a file or directory */
		unsigned resource; /* OP_RLIMIT */
	};
	union {
		unsigned flags; /* enum mount_flags, besides those that the operation always sets */
		unsigned gated; /* OP_SECCOMP: the filter has a gate (kernel/seccomp.h) */
	};
};

enum {
	PLAN_OPS_MAX = 1024 + 2 * SPEC_WORDS_MAX,
	PLAN_RULES_MAX = 24,
	PLAN_LAYERS_MAX = 64
};

struct plan {
	struct arena arena;                         /* owns what the spec does not */
	struct op *ops;                             /* in order */
	size_t op_count;                            /* how many */
	const char **argv;                          /* of the program */
	const char **envp;                          /* its whole environment */
	const char *cwd;                            /* its working directory */
	struct landlock_rule rules[PLAN_RULES_MAX]; /* for OP_LANDLOCK */
	size_t rule_count;                          /* how many */
	int landlock;                               /* ABI to use, 0: not at all */
	bool range;                                 /* a host uid of its own */
	bool accounted;                             /* no control group: the supervisor counts */
	bool group;                                 /* a control group is made */
	const char *layers[PLAN_LAYERS_MAX];        /* what meta.isolation says, but for the uid */
	size_t layer_count;                         /* how many */
	const struct limits *limits;                /* the job's */
	bool terminal;                              /* the program's 0, 1 and 2 are one, and no pipes */
	bool rich;                                  /* the directory of rich results is handed over as well */
	bool zygote;                                /* for what is forked into boxes */
	bool shared;                                /* a stem's box: others enter it */
	const char *work;                           /* where the work tmpfs is while the root is built */
	const struct net_plant *plant; /* of OP_PLANT; NULL: its network stays empty */
	unsigned host_cores; /* processors of the host; 0: nobody bounds what a box has of them */
	unsigned cores;      /* that its processes find; 0: the host's */
	bool segments;       /* and the list of System V segments, which then count as memory */
};

/* Refuses with CODE_CANNOT_ENFORCE when the host lacks a layer that the request does not give up. The plan borrows from
 * the job.
 */
int plan_make(const struct job *job, const struct probe *probe, struct plan *plan, struct error *err);

/*
 * The same box in steps, for boxes made ahead: a stem makes the root once, and
 * starts zygotes under the box's filter; its boxes are copies of it, each with its own /proc and work tmpfs; who enters
 * confines itself (engine/ember/enter.h). Only what every program of the language has
 * is in them. Layers and rules are those of the box.
 */
int plan_make_stem(const struct job *job, const struct probe *probe, struct plan *plan, struct error *err);
int plan_make_zygote(const struct job *job, const struct probe *probe, struct plan *plan, struct error *err);
int plan_make_box(const struct job *job, const struct probe *probe, struct plan *plan, struct error *err);
void plan_free(struct plan *plan);

/* Limits that are settled by the program's own: open files, processes by uid, and seconds of CPU (0: none). */
uint64_t plan_files_max(const struct plan *plan);
uint64_t plan_processes_max(const struct plan *plan, const struct limits *limits);
uint64_t plan_cpu_max(const struct limits *limits);
/* How many processors the box's programs find with these limits: those that they have whole or in part, as many as
 * there are at most. 0: the host's. */
unsigned plan_cores(const struct plan *plan, const struct limits *limits);
/* What /proc/stat says of them, which may be written anew when the limit is another; NULL: no memory. */
char *plan_cores_text(unsigned cores, struct arena *arena);
#define PLAN_CORES_FILE "proc/stat"
/* Bytes of the work tmpfs for that, which are not the program's. */
uint64_t plan_cores_room(const struct plan *plan);

/* The operation's name, as --explain prints it and errors name it: "pivot". */
const char *op_name(enum op_kind kind);

/* One line an operation. */
void plan_explain(const struct plan *plan, struct buf *out);
/* The same for one, its name padded to `width`, without a newline; for errors. */
void op_explain(const struct plan *plan, const struct op *op, int width, struct buf *out);
