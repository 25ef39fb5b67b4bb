/*
 * explain.yaml: text to struct runtime_explain. Pure. A mistake is told as
 * definition.h tells it: file, line, column and what was expected.
 *
 *	like: javascript             words and kinds of another language come after its own
 *	start: '^Traceback '         a trace begins here; what stands before it is of another
 *	stop: '^Caused by: '         and ends here
 *	frames: ['…(?<file>…)…']     a line of the trace: file, line, column, function, library
 *	newest: last                 or first, as without it
 *	errors: ['^(?<type>\w+)']    of the line that says why it failed: type, message
 *	type: panic                  of an error that names none
 *	looks: ['^def \w+\(.*\):$']  lines of code that hardly another language has
 *	names: [print, len]          that it knows by itself
 *	packages: {cv2: opencv-python}      homes: {sqrt: math.h}
 *	kinds:
 *	  missing-module:
 *	    type: [ImportError]      match: 'No module named (?<name>\S+)'    text: …    code: …
 *	    near: name               among: files
 *	    say: ['Install {package}.', 'Install {name}.']    fix: '{close}'    docs: https://…
 *
 * In `say` and `fix` stand the groups of the kind's patterns, and {close}, {package}, {home}, {files}, {type}, {file},
 * {line}, {code}; the first sentence of which all are known is said.
 */
#pragma once

#include "base/arena.h"
#include "language/runtime.h"

int definition_explain_read(const char *where, const char *text, size_t size, struct arena *arena,
			    struct runtime_explain *out, struct error *err);
