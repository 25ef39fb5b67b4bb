/* Cells of the REPL: runs them in the session, handles interrupts and input, and shows the outcome. */
#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/cmd_repl.h"
#include "cli/table.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum {
	INPUT_AFTER_MSEC =
		200, /* typed text becomes a cell's input after this time, so that short cells do not take it */
};

/* The state of a running cell. */
struct running {
	struct repl *repl;    /* the REPL */
	unsigned interrupted; /* number of interrupts */
};

static void own_json(json_t **value)
{
	json_decref(*value);
}

char repl_woken(struct repl *repl)
{
	char letters[64], said = 0;
	ssize_t n = read(repl->wake[0], letters, sizeof(letters));

	/* The most important one. */
	for (ssize_t i = 0; i < n; i++)
		if (letters[i] == 'T' || (letters[i] == 'I' && said != 'T') || !said)
			said = letters[i];
	return said;
}

static int on_wake(int fd, void *data)
{
	struct running *running = data;
	struct repl *repl = running->repl;
	struct error err = { 0 };
	char said = repl_woken(repl);

	if (said == 'T') {
		repl->over = true;
		return -1;
	}
	if (said != 'I')
		return 0;
	running->interrupted++;
	/* The terminal has echoed ^C. */
	if (repl->interactive)
		show_echo(&repl->show, true);
	if (session_link_ask(&repl->link, "POST", "interrupt", NULL, NULL, &err) < 0)
		show_problem(&repl->show, "cannot interrupt the cell: %s", err.text);
	return 0;
}

/* Text that is typed while a cell runs is its input. */
static int on_typed(int fd, void *data)
{
	struct running *running = data;
	_cleanup_(own_json) json_t *body = NULL;
	struct error err = { 0 };
	char text[4096];
	ssize_t n = read(fd, text, sizeof(text));

	if (n < 0)
		return errno == EINTR || errno == EAGAIN ? 0 : 1;
	/* The terminal has echoed it, including its end. */
	if (n > 0 && text[n - 1] == '\n')
		show_echo(&running->repl->show, false);
	body = n > 0 ? json_pack("{s:o}", "data", json_stringn_nocheck(text, (size_t)n)) : json_pack("{s:b}", "eof", 1);
	if (body && session_link_ask(&running->repl->link, "POST", "input", body, NULL, &err) == 0)
		return n > 0 ? 0 : 1;
	/* The cell has ended: the text, or its end, is for the prompt. */
	if (running->repl->editor)
		line_editor_push(running->repl->editor, n > 0 ? text : "", n > 0 ? (size_t)n : 1);
	return 1;
}

/* Text was typed before: the following lines of a paste, which are not this cell's input. */
static bool typed_ahead(void)
{
	struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&fd, 1, 0) > 0;
}

static json_t *cell_body(const struct repl *repl, const char *code, bool input)
{
	json_t *body = json_pack("{s:s}", "code", code);
	double seconds;

	if (body && input)
		json_object_set_new(body, "input", json_string("stream"));
	if (body && repl->timeout && text_duration(repl->timeout, &seconds))
		json_object_set_new(body, "timeout", json_real(seconds));
	return body;
}

/* Replaces a lost session, with the same name. */
static enum repl_end begin_again(struct repl *repl, const char *reason)
{
	struct error err = { 0 };
	json_t *object = NULL;

	if (session_link_ask(&repl->link, "POST", "restart", NULL, &object, &err) < 0) {
		show_problem(&repl->show, "The session is lost%s%s, and there is no new one: %s", reason ? ": " : "",
			     reason ? reason : "", err.text);
		repl->over = true;
		return REPL_LOST;
	}
	json_decref(repl->object);
	repl->object = object;
	repl->next = 1;
	json_array_clear(repl->cells);
	repl_project_begin(repl);
	show_problem(&repl->show, "The session's state is lost%s%s. A new session has begun.", reason ? ": " : "",
		     reason ? reason : "");
	return REPL_LOST;
}

/* Lists new files in /sandbox/output. */
static void offer_files(struct repl *repl, const json_t *result)
{
	const json_t *files = json_object_get(result, "files"), *file;
	char bytes[TABLE_WORD];
	size_t index;

	if (!repl->interactive)
		return;
	json_array_foreach(files, index, file)
		show_note(&repl->show, "[/sandbox/output/%s, %s; :get fetches it]",
			  json_string_value(json_object_get(file, "path")) ?: "?",
			  bytes_text(json_number_value(json_object_get(file, "size")), bytes));
}

static enum repl_end outcome_show(struct repl *repl, const json_t *result, char status[24])
{
	const json_t *session = json_object_get(result, "session");
	const char *how = json_string_value(json_object_get(result, "status")) ?: "error";
	const char *state = json_string_value(json_object_get(session, "state"));
	const char *reason = json_string_value(json_object_get(session, "reason"));
	const char *message = json_string_value(json_object_get(result, "error_message"));
	const char *unread = json_string_value(json_object_get(session, "unread"));
	bool ok = strcmp(how, "ok") == 0, failed = strcmp(how, "failed") == 0;
	json_t *cells = json_object_get(session, "cells");

	if (status)
		snprintf(status, 24, "%s", how);
	repl->code = (int)json_integer_value(json_object_get(result, "exit_code"));
	if (json_is_integer(cells))
		repl->next = (unsigned)json_integer_value(cells) + 1;
	/* Input that the cell did not read is typed at the prompt. */
	if (unread && repl->editor)
		line_editor_push(repl->editor, unread, strlen(unread));
	show_error(&repl->show, result);
	/* A failure has printed its message; an action of ours has not. */
	if (!ok && !failed && message)
		show_problem(&repl->show, "emberbox: %s", message);
	offer_files(repl, result);
	if (!state || strcmp(state, "lost") != 0)
		return ok ? REPL_OK : REPL_FAILED;
	/* It ended by itself, by exit(): exit too. */
	if ((ok || failed) && json_is_null(json_object_get(result, "signal"))) {
		repl->over = true;
		return REPL_LOST;
	}
	if (!repl->interactive) {
		show_problem(&repl->show, "The session's state is lost%s%s.", reason ? ": " : "", reason ? reason : "");
		repl->over = true;
		return REPL_LOST;
	}
	return begin_again(repl, reason);
}

enum repl_end repl_run(struct repl *repl, const char *code, char status[24])
{
	struct running running = { .repl = repl };
	bool input = repl->interactive && !typed_ahead();
	_cleanup_(own_json) json_t *body = cell_body(repl, code, input);
	const struct http_watch watches[HTTP_CALL_WATCHES] = {
		{ .fd = repl->wake[0], .on_ready = on_wake, .data = &running },
		{ .fd = input ? STDIN_FILENO : -1,
		  .on_ready = on_typed,
		  .data = &running,
		  .after_msec = INPUT_AFTER_MSEC },
	};
	struct error err = { 0 };
	const char *how;
	int done;

	if (!body) {
		show_problem(&repl->show, "emberbox: the line is not valid UTF-8");
		repl->code = EXIT_USAGE;
		return REPL_BROKEN;
	}
	show_begin(&repl->show, repl->next);
	done = session_link_execute(&repl->link, body, show_event, &repl->show, watches, &err);
	show_end(&repl->show);
	if (done < 0 || !repl->show.result) {
		if (!repl->over)
			show_problem(&repl->show, "emberbox: %s",
				     done < 0              ? err.text
				     : *repl->show.refused ? repl->show.refused
							   : "the service closed the connection");
		repl->code = EXIT_BROKEN;
		/* A session that no longer exists cannot be used again. */
		repl->over |= (done == 0 && !*repl->show.refused) || err.code == CODE_NOT_FOUND ||
			      err.errnum == ENOENT || err.errnum == ECONNREFUSED;
		return REPL_BROKEN;
	}
	how = json_string_value(json_object_get(repl->show.result, "status")) ?: "error";
	/* A pending interrupt must not hit the next cell. */
	if (running.interrupted > 0 && strcmp(how, "ok") != 0)
		how = "interrupted";
	json_array_append_new(repl->cells, json_pack("{s:s, s:s}", "code", code, "status", how));
	return outcome_show(repl, repl->show.result, status);
}

static size_t character_count(const char *text, size_t size)
{
	size_t count = 0;

	for (size_t i = 0; i < size; i++)
		count += (text[i] & 0xc0) != 0x80;
	return count;
}

bool repl_complete(const char *line, size_t cursor, struct line_matches *matches, void *userdata)
{
	struct repl *repl = userdata;
	_cleanup_buf_ struct buf code = { 0 };
	_cleanup_(own_json) json_t *body = NULL, *answer = NULL;
	const json_t *words;
	size_t at, count, start;
	struct error err = { 0 };

	buf_add(&code, repl->pending.data ? repl->pending.data : "", repl->pending.size);
	at = character_count(code.data, code.size) + character_count(line, cursor);
	buf_text(&code, line);
	body = code.failed ? NULL : json_pack("{s:s, s:I}", "code", code.data, "cursor", (json_int_t)at);
	if (!body || session_link_ask(&repl->link, "POST", "complete", body, &answer, &err) < 0)
		return false;
	words = json_object_get(answer, "matches");
	count = json_array_size(words);
	start = (size_t)json_integer_value(json_object_get(answer, "cursor_start"));
	/* Only a part of the current line can be replaced. */
	if (count == 0 || start > at || at - start > character_count(line, cursor))
		return false;
	matches->replace = at - start;
	matches->words = calloc(count + 1, sizeof(*matches->words));
	for (size_t i = 0; matches->words && i < count; i++) {
		_cleanup_buf_ struct buf word = { 0 };

		text_line(json_string_value(json_array_get(words, i)) ?: "", 0, &word);
		buf_add(&word, "", 0);
		matches->words[i] = buf_take(&word);
		if (!matches->words[i])
			break;
	}
	return matches->words != NULL;
}
