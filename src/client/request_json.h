/* Converts a spec to the JSON of a REQUEST. */
#pragma once

#include "base/buf.h"
#include "schema/spec.h"

#include <stdbool.h>

enum {
	REQUEST_FILES_MAX = 16 << 20, /* maximum bytes of all files that are sent */
};

struct request_extra {
	const char *language; /* as the user wrote it; NULL: use the spec's */
	const char *profile;  /* of the client's registry, applied to the spec; NULL: none */
	const char *session;  /* session to run in as a cell; NULL: a new box */
	const char *policy;   /* as the user wrote it; NULL: the spec's, unless that is off */
	bool stream;          /* send output during the run */
	bool input;           /* stdin is sent in frames */
};

/*
 * Reads files of the host and sends them as contents. False if the request
 * cannot be sent to the service (a project, an output directory, too many
 * bytes, words that are not UTF-8, an unreadable file); a run in this process
 * then executes it or reports the error.
 */
bool request_json(const struct spec *spec, const struct request_extra *extra, struct buf *out);

/* The value of `network` alone. False: a rule is not UTF-8. */
bool request_network_json(const struct net_policy *policy, struct buf *out);
