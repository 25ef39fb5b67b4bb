/*
 * What runs inside a zygote: an interpreter that has started, and from which
 * programs are forked into boxes that are made already.
 *
 * The library (libember.so) is loaded into the interpreter before its own. When
 * the interpreter is ready, the language's glue calls ember_wait(). In the
 * zygote that never returns: it hears the keeper, forks, reaps, and tells how
 * the forks ended. In each fork it joins the box, confines itself, proves it,
 * rehearses, waits for a program, puts its files into place, and returns.
 *
 * Nothing here reads a byte of the program before all layers are in force.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What is to be run; lives until the process ends. */
struct ember_claim {
	const char *entry; /* the program, an absolute path in the box; it is in place */
	char **args;       /* its arguments, NULL at the end */
	char **envp;       /* its whole environment, NULL at the end; `environ` is this already */
	uint64_t seed;     /* by chance, for random generators that cannot ask the kernel themselves */
};

struct ember_language {
	pid_t (*fork)(void);         /* how this interpreter forks; NULL: as the C library does */
	void (*rehearse)(int hurry); /* in the fork, before there is a program: touch what one will touch, unless a
				      * program waits already; or NULL */
};

/* The place where a zygote becomes its forks. */
const struct ember_claim *ember_wait(const struct ember_language *language);

/*
 * Ends at once. Taking the memory apart takes longer than a small program does,
 * and nobody hears of the end before: so another process, which has nothing
 * else, holds it until the box is killed. Where none can be made, all is as
 * ever. What is to be written has been. Only where that is allowed, see struct
 * ember_order.
 */
_Noreturn void ember_leave(int status);
void ember_allow_linger(void);

/* Whether this process is a zygote that has not reached ember_wait() yet. */
int ember_armed(void);
