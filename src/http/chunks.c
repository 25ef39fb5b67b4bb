/* A chunked body: RFC 9112, 7.1, and nothing beside it. */
#include "http/http.h"

#include "http/target.h"
#include "http/header_text.h"

enum {
	OVERHEAD_MAX = 16 << 10, /* bytes of extensions and trailers that a body may have */
	DIGITS_MAX = 16,         /* of a chunk's size: what 64 bits hold */
};

enum chunk_state {
	SIZE_FIRST,    /* a digit has to come */
	SIZE,          /* digits, an extension or the end of the line */
	EXTENSION,     /* skipped up to the end of the line */
	SIZE_LF,       /* behind the CR of that line */
	CONTENT,       /* `left` bytes of it */
	CONTENT_CR,    /* behind it */
	CONTENT_LF,    /* behind that */
	TRAILER_FIRST, /* a field's name, or the end */
	TRAILER_NAME,  /* the rest of the name */
	TRAILER_VALUE, /* skipped up to the end of the line */
	TRAILER_LF,    /* behind its CR */
	LAST_LF,       /* behind the CR of the empty line */
	WHOLE,         /* nothing of this body is to come */
};

static int chunk_broken(struct http_fault *fault)
{
	return http_refuse(fault, 400, "the chunked body is broken: expected chunks as SIZE CR LF CONTENT CR LF");
}

/* A state and one byte: the state behind it, or -1. Both digits of a size and CONTENT are somebody else's. */
static int line_step(enum chunk_state state, char c, bool last)
{
	switch (state) {
	case SIZE:
		return c == ';' ? EXTENSION : c == '\r' ? SIZE_LF : -1;
	case EXTENSION:
		return c == '\r' ? SIZE_LF : http_is_value(c) ? EXTENSION : -1;
	case SIZE_LF:
		return c != '\n' ? -1 : last ? TRAILER_FIRST : CONTENT;
	case CONTENT_CR:
		return c == '\r' ? CONTENT_LF : -1;
	case CONTENT_LF:
		return c == '\n' ? SIZE_FIRST : -1;
	case TRAILER_FIRST:
		return c == '\r' ? LAST_LF : http_is_token(c) ? TRAILER_NAME : -1;
	case TRAILER_NAME:
		return c == ':' ? TRAILER_VALUE : http_is_token(c) ? TRAILER_NAME : -1;
	case TRAILER_VALUE:
		return c == '\r' ? TRAILER_LF : http_is_value(c) ? TRAILER_VALUE : -1;
	case TRAILER_LF:
		return c == '\n' ? TRAILER_FIRST : -1;
	case LAST_LF:
		return c == '\n' ? WHOLE : -1;
	default:
		return -1;
	}
}

/* One byte that is not content. 0, or -1. */
static int chunks_byte(struct http_chunks *chunks, char c, uint64_t most, struct http_fault *fault)
{
	bool sizing = chunks->state == SIZE_FIRST || chunks->state == SIZE;
	int digit = sizing ? http_hex(c) : -1;
	int next;

	if (digit >= 0) {
		chunks->digits = chunks->state == SIZE ? chunks->digits + 1 : 1;
		/* Zeroes in front make a size no larger, yet its line as long as one likes. */
		if (chunks->digits > DIGITS_MAX)
			return chunk_broken(fault);
		chunks->left = chunks->left << 4 | (uint64_t)digit;
		chunks->state = SIZE;
		if (chunks->left > most || chunks->total > most - chunks->left)
			return http_refuse(fault, 413, "the body is larger than it may be");
		return 0;
	}
	next = line_step((enum chunk_state)chunks->state, c, chunks->left == 0);
	if (next < 0)
		return chunk_broken(fault);
	if ((next == EXTENSION || next == TRAILER_NAME || next == TRAILER_VALUE) && ++chunks->overhead > OVERHEAD_MAX)
		return http_refuse(fault, 431,
				   "the extensions and trailers of the chunked body are longer than 16384 bytes");
	if (chunks->trailers && chunks->state >= TRAILER_FIRST && chunks->state <= TRAILER_LF && next != LAST_LF)
		buf_add(chunks->trailers, &c, 1);
	chunks->state = next;
	return 0;
}

int http_chunks_take(struct http_chunks *chunks, const char *data, size_t size, size_t *used, uint64_t most,
		     struct buf *out, struct http_fault *fault)
{
	size_t at = 0;
	int done = 0;

	while (at < size && chunks->state != WHOLE && done == 0) {
		if (chunks->state == CONTENT) {
			size_t n = chunks->left < size - at ? (size_t)chunks->left : size - at;

			buf_add(out, data + at, n);
			at += n;
			chunks->total += n;
			chunks->left -= n;
			if (chunks->left == 0)
				chunks->state = CONTENT_CR;
		} else {
			done = chunks_byte(chunks, data[at++], most, fault);
		}
	}
	*used = at;
	return done < 0 ? -1 : chunks->state == WHOLE;
}
