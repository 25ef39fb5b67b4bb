/* A bare command: started, its output read to the end, waited for. */
#include "load.h"

#include "base/own.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	READ_SIZE = 64 << 10,
	ARGS_MAX = 256
};

extern char **environ;

/* The C library starts it by vfork, which is the cheapest way there is: bare gets the best. */
static int command_spawn(char **argv, int output, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int error;

	error = posix_spawn_file_actions_init(&actions);
	if (error)
		return error;
	error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, output, 1);
	if (!error)
		error = posix_spawn(pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

static void command_read(int fd, struct load_attempt *attempt)
{
	char data[READ_SIZE];
	ssize_t size;

	while ((size = read(fd, data, sizeof(data))) != 0) {
		if (size > 0)
			load_output(attempt, data, (size_t)size);
		else if (errno != EINTR) {
			load_fail(attempt, "read: %s", strerror(errno));
			return;
		}
	}
}

static void command_wait(pid_t pid, struct load_attempt *attempt)
{
	int status;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR) {
			load_fail(attempt, "waitpid: %s", strerror(errno));
			return;
		}
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		load_fail(attempt, "it ended with wait status %#x", (unsigned)status);
}

static void command_run(char **argv, struct load_attempt *attempt)
{
	_cleanup_close_ int reader = -1;
	int pipes[2];
	pid_t pid;
	int error;

	attempt->begin = load_clock();
	if (pipe2(pipes, O_CLOEXEC) < 0) {
		load_fail(attempt, "pipe2: %s", strerror(errno));
		return;
	}
	reader = pipes[0];
	error = command_spawn(argv, pipes[1], &pid);
	close(pipes[1]);
	if (error) {
		load_fail(attempt, "%s: %s", argv[0], strerror(error));
		return;
	}
	command_read(reader, attempt);
	command_wait(pid, attempt);
	attempt->whole = load_clock() - attempt->begin;
}

void load_command_attempt(struct load *load, size_t worker, struct load_attempt *attempt)
{
	struct buf words[ARGS_MAX] = { 0 };
	char *argv[ARGS_MAX + 1];
	size_t count = 0;

	for (; load->options.argv[count] && count < ARGS_MAX; count++) {
		load_fill(load, attempt, load->options.argv[count], &words[count]);
		argv[count] = words[count].data;
	}
	argv[count] = NULL;
	command_run(argv, attempt);
	for (size_t i = 0; i < count; i++)
		buf_free(&words[i]);
}
