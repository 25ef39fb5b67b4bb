/* A spec as the JSON of a REQUEST. */
#pragma once

#include "base/buf.h"
#include "schema/spec.h"

#include <stdbool.h>

enum {
	REQUEST_FILES_MAX = 16 << 20, /* bytes of files altogether that are sent */
};

struct request_extra {
	const char *language; /* as the user wrote it; NULL: the spec's */
	const char *profile;  /* of our registry, which is in the spec already; NULL: none */
	const char *session;  /* where it is to run as a cell; NULL: in a box of its own */
	const char *policy;   /* as the user wrote it; NULL: the spec's, unless that is off */
	bool stream;          /* output is wanted as it comes */
	bool input;           /* stdin comes in frames */
};

/*
 * Files of the host are read and sent as contents. False: this cannot go to the
 * service as it is (a project, a directory for output, too many bytes, words
 * that are not UTF-8, a file that cannot be read), and a run in this process has
 * to tell, or to do it.
 */
bool request_json(const struct spec *spec, const struct request_extra *extra, struct buf *out);
