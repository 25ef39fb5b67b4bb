/*
 * What the keeper and a session's driver say to each other: emberbox-session-driver(7).
 * Pure: bytes in, messages out, and the other way round.
 *
 * A message is a line of words with one blank between them, and then so many
 * bytes of payload as its third word says. What comes from a driver is a
 * stranger's: the program that it runs may have written it.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	DRIVER_LINE_MAX = 160,        /* bytes of a line, its end included */
	DRIVER_SECRET = 33,           /* bytes of a secret, its NUL included */
	DRIVER_PAYLOAD_MAX = 8 << 20, /* bytes of one payload from a driver */
	DRIVER_ANSWER_MAX = 16 << 20, /* bytes of all that it says to one cell */
	DRIVER_SMALL_MAX = 256 << 10, /* bytes of a payload that is made a tree of: all but outputs */
	DRIVER_NAME_MAX = 64,         /* bytes of its name, the NUL included */
	DRIVER_FD = 3,                /* its end of the channel */
};

enum driver_word {
	DRIVER_READY,  /* it waits for its first cell */
	DRIVER_OUTPUT, /* a rich result */
	DRIVER_ERROR,  /* what the cell failed by */
	DRIVER_DONE,   /* the cell is over */
	DRIVER_REPLY,  /* to complete and inspect */
	DRIVER_WORDS
};

/* What came from a driver. */
struct driver_message {
	enum driver_word word;      /* which */
	char secret[DRIVER_SECRET]; /* that it repeats; of ready "" */
	const char *payload;        /* in the reader, terminated; good until the next call */
	size_t size;                /* of it */
};

/* Bytes of a driver's, until they are messages. */
struct driver_reader {
	struct buf in; /* as they came */
	size_t used;   /* of them, those that were given out */
};

/* The line without its end; false: it is none. Payload is left alone. */
bool driver_line(const char *line, size_t size, struct driver_message *out);

void driver_feed(struct driver_reader *reader, const void *data, size_t size);
/* The next whole message: 1. 0: there is none yet. -1: what came is none, or memory ran out. */
int driver_next(struct driver_reader *reader, struct driver_message *out);
/* Whether all that came was given out. */
bool driver_is_empty(const struct driver_reader *reader);
void driver_reader_free(struct driver_reader *reader);

/* How the cell's input comes. */
enum driver_input {
	DRIVER_INPUT_NONE,  /* there is none */
	DRIVER_INPUT_PIPE,  /* by the box's pipe */
	DRIVER_INPUT_WHOLE, /* behind the code */
};

/* The messages of the keeper's. `count` is the number of the cell, from 1; `cursor` an offset in bytes. */
void driver_execute(struct buf *out, const char *secret, uint64_t count, const void *code, size_t size,
		    enum driver_input how, const void *input, size_t input_size);
/* Said before the signal: whose cell it is meant for. */
void driver_interrupt(struct buf *out, const char *secret);
void driver_ask(struct buf *out, bool inspect, const char *secret, const void *code, size_t size, size_t cursor);

/* A secret by chance; -1 with errno. */
int driver_secret(char secret[DRIVER_SECRET]);

/* What a driver says of itself when it is ready. */
struct driver_abilities {
	char name[DRIVER_NAME_MAX]; /* of the driver; as much of it as fits */
	bool completes;             /* it answers complete… */
	bool inspects;              /* …and inspect */
	bool hears;                 /* it takes interrupts */
};

/* The payloads of `ready` and `done`: false when it is none. They are read where they stand, and nothing is made of
 * them: a process for each cell would cost more than the cell. */
bool driver_ready(const char *payload, size_t size, struct driver_abilities *out);
bool driver_done(const char *payload, size_t size, bool *ok, int *exit_code);

/* Bytes of UTF-8 to the number of characters that begin before them, and back; clamped to the text. */
size_t driver_chars(const char *text, size_t size, size_t bytes);
size_t driver_bytes(const char *text, size_t size, size_t chars);
