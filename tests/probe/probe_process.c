/* X: processes; what outlives, counts, stops or looks into another. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Forks until it is refused, says how often it could, and keeps them all until standard input ends. */
static void fork_bomb(const char *arg)
{
	int count = 0, error = 0;

	(void)arg;
	while (count < 100000) {
		pid_t pid = fork();

		if (pid == 0) {
			for (;;)
				pause();
		}
		if (pid < 0) {
			error = errno;
			break;
		}
		count++;
	}
	say("%d %s", count, error_name(error));
	hold();
	/* The rest dies with the box. */
}

/* Waits for ever, so that its command line can be looked for on the host. */
static void linger(const char *arg)
{
	(void)arg;
	for (;;)
		pause();
}

static void spawn_lingerer(const char *mark, bool keep_output)
{
	char name[PATH_MAX];

	snprintf(name, sizeof(name), "linger=%s", mark);
	if (!keep_output) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		dup2(null, 1);
		dup2(null, 2);
	}
	execl("/proc/self/exe", "probe", name, (char *)NULL);
	_exit(99);
}

/*
 * Arg: HOW:MARK. Leaves a process behind and ends, once the other is on its
 * way: the pipe closes at its exec.
 *	setsid     the daemon's double fork
 *	stdout     keeps the output open
 *	stubborn   every signal ignored, no parent-death signal, its parent a subreaper
 *	stopped    stopped, so that it cannot act on anything but SIGKILL
 */
static void survivor(const char *arg)
{
	char how[32], byte;
	int ends[2];
	const char *mark = strchr(arg, ':');

	if (!mark || sscanf(arg, "%31[^:]", how) != 1 || pipe2(ends, O_CLOEXEC) < 0) {
		say("bad argument");
		return;
	}
	bool stubborn = strcmp(how, "stubborn") == 0;

	if (stubborn)
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid_t pid = fork();

	if (pid == 0) {
		close(ends[0]);
		setsid();
		if (fork() != 0)
			_exit(0);
		if (stubborn) {
			prctl(PR_SET_PDEATHSIG, 0);
			for (int s = 1; s <= 64; s++)
				signal(s, SIG_IGN);
		}
		spawn_lingerer(mark + 1, strcmp(how, "stdout") == 0);
	}
	close(ends[1]);
	while (read(ends[0], &byte, 1) > 0)
		;
	waitpid(pid, NULL, 0);
	say_rc(pid < 0 ? -1 : 0);
}

static void wait_input(const char *arg)
{
	(void)arg;
	say("ready");
	hold();
	say("released");
}

/* A parent that is not in this pid namespace, as that of a box made ahead, is 0: to kill() that is one's own group. */
static pid_t parent_of(void)
{
	return getppid() > 0 ? getppid() : 1;
}

static void kill_everything(const char *arg)
{
	(void)arg;
	int all = kill(-1, SIGKILL), all_error = errno;
	int parent = kill(parent_of(), SIGKILL), parent_error = errno;
	int init = kill(1, SIGKILL), init_error = errno;

	say("all %s, parent %s, init %s", all < 0 ? error_name(all_error) : "OK",
	    parent < 0 ? error_name(parent_error) : "OK", init < 0 ? error_name(init_error) : "OK");
	hold();
	say("alive");
}

/* Stops whoever could keep the time, then never ends. */
static void stop_parent(const char *arg)
{
	(void)arg;
	kill(parent_of(), SIGSTOP);
	kill(1, SIGSTOP);
	say("stopped");
	for (;;)
		pause();
}

static void trace(const char *pid)
{
	say_rc(ptrace(PTRACE_SEIZE, atoi(pid), 0, 0));
}

static void read_memory(const char *arg)
{
	char here[16];
	struct iovec local = { here, sizeof(here) }, remote = { (void *)0x10000, 16 };

	say_rc(process_vm_readv(atoi(arg), &local, 1, &remote, 1, 0));
}

static void write_memory(const char *arg)
{
	char here[16] = "";
	struct iovec local = { here, sizeof(here) }, remote = { here, sizeof(here) };

	say_rc(process_vm_writev(atoi(arg), &local, 1, &remote, 1, 0));
}

static void priority(const char *arg)
{
	errno = 0;
	say_rc(setpriority(PRIO_PROCESS, 0, atoi(arg)));
}

static void scheduler(const char *arg)
{
	struct sched_param parameters = { 0 };
	int policy = SCHED_OTHER;

	if (strcmp(arg, "fifo") == 0 || strcmp(arg, "rr") == 0) {
		policy = strcmp(arg, "rr") == 0 ? SCHED_RR : SCHED_FIFO;
		parameters.sched_priority = 1;
	} else if (strcmp(arg, "batch") == 0) {
		policy = SCHED_BATCH;
	}
	say_rc(sched_setscheduler(0, policy, &parameters));
}

/* own: the CPUs it has already; other: one that no such machine has; parent: those of process 1. */
static void affinity(const char *arg)
{
	cpu_set_t set;

	sched_getaffinity(0, sizeof(set), &set);
	if (strcmp(arg, "other") == 0) {
		CPU_ZERO(&set);
		CPU_SET(1023, &set);
	}
	say_rc(sched_setaffinity(0, sizeof(set), &set));
}

/*
 * Arg: how many. As many zombies at a time as the limit allows, in a process
 * that then dies without having waited for them: init has to take them all.
 */
static void zombies(const char *arg)
{
	int wanted = atoi(arg), made = 0, rounds = 0;

	while (made < wanted && rounds++ < wanted) {
		int ends[2], here = 0;
		pid_t middle;

		if (pipe2(ends, O_CLOEXEC) < 0)
			break;
		middle = fork();
		if (middle == 0) {
			/* Shared memory of vfork: only what is in registers and this frame is touched. */
			for (pid_t pid; here < wanted - made; here++) {
				pid = vfork();
				if (pid == 0)
					_exit(0);
				if (pid < 0)
					break;
			}
			_exit(write(ends[1], &here, sizeof(here)) != sizeof(here));
		}
		close(ends[1]);
		if (middle > 0 && read(ends[0], &here, sizeof(here)) == sizeof(here))
			made += here;
		close(ends[0]);
		if (middle > 0)
			waitpid(middle, NULL, 0);
		/* On a busy machine init is later than this is again. */
		if (middle < 0 || here == 0)
			usleep(1000);
	}
	say("%d", made);
}

/* By what the clock says: CLOCK_MONOTONIC, or the processor time of the process. 0: for ever. */
static void spin_for(clockid_t clock, double seconds)
{
	struct timespec start, now;
	volatile unsigned long counter = 0;

	clock_gettime(clock, &start);
	do {
		for (int i = 0; i < 100000; i++)
			counter++;
		clock_gettime(clock, &now);
	} while (seconds <= 0 ||
		 (double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) / 1e9 < seconds);
}

static void *spin_thread(void *seconds)
{
	spin_for(CLOCK_MONOTONIC, *(double *)seconds);
	return NULL;
}

/* Arg: THREADS:SECONDS of wall time, 0 for ever. */
static void spin_threads(const char *arg)
{
	pthread_t threads[64];
	double seconds = 0;
	int count = 1;

	sscanf(arg, "%d:%lf", &count, &seconds);
	for (int i = 0; i < count && i < 64; i++)
		pthread_create(&threads[i], NULL, spin_thread, &seconds);
	say("spinning");
	for (int i = 0; i < count && i < 64; i++)
		pthread_join(threads[i], NULL);
	say("OK");
}

/* Arg: PROCESSES:SECONDS of processor time that each takes, 0 for ever, while the parent sleeps. */
static void spin_children(const char *arg)
{
	double seconds = 0;
	int count = 1;

	sscanf(arg, "%d:%lf", &count, &seconds);
	for (int i = 0; i < count; i++)
		if (fork() == 0) {
			spin_for(CLOCK_PROCESS_CPUTIME_ID, seconds);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
	say("OK");
}

/* Spins with every signal ignored that can be. */
static void spin_deaf(const char *arg)
{
	(void)arg;
	for (int s = 1; s <= 64; s++)
		signal(s, SIG_IGN);
	say("spinning");
	spin_for(CLOCK_MONOTONIC, 0);
}

static void raise_signal(const char *arg)
{
	say("raising");
	raise(atoi(arg));
}

const struct probe process_probes[] = {
	{ "fork-bomb", fork_bomb },
	{ "linger", linger },
	{ "survivor", survivor },
	{ "wait", wait_input },
	{ "kill-everything", kill_everything },
	{ "stop-parent", stop_parent },
	{ "ptrace", trace },
	{ "vm-read", read_memory },
	{ "vm-write", write_memory },
	{ "nice", priority },
	{ "scheduler", scheduler },
	{ "affinity", affinity },
	{ "zombies", zombies },
	{ "spin-threads", spin_threads },
	{ "spin-children", spin_children },
	{ "spin-deaf", spin_deaf },
	{ "raise", raise_signal },
	{ NULL, NULL },
};
