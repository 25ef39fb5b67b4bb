/* The keeper's row of the role table: its confinement, its start. */
#include "base/own.h"
#include "daemon/confine.h"
#include "daemon/keeper/keeper.h"
#include "daemon/message.h"
#include "daemon/role.h"
#include "kernel/caps.h"
#include "kernel/userns.h"

#include <errno.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	/* Threads beside those for runs: one for each question that may wait. A question may take seconds, where a
	 * box's program likes; runs and the questions of others do not wait for it. Those that are never needed are not
	 * there. */
	KEEPER_SPARE = MESSAGE_ASKS / 2,
};

/*
 * What making a box takes of root: pipes are given to its uid, that uid is
 * mapped, trees of the host are mounted, and what it leaves is read whatever its
 * mode. Ending one takes nothing: the box's namespace is the keeper's own.
 */
static const uint64_t keeper_caps = UINT64_C(1) << CAP_CHOWN | UINT64_C(1) << CAP_DAC_OVERRIDE |
				    UINT64_C(1) << CAP_SETGID | UINT64_C(1) << CAP_SETUID |
				    UINT64_C(1) << CAP_SYS_ADMIN;

/* The keeper's own, with nothing in it. Boxes have theirs whatever this is. */
static int keeper_leave_network(struct error *err)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(1),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	_cleanup_close_ int fd = -1;

	if (unshare(CLONE_NEWNET) < 0)
		return error_errno(err, "network namespace");
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return errno == EAFNOSUPPORT ? 0 : error_errno(err, "network namespace");
	return confine_expect(connect(fd, (struct sockaddr *)&to, sizeof(to)), ENETUNREACH, "connecting", err);
}

/*
 * No Landlock: a domain with rules for files forbids mounts, and one with rules
 * for ports would be the boxes' too, whose loopback has to work. No filter: it
 * would be under every box's own, and slow each call. And it stays dumpable: an
 * ordinary user could not write the maps of a child that is not.
 */
static int keeper_confine(const struct role_settings *settings, int control, struct error *err)
{
	uint64_t keep = keeper_caps;

	/* Root's own uid in a box: since 5.12 that takes the right to set capabilities of files. */
	if (!userns_can_range())
		keep |= UINT64_C(1) << CAP_SETFCAP;
	if (caps_has(CAP_SYS_ADMIN) && keeper_leave_network(err) < 0)
		return -1;
	if (caps_limit(keep) < 0 || caps_within(keep) < 0)
		return error_errno(err, "capabilities");
	if (confine_leash(control, err) < 0)
		return -1;
	/* Whoever may is told EINVAL, for these are not the magic numbers. */
	return confine_expect(syscall(SYS_reboot, 0, 0, 0, NULL), EPERM, "reboot", err);
}

static int keeper_serve(const struct role_settings *settings, int control, const int fds[ROLE_FDS], void *own,
			struct error *err)
{
	return keeper_run(control,
			  /* Questions are answered also while as much runs as may. */
			  &(struct keeper_options){ .workers = settings->max_running + KEEPER_SPARE,
						    .embers = settings->embers,
						    .ember_memory = settings->ember_memory,
						    .nudge = role_fd(settings, fds, GIVEN_NUDGE),
						    .audit = (enum role_audit)settings->audit },
			  err);
}

const struct role_row keeper_role = {
	.name = "keeper",
	.given = GIVEN_NUDGE,
	.peers = { { ROLE_FRONT, ROLE_PEER, "the front sent the keeper what it may not; its runs are ended" },
		   { ROLE_EGRESS, ROLE_EGRESS_PEER, "the keeper lost a message of egress; they are introduced anew" } },
	.outlives = ROLE_BIT(ROLE_FRONT),
	.confine = keeper_confine,
	.run = keeper_serve,
};
