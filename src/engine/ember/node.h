/*
 * Node.js as a zygote.
 *
 * Node.js cannot fork, its makers say: V8 keeps its heap out of forks, threads
 * of the platform are lost, loops share their kernel objects with the parent,
 * and random numbers repeat. Each has its answer here:
 *
 * - heap: MADV_DONTFORK is not told to the kernel while a zygote starts;
 * - threads: fork waits until all of them are idle; a fork starts them again
 *   when it first has work for them (node_threads.c), so that nothing is lost
 *   for long programs, and short ones never pay;
 * - loops: epoll, eventfd and pipes are made anew under the same numbers, so
 *   that embers share no open file with the zygote or with each other;
 * - garbage: V8 collects when it has time, which each fork would begin with,
 *   with threads and all pages of the heap; the zygote is started without that
 *   (--no-memory-reducer), and the rehearsal's own small collection uses no
 *   threads;
 * - random numbers: OpenSSL tells a fork by its process id, which is the same
 *   in each box: it is told to seed itself again. V8 is seeded by the driver.
 *
 * JavaScript reaches this by process.dlopen(): the library is an addon as well.
 * Nothing of Node.js is linked: all is looked up, and what is not found makes
 * a zygote impossible (the caller starts one-use processes then).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Whether the threads that this process has started are all known, and idle; holds them so. */
bool node_threads_hold(void);

/* After a fork that node_threads_hold() came before: in the zygote, and in the fork. */
void node_threads_release(void);
void node_threads_forget(void);

/* Whether this is a fork. */
bool node_threads_are_forked(void);

/* What is asked of Node.js to find where it keeps its times. */
enum node_time {
	NODE_TIME_ORIGIN, /* performance.timeOrigin */
	NODE_TIME_NOW,    /* performance.now() */
	NODE_TIME_START,  /* performance.nodeTiming.nodeStart */
};

/* Where Node.js keeps what performance.timeOrigin and its like tell; and in a fork, that they begin now. */
void node_times_find(double (*tell)(enum node_time which));
void node_times_set(void);

/* Called with two numbers, after process.exitCode was set to each: true when the place of it is known then. */
bool node_exit_find(int32_t code);

/* Whether 'exit' was told to the program, and by which code it ends. */
bool node_is_exiting(int *code);
