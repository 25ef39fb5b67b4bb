#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void set_text(struct error *err, enum error_kind kind, int errnum, const char *format, va_list args)
{
	size_t used;

	err->kind = kind;
	err->errnum = errnum;
	vsnprintf(err->text, sizeof(err->text), format, args);
	used = strlen(err->text);
	if (errnum)
		snprintf(err->text + used, sizeof(err->text) - used, ": %s",
			 strerrordesc_np(errnum) ?: "unknown error");
}

int error_set(struct error *err, enum error_kind kind, int errnum, const char *format, ...)
{
	va_list args;

	if (err) {
		va_start(args, format);
		set_text(err, kind, errnum, format, args);
		va_end(args);
	}
	return -1;
}

int error_errno(struct error *err, const char *format, ...)
{
	int errnum = errno;
	va_list args;

	if (err) {
		va_start(args, format);
		set_text(err, ERROR_FAILED, errnum, format, args);
		va_end(args);
	}
	return -1;
}

int error_usage(struct error *err, const char *format, ...)
{
	va_list args;

	if (err) {
		va_start(args, format);
		set_text(err, ERROR_USAGE, 0, format, args);
		va_end(args);
	}
	return -1;
}

int error_prefix(struct error *err, const char *format, ...)
{
	char tail[sizeof(err->text)];
	va_list args;
	size_t used;

	if (!err)
		return -1;
	memcpy(tail, err->text, sizeof(tail));
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	used = strlen(err->text);
	snprintf(err->text + used, sizeof(err->text) - used, ": %s", tail);
	return -1;
}

void error_hint(struct error *err, const char *hint)
{
	size_t used = strlen(err->text);

	snprintf(err->text + used, sizeof(err->text) - used, "%s", hint);
}
