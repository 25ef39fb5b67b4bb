#include "base/variables.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

void variables_keep(const char *const *names, char *out[VARIABLES_MAX + 1])
{
	size_t count = 0;

	for (; *names && count < VARIABLES_MAX; names++) {
		const size_t size = strlen(*names);

		for (char **variable = environ; variable && *variable; variable++) {
			if (strncmp(*variable, *names, size) != 0 || (*variable)[size] != '=')
				continue;
			out[count++] = *variable;
			break;
		}
	}
	out[count] = NULL;
}
