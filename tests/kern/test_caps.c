/* Capabilities. tests/run: args=--as root | --as user | --as userns */
#include "../check.h"
#include "as.h"
#include "child.h"

#include "kernel/caps.h"

#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static void has_before(void)
{
	CHECK_INT(caps_has(CAP_SYS_ADMIN), 1);
	CHECK_INT(caps_has(CAP_SETPCAP), 1);
	CHECK_INT(caps_has(-1), 0);
	CHECK_INT(caps_has(64), 0);
	CHECK_ERRNO(caps_prove(), EPERM);
}

static void child_drops(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct one[2] = { { .effective = 1, .permitted = 1 } };

	/* The control: what the capability gives. EINVAL is past the check of the right. */
	CHECK_ERRNO(umount2("/", 0x7fffffff), EINVAL);
	CHECK_INT(caps_drop(), 0);
	CHECK_INT(caps_prove(), 0);
	CHECK_INT(caps_has(CAP_SYS_ADMIN), 0);
	CHECK_INT(prctl(PR_GET_SECUREBITS), SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
						    SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
						    SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED);
	CHECK_ERRNO(chroot("/"), EPERM);
	CHECK_ERRNO(syscall(SYS_sethostname, NULL, -1), EPERM);
	CHECK_ERRNO(syscall(SYS_capset, &header, one), EPERM);
	CHECK_ERRNO(prctl(PR_SET_SECUREBITS, 0), EPERM);
	CHECK_ERRNO(prctl(PR_SET_KEEPCAPS, 1), EPERM);
	CHECK_ERRNO(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_CHOWN, 0, 0), EPERM);
	CHECK_INT(caps_drop(), 0); /* once more changes nothing */
	CHECK_INT(caps_prove(), 0);
}

static void drop_empties_all_sets(void)
{
	in_child(child_drops);
}

/* Only the bounding set is left: a set-user-ID program would get it all back. */
static void child_bounding(void)
{
	static const struct __user_cap_data_struct none[2];
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	CHECK_INT(syscall(SYS_capset, &header, none), 0);
	CHECK_ERRNO(caps_prove(), EPERM);
	CHECK_ERRNO(caps_drop(), EPERM);
}

static void a_bounding_set_is_seen(void)
{
	in_child(child_bounding);
}

/* Root's execve would give all of them back, were it not for the bounding set and SECBIT_NOROOT. */
static void child_executes(void)
{
	CHECK_INT(caps_drop(), 0);
	if (!check_failed)
		execl("/bin/sh", "sh", "-c", "test $(grep -c '^Cap.*:[[:space:]]0*$' /proc/self/status) = 5", NULL);
	check_fail("/bin/sh: %s", strerror(errno));
}

static void execve_gives_none_back(void)
{
	in_child(child_executes);
}

/* Some stay, here and over execve; the others are gone for good. */
static void child_limits(void)
{
	const uint64_t keep = UINT64_C(1) << CAP_CHOWN | UINT64_C(1) << CAP_SYS_ADMIN;

	CHECK_ERRNO(caps_within(keep), EPERM);
	CHECK_INT(caps_limit(keep), 0);
	CHECK_INT(caps_within(keep), 0);
	CHECK_ERRNO(caps_within(UINT64_C(1) << CAP_CHOWN), EPERM);
	CHECK_INT(caps_has(CAP_SYS_ADMIN), 1);
	CHECK_INT(caps_has(CAP_SYS_CHROOT), 0);
	CHECK_INT(caps_has(CAP_SETPCAP), 0);
	CHECK_INT(unshare(CLONE_NEWUTS), 0);
	CHECK_ERRNO(chroot("/"), EPERM);
	CHECK_INT(prctl(PR_CAPBSET_READ, CAP_CHOWN), 1);
	CHECK_INT(prctl(PR_CAPBSET_READ, CAP_SYS_CHROOT), 0);
	/* Less can be had later, more cannot. */
	CHECK_INT(caps_limit(UINT64_MAX), 0);
	CHECK_INT(caps_within(keep), 0);
	CHECK_INT(caps_limit(0), 0);
	CHECK_INT(caps_within(0), 0);
	CHECK_ERRNO(unshare(CLONE_NEWUTS), EPERM);
}

static void some_can_be_kept(void)
{
	in_child(child_limits);
}

static void user_keeps_none(void)
{
	CHECK_INT(caps_within(0), 0);
	CHECK_INT(caps_limit(0), 0);
	CHECK_INT(caps_within(0), 0);
}

static void user_has_none(void)
{
	CHECK_INT(caps_has(CAP_SYS_ADMIN), 0);
	CHECK_INT(caps_has(CAP_CHOWN), 0);
}

/* Without CAP_SETPCAP the bounding set stays: it must not be called empty. */
static void user_cannot_drop(void)
{
	CHECK_ERRNO(caps_drop(), EPERM);
	CHECK_ERRNO(caps_prove(), EPERM);
}

int main(int argc, char **argv)
{
	if (as_enter(argc, argv) == AS_USER) {
		RUN(user_has_none);
		RUN(user_cannot_drop);
		RUN(user_keeps_none);
	} else {
		RUN(has_before);
		RUN(drop_empties_all_sets);
		RUN(a_bounding_set_is_seen);
		RUN(execve_gives_none_back);
		RUN(some_can_be_kept);
	}
	return check_failures ? 1 : 0;
}
