/*
 * The threads of Node.js across a fork.
 *
 * V8's platform has some workers that wait for one queue, and a scheduler with
 * a loop of its own. A fork has none of them. It starts them when something is
 * put into the queue for the first time: the functions and what they were given
 * are known from the zygote's start, and are asked for the same again.
 */
#include "engine/ember/node.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "engine/ember/ember.h"

#define EXPORT __attribute__((visibility("default")))

enum {
	threads_max = 32,
	idle_tries = 2000
};

/* What the platform gives to a worker: the same in versions 18, 20 and 22. */
struct worker_data {
	pthread_mutex_t *queue; /* the queue, whose first member is its lock */
	pthread_mutex_t *lock;  /* of the three below; on the stack of the platform's maker */
	pthread_cond_t *ready;  /* told when a worker has started */
	int *starting;          /* how many have not yet */
	int id;                 /* counts from 0 */
};

/* What the scheduler of delayed tasks begins with. */
struct scheduler_data {
	sem_t ready;            /* posted when its loop is there */
	pthread_mutex_t *queue; /* the workers' */
};

struct thread {
	void *(*start)(void *); /* what it runs */
	void *data;             /* what that is given */
	pthread_t id;           /* in the zygote; a fork's join is for this one */
	pthread_t again;        /* in the fork */
	bool revived;           /* whether there is one in the fork */
	bool joined;            /* the platform has waited for it */
	bool taken;             /* whether a thread that the fork started has its id */
};

static struct {
	struct thread all[threads_max]; /* as the zygote started them */
	size_t count;                   /* how many */
	struct thread *scheduler;       /* of delayed tasks */
	pthread_mutex_t *queue;         /* the lock of the workers' queue */
	pthread_cond_t *filled;         /* told when something is in the queue */
	size_t workers;                 /* how many wait for that if idle */
	size_t waiting;                 /* how many do; under the queue's lock */
	bool forked;                    /* this is a fork */
	bool asleep;                    /* a fork that has not needed its workers yet */
	bool stopping;                  /* the platform ends its threads */
	bool ending;                    /* somebody has waited for a thread of the zygote */
} threads;

/* What workers that are started again tell their start to. */
static struct {
	pthread_mutex_t lock; /* of the others */
	pthread_cond_t ready; /* nobody waits for it */
	int starting;         /* nobody reads it */
} again = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 };

static struct {
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	int (*join)(pthread_t, void **);
	int (*wait)(pthread_cond_t *, pthread_mutex_t *);
	int (*signal)(pthread_cond_t *);
	int (*broadcast)(pthread_cond_t *);
	int (*destroy_cond)(pthread_cond_t *);
	int (*destroy_lock)(pthread_mutex_t *);
} real; /* the C library's */

__attribute__((constructor)) static void real_find(void)
{
	if (real.create)
		return;
	*(void **)&real.join = dlsym(RTLD_NEXT, "pthread_join");
	*(void **)&real.wait = dlsym(RTLD_NEXT, "pthread_cond_wait");
	*(void **)&real.signal = dlsym(RTLD_NEXT, "pthread_cond_signal");
	*(void **)&real.broadcast = dlsym(RTLD_NEXT, "pthread_cond_broadcast");
	*(void **)&real.destroy_cond = dlsym(RTLD_NEXT, "pthread_cond_destroy");
	*(void **)&real.destroy_lock = dlsym(RTLD_NEXT, "pthread_mutex_destroy");
	*(void **)&real.create = dlsym(RTLD_NEXT, "pthread_create");
}

static bool is_near_stack(const void *pointer)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	return (uintptr_t)pointer > here && (uintptr_t)pointer - here < 64 * 1024;
}

/* A worker is told by the three pointers into its maker's stack. */
static void thread_note_worker(const struct worker_data *data)
{
	if (!data || !is_near_stack(data->lock) || !is_near_stack(data->ready) || !is_near_stack(data->starting))
		return;
	if (threads.queue && threads.queue != data->queue)
		return;
	threads.queue = data->queue;
	threads.workers++;
}

/* A thread of the fork gets the stack of one that is gone, and with it its id. */
static void id_mark(pthread_t id, bool taken)
{
	for (size_t i = 0; i < threads.count; i++)
		if (pthread_equal(threads.all[i].id, id))
			threads.all[i].taken = taken;
}

EXPORT int pthread_create(pthread_t *id, const pthread_attr_t *attr, void *(*start)(void *), void *data)
{
	bool noted = ember_armed() && threads.count < threads_max;
	size_t at = threads.count;
	int status;

	real_find();
	if (noted) {
		threads.all[at] = (struct thread){ .start = start, .data = data };
		threads.count++;
		/* Who is given this much knows its size: the data of others may be shorter, but is memory. */
		if ((uintptr_t)data > 4096)
			thread_note_worker(data);
	}
	status = real.create(id, attr, start, data);
	if (noted && status == 0)
		threads.all[at].id = *id;
	if (threads.forked && status == 0)
		id_mark(*id, true);
	return status;
}

EXPORT int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock)
{
	int status;

	real_find();
	if (!threads.queue || lock != threads.queue || threads.forked)
		return real.wait(cond, lock);
	threads.filled = cond;
	threads.waiting++;
	status = real.wait(cond, lock);
	threads.waiting--;
	return status;
}

static bool thread_is_worker(const struct thread *thread)
{
	return thread->data && thread != threads.scheduler && (uintptr_t)thread->data > 4096 &&
	       ((struct worker_data *)thread->data)->queue == threads.queue;
}

/* The scheduler makes its loop anew when it starts: nobody may use it before. */
static void scheduler_revive(void)
{
	struct thread *thread = threads.scheduler;

	if (!thread || thread->revived)
		return;
	thread->revived = real.create(&thread->again, NULL, thread->start, thread->data) == 0;
	while (thread->revived && sem_wait(thread->data) < 0)
		;
}

static void workers_revive(void)
{
	threads.asleep = false;
	for (size_t i = 0; i < threads.count; i++) {
		struct thread *thread = &threads.all[i];
		struct worker_data *data;

		if (!thread_is_worker(thread))
			continue;
		data = malloc(sizeof(*data));
		if (!data)
			return;
		*data = (struct worker_data){ threads.queue, &again.lock, &again.ready, &again.starting,
					      ((struct worker_data *)thread->data)->id };
		thread->revived = real.create(&thread->again, NULL, thread->start, data) == 0;
		if (!thread->revived)
			free(data);
	}
}

/* Whether the condition is the one of the scheduler's own queue, which is a part of it. */
static bool is_scheduler(const pthread_cond_t *cond)
{
	uintptr_t from = threads.scheduler ? (uintptr_t)threads.scheduler->data : 0;

	return from && (uintptr_t)cond > from && (uintptr_t)cond < from + 1024;
}

EXPORT int pthread_cond_signal(pthread_cond_t *cond)
{
	real_find();
	if (threads.forked && !threads.stopping) {
		if (threads.asleep && cond == threads.filled)
			workers_revive();
		else if (is_scheduler(cond))
			scheduler_revive();
	}
	return real.signal(cond);
}

/* All waiters of the queue are woken for one reason: to end. */
EXPORT int pthread_cond_broadcast(pthread_cond_t *cond)
{
	real_find();
	if (threads.forked && cond == threads.filled)
		threads.stopping = true;
	return real.broadcast(cond);
}

/* The platform's threads as it waits for them: in the order in which it made them, once it has told them to end. */
static struct thread *platform_next(void)
{
	for (size_t i = 0; threads.stopping && i < threads.count; i++) {
		struct thread *thread = &threads.all[i];

		if (!thread->joined && (thread == threads.scheduler || thread_is_worker(thread)))
			return thread;
	}
	return NULL;
}

/*
 * An id is that of a thread which the zygote had, or of one that the fork has,
 * or of both. Who started a thread in the fork waits for that; nobody but the
 * platform waits for those that were revived, and it does so by the old ids.
 */
EXPORT int pthread_join(pthread_t id, void **value)
{
	struct thread *next;

	real_find();
	if (!threads.forked)
		return real.join(id, value);
	next = platform_next();
	if (next && pthread_equal(next->id, id)) {
		next->joined = threads.ending = true;
		return next->revived ? real.join(next->again, value) : 0;
	}
	for (size_t i = 0; i < threads.count; i++) {
		if (!pthread_equal(threads.all[i].id, id) || threads.all[i].taken)
			continue;
		threads.ending = true;
		return 0;
	}
	id_mark(id, false);
	return real.join(id, value);
}

/* At the end: threads of the zygote that waited are waited for, or count as users. */
EXPORT int pthread_cond_destroy(pthread_cond_t *cond)
{
	real_find();
	return threads.forked && (threads.stopping || threads.ending) ? 0 : real.destroy_cond(cond);
}

EXPORT int pthread_mutex_destroy(pthread_mutex_t *lock)
{
	real_find();
	return threads.forked && (threads.stopping || threads.ending) ? 0 : real.destroy_lock(lock);
}

/* V8 keeps its heap out of forks: a zygote is for nothing else. */
EXPORT int madvise(void *address, size_t length, int advice)
{
	if (advice == MADV_DONTFORK && ember_armed())
		return 0;
	return (int)syscall(SYS_madvise, address, length, advice);
}

static void scheduler_find(void)
{
	for (size_t i = 0; i < threads.count && !threads.scheduler; i++) {
		struct scheduler_data *data = threads.all[i].data;

		if ((uintptr_t)data > 4096 && data->queue == threads.queue)
			threads.scheduler = &threads.all[i];
	}
}

bool node_threads_hold(void)
{
	const struct timespec moment = { .tv_nsec = 500 * 1000 };

	if (!threads.queue || !threads.filled)
		return false;
	if (!threads.scheduler)
		scheduler_find();
	for (int i = 0; i < idle_tries && threads.scheduler; i++) {
		pthread_mutex_lock(threads.queue);
		if (threads.waiting == threads.workers)
			return true;
		pthread_mutex_unlock(threads.queue);
		nanosleep(&moment, NULL);
	}
	return false;
}

void node_threads_release(void)
{
	pthread_mutex_unlock(threads.queue);
}

/* Those who waited are not there: a condition that remembers them would wake them instead of others. */
void node_threads_forget(void)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	memset(threads.filled, 0, sizeof(*threads.filled));
	pthread_cond_init(threads.filled, &attr);
	pthread_condattr_destroy(&attr);
	threads.forked = true;
	threads.asleep = true;
	threads.waiting = 0;
	/* Waiters count as users of the lock, too. */
	pthread_mutex_init(threads.queue, NULL);
}

bool node_threads_are_forked(void)
{
	return threads.forked;
}
