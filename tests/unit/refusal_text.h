/* What a keeper or a store refuses with, as the front tells it to HTTP. */
#pragma once

#include "daemon/message.h"

#include <stdio.h>

static inline const char *refusal_text(const void *body, size_t size)
{
	static char text[2 * sizeof(struct message_refusal)];
	char message[2 * ERROR_TEXT_MAX];
	struct error err;
	size_t used = 0;

	refusal_unpack(body, size, &err);
	for (const char *at = err.text; *at; at++) {
		if (*at == '"' || *at == '\\')
			message[used++] = '\\';
		message[used++] = *at;
	}
	message[used] = '\0';
	snprintf(text, sizeof(text), "{\"error\":{\"code\":\"%s\",\"message\":\"%s\"%s%s%s}}",
		 error_code_name(err.code), message, err.field[0] ? ",\"field\":\"" : "", err.field,
		 err.field[0] ? "\"" : "");
	return text;
}
