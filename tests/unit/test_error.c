/* Errors: the kind, the errno, the sentence, and what does not fit into it. */
#include "../check.h"

#include "base/error.h"

static void set_with_and_without_errno(void)
{
	struct error err = { 0 };

	CHECK_INT(error_set(&err, ERROR_BLOCKED, 0, "no %s", "landlock"), -1);
	CHECK_INT(err.kind, ERROR_BLOCKED);
	CHECK_INT(err.code, CODE_FORBIDDEN_SCOPE);
	CHECK_INT(err.errnum, 0);
	CHECK_STR(err.text, "no landlock");
	CHECK_INT(error_set(&err, ERROR_FAILED, ENOENT, "cannot open \"%s\"", "/x"), -1);
	CHECK_INT(err.kind, ERROR_FAILED);
	CHECK_INT(err.errnum, ENOENT);
	CHECK_STR(err.text, "cannot open \"/x\": No such file or directory");
	CHECK_INT(error_set(&err, ERROR_FAILED, 99999, "odd"), -1);
	CHECK_STR(err.text, "odd: unknown error");
}

static void errno_is_taken(void)
{
	struct error err = { 0 };

	errno = EPERM;
	CHECK_INT(error_errno(&err, "cannot %d", 1), -1);
	CHECK_INT(err.kind, ERROR_FAILED);
	CHECK_INT(err.errnum, EPERM);
	CHECK_STR(err.text, "cannot 1: Operation not permitted");
}

static void usage(void)
{
	struct error err = { .errnum = EIO };

	errno = EPERM;
	CHECK_INT(error_usage(&err, "pids: \"%s\"", "x"), -1);
	CHECK_INT(err.kind, ERROR_USAGE);
	CHECK_INT(err.errnum, 0);
	CHECK_STR(err.text, "pids: \"x\"");
}

static void context_is_put_in_front(void)
{
	struct error err = { 0 };

	error_set(&err, ERROR_USAGE, EIO, "inner");
	CHECK_INT(error_prefix(&err, "outer %d", 2), -1);
	CHECK_STR(err.text, "outer 2: inner: Input/output error");
	CHECK_INT(err.kind, ERROR_USAGE);
	CHECK_INT(err.errnum, EIO);
}

/* The table itself: what every door, document and exit code is derived from. */
static void codes(void)
{
	static const int exits[] = { 2, 125, 126, 127 };

	CHECK_STR(error_code_name(CODE_NONE), "");
	CHECK_INT(error_code_status(CODE_NONE), 200);
	CHECK_INT(error_code_kind(CODE_NONE), ERROR_NONE);
	for (int i = CODE_NONE + 1; i < CODE_COUNT; i++) {
		const enum error_code code = (enum error_code)i;
		const char *name = error_code_name(code), *meaning = error_code_meaning(code);
		bool known = false;

		CHECK(*name && strspn(name, "abcdefghijklmnopqrstuvwxyz_") == strlen(name));
		CHECK_INT(error_code_find(name), code);
		CHECK(error_code_status(code) >= 400 && error_code_status(code) <= 599);
		for (size_t j = 0; j < sizeof(exits) / sizeof(exits[0]); j++)
			known |= (int)error_code_kind(code) == exits[j];
		CHECK(known);
		CHECK(*meaning && meaning[strlen(meaning) - 1] == '.' && !strchr(meaning, '\n'));
	}
	CHECK_INT(error_code_find(""), CODE_NONE);
	CHECK_INT(error_code_find("no_such_code"), CODE_NONE);
	/* A number from elsewhere names no row. */
	CHECK_STR(error_code_name((enum error_code)CODE_COUNT), "failed");
	CHECK_INT(error_code_status((enum error_code) - 1), 500);
	CHECK_INT(error_code_kind((enum error_code)CODE_COUNT), ERROR_FAILED);
}

static void each_kind_has_a_general_code(void)
{
	static const struct {
		enum error_kind kind;
		enum error_code code;
	} general[] = {
		{ ERROR_NONE, CODE_NONE },
		{ ERROR_USAGE, CODE_BAD_REQUEST },
		{ ERROR_FAILED, CODE_FAILED },
		{ ERROR_BLOCKED, CODE_FORBIDDEN_SCOPE },
		{ ERROR_LANGUAGE, CODE_UNKNOWN_LANGUAGE },
		{ (enum error_kind)77, CODE_FAILED },
	};
	struct error err;

	for (size_t i = 0; i < sizeof(general) / sizeof(general[0]); i++) {
		error_set(&err, general[i].kind, 0, "x");
		CHECK_INT(err.code, general[i].code);
		CHECK_INT(err.kind, error_code_kind(general[i].code));
	}
}

static void a_refusal_has_code_and_field(void)
{
	struct error err = { .errnum = EIO };

	CHECK_INT(error_refuse(&err, CODE_NOT_FOUND, "session", "there is no session \"%s\"", "x"), -1);
	CHECK_INT(err.kind, ERROR_FAILED);
	CHECK_INT(err.code, CODE_NOT_FOUND);
	CHECK_INT(err.errnum, 0);
	CHECK_STR(err.field, "session");
	CHECK_STR(err.text, "session: there is no session \"x\"");
	CHECK_STR(error_detail(&err), "there is no session \"x\"");
	CHECK_INT(error_refuse(&err, CODE_BUSY, "", "as many wait as may"), -1);
	CHECK_STR(err.field, "");
	CHECK_STR(err.text, "as many wait as may");
	CHECK_STR(error_detail(&err), err.text);
	CHECK_INT(error_field(&err, "pids", "\"%s\" is not a number", "x"), -1);
	CHECK_INT(err.code, CODE_BAD_REQUEST);
	CHECK_STR(err.text, "pids: \"x\" is not a number");
	/* The next error knows nothing of it. */
	error_usage(&err, "no: field");
	CHECK_STR(err.field, "");
	CHECK_STR(error_detail(&err), "no: field");
	CHECK_INT(error_recode(&err, CODE_FAILED), -1);
	CHECK_INT(err.kind, ERROR_FAILED);
	CHECK_STR(err.text, "no: field");
}

static void a_field_is_renamed(void)
{
	struct error err;
	char longest[200];

	error_field(&err, "net", "net: expected none");
	error_rename(&err, "network");
	CHECK_STR(err.field, "network");
	CHECK_STR(err.text, "network: net: expected none");
	error_rename(&err, "");
	CHECK_STR(err.field, "");
	CHECK_STR(err.text, "net: expected none");
	/* What has no field gets none: its sentence may begin with anything. */
	error_rename(&err, "network");
	CHECK_STR(err.field, "");
	CHECK_STR(err.text, "net: expected none");
	/* Behind a prefix the sentence stays. */
	error_field(&err, "net", "expected none");
	error_prefix(&err, "registry.yaml:1:2");
	error_rename(&err, "network");
	CHECK_STR(err.field, "network");
	CHECK_STR(err.text, "registry.yaml:1:2: net: expected none");
	CHECK_STR(error_detail(&err), err.text);
	/* Longer than there is room for. */
	memset(longest, 'f', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	error_field(&err, longest, "%s", "x");
	CHECK_INT(strlen(err.field), sizeof(err.field) - 1);
	CHECK_STR(error_detail(&err), "x");
	error_rename(&err, "f");
	CHECK_STR(err.text, "f: x");
}

/* What to do about it can be put in other words at another door. */
static void a_remedy_is_found_again(void)
{
	struct error err;

	error_refuse(&err, CODE_NOT_INSTALLED, "language", "X is not here");
	CHECK_INT(error_remedy(&err, "; install it with: ", "make x"), -1);
	CHECK_STR(err.text, "language: X is not here; install it with: make x");
	CHECK_STR(err.text + err.remedy, "; install it with: make x");
	CHECK_STR(err.text + err.with, "make x");
	error_rename(&err, "what");
	CHECK_STR(err.text + err.remedy, "; install it with: make x");
	CHECK_STR(err.text + err.with, "make x");
	error_prefix(&err, "before");
	CHECK_STR(err.text, "before: what: X is not here; install it with: make x");
	CHECK_STR(err.text + err.remedy, "; install it with: make x");
	CHECK_STR(err.text + err.with, "make x");
	error_set(&err, ERROR_FAILED, 0, "another");
	CHECK_INT(err.remedy, 0);
	error_remedy(&err, "; ask again", "");
	CHECK_STR(err.text + err.remedy, "; ask again");
	CHECK_INT(err.with, 0);
}

static void nobody_who_listens(void)
{
	CHECK_INT(error_set(NULL, ERROR_FAILED, 1, "x"), -1);
	CHECK_INT(error_errno(NULL, "x"), -1);
	CHECK_INT(error_usage(NULL, "x"), -1);
	CHECK_INT(error_refuse(NULL, CODE_BUSY, "f", "x"), -1);
	CHECK_INT(error_field(NULL, "f", "x"), -1);
	CHECK_INT(error_recode(NULL, CODE_BUSY), -1);
	CHECK_INT(error_remedy(NULL, "x", "y"), -1);
	CHECK_INT(error_prefix(NULL, "x"), -1);
}

static void long_texts_are_cut_and_terminated(void)
{
	struct error err = { 0 };
	char text[5000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	error_set(&err, ERROR_FAILED, EIO, "%s", text);
	CHECK_INT(strlen(err.text), sizeof(err.text) - 1);
	error_prefix(&err, "%s", text);
	CHECK_INT(strlen(err.text), sizeof(err.text) - 1);
	error_set(&err, ERROR_FAILED, 0, "short");
	error_prefix(&err, "%.1022s", text);
	CHECK_INT(strlen(err.text), sizeof(err.text) - 1);
	CHECK_INT(err.text[1022], ':');
}

int main(void)
{
	RUN(set_with_and_without_errno);
	RUN(errno_is_taken);
	RUN(usage);
	RUN(codes);
	RUN(each_kind_has_a_general_code);
	RUN(a_refusal_has_code_and_field);
	RUN(a_field_is_renamed);
	RUN(a_remedy_is_found_again);
	RUN(context_is_put_in_front);
	RUN(nobody_who_listens);
	RUN(long_texts_are_cut_and_terminated);
	return check_failures != 0;
}
