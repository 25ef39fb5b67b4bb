/* The public face of an error: kinds become exit codes, the sentence is copied. */
#pragma once

#include "base/error.h"

#include <emberbox.h>

#include <stdio.h>

/* Returns -1, so that `return public_error(err, &inner)` reads well. `to` may be NULL. */
static inline int public_error(eb_error *to, const struct error *from)
{
	if (!to)
		return -1;
	to->code = from->kind == ERROR_USAGE      ? EB_BAD_REQUEST
		   : from->kind == ERROR_LANGUAGE ? EB_NO_LANGUAGE
						  : EB_FAILED;
	to->errnum = from->errnum;
	snprintf(to->message, sizeof(to->message), "%s", from->text);
	return -1;
}
