#include "daemon/supervisor/listener.h"

#include "base/own.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

enum {
	BACKLOG = 1024 /* clients that wait to be accepted; the kernel has a limit of its own */
};

/* Whoever could write there could put a socket of his own in our place. */
static int check_directory(const char *path, struct error *err)
{
	const char *slash = strrchr(path, '/');
	char directory[sizeof(((struct listener *)0)->path)] = ".";
	_cleanup_close_ int dir = -1;
	struct stat st;

	if (slash)
		snprintf(directory, sizeof(directory), "%.*s", slash == path ? 1 : (int)(slash - path), path);
	dir = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || fstat(dir, &st) < 0)
		return error_errno(err, "socket: cannot open the directory \"%s\"", directory);
	if (st.st_uid != geteuid() || (st.st_mode & 022))
		return error_usage(
			err,
			"socket: the directory \"%s\" must belong to you, and no other user may be able to write to it",
			directory);
	return 0;
}

static int served_already(const char *path, pid_t pid, struct error *err)
{
	/* 0: in a pid namespace that is not ours. */
	if (pid <= 0)
		return error_set(err, ERROR_FAILED, 0, "emberbox is already served at %s", path);
	return error_set(err, ERROR_FAILED, 0, "emberbox is already served at %s (pid %d)", path, (int)pid);
}

/* A lock of the process, not of the open file: the kernel then tells who has it. */
static int take_lock(struct listener *listener, struct error *err)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char name[sizeof(listener->path) + 8];

	snprintf(name, sizeof(name), "%s.lock", listener->path);
	listener->lock = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (listener->lock < 0)
		return error_errno(err, "socket: cannot open %s", name);
	if (fcntl(listener->lock, F_SETLK, &lock) == 0)
		return 0;
	if (errno != EAGAIN && errno != EACCES)
		return error_errno(err, "socket: cannot lock %s", name);
	if (fcntl(listener->lock, F_GETLK, &lock) < 0 || lock.l_type == F_UNLCK)
		lock.l_pid = 0;
	return served_already(listener->path, lock.l_pid, err);
}

/* With the lock held nobody of ours listens; somebody whose socket was passed to him by a service manager may. */
static int clear_place(const struct sockaddr_un *address, struct error *err)
{
	_cleanup_close_ int fd = -1;
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);
	struct stat st;

	if (lstat(address->sun_path, &st) < 0)
		return errno == ENOENT ? 0 : error_errno(err, "socket: cannot look at %s", address->sun_path);
	if (!S_ISSOCK(st.st_mode))
		return error_usage(err, "socket: %s is there, and is not a socket", address->sun_path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return error_errno(err, "cannot make a socket");
	/* EAGAIN: it listens, and has more to do than it can. */
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 || errno == EAGAIN) {
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
		return served_already(address->sun_path, peer.pid, err);
	}
	if (errno != ECONNREFUSED)
		return error_errno(err, "socket: cannot tell whether %s is served", address->sun_path);
	return unlink(address->sun_path) == 0 ? 0 : error_errno(err, "socket: cannot replace %s", address->sun_path);
}

static int bind_private(struct listener *listener, const struct sockaddr_un *address, struct error *err)
{
	mode_t before = umask(0177);
	int done = bind(listener->fd, (const struct sockaddr *)address, sizeof(*address));
	struct stat st;

	umask(before);
	if (done < 0 || listen(listener->fd, BACKLOG) < 0 || lstat(listener->path, &st) < 0)
		return error_errno(err, "socket: cannot listen at %s", listener->path);
	listener->dev = st.st_dev;
	listener->ino = st.st_ino;
	return 0;
}

int listener_open(const char *path, struct listener *listener, struct error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	*listener = (struct listener)LISTENER_INIT;
	if (!*path || strlen(path) >= sizeof(address.sun_path))
		return error_usage(
			err,
			"socket: the path has to have 1 to %zu bytes, and \"%.200s\" has %zu; use --socket or "
			"EMBERBOX_SOCKET",
			sizeof(address.sun_path) - 1, path, strlen(path));
	strcpy(listener->path, path);
	strcpy(address.sun_path, path);
	if (check_directory(path, err) < 0 || take_lock(listener, err) < 0 || clear_place(&address, err) < 0)
		return -1;
	listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener->fd < 0)
		return error_errno(err, "cannot make a socket");
	return bind_private(listener, &address, err);
}

void listener_remove(struct listener *listener)
{
	struct stat st;

	close_fd(&listener->fd);
	if (listener->ino && lstat(listener->path, &st) == 0 && st.st_dev == listener->dev &&
	    st.st_ino == listener->ino)
		unlink(listener->path);
	listener->ino = 0;
}

void listener_free(struct listener *listener)
{
	listener_remove(listener);
	close_fd(&listener->lock);
}
