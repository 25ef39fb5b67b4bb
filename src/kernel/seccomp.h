/*
 * The system call filter.
 *
 * The rules are in seccomp_rules.def, each with its reason. libseccomp compiles
 * them to BPF at build time (tools/seccomp_gen.c), because compiling at each
 * start took 1.8 ms. A forbidden call returns an errno instead of killing the
 * program, so that the program can report it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum seccomp_profile {
	SECCOMP_BOX,        /* every box */
	SECCOMP_ACCOUNTED,  /* added to BOX where no control group counts memory: denies memory that /proc does not show
			     */
	SECCOMP_RESTRICTED, /* added to BOX for profiles: only files with the execute permission can be code */
	SECCOMP_UNHEARD,    /* added to BOX for processes without a listener that run beside the program */
	SECCOMP_FRONT,      /* not for boxes: the service's front, which reads untrusted input */
	SECCOMP_STORE,      /* not for boxes: the service's store, which uses the files of one directory */
	SECCOMP_EGRESS,     /* not for boxes: the service's egress, which connects out */
	SECCOMP_INTERCEPT,  /* not for boxes: the interceptor, which ends TLS for one box */
};

enum {
	SECCOMP_CALLS_MAX = 64 /* maximum of additions to a filter */
};

/* For the child after clone; no_new_privs must be set. `calls` are allowed in addition to the filter. Returns 0, or -1
 * with errno. Install SECCOMP_ACCOUNTED before SECCOMP_BOX: a box may not add filters. */
int seccomp_install(enum seccomp_profile profile, const int *calls, size_t count);

/*
 * SECCOMP_BOX with a gate, for zygotes: setns() and landlock_restrict_self()
 * are allowed, only with these descriptor numbers. A box has no such
 * descriptors and cannot create them, because its limit of open files is lower.
 * So a process forked from a zygote can enter one box, and none from inside it.
 */
enum {
	SECCOMP_GATE = 1024,
	SECCOMP_GATE_FDS = 16
};
int seccomp_install_gated(const int *calls, size_t count);

/*
 * SECCOMP_BOX with a listener: a call that gets EPERM waits for the listener's
 * answer. Behind a gate, the listener also receives each call for a socket, and
 * lets it continue. If the listener is closed, all of these calls get ENOSYS: a
 * missing answer never allows a call. Returns the listener's descriptor, or -1
 * with errno and no filter in force: if the kernel cannot do this (before 5.19)
 * or there is a listener already, use seccomp_install().
 */
int seccomp_install_heard(bool gated, const int *calls, size_t count);
/* A call that waits for an answer. */
struct seccomp_heard {
	unsigned long long id; /* the kernel's id of the notification */
	int pid;               /* the calling thread, in our pid namespace */
	int call;              /* number of the call */
	bool netlink;          /* the call asks for a netlink socket, of which a box may have a limited number */
	uint64_t limits;       /* address of a `struct rlimit` to be judged; 0: none */
	uint64_t cores;        /* address for the answer to a question about processors; 0: no such question */
	size_t cores_size;     /* bytes at that address */
	int cores_of;          /* the thread that the question is about, as its box numbers it; 0: the caller */
};
/* Receives a call. 1: received; 0: the caller is gone; -1: no process with this filter is left. */
int seccomp_hear(int listener, struct seccomp_heard *heard);
/* Whether the call still waits. If so, the caller's pid has not been reused. */
bool seccomp_waits(int listener, const struct seccomp_heard *heard);
/* Whether the call asks for a socket. All other calls have to be refused. */
bool seccomp_is_socket(const struct seccomp_heard *heard);
void seccomp_let_go_on(int listener, const struct seccomp_heard *heard);
/* Answers a call with limits to be judged: if they are no higher than the box's limits, 0 is returned and nothing is
 * changed. Only we read them, once; the kernel does not. False: the caller has to refuse the call. */
bool seccomp_pretend_lower(int listener, const struct seccomp_heard *heard);
enum {
	SECCOMP_NETLINK_MAX = 16 /* of a box: each can hold up to 400 KiB in its queue, which no control group counts */
};
/* Answers a call for a netlink socket. The kernel's count of netlink sockets in the caller's network namespace decides.
 * False: the box has the maximum, and the call was refused (ENOBUFS). Calls of several threads at the same moment may
 * all be allowed. */
bool seccomp_let_netlink(int listener, const struct seccomp_heard *heard);
/* Answers a question about processors with the first `cores` of the larger set that the caller may use. The listener
 * writes the answer into the caller's memory; it writes nothing else there. False: the kernel's answer can be used. */
bool seccomp_tell_cores(int listener, const struct seccomp_heard *heard, unsigned cores);
void seccomp_refuse(int listener, const struct seccomp_heard *heard);

/* The call's number on this machine. -1 with ENOSYS: only other machines have it; EINVAL: none has; EPERM: no box may
 * use it. */
int seccomp_call_number(const char *name);
/* The call's name, or "?". */
const char *seccomp_call_name(int number);
/* Whether the profile denies the call for all arguments, so that an addition is needed. */
bool seccomp_denies(enum seccomp_profile profile, const char *name);

/* The mode the kernel reports for this thread (2: filter), or -1. */
int seccomp_mode(void);

/* The line of a rule in `emberbox run --explain` and the tests: name, action, reason. NULL after the last rule. */
struct seccomp_rule {
	const char *syscall; /* name of the call */
	const char *action;  /* "allow", "pretend", "EPERM", … or "allow if …" */
	const char *reason;  /* the reason */
};
const struct seccomp_rule *seccomp_rule_at(enum seccomp_profile profile, size_t index);
