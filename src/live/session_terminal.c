/* Shells beside a session's driver. */
#include "live/beside.h"
#include "live/session_parts.h"

#include "base/own.h"
#include "kernel/clone.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
	TERMINALS_MAX = 64,  /* of all sessions */
	TERMINALS_EACH = 32, /* of one owner's; others have the rest. A shell may outlive its client */
	OWNER_MAX = 64       /* bytes of an owner's name that tell it from others */
};

/* A terminal that lives: it has a process and a thread here. */
struct place {
	bool taken;            /* it is one's */
	pid_t pid;             /* whom its thread waits for */
	char owner[OWNER_MAX]; /* whose it is */
};

static pthread_mutex_t places_lock = PTHREAD_MUTEX_INITIALIZER;
static struct place places[TERMINALS_MAX];

/* NULL: there is none left for this owner. */
static struct place *place_take(const char *owner)
{
	struct place *found = NULL;
	size_t own = 0;

	pthread_mutex_lock(&places_lock);
	for (size_t i = 0; i < TERMINALS_MAX; i++) {
		if (!places[i].taken)
			found = &places[i];
		else
			own += strncmp(places[i].owner, owner, OWNER_MAX - 1) == 0;
	}
	found = own < TERMINALS_EACH ? found : NULL;
	if (found) {
		found->taken = true;
		snprintf(found->owner, sizeof(found->owner), "%s", owner);
	}
	pthread_mutex_unlock(&places_lock);
	return found;
}

static void place_leave(struct place *place)
{
	pthread_mutex_lock(&places_lock);
	place->taken = false;
	pthread_mutex_unlock(&places_lock);
}

static void *await_end(void *argument)
{
	struct place *place = argument;

	clone_wait(place->pid, NULL);
	place_leave(place);
	return NULL;
}

/* Reaps it whenever it ends; a thread that cannot be had is no reason to leave a shell unwatched. */
static int watch(struct place *place)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int errnum;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	errnum = pthread_create(&thread, &attributes, await_end, place);
	pthread_attr_destroy(&attributes);
	return errnum;
}

static int start(struct session *session, const struct terminal_size *size, struct place *place, int *master,
		 struct error *err)
{
	static const char *const programs[] = { "/usr/bin/bash", "/bin/bash", "/bin/sh", NULL };
	static const char *const envp[] = { "HOME=/sandbox/temp", "PATH=/usr/local/bin:/usr/bin:/bin",
					    "LANG=C.UTF-8",       "TERM=xterm-256color",
					    "USER=sandbox",       "LOGNAME=sandbox",
					    "SHELL=/bin/sh",      NULL };
	struct resident *home = &session->home;
	struct beside what = {
		.job = &home->job, .inside = session->driver_pidfd, .size = *size, .programs = programs, .envp = envp
	};
	struct beside_begun begun = { .pid = -1, .socket = -1 };
	int errnum, done;

	/* While that is held nothing of the box is taken down, and nobody can ask about any session: not for longer
	 * than a fork. */
	pthread_mutex_lock(&home->lock);
	what.box = home->live ? home->box : NULL;
	done = what.box ? beside_start(&what, &begun, err) : -1;
	if (what.box && what.box->group)
		cgroup_entered(what.box->group);
	pthread_mutex_unlock(&home->lock);
	if (!what.box)
		return session_has_ended(session, err);
	*master = done == 0 ? beside_await(&begun, err) : -1;
	if (*master < 0)
		return -1;
	place->pid = begun.pid;
	errnum = watch(place);
	if (errnum == 0)
		return 0;
	close_fd(master);
	kill(begun.pid, SIGKILL);
	clone_wait(begun.pid, NULL);
	return error_set(err, ERROR_FAILED, errnum, "cannot watch a terminal");
}

int session_terminal(struct session *session, unsigned rows, unsigned columns, int *master, struct error *err)
{
	const struct terminal_size size = { .rows = (uint16_t)rows, .columns = (uint16_t)columns };
	struct place *place = place_take(session->owner);

	if (!place) {
		error_usage(err, "session: as many terminals are open as may, %d, or %d of this caller", TERMINALS_MAX,
			    TERMINALS_EACH);
		err->errnum = EBUSY;
		return -1;
	}
	if (start(session, &size, place, master, err) == 0)
		return 0;
	place_leave(place);
	return -1;
}
