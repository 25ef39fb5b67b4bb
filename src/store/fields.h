/* What a record of the journal says: a list of keys with values, so that a later version can say more. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Never renumbered: a journal may be older than the program. */
enum field_key {
	FIELD_ID = 1,           /* text */
	FIELD_TIME = 2,         /* number: milliseconds since 1970 when it began */
	FIELD_LANGUAGE = 3,     /* text */
	FIELD_DOOR = 4,         /* text */
	FIELD_CALLER = 5,       /* text */
	FIELD_REQUEST_ID = 6,   /* text */
	FIELD_PROFILE = 7,      /* text */
	FIELD_PLACE = 8,        /* text */
	FIELD_CODE_SIZE = 9,    /* number */
	FIELD_CODE_DIGEST = 10, /* text: SHA-256 in hexadecimal */
	FIELD_WRITER = 11,      /* number: by which others see that it lives */
	FIELD_STATUS = 12,      /* text */
	FIELD_EXIT_CODE = 13,   /* number */
	FIELD_EXECUTION = 14,   /* number: microseconds of the program */
	FIELD_CPU = 15,         /* number: microseconds */
	FIELD_MEMORY = 16,      /* number: bytes at most */
	FIELD_QUEUE = 17,       /* number: microseconds in a queue */
	FIELD_START = 18,       /* number: microseconds until the program ran */
	FIELD_TOTAL = 19,       /* number: microseconds of all, the queue included */
	FIELD_WARM = 20,        /* number: 1 or 0 */
	FIELD_LIMIT = 21,       /* text: the limit that ended it, or "" */
	FIELD_MESSAGE = 22,     /* text: the sentence, or "" */
	FIELD_ERROR_TYPE = 23,  /* text: "SyntaxError", "KeyError"…, or "" */
	FIELD_STDOUT = 24,      /* number: bytes written */
	FIELD_STDERR = 25,      /* number: bytes written */
	FIELD_SPOOLS = 26,      /* number: 1 and 2 for files that were written, 4 and 8 for such that could not be,
				   16 for files that the program left */
	FIELD_KEEP = 27,        /* number: 1 when an artifact is to be made */
	FIELD_SUMMARY = 28,     /* text: JSON of what was asked, for the artifact */
	FIELD_ENDED = 29,       /* number: milliseconds since 1970 */
	FIELD_EVENT = 30,       /* text: what happened */
	FIELD_PID = 31,         /* number: of the writer */
	FIELD_SIGNATURE = 32,   /* text: the same for the same failure, or "" */
	FIELD_FILE = 33,        /* text: what the code's file was called where it came from, or "" */
	FIELD_KEYS
};

enum {
	SPOOL_LOST = 2,   /* a stream's bit in FIELD_SPOOLS, shifted by this: its file could not be written */
	SPOOL_FILES = 16, /* a bit of it: there is a directory of files that the program left (kept.h) */
};

struct field_set {
	const char *text[FIELD_KEYS]; /* "" for what was not said */
	uint64_t number[FIELD_KEYS];  /* 0 for what was not said */
};

void field_add_text(struct buf *buf, enum field_key key, const char *text);
void field_add_number(struct buf *buf, enum field_key key, uint64_t number);
/* The texts stay where they are. False: they are not as they were written. */
bool field_parse(const char *data, size_t size, struct field_set *out);
