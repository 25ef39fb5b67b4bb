#include "daemon/outcome.h"

#include <stddef.h>
#include <string.h>

static const char *const limit_names[OUTCOME_LIMITS] = {
	[OUTCOME_LIMIT_TIMEOUT] = "timeout",
	[OUTCOME_LIMIT_CPU_TIME] = "cpu_time",
	[OUTCOME_LIMIT_MEMORY] = "memory",
	[OUTCOME_LIMIT_OUTPUT] = "output",
};

uint8_t outcome_limit(const char *name)
{
	for (uint8_t i = OUTCOME_LIMIT_TIMEOUT; name && i < OUTCOME_LIMITS; i++)
		if (strcmp(name, limit_names[i]) == 0)
			return i;
	return OUTCOME_LIMIT_NONE;
}

const char *outcome_limit_name(uint8_t limit)
{
	return limit < OUTCOME_LIMITS ? limit_names[limit] : NULL;
}
