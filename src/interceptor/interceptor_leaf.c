#include "interceptor/interceptor_leaf.h"

#include "net/net_policy.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	LEAVES_MAX = 64,              /* certificates that are kept; the oldest goes first */
	AUTHORITY_DAYS = 3650,        /* as long as a state directory may live */
	LEAF_SECONDS = 7 * 24 * 3600, /* longer than a session */
	LEAF_RENEWED = 6 * 24 * 3600, /* one that is older than that is made anew */
	SKEW_SECONDS = 24 * 3600,     /* a box's clock is the host's, which may have been wrong before */
};

static struct {
	char name[NET_NAME_MAX];
	X509 *certificate;
	time_t made;
} leaves[LEAVES_MAX];
static size_t leaf_next; /* the entry that is used next */

static X509 *authority;
static EVP_PKEY *authority_key, *leaf_key;

static int leaf_failed(struct error *err, const char *what)
{
	const unsigned long code = ERR_get_error();

	return error_set(err, ERROR_FAILED, 0, "%s: %s", what,
			 code ? ERR_reason_error_string(code) ?: "an error of OpenSSL" : "an error of OpenSSL");
}

static bool extension_add(X509 *certificate, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX context;
	X509_EXTENSION *extension;
	bool done;

	X509V3_set_ctx_nodb(&context);
	X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	done = extension && X509_add_ext(certificate, extension, -1) == 1;
	X509_EXTENSION_free(extension);
	return done;
}

/* Version 3, a serial number at random, the time it holds, the key. */
static bool certificate_begin(X509 *certificate, EVP_PKEY *key, long seconds)
{
	unsigned char bytes[16];
	BIGNUM *number = RAND_bytes(bytes, sizeof(bytes)) == 1 ? BN_bin2bn(bytes, sizeof(bytes), NULL) : NULL;
	bool done;

	/* Positive, and not 0. */
	done = number && BN_clear_bit(number, 127) != -1 && BN_set_bit(number, 126) == 1 &&
	       BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) &&
	       X509_set_version(certificate, 2) == 1 &&
	       X509_gmtime_adj(X509_getm_notBefore(certificate), -SKEW_SECONDS) &&
	       X509_gmtime_adj(X509_getm_notAfter(certificate), seconds) && X509_set_pubkey(certificate, key) == 1;
	BN_free(number);
	return done;
}

static bool name_add(X509_NAME *name, const char *text)
{
	return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)text, -1, -1, 0) == 1;
}

/* ---- the authority ---- */

static X509 *authority_certificate(EVP_PKEY *key)
{
	X509 *certificate = X509_new();
	X509_NAME *name = certificate ? X509_get_subject_name(certificate) : NULL;

	if (certificate && certificate_begin(certificate, key, AUTHORITY_DAYS * 24L * 3600) &&
	    name_add(name, "emberbox (trusted in its sandboxes only)") &&
	    X509_set_issuer_name(certificate, name) == 1 &&
	    extension_add(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
	    extension_add(certificate, certificate, NID_key_usage, "critical,keyCertSign") &&
	    extension_add(certificate, certificate, NID_subject_key_identifier, "hash") &&
	    X509_sign(certificate, key, EVP_sha256()) > 0)
		return certificate;
	X509_free(certificate);
	return NULL;
}

int authority_make(int fd, struct error *err)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *certificate = key ? authority_certificate(key) : NULL;
	FILE *file = certificate ? fdopen(dup(fd), "w") : NULL;
	bool done = file && PEM_write_PKCS8PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) == 1 &&
		    PEM_write_X509(file, certificate) == 1;

	if (file && fclose(file) != 0)
		done = false;
	X509_free(certificate);
	EVP_PKEY_free(key);
	return done ? 0 : leaf_failed(err, "cannot make an authority");
}

int leaf_setup(int fd, struct error *err)
{
	FILE *file = fdopen(dup(fd), "r");

	if (!file)
		return error_errno(err, "cannot read the authority");
	authority_key = PEM_read_PrivateKey(file, NULL, NULL, NULL);
	authority = PEM_read_X509(file, NULL, NULL, NULL);
	fclose(file);
	if (!authority || !authority_key || X509_check_private_key(authority, authority_key) != 1)
		return leaf_failed(err, "the file of the authority is not valid");
	leaf_key = EVP_EC_gen("P-256");
	return leaf_key ? 0 : leaf_failed(err, "cannot make a key");
}

/* ---- leaves ---- */

static X509 *leaf_make(const char *name)
{
	X509 *certificate = X509_new();
	char alternative[NET_NAME_MAX + 8], subject[64];

	snprintf(alternative, sizeof(alternative), "DNS:%s", name);
	/* 64 bytes are all that a common name may have; the alternative name is what counts. */
	snprintf(subject, sizeof(subject), "%s", strlen(name) < sizeof(subject) ? name : "emberbox");
	if (certificate && certificate_begin(certificate, leaf_key, LEAF_SECONDS) &&
	    name_add(X509_get_subject_name(certificate), subject) &&
	    X509_set_issuer_name(certificate, X509_get_subject_name(authority)) == 1 &&
	    extension_add(certificate, authority, NID_basic_constraints, "critical,CA:FALSE") &&
	    extension_add(certificate, authority, NID_key_usage, "critical,digitalSignature") &&
	    extension_add(certificate, authority, NID_ext_key_usage, "serverAuth") &&
	    extension_add(certificate, authority, NID_subject_key_identifier, "hash") &&
	    extension_add(certificate, authority, NID_authority_key_identifier, "keyid:always") &&
	    extension_add(certificate, authority, NID_subject_alt_name, alternative) &&
	    X509_sign(certificate, authority_key, EVP_sha256()) > 0)
		return certificate;
	X509_free(certificate);
	return NULL;
}

static X509 *leaf_get(const char *name)
{
	const time_t now = time(NULL);
	size_t at;

	for (at = 0; at < LEAVES_MAX; at++)
		if (leaves[at].certificate && strcmp(leaves[at].name, name) == 0)
			break;
	if (at < LEAVES_MAX && now >= leaves[at].made && now - leaves[at].made < LEAF_RENEWED)
		return leaves[at].certificate;
	if (at == LEAVES_MAX) {
		at = leaf_next;
		leaf_next = (leaf_next + 1) % LEAVES_MAX;
	}
	X509_free(leaves[at].certificate);
	snprintf(leaves[at].name, sizeof(leaves[at].name), "%s", name);
	leaves[at].made = now;
	leaves[at].certificate = leaf_make(name);
	return leaves[at].certificate;
}

int leaf_use(SSL *ssl, const char *name)
{
	X509 *certificate = leaf_get(name);

	return certificate && SSL_use_certificate(ssl, certificate) == 1 && SSL_use_PrivateKey(ssl, leaf_key) == 1;
}
