/* Finds the registry's file, and checks that it can be trusted. */
#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "base/yaml.h"
#include "registry/registry.h"
#include "base/state.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	WRITER_USEC = 5000000, /* wait for a writer; editors take less than a millisecond */
	WRITER_LOOK_MSEC = 20  /* poll interval, in case the event is missing */
};

/* A user who can write to it decides about limits and networks. */
static int check_owner(const char *where, const struct stat *st, struct error *err)
{
	if (!S_ISREG(st->st_mode))
		return error_usage(err, "%s: it is not a file", where);
	if (st->st_uid != geteuid() && st->st_uid != 0)
		return error_usage(err, "%s: it belongs to another user (uid %u); use one of your own", where,
				   (unsigned)st->st_uid);
	if (st->st_mode & 022)
		return error_usage(err, "%s: others can write to it; use: chmod go-w %s", where, where);
	if (st->st_size > YAML_SIZE_MAX)
		return error_usage(err, "%s:1:1: expected at most 256 KiB", where);
	return 0;
}

static int read_text(int fd, size_t size, const char *where, char **text, size_t *used, struct error *err)
{
	_cleanup_free_ char *data = malloc(size + 2);
	ssize_t n;

	if (!data)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold %s", where);
	/* One byte more, so that a file that grows meanwhile is refused by its size. */
	n = fd_read(fd, data, size + 1);
	if (n < 0)
		return error_set(err, ERROR_USAGE, errno, "%s: cannot be read", where);
	data[n] = '\0';
	*text = take_ptr(data);
	*used = (size_t)n;
	return 0;
}

/* Usually there is none in the default place; this costs one access(). */
static int find_usual(char *where, size_t size)
{
	return state_path("registry.yaml", where, size) < 0 || access(where, F_OK) < 0 ? -1 : 0;
}

bool registry_is_being_written(const char *where)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	_cleanup_close_ int fd = open(where, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct sigaction before;
	bool written;

	if (fd < 0)
		return false;
	/* The kernel grants a read lease only while nobody has the file open for writing. If a writer comes, the kernel
	 * sends SIGIO to the lease holder and makes the writer wait until the lease is released. Without lease support
	 * the content is accepted unchecked. */
	sigaction(SIGIO, &ignore, &before);
	written = fcntl(fd, F_SETLEASE, F_RDLCK) < 0 && errno == EAGAIN;
	fcntl(fd, F_SETLEASE, F_UNLCK);
	sigaction(SIGIO, &before, NULL);
	return written;
}

int registry_await_writer(const char *where, struct error *err)
{
	_cleanup_close_ int watch = -1;
	const uint64_t until = clock_usec() + WRITER_USEC;

	if (!registry_is_being_written(where))
		return 0;
	watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (watch < 0 || inotify_add_watch(watch, where, IN_CLOSE_WRITE) < 0)
		return error_set(err, ERROR_FAILED, errno, "%s: cannot wait for its writer", where);
	while (registry_is_being_written(where)) {
		struct pollfd closed = { .fd = watch, .events = POLLIN };
		char events[512];

		if (clock_usec() >= until)
			return error_usage(
				err, "%s: another process is writing to it; close the file there and try again", where);
		/* The event comes before the kernel removes the writer from its count. */
		poll(&closed, 1, WRITER_LOOK_MSEC);
		while (read(watch, events, sizeof(events)) > 0)
			;
	}
	return 0;
}

int registry_read(const char *path, char **text, size_t *size, char *where, size_t where_size, struct error *err)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	*text = NULL;
	*size = 0;
	*where = '\0';
	if (path && snprintf(where, where_size, "%s", path) >= (int)where_size)
		return error_usage(err, "the registry's path is longer than %zu bytes", where_size - 1);
	if (!path && find_usual(where, where_size) < 0)
		return 0;
	if (registry_await_writer(where, err) < 0)
		return -1;
	fd = open(where, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(err, ERROR_USAGE, errno, "%s: cannot be read", where);
	/* Root may have the HOME of another user, whose limits must not apply to root. */
	if (!path && st.st_uid != geteuid() && st.st_uid != 0)
		return 0;
	if (check_owner(where, &st, err) < 0)
		return -1;
	return read_text(fd, (size_t)st.st_size, where, text, size, err);
}
