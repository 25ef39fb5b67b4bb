#include "cli/repl_show.h"

#include "base/base64.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "cli/cmd.h"
#include "cli/repl_line.h"
#include "cli/session_view.h"
#include "cli/table.h"
#include "term/grid.h"
#include "term/literal.h"
#include "term/png.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>

enum {
	ANSWER_MSEC = 1000,    /* timeout for a distant terminal; every terminal answers */
	PICTURE_MAX = 8 << 20, /* maximum bytes of an image that is shown in the terminal */
};

void show_open(struct show *show)
{
	show->out_tty = isatty(STDOUT_FILENO);
	show->err_tty = isatty(STDERR_FILENO);
	/* Without TERM there are no colours. */
	show->colour = terminal_colour() && getenv("TERM") && *getenv("TERM");
	show->width = terminal_width();
	/* Read it now: the editor may replace TERM. */
	show->may_be_kitty = image_may_be_kitty(getenv("TERM"), getenv("TERM_PROGRAM"), getenv("KITTY_WINDOW_ID"),
						getenv("KONSOLE_VERSION"));
}

void show_begin(struct show *show, unsigned cell)
{
	show->cell = cell;
	show->pictures = 0;
	show->width = terminal_width();
	show->last = NULL;
	show->trace = (struct trace){ 0 };
	json_decref(show->result);
	show->result = NULL;
	show->refused[0] = '\0';
}

static void bytes_put(struct show *show, int fd, const struct buf *text)
{
	if (text->size > 0 && !show->failed && cmd_write(fd, text->data, text->size) < 0 && fd == STDOUT_FILENO)
		show->failed = true;
}

void show_text(struct show *show, const struct buf *text)
{
	bytes_put(show, STDOUT_FILENO, text);
}

static void put_stream(struct show *show, int fd, const char *text, size_t size)
{
	_cleanup_buf_ struct buf painted = { 0 }, out = { 0 };
	struct filter *filter = fd == STDERR_FILENO ? &show->err : &show->out;

	/* The reader of a pipe gets the unfiltered output. */
	if (fd == STDERR_FILENO ? !show->err_tty : !show->out_tty) {
		buf_add(&out, text, size);
		bytes_put(show, fd, &out);
		return;
	}
	if (fd == STDERR_FILENO)
		trace_paint(&show->trace, text, size, show->colour, &painted);
	else
		buf_add(&painted, text, size);
	filter_take(filter, painted.data ? painted.data : "", painted.size, &out);
	show->last = filter;
	bytes_put(show, fd, &out);
}

/* Starts a new line if the last output did not end one. */
static void fresh_line(struct show *show)
{
	_cleanup_buf_ struct buf out = { 0 };
	struct filter *last = show->last, *other = last == &show->out ? &show->err : &show->out;

	if (!last)
		return;
	/* Only the last stream that printed has an open line. */
	other->open_line = false;
	filter_end(other, &out);
	filter_end(last, &out);
	bytes_put(show, last == &show->err ? STDERR_FILENO : STDOUT_FILENO, &out);
	show->last = NULL;
}

static void sentence_put(struct show *show, enum paint paint, const char *format, va_list args)
{
	_cleanup_buf_ struct buf out = { 0 };
	char text[4096];
	/* To standard error, because standard output is the program's. */
	bool colour = show->err_tty && show->colour;

	fresh_line(show);
	vsnprintf(text, sizeof(text), format, args);
	buf_text(&out, paint_begin(paint, colour));
	buf_text(&out, text);
	buf_text(&out, paint_end(paint, colour));
	buf_text(&out, "\n");
	bytes_put(show, STDERR_FILENO, &out);
}

void show_note(struct show *show, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	sentence_put(show, PAINT_DIM, format, args);
	va_end(args);
}

void show_problem(struct show *show, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	sentence_put(show, PAINT_BAD, format, args);
	va_end(args);
}

/* The text of a value, coloured, without sequences that control the terminal. */
static void put_value(struct show *show, const char *text, size_t size)
{
	_cleanup_buf_ struct buf plain = { 0 }, out = { 0 };
	struct filter filter = { 0 };

	if (show->out_tty)
		filter_take(&filter, text, size, &plain);
	else
		buf_add(&plain, text, size);
	literal_paint(plain.data ? plain.data : "", plain.size, show->colour && !filter.painted, &out);
	if (filter.painted)
		buf_text(&out, "\033[0m");
	if (out.size > 0 && out.data[out.size - 1] != '\n')
		buf_text(&out, "\n");
	bytes_put(show, STDOUT_FILENO, &out);
}

/* Asks the terminal once which images it supports. Input that arrives meanwhile goes to the editor. */
static void ask_terminal(struct show *show)
{
	const char *question = image_question(show->may_be_kitty);
	uint64_t until = clock_usec() + ANSWER_MSEC * 1000, now;
	char answer[512];
	size_t have = 0, begin = 0, used = 0;
	struct termios before, raw;

	show->asked = true;
	if (!show->ask || tcgetattr(STDIN_FILENO, &before) < 0)
		return;
	raw = before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) < 0)
		return;
	(void)cmd_write(STDOUT_FILENO, question, strlen(question));
	while (have < sizeof(answer) && (now = clock_usec()) < until) {
		struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLIN };
		ssize_t n = poll(&fd, 1, (int)((until - now) / 1000) + 1) > 0
				    ? read(STDIN_FILENO, answer + have, sizeof(answer) - have)
				    : 0;

		if (n <= 0)
			break;
		have += (size_t)n;
		if (image_answer(answer, have, &begin, &used, &show->way))
			break;
	}
	tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
	if (show->editor) {
		line_editor_push(show->editor, answer, begin);
		line_editor_push(show->editor, answer + begin + used, have - begin - used);
	}
}

/* Writes a file into a directory that the user can keep. */
static void put_file(struct show *show, const char *mime, const char *ending, const void *data, size_t size)
{
	const char *base = getenv("TMPDIR");
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX + 64], bytes[TABLE_WORD];

	if (!*show->directory) {
		snprintf(show->directory, sizeof(show->directory), "%.4000s/emberbox-repl-XXXXXX",
			 base && *base == '/' ? base : "/tmp");
		if (!mkdtemp(show->directory)) {
			show_problem(show, "cannot create a directory for images: %s", strerror(errno));
			show->directory[0] = '\0';
			return;
		}
	}
	snprintf(path, sizeof(path), "%s/%u-%u.%s", show->directory, show->cell, ++show->pictures, ending);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || fd_write(fd, data, size) < 0) {
		show_problem(show, "cannot write %s: %s", path, strerror(errno));
		return;
	}
	show_note(show, "[%s, %s: %s]", mime, bytes_text((double)size, bytes), path);
}

/* The width in cells if the image is wider than the terminal; 0: unchanged. */
static unsigned picture_columns(const struct show *show, uint32_t width)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_xpixel == 0)
		return 0;
	return width > size.ws_xpixel ? show->width : 0;
}

static void put_picture(struct show *show, const void *png, size_t size)
{
	_cleanup_buf_ struct buf out = { 0 };
	uint32_t width, height;

	if (show->out_tty && !show->asked)
		ask_terminal(show);
	if (show->way == IMAGE_KITTY && size <= PICTURE_MAX && image_png_size(png, size, &width, &height)) {
		image_kitty(png, size, picture_columns(show, width), &out);
		bytes_put(show, STDOUT_FILENO, &out);
		return;
	}
	if (show->way == IMAGE_SIXEL && size <= PICTURE_MAX) {
		_cleanup_free_ unsigned char *pixels = png_pixels(png, size, &width, &height);

		if (pixels)
			image_sixel(pixels, width, height, &out);
		bytes_put(show, STDOUT_FILENO, &out);
		if (pixels)
			return;
	}
	put_file(show, "image/png", "png", png, size);
}

static bool put_binary(struct show *show, const json_t *bundle, const char *mime, const char *ending)
{
	const json_t *value = json_object_get(bundle, mime);
	size_t size = json_string_length(value);
	_cleanup_free_ unsigned char *data = size > 0 ? malloc(size) : NULL;
	ssize_t n = data ? base64_decode(json_string_value(value), size, data) : -1;

	if (n < 0)
		return false;
	if (strcmp(ending, "png") == 0)
		put_picture(show, data, (size_t)n);
	else
		put_file(show, mime, ending, data, (size_t)n);
	return true;
}

static bool put_textual(struct show *show, const json_t *bundle, const char *mime, const char *ending)
{
	const json_t *value = json_object_get(bundle, mime);

	if (!json_is_string(value))
		return false;
	if (ending)
		put_file(show, mime, ending, json_string_value(value), json_string_length(value));
	else
		put_value(show, json_string_value(value), json_string_length(value));
	return true;
}

static bool put_grid(struct show *show, const json_t *rows)
{
	_cleanup_buf_ struct buf out = { 0 };

	if (!show->out_tty || !grid_print(rows, show->width, show->colour, &out))
		return false;
	bytes_put(show, STDOUT_FILENO, &out);
	return true;
}

void show_bundle(struct show *show, const json_t *bundle)
{
	const json_t *json = json_object_get(bundle, "application/json");
	_cleanup_free_ char *text = NULL;

	fresh_line(show);
	/* From the most to the least informative form. */
	if (put_binary(show, bundle, "image/png", "png") || put_binary(show, bundle, "image/jpeg", "jpg") ||
	    (json && put_grid(show, json)))
		return;
	if (json_object_get(bundle, "image/svg+xml") && put_textual(show, bundle, "image/svg+xml", "svg"))
		return;
	if (put_textual(show, bundle, "text/plain", NULL) || put_textual(show, bundle, "text/markdown", NULL))
		return;
	text = json ? json_dumps(json, JSON_ENCODE_ANY | JSON_INDENT(2)) : NULL;
	if (text)
		put_value(show, text, strlen(text));
	else if (!put_textual(show, bundle, "text/html", "html") && !put_textual(show, bundle, "text/latex", NULL))
		show_note(show, "[a value that cannot be shown here]");
}

void show_event(const char *name, const char *data, size_t size, void *userdata)
{
	struct show *show = userdata;
	json_t *value = json_loadb(data, size, JSON_DECODE_ANY, NULL);
	const json_t *text = json_object_get(value, "text");

	if (strcmp(name, "stdout") == 0 && text)
		put_stream(show, STDOUT_FILENO, json_string_value(text), json_string_length(text));
	else if (strcmp(name, "stderr") == 0 && text)
		put_stream(show, STDERR_FILENO, json_string_value(text), json_string_length(text));
	else if (strcmp(name, "output") == 0)
		show_bundle(show, value);
	else if (strcmp(name, "result") == 0 && !show->result)
		show->result = json_incref(value);
	else if (strcmp(name, "error") == 0)
		snprintf(show->refused, sizeof(show->refused), "%s",
			 json_string_value(json_object_get(json_object_get(value, "error"), "message")) ?: "it failed");
	json_decref(value);
}

void show_echo(struct show *show, bool open)
{
	show->last = show->last ? show->last : &show->out;
	show->last->open_line = open;
	if (open)
		fresh_line(show);
}

void show_end(struct show *show)
{
	fresh_line(show);
}

void show_error(struct show *show, const json_t *result)
{
	_cleanup_buf_ struct buf text = { 0 };

	session_error_text(result, &text);
	if (text.size == 0 || text.failed)
		return;
	put_stream(show, STDERR_FILENO, text.data, text.size);
	fresh_line(show);
}

void show_free(struct show *show)
{
	json_decref(show->result);
	show->result = NULL;
}
