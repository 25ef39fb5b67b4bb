/*
 * A service for one caller: it lives as long as we do.
 *
 * For what needs a keeper where no service runs: sessions at a terminal, or for
 * an MCP client. It listens on no port, at a socket in a directory of its own
 * that only we can enter, and shares languages, history and settings with any
 * other service of the same EMBERBOX_HOME.
 */
#pragma once

#include "base/error.h"

#include <limits.h>
#include <sys/types.h>

struct private_service {
	pid_t pid;             /* of its supervisor; 0: there is none */
	int dir;               /* its directory, locked for as long as we live; -1: none */
	char path[PATH_MAX];   /* the directory's name */
	char socket[PATH_MAX]; /* where it listens: EMBERBOX_SOCKET for whatever is to use it */
};

#define PRIVATE_SERVICE_INIT                                                                                           \
	{                                                                                                              \
		.dir = -1                                                                                              \
	}

/*
 * Starts one and returns when it listens, or -1 with what it said. It ends with
 * the thread that called this, however that ends: the kernel sends it SIGTERM.
 * So call it from a thread that lives as long as the process, as main() does.
 */
int private_service_start(struct private_service *service, struct error *err);
/* Ends it, its boxes with it, and removes its directory. Of one that was not started: nothing. */
void private_service_end(struct private_service *service);
#define _cleanup_private_service_ _cleanup_(private_service_end)
