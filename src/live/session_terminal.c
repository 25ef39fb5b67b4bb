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
struct slot {
	bool taken;            /* it is one's */
	pid_t pid;             /* whom its thread waits for */
	char owner[OWNER_MAX]; /* whose it is */
};

static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;
static struct slot slots[TERMINALS_MAX];

/* NULL: there is none left for this owner. */
static struct slot *slot_take(const char *owner)
{
	struct slot *found = NULL;
	size_t own = 0;

	pthread_mutex_lock(&slots_lock);
	for (size_t i = 0; i < TERMINALS_MAX; i++) {
		if (!slots[i].taken)
			found = &slots[i];
		else
			own += strncmp(slots[i].owner, owner, OWNER_MAX - 1) == 0;
	}
	found = own < TERMINALS_EACH ? found : NULL;
	if (found) {
		found->taken = true;
		snprintf(found->owner, sizeof(found->owner), "%s", owner);
	}
	pthread_mutex_unlock(&slots_lock);
	return found;
}

static void slot_leave(struct slot *slot)
{
	pthread_mutex_lock(&slots_lock);
	slot->taken = false;
	pthread_mutex_unlock(&slots_lock);
}

static void *await_end(void *argument)
{
	struct slot *slot = argument;

	clone_wait(slot->pid, NULL);
	slot_leave(slot);
	return NULL;
}

/* Reaps it whenever it ends; a thread that cannot be had is no reason to leave a shell unwatched. */
static int watch(struct slot *slot)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int errnum;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	errnum = pthread_create(&thread, &attributes, await_end, slot);
	pthread_attr_destroy(&attributes);
	return errnum;
}

static int start(struct session *session, const struct terminal_size *size, struct slot *slot, int *master,
		 struct error *err)
{
	static const char *const programs[] = { "/usr/bin/bash", "/bin/bash", "/bin/sh", NULL };
	static const char *const envp[] = { "HOME=/sandbox/temp", "PATH=/usr/local/bin:/usr/bin:/bin",
					    "LANG=C.UTF-8",       "TERM=xterm-256color",
					    "USER=sandbox",       "LOGNAME=sandbox",
					    "SHELL=/bin/sh",      NULL };
	struct resident *home = &session->place.home;
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
	slot->pid = begun.pid;
	errnum = watch(slot);
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
	struct slot *slot = slot_take(session->place.owner);

	if (!slot) {
		error_usage(err, "session: as many terminals are open as may, %d, or %d of this caller", TERMINALS_MAX,
			    TERMINALS_EACH);
		err->errnum = EBUSY;
		return -1;
	}
	if (start(session, &size, slot, master, err) == 0)
		return 0;
	slot_leave(slot);
	return -1;
}
