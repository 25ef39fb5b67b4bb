#include "daemon/confine.h"

#include "kernel/caps.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

int confine_no_new_privs(struct error *err)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return error_errno(err, "no-new-privs");
	return 0;
}

/* A change of uid clears the death signal. A supervisor that died before is seen as a hang-up. */
int confine_leash(int control, struct error *err)
{
	struct pollfd socket = { .fd = control };
	int sent = 0;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || prctl(PR_GET_PDEATHSIG, &sent) < 0 || sent != SIGKILL)
		return error_errno(err, "leash");
	if (poll(&socket, 1, 0) < 0 || (socket.revents & POLLHUP))
		return error_set(err, ERROR_FAILED, 0, "the supervisor is gone");
	return 0;
}

int confine_zero(int resource, struct error *err)
{
	const struct rlimit none = { 0, 0 };

	return setrlimit(resource, &none) == 0 ? 0 : error_errno(err, "limit %d", resource);
}

int confine_expect(long result, int errnum, const char *what, struct error *err)
{
	if (result == -1 && errno == errnum)
		return 0;
	return error_set(err, ERROR_FAILED, result == -1 ? errno : 0, "is not confined: %s was not refused as expected",
			 what);
}

int confine_become(const struct role_settings *settings, struct error *err)
{
	uid_t id = settings->become, uids[3];
	bool could = caps_has(CAP_SETPCAP);

	if (id != 0) {
		/* The capabilities outlive the change, because reducing the bounding set needs one; then all go. */
		if (could && prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) < 0)
			return error_errno(err, "securebits");
		if (setgroups(0, NULL) < 0 && !settings->become_anyway)
			return error_errno(err, "setgroups");
		/* EINVAL: root of a namespace that has no other uid. It stays, and is an ordinary user outside. */
		if ((setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0) &&
		    (errno != EINVAL || !settings->become_anyway))
			return error_errno(err, "cannot become uid %u", id);
		if (!settings->become_anyway &&
		    (getresuid(&uids[0], &uids[1], &uids[2]) < 0 || uids[0] != id || uids[1] != id || uids[2] != id))
			return error_set(err, ERROR_FAILED, 0, "is not uid %u", id);
	}
	if (caps_limit(0) < 0 || caps_within(0) < 0 || (could && caps_prove() < 0))
		return error_errno(err, "capabilities");
	return 0;
}
