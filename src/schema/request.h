/*
 * The three forms of a request: untrusted JSON, a flat list of keys and values
 * for the keeper, and a spec.
 *
 * The list's keys are those of spec_set(), without paths of the host (project,
 * output, file), which the service does not accept, and with five more: code,
 * stdin, and for files with content `path`, `content` and optionally `mode`.
 * The front checks a request by decoding it into a spec, and the keeper decodes
 * it again. A record is the sizes of key and value (32 bits each, in host
 * order), then key and value, each followed by a NUL that the size excludes.
 */
#pragma once

#include "base/buf.h"
#include "schema/spec.h"

#include <stdbool.h>

enum {
	REQUEST_FIELD_MAX = ERROR_FIELD_MAX, /* bytes of a field's name */
	REQUEST_VALUES_MAX = 16384, /* commas, colons and brackets in the JSON of a request, outside of strings */
};

enum {
	REQUEST_NAME_MAX = 64,     /* bytes of a profile's or a container's name, its NUL included */
	REQUEST_CONFIRM_MAX = 128, /* bytes of a confirmation, its NUL included */
};

/* How to run a request, in addition to what the spec has. */
struct request_manner {
	bool stream;                      /* send output during the run */
	bool input;                       /* stdin arrives in frames */
	bool tty;                         /* the program has a terminal */
	bool command;                     /* in a container: the code is a shell command */
	bool nested[LIMITS];              /* the limit was in `limits` */
	char profile[REQUEST_NAME_MAX];   /* a profile of the registry or the language; "": none */
	char applied[REQUEST_NAME_MAX];   /* a profile of the client's own registry that the client applied; "": none */
	char container[REQUEST_NAME_MAX]; /* container to run in; "": a new box */
	char session[REQUEST_NAME_MAX];   /* session to run in, as a cell; "": none */
	char confirm[REQUEST_CONFIRM_MAX]; /* confirmation that a person approved; "": nobody was asked */
};

/* Whether a tree of the text would have few values. Each value costs a hundred bytes, so a small text could cost much
 * memory. */
bool request_has_few_values(const char *json, size_t size);
/* Parses JSON and appends to the list. ERROR_USAGE with the invalid field, or ERROR_FAILED (no memory). Does not access
 * the host. */
int request_parse(const char *json, size_t size, struct buf *list, struct request_manner *manner, struct error *err);
/* The first value of the key in the list, terminated, or NULL. request_put() appends a record, which can move the
 * values. */
const char *request_value(const void *list, size_t size, const char *key);
void request_put(struct buf *list, const char *key, const char *value);
/* Applies the list to an initialized spec, which copies the values. */
int request_decode(const void *list, size_t size, struct spec *spec, struct error *err);
/* Writes into `why` what is wrong with a field's name. False if it is a field of a request or one of `own` (NULL at the
 * end), the path's additional fields. */
bool request_unknown(const char *typed, const char *const *own, char *why, size_t size);
/* request_unknown() for an object with these fields, ended by NULL. */
bool field_unknown(const char *typed, const char *const *names, char *why, size_t size);
/* Replaces the spec's key in an error of request_decode(), or of a later step, by the field of this request, or by ""
 * if it has none. With `in_text`, the sentence begins with that name too, for clients that wrote JSON. Our own client
 * has the names of its options. */
void request_name_field(struct error *err, const struct request_manner *manner, bool in_text);
