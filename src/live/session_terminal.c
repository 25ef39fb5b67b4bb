/* Shells beside a session's driver. */
#include "live/session_parts.h"
#include "live/slots.h"

#include "base/own.h"
#include "kernel/clone.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A terminal that lives: it has a process, and a thread here. */
struct session_shell {
	struct slot slot; /* one of those that may be open at once */
	pid_t pid;        /* the process that its thread waits for */
	char owner[];     /* the caller that it counts for */
};

static void terminal_free(struct session_shell *terminal)
{
	slot_leave(&terminal->slot);
	free(terminal);
}

static void *await_end(void *argument)
{
	struct session_shell *terminal = argument;

	clone_wait(terminal->pid, NULL);
	terminal_free(terminal);
	return NULL;
}

/* Reaps it whenever it ends. A terminal that cannot have a thread is not opened. */
static int watch_terminal(struct session_shell *terminal)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int errnum;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	errnum = pthread_create(&thread, &attributes, await_end, terminal);
	pthread_attr_destroy(&attributes);
	return errnum;
}

static int start_terminal(struct session *session, const struct terminal_size *size, struct session_shell *terminal,
			  int *master, struct error *err)
{
	static const char *const programs[] = { "/usr/bin/bash", "/bin/bash", "/bin/sh", NULL };
	static const char *const envp[] = { "HOME=/sandbox/temp", "PATH=/usr/local/bin:/usr/bin:/bin",
					    "LANG=C.UTF-8",       "TERM=xterm-256color",
					    "USER=sandbox",       "LOGNAME=sandbox",
					    "SHELL=/bin/sh",      NULL };
	const struct engine_exec what = {
		.inside = session->driver_pidfd, .size = *size, .programs = programs, .envp = envp
	};
	struct engine_execution begun = { .pid = -1, .socket = -1 };
	int errnum, done = resident_exec(&session->place.home, &what, &begun, err);

	if (done == 1)
		return session_refuse_ended(&session->place, err);
	*master = done == 0 ? begun.await(&begun, err) : -1;
	if (*master < 0)
		return -1;
	terminal->pid = begun.pid;
	errnum = watch_terminal(terminal);
	if (errnum == 0)
		return 0;
	close_fd(master);
	kill(begun.pid, SIGKILL);
	clone_wait(begun.pid, NULL);
	return error_set(err, ERROR_FAILED, errnum, "cannot watch a terminal");
}

int session_terminal(struct session *session, struct slots *terminals, unsigned rows, unsigned columns, int *master,
		     struct error *err)
{
	const struct terminal_size size = { .rows = (uint16_t)rows, .columns = (uint16_t)columns };
	const size_t length = strlen(session->place.owner) + 1;
	struct session_shell *terminal = calloc(1, sizeof(*terminal) + length);

	if (!terminal)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot open a terminal");
	/* It may outlive its session. */
	memcpy(terminal->owner, session->place.owner, length);
	if (!slot_take(terminals, &terminal->slot, terminal->owner)) {
		error_refuse(err, CODE_BUSY, "session", "as many terminals are open as may, %zu, or %zu of this caller",
			     terminals->most, terminals->most_own);
	} else if (start_terminal(session, &size, terminal, master, err) == 0) {
		return 0;
	}
	terminal_free(terminal);
	return -1;
}
