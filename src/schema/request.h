/*
 * A request in the three forms it has on its way: JSON from a stranger, a flat
 * list of keys and values for the keeper, and a spec.
 *
 * The list's keys are those of spec_set() except for paths of the host (project,
 * output, file), which nobody reaches through the service, and five more: code,
 * stdin, and for files given by content `path`, `content` and if it was said
 * `mode`. So the front checks a request by making a spec of it, and the keeper
 * by making it again.
 * A record is the sizes of key and value (32 bits each, of this host) and then
 * both, each with a NUL behind it that is not counted.
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

/* What is said of a request beside what is to be run. */
struct request_manner {
	bool stream;                       /* output is wanted as it comes */
	bool input;                        /* stdin comes in frames */
	bool tty;                          /* the program has a terminal */
	bool command;                      /* in a container: the code is a command of its shell */
	bool nested[LIMITS];               /* the limit was given within `limits` */
	char profile[REQUEST_NAME_MAX];    /* of the registry or of the language; "": none */
	char applied[REQUEST_NAME_MAX];    /* a profile of the client's own registry, which it has used; "": none */
	char container[REQUEST_NAME_MAX];  /* where it is to run; "": in a box of its own */
	char session[REQUEST_NAME_MAX];    /* the same, as a cell */
	char confirm[REQUEST_CONFIRM_MAX]; /* that a person agreed; "": nobody was asked */
};

/* Whether the text has few enough values to be made a tree of: a small text could mean a great many, each of which
 * costs a hundred bytes. */
bool request_has_few_values(const char *json, size_t size);
/* JSON to the list, which is added to. Errors are ERROR_USAGE with the field that is wrong (or ERROR_FAILED: no
 * memory); nothing of the host is looked at. */
int request_parse(const char *json, size_t size, struct buf *list, struct request_manner *manner, struct error *err);
/* The first value of the key in the list, terminated, or NULL; and one more, which moves the values. */
const char *request_value(const void *list, size_t size, const char *key);
void request_put(struct buf *list, const char *key, const char *value);
/* The list to a spec that was initialised. The spec copies what it keeps. */
int request_decode(const void *list, size_t size, struct spec *spec, struct error *err);
/* What is wrong with a field's name, into `why` for a sentence; false: nothing, a request has it, or it is one of `own`
 * (NULL at the end), which a path has beside. */
bool request_unknown(const char *typed, const char *const *own, char *why, size_t size);
/* The same of an object with these fields, and a NULL after the last. */
bool field_unknown(const char *typed, const char *const *names, char *why, size_t size);
/* An error of request_decode(), or of what is made of the spec, names the spec's key: it becomes the name of the field
 * that this request gave, or "" when the request has none for it. With `in_text` the sentence begins with that name
 * too: for clients that wrote JSON. Our own client has options, and their names. */
void request_name_field(struct error *err, const struct request_manner *manner, bool in_text);
