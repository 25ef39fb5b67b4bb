/*
 * The playground's files, as the build has packed them: one constant block
 * without pointers, so that nothing of it is relocated or read before somebody
 * asks for it. tools/web makes it:
 *
 *	emberbox-site 1
 *	PATH TAB TYPE TAB ETAG TAB forever|anew TAB OFFSET TAB SIZE TAB GZIP_OFFSET TAB GZIP_SIZE
 *	…
 *	an empty line, and then the bytes; offsets count from there
 *
 * A GZIP_SIZE of 0: it is not smaller that way. A program that was built where
 * npm's packages are not to be had has a pack without files.
 */
#pragma once

#include "http/http.h"

#include <stdbool.h>
#include <stddef.h>

/* What the program was built with. The library has an empty one. */
extern const unsigned char site_pack_data[];
extern const size_t site_pack_size;

struct site_file {
	struct http_text type;     /* its Content-Type */
	struct http_text etag;     /* with its quotes */
	struct http_text plain;    /* its bytes */
	struct http_text squeezed; /* the same by gzip; data NULL: there is none */
	bool forever;              /* its name changes with its content */
};

/* The file of that path, which begins with a slash. False: there is none. */
bool site_find(struct http_text pack, const char *path, struct site_file *out);
/* Whether a client that sent this Accept-Encoding (data NULL: none) takes gzip. */
bool site_takes_gzip(struct http_text accept);
/* Whether If-None-Match (data NULL: none) names this tag, weak or not, or any. */
bool site_is_known(struct http_text match, struct http_text etag);
