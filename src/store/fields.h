/* The content of a journal's record: a list of keys and values, which later versions can extend. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Never renumbered: a journal may be older than the program. */
enum field_key {
	FIELD_ID = 1,           /* text */
	FIELD_TIME = 2,         /* number: start, in milliseconds since 1970 */
	FIELD_LANGUAGE = 3,     /* text */
	FIELD_DOOR = 4,         /* text */
	FIELD_CALLER = 5,       /* text */
	FIELD_REQUEST_ID = 6,   /* text */
	FIELD_PROFILE = 7,      /* text */
	FIELD_PLACE = 8,        /* text */
	FIELD_CODE_SIZE = 9,    /* number */
	FIELD_CODE_DIGEST = 10, /* text: SHA-256 in hexadecimal */
	FIELD_WRITER = 11,      /* number: shows others that the writer is alive */
	FIELD_STATUS = 12,      /* text */
	FIELD_EXIT_CODE = 13,   /* number */
	FIELD_EXECUTION = 14,   /* number: run time of the program, in microseconds */
	FIELD_CPU = 15,         /* number: microseconds */
	FIELD_MEMORY = 16,      /* number: peak, in bytes */
	FIELD_QUEUE = 17,       /* number: time in a queue, in microseconds */
	FIELD_START = 18,       /* number: time until the program started, in microseconds */
	FIELD_TOTAL = 19,       /* number: total time including the queue, in microseconds */
	FIELD_WARM = 20,        /* number: 1 or 0 */
	FIELD_LIMIT = 21,       /* text: the limit that ended the run, or "" */
	FIELD_MESSAGE = 22,     /* text: the sentence, or "" */
	FIELD_ERROR_TYPE = 23,  /* text: "SyntaxError", "KeyError"…, or "" */
	FIELD_STDOUT = 24,      /* number: bytes written */
	FIELD_STDERR = 25,      /* number: bytes written */
	FIELD_SPOOLS = 26,  /* number: bits 1 and 2: the spool was written; 4 and 8: it could not be written; 16: files
			       of the program were kept */
	FIELD_KEEP = 27,    /* number: 1: create an artifact */
	FIELD_SUMMARY = 28, /* text: the request as JSON, for the artifact */
	FIELD_ENDED = 29,   /* number: milliseconds since 1970 */
	FIELD_EVENT = 30,   /* text: name of the event */
	FIELD_PID = 31,     /* number: pid of the writer */
	FIELD_SIGNATURE = 32, /* text: equal for equal failures, or "" */
	FIELD_FILE = 33,      /* text: original name of the code's file, or "" */
	FIELD_KEYS
};

enum {
	SPOOL_LOST = 2,     /* shift of a stream's bit in FIELD_SPOOLS: its file could not be written */
	SPOOL_FILES = 16,   /* bit of FIELD_SPOOLS: there is a directory of files that the program left (kept.h) */
	SPOOL_NETWORK = 32, /* the same: there is a file with all connections of the network (spool.h) */
};

struct field_set {
	const char *text[FIELD_KEYS]; /* "" if missing */
	uint64_t number[FIELD_KEYS];  /* 0 if missing */
};

void field_add_text(struct buf *buf, enum field_key key, const char *text);
void field_add_number(struct buf *buf, enum field_key key, uint64_t number);
/* Parses a record; the texts are not copied. False if the data is invalid. */
bool field_parse(const char *data, size_t size, struct field_set *out);
