/* Conversion of internal errors to the public struct: the kind becomes the exit code, the sentence is copied. */
#pragma once

#include "base/error.h"

#include <emberbox.h>

#include <stdbool.h>
#include <stdio.h>

struct recorded_by;
struct spec;

/* Returns -1, for `return public_error(err, &inner)`. `to` may be NULL. */
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

/* Internal access for code that is built with the library: the command line's client. */
const struct spec *request_spec(const eb_request *request);
/* eb_execute() with more details of the caller than eb_options.record; `by` NULL: as eb_options.record says. */
int request_execute(const eb_request *request, const eb_options *options, const struct recorded_by *by,
		    eb_result **result, eb_error *err);
/* Bytes of the run's files that are kept in the state directory. */
uint64_t result_kept(const eb_result *result);
/* Whether the policy reported warnings. */
bool result_has_warnings(const eb_result *result);
/* eb_result_of_error() for a run that the policy blocked, with a record of it. */
eb_result *request_blocked(const eb_request *request, const eb_error *err, const struct recorded_by *by);
