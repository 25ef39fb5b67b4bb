/* The result: the contract's fields with their types, its sentences and exit codes. */
#include "../check.h"
#include "tree.h"

#include "result/result.h"

#include <jansson.h>
#include <signal.h>
#include <sys/wait.h>

static struct spec spec;
static struct result *result;
static json_t *root;

static void fresh(const char *language)
{
	struct error err;

	spec_free(&spec);
	spec_set(&spec, "language", language, &err);
	result_free(result);
	json_decref(root);
	root = NULL;
	result = result_new(&spec);
	if (!result)
		abort();
	result->begin_usec = 1000000;
	result->verdict.started_usec = 1250000;
	result->verdict.ended_usec = 1750000;
	result->finish_usec = 1760000;
}

static void ended(int wait_status)
{
	result->verdict.ended = true;
	result->verdict.wait_status = wait_status;
	result->verdict.status = wait_status ? STATUS_FAILED : STATUS_OK;
}

static void says(const char *sentence)
{
	result_explain(result, NULL);
	CHECK_STR(result->message, sentence);
}

static void parse(void)
{
	json_error_t why;
	const char *text = result_json(result);

	json_decref(root);
	root = text ? json_loads(text, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why) : NULL;
	if (!root)
		check_fail("not JSON: %s: %s", text ? why.text : "", text ? text : "(null)");
	CHECK(text && !strchr(text, '\n'));
}

static const json_t *at(const char *path)
{
	const json_t *value = root;
	char copy[128], *rest = copy, *part;

	snprintf(copy, sizeof(copy), "%s", path);
	while ((part = strsep(&rest, ".")) != NULL)
		value = json_object_get(value, part);
	if (!value)
		check_fail("there is no %s", path);
	return value;
}

static const char *text_at(const char *path)
{
	const char *text = json_string_value(at(path));

	return text ? text : "(no string)";
}

static double number_at(const char *path)
{
	return json_number_value(at(path));
}

/* Section 3 of the contract: every field is there, always, with its type. */
static void has_every_field(void)
{
	static const struct {
		const char *path;
		const char *types; /* s string, n null, b boolean, i integer, f float, a array, o object */
	} fields[] = {
		{ "id", "s" },
		{ "status", "s" },
		{ "success", "b" },
		{ "exit_code", "i" },
		{ "signal", "sn" },
		{ "stdout", "s" },
		{ "stderr", "s" },
		{ "stdout_bytes", "i" },
		{ "stderr_bytes", "i" },
		{ "truncated", "b" },
		{ "execution_time", "f" },
		{ "cpu_time", "f" },
		{ "memory_used", "i" },
		{ "timeout", "b" },
		{ "error_message", "sn" },
		{ "language", "sn" },
		{ "timestamp", "s" },
		{ "error", "no" },
		{ "outputs", "a" },
		{ "files", "a" },
		{ "meta", "o" },
		{ "meta.runtime", "s" },
		{ "meta.language_version", "sn" },
		{ "meta.start", "s" },
		{ "meta.timings", "o" },
		{ "meta.timings.queue", "f" },
		{ "meta.timings.start", "f" },
		{ "meta.timings.run", "f" },
		{ "meta.timings.collect", "f" },
		{ "meta.resource_limits", "o" },
		{ "meta.resource_limits.timeout", "f" },
		{ "meta.resource_limits.cpu_time", "fn" },
		{ "meta.resource_limits.memory", "i" },
		{ "meta.resource_limits.cpus", "fn" },
		{ "meta.resource_limits.pids", "i" },
		{ "meta.resource_limits.disk", "i" },
		{ "meta.resource_limits.max_output", "i" },
		{ "meta.isolation", "a" },
		{ "meta.blocked_imports", "a" },
		{ "meta.terminal", "b" },
		{ "meta.truncated", "b" },
	};
	static const char letters[] = {
		[JSON_OBJECT] = 'o', [JSON_ARRAY] = 'a', [JSON_STRING] = 's', [JSON_INTEGER] = 'i',
		[JSON_REAL] = 'f',   [JSON_TRUE] = 'b',  [JSON_FALSE] = 'b',  [JSON_NULL] = 'n'
	};

	parse();
	for (size_t i = 0; root && i < sizeof(fields) / sizeof(fields[0]); i++) {
		const json_t *value = at(fields[i].path);

		if (value && !strchr(fields[i].types, letters[json_typeof(value)]))
			check_fail("%s is of type '%c', not '%s'", fields[i].path, letters[json_typeof(value)],
				   fields[i].types);
	}
	CHECK(json_is_true(at("success")) == (strcmp(text_at("status"), "ok") == 0));
	CHECK(json_is_true(at("timeout")) == (strcmp(text_at("status"), "timeout") == 0));
}

static void fields_in_every_status(void)
{
	for (int status = STATUS_OK; status <= STATUS_ERROR; status++) {
		fresh("python");
		result->verdict.status = status;
		if (status == STATUS_OK || status == STATUS_FAILED)
			ended(status == STATUS_OK ? 0 : 3 << 8);
		if (status == STATUS_ERROR)
			result->verdict.started_usec = result->verdict.ended_usec = 0;
		result_explain(result, NULL);
		has_every_field();
		CHECK_STR(text_at("status"), status_name(status));
	}
}

static void values(void)
{
	static const char *layers[] = { "seccomp: filter", "landlock: abi 7" };
	struct file_entry *entries = calloc(2, sizeof(*entries));

	fresh("python");
	ended(0);
	result->verdict.cpu_usec = 125000;
	result->verdict.memory_peak = 9 << 20;
	result->time = (struct timeval){ .tv_sec = 1000000000, .tv_usec = 7999 };
	result->layers = layers;
	result->layer_count = 2;
	entries[0] = (struct file_entry){ .path = "a.png", .size = 12 };
	entries[1] = (struct file_entry){ .path = "b\xff", .size = UINT64_C(1) << 40 };
	result->files = (struct file_list){ .entries = entries, .count = 2, .cut = true };
	output_add(&result->outputs[0], "out\n", 4);
	output_add(&result->outputs[1], "err\n", 4);
	result_explain(result, NULL);
	parse();
	CHECK_STR(text_at("id"), result->id);
	CHECK_STR(text_at("status"), "ok");
	CHECK_STR(text_at("stdout"), "out\n");
	CHECK_STR(text_at("stderr"), "err\n");
	CHECK_INT(number_at("stdout_bytes"), 4);
	CHECK(number_at("execution_time") == 0.5);
	CHECK(number_at("cpu_time") == 0.125);
	CHECK_INT(number_at("memory_used"), 9 << 20);
	CHECK(json_is_null(at("error_message")));
	CHECK(json_is_null(at("signal")));
	CHECK_STR(text_at("language"), "python");
	CHECK_STR(text_at("timestamp"), "2001-09-09T01:46:40.007Z");
	CHECK(number_at("meta.timings.start") == 0.25);
	CHECK(number_at("meta.timings.run") == 0.5);
	CHECK(number_at("meta.timings.collect") == 0.01);
	CHECK_STR(text_at("meta.runtime"), "local");
	CHECK_STR(text_at("meta.start"), "cold");
	CHECK(number_at("meta.resource_limits.timeout") == 30);
	CHECK_INT(number_at("meta.resource_limits.memory"), 512 << 20);
	CHECK_INT(number_at("meta.resource_limits.pids"), 64);
	CHECK(json_is_null(at("meta.resource_limits.cpu_time")));
	CHECK_INT(json_array_size(at("meta.isolation")), 2);
	CHECK_STR(json_string_value(json_array_get(at("meta.isolation"), 1)), "landlock: abi 7");
	CHECK(json_is_true(at("meta.files_truncated")));
	CHECK_INT(json_array_size(at("files")), 2);
	CHECK_STR(json_string_value(json_object_get(json_array_get(at("files"), 0), "path")), "a.png");
	CHECK_INT(json_integer_value(json_object_get(json_array_get(at("files"), 0), "size")), 12);
	CHECK_STR(json_string_value(json_object_get(json_array_get(at("files"), 1), "path")), "b\xEF\xBF\xBD");
	CHECK_INT(json_integer_value(json_object_get(json_array_get(at("files"), 1), "size")), 1LL << 40);
	result->layers = NULL;
}

/* O3 */
static void output_that_is_no_text(void)
{
	fresh("python");
	ended(0);
	output_add(&result->outputs[0], "a\0b\xff\xed\xa0\x80\x1b[0m", 11);
	result_explain(result, NULL);
	parse();
	CHECK_INT(json_string_length(at("stdout")), 1 + 1 + 1 + 3 + 9 + 4);
	CHECK(json_string_value(at("stdout")) && memcmp(json_string_value(at("stdout")), "a\0b\xEF\xBF\xBD", 6) == 0);
	CHECK_INT(number_at("stdout_bytes"), 11);
}

static void output_that_is_cut(void)
{
	fresh("python");
	ended(0);
	result->limits.max_output = 4;
	output_add(&result->outputs[1], "abcdefgh", 8);
	parse();
	CHECK(json_is_true(at("truncated")));
	CHECK(json_is_true(at("meta.truncated")));
	CHECK_STR(text_at("stdout"), "");
	CHECK_STR(text_at("stderr"), "ab\n... 4 bytes left out ...\ngh");
	CHECK_INT(number_at("stderr_bytes"), 8);
}

/* A byte may be six in JSON: what is shown is bounded by those. */
static void output_that_grows_when_it_is_written(void)
{
	enum {
		MUCH = 16 << 20
	};
	char *block = malloc(MUCH);

	memset(block, 1, MUCH);
	fresh("python");
	ended(0);
	result->limits.max_output = MUCH;
	output_add(&result->outputs[0], block, MUCH);
	CHECK(strlen(result_json(result)) < (size_t)30 << 20);
	parse();
	CHECK(json_is_true(json_object_get(root, "truncated")));
	CHECK_INT(json_integer_value(json_object_get(root, "stdout_bytes")), MUCH);
	/* The same of plain text is whole. */
	memset(block, 'x', MUCH);
	fresh("python");
	ended(0);
	result->limits.max_output = MUCH;
	output_add(&result->outputs[0], block, MUCH);
	parse();
	CHECK(json_is_false(json_object_get(root, "truncated")));
	CHECK_INT(json_string_length(json_object_get(root, "stdout")), MUCH);
	free(block);
}

/* T8: what the program prints is data, also when it looks like ours. */
static void output_that_looks_like_a_result(void)
{
	static const char forged[] = "\"}\n{\"status\":\"ok\",\"success\":true}\n";

	fresh("python");
	ended(1 << 8);
	output_add(&result->outputs[0], forged, sizeof(forged) - 1);
	output_add(&result->outputs[1], forged, sizeof(forged) - 1);
	result_explain(result, NULL);
	parse();
	CHECK_STR(text_at("status"), "failed");
	CHECK(json_is_false(at("success")));
	CHECK_STR(text_at("stdout"), forged);
	CHECK_STR(text_at("error_message"), "Execution failed: {\"status\":\"ok\",\"success\":true}");
}

static void exits(int wait_status, int code, const char *name)
{
	fresh("python");
	ended(wait_status);
	CHECK_INT(result_exit_code(result), code);
	parse();
	CHECK_INT(number_at("exit_code"), code);
	if (name)
		CHECK_STR(text_at("signal"), name);
	else
		CHECK(json_is_null(at("signal")));
}

/* O7 */
static void exit_codes_of_the_program(void)
{
	for (int code = 0; code < 256; code++)
		exits(code << 8, code, NULL);
	exits(SIGSEGV, 139, "SIGSEGV");
	exits(SIGKILL, 137, "SIGKILL");
	exits(SIGABRT | 0x80, 134, "SIGABRT");
	exits(40, 168, "SIG40");
}

static void exit_codes_of_ours(void)
{
	static const int codes[] = { [STATUS_TIMEOUT] = 124, [STATUS_OUT_OF_MEMORY] = 137, [STATUS_OUTPUT_LIMIT] = 137,
				     [STATUS_KILLED] = 137,  [STATUS_BLOCKED] = 126,       [STATUS_ERROR] = 125 };

	for (int status = STATUS_TIMEOUT; status <= STATUS_ERROR; status++) {
		fresh("python");
		result->verdict.status = status;
		CHECK_INT(result_exit_code(result), codes[status]);
		parse();
		/* Where we failed, that we killed the program is not what happened to it; what was blocked never ran.
		 */
		CHECK_STR(text_at("signal"),
			  status == STATUS_ERROR || status == STATUS_BLOCKED ? "(no string)" : "SIGKILL");
	}
	fresh("python");
	result->verdict.status = STATUS_ERROR;
	result->verdict.started_usec = result->verdict.ended_usec = 0;
	parse();
	CHECK(json_is_null(at("signal")));
	CHECK(number_at("execution_time") == 0);
}

/* Section 5 of the contract. */
static void sentences_of_limits(void)
{
	struct error err;

	fresh("python");
	result->verdict.status = STATUS_TIMEOUT;
	result->verdict.limit = "timeout";
	says("Code execution timed out after 30s");
	result->limits.timeout = 0.5;
	says("Code execution timed out after 0.5s");
	result->limits.cpu_time = 2;
	says("Code execution timed out after 0.5s");
	result->verdict.limit = "cpu_time";
	says("Code execution timed out after 2s of CPU time");
	result->verdict.status = STATUS_OUT_OF_MEMORY;
	says("Memory limit of 512m exceeded");
	spec_set(&spec, "memory", "64m", &err);
	result->limits = limits_settle(&spec.limits, NULL);
	says("Memory limit of 64m exceeded");
	result->limits.memory = 100000000;
	says("Memory limit of 100000000 exceeded");
	result->verdict.status = STATUS_OUTPUT_LIMIT;
	says("Output limit of 16m exceeded");
	result->verdict.status = STATUS_KILLED;
	says("The box was ended from outside");
	result->verdict.cancelled = true;
	says("Execution was cancelled");
	result->verdict.status = STATUS_ERROR;
	error_set(&result->verdict.failure, ERROR_FAILED, EIO, "step 3 failed");
	says("step 3 failed: Input/output error");
	ended(0);
	says("");
}

static void failed_with_code(const char *language, int code, const char *errors, const char *sentence)
{
	fresh(language);
	ended(code << 8);
	output_add(&result->outputs[1], errors, strlen(errors));
	says(sentence);
}

static void failed_with(const char *language, const char *errors, const char *sentence)
{
	failed_with_code(language, 1, errors, sentence);
}

#define PYTHON "  File \"/sandbox/code/main.py\", line 3\n    def f(:\n          ^\n"
#define NODE   "/sandbox/code/main.js:2\nlet = = 1\n      ^\n\n"

/* Those that the interpreter reports when it cannot read the code file. */
static void syntax_errors(void)
{
	failed_with("python", PYTHON "SyntaxError: invalid syntax\n", "Python syntax error: invalid syntax (line 3)");
	failed_with("python", PYTHON "IndentationError: unexpected indent\n",
		    "Python syntax error: unexpected indent (line 3)");
	failed_with("python", PYTHON "TabError: inconsistent use\n", "Python syntax error: inconsistent use (line 3)");
	failed_with("python", "/sandbox/code/main.py:1: SyntaxWarning: x\n" PYTHON "SyntaxError: y\n",
		    "Python syntax error: y (line 3)");
	failed_with("python", "SyntaxError: Non-UTF-8 code in file /sandbox/code/main.py on line 1\n",
		    "Python syntax error: Non-UTF-8 code in file /sandbox/code/main.py on line 1");
	failed_with("javascript",
		    NODE "SyntaxError: Unexpected token\n    at wrapSafe (node:internal/x:1:2)\n\nNode.js v20.0.0\n",
		    "JavaScript syntax error: Unexpected token (line 2)");
	failed_with("javascript",
		    "(node:5) Warning: x\nfile://" NODE "SyntaxError: Unexpected token\n\nNode.js v20.0.0\n",
		    "JavaScript syntax error: Unexpected token (line 2)");
	failed_with_code("bash", 2,
			 "said before\n/sandbox/code/main.sh: line 4: syntax error near unexpected token `fi'\n"
			 "/sandbox/code/main.sh: line 4: `fi'\n",
			 "Bash syntax error: near unexpected token `fi' (line 4)");
	failed_with_code("bash", 2,
			 "/sandbox/code/main.sh: line 1: unexpected EOF while looking for matching `\"'\n"
			 "/sandbox/code/main.sh: line 2: syntax error: unexpected end of file\n",
			 "Bash syntax error: unexpected EOF while looking for matching `\"' (line 1)");
}

/* Those that the program ran into, or only talks about. */
static void errors_that_are_called_so(void)
{
	failed_with("python",
		    "Traceback (most recent call last):\n  File \"/sandbox/code/main.py\", line 1, in <module>\n"
		    "  File \"<string>\", line 1\n    def f(:\n          ^\nSyntaxError: invalid syntax\n",
		    "Execution failed: SyntaxError: invalid syntax");
	failed_with("python", "SyntaxError: x\n", "Execution failed: SyntaxError: x");
	failed_with("python", "I saw a SyntaxError: x\n", "Execution failed: I saw a SyntaxError: x");
	failed_with_code("python", 3, PYTHON "SyntaxError: x\n", "Execution failed: SyntaxError: x");
	failed_with(
		"javascript",
		"<anonymous_script>:1\n{bad\n ^\n\nSyntaxError: Expected '}' in JSON\n    at JSON.parse (<anonymous>)\n"
		"    at Object.<anonymous> (/sandbox/code/main.js:1:6)\n\nNode.js v20.0.0\n",
		"Execution failed: SyntaxError: Expected '}' in JSON");
	failed_with("javascript",
		    NODE "SyntaxError: x\n    at Object.<anonymous> (/sandbox/code/main.js:1:6)\n\nNode.js v20.0.0\n",
		    "Execution failed: SyntaxError: x");
	failed_with_code("bash", 3, "syntax error here\n", "Execution failed: syntax error here");
	failed_with_code("bash", 2, "syntax error here\n", "Execution failed: syntax error here");
	failed_with_code("bash", 2, "/sandbox/code/main.sh: eval: line 1: syntax error near `;'\n",
			 "Execution failed: /sandbox/code/main.sh: eval: line 1: syntax error near `;'");
	failed_with_code("bash", 2, "/sandbox/code/main.sh: line 1: syntax error near `;'\nwent on\n",
			 "Execution failed: went on");
	/* Python and Node read all of the code before they run any. */
	fresh("python");
	ended(1 << 8);
	output_add(&result->outputs[0], "ran\n", 4);
	output_add(&result->outputs[1], PYTHON "SyntaxError: x\n", strlen(PYTHON "SyntaxError: x\n"));
	says("Execution failed: SyntaxError: x");
}

static void refusals(void)
{
	static const struct {
		enum error_kind kind;
		int code;
	} kinds[] = { { ERROR_FAILED, 125 }, { ERROR_LANGUAGE, 127 }, { ERROR_USAGE, 2 } };
	struct error err;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		error_set(&err, kinds[i].kind, 0, "it cannot be");
		result_free(result);
		result = result_refused(NULL, &err);
		has_every_field();
		CHECK_STR(text_at("status"), "error");
		CHECK_INT(number_at("exit_code"), kinds[i].code);
		CHECK_STR(text_at("error_message"), "it cannot be");
		CHECK(json_is_null(at("language")));
		CHECK(json_is_null(at("signal")));
	}
	result_free(result);
	result = result_refused(&spec, &err);
	parse();
	CHECK_STR(text_at("language"), spec.runtime->name);
}

static void cores_that_are_not_limited(void)
{
	fresh("python");
	ended(0);
	result->limits.cpus = 0;
	has_every_field();
	CHECK(json_is_null(at("meta.resource_limits.cpus")));
}

static void sentences_of_failures(void)
{
	failed_with("python", "Traceback:\n  x\nValueError: no\n", "Execution failed: ValueError: no");
	failed_with("python", "Traceback:\nKeyError\n\n\n", "Execution failed: KeyError");
	failed_with("python", "SyntaxError: x\nValueError: y\n", "Execution failed: ValueError: y");
	failed_with("javascript", "throw\n\nTypeError: x is not a function\n    at y\n\nNode.js v18.0.0\n",
		    "Execution failed: TypeError: x is not a function");
	failed_with("bash", "", "Execution failed: exit code 1");
	failed_with("bash", "\n \n", "Execution failed: exit code 1");
	fresh("bash");
	ended(SIGSEGV);
	says("Execution failed: ended by signal SIGSEGV (Segmentation fault)");
	fresh("bash");
	ended(42 << 8);
	says("Execution failed: exit code 42");
}

static void sentences_are_bounded(void)
{
	char *line = malloc(100001);

	memset(line, 'x', 100000);
	line[100000] = '\0';
	fresh("python");
	ended(1 << 8);
	output_add(&result->outputs[1], line, 100000);
	result_explain(result, NULL);
	CHECK_INT(strncmp(result->message, "Execution failed: xxx", 21), 0);
	CHECK(strlen(result->message) < sizeof(result->message));
	/* Cut inside a character, or none at all: still JSON. */
	fresh("python");
	ended(1 << 8);
	for (int i = 0; i < 1000; i++)
		output_add(&result->outputs[1], "🔥", 4);
	result_explain(result, NULL);
	parse();
	fresh("python");
	result->verdict.status = STATUS_ERROR;
	memset(result->verdict.failure.text, '\xff', sizeof(result->verdict.failure.text) - 1);
	result_explain(result, NULL);
	parse();
	free(line);
}

static void ids_sort_by_time(void)
{
	char first[27];

	fresh("python");
	CHECK_INT(strlen(result->id), 26);
	CHECK_INT(strspn(result->id, "0123456789ABCDEFGHJKMNPQRSTVWXYZ"), 26);
	memcpy(first, result->id, sizeof(first));
	fresh("python");
	CHECK(strcmp(first, result->id) != 0);
	CHECK(strncmp(first, result->id, 10) <= 0);
}

int main(void)
{
	char *home = tree_new();

	/* The language's version is remembered there. */
	setenv("EMBERBOX_HOME", home, 1);
	spec_init(&spec);
	RUN(fields_in_every_status);
	RUN(values);
	RUN(output_that_is_no_text);
	RUN(output_that_is_cut);
	RUN(output_that_grows_when_it_is_written);
	RUN(output_that_looks_like_a_result);
	RUN(exit_codes_of_the_program);
	RUN(exit_codes_of_ours);
	RUN(sentences_of_limits);
	RUN(syntax_errors);
	RUN(errors_that_are_called_so);
	RUN(refusals);
	RUN(cores_that_are_not_limited);
	RUN(sentences_of_failures);
	RUN(sentences_are_bounded);
	RUN(ids_sort_by_time);
	json_decref(root);
	result_free(result);
	spec_free(&spec);
	tree_free(home);
	return check_failures != 0;
}
