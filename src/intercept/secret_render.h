/*
 * Puts secrets into the fields of a request. Pure.
 *
 * Fail closed: a placeholder that cannot be replaced where it stands (of another host's secret, of one with a header of
 * its own, of none that is known, in the target or a name, without TLS) refuses the request.
 */
#pragma once

#include "http/http.h"
#include "intercept/secret_mask.h"
#include "net/net_secret.h"

enum {
	SECRET_SENTENCE = 1024 /* bytes of a sentence, its NUL included */
};

/* Where a request goes. */
struct secret_target {
	const struct net_secrets *secrets; /* of the box; NULL: none */
	const char *name;                  /* canonical */
	uint16_t port;
	bool tls;
};

/* Whether some secret is for this host. */
bool secret_target_has(const struct secret_target *target);
/* The secret that sets this field; NULL: none, or not there. */
const struct net_secret *secret_of_field(const struct secret_target *target, struct http_text name);

/* The field's value with secrets in the place of placeholders, also inside "Basic " credentials. What a server could
 * echo of it beside the secret itself goes into the mask. -1: `sentence` says why the request is refused. */
int secret_render(const struct secret_target *target, struct http_text name, struct http_text value,
		  struct secret_mask *mask, struct buf *out, char sentence[SECRET_SENTENCE]);
/* A text in which no placeholder may be. `what`: "the target" */
int secret_refuse(const struct secret_target *target, const char *what, struct http_text text,
		  char sentence[SECRET_SENTENCE]);
/* The lines of the fields that secrets set. */
void secret_fields_add(const struct secret_target *target, struct buf *out);
