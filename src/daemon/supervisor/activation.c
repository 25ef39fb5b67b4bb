#include "daemon/supervisor/activation.h"

#include "base/own.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
	LISTEN_FIRST = 3 /* sd_listen_fds(3): passed descriptors begin here */
};

static int option_int(int fd, int option)
{
	int value = -1;
	socklen_t size = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

static int take_listener(int *listener, struct error *err)
{
	const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
	uint64_t for_pid, count;

	/* The variables may be meant for who started us: then they name another pid. */
	if (!pid || !fds || !text_count(pid, &for_pid) || for_pid != (uint64_t)getpid())
		return 0;
	if (!text_count(fds, &count) || count != 1)
		return error_usage(err, "socket activation: one socket is expected, LISTEN_FDS is \"%.32s\"", fds);
	if (option_int(LISTEN_FIRST, SO_DOMAIN) != AF_UNIX || option_int(LISTEN_FIRST, SO_TYPE) != SOCK_STREAM ||
	    option_int(LISTEN_FIRST, SO_ACCEPTCONN) != 1)
		return error_usage(err, "socket activation: descriptor %d is not a listening Unix stream socket",
				   LISTEN_FIRST);
	if (fcntl(LISTEN_FIRST, F_SETFD, FD_CLOEXEC) < 0)
		return error_errno(err, "socket activation");
	*listener = LISTEN_FIRST;
	return 0;
}

/* A number that is no descriptor of ours is no reason not to serve: nobody waits there. */
static int take_ready(void)
{
	const char *text = getenv("EMBERBOX_READY_FD");
	uint64_t fd;

	if (!text || !text_count(text, &fd) || fd <= STDERR_FILENO || fd > 1024)
		return -1;
	return fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0 ? -1 : (int)fd;
}

int activation_take(struct activation *activation, struct error *err)
{
	const char *notify = getenv("NOTIFY_SOCKET");
	int done;

	*activation = (struct activation){ .listener = -1, .ready = take_ready() };
	/* A path or an abstract name; other kinds of address are for virtual machines. */
	if (notify && (*notify == '/' || *notify == '@') && strlen(notify) < sizeof(activation->notify))
		strcpy(activation->notify, notify);
	done = take_listener(&activation->listener, err);
	unsetenv("EMBERBOX_READY_FD");
	unsetenv("NOTIFY_SOCKET");
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	return done;
}

void activation_notify(const struct activation *activation, const char *state)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t size = strlen(activation->notify);
	_cleanup_close_ int fd = -1;

	if (size == 0)
		return;
	memcpy(to.sun_path, activation->notify, size);
	if (to.sun_path[0] == '@')
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0)
		sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&to,
		       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size));
}

void activation_ready(struct activation *activation)
{
	/* It may have waited no longer. */
	if (activation->ready >= 0)
		(void)!write(activation->ready, "", 1);
	close_fd(&activation->ready);
}
