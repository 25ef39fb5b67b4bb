#include "api/type_check.h"

#include "base/own.h"
#include "run/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	TYPE_ERRORS_MAX = 100,   /* maximum of errors in a report */
	COMPILER_TEXT = 1 << 20, /* bytes of a compiler's output that are read */
};

bool type_check_there(const struct runtime *runtime)
{
	return runtime->compile.unchecked != NULL;
}

static void not_checked(struct policy_report *report, const char *why)
{
	const char *copy = arena_copy(&report->arena, why, strlen(why));

	report->types->unchecked = copy ? copy : "no memory for the reason";
}

/* The compiler failed: takes its errors, or the reason why there are none. */
static void take_errors(const struct spec *spec, struct result *result, struct policy_report *report)
{
	struct policy_types *types = report->types;
	struct errors_found *found = arena_alloc(&report->arena, (TYPE_ERRORS_MAX + 1) * sizeof(*found));
	_cleanup_free_ char *text = malloc(COMPILER_TEXT + 1);
	struct errors_input said = { .text = text, .file = result->file, .compiling = true };
	long n = found && text ? output_read(&result->outputs[1], text, COMPILER_TEXT, 0) : -1;

	if (n < 0) {
		not_checked(report, "cannot read the compiler's output");
		return;
	}
	text[n] = '\0';
	said.size = (size_t)n;
	/* The output of a compiler that was killed is incomplete. */
	if (result->verdict.status == STATUS_FAILED)
		types->count = errors_list(spec->runtime, &said, found, TYPE_ERRORS_MAX + 1);
	types->errors = found;
	types->cut = types->count > TYPE_ERRORS_MAX;
	types->count = types->cut ? TYPE_ERRORS_MAX : types->count;
	if (types->count > 0)
		return;
	result_explain(result, NULL);
	not_checked(report, result->message[0] ? result->message : "the compiler failed");
}

static int types_compile(const struct spec *spec, struct policy_report *report, struct error *err)
{
	struct result *result = result_new(spec);
	int done = result ? run_compile(spec, result, err)
			  : error_set(err, ERROR_FAILED, ENOMEM, "cannot make the result");

	if (done == 1)
		take_errors(spec, result, report);
	result_free(result);
	return done < 0 ? -1 : 0;
}

void type_check(const struct runtime *runtime, const char *filename, const void *code, size_t size,
		struct policy_report *report)
{
	struct error err = { 0 }, ignored;
	struct spec spec;
	int done;

	report->types = arena_alloc(&report->arena, sizeof(*report->types));
	if (!report->types)
		return;
	*report->types = (struct policy_types){ 0 };
	spec_init(&spec);
	done = spec_set(&spec, "language", runtime->name, &err);
	if (done == 0)
		done = spec_set_code(&spec, code, size, &err);
	/* If the name is invalid in the box, the language's default is used. */
	if (done == 0 && filename)
		(void)spec_set(&spec, "filename", filename, &ignored);
	if (done == 0)
		done = types_compile(&spec, report, &err);
	if (done < 0)
		not_checked(report, err.text);
	spec_free(&spec);
}
