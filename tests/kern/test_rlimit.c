/* Resource limits. tests/run: args=--as root | --as user | --as userns */
#include "../check.h"
#include "as.h"
#include "child.h"

#include "kernel/caps.h"
#include "kernel/rlimit.h"

#include <linux/capability.h>
#include <signal.h>

static enum as_mode mode;

static void child_sets_both(void)
{
	const struct rlimit_entry entry = { "nofile", RLIMIT_NOFILE, 16 };
	struct rlimit now;
	int fd, last = -1;

	CHECK_INT(rlimit_apply(&entry), 0);
	CHECK_INT(getrlimit(RLIMIT_NOFILE, &now), 0);
	CHECK_INT(now.rlim_cur, 16);
	CHECK_INT(now.rlim_max, 16);
	while ((fd = open("/dev/null", O_RDONLY)) >= 0)
		last = fd;
	CHECK_INT(errno, EMFILE);
	CHECK_INT(last, 15);
}

static void sets_soft_and_hard(void)
{
	in_child(child_sets_both);
}

static void child_keeps_lower(void)
{
	const struct rlimit low = { 10, 20 };
	const struct rlimit_entry entry = { "core", RLIMIT_CORE, 4096 };
	struct rlimit now;

	CHECK_INT(setrlimit(RLIMIT_CORE, &low), 0);
	CHECK_INT(rlimit_apply(&entry), 0);
	CHECK_INT(getrlimit(RLIMIT_CORE, &now), 0);
	CHECK_INT(now.rlim_cur, 20);
	CHECK_INT(now.rlim_max, 20);
}

static void keeps_a_lower_hard_limit(void)
{
	in_child(child_keeps_lower);
}

static void child_cannot_raise(void)
{
	const struct rlimit_entry entry = { "cpu", RLIMIT_CPU, 100 };
	const struct rlimit more = { 101, 101 }, less = { 99, 99 };

	CHECK_INT(rlimit_apply(&entry), 0);
	/* Root of the host may, unless a container took CAP_SYS_RESOURCE. A namespace's root has it and may not. */
	if (mode == AS_ROOT && caps_has(CAP_SYS_RESOURCE))
		CHECK_INT(setrlimit(RLIMIT_CPU, &more), 0);
	else
		CHECK_ERRNO(setrlimit(RLIMIT_CPU, &more), EPERM);
	CHECK_INT(setrlimit(RLIMIT_CPU, &less), 0);
}

static void cannot_be_raised(void)
{
	in_child(child_cannot_raise);
}

static void child_zero(void)
{
	const struct rlimit_entry core = { "core", RLIMIT_CORE, 0 }, fsize = { "fsize", RLIMIT_FSIZE, 4096 };
	char path[] = "/tmp/rlimit.XXXXXX", page[4096] = { 0 };
	int fd = mkstemp(path);
	struct rlimit now;

	CHECK(fd >= 0);
	unlink(path);
	CHECK_INT(rlimit_apply(&core), 0);
	CHECK_INT(getrlimit(RLIMIT_CORE, &now), 0);
	CHECK_INT(now.rlim_max, 0);
	CHECK_INT(rlimit_apply(&fsize), 0);
	signal(SIGXFSZ, SIG_IGN);
	CHECK_INT(write(fd, page, sizeof(page)), 4096);
	CHECK_ERRNO(write(fd, page, 1), EFBIG);
}

static void file_size_is_exact(void)
{
	in_child(child_zero);
}

static void infinity_changes_nothing_hard(void)
{
	struct rlimit before, after;
	const struct rlimit_entry entry = { "as", RLIMIT_AS, UINT64_MAX };

	CHECK_INT(getrlimit(RLIMIT_AS, &before), 0);
	CHECK_INT(rlimit_apply(&entry), 0);
	CHECK_INT(getrlimit(RLIMIT_AS, &after), 0);
	CHECK_INT(after.rlim_max, before.rlim_max);
	CHECK_INT(after.rlim_cur, before.rlim_max);
}

static void unknown_resource(void)
{
	const struct rlimit_entry entry = { "none", 999, 1 };

	CHECK_ERRNO(rlimit_apply(&entry), EINVAL);
}

int main(int argc, char **argv)
{
	mode = as_enter(argc, argv);
	RUN(sets_soft_and_hard);
	RUN(keeps_a_lower_hard_limit);
	RUN(cannot_be_raised);
	RUN(file_size_is_exact);
	RUN(infinity_changes_nothing_hard);
	RUN(unknown_resource);
	return check_failures ? 1 : 0;
}
