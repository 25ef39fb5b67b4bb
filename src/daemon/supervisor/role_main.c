/* What a role does between its start and its work: takes its settings, confines itself, and says that it serves. */
#include "base/fd.h"
#include "base/log.h"
#include "base/own.h"
#include "http/tls.h"
#include "engine/warm/stem.h"
#include "language/runtime.h"
#include "daemon/front/front.h"
#include "daemon/keeper/keeper.h"
#include "daemon/role.h"
#include "daemon/supervisor/supervisor.h"
#include "daemon/store/store_role.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	/* Threads beside those for runs: one for each question that may wait. A question may take seconds, where a
	 * box's program likes; runs and the questions of others do not wait for it. Those that are never needed are not
	 * there. */
	KEEPER_SPARE = FRONT_ASKS / 2,
};

static int keeper_role(struct error *err)
{
	struct role_settings settings;
	int control, fds[ROLE_FDS];

	if (role_enter(ROLE_KEEPER, &settings, &control, fds, err) < 0 || role_confine(&settings, control, err) < 0)
		return -1;
	log_open((enum log_format)settings.log, "keeper");
	return keeper_run(control,
			  /* Questions are answered also while as much runs as may. */
			  &(struct keeper_options){ .workers = settings.max_running + KEEPER_SPARE,
						    .embers = settings.embers,
						    .ember_memory = settings.ember_memory,
						    .nudge = role_fd(&settings, fds, GIVEN_NUDGE),
						    .audit = (enum role_audit)settings.audit },
			  err);
}

static int store_role(struct error *err)
{
	struct role_settings settings;
	int control, fds[ROLE_FDS];

	if (role_enter(ROLE_STORE, &settings, &control, fds, err) < 0 || role_confine(&settings, control, err) < 0)
		return -1;
	log_open((enum log_format)settings.log, "store");
	/* Who reads our sentences may leave. */
	signal(SIGPIPE, SIG_IGN);
	return store_role_run(control, role_fd(&settings, fds, GIVEN_NUDGE),
			      &(struct store_options){ .days = settings.history_days,
						       .size_max = settings.history_size,
						       .audit = settings.audit != AUDIT_OFF,
						       .audit_best_effort = settings.audit == AUDIT_BEST_EFFORT },
			      err);
}

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
	_cleanup_close_ int certificate = role_fd(settings, fds, GIVEN_TLS);
	_cleanup_close_ int key = certificate < 0 ? -1 : fds[__builtin_popcount(settings->given & (GIVEN_TLS - 1)) + 1];
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

static int front_role(struct error *err)
{
	struct role_settings settings;
	struct tls_context *tls = NULL;
	int control, fds[ROLE_FDS];
	size_t clients;

	if (role_enter(ROLE_FRONT, &settings, &control, fds, err) < 0 || front_tls(&settings, fds, &tls, err) < 0)
		return -1;
	log_open((enum log_format)settings.log, "front");
	signal(SIGPIPE, SIG_IGN);
	clients = clients_max(settings.max_running);
	/* The user's own languages are files, and it can open none after this. New ones are the keeper's to know. */
	runtime_at(0);
	if (role_confine(&settings, control, err) < 0)
		return -1;
	return front_run(&(struct front_fds){ .listen = role_fd(&settings, fds, GIVEN_LISTENER),
					      .tcp = role_fd(&settings, fds, GIVEN_TCP),
					      .keeper = -1,
					      .store = -1,
					      .control = control },
			 &(struct front_options){ .mcp_fixtures = settings.mcp_fixtures,
						  .max_running = settings.max_running,
						  .max_queued = settings.max_queued,
						  .max_clients = clients,
						  .tls = tls,
						  .tell_ready = true,
						  .wait_for_store = settings.audit == AUDIT_REQUIRED,
						  .config = role_fd(&settings, fds, GIVEN_CONFIG) },
			 err);
}

/* Started by the keeper. What it has to say goes over its socket. */
static int stem_role(struct error *err)
{
	return stem_role_run() == 0 ? 0 : error_set(err, ERROR_FAILED, 0, "it ended");
}

static const struct {
	const char *name;              /* after --role= */
	int (*run)(struct error *err); /* until it is to end */
} roles[] = {
	{ "keeper", keeper_role },
	{ "store", store_role },
	{ "front", front_role },
	{ "stem", stem_role },
};

bool serve_is_role(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(roles); i++)
		if (strcmp(roles[i].name, name) == 0)
			return true;
	return false;
}

int serve_role(const char *name, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(roles); i++)
		if (strcmp(roles[i].name, name) == 0)
			return roles[i].run(err) == 0 ? 0 : error_prefix(err, "%s", name);
	return error_usage(err, "there is no role \"%.32s\"", name);
}
