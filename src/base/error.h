/*
 * Errors: what *we* failed at, never what the program did.
 *
 * A function that can fail takes `struct error *err` last, fills it, and
 * returns -1. A caller adds context with error_prefix() and passes it on. Only
 * src/cli prints. Between clone and exec nothing of this is used: code there
 * returns -1 with errno set, and the parent makes the sentence.
 *
 * A program may branch on the kind, the code and the field. The text is for
 * people: no program logic looks into it.
 */
#pragma once

#include <stdint.h>

/* Who has to do something about it. The values are the exit codes of commands, and those of enum eb_errc. */
enum error_kind {
	ERROR_NONE = 0,       /* nothing went wrong */
	ERROR_USAGE = 2,      /* the request is invalid */
	ERROR_FAILED = 125,   /* emberbox or the host failed, or lacks a layer of isolation that was not waived */
	ERROR_BLOCKED = 126,  /* a policy forbids it, or nobody agreed to it */
	ERROR_LANGUAGE = 127, /* the language is unknown or not installed */
};

/* Which error it is: error_codes.def has a row for each. */
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
	int errnum;           /* the errno behind it, or 0; it is reported, and decides nothing but retries */
	uint16_t detail;      /* where the text goes on after "FIELD: "; 0: it does not begin with the field */
	uint16_t remedy;      /* where the text says what to do, in the API's words; 0: nowhere */
	uint16_t with;        /* where in that the part begins that holds in any words: a command; 0: no such part */
	char field[ERROR_FIELD_MAX]; /* which part of the request is wrong, as the failing function names it; "": none
				      */
	char text[ERROR_TEXT_MAX];   /* one sentence for a person, no newline */
};

#define EB_PRINTF(a, b) __attribute__((format(printf, a, b)))

/* All of these return -1, so that `return error_set(…)` reads well. With an errnum, its description is appended after
 * a colon. The code is the general one of the kind. */
int error_set(struct error *err, enum error_kind kind, int errnum, const char *format, ...) EB_PRINTF(4, 5);
int error_errno(struct error *err, const char *format, ...) EB_PRINTF(2, 3);
int error_usage(struct error *err, const char *format, ...) EB_PRINTF(2, 3);
/* A code of the list, with the kind of its row. With a field, the text becomes "FIELD: …". */
int error_refuse(struct error *err, enum error_code code, const char *field, const char *format, ...) EB_PRINTF(4, 5);
/* The same with CODE_BAD_REQUEST: a value that is invalid. */
int error_field(struct error *err, const char *field, const char *format, ...) EB_PRINTF(3, 4);
/* The same with errno, as error_errno() does. */
int error_field_errno(struct error *err, const char *field, const char *format, ...) EB_PRINTF(3, 4);
/* Adds to the end of the sentence, if there is room. */
void error_hint(struct error *err, const char *hint);
/* The same with what to do about it, as a caller of the API can. Another door may have other words, and puts them in
 * the place of `lead`; `with` ("" for none) is what it still needs. Returns -1. */
int error_remedy(struct error *err, const char *lead, const char *with);
int error_prefix(struct error *err, const char *format, ...) EB_PRINTF(2, 3);
/* Another code, and its kind, for the same sentence: an inner error that means something else to the caller. */
int error_recode(struct error *err, enum error_code code);
/* The field as the caller knows it, also at the beginning of the sentence if it stands there. Without a field, the
 * sentence stays as it is. */
void error_rename(struct error *err, const char *field);
/* The field, and the sentence stays as it is. */
int error_about(struct error *err, const char *field);
/* The sentence without the field's name at its beginning. */
const char *error_detail(const struct error *err);

/* The row of a code: CODE_NONE has the name "" and the status 200. */
const char *error_code_name(enum error_code code);
int error_code_status(enum error_code code);
enum error_kind error_code_kind(enum error_code code);
const char *error_code_meaning(enum error_code code);
/* CODE_NONE when there is no such name. */
enum error_code error_code_find(const char *name);
