/* What came of a run, in numbers: the keeper sends it to the front beside the result, for metrics and the log. */
#pragma once

#include <stdint.h>

/* verdict.limit as a number. */
enum outcome_limit {
	OUTCOME_LIMIT_NONE,
	OUTCOME_LIMIT_TIMEOUT,
	OUTCOME_LIMIT_CPU_TIME,
	OUTCOME_LIMIT_MEMORY,
	OUTCOME_LIMIT_OUTPUT,
	OUTCOME_LIMITS
};

/* How a run ended, as the keeper tells the front beside the result. */
struct outcome {
	char language[24];                 /* its name; not terminated when it is as long as this */
	uint8_t status;                    /* enum status of result/verdict.h */
	uint8_t warm;                      /* it found a box ready */
	uint8_t limit;                     /* enum outcome_limit */
	uint8_t unrecorded;                /* it could not be recorded, and went on */
	uint32_t exit_code;                /* as `emberbox run` exits */
	uint64_t usec;                     /* from the keeper's receipt to the result */
	uint64_t run_usec;                 /* of that, the program; 0: it never started */
	uint64_t memory;                   /* its peak; 0: not known */
	uint32_t remedy;                   /* of a language that is not there: in error_message, as in struct error */
	uint32_t with;                     /* the same */
	uint64_t net_allowed, net_refused; /* connections, and names that were refused */
	uint64_t net_sent, net_received;   /* bytes, as the program sees them */
};

/* verdict.limit ("timeout", "cpu_time", "memory", "output" or NULL) as a number, and back; NULL for none and for what
 * is no such number. */
uint8_t outcome_limit(const char *name);
const char *outcome_limit_name(uint8_t limit);
