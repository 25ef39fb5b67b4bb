#include "kernel/seccomp.h"

#include "base/fd.h"
#include "base/own.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Made by tools/seccomp_gen.c: seccomp_filter_box and seccomp_filter_accounted. */
#include "seccomp_filter.inc"

#if defined(__x86_64__)
#define SECCOMP_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define SECCOMP_ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv)
#define SECCOMP_ARCH AUDIT_ARCH_RISCV64
#else
#error "name this machine for the filter's additions"
#endif

/* Headers older than the kernels that it meets. */
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

/* The conditions are the generator's; here is what a person reads. */
#define RULE(profile, name, act, why)            { .syscall = #name, .action = #act, .reason = why },
#define WHEN(profile, name, act, text, why, ...) { .syscall = #name, .action = #act " " text, .reason = why },
#define ELSE(profile, name, act, why)            { .syscall = #name, .action = #act " otherwise", .reason = why },

static const struct seccomp_rule rules[] = {
#include "kernel/seccomp_rules.def"
};
#undef RULE
#undef WHEN
#undef ELSE

#define RULE(profile, ...) SECCOMP_##profile,
#define WHEN(profile, ...) SECCOMP_##profile,
#define ELSE(profile, ...) SECCOMP_##profile,

static const unsigned char rule_profiles[] = {
#include "kernel/seccomp_rules.def"
};
#undef RULE
#undef WHEN
#undef ELSE

/*
 * In front of the filter, for this machine's own calls: the additions. One
 * comparison each; x32 numbers have a bit that none of them has.
 */
static size_t put_additions(struct sock_filter *code, const int *calls, size_t count, uint32_t arch)
{
	size_t n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, arch, 0, (unsigned char)(2 * count + 1));
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < count; i++) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	return n;
}

enum {
	PREFIX_MAX = 16 + 2 * SECCOMP_CALLS_MAX /* instructions in front of a filter */
};

/* Before the additions: the two calls of a gate, by the low half of their first argument, which is an int. */
static size_t put_gate(struct sock_filter *code, uint32_t arch)
{
	const uint32_t low = offsetof(struct seccomp_data, args[0]) + (__BYTE_ORDER == __BIG_ENDIAN ? 4 : 0);
	const struct sock_filter gate[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, arch, 0, 7),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_setns, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_landlock_restrict_self, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, low),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ~(uint32_t)(SECCOMP_GATE_FDS - 1)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SECCOMP_GATE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	memcpy(code, gate, sizeof(gate));
	return ARRAY_SIZE(gate);
}

#define FILTER(code)                                                                                                   \
	{                                                                                                              \
		.len = ARRAY_SIZE(code), .filter = (struct sock_filter *)(code)                                        \
	}

/* The largest of the filters with a prefix; on the stack, because after clone nothing is allocated. No TSYNC: there is
 * one thread. No SPEC_ALLOW: speculation stays as the kernel mitigates it. 0, or the listener. */
static int install_with(struct sock_fprog base, bool gated, const int *calls, size_t count, unsigned flags)
{
	union {
		char box[sizeof(seccomp_filter_box)];
		char told[sizeof(seccomp_filter_box_told)];
		char counted[sizeof(seccomp_filter_box_counted)];
		char accounted[sizeof(seccomp_filter_accounted)];
	} * largest;
	enum {
		MOST = sizeof(*largest) / sizeof(struct sock_filter)
	};
	struct sock_filter code[PREFIX_MAX + MOST];
	struct sock_fprog program = { .filter = code };
	size_t n = 0;

	if (count == 0 && !gated)
		return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &base);
	if (count > SECCOMP_CALLS_MAX || base.len > MOST) {
		errno = E2BIG;
		return -1;
	}
	if (gated)
		n += put_gate(code, SECCOMP_ARCH);
	if (count > 0)
		n += put_additions(code + n, calls, count, SECCOMP_ARCH);
	memcpy(code + n, base.filter, base.len * sizeof(*code));
	program.len = (unsigned short)(n + base.len);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

int seccomp_install_gated(const int *calls, size_t count)
{
	const struct sock_fprog box = FILTER(seccomp_filter_box);

	return install_with(box, true, calls, count, 0);
}

/* A call that was heard of is not interrupted by signals: it would be made again, and told again. */
int seccomp_install_heard(bool gated, const int *calls, size_t count)
{
	const struct sock_fprog told = FILTER(seccomp_filter_box_told), counted = FILTER(seccomp_filter_box_counted);
	const unsigned flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;

	return install_with(gated ? counted : told, gated, calls, count, flags);
}

/* As the rules have it that judge. Who wants the old ones back as well is refused: we write into no program. */
static uint64_t limits_of(const struct seccomp_data *data)
{
	if (data->nr == SYS_prlimit64 && (uint32_t)data->args[0] == 0 && (uint32_t)data->args[1] == RLIMIT_CORE &&
	    data->args[3] == 0)
		return data->args[2];
#ifdef SYS_setrlimit
	if (data->nr == SYS_setrlimit && (uint32_t)data->args[0] == RLIMIT_CORE)
		return data->args[1];
#endif
	return 0;
}

int seccomp_hear(int listener, struct seccomp_heard *heard)
{
	struct pollfd waiting = { .fd = listener, .events = POLLIN };
	struct seccomp_notif told = { 0 };

	if (poll(&waiting, 1, 0) <= 0)
		return 0;
	if (!(waiting.revents & POLLIN))
		return -1;
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &told) < 0)
		return 0;
	*heard = (struct seccomp_heard){ .id = told.id,
					 .pid = (int)told.pid,
					 .call = told.data.nr,
					 .netlink = told.data.nr == SYS_socket &&
						    (uint32_t)told.data.args[0] == AF_NETLINK,
					 .limits = limits_of(&told.data) };
	if (told.data.nr == SYS_sched_getaffinity) {
		heard->cores_of = (int)told.data.args[0];
		heard->cores_size = (uint32_t)told.data.args[1];
		heard->cores = told.data.args[2];
	}
	return 1;
}

bool seccomp_waits(int listener, const struct seccomp_heard *heard)
{
	return ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &(uint64_t){ heard->id }) == 0;
}

bool seccomp_is_socket(const struct seccomp_heard *heard)
{
	return heard->call == SYS_socket || heard->call == SYS_socketpair;
}

void seccomp_let_go_on(int listener, const struct seccomp_heard *heard)
{
	struct seccomp_notif_resp answer = { .id = heard->id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };

	/* Who is dead meanwhile needs no answer. */
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

bool seccomp_pretend_lower(int listener, const struct seccomp_heard *heard)
{
	struct seccomp_notif_resp answer = { .id = heard->id };
	_cleanup_close_ int memory = -1;
	uint64_t limits[2];
	char path[32];

	if (heard->limits == 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/mem", heard->pid);
	memory = open(path, O_RDONLY | O_CLOEXEC);
	/* Another could have its number by now: not while the call waits. */
	if (memory < 0 || pread(memory, limits, sizeof(limits), (off_t)heard->limits) != sizeof(limits) ||
	    !seccomp_waits(listener, heard) || limits[0] > 1 || limits[1] > 1)
		return false;
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	return true;
}

/* "NETLINK 1128 7 …": a protocol, the size of its sockets, how many there are. Those that are in flight count. */
static long count_netlink(int pid)
{
	char path[40], text[16384], *line;

	snprintf(path, sizeof(path), "/proc/%d/net/protocols", pid);
	if (fd_slurp(AT_FDCWD, path, text, sizeof(text)) <= 0 || !(line = strstr(text, "\nNETLINK ")))
		return -1;
	line += strlen("\nNETLINK ");
	strtol(line, &line, 10);
	return strtol(line, NULL, 10);
}

bool seccomp_let_netlink(int listener, const struct seccomp_heard *heard)
{
	struct seccomp_notif_resp answer = { .id = heard->id, .error = -ENOBUFS };
	const long there = count_netlink(heard->pid);

	/* What cannot be counted is refused. */
	if (there >= 0 && there < SECCOMP_NETLINK_MAX && seccomp_waits(listener, heard)) {
		seccomp_let_go_on(listener, heard);
		return true;
	}
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	return false;
}

/* Whether a number that its box has for a thread is its own: the last of those that /proc tells. */
static bool is_own_number(int pid, int number)
{
	char path[32], text[4096], *line;
	int last = -1;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (fd_slurp(AT_FDCWD, path, text, sizeof(text)) <= 0 || !(line = strstr(text, "\nNSpid:")))
		return false;
	line += strlen("\nNSpid:");
	while (*line == '\t')
		last = (int)strtol(line + 1, &line, 10);
	return last == number;
}

bool seccomp_tell_cores(int listener, const struct seccomp_heard *heard, unsigned cores)
{
	struct seccomp_notif_resp answer = { .id = heard->id };
	_cleanup_close_ int memory = -1;
	cpu_set_t all, some;
	unsigned found = 0;
	char path[32];
	long size;

	if (heard->cores == 0 || cores == 0 || (heard->cores_of != 0 && !is_own_number(heard->pid, heard->cores_of)))
		return false;
	CPU_ZERO(&some);
	CPU_ZERO(&all);
	/* Not the C library's: how many bytes the kernel has is a part of the answer, and which size it refuses. */
	size = syscall(SYS_sched_getaffinity, heard->pid,
		       heard->cores_size < sizeof(all) ? heard->cores_size : sizeof(all), &all);
	if (size <= 0)
		return false;
	for (int i = 0; i < (int)size * 8 && found <= cores; i++)
		if (CPU_ISSET(i, &all) && found++ < cores)
			CPU_SET(i, &some);
	if (found <= cores)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/mem", heard->pid);
	memory = open(path, O_WRONLY | O_CLOEXEC);
	/* Another could have its number by now: not while the call waits. */
	if (memory < 0 || !seccomp_waits(listener, heard) ||
	    pwrite(memory, &some, (size_t)size, (off_t)heard->cores) != size)
		return false;
	answer.val = size;
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	return true;
}

void seccomp_refuse(int listener, const struct seccomp_heard *heard)
{
	struct seccomp_notif_resp answer = { .id = heard->id, .error = -EPERM };

	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

int seccomp_install(enum seccomp_profile profile, const int *calls, size_t count)
{
	static const struct sock_fprog filters[] = {
		[SECCOMP_BOX] = FILTER(seccomp_filter_box),
		[SECCOMP_ACCOUNTED] = FILTER(seccomp_filter_accounted),
		[SECCOMP_RESTRICTED] = FILTER(seccomp_filter_restricted),
		[SECCOMP_UNHEARD] = FILTER(seccomp_filter_unheard),
		[SECCOMP_FRONT] = FILTER(seccomp_filter_front),
		[SECCOMP_STORE] = FILTER(seccomp_filter_store),
	};

	if ((size_t)profile >= ARRAY_SIZE(filters)) {
		errno = EINVAL;
		return -1;
	}
	return install_with(filters[profile], false, calls, count, 0);
}

/* What a definition cannot ask for: ways out of a box, or levers on the host. */
static const char *const never[] = {
	"acct",
	"capset",
	"fanotify_mark",
	"lsm_set_self_attr",
	"memfd_secret",
	"migrate_pages",
	"modify_ldt",
	"open_tree_attr",
	"process_mrelease",
	"add_key",
	"adjtimex",
	"bpf",
	"chroot",
	"clock_adjtime",
	"clock_settime",
	"clone3",
	"create_module",
	"delete_module",
	"fanotify_init",
	"finit_module",
	"fsconfig",
	"fsmount",
	"fsopen",
	"fspick",
	"init_module",
	"io_uring_enter",
	"io_uring_register",
	"io_uring_setup",
	"ioperm",
	"iopl",
	"kcmp",
	"kexec_file_load",
	"kexec_load",
	"keyctl",
	"landlock_restrict_self",
	"lookup_dcookie",
	"mount",
	"mount_setattr",
	"move_mount",
	"move_pages",
	"name_to_handle_at",
	"nfsservctl",
	"open_by_handle_at",
	"open_tree",
	"perf_event_open",
	"pidfd_getfd",
	"pivot_root",
	"process_madvise",
	"process_vm_readv",
	"process_vm_writev",
	"ptrace",
	"quotactl",
	"quotactl_fd",
	"reboot",
	"request_key",
	"seccomp",
	"setdomainname",
	"setfsgid",
	"setfsuid",
	"setgid",
	"setgroups",
	"sethostname",
	"setns",
	"setregid",
	"setresgid",
	"setresuid",
	"setreuid",
	"settimeofday",
	"setuid",
	"stime",
	"swapoff",
	"swapon",
	"syslog",
	"umount",
	"umount2",
	"unshare",
	"uselib",
	"userfaultfd",
	"ustat",
	"vhangup",
	"vm86",
	"vm86old",
};

int seccomp_call_number(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(never); i++) {
		if (strcmp(never[i], name) == 0) {
			errno = EPERM;
			return -1;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(seccomp_calls); i++)
		if (strcmp(seccomp_calls[i].name, name) == 0) {
			errno = ENOSYS;
			return seccomp_calls[i].number;
		}
	errno = EINVAL;
	return -1;
}

const char *seccomp_call_name(int number)
{
	for (size_t i = 0; i < ARRAY_SIZE(seccomp_calls); i++)
		if (seccomp_calls[i].number == number)
			return seccomp_calls[i].name;
	return "?";
}

bool seccomp_denies(enum seccomp_profile profile, const char *name)
{
	/* What these filters do not name they deny; the others deny only what they name. */
	bool denies = profile == SECCOMP_BOX || profile == SECCOMP_FRONT || profile == SECCOMP_STORE;

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (rule_profiles[i] != profile || strcmp(rules[i].syscall, name) != 0)
			continue;
		if (strncmp(rules[i].action, "allow", 5) == 0 || strcmp(rules[i].action, "cores") == 0)
			return false;
		denies = true;
	}
	return denies;
}

int seccomp_mode(void)
{
	return prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
}

const struct seccomp_rule *seccomp_rule_at(enum seccomp_profile profile, size_t index)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (rule_profiles[i] == profile && index-- == 0)
			return &rules[i];
	}
	return NULL;
}
