/* What a service manager passes, and what it is told. */
#include "../check.h"

#include "base/own.h"
#include "daemon/supervisor/activation.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>

static void say(const char *pid, const char *fds)
{
	char text[32];

	snprintf(text, sizeof(text), "%d", (int)getpid());
	setenv("LISTEN_PID", pid ? pid : text, 1);
	setenv("LISTEN_FDS", fds, 1);
	setenv("LISTEN_FDNAMES", "emberbox.socket", 1);
}

static void place(int fd)
{
	if (fd != 3) {
		dup2(fd, 3);
		close(fd);
	}
	fcntl(3, F_SETFD, 0);
}

static int listening(int type)
{
	int fd = socket(AF_UNIX, type, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	/* Only the family: the kernel chooses an abstract name. */
	CHECK_INT(bind(fd, (struct sockaddr *)&address, sizeof(sa_family_t)), 0);
	CHECK_INT(listen(fd, 1), 0);
	return fd;
}

static void nothing_is_passed(void)
{
	struct activation activation;
	struct error err = { 0 };

	CHECK_INT(activation_take(&activation, &err), 0);
	CHECK_INT(activation.listener, -1);
	CHECK_STR(activation.notify, "");
	activation_notify(&activation, "READY=1");
}

static void a_socket_is_taken(void)
{
	struct activation activation;
	struct error err = { 0 };

	place(listening(SOCK_STREAM));
	say(NULL, "1");
	CHECK_INT(activation_take(&activation, &err), 0);
	CHECK_INT(activation.listener, 3);
	CHECK_INT(fcntl(3, F_GETFD), FD_CLOEXEC);
	CHECK(!getenv("LISTEN_PID") && !getenv("LISTEN_FDS") && !getenv("LISTEN_FDNAMES"));
	close(3);
}

/* As when a shell between the manager and us kept the variables. */
static void what_is_for_another_is_not_taken(void)
{
	struct activation activation;
	struct error err = { 0 };

	say("1", "1");
	CHECK_INT(activation_take(&activation, &err), 0);
	CHECK_INT(activation.listener, -1);
	say("", "1");
	CHECK_INT(activation_take(&activation, &err), 0);
	CHECK_INT(activation.listener, -1);
}

static void refused(const char *fds, const char *sentence)
{
	struct activation activation;
	struct error err = { 0 };

	say(NULL, fds);
	CHECK_INT(activation_take(&activation, &err), -1);
	CHECK_INT(err.kind, ERROR_USAGE);
	CHECK_STR(err.text, sentence);
	CHECK_INT(activation.listener, -1);
}

static void what_cannot_be_served_is_refused(void)
{
	static const char wrong[] = "socket activation: descriptor 3 is not a listening Unix stream socket";

	refused("0", "socket activation: one socket is expected, LISTEN_FDS is \"0\"");
	refused("2", "socket activation: one socket is expected, LISTEN_FDS is \"2\"");
	refused("many", "socket activation: one socket is expected, LISTEN_FDS is \"many\"");
	close(3);
	refused("1", wrong);
	place(open("/dev/null", O_RDWR));
	refused("1", wrong);
	place(socket(AF_UNIX, SOCK_STREAM, 0));
	refused("1", wrong);
	place(listening(SOCK_SEQPACKET));
	refused("1", wrong);
	close(3);
}

static void states_are_told(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(address);
	struct activation activation;
	char text[64] = "@";
	struct error err = { 0 };
	ssize_t n;

	CHECK_INT(bind(manager, (struct sockaddr *)&address, sizeof(sa_family_t)), 0);
	CHECK_INT(getsockname(manager, (struct sockaddr *)&address, &size), 0);
	memcpy(text + 1, address.sun_path + 1, size - sizeof(sa_family_t) - 1);
	setenv("NOTIFY_SOCKET", text, 1);
	CHECK_INT(activation_take(&activation, &err), 0);
	CHECK(!getenv("NOTIFY_SOCKET"));
	activation_notify(&activation, "READY=1");
	n = recv(manager, text, sizeof(text), MSG_DONTWAIT);
	CHECK_INT(n, 7);
	CHECK(memcmp(text, "READY=1", 7) == 0);
	/* One that is gone is not waited for. */
	close_fd(&manager);
	activation_notify(&activation, "STOPPING=1");
}

int main(void)
{
	unsetenv("NOTIFY_SOCKET");
	RUN(nothing_is_passed);
	RUN(a_socket_is_taken);
	RUN(what_is_for_another_is_not_taken);
	RUN(what_cannot_be_served_is_refused);
	RUN(states_are_told);
	return check_failures != 0;
}
