/* What the client says to a service and takes from one: requests as JSON, frames in any pieces, and nothing else. */
#include "../check.h"

#include "base/json_check.h"
#include "base/own.h"
#include "client/client.h"
#include "wire/service_socket.h"
#include "client/request_json.h"
#include "wire/frame.h"
#include "schema/request.h"

#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* JSON */

static void member_is(const char *text, const char *key, const char *want)
{
	size_t size = strlen(text), value_size = 0;
	/* Its own allocation without a terminator, so that the sanitizer sees a read past the end. */
	char *copy = memcpy(malloc(size + !size), text, size), got[64] = "";
	const char *value = NULL;
	bool found = json_member(copy, size, key, &value, &value_size);

	if (found)
		snprintf(got, sizeof(got), "%.*s", (int)value_size, value);
	if (found != (want != NULL) || (want && strcmp(got, want) != 0))
		check_fail("%s of %s is %s, not %s", key, text, found ? got : "none", want ? want : "none");
	free(copy);
}

static void members(void)
{
	member_is("{\"a\":1}", "a", "1");
	member_is(" { \"a\" : [1, {\"b\":2}] , \"b\" : \"x\" } ", "a", "[1, {\"b\":2}]");
	member_is("{\"a\":[1,{\"b\":2}],\"b\":\"x\"}", "b", "\"x\"");
	member_is("{\"ab\":1,\"a\":null}", "a", "null");
	member_is("{\"a\":1}", "b", NULL);
	member_is("{}", "a", NULL);
	member_is("", "a", NULL);
	member_is("[1]", "a", NULL);
	member_is("{\"b\":tru,\"a\":1}", "a", NULL);
	member_is("{\"b\":1,\"a\"", "a", NULL);
	member_is("{\"b\":1,\"a\":", "a", NULL);
	member_is("{\"x\":\"\\\"a\\\":2\",\"a\":3}", "a", "3");
}

static void string_is(const char *value, size_t room, const char *want)
{
	char got[64] = "?";
	bool is = json_string_copy(value, strlen(value), got, room);

	if (is != (want != NULL) || (want && strcmp(got, want) != 0))
		check_fail("%s becomes %s, not %s", value, is ? got : "nothing", want ? want : "nothing");
}

static void strings(void)
{
	string_is("\"\"", 64, "");
	string_is("\"abc\"", 64, "abc");
	string_is("\"abc\"", 3, "ab");
	string_is("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", 64, "\"\\/\b\f\n\r\t");
	string_is("\"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\"", 64, "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
	/* No half of a character. */
	string_is("\"a\xe2\x82\xac\"", 4, "a");
	string_is("\"a\\u20ac\"", 4, "a");
	string_is("null", 64, NULL);
	string_is("\"a", 64, NULL);
	string_is("\"\\ud83d\"", 64, NULL);
	string_is("\"a\" ", 64, NULL);
}

static void plain_text(void)
{
	CHECK(json_is_plain_text("", 0));
	CHECK(json_is_plain_text("a\n\x7f\xc3\xa9z\xf0\x9f\x98\x80", 10));
	CHECK(!json_is_plain_text("a\0b", 3));
	CHECK(!json_is_plain_text("a\xff", 2));
	CHECK(!json_is_plain_text("\xc3", 1));
	CHECK(!json_is_plain_text("\xed\xa0\x80", 3));
}

/* Requests */

static struct spec spec;

static void set(const char *key, const char *value)
{
	struct error err = { 0 };

	if (spec_set(&spec, key, value, &err) < 0)
		check_fail("%s", err.text);
}

static void json_is(const struct request_extra *extra, const char *want)
{
	_cleanup_buf_ struct buf out = { 0 };

	if (!request_json(&spec, extra, &out))
		CHECK_STR("(none)", want);
	else
		CHECK_STR(out.data, want);
}

static void requests(void)
{
	const struct request_extra typed = { .language = "py", .stream = true, .input = true }, plain = { 0 };
	struct error err = { 0 };

	spec_init(&spec);
	json_is(&plain, "(none)");
	CHECK_INT(spec_set_code(&spec, "print(\"\\\n\t\x01\")", 13, &err), 0);
	json_is(&typed, "{\"language\":\"py\",\"code\":\"print(\\\"\\\\\\n\\u0009\\u0001\\\")\",\"stream\":true,"
			"\"input\":\"stream\"}");
	set("language", "python");
	CHECK_INT(spec_set_code(&spec, "\xff\0a", 3, &err), 0);
	json_is(&plain, "{\"language\":\"python\",\"code\":{\"base64\":\"/wBh\"}}");
	CHECK_INT(spec_set_code(&spec, "\xff\xfe\xfd\xfc", 4, &err), 0);
	json_is(&plain, "{\"language\":\"python\",\"code\":{\"base64\":\"//79/A==\"}}");
	CHECK_INT(spec_set_code(&spec, "", 0, &err), 0);
	set("entry", "pkg/a.py");
	set("filename", "b.py");
	set("profile", "p");
	set("arg", "1");
	set("arg", "\xc3\xa9");
	set("env", "A=1=2");
	set("env", "B=");
	set("env", "A=3");
	set("timeout", "0.25");
	set("cpu-time", "2");
	set("memory", "64m");
	set("cpus", "1.5");
	set("pids", "7");
	set("disk", "1m");
	set("max-output", "1k");
	set("allow-weaker", "seccomp");
	set("allow-weaker", "cgroup");
	set("check", "no");
	set("read-only", "yes");
	set("tty", "5x6");
	json_is(&plain,
		"{\"language\":\"python\",\"code\":\"\",\"entry\":\"pkg/a.py\",\"filename\":\"b.py\",\"profile\":\"p\","
		"\"args\":[\"1\",\"\xc3\xa9\"],\"env\":{\"B\":\"\",\"A\":\"3\"},\"limits\":{\"timeout\":0.25,"
		"\"cpu_time\":2,\"memory\":\"67108864\",\"cpus\":1.5,\"pids\":7,\"disk\":\"1048576\","
		"\"max_output\":\"1024\"},\"allow_weaker\":[\"cgroup\",\"seccomp\"],\"check\":false,\"read_only\":"
		"true,\"tty\":{\"rows\":5,\"cols\":6}}");
	set("arg", "\xff");
	json_is(&plain, "(none)");
	spec_free(&spec);
}

static void unsent(const char *key, const char *value)
{
	const struct request_extra extra = { .language = "python" };

	spec_init(&spec);
	set(key, value);
	json_is(&extra, "(none)");
	spec_free(&spec);
}

static void what_a_service_cannot_do(void)
{
	unsent("project", "/");
	unsent("output", "/tmp/x");
	unsent("env", "A=\xff");
	unsent("arg", "\xc3");
	unsent("filename", "\xff.py");
	unsent("file", "/nonexistent/file");
	unsent("file", "/dev/null");
}

static void file_of(char *path, size_t size, mode_t mode)
{
	int fd = mkstemp(path);

	CHECK(fd >= 0 && ftruncate(fd, (off_t)size) == 0 && fchmod(fd, mode) == 0);
	close(fd);
}

static void files(void)
{
	const struct request_extra extra = { .language = "python" };
	char plain[] = "/tmp/emberbox-client-XXXXXX", program[] = "/tmp/emberbox-client-XXXXXX", word[128];

	file_of(plain, 2, 0644);
	file_of(program, 1, 0711);
	spec_init(&spec);
	snprintf(word, sizeof(word), "%s:a \"b\"", plain);
	set("file", word);
	snprintf(word, sizeof(word), "%s:/tmp/x", program);
	set("file", word);
	json_is(&extra, "{\"language\":\"python\",\"files\":{\"/sandbox/code/a \\\"b\\\"\":{\"base64\":\"AAA=\","
			"\"mode\":\"644\"},\"/tmp/x\":{\"base64\":\"AA==\",\"mode\":\"755\"}}}");
	/* All of them together count, against 16 MiB and the box's own room. */
	CHECK_INT(truncate(plain, REQUEST_FILES_MAX), 0);
	json_is(&extra, "(none)");
	CHECK_INT(truncate(plain, 2 << 20), 0);
	set("disk", "1m");
	json_is(&extra, "(none)");
	spec_free(&spec);
	unlink(plain);
	unlink(program);
}

/* Contents can be executed unless their mode says otherwise; there are two modes. */
static void modes(void)
{
	struct error err = { 0 };

	spec_init(&spec);
	CHECK_INT(spec_set_mode(&spec, "644", &err), -1);
	CHECK_STR(err.text, "mode: \"644\" is not the mode of a content: that is 644 or 755");
	CHECK_INT(spec_add_content(&spec, "a", "x", 1, &err), 0);
	CHECK_INT(spec.files[0].mode, 0);
	CHECK_INT(spec_set_mode(&spec, "644", &err), 0);
	CHECK_INT(spec.files[0].mode, 0644);
	CHECK_INT(spec_set_mode(&spec, "755", &err), 0);
	CHECK_INT(spec.files[0].mode, 0755);
	CHECK_INT(spec_set_mode(&spec, "4755", &err), -1);
	CHECK_INT(err.kind, ERROR_USAGE);
	set("file", "/etc/hostname");
	CHECK_INT(spec_set_mode(&spec, "755", &err), -1);
	spec_free(&spec);
}

/* The service reads the same as was meant. */
static void requests_come_back(void)
{
	_cleanup_buf_ struct buf out = { 0 }, list = { 0 };
	const struct request_extra extra = { .stream = true };
	struct request_manner manner;
	struct spec back;
	struct error err = { 0 };
	char path[] = "/tmp/emberbox-client-XXXXXX", word[128];

	file_of(path, 3, 0644);
	spec_init(&spec);
	spec_init(&back);
	set("language", "python");
	CHECK_INT(spec_set_code(&spec, "print('\xc3\xa9')\n", 12, &err), 0);
	set("arg", "a \"b\"\n");
	set("env", "K=v=w");
	set("timeout", "1.25");
	set("memory", "65m");
	set("max-output", "3k");
	set("allow-weaker", "landlock");
	snprintf(word, sizeof(word), "%s:/tmp/x", path);
	set("file", word);
	CHECK(request_json(&spec, &extra, &out));
	if (request_parse(out.data, out.size, &list, &manner, &err) < 0 ||
	    request_decode(list.data, list.size, &back, &err) < 0)
		check_fail("%s", err.text);
	CHECK(manner.stream && !manner.input);
	CHECK(back.runtime == spec.runtime);
	CHECK(back.code_size == 12 && memcmp(back.code, spec.code, 12) == 0);
	CHECK(back.arg_count == 1 && strcmp(back.args[0], "a \"b\"\n") == 0);
	CHECK(back.env_count == 1 && strcmp(back.env[0], "K=v=w") == 0);
	CHECK(memcmp(&back.limits, &spec.limits, sizeof(back.limits)) == 0);
	CHECK(back.weaker[LAYER_LANDLOCK] && !back.weaker[LAYER_CGROUP] && !back.weaker[LAYER_SECCOMP]);
	CHECK(back.file_count == 1 && back.files[0].size == 3 && back.files[0].mode == 0644);
	CHECK_STR(back.file_count == 1 ? back.files[0].box : NULL, "tmp/x");
	spec_free(&back);
	spec_free(&spec);
	unlink(path);
}

/* Conversations: a child is the service and sends what was made ready, in pieces of a given size. */

static struct buf script;

static void put_frame(enum frame_kind kind, const void *data, size_t size)
{
	const struct frame frame = { .kind = kind, .size = (uint32_t)size };
	unsigned char header[FRAME_HEADER];

	frame_encode(&frame, header);
	buf_add(&script, header, sizeof(header));
	buf_add(&script, data, size);
}

static void put_text(enum frame_kind kind, const char *text)
{
	put_frame(kind, text, strlen(text));
}

static struct buf heard;

static void on_output(int stream, const void *data, size_t size, void *userdata)
{
	CHECK(userdata == &heard);
	buf_printf(&heard, "%d", stream);
	buf_add(&heard, data, size);
}

/* Reads the whole request first, as a service does; 1 if it is not the one that was sent. */
static int serve(int socket, size_t request, size_t piece)
{
	char *got = malloc(request + FRAME_HEADER);
	size_t have = 0;
	ssize_t n;

	while (have < request + FRAME_HEADER && (n = read(socket, got + have, request + FRAME_HEADER - have)) > 0)
		have += (size_t)n;
	for (size_t at = 0; at < script.size; at += piece) {
		size_t size = script.size - at < piece ? script.size - at : piece;

		if (send(socket, script.data + at, size, MSG_NOSIGNAL) != (ssize_t)size)
			return 0;
	}
	return have == request + FRAME_HEADER && got[4] == 'R' && got[FRAME_HEADER] == 'q' ? 0 : 1;
}

static int converse(size_t request, size_t piece, struct client_answer *answer, struct error *err)
{
	const struct client_io io = { .on_output = on_output, .userdata = &heard, .cancel_fd = -1, .stdin_fd = -1 };
	char *text = malloc(request);
	int ends[2], status, done;
	pid_t pid;

	memset(text, 'q', request);
	buf_free(&heard);
	heard = (struct buf){ 0 };
	*err = (struct error){ 0 };
	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		_exit(serve(ends[1], request, piece));
	}
	close(ends[1]);
	done = client_run(ends[0], text, request, &io, answer, err);
	close(ends[0]);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
	free(text);
	return done;
}

static void begin_script(void)
{
	buf_free(&script);
	script = (struct buf){ 0 };
}

static void frames_in_any_pieces(void)
{
	static const size_t pieces[] = { 1, 3, 8, 9, 100000 };
	struct client_answer answer;
	struct error err;

	begin_script();
	put_text(FRAME_STARTED, "{\"id\":\"x\"}");
	put_text(FRAME_STDOUT, "out");
	put_text(FRAME_STDERR, "err");
	put_text(FRAME_STDOUT, "");
	put_text(FRAME_RESULT, "{\"status\":\"ok\"}");
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		CHECK_INT(converse(4, pieces[i], &answer, &err), 0);
		CHECK(!answer.refused && answer.began);
		CHECK_STR(answer.text, "{\"status\":\"ok\"}");
		CHECK_INT(answer.size, 15);
		CHECK_STR(heard.data, "1out2err1");
		free(answer.text);
	}
}

static void large_ones(void)
{
	size_t size = 9 << 20;
	char *text = malloc(size), block[FRAME_BYTES_MAX];
	struct client_answer answer;
	struct error err;

	memset(text, 'x', size);
	memset(block, 'y', sizeof(block));
	begin_script();
	put_frame(FRAME_STDOUT, block, sizeof(block));
	put_frame(FRAME_RESULT, text, size);
	/* The request does not fit into the socket at once either. */
	CHECK_INT(converse(5 << 20, 1 << 20, &answer, &err), 0);
	CHECK(answer.size == size && memcmp(answer.text, text, size) == 0 && answer.text[size] == '\0');
	CHECK(heard.size == sizeof(block) + 1 && memcmp(heard.data + 1, block, sizeof(block)) == 0);
	free(answer.text);
	free(text);
}

static void a_refusal(void)
{
	struct client_answer answer;
	struct error err;

	begin_script();
	put_text(FRAME_ERROR, "{\"error\":{}}");
	CHECK_INT(converse(1, 1000, &answer, &err), 0);
	CHECK(answer.refused && !answer.began);
	CHECK_STR(answer.text, "{\"error\":{}}");
	free(answer.text);
}

/* Cut anywhere it is a broken connection, and what was seen tells whether the run had begun. */
static void cut_anywhere(void)
{
	size_t whole, started;
	struct client_answer answer;
	struct error err;

	begin_script();
	put_text(FRAME_STARTED, "{}");
	started = script.size;
	put_text(FRAME_STDOUT, "o");
	put_text(FRAME_RESULT, "{}");
	whole = script.size;
	for (size_t size = 0; size < whole; size++) {
		script.size = size;
		CHECK_INT(converse(1, 7, &answer, &err), -1);
		CHECK_STR(err.text, "the service closed the connection");
		CHECK_INT(answer.began, size >= started);
		CHECK(answer.text == NULL);
	}
	script.size = whole;
}

static void garbage(const void *data, size_t size, bool began)
{
	struct client_answer answer;
	struct error err;

	begin_script();
	if (began)
		put_text(FRAME_STARTED, "{}");
	buf_add(&script, data, size);
	CHECK_INT(converse(1, 1000, &answer, &err), -1);
	CHECK_STR(err.text, "the service gave an invalid answer: Protocol error");
	CHECK_INT(answer.began, began);
	CHECK(answer.text == NULL);
}

static void garbage_is_refused(void)
{
	for (int began = 0; began < 2; began++) {
		garbage("HTTP/1.1 400 Bad Request\r\n", 26, began);
		/* Kinds that only clients send. */
		garbage("\0\0\0\0I\0\0\0", 8, began);
		garbage("\0\0\0\0C\0\0\0", 8, began);
		garbage("\1\0\0\0R\0\0\0x", 9, began);
		/* Padding, and sizes beyond what the kind may have. */
		garbage("\0\0\0\0J\0\1\0", 8, began);
		garbage("\1\0\1\0001\0\0\0", 8, began);
		garbage("\1\0\0\4J\0\0\0", 8, began);
		garbage("\xff\xff\xff\xffJ\0\0\0", 8, began);
	}
}

/* Input waits until the run has begun, and ends with an empty frame; a cancelled run gets no more of it. */
static void input_and_cancel(void)
{
	static const char sent[] = "\1\0\0\0R\0\0\0q\5\0\0\0I\0\0\0hello\0\0\0\0I\0\0\0\0\0\0\0C\0\0\0";
	int ends[2], input[2], cancel[2], status;
	struct client_answer answer;
	struct error err = { 0 };
	pid_t pid;

	begin_script();
	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	CHECK(pipe2(input, O_CLOEXEC) == 0 && pipe2(cancel, O_CLOEXEC) == 0);
	CHECK_INT(write(input[1], "hello", 5), 5);
	close(input[1]);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		char got[sizeof(sent)] = "";
		int flags = 0;

		close(ends[0]);
		/* The request comes alone. */
		if (recv(ends[1], got, 9, MSG_WAITALL) != 9 || recv(ends[1], got + 9, 1, MSG_DONTWAIT) >= 0)
			_exit(1);
		put_text(FRAME_STARTED, "{}");
		if (send(ends[1], script.data, script.size, MSG_NOSIGNAL) < 0 ||
		    recv(ends[1], got + 9, 21, MSG_WAITALL) != 21 || write(cancel[1], "", 1) != 1 ||
		    recv(ends[1], got + 30, 8, MSG_WAITALL) != 8 || memcmp(got, sent, 38) != 0)
			flags = 2;
		begin_script();
		put_text(FRAME_RESULT, "{}");
		if (send(ends[1], script.data, script.size, MSG_NOSIGNAL) < 0)
			_exit(3);
		_exit(flags);
	}
	close(ends[1]);
	const struct client_io io = { .cancel_fd = cancel[0], .stdin_fd = input[0] };
	CHECK_INT(client_run(ends[0], "q", 1, &io, &answer, &err), 0);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
	free(answer.text);
	close(ends[0]);
	close(input[0]);
	close(cancel[0]);
	close(cancel[1]);
}

static void places(void)
{
	char path[64];

	unsetenv("EMBERBOX_HOME");
	unsetenv("XDG_STATE_HOME");
	setenv("HOME", "/h", 1);
	setenv("EMBERBOX_SOCKET", "/s", 1);
	CHECK_INT(service_socket_path(path, sizeof(path)), 0);
	CHECK_STR(path, "/s");
	unsetenv("EMBERBOX_SOCKET");
	CHECK_INT(service_socket_path(path, sizeof(path)), 0);
	CHECK_STR(path, "/h/.local/state/emberbox/emberbox.sock");
	setenv("XDG_STATE_HOME", "/c", 1);
	CHECK_INT(service_socket_path(path, sizeof(path)), 0);
	CHECK_STR(path, "/c/emberbox/emberbox.sock");
	setenv("EMBERBOX_HOME", "/e", 1);
	CHECK_INT(service_socket_path(path, sizeof(path)), 0);
	CHECK_STR(path, "/e/emberbox.sock");
	CHECK_INT(service_socket_path(path, 16), -1);
	unsetenv("EMBERBOX_HOME");
	unsetenv("XDG_STATE_HOME");
	unsetenv("HOME");
	CHECK_INT(service_socket_path(path, sizeof(path)), -1);
}

static void no_service(void)
{
	char path[200];

	CHECK_ERRNO(service_socket_connect("/nonexistent/emberbox.sock"), ENOENT);
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	CHECK_ERRNO(service_socket_connect(path), ENAMETOOLONG);
}

int main(void)
{
	RUN(members);
	RUN(strings);
	RUN(plain_text);
	RUN(requests);
	RUN(what_a_service_cannot_do);
	RUN(files);
	RUN(modes);
	RUN(requests_come_back);
	RUN(frames_in_any_pieces);
	RUN(large_ones);
	RUN(a_refusal);
	RUN(cut_anywhere);
	RUN(garbage_is_refused);
	RUN(input_and_cancel);
	RUN(places);
	RUN(no_service);
	return check_failures != 0;
}
