#include "daemon/supervisor/supervisor.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/own.h"
#include "wire/service_socket.h"
#include "kernel/clone.h"
#include "kernel/landlock.h"
#include "kernel/userns.h"
#include "base/state.h"
#include "daemon/supervisor/activation.h"
#include "daemon/supervisor/announce.h"
#include "daemon/supervisor/languages_watch.h"
#include "daemon/supervisor/listener.h"
#include "daemon/front/mcp_fixtures.h"
#include "daemon/role.h"
#include "daemon/supervisor/role_table.h"
#include "daemon/supervisor/setup.h"
#include "store/record.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum {
	SETTLE_USEC = 100000,       /* from the last touch of a file of the configuration until it is read */
	SETTLE_SAY_USEC = 400000,   /* one that is still being written is said when the next look is so far */
	SETTLE_MAX_USEC = 10000000, /* and is looked at so seldom in the end */
	QUICK_USEC = 1000000,       /* a role that dies sooner is not restarted at once … */
	QUICK_MAX = 5,              /* … and so many times in a row, never having served, is enough */
	DRAIN_USEC = 10000000,      /* runs may go on so long after SIGTERM */
	END_USEC = 3000000,         /* what was told to end gets so long to do it */
	NOBODY = 65534,             /* root's front, where uids for boxes cannot be had */
	PLACE_MAX = 4096            /* bytes of a path, before it is known to be too long for a socket */
};

enum serve_phase {
	SERVING,
	DRAINING, /* no new runs; those that are there may end */
	ENDING,   /* runs are ended */
	KILLING,  /* what did not end is killed */
};

struct role_child {
	struct role_process process; /* pid 0: none */
	enum role role;              /* which */
	bool ready;                  /* it said that it serves */
	uint64_t started_usec;       /* when, … */
	uint64_t restart_usec;       /* … and when to start the next; 0: not set */
	unsigned quick;              /* deaths soon after a start, in a row */
};

enum {
	CHILDREN = ROLES /* one of each role, by its number */
};

struct supervisor {
	const struct serve_options *options;  /* as called */
	struct activation activation;         /* the service manager */
	struct listener listener;             /* ours, unless the manager passed one */
	int listen_fd;                        /* either */
	struct setup setup;                   /* the configuration, and what was made of it */
	struct journal *journal;              /* where changes of the configuration are written down; NULL: nowhere */
	int announced;                        /* the file that tells our address; -1: none does */
	int nudge;                            /* eventfd: there is something in the journal */
	int signals;                          /* signalfd */
	struct userns_ids ids[ROLES];         /* who root's front and egress are */
	struct role_settings settings;        /* of both roles */
	struct role_child children[CHILDREN]; /* roles */
	enum serve_phase phase;               /* how far the end is */
	uint64_t deadline_usec;               /* of the phase; 0: none */
	bool reloading;                       /* the keeper has not said yet that it did */
	bool told;                            /* that it serves */
	uint64_t settle_usec;                 /* when to look at the files that were touched; 0: none was */
	uint64_t settle_more;                 /* how much later if they are still being written */
	bool stale;                           /* they could not be used: what is in force is of before */
	struct languages_watch languages;     /* the user's own */
	uint64_t languages_usec;              /* when to look at those that were touched; 0: none was */
	uint64_t languages_more;              /* how much later if they are still being written */
};

#define SAY(s, ...) (s)->options->say(__VA_ARGS__)

static bool lives(const struct role_child *child)
{
	return child->process.pid > 0;
}

/* "was ended by SIGKILL" */
static const char *cause(int status, char *text, size_t size)
{
	const char *name = WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : NULL;

	if (name)
		snprintf(text, size, "was ended by SIG%s", name);
	else if (WIFSIGNALED(status))
		snprintf(text, size, "was ended by signal %d", WTERMSIG(status));
	else
		snprintf(text, size, "exited with %d", WEXITSTATUS(status));
	return text;
}

/* Starting */

/* Two roles get an end of a new way to each other: that of before ended with one of them. */
static int introduce(const struct supervisor *s, enum role role, const struct role_peer *peer, struct error *err)
{
	const struct role_peer *back = role_table[peer->other]->peers;
	int ends[2];

	while (back->word && back->other != role)
		back++;
	if (!lives(&s->children[role]) || !lives(&s->children[peer->other]) || !back->word)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_errno(err, "cannot make the roles' socket");
	role_say(&s->children[role].process, peer->word, ends[0]);
	role_say(&s->children[peer->other].process, back->word, ends[1]);
	close(ends[0]);
	close(ends[1]);
	return 0;
}

/* What the role gets of that which is there; how many. */
static size_t child_fds(const struct supervisor *s, enum role role, uint32_t *given, int fds[ROLE_FDS])
{
	const struct {
		enum role_given which; /* its bit */
		int fd;                /* -1: there is none */
	} all[ROLE_FDS] = {
		{ GIVEN_LISTENER, s->listen_fd },     { GIVEN_TCP, s->setup.tcp },
		{ GIVEN_CONFIG, s->setup.config_fd }, { GIVEN_TLS_CERT, s->setup.tls_cert },
		{ GIVEN_TLS_KEY, s->setup.tls_key },  { GIVEN_NUDGE, s->nudge },
	};
	size_t count = 0;

	*given = 0;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (all[i].fd < 0 || !(role_table[role]->given & all[i].which))
			continue;
		*given |= all[i].which;
		fds[count++] = all[i].fd;
	}
	return count;
}

/* Root's front gets a uid like a box, and so does egress: each has one of its own while we hold the lock. */
static int choose_ids(struct supervisor *s, enum role role, struct error *err)
{
	if (geteuid() != 0)
		return 0;
	if (userns_can_range())
		return userns_take(true, &s->ids[role], err);
	s->ids[role].uid = NOBODY;
	s->settings.become_anyway = true;
	return 0;
}

/* What egress cannot open. A name server that is gone is noticed when names are asked for. */
static void tell_resolver(const struct supervisor *s)
{
	_cleanup_close_ int fd = setup_resolver(&s->setup);

	if (fd >= 0)
		role_say(&s->children[ROLE_EGRESS].process, ROLE_RESOLVER, fd);
}

static int child_start(struct supervisor *s, struct role_child *child, struct error *err)
{
	const struct role_row *row = role_table[child->role];
	int fds[ROLE_FDS];
	size_t count = child_fds(s, child->role, &s->settings.given, fds);

	child->started_usec = clock_usec();
	child->restart_usec = 0;
	child->ready = false;
	s->settings.role = child->role;
	s->settings.become = s->ids[child->role].uid;
	if (role_start(row, &s->settings, fds, count, &child->process, err) < 0)
		return -1;
	if (child->role == ROLE_FRONT && s->stale)
		role_say(&child->process, ROLE_STALE, -1);
	for (const struct role_peer *peer = row->peers; peer->word; peer++)
		if (introduce(s, child->role, peer, err) < 0)
			return -1;
	return 0;
}

/* Ending */

static void child_tell_end(struct role_child *child)
{
	close_fd(&child->process.control);
}

static void child_kill(const struct role_child *child)
{
	if (lives(child))
		syscall(SYS_pidfd_send_signal, child->process.pidfd, SIGKILL, NULL, 0);
}

/* A role has nothing to do once none lives that could need it. */
static void end_idle(struct supervisor *s)
{
	for (int role = 0; role < ROLES && s->phase != SERVING; role++) {
		const unsigned outlives = role_table[role]->outlives;
		struct role_child *child = &s->children[role];
		bool needed = outlives == 0 || child->process.control < 0;

		for (int other = 0; other < ROLES; other++)
			needed = needed || ((outlives & ROLE_BIT(other)) && lives(&s->children[other]));
		if (needed)
			continue;
		child_tell_end(child);
		if (s->phase == DRAINING)
			s->phase = ENDING;
		if (s->phase == ENDING)
			s->deadline_usec = clock_usec() + END_USEC;
	}
}

static void drain(struct supervisor *s)
{
	activation_notify(&s->activation, "STOPPING=1");
	/* Who comes now finds no service, and can do without. */
	close_fd(&s->listen_fd);
	close_fd(&s->setup.tcp);
	s->listener.fd = -1;
	listener_remove(&s->listener);
	announce_end(&s->announced);
	role_say(&s->children[ROLE_FRONT].process, ROLE_DRAIN, -1);
	s->deadline_usec = clock_usec() + DRAIN_USEC;
}

/* Each phase leaves less than the one before. */
static void phase_next(struct supervisor *s)
{
	s->phase++;
	for (struct role_child *child = s->children; child < s->children + CHILDREN; child++)
		child->restart_usec = 0;
	if (s->phase == DRAINING) {
		drain(s);
	} else if (s->phase == ENDING) {
		role_say(&s->children[ROLE_FRONT].process, ROLE_DRAIN, -1);
		s->deadline_usec = clock_usec() + END_USEC;
	} else {
		for (int role = 0; role < ROLES; role++)
			child_kill(&s->children[role]);
		s->deadline_usec = 0;
	}
	end_idle(s);
}

static void reloaded(struct supervisor *s)
{
	s->reloading = false;
	SAY(s, "reloaded");
	activation_notify(&s->activation, "READY=1");
}

/* The front says so to whoever asks how the service is. */
static void set_stale(struct supervisor *s, bool stale)
{
	s->stale = stale;
	role_say(&s->children[ROLE_FRONT].process, stale ? ROLE_STALE : ROLE_CURRENT, -1);
}

/* Something of what people write for us changed: the front gets it, if it can be used; if not, the old one stays. */
static void reconfigure(struct supervisor *s)
{
	_cleanup_buf_ struct buf weaker = { 0 };
	struct error err = { 0 };
	char names[4096];
	bool changed = false;
	int done = setup_reload(&s->setup, &changed, &weaker, &err);

	s->settle_usec = 0;
	setup_changed(&s->setup, names, sizeof(names));
	set_stale(s, done < 0);
	if (done < 0) {
		SAY(s, "%s; the configuration of before stays", err.text);
		setup_record(s->journal, "config_refused", err.text);
	} else if (changed) {
		role_say(&s->children[ROLE_FRONT].process, ROLE_CONFIG, s->setup.config_fd);
		SAY(s, "the configuration was read again");
		setup_record(s->journal, "config_changed", names);
	}
	if (done == 0)
		tell_resolver(s);
	/* Nobody shall lose a rule by a slip of the editor and not hear of it. */
	if (done == 0 && weaker.size > 0) {
		SAY(s, "warning: the policy has fewer rules than before: %.1000s", weaker.data);
		setup_record(s->journal, "policy_weakened", weaker.data);
	}
}

/* An editor truncates, writes and saves again; what is read meanwhile is half of what was meant. */
static void settle(struct supervisor *s)
{
	struct error why = { 0 };

	if (setup_is_settled(&s->setup, &why)) {
		reconfigure(s);
		return;
	}
	s->settle_more = s->settle_more < SETTLE_MAX_USEC ? 2 * s->settle_more : s->settle_more;
	s->settle_usec = clock_usec() + s->settle_more;
	if (s->stale || s->settle_more < SETTLE_SAY_USEC)
		return;
	SAY(s, "%s; the configuration of before stays until that is done", why.text);
	set_stale(s, true);
}

static void touched(struct supervisor *s)
{
	s->settle_more = SETTLE_USEC;
	s->settle_usec = clock_usec() + SETTLE_USEC;
	/* A token that was just made is used at once. */
	if (setup_is_only_tokens(&s->setup))
		settle(s);
}

/* The keeper reads the languages again; the front asks it for those that it does not know. */
static void settle_languages(struct supervisor *s)
{
	struct error why = { 0 };

	s->languages_usec = 0;
	if (languages_watch_is_settled(&why)) {
		if (languages_watch_changed(&s->languages))
			role_say(&s->children[ROLE_KEEPER].process, ROLE_LANGUAGES, -1);
		return;
	}
	s->languages_more = s->languages_more < SETTLE_MAX_USEC ? 2 * s->languages_more : s->languages_more;
	s->languages_usec = clock_usec() + s->languages_more;
	if (s->languages_more == SETTLE_SAY_USEC)
		SAY(s, "%s; the definition of before stays until that is done", why.text);
}

static void touched_languages(struct supervisor *s)
{
	s->languages_more = SETTLE_USEC;
	s->languages_usec = clock_usec() + SETTLE_USEC;
}

/* The languages are read at once, also while somebody has one of their files open. */
static void reload(struct supervisor *s)
{
	char state[64];

	s->settle_more = SETTLE_USEC;
	settle(s);
	s->reloading = true;
	snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, clock_usec());
	activation_notify(&s->activation, state);
	/* Marked before the keeper looks: what changes in between is read once more. */
	languages_watch_changed(&s->languages);
	role_say(&s->children[ROLE_KEEPER].process, ROLE_RELOAD, -1);
}

/* Events */

/* Each role serves, or is one that nobody waits for: clients are told once. */
static void tell_ready(struct supervisor *s)
{
	for (int i = 0; i < CHILDREN; i++)
		if (!s->children[i].ready && !(role_table[i]->optional && s->children[i].quick > 0))
			return;
	if (s->told || s->phase != SERVING)
		return;
	s->told = true;
	s->announced = announce_address(s->setup.address);
	if (s->setup.address[0])
		SAY(s, "HTTP at %s", s->setup.address);
	SAY(s, "serving at %s", *s->listener.path ? s->listener.path : "the socket that was passed");
	if (s->options->on_ready && s->setup.log == LOG_EVENTS)
		s->options->on_ready(s->setup.address);
	setup_record(s->journal, "service_started", s->setup.address);
	activation_notify(&s->activation, "READY=1");
	activation_ready(&s->activation);
	role_shrink();
}

static void on_ready(struct supervisor *s, struct role_child *child)
{
	child->ready = true;
	/* A keeper that was started since has read them. */
	if (s->reloading && child->role == ROLE_KEEPER)
		reloaded(s);
	tell_ready(s);
}

static int on_control(struct supervisor *s, struct role_child *child, struct error *err)
{
	int fds[FD_MESSAGE_MAX];
	size_t count = 0;
	char what = 0;
	ssize_t got = fd_receive(child->process.control, &what, 1, fds, &count);

	while (count > 0)
		close(fds[--count]);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (got <= 0) {
		close_fd(&child->process.control); /* it died, or is about to */
		return 0;
	}
	if (what == ROLE_READY)
		on_ready(s, child);
	if (what == ROLE_RELOAD && s->reloading)
		reloaded(s);
	if (what == ROLE_RESOLVER && child->role == ROLE_EGRESS)
		tell_resolver(s);
	if (what == ROLE_LANGUAGES && child->role == ROLE_KEEPER)
		SAY(s, "the languages were read again");
	for (const struct role_peer *peer = role_table[child->role]->peers; peer->word; peer++) {
		if (peer->word != what)
			continue;
		SAY(s, "%s", peer->complaint);
		return introduce(s, child->role, peer, err);
	}
	return 0;
}

/* A role that dies before it serves would do so for ever. One that served, and is killed or meets its end by what it is
 * asked, is started again however often. */
static int restart(struct supervisor *s, struct role_child *child, const char *why, struct error *err)
{
	const char *name = role_table[child->role]->name;
	bool quick = clock_usec() - child->started_usec < QUICK_USEC;

	child->quick = quick ? child->quick + 1 : 0;
	if (quick && role_table[child->role]->optional)
		tell_ready(s);
	if (child->quick >= QUICK_MAX && !child->ready && role_table[child->role]->optional) {
		SAY(s, "the %s %s; it ended %d times in a row soon after its start, and the service goes on without it",
		    name, why, QUICK_MAX);
		return 0;
	}
	if (child->quick >= QUICK_MAX && !child->ready)
		return error_set(err, ERROR_FAILED, 0, "the %s %s; it ended %d times in a row soon after its start",
				 name, why, QUICK_MAX);
	if (quick && child->quick > 1) {
		SAY(s, "the %s %s; it is restarted in 1 s", name, why);
		child->restart_usec = clock_usec() + QUICK_USEC;
		return 0;
	}
	if (child_start(s, child, err) < 0)
		return -1;
	SAY(s, "the %s %s; restarted", name, why);
	return 0;
}

static int on_death(struct supervisor *s, struct role_child *child, struct error *err)
{
	int status = 0;
	char why[64];

	clone_wait(child->process.pid, &status);
	cause(status, why, sizeof(why));
	close_fd(&child->process.pidfd);
	close_fd(&child->process.control);
	child->process.pid = 0;
	if (s->phase == SERVING)
		return restart(s, child, why, err);
	if (status != 0 && s->phase != KILLING)
		SAY(s, "the %s %s", role_table[child->role]->name, why);
	end_idle(s);
	return 0;
}

static void on_signal(struct supervisor *s)
{
	struct signalfd_siginfo info;

	if (read(s->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	if (info.ssi_signo == SIGHUP) {
		if (s->phase == SERVING)
			reload(s);
		return;
	}
	if (s->phase == SERVING) {
		phase_next(s);
		SAY(s, "ending; runs may finish for %d s", DRAIN_USEC / 1000000);
	} else if (s->phase == DRAINING) {
		phase_next(s);
	}
}

static uint64_t earliest(const struct supervisor *s)
{
	uint64_t when = s->deadline_usec;

	for (const struct role_child *child = s->children; child < s->children + CHILDREN; child++)
		if (child->restart_usec && (!when || child->restart_usec < when))
			when = child->restart_usec;
	if (s->settle_usec && (!when || s->settle_usec < when))
		when = s->settle_usec;
	if (s->languages_usec && (!when || s->languages_usec < when))
		when = s->languages_usec;
	return when;
}

static int on_time(struct supervisor *s, struct error *err)
{
	uint64_t now = clock_usec();

	for (struct role_child *child = s->children; child < s->children + CHILDREN; child++)
		if (child->restart_usec && child->restart_usec <= now && child_start(s, child, err) < 0)
			return -1;
	if (s->settle_usec && s->settle_usec <= now) {
		s->settle_usec = 0;
		if (s->phase == SERVING)
			settle(s);
	}
	if (s->languages_usec && s->languages_usec <= now) {
		s->languages_usec = 0;
		if (s->phase == SERVING)
			settle_languages(s);
	}
	if (s->deadline_usec && s->deadline_usec <= now)
		phase_next(s);
	return 0;
}

/* The loop: it wakes for signals, deaths and words of roles, and for a time only when one was set. */
static int watch_once(struct supervisor *s, struct error *err)
{
	struct pollfd fds[3 + 2 * CHILDREN] = { { .fd = s->signals, .events = POLLIN } };
	uint64_t until = earliest(s), now = clock_usec();
	int msec = !until ? -1 : until <= now ? 0 : (int)((until - now) / 1000 + 1);

	for (int i = 0; i < CHILDREN; i++) {
		fds[1 + 2 * i] = (struct pollfd){ .fd = s->children[i].process.control, .events = POLLIN };
		fds[2 + 2 * i] = (struct pollfd){ .fd = s->children[i].process.pidfd, .events = POLLIN };
	}
	fds[1 + 2 * CHILDREN] = (struct pollfd){ .fd = s->setup.watch, .events = POLLIN };
	fds[2 + 2 * CHILDREN] = (struct pollfd){ .fd = s->languages.fd, .events = POLLIN };
	if (poll(fds, ARRAY_SIZE(fds), msec) < 0)
		return errno == EINTR ? 0 : error_errno(err, "cannot watch the roles");
	/* One event a round: what it changed may be what the next one was about. */
	for (int i = 0; i < CHILDREN; i++) {
		if (fds[1 + 2 * i].revents)
			return on_control(s, &s->children[i], err);
		if (fds[2 + 2 * i].revents)
			return on_death(s, &s->children[i], err);
	}
	if (fds[0].revents)
		on_signal(s);
	if (fds[1 + 2 * CHILDREN].revents && setup_touched(&s->setup) && s->phase == SERVING)
		touched(s);
	if (fds[2 + 2 * CHILDREN].revents && languages_watch_touched(&s->languages) && s->phase == SERVING)
		touched_languages(s);
	return on_time(s, err);
}

static bool all_over(const struct supervisor *s)
{
	for (const struct role_child *child = s->children; child < s->children + CHILDREN; child++)
		if (lives(child))
			return false;
	return s->phase != SERVING;
}

static int watch(struct supervisor *s, struct error *err)
{
	struct error more;
	bool failed = false;

	for (int i = 0; i < CHILDREN; i++)
		if (child_start(s, &s->children[i], err) < 0)
			return -1;
	while (!all_over(s)) {
		if (watch_once(s, failed ? &more : err) == 0)
			continue;
		if (failed || s->phase != SERVING)
			return -1;
		/* Who is left ends in good order, and leaves nothing behind. */
		failed = true;
		phase_next(s);
	}
	return failed ? -1 : 0;
}

/* Setting up */

static int make_listener(struct supervisor *s, struct error *err)
{
	char place[PLACE_MAX];

	if (s->activation.listener >= 0) {
		if (s->options->socket)
			return error_usage(err, "--socket: the service manager passed a socket already");
		s->listen_fd = take_fd(&s->activation.listener);
		return 0;
	}
	if (!s->options->socket) {
		int made = state_dir(true);

		close_fd(&made);
		if (service_socket_path(place, sizeof(place)) < 0)
			return error_usage(err, "there is no place for the socket; set HOME, or use --socket");
	}
	if (listener_open(s->options->socket ? s->options->socket : place, &s->listener, err) < 0)
		return -1;
	s->listen_fd = s->listener.fd;
	return 0;
}

static int make_signals(struct supervisor *s, struct error *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return error_errno(err, "cannot block signals");
	/* Who reads our sentences may leave: that is no reason to end. */
	signal(SIGPIPE, SIG_IGN);
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signals >= 0 ? 0 : error_errno(err, "cannot make a signalfd");
}

static size_t default_running(void)
{
	cpu_set_t cpus;
	int count = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) : 2;

	return count < 2 ? 4 : (size_t)count * 2;
}

static int set_up(struct supervisor *s, struct error *err)
{
	s->settings.size = sizeof(s->settings);
	s->settings.max_running = s->options->max_running ? s->options->max_running : default_running();
	s->settings.max_queued = s->options->max_queued;
	s->settings.embers = s->options->embers;
	s->settings.ember_memory = s->options->ember_memory;
	s->settings.mcp_fixtures = mcp_fixtures_wanted();
	if (activation_take(&s->activation, err) < 0 || make_signals(s, err) < 0 ||
	    choose_ids(s, ROLE_FRONT, err) < 0 || choose_ids(s, ROLE_EGRESS, err) < 0 || make_listener(s, err) < 0 ||
	    setup_open(&s->setup, s->options, err) < 0)
		return -1;
	s->settings.history_days = s->setup.history_days;
	s->settings.history_size = s->setup.history_size;
	s->settings.audit = s->setup.audit;
	s->settings.log = s->setup.log;
	s->settings.no_landlock = s->setup.no_landlock;
	/* The store sees to it as well. Here it is one sentence, and no store that ends again and again. */
	if (landlock_abi() == 0 && !s->setup.no_landlock)
		return error_refuse(
			err, CODE_CANNOT_ENFORCE, "",
			"this host cannot enforce landlock for the store: the kernel has no Landlock; accept that "
			"with `emberbox serve --allow-weaker landlock` or EMBERBOX_SERVICE_WEAKER=landlock");
	log_open(s->setup.log, "serve");
	s->nudge = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->nudge < 0)
		return error_errno(err, "cannot make an eventfd");
	setup_journal(&s->setup, s->nudge, &s->journal);
	languages_watch_open(&s->languages);
	return 0;
}

/* After a failure: nothing of ours stays. */
static void kill_all(struct supervisor *s)
{
	for (struct role_child *child = s->children; child < s->children + CHILDREN; child++) {
		child_kill(child);
		if (lives(child))
			clone_wait(child->process.pid, NULL);
		close_fd(&child->process.pidfd);
		close_fd(&child->process.control);
	}
}

int serve_run(const struct serve_options *options, struct error *err)
{
	struct supervisor s = { .options = options,
				.activation.listener = -1,
				.listener = LISTENER_INIT,
				.listen_fd = -1,
				.setup = SETUP_INIT,
				.announced = -1,
				.nudge = -1,
				.signals = -1,
				.languages.fd = -1 };
	int done;

	for (int i = 0; i < CHILDREN; i++) {
		s.children[i] = (struct role_child){ .role = (enum role)i, .process = { .pidfd = -1, .control = -1 } };
		s.ids[i].lock_fd = -1;
	}
	done = set_up(&s, err);
	if (done == 0)
		done = watch(&s, err);
	setup_record(s.journal, "service_stopped", "");
	announce_end(&s.announced);
	kill_all(&s);
	if (done == 0)
		SAY(&s, "ended");
	journal_close(s.journal);
	setup_close(&s.setup);
	languages_watch_close(&s.languages);
	close_fd(&s.nudge);
	if (s.listen_fd != s.listener.fd)
		close_fd(&s.listen_fd);
	listener_free(&s.listener);
	close_fd(&s.activation.listener);
	close_fd(&s.signals);
	for (int i = 0; i < ROLES; i++)
		userns_release(&s.ids[i]);
	return done;
}
