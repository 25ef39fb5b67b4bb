#include "daemon/role.h"

#include "base/fd.h"
#include "base/own.h"
#include "kernel/caps.h"
#include "kernel/clone.h"
#include "kernel/fdset.h"
#include "kernel/landlock.h"
#include "kernel/seccomp.h"
#include "kernel/userns.h"
#include "base/state.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <link.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <malloc.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum {
	CONTROL_FD = 3,      /* in a role */
	FILES_WANTED = 65536 /* descriptors, if the hard limit allows: clients, pipes, boxes */
};

static const char *const names[] = { [ROLE_KEEPER] = "keeper", [ROLE_STORE] = "store", [ROLE_FRONT] = "front" };

const char *role_name(enum role role)
{
	return names[role];
}

/* After clone: nothing is allocated. Standard output is no place for a service to write to, and nobody types. */
static void exec_role(enum role role, int control)
{
	static const char *const argvs[][4] = {
		[ROLE_KEEPER] = { "emberbox", "serve", "--role=keeper", NULL },
		[ROLE_STORE] = { "emberbox", "serve", "--role=store", NULL },
		[ROLE_FRONT] = { "emberbox", "serve", "--role=front", NULL },
	};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	/* A session of its own: what is typed at the supervisor's terminal ends runs by the supervisor's word. */
	if (setsid() < 0 || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0)
		_exit(126);
	if (control == CONTROL_FD ? fcntl(control, F_SETFD, 0) < 0 : dup2(control, CONTROL_FD) < 0)
		_exit(126);
	if (fdset_keep((const int[]){ 0, 1, 2, CONTROL_FD }, 4) < 0)
		_exit(126);
	/* The supervisor's own are not the roles', nor the programs' after them. */
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execv("/proc/self/exe", (char *const *)argvs[role]);
	_exit(126);
}

int role_start(const struct role_settings *settings, const int *fds, size_t count, struct role_process *process,
	       struct error *err)
{
	_cleanup_close_ int ours = -1, theirs = -1;
	int ends[2];

	*process = (struct role_process){ .pidfd = -1, .control = -1 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_errno(err, "cannot make the %s's socket", names[settings->role]);
	ours = ends[0];
	theirs = ends[1];
	if (fd_send(ours, settings, sizeof(*settings), fds, count) < 0)
		return error_errno(err, "cannot tell the %s its settings", names[settings->role]);
	process->pid = clone_into(0, -1, &process->pidfd);
	if (process->pid == 0)
		exec_role(settings->role, theirs);
	if (process->pid < 0) {
		process->pid = 0;
		return error_errno(err, "cannot start the %s", names[settings->role]);
	}
	/* A role that is stuck must not stop us. */
	fcntl(ours, F_SETFL, O_RDWR | O_NONBLOCK);
	process->control = take_fd(&ours);
	return 0;
}

/* Only what can be read from the file again. */
static int shrink_program(struct dl_phdr_info *info, size_t size, void *data)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uintptr_t from = info->dlpi_addr + part->p_vaddr, to = from + part->p_filesz;

		from &= ~(page - 1);
		if (part->p_type == PT_LOAD && !(part->p_flags & PF_W))
			madvise((void *)from, to - from, MADV_DONTNEED); /* NOLINT(performance-no-int-to-ptr) */
	}
	return 1; /* the first is the program itself */
}

void role_shrink(void)
{
	malloc_trim(0);
	dl_iterate_phdr(shrink_program, NULL);
}

int role_ready(int control, struct error *err)
{
	role_shrink();
	return fd_send(control, &(char){ ROLE_READY }, 1, NULL, 0) == 0
		       ? 0
		       : error_errno(err, "cannot tell the supervisor");
}

void role_say(const struct role_process *process, char what, int fd)
{
	if (process->control >= 0)
		fd_send(process->control, &what, 1, &fd, fd < 0 ? 0 : 1);
}

static bool is_control(int fd)
{
	int type = 0, domain = 0;
	socklen_t size = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET &&
	       getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX;
}

static size_t given_count(const struct role_settings *settings)
{
	return (size_t)__builtin_popcount(settings->given) + !!(settings->given & GIVEN_TLS);
}

int role_fd(const struct role_settings *settings, const int fds[ROLE_FDS], enum role_given which)
{
	if (!(settings->given & which))
		return -1;
	return fds[__builtin_popcount(settings->given & (which - 1)) +
		   (which > GIVEN_TLS && (settings->given & GIVEN_TLS) ? 1 : 0)];
}

int role_enter(enum role role, struct role_settings *settings, int *control, int fds[ROLE_FDS], struct error *err)
{
	struct pollfd waiting = { .fd = CONTROL_FD, .events = POLLIN };
	int got[FD_MESSAGE_MAX];
	size_t count = 0;
	struct rlimit files;

	*control = -1;
	/* It was sent before we were started: nothing is waited for. */
	if (!is_control(CONTROL_FD) || poll(&waiting, 1, 0) != 1 ||
	    fd_receive(CONTROL_FD, settings, sizeof(*settings), got, &count) != sizeof(*settings) ||
	    settings->size != sizeof(*settings) || settings->role != role || count != given_count(settings) ||
	    count > ROLE_FDS) {
		while (count > 0)
			close(got[--count]);
		return error_usage(err, "--role is for emberbox itself: `emberbox serve` starts its roles");
	}
	for (size_t i = 0; i < ROLE_FDS; i++)
		fds[i] = i < count ? got[i] : -1;
	if (fcntl(CONTROL_FD, F_SETFD, FD_CLOEXEC) < 0 || fdset_prove() < 0)
		return error_errno(err, "a descriptor came along that should not");
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		const struct rlimit wanted = { FILES_WANTED, FILES_WANTED };

		files.rlim_cur = files.rlim_max < FILES_WANTED ? files.rlim_max : FILES_WANTED;
		/* Root may have more than it was given: a thousand sessions need some 20 000. */
		if (files.rlim_max >= FILES_WANTED || setrlimit(RLIMIT_NOFILE, &wanted) < 0)
			setrlimit(RLIMIT_NOFILE, &files);
	}
	*control = CONTROL_FD;
	return 0;
}

/*
 * What making a box takes of root: pipes are given to its uid, that uid is
 * mapped, trees of the host are mounted, and what it leaves is read whatever its
 * mode. Ending one takes nothing: the box's namespace is the keeper's own.
 */
static const uint64_t keeper_caps = UINT64_C(1) << CAP_CHOWN | UINT64_C(1) << CAP_DAC_OVERRIDE |
				    UINT64_C(1) << CAP_SETGID | UINT64_C(1) << CAP_SETUID |
				    UINT64_C(1) << CAP_SYS_ADMIN;

static int no_new_privs(struct error *err)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return error_errno(err, "no-new-privs");
	return 0;
}

/* After the last change of uid, which clears the death signal; a supervisor that died before is seen as a hang-up. */
static int leash(int control, struct error *err)
{
	struct pollfd socket = { .fd = control };
	int sent = 0;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || prctl(PR_GET_PDEATHSIG, &sent) < 0 || sent != SIGKILL)
		return error_errno(err, "leash");
	if (poll(&socket, 1, 0) < 0 || (socket.revents & POLLHUP))
		return error_set(err, ERROR_FAILED, 0, "the supervisor is gone");
	return 0;
}

/* Exactly this, and not some other reason why it does not work. */
static int expect(long result, int errnum, const char *what, struct error *err)
{
	if (result == -1 && errno == errnum)
		return 0;
	return error_set(err, ERROR_FAILED, result == -1 ? errno : 0, "is not confined: %s was not refused as expected",
			 what);
}

/*
 * Root's front becomes somebody who owns nothing. The capabilities outlive the
 * change, because giving up the bounding set needs one; then all go.
 */
static int front_become(const struct role_settings *settings, struct error *err)
{
	uid_t id = settings->become, uids[3];
	bool could = caps_has(CAP_SETPCAP);

	if (id != 0) {
		if (could && prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) < 0)
			return error_errno(err, "securebits");
		if (setgroups(0, NULL) < 0 && !settings->become_anyway)
			return error_errno(err, "setgroups");
		/* EINVAL: root of a namespace that has no other uid. It stays, and is somebody's own outside. */
		if ((setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0) &&
		    (errno != EINVAL || !settings->become_anyway))
			return error_errno(err, "cannot become uid %u", id);
		if (!settings->become_anyway &&
		    (getresuid(&uids[0], &uids[1], &uids[2]) < 0 || uids[0] != id || uids[1] != id || uids[2] != id))
			return error_set(err, ERROR_FAILED, 0, "is not uid %u", id);
	}
	if (caps_limit(0) < 0 || caps_within(0) < 0 || (could && caps_prove() < 0))
		return error_errno(err, "capabilities");
	return 0;
}

static int zero_limit(int resource, struct error *err)
{
	const struct rlimit none = { 0, 0 };

	return setrlimit(resource, &none) == 0 ? 0 : error_errno(err, "limit %d", resource);
}

static int front_confine(const struct role_settings *settings, int control, struct error *err)
{
	int abi = landlock_abi();

	if (front_become(settings, err) < 0 || leash(control, err) < 0)
		return -1;
	if (prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_GET_DUMPABLE) != 0)
		return error_errno(err, "dumpable");
	if (zero_limit(RLIMIT_NPROC, err) < 0 || zero_limit(RLIMIT_CORE, err) < 0)
		return -1;
	/* A kernel without Landlock: the filter below denies every way to name a file or a port by itself. */
	if (abi > 0) {
		if (landlock_seal(abi) < 0)
			return error_errno(err, "landlock");
		if (expect(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), EACCES, "opening /", err) < 0)
			return -1;
	}
	if (seccomp_install(SECCOMP_FRONT, NULL, 0) < 0)
		return error_errno(err, "seccomp");
	if (seccomp_mode() != 2)
		return error_set(err, ERROR_FAILED, 0, "seccomp: there is no filter");
	if (expect(open("/", O_PATH | O_CLOEXEC), EPERM, "opening /", err) < 0)
		return -1;
	return expect(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), EPERM, "making a socket", err);
}

/* The keeper's own, with nothing in it. Boxes have theirs whatever this is. */
static int keeper_leave_network(struct error *err)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(1),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	_cleanup_close_ int fd = -1;

	if (unshare(CLONE_NEWNET) < 0)
		return error_errno(err, "network namespace");
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return errno == EAFNOSUPPORT ? 0 : error_errno(err, "network namespace");
	return expect(connect(fd, (struct sockaddr *)&to, sizeof(to)), ENETUNREACH, "connecting", err);
}

/*
 * No Landlock: a domain with rules for files forbids mounts, and one with rules
 * for ports would be the boxes' too, whose loopback has to work. No filter: it
 * would be under every box's own, and slow each call. And it stays dumpable: an
 * ordinary user could not write the maps of a child that is not.
 */
static int keeper_confine(int control, struct error *err)
{
	uint64_t keep = keeper_caps;

	/* Root's own uid in a box: since 5.12 that takes the right to set capabilities of files. */
	if (!userns_can_range())
		keep |= UINT64_C(1) << CAP_SETFCAP;
	if (caps_has(CAP_SYS_ADMIN) && keeper_leave_network(err) < 0)
		return -1;
	if (caps_limit(keep) < 0 || caps_within(keep) < 0)
		return error_errno(err, "capabilities");
	if (leash(control, err) < 0)
		return -1;
	/* Whoever may is told EINVAL, for these are not the magic numbers. */
	return expect(syscall(SYS_reboot, 0, 0, 0, NULL), EPERM, "reboot", err);
}

/*
 * The store has files in one directory and hears our own front, whose words are
 * strangers' words. It needs that directory, and /proc to see whether who began
 * a run still lives.
 */
static int store_confine(int control, struct error *err)
{
	const bool could = caps_has(CAP_SETPCAP);
	const int abi = landlock_abi();
	char place[4096];
	const struct landlock_rule rules[] = { { place, LANDLOCK_WRITE }, { "/proc", LANDLOCK_READ } };

	if (state_path("", place, sizeof(place)) < 0)
		return error_set(err, ERROR_FAILED, 0, "there is no state directory");
	if (caps_limit(0) < 0 || caps_within(0) < 0 || (could && caps_prove() < 0))
		return error_errno(err, "capabilities");
	if (leash(control, err) < 0 || zero_limit(RLIMIT_NPROC, err) < 0 || zero_limit(RLIMIT_CORE, err) < 0)
		return -1;
	if (abi == 0)
		return 0;
	if (landlock_restrict(rules, ARRAY_SIZE(rules), abi) < 0)
		return error_errno(err, "landlock");
	return expect(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), EACCES, "opening /", err);
}

int role_confine(const struct role_settings *settings, int control, struct error *err)
{
	if (no_new_privs(err) < 0)
		return -1;
	if (settings->role == ROLE_STORE)
		return store_confine(control, err);
	return settings->role == ROLE_FRONT ? front_confine(settings, control, err) : keeper_confine(control, err);
}
