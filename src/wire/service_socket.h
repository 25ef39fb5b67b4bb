/* Where the service of this user listens, and a connection to it. */
#pragma once

#include <stddef.h>

/* Where the service listens: EMBERBOX_SOCKET, else emberbox.sock in the state directory. 0, or -1 when there is no
 * such place. */
int service_socket_path(char *path, size_t size);
/* A connected socket, or -1 with errno: ENOENT and ECONNREFUSED mean that no service is there. The peer has to be us or
 * root. */
int service_socket_connect(const char *path);
