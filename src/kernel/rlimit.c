#include "kernel/rlimit.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The raw call: the C library's rlim_t differs from the kernel's type on some 32-bit builds. */
struct rlimit_pair {
	uint64_t soft; /* the limit in force */
	uint64_t hard; /* the maximum of the soft limit */
};

static int rlimit_call(int resource, const struct rlimit_pair *set, struct rlimit_pair *get)
{
	return syscall(SYS_prlimit64, 0, resource, set, get) == 0 ? 0 : -1;
}

int rlimit_apply(const struct rlimit_entry *entry)
{
	struct rlimit_pair now, want;

	if (rlimit_call(entry->resource, NULL, &now) != 0)
		return -1;
	want.hard = entry->value < now.hard ? entry->value : now.hard;
	want.soft = want.hard;
	if (rlimit_call(entry->resource, &want, NULL) != 0 || rlimit_call(entry->resource, NULL, &now) != 0)
		return -1;
	if (now.soft > want.soft || now.hard > want.hard) {
		errno = EINVAL;
		return -1;
	}
	return 0;
}
