/*
 * The system call filter: every denial with its errno, and beside it what must
 * still work. Arguments are such that the kernel alone would answer otherwise
 * (bad pointers, impossible flags), at least to root.
 *
 * Few filters are loaded, one a child: some kernels hang when very many are freed.
 * tests/run: args=--as root | --as user | --as userns
 */
#include "../check.h"
#include "as.h"
#include "child.h"

#include "kernel/seccomp.h"
#include "base/fd.h"
#include "base/own.h"

#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/timerfd.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

#define BAD  ((void *)-1) /* EFAULT, were it looked at */
#define HIGH (1UL << 32)  /* above what the kernel reads of an int */

static char place[] = "/tmp/seccomp.XXXXXX";
static bool int80_works; /* before the filter */

static const char *at(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", place, name);
	return path;
}

/* The descriptor is closed: 0, or -1 with errno. */
static int opened(int fd)
{
	return fd < 0 ? -1 : close(fd);
}

static void mode_is_filter(void)
{
	CHECK_INT(seccomp_mode(), 2);
}

static void denies_mounts(void)
{
	CHECK_ERRNO(syscall(SYS_mount, BAD, BAD, BAD, 0, NULL), EPERM);
	CHECK_ERRNO(syscall(SYS_umount2, BAD, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_pivot_root, BAD, BAD), EPERM);
	CHECK_ERRNO(syscall(SYS_chroot, BAD), EPERM);
	CHECK_ERRNO(syscall(SYS_fsopen, BAD, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_fsconfig, -1, 0, BAD, BAD, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_fsmount, -1, 0, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_fspick, -1, BAD, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_open_tree, -1, BAD, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_move_mount, -1, BAD, -1, BAD, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_mount_setattr, -1, BAD, 0, BAD, 0), EPERM);
	CHECK_INT(chdir("/"), 0);
}

static void denies_namespaces(void)
{
	static const int flags[] = { CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
				     CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET };
	struct clone_args args = { .exit_signal = SIGCHLD };

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		CHECK_ERRNO(unshare(flags[i]), EPERM);
		CHECK_ERRNO(unshare(flags[i] | CLONE_FILES), EPERM);
		/* CLONE_THREAD without CLONE_SIGHAND: EINVAL, were it to pass. */
		CHECK_ERRNO(syscall(SYS_clone, flags[i] | CLONE_THREAD, NULL, NULL, NULL, NULL), EPERM);
	}
	CHECK_ERRNO(syscall(SYS_clone, CLONE_THREAD, NULL, NULL, NULL, NULL), EINVAL);
	CHECK_ERRNO(unshare(CLONE_NEWTIME), EPERM);
	CHECK_ERRNO(syscall(SYS_setns, -1, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_clone3, &args, sizeof(args)), ENOSYS);
	CHECK_ERRNO(syscall(SYS_clone3, BAD, 0), ENOSYS);
	CHECK_INT(unshare(CLONE_FILES | CLONE_FS), 0);
}

static void *thread_body(void *arg)
{
	return arg;
}

static void allows_processes_and_threads(void)
{
	pthread_t thread;
	void *result = NULL;
	pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		_exit(7);
	CHECK_INT(waitpid(pid, &status, __WALL), pid);
	CHECK_INT(status, 7 << 8);
	CHECK_INT(pthread_create(&thread, NULL, thread_body, &status), 0);
	CHECK_INT(pthread_join(thread, &result), 0);
	CHECK(result == &status);
}

static void denies_other_processes(void)
{
	CHECK_ERRNO(syscall(SYS_ptrace, -1, 0, 0, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_process_vm_readv, 0, BAD, 1, BAD, 1, -1), EPERM);
	CHECK_ERRNO(syscall(SYS_process_vm_writev, 0, BAD, 1, BAD, 1, -1), EPERM);
	CHECK_ERRNO(syscall(SYS_kcmp, getpid(), getpid(), -1, 0, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_pidfd_getfd, -1, -1, -1), EPERM);
	CHECK_INT(opened((int)syscall(SYS_pidfd_open, getpid(), 0)), 0);
	CHECK_INT(kill(getpid(), 0), 0);
}

static void denies_the_administrators_calls(void)
{
	CHECK_ERRNO(syscall(SYS_bpf, -1, BAD, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_perf_event_open, BAD, 0, -1, -1, -1L), EPERM);
	CHECK_ERRNO(syscall(SYS_userfaultfd, -1), EPERM);
	CHECK_ERRNO(syscall(SYS_io_uring_setup, 1, BAD), ENOSYS);
	CHECK_ERRNO(syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0), ENOSYS);
	CHECK_ERRNO(syscall(SYS_io_uring_register, -1, 0, NULL, 0), ENOSYS);
	CHECK_ERRNO(syscall(SYS_io_setup, 1, BAD), ENOSYS);
	CHECK_ERRNO(syscall(SYS_kexec_load, 0, 0, NULL, -1L), EPERM);
	CHECK_ERRNO(syscall(SYS_init_module, BAD, 0, BAD), EPERM);
	CHECK_ERRNO(syscall(SYS_finit_module, -1, BAD, -1), EPERM);
	CHECK_ERRNO(syscall(SYS_delete_module, BAD, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_swapon, BAD, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_swapoff, BAD), EPERM);
	CHECK_ERRNO(syscall(SYS_reboot, 0, 0, 0, NULL), EPERM);
	CHECK_ERRNO(syscall(SYS_acct, BAD), EPERM);
	CHECK_ERRNO(syscall(SYS_keyctl, -1, 0, 0, 0, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_add_key, BAD, BAD, NULL, 0, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_request_key, BAD, BAD, NULL, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_open_by_handle_at, -1, BAD, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_name_to_handle_at, -1, BAD, BAD, BAD, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_quotactl, -1, BAD, 0, NULL), EPERM);
	CHECK_ERRNO(syscall(SYS_syslog, -1, NULL, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_sethostname, BAD, -1), EPERM);
	CHECK_ERRNO(syscall(SYS_setdomainname, BAD, -1), EPERM);
	CHECK_ERRNO(syscall(SYS_fanotify_init, -1, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_fanotify_mark, -1, 0, 0, -1, BAD), EPERM);
	CHECK_ERRNO(syscall(SYS_inotify_init1, 0), ENOSYS);
	CHECK_ERRNO(syscall(SYS_sync), EPERM);
	CHECK_ERRNO(syscall(SYS_syncfs, -1), EPERM);
	CHECK_ERRNO(syscall(SYS_vmsplice, -1, BAD, 1, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_landlock_create_ruleset, NULL, 0, 1), ENOSYS);
#ifdef SYS_iopl
	CHECK_ERRNO(syscall(SYS_iopl, 4), EPERM);
	CHECK_ERRNO(syscall(SYS_ioperm, 0, -1L, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_modify_ldt, -1, NULL, 0), ENOSYS);
	CHECK_ERRNO(syscall(SYS_inotify_init), ENOSYS);
#endif
	/* Nothing is done, and all is said to be well: not even the descriptor is looked at. */
	CHECK_INT(syscall(SYS_fdatasync, -1), 0);
	CHECK_INT(syscall(SYS_fsync, -1), 0);
}

static void denies_clocks(void)
{
	struct timespec now;

	CHECK_ERRNO(syscall(SYS_settimeofday, BAD, BAD), EPERM);
	CHECK_ERRNO(syscall(SYS_clock_settime, -1, BAD), EPERM);
	CHECK_ERRNO(syscall(SYS_adjtimex, BAD), EPERM);
	CHECK_ERRNO(syscall(SYS_clock_adjtime, -1, BAD), EPERM);
	CHECK_INT(syscall(SYS_clock_gettime, CLOCK_REALTIME, &now), 0);
	CHECK_INT(opened(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)), 0);
}

static void denies_filters(void)
{
	struct sock_filter pass = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { 1, &pass };

	CHECK_ERRNO(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program), EPERM);
	CHECK_ERRNO(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program), EPERM);
	CHECK_ERRNO(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), EPERM);
	CHECK_ERRNO(seccomp_install(SECCOMP_BOX, NULL, 0), EPERM);
	CHECK_INT(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
}

static void prctl_is_a_list(void)
{
	CHECK_ERRNO(syscall(SYS_prctl, PR_SET_MM, 0, 0, 0, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_prctl, PR_SET_MM | HIGH, 0, 0, 0, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_prctl, 59, 0, 0, 0, 0),
		    EINVAL); /* PR_SET_SYSCALL_USER_DISPATCH: off, were it to pass */
	CHECK_ERRNO(syscall(SYS_prctl, 99999, 0, 0, 0, 0), EINVAL);
	CHECK_INT(prctl(PR_SET_NAME, "renamed"), 0);
	CHECK_INT(prctl(PR_SET_PDEATHSIG, 0), 0);
	CHECK_INT(prctl(PR_GET_DUMPABLE) >= 0, 1);
}

static void denies_other_identities(void)
{
	CHECK_ERRNO(syscall(SYS_setuid, 4242), EPERM);
	CHECK_ERRNO(syscall(SYS_setgid, 4242), EPERM);
	CHECK_ERRNO(syscall(SYS_setreuid, -1, 4242), EPERM);
	CHECK_ERRNO(syscall(SYS_setregid, 4242, -1), EPERM);
	CHECK_ERRNO(syscall(SYS_setresuid, 1000, 1000, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_setresgid, 0, -1, -1), EPERM);
	CHECK_ERRNO(syscall(SYS_setfsuid, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_setgroups, -1, BAD), EPERM);
	CHECK_INT(syscall(SYS_setresuid, -1, -1, -1), 0);
	CHECK_INT(syscall(SYS_setresgid, -1, -1, -1), 0);
	CHECK_INT(syscall(SYS_setreuid, -1, -1), 0);
	CHECK_ERRNO(syscall(SYS_setuid, -1), EINVAL);
}

static void personality_is_a_list(void)
{
	CHECK_ERRNO(personality(READ_IMPLIES_EXEC), EPERM);
	CHECK_ERRNO(personality(ADDR_NO_RANDOMIZE | MMAP_PAGE_ZERO), EPERM);
	CHECK_INT(personality(ADDR_NO_RANDOMIZE) >= 0, 1);
	CHECK_INT(personality(0xffffffff), ADDR_NO_RANDOMIZE);
	CHECK_INT(personality(0), ADDR_NO_RANDOMIZE);
}

static void denies_devices(void)
{
	CHECK_ERRNO(mknod(at("char"), S_IFCHR | 0600, makedev(1, 3)), EPERM);
	CHECK_ERRNO(mknod(at("block"), S_IFBLK | 0600, makedev(7, 0)), EPERM);
	CHECK_ERRNO(syscall(SYS_mknodat, -1, BAD, S_IFCHR | 0600, 0), EPERM);
	CHECK_INT(mkfifo(at("fifo"), 0600), 0);
	CHECK_INT(mknod(at("file"), S_IFREG | 0600, 0), 0);
	CHECK_INT(mknod(at("plain"), 0600, 0), 0);
	CHECK_INT(mknod(at("sock"), S_IFSOCK | 0600, 0), 0);
#ifdef SYS_mknod
	CHECK_ERRNO(syscall(SYS_mknod, BAD, S_IFBLK | 0600, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_mknod, BAD, S_IFIFO | 0600, 0), EFAULT);
#endif
	CHECK_ERRNO(syscall(SYS_renameat2, -1, BAD, -1, BAD, RENAME_WHITEOUT), EINVAL);
	CHECK_ERRNO(syscall(SYS_renameat2, -1, BAD, -1, BAD, 0), EFAULT);
	unlink(at("fifo"));
	unlink(at("file"));
	unlink(at("plain"));
	unlink(at("sock"));
}

static void denies_terminal_tricks(void)
{
	static const unsigned long requests[] = { TIOCSTI, TIOCLINUX, TIOCSETD, TIOCCONS, TIOCVHANGUP, 0xb701 };
	int ready, fds[2];

	CHECK_INT(pipe(fds), 0);
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		CHECK_ERRNO(syscall(SYS_ioctl, -1, requests[i], BAD), EPERM);
		CHECK_ERRNO(syscall(SYS_ioctl, -1, requests[i] | HIGH, BAD), EPERM); /* CVE-2019-10063 */
		CHECK_ERRNO(syscall(SYS_ioctl, -1, requests[i] | ~0UL << 32, BAD), EPERM);
	}
	CHECK_INT(ioctl(fds[0], FIONREAD, &ready), 0);
	CHECK_ERRNO(ioctl(fds[0], TCGETS, BAD), ENOTTY);
	CHECK_ERRNO(fcntl(fds[0], F_SETLEASE, F_RDLCK), EPERM);
	CHECK_ERRNO(fcntl(fds[0], F_NOTIFY, 0), EPERM);
	CHECK_INT(fcntl(fds[0], F_SETPIPE_SZ, 8192), 8192);
	CHECK_INT(close(fds[0]), 0);
	CHECK_INT(close(fds[1]), 0);
#ifdef SYS_vhangup
	CHECK_ERRNO(syscall(SYS_vhangup), EPERM);
#endif
}

static void sockets_are_a_list(void)
{
	static const int families[] = { AF_INET, AF_INET6 };
	static const int others[] = { AF_PACKET, AF_VSOCK, AF_ALG, AF_BLUETOOTH, AF_CAN, AF_TIPC, AF_KEY, AF_RDS };

	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		int family = families[i];

		CHECK_INT(opened(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)), 0);
		CHECK_INT(opened(socket(family, SOCK_STREAM | SOCK_NONBLOCK, IPPROTO_TCP)), 0);
		CHECK_INT(opened(socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_UDP)), 0);
		CHECK_ERRNO(opened(socket(family, SOCK_RAW, IPPROTO_ICMP)), EPERM);
		CHECK_ERRNO(opened(socket(family, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW)), EPERM);
		CHECK_ERRNO(opened(socket(family, SOCK_STREAM, IPPROTO_MPTCP)), EPROTONOSUPPORT);
		CHECK_ERRNO(opened(socket(family, SOCK_STREAM, IPPROTO_SCTP)), EPROTONOSUPPORT);
		CHECK_ERRNO(opened(socket(family, SOCK_DGRAM, IPPROTO_ICMP)), EAFNOSUPPORT);
		CHECK_ERRNO(opened(socket(family, SOCK_SEQPACKET, 0)), EAFNOSUPPORT);
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		CHECK_ERRNO(opened(socket(others[i], SOCK_DGRAM, 0)), EAFNOSUPPORT);
		CHECK_ERRNO(syscall(SYS_socket, (unsigned)others[i] | HIGH, SOCK_RAW, 0), EAFNOSUPPORT);
	}
	CHECK_INT(opened((int)syscall(SYS_socket, AF_UNIX | HIGH, SOCK_STREAM | HIGH, 0)), 0);
	CHECK_INT(opened(socket(AF_UNIX, SOCK_DGRAM, 0)), 0);
	CHECK_INT(opened(socket(AF_UNIX, SOCK_SEQPACKET, 0)), 0);
	CHECK_INT(opened(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)), 0);
	CHECK_ERRNO(opened(socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER)), EAFNOSUPPORT);
	CHECK_ERRNO(opened(socket(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT)), EAFNOSUPPORT);
	CHECK_ERRNO(syscall(SYS_socketpair, AF_TIPC, SOCK_STREAM, 0, BAD), EAFNOSUPPORT);
}

static void socket_options(void)
{
	static const int filters[] = { SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF,
				       SO_ATTACH_REUSEPORT_EBPF };
	static const struct {
		int level, option;
	} hoards[] = {
		{ IPPROTO_IPV6, IPV6_2292PKTOPTIONS },     { IPPROTO_IPV6, 32 /* IPV6_FLOWLABEL_MGR */ },
		{ IPPROTO_IPV6, IPV6_JOIN_GROUP },         { IPPROTO_IPV6, MCAST_JOIN_GROUP },
		{ IPPROTO_IPV6, MCAST_JOIN_SOURCE_GROUP }, { IPPROTO_TCP, TCP_MD5SIG },
		{ IPPROTO_TCP, TCP_MD5SIG_EXT },           { IPPROTO_TCP, 38 /* TCP_AO_ADD_KEY */ },
	};
	int pair[2], one = 1;

	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
		CHECK_ERRNO(setsockopt(pair[0], SOL_SOCKET, filters[i], BAD, 0), EPERM);
		CHECK_ERRNO(
			syscall(SYS_setsockopt, pair[0], SOL_SOCKET | HIGH, (unsigned long)filters[i] | HIGH, BAD, 0),
			EPERM);
	}
	/* Memory of the kernel that is charged to nobody; -1 is no socket, so that only the filter can have said it. */
	for (size_t i = 0; i < ARRAY_SIZE(hoards); i++) {
		CHECK_ERRNO(setsockopt(-1, hoards[i].level, hoards[i].option, BAD, 0), EPERM);
		CHECK_ERRNO(syscall(SYS_setsockopt, -1, (unsigned)hoards[i].level | HIGH,
				    (unsigned)hoards[i].option | HIGH, BAD, 0),
			    EPERM);
	}
	CHECK_ERRNO(setsockopt(-1, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)), EBADF);
	CHECK_ERRNO(setsockopt(-1, IPPROTO_IP, IP_ADD_MEMBERSHIP, &one, sizeof(one)), EBADF);
	CHECK_INT(setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)), 0);
	CHECK_INT(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &one, sizeof(one)), 0);
	close(pair[0]);
	close(pair[1]);
}

/* What one box notes in an inode another could read. */
static void hints_are_denied(void)
{
	uint64_t hint = 2;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	CHECK(fcntl(fd, F_GETFL) >= 0);
	CHECK_ERRNO(fcntl(fd, 1036, &hint), EPERM);
	CHECK_ERRNO(fcntl(fd, 1038, &hint), EPERM);
	close(fd);
}

static void limits_and_scheduling(void)
{
	struct sched_param none = { 0 }, one = { .sched_priority = 1 };
	struct rlimit limit, before;

	CHECK_INT(syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit), 0);
	CHECK_ERRNO(syscall(SYS_prlimit64, getpid(), RLIMIT_NOFILE, NULL, &limit), EPERM);
	/* Every limit may be set to what it is; that of core files stays as it is, where nobody listens who could
	 * judge. */
	for (int resource = 0; resource < RLIM_NLIMITS; resource++) {
		CHECK_INT(syscall(SYS_prlimit64, 0, resource, NULL, &limit), 0);
		CHECK_INT(syscall(SYS_prlimit64, 0, resource, &limit, NULL), 0);
	}
	CHECK_INT(syscall(SYS_prlimit64, 0, RLIMIT_CORE, NULL, &before), 0);
	limit = (struct rlimit){ 0 };
	CHECK_INT(syscall(SYS_prlimit64, 0, RLIMIT_CORE, &limit, NULL), 0);
	CHECK_INT(syscall(SYS_setrlimit, RLIMIT_CORE, BAD), 0);
	CHECK_INT(syscall(SYS_prlimit64, 0, RLIMIT_CORE, NULL, &limit), 0);
	CHECK(limit.rlim_cur == before.rlim_cur && limit.rlim_max == before.rlim_max);
	CHECK_ERRNO(syscall(SYS_prlimit64, getpid(), RLIMIT_CORE, &limit, NULL), EPERM);
	CHECK_ERRNO(sched_setscheduler(0, SCHED_FIFO, &one), EPERM);
	CHECK_ERRNO(sched_setscheduler(0, SCHED_RR, BAD), EPERM);
	CHECK_ERRNO(sched_setparam(0, BAD), EPERM);
	CHECK_ERRNO(syscall(SYS_sched_setattr, 0, BAD, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_ioprio_set, -1, 0, 0), EPERM);
	CHECK_INT(sched_setscheduler(0, SCHED_BATCH, &none), 0);
	CHECK_INT(sched_setscheduler(0, SCHED_OTHER, &none), 0);
	CHECK_INT(setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0)), 0);
}

static void memory(void)
{
	void *map;
	int id;

	CHECK_ERRNO(syscall(SYS_mmap, NULL, 0, 0, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_memfd_create, BAD, MFD_HUGETLB), EPERM);
	CHECK_ERRNO(syscall(SYS_shmget, IPC_PRIVATE, 0, SHM_HUGETLB), EPERM);
	CHECK_ERRNO(syscall(SYS_mbind, NULL, 0, -1, BAD, 0, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_set_mempolicy, -1, BAD, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_migrate_pages, 0, 0, BAD, BAD), EPERM);
	CHECK_ERRNO(syscall(SYS_move_pages, 0, 1, BAD, BAD, BAD, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_memfd_secret, -1), ENOSYS);
	map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(map != MAP_FAILED);
	CHECK_ERRNO(madvise(map, 4096, MADV_MERGEABLE), EINVAL);
	CHECK_INT(madvise(map, 4096, MADV_DONTNEED), 0);
	CHECK_INT(munmap(map, 4096), 0);
	CHECK_INT(opened(memfd_create("x", MFD_CLOEXEC)), 0);
	id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
	CHECK(id >= 0);
	CHECK_INT(shmctl(id, IPC_RMID, NULL), 0);
}

static void unknown_calls(void)
{
	CHECK_ERRNO(syscall(9999), ENOSYS);
	CHECK_ERRNO(syscall(-1), ENOSYS);
	CHECK_ERRNO(syscall(457, BAD, BAD, 0, 0), ENOSYS); /* statmount: newer than the list */
	CHECK_INT(syscall(SYS_getpid), getpid());
}

#ifdef __x86_64__
static long int80(long number)
{
	long result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(0), "c"(0), "d"(0) : "memory", "cc");
	return result;
}

#define I386_GETPID 20

static void other_architectures(void)
{
	CHECK_ERRNO(syscall(0x40000000 | SYS_getpid), ENOSYS);
	CHECK_ERRNO(syscall(0x40000000 | SYS_mount, BAD, BAD, BAD, 0, NULL), ENOSYS);
	if (int80_works)
		CHECK_INT(int80(I386_GETPID), -ENOSYS);
}

/* A kernel without the 32-bit entry kills: tried in a child. */
static bool int80_try(void)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		_exit(int80(I386_GETPID) == getpid() ? 0 : 1);
	return waitpid(pid, &status, __WALL) == pid && status == 0;
}
#endif

static void child_box(void)
{
	printf("# under SECCOMP_BOX\n");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || seccomp_install(SECCOMP_BOX, NULL, 0) != 0) {
		check_fail("seccomp_install: %s", strerror(errno));
		return;
	}
	RUN(mode_is_filter);
	RUN(denies_mounts);
	RUN(denies_namespaces);
	RUN(allows_processes_and_threads);
	RUN(denies_other_processes);
	RUN(denies_the_administrators_calls);
	RUN(denies_clocks);
	RUN(denies_filters);
	RUN(prctl_is_a_list);
	RUN(denies_other_identities);
	RUN(personality_is_a_list);
	RUN(denies_devices);
	RUN(denies_terminal_tricks);
	RUN(sockets_are_a_list);
	RUN(socket_options);
	RUN(hints_are_denied);
	RUN(limits_and_scheduling);
	RUN(memory);
	RUN(unknown_calls);
#ifdef __x86_64__
	RUN(other_architectures);
	if (!int80_works)
		check_skip("int80", "this kernel has no 32-bit entry");
#endif
	check_failed = check_failures > 0;
}

static void accounted_denies_hidden_memory(void)
{
	int pair[2], fds[2], size = 1 << 20;
	void *map;

	CHECK_ERRNO(memfd_create("x", 0), ENOSYS);
	CHECK_ERRNO(shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600), ENOSYS);
	CHECK_ERRNO(syscall(SYS_msgget, IPC_PRIVATE, 0600), ENOSYS);
	CHECK_ERRNO(syscall(SYS_semget, IPC_PRIVATE, 1, 0600), ENOSYS);
	CHECK_ERRNO(syscall(SYS_mq_open, "x", O_RDONLY, 0, NULL), ENOSYS);
	CHECK_ERRNO(splice(-1, NULL, -1, NULL, 1, 0), EINVAL);
	CHECK_ERRNO(tee(-1, -1, 1, 0), EINVAL);
	CHECK_ERRNO(vmsplice(-1, BAD, 1, 0), EPERM);
	CHECK_INT(pipe(fds), 0);
	CHECK_ERRNO(fcntl(fds[0], F_SETPIPE_SZ, 8192), EPERM);
	CHECK_INT(fcntl(fds[0], F_GETPIPE_SZ) > 0, 1);
	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	CHECK_ERRNO(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), EPERM);
	CHECK_ERRNO(setsockopt(pair[0], SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)), EPERM);
	CHECK_INT(setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &(int){ 1 }, sizeof(int)), 0);
	CHECK_ERRNO(syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_POPULATE,
			    -1, 0),
		    EPERM);
	map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(map != MAP_FAILED);
	CHECK_ERRNO(syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_SHARED, -1, 0), EBADF);
	/* The other filter still holds. */
	CHECK_ERRNO(syscall(SYS_mount, BAD, BAD, BAD, 0, NULL), EPERM);
	CHECK_ERRNO(setsockopt(pair[0], SOL_SOCKET, SO_ATTACH_FILTER, BAD, 0), EPERM);
	CHECK_ERRNO(syscall(9999), ENOSYS);
}

static void child_accounted(void)
{
	CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_INT(seccomp_install(SECCOMP_ACCOUNTED, NULL, 0), 0);
	CHECK_INT(seccomp_install(SECCOMP_BOX, NULL, 0), 0);
	accounted_denies_hidden_memory();
}

static void accounted(void)
{
	in_child(child_accounted);
}

/* No memory is both written and executed; controls beside each. */
static void child_restricted(void)
{
	void *map;

	CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_INT(seccomp_install(SECCOMP_RESTRICTED, NULL, 0), 0);
	CHECK_INT(seccomp_install(SECCOMP_BOX, NULL, 0), 0);
	CHECK_ERRNO(syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE, -1, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, -1, 0), EBADF);
	map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(map != MAP_FAILED);
	CHECK_ERRNO(mprotect(map, 4096, PROT_READ | PROT_EXEC), EPERM);
	CHECK_INT(mprotect(map, 4096, PROT_READ), 0);
	CHECK_ERRNO(syscall(SYS_memfd_create, "x", 0), EPERM);
	CHECK_ERRNO(syscall(SYS_mount, BAD, BAD, BAD, 0, NULL), EPERM);
}

static void restricted(void)
{
	in_child(child_restricted);
}

/* What is added is allowed, for this machine's own calls, and nothing else. */
static void child_additions(void)
{
	const int calls[] = { seccomp_call_number("inotify_init1"), seccomp_call_number("msgget") };

	CHECK_INT(calls[0], SYS_inotify_init1);
	CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_INT(seccomp_install(SECCOMP_ACCOUNTED, calls, 2), 0);
	CHECK_INT(seccomp_install(SECCOMP_BOX, calls, 2), 0);
	CHECK(syscall(SYS_inotify_init1, 0) >= 0);
	CHECK_ERRNO(syscall(SYS_inotify_init1, ~0), EINVAL);
	CHECK_ERRNO(syscall(SYS_inotify_add_watch, -1, "/", 1), ENOSYS);
	CHECK_ERRNO(syscall(SYS_semget, 1, 1, 0), ENOSYS);
	CHECK_ERRNO(syscall(SYS_mount, BAD, BAD, BAD, 0, NULL), EPERM);
#ifdef __x86_64__
	CHECK_ERRNO(syscall(SYS_inotify_init1 | 0x40000000, 0), ENOSYS);
#endif
}

static void additions(void)
{
	const int many[SECCOMP_CALLS_MAX + 1] = { 0 };

	CHECK_ERRNO(seccomp_install(SECCOMP_BOX, many, SECCOMP_CALLS_MAX + 1), E2BIG);
	CHECK_ERRNO(seccomp_call_number("ptrace"), EPERM);
	CHECK_ERRNO(seccomp_call_number("no_such_call"), EINVAL);
	CHECK_STR(seccomp_call_name(SYS_read), "read");
	CHECK(seccomp_denies(SECCOMP_BOX, "inotify_init1") && !seccomp_denies(SECCOMP_BOX, "socket"));
	CHECK(seccomp_denies(SECCOMP_ACCOUNTED, "shmget") && !seccomp_denies(SECCOMP_ACCOUNTED, "read"));
	in_child(child_additions);
}

/* The two calls reach the kernel, which knows no such descriptor, for the numbers of the gate and for no others. */
static void child_gated(void)
{
	static const int others[] = { -1, 0, 3, SECCOMP_GATE - 1, SECCOMP_GATE + SECCOMP_GATE_FDS, 2 * SECCOMP_GATE };
	int landlock_errno; /* what the kernel itself says; ENOSYS where it has no Landlock */

	CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_INT(syscall(SYS_landlock_restrict_self, SECCOMP_GATE, ~0U), -1);
	landlock_errno = errno;
	CHECK_INT(seccomp_install_gated(NULL, 0), 0);
	for (int fd = SECCOMP_GATE; fd < SECCOMP_GATE + SECCOMP_GATE_FDS; fd++) {
		CHECK_ERRNO(syscall(SYS_setns, fd, 0), EBADF);
		CHECK_ERRNO(syscall(SYS_setns, (unsigned)fd | HIGH, 0), EBADF);
		CHECK(syscall(SYS_landlock_restrict_self, fd, ~0U) == -1 && errno == landlock_errno);
		CHECK(syscall(SYS_landlock_restrict_self, (unsigned)fd | HIGH, ~0U) == -1 && errno == landlock_errno);
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		CHECK_ERRNO(syscall(SYS_setns, others[i], 0), EPERM);
		CHECK_ERRNO(syscall(SYS_setns, (unsigned)others[i] | HIGH, 0), EPERM);
		CHECK_ERRNO(syscall(SYS_landlock_restrict_self, others[i], ~0U), ENOSYS);
		CHECK_ERRNO(syscall(SYS_landlock_restrict_self, (unsigned)others[i] | HIGH, ~0U), ENOSYS);
	}
	/* The rest of the filter is that of a box. */
	CHECK_ERRNO(syscall(SYS_landlock_create_ruleset, SECCOMP_GATE, 0, 0), ENOSYS);
	CHECK_ERRNO(syscall(SYS_mount, BAD, BAD, BAD, 0, NULL), EPERM);
	CHECK_ERRNO(syscall(SYS_unshare, CLONE_NEWUSER), EPERM);
	CHECK_ERRNO(syscall(9999), ENOSYS);
	CHECK_INT(syscall(SYS_getpid), getpid());
#ifdef __x86_64__
	CHECK_ERRNO(syscall(SYS_setns | 0x40000000, SECCOMP_GATE, 0), ENOSYS);
	if (int80_works)
		CHECK_INT(int80(I386_GETPID), -ENOSYS);
#endif
}

/* With calls that a language adds behind it, as many as there may be. */
static void child_gated_with_additions(void)
{
	int calls[SECCOMP_CALLS_MAX];

	for (size_t i = 0; i < SECCOMP_CALLS_MAX; i++)
		calls[i] = SYS_inotify_init1;
	CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_ERRNO(seccomp_install_gated(calls, SECCOMP_CALLS_MAX + 1), E2BIG);
	CHECK_INT(seccomp_install_gated(calls, SECCOMP_CALLS_MAX), 0);
	CHECK_ERRNO(syscall(SYS_inotify_init1, ~0), EINVAL);
	CHECK_ERRNO(syscall(SYS_setns, SECCOMP_GATE, 0), EBADF);
	CHECK_ERRNO(syscall(SYS_setns, 3, 0), EPERM);
	CHECK_ERRNO(syscall(SYS_inotify_add_watch, -1, "/", 1), ENOSYS);
}

static void gate(void)
{
	in_child(child_gated);
	in_child(child_gated_with_additions);
}

static void child_without_no_new_privs(void)
{
	CHECK_ERRNO(seccomp_install(SECCOMP_BOX, NULL, 0), EACCES);
	CHECK_INT(seccomp_mode(), 0);
}

static void needs_no_new_privs(void)
{
	in_child(child_without_no_new_privs);
}

static void unknown_profile(void)
{
	CHECK_ERRNO(seccomp_install((enum seccomp_profile)99, NULL, 0), EINVAL);
	CHECK_INT(seccomp_mode(), 0);
}

static void box(void)
{
	in_child(child_box);
}

int main(int argc, char **argv)
{
	enum as_mode mode = as_enter(argc, argv);

	if (!mkdtemp(place)) {
		perror(place);
		return 1;
	}
#ifdef __x86_64__
	int80_works = int80_try();
#endif
	RUN(unknown_profile);
	if (mode == AS_USER)
		RUN(needs_no_new_privs);
	RUN(box);
	RUN(accounted);
	RUN(restricted);
	RUN(additions);
	RUN(gate);
	rmdir(place);
	return check_failures ? 1 : 0;
}
