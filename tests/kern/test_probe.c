/* What this host can do, and what it says where it cannot. */
// clang-format off
/*
 * tests/run: args=--as root | --as user | --as userns | --as root --no landlock_create_ruleset,seccomp,mount_setattr,unshare | --as user --no landlock_create_ruleset,seccomp,mount_setattr,unshare
 */
// clang-format on
#include "../check.h"
#include "as.h"
#include "child.h"
#include "enosys.h"

#include "kernel/landlock.h"
#include "kernel/probe.h"
#include "kernel/userns.h"

#include <sched.h>
#include <sys/stat.h>

static enum as_mode mode;

static void host_is_as_it_is(void)
{
	struct probe probe;
	struct error err = { 0 };

	memset(&probe, 0xff, sizeof(probe));
	CHECK_INT(probe_host(&probe, &err), 0);
	CHECK_INT(probe.uid, geteuid());
	CHECK_INT(probe.range, userns_can_range());
	if (mode != AS_ROOT)
		CHECK_INT(probe.range, false);
	CHECK_INT(probe.landlock, landlock_abi());
	if (enosys_has("landlock_create_ruleset"))
		CHECK_INT(probe.landlock, 0);
	/* An older kernel may lack these; one that has seccomp, as we use it here, has filters. */
	CHECK_INT(probe.seccomp, !enosys_has("seccomp"));
	if (enosys_has("mount_setattr"))
		CHECK_INT(probe.mount_api, false);
	if (probe.landlock > 0) /* 5.13 is later than 5.12 */
		CHECK_INT(probe.mount_api, true);
	CHECK(probe.cgroup.version == 0 || probe.cgroup.version == 1 || probe.cgroup.version == 2);
	if (probe.cgroup.version == 0)
		CHECK(probe.cgroup.why[0] != '\0');
}

static void nothing_is_left(void)
{
	CHECK_ERRNO(waitpid(-1, NULL, WNOHANG), ECHILD);
}

static ino_t own_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/user", &st) == 0 ? st.st_ino : 0;
}

static void user_namespaces_work(void)
{
	ino_t before = own_namespace();
	char why[512] = "x";

	CHECK_INT(probe_userns(why, sizeof(why)), 0);
	CHECK_STR(why, "");
	CHECK(before != 0 && before == own_namespace());
	nothing_is_left();
}

static void overlay_is_probed_twice_alike(void)
{
	bool first = probe_overlay();

	CHECK_INT(probe_overlay(), first);
	nothing_is_left();
}

static void without_unshare_it_says_so(void)
{
	char why[512] = "";

	CHECK_INT(probe_userns(why, sizeof(why)), ENOSYS);
	CHECK(strstr(why, "a user namespace cannot be made (ENOSYS)"));
	CHECK(!probe_overlay());
	nothing_is_left();
	/* A small buffer holds the beginning. */
	CHECK_INT(probe_userns(why, 11), ENOSYS);
	CHECK_STR(why, "a user nam");
}

/* The limit is one of the namespace: the host's is not touched. */
static void child_switched_off(void)
{
	char why[512] = "";

	as_write("/proc/sys/user/max_user_namespaces", "0");
	CHECK_INT(probe_userns(why, sizeof(why)), ENOSPC);
	CHECK_STR(why,
		  "user namespaces are switched off; allow them with: sudo sysctl -w user.max_user_namespaces=10000");
	CHECK(!probe_overlay());
	as_write("/proc/sys/user/max_user_namespaces", "100");
	CHECK_INT(probe_userns(why, sizeof(why)), 0);
	CHECK_STR(why, "");
}

static void switched_off_names_the_setting(void)
{
	in_child(child_switched_off);
}

int main(int argc, char **argv)
{
	const char *no = enosys_argument(&argc, argv);

	mode = as_enter(argc, argv);
	enosys_enter(no);
	RUN(host_is_as_it_is);
	if (enosys_has("unshare")) {
		RUN(without_unshare_it_says_so);
	} else {
		RUN(user_namespaces_work);
		RUN(overlay_is_probed_twice_alike);
	}
	if (mode == AS_USERNS)
		RUN(switched_off_names_the_setting);
	return check_failures ? 1 : 0;
}
