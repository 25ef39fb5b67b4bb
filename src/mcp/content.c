#include "mcp/content.h"

#include "base/json_check.h"
#include "base/own.h"
#include "mcp/resource.h"
#include "mcp/words.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	LEAST = 200,     /* smallest useful number of bytes of an output */
	FILES_MAX = 20,  /* maximum of listed files */
	LINE_BACK = 160, /* how far a cut may move back to the end of a line */
};

json_t *content_text(const char *text, size_t size)
{
	_cleanup_buf_ struct buf clean = { 0 };

	buf_utf8(&clean, text, size);
	return json_stringn(clean.data ? clean.data : "", clean.size);
}

json_t *content_block(const char *text, size_t size)
{
	return json_pack("{s:s, s:o}", "type", "text", "text", content_text(text, size));
}

json_t *content_refusal(const char *sentence)
{
	return json_pack("{s:[o], s:b}", "content", content_block(sentence, strlen(sentence)), "isError", 1);
}

json_t *content_answer(json_t *structured, const char *text, size_t size)
{
	return json_pack("{s:[o], s:o}", "content", content_block(text, size), "structuredContent", structured);
}

const char *content_image_type(const char *path)
{
	static const struct {
		const char *ending; /* suffix of the name */
		const char *type;   /* media type */
	} types[] = {
		{ ".png", "image/png" }, { ".jpg", "image/jpeg" },  { ".jpeg", "image/jpeg" },
		{ ".gif", "image/gif" }, { ".webp", "image/webp" },
	};
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && i < ARRAY_SIZE(types); i++)
		if (strcasecmp(dot, types[i].ending) == 0)
			return types[i].type;
	return NULL;
}

size_t content_whole(const char *data, size_t size, bool *text)
{
	size_t cut = 0;

	for (size_t back = 1; back <= 3 && back <= size; back++) {
		unsigned char byte = (unsigned char)data[size - back];

		if ((byte & 0xC0) == 0x80)
			continue;
		if (byte >= 0xC0 && back < (byte >= 0xF0 ? 4U : byte >= 0xE0 ? 3U : 2U))
			cut = back;
		break;
	}
	*text = json_is_plain_text(data, size - cut);
	return size - cut;
}

static size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The offset of a cut with at most `most` bytes before it: at the end of a line if one is near, and never inside a
 * character. */
static size_t cut_head(const char *text, size_t size, size_t most)
{
	size_t at = most;

	if (most >= size)
		return size;
	for (size_t back = 0; back < LINE_BACK && back < at; back++)
		if (text[at - back - 1] == '\n')
			return at - back;
	while (at > 0 && ((unsigned char)text[at] & 0xC0) == 0x80)
		at--;
	return at;
}

/* The start of the tail, chosen like cut_head(). */
static size_t cut_tail(const char *text, size_t size, size_t most)
{
	size_t at = most < size ? size - most : 0;

	for (size_t ahead = 0; at > 0 && ahead < LINE_BACK && at + ahead < size; ahead++)
		if (text[at + ahead - 1] == '\n')
			return at + ahead;
	while (at < size && ((unsigned char)text[at] & 0xC0) == 0x80)
		at++;
	return at;
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static void end_line(struct buf *out)
{
	if (out->size > 0 && out->data[out->size - 1] != '\n')
		buf_text(out, "\n");
}

/* A stream in a result: complete, or a head and a tail with a marker between them. */
struct shown {
	const char *head, *tail;     /* both are the whole stream if nothing was left out */
	size_t head_size, tail_size; /* bytes of each */
	json_int_t bytes;            /* bytes that the program wrote */
	bool cut;                    /* bytes were left out */
	bool replaced;               /* invalid bytes were replaced by U+FFFD */
};

/* How many bytes longer the text is because of U+FFFD. */
static size_t replaced_size(const char *text, size_t size)
{
	static const char mark[] = "\xEF\xBF\xBD";
	const char *end = text + size;
	size_t bytes = 0;

	while ((text = memmem(text, (size_t)(end - text), mark, strlen(mark)))) {
		bytes += strlen(mark) - 1;
		text += strlen(mark);
	}
	return bytes;
}

/* The number of the program's bytes in a part of the text. */
static json_int_t bytes_written(const struct shown *shown, const char *text, size_t size)
{
	return (json_int_t)(size - (shown->replaced ? replaced_size(text, size) : 0));
}

/* Finds the marker of result/output.c. A program can print one too; the right one makes the sum of bytes right, as far
 * as this is known: not every U+FFFD replaced a byte. */
static bool find_marker(struct shown *shown, const char *text, size_t size)
{
	static const char begin[] = "\n... ", end[] = " bytes left out ...\n";
	const json_int_t more = (json_int_t)replaced_size(text, size);
	const char *at = text;

	for (; (at = memmem(at, size - (size_t)(at - text), begin, strlen(begin))); at++) {
		const char *digits = at + strlen(begin), *after = digits + strspn(digits, "0123456789");
		size_t before = (size_t)(at - text), length = (size_t)(after - at) + strlen(end);
		json_int_t missing;

		if (after == digits || after - digits > 18 || strncmp(after, end, strlen(end)) != 0)
			continue;
		missing = shown->bytes - strtoll(digits, NULL, 10) - (json_int_t)(size - length) + more;
		if (missing < 0 || missing > more)
			continue;
		*shown = (struct shown){ .head = text,
					 .head_size = before,
					 .tail = at + length,
					 .tail_size = size - before - length,
					 .bytes = shown->bytes,
					 .cut = true,
					 .replaced = missing < more };
		return true;
	}
	return false;
}

static struct shown stream_shown(const json_t *result, const char *name)
{
	const json_t *value = json_object_get(result, name);
	const char *text = text_of(result, name);
	size_t size = json_string_length(value);
	struct shown shown = { 0 };
	char key[32];

	snprintf(key, sizeof(key), "%s_bytes", name);
	shown.bytes = json_integer_value(json_object_get(result, key));
	if (json_is_true(json_object_get(result, "truncated")) && find_marker(&shown, text, size))
		return shown;
	return (struct shown){ .head = text,
			       .head_size = size,
			       .tail = text,
			       .tail_size = size,
			       .bytes = shown.bytes,
			       .replaced = (json_int_t)size > shown.bytes };
}

static bool text_begins(const char *text, size_t size, const char *with)
{
	return size >= strlen(with) && memcmp(text, with, strlen(with)) == 0;
}

/* Whether a line of a stack trace is inside of Node.js: "    at Module.load (node:internal/…)". */
static bool is_inside_node(const char *line, size_t size)
{
	size_t spaces = 0;

	while (spaces < size && line[spaces] == ' ')
		spaces++;
	return spaces > 0 && text_begins(line + spaces, size - spaces, "at ") &&
	       memmem(line, size, "node:internal/", strlen("node:internal/"));
}

/* Prints an error of Node.js without its own frames and source lines. */
static void put_node_errors(struct buf *out, const char *text, size_t size)
{
	bool thrown = false;

	while (size > 0) {
		const char *newline = memchr(text, '\n', size);
		size_t length = newline ? (size_t)(newline - text) + 1 : size;

		/* After the place come the source line, a mark below it, and an empty line. */
		if (text_begins(text, length, "node:internal/"))
			thrown = true;
		else if (is_inside_node(text, length))
			/* The last line may open the details of the error. */
			buf_text(out, length > 2 && text_begins(text + length - 2, 2, "{\n") ? "    {\n" : "");
		else if (!thrown || (*text != ' ' && *text != '\n'))
			buf_add(out, text, length);
		thrown = thrown && (text_begins(text, length, "node:internal/") || *text == ' ');
		text += length;
		size -= length;
	}
}

static void put_part(struct buf *out, const json_t *result, const char *name, const char *text, size_t size)
{
	const char *language = text_of(result, "language");

	if (strcmp(name, "stderr") == 0 && (strcmp(language, "javascript") == 0 || strcmp(language, "typescript") == 0))
		put_node_errors(out, text, size);
	else
		buf_add(out, text, size);
	end_line(out);
}

/* Prints one stream within a number of bytes: all of it, or its head and tail. Unused space of one part is given to the
 * other. */
static void put_stream(struct buf *out, const json_t *result, const char *name, size_t most)
{
	const struct shown shown = stream_shown(result, name);
	size_t head, tail, rest = min_size(shown.tail_size, most / 3);
	json_int_t first, last;

	if (shown.head_size + shown.tail_size == 0)
		return;
	buf_printf(out, "%s:\n", name);
	if (!shown.cut && shown.head_size <= most) {
		put_part(out, result, name, shown.head, shown.head_size);
		return;
	}
	/* The marker comes after the head; an incomplete line there is left out. */
	head = cut_head(shown.head, shown.head_size + 1, min_size(shown.head_size, most - rest));
	tail = cut_tail(shown.tail, shown.tail_size, most - head);
	first = bytes_written(&shown, shown.head, head);
	last = bytes_written(&shown, shown.tail + tail, shown.tail_size - tail);
	put_part(out, result, name, shown.head, head);
	buf_printf(out, "[… %lld of %lld bytes left out; get_output with id %s, stream %s, offset %lld has them …]\n",
		   (long long)(shown.bytes - first - last), (long long)shown.bytes, text_of(result, "id"), name,
		   (long long)first);
	put_part(out, result, name, shown.tail + tail, shown.tail_size - tail);
}

/* Whether the last line of stderr equals the message. */
static bool is_said_last(const json_t *result, const char *message)
{
	const json_t *value = json_object_get(result, "stderr");
	const char *text = text_of(result, "stderr");
	size_t size = json_string_length(value), length = strlen(message);

	while (size > 0 && strchr(" \r\n", text[size - 1]))
		size--;
	return size >= length && memcmp(text + size - length, message, length) == 0;
}

static void put_place(struct buf *out, const json_t *error)
{
	const json_t *line = json_object_get(error, "line"), *column = json_object_get(error, "column");

	buf_text(out, text_of(error, "file"));
	if (json_is_integer(line))
		buf_printf(out, ":%lld", (long long)json_integer_value(line));
	if (json_is_integer(column))
		buf_printf(out, ":%lld", (long long)json_integer_value(column));
	buf_printf(out, "%s%s: %s\n", *text_of(error, "file") ? ": " : "", text_of(error, "type"),
		   text_of(error, "message"));
}

/* Prints the place of the error and a suggestion. Without a place, the message is only the end of stderr. */
static void put_error(struct buf *out, const json_t *result)
{
	const json_t *error = json_object_get(result, "error");
	const char *message = text_of(error, "message");

	if (!json_is_object(error))
		return;
	if (*text_of(error, "file") || (*message && !is_said_last(result, message)))
		put_place(out, error);
	if (*text_of(error, "suggestion"))
		buf_printf(out, "suggestion: %s\n", text_of(error, "suggestion"));
}

/* The first line: the status, with the reason unless it is printed with its place. */
static void put_status(struct buf *out, const json_t *result)
{
	const char *signal = text_of(result, "signal"), *why = text_of(result, "error_message");
	const char *message = text_of(json_object_get(result, "error"), "message");

	if (*message && strstr(why, message))
		why = "";

	buf_printf(out, "%s: exit code %lld%s%s, %.3f s%s%s\n", text_of(result, "status"),
		   (long long)json_integer_value(json_object_get(result, "exit_code")), *signal ? ", " : "", signal,
		   json_number_value(json_object_get(result, "execution_time")), *why ? "\n" : "", why);
}

/* Prints a rich result that is no image, in its most readable form. */
static void put_rich(struct buf *out, const json_t *rich, size_t most)
{
	static const char *const forms[] = { "text/plain", "text/markdown", "text/html", "text/latex", NULL };
	const json_t *json = json_object_get(rich, "application/json");
	_cleanup_free_ char *dumped = NULL;
	const char *text = NULL;

	for (const char *const *form = forms; *form && !text; form++)
		text = json_string_value(json_object_get(rich, *form));
	if (!text && json)
		text = dumped = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
	if (!text || !*text)
		return;
	buf_text(out, "result:\n");
	buf_add(out, text, cut_head(text, strlen(text), most));
	end_line(out);
	if (strlen(text) > most)
		buf_printf(out, "[… %zu of %zu bytes left out …]\n", strlen(text) - cut_head(text, strlen(text), most),
			   strlen(text));
}

/* Whether the output contains the same table: SQL programs print their tables. Only the first column's name is
 * searched, because there may be many. */
static bool is_printed(const json_t *rich, const json_t *result)
{
	const json_t *columns = json_object_get(json_object_get(rich, "application/json"), "columns");
	const char *name = json_string_value(json_array_get(columns, 0));

	return json_object_size(rich) == 1 && name && strstr(text_of(result, "stdout"), name);
}

/* Media types of images, in base64. */
static const char *const picture_types[] = { "image/png", "image/jpeg", "image/gif", "image/webp", NULL };

/* Adds an image of the rich result to the content. Returns whether it has one. */
static bool add_picture(json_t *content, const json_t *rich, struct buf *text, size_t *room)
{
	for (const char *const *type = picture_types; *type; type++) {
		json_t *data = json_object_get(rich, *type);

		if (!json_is_string(data))
			continue;
		if (json_string_length(data) > *room) {
			buf_printf(text,
				   "[an image, %s, of %zu bytes is left out: it is too large; save it to a file in "
				   "/sandbox/output, or make it smaller]\n",
				   *type, json_string_length(data) / 4 * 3);
			return true;
		}
		*room -= json_string_length(data);
		json_array_append_new(content,
				      json_pack("{s:s, s:O, s:s}", "type", "image", "data", data, "mimeType", *type));
		return true;
	}
	return false;
}

/* Some clients show the structured result to the model as text, where base64 is noise: each image is only in the
 * content. */
static void blank_pictures(json_t *result)
{
	json_t *outputs = json_object_get(result, "outputs"), *rich;
	size_t i;

	json_array_foreach(outputs, i, rich)
	{
		for (const char *const *type = picture_types; *type; type++)
			if (json_object_get(rich, *type))
				json_object_set_new(rich, *type, json_null());
	}
}

static json_t *file_link(const json_t *result, const char *session, const char *path)
{
	char uri[RESOURCE_URI_MAX];

	if (session ? !resource_uri(RESOURCE_SESSION, session, path, uri)
		    : !resource_uri(RESOURCE_EXECUTION, text_of(result, "id"), path, uri))
		return NULL;
	return json_pack("{s:s, s:s, s:s}", "type", "resource_link", "uri", uri, "name", path);
}

/* Lists files within a number of bytes, each with a link if the client accepts links. */
static void put_files(struct buf *text, json_t *content, const json_t *result, size_t most, bool links)
{
	const json_t *files = json_object_get(result, "files"), *file;
	const char *session = json_string_value(json_object_get(json_object_get(result, "session"), "id"));
	size_t i;

	if (json_array_size(files) > 0)
		buf_printf(text, "files in /sandbox/output: %zu\n", json_array_size(files));
	json_array_foreach(files, i, file)
	{
		const char *path = text_of(file, "path");
		json_t *link = NULL;

		if (i == FILES_MAX || (i > 0 && text->size + strlen(path) > most)) {
			buf_printf(text, "  [… and %zu more; list_files has them …]\n", json_array_size(files) - i);
			break;
		}
		buf_printf(text, "  %s (%lld bytes)\n", path,
			   (long long)json_integer_value(json_object_get(file, "size")));
		if (links && (session || json_is_true(json_object_get(file, "kept"))))
			link = file_link(result, session, path);
		if (link)
			json_array_append_new(content, link);
	}
}

/* Unused space of one stream is given to the other. Stderr comes first, because it explains a failure. */
static void put_streams(struct buf *out, const json_t *result, size_t budget)
{
	const bool failed = !json_is_true(json_object_get(result, "success"));
	size_t first = json_string_length(json_object_get(result, "stdout"));
	size_t second = json_string_length(json_object_get(result, "stderr"));
	size_t share = failed ? budget / 2 : budget / 3, errors = min_size(second, share);
	size_t rest = min_size(first, budget - errors);

	errors = min_size(second, budget - rest);
	put_stream(out, result, "stdout", rest > LEAST ? rest : LEAST);
	put_stream(out, result, "stderr", errors > LEAST ? errors : LEAST);
}

/* Removes data that is too large for clients' lines. The text contains what is shown. */
static void answer_shrink(json_t *answer, json_t *result)
{
	static const char *const streams[] = { "stdout", "stderr", NULL };
	size_t size = json_dumpb(answer, NULL, 0, JSON_COMPACT);

	if (size <= CONTENT_MESSAGE_MAX)
		return;
	json_object_set_new(result, "outputs", json_array());
	for (const char *const *name = streams; *name; name++) {
		const json_t *value = json_object_get(result, *name);
		size_t keep = cut_head(json_string_value(value), json_string_length(value), CONTENT_MESSAGE_MAX / 32);

		json_object_set_new(result, *name, json_stringn(json_string_value(value), keep));
	}
	json_object_set_new(result, "truncated", json_true());
}

/* Prints rich results within a number of bytes, and the number of those left out. */
static void put_outputs(struct buf *text, json_t *content, const json_t *result, size_t most)
{
	const json_t *outputs = json_object_get(result, "outputs"), *rich;
	size_t room = CONTENT_IMAGE_MAX, before = text->size, left = 0, i;

	json_array_foreach(outputs, i, rich)
	{
		const size_t used = text->size - before;

		if (is_printed(rich, result) || add_picture(content, rich, text, &room))
			continue;
		if (used + LEAST <= most || i == 0)
			put_rich(text, rich, most > used + LEAST ? most - used : LEAST);
		else
			left++;
	}
	if (left > 0)
		buf_printf(text, "[… %zu more results left out; show fewer at once …]\n", left);
}

json_t *content_run(json_t *result, const struct content_form *form)
{
	const size_t budget = form->tokens * CONTENT_TOKEN_BYTES;
	const json_t *session = json_object_get(result, "session");
	const bool failed = !json_is_true(json_object_get(result, "success"));
	json_t *content = json_array(), *answer;
	_cleanup_buf_ struct buf text = { 0 }, files = { 0 };
	size_t before, used;

	buf_text(&text, form->lead);
	put_status(&text, result);
	put_error(&text, result);
	words_remedy(result, &text);
	before = text.size;
	put_outputs(&text, content, result, budget / 2);
	put_files(&files, content, result, budget / 4, form->links);
	used = text.size + files.size;
	put_streams(&text, result, budget > used + LEAST ? budget - used : LEAST);
	buf_add(&text, files.data ? files.data : "", files.size);
	text.failed |= files.failed;
	if (text.size == before && json_array_size(content) == 0)
		buf_text(&text, "no output\n");
	buf_printf(&text, "id: %s\n", text_of(result, "id"));
	if (json_is_object(session))
		buf_printf(&text, "session: %s (its state is %s%s%s)\n", text_of(session, "id"),
			   text_of(session, "state"), *text_of(session, "reason") ? ": " : "",
			   text_of(session, "reason"));
	if (form->pictures)
		json_array_extend(content, form->pictures);
	blank_pictures(result);
	json_array_insert_new(content, 0, content_block(text.data ? text.data : "", text.size));
	answer = json_pack("{s:o, s:o, s:b}", "content", content, "structuredContent", result, "isError", (int)failed);
	if (answer)
		answer_shrink(answer, result);
	return answer;
}
