/* What programs in a box are given so that they trust the authority: the bundle and Java's store, byte for byte. */
#include "../check.h"

#include "base/own.h"
#include "net/net_authority.h"

#include <sha1.h>
#include <unistd.h>

static const char certificate_text[] = "-----BEGIN CERTIFICATE-----\nAAECAwQF\nBgc=\n-----END CERTIFICATE-----\n";

static struct buf certificate(void)
{
	struct buf made = { 0 };

	buf_text(&made, certificate_text);
	return made;
}

static void the_bundle(void)
{
	_cleanup_buf_ struct buf own = certificate(), out = { 0 };
	char path[] = "/tmp/test-authority-XXXXXX";
	_cleanup_close_ int fd = mkstemp(path);
	struct error err;

	/* A file that ends without a line's end. */
	CHECK_INT(write(fd, "one\ntwo", 7), 7);
	setenv("SSL_CERT_FILE", path, 1);
	CHECK_INT(net_bundle_make(&own, &out, &err), 0);
	CHECK(out.size == 8 + own.size && memcmp(out.data, "one\ntwo\n", 8) == 0);
	CHECK_STR(out.data + 8, certificate_text);
	/* None: boxes trust the authority alone. */
	unlink(path);
	out.size = 0;
	CHECK_INT(net_bundle_make(&own, &out, &err), 0);
	CHECK_STR(out.data, certificate_text);
	unsetenv("SSL_CERT_FILE");
}

static void java_stores(void)
{
	static const unsigned char head[] = { 0xfe, 0xed, 0xfe, 0xed, 0, 0, 0, 2, 0, 0, 0, 1 };
	static const unsigned char entry[] = "\0\0\0\2\0\11anything-";
	_cleanup_buf_ struct buf own = certificate(), store = { 0 }, out = { 0 };
	static const char password[] = "\0c\0h\0a\0n\0g\0e\0i\0t"
				       "Mighty Aphrodite";
	unsigned char digest[SHA1_DIGEST_LENGTH];
	SHA1_CTX context;
	struct error err;
	const char *at;

	buf_add(&store, head, sizeof(head));
	buf_add(&store, entry, sizeof(entry));
	buf_add(&store, "twenty bytes at its end", 20);
	CHECK_INT(net_java_store_make(store.data, store.size, &own, &out, &err), 0);
	CHECK(memcmp(out.data, head, 11) == 0 && out.data[11] == 2);
	CHECK(memcmp(out.data + 12, entry, sizeof(entry)) == 0);
	at = out.data + 12 + sizeof(entry);
	CHECK(memcmp(at, "\0\0\0\2\0\10emberbox", 14) == 0);
	CHECK(memcmp(at + 14 + 8, "\0\5X.509\0\0\0\10\0\1\2\3\4\5\6\7", 19) == 0);
	CHECK_INT(out.size, 12 + sizeof(entry) + 14 + 8 + 19 + 20);
	SHA1Init(&context);
	SHA1Update(&context, (const unsigned char *)password, sizeof(password) - 1);
	SHA1Update(&context, (const unsigned char *)out.data, out.size - 20);
	SHA1Final(digest, &context);
	CHECK(memcmp(out.data + out.size - 20, digest, 20) == 0);
	/* Other kinds. */
	store.data[7] = 3;
	CHECK_INT(net_java_store_make(store.data, store.size, &own, &out, &err), -1);
	CHECK(strstr(err.text, "is not a store of the kind JKS"));
	CHECK_INT(net_java_store_make(head, sizeof(head), &own, &out, &err), -1);
	store.data[7] = 2;
	own.size = 0;
	own.data[0] = '\0';
	CHECK_INT(net_java_store_make(store.data, store.size, &own, &out, &err), -1);
	CHECK(strstr(err.text, "broken"));
}

static void variables(void)
{
	size_t count = 0;

	for (; net_authority_variables[count]; count++) {
		const char *value = strchr(net_authority_variables[count], '=');

		CHECK(value && value > net_authority_variables[count] && value[1] != '\0');
	}
	CHECK(count >= 5);
}

int main(void)
{
	RUN(the_bundle);
	RUN(java_stores);
	RUN(variables);
	return check_failures != 0;
}
