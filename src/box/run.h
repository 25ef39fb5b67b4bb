/* A request from its spec to its result. */
#pragma once

#include "box/result.h"

/* -1 when there is nothing to report but the error; otherwise *out is the result, of status "error" if the launch
 * failed. */
int run_spec(const struct spec *spec, const struct supervise_io *io, struct result **out, struct error *err);

/* Makes what the language is prepared with, if it is not there yet. */
int run_prepare(const struct spec *spec, struct error *err);

/* The plan as text; the caller frees it. */
int run_explain(const struct spec *spec, char **text, struct error *err);
