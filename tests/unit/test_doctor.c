/* What doctor says about hosts that this one is not. */
#include "../check.h"

#include "api/doctor.h"

static struct doctor_row rows[DOCTOR_ROWS];

/* Root on a current kernel with a unified tree. */
static struct doctor_host best_host(void)
{
	struct doctor_host host = {
		.probe = { .range = true, .landlock = 7, .seccomp = true, .mount_api = true },
		.overlay = true,
	};

	host.probe.cgroup.version = 2;
	strcpy(host.probe.cgroup.base[0], "/sys/fs/cgroup/emberbox");
	return host;
}

static const struct doctor_row *judged(const struct doctor_host *host, const char *name)
{
	static const struct doctor_row none = { .name = "none" };
	size_t count = doctor_judge(host, rows);

	CHECK_INT(count, DOCTOR_ROWS);
	for (size_t i = 0; i < count; i++) {
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	}
	return &none;
}

static void everything_is_there(void)
{
	struct doctor_host host = best_host();

	doctor_judge(&host, rows);
	for (size_t i = 0; i < DOCTOR_ROWS; i++) {
		CHECK_INT(rows[i].state, DOCTOR_ENFORCED);
		CHECK_STR(rows[i].fix, "");
		CHECK(rows[i].detail[0]);
	}
	CHECK_STR(judged(&host, "cgroup")->detail, "v2 memory,pids,cpu below /sys/fs/cgroup/emberbox");
}

static void a_user_without_cgroup_is_accounted(void)
{
	struct doctor_host host = best_host();
	const struct doctor_row *row;

	host.probe.range = false;
	host.probe.uid = 1234;
	host.probe.cgroup.version = 0;
	strcpy(host.probe.cgroup.why, "The group /x is not the caller's; start it in a scope");
	row = judged(&host, "accounting");
	CHECK_INT(row->state, DOCTOR_WEAKER);
	CHECK_STR(row->detail,
		  "The group /x is not the caller's: memory is added up by emberbox, and rlimits bound "
		  "the rest; cores cannot be limited, and a limit on them is refused without --allow-weaker cgroup");
	CHECK_STR(row->fix, "start it in a scope");
	CHECK_STR(judged(&host, "user-namespace")->detail,
		  "uid 1000 inside, your own uid 1234 outside (as root each box gets another)");
}

static void root_without_cgroup_is_refused(void)
{
	struct doctor_host host = best_host();
	const struct doctor_row *row;

	host.probe.cgroup.version = 0;
	strcpy(host.probe.cgroup.why, "No tree is mounted; mount one");
	row = judged(&host, "cgroup");
	CHECK_INT(row->state, DOCTOR_MISSING);
	CHECK_STR(row->detail, "No tree is mounted");
	CHECK_STR(row->fix, "mount one");
}

static void a_cgroup_without_cpu_is_weaker(void)
{
	struct doctor_host host = best_host();

	host.probe.cgroup.where[CGROUP_CPU] = -1;
	CHECK_INT(judged(&host, "cgroup")->state, DOCTOR_WEAKER);
	CHECK_STR(judged(&host, "cgroup")->detail, "v2 memory,pids below /sys/fs/cgroup/emberbox; cores cannot be "
						   "limited, and a limit on them is refused");
}

static void apparmor_has_its_command(void)
{
	struct doctor_host host = best_host();
	const struct doctor_row *row;

	host.userns_errno = EACCES;
	strcpy(host.userns_why, "AppArmor keeps users from them; allow them with: sudo sysctl -w a=0");
	row = judged(&host, "user-namespace");
	CHECK_INT(row->state, DOCTOR_MISSING);
	CHECK_STR(row->detail, "AppArmor keeps users from them");
	CHECK_STR(row->fix, "sudo sysctl -w a=0");
	/* What needs it is missing too, and points to the cause. */
	CHECK_INT(judged(&host, "pid-namespace")->state, DOCTOR_MISSING);
	CHECK_STR(judged(&host, "pid-namespace")->fix, "see user-namespace");
	CHECK_INT(judged(&host, "seccomp")->state, DOCTOR_ENFORCED);
}

static void landlock_by_abi(void)
{
	struct doctor_host host = best_host();

	host.probe.landlock = 6;
	CHECK_INT(judged(&host, "landlock")->state, DOCTOR_ENFORCED);
	host.probe.landlock = 5;
	CHECK_INT(judged(&host, "landlock")->state, DOCTOR_WEAKER);
	CHECK_STR(judged(&host, "landlock")->fix, "Linux 6.12 or later");
	host.probe.landlock = 0;
	strcpy(host.lsm, "capability,yama");
	CHECK_INT(judged(&host, "landlock")->state, DOCTOR_MISSING);
	CHECK_STR(judged(&host, "landlock")->fix,
		  "boot Linux 5.13 or later with lsm=landlock,capability,yama, or accept "
		  "it: --allow-weaker landlock");
}

static void a_new_kernel_is_not_told_to_be_newer(void)
{
	struct doctor_host host = best_host();

	host.overlay = false;
	host.probe.landlock = 0;
	CHECK_STR(judged(&host, "overlay")->fix, "Linux 5.11 or later with CONFIG_OVERLAY_FS (modprobe overlay)");
	host.kernel = 6 * 256 + 18;
	CHECK_STR(judged(&host, "overlay")->fix, "a kernel with CONFIG_OVERLAY_FS (modprobe overlay)");
	CHECK_STR(judged(&host, "landlock")->fix,
		  "boot with lsm=landlock,yama,apparmor,bpf, or accept it: --allow-weaker landlock");
	CHECK(judged(&host, "landlock")->waivable);
	/* Tried in a user namespace, so not at all. */
	host.userns_errno = EPERM;
	CHECK_STR(judged(&host, "overlay")->detail, "cannot be tried without a user namespace");
	CHECK_STR(judged(&host, "overlay")->fix, "see user-namespace");
	CHECK(!judged(&host, "overlay")->waivable);
}

static void an_old_or_bare_kernel(void)
{
	struct doctor_host host = best_host();

	host.probe.seccomp = false;
	host.namespaces_gone = 1u << 6;
	host.overlay = false;
	host.probe.mount_api = false;
	CHECK_INT(judged(&host, "seccomp")->state, DOCTOR_MISSING);
	CHECK_INT(judged(&host, "cgroup-namespace")->state, DOCTOR_MISSING);
	CHECK_INT(judged(&host, "uts-namespace")->state, DOCTOR_ENFORCED);
	CHECK_INT(judged(&host, "overlay")->state, DOCTOR_WEAKER);
	CHECK_INT(judged(&host, "root")->state, DOCTOR_WEAKER);
}

int main(void)
{
	RUN(everything_is_there);
	RUN(a_user_without_cgroup_is_accounted);
	RUN(root_without_cgroup_is_refused);
	RUN(a_cgroup_without_cpu_is_weaker);
	RUN(apparmor_has_its_command);
	RUN(landlock_by_abi);
	RUN(a_new_kernel_is_not_told_to_be_newer);
	RUN(an_old_or_bare_kernel);
	return check_failures != 0;
}
