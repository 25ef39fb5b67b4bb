/* The front's row of the role table: what it reads before it is confined, its confinement, its start. */
#include "base/fd.h"
#include "base/log.h"
#include "base/own.h"
#include "daemon/confine.h"
#include "daemon/front/front.h"
#include "daemon/role.h"
#include "http/tls.h"
#include "kernel/landlock.h"
#include "kernel/seccomp.h"
#include "language/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* A memfd's text, terminated; NULL: it cannot be had. The caller frees. */
static char *memory_text(int fd, size_t *size)
{
	struct stat st;
	char *text = fd >= 0 && fstat(fd, &st) == 0 ? malloc((size_t)st.st_size + 1) : NULL;

	if (text && pread(fd, text, (size_t)st.st_size, 0) == st.st_size) {
		text[st.st_size] = '\0';
		*size = (size_t)st.st_size;
		return text;
	}
	free(text);
	return NULL;
}

/* The certificate and its key, which the supervisor has read. */
static int front_tls(const struct role_settings *settings, const int fds[ROLE_FDS], struct tls_context **out,
		     struct error *err)
{
	_cleanup_close_ int certificate = role_fd(settings, fds, GIVEN_TLS_CERT);
	_cleanup_close_ int key = role_fd(settings, fds, GIVEN_TLS_KEY);
	_cleanup_free_ char *first = NULL, *second = NULL;
	size_t first_size = 0, second_size = 0;
	int done;

	if (certificate < 0)
		return 0;
	first = memory_text(certificate, &first_size);
	second = memory_text(key, &second_size);
	if (!first || !second)
		return error_errno(err, "cannot take the certificate");
	done = tls_context_new(first, first_size, second, second_size, out, err);
	explicit_bzero(second, second_size);
	return done;
}

/* So many that descriptors are left for what the others send: a message that cannot be taken is lost. */
static size_t clients_max(size_t running)
{
	const size_t kept = 64 + 4 * running;
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur < kept + 16)
		return 16;
	return files.rlim_cur - kept < 4096 ? (size_t)files.rlim_cur - kept : 4096;
}

/* What it finds out while it still can. */
struct front_start {
	struct tls_context *tls; /* or NULL */
	size_t clients;          /* connections that it takes */
};

/* What lies in files: it can open none after this. */
static int front_prepare(const struct role_settings *settings, const int fds[ROLE_FDS], void **own, struct error *err)
{
	struct front_start *start = calloc(1, sizeof(*start));

	if (!start)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot start");
	*own = start;
	start->clients = clients_max(settings->max_running);
	/* The user's own languages. New ones are the keeper's to know. */
	runtime_at(0);
	return front_tls(settings, fds, &start->tls, err);
}

static int front_confine(const struct role_settings *settings, int control, struct error *err)
{
	int abi = landlock_abi();

	if (confine_become(settings, err) < 0 || confine_leash(control, err) < 0)
		return -1;
	if (prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_GET_DUMPABLE) != 0)
		return error_errno(err, "dumpable");
	if (confine_zero(RLIMIT_NPROC, err) < 0 || confine_zero(RLIMIT_CORE, err) < 0)
		return -1;
	/* A kernel without Landlock: the filter below denies every way to name a file or a port by itself. */
	if (abi > 0) {
		if (landlock_seal(abi, false) < 0)
			return error_errno(err, "landlock");
		if (confine_expect(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), EACCES, "opening /", err) < 0)
			return -1;
	}
	if (seccomp_install(SECCOMP_FRONT, NULL, 0) < 0)
		return error_errno(err, "seccomp");
	if (seccomp_mode() != 2)
		return error_set(err, ERROR_FAILED, 0, "seccomp: there is no filter");
	if (confine_expect(open("/", O_PATH | O_CLOEXEC), EPERM, "opening /", err) < 0)
		return -1;
	return confine_expect(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), EPERM, "making a socket", err);
}

static int front_serve(const struct role_settings *settings, int control, const int fds[ROLE_FDS], void *own,
		       struct error *err)
{
	const struct front_start *start = own;

	signal(SIGPIPE, SIG_IGN);
	return front_run(&(struct front_fds){ .listen = role_fd(settings, fds, GIVEN_LISTENER),
					      .tcp = role_fd(settings, fds, GIVEN_TCP),
					      .keeper = -1,
					      .store = -1,
					      .control = control },
			 &(struct front_options){ .mcp_fixtures = settings->mcp_fixtures,
						  .max_running = settings->max_running,
						  .max_queued = settings->max_queued,
						  .max_clients = start->clients,
						  .tls = start->tls,
						  .tell_ready = true,
						  .wait_for_store = settings->audit == AUDIT_REQUIRED,
						  .config = role_fd(settings, fds, GIVEN_CONFIG) },
			 err);
}

const struct role_row front_role = {
	.name = "front",
	.given = GIVEN_LISTENER | GIVEN_TCP | GIVEN_CONFIG | GIVEN_TLS_CERT | GIVEN_TLS_KEY,
	.peers = { { ROLE_KEEPER, ROLE_PEER, "the front lost a message of the keeper; they are introduced anew" },
		   { ROLE_STORE, ROLE_STORE_PEER, "the front lost a message of the store; they are introduced anew" } },
	.prepare = front_prepare,
	.confine = front_confine,
	.run = front_serve,
};
