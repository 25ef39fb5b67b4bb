#include "interceptor/interceptor_tls.h"

#include "interceptor/interceptor_leaf.h"
#include "net/net_policy.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

/* What the callbacks note of a handshake. */
struct shake {
	char name[NET_NAME_MAX];
	bool without_sni;
	bool named;
	enum tls_fault fault;
};

static SSL_CTX *server_context, *client_context;
static int shake_index;

static int tls_failed(struct error *err, const char *what)
{
	const unsigned long code = ERR_get_error();

	return error_set(err, ERROR_FAILED, 0, "%s: %s", what,
			 code ? ERR_reason_error_string(code) ?: "an error of OpenSSL" : "an error of OpenSSL");
}

static void shake_free(void *parent, void *pointer, CRYPTO_EX_DATA *data, int index, long argl, void *argp)
{
	free(pointer);
}

static struct shake *shake_of(const SSL *ssl)
{
	return SSL_get_ex_data(ssl, shake_index);
}

/* ---- the box's side ---- */

/* Called for each ClientHello, also one without a name. OpenSSL refuses a second name, a NUL and what is too long. */
static int name_check(SSL *ssl, int *alert, void *arg)
{
	struct shake *shake = shake_of(ssl);
	const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
	char canonical[NET_NAME_MAX];

	*alert = SSL_AD_UNRECOGNIZED_NAME;
	if (!name) {
		shake->fault = TLS_FAULT_NO_NAME;
		shake->named = shake->without_sni;
		return shake->named ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
	}
	shake->named = name[0] != '\0' && name[strlen(name) - 1] != '.' &&
		       net_name_of_wire(name, strlen(name), canonical) && strcmp(canonical, shake->name) == 0;
	shake->fault = TLS_FAULT_NAME;
	return shake->named ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static int certificate_choose(SSL *ssl, void *arg)
{
	struct shake *shake = shake_of(ssl);

	return leaf_use(ssl, shake->name);
}

static int protocol_choose(SSL *ssl, const unsigned char **out, unsigned char *size, const unsigned char *offered,
			   unsigned int offered_size, void *arg)
{
	for (unsigned at = 0; at < offered_size; at += offered[at] + 1u) {
		if (offered[at] != 8 || at + 9 > offered_size || memcmp(offered + at + 1, "http/1.1", 8) != 0)
			continue;
		*out = offered + at + 1;
		*size = 8;
		return SSL_TLSEXT_ERR_OK;
	}
	shake_of(ssl)->fault = TLS_FAULT_ALPN;
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static int server_setup(struct error *err)
{
	server_context = SSL_CTX_new(TLS_server_method());
	if (!server_context || SSL_CTX_set_min_proto_version(server_context, TLS1_2_VERSION) != 1)
		return tls_failed(err, "cannot prepare TLS for boxes");
	/* Without tickets and a cache no session of one name is resumed under another. */
	SSL_CTX_set_options(server_context,
			    SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
	SSL_CTX_set_num_tickets(server_context, 0);
	SSL_CTX_set_session_cache_mode(server_context, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_mode(server_context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
						 SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_tlsext_servername_callback(server_context, name_check);
	SSL_CTX_set_alpn_select_cb(server_context, protocol_choose, NULL);
	SSL_CTX_set_cert_cb(server_context, certificate_choose, NULL);
	return 0;
}

/* ---- the server's side ---- */

static int store_load(int fd, struct error *err)
{
	X509_STORE *store = SSL_CTX_get_cert_store(client_context);
	FILE *file = fdopen(dup(fd), "r");
	size_t count = 0;
	X509 *certificate;

	if (!file)
		return error_errno(err, "cannot read the certificates that the host trusts");
	/* With what OpenSSL writes before "TRUSTED CERTIFICATE" a file of a distribution may have more in it. */
	while ((certificate = PEM_read_X509_AUX(file, NULL, NULL, NULL)) != NULL) {
		count += X509_STORE_add_cert(store, certificate) == 1;
		X509_free(certificate);
	}
	ERR_clear_error();
	fclose(file);
	return count > 0
		       ? 0
		       : error_set(err, ERROR_FAILED, 0,
				   "the host has no certificates of authorities; install the package ca-certificates");
}

static int client_setup(int store_fd, struct error *err)
{
	static const unsigned char protocols[] = "\x08http/1.1";

	client_context = SSL_CTX_new(TLS_client_method());
	if (!client_context || SSL_CTX_set_min_proto_version(client_context, TLS1_2_VERSION) != 1 ||
	    SSL_CTX_set_alpn_protos(client_context, protocols, sizeof(protocols) - 1) != 0)
		return tls_failed(err, "cannot prepare TLS for servers");
	SSL_CTX_set_options(client_context, SSL_OP_NO_RENEGOTIATION);
	SSL_CTX_set_verify(client_context, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_session_cache_mode(client_context, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_mode(client_context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
						 SSL_MODE_RELEASE_BUFFERS);
	/* What the host trusts may be an authority that another one has signed. */
	X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(client_context), X509_V_FLAG_PARTIAL_CHAIN);
	return store_load(store_fd, err);
}

int tls_setup(int authority_fd, int store_fd, struct error *err)
{
	/* No configuration of the host's: it can name files, engines and older versions. */
	if (OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) != 1)
		return tls_failed(err, "cannot start OpenSSL");
	shake_index = SSL_get_ex_new_index(0, NULL, NULL, NULL, shake_free);
	if (shake_index < 0)
		return tls_failed(err, "cannot start OpenSSL");
	if (leaf_setup(authority_fd, err) < 0 || server_setup(err) < 0)
		return -1;
	return client_setup(store_fd, err);
}

int tls_authority_make(int fd, struct error *err)
{
	if (OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) != 1)
		return tls_failed(err, "cannot start OpenSSL");
	return authority_make(fd, err);
}

/* ---- a side ---- */

static int side_open(struct tls_side *side, SSL_CTX *context, const char *name)
{
	struct shake *shake = calloc(1, sizeof(*shake));
	SSL *ssl = SSL_new(context);

	if (!shake || !ssl || SSL_set_ex_data(ssl, shake_index, shake) != 1) {
		free(shake);
		SSL_free(ssl);
		return -1;
	}
	snprintf(shake->name, sizeof(shake->name), "%s", name);
	side->ssl = ssl;
	return SSL_set_fd(ssl, side->fd) == 1 ? 0 : -1;
}

int tls_side_accept(struct tls_side *side, const char *name, bool without_sni)
{
	if (side_open(side, server_context, name) < 0)
		return -1;
	shake_of(side->ssl)->without_sni = without_sni;
	SSL_set_accept_state(side->ssl);
	return 0;
}

int tls_side_connect(struct tls_side *side, const char *name)
{
	if (side_open(side, client_context, name) < 0)
		return -1;
	SSL_set_connect_state(side->ssl);
	SSL_set_hostflags(side->ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	return SSL_set1_host(side->ssl, name) == 1 && SSL_set_tlsext_host_name(side->ssl, name) == 1 ? 0 : -1;
}

/* EAGAIN, and for what it waits; else the errno of a connection that is broken. */
static int side_errno(struct tls_side *side, int result)
{
	switch (SSL_get_error(side->ssl, result)) {
	case SSL_ERROR_WANT_READ:
		side->wants_write = false;
		return EAGAIN;
	case SSL_ERROR_WANT_WRITE:
		side->wants_write = true;
		return EAGAIN;
	case SSL_ERROR_SYSCALL:
		return errno && errno != EAGAIN ? errno : ECONNRESET;
	default:
		return EPROTO;
	}
}

enum tls_state tls_side_shake(struct tls_side *side)
{
	int result;

	ERR_clear_error();
	errno = 0;
	result = SSL_do_handshake(side->ssl);
	if (result == 1)
		return TLS_DONE;
	return side_errno(side, result) == EAGAIN ? TLS_WAITS : TLS_FAILED;
}

bool tls_side_is_named(const struct tls_side *side)
{
	return side->ssl && shake_of(side->ssl)->named;
}

enum tls_fault tls_side_fault(const struct tls_side *side, char *sentence, size_t size)
{
	const struct shake *shake = shake_of(side->ssl);
	const long verified = SSL_get_verify_result(side->ssl);
	const unsigned long code = ERR_peek_last_error();
	const char *reason = code ? ERR_reason_error_string(code) : NULL;

	if (SSL_is_server(side->ssl)) {
		snprintf(sentence, size, "%s", reason ?: "");
		return shake->named && shake->fault != TLS_FAULT_ALPN ? TLS_FAULT_PROTOCOL : shake->fault;
	}
	if (verified != X509_V_OK) {
		snprintf(sentence, size, "%s", X509_verify_cert_error_string(verified));
		return TLS_FAULT_CERTIFICATE;
	}
	snprintf(sentence, size, "%s", reason ?: "the connection was ended");
	return TLS_FAULT_PROTOCOL;
}

static ssize_t plain_read(struct tls_side *side, void *data, size_t size)
{
	ssize_t got = recv(side->fd, data, size, MSG_DONTWAIT);

	if (got == 0)
		side->ended = side->clean = true;
	if (got < 0 && errno == EINTR)
		errno = EAGAIN;
	return got;
}

ssize_t tls_side_read(struct tls_side *side, void *data, size_t size)
{
	size_t got = 0;
	int result;

	if (side->ended)
		return 0;
	if (!side->ssl)
		return plain_read(side, data, size);
	ERR_clear_error();
	errno = 0;
	result = SSL_read_ex(side->ssl, data, size, &got);
	if (result == 1)
		return (ssize_t)got;
	switch (SSL_get_error(side->ssl, result)) {
	case SSL_ERROR_ZERO_RETURN:
		side->ended = side->clean = true;
		return 0;
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE:
		errno = EAGAIN;
		return -1;
	case SSL_ERROR_SSL:
		/* An end without a word: what came before it stands. */
		if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
			side->ended = true;
			return 0;
		}
		errno = EPROTO;
		return -1;
	default:
		side->ended = errno == 0;
		if (side->ended)
			return 0;
		return -1;
	}
}

ssize_t tls_side_write(struct tls_side *side, const void *data, size_t size)
{
	size_t sent = 0;
	int result;

	if (!side->ssl) {
		ssize_t got = send(side->fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);

		side->wants_write = got < 0 && (errno == EAGAIN || errno == EINTR);
		if (side->wants_write)
			errno = EAGAIN;
		return got;
	}
	ERR_clear_error();
	errno = 0;
	result = SSL_write_ex(side->ssl, data, size, &sent);
	if (result == 1) {
		side->wants_write = false;
		return (ssize_t)sent;
	}
	errno = side_errno(side, result);
	return -1;
}

bool tls_side_has_pending(const struct tls_side *side)
{
	return side->ssl && SSL_has_pending(side->ssl);
}

bool tls_side_finish(struct tls_side *side)
{
	if (side->fd < 0)
		return true;
	if (side->ssl && SSL_is_init_finished(side->ssl)) {
		int result;

		ERR_clear_error();
		errno = 0;
		result = SSL_shutdown(side->ssl);
		if (result < 0 && side_errno(side, result) == EAGAIN && side->wants_write)
			return false;
	}
	shutdown(side->fd, SHUT_WR);
	return true;
}

void tls_side_close(struct tls_side *side)
{
	SSL_free(side->ssl);
	side->ssl = NULL;
	if (side->fd >= 0)
		close(side->fd);
	side->fd = -1;
}
