#include "base/log.h"

#include "base/buf.h"
#include "base/own.h"

#include <errno.h>
#include <poll.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct log_line {
	char data[LOG_LINE_MAX]; /* not terminated by a NUL */
	size_t size;             /* bytes in use; two more are reserved for the end, "}\n" */
	bool full;               /* some data did not fit */
};

static enum log_format log_format; /* set by log_open() */
static const char *log_role = "";  /* set by log_open() */

/* Appends all of `data` or nothing. `spare` bytes stay free after it. */
static bool line_add(struct log_line *line, const char *data, size_t size, size_t spare)
{
	if (line->full || size + spare > sizeof(line->data) - 2 - line->size) {
		line->full = true;
		return false;
	}
	memcpy(line->data + line->size, data, size);
	line->size += size;
	return true;
}

static void line_text(struct log_line *line, const char *text)
{
	line_add(line, text, strlen(text), 0);
}

/* Writes the escaped form of the character at `at` and returns the size of the character. `quoted`: inside a JSON
 * string. */
static size_t char_escape(const char *at, bool quoted, char out[8])
{
	static const char letters[] = "\bb\ff\nn\rr\tt";
	unsigned char c = (unsigned char)at[0];
	size_t size = c < 0xC0 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;

	if (quoted && (c == '"' || c == '\\')) {
		snprintf(out, 8, "\\%c", c);
	} else if (c < 0x20 || c == 0x7F) {
		const char *letter = c ? strchr(letters, c) : NULL;

		if (letter)
			snprintf(out, 8, "\\%c", letter[1]);
		else
			snprintf(out, 8, "\\u%04x", c);
	} else if (c == 0xC2 && (unsigned char)at[1] < 0xA0) {
		/* Terminals obey C1 control characters as well. */
		snprintf(out, 8, "\\u%04x", (unsigned char)at[1]);
	} else {
		memcpy(out, at, size);
		out[size] = '\0';
	}
	return size;
}

/* Truncates at a whole character. A truncated text does not mark the line as full. */
static void line_clean(struct log_line *line, const char *text, bool quoted, size_t spare)
{
	_cleanup_buf_ struct buf clean = { 0 };
	char out[8];

	if (line->full)
		return;
	buf_utf8(&clean, text, strlen(text));
	for (size_t at = 0; at < clean.size;) {
		at += char_escape(clean.data + at, quoted, out);
		if (!line_add(line, out, strlen(out), spare)) {
			line->full = false;
			return;
		}
	}
}

static void line_quoted(struct log_line *line, const char *text)
{
	line_add(line, "\"", 1, 1);
	line_clean(line, text, true, 1);
	line_text(line, "\"");
}

static void line_number(struct log_line *line, double number)
{
	char text[400]; /* the longest double has 309 digits */
	int size;

	if (!isfinite(number)) {
		line_text(line, "null");
		return;
	}
	/* Exact up to 2^53, and without a decimal point, which depends on the locale. */
	if (number == trunc(number) || fabs(number) >= 1e12) {
		snprintf(text, sizeof(text), "%.0f", number == 0 ? 0 : number);
	} else {
		unsigned long long millionths = (unsigned long long)(fabs(number) * 1e6 + 0.5);

		size = snprintf(text, sizeof(text), "%s%llu.%06llu", number < 0 && millionths ? "-" : "",
				millionths / 1000000, millionths % 1000000);
		while (text[size - 1] == '0')
			text[--size] = '\0';
		if (text[size - 1] == '.')
			text[--size] = '\0';
	}
	line_text(line, text);
}

static void line_time(struct log_line *line)
{
	char day[32], text[48];
	struct timespec now;
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, sizeof(text), "%s.%03ldZ", day, now.tv_nsec / 1000000);
	line_text(line, text);
}

static void line_head(struct log_line *line, const char *level)
{
	line_text(line, "{\"time\": \"");
	line_time(line);
	line_text(line, "\", \"level\": \"");
	line_text(line, level);
	line_text(line, "\", \"role\": ");
	line_quoted(line, log_role);
}

/* "TIME ROLE " */
static void line_origin(struct log_line *line)
{
	line_time(line);
	line_text(line, " ");
	line_text(line, log_role);
	line_text(line, " ");
}

/* A line that cannot be written at once is lost: a server must not wait for the reader of its log. */
static void line_write(struct log_line *line, const char *end)
{
	struct pollfd out = { .fd = STDERR_FILENO, .events = POLLOUT };
	size_t size = strlen(end);
	ssize_t n;

	memcpy(line->data + line->size, end, size);
	line->size += size;
	if (poll(&out, 1, 0) != 1)
		return;
	do
		n = write(STDERR_FILENO, line->data, line->size);
	while (n < 0 && errno == EINTR);
}

/* Whether the text has no character that is special to a shell or to a parser of the line. */
static bool is_plain(const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@+,%";

	return *text && text[strspn(text, plain)] == '\0';
}

static void line_field(struct log_line *line, const struct log_field *field)
{
	size_t before = line->size;

	/* The text format leaves out empty fields. */
	if (log_format == LOG_TEXT && field->text && !*field->text)
		return;
	if (log_format == LOG_JSON) {
		line_text(line, ", ");
		line_quoted(line, field->key);
		line_text(line, ": ");
	} else {
		line_text(line, " ");
		line_clean(line, field->key, false, 0);
		line_text(line, "=");
	}
	if (!field->text)
		line_number(line, field->number);
	else if (log_format == LOG_TEXT && is_plain(field->text))
		line_text(line, field->text);
	else
		line_quoted(line, field->text);
	if (line->full)
		line->size = before;
	line->full = false;
}

void log_open(enum log_format format, const char *role)
{
	log_format = format;
	log_role = role;
}

void log_say(const char *format, ...)
{
	int saved = errno;
	struct log_line line;
	char text[LOG_LINE_MAX];
	va_list args;

	line.size = 0;
	line.full = false;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (log_format == LOG_JSON) {
		line_head(&line, "notice");
		line_text(&line, ", \"message\": ");
		line_quoted(&line, text);
		line_write(&line, "}\n");
	} else {
		if (log_format == LOG_TEXT)
			line_origin(&line);
		else
			line_text(&line, "emberbox: ");
		line_clean(&line, text, false, 0);
		line_write(&line, "\n");
	}
	errno = saved;
}

void log_event(const char *event, const struct log_field *fields)
{
	int saved = errno;
	struct log_line line;

	if (log_format == LOG_EVENTS)
		return;
	line.size = 0;
	line.full = false;
	if (log_format == LOG_JSON) {
		line_head(&line, "info");
		line_text(&line, ", \"event\": ");
		line_quoted(&line, event);
	} else {
		line_origin(&line);
		line_clean(&line, event, false, 0);
	}
	for (; fields && fields->key; fields++)
		line_field(&line, fields);
	line_write(&line, log_format == LOG_JSON ? "}\n" : "\n");
	errno = saved;
}
