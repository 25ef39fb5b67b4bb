/*
 * The protocol between the keeper and the agent in a container.
 *
 * Two pipes: orders go in by the agent's stdin, answers come out of its stdout.
 * Both carry frames: a head and at most AGENT_FRAME_MAX bytes. Numbers have the
 * machine's byte order, because both ends are of one build on one machine.
 *
 * The agent greets with AGENT_HELLO. Then one order at a time:
 *
 *	keeper                             agent
 *	FILE, DATA…, FILE, DATA…           (writes them)
 *	WORDS…, NAMES…                     (keeps them)
 *	START                              STARTED
 *	INPUT…, INPUT_END                  TAKEN… for the input, STDOUT…, STDERR…
 *	KILL, perhaps                      ENDED
 *
 * Every order has a number, which is larger than that of the order before. The
 * first frame with a number opens the order. The agent answers START or KILL by
 * exactly one ENDED. Then only files are left of the order: each of its
 * processes is dead and reaped. Frames that still arrive for an order that has
 * ended are dropped. The agent reports a step that failed before START by ENDED,
 * so the keeper need not wait for answers.
 *
 * Buffers are bounded. At most AGENT_WINDOW bytes of input are in transit until
 * TAKEN acknowledges them, and the agent reads no output before its last frames
 * are written.
 *
 * The agent is trusted no more than the programs that it starts: the keeper
 * checks every number. A new kind of frame gets a new number, and AGENT_VERSION
 * grows with it. A frame of an unknown kind is an error and is never skipped.
 */
#pragma once

#include <stdint.h>

enum {
	AGENT_VERSION = 1,
	AGENT_FRAME_MAX = 64 << 10, /* bytes after a head */
	AGENT_WINDOW = 64 << 10,    /* bytes of input that the agent holds at most */
	AGENT_WORDS_MAX = 2 << 20,  /* bytes of all arguments, and of all variables: the bounds of the kernel */
	AGENT_WORD_COUNT = 4096,    /* the number of arguments, and of variables */
	AGENT_PATH_MAX = 4096,      /* bytes of a path, its NUL included */
};

/* The path of the agent in the box. */
#define AGENT_PATH "/opt/emberbox/agent"

enum agent_kind {
	/* orders */
	AGENT_FILE = 1,  /* struct agent_file and the path: replaces the file, makes its directories */
	AGENT_DATA,      /* bytes of that file */
	AGENT_WORDS,     /* arguments, each with its NUL; frames may end anywhere in them */
	AGENT_NAMES,     /* variables, likewise */
	AGENT_START,     /* the working directory: start the program */
	AGENT_INPUT,     /* bytes for the program's stdin */
	AGENT_INPUT_END, /* the input has ended */
	AGENT_KILL,      /* end the order */
	/* answers */
	AGENT_HELLO = 64, /* struct agent_hello; order 0 */
	AGENT_STARTED,    /* the program runs */
	AGENT_STDOUT,     /* bytes of the program's stdout; never empty */
	AGENT_STDERR,     /* bytes of its stderr; never empty */
	AGENT_TAKEN,      /* uint32_t: bytes of input that the agent has passed on or dropped */
	AGENT_ENDED,      /* struct agent_ended */
};

struct agent_head {
	uint32_t kind;  /* enum agent_kind */
	uint32_t order; /* number of the order */
	uint32_t size;  /* bytes that follow */
	uint32_t spare; /* 0 */
};

struct agent_hello {
	uint32_t version; /* AGENT_VERSION */
	uint32_t spare;   /* 0 */
};

struct agent_file {
	uint32_t mode; /* permissions */
};

/* The step that failed. */
enum agent_step {
	AGENT_STEP_NONE,
	AGENT_STEP_FILE,  /* to write a file */
	AGENT_STEP_WORDS, /* to hold the arguments or variables */
	AGENT_STEP_START, /* to start the program */
	AGENT_STEPS,
};

struct agent_ended {
	int32_t status;    /* of the program, as waitpid() gives it */
	uint32_t step;     /* enum agent_step; not NONE: the program was never started */
	int32_t errnum;    /* why the step failed */
	uint32_t spare;    /* 0 */
	uint64_t cpu_usec; /* of all processes of the order */
	uint64_t memory;   /* bytes; the largest resident set of a process */
};

/* Exit codes of the agent. */
enum agent_exit {
	AGENT_EXIT_DONE = 0,  /* the keeper closed the pipe of orders */
	AGENT_EXIT_PLACE = 3, /* the agent is not the first program of a box */
	AGENT_EXIT_SETUP = 4, /* its set-up failed */
	AGENT_EXIT_ORDER = 5, /* an order was invalid */
};
