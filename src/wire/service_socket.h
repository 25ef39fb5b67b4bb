/* The path of this user's service socket, and a connection to it. */
#pragma once

#include <stddef.h>

/* The path of the socket: EMBERBOX_SOCKET, or emberbox.sock in the state directory. Returns 0, or -1 if there is
 * none. */
int service_socket_path(char *path, size_t size);
/* A connected socket, or -1 with errno: ENOENT and ECONNREFUSED mean that no service is running. The peer must be this
 * user or root. */
int service_socket_connect(const char *path);
