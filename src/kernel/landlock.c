#include "kernel/landlock.h"

#include "base/own.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The headers of distributions lag behind kernels, so everything added after ABI 1 is defined here. */
#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15)
#endif
#ifndef LANDLOCK_ACCESS_NET_BIND_TCP
#define LANDLOCK_ACCESS_NET_BIND_TCP    (1ULL << 0)
#define LANDLOCK_ACCESS_NET_CONNECT_TCP (1ULL << 1)
#endif
#ifndef LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
#define LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0)
#define LANDLOCK_SCOPE_SIGNAL               (1ULL << 1)
#endif
#ifndef LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF
#define LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF  (1U << 0)
#define LANDLOCK_RESTRICT_SELF_LOG_SUBDOMAINS_OFF (1U << 2)
#endif

/* struct landlock_ruleset_attr as of ABI 6; older kernels get its beginning. */
struct ruleset_attr {
	uint64_t fs;     /* file system rights that are denied unless a rule grants them */
	uint64_t net;    /* ABI 4: TCP ports; not restricted in a box */
	uint64_t scoped; /* ABI 6: signals and abstract sockets that reach only the own domain */
};

#define RIGHTS_READ (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define RIGHTS_WRITE                                                                                                   \
	(RIGHTS_READ | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                                 \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |                  \
	 LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM |                   \
	 LANDLOCK_ACCESS_FS_REFER | LANDLOCK_ACCESS_FS_TRUNCATE)
#define RIGHTS_DEVICE                                                                                                  \
	(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE |                  \
	 LANDLOCK_ACCESS_FS_IOCTL_DEV)
/* Handled and never granted: a device file would be the host's hardware. */
#define RIGHTS_NONE (LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK)
/* The rights that the kernel accepts in a rule for a file. */
#define RIGHTS_FILE (LANDLOCK_ACCESS_FS_EXECUTE | RIGHTS_DEVICE)

static const uint64_t access_rights[] = {
	[LANDLOCK_READ] = RIGHTS_READ,
	[LANDLOCK_WRITE] = RIGHTS_WRITE,
	[LANDLOCK_DEVICE] = RIGHTS_DEVICE,
};

/* All rights that the ABI knows. The kernel returns EINVAL for others. */
static uint64_t abi_rights(int abi)
{
	uint64_t rights = RIGHTS_READ | RIGHTS_WRITE | RIGHTS_DEVICE | RIGHTS_NONE;

	if (abi < 2)
		rights &= ~LANDLOCK_ACCESS_FS_REFER; /* Linux 5.19; before it, moving between directories is always
							denied. */
	if (abi < 3)
		rights &= ~LANDLOCK_ACCESS_FS_TRUNCATE; /* Linux 6.2 */
	if (abi < 5)
		rights &= ~LANDLOCK_ACCESS_FS_IOCTL_DEV; /* Linux 6.10 */
	return rights;
}

int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return abi > 0 ? (int)abi : 0;
}

static int ruleset_make(int abi, uint64_t net)
{
	struct ruleset_attr attr = { .fs = abi_rights(abi), .net = net };
	size_t size = sizeof(attr.fs);

	if (net)
		size += sizeof(attr.net);
	if (abi >= 6) { /* Linux 6.12 */
		attr.scoped = LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | LANDLOCK_SCOPE_SIGNAL;
		size = sizeof(attr);
	}
	return (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
}

static int ruleset_allow(int ruleset, const struct landlock_rule *rule, int abi)
{
	_cleanup_close_ int fd = open(rule->path, O_PATH | O_CLOEXEC);
	struct landlock_path_beneath_attr beneath = { .parent_fd = fd };
	struct stat st;

	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	if (fstat(fd, &st) != 0)
		return -1;
	beneath.allowed_access = access_rights[rule->access] & abi_rights(abi);
	if (!S_ISDIR(st.st_mode))
		beneath.allowed_access &= RIGHTS_FILE;
	return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0) == 0 ? 0 : -1;
}

int landlock_ruleset(const struct landlock_rule *rules, size_t count, int abi)
{
	_cleanup_close_ int ruleset = -1;

	if (abi < 1) {
		errno = ENOSYS;
		return -1;
	}
	ruleset = ruleset_make(abi, 0);
	if (ruleset < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		if (ruleset_allow(ruleset, &rules[i], abi) != 0)
			return -1;
	}
	return take_fd(&ruleset);
}

int landlock_enter(int ruleset, int abi)
{
	/* ABI 7 (Linux 6.15) logs denials to the host's audit log, which a box could fill (P9). */
	unsigned flags =
		abi < 7 ? 0 : LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF | LANDLOCK_RESTRICT_SELF_LOG_SUBDOMAINS_OFF;

	return syscall(SYS_landlock_restrict_self, ruleset, flags) == 0 ? 0 : -1;
}

int landlock_restrict(const struct landlock_rule *rules, size_t count, int abi)
{
	_cleanup_close_ int ruleset = landlock_ruleset(rules, count, abi);

	return ruleset < 0 ? -1 : landlock_enter(ruleset, abi);
}

int landlock_seal(int abi, bool connects)
{
	/* Linux 6.7 */
	uint64_t net = LANDLOCK_ACCESS_NET_BIND_TCP | (connects ? 0 : LANDLOCK_ACCESS_NET_CONNECT_TCP);
	_cleanup_close_ int ruleset = ruleset_make(abi, abi < 4 ? 0 : net);

	return ruleset < 0 ? -1 : landlock_enter(ruleset, abi);
}
