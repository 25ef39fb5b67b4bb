/*
 * Passes a program's output on without blocking the run.
 *
 * The reader of our output may be slow, or not read at all. A blocking write
 * would stop the supervisor and its timeouts. So data that does not fit goes
 * into a queue, and a thread, started when needed, writes it. The size of the
 * queue is bounded by the limit of a stream, 16 MiB.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct relay_chunk;

struct relay {
	pthread_mutex_t lock;       /* guards the members below */
	pthread_cond_t changed;     /* signalled when data was queued or written, or a write failed */
	struct relay_chunk *first;  /* the queue */
	struct relay_chunk **last;  /* end of the queue */
	unsigned long long written; /* bytes that the thread has written, to detect progress */
	bool threaded;              /* the thread has been started */
	int failed;                 /* errno of a failed write; later data is dropped */
	void (*on_failure)(void);   /* called once, from either thread */
};

/* A relay lives as long as the process: its thread may be blocked in write() for ever. */
void relay_start(struct relay *relay, void (*on_failure)(void));

/* Does not block. */
void relay_write(struct relay *relay, int fd, const void *data, size_t size);

/*
 * Waits until everything is written; with patience (seconds) above 0, no longer
 * than that without progress. Returns 0, the errno of a failed write, or
 * ETIMEDOUT.
 */
int relay_finish(struct relay *relay, int patience);
