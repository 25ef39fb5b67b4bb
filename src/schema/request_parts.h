/* What the files that read a request's JSON share: request.c, request_network.c. */
#pragma once

#include "schema/request.h"

#include <jansson.h>

/* The state of parsing a request. */
struct reading {
	struct buf *list;              /* the resulting list */
	struct request_manner *manner; /* the resulting manner */
	struct spec checks;            /* checks small values, for errors that name the field */
	bool stdin_given;              /* the request has `stdin` */
	const char *cell_limit;        /* name of a given limit that only cells have; NULL: none */
	const char *file;              /* the current file of `files`; NULL: none */
	struct error *err;             /* the first error */
};

struct request_field {
	const char *name; /* name in JSON */
	const char *key;  /* key in the list */
	int (*read)(struct reading *r, const struct request_field *field, const char *name,
		    json_t *value); /* checks the value and puts it into the list */
};

__attribute__((format(printf, 3, 4))) int request_fault(struct reading *r, const char *name, const char *format, ...);
/* "expected WHAT, not a list". */
int request_expected(struct reading *r, const char *name, const char *what, const json_t *value);
/* A text without NUL bytes: those would be cut where they become words. */
int request_text_of(struct reading *r, const char *name, const json_t *value, const char **out);
/* A value that spec_set() takes. Its error names the spec's key; the request's field has another name. */
int request_put_checked(struct reading *r, const char *name, const char *key, const char *value);
/* As spec_set() reads numbers. `out` has TEXT_NUMBER_MAX bytes. */
const char *request_number_text(const json_t *value, char *out);
/* The members of an object, each by its row; `before` stands before their names in errors. */
int request_read_fields(struct reading *r, json_t *object, const char *before, const struct request_field *fields);

/* Of fields.def. */
int request_read_text(struct reading *r, const struct request_field *field, const char *name, json_t *value);
int request_read_secrets(struct reading *r, const struct request_field *field, const char *name, json_t *value);
int request_read_network(struct reading *r, const struct request_field *field, const char *name, json_t *value);
