/*
 * The protocol between a reader and its client, over a stream socket.
 *
 * A reader is a process that parses untrusted source (reader/), so its answers
 * are not trusted: report_decode() validates every number.
 */
#pragma once

#include <stdint.h>

enum {
	WIRE_ASK = 0x3152u,        /* starts a question */
	WIRE_TELL = 0x3153u,       /* starts an answer */
	WIRE_SOURCE_MAX = 4 << 20, /* maximum bytes of a source */
	WIRE_RECORDS_MAX = 2000,   /* maximum records of an answer; others are dropped */
	WIRE_NAME_MAX = 200,       /* bytes of a name */
	WIRE_TELL_MAX = 512 << 10, /* bytes of all records */
};

struct wire_ask {
	uint32_t magic; /* WIRE_ASK */
	uint32_t size;  /* bytes of source after this header */
};

enum wire_state {
	WIRE_WHOLE, /* the answer is complete */
	WIRE_CUT,   /* records were dropped */
	WIRE_HARD,  /* parsing took too long */
};

struct wire_tell {
	uint32_t magic; /* WIRE_TELL */
	uint32_t state; /* enum wire_state */
	uint32_t count; /* number of records */
	uint32_t size;  /* bytes of the records */
};

enum wire_kind {
	WIRE_SYNTAX,  /* the name is the unexpected or missing token */
	WIRE_IMPORT,  /* the name is the module */
	WIRE_FINDING, /* `rule` is the broken rule; the name is the called function */
	WIRE_KINDS
};

/* The form of an import. */
enum wire_how {
	HOW_PLAIN,    /* import x, #include, require at the top */
	HOW_FROM,     /* from x import y */
	HOW_DYNAMIC,  /* __import__("x"), import("x") */
	HOW_COMPUTED, /* HOW_DYNAMIC with a computed name; the name is the expression */
	HOW_SOURCE,   /* source and . of a shell */
	HOWS
};

/* In `how` of WIRE_SYNTAX: a token is missing rather than wrong. */
enum {
	SYNTAX_MISSING = 1
};

/* Followed by its name, without a NUL. */
struct wire_record {
	uint32_t kind;   /* enum wire_kind */
	uint32_t how;    /* enum wire_how, or SYNTAX_MISSING */
	uint32_t rule;   /* of WIRE_FINDING: the index in the language's rules */
	uint32_t line;   /* from 1 */
	uint32_t column; /* from 1, in bytes */
	uint32_t size;   /* bytes of the name */
};
