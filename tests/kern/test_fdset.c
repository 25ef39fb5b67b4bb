/* fdset: exactly those descriptors; also where close_range is missing. */
// clang-format off
/*
 * tests/run: args=--as root | --as user | --as userns | --as root --no close_range | --as user --no close_range | --as userns --no close_range
 */
// clang-format on
#include "../check.h"
#include "as.h"
#include "child.h"
#include "enosys.h"

#include "kernel/fdset.h"

#include <sys/resource.h>

enum {
	HIGH = 3000 /* above any number that a loop would count to by chance */
};

static int open_at(int number, int flags)
{
	int fd = open("/dev/null", O_RDWR | flags);
	int at = fd < 0 || fd == number ? fd : dup3(fd, number, flags);

	if (fd >= 0 && fd != number)
		close(fd);
	return at;
}

static int is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static int count_open(void)
{
	int count = 0;

	for (int fd = 0; fd < HIGH + 100; fd++)
		count += is_open(fd);
	return count;
}

static void child_keeps(void)
{
	/* Unsorted, one twice, one unset, one that is not open. */
	static const int keep[] = { 700, 2, -1, 10, 1, 10, 0, 20 };

	CHECK_INT(open_at(3, 0), 3);
	CHECK_INT(open_at(9, O_CLOEXEC), 9);
	CHECK_INT(open_at(10, 0), 10);
	CHECK_INT(open_at(11, 0), 11);
	CHECK_INT(open_at(699, 0), 699);
	CHECK_INT(open_at(700, O_CLOEXEC), 700);
	CHECK_INT(open_at(701, 0), 701);
	CHECK_INT(open_at(HIGH, 0), HIGH);
	CHECK_INT(fdset_keep(keep, sizeof(keep) / sizeof(keep[0])), 0);
	CHECK(is_open(0) && is_open(1) && is_open(2) && is_open(10) && is_open(700));
	CHECK_INT(count_open(), 5);
	/* Kept as it was. */
	CHECK_INT(fcntl(10, F_GETFD), 0);
	CHECK_INT(fcntl(700, F_GETFD), FD_CLOEXEC);
	CHECK_INT(write(10, "x", 1), 1);
	CHECK_ERRNO(write(HIGH, "x", 1), EBADF);
}

static void exactly_those_stay(void)
{
	in_child(child_keeps);
}

/* A limit that was lowered since hides nothing: the descriptor is there all the same. */
static void child_above_the_limit(void)
{
	static const int keep[] = { 0, 1, 2 };
	const struct rlimit low = { 64, 64 };

	CHECK_INT(open_at(HIGH, 0), HIGH);
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &low), 0);
	CHECK(is_open(HIGH));
	CHECK_ERRNO(fdset_prove(), EBADF);
	CHECK_INT(fdset_keep(keep, 3), 0);
	CHECK(!is_open(HIGH));
	CHECK_INT(fdset_prove(), 0);
}

static void above_the_limit_too(void)
{
	in_child(child_above_the_limit);
}

static void child_keeps_none(void)
{
	static const int none[] = { -1, -1 };
	int kept, left;

	kept = fdset_keep(none, 2);
	left = count_open();
	/* Nothing can be printed: the wait status tells. */
	_exit(kept == 0 && left == 0 ? 0 : 3);
}

static void none_is_none(void)
{
	in_child(child_keeps_none);
}

static void child_empty_list(void)
{
	_exit(fdset_keep(NULL, 0) == 0 && count_open() == 0 ? 0 : 3);
}

static void an_empty_list_is_none(void)
{
	in_child(child_empty_list);
}

static void child_proves(void)
{
	static const int keep[] = { 0, 1, 2 };

	CHECK_INT(fdset_keep(keep, 3), 0);
	CHECK_INT(fdset_prove(), 0);
	/* Gone at exec: fine. */
	CHECK_INT(open_at(5, O_CLOEXEC), 5);
	CHECK_INT(open_at(HIGH, O_CLOEXEC), HIGH);
	CHECK_INT(fdset_prove(), 0);
	CHECK_INT(open_at(3, 0), 3);
	CHECK_ERRNO(fdset_prove(), EBADF);
	CHECK_INT(fcntl(3, F_SETFD, FD_CLOEXEC), 0);
	CHECK_INT(fdset_prove(), 0);
	CHECK_INT(fcntl(HIGH, F_SETFD, 0), 0);
	CHECK_ERRNO(fdset_prove(), EBADF);
}

static void the_proof_sees_any_number(void)
{
	in_child(child_proves);
}

static void child_executes(void)
{
	static const int keep[] = { 0, 1, 2, 7 };

	CHECK_INT(open_at(4, 0), 4);
	CHECK_INT(open_at(7, 0), 7);
	CHECK_INT(fdset_keep(keep, 4), 0);
	fflush(stdout);
	/* The shell's own list: 3 is the directory that ls reads. */
	execl("/bin/sh", "sh", "-c", "test \"$(echo $(ls /proc/self/fd))\" = '0 1 2 3 7'", NULL);
	check_fail("/bin/sh: %s", strerror(errno));
}

static void a_program_gets_those(void)
{
	in_child(child_executes);
}

int main(int argc, char **argv)
{
	const char *no = enosys_argument(&argc, argv);
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	as_enter(argc, argv);
	enosys_enter(no);
	RUN(exactly_those_stay);
	RUN(above_the_limit_too);
	RUN(none_is_none);
	RUN(an_empty_list_is_none);
	RUN(the_proof_sees_any_number);
	RUN(a_program_gets_those);
	return check_failures ? 1 : 0;
}
