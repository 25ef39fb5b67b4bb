/*
 * The keeper's threads.
 *
 * A link is the socket of one front. Threads wait in recvmsg() of it: the kernel
 * wakes one for each message, and that one makes the box, supervises it and
 * sends what comes of it. The last that waited sees to it that another waits
 * before it goes to work, up to the link's bound.
 *
 * When a front dies its link ends. Its threads become spare; its runs end by
 * their pipes, which it held, while the next front has a link already; nothing
 * else of the keeper's is touched.
 *
 * Threads do not end before the keeper does. A box dies with the *thread* that
 * cloned it (PR_SET_PDEATHSIG), so a thread that ended early would take with it
 * whatever it had made that is to live on.
 */
#include "daemon/keeper/keeper.h"

#include "base/fd.h"
#include "base/log.h"
#include "base/own.h"
#include "language/runtime.h"
#include "daemon/keeper/keeper_work.h"
#include "daemon/message.h"
#include "daemon/role.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

enum {
	STACK = 512 << 10 /* bytes of a thread's stack: a run needs 256 KiB, and only what is touched is memory */
};

struct link {
	struct link *next; /* in the keeper's list */
	int fd;            /* of the front */
	size_t workers;    /* threads that belong to it */
	size_t idle;       /* of them, those that wait for a message */
	bool wanted;       /* one more is to wait */
	bool ended;        /* the front is gone */
};

struct keeper {
	pthread_mutex_t lock;    /* for all below */
	pthread_cond_t summon;   /* a spare thread is to look for a link */
	pthread_cond_t quiet;    /* nothing runs */
	struct link *links;      /* of fronts that live, or have runs that do */
	size_t workers_max;      /* of one link */
	size_t spare;            /* threads that wait for a link */
	size_t summoned;         /* of those that were spare, how many are called and have not woken */
	size_t running;          /* messages at work, nearly all of them runs */
	bool ending;             /* no new ones */
	struct keeper_work work; /* what makes boxes, and what remembers them */
	int control;             /* to the supervisor */
};

/* While this is true the engines stay open. */
static bool work_begin(struct keeper *keeper)
{
	bool ending;

	pthread_mutex_lock(&keeper->lock);
	ending = keeper->ending;
	keeper->running += !ending;
	pthread_mutex_unlock(&keeper->lock);
	return !ending;
}

static void work_end(struct keeper *keeper)
{
	pthread_mutex_lock(&keeper->lock);
	if (--keeper->running == 0)
		pthread_cond_signal(&keeper->quiet);
	pthread_mutex_unlock(&keeper->lock);
}

static void handle(struct keeper *keeper, struct link *link, const struct message *message)
{
	if (!work_begin(keeper))
		return;
	keeper_handle(&keeper->work, link->fd, message);
	work_end(keeper);
}

static void *work(void *argument);

static int start_thread(struct keeper *keeper)
{
	pthread_attr_t attr;
	pthread_t thread;
	int errnum = pthread_attr_init(&attr);

	if (errnum == 0)
		errnum = pthread_attr_setstacksize(&attr, STACK);
	if (errnum == 0)
		errnum = pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (errnum == 0)
		errnum = pthread_create(&thread, &attr, work, keeper);
	pthread_attr_destroy(&attr);
	errno = errnum;
	return errnum == 0 ? 0 : -1;
}

/* With the lock held: somebody is to wait at the link. Without memory for a thread those that work come back to it. */
static int link_want(struct keeper *keeper, struct link *link)
{
	link->wanted = true;
	if (keeper->spare > 0) {
		keeper->spare--;
		keeper->summoned++;
		pthread_cond_signal(&keeper->summon);
		return 0;
	}
	if (start_thread(keeper) == 0)
		return 0;
	link->wanted = false;
	return -1;
}

/* With the lock held: a link that wants somebody, or NULL. */
static struct link *link_join(struct keeper *keeper)
{
	for (struct link *link = keeper->links; link; link = link->next) {
		if (link->wanted && !link->ended) {
			link->wanted = false;
			link->workers++;
			link->idle++;
			return link;
		}
	}
	return NULL;
}

/* With the lock held. The last one out takes it away. */
static void link_leave(struct keeper *keeper, struct link *link)
{
	struct link **at = &keeper->links;

	link->ended = true;
	link->idle--;
	if (--link->workers > 0)
		return;
	while (*at != link)
		at = &(*at)->next;
	*at = link->next;
	close_fd(&link->fd);
	free(link);
}

/* Until the front is gone. What it may not send ends the link: the supervisor makes another. */
static void link_serve(struct keeper *keeper, struct link *link)
{
	struct message message;
	struct error err;
	int got;

	while ((got = message_receive(link->fd, &message, &err)) > 0) {
		pthread_mutex_lock(&keeper->lock);
		if (--link->idle == 0 && !link->wanted && link->workers < keeper->workers_max)
			link_want(keeper, link);
		pthread_mutex_unlock(&keeper->lock);
		handle(keeper, link, &message);
		message_free(&message);
		pthread_mutex_lock(&keeper->lock);
		link->idle++;
		pthread_mutex_unlock(&keeper->lock);
	}
	if (got < 0) {
		bool first;

		pthread_mutex_lock(&keeper->lock);
		first = !link->ended;
		link->ended = true;
		pthread_mutex_unlock(&keeper->lock);
		shutdown(link->fd, SHUT_RDWR);
		if (first)
			fd_send(keeper->control, &(char){ ROLE_PEER }, 1, NULL, 0);
	}
}

static void *work(void *argument)
{
	struct keeper *keeper = argument;

	pthread_mutex_lock(&keeper->lock);
	for (;;) {
		struct link *link = link_join(keeper);

		if (link) {
			pthread_mutex_unlock(&keeper->lock);
			link_serve(keeper, link);
			pthread_mutex_lock(&keeper->lock);
			link_leave(keeper, link);
			continue;
		}
		keeper->spare++;
		while (keeper->summoned == 0)
			pthread_cond_wait(&keeper->summon, &keeper->lock);
		keeper->summoned--;
	}
	return NULL;
}

/* Takes the descriptor. */
static int link_add(struct keeper *keeper, int fd, struct error *err)
{
	struct link *link = calloc(1, sizeof(*link));
	int done = -1;

	if (!link) {
		close_fd(&fd);
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot serve another front");
	}
	link->fd = fd;
	pthread_mutex_lock(&keeper->lock);
	link->next = keeper->links;
	keeper->links = link;
	done = link_want(keeper, link);
	pthread_mutex_unlock(&keeper->lock);
	return done == 0 ? 0 : error_errno(err, "cannot start a thread");
}

/* Definitions that cannot be used: whoever edits one looks at the log, or finds it there later. */
static void read_languages(void)
{
	const struct runtime *runtime;

	runtime_reload();
	for (size_t i = 0; (runtime = runtime_at(i)); i++) {
		if (runtime->stale)
			log_say("%s; the definition of before stays", runtime->stale);
		else if (runtime->broken)
			log_say("%s cannot be used: %s", runtime->name, runtime->broken);
	}
}

/* The supervisor's words, until it has no more. */
static int hear(struct keeper *keeper, struct error *err)
{
	int fds[FD_MESSAGE_MAX];
	size_t count;
	ssize_t got;
	char what;

	while ((got = fd_receive(keeper->control, &what, 1, fds, &count)) > 0) {
		if (what == ROLE_PEER && count == 1) {
			if (link_add(keeper, fds[0], err) < 0)
				return -1;
			continue;
		}
		if (what == ROLE_EGRESS_PEER && count == 1) {
			egress_link_set(&keeper->work.egress, fds[0]);
			continue;
		}
		while (count > 0)
			close(fds[--count]);
		if (what != ROLE_LANGUAGES && what != ROLE_RELOAD)
			continue;
		read_languages();
		/* No box made ahead is of one of the user's own. */
		if (what == ROLE_RELOAD)
			engines_reload(&keeper->work.engines);
		fd_send(keeper->control, &what, 1, NULL, 0);
	}
	return got == 0 ? 0 : error_errno(err, "cannot hear the supervisor");
}

int keeper_run(int control, const struct keeper_options *options, struct error *err)
{
	/* Static, because its threads are never joined: they use it until the process exits. */
	static struct keeper keeper = {
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.summon = PTHREAD_COND_INITIALIZER,
		.quiet = PTHREAD_COND_INITIALIZER,
	};
	struct engine_options engine_options = { .embers_max = options->embers,
						 .memory_max = options->ember_memory,
						 .say = log_say };
	sigset_t pipe;
	int done;

	/* An arena of memory for each thread would be most of what an idle keeper takes. */
	mallopt(M_ARENA_MAX, 2);
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, NULL);
	keeper.control = control;
	keeper.workers_max = options->workers;
	keeper.work.audit = options->audit;
	egress_link_init(&keeper.work.egress);
	engine_options.egress = &keeper.work.egress;
	if (engines_open(&keeper.work.engines, engine_table, &engine_options, err) < 0 ||
	    keeper_work_open(&keeper.work, options->nudge, err) < 0)
		return -1;
	if (role_ready(control, err) < 0)
		return -1;
	done = hear(&keeper, err);
	pthread_mutex_lock(&keeper.lock);
	keeper.ending = true;
	while (keeper.running > 0)
		pthread_cond_wait(&keeper.quiet, &keeper.lock);
	pthread_mutex_unlock(&keeper.lock);
	keeper_work_close(&keeper.work);
	engines_close(&keeper.work.engines);
	return done;
}
