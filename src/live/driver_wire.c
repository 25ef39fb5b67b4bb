#include "live/driver_wire.h"

#include "base/json_check.h"
#include "base/own.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum {
	SIZE_DIGITS = 8,       /* of the size of a payload */
	KEEP_ROOM = 256 << 10, /* bytes of room that an idle reader may keep */
	DONE_DEPTH = 8,        /* levels of objects and lists in a payload that is read here */
};

#define HEX "0123456789abcdef"

/* The word at *at, which ends at a blank or at the end of the line. NULL: it is empty. */
static const char *next_word(const char **at, const char *end, size_t *length)
{
	const char *word = *at;
	const char *blank = memchr(word, ' ', (size_t)(end - word));

	*length = (size_t)((blank ? blank : end) - word);
	/* A blank is followed by a word. */
	*at = blank ? blank + 1 : end;
	return *length > 0 && !(blank && blank + 1 == end) ? word : NULL;
}

static bool is_secret(const char *word, size_t length)
{
	if (length != DRIVER_SECRET - 1)
		return false;
	for (size_t i = 0; i < length; i++)
		if (!word[i] || !strchr(HEX, word[i]))
			return false;
	return true;
}

/* A decimal number without leading zeros, at most DRIVER_PAYLOAD_MAX. */
static bool read_size(const char *word, size_t length, size_t *out)
{
	*out = 0;
	if (length > SIZE_DIGITS || (length > 1 && word[0] == '0'))
		return false;
	for (size_t i = 0; i < length; i++) {
		if (word[i] < '0' || word[i] > '9')
			return false;
		*out = *out * 10 + (size_t)(word[i] - '0');
	}
	return *out <= DRIVER_PAYLOAD_MAX;
}

bool driver_line(const char *line, size_t size, struct driver_message *out)
{
	static const char *const names[DRIVER_WORDS] = { "ready", "output", "error", "done", "reply" };
	const char *at = line, *end = line + size, *word;
	size_t length, i = 0;

	*out = (struct driver_message){ 0 };
	word = next_word(&at, end, &length);
	while (word && i < DRIVER_WORDS && (strlen(names[i]) != length || memcmp(names[i], word, length) != 0))
		i++;
	if (!word || i == DRIVER_WORDS)
		return false;
	out->word = (enum driver_word)i;
	word = next_word(&at, end, &length);
	if (!word)
		return false;
	if (out->word == DRIVER_READY ? length != 1 || word[0] != '-' : !is_secret(word, length))
		return false;
	if (out->word != DRIVER_READY)
		memcpy(out->secret, word, DRIVER_SECRET - 1);
	word = next_word(&at, end, &length);
	return word && at == end && read_size(word, length, &out->size) &&
	       (out->word == DRIVER_OUTPUT || out->size <= DRIVER_SMALL_MAX);
}

void driver_feed(struct driver_reader *reader, const void *data, size_t size)
{
	/* Messages that were returned are removed first: the buffer holds one message and the bytes that came with it.
	 */
	if (reader->used > 0) {
		memmove(reader->in.data, reader->in.data + reader->used, reader->in.size - reader->used);
		reader->in.size -= reader->used;
		reader->used = 0;
	}
	buf_add(&reader->in, data, size);
}

int driver_next(struct driver_reader *reader, struct driver_message *out)
{
	const size_t left = reader->in.size - reader->used;
	char *line = reader->in.data ? reader->in.data + reader->used : NULL;
	const char *end;
	size_t whole;

	if (reader->in.failed)
		return -1;
	if (!line || left == 0) {
		if (reader->in.room > KEEP_ROOM)
			driver_reader_free(reader);
		return 0;
	}
	end = memchr(line, '\n', left < DRIVER_LINE_MAX ? left : DRIVER_LINE_MAX);
	if (!end)
		return left < DRIVER_LINE_MAX ? 0 : -1;
	if (!driver_line(line, (size_t)(end - line), out))
		return -1;
	whole = (size_t)(end - line) + 1 + out->size;
	if (left < whole)
		return 0;
	out->payload = end + 1;
	reader->used += whole;
	return 1;
}

bool driver_is_empty(const struct driver_reader *reader)
{
	return reader->in.size == reader->used;
}

void driver_reader_free(struct driver_reader *reader)
{
	buf_free(&reader->in);
	*reader = (struct driver_reader){ 0 };
}

void driver_execute(struct buf *out, const char *secret, uint64_t count, const void *code, size_t size,
		    enum driver_input how, const void *input, size_t input_size)
{
	const size_t behind = how == DRIVER_INPUT_WHOLE ? input_size : 0;

	buf_printf(out, "execute %s %zu %" PRIu64 " ", secret, size + behind, count);
	if (how == DRIVER_INPUT_WHOLE)
		buf_printf(out, "%zu\n", behind);
	else
		buf_text(out, how == DRIVER_INPUT_PIPE ? "pipe\n" : "none\n");
	buf_add(out, code, size);
	buf_add(out, input, behind);
}

void driver_interrupt(struct buf *out, const char *secret)
{
	buf_printf(out, "interrupt %s 0\n", secret);
}

void driver_ask(struct buf *out, bool inspect, const char *secret, const void *code, size_t size, size_t cursor)
{
	buf_printf(out, "%s %s %zu %zu\n", inspect ? "inspect" : "complete", secret, size, cursor);
	buf_add(out, code, size);
}

int driver_secret(char secret[DRIVER_SECRET])
{
	unsigned char chance[(DRIVER_SECRET - 1) / 2];

	if (getrandom(chance, sizeof(chance), 0) != sizeof(chance))
		return -1;
	for (size_t i = 0; i < sizeof(chance); i++) {
		secret[2 * i] = HEX[chance[i] >> 4];
		secret[2 * i + 1] = HEX[chance[i] & 15];
	}
	secret[DRIVER_SECRET - 1] = '\0';
	return 0;
}

/* One of the words true and false. */
static bool read_bool(const char *payload, size_t size, const char *key, bool *out)
{
	const char *value;
	size_t length;

	if (!json_member(payload, size, key, &value, &length))
		return false;
	*out = length == 4 && memcmp(value, "true", 4) == 0;
	return *out || (length == 5 && memcmp(value, "false", 5) == 0);
}

/* Digits without a zero before them. */
static bool read_exit(const char *value, size_t length, int *out)
{
	size_t number;

	if (length == 0 || length > 3 || !read_size(value, length, &number) || number > 255)
		return false;
	*out = (int)number;
	return true;
}

bool driver_done(const char *payload, size_t size, bool *ok, int *exit_code)
{
	const char *value;
	size_t length;

	*exit_code = 0;
	return json_is_object_text(payload, size, DONE_DEPTH) && read_bool(payload, size, "ok", ok) &&
	       (!json_member(payload, size, "exit", &value, &length) || read_exit(value, length, exit_code));
}

bool driver_ready(const char *payload, size_t size, struct driver_abilities *out)
{
	const char *value;
	size_t length;

	*out = (struct driver_abilities){ 0 };
	if (!json_is_object_text(payload, size, DONE_DEPTH) || !json_member(payload, size, "driver", &value, &length) ||
	    !json_string_copy(value, length, out->name, sizeof(out->name)))
		return false;
	read_bool(payload, size, "complete", &out->completes);
	read_bool(payload, size, "inspect", &out->inspects);
	read_bool(payload, size, "interrupt", &out->hears);
	return true;
}

static bool begins_character(char byte)
{
	return ((unsigned char)byte & 0xC0) != 0x80;
}

size_t driver_chars(const char *text, size_t size, size_t bytes)
{
	size_t chars = 0;

	for (size_t i = 0; i < size && i < bytes; i++)
		chars += begins_character(text[i]);
	return chars;
}

size_t driver_bytes(const char *text, size_t size, size_t chars)
{
	size_t at = 0;

	for (; chars > 0 && at < size; chars--)
		do
			at++;
		while (at < size && !begins_character(text[at]));
	return at;
}
