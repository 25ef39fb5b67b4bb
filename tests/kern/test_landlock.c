/*
 * Landlock, at each ABI up to the kernel's: what it gives, what it denies, and
 * what an older one does not know yet.
 * tests/run: args=--as root | --as user | --as userns
 */
#include "../check.h"
#include "as.h"
#include "child.h"

#include "kernel/landlock.h"
#include "base/own.h"

#include <ftw.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <termios.h>

static int kernel_abi;
static int abi;                               /* the one that is tried */
static char place[] = "/tmp/landlock.XXXXXX"; /* holds ro/file, rw/a/file, rw/b, out/file */
static char abstract[32];                     /* a socket of the parent's, outside the domain */

static const char *at(const char *path)
{
	static char paths[4][PATH_MAX]; /* some calls take two */
	static unsigned next;
	char *out = paths[next++ % 4];

	snprintf(out, PATH_MAX, "%s/%s", place, path);
	return out;
}

static int make_file(const char *path)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	return fd < 0 || write(fd, "text", 4) != 4 ? -1 : 0;
}

static int try_open(const char *path, int flags)
{
	_cleanup_close_ int fd = open(path, flags | O_CLOEXEC, 0600);

	return fd < 0 ? -1 : 0;
}

static int unix_socket(const char *name, bool listening)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));

	memcpy(address.sun_path + 1, name, strlen(name));
	if (fd < 0)
		return -1;
	if (listening && (bind(fd, (struct sockaddr *)&address, size) != 0 || listen(fd, 8) != 0))
		return -1;
	if (!listening && connect(fd, (struct sockaddr *)&address, size) != 0)
		return -1;
	return take_fd(&fd);
}

static void enter(void)
{
	char ro[PATH_MAX], rw[PATH_MAX], missing[PATH_MAX];
	const struct landlock_rule rules[] = {
		{ ro, LANDLOCK_READ },     { rw, LANDLOCK_WRITE },           { missing, LANDLOCK_WRITE },
		{ "/dev", LANDLOCK_READ }, { "/dev/null", LANDLOCK_DEVICE },
	};

	snprintf(ro, sizeof(ro), "%s/ro", place);
	snprintf(rw, sizeof(rw), "%s/rw", place);
	snprintf(missing, sizeof(missing), "%s/missing", place);
	CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_INT(landlock_restrict(rules, ARRAY_SIZE(rules), abi), 0);
}

static void child_reads(void)
{
	enter();
	CHECK_INT(try_open(at("ro/file"), O_RDONLY), 0);
	CHECK_INT(try_open(at("ro"), O_RDONLY | O_DIRECTORY), 0);
	CHECK_ERRNO(try_open(at("ro/file"), O_WRONLY), EACCES);
	CHECK_ERRNO(try_open(at("ro/new"), O_WRONLY | O_CREAT), EACCES);
	CHECK_ERRNO(mkdir(at("ro/new"), 0700), EACCES);
	CHECK_ERRNO(unlink(at("ro/file")), EACCES);
	CHECK_ERRNO(symlink("x", at("ro/new")), EACCES);
	CHECK_ERRNO(try_open(at("out/file"), O_RDONLY), EACCES);
	CHECK_ERRNO(try_open(at("out"), O_RDONLY | O_DIRECTORY), EACCES);
	CHECK_ERRNO(try_open("/etc/passwd", O_RDONLY), EACCES);
	CHECK_ERRNO(execl("/bin/true", "true", NULL), EACCES);
}

static void child_writes(void)
{
	enter();
	CHECK_INT(make_file(at("rw/new")), 0);
	CHECK_INT(try_open(at("rw/new"), O_RDWR), 0);
	CHECK_INT(mkdir(at("rw/dir"), 0700), 0);
	CHECK_INT(symlink("x", at("rw/link")), 0);
	CHECK_INT(mkfifo(at("rw/fifo"), 0600), 0);
	CHECK_INT(mknod(at("rw/sock"), S_IFSOCK | 0600, 0), 0);
	CHECK_INT(rename(at("rw/new"), at("rw/newer")), 0);
	CHECK_INT(truncate(at("rw/newer"), 1), 0);
	CHECK_INT(unlink(at("rw/newer")), 0);
	CHECK_INT(unlink(at("rw/link")), 0);
	CHECK_INT(unlink(at("rw/fifo")), 0);
	CHECK_INT(unlink(at("rw/sock")), 0);
	CHECK_INT(rmdir(at("rw/dir")), 0);
	/* Landlock is asked before the capability is. */
	CHECK_ERRNO(mknod(at("rw/char"), S_IFCHR | 0600, makedev(1, 3)), EACCES);
	CHECK_ERRNO(mknod(at("rw/block"), S_IFBLK | 0600, makedev(7, 0)), EACCES);
}

/* ABI 2: moves between directories, which ABI 1 always denies. */
static void child_refers(void)
{
	enter();
	if (abi >= 2) {
		CHECK_INT(rename(at("rw/a/file"), at("rw/b/file")), 0);
		CHECK_INT(rename(at("rw/b/file"), at("rw/a/file")), 0);
		CHECK_INT(link(at("rw/a/file"), at("rw/b/link")), 0);
		CHECK_INT(unlink(at("rw/b/link")), 0);
	} else {
		CHECK_ERRNO(rename(at("rw/a/file"), at("rw/b/file")), EXDEV);
		CHECK_ERRNO(link(at("rw/a/file"), at("rw/b/link")), EXDEV);
	}
	CHECK_ERRNO(link(at("ro/file"), at("rw/link")), EXDEV);
	CHECK_ERRNO(rename(at("ro/file"), at("rw/file")), kernel_abi >= 2 ? EACCES : EXDEV);
	CHECK_INT(rename(at("rw/a/file"), at("rw/a/file2")), 0);
	CHECK_INT(rename(at("rw/a/file2"), at("rw/a/file")), 0);
}

/* ABI 3: truncate, which needs no open file; before, only the file's mode says no. */
static void child_truncates(void)
{
	enter();
	if (abi >= 3)
		CHECK_ERRNO(truncate(at("ro/file"), 0), EACCES);
	else
		CHECK_INT(truncate(at("ro/file"), 4), 0);
	CHECK_INT(truncate(at("rw/a/file"), 4), 0);
}

/* ABI 5: ioctl on devices. TCGETS is for terminals: ENOTTY is the driver's answer. */
static void child_controls_devices(void)
{
	struct termios state;
	_cleanup_close_ int null = -1, zero = -1;

	enter();
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	CHECK(null >= 0);
	CHECK(zero >= 0);
	CHECK_ERRNO(try_open("/dev/zero", O_WRONLY), EACCES);
	CHECK_INT(write(null, "x", 1), 1);
	CHECK_ERRNO(ioctl(null, TCGETS, &state), ENOTTY);
	CHECK_ERRNO(ioctl(zero, TCGETS, &state), abi >= 5 ? EACCES : ENOTTY);
}

/* ABI 6: signals to processes outside. */
static void child_signals(void)
{
	pid_t pid, outside = getppid();

	enter();
	if (abi >= 6)
		CHECK_ERRNO(kill(outside, 0), EPERM);
	else
		CHECK_INT(kill(outside, 0), 0);
	pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	CHECK(pid > 0);
	CHECK_INT(kill(pid, SIGKILL), 0);
	CHECK_INT(waitpid(pid, NULL, __WALL), pid);
}

/* ABI 6: abstract sockets of processes outside. */
static void child_connects(void)
{
	_cleanup_close_ int other = -1, own = -1, peer = -1;
	char name[64];

	enter();
	errno = 0;
	other = unix_socket(abstract, false);
	CHECK_INT(errno, abi >= 6 ? EPERM : 0);
	CHECK_INT(other >= 0, abi < 6);
	snprintf(name, sizeof(name), "%s-own", abstract);
	own = unix_socket(name, true);
	CHECK(own >= 0);
	peer = unix_socket(name, false);
	CHECK(peer >= 0);
}

/* One test of the same name at each ABI. */
static void (*body)(void);

static void at_abi(void)
{
	in_child(body);
}

static void run_each(const char *name, void (*test)(void))
{
	char text[128];

	body = test;
	for (abi = 1; abi <= 7; abi++) {
		snprintf(text, sizeof(text), "%s_abi%d", name, abi);
		if (abi <= kernel_abi)
			check_run(text, at_abi);
		else
			check_skip(text, "the kernel does not have this ABI");
	}
}

static void child_without_privileges(void)
{
	const struct landlock_rule rule = { "/", LANDLOCK_READ };

	CHECK_ERRNO(landlock_restrict(&rule, 1, kernel_abi), EPERM);
}

static void needs_no_new_privs(void)
{
	in_child(child_without_privileges);
}

static void child_bad_rules(void)
{
	char below[PATH_MAX + 16];
	struct landlock_rule rule = { below, LANDLOCK_READ };

	snprintf(below, sizeof(below), "%s/ro/file/x", place);
	CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_ERRNO(landlock_restrict(&rule, 1, 0), ENOSYS);
	CHECK_ERRNO(landlock_restrict(&rule, 1, kernel_abi), ENOTDIR);
	CHECK_INT(try_open(at("out/file"), O_RDONLY), 0); /* nothing was enforced */
}

static void bad_rules_restrict_nothing(void)
{
	in_child(child_bad_rules);
}

/* What the plan does: the whole root may be read, a file below it written. */
static void child_root(void)
{
	char file[PATH_MAX];
	const struct landlock_rule rules[] = { { "/", LANDLOCK_READ }, { file, LANDLOCK_WRITE } };

	snprintf(file, sizeof(file), "%s/out/file", place);
	CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_INT(landlock_restrict(rules, ARRAY_SIZE(rules), kernel_abi), 0);
	CHECK_INT(try_open("/etc/passwd", O_RDONLY), 0);
	CHECK_INT(try_open(at("out/file"), O_WRONLY), 0);
	CHECK_ERRNO(try_open(at("ro/file"), O_WRONLY), EACCES);
	execl("/bin/true", "true", NULL);
	check_fail("/bin/true: %s", strerror(errno));
}

static void root_is_readable_and_executable(void)
{
	in_child(child_root);
}

static int try_bind_tcp(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	_cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return bind(fd, (struct sockaddr *)&address, sizeof(address));
}

static void child_seals(void)
{
	_cleanup_close_ int before = open(at("ro/file"), O_RDONLY | O_CLOEXEC);
	char text[4];

	CHECK_INT(try_bind_tcp(), 0);
	CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_INT(landlock_seal(abi, false), 0);
	CHECK_ERRNO(try_open(at("ro/file"), O_RDONLY), EACCES);
	CHECK_ERRNO(try_open("/", O_RDONLY | O_DIRECTORY), EACCES);
	CHECK_ERRNO(make_file(at("rw/new")), EACCES);
	/* What was open stays so. */
	CHECK_INT(read(before, text, sizeof(text)), 4);
	if (abi >= 4)
		CHECK_ERRNO(try_bind_tcp(), EACCES);
	else
		CHECK_INT(try_bind_tcp(), 0);
}

static int try_connect_tcp(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(1),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	_cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return connect(fd, (struct sockaddr *)&address, sizeof(address));
}

/* Ports that nobody listens on: what is let through is refused by the network. */
static void child_seals_but_connects(void)
{
	CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_INT(landlock_seal(abi, true), 0);
	CHECK_ERRNO(try_open("/", O_RDONLY | O_DIRECTORY), EACCES);
	CHECK_ERRNO(try_connect_tcp(), ECONNREFUSED);
	if (abi >= 4)
		CHECK_ERRNO(try_bind_tcp(), EACCES);
	CHECK_INT(landlock_seal(abi, false), 0);
	if (abi >= 4)
		CHECK_ERRNO(try_connect_tcp(), EACCES);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	(void)st, (void)type, (void)walk;
	return remove(path);
}

int main(int argc, char **argv)
{
	int listener;

	as_enter(argc, argv);
	kernel_abi = landlock_abi();
	if (kernel_abi == 0) {
		check_skip("landlock", "the kernel does not have it");
		return 0;
	}
	snprintf(abstract, sizeof(abstract), "emberbox-test-%d", getpid());
	listener = unix_socket(abstract, true);
	if (!mkdtemp(place) || mkdir(at("ro"), 0700) != 0 || mkdir(at("rw"), 0700) != 0 ||
	    mkdir(at("out"), 0700) != 0 || mkdir(at("rw/a"), 0700) != 0 || mkdir(at("rw/b"), 0700) != 0 ||
	    make_file(at("ro/file")) != 0 || make_file(at("rw/a/file")) != 0 || make_file(at("out/file")) != 0 ||
	    listener < 0) {
		perror(place);
		return 1;
	}
	run_each("reads", child_reads);
	run_each("writes", child_writes);
	run_each("refers", child_refers);
	run_each("truncates", child_truncates);
	run_each("controls_devices", child_controls_devices);
	run_each("signals", child_signals);
	run_each("connects", child_connects);
	run_each("seals", child_seals);
	run_each("seals_but_connects", child_seals_but_connects);
	if (geteuid() != 0)
		RUN(needs_no_new_privs);
	RUN(bad_rules_restrict_nothing);
	RUN(root_is_readable_and_executable);
	close(listener);
	nftw(place, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	return check_failures ? 1 : 0;
}
