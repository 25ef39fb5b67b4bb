#include "box/terminal.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

enum {
	SIZES = 64 /* taken at once; only the last counts */
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

size_t terminal_end(int terminal, char last, char out[TERMINAL_END_MAX])
{
	struct termios modes;
	cc_t end = 4; /* Ctrl-D */

	if (tcgetattr(terminal, &modes) == 0 && modes.c_cc[VEOF] != _POSIX_VDISABLE)
		end = modes.c_cc[VEOF];
	memset(out, end, TERMINAL_END_MAX);
	return last == 0 || last == '\n' || last == '\r' || last == (char)end ? 1 : TERMINAL_END_MAX;
}
