/*
 * Parses explain.yaml into struct runtime_explain. Pure. A mistake is reported as in definition.h: file, line, column
 * and the expected value.
 *
 *	like: javascript             words and kinds of another language come after its own
 *	start: '^Traceback '         a trace begins here; lines before it are ignored
 *	stop: '^Caused by: '         and ends here
 *	frames: ['…(?<file>…)…']     a line of the trace: file, line, column, function, library
 *	newest: last                 or first, the default
 *	errors: ['^(?<type>\w+)']    the line that says why it failed: type, message
 *	type: panic                  the type of an error without one
 *	looks: ['^def \w+\(.*\):$']  lines of code that hardly occur in another language
 *	names: [print, len]          names that the language defines
 *	packages: {cv2: opencv-python}      homes: {sqrt: math.h}
 *	kinds:
 *	  missing-module:
 *	    type: [ImportError]      match: 'No module named (?<name>\S+)'    text: …    code: …
 *	    near: name               among: files
 *	    say: ['Install {package}.', 'Install {name}.']    fix: '{close}'    docs: https://…
 *
 * `say` and `fix` may contain the groups of the kind's patterns, and {close}, {package}, {home}, {files}, {type},
 * {file}, {line}, {code}. The first sentence whose values are all known is used.
 */
#pragma once

#include "base/arena.h"
#include "language/runtime.h"

int definition_explain_read(const char *where, const char *text, size_t size, struct arena *arena,
			    struct runtime_explain *out, struct error *err);
