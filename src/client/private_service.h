/*
 * A service for one caller, with the caller's lifetime.
 *
 * Sessions at a terminal or for an MCP client need a keeper even if no service
 * is running. This service listens on no port, only on a socket in a directory
 * that only its user can enter. It shares languages, history and settings with
 * other services of the same EMBERBOX_HOME.
 */
#pragma once

#include "base/error.h"

#include <limits.h>
#include <sys/types.h>

struct private_service {
	pid_t pid;             /* of its supervisor; 0: none */
	int dir;               /* its directory, locked while the caller lives; -1: none */
	char path[PATH_MAX];   /* the directory's name */
	char socket[PATH_MAX]; /* path of its socket: EMBERBOX_SOCKET for its users */
};

#define PRIVATE_SERVICE_INIT                                                                                           \
	{                                                                                                              \
		.dir = -1                                                                                              \
	}

/*
 * Starts a service and returns when it listens, or -1 with its error. It ends
 * with the calling thread, because the kernel then sends it SIGTERM. So call
 * this from a thread that lives as long as the process, such as main()'s.
 */
int private_service_start(struct private_service *service, struct error *err);
/* Ends the service and its boxes, and removes its directory. Does nothing if it was not started. */
void private_service_end(struct private_service *service);
#define _cleanup_private_service_ _cleanup_(private_service_end)
