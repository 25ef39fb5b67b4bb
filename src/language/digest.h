/* SHA-256 over a list of fields, each with its length before it, so that no two lists give the same bytes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct digest {
	unsigned char bytes[32];
};

struct digester;

struct digester *digester_new(void);
void digester_free(struct digester *d);
void digester_add(struct digester *d, const void *data, size_t size);
void digester_add_text(struct digester *d, const char *text); /* NULL is a field of its own kind */
/* Where a file is and which it is: path, device, inode, size, time of change. A missing file counts as such. */
void digester_add_file(struct digester *d, const char *path);
void digester_finish(struct digester *d, struct digest *out);
/* 64 small hexadecimal digits and a zero. */
void digest_text(const struct digest *digest, char out[65]);
