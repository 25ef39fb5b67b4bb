/*
 * Passes a program's output on without ever holding up the run.
 *
 * Whoever reads our output may be slow, or not read at all. A write that
 * blocked would stop the supervisor, and the clocks with it. So what does not
 * fit at once goes into a queue, and a thread, started only then, writes it.
 * The queue is bounded by the run: a stream of more than 16 MiB ends it.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct relay_chunk;

struct relay {
	pthread_mutex_t lock;       /* for all below */
	pthread_cond_t changed;     /* something was queued, written, or failed */
	struct relay_chunk *first;  /* the queue */
	struct relay_chunk **last;  /* where the next one goes */
	unsigned long long written; /* bytes that the thread wrote, to see progress */
	bool threaded;              /* the thread runs */
	int failed;                 /* errno of a write; what comes after is dropped */
	void (*on_failure)(void);   /* called once, from either thread */
};

/* A relay lives as long as the process: its thread may be in a write() that never ends. */
void relay_start(struct relay *relay, void (*on_failure)(void));

/* Does not block on the descriptor. */
void relay_write(struct relay *relay, int fd, const void *data, size_t size);

/*
 * Waits until everything is written; with patience (seconds) above 0, no
 * longer than that without progress. 0, or the errno of the write that
 * failed, or ETIMEDOUT.
 */
int relay_finish(struct relay *relay, int patience);
