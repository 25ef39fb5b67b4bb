/* --secret: the value comes from the environment, a file or standard input, and never from the command line. */
#include "base/fd.h"
#include "base/own.h"
#include "cli/cmd_run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The whole of it, without the line end that editors and echo leave. */
static int read_value(int fd, char value[NET_SECRET_VALUE_MAX + 2], size_t *size)
{
	ssize_t n = fd_read(fd, value, NET_SECRET_VALUE_MAX + 1);

	if (n < 0)
		return -1;
	while (n > 0 && (value[n - 1] == '\n' || value[n - 1] == '\r'))
		n--;
	value[n] = '\0';
	*size = (size_t)n;
	return 0;
}

static int find_value(struct run *run, const struct net_secret_option *option, char value[NET_SECRET_VALUE_MAX + 2],
		      size_t *size)
{
	const char *variable = getenv(option->name);
	_cleanup_close_ int fd = -1;

	switch (option->source) {
	case NET_SECRET_FILE:
		fd = open(option->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		if (fd < 0 || read_value(fd, value, size) < 0)
			return run_usage(run, "--secret %s: cannot read \"%s\": %s", option->name, option->path,
					 strerror(errno));
		return 0;
	case NET_SECRET_STDIN:
		if (run->secret_stdin || run->stdin_from)
			return run_usage(run, "--secret %s: standard input is used twice", option->name);
		run->secret_stdin = 1;
		if (read_value(STDIN_FILENO, value, size) < 0)
			return run_usage(run, "--secret %s: cannot read standard input: %s", option->name,
					 strerror(errno));
		return 0;
	default:
		if (!variable)
			return run_usage(run,
					 "--secret %s: the variable %s is not set; set it, or write %s=file:PATH@%s",
					 option->name, option->name, option->name, option->host);
		*size = strlen(variable);
		if (*size > NET_SECRET_VALUE_MAX)
			return run_usage(run, "--secret %s: the value is longer than %d bytes", option->name,
					 NET_SECRET_VALUE_MAX);
		memcpy(value, variable, *size + 1);
		return 0;
	}
}

int run_take_secret(struct run *run, const char *text)
{
	struct net_secret_option option;
	struct error err = { 0 };
	char value[NET_SECRET_VALUE_MAX + 2];
	const char *const hosts[] = { option.host };
	struct net_secret_parts parts = { .name = option.name, .value = value, .hosts = hosts, .host_count = 1 };
	_cleanup_buf_ struct buf lines = { 0 };
	eb_error why = { 0 };
	int code;

	if (net_secret_option_parse(text, &option, &err) < 0)
		return run_usage(run, "--secret: %s", error_detail(&err));
	code = find_value(run, &option, value, &parts.size);
	if (code != 0)
		return code;
	spec_secret_text(&parts, &lines);
	if (!lines.failed && eb_request_set(run->request, "secret", lines.data, &why) < 0)
		code = run_usage(run, "--secret %s: %s", option.name, why.message);
	explicit_bzero(value, sizeof(value));
	if (lines.data)
		explicit_bzero(lines.data, lines.size);
	return code;
}
