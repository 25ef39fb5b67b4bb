/* TLS on both sides of a connection, with OpenSSL; no other file of the interceptor but the authority's uses it. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Once for a process, before it is confined: the authority's key and certificate, those that the host trusts. Reads
 * both to their ends. */
int tls_setup(int authority_fd, int store_fd, struct error *err);
/* Writes a new authority as PEM, key and certificate: `interceptor authority`. */
int tls_authority_make(int fd, struct error *err);

/* One side. Without TLS it is the socket itself. */
struct tls_side {
	int fd;           /* -1: closed; owned */
	void *ssl;        /* NULL: without TLS */
	bool wants_write; /* the last call that could not go on waits for room */
	bool ended;       /* no more is to be read */
	bool clean;       /* and the other side said so, or there is no TLS */
};

/* The box's side: we are the server, with a certificate for `name`. */
int tls_side_accept(struct tls_side *side, const char *name, bool without_sni);
/* The server's side: its certificate has to be valid for `name`. */
int tls_side_connect(struct tls_side *side, const char *name);
enum tls_state {
	TLS_WAITS,
	TLS_DONE,
	TLS_FAILED
};
enum tls_state tls_side_shake(struct tls_side *side);
/* Of the box's side: the name in its ClientHello is the one that was asked for, so the server may be talked with. */
bool tls_side_is_named(const struct tls_side *side);
/* Why the handshake failed. */
enum tls_fault {
	TLS_FAULT_PROTOCOL,
	TLS_FAULT_NAME,        /* the box: another name */
	TLS_FAULT_NO_NAME,     /* the box: none */
	TLS_FAULT_ALPN,        /* the box: it does not offer HTTP/1.1 */
	TLS_FAULT_CERTIFICATE, /* the server */
};
enum tls_fault tls_side_fault(const struct tls_side *side, char *sentence, size_t size);

/* As read(2) and write(2) of a socket that does not block. 0: the end. -1 with EAGAIN, or with another errno when it is
 * broken. */
ssize_t tls_side_read(struct tls_side *side, void *data, size_t size);
ssize_t tls_side_write(struct tls_side *side, const void *data, size_t size);
/* Bytes that were received and wait: epoll does not know of them. */
bool tls_side_has_pending(const struct tls_side *side);
/* Says that nothing more comes; the other direction stays. False: it has to be said again. */
bool tls_side_finish(struct tls_side *side);
void tls_side_close(struct tls_side *side);
