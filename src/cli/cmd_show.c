/* emberbox show: prints one past run. */
#include "base/base64.h"
#include "base/fd.h"
#include "base/own.h"
#include "cli/options.h"
#include "cli/past.h"
#include "term/filter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	OPT_JSON = 1,
	OPT_CODE,
	OPT_STDOUT,
	OPT_STDERR,
	OPT_FILE,
	OPT_REPORT,
	OPT_VERBOSE,
	OPT_HELP
};

static const struct option_spec specs[] = {
	{ OPT_JSON, 0, "json", NULL, "print JSON" },
	{ OPT_CODE, 0, "code", NULL, "print its code, if it was kept" },
	{ OPT_STDOUT, 0, "stdout", NULL, "print its whole standard output, byte for byte" },
	{ OPT_STDERR, 0, "stderr", NULL, "print its whole standard error, byte for byte" },
	{ OPT_FILE, 0, "file", "PATH", "print a file of its /sandbox/output, byte for byte" },
	{ OPT_REPORT, 0, "report", NULL,
	  "print a report for the person who fixes it, in Markdown; with --json as JSON" },
	{ OPT_VERBOSE, 'v', "verbose", NULL, "print each layer of isolation on a line" },
	{ OPT_HELP, 'h', "help", NULL, "show this help" },
	{ 0 },
};

enum {
	CODE_LINES = 20,   /* lines of the code in the overview */
	NAME_CELLS = 13,   /* cells of a label with its margins */
	USUAL_WIDTH = 100, /* width if there is no terminal */
};

static int print_help(void)
{
	puts("Usage: emberbox show ID|last|last~N [options]\n"
	     "Prints one past run. A unique beginning of the id is enough.\n");
	option_print(stdout, specs);
	return cmd_flush(0);
}

static int put_bytes(const char *data, size_t size)
{
	return size > 0 ? cmd_write(STDOUT_FILENO, data, size) : 0;
}

/* Copies to standard output; on a terminal, removes sequences that control it. */
static int pass_on(int fd)
{
	const bool terminal = isatty(STDOUT_FILENO);
	_cleanup_buf_ struct buf filtered = { 0 };
	struct filter filter = { 0 };
	char block[65536];
	ssize_t n;

	while ((n = read(fd, block, sizeof(block))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			cmd_complain("cannot read it: %s", strerror(errno));
			return EXIT_BROKEN;
		}
		filtered.size = 0;
		if (terminal)
			filter_take(&filter, block, (size_t)n, &filtered);
		if (put_bytes(terminal ? filtered.data : block, terminal ? filtered.size : (size_t)n) < 0)
			return cmd_print_failed();
	}
	filtered.size = 0;
	if (terminal)
		filter_end(&filter, &filtered);
	return put_bytes(filtered.data, filtered.size) < 0 ? cmd_print_failed() : 0;
}

static int print_stream(struct store *store, const char *id, int stream)
{
	struct error err = { 0 };
	int status = 200;
	_cleanup_close_ int fd = store_spool(store, id, NULL, stream, &status, &err);

	return fd < 0 ? past_answer("show", status == 200 ? 500 : status, &err) : pass_on(fd);
}

static int print_file(struct store *store, const char *id, const char *path)
{
	struct error err = { 0 };
	int status = 200;
	_cleanup_close_ int fd = store_file(store, id, NULL, path, &status, &err);

	return fd < 0 ? past_answer("show", status == 200 ? 500 : status, &err) : pass_on(fd);
}

static void add_base64(struct buf *out, const char *text)
{
	size_t size = strlen(text);
	_cleanup_free_ unsigned char *bytes = malloc(size + 1);
	ssize_t n = bytes ? base64_decode(text, size, bytes) : -1;

	if (n > 0)
		buf_add(out, bytes, (size_t)n);
	out->failed |= n < 0;
}

/* The artifact has text, or base64. */
static int print_code(struct store *store, const char *id)
{
	struct error err = { 0 };
	int status = 200;
	_cleanup_close_ int fd = store_artifact(store, id, NULL, &status, &err);
	_cleanup_buf_ struct buf code = { 0 };
	json_t *root, *kept;

	if (fd < 0)
		return past_answer("show", status == 200 ? 500 : status, &err);
	root = json_loadfd(fd, JSON_ALLOW_NUL, NULL);
	kept = json_object_get(root, "code");
	if (json_is_string(kept))
		buf_add(&code, json_string_value(kept), json_string_length(kept));
	else
		add_base64(&code, past_text(kept, "base64"));
	status = json_is_string(kept) || json_is_object(kept) ? 0 : 1;
	json_decref(root);
	if (status != 0)
		cmd_complain("this run has no separate code: the program was one of its files, or in its project");
	else
		status = code.failed ? cmd_print_failed() : cmd_print_program(code.data ? code.data : "", code.size);
	return status;
}

static void add_line(struct buf *out, bool colour, const char *name, const char *text)
{
	if (!*text)
		return;
	buf_printf(out, "  %s%-10s%s ", paint_begin(PAINT_DIM, colour), name, paint_end(PAINT_DIM, colour));
	text_line(text, 0, out);
	buf_text(out, "\n");
}

/* Prints a stream from the result, without sequences that control the terminal. */
static void add_stream(struct buf *out, bool colour, const json_t *run, const char *name)
{
	char key[32], size[TABLE_WORD];
	const json_t *value = json_object_get(run, name);
	const char *at = json_string_value(value), *end = at + json_string_length(value);

	snprintf(key, sizeof(key), "%s_bytes", name);
	if (!at || at == end)
		return;
	buf_printf(out, "\n%s%s%s %s(%s)%s\n", paint_begin(PAINT_BOLD, colour), name, paint_end(PAINT_BOLD, colour),
		   paint_begin(PAINT_DIM, colour), bytes_text(past_number(run, key), size),
		   paint_end(PAINT_DIM, colour));
	while (at < end) {
		size_t length = strcspn(at, "\n");

		text_line(at, 0, out);
		/* A NUL ends a C string, but not the program's line. */
		if (at + length < end && at[length] == '\0')
			buf_text(out, "\xef\xbf\xbd");
		else
			buf_text(out, "\n");
		at += length + 1;
	}
}

static void add_times(struct buf *out, bool colour, const json_t *run)
{
	char word[TABLE_WORD], cpu[TABLE_WORD], line[128];

	if (!past_ran(run)) {
		add_line(out, colour, "duration", "-");
	} else {
		snprintf(line, sizeof(line), "%s (%s of CPU)", duration_text(past_number(run, "execution_time"), word),
			 duration_text(past_number(run, "cpu_time"), cpu));
		add_line(out, colour, "duration", line);
	}
	if (past_number(run, "memory_used") > 0)
		add_line(out, colour, "memory", bytes_text(past_number(run, "memory_used"), word));
}

/* Prints a text of several lines, wrapped between words. */
static void add_wrapped(struct buf *out, bool colour, const char *name, char *text)
{
	size_t width = terminal_width() ? terminal_width() : USUAL_WIDTH;
	size_t room = width > 2 * NAME_CELLS ? width - NAME_CELLS : NAME_CELLS;

	while (strlen(text) > room) {
		char *at = text + room;

		while (at > text && *at != ' ')
			at--;
		/* A word that is longer than a line is not split. */
		at = at > text ? at : strchr(text, ' ');
		if (!at)
			break;
		*at = '\0';
		add_line(out, colour, name, text);
		text = at + 1;
		name = "";
	}
	add_line(out, colour, name, text);
}

static void add_layers(struct buf *out, bool colour, const json_t *meta, bool verbose)
{
	_cleanup_buf_ struct buf all = { 0 };
	json_t *layer;
	size_t i;

	json_array_foreach(json_object_get(meta, "isolation"), i, layer)
	{
		const char *text = json_string_value(layer) ? json_string_value(layer) : "";

		if (verbose)
			add_line(out, colour, i == 0 ? "isolation" : "", text);
		else
			buf_printf(&all, "%s%s", i > 0 ? "; " : "", text);
	}
	if (all.size > 0)
		add_wrapped(out, colour, "isolation", all.data);
}

/* The beginning of the code, if it was kept. */
static void add_code(struct buf *out, bool colour, const json_t *run)
{
	const json_t *code = json_object_get(run, "code");
	const char *at = json_string_value(code), *end = at + json_string_length(code);
	char size[TABLE_WORD];
	int lines = 0;

	if (json_is_null(code) || !code)
		return;
	buf_printf(out, "\n%scode%s %s(%s%s)%s\n", paint_begin(PAINT_BOLD, colour), paint_end(PAINT_BOLD, colour),
		   paint_begin(PAINT_DIM, colour), bytes_text(past_number(run, "code_size"), size),
		   at ? "" : ", not text: --code prints it", paint_end(PAINT_DIM, colour));
	while (at && at < end && lines++ < CODE_LINES) {
		text_line(at, 0, out);
		buf_text(out, "\n");
		at += strcspn(at, "\n") + 1;
	}
	if (at && at < end)
		buf_printf(out, "%s… --code shows all%s\n", paint_begin(PAINT_DIM, colour),
			   paint_end(PAINT_DIM, colour));
}

static void add_files(struct buf *out, bool colour, const json_t *run)
{
	json_t *file;
	size_t i;

	json_array_foreach(json_object_get(run, "files"), i, file)
	{
		char size[TABLE_WORD];

		if (i == 0)
			buf_printf(out, "\n%sfiles%s\n", paint_begin(PAINT_BOLD, colour),
				   paint_end(PAINT_BOLD, colour));
		text_line(past_text(file, "path"), 0, out);
		buf_printf(out, " %s(%s%s)%s\n", paint_begin(PAINT_DIM, colour),
			   bytes_text(past_number(file, "size"), size),
			   json_is_true(json_object_get(file, "kept")) ? "" : ", not kept",
			   paint_end(PAINT_DIM, colour));
	}
}

/* A word of a list, in quotes if its end would be ambiguous. */
static void add_word(struct buf *out, const char *before, const json_t *word)
{
	const char *text = json_string_value(word) ? json_string_value(word) : "";
	_cleanup_buf_ struct buf whole = { 0 };

	buf_printf(&whole, "%s%s", before, text);
	buf_text(out, out->size > 0 ? " " : "");
	if (*text && !strpbrk(text, " \t\n\"\\")) {
		buf_text(out, whole.data);
	} else {
		json_t *string = json_string(whole.data ? whole.data : "");
		_cleanup_free_ char *quoted = json_dumps(string, JSON_ENCODE_ANY | JSON_COMPACT);

		json_decref(string);
		buf_text(out, quoted ? quoted : "");
	}
}

/* Other parts of the request, which are kept with the code. */
static void add_request(struct buf *out, bool colour, const json_t *request)
{
	static const struct {
		const char *key;    /* key in the artifact */
		const char *name;   /* label of the row */
		const char *before; /* prefix of each word */
	} lists[] = { { "args", "arguments", "" }, { "env", "variables", "" }, { "files", "given", "/" } };
	char size[TABLE_WORD];

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		_cleanup_buf_ struct buf line = { 0 };
		json_t *word;
		size_t k;

		json_array_foreach(json_object_get(request, lists[i].key), k, word)
			add_word(&line, lists[i].before, word);
		add_line(out, colour, lists[i].name, line.data ? line.data : "");
		out->failed |= line.failed;
	}
	if (past_number(request, "stdin_bytes") > 0)
		add_line(out, colour, "input", bytes_text(past_number(request, "stdin_bytes"), size));
}

/* The counts, and a line for each connection: "allowed  api.example.com:443  (93.184.216.34)". */
static void add_network(struct buf *out, bool colour, const json_t *network)
{
	const json_t *connection;
	char line[512];
	size_t i;

	if (!network || strcmp(past_text(network, "mode"), "none") == 0)
		return;
	snprintf(line, sizeof(line), "%s; %lld allowed, %lld refused", past_text(network, "mode"),
		 (long long)past_number(network, "allowed"), (long long)past_number(network, "refused"));
	add_line(out, colour, "network", line);
	json_array_foreach(json_object_get(network, "connections"), i, connection)
	{
		const bool refused = strcmp(past_text(connection, "verdict"), "refused") == 0;
		const char *why = past_text(connection, refused ? "reason" : "address");
		const int port = (int)past_number(connection, "port");
		char to[16] = "";

		if (port > 0)
			snprintf(to, sizeof(to), ":%d", port);
		snprintf(line, sizeof(line), "%s %.253s%s%s%s%s", refused ? "refused" : "allowed",
			 past_text(connection, "host"), to, *why ? " (" : "", why, *why ? ")" : "");
		add_line(out, colour, "", line);
	}
}

static void add_hint(struct buf *out, bool colour, const json_t *run)
{
	const char *hint = past_text(json_object_get(run, "error"), "suggestion");
	_cleanup_free_ char *text = strdup(*hint ? hint : past_text(json_object_get(run, "verdict"), "suggestion"));

	if (text && *text)
		add_wrapped(out, colour, "hint", text);
}

static void add_page(struct buf *out, bool colour, const json_t *run, bool verbose)
{
	const json_t *meta = json_object_get(run, "meta");
	const char *status = past_text(run, "status"), *version = past_text(meta, "language_version");
	const char *start = past_text(meta, "start"), *signal = past_text(run, "signal");
	char line[256], word[TABLE_WORD];

	buf_printf(out, "%s%s%s  %s%s%s\n", paint_begin(PAINT_BOLD, colour), past_text(run, "id"),
		   paint_end(PAINT_BOLD, colour), paint_begin(past_status_paint(status), colour), status,
		   paint_end(past_status_paint(status), colour));
	add_line(out, colour, "error", past_text(run, "error_message"));
	add_hint(out, colour, run);
	snprintf(line, sizeof(line), "%s%s%s%s%s%s", past_text(run, "language"), *version ? " " : "", version,
		 *start ? " (" : "", start, *start ? ")" : "");
	add_line(out, colour, "language", line);
	add_line(out, colour, "time", past_time(past_text(run, "timestamp"), word));
	snprintf(line, sizeof(line), "%s%s%s%s", past_text(run, "caller"), *past_text(run, "door") ? " (" : "",
		 past_text(run, "door"), *past_text(run, "door") ? ")" : "");
	add_line(out, colour, "caller", line);
	add_line(out, colour, "request", past_text(run, "request_id"));
	add_line(out, colour, "profile", past_text(run, "profile"));
	add_line(out, colour, "container", past_text(run, "place"));
	add_request(out, colour, json_object_get(run, "request"));
	if (json_is_integer(json_object_get(run, "exit_code"))) {
		snprintf(line, sizeof(line), "%d%s%s", (int)past_number(run, "exit_code"), *signal ? ", by " : "",
			 signal);
		add_line(out, colour, "exit code", line);
	}
	add_times(out, colour, run);
	add_network(out, colour, json_object_get(meta, "network"));
	add_layers(out, colour, meta, verbose);
	add_code(out, colour, run);
	add_stream(out, colour, run, "stdout");
	add_stream(out, colour, run, "stderr");
	add_files(out, colour, run);
}

static int print_page(const struct buf *answer, bool verbose)
{
	json_t *root = json_loadb(answer->data, answer->size, JSON_ALLOW_NUL, NULL);
	_cleanup_buf_ struct buf out = { 0 };

	add_page(&out, terminal_colour(), root, verbose);
	json_decref(root);
	return past_print(&out, 0);
}

static int print_report(struct store *store, const char *id, bool json)
{
	_cleanup_buf_ struct buf answer = { 0 }, out = { 0 };
	struct error err = { 0 };
	int code = past_answer("show", store_report(store, id, NULL, !json, &answer, &err), &err);
	json_t *root;

	if (code != 0 || json)
		return code != 0 ? code : past_print_json(&answer);
	root = json_loadb(answer.data, answer.size, JSON_ALLOW_NUL, NULL);
	buf_text(&out, past_text(root, "markdown"));
	json_decref(root);
	return past_print_plain(&out, 0);
}

static int run_show(struct store *store, const char *id, int what, const char *path, bool verbose)
{
	_cleanup_buf_ struct buf answer = { 0 };
	struct error err = { 0 };
	int code;

	if (what == OPT_STDOUT || what == OPT_STDERR)
		return print_stream(store, id, what == OPT_STDOUT ? 1 : 2);
	if (what == OPT_FILE)
		return print_file(store, id, path);
	if (what == OPT_CODE)
		return print_code(store, id);
	code = past_answer("show", store_show(store, id, NULL, &answer, &err), &err);
	if (code != 0)
		return code;
	return what == OPT_JSON ? past_print_json(&answer) : print_page(&answer, verbose);
}

int cmd_show(int argc, char **argv)
{
	struct option_reader reader = { .specs = specs, .argc = argc, .argv = argv, .next = 1 };
	const char *typed = NULL, *path = NULL;
	struct store *store = NULL;
	char id[RESULT_ID] = "";
	int option, what = 0, code;
	bool verbose = false, report = false;

	while ((option = option_next(&reader)) != OPTION_END) {
		switch (option) {
		case OPT_JSON:
		case OPT_CODE:
		case OPT_STDOUT:
		case OPT_STDERR:
		case OPT_FILE:
			if (what && (what != option || option == OPT_FILE))
				return cmd_usage("show",
						 "--json, --code, --stdout, --stderr and --file exclude each other");
			what = option;
			path = reader.value;
			break;
		case OPT_REPORT:
			report = true;
			break;
		case OPT_VERBOSE:
			verbose = true;
			break;
		case OPT_HELP:
			return print_help();
		case OPTION_WORD:
			if (typed)
				return cmd_usage("show", "unexpected argument \"%s\"", reader.value);
			typed = reader.value;
			break;
		default:
			return cmd_usage("show", "%s", reader.message);
		}
	}
	if (!typed)
		return cmd_usage("show", "name the run: an id of `emberbox history`, or last");
	if (report && what && what != OPT_JSON)
		return cmd_usage("show", "--report goes with --json alone");
	code = past_open("show", &store);
	if (code == 0)
		code = past_find("show", store, typed, id);
	if (code == 0 && !store) {
		cmd_complain("there is no run \"%s\"", typed);
		code = 1;
	}
	if (code == 0)
		code = report ? print_report(store, id, what == OPT_JSON) : run_show(store, id, what, path, verbose);
	store_close(store);
	return code;
}
