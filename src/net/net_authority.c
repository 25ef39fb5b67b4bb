#include "net/net_authority.h"

#include "base/base64.h"
#include "base/own.h"
#include "base/state.h"

#include <errno.h>
#include <fcntl.h>
#include <sha1.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

enum {
	CERTIFICATE_MAX = 8 << 10,
	BUNDLE_MAX = 4 << 20, /* of a host; Debian's has 220 kB */
};

const char *const net_authority_variables[] = {
	/* OpenSSL's own (Python, Ruby, Perl, PHP, Node.js with the option below) and Go's. */
	"SSL_CERT_FILE=" NET_BUNDLE_PATH,
	/* NODE_EXTRA_CA_CERTS would be read at each start, which takes 60 ms. */
	"NODE_OPTIONS=--use-openssl-ca",
	/* What comes from PyPI has the package certifi with a bundle of its own. */
	"REQUESTS_CA_BUNDLE=" NET_BUNDLE_PATH,
	"PIP_CERT=" NET_BUNDLE_PATH,
	"AWS_CA_BUNDLE=" NET_BUNDLE_PATH,
	/* Builds of curl and git from elsewhere. */
	"CURL_CA_BUNDLE=" NET_BUNDLE_PATH,
	"GIT_SSL_CAINFO=" NET_BUNDLE_PATH,
	"CARGO_HTTP_CAINFO=" NET_BUNDLE_PATH,
	"DENO_TLS_CA_STORE=system",
	NULL,
};

static int file_read(int fd, size_t most, struct buf *out)
{
	char data[16384];
	ssize_t got;

	while ((got = read(fd, data, sizeof(data))) > 0 || (got < 0 && errno == EINTR)) {
		if (got > 0 && out->size + (size_t)got > most) {
			errno = EFBIG;
			return -1;
		}
		buf_add(out, data, got > 0 ? (size_t)got : 0);
	}
	if (out->failed)
		errno = ENOMEM;
	return got < 0 || out->failed ? -1 : 0;
}

static int certificate_open(void)
{
	_cleanup_close_ int dir = state_subdir(NET_AUTHORITY_DIRECTORY);

	return dir < 0 ? -1 : openat(dir, NET_AUTHORITY_CERTIFICATE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
}

static int authority_make(const char *program, struct error *err)
{
	static char *const argv[] = { (char *)"emberbox", (char *)"serve", (char *)"--role=egress-authority", NULL };
	int status = 0, errnum;
	pid_t pid;

	errnum = posix_spawn(&pid, program, NULL, NULL, argv, environ);
	if (errnum != 0)
		return error_set(err, ERROR_FAILED, errnum, "cannot make the authority of boxes");
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status == 0 ? 0 : error_set(err, ERROR_FAILED, 0, "cannot make the authority of boxes");
}

int net_authority_read(const char *program, struct buf *out, struct error *err)
{
	_cleanup_close_ int fd = certificate_open();

	if (fd < 0 && errno == ENOENT) {
		if (authority_make(program, err) < 0)
			return -1;
		fd = certificate_open();
	}
	if (fd < 0 || file_read(fd, CERTIFICATE_MAX, out) < 0)
		return error_errno(err, "cannot read the authority of boxes");
	return 0;
}

int net_store_open(void)
{
	static const char *const places[] = {
		"/etc/ssl/certs/ca-certificates.crt", /* Debian, Arch */
		"/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora */
		"/etc/ssl/ca-bundle.pem",             /* openSUSE */
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
		"/etc/ssl/cert.pem", /* Alpine, BSD */
	};
	const char *own = getenv("SSL_CERT_FILE");
	int fd = -1;

	if (own && *own)
		return open(own, O_RDONLY | O_CLOEXEC);
	for (size_t i = 0; fd < 0 && i < ARRAY_SIZE(places); i++)
		fd = open(places[i], O_RDONLY | O_CLOEXEC);
	return fd;
}

int net_bundle_make(const struct buf *certificate, struct buf *out, struct error *err)
{
	_cleanup_close_ int fd = net_store_open();

	/* A host that trusts nobody: the authority alone. */
	if (fd >= 0 && file_read(fd, BUNDLE_MAX, out) < 0)
		return error_errno(err, "cannot read the certificates that the host trusts");
	if (out->size > 0 && out->data[out->size - 1] != '\n')
		buf_text(out, "\n");
	buf_add(out, certificate->data, certificate->size);
	return out->failed ? error_set(err, ERROR_FAILED, ENOMEM, "cannot make the bundle of a box") : 0;
}

/* ---- Java ---- */

/* The certificate's bytes: the base64 between its lines. */
static int certificate_decode(const struct buf *certificate, struct buf *out)
{
	_cleanup_buf_ struct buf digits = { 0 };
	const char *at = certificate->data ? strstr(certificate->data, NET_AUTHORITY_BEGIN) : NULL;
	unsigned char *bytes;
	ssize_t size;

	if (!at)
		return -1;
	for (at += strlen(NET_AUTHORITY_BEGIN); *at && *at != '-'; at++)
		if (*at != '\n' && *at != '\r')
			buf_add(&digits, at, 1);
	bytes = malloc(digits.size + 1);
	size = bytes && !digits.failed ? base64_decode(digits.data ? digits.data : "", digits.size, bytes) : -1;
	if (size > 0)
		buf_add(out, bytes, (size_t)size);
	free(bytes);
	return size > 0 && !out->failed ? 0 : -1;
}

static void number_add(struct buf *out, uint64_t value, unsigned size)
{
	while (size-- > 0)
		buf_add(out, &(unsigned char){ (unsigned char)(value >> (8 * size)) }, 1);
}

static void text_add(struct buf *out, const char *text)
{
	number_add(out, strlen(text), 2);
	buf_text(out, text);
}

/* What stands at a store's end: a digest over the usual password, a phrase of its author's, and the store. */
static void digest_add(struct buf *out)
{
	static const char password[] = "changeit", phrase[] = "Mighty Aphrodite";
	unsigned char digest[SHA1_DIGEST_LENGTH];
	SHA1_CTX context;

	SHA1Init(&context);
	for (const char *c = password; *c; c++)
		SHA1Update(&context, (const unsigned char[]){ 0, (unsigned char)*c }, 2);
	SHA1Update(&context, (const unsigned char *)phrase, sizeof(phrase) - 1);
	SHA1Update(&context, (const unsigned char *)out->data, out->size);
	SHA1Final(digest, &context);
	buf_add(out, digest, sizeof(digest));
}

/* Magic number, version 2, count, entries, digest. A new entry is put behind the last one. */
int net_java_store_make(const void *store, size_t size, const struct buf *certificate, struct buf *out,
			struct error *err)
{
	static const unsigned char magic[] = { 0xfe, 0xed, 0xfe, 0xed, 0, 0, 0, 2 };
	enum {
		HEAD = sizeof(magic) + 4
	};
	_cleanup_buf_ struct buf bytes = { 0 };
	const unsigned char *at = store;
	uint32_t count;

	if (size < HEAD + SHA1_DIGEST_LENGTH || memcmp(store, magic, sizeof(magic)) != 0)
		return error_set(err, ERROR_FAILED, 0, "%s of the host is not a store of the kind JKS",
				 NET_JAVA_STORE_PATH);
	if (certificate_decode(certificate, &bytes) < 0)
		return error_set(err, ERROR_FAILED, 0, "the certificate of the authority is broken");
	count = (uint32_t)at[8] << 24 | (uint32_t)at[9] << 16 | (uint32_t)at[10] << 8 | at[11];
	buf_add(out, magic, sizeof(magic));
	number_add(out, count + 1, 4);
	buf_add(out, at + HEAD, size - HEAD - SHA1_DIGEST_LENGTH);
	number_add(out, 2, 4); /* a certificate that is trusted */
	text_add(out, "emberbox");
	number_add(out, (uint64_t)time(NULL) * 1000, 8);
	text_add(out, "X.509");
	number_add(out, bytes.size, 4);
	buf_add(out, bytes.data, bytes.size);
	if (!out->failed)
		digest_add(out);
	return out->failed ? error_set(err, ERROR_FAILED, ENOMEM, "cannot make the store of a box") : 0;
}
