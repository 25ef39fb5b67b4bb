#include "cli/cmd.h"

#include "base/buf.h"
#include "base/own.h"
#include "term/filter.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int cmd_write(int fd, const void *data, size_t size)
{
	const char *at = data;

	while (size > 0) {
		ssize_t n = write(fd, at, size);

		if (n >= 0) {
			at += n;
			size -= (size_t)n;
		} else if (errno == EAGAIN) {
			/* Another process made our standard output non-blocking; wait until it is writable. */
			struct pollfd room = { .fd = fd, .events = POLLOUT };

			if (poll(&room, 1, -1) < 0 && errno != EINTR)
				return -1;
		} else if (errno != EINTR) {
			return -1;
		}
	}
	return 0;
}

/* One write per line, so that lines of several processes on a terminal do not mix. */
static void line_complain(const char *after, const char *format, va_list args)
{
	_cleanup_buf_ struct buf whole = { 0 };
	char line[2048];
	int used = snprintf(line, sizeof(line), "emberbox: ");
	int n = vsnprintf(line + used, sizeof(line) - (size_t)used - 1, format, args);

	if (n < 0)
		return;
	/* The line may quote untrusted names and texts. */
	filter_text(line, false, &whole);
	buf_printf(&whole, "\n");
	if (!whole.failed)
		cmd_write(STDERR_FILENO, whole.data, whole.size);
	cmd_write(STDERR_FILENO, after, strlen(after));
}

void cmd_complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	line_complain("", format, args);
	va_end(args);
}

static void __attribute__((format(printf, 2, 3))) cmd_complain_with(const char *hint, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	line_complain(hint, format, args);
	va_end(args);
}

int cmd_usage(const char *command, const char *format, ...)
{
	char hint[128];
	va_list args;

	snprintf(hint, sizeof(hint), "See: emberbox %s --help\n", command);
	va_start(args, format);
	line_complain(hint, format, args);
	va_end(args);
	return EXIT_USAGE;
}

int cmd_misconfigured(const char *sentence)
{
	cmd_complain_with("See: man emberbox-config\n", "%s", sentence);
	return EXIT_USAGE;
}

/* The reader has closed the pipe: only the exit code tells, as for a program that SIGPIPE ends. */
int cmd_print_failed(void)
{
	if (errno == EPIPE)
		return 128 + SIGPIPE;
	cmd_complain("cannot write to standard output: %s", strerror(errno));
	return EXIT_BROKEN;
}

static int print_filtered(const char *text, bool painted, int code)
{
	_cleanup_buf_ struct buf out = { 0 };

	filter_text(text, painted, &out);
	if (out.failed) {
		cmd_complain("memory ran out");
		return EXIT_BROKEN;
	}
	return out.size > 0 && cmd_write(STDOUT_FILENO, out.data, out.size) < 0 ? cmd_print_failed() : code;
}

int cmd_print(const char *text, int code)
{
	return print_filtered(text, false, code);
}

int cmd_print_painted(const char *text, int code)
{
	return print_filtered(text, true, code);
}

int cmd_print_program(const char *data, size_t size)
{
	_cleanup_buf_ struct buf out = { 0 };
	struct filter filter = { 0 };

	if (!isatty(STDOUT_FILENO))
		return cmd_write(STDOUT_FILENO, data, size) < 0 ? cmd_print_failed() : 0;
	filter_take(&filter, data, size, &out);
	filter_end(&filter, &out);
	if (out.failed) {
		cmd_complain("memory ran out");
		return EXIT_BROKEN;
	}
	return cmd_write(STDOUT_FILENO, out.data ? out.data : "", out.size) < 0 ? cmd_print_failed() : 0;
}

int cmd_flush(int code)
{
	return fflush(stdout) != 0 ? cmd_print_failed() : code;
}
