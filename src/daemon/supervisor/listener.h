/*
 * The service's socket: a file of mode 0600 in a directory of our own.
 *
 * A lock beside it (PATH.lock) decides between two starts; the kernel drops it
 * with its holder, so none is ever stale. The file of a service that was killed
 * is replaced.
 */
#pragma once

#include "base/error.h"

#include <sys/types.h>
#include <sys/un.h>

struct listener {
	int fd;                                                 /* listens; -1: not yet, or no more */
	int lock;                                               /* of PATH.lock, held while open; -1: none */
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* of the file */
	dev_t dev;                                              /* of the file that we made, … */
	ino_t ino;                                              /* … so that another's is not removed */
};

#define LISTENER_INIT                                                                                                  \
	{                                                                                                              \
		.fd = -1, .lock = -1                                                                                   \
	}

/* "emberbox is already served at PATH (pid N)" when that is so. */
int listener_open(const char *path, struct listener *listener, struct error *err);
/* Stops listening and takes the file away, if it is still ours. The lock stays: the place is taken until the end. */
void listener_remove(struct listener *listener);
void listener_free(struct listener *listener);
