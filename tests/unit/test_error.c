/* Errors: the kind, the errno, the sentence, and what does not fit into it. */
#include "../check.h"

#include "base/error.h"

static void set_with_and_without_errno(void)
{
	struct error err = { 0 };

	CHECK_INT(error_set(&err, ERROR_LAYER, 0, "no %s", "landlock"), -1);
	CHECK_INT(err.kind, ERROR_LAYER);
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

static void nobody_who_listens(void)
{
	CHECK_INT(error_set(NULL, ERROR_FAILED, 1, "x"), -1);
	CHECK_INT(error_errno(NULL, "x"), -1);
	CHECK_INT(error_usage(NULL, "x"), -1);
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
	RUN(context_is_put_in_front);
	RUN(nobody_who_listens);
	RUN(long_texts_are_cut_and_terminated);
	return check_failures != 0;
}
