/*
 * TLS 1.2 with Mbed TLS 2.28, server side.
 *
 * Random bytes come from getrandom(): a generator of our own would need to be
 * reseeded after a fork. There are no tickets and no session cache, so nothing
 * outlives a connection.
 */
#include "http/tls.h"

#include "base/own.h"

#include <errno.h>
#include <mbedtls/entropy.h>
#include <mbedtls/error.h>
#include <mbedtls/pk.h>
#include <mbedtls/platform_util.h>
#include <mbedtls/ssl.h>
#include <mbedtls/ssl_internal.h>
#include <mbedtls/x509_crt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

enum {
	RSA_BITS_MIN = 2048 /* minimum of clients */
};

struct tls_context {
	mbedtls_ssl_config config;    /* shared by the connections, read-only */
	mbedtls_x509_crt certificate; /* our certificate and its chain */
	mbedtls_pk_context key;       /* key of the first certificate */
};

struct tls {
	mbedtls_ssl_context ssl; /* the connection */
	int fd;                  /* descriptor; owned by the caller */
	size_t writing;          /* bytes of a write to be repeated; 0: none */
	int broken;              /* errno of all further calls; 0: no error */
	bool wants_write;        /* whether the last call waits to write */
	bool ended;              /* the peer has closed its sending side */
};

/* Only forward secrecy with authenticated encryption. */
static const int suites[] = {
	MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
	MBEDTLS_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
	MBEDTLS_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	MBEDTLS_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
	MBEDTLS_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	0,
};

static const mbedtls_ecp_group_id curves[] = {
	MBEDTLS_ECP_DP_CURVE25519, MBEDTLS_ECP_DP_SECP256R1, MBEDTLS_ECP_DP_SECP384R1,
	MBEDTLS_ECP_DP_SECP521R1,  MBEDTLS_ECP_DP_NONE,
};

static const char *protocols[] = { "http/1.1", NULL };

static int random_take(void *context, unsigned char *out, size_t size)
{
	while (size > 0) {
		ssize_t n = getrandom(out, size, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return MBEDTLS_ERR_ENTROPY_SOURCE_FAILED;
		out += n;
		size -= (size_t)n;
	}
	return 0;
}

/* Certificate and key. */

static int pem_refuse(struct error *err, const char *what, int code)
{
	char why[128];

	mbedtls_strerror(code, why, sizeof(why));
	return error_usage(err, "the TLS %s cannot be read: %s", what, why);
}

/* A terminated copy: Mbed TLS recognizes PEM by its NUL. NULL: not PEM, or memory ran out. */
static char *pem_copy(const char *text, size_t size, const char *what, const char *mark, struct error *err)
{
	char *copy;

	if (size == 0 || memchr(text, '\0', size) || !memmem(text, size, mark, strlen(mark))) {
		error_usage(err, "the TLS %s is not in PEM form; expected a line with %s", what, mark);
		return NULL;
	}
	copy = malloc(size + 1);
	if (!copy) {
		error_set(err, ERROR_FAILED, ENOMEM, "cannot read the TLS %s", what);
		return NULL;
	}
	memcpy(copy, text, size);
	copy[size] = '\0';
	return copy;
}

static int certificate_read(struct tls_context *context, const char *text, size_t size, struct error *err)
{
	_cleanup_free_ char *copy = pem_copy(text, size, "certificate", "BEGIN CERTIFICATE-----", err);
	int got;

	if (!copy)
		return -1;
	got = mbedtls_x509_crt_parse(&context->certificate, (const unsigned char *)copy, size + 1);
	if (got > 0)
		return error_usage(err, "the TLS certificate cannot be read: %d of the certificates in it are broken",
				   got);
	return got < 0 ? pem_refuse(err, "certificate", got) : 0;
}

static int key_read(struct tls_context *context, const char *text, size_t size, struct error *err)
{
	char *copy = pem_copy(text, size, "key", "PRIVATE KEY-----", err);
	int got;

	if (!copy)
		return -1;
	got = mbedtls_pk_parse_key(&context->key, (const unsigned char *)copy, size + 1, NULL, 0);
	mbedtls_platform_zeroize(copy, size);
	free(copy);
	if (got == MBEDTLS_ERR_PK_PASSWORD_REQUIRED)
		return error_usage(err, "the TLS key is encrypted with a password; store it without one");
	return got < 0 ? pem_refuse(err, "key", got) : 0;
}

static int key_check(struct tls_context *context, struct error *err)
{
	size_t bits = mbedtls_pk_get_bitlen(&context->key);

	if (mbedtls_pk_can_do(&context->key, MBEDTLS_PK_RSA)) {
		if (bits < RSA_BITS_MIN)
			return error_usage(err, "the TLS key has %zu bits; RSA needs %d", bits, RSA_BITS_MIN);
	} else if (!mbedtls_pk_can_do(&context->key, MBEDTLS_PK_ECDSA)) {
		return error_usage(err, "the TLS key cannot sign; it has to be an RSA or an EC key");
	}
	if (mbedtls_pk_check_pair(&context->certificate.pk, &context->key) != 0)
		return error_usage(err, "the TLS key does not belong to the certificate; the certificate of the server "
					"has to be the first of its file");
	return 0;
}

static int config_make(struct tls_context *context, struct error *err)
{
	mbedtls_ssl_config *config = &context->config;

	if (mbedtls_ssl_config_defaults(config, MBEDTLS_SSL_IS_SERVER, MBEDTLS_SSL_TRANSPORT_STREAM,
					MBEDTLS_SSL_PRESET_DEFAULT) != 0 ||
	    mbedtls_ssl_conf_own_cert(config, &context->certificate, &context->key) != 0 ||
	    mbedtls_ssl_conf_alpn_protocols(config, protocols) != 0)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot set TLS up");
	mbedtls_ssl_conf_rng(config, random_take, NULL);
	mbedtls_ssl_conf_min_version(config, MBEDTLS_SSL_MAJOR_VERSION_3, MBEDTLS_SSL_MINOR_VERSION_3);
	mbedtls_ssl_conf_ciphersuites(config, suites);
	mbedtls_ssl_conf_curves(config, curves);
	mbedtls_ssl_conf_authmode(config, MBEDTLS_SSL_VERIFY_NONE);
	mbedtls_ssl_conf_renegotiation(config, MBEDTLS_SSL_RENEGOTIATION_DISABLED);
	return 0;
}

int tls_context_new(const char *certificate, size_t certificate_size, const char *key, size_t key_size,
		    struct tls_context **out, struct error *err)
{
	struct tls_context *context = calloc(1, sizeof(*context));

	if (!context)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot set TLS up");
	mbedtls_ssl_config_init(&context->config);
	mbedtls_x509_crt_init(&context->certificate);
	mbedtls_pk_init(&context->key);
	if (certificate_read(context, certificate, certificate_size, err) < 0 ||
	    key_read(context, key, key_size, err) < 0 || key_check(context, err) < 0 || config_make(context, err) < 0) {
		tls_context_free(context);
		return -1;
	}
	*out = context;
	return 0;
}

void tls_context_free(struct tls_context *context)
{
	if (!context)
		return;
	mbedtls_ssl_config_free(&context->config);
	mbedtls_pk_free(&context->key);
	mbedtls_x509_crt_free(&context->certificate);
	free(context);
}

/* Connections. */

static int socket_send(void *context, const unsigned char *data, size_t size)
{
	struct tls *tls = context;
	ssize_t n;

	do
		n = send(tls->fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return (int)n;
	if (errno == EAGAIN || errno == EWOULDBLOCK)
		return MBEDTLS_ERR_SSL_WANT_WRITE;
	tls->broken = errno;
	return MBEDTLS_ERR_SSL_INTERNAL_ERROR;
}

static int socket_receive(void *context, unsigned char *data, size_t size)
{
	struct tls *tls = context;
	ssize_t n;

	do
		n = recv(tls->fd, data, size, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n == 0)
		tls->ended = true;
	if (n >= 0)
		return (int)n;
	if (errno == EAGAIN || errno == EWOULDBLOCK)
		return MBEDTLS_ERR_SSL_WANT_READ;
	tls->broken = errno;
	return MBEDTLS_ERR_SSL_INTERNAL_ERROR;
}

struct tls *tls_new(struct tls_context *context, int fd)
{
	struct tls *tls = calloc(1, sizeof(*tls));

	if (!tls)
		return NULL;
	tls->fd = fd;
	mbedtls_ssl_init(&tls->ssl);
	if (mbedtls_ssl_setup(&tls->ssl, &context->config) != 0) {
		tls_free(tls);
		return NULL;
	}
	mbedtls_ssl_set_bio(&tls->ssl, tls, socket_send, socket_receive, NULL);
	return tls;
}

void tls_free(struct tls *tls)
{
	if (!tls)
		return;
	if (!tls->broken && tls->ssl.conf && tls->ssl.state == MBEDTLS_SSL_HANDSHAKE_OVER && tls->ssl.out_left == 0)
		mbedtls_ssl_close_notify(&tls->ssl);
	mbedtls_ssl_free(&tls->ssl);
	free(tls);
}

/* Returns -1 with an errno for the error of Mbed TLS. After any error but EAGAIN, Mbed TLS must not be called again. */
static ssize_t tls_fail(struct tls *tls, int code)
{
	tls->wants_write = code == MBEDTLS_ERR_SSL_WANT_WRITE;
	if (code == MBEDTLS_ERR_SSL_WANT_READ || code == MBEDTLS_ERR_SSL_WANT_WRITE) {
		errno = EAGAIN;
		return -1;
	}
	/* The errno of the socket was stored when it occurred. */
	if (!tls->broken)
		tls->broken = code == MBEDTLS_ERR_SSL_ALLOC_FAILED ? ENOMEM : EPROTO;
	errno = tls->broken;
	return -1;
}

/* Returns 0 if all earlier output is sent, and the handshake is complete. */
static int tls_ready(struct tls *tls)
{
	if (tls->ssl.state != MBEDTLS_SSL_HANDSHAKE_OVER)
		return mbedtls_ssl_handshake(&tls->ssl);
	/* An unsent alert: mbedtls_ssl_write() would mistake it for the data of this call. */
	if (tls->writing == 0 && tls->ssl.out_left > 0)
		return mbedtls_ssl_flush_output(&tls->ssl);
	return 0;
}

static bool tls_is_end(int code)
{
	return code == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY || code == MBEDTLS_ERR_SSL_CONN_EOF;
}

ssize_t tls_read(struct tls *tls, void *data, size_t size)
{
	int got;

	if (tls->broken) {
		errno = tls->broken;
		return -1;
	}
	if (tls->ended)
		return 0;
	got = tls_ready(tls);
	if (got == 0) {
		/* An empty record is not the end. */
		do
			got = mbedtls_ssl_read(&tls->ssl, data, size);
		while (got == 0 && !tls->ended && size > 0);
		if (got >= 0) {
			tls->wants_write = false;
			return got;
		}
	}
	if (!tls_is_end(got))
		return tls_fail(tls, got);
	tls->wants_write = false;
	tls->ended = true;
	return 0;
}

/* The bytes that one record, and so one call, can take. */
static size_t record_size(const struct tls *tls, size_t size)
{
	int most = mbedtls_ssl_get_max_out_record_payload(&tls->ssl);

	return most > 0 && size > (size_t)most ? (size_t)most : size;
}

ssize_t tls_write(struct tls *tls, const void *data, size_t size)
{
	int got;

	if (tls->broken || size < tls->writing) {
		errno = tls->broken ? tls->broken : EINVAL;
		return -1;
	}
	if (size == 0)
		return 0;
	got = tls_ready(tls);
	if (got == 0) {
		/* A repeated call with more bytes would make Mbed TLS report all of them as written. */
		got = mbedtls_ssl_write(&tls->ssl, data, tls->writing > 0 ? tls->writing : size);
		if (got >= 0) {
			tls->writing = 0;
			tls->wants_write = false;
			return got;
		}
		if (got == MBEDTLS_ERR_SSL_WANT_WRITE && tls->writing == 0)
			tls->writing = record_size(tls, size);
	}
	if (tls_is_end(got)) {
		tls->broken = errno = EPIPE;
		return -1;
	}
	return tls_fail(tls, got);
}

bool tls_wants_write(const struct tls *tls)
{
	return tls->wants_write || tls->ssl.out_left > 0;
}

bool tls_is_shaking(const struct tls *tls)
{
	return tls->ssl.state != MBEDTLS_SSL_HANDSHAKE_OVER;
}

size_t tls_pending(const struct tls *tls)
{
	return tls->broken ? 0 : mbedtls_ssl_get_bytes_avail(&tls->ssl);
}
