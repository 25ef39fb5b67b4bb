/*
 * The reader programs are part of the executable, one for each grammar, so that an unused one costs nothing. Each is
 * written to a memfd once and executed from there.
 */
#include "policy/reader_client.h"

#include "base/clock.h"
#include "base/own.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

enum {
	PATIENCE_USEC = 5000000, /* for one answer; the parser's own limit is lower */
	KEPT_MAX = 2,            /* idle readers of a grammar */
	USES_MAX = 1000,         /* questions to one reader, which bounds memory leaks */
};

#define GRAMMARS(each) each(python) each(javascript) each(typescript) each(bash) each(ruby) each(go) each(c) each(sql)

#define DECLARE(name)                                                                                                  \
	extern const unsigned char reader_##name##_data[];                                                             \
	extern const size_t reader_##name##_size;
GRAMMARS(DECLARE)

#define ROW(name) { #name, reader_##name##_data, &reader_##name##_size },

static const struct luggage {
	const char *grammar;       /* the grammar of the program */
	const unsigned char *data; /* the executable */
	const size_t *size;        /* its size */
} luggage[] = { GRAMMARS(ROW) };

struct reader_process {
	pid_t pid;  /* not reaped yet; 0: none */
	int socket; /* connected to it */
	int uses;   /* number of questions so far */
};

/* State shared by all threads. */
static struct {
	pthread_mutex_t lock;                                      /* guards the members below */
	int files[ARRAY_SIZE(luggage)];                            /* memfds plus 1; 0: not created */
	struct reader_process idle[ARRAY_SIZE(luggage)][KEPT_MAX]; /* pid 0: unused entry */
} kept = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void process_end(struct reader_process *process)
{
	if (process->pid > 0) {
		close_fd(&process->socket);
		kill(process->pid, SIGKILL);
		while (waitpid(process->pid, NULL, 0) < 0 && errno == EINTR)
			continue;
	}
	*process = (struct reader_process){ .socket = -1 };
}

static int file_make(const struct luggage *of)
{
	_cleanup_close_ int fd = memfd_create("reader", MFD_CLOEXEC | MFD_EXEC);
	size_t used = 0;

	/* Linux before 6.3 lacks this flag; there, every memfd can be executed. */
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("reader", MFD_CLOEXEC);
	if (fd < 0)
		return -1;
	if (fd <= STDERR_FILENO) {
		int higher = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

		close_fd(&fd);
		fd = higher;
	}
	while (used < *of->size) {
		ssize_t n = write(fd, of->data + used, *of->size - used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		used += (size_t)n;
	}
	return take_fd(&fd);
}

/* Runs in the vforked child, which shares our memory: only system calls are allowed. */
__attribute__((noreturn)) static void become_reader(int file, int socket)
{
	static char *const nothing[] = { NULL };
	static char *const argv[] = { (char *)"emberbox-reader", NULL };
	sigset_t none;

	/* The file is none of the standard descriptors: file_make(). */
	if (dup2(socket, STDIN_FILENO) < 0)
		_exit(1);
	syscall(SYS_close_range, 1U, ~0U, 1U << 2 /* CLOSE_RANGE_CLOEXEC */);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	syscall(SYS_execveat, file, "", argv, nothing, AT_EMPTY_PATH);
	_exit(1);
}

static int process_start(int file, struct reader_process *out, struct error *err)
{
	_cleanup_close_ int ours = -1, theirs = -1;
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return error_errno(err, "cannot create a socket for a reader");
	ours = pair[0];
	theirs = pair[1];
	pid = vfork();
	if (pid == 0)
		become_reader(file, theirs);
	if (pid < 0)
		return error_errno(err, "cannot start a reader");
	*out = (struct reader_process){ .pid = pid, .socket = take_fd(&ours) };
	return 0;
}

/* Takes an idle reader, or starts one. */
static int process_take(size_t which, bool fresh, struct reader_process *out, struct error *err)
{
	int file;

	*out = (struct reader_process){ .socket = -1 };
	pthread_mutex_lock(&kept.lock);
	for (size_t i = 0; !fresh && out->pid == 0 && i < KEPT_MAX; i++) {
		*out = kept.idle[which][i].pid > 0 ? kept.idle[which][i] : *out;
		kept.idle[which][i].pid = 0;
	}
	if (out->pid == 0 && kept.files[which] == 0)
		kept.files[which] = file_make(&luggage[which]) + 1;
	file = kept.files[which] - 1;
	pthread_mutex_unlock(&kept.lock);
	if (out->pid > 0)
		return 0;
	return file < 0 ? error_errno(err, "cannot hold a reader") : process_start(file, out, err);
}

/* Keeps the reader for the next question, or ends it if there are enough. */
static void process_give(size_t which, struct reader_process *process)
{
	process->uses++;
	pthread_mutex_lock(&kept.lock);
	for (size_t i = 0; process->uses < USES_MAX && process->pid > 0 && i < KEPT_MAX; i++) {
		if (kept.idle[which][i].pid > 0)
			continue;
		kept.idle[which][i] = *process;
		process->pid = 0;
	}
	pthread_mutex_unlock(&kept.lock);
	process_end(process);
}

/* Transfers all bytes in one direction before the deadline. False: the reader is gone, or the time is up. */
static bool move_all(int fd, char *data, size_t size, bool out, uint64_t end)
{
	struct pollfd wait = { .fd = fd, .events = out ? POLLOUT : POLLIN };

	while (size > 0) {
		ssize_t n =
			out ? send(fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL) : recv(fd, data, size, MSG_DONTWAIT);
		uint64_t now;

		if (n > 0) {
			data += n;
			size -= (size_t)n;
			continue;
		}
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			return false;
		now = clock_usec();
		if (now >= end)
			return false;
		if (poll(&wait, 1, (int)((end - now) / 1000) + 1) < 0 && errno != EINTR)
			return false;
	}
	return true;
}

/* 0; 1: the reader died or timed out; -1: memory ran out. */
static int process_ask(const struct reader_process *process, const void *source, size_t size, struct wire_tell *head,
		       char **records)
{
	const uint64_t end = clock_usec() + PATIENCE_USEC;
	struct wire_ask ask = { .magic = WIRE_ASK, .size = (uint32_t)size };
	_cleanup_free_ char *data = NULL;

	/* send() does not write to this buffer. */
	if (!move_all(process->socket, (char *)&ask, sizeof(ask), true, end) ||
	    !move_all(process->socket, (char *)source, size, true, end) ||
	    !move_all(process->socket, (char *)head, sizeof(*head), false, end) || head->size > WIRE_TELL_MAX)
		return 1;
	data = malloc(head->size + 1);
	if (!data)
		return -1;
	if (!move_all(process->socket, data, head->size, false, end))
		return 1;
	*records = take_ptr(data);
	return 0;
}

int reader_ask(const char *grammar, const void *source, size_t size, struct wire_tell *head, char **records,
	       struct error *err)
{
	size_t which = 0;
	int done = 1;

	while (which < ARRAY_SIZE(luggage) && strcmp(luggage[which].grammar, grammar) != 0)
		which++;
	if (which == ARRAY_SIZE(luggage))
		return error_set(err, ERROR_FAILED, 0, "there is no reader for %s", grammar);
	*records = NULL;
	/* An idle reader may have been damaged by earlier questions, so a second attempt uses a new one. */
	for (int attempt = 0; done == 1 && attempt < 2; attempt++) {
		struct reader_process process;
		bool used;

		if (process_take(which, attempt > 0, &process, err) < 0)
			return -1;
		used = process.uses > 0;
		done = process_ask(&process, source, size, head, records);
		if (done == 0)
			process_give(which, &process);
		else
			process_end(&process);
		if (!used)
			break;
	}
	return done < 0 ? error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the report") : done;
}

void readers_close(void)
{
	pthread_mutex_lock(&kept.lock);
	for (size_t which = 0; which < ARRAY_SIZE(luggage); which++) {
		for (size_t i = 0; i < KEPT_MAX; i++)
			process_end(&kept.idle[which][i]);
		if (kept.files[which] > 0)
			close(kept.files[which] - 1);
		kept.files[which] = 0;
	}
	pthread_mutex_unlock(&kept.lock);
}
