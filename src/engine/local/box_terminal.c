#include "engine/local/box_terminal.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

enum {
	SIZES = 64,               /* taken at once; only the last counts */
	END = 4,                  /* Ctrl-D */
	AGAIN_USEC = 50000,       /* until it is looked at whether the end was lost… */
	AGAIN_MOST_USEC = 1000000 /* …and between two later looks, at most */
};

int terminal_follow(int terminal, int pipe)
{
	struct terminal_size sizes[SIZES];
	struct winsize window = { 0 };
	ssize_t n = read(pipe, sizes, sizeof(sizes));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	/* Who writes anything but whole sizes has lost count, and is not followed any more. */
	if (n <= 0 || n % (ssize_t)sizeof(*sizes) != 0)
		return -1;
	n /= (ssize_t)sizeof(*sizes);
	window.ws_row = sizes[n - 1].rows;
	window.ws_col = sizes[n - 1].columns;
	/* The program may not be told of 0: that means that nobody knows. */
	if (window.ws_row > 0 && window.ws_col > 0)
		ioctl(terminal, TIOCSWINSZ, &window);
	return 0;
}

/* NULL: nobody knows the modes. */
static char end_of(const struct termios *modes)
{
	if (modes && modes->c_cc[VEOF] != _POSIX_VDISABLE)
		return (char)modes->c_cc[VEOF];
	return END;
}

size_t terminal_end(int terminal, char last, char out[TERMINAL_END_MAX])
{
	struct termios modes;
	char end = end_of(tcgetattr(terminal, &modes) == 0 ? &modes : NULL);

	memset(out, end, TERMINAL_END_MAX);
	return last == 0 || last == '\n' || last == '\r' || last == end ? 1 : TERMINAL_END_MAX;
}

void terminal_again_begin(struct terminal_again *again, size_t size, uint64_t now)
{
	*again =
		(struct terminal_again){ .due_usec = now + AGAIN_USEC, .wait_usec = AGAIN_USEC, .line_open = size > 1 };
}

void terminal_again_on_time(struct terminal_again *again, int terminal, uint64_t now)
{
	struct termios modes;
	char typed[2];
	size_t size = 0;

	if (!again->due_usec || now < again->due_usec)
		return;
	again->wait_usec = again->wait_usec < AGAIN_MOST_USEC ? 2 * again->wait_usec : AGAIN_MOST_USEC;
	again->due_usec = now + again->wait_usec;
	if (tcgetattr(terminal, &modes) < 0 || modes.c_lflag & ICANON)
		return;
	if (again->line_open)
		typed[size++] = '\r';
	typed[size++] = end_of(&modes);
	/* What does not go in now is typed the next time. */
	if (write(terminal, typed, size) > 0)
		again->line_open = false;
}
