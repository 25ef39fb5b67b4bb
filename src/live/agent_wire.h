/*
 * What the keeper and the agent in a container say to each other.
 *
 * Two pipes: orders go in by the agent's stdin, answers come out of its stdout.
 * Both carry frames, a head and at most AGENT_FRAME_MAX bytes. Numbers are the
 * machine's own: both ends are of one build on one machine.
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
 * Every order has a number, larger than the one before; its first frame opens
 * it, and its START or KILL is answered by exactly one ENDED, after which the
 * agent has nothing of it left but files: every process is dead and reaped.
 * What still arrives for an order that has ended is dropped. A step that fails
 * before START is told by ENDED, so the keeper need not wait for answers.
 *
 * Nobody buffers without bound: of the input at most AGENT_WINDOW bytes are on
 * their way until TAKEN says otherwise, and the agent reads no output while its
 * last frames are not written.
 *
 * The agent is trusted no more than what it starts: the keeper checks every
 * number. New kinds get new numbers, and AGENT_VERSION grows with them: a kind
 * that an end does not know is an error, never skipped.
 */
#pragma once

#include <stdint.h>

enum {
	AGENT_VERSION = 1,
	AGENT_FRAME_MAX = 64 << 10, /* bytes after a head */
	AGENT_WINDOW = 64 << 10,    /* bytes of input that the agent holds at most */
	AGENT_WORDS_MAX = 2 << 20,  /* bytes of all arguments, and of all variables: as the kernel takes */
	AGENT_WORD_COUNT = 4096,    /* how many of each */
	AGENT_PATH_MAX = 4096,      /* bytes of a path, its end included */
};

/* Where it is in the box. */
#define AGENT_PATH "/opt/emberbox/agent"

enum agent_kind {
	/* orders */
	AGENT_FILE = 1,  /* struct agent_file and the path: what is there is replaced, directories are made */
	AGENT_DATA,      /* more of that file */
	AGENT_WORDS,     /* arguments, each with its NUL; may be cut anywhere */
	AGENT_NAMES,     /* variables, the same */
	AGENT_START,     /* the working directory; run it */
	AGENT_INPUT,     /* for its stdin */
	AGENT_INPUT_END, /* there is no more */
	AGENT_KILL,      /* end it */
	/* answers */
	AGENT_HELLO = 64, /* struct agent_hello; order 0 */
	AGENT_STARTED,    /* the program runs */
	AGENT_STDOUT,     /* what it wrote; never empty */
	AGENT_STDERR,     /* the same */
	AGENT_TAKEN,      /* uint32_t: bytes of input that are out of the agent's hands */
	AGENT_ENDED,      /* struct agent_ended */
};

struct agent_head {
	uint32_t kind;  /* enum agent_kind */
	uint32_t order; /* whose */
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

/* What the agent failed at. */
enum agent_step {
	AGENT_STEP_NONE,
	AGENT_STEP_FILE,  /* to write a file */
	AGENT_STEP_WORDS, /* to hold the arguments or variables */
	AGENT_STEP_START, /* to start the program */
	AGENT_STEPS,
};

struct agent_ended {
	int32_t status;    /* of the program, as waitpid() gives it */
	uint32_t step;     /* enum agent_step: other than NONE when it was never started */
	int32_t errnum;    /* why */
	uint32_t spare;    /* 0 */
	uint64_t cpu_usec; /* of all that it started */
	uint64_t memory;   /* what the largest process had resident at most; bytes */
};

/* How the agent exits when it has nobody to speak to, or does not understand. */
enum agent_exit {
	AGENT_EXIT_DONE = 0,  /* the orders ended */
	AGENT_EXIT_PLACE = 3, /* it is not the first process of a box */
	AGENT_EXIT_SETUP = 4, /* it could not set itself up */
	AGENT_EXIT_ORDER = 5, /* an order that it does not understand */
};
