/*
 * The protocol between the keeper and a session's driver, which is described in
 * emberbox-session-driver(7). Pure functions: bytes to messages and back.
 *
 * A message is a line of words with one blank between them, followed by the
 * payload, whose size is the third word. Bytes from a driver are untrusted: the
 * program that it runs may have written them.
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
	DRIVER_READY,  /* the driver waits for its first cell */
	DRIVER_OUTPUT, /* a rich result */
	DRIVER_ERROR,  /* the cell's error */
	DRIVER_DONE,   /* the cell is over */
	DRIVER_REPLY,  /* the answer to complete or inspect */
	DRIVER_WORDS
};

/* A message from a driver. */
struct driver_message {
	enum driver_word word;      /* its kind */
	char secret[DRIVER_SECRET]; /* the secret that it repeats; "" with ready */
	const char *payload;        /* in the reader's buffer, with a NUL; valid until the next call */
	size_t size;                /* bytes of the payload */
};

/* Bytes from a driver that are not whole messages yet. */
struct driver_reader {
	struct buf in; /* the bytes */
	size_t used;   /* bytes of them that were returned as messages */
};

/* Parses a line without its newline; `payload` is not set. False: the line is invalid. */
bool driver_line(const char *line, size_t size, struct driver_message *out);

void driver_feed(struct driver_reader *reader, const void *data, size_t size);
/* 1: the next whole message. 0: none is whole yet. -1: the bytes are not a message, or there is no memory. */
int driver_next(struct driver_reader *reader, struct driver_message *out);
/* Whether all bytes were returned as messages. */
bool driver_is_empty(const struct driver_reader *reader);
void driver_reader_free(struct driver_reader *reader);

/* How the cell gets its input. */
enum driver_input {
	DRIVER_INPUT_NONE,  /* it has none */
	DRIVER_INPUT_PIPE,  /* from the box's stdin */
	DRIVER_INPUT_WHOLE, /* in the payload, after the code */
};

/* Messages to the driver. `count` is the number of the cell, from 1; `cursor` is an offset in bytes. */
void driver_execute(struct buf *out, const char *secret, uint64_t count, const void *code, size_t size,
		    enum driver_input how, const void *input, size_t input_size);
/* Is sent before the signal and says for which cell the signal is. */
void driver_interrupt(struct buf *out, const char *secret);
void driver_ask(struct buf *out, bool inspect, const char *secret, const void *code, size_t size, size_t cursor);

/* Makes a secret of random bytes. -1 with errno. */
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

/* An offset in bytes of UTF-8 to one in characters, and back; at most the length of the text. */
size_t driver_chars(const char *text, size_t size, size_t bytes);
size_t driver_bytes(const char *text, size_t size, size_t chars);
