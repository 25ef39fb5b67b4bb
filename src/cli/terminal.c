#include "cli/terminal.h"

#include "base/terminal_size.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* Used by signal handlers. */
static struct termios before;           /* original attributes */
static volatile sig_atomic_t wired;     /* the terminal is in raw mode */
static volatile sig_atomic_t wanted;    /* raw mode is wanted while we are in the foreground */
static int window_pipe[2] = { -1, -1 }; /* the box reads sizes from [0] */

/* Signals whose default action ends a process. execute.c handles those that end the run in order. */
static const int fatal_signals[] = { SIGQUIT, SIGILL,  SIGTRAP, SIGABRT, SIGBUS,    SIGFPE,  SIGUSR1, SIGSEGV,
				     SIGUSR2, SIGALRM, SIGXCPU, SIGXFSZ, SIGVTALRM, SIGPROF, SIGPOLL, SIGSYS };

bool terminal_size(unsigned *rows, unsigned *columns)
{
	struct winsize size;

	for (int fd = 0; fd < 3; fd++) {
		if (ioctl(fd, TIOCGWINSZ, &size) < 0)
			continue;
		/* A serial line has no size. */
		*rows = size.ws_row ? size.ws_row : 24;
		*columns = size.ws_col ? size.ws_col : 80;
		return true;
	}
	return false;
}

static void tell_size(void)
{
	struct terminal_size size;
	unsigned rows, columns;

	if (!terminal_size(&rows, &columns))
		return;
	size.rows = (uint16_t)rows;
	size.columns = (uint16_t)columns;
	/* A full pipe has thousands of unread sizes; the newest one is sent later. */
	if (write(window_pipe[1], &size, sizeof(size)) < 0)
		return;
}

/* Only in the foreground: a change from the background would stop us. */
static int make_wire(void)
{
	struct termios modes = before;

	if (tcgetpgrp(STDIN_FILENO) != getpgrp())
		return 0;
	modes.c_iflag &= ~(tcflag_t)(IGNBRK | BRKINT | PARMRK | ISTRIP | INLCR | IGNCR | ICRNL | IXON);
	modes.c_oflag &= ~(tcflag_t)OPOST;
	modes.c_lflag &= ~(tcflag_t)(ECHO | ECHONL | ICANON | ISIG | IEXTEN);
	modes.c_cc[VMIN] = 1;
	modes.c_cc[VTIME] = 0;
	/* First: a signal between the two steps restores unchanged attributes, which is harmless. */
	wired = 1;
	return tcsetattr(STDIN_FILENO, TCSANOW, &modes);
}

static void put_back(void)
{
	if (!wired)
		return;
	wired = 0;
	tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

void terminal_restore(void)
{
	int saved = errno;

	wanted = 0;
	put_back();
	errno = saved;
}

static void on_window(int number)
{
	int saved = errno;

	(void)number;
	tell_size();
	errno = saved;
}

/* SA_RESETHAND has restored the default action. */
static void on_fatal(int number)
{
	terminal_restore();
	raise(number);
}

/* Not from the keyboard, whose Ctrl-Z goes to the box. */
static void on_stop(int number)
{
	int saved = errno;

	(void)number;
	put_back();
	kill(getpid(), SIGSTOP);
	errno = saved;
}

static void on_continue(int number)
{
	int saved = errno;

	(void)number;
	if (wanted)
		make_wire();
	tell_size();
	errno = saved;
}

static void signal_handle(int number, void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART | flags }, old;

	sigemptyset(&action.sa_mask);
	/* Signals that our caller ignores stay ignored. */
	if (sigaction(number, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
		sigaction(number, &action, NULL);
}

int terminal_open(bool keys)
{
	if (pipe2(window_pipe, O_CLOEXEC | O_NONBLOCK) < 0)
		return -1;
	signal_handle(SIGWINCH, on_window, 0);
	/* The size may have changed since the request was made. */
	tell_size();
	if (!keys || tcgetattr(STDIN_FILENO, &before) < 0)
		return window_pipe[0];
	atexit(terminal_restore);
	for (size_t i = 0; i < sizeof(fatal_signals) / sizeof(fatal_signals[0]); i++)
		signal_handle(fatal_signals[i], on_fatal, SA_RESETHAND | SA_NODEFER);
	signal_handle(SIGTSTP, on_stop, 0);
	signal_handle(SIGCONT, on_continue, 0);
	wanted = 1;
	make_wire();
	return window_pipe[0];
}
