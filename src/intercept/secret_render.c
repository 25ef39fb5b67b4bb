#include "intercept/secret_render.h"

#include "base/base64.h"
#include "base/own.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

bool secret_target_has(const struct secret_target *target)
{
	return target->secrets && net_secrets_cover(target->secrets, target->name, target->port);
}

const struct net_secret *secret_of_field(const struct secret_target *target, struct http_text name)
{
	for (size_t i = 0; target->secrets && target->tls && i < target->secrets->count; i++) {
		const struct net_secret *secret = &target->secrets->items[i];

		if (secret->header && http_text_is(name, secret->header) &&
		    net_secret_covers(secret, target->name, target->port))
			return secret;
	}
	return NULL;
}

static const char *placeholder_find(struct http_text text)
{
	return memmem(text.data, text.size, NET_SECRET_PREFIX, strlen(NET_SECRET_PREFIX));
}

/* Why the placeholder at `at` cannot be replaced here; false: it can. */
static bool placeholder_is_misplaced(const struct secret_target *target, const char *what, const char *at, size_t left,
				     const struct net_secret **secret, char sentence[SECRET_SENTENCE])
{
	const struct net_secret *found = target->secrets ? net_secret_at(target->secrets, at, left) : NULL;

	*secret = found;
	if (!found)
		snprintf(sentence, SECRET_SENTENCE,
			 "%s contains a placeholder of a secret that this program does not have; read it from the "
			 "environment again",
			 what);
	else if (!net_secret_covers(found, target->name, target->port))
		snprintf(sentence, SECRET_SENTENCE,
			 "%s contains the placeholder of the secret %s, which is not for %.253s:%u; it is only for "
			 "%s%.253s:%u%s",
			 what, found->name, target->name, target->port, found->hosts[0].below ? "*." : "",
			 found->hosts[0].name, found->hosts[0].port, found->host_count > 1 ? " and others" : "");
	else if (!target->tls)
		snprintf(sentence, SECRET_SENTENCE,
			 "%s contains the placeholder of the secret %s, which is only sent over TLS; use https", what,
			 found->name);
	else if (found->header)
		snprintf(sentence, SECRET_SENTENCE,
			 "%s contains the placeholder of the secret %s, which is only sent in the header %s; that is "
			 "set for "
			 "each request, leave the placeholder out",
			 what, found->name, found->header);
	else
		return false;
	return true;
}

int secret_refuse(const struct secret_target *target, const char *what, struct http_text text,
		  char sentence[SECRET_SENTENCE])
{
	const char *at = text.size > 0 ? placeholder_find(text) : NULL;
	const struct net_secret *secret;

	if (!at)
		return 0;
	if (!placeholder_is_misplaced(target, what, at, text.size - (size_t)(at - text.data), &secret, sentence))
		snprintf(sentence, SECRET_SENTENCE,
			 "%s contains the placeholder of the secret %s, which is only replaced in the values of "
			 "headers; send "
			 "it in a header",
			 what, secret->name);
	return -1;
}

static int text_render(const struct secret_target *target, const char *what, struct http_text text, struct buf *out,
		       bool *replaced, char sentence[SECRET_SENTENCE])
{
	while (text.size > 0) {
		const char *at = placeholder_find(text);
		const struct net_secret *secret;
		size_t before = at ? (size_t)(at - text.data) : text.size;

		buf_add(out, text.data, before);
		if (!at)
			break;
		if (placeholder_is_misplaced(target, what, at, text.size - before, &secret, sentence))
			return -1;
		buf_add(out, secret->value, secret->size);
		*replaced = true;
		before += NET_PLACEHOLDER_SIZE;
		text.data += before;
		text.size -= before;
	}
	return 0;
}

/* The credentials of "Basic dXNlcjpwYXNz", whatever padding they have; false: they are none. */
static bool basic_decode(struct http_text value, struct buf *out)
{
	_cleanup_buf_ struct buf padded = { 0 };
	unsigned char *text;
	size_t from = 5, to = value.size;
	ssize_t size;

	if (value.size < 7 || strncasecmp(value.data, "Basic", 5) != 0 || value.data[5] != ' ')
		return false;
	while (from < to && value.data[from] == ' ')
		from++;
	while (to > from && value.data[to - 1] == '=')
		to--;
	buf_add(&padded, value.data + from, to - from);
	buf_add(&padded, "==", (4 - padded.size % 4) % 4 % 3);
	text = malloc(padded.size + 1);
	size = text && !padded.failed ? base64_decode(padded.data, padded.size, text) : -1;
	if (size > 0)
		buf_add(out, text, (size_t)size);
	free(text);
	return size > 0;
}

static int basic_render(const struct secret_target *target, const char *what, const struct buf *plain,
			struct secret_mask *mask, struct buf *out, char sentence[SECRET_SENTENCE])
{
	_cleanup_buf_ struct buf rendered = { 0 };
	const size_t from = out->size + 6;
	bool replaced = false;
	int result = 0;

	if (text_render(target, what, (struct http_text){ plain->data, plain->size }, &rendered, &replaced, sentence) <
	    0)
		return -1;
	buf_text(out, "Basic ");
	base64_add(out, rendered.data, rendered.size);
	if (rendered.failed || out->failed || secret_mask_add(mask, out->data + from, out->size - from) < 0) {
		snprintf(sentence, SECRET_SENTENCE, "there are too many different credentials on one connection");
		result = -1;
	}
	if (rendered.data)
		explicit_bzero(rendered.data, rendered.size);
	return result;
}

int secret_render(const struct secret_target *target, struct http_text name, struct http_text value,
		  struct secret_mask *mask, struct buf *out, char sentence[SECRET_SENTENCE])
{
	_cleanup_buf_ struct buf plain = { 0 };
	bool replaced = false;
	char what[96];

	snprintf(what, sizeof(what), "the header %.*s", name.size > 64 ? 64 : (int)name.size, name.data);
	if (basic_decode(value, &plain) && !plain.failed &&
	    placeholder_find((struct http_text){ plain.data, plain.size }))
		return basic_render(target, what, &plain, mask, out, sentence);
	return text_render(target, what, value, out, &replaced, sentence);
}

void secret_fields_add(const struct secret_target *target, struct buf *out)
{
	for (size_t i = 0; target->secrets && target->tls && i < target->secrets->count; i++) {
		const struct net_secret *secret = &target->secrets->items[i];
		const char *place;

		if (!secret->header || !net_secret_covers(secret, target->name, target->port))
			continue;
		place = strstr(secret->format, "{}");
		buf_printf(out, "%s: %.*s", secret->header, (int)(place - secret->format), secret->format);
		buf_add(out, secret->value, secret->size);
		buf_printf(out, "%s\r\n", place + 2);
	}
}
