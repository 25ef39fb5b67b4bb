/* TLS against Mbed TLS's own client over a socketpair; neither side ever waits. Certificates are those that Mbed TLS
 * brings for its own tests. */
/* tests/run: timeout=120 */
#include "../check.h"

#include "http/tls.h"

#include <fcntl.h>
#include <mbedtls/certs.h>
#include <mbedtls/ssl.h>
#include <mbedtls/x509_crt.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	STEPS_MAX = 200000, /* after which a test that should be over is stuck */
};

struct client {
	mbedtls_ssl_context ssl;   /* its connection */
	mbedtls_ssl_config config; /* how it is made */
	mbedtls_x509_crt trusted;  /* who may sign the server's certificate */
	int fd;                    /* its end */
	size_t budget;             /* bytes that it may still send and receive */
	bool deaf;                 /* it receives none */
};

static struct tls_context *context;
static struct tls *server;
static struct client client;
static int server_fd;

static int client_random(void *unused, unsigned char *out, size_t size)
{
	return getrandom(out, size, 0) == (ssize_t)size ? 0 : -1;
}

static int client_send(void *of, const unsigned char *data, size_t size)
{
	ssize_t n = size < client.budget ? (ssize_t)size : (ssize_t)client.budget;

	if (n == 0)
		return MBEDTLS_ERR_SSL_WANT_WRITE;
	n = send(client.fd, data, (size_t)n, MSG_NOSIGNAL);
	if (n < 0)
		return errno == EAGAIN ? MBEDTLS_ERR_SSL_WANT_WRITE : MBEDTLS_ERR_SSL_INTERNAL_ERROR;
	client.budget -= (size_t)n;
	return (int)n;
}

static int client_receive(void *of, unsigned char *data, size_t size)
{
	ssize_t n = size < client.budget ? (ssize_t)size : (ssize_t)client.budget;

	if (n == 0 || client.deaf)
		return MBEDTLS_ERR_SSL_WANT_READ;
	n = recv(client.fd, data, (size_t)n, 0);
	if (n < 0)
		return errno == EAGAIN ? MBEDTLS_ERR_SSL_WANT_READ : MBEDTLS_ERR_SSL_INTERNAL_ERROR;
	client.budget -= (size_t)n;
	return (int)n;
}

/* The certificates of Mbed TLS are partly out of date; everything else about them has to be right. */
static int client_verify(void *unused, mbedtls_x509_crt *certificate, int depth, uint32_t *flags)
{
	*flags &= ~(uint32_t)(MBEDTLS_X509_BADCERT_EXPIRED | MBEDTLS_X509_BADCERT_FUTURE);
	return 0;
}

static void client_open(const char *trusted)
{
	mbedtls_ssl_init(&client.ssl);
	mbedtls_ssl_config_init(&client.config);
	mbedtls_x509_crt_init(&client.trusted);
	client.budget = SIZE_MAX / 2;
	CHECK_INT(mbedtls_x509_crt_parse(&client.trusted, (const unsigned char *)trusted, strlen(trusted) + 1), 0);
	CHECK_INT(mbedtls_ssl_config_defaults(&client.config, MBEDTLS_SSL_IS_CLIENT, MBEDTLS_SSL_TRANSPORT_STREAM,
					      MBEDTLS_SSL_PRESET_DEFAULT),
		  0);
	mbedtls_ssl_conf_rng(&client.config, client_random, NULL);
	mbedtls_ssl_conf_ca_chain(&client.config, &client.trusted, NULL);
	mbedtls_ssl_conf_authmode(&client.config, MBEDTLS_SSL_VERIFY_REQUIRED);
	mbedtls_ssl_conf_verify(&client.config, client_verify, NULL);
}

/* Both ends, before the first byte. `prepare` may change the client's configuration. */
static void open_both(const char *certificate, const char *key, const char *trusted, void (*prepare)(void))
{
	struct error err = { 0 };
	int ends[2], small = 4096;

	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
	setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	server_fd = ends[0];
	client.fd = ends[1];
	if (tls_context_new(certificate, strlen(certificate), key, strlen(key), &context, &err) < 0) {
		check_fail("%s", err.text);
		exit(1);
	}
	server = tls_new(context, server_fd);
	CHECK(server != NULL);
	client_open(trusted);
	if (prepare)
		prepare();
	CHECK_INT(mbedtls_ssl_setup(&client.ssl, &client.config), 0);
	CHECK_INT(mbedtls_ssl_set_hostname(&client.ssl, "localhost"), 0);
	mbedtls_ssl_set_bio(&client.ssl, NULL, client_send, client_receive, NULL);
}

static void open_ec(void)
{
	open_both(mbedtls_test_srv_crt_ec_pem, mbedtls_test_srv_key_ec_pem, mbedtls_test_ca_crt_ec_pem, NULL);
}

static void close_client(void)
{
	if (client.fd >= 0)
		close(client.fd);
	client.fd = -1;
}

static void close_both(void)
{
	tls_free(server);
	tls_context_free(context);
	close_client();
	mbedtls_ssl_free(&client.ssl);
	mbedtls_ssl_config_free(&client.config);
	mbedtls_x509_crt_free(&client.trusted);
	close(server_fd);
	server = NULL;
	context = NULL;
}

static bool client_waits(int got)
{
	return got == MBEDTLS_ERR_SSL_WANT_READ || got == MBEDTLS_ERR_SSL_WANT_WRITE;
}

/* Steps of at most `budget` bytes of the client, each with one of the server, until the handshake is over. */
static void shake_hands(size_t budget)
{
	char c;
	int got;

	for (int i = 0; i < STEPS_MAX; i++) {
		client.budget = budget;
		got = mbedtls_ssl_handshake(&client.ssl);
		if (got == 0)
			break;
		if (!client_waits(got)) {
			check_fail("the client says -0x%04x", (unsigned)-got);
			break;
		}
		CHECK_ERRNO(tls_read(server, &c, 1), EAGAIN);
	}
	CHECK_INT(got, 0);
	client.budget = SIZE_MAX / 2;
	CHECK_ERRNO(tls_read(server, &c, 1), EAGAIN);
	CHECK(!tls_wants_write(server));
}

static void speak(void)
{
	char text[64] = "";

	CHECK_INT(mbedtls_ssl_write(&client.ssl, (const unsigned char *)"question", 8), 8);
	CHECK_INT(tls_read(server, text, 3), 3);
	CHECK_INT(tls_pending(server), 5);
	CHECK_INT(tls_read(server, text + 3, sizeof(text) - 3), 5);
	CHECK_STR(text, "question");
	CHECK_INT(tls_pending(server), 0);
	CHECK_ERRNO(tls_read(server, text, sizeof(text)), EAGAIN);
	CHECK(!tls_wants_write(server));
	CHECK_INT(tls_write(server, "answer", 6), 6);
	memset(text, 0, sizeof(text));
	CHECK_INT(mbedtls_ssl_read(&client.ssl, (unsigned char *)text, sizeof(text)), 6);
	CHECK_STR(text, "answer");
}

static void ec_key(void)
{
	open_ec();
	shake_hands(SIZE_MAX / 2);
	CHECK_INT(mbedtls_ssl_get_verify_result(&client.ssl), 0);
	CHECK_STR(mbedtls_ssl_get_version(&client.ssl), "TLSv1.2");
	CHECK_STR(mbedtls_ssl_get_ciphersuite(&client.ssl), "TLS-ECDHE-ECDSA-WITH-AES-128-GCM-SHA256");
	speak();
	close_both();
}

static void rsa_key(void)
{
	open_both(mbedtls_test_srv_crt_rsa_sha256_pem, mbedtls_test_srv_key_rsa_pem, mbedtls_test_ca_crt_rsa_sha256_pem,
		  NULL);
	shake_hands(SIZE_MAX / 2);
	CHECK_INT(mbedtls_ssl_get_verify_result(&client.ssl), 0);
	CHECK_STR(mbedtls_ssl_get_ciphersuite(&client.ssl), "TLS-ECDHE-RSA-WITH-AES-128-GCM-SHA256");
	speak();
	close_both();
}

/* The whole chain is sent. */
static void chain(void)
{
	char both[8192];
	const mbedtls_x509_crt *sent;

	snprintf(both, sizeof(both), "%s%s", mbedtls_test_srv_crt_ec_pem, mbedtls_test_ca_crt_ec_pem);
	open_both(both, mbedtls_test_srv_key_ec_pem, mbedtls_test_ca_crt_ec_pem, NULL);
	shake_hands(SIZE_MAX / 2);
	sent = mbedtls_ssl_get_peer_cert(&client.ssl);
	CHECK(sent && sent->next && !sent->next->next);
	close_both();
}

static void byte_by_byte(void)
{
	open_ec();
	shake_hands(1);
	speak();
	close_both();
}

/* The server may also begin by writing: its handshake is done on the way. */
static void write_first(void)
{
	char text[8] = "";
	ssize_t n = -1;

	open_ec();
	for (int i = 0; i < 1000 && n < 0; i++) {
		mbedtls_ssl_handshake(&client.ssl);
		n = tls_write(server, "hi", 2);
		CHECK(n == 2 || (n == -1 && errno == EAGAIN));
	}
	CHECK_INT(n, 2);
	CHECK_INT(mbedtls_ssl_read(&client.ssl, (unsigned char *)text, sizeof(text)), 2);
	CHECK_STR(text, "hi");
	close_both();
}

/* The byte at a place of a long answer. */
static char byte_at(size_t at)
{
	return (char)(at * 7 + at / 251);
}

/* More than the socket holds, and more is added after each EAGAIN: every byte arrives once. */
static void large_writes(void)
{
	enum {
		TOTAL = 1 << 20
	};
	static char data[TOTAL], seen[TOTAL];
	size_t sent = 0, got = 0, ready = 1000, waits = 0;

	for (size_t i = 0; i < TOTAL; i++)
		data[i] = byte_at(i);
	open_ec();
	shake_hands(SIZE_MAX / 2);
	for (int i = 0; i < STEPS_MAX && got < TOTAL; i++) {
		ssize_t n = sent < ready ? tls_write(server, data + sent, ready - sent) : 0;
		int m;

		if (n > 0) {
			sent += (size_t)n;
		} else if (n < 0) {
			CHECK_INT(errno, EAGAIN);
			CHECK(tls_wants_write(server));
			waits++;
		}
		ready = ready + 7777 < TOTAL ? ready + 7777 : TOTAL;
		client.budget = 3000;
		m = mbedtls_ssl_read(&client.ssl, (unsigned char *)seen + got, TOTAL - got);
		CHECK(m > 0 || client_waits(m));
		got += m > 0 ? (size_t)m : 0;
	}
	CHECK_INT(sent, TOTAL);
	CHECK_INT(got, TOTAL);
	CHECK(memcmp(seen, data, TOTAL) == 0);
	CHECK(waits > 10);
	CHECK(!tls_wants_write(server));
	close_both();
}

/* While a write waits, reading goes on; fewer bytes than before are refused, and lose nothing. */
static void write_waits(void)
{
	static char data[20000];
	char text[8] = "";
	ssize_t n;

	open_ec();
	shake_hands(SIZE_MAX / 2);
	do
		n = tls_write(server, data, 5000);
	while (n > 0);
	CHECK_INT(errno, EAGAIN);
	CHECK_INT(mbedtls_ssl_write(&client.ssl, (const unsigned char *)"x", 1), 1);
	CHECK_INT(tls_read(server, text, sizeof(text)), 1);
	CHECK_STR(text, "x");
	CHECK(tls_wants_write(server));
	CHECK_ERRNO(tls_write(server, data, 4999), EINVAL);
	while (mbedtls_ssl_read(&client.ssl, (unsigned char *)data, sizeof(data)) > 0)
		;
	/* 5000 of them, not what there is now. */
	CHECK_INT(tls_write(server, data, sizeof(data)), 5000);
	close_both();
}

static void large_reads(void)
{
	enum {
		TOTAL = 300000
	};
	static char data[TOTAL], seen[TOTAL];
	size_t sent = 0, got = 0;

	for (size_t i = 0; i < TOTAL; i++)
		data[i] = byte_at(i);
	open_ec();
	shake_hands(SIZE_MAX / 2);
	for (int i = 0; i < STEPS_MAX && got < TOTAL; i++) {
		int m = sent < TOTAL ? mbedtls_ssl_write(&client.ssl, (unsigned char *)data + sent, TOTAL - sent) : 0;
		ssize_t n = tls_read(server, seen + got, TOTAL - got);

		CHECK(m >= 0 || client_waits(m));
		sent += m > 0 ? (size_t)m : 0;
		CHECK(n > 0 || (n == -1 && errno == EAGAIN));
		got += n > 0 ? (size_t)n : 0;
	}
	CHECK_INT(got, TOTAL);
	CHECK(memcmp(seen, data, TOTAL) == 0);
	close_both();
}

static void goodbye_of_client(void)
{
	char c;

	open_ec();
	shake_hands(SIZE_MAX / 2);
	CHECK_INT(mbedtls_ssl_write(&client.ssl, (const unsigned char *)"x", 1), 1);
	CHECK_INT(mbedtls_ssl_close_notify(&client.ssl), 0);
	CHECK_INT(tls_read(server, &c, 1), 1);
	CHECK_INT(tls_read(server, &c, 1), 0);
	/* It may still be answered. */
	CHECK_INT(tls_write(server, "y", 1), 1);
	CHECK_INT(tls_read(server, &c, 1), 0);
	close_both();
}

static void goodbye_of_server(void)
{
	unsigned char c;

	open_ec();
	shake_hands(SIZE_MAX / 2);
	tls_free(server);
	server = NULL;
	CHECK_INT(mbedtls_ssl_read(&client.ssl, &c, 1), MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY);
	close_both();
}

static void peer_gone(void)
{
	char c;

	open_ec();
	shake_hands(SIZE_MAX / 2);
	close_client();
	CHECK_INT(tls_read(server, &c, 1), 0);
	CHECK_INT(tls_read(server, &c, 1), 0);
	/* And no SIGPIPE. */
	CHECK_ERRNO(tls_write(server, "x", 1), EPIPE);
	CHECK_ERRNO(tls_write(server, "x", 1), EPIPE);
	CHECK_ERRNO(tls_read(server, &c, 1), EPIPE);
	CHECK_INT(tls_pending(server), 0);
	close_both();
}

/* The end within the handshake. */
static void peer_gone_early(void)
{
	char c;

	open_ec();
	client.budget = 20;
	CHECK(client_waits(mbedtls_ssl_handshake(&client.ssl)));
	CHECK_ERRNO(tls_read(server, &c, 1), EAGAIN);
	close_client();
	CHECK_INT(tls_read(server, &c, 1), 0);
	CHECK_ERRNO(tls_write(server, "x", 1), EPIPE);
	close_both();
}

static void plain_http(void)
{
	static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
	char c;

	open_ec();
	CHECK_INT(send(client.fd, request, strlen(request), 0), (long)strlen(request));
	CHECK_ERRNO(tls_read(server, &c, 1), EPROTO);
	/* It stays so. */
	CHECK_ERRNO(tls_read(server, &c, 1), EPROTO);
	CHECK_ERRNO(tls_write(server, "x", 1), EPROTO);
	close_both();
}

/* A bit changed on the way. */
static void broken_record(void)
{
	char record[64] = { 23, 3, 3, 0, 59 };
	char c;

	open_ec();
	shake_hands(SIZE_MAX / 2);
	CHECK_INT(send(client.fd, record, sizeof(record), 0), sizeof(record));
	CHECK_ERRNO(tls_read(server, &c, 1), EPROTO);
	close_both();
}

static void random_bytes(void)
{
	unsigned char junk[512];
	char c;

	for (unsigned seed = 1; seed <= 50; seed++) {
		open_ec();
		srand(seed);
		for (size_t i = 0; i < sizeof(junk); i++)
			junk[i] = (unsigned char)rand();
		/* Every other one begins as a handshake does. */
		if (seed % 2)
			memcpy(junk, "\x16\x03\x01\x01\x00\x01\x00\x00\xfc\x03\x03", 11);
		CHECK_INT(send(client.fd, junk, sizeof(junk), 0), sizeof(junk));
		CHECK_ERRNO(tls_read(server, &c, 1), EPROTO);
		close_both();
	}
}

static void prepare_old(void)
{
	mbedtls_ssl_conf_max_version(&client.config, MBEDTLS_SSL_MAJOR_VERSION_3, MBEDTLS_SSL_MINOR_VERSION_2);
}

static void prepare_weak(void)
{
	static const int weak[] = { MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA,
				    MBEDTLS_TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, MBEDTLS_TLS_RSA_WITH_AES_128_GCM_SHA256,
				    0 };

	mbedtls_ssl_conf_ciphersuites(&client.config, weak);
}

static void prepare_h2(void)
{
	static const char *wanted[] = { "h2", NULL };

	mbedtls_ssl_conf_alpn_protocols(&client.config, wanted);
}

static void handshake_refused(void (*prepare)(void))
{
	char c;

	open_both(mbedtls_test_srv_crt_ec_pem, mbedtls_test_srv_key_ec_pem, mbedtls_test_ca_crt_ec_pem, prepare);
	CHECK(client_waits(mbedtls_ssl_handshake(&client.ssl)));
	CHECK_ERRNO(tls_read(server, &c, 1), EPROTO);
	CHECK_INT(mbedtls_ssl_handshake(&client.ssl), MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE);
	close_both();
}

static void old_version(void)
{
	handshake_refused(prepare_old);
}

static void weak_ciphers(void)
{
	handshake_refused(prepare_weak);
}

static void other_protocol(void)
{
	handshake_refused(prepare_h2);
}

static void prepare_curl(void)
{
	static const char *wanted[] = { "h2", "http/1.1", NULL };

	mbedtls_ssl_conf_alpn_protocols(&client.config, wanted);
}

static void our_protocol(void)
{
	open_both(mbedtls_test_srv_crt_ec_pem, mbedtls_test_srv_key_ec_pem, mbedtls_test_ca_crt_ec_pem, prepare_curl);
	shake_hands(SIZE_MAX / 2);
	CHECK_STR(mbedtls_ssl_get_alpn_protocol(&client.ssl), "http/1.1");
	close_both();
}

static void prepare_renegotiation(void)
{
	mbedtls_ssl_conf_renegotiation(&client.config, MBEDTLS_SSL_RENEGOTIATION_ENABLED);
	mbedtls_ssl_conf_renegotiation_enforced(&client.config, MBEDTLS_SSL_RENEGOTIATION_NOT_ENFORCED);
}

/* Asked to begin again, the server does not, and what it sends after that still arrives. */
static void renegotiation(void)
{
	char text[8] = "";
	int got = MBEDTLS_ERR_SSL_WANT_READ;

	open_both(mbedtls_test_srv_crt_ec_pem, mbedtls_test_srv_key_ec_pem, mbedtls_test_ca_crt_ec_pem,
		  prepare_renegotiation);
	shake_hands(SIZE_MAX / 2);
	CHECK(client_waits(mbedtls_ssl_renegotiate(&client.ssl)));
	CHECK_ERRNO(tls_read(server, text, sizeof(text)), EAGAIN);
	CHECK_INT(tls_write(server, "still", 5), 5);
	for (int i = 0; i < 5 && client_waits(got); i++)
		got = mbedtls_ssl_read(&client.ssl, (unsigned char *)text, sizeof(text));
	CHECK_INT(got, 5);
	CHECK_STR(text, "still");
	close_both();
}

/* The refusal does not fit into the socket: the next write is not mistaken for it. */
static void renegotiation_waits(void)
{
	char seen[2000], c;
	size_t sent = 0, got = 0;
	bool written = false;

	open_both(mbedtls_test_srv_crt_ec_pem, mbedtls_test_srv_key_ec_pem, mbedtls_test_ca_crt_ec_pem,
		  prepare_renegotiation);
	shake_hands(SIZE_MAX / 2);
	do
		c = byte_at(sent);
	while (tls_write(server, &c, 1) == 1 && ++sent < sizeof(seen) - 10);
	CHECK_INT(errno, EAGAIN);
	/* Room for just what waits. */
	for (int i = 0; i < 100 && tls_write(server, &c, 1) != 1; i++)
		got += mbedtls_ssl_read(&client.ssl, (unsigned char *)seen + got, 1) == 1;
	sent++;
	CHECK(!tls_wants_write(server));
	client.deaf = true;
	CHECK(client_waits(mbedtls_ssl_renegotiate(&client.ssl)));
	client.deaf = false;
	CHECK_ERRNO(tls_read(server, &c, 1), EAGAIN);
	CHECK(tls_wants_write(server));
	c = byte_at(sent);
	CHECK_ERRNO(tls_write(server, &c, 1), EAGAIN);
	for (int i = 0; i < 1000 && got <= sent; i++) {
		written = written || tls_write(server, &c, 1) == 1;
		got += mbedtls_ssl_read(&client.ssl, (unsigned char *)seen + got, 1) == 1;
	}
	CHECK_INT(got, sent + 1);
	for (size_t i = 0; i < got; i++)
		CHECK(seen[i] == byte_at(i));
	close_both();
}

/* Several connections share a context. */
static void shared_context(void)
{
	int ends[2];
	struct tls *other;
	char c;

	open_ec();
	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
	other = tls_new(context, ends[0]);
	CHECK_INT(send(ends[1], "GET / ", 6, 0), 6);
	CHECK_ERRNO(tls_read(other, &c, 1), EPROTO);
	shake_hands(SIZE_MAX / 2);
	speak();
	tls_free(other);
	close(ends[0]);
	close(ends[1]);
	close_both();
	tls_free(NULL);
	tls_context_free(NULL);
}

/* ---- certificates and keys ---- */

static void pair_refused(const char *certificate, size_t certificate_size, const char *key, size_t key_size,
			 const char *message)
{
	struct tls_context *made = NULL;
	struct error err = { 0 };

	CHECK_INT(tls_context_new(certificate, certificate_size, key, key_size, &made, &err), -1);
	CHECK_INT(err.kind, ERROR_USAGE);
	CHECK_STR(err.text, message);
	CHECK(made == NULL);
}

static void texts_refused(const char *certificate, const char *key, const char *message)
{
	pair_refused(certificate, strlen(certificate), key, strlen(key), message);
}

static void pairs(void)
{
	static const char *const apart =
		"the TLS key does not belong to the certificate; the certificate of the server "
		"has to be the first of its file";
	static const char *const no_certificate =
		"the TLS certificate is not in PEM form; expected a line with BEGIN CERTIFICATE-----";
	static const char *const no_key = "the TLS key is not in PEM form; expected a line with PRIVATE KEY-----";
	const char *certificate = mbedtls_test_srv_crt_ec_pem, *key = mbedtls_test_srv_key_ec_pem;
	char both[8192];

	texts_refused(certificate, mbedtls_test_cli_key_ec_pem, apart);
	texts_refused(certificate, mbedtls_test_srv_key_rsa_pem, apart);
	texts_refused(mbedtls_test_srv_crt_rsa_sha256_pem, key, apart);
	snprintf(both, sizeof(both), "%s%s", mbedtls_test_ca_crt_ec_pem, certificate);
	texts_refused(both, key, apart);
	texts_refused("", key, no_certificate);
	texts_refused("hello", key, no_certificate);
	texts_refused(key, key, no_certificate);
	pair_refused(certificate, strlen(certificate) + 1, key, strlen(key), no_certificate);
	texts_refused(certificate, "", no_key);
	texts_refused(certificate, "hello", no_key);
	texts_refused(certificate, certificate, no_key);
	pair_refused(certificate, strlen(certificate), key, strlen(key) + 1, no_key);
	texts_refused(certificate, mbedtls_test_ca_key_rsa_pem,
		      "the TLS key is encrypted with a password; store it without one");
}

/* What is in PEM form and is nothing all the same. */
static void pairs_broken(void)
{
	const char *certificate = mbedtls_test_srv_crt_ec_pem, *key = mbedtls_test_srv_key_ec_pem;
	struct tls_context *made = NULL;
	struct error err = { 0 };
	char both[8192];

	texts_refused(
		"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", key,
		"the TLS certificate cannot be read: X509 - The CRT/CRL/CSR format is invalid, e.g. different type "
		"expected");
	texts_refused(
		certificate, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
		"the TLS key cannot be read: PK - Invalid key tag or value : ASN1 - ASN1 tag was of an unexpected "
		"value");
	snprintf(both, sizeof(both), "%s-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", certificate);
	texts_refused(both, key, "the TLS certificate cannot be read: 1 of the certificates in it are broken");
	for (size_t size = strlen(certificate) - 5; size > 0; size -= size > 37 ? 37 : size) {
		CHECK_INT(tls_context_new(certificate, size, key, strlen(key), &made, &err), -1);
		CHECK_INT(err.kind, ERROR_USAGE);
	}
	for (size_t size = strlen(key) - 5; size > 0; size -= size > 11 ? 11 : size) {
		CHECK_INT(tls_context_new(certificate, strlen(certificate), key, size, &made, &err), -1);
		CHECK_INT(err.kind, ERROR_USAGE);
	}
	CHECK_INT(tls_context_new(certificate, strlen(certificate), key, strlen(key), &made, &err), 0);
	tls_context_free(made);
}

int main(void)
{
	RUN(ec_key);
	RUN(rsa_key);
	RUN(chain);
	RUN(byte_by_byte);
	RUN(write_first);
	RUN(large_writes);
	RUN(write_waits);
	RUN(large_reads);
	RUN(goodbye_of_client);
	RUN(goodbye_of_server);
	RUN(peer_gone);
	RUN(peer_gone_early);
	RUN(plain_http);
	RUN(broken_record);
	RUN(random_bytes);
	RUN(old_version);
	RUN(weak_ciphers);
	RUN(other_protocol);
	RUN(our_protocol);
	RUN(renegotiation);
	RUN(renegotiation_waits);
	RUN(shared_context);
	RUN(pairs);
	RUN(pairs_broken);
	return check_failures != 0;
}
