#include "cli/repl_line.h"

#include "base/own.h"
#include "cli/repl_history.h"
#include "term/cells.h"

#include <errno.h>
#include <histedit.h>
#include <locale.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <wchar.h>

enum {
	HISTORY_SIZE = 1000, /* cells in the history */
	LIST_MAX = 200,      /* maximum of completions in a list */
	INDENT = 4,          /* spaces for a Tab at the beginning of a line */
	CTRL_D = 4,          /* the byte */
};

struct line_editor {
	const struct line_options *options; /* the caller's options */
	EditLine *edit;                     /* libedit's editor */
	History *history;                   /* libedit's history */
	struct line_history file;           /* file of the history */
	const char *prompt;                 /* prompt of the current line */
	struct buf pushed;                  /* bytes typed before, not read yet */
	struct buf line;                    /* the last line */
	enum line_got got;                  /* why there is no line */
};

static char *show_prompt(EditLine *edit)
{
	struct line_editor *editor = NULL;

	el_get(edit, EL_CLIENTDATA, &editor);
	return (char *)editor->prompt;
}

static int take_pushed(struct line_editor *editor, char *byte)
{
	if (editor->pushed.size == 0)
		return 0;
	*byte = editor->pushed.data[0];
	memmove(editor->pushed.data, editor->pushed.data + 1, --editor->pushed.size);
	return 1;
}

/* Reads one byte from the terminal; 0: end; -1: a signal or the caller interrupts. */
static int get_byte(struct line_editor *editor, EditLine *edit, char *byte)
{
	const struct line_options *options = editor->options;

	while (take_pushed(editor, byte) == 0) {
		struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
					{ .fd = options->wake_fd, .events = POLLIN } };
		int woken;

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return -1;
		woken = fds[1].revents ? options->on_wake(options->userdata) : 0;
		if (woken == 2) {
			el_resize(edit);
			el_set(edit, EL_PREP_TERM, 1);
			el_set(edit, EL_REFRESH);
		} else if (woken != 0) {
			editor->got = woken > 0 ? LINE_INTERRUPTED : LINE_END;
			return -1;
		}
		if (fds[0].revents) {
			ssize_t n = read(STDIN_FILENO, byte, 1);

			if (n >= 0 || (errno != EINTR && errno != EAGAIN))
				return n > 0 ? 1 : 0;
		}
	}
	return 1;
}

static int get_char(EditLine *edit, wchar_t *character)
{
	struct line_editor *editor = NULL;
	mbstate_t state = { 0 };
	char byte;
	int got;

	el_get(edit, EL_CLIENTDATA, &editor);
	while ((got = get_byte(editor, edit, &byte)) > 0) {
		size_t n = mbrtowc(character, &byte, 1, &state);

		if (n == (size_t)-2)
			continue;
		/* Invalid bytes are dropped. */
		if (n == (size_t)-1) {
			memset(&state, 0, sizeof(state));
			continue;
		}
		return 1;
	}
	*character = L'\0';
	return got;
}

size_t line_common(char *const *words)
{
	size_t common = words[0] ? strlen(words[0]) : 0;

	for (size_t i = 1; common > 0 && words[i]; i++) {
		size_t n = 0;

		while (n < common && words[i][n] == words[0][n])
			n++;
		common = n;
	}
	while (common > 0 && (words[0][common] & 0xc0) == 0x80)
		common--;
	return common;
}

void line_columns(char *const *words, unsigned width, struct buf *out)
{
	size_t count = 0, widest = 1, columns, rows;

	for (; words[count]; count++)
		widest = text_cells(words[count]) > widest ? text_cells(words[count]) : widest;
	columns = (width + 2) / (widest + 2);
	columns = columns > 0 ? columns : 1;
	rows = (count + columns - 1) / columns;
	for (size_t row = 0; row < rows; row++) {
		for (size_t at = row; at < count; at += rows) {
			text_line(words[at], columns == 1 ? width : 0, out);
			for (size_t i = text_cells(words[at]); at + rows < count && i < widest + 2; i++)
				buf_text(out, " ");
		}
		buf_text(out, "\n");
	}
}

static void matches_free(struct line_matches *matches)
{
	for (size_t i = 0; matches->words && matches->words[i]; i++)
		free(matches->words[i]);
	free(matches->words);
}

static void list_matches(const struct line_editor *editor, const struct line_matches *matches)
{
	_cleanup_buf_ struct buf out = { 0 };
	size_t count = 0;
	char *cut = NULL;

	while (matches->words[count])
		count++;
	if (count > LIST_MAX) {
		cut = matches->words[LIST_MAX];
		matches->words[LIST_MAX] = NULL;
	}
	buf_text(&out, "\n");
	line_columns(matches->words, editor->options->width ? editor->options->width : 80, &out);
	if (cut) {
		matches->words[LIST_MAX] = cut;
		buf_printf(&out, "… and %zu more\n", count - LIST_MAX);
	}
	if (!out.failed)
		(void)!write(STDOUT_FILENO, out.data, out.size);
}

/* Whether the completion adds characters to the line. */
static bool word_adds(const LineInfo *line, size_t replace, const char *word, size_t size)
{
	const char *at = line->cursor;

	for (size_t i = 0; i < replace && at > line->buffer; i++)
		do
			at--;
		while (at > line->buffer && (*at & 0xc0) == 0x80);
	return (size_t)(line->cursor - at) != size || memcmp(at, word, size) != 0;
}

static unsigned char line_complete(EditLine *edit, int key)
{
	_cleanup_(matches_free) struct line_matches matches = { 0 };
	_cleanup_free_ char *text = NULL, *word = NULL;
	struct line_editor *editor = NULL;
	const LineInfo *line = el_line(edit);
	size_t before = (size_t)(line->cursor - line->buffer), blank = 0, common;

	el_get(edit, EL_CLIENTDATA, &editor);
	while (blank < before && (line->buffer[blank] == ' ' || line->buffer[blank] == '\t'))
		blank++;
	if (blank == before)
		return el_insertstr(edit, "    " + before % INDENT) == 0 ? CC_REFRESH : CC_ERROR;
	text = strndup(line->buffer, (size_t)(line->lastchar - line->buffer));
	if (!text || !editor->options->complete ||
	    !editor->options->complete(text, before, &matches, editor->options->userdata) || !matches.words ||
	    !matches.words[0])
		return CC_ERROR;
	common = line_common(matches.words);
	word = strndup(matches.words[0], common);
	line = el_line(edit);
	if (word && common > 0 && word_adds(line, matches.replace, word, common)) {
		el_deletestr(edit, (int)matches.replace);
		return el_insertstr(edit, word) == 0 ? CC_REFRESH : CC_ERROR;
	}
	if (!matches.words[1])
		return CC_NORM;
	list_matches(editor, &matches);
	return CC_REDISPLAY;
}

static void history_recall(const char *cell, void *userdata)
{
	struct line_editor *editor = userdata;
	HistEvent event;

	history(editor->history, &event, H_ENTER, cell);
}

/* From libtinfo, whose headers define conflicting macros. */
int tgetent(char *entry, const char *name);

/* A static program has only locales by file; UTF-8 is the encoding of terminals. */
static void set_characters(void)
{
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		setlocale(LC_CTYPE, "");
}

/*
 * Treats a terminal without a terminfo entry on this host as xterm. This is common over ssh, and such terminals (kitty,
 * ghostty, foot…) are compatible.
 */
static void set_terminal(void)
{
	const char *terminal = getenv("TERM");

	if (tgetent(NULL, terminal) <= 0 && tgetent(NULL, "xterm") > 0)
		setenv("TERM", "xterm", 1);
}

struct line_editor *line_editor_new(const struct line_options *options)
{
	struct line_editor *editor = calloc(1, sizeof(*editor));
	HistEvent event;

	if (!editor)
		return NULL;
	set_characters();
	editor->options = options;
	if (!options->plain)
		set_terminal();
	editor->edit = el_init("emberbox", stdin, stdout, stderr);
	editor->history = history_init();
	if (!editor->edit || !editor->history) {
		line_editor_free(editor);
		return NULL;
	}
	history(editor->history, &event, H_SETSIZE, HISTORY_SIZE);
	history(editor->history, &event, H_SETUNIQUE, 1);
	el_set(editor->edit, EL_CLIENTDATA, editor);
	el_set(editor->edit, EL_PROMPT_ESC, show_prompt, '\1');
	el_set(editor->edit, EL_HIST, history, editor->history);
	el_set(editor->edit, EL_GETCFN, get_char);
	el_set(editor->edit, EL_EDITOR, "emacs");
	el_set(editor->edit, EL_SIGNAL, 0);
	el_set(editor->edit, EL_ADDFN, "emberbox-complete", "complete from the session", line_complete);
	el_set(editor->edit, EL_BIND, "^I", "emberbox-complete", NULL);
	el_set(editor->edit, EL_BIND, "^R", "em-inc-search-prev", NULL);
	el_source(editor->edit, NULL);
	if (options->plain)
		el_set(editor->edit, EL_EDITMODE, 0);
	if (options->history) {
		line_history_open(&editor->file, options->history);
		line_history_each(&editor->file, HISTORY_SIZE, history_recall, editor);
	}
	return editor;
}

void line_editor_free(struct line_editor *editor)
{
	if (!editor)
		return;
	if (editor->edit)
		el_end(editor->edit);
	if (editor->history)
		history_end(editor->history);
	line_history_close(&editor->file);
	buf_free(&editor->pushed);
	buf_free(&editor->line);
	free(editor);
}

/*
 * Reads input that was typed before the editor took the terminal, such as during a cell. The terminal is taken before
 * the prompt is printed, so that answers to it reach the editor. A Ctrl-D typed before that was an end of line for the
 * terminal, which keeps it as a NUL; see line_editor_push().
 */
static void take_typed_ahead(struct line_editor *editor)
{
	char block[4096];
	int left = 0;
	ssize_t n;

	/* Without editing the terminal stays in line mode, and Ctrl-D is the end. */
	if (editor->options->plain || el_set(editor->edit, EL_PREP_TERM, 1) < 0)
		return;
	if (ioctl(STDIN_FILENO, FIONREAD, &left) < 0)
		return;
	while (left > 0) {
		n = read(STDIN_FILENO, block, (size_t)left < sizeof(block) ? (size_t)left : sizeof(block));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		line_editor_push(editor, block, (size_t)n);
		left -= (int)n;
	}
}

enum line_got line_editor_read(struct line_editor *editor, const char *prompt, const char **text)
{
	const char *line;
	int size = 0;

	editor->prompt = prompt;
	editor->got = LINE_END;
	take_typed_ahead(editor);
	line = el_gets(editor->edit, &size);
	if (!line || size <= 0)
		return editor->got;
	editor->line.size = 0;
	buf_add(&editor->line, line, strlen(line));
	while (editor->line.size > 0 && strchr("\r\n", editor->line.data[editor->line.size - 1]))
		editor->line.data[--editor->line.size] = '\0';
	*text = editor->line.failed ? "" : editor->line.data;
	return LINE_TEXT;
}

void line_editor_remember(struct line_editor *editor, const char *cell)
{
	history_recall(cell, editor);
	line_history_add(&editor->file, cell);
}

void line_editor_push(struct line_editor *editor, const char *data, size_t size)
{
	/* In line mode Linux keeps a Ctrl-D as a NUL, and returns that after a change to raw mode. */
	for (size_t i = 0; i < size; i++)
		buf_add(&editor->pushed, data[i] ? &data[i] : &(char){ CTRL_D }, 1);
}
