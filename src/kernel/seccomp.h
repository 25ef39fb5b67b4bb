/*
 * The system call filter.
 *
 * The rules are in seccomp_rules.def, each with its reason. libseccomp turns
 * them into BPF at build time (tools/seccomp_gen.c): making the filter at each
 * start cost 1.8 ms. What is not allowed gets an errno, never a kill: programs
 * then say what they could not do.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum seccomp_profile {
	SECCOMP_BOX,        /* every box */
	SECCOMP_ACCOUNTED,  /* on top of that, where no control group counts memory: denies memory that /proc does not
			       show */
	SECCOMP_RESTRICTED, /* on top of that, for profiles: no code but that of files that may be executed */
	SECCOMP_UNHEARD,    /* on top of that, for what runs in a box beside its program: nobody hears it */
	SECCOMP_FRONT,      /* no box: the service's front, which hears strangers */
	SECCOMP_STORE,      /* no box: the service's store, which has files of one directory */
};

enum {
	SECCOMP_CALLS_MAX = 64 /* additions to a filter */
};

/* For the child after clone; no_new_privs must be set. The calls of these numbers are allowed besides. Returns 0, or -1
 * with errno. Install SECCOMP_ACCOUNTED before SECCOMP_BOX: a box may not add filters. */
int seccomp_install(enum seccomp_profile profile, const int *calls, size_t count);

/*
 * SECCOMP_BOX with a gate, for zygotes: setns() and landlock_restrict_self()
 * of descriptors with these numbers, and of no others. A box has no such
 * descriptors, and cannot make any: its limit of open files is below. So what
 * is forked from a zygote can enter one box, and none from inside it.
 */
enum {
	SECCOMP_GATE = 2048,
	SECCOMP_GATE_FDS = 16
};
int seccomp_install_gated(const int *calls, size_t count);

/*
 * SECCOMP_BOX, heard by somebody: what gets EPERM waits until he has said so.
 * Behind a gate he also hears of each call for a socket, and lets it go on.
 * Where nobody listens any more all of those get ENOSYS: nothing is ever
 * allowed for want of an answer. The descriptor that tells, or -1 with errno,
 * and then no filter is in force: where the kernel cannot (before 5.19), or
 * somebody listens already, the silent ones are to be taken.
 */
int seccomp_install_heard(bool gated, const int *calls, size_t count);
/* One who waits. */
struct seccomp_heard {
	unsigned long long id; /* of the call */
	int pid;               /* the thread, as this process calls it */
	int call;              /* its number */
	bool netlink;          /* it asks for a netlink socket, of which a box has only so many at a time */
	uint64_t limits;       /* where it has a `struct rlimit` that is to be judged; 0: it has none */
	uint64_t cores;        /* where the processors are to go that it asks for; 0: it does not ask */
	size_t cores_size;     /* there is room for so many bytes */
	int cores_of;          /* the thread whose they are, as its box calls it; 0: its own */
};
/* 1: there is one; 0: not any more; -1: nobody is left who could ask. */
int seccomp_hear(int listener, struct seccomp_heard *heard);
/* Whether it still waits: what was found out by its pid is its own then. */
bool seccomp_waits(int listener, const struct seccomp_heard *heard);
/* Whether it asks for a socket; all else is to be refused. */
bool seccomp_is_socket(const struct seccomp_heard *heard);
void seccomp_let_go_on(int listener, const struct seccomp_heard *heard);
/* The answer to limits that are to be judged: those that are no higher than what a box has are taken, and nothing is
 * done. They are read once, by us, and never by the kernel. False: they are to be refused. */
bool seccomp_pretend_lower(int listener, const struct seccomp_heard *heard);
enum {
	SECCOMP_NETLINK_MAX = 16 /* of a box: each holds up to 400 KiB in its queue that nobody counts */
};
/* The answer to a netlink socket: the kernel counts those that live in the network of who asks. False: it has as many
 * as it may, and was refused (ENOBUFS). Those that several threads ask for at the same moment may all be let go on. */
bool seccomp_let_netlink(int listener, const struct seccomp_heard *heard);
/* The answer to who asks for its processors: the first `cores` of those that it may use, of which there are more. It is
 * written to where it wants it, which is all that a listener ever writes. False: the kernel's own answer is as good. */
bool seccomp_tell_cores(int listener, const struct seccomp_heard *heard, unsigned cores);
void seccomp_refuse(int listener, const struct seccomp_heard *heard);

/* The call's number on this machine; -1 with ENOSYS when only others have it, with EINVAL when nobody has, with EPERM
 * when no box may have it. */
int seccomp_call_number(const char *name);
/* Its name, or "?". */
const char *seccomp_call_name(int number);
/* Whether the profile denies the call altogether, so that an addition is needed: one that it allows for some arguments
 * stays as it is. */
bool seccomp_denies(enum seccomp_profile profile, const char *name);

/* The mode the kernel reports for this thread (2: filter), or -1. */
int seccomp_mode(void);

/* The rule's line for `emberbox run --explain` and the tests: name, action, reason; NULL past the end. */
struct seccomp_rule {
	const char *syscall; /* its name */
	const char *action;  /* "allow", "pretend", "EPERM", … or "allow if …" */
	const char *reason;  /* why */
};
const struct seccomp_rule *seccomp_rule_at(enum seccomp_profile profile, size_t index);
