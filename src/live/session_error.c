/* What the driver told of a cell's error, into its result. */
#include "live/session_parts.h"

#include "live/driver_told.h"

#include <string.h>

void session_take_error(struct result *result, const struct buf *error)
{
	struct driver_told *told;

	if (error->size == 0)
		return;
	told = driver_told_read(
		&(struct driver_told_input){ .what = DRIVER_TOLD_ERROR, .payload = error->data, .size = error->size });
	if (!told)
		return;
	result->told = strdup(told->text);
	if (result->told) {
		memcpy(result->told_type, told->type, sizeof(told->type));
		memcpy(result->told_message, told->message, sizeof(told->message));
		memcpy(result->told_file, told->file, sizeof(told->file));
		result->told_line = told->line;
		result->told_column = told->column;
	}
	driver_told_free(told);
}
