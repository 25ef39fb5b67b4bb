#include "wire/service_socket.h"

#include "base/own.h"
#include "base/state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int service_socket_path(char *path, size_t size)
{
	const char *socket = getenv("EMBERBOX_SOCKET");

	if (!socket || !*socket)
		return state_path("emberbox.sock", path, size);
	return snprintf(path, size, "%s", socket) < (int)size ? 0 : -1;
}

int service_socket_connect(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = -1;
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (strlen(path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(address.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -1;
	/* The listener receives our code and decides the result, so it must be a trusted user. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return -1;
	if (peer.uid != 0 && peer.uid != geteuid()) {
		errno = EPERM;
		return -1;
	}
	return take_fd(&fd);
}
