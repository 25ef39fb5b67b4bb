#include "engine/local/prove_inside.h"

#include "base/own.h"
#include "kernel/caps.h"
#include "kernel/fdset.h"
#include "kernel/netns.h"
#include "kernel/seccomp.h"
#include "kernel/userns.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool ids_hold(void)
{
	uid_t r, e, s;
	gid_t gr, ge, gs;

	return getresuid(&r, &e, &s) == 0 && getresgid(&gr, &ge, &gs) == 0 && r == USERNS_INSIDE &&
	       e == USERNS_INSIDE && s == USERNS_INSIDE && gr == USERNS_INSIDE && ge == USERNS_INSIDE &&
	       gs == USERNS_INSIDE && getpid() <= 2;
}

static bool caps_hold(void)
{
	return caps_prove() == 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
}

/* Making the file fails with exactly this errno: another layer in front would hide that this one is missing. */
static bool create_fails(const char *path, int errnum)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	return fd < 0 && errno == errnum;
}

static bool root_holds(void)
{
	return create_fails("/proof", EROFS) && create_fails("/usr/proof", EROFS);
}

/* The mount answers before Landlock is asked. */
static bool read_only_holds(void)
{
	return create_fails("/sandbox/code/proof", EROFS) && create_fails("/sandbox/data/proof", EROFS);
}

/* /sandbox is writable but for Landlock's rules, which name only the directories below it. */
static bool landlock_holds(void)
{
	return create_fails("/sandbox/proof", EACCES);
}

/* Without the filter, a process may compare what is its own. Who listens is not asked about this one, as about the
 * others that are refused. */
static bool seccomp_holds(void)
{
	const long pid = getpid();

	return seccomp_mode() == 2 && syscall(SYS_kcmp, pid, pid, KCMP_VM, 0, 0) < 0 && errno == EPERM;
}

static bool network_holds(void)
{
	return netns_prove() == 0;
}

/* A socket would be told of, see engine/warm/stem_nets.h. */
static bool routes_hold(void)
{
	return netns_prove_routes() == 0;
}

static bool fds_hold(void)
{
	return fdset_prove() == 0;
}

int prove_inside(const char *property)
{
	static const struct {
		const char *property;
		bool (*holds)(void);
	} proofs[] = {
		{ "ids", ids_hold },          { "caps", caps_hold },
		{ "root", root_holds },       { "network", network_holds },
		{ "fds", fds_hold },          { "landlock", landlock_holds },
		{ "seccomp", seccomp_holds }, { "read-only", read_only_holds },
		{ "routes", routes_hold },
	};

	for (size_t i = 0; i < ARRAY_SIZE(proofs); i++)
		if (strcmp(proofs[i].property, property) == 0 && proofs[i].holds())
			return 0;
	errno = ENOTRECOVERABLE;
	return -1;
}
