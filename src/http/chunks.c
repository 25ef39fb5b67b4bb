/* A chunked body: RFC 9112, 7.1, parsed strictly. */
#include "http/http.h"

#include "http/target.h"
#include "http/header_text.h"

enum {
	OVERHEAD_MAX = 16 << 10, /* maximum bytes of extensions and trailers */
	DIGITS_MAX = 16,         /* digits of a chunk's size: those of 64 bits */
};

enum chunk_state {
	SIZE_FIRST,    /* a digit is required */
	SIZE,          /* digits, an extension or the end of the line */
	EXTENSION,     /* skipped until the end of the line */
	SIZE_LF,       /* after the CR of that line */
	CONTENT,       /* `left` bytes of the chunk */
	CONTENT_CR,    /* after the chunk */
	CONTENT_LF,    /* after that CR */
	TRAILER_FIRST, /* name of a field, or the end */
	TRAILER_NAME,  /* the rest of the name */
	TRAILER_VALUE, /* skipped until the end of the line */
	TRAILER_LF,    /* after its CR */
	LAST_LF,       /* after the CR of the empty line */
	WHOLE,         /* the body is complete */
};

static int chunk_broken(struct http_fault *fault)
{
	return http_refuse(fault, 400, "the chunked body is broken: expected chunks as SIZE CR LF CONTENT CR LF");
}

/* The next state after one byte, or -1. The caller handles the digits of a size, and CONTENT. */
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

/* Handles one byte that is not content. Returns 0, or -1. */
static int chunks_byte(struct http_chunks *chunks, char c, uint64_t most, struct http_fault *fault)
{
	bool sizing = chunks->state == SIZE_FIRST || chunks->state == SIZE;
	int digit = sizing ? http_hex(c) : -1;
	int next;

	if (digit >= 0) {
		chunks->digits = chunks->state == SIZE ? chunks->digits + 1 : 1;
		/* Leading zeros do not change the size, but would make the line arbitrarily long. */
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
