/*
 * What a reader is asked and answers, over one stream socket.
 *
 * A reader is a process that parses the source of strangers (reader/). It is not
 * believed: every number of its answer is checked by report_decode().
 */
#pragma once

#include <stdint.h>

enum {
	WIRE_ASK = 0x3152u,        /* begins a question */
	WIRE_TELL = 0x3153u,       /* begins an answer */
	WIRE_SOURCE_MAX = 4 << 20, /* bytes of source that are looked at */
	WIRE_RECORDS_MAX = 2000,   /* of one answer; what is more is cut */
	WIRE_NAME_MAX = 200,       /* bytes of a name */
	WIRE_TELL_MAX = 512 << 10, /* bytes of the records */
};

struct wire_ask {
	uint32_t magic; /* WIRE_ASK */
	uint32_t size;  /* bytes of source that follow */
};

enum wire_state {
	WIRE_WHOLE, /* all is told */
	WIRE_CUT,   /* there was more than is told */
	WIRE_HARD,  /* it took too long to parse */
};

struct wire_tell {
	uint32_t magic; /* WIRE_TELL */
	uint32_t state; /* enum wire_state */
	uint32_t count; /* records */
	uint32_t size;  /* bytes of them */
};

enum wire_kind {
	WIRE_SYNTAX,  /* the name is what was found or is missing */
	WIRE_IMPORT,  /* the name is the module */
	WIRE_FINDING, /* `rule` is which; the name is what was called */
	WIRE_KINDS
};

/* How an import is written. */
enum wire_how {
	HOW_PLAIN,    /* import x, #include, require at the top */
	HOW_FROM,     /* from x import y */
	HOW_DYNAMIC,  /* __import__("x"), import("x") */
	HOW_COMPUTED, /* the same of what only the run will know; the name is the expression */
	HOW_SOURCE,   /* a shell's source and . */
	HOWS
};

/* What is missing rather than wrong, in `how` of WIRE_SYNTAX. */
enum {
	SYNTAX_MISSING = 1
};

/* Followed by its name, which has no NUL. */
struct wire_record {
	uint32_t kind;   /* enum wire_kind */
	uint32_t how;    /* enum wire_how, or SYNTAX_MISSING */
	uint32_t rule;   /* of WIRE_FINDING: the place in the language's rules */
	uint32_t line;   /* from 1 */
	uint32_t column; /* from 1, in bytes */
	uint32_t size;   /* of the name */
};
