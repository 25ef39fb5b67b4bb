#include "daemon/confine.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

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
