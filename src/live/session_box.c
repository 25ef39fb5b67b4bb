/* A session's box and its driver: made, and taken down. */
#include "live/session_parts.h"

#include "base/clock.h"
#include "base/own.h"
#include "kernel/clone.h"
#include "kernel/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
	BLOCK = 4096 /* bytes read at once */
};

/* Makes the job. It keeps the driver's end of the channel until the driver has it. */
static int make_job(struct session *session, const struct engines *engines, struct error *err)
{
	struct resident *home = &session->place.home;
	const struct spec *spec = &session->spec;
	struct job_given given;
	int ends[2], on = 1;

	if (resident_prepare(home, spec, engines, job_session_needs_prepared(spec->runtime), &given, err) < 0 ||
	    job_make_session(spec, &given, home->ttl, &home->job, err) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return error_errno(err, "cannot make the driver's channel");
	session->channel = ends[0];
	home->job.channel = ends[1];
	/* The process that reports ready is the leader of the group that cells run in. The kernel reports its pid. */
	if (fcntl(session->channel, F_SETFL, O_RDWR | O_NONBLOCK) < 0 ||
	    setsockopt(session->channel, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
		return error_errno(err, "cannot make the driver's channel");
	return 0;
}

/* As recv(), with the pid of the writer. */
static ssize_t receive_ready(int channel, void *data, size_t size, pid_t *pid)
{
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(struct ucred))];
	struct iovec part = { data, size };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)
	};
	ssize_t n = recvmsg(channel, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *head = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	struct ucred who;

	if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_CREDENTIALS) {
		memcpy(&who, CMSG_DATA(head), sizeof(who));
		*pid = who.pid;
	}
	return n;
}

/* The driver's description of itself. Returns as hear_ready(). */
static int read_ready(struct session *session, const struct driver_message *message)
{
	struct driver_abilities found;

	if (!driver_ready(message->payload, message->size, &found))
		return -1;
	snprintf(session->driver, sizeof(session->driver), "%s", found.name);
	session->completes = found.completes;
	session->inspects = found.inspects;
	session->hears = found.hears;
	return 1;
}

/* For resident_await_ready(). */
static int hear_ready(struct resident *home)
{
	struct session *session = (struct session *)home;
	struct driver_message message;
	char block[BLOCK];
	ssize_t n = receive_ready(session->channel, block, sizeof(block), &session->driver_pid);
	int got;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return -1;
	driver_feed(&session->reader, block, (size_t)n);
	got = driver_next(&session->reader, &message);
	if (got <= 0)
		return got;
	return message.word == DRIVER_READY && driver_is_empty(&session->reader) && session->driver_pid > 0
		       ? read_ready(session, &message)
		       : -1;
}

static int describe_box(struct session *session, struct error *err)
{
	struct place *place = &session->place;

	if (place_describe_box(place, err) < 0)
		return -1;
	for (size_t i = 0; i < place->layer_count; i++)
		if (strncmp(place->layers[i], "fds: ", 5) == 0)
			place->layers[i] = "fds: 0, 1, 2; 3 is the driver's channel";
	return 0;
}

/* Opens the driver's process. */
static int know_driver(struct session *session, struct error *err)
{
	int off = 0;

	setsockopt(session->channel, SOL_SOCKET, SO_PASSCRED, &off, sizeof(off));
	session->driver_pidfd = (int)syscall(SYS_pidfd_open, session->driver_pid, 0);
	return session->driver_pidfd >= 0 ? 0 : error_errno(err, "cannot reach the driver");
}

/* After clone, in a fork of the keeper: enters the box's namespaces, whose root may change its mounts. */
static _Noreturn void resize_and_exit(int inside, int sandbox, uint64_t size)
{
	if (setns(inside, CLONE_NEWUSER | CLONE_NEWNS) < 0 || mount_resize(sandbox, size) < 0)
		_exit(1);
	_exit(0);
}

/*
 * A box that was made ahead has the default disk, which may be larger than that
 * of this session. Where emberbox may mount, the disk has its size already. An
 * ordinary user can change it in the box's namespaces only. If that fails, the
 * disk is bounded by the box's memory, which counts it either way.
 */
static void fit_disk(struct session *session)
{
	struct resident *home = &session->place.home;
	const uint64_t size = home->job.limits.disk;
	_cleanup_close_ int sandbox = -1, pidfd = -1;
	struct engine_files files;
	struct statfs disk;
	pid_t pid = -1;

	pthread_mutex_lock(&home->lock);
	if (home->live) {
		home->place->engine->place_files(home->place, &files);
		sandbox = openat(files.handles[REPORT_FD_OUTPUT], "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	if (sandbox >= 0 && fstatfs(sandbox, &disk) == 0 && (uint64_t)disk.f_blocks * (uint64_t)disk.f_bsize > size)
		pid = clone_into(SIGCHLD, -1, &pidfd);
	if (pid == 0)
		resize_and_exit(session->driver_pidfd, sandbox, size);
	pthread_mutex_unlock(&home->lock);
	if (pid > 0)
		clone_wait(pid, NULL);
}

int session_launch(struct session *session, const struct engines *engines, struct error *err)
{
	struct resident *home = &session->place.home;

	if (make_job(session, engines, err) < 0)
		return -1;
	if (resident_launch(home, engines, err) < 0)
		return -1;
	if (resident_await_ready(home, session->channel, hear_ready) < 0)
		return resident_explain_start(home, err);
	/* Not before: if a lent box fails, another is made with the same job. While our copy of the driver's end is
	 * open the channel would not end with the driver. */
	close_fd(&home->job.channel);
	if (describe_box(session, err) < 0 || know_driver(session, err) < 0 || !resident_begin(home)) {
		if (!home->live)
			return resident_explain_start(home, err);
		resident_end(home, "it could not be started", NULL);
		resident_join(home);
		return -1;
	}
	fit_disk(session);
	return 0;
}

void session_signal(struct session *session)
{
	struct pollfd alive = { .fd = session->driver_pidfd, .events = POLLIN };

	/* Its pid is that of its group while it lives. That is checked just before, because pids are used again. */
	if (poll(&alive, 1, 0) == 0) {
		kill(-session->driver_pid, SIGINT);
		/* A stopped process would not get the signal. */
		kill(-session->driver_pid, SIGCONT);
	}
}

void session_shrink(struct place *place)
{
	struct session *session = (struct session *)place;

	place_shrink(place);
	driver_reader_free(&session->reader);
	close_fd(&session->driver_pidfd);
	close_fd(&session->input_fd);
	close_fd(&session->channel);
	close_fd(&session->interrupt_fd);
}

void session_free(struct place *place)
{
	struct session *session = (struct session *)place;

	session_shrink(place);
	for (uint64_t i = session->first; session->records && i < session->recorded; i++)
		free(session->records[i % SESSION_CELLS_MAX].code);
	free(session->records);
	spec_free(&session->spec);
	arena_free(&session->network_arena);
	place_destroy(place);
	free(session);
}
