#include "kernel/probe.h"

#include "base/fd.h"
#include "base/own.h"
#include "kernel/clone.h"
#include "kernel/landlock.h"
#include "kernel/mount.h"
#include "kernel/userns.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned cores_count(void)
{
	cpu_set_t ours;

	return sched_getaffinity(0, sizeof(ours), &ours) == 0 ? (unsigned)CPU_COUNT(&ours) : 0;
}

int probe_host(struct probe *probe, struct error *err)
{
	uint32_t action = SECCOMP_RET_ERRNO;

	*probe = (struct probe){
		.uid = geteuid(),
		.range = userns_can_range(),
		.landlock = landlock_abi(),
		.seccomp = syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0,
		.cores = cores_count(),
		/* This call changes nothing: 0 for root, EPERM for others, ENOSYS if the kernel lacks it. */
		.mount_api = mount_setattr(-1, "", AT_EMPTY_PATH, &(struct mount_attr){ 0 },
					   sizeof(struct mount_attr)) == 0 ||
			     errno != ENOSYS,
	};
	return cgroup_find(&probe->cgroup, err);
}

/* In a user namespace: waits for the maps, takes the identity of a box's program, and makes the attempt in namespaces
 * of its own. */
static _Noreturn void attempt_child(int (*attempt)(void), int go, bool own)
{
	_cleanup_close_ int pidfd = -1;
	int status;
	pid_t pid;
	char byte;

	/* Without maps, no file can be created (EOVERFLOW). */
	if (read(go, &byte, 1) != 1)
		_exit(EPERM);
	if (userns_become(own) < 0 ||
	    unshare(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) < 0)
		_exit(errno);
	/* A new pid namespace starts with the next child. */
	pid = clone_into(0, -1, &pidfd);
	if (pid == 0)
		_exit(attempt() < 0 ? errno : 0);
	if (pid < 0 || clone_wait(pid, &status) < 0 || !WIFEXITED(status))
		_exit(ECHILD);
	_exit(WEXITSTATUS(status));
}

/*
 * Runs `attempt` in a child in new namespaces. Returns 0, or the errno of the
 * failure. The child gets the ids of a box: root without all of its
 * capabilities, as the service's keeper, may not map its own ids, but need not.
 */
static int attempt_apart(int (*attempt)(void))
{
	_cleanup_close_ int pidfd = -1, wait = -1, go = -1;
	struct userns_ids ids;
	struct error err = { 0 };
	int ends[2], status, failed = 0;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return errno;
	wait = ends[0];
	go = ends[1];
	if (userns_take(userns_can_range(), &ids, &err) < 0)
		return err.errnum ? err.errnum : EAGAIN;
	pid = clone_into(CLONE_NEWUSER, -1, &pidfd);
	if (pid < 0)
		failed = errno;
	if (pid == 0) {
		close_fd(&go);
		attempt_child(attempt, wait, ids.own);
	}
	if (pid > 0 && (userns_map(pid, &ids, &err) < 0 || write(go, "", 1) != 1))
		failed = err.errnum ? err.errnum : EIO;
	close_fd(&go);
	if (pid > 0 && (clone_wait(pid, &status) < 0 || !WIFEXITED(status)))
		failed = ECHILD;
	else if (pid > 0 && !failed)
		failed = WEXITSTATUS(status);
	userns_release(&ids);
	return failed;
}

static int attempt_proc(void)
{
	if (mount_isolate() < 0)
		return -1;
	return mount("proc", "/proc", "proc", MS_NOSUID, NULL);
}

static int attempt_overlay(void)
{
	if (mount_isolate() < 0 || mount("tmpfs", "/tmp", "tmpfs", 0, NULL) < 0 || chdir("/tmp") < 0)
		return -1;
	if (mkdir("u", 0755) < 0 || mkdir("w", 0755) < 0 || mkdir("m", 0755) < 0)
		return -1;
	return mount_overlay("/usr", "u", "w", "m");
}

bool probe_overlay(void)
{
	return attempt_apart(attempt_overlay) == 0;
}

static bool setting_is(const char *path, const char *value)
{
	char text[32];

	return fd_slurp(AT_FDCWD, path, text, sizeof(text)) > 0 && strcspn(text, "\n") == strlen(value) &&
	       memcmp(text, value, strlen(value)) == 0;
}

static int attempt_nothing(void)
{
	return 0;
}

/*
 * The kernel refuses user namespaces to a process whose root is not the root of its mount namespace. Then either
 * process 1 has another root in the same mount namespace, or no mount point is at our root.
 */
static bool is_in_chroot(void)
{
	_cleanup_fclose_ FILE *mounts = fopen("/proc/self/mountinfo", "re");
	struct stat own, first, own_namespace, first_namespace;
	char line[4096], place[3];
	bool complete = true, seen = false;

	if (stat("/", &own) == 0 && stat("/proc/1/root/", &first) == 0 &&
	    stat("/proc/self/ns/mnt", &own_namespace) == 0 && stat("/proc/1/ns/mnt", &first_namespace) == 0 &&
	    own_namespace.st_ino == first_namespace.st_ino)
		return own.st_ino != first.st_ino || own.st_dev != first.st_dev;
	if (!mounts)
		return false;
	while (fgets(line, sizeof(line), mounts)) {
		/* The rest of a long line is not parsed. */
		if (complete && sscanf(line, "%*s %*s %*s %*s %2s", place) == 1 && strcmp(place, "/") == 0)
			seen = true;
		complete = strchr(line, '\n') != NULL;
	}
	return !seen;
}

int probe_userns(char *why, size_t size)
{
	int errnum = attempt_apart(attempt_nothing);
	const bool none = errnum != 0;

	why[0] = '\0';
	if (!none)
		errnum = attempt_apart(attempt_proc);
	if (errnum == 0)
		return 0;
	if (setting_is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"))
		snprintf(why, size,
			 "AppArmor keeps ordinary users from user namespaces; allow them with: "
			 "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0");
	else if (setting_is("/proc/sys/kernel/unprivileged_userns_clone", "0"))
		snprintf(why, size,
			 "user namespaces are for root only here; allow them with: "
			 "sudo sysctl -w kernel.unprivileged_userns_clone=1");
	else if (setting_is("/proc/sys/user/max_user_namespaces", "0"))
		snprintf(why, size,
			 "user namespaces are switched off; allow them with: "
			 "sudo sysctl -w user.max_user_namespaces=10000");
	else if (none && errnum == EPERM && is_in_chroot())
		snprintf(why, size,
			 "the kernel refuses user namespaces in a chroot (%s); enter that root with "
			 "systemd-nspawn -D DIR, which changes the root of the mount namespace",
			 strerrorname_np(errnum) ?: "unknown");
	else if (none)
		snprintf(why, size,
			 "a user namespace cannot be made (%s); inside a container, start that one with "
			 "docker run --security-opt seccomp=unconfined",
			 strerrorname_np(errnum) ?: "unknown");
	else
		snprintf(why, size,
			 "the kernel refuses a user namespace with a /proc of its own (%s); inside a container, "
			 "start that one with an unmasked /proc (docker run --security-opt systempaths=unconfined "
			 "--security-opt seccomp=unconfined)",
			 strerrorname_np(errnum) ?: "unknown");
	return errnum;
}
