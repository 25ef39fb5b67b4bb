/* A call of run_code over MCP: `emberbox mcp` is started as an assistant starts it, and asked line by line. */
#include "load.h"

#include "base/fd.h"
#include "base/own.h"

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum {
	LINE_SECONDS = 120 /* a server that says nothing for so long is stuck */
};

/* The next line, without what is behind it: nothing is, for there is one question at a time. -1: it ended. */
static int line_receive(int fd, struct buf *line)
{
	char part[16 << 10];
	ssize_t size;

	line->size = 0;
	do {
		size = read(fd, part, sizeof(part));
		if (size < 0 && errno == EINTR)
			continue;
		if (size <= 0)
			return -1;
		buf_add(line, part, (size_t)size);
	} while (line->size == 0 || line->data[line->size - 1] != '\n');
	return line->failed ? -1 : 0;
}

/* It ends by itself when its standard input does. */
static int server_spawn(char **argv, int fd)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return error;
	error = posix_spawn_file_actions_adddup2(&actions, fd, 0);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, fd, 1);
	if (!error)
		error = posix_spawn(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

int load_mcp_connect(char **argv)
{
	static const char hello[] = "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
				    "\"protocolVersion\":\"2025-11-25\","
				    "\"capabilities\":{},\"clientInfo\":{\"name\":\"load\",\"version\":\"1\"}}}\n";
	static const char ready[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
	struct timeval patience = { .tv_sec = LINE_SECONDS };
	_cleanup_close_ int ours = -1, theirs = -1;
	_cleanup_buf_ struct buf line = { 0 };
	int pair[2];

	/* As Node's pipes to a child are. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	ours = pair[0];
	theirs = pair[1];
	if (setsockopt(ours, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0)
		return -1;
	errno = server_spawn(argv, theirs);
	if (errno || fd_write(ours, hello, strlen(hello)) < 0)
		return -1;
	close_fd(&theirs);
	theirs = -1;
	errno = EPROTO;
	if (line_receive(ours, &line) < 0 || !strstr(line.data, "serverInfo"))
		return -1;
	return fd_write(ours, ready, strlen(ready)) < 0 ? -1 : take_fd(&ours);
}

void load_mcp_attempt(struct load *load, size_t worker, struct load_attempt *attempt)
{
	_cleanup_buf_ struct buf line = { 0 }, answer = { 0 };
	const int fd = atomic_load(&load->sockets[worker]);
	json_t *root, *result;

	buf_printf(&line,
		   "{\"jsonrpc\":\"2.0\",\"id\":%ju,\"method\":\"tools/"
		   "call\",\"params\":{\"name\":\"run_code\",\"arguments\":",
		   (uintmax_t)attempt->number);
	load_fill(load, attempt, load->options.request, &line);
	/* A file's last newline would be a line's end. */
	while (line.size > 0 && line.data[line.size - 1] == '\n')
		line.size--;
	buf_text(&line, "}}\n");
	attempt->begin = load_clock();
	if (fd < 0 || line.failed || fd_write(fd, line.data, line.size) < 0 || line_receive(fd, &answer) < 0) {
		load_fail(attempt, "the server does not answer: %s", strerror(errno));
		return;
	}
	attempt->whole = load_clock() - attempt->begin;
	root = json_loadb(answer.data, answer.size, JSON_ALLOW_NUL, NULL);
	result = json_object_get(json_object_get(root, "result"), "structuredContent");
	if (!result)
		load_fail(attempt, "no result: %.200s", answer.data);
	else
		load_judge(result, attempt);
	json_decref(root);
	load_count_cold(load, attempt);
}
