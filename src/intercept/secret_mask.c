#include "intercept/secret_mask.h"

#include "base/base64.h"
#include "base/own.h"

#include <string.h>

void secret_mask_init(struct secret_mask *mask)
{
	mask->count = 0;
	for (size_t i = 0; i < ARRAY_SIZE(mask->first); i++)
		mask->first[i] = -1;
}

void secret_mask_free(struct secret_mask *mask)
{
	for (size_t i = 0; i < mask->count; i++) {
		explicit_bzero(mask->texts[i].data, mask->texts[i].size);
		free(mask->texts[i].data);
	}
	secret_mask_init(mask);
}

int secret_mask_add(struct secret_mask *mask, const char *text, size_t size)
{
	int *first;
	char *copy;

	if (size < NET_SECRET_VALUE_MIN)
		return 0;
	first = &mask->first[(unsigned char)text[0]];
	for (int i = *first; i >= 0; i = mask->texts[i].next)
		if (mask->texts[i].size == size && memcmp(mask->texts[i].data, text, size) == 0)
			return 0;
	copy = mask->count < SECRET_MASK_TEXTS ? malloc(size) : NULL;
	if (!copy)
		return -1;
	memcpy(copy, text, size);
	mask->texts[mask->count].data = copy;
	mask->texts[mask->count].size = size;
	mask->texts[mask->count].next = *first;
	*first = (int)mask->count++;
	return 0;
}

/* The text in base64, as it stands in the encoding of something that has it after 0, 1 or 2 bytes (modulo 3): of its
 * first and last digit only those that depend on nothing else. */
static int mask_add_base64(struct secret_mask *mask, const char *text, size_t size, size_t before)
{
	_cleanup_buf_ struct buf plain = { 0 }, encoded = { 0 };
	const size_t from = (before * 8 + 5) / 6, to = (before + size) * 8 / 6;
	int result;

	buf_add(&plain, "\0", before);
	buf_add(&plain, text, size);
	base64_add(&encoded, plain.data, plain.size);
	if (plain.failed || encoded.failed || to <= from)
		return -1;
	result = secret_mask_add(mask, encoded.data + from, to - from);
	/* The alphabet of URLs. */
	for (size_t i = from; i < to; i++) {
		char *c = &encoded.data[i];

		*c = *c == '+' ? '-' : *c == '/' ? '_' : *c;
	}
	if (result == 0)
		result = secret_mask_add(mask, encoded.data + from, to - from);
	explicit_bzero(plain.data, plain.size);
	explicit_bzero(encoded.data, encoded.size);
	return result;
}

static int mask_add_percent(struct secret_mask *mask, const char *text, size_t size, const char *hex)
{
	_cleanup_buf_ struct buf out = { 0 };
	int result;

	for (size_t i = 0; i < size; i++) {
		const unsigned char c = (unsigned char)text[i];

		if ((c | 0x20) >= 'a' && (c | 0x20) <= 'z')
			buf_add(&out, &text[i], 1);
		else if ((c >= '0' && c <= '9') || (c && strchr("-._~", c)))
			buf_add(&out, &text[i], 1);
		else
			buf_add(&out, (char[]){ '%', hex[c >> 4], hex[c & 15] }, 3);
	}
	result = out.failed ? -1 : secret_mask_add(mask, out.data, out.size);
	explicit_bzero(out.data, out.size);
	return result;
}

static int mask_add_json(struct secret_mask *mask, const char *text, size_t size, bool slashes)
{
	_cleanup_buf_ struct buf out = { 0 };
	int result;

	for (size_t i = 0; i < size; i++) {
		if (text[i] == '"' || text[i] == '\\' || (slashes && text[i] == '/'))
			buf_add(&out, "\\", 1);
		buf_add(&out, &text[i], 1);
	}
	result = out.failed ? -1 : secret_mask_add(mask, out.data, out.size);
	explicit_bzero(out.data, out.size);
	return result;
}

int secret_mask_add_secret(struct secret_mask *mask, const struct net_secret *secret)
{
	if (secret_mask_add(mask, secret->placeholder, NET_PLACEHOLDER_SIZE) < 0 ||
	    secret_mask_add(mask, secret->value, secret->size) < 0)
		return -1;
	for (size_t before = 0; before < 3; before++)
		if (mask_add_base64(mask, secret->value, secret->size, before) < 0)
			return -1;
	if (mask_add_percent(mask, secret->value, secret->size, "0123456789ABCDEF") < 0 ||
	    mask_add_percent(mask, secret->value, secret->size, "0123456789abcdef") < 0)
		return -1;
	return mask_add_json(mask, secret->value, secret->size, false) < 0
		       ? -1
		       : mask_add_json(mask, secret->value, secret->size, true);
}

/* What begins at `data`: how many bytes of texts; *partial: one could begin there that the bytes are not enough for. */
static size_t mask_match(const struct secret_mask *mask, const char *data, size_t size, bool *partial)
{
	size_t most = 0;

	for (int i = mask->first[(unsigned char)*data]; i >= 0; i = mask->texts[i].next) {
		const size_t length = mask->texts[i].size;

		if (memcmp(data, mask->texts[i].data, length < size ? length : size) != 0)
			continue;
		if (length > size)
			*partial = true;
		else if (length > most)
			most = length;
	}
	return most;
}

/* How many bytes are decided; those that belong to a text are covered. */
static size_t mask_run(const struct secret_mask *mask, char *data, size_t size, bool last, size_t *covered)
{
	size_t until = *covered, at;

	for (at = 0; at < size; at++) {
		if (mask->first[(unsigned char)data[at]] >= 0) {
			bool partial = false;
			const size_t found = mask_match(mask, data + at, size - at, &partial);

			if (partial && !last)
				break;
			if (at + found > until)
				until = at + found;
		}
		if (at < until)
			data[at] = '*';
	}
	*covered = until > at ? until - at : 0;
	return at;
}

void secret_masker_take(struct secret_masker *masker, const struct secret_mask *mask, const char *data, size_t size,
			bool last, struct buf *out)
{
	struct buf *held = &masker->held;
	size_t done;

	buf_add(held, data, size);
	if (held->failed) {
		out->failed = true;
		return;
	}
	done = held->size > 0 ? mask_run(mask, held->data, held->size, last, &masker->covered) : 0;
	buf_add(out, held->data, done);
	if (done > 0) {
		memmove(held->data, held->data + done, held->size - done);
		held->size -= done;
	}
}

void secret_masker_free(struct secret_masker *masker)
{
	if (masker->held.data)
		explicit_bzero(masker->held.data, masker->held.size);
	buf_free(&masker->held);
	masker->covered = 0;
}

void secret_mask_apply(const struct secret_mask *mask, char *data, size_t size)
{
	size_t covered = 0;

	mask_run(mask, data, size, true, &covered);
}
