/* SHA-256 over a list of fields with their lengths, so that different lists give different bytes. */
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
void digester_add_text(struct digester *d, const char *text); /* NULL has a kind of its own. */
/* Adds the identity of a file: path, device, inode, size, change time. A missing file has a field of its own. */
void digester_add_file(struct digester *d, const char *path);
void digester_finish(struct digester *d, struct digest *out);
/* 64 lower-case hexadecimal digits and a NUL. */
void digest_text(const struct digest *digest, char out[65]);
