/* The row of egress in the role table: what it reads before it is confined, its confinement, its start. */
#include "base/log.h"
#include "base/own.h"
#include "daemon/confine.h"
#include "daemon/egress/egress.h"
#include "daemon/egress/egress_parts.h"
#include "kernel/landlock.h"
#include "kernel/seccomp.h"
#include "kernel/userns.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	OWN_LINK = 3, /* see egress_start_own() */
	NOBODY = 65534,
	FDS_KEPT = 128,       /* for name servers and refusals */
	FLOWS_LEAST = 64,     /* connections, whatever the limit of descriptors is */
	FILES_MOST = 1 << 20, /* more are of no use */
};

/* Two sockets for a connection. A quarter is for boxes, an eighth for pipes, without which connections copy, and some
 * are for name servers and for refusals. */
static void share_files(struct egress_start *start)
{
	struct rlimit files;
	size_t most = FLOWS_LEAST * 4;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur > most)
		most = files.rlim_cur < FILES_MOST ? (size_t)files.rlim_cur : FILES_MOST;
	start->pipes_max = most / 8 / 2;
	start->flows_max = (most - most / 4 - most / 8 - FDS_KEPT) / 2;
	if (start->flows_max < FLOWS_LEAST || most < FDS_KEPT * 2)
		start->flows_max = FLOWS_LEAST;
}

/* As other programs of the host find it. Capitals come second, as in curl. */
static const char *either(const char *name, const char *capitals)
{
	const char *value = getenv(name);

	return value && *value ? value : getenv(capitals);
}

static int find_proxy(struct egress_start *start, struct error *err)
{
	const char *url = either("https_proxy", "HTTPS_PROXY");

	start->has_proxy = url && *url;
	if (!start->has_proxy)
		return 0;
	return net_proxy_parse("HTTPS_PROXY", url, either("no_proxy", "NO_PROXY"), &start->proxy, err);
}

/* Between the two steps before it serves: what prepare() left. */
static struct egress_start *prepared;

/* What it cannot open or ask for afterwards. */
static int egress_prepare(const struct role_settings *settings, const int fds[ROLE_FDS], void **own, struct error *err)
{
	struct egress_start *start = calloc(1, sizeof(*start));

	if (!start)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot start");
	*own = prepared = start;
	share_files(start);
	start->intercept = -1;
	if (find_proxy(start, err) < 0)
		return -1;
	/* Without it everything is as before but rules for requests, which are refused then. */
	start->authority = egress_authority_open(err);
	if (start->authority < 0)
		log_say("requests of boxes cannot be looked at: %s", err->text);
	start->route = egress_route_open(err);
	return start->route < 0 ? -1 : egress_resolver_open(&start->resolver, err);
}

/* Each thing that was taken away is tried once. */
static int prove(int abi, struct error *err)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	_cleanup_close_ int fd = -1;

	if (confine_expect(open("/", O_PATH | O_CLOEXEC), EPERM, "opening /", err) < 0 ||
	    confine_expect(syscall(SYS_execve, NULL, NULL, NULL), EPERM, "starting a program", err) < 0 ||
	    confine_expect(syscall(SYS_clone, 0, NULL, NULL, NULL, 0), EPERM, "starting a process", err) < 0 ||
	    confine_expect(syscall(SYS_ptrace, 0, 0, NULL, NULL), EPERM, "tracing", err) < 0 ||
	    confine_expect(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), EPERM, "making a local socket", err) < 0 ||
	    confine_expect(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0), EPERM, "making a kernel socket", err) < 0 ||
	    confine_expect(socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_TCP), EPERM, "making a raw socket", err) <
		    0)
		return -1;
	(void)abi;
	/* And what it is for works. */
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 && errno == EAFNOSUPPORT)
		fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return error_errno(err, "cannot make a socket");
	return confine_expect(bind(fd, (struct sockaddr *)&any, sizeof(any)), EPERM, "binding a socket", err);
}

static int egress_confine_self(const struct role_settings *settings, struct error *err)
{
	const int abi = landlock_abi();

	if (prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_GET_DUMPABLE) != 0)
		return error_errno(err, "dumpable");
	if (confine_zero(RLIMIT_NPROC, err) < 0 || confine_zero(RLIMIT_CORE, err) < 0)
		return -1;
	/* A kernel without Landlock: the filter below denies every way to name a file by itself. */
	if (abi > 0) {
		if (landlock_seal(abi, true) < 0)
			return error_errno(err, "landlock");
		if (confine_expect(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), EACCES, "opening /", err) < 0)
			return -1;
	}
	if (seccomp_install(SECCOMP_EGRESS, NULL, 0) < 0)
		return error_errno(err, "seccomp");
	if (seccomp_mode() != 2)
		return error_set(err, ERROR_FAILED, 0, "seccomp: there is no filter");
	return prove(abi, err);
}

/* It has egress's uid and what exec leaves, and its own confinement behind that. */
static int intercept_start(struct egress_start *start, struct error *err)
{
	if (start->authority < 0)
		return 0;
	start->intercept = egress_launch(start->authority, err);
	close_fd(&start->authority);
	return start->intercept < 0 ? -1 : 0;
}

static int egress_confine(const struct role_settings *settings, int control, struct error *err)
{
	if (confine_become(settings, err) < 0 || confine_leash(control, err) < 0 || intercept_start(prepared, err) < 0)
		return -1;
	return egress_confine_self(settings, err);
}

static int egress_serve(const struct role_settings *settings, int control, const int fds[ROLE_FDS], void *own,
			struct error *err)
{
	signal(SIGPIPE, SIG_IGN);
	return egress_run(control, -1, own, err);
}

const struct role_row egress_role = {
	.name = "egress",
	.peers = { { ROLE_KEEPER, ROLE_PEER, "egress lost a message of the keeper; they are introduced anew" } },
	.outlives = ROLE_BIT(ROLE_KEEPER),
	.optional = true,
	.variables = egress_variables,
	.prepare = egress_prepare,
	.confine = egress_confine,
	.run = egress_serve,
};

/* Root's: as the supervisor does for the service's. */
static int own_ids(struct role_settings *settings, struct userns_ids *ids, struct error *err)
{
	if (geteuid() != 0)
		return 0;
	if (!userns_can_range()) {
		settings->become = NOBODY;
		settings->become_anyway = true;
		return 0;
	}
	if (userns_take(true, ids, err) < 0)
		return -1;
	settings->become = ids->uid;
	return 0;
}

int egress_own_run(struct error *err)
{
	struct role_settings settings = { .size = sizeof(settings) };
	struct userns_ids ids = { .lock_fd = -1 };
	void *start = NULL;
	int type = 0;
	socklen_t size = sizeof(type);

	if (getsockopt(OWN_LINK, SOL_SOCKET, SO_TYPE, &type, &size) < 0 || type != SOCK_SEQPACKET ||
	    fcntl(OWN_LINK, F_SETFD, FD_CLOEXEC) < 0)
		return error_usage(err, "--role is for emberbox itself: `emberbox run` starts this one");
	log_open(LOG_EVENTS, "egress");
	signal(SIGPIPE, SIG_IGN);
	role_take_files();
	if (egress_prepare(&settings, NULL, &start, err) < 0 || own_ids(&settings, &ids, err) < 0 ||
	    confine_no_new_privs(err) < 0 || confine_become(&settings, err) < 0 || intercept_start(prepared, err) < 0 ||
	    egress_confine_self(&settings, err) < 0)
		return -1;
	return egress_run(-1, OWN_LINK, start, err);
}
