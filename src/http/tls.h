/* TLS for the front's connections, never waiting: Mbed TLS, which is small enough to be part of the program. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct tls_context; /* a certificate and its key; shared by connections */
struct tls;         /* one connection */

/* PEM texts with their sizes (no NUL counted). They are copied. Errors are ERROR_USAGE when they cannot be used, or do
 * not belong together. Takes its randomness from getrandom(): no file is opened after this, by any of these. */
int tls_context_new(const char *certificate, size_t certificate_size, const char *key, size_t key_size,
		    struct tls_context **out, struct error *err);
void tls_context_free(struct tls_context *context);

/* The server's side of a connection that does not block; the descriptor stays the caller's. NULL without memory. */
struct tls *tls_new(struct tls_context *context, int fd);
/* Says goodbye if that can be done at once. NULL is fine. */
void tls_free(struct tls *tls);
/* As read(2) and write(2) of a descriptor that does not block, the handshake included: EAGAIN when it has to wait, and
 * tls_wants_write() tells for what. EPROTO: the peer does not speak TLS, or broke it; whatever but EAGAIN stays so. A
 * read is 0 once the peer has said goodbye or is gone. A write takes at most one record (16 KiB). One that said EAGAIN
 * is to be repeated with the same bytes first; more may follow them, with fewer it is EINVAL. */
ssize_t tls_read(struct tls *tls, void *data, size_t size);
ssize_t tls_write(struct tls *tls, const void *data, size_t size);
/* Wait for the descriptor to take bytes: the last call said so, or a record is partly sent. Otherwise for bytes to
 * come, also when it was a write that said EAGAIN (the handshake). */
bool tls_wants_write(const struct tls *tls);
/* The handshake is not over: what fails then failed before anything was said. */
bool tls_is_shaking(const struct tls *tls);
/* Bytes that were received and decrypted and wait for tls_read(): epoll does not know of them. */
size_t tls_pending(const struct tls *tls);
