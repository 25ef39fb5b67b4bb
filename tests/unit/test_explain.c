/* Failures explained: the parts that real programs do not reach, and the process that it happens in. */
#include "../check.h"

#include "explain/explain_parts.h"
#include "base/buf.h"
#include "base/own.h"
#include "kernel/seccomp.h"
#include "store/run_report.h"

#include <sys/resource.h>

static const struct runtime *all[64];
static char memory[8 << 20];
static struct explanation e;

static struct explain_input input_of(const char *language, const char *text, const struct explain_source *code)
{
	for (size_t i = 0; i < 63 && runtime_at(i); i++)
		all[i] = runtime_at(i);
	return (struct explain_input){
		.runtime = runtime_find(language),
		.all = all,
		.text = text,
		.size = strlen(text),
		.file = "/sandbox/code/main.py",
		.exited = true,
		.exit_code = 1,
		.code = code,
		.code_count = code ? 1 : 0,
	};
}

static void explain(const struct explain_input *in)
{
	struct heap heap = { .base = memory, .size = sizeof(memory) };

	explain_make(in, &heap, &e);
}

#define TRACE                                                                                                          \
	"Traceback (most recent call last):\n"                                                                         \
	"  File \"/sandbox/code/main.py\", line 2, in <module>\n    print(totl)\n"                                     \
	"NameError: name 'totl' is not defined\n"

static const struct explain_source source = { "main.py", "total = 1\nprint(totl)\n", 22 };

static void confined_is_the_same(void)
{
	struct explain_input in = input_of("python", TRACE, &source);
	static struct explanation other;

	explain(&in);
	CHECK(explain_confined(&in, &other));
	CHECK(memcmp(&e, &other, sizeof(e)) == 0);
	CHECK_STR(other.suggestion, "Replace `totl` with `total`.");
	CHECK_INT(other.fix.column, 7);
	CHECK_INT(other.fix.end_column, 11);
	CHECK_STR(other.signature, "python NameError: name _ is not defined");
}

/* What a text could make of it: the process dies, and nobody else does. */
static void a_crash_is_its_own(void)
{
	struct explain_input in = input_of("python", TRACE, NULL);
	struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	in.text = (const char *)8;
	CHECK(!explain_confined(&in, &e));
	CHECK_INT(e.there, 0);
	CHECK_STR(e.cause, "");
	in.text = TRACE;
	CHECK(explain_confined(&in, &e));
}

static void deep_traces_keep_both_ends(void)
{
	_cleanup_buf_ struct buf text = { 0 };
	struct explain_input in;

	buf_text(&text, "Traceback (most recent call last):\n");
	for (int i = 1; i <= 100; i++)
		buf_printf(&text, "  File \"/sandbox/code/main.py\", line %d, in f%d\n", i, i);
	buf_text(&text, "  File \"/usr/lib/python3/x.py\", line 7, in g\nValueError: a\n");
	in = input_of("python", text.data, NULL);
	explain(&in);
	CHECK_INT(e.frame_total, 101);
	CHECK_INT(e.frame_count, EXPLAIN_FRAMES);
	CHECK_STR(e.frames[0].function, "g");
	CHECK_INT(e.frames[0].user, 0);
	CHECK_STR(e.frames[1].function, "f100");
	CHECK_INT(e.frames[1].user, 1);
	CHECK_STR(e.frames[23].function, "f78");
	CHECK_STR(e.frames[24].function, "f8");
	CHECK_STR(e.frames[31].function, "f1");
	/* The place is the program's own, not the library's. */
	CHECK_INT(e.line, 100);
	CHECK_STR(e.file, "main.py");
}

static void only_the_last_trace_counts(void)
{
	struct explain_input in =
		input_of("python",
			 "Traceback (most recent call last):\n"
			 "  File \"/sandbox/code/main.py\", line 9, in f\nKeyError: 'a'\n\n"
			 "During handling of the above exception, another exception occurred:\n\n" TRACE,
			 &source);

	explain(&in);
	CHECK_INT(e.frame_count, 1);
	CHECK_INT(e.line, 2);
	CHECK_STR(e.type, "NameError");
}

/* A program that says no by itself has no error. */
static void exits_are_no_errors(void)
{
	struct explain_input in = input_of("python", "usage: main.py FILE\n", &source);

	explain(&in);
	CHECK_INT(e.there, 0);
	CHECK_STR(e.cause, "usage: main.py FILE");
}

static void settle_bounds_everything(void)
{
	memset(&e, 'x', sizeof(e));
	explanation_settle(&e);
	CHECK_INT(e.frame_count, EXPLAIN_FRAMES);
	CHECK_INT(e.context_count, EXPLAIN_LINES);
	CHECK_INT(strlen(e.type), sizeof(e.type) - 1);
	CHECK_INT(strlen(e.frames[EXPLAIN_FRAMES - 1].function), sizeof(e.frames[0].function) - 1);
	CHECK_INT(e.found.kind, ERRORS_NONE);
	memset(&e, 0xff, sizeof(e));
	explanation_settle(&e);
	CHECK_INT(e.line, 0);
	CHECK_INT(e.fix.line, 0);
}

static void near_names(void)
{
	static const struct explain_source code = { "a", "alpha beta for gamma_ray Total", 30 };
	struct explain_input in = input_of("python", "", &code);
	char out[64];

	CHECK(near_name(&in, "alhpa", out, sizeof(out)));
	CHECK_STR(out, "alpha");
	CHECK(near_name(&in, "gama_ray", out, sizeof(out)));
	CHECK_STR(out, "gamma_ray");
	CHECK(near_name(&in, "total", out, sizeof(out)));
	CHECK_STR(out, "Total");
	/* A keyword is no name, and what is far away none that was meant. */
	CHECK(!near_name(&in, "fox", out, sizeof(out)));
	CHECK(!near_name(&in, "zzzzzz", out, sizeof(out)));
	CHECK(!near_name(&in, "a", out, sizeof(out)));
}

/* What is said to be refused is, at least with some arguments. */
static void refused_calls_are_refused(void)
{
	size_t count = 0;

	for (const char *const *call = explain_calls(); *call; call++, count++) {
		for (size_t i = 0; seccomp_rule_at(SECCOMP_BOX, i); i++) {
			const struct seccomp_rule *rule = seccomp_rule_at(SECCOMP_BOX, i);

			if (strcmp(rule->syscall, *call) == 0 && strcmp(rule->action, "allow") == 0)
				check_fail("%s: %s", *call, rule->action);
		}
	}
	CHECK(count > 20);
}

static void differences(void)
{
	char *diff = report_diff("a\nb\nc\nd\ne\nf\n", "a\nb\nc\nX\nY\ne\nf\n");

	CHECK_STR(diff, "  b\n  c\n- d\n+ X\n+ Y\n  e\n  f\n");
	free(diff);
	diff = report_diff("a", "a\nb");
	CHECK_STR(diff, "- a\n+ a\n+ b\n");
	free(diff);
	CHECK(report_diff("a\n", "a\n") == NULL);
	diff = report_diff("", "a");
	CHECK_STR(diff, "+ a\n");
	free(diff);
}

/* A stranger's text cannot leave its fence. */
static void reports_are_fenced(void)
{
	json_t *report = json_pack("{s:s, s:{s:s, s:s, s:s, s:s, s:s}}", "id", "1", "run", "status", "failed", "code",
				   "```\n# not a heading\n````\n", "language", "python", "stderr", "a ``` b",
				   "error_message", "x `y` z");
	_cleanup_buf_ struct buf out = { 0 };

	report_markdown(report, &out);
	json_decref(report);
	CHECK(strstr(out.data, "`````python\n```\n# not a heading\n````\n`````\n") != NULL);
	CHECK(strstr(out.data, "````\na ``` b\n````\n") != NULL);
	CHECK(strstr(out.data, "- what: `` x `y` z ``\n") != NULL);
}

int main(void)
{
	RUN(confined_is_the_same);
	RUN(a_crash_is_its_own);
	RUN(deep_traces_keep_both_ends);
	RUN(only_the_last_trace_counts);
	RUN(exits_are_no_errors);
	RUN(settle_bounds_everything);
	RUN(near_names);
	RUN(refused_calls_are_refused);
	RUN(differences);
	RUN(reports_are_fenced);
	return check_failures != 0;
}
