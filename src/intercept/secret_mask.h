/*
 * Masks texts in a stream: each of their bytes becomes an asterisk, so that lengths stay what they are. Pure.
 *
 * A text that the stream cuts in two is found too: bytes that could be the beginning of one wait for the next ones.
 */
#pragma once

#include "base/buf.h"
#include "net/net_secret.h"

enum {
	SECRET_MASK_TEXTS = 256, /* at most */
};

struct secret_mask {
	struct {
		char *data; /* owned */
		size_t size;
		int next; /* of those that begin with the same byte; -1: none */
	} texts[SECRET_MASK_TEXTS];
	size_t count;
	int first[256]; /* by the first byte; -1: none */
};

void secret_mask_init(struct secret_mask *mask);
void secret_mask_free(struct secret_mask *mask);
/* One text; what is too short to be told apart, or is there already, is left out. -1: there are too many, or no
 * memory. */
int secret_mask_add(struct secret_mask *mask, const char *text, size_t size);
/* The placeholder and the value, and the value as a server may write it: in base64 (wherever it stands in the encoded
 * text), percent-encoded, as part of a JSON string. */
int secret_mask_add_secret(struct secret_mask *mask, const struct net_secret *secret);

/* A stream. Zeroed at its beginning. */
struct secret_masker {
	struct buf held; /* bytes that wait */
	size_t covered;  /* how many of them belong to a text that was found */
};
/* Adds to `out` what can be told; with `last` all that is left. */
void secret_masker_take(struct secret_masker *masker, const struct secret_mask *mask, const char *data, size_t size,
			bool last, struct buf *out);
void secret_masker_free(struct secret_masker *masker);
/* A whole text, in its place. */
void secret_mask_apply(const struct secret_mask *mask, char *data, size_t size);
