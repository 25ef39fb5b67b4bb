#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;     /* the API's error.code */
	int status;           /* HTTP status */
	enum error_kind kind; /* the exit code */
	const char *meaning;  /* one sentence */
} rows[CODE_COUNT] = {
	[CODE_NONE] = { "", 200, ERROR_NONE, "" },
#define ERROR_CODE(id, name, status, exit, meaning) [CODE_##id] = { name, status, (enum error_kind)(exit), meaning },
#include "base/error_codes.def"
#undef ERROR_CODE
};

static bool code_known(enum error_code code)
{
	return (unsigned)code < CODE_COUNT;
}

const char *error_code_name(enum error_code code)
{
	return rows[code_known(code) ? code : CODE_FAILED].name;
}

int error_code_status(enum error_code code)
{
	return rows[code_known(code) ? code : CODE_FAILED].status;
}

enum error_kind error_code_kind(enum error_code code)
{
	return rows[code_known(code) ? code : CODE_FAILED].kind;
}

const char *error_code_meaning(enum error_code code)
{
	return rows[code_known(code) ? code : CODE_FAILED].meaning;
}

enum error_code error_code_find(const char *name)
{
	for (int code = CODE_NONE + 1; code < CODE_COUNT; code++)
		if (strcmp(rows[code].name, name) == 0)
			return (enum error_code)code;
	return CODE_NONE;
}

/* The code of an error that has no more specific code. */
static enum error_code general_code(enum error_kind kind)
{
	switch (kind) {
	case ERROR_NONE:
		return CODE_NONE;
	case ERROR_USAGE:
		return CODE_BAD_REQUEST;
	case ERROR_BLOCKED:
		return CODE_FORBIDDEN_SCOPE;
	case ERROR_LANGUAGE:
		return CODE_UNKNOWN_LANGUAGE;
	default:
		return CODE_FAILED;
	}
}

static void set_text(struct error *err, enum error_code code, int errnum, const char *field, const char *format,
		     va_list args)
{
	size_t used;

	err->code = code;
	err->kind = error_code_kind(code);
	err->errnum = errnum;
	err->remedy = err->with = 0;
	snprintf(err->field, sizeof(err->field), "%s", field);
	used = *err->field ? (size_t)snprintf(err->text, sizeof(err->text), "%s: ", err->field) : 0;
	err->detail = (uint16_t)used;
	vsnprintf(err->text + used, sizeof(err->text) - used, format, args);
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
		set_text(err, general_code(kind), errnum, "", format, args);
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
		set_text(err, CODE_FAILED, errnum, "", format, args);
		va_end(args);
	}
	return -1;
}

int error_usage(struct error *err, const char *format, ...)
{
	va_list args;

	if (err) {
		va_start(args, format);
		set_text(err, CODE_BAD_REQUEST, 0, "", format, args);
		va_end(args);
	}
	return -1;
}

int error_refuse(struct error *err, enum error_code code, const char *field, const char *format, ...)
{
	va_list args;

	if (err) {
		va_start(args, format);
		set_text(err, code, 0, field, format, args);
		va_end(args);
	}
	return -1;
}

int error_field(struct error *err, const char *field, const char *format, ...)
{
	va_list args;

	if (err) {
		va_start(args, format);
		set_text(err, CODE_BAD_REQUEST, 0, field, format, args);
		va_end(args);
	}
	return -1;
}

int error_field_errno(struct error *err, const char *field, const char *format, ...)
{
	int errnum = errno;
	va_list args;

	if (err) {
		va_start(args, format);
		set_text(err, CODE_BAD_REQUEST, errnum, field, format, args);
		va_end(args);
	}
	return -1;
}

/* Adjusts an offset into the text after the text in front of it grew or shrank. 0: a truncated text no longer contains
 * it. */
static uint16_t place_move(const struct error *err, uint16_t place, size_t before, size_t after)
{
	size_t now = place + after - before;

	return place == 0 || now > strlen(err->text) ? 0 : (uint16_t)now;
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
	err->detail = 0;
	err->remedy = place_move(err, err->remedy, 0, used + 2);
	err->with = place_move(err, err->with, 0, used + 2);
	return -1;
}

void error_hint(struct error *err, const char *hint)
{
	size_t used = strlen(err->text);

	snprintf(err->text + used, sizeof(err->text) - used, "%s", hint);
}

int error_remedy(struct error *err, const char *lead, const char *with)
{
	if (err) {
		err->remedy = (uint16_t)strlen(err->text);
		error_hint(err, lead);
		err->with = *with ? (uint16_t)strlen(err->text) : 0;
		error_hint(err, with);
	}
	return -1;
}

int error_recode(struct error *err, enum error_code code)
{
	if (err) {
		err->code = code;
		err->kind = error_code_kind(code);
	}
	return -1;
}

int error_about(struct error *err, const char *field)
{
	if (err) {
		snprintf(err->field, sizeof(err->field), "%s", field);
		err->detail = 0;
	}
	return -1;
}

const char *error_detail(const struct error *err)
{
	return err->text + err->detail;
}

void error_rename(struct error *err, const char *field)
{
	char tail[sizeof(err->text)];
	const size_t before = err->detail;

	if (!err->field[0])
		return;
	snprintf(err->field, sizeof(err->field), "%s", field);
	if (!err->detail)
		return;
	memcpy(tail, err->text, sizeof(tail));
	snprintf(err->text, sizeof(err->text), "%s%s%s", err->field, err->field[0] ? ": " : "", tail + err->detail);
	err->detail = (uint16_t)(err->field[0] ? strlen(err->field) + 2 : 0);
	err->remedy = place_move(err, err->remedy, before, err->detail);
	err->with = place_move(err, err->with, before, err->detail);
}
