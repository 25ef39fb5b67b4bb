/* Reports as Markdown. Text from the program or the request is in fences longer than any in it. */
#include "store/run_report.h"

#include "base/own.h"

#include <string.h>

enum {
	STREAM_MAX = 8192, /* bytes shown of a stream: its end */
	AROUND = 2,        /* lines of context */
};

/* The longest sequence of backticks in the text. */
static size_t longest_ticks(const char *text, size_t size)
{
	size_t longest = 0, now = 0;

	for (size_t i = 0; i < size; i++) {
		now = text[i] == '`' ? now + 1 : 0;
		longest = now > longest ? now : longest;
	}
	return longest;
}

static void add_ticks(struct buf *out, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buf_text(out, "`");
}

static void add_fenced(struct buf *out, const char *language, const char *text, size_t size)
{
	size_t ticks = longest_ticks(text, size);

	ticks = ticks < 3 ? 3 : ticks + 1;
	add_ticks(out, ticks);
	buf_printf(out, "%s\n", language);
	buf_add(out, text, size);
	if (size == 0 || text[size - 1] != '\n')
		buf_text(out, "\n");
	add_ticks(out, ticks);
	buf_text(out, "\n\n");
}

/* One line, as code. */
static void add_code(struct buf *out, const char *text)
{
	size_t ticks = longest_ticks(text, strlen(text)) + 1;

	add_ticks(out, ticks);
	buf_text(out, ticks > 1 ? " " : "");
	for (const char *at = text; *at; at++)
		buf_add(out, *at == '\n' || *at == '\r' ? " " : at, 1);
	buf_text(out, ticks > 1 ? " " : "");
	add_ticks(out, ticks);
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* "- name: `value`" for any value. */
static void add_item(struct buf *out, const char *name, const json_t *value)
{
	char *dumped = json_is_string(value)
			       ? NULL
			       : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));

	if (!json_is_null(value) && value) {
		buf_printf(out, "- %s: ", name);
		add_code(out, json_is_string(value) ? json_string_value(value) : dumped ? dumped : "");
		buf_text(out, "\n");
	}
	free(dumped);
}

static void add_frames(struct buf *out, const json_t *error)
{
	json_t *frame;
	size_t i;

	json_array_foreach(json_object_get(error, "frames"), i, frame)
	{
		_cleanup_buf_ struct buf line = { 0 };

		if (i == 0)
			buf_text(out, "\nCalls, the newest first:\n\n");
		buf_printf(&line, "%s:%lld %s", text_of(frame, "file"),
			   (long long)json_integer_value(json_object_get(frame, "line")), text_of(frame, "function"));
		buf_text(out, json_is_true(json_object_get(frame, "user")) ? "1. " : "1. (library) ");
		add_code(out, line.data ? line.data : "");
		buf_text(out, "\n");
	}
}

static void add_error(struct buf *out, const json_t *run)
{
	const json_t *error = json_object_get(run, "error"), *verdict = json_object_get(run, "verdict");
	_cleanup_buf_ struct buf context = { 0 };
	json_t *line;
	size_t i;

	if (!json_is_object(error) && !json_is_object(verdict))
		return;
	buf_text(out, "## Why\n\n");
	add_item(out, "type", json_object_get(error, "type"));
	add_item(out, "message", json_object_get(error, "message"));
	add_item(out, "file", json_object_get(error, "file"));
	add_item(out, "line", json_object_get(error, "line"));
	add_item(out, "column", json_object_get(error, "column"));
	add_item(out, "verdict", json_object_get(verdict, "message"));
	add_item(out, "suggestion", json_object_get(json_is_object(error) ? error : verdict, "suggestion"));
	if (*text_of(error, "docs"))
		buf_printf(out, "- documentation: <%s>\n", text_of(error, "docs"));
	add_frames(out, error);
	buf_text(out, "\n");
	json_array_foreach(json_object_get(error, "context"), i, line)
		buf_printf(&context, "%s%5lld  %s\n", json_is_true(json_object_get(line, "mark")) ? ">" : " ",
			   (long long)json_integer_value(json_object_get(line, "line")), text_of(line, "text"));
	if (context.size > 0)
		add_fenced(out, "", context.data, context.size);
}

static void add_stream(struct buf *out, const json_t *run, const char *name)
{
	const json_t *value = json_object_get(run, name);
	size_t size = json_string_length(value), from = size > STREAM_MAX ? size - STREAM_MAX : 0;
	const char *text = json_string_value(value);

	if (size == 0)
		return;
	/* Do not start inside a character. */
	while (from > 0 && from < size && (text[from] & 0xC0) == 0x80)
		from++;
	buf_printf(out, "## %s%s\n\n", name, from > 0 ? " (its end)" : "");
	add_fenced(out, "", text + from, size - from);
}

static void add_environment(struct buf *out, const json_t *run)
{
	const json_t *meta = json_object_get(run, "meta"), *request = json_object_get(run, "request");
	const char *key;
	json_t *value;
	size_t i;

	buf_text(out, "## Environment\n\n");
	add_item(out, "language", json_object_get(run, "language"));
	add_item(out, "version", json_object_get(meta, "language_version"));
	add_item(out, "start", json_object_get(meta, "start"));
	add_item(out, "caller", json_object_get(run, "caller"));
	add_item(out, "profile", json_object_get(run, "profile"));
	json_object_foreach((json_t *)request, key, value) add_item(out, key, value);
	buf_text(out, "\n## Limits\n\n");
	json_object_foreach(json_object_get(meta, "resource_limits"), key, value) add_item(out, key, value);
	buf_text(out, "\n## Isolation\n\n");
	json_array_foreach(json_object_get(meta, "isolation"), i, value) add_item(out, "layer", value);
	buf_text(out, "\n");
}

static void add_similar(struct buf *out, const json_t *report)
{
	json_t *run;
	size_t i;

	json_array_foreach(json_object_get(report, "similar"), i, run)
	{
		if (i == 0)
			buf_text(out, "## Similar failures before\n\n");
		buf_printf(out, "- %s, %s%s: ", text_of(run, "id"), text_of(run, "timestamp"),
			   json_is_true(json_object_get(run, "same_code")) ? ", the same code" : "");
		add_code(out, text_of(run, "error_message"));
		buf_text(out, "\n");
	}
	buf_text(out, i > 0 ? "\n" : "");
}

static void add_success(struct buf *out, const json_t *success)
{
	const char *diff = text_of(success, "diff");
	json_t *change;
	size_t i;

	buf_text(out, "## Since the last success\n\n");
	if (!json_is_object(success)) {
		buf_text(out, "Neither this code nor a file with its name has run successfully before.\n");
		return;
	}
	buf_printf(out, "The same %s ran successfully as %s, %s.\n\n", text_of(success, "same"), text_of(success, "id"),
		   text_of(success, "timestamp"));
	json_array_foreach(json_object_get(success, "changes"), i, change)
	{
		char *before = json_dumps(json_object_get(change, "before"), JSON_ENCODE_ANY | JSON_COMPACT);
		char *after = json_dumps(json_object_get(change, "after"), JSON_ENCODE_ANY | JSON_COMPACT);

		buf_printf(out, "- %s: ", text_of(change, "what"));
		/* The digests of code mean nothing to people. */
		if (strcmp(text_of(change, "what"), "code") == 0) {
			buf_text(out, "it differs");
		} else {
			add_code(out, before ? before : "");
			buf_text(out, " became ");
			add_code(out, after ? after : "");
		}
		buf_text(out, "\n");
		free(before);
		free(after);
	}
	if (i == 0)
		buf_text(out, "No recorded value has changed: the failure may depend on time, random numbers or the "
			      "input.\n");
	if (json_is_false(json_object_get(success, "given_kept")))
		buf_text(out, "The earlier inputs (arguments, environment, files, input) were not kept: "
			      "SANDBOX_STORE_CODE=always keeps them.\n");
	if (*diff) {
		buf_text(out, "\n");
		add_fenced(out, "diff", diff, strlen(diff));
	} else if (strcmp(text_of(success, "same"), "file") == 0) {
		buf_text(out, "\nThe successful code was not kept: SANDBOX_STORE_CODE=always keeps it.\n");
	}
}

void report_markdown(const json_t *report, struct buf *out)
{
	const json_t *run = json_object_get(report, "run"), *code = json_object_get(run, "code");

	buf_printf(out, "# Run %s: %s\n\n", text_of(report, "id"), text_of(run, "status"));
	add_item(out, "what", json_object_get(run, "error_message"));
	add_item(out, "time", json_object_get(run, "timestamp"));
	add_item(out, "exit code", json_object_get(run, "exit_code"));
	add_item(out, "signal", json_object_get(run, "signal"));
	add_item(out, "seconds", json_object_get(run, "execution_time"));
	add_item(out, "CPU seconds", json_object_get(run, "cpu_time"));
	add_item(out, "bytes of memory", json_object_get(run, "memory_used"));
	buf_text(out, "\n");
	add_error(out, run);
	if (json_is_string(code)) {
		buf_text(out, "## Code\n\n");
		add_fenced(out, text_of(run, "language"), json_string_value(code), json_string_length(code));
	}
	add_stream(out, run, "stdout");
	add_stream(out, run, "stderr");
	add_environment(out, run);
	add_similar(out, report);
	add_success(out, json_object_get(report, "last_success"));
}

/* The length of a line, including its end. */
static size_t line_size(const char *at)
{
	size_t size = strcspn(at, "\n");

	return at[size] == '\n' ? size + 1 : size;
}

static void add_lines(struct buf *out, const char *mark, const char *at, const char *end)
{
	while (at < end) {
		size_t size = line_size(at);

		buf_text(out, mark);
		buf_add(out, at, size);
		if (at[size - 1] != '\n')
			buf_text(out, "\n");
		at += size;
	}
}

/* The start of the line that is up to `lines` lines before `at`. */
static const char *lines_back(const char *start, const char *at, int lines)
{
	while (lines-- > 0 && at > start) {
		at--;
		while (at > start && at[-1] != '\n')
			at--;
	}
	return at;
}

static const char *lines_on(const char *at, int lines)
{
	while (lines-- > 0 && *at)
		at += line_size(at);
	return at;
}

char *report_diff(const char *before, const char *after)
{
	const char *old = before, *new = after, *old_end = before + strlen(before), *new_end = after + strlen(after);
	struct buf out = { 0 };

	if (strcmp(before, after) == 0)
		return NULL;
	/* Skips the equal lines at the beginning and at the end: most people change one place. */
	while (*old && *new &&line_size(old) == line_size(new) && memcmp(old, new, line_size(old)) == 0) {
		size_t size = line_size(old);

		old += size;
		new += size;
	}
	while (old_end > old && new_end > new) {
		const char *old_line = lines_back(old, old_end, 1), *new_line = lines_back(new, new_end, 1);

		if (old_end - old_line != new_end - new_line ||
		    memcmp(old_line, new_line, (size_t)(old_end - old_line)) != 0)
			break;
		old_end = old_line;
		new_end = new_line;
	}
	add_lines(&out, "  ", lines_back(before, old, AROUND), old);
	add_lines(&out, "- ", old, old_end);
	add_lines(&out, "+ ", new, new_end);
	add_lines(&out, "  ", new_end, lines_on(new_end, AROUND));
	return buf_take(&out);
}
