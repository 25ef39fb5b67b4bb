/* The store's row of the role table: its confinement, its start. */
#include "base/own.h"
#include "base/state.h"
#include "daemon/confine.h"
#include "daemon/role.h"
#include "daemon/store/store_role.h"
#include "kernel/caps.h"
#include "kernel/landlock.h"
#include "kernel/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * The store has files in one directory and hears our own front, whose words are
 * strangers' words. It needs that directory, and /proc to see whether who began
 * a run still lives. Landlock alone keeps it there, since its filter cannot look
 * at names: without Landlock it serves only where that was asked for.
 */
static int store_confine(const struct role_settings *settings, int control, struct error *err)
{
	const bool could = caps_has(CAP_SETPCAP);
	const int abi = landlock_abi();
	char place[4096];
	const struct landlock_rule rules[] = { { place, LANDLOCK_WRITE }, { "/proc", LANDLOCK_READ } };

	if (state_path("", place, sizeof(place)) < 0)
		return error_set(err, ERROR_FAILED, 0, "there is no state directory");
	if (caps_limit(0) < 0 || caps_within(0) < 0 || (could && caps_prove() < 0))
		return error_errno(err, "capabilities");
	if (confine_leash(control, err) < 0 || confine_zero(RLIMIT_NPROC, err) < 0 ||
	    confine_zero(RLIMIT_CORE, err) < 0)
		return -1;
	if (abi == 0 && !settings->no_landlock)
		return error_refuse(err, CODE_CANNOT_ENFORCE, "", "landlock: the kernel has no Landlock");
	if (abi > 0 && landlock_restrict(rules, ARRAY_SIZE(rules), abi) < 0)
		return error_errno(err, "landlock");
	if (abi > 0 && confine_expect(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), EACCES, "opening /", err) < 0)
		return -1;
	if (seccomp_install(SECCOMP_STORE, NULL, 0) < 0)
		return error_errno(err, "seccomp");
	if (seccomp_mode() != 2)
		return error_set(err, ERROR_FAILED, 0, "seccomp: there is no filter");
	if (confine_expect(syscall(SYS_execve, NULL, NULL, NULL), EPERM, "starting a program", err) < 0)
		return -1;
	return confine_expect(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), EPERM, "making a socket", err);
}

static int store_serve(const struct role_settings *settings, int control, const int fds[ROLE_FDS], void *own,
		       struct error *err)
{
	/* Who reads our sentences may leave. */
	signal(SIGPIPE, SIG_IGN);
	return store_role_run(control, role_fd(settings, fds, GIVEN_NUDGE),
			      &(struct store_options){ .days = settings->history_days,
						       .size_max = settings->history_size,
						       .audit = settings->audit != AUDIT_OFF,
						       .audit_best_effort = settings->audit == AUDIT_BEST_EFFORT },
			      err);
}

const struct role_row store_role = {
	.name = "store",
	.given = GIVEN_NUDGE,
	.peers = { { ROLE_FRONT, ROLE_PEER, "the store gave the front up: it sent what it may not, or did not read" } },
	.outlives = ROLE_BIT(ROLE_FRONT) | ROLE_BIT(ROLE_KEEPER),
	.confine = store_confine,
	.run = store_serve,
};
