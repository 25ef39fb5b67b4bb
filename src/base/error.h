/*
 * Errors: what *we* failed at, never what the program did.
 *
 * A function that can fail takes `struct error *err` last, fills it, and
 * returns -1. A caller adds context with error_prefix() and passes the error
 * on. Only src/cli prints. Code between clone and exec does not use this: it
 * returns -1 with errno set, and the parent makes the sentence.
 *
 * Code may branch on the kind, the code and the field. The text is for people:
 * no program logic looks into it.
 */
#pragma once

#include <stdint.h>

/* The kind of an error. The values are the exit codes of commands, and those of enum eb_errc. */
enum error_kind {
	ERROR_NONE = 0,       /* nothing went wrong */
	ERROR_USAGE = 2,      /* the request is invalid */
	ERROR_FAILED = 125,   /* emberbox or the host failed, or lacks a layer of isolation that was not waived */
	ERROR_BLOCKED = 126,  /* a policy forbids the run, or nobody approved it */
	ERROR_LANGUAGE = 127, /* the language is unknown or not installed */
};

/* The codes: error_codes.def has a row for each. */
enum error_code {
	CODE_NONE, /* nothing went wrong */
#define ERROR_CODE(id, name, status, exit, meaning) CODE_##id,
#include "base/error_codes.def"
#undef ERROR_CODE
	CODE_COUNT
};

enum {
	ERROR_FIELD_MAX = 64, /* bytes of a field's name, its NUL included */
	ERROR_TEXT_MAX = 1024 /* bytes of a sentence, its NUL included */
};

struct error {
	enum error_kind kind; /* decides the exit code */
	enum error_code code; /* decides the API's code and the HTTP status */
	int errnum;           /* the cause, or 0; it is reported, and only decides whether to retry */
	uint16_t detail;      /* offset of the text after "FIELD: "; 0: the text does not begin with the field */
	uint16_t remedy;      /* offset of the remedy, in the API's words; 0: there is none */
	uint16_t with; /* offset, in the remedy, of the command that holds for every interface; 0: there is none */
	char field[ERROR_FIELD_MAX]; /* the invalid part of the request, as the failing function names it; "": none */
	char text[ERROR_TEXT_MAX];   /* one sentence, no newline */
};

#define EB_PRINTF(a, b) __attribute__((format(printf, a, b)))

/* These functions return -1, for `return error_set(…)`. If errnum is not 0, its description is appended after a colon.
 * The code is the general one of the kind. */
int error_set(struct error *err, enum error_kind kind, int errnum, const char *format, ...) EB_PRINTF(4, 5);
int error_errno(struct error *err, const char *format, ...) EB_PRINTF(2, 3);
int error_usage(struct error *err, const char *format, ...) EB_PRINTF(2, 3);
/* Sets a code, and the kind of its row. With a field, the text becomes "FIELD: …". */
int error_refuse(struct error *err, enum error_code code, const char *field, const char *format, ...) EB_PRINTF(4, 5);
/* error_refuse() with CODE_BAD_REQUEST: a value is invalid. */
int error_field(struct error *err, const char *field, const char *format, ...) EB_PRINTF(3, 4);
/* error_field() with errno, as error_errno() does. */
int error_field_errno(struct error *err, const char *field, const char *format, ...) EB_PRINTF(3, 4);
/* Appends to the sentence, if there is room. */
void error_hint(struct error *err, const char *hint);
/* Appends a remedy for a caller of the API. Another interface replaces `lead` with its own words; `with` ("" for none)
 * is the part that it keeps. Returns -1. */
int error_remedy(struct error *err, const char *lead, const char *with);
int error_prefix(struct error *err, const char *format, ...) EB_PRINTF(2, 3);
/* Replaces the code and kind, keeps the sentence: an inner error that means something else to the caller. */
int error_recode(struct error *err, enum error_code code);
/* Replaces the field with the caller's name for it, also at the beginning of the sentence. Without a field, the
 * sentence is unchanged. */
void error_rename(struct error *err, const char *field);
/* Sets the field and keeps the sentence. */
int error_about(struct error *err, const char *field);
/* The sentence without the field name at its beginning. */
const char *error_detail(const struct error *err);

/* The row of a code. CODE_NONE has the name "" and the status 200. */
const char *error_code_name(enum error_code code);
int error_code_status(enum error_code code);
enum error_kind error_code_kind(enum error_code code);
const char *error_code_meaning(enum error_code code);
/* CODE_NONE if there is no such name. */
enum error_code error_code_find(const char *name);
