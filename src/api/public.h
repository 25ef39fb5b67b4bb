/* The public face of an error: kinds become exit codes, the sentence is copied. */
#pragma once

#include "base/error.h"

#include <emberbox.h>

#include <stdbool.h>
#include <stdio.h>

struct recorded_by;
struct spec;

/* Returns -1, so that `return public_error(err, &inner)` reads well. `to` may be NULL. */
static inline int public_error(eb_error *to, const struct error *from)
{
	if (!to)
		return -1;
	_Static_assert((int)ERROR_USAGE == (int)EB_BAD_REQUEST && (int)ERROR_FAILED == (int)EB_FAILED &&
			       (int)ERROR_BLOCKED == (int)EB_BLOCKED && (int)ERROR_LANGUAGE == (int)EB_NO_LANGUAGE,
		       "a kind is an exit code");
	to->code = (eb_errc)from->kind;
	to->errnum = from->errnum;
	snprintf(to->message, sizeof(to->message), "%s", from->text);
	return -1;
}

/* For what is built with the library and speaks for it elsewhere: the command line's client. */
const struct spec *request_spec(const eb_request *request);
/* eb_execute() for who knows more of the caller than eb_options.record says; `by` NULL: as that says. */
int request_execute(const eb_request *request, const eb_options *options, const struct recorded_by *by,
		    eb_result **result, eb_error *err);
/* Bytes of files that the run left and that are kept in the state directory. */
uint64_t result_kept(const eb_result *result);
/* Whether the policy saw something that it only tells of. */
bool result_has_warnings(const eb_result *result);
/* eb_result_of_error() of a run that was not allowed, written down as one. */
eb_result *request_blocked(const eb_request *request, const eb_error *err, const struct recorded_by *by);
