/* Callers of the library as they come: with signals, threads that fork, descriptors that are closed or used up. */
/* tests/run: timeout=90 */
#include "../check.h"

#include "base/clock.h"

#include <dirent.h>
#include <emberbox.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	/* A run takes a tenth of a second; what goes wrong waits for 10 s or more. */
	SLOW_USEC = 5000000,
	FORKS = 100,
};

/* What one run gave; plain data, so that it can be checked once the caller is itself again. */
struct outcome {
	char status[16];   /* "none" when the call failed */
	char message[512]; /* of the result or the error */
	char output[64];   /* standard output */
	bool file;         /* the file that was made is in the result */
	uint64_t usec;     /* how long it took */
};

static eb_request *request_new(void)
{
	static const char code[] = "echo hello; echo made >/sandbox/output/made";
	eb_request *request = eb_request_new();
	eb_error err;

	if (eb_request_set(request, "language", "bash", &err) < 0 ||
	    eb_request_set_code(request, code, strlen(code), &err) < 0)
		abort();
	return request;
}

static struct outcome run(void)
{
	eb_request *request = request_new();
	struct outcome outcome = { .status = "none" };
	eb_result *result = NULL;
	eb_error err = { 0 };
	uint64_t begin = clock_usec();

	if (eb_execute(request, NULL, &result, &err) < 0) {
		snprintf(outcome.message, sizeof(outcome.message), "%.500s", err.message);
	} else {
		const char *json = eb_result_json(result);

		snprintf(outcome.status, sizeof(outcome.status), "%s", eb_result_status(result));
		snprintf(outcome.message, sizeof(outcome.message), "%.500s", eb_result_message(result) ?: "");
		eb_result_read(result, EB_STDOUT, outcome.output, sizeof(outcome.output) - 1, 0);
		outcome.file = json && strstr(json, "\"made\"");
	}
	outcome.usec = clock_usec() - begin;
	eb_result_free(result);
	eb_request_free(request);
	return outcome;
}

static void check_good(const struct outcome *outcome)
{
	CHECK_STR(outcome->message, "");
	CHECK_STR(outcome->status, "ok");
	CHECK_STR(outcome->output, "hello\n");
	CHECK(outcome->file);
	CHECK(outcome->usec < SLOW_USEC);
}

static size_t count_descriptors(pid_t pid)
{
	char path[64];
	size_t count = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count;
}

static void an_ordinary_caller(void)
{
	size_t before = count_descriptors(getpid());
	struct outcome outcome = run();

	check_good(&outcome);
	CHECK_INT(count_descriptors(getpid()), before);
}

/* The kernel reaps the children of such a caller by itself, but not those that send no signal. */
static void a_caller_that_ignores_its_children(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	struct outcome outcome;

	sigaction(SIGCHLD, &ignore, &before);
	outcome = run();
	check_good(&outcome);
	/* No child is left, not even a dead one. */
	CHECK_ERRNO(waitpid(-1, NULL, WNOHANG | __WALL), ECHILD);
	sigaction(SIGCHLD, &before, NULL);
}

struct forker {
	atomic_bool over;  /* the run has ended */
	pid_t pids[FORKS]; /* children, asleep with copies of whatever was open */
	size_t count;      /* how many */
};

static void *fork_on(void *argument)
{
	struct forker *forker = argument;

	while (forker->count < FORKS && !atomic_load(&forker->over)) {
		pid_t pid = fork();

		if (pid == 0) {
			/* Should the test die, so do they. */
			alarm(60);
			for (;;)
				pause();
		}
		if (pid > 0)
			forker->pids[forker->count++] = pid;
	}
	return NULL;
}

/*
 * A child of another thread has copies of the pipes and the socket that the box
 * was being given, and keeps them open: neither end may be waited for.
 */
static void a_thread_that_forks(void)
{
	static struct forker forker;
	size_t mine = count_descriptors(getpid()), holding = 0;

	/* Not every race is won. */
	for (int tries = 0; tries < 3 && holding == 0; tries++) {
		struct outcome outcome;
		pthread_t thread;

		forker.count = 0;
		atomic_store(&forker.over, false);
		if (pthread_create(&thread, NULL, fork_on, &forker) != 0)
			abort();
		outcome = run();
		atomic_store(&forker.over, true);
		pthread_join(thread, NULL);
		/* The five ends that the box gets, and ours: only in a child of the launch. */
		for (size_t i = 0; i < forker.count; i++)
			holding += count_descriptors(forker.pids[i]) >= mine + 8;
		for (size_t i = 0; i < forker.count; i++) {
			kill(forker.pids[i], SIGKILL);
			waitpid(forker.pids[i], NULL, 0);
		}
		check_good(&outcome);
	}
	CHECK(holding > 0);
	CHECK_INT(count_descriptors(getpid()), mine);
}

static struct {
	pid_t pid;          /* the caller */
	atomic_int here;    /* times its handler ran in it */
	atomic_int foreign; /* and in a process that is a copy of it */
} * signals;

static void on_signal(int number)
{
	(void)number;
	atomic_fetch_add(getpid() == signals->pid ? &signals->here : &signals->foreign, 1);
}

/* Without SA_RESTART, every few steps of the launch: nothing may take EINTR for a failure. */
static void a_caller_with_signals(void)
{
	struct sigaction handler = { .sa_handler = on_signal }, before;
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	const struct itimerspec often = { .it_interval = { .tv_nsec = 100000 }, .it_value = { .tv_nsec = 100000 } };
	timer_t timer;

	/* Shared: the handler of a copy would count here too. */
	signals = mmap(NULL, sizeof(*signals), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (signals == MAP_FAILED)
		abort();
	signals->pid = getpid();
	sigaction(SIGUSR1, &handler, &before);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0 || timer_settime(timer, 0, &often, NULL) < 0)
		abort();
	/* A signal meets a given step only now and then. */
	for (int i = 0; i < 5; i++) {
		struct outcome outcome = run();

		check_good(&outcome);
	}
	timer_delete(timer);
	sigaction(SIGUSR1, &before, NULL);
	CHECK(atomic_load(&signals->here) > 10);
	CHECK_INT(atomic_load(&signals->foreign), 0);
	munmap(signals, sizeof(*signals));
}

/* Descriptors of ours must not become the program's 0, 1 and 2 by chance. */
static void a_caller_without_streams(void)
{
	struct outcome outcome;
	int saved[3], left;

	for (int i = 0; i < 3; i++) {
		saved[i] = fcntl(i, F_DUPFD_CLOEXEC, 10);
		close(i);
	}
	outcome = run();
	/* What opens next gets the number 0: nothing was left there. */
	left = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(left);
	for (int i = 0; i < 3; i++) {
		if (saved[i] >= 0)
			dup2(saved[i], i);
		close(saved[i]);
	}
	check_good(&outcome);
	CHECK_INT(left, 0);
}

static bool ends_with(const char *text, const char *end)
{
	return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

/* Whatever the step that gets no descriptor: it is said, at once, and no box runs without what it needs. */
static void a_caller_with_few_descriptors(void)
{
	static const rlim_t more[] = { 0, 1, 3, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 24, 26, 28, 32, 64 };
	size_t before = count_descriptors(getpid()), good = 0, refused = 0;
	int next = fcntl(0, F_DUPFD_CLOEXEC, 0);
	struct rlimit saved;

	close(next);
	getrlimit(RLIMIT_NOFILE, &saved);
	/* Two that are good are enough. */
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]) && good < 2; i++) {
		struct rlimit few = { .rlim_cur = (rlim_t)next + more[i], .rlim_max = saved.rlim_max };
		struct outcome outcome;

		setrlimit(RLIMIT_NOFILE, &few);
		outcome = run();
		setrlimit(RLIMIT_NOFILE, &saved);
		CHECK(outcome.usec < SLOW_USEC);
		if (strcmp(outcome.status, "ok") == 0) {
			check_good(&outcome);
			good++;
			continue;
		}
		refused++;
		CHECK_STR(outcome.status, "error");
		if (!ends_with(outcome.message, ": Too many open files"))
			check_fail("with %d more: %s", (int)more[i], outcome.message);
		CHECK_INT(count_descriptors(getpid()), before);
	}
	CHECK(refused > 0);
	CHECK(good > 0);
}

int main(void)
{
	RUN(an_ordinary_caller);
	RUN(a_caller_that_ignores_its_children);
	RUN(a_thread_that_forks);
	RUN(a_caller_with_signals);
	RUN(a_caller_without_streams);
	RUN(a_caller_with_few_descriptors);
	return check_failures != 0;
}
