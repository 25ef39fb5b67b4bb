/* What a service manager gives a service, and is told: a listening socket (sd_listen_fds) and states (sd_notify). */
#pragma once

#include "base/error.h"

#include <sys/un.h>

struct activation {
	int ready;    /* a pipe to who started us and waits; -1: none; owned */
	int listener; /* the socket that was passed, -1: none; owned */
	char notify[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* where states are told; empty: nowhere */
};

/* Takes all from the environment, which has none of it afterwards. A socket that cannot be served is an error. */
int activation_take(struct activation *activation, struct error *err);

/* "READY=1" and the like. Who does not listen is not waited for. */
void activation_notify(const struct activation *activation, const char *state);

/* Tells who waits, once, that the service can be asked: `emberbox run`, by EMBERBOX_READY_FD. */
void activation_ready(struct activation *activation);
