/* The public library, by its header alone: requests, results, callbacks, cancelling, threads. */
/* tests/run: timeout=90 */
#include "../check.h"
#include "tree.h"

#include <dirent.h>
#include <emberbox.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static eb_error err;

static size_t open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static eb_request *bash(const char *code)
{
	eb_request *request = eb_request_new();

	if (eb_request_set(request, "language", "bash", &err) < 0 ||
	    eb_request_set_code(request, code, strlen(code), &err) < 0)
		check_fail("%s", err.message);
	return request;
}

static void nothing_is_freed(void)
{
	eb_request_free(NULL);
	eb_result_free(NULL);
	eb_request_free(eb_request_new());
	CHECK(eb_version() && *eb_version());
}

static void bad_requests(void)
{
	eb_request *request = eb_request_new();
	eb_result *result = (eb_result *)&err;
	char *text = NULL;

	CHECK_INT(eb_request_set(request, "memory", "lots", &err), -1);
	CHECK_INT(err.code, EB_BAD_REQUEST);
	CHECK_STR(err.message,
		  "memory: \"lots\" is not a size between 4m and 1024g; write it as 64m, 1g or a number of bytes");
	CHECK_INT(eb_request_set(request, "language", "cobol", &err), -1);
	CHECK_INT(err.code, EB_NO_LANGUAGE);
	CHECK_INT(eb_request_set(request, "nonsense", "x", NULL), -1);
	CHECK_INT(eb_request_add_content(request, "../x", "", 0, &err), -1);
	CHECK_INT(err.code, EB_BAD_REQUEST);
	CHECK_INT(eb_execute(request, NULL, &result, &err), -1);
	CHECK_INT(err.code, EB_BAD_REQUEST);
	CHECK_STR(err.message, "language: it is not set; name one, such as python");
	CHECK(!result);
	CHECK_INT(eb_explain(request, &text, &err), -1);
	CHECK(!text);
	/* A request that was refused a value can still be used. */
	CHECK_INT(eb_request_set(request, "language", "bash", &err), 0);
	CHECK_INT(eb_request_set_code(request, "", 0, &err), 0);
	CHECK_INT(eb_request_set(request, "file", "/absent/file", &err), 0);
	CHECK_INT(eb_execute(request, NULL, &result, &err), -1);
	CHECK_INT(err.code, EB_BAD_REQUEST);
	CHECK_STR(err.message, "file: cannot open \"/absent/file\": No such file or directory");
	CHECK(!result);
	eb_request_free(request);
}

struct seen {
	char text[2][64]; /* of each stream */
	pthread_t thread; /* that called */
};

static void on_output(int stream, const void *data, size_t size, void *userdata)
{
	struct seen *seen = userdata;
	char *text = seen->text[stream - 1];

	seen->thread = pthread_self();
	snprintf(text + strlen(text), sizeof(seen->text[0]) - strlen(text), "%.*s", (int)size, (const char *)data);
}

static void a_run_with_everything(void)
{
	size_t before = open_descriptors();
	eb_request *request = bash("read -r line; echo \"$line $1 $KEY $(cat note)\"; echo problem >&2; exit 3");
	struct seen seen = { 0 };
	eb_options options = EB_OPTIONS_INIT;
	eb_result *result = NULL;
	char data[8] = "";
	json_t *root;

	options.on_output = on_output;
	options.userdata = &seen;
	CHECK_INT(eb_request_set(request, "arg", "word", &err), 0);
	CHECK_INT(eb_request_set(request, "env", "KEY=value", &err), 0);
	CHECK_INT(eb_request_add_content(request, "note", "noted", 5, &err), 0);
	CHECK_INT(eb_request_set_stdin(request, "input\n", 6, &err), 0);
	if (eb_execute(request, &options, &result, &err) < 0) {
		check_fail("%s", err.message);
		eb_request_free(request);
		return;
	}
	CHECK_STR(eb_result_status(result), "failed");
	CHECK_STR(eb_result_message(result), "Execution failed: problem");
	CHECK_INT(eb_result_exit_code(result), 3);
	CHECK_STR(seen.text[0], "input word value noted\n");
	CHECK_STR(seen.text[1], "problem\n");
	CHECK(pthread_equal(seen.thread, pthread_self()));
	CHECK_INT(eb_result_read(result, EB_STDOUT, data, 5, 6), 5);
	CHECK_STR(data, "word ");
	CHECK_INT(eb_result_read(result, EB_STDERR, data, 5, 100), 0);
	CHECK_ERRNO(eb_result_read(result, 0, data, 5, 0), EINVAL);
	CHECK_ERRNO(eb_result_read(result, 3, data, 5, 0), EINVAL);
	root = json_loads(eb_result_json(result), 0, NULL);
	CHECK_STR(json_string_value(json_object_get(root, "stdout")), "input word value noted\n");
	CHECK(eb_result_json(result) == eb_result_json(result));
	json_decref(root);
	eb_result_free(result);
	eb_request_free(request);
	CHECK_INT(open_descriptors(), before);
}

/* The program says that it runs; then the caller changes its mind. */
static void cancel_on_output(int stream, const void *data, size_t size, void *userdata)
{
	(void)stream;
	(void)data;
	if (write(*(int *)userdata, "x", size > 0) != 1)
		abort();
}

static void a_run_that_is_cancelled(void)
{
	eb_request *request = bash("echo ready; sleep 60");
	eb_result *result = NULL;
	int ends[2];

	if (pipe(ends) < 0)
		abort();
	eb_options options = EB_OPTIONS_INIT;
	options.on_output = cancel_on_output;
	options.userdata = &ends[1];
	options.cancel_fd = ends[0];
	if (eb_execute(request, &options, &result, &err) < 0) {
		check_fail("%s", err.message);
	} else {
		CHECK_STR(eb_result_status(result), "killed");
		CHECK_STR(eb_result_message(result), "Execution was cancelled");
		CHECK_INT(eb_result_exit_code(result), 137);
	}
	eb_result_free(result);
	eb_request_free(request);
	close(ends[0]);
	close(ends[1]);
}

static void input_from_a_descriptor(void)
{
	eb_request *request = bash("cat");
	eb_result *result = NULL;
	char data[16] = "";
	int ends[2];

	if (pipe(ends) < 0 || write(ends[1], "streamed", 8) != 8)
		abort();
	close(ends[1]);
	eb_options options = EB_OPTIONS_INIT;
	options.stdin_fd = ends[0];
	if (eb_execute(request, &options, &result, &err) < 0) {
		check_fail("%s", err.message);
	} else {
		CHECK_INT(eb_result_read(result, EB_STDOUT, data, sizeof(data), 0), 8);
		CHECK_STR(data, "streamed");
		CHECK(!eb_result_message(result));
	}
	eb_result_free(result);
	eb_request_free(request);
	close(ends[0]);
}

/* 0 is a descriptor like the others. */
static void input_from_descriptor_0(void)
{
	int saved = dup(0);

	close(0);
	/* The pipe of the test takes the place. */
	input_from_a_descriptor();
	if (saved >= 0)
		dup2(saved, 0);
	close(saved);
}

static void options_know_their_size(void)
{
	struct {
		eb_options options;
		long later; /* what a later version might add */
	} larger = { .options = EB_OPTIONS_INIT };
	eb_options options = EB_OPTIONS_INIT;
	eb_request *request = bash("true");
	eb_result *result = NULL;

	options.size = 0;
	CHECK_INT(eb_execute(request, &options, &result, &err), -1);
	CHECK_INT(err.code, EB_BAD_REQUEST);
	CHECK_STR(err.message, "options: the size is not set; initialize them with EB_OPTIONS_INIT");
	CHECK(!result);
	larger.options.size = sizeof(larger);
	larger.later = 1;
	CHECK_INT(eb_execute(request, &larger.options, &result, &err), -1);
	CHECK(strstr(err.message, "does not know all of them") != NULL);
	larger.later = 0;
	CHECK_INT(eb_execute(request, &larger.options, &result, &err), 0);
	eb_result_free(result);
	eb_request_free(request);
}

/* A program that was built before there was `record`: what lies behind its options is not ours. */
static void the_older_form_of_options(void)
{
	struct {
		eb_options options;
	} older = { .options = EB_OPTIONS_INIT };
	eb_request *request = bash("true");
	eb_result *result = NULL;

	older.options.size = offsetof(eb_options, record);
	older.options.record = (const char *)-1;
	CHECK_INT(eb_execute(request, &older.options, &result, &err), 0);
	CHECK_STR(result ? eb_result_status(result) : NULL, "ok");
	eb_result_free(result);
	eb_request_free(request);
}

/* Who embeds the library has no history unless it asks for it. */
static void runs_are_recorded_if_asked_for(void)
{
	static const char *const callers[] = { NULL, "an embedder" };
	char *home = tree_new();
	int dir = open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *before = getenv("EMBERBOX_HOME");
	char *saved = before ? strdup(before) : NULL;

	setenv("EMBERBOX_HOME", home, 1);
	for (size_t i = 0; i < 2; i++) {
		eb_options options = EB_OPTIONS_INIT;
		eb_request *request = bash("exit 3");
		eb_result *result = NULL;

		options.record = callers[i];
		CHECK_INT(eb_execute(request, &options, &result, &err), 0);
		CHECK_INT(eb_result_exit_code(result), 3);
		CHECK_INT(faccessat(dir, "journal", F_OK, 0), i == 0 ? -1 : 0);
		eb_result_free(result);
		eb_request_free(request);
	}
	if (saved)
		setenv("EMBERBOX_HOME", saved, 1);
	else
		unsetenv("EMBERBOX_HOME");
	free(saved);
	close(dir);
	tree_free(home);
}

static void results_of_errors(void)
{
	eb_request *request = eb_request_new();
	eb_result *result;
	json_t *root;

	CHECK_INT(eb_request_set(request, "language", "cobol", &err), -1);
	result = eb_result_of_error(request, &err);
	CHECK_STR(eb_result_status(result), "error");
	CHECK_INT(eb_result_exit_code(result), EB_NO_LANGUAGE);
	CHECK_INT(eb_result_signal(result), 0);
	root = json_loads(eb_result_json(result), 0, NULL);
	CHECK_STR(json_string_value(json_object_get(root, "error_message")), err.message);
	CHECK(json_is_null(json_object_get(root, "language")));
	json_decref(root);
	eb_result_free(result);
	result = eb_result_of_error(NULL, &err);
	CHECK_INT(eb_result_exit_code(result), EB_NO_LANGUAGE);
	eb_result_free(result);
	eb_request_free(request);
}

static void signals_are_told(void)
{
	eb_request *request = bash("kill -SEGV $$");
	eb_result *result = NULL;

	CHECK_INT(eb_execute(request, NULL, &result, &err), 0);
	CHECK_INT(eb_result_signal(result), SIGSEGV);
	CHECK_INT(eb_result_exit_code(result), 128 + SIGSEGV);
	eb_result_free(result);
	eb_request_free(request);
}

static void *run_in_thread(void *argument)
{
	const char *word = argument;
	eb_error mine;
	eb_request *request = eb_request_new();
	eb_result *result = NULL;
	char data[16] = "";
	bool good;

	good = eb_request_set(request, "language", "bash", &mine) == 0 &&
	       eb_request_set_code(request, "echo $1", 7, &mine) == 0 &&
	       eb_request_set(request, "arg", word, &mine) == 0 && eb_execute(request, NULL, &result, &mine) == 0 &&
	       eb_result_read(result, EB_STDOUT, data, sizeof(data), 0) == (long)strlen(word) + 1 &&
	       memcmp(data, word, strlen(word)) == 0;
	eb_result_free(result);
	eb_request_free(request);
	return good ? argument : NULL;
}

/* Two boxes of one process at once: each has its own control group, uid and descriptors. */
static void two_threads(void)
{
	static char words[2][8] = { "one", "two" };
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, run_in_thread, words[i]) != 0)
			abort();
	for (int i = 0; i < 2; i++) {
		void *good = NULL;

		pthread_join(threads[i], &good);
		CHECK(good);
	}
}

/* As much stack as the header promises to do with. */
static void a_small_stack(void)
{
	static char word[] = "small";
	pthread_attr_t attributes;
	pthread_t thread;
	void *good = NULL;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 256 << 10);
	if (pthread_create(&thread, &attributes, run_in_thread, word) != 0)
		abort();
	pthread_attr_destroy(&attributes);
	pthread_join(thread, &good);
	CHECK(good);
}

static void plans_are_text(void)
{
	eb_request *request = bash("true");
	char *text = NULL;

	CHECK_INT(eb_explain(request, &text, &err), 0);
	CHECK(text && strstr(text, "\npivot\n") && strstr(text, "\nexec "));
	free(text);
	eb_request_free(request);
}

static void languages_are_detected(void)
{
	CHECK_STR(eb_detect_language("x.py", NULL, 0), "python");
	CHECK_STR(eb_detect_language(NULL, "#!/bin/sh\n", 10), "sh");
	CHECK(!eb_detect_language("x", "", 0));
	CHECK_STR(eb_language_at(0), "bash");
	CHECK(!eb_language_at(1000));
}

int main(void)
{
	RUN(nothing_is_freed);
	RUN(bad_requests);
	RUN(a_run_with_everything);
	RUN(a_run_that_is_cancelled);
	RUN(input_from_a_descriptor);
	RUN(input_from_descriptor_0);
	RUN(options_know_their_size);
	RUN(the_older_form_of_options);
	RUN(runs_are_recorded_if_asked_for);
	RUN(results_of_errors);
	RUN(signals_are_told);
	RUN(two_threads);
	RUN(a_small_stack);
	RUN(plans_are_text);
	RUN(languages_are_detected);
	return check_failures != 0;
}
