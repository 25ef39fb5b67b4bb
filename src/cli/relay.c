#include "cli/relay.h"

#include "cli/cmd.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct relay_chunk {
	struct relay_chunk *next; /* next in the queue, or NULL */
	int fd;                   /* destination */
	size_t size;              /* number of bytes */
	char data[];
};

void relay_start(struct relay *relay, void (*on_failure)(void))
{
	pthread_condattr_t attributes;

	*relay = (struct relay){ .on_failure = on_failure };
	relay->last = &relay->first;
	pthread_mutex_init(&relay->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&relay->changed, &attributes);
	pthread_condattr_destroy(&attributes);
}

static void relay_fail(struct relay *relay, int errnum)
{
	if (relay->failed)
		return;
	relay->failed = errnum;
	relay->on_failure();
	pthread_cond_broadcast(&relay->changed);
}

static void *relay_work(void *argument)
{
	struct relay *relay = argument;

	pthread_mutex_lock(&relay->lock);
	while (!relay->failed) {
		struct relay_chunk *chunk = relay->first;
		size_t done = 0;
		int errnum = 0;

		if (!chunk) {
			pthread_cond_wait(&relay->changed, &relay->lock);
			continue;
		}
		/* In pieces, so that progress of a slow reader is visible. */
		while (done < chunk->size && !errnum) {
			size_t piece = chunk->size - done < PIPE_BUF ? chunk->size - done : PIPE_BUF;

			pthread_mutex_unlock(&relay->lock);
			errnum = cmd_write(chunk->fd, chunk->data + done, piece) < 0 ? errno : 0;
			pthread_mutex_lock(&relay->lock);
			done += piece;
			relay->written += piece;
			pthread_cond_broadcast(&relay->changed);
		}
		relay->first = chunk->next;
		if (!relay->first)
			relay->last = &relay->first;
		free(chunk);
		if (errnum)
			relay_fail(relay, errnum);
		pthread_cond_broadcast(&relay->changed);
	}
	pthread_mutex_unlock(&relay->lock);
	return NULL;
}

/* Writes as much as fits without blocking: a writable pipe takes PIPE_BUF bytes. Returns the number of bytes, and sets
 * *errnum. */
static size_t write_what_fits(int fd, const char *data, size_t size, int *errnum)
{
	size_t done = 0;

	while (done < size) {
		struct pollfd room = { .fd = fd, .events = POLLOUT };
		size_t piece = size - done < PIPE_BUF ? size - done : PIPE_BUF;
		ssize_t n;

		if (poll(&room, 1, 0) == 0)
			break;
		n = write(fd, data + done, piece);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			*errnum = errno == EAGAIN ? 0 : errno;
			break;
		}
		done += (size_t)n;
	}
	return done;
}

/* The main thread handles signals, because a cancellation must wake it. */
static int relay_thread(struct relay *relay)
{
	pthread_t thread;
	sigset_t all, old;
	int errnum;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	errnum = pthread_create(&thread, NULL, relay_work, relay);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (errnum == 0)
		pthread_detach(thread);
	return errnum;
}

static int relay_queue(struct relay *relay, int fd, const char *data, size_t size)
{
	struct relay_chunk *chunk = malloc(sizeof(*chunk) + size);

	if (!chunk)
		return ENOMEM;
	*chunk = (struct relay_chunk){ .fd = fd, .size = size };
	memcpy(chunk->data, data, size);
	*relay->last = chunk;
	relay->last = &chunk->next;
	if (!relay->threaded) {
		int errnum = relay_thread(relay);

		if (errnum)
			return errnum;
		relay->threaded = true;
	}
	pthread_cond_broadcast(&relay->changed);
	return 0;
}

void relay_write(struct relay *relay, int fd, const void *data, size_t size)
{
	size_t done = 0;
	int errnum = 0;

	pthread_mutex_lock(&relay->lock);
	if (!relay->failed) {
		/* Keeps the order: later data waits behind the queue. */
		if (!relay->first)
			done = write_what_fits(fd, data, size, &errnum);
		if (done < size && !errnum)
			errnum = relay_queue(relay, fd, (const char *)data + done, size - done);
		if (errnum)
			relay_fail(relay, errnum);
	}
	pthread_mutex_unlock(&relay->lock);
}

int relay_finish(struct relay *relay, int patience)
{
	unsigned long long seen;
	struct timespec until;
	int result = 0;

	pthread_mutex_lock(&relay->lock);
	while (relay->first && !relay->failed && !result) {
		if (patience <= 0) {
			pthread_cond_wait(&relay->changed, &relay->lock);
			continue;
		}
		seen = relay->written;
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_sec += patience;
		while (relay->first && !relay->failed && relay->written == seen && !result)
			result = pthread_cond_timedwait(&relay->changed, &relay->lock, &until);
	}
	if (relay->failed)
		result = relay->failed;
	pthread_mutex_unlock(&relay->lock);
	return result;
}
