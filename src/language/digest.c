#include "language/digest.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <sha2.h>

/*
 * A field is one byte for its kind, eight for its length (lowest first), and
 * its content. So no content can be taken for the end of a field.
 */
enum digest_kind {
	KIND_BYTES = 'b',
	KIND_NULL = 'n',
	KIND_FILE = 'f',    /* the path; a field with the file's numbers follows */
	KIND_MISSING = 'm', /* the path of a missing file */
};

struct digester {
	SHA2_CTX context;
};

struct digester *digester_new(void)
{
	struct digester *d = malloc(sizeof(*d));

	if (d)
		SHA256Init(&d->context);
	return d;
}

void digester_free(struct digester *d)
{
	free(d);
}

static void put_number(unsigned char *out, uint64_t number)
{
	for (int i = 0; i < 8; i++)
		out[i] = (unsigned char)(number >> (8 * i));
}

static void add_field(struct digester *d, enum digest_kind kind, const void *data, size_t size)
{
	unsigned char head[9] = { (unsigned char)kind };

	put_number(head + 1, size);
	SHA256Update(&d->context, head, sizeof(head));
	if (size > 0)
		SHA256Update(&d->context, data, size);
}

void digester_add(struct digester *d, const void *data, size_t size)
{
	add_field(d, KIND_BYTES, data, size);
}

void digester_add_text(struct digester *d, const char *text)
{
	add_field(d, text ? KIND_BYTES : KIND_NULL, text, text ? strlen(text) : 0);
}

void digester_add_file(struct digester *d, const char *path)
{
	unsigned char numbers[7 * 8];
	struct stat st;

	if (stat(path, &st) < 0) {
		add_field(d, KIND_MISSING, path, strlen(path));
		return;
	}
	add_field(d, KIND_FILE, path, strlen(path));
	put_number(numbers, st.st_dev);
	put_number(numbers + 8, st.st_ino);
	put_number(numbers + 16, (uint64_t)st.st_size);
	/* A package sets the modification times of its files, but the kernel sets the inode's change time. */
	put_number(numbers + 24, (uint64_t)st.st_mtim.tv_sec);
	put_number(numbers + 32, (uint64_t)st.st_mtim.tv_nsec);
	put_number(numbers + 40, (uint64_t)st.st_ctim.tv_sec);
	put_number(numbers + 48, (uint64_t)st.st_ctim.tv_nsec);
	add_field(d, KIND_BYTES, numbers, sizeof(numbers));
}

void digester_finish(struct digester *d, struct digest *out)
{
	_Static_assert(sizeof(out->bytes) == SHA256_DIGEST_LENGTH, "a digest is a whole SHA-256");
	SHA256Final(out->bytes, &d->context);
}

void digest_text(const struct digest *digest, char out[65])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < sizeof(digest->bytes); i++) {
		out[2 * i] = digits[digest->bytes[i] >> 4];
		out[2 * i + 1] = digits[digest->bytes[i] & 15];
	}
	out[64] = '\0';
}
