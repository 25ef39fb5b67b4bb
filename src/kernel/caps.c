#include "kernel/caps.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's sets are 64 bits wide. It returns EINVAL for a number that it does not use yet. */
#define CAPS_MAX 64

/* A set-user-ID root program or a change of uid restores no capability, and ambient ones cannot be raised. The flags
 * are locked. */
#define CAPS_SECUREBITS                                                                                                \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |               \
	 SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

static int caps_get(struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3, .pid = 0 };

	return syscall(SYS_capget, &header, data) == 0 ? 0 : -1;
}

static int caps_set(const struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3, .pid = 0 };

	return syscall(SYS_capset, &header, data) == 0 ? 0 : -1;
}

/* EINVAL: Linux before 4.3 has no ambient set. */
static int ambient_clear(void)
{
	return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0 || errno == EINVAL ? 0 : -1;
}

static int bounding_limit(uint64_t keep)
{
	for (unsigned long cap = 0; cap < CAPS_MAX; cap++) {
		int there = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);

		if (there < 0)
			break; /* EINVAL: above the kernel's last capability. */
		if (there > 0 && !(keep >> cap & 1) && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0)
			return -1;
	}
	return 0;
}

static int securebits_lock(void)
{
	int bits = prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);

	if (bits < 0)
		return -1;
	return bits == CAPS_SECUREBITS ? 0 : prctl(PR_SET_SECUREBITS, CAPS_SECUREBITS, 0, 0, 0);
}

/* The sets come last, because the bounding set and securebits need CAP_SETPCAP. */
int caps_drop(void)
{
	static const struct __user_cap_data_struct none[2];

	if (bounding_limit(0) != 0 || ambient_clear() != 0 || securebits_lock() != 0)
		return -1;
	return caps_set(none);
}

int caps_limit(uint64_t keep)
{
	struct __user_cap_data_struct data[2] = { 0 };

	if (caps_has(CAP_SETPCAP) && (bounding_limit(keep) != 0 || securebits_lock() != 0))
		return -1;
	if (ambient_clear() != 0 || caps_get(data) != 0)
		return -1;
	for (int i = 0; i < 2; i++) {
		data[i].permitted &= (uint32_t)(keep >> 32 * i);
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	return caps_set(data);
}

int caps_within(uint64_t keep)
{
	struct __user_cap_data_struct data[2] = { 0 };

	if (caps_get(data) != 0)
		return -1;
	for (int i = 0; i < 2; i++) {
		if ((data[i].effective | data[i].permitted) & ~(uint32_t)(keep >> 32 * i) || data[i].inheritable) {
			errno = EPERM;
			return -1;
		}
	}
	return 0;
}

int caps_prove(void)
{
	struct __user_cap_data_struct data[2] = { 0 };

	if (caps_get(data) != 0)
		return -1;
	for (int i = 0; i < 2; i++) {
		if (data[i].effective || data[i].permitted || data[i].inheritable)
			goto held;
	}
	for (unsigned long cap = 0; cap < CAPS_MAX; cap++) {
		int there = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);

		if (there < 0)
			break;
		if (there > 0 || prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap, 0, 0) > 0)
			goto held;
	}
	return 0;
held:
	errno = EPERM;
	return -1;
}

int caps_has(int capability)
{
	struct __user_cap_data_struct data[2] = { 0 };

	if (capability < 0 || capability >= CAPS_MAX || caps_get(data) != 0)
		return 0;
	return (data[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability)) != 0;
}

int caps_use(int capability, bool use)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	const uint32_t bit = CAP_TO_MASK(capability);

	if (syscall(SYS_capget, &header, data) < 0)
		return -1;
	if (use && !(data[CAP_TO_INDEX(capability)].permitted & bit))
		return 0;
	data[CAP_TO_INDEX(capability)].effective &= ~bit;
	data[CAP_TO_INDEX(capability)].effective |= use ? bit : 0;
	return syscall(SYS_capset, &header, data) < 0 ? -1 : 0;
}
