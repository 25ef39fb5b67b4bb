/* Non-blocking TLS for the front's connections, with Mbed TLS, which is small enough to be linked in. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct tls_context; /* a certificate and its key; shared by connections */
struct tls;         /* one connection */

/* PEM texts with their sizes (without a NUL), which are copied. ERROR_USAGE if they are unusable, or do not belong
 * together. Uses getrandom(): none of these functions opens a file afterwards. */
int tls_context_new(const char *certificate, size_t certificate_size, const char *key, size_t key_size,
		    struct tls_context **out, struct error *err);
void tls_context_free(struct tls_context *context);

/* The server side of a non-blocking connection; the caller owns the descriptor. NULL if memory ran out. */
struct tls *tls_new(struct tls_context *context, int fd);
/* Sends a close alert if possible without blocking. `tls` may be NULL. */
void tls_free(struct tls *tls);
/* Like read(2) and write(2) on a non-blocking descriptor, including the handshake. EAGAIN: wait as tls_wants_write()
 * says. EPROTO: the peer does not speak TLS, or violated it; every error but EAGAIN is final. A read returns 0 when the
 * peer has closed the connection. A write takes at most one record (16 KiB). After EAGAIN, repeat it with the same
 * bytes, with more after them if needed; fewer bytes are EINVAL. */
ssize_t tls_read(struct tls *tls, void *data, size_t size);
ssize_t tls_write(struct tls *tls, const void *data, size_t size);
/* Whether to wait until the descriptor is writable: for the last call, or for an unsent record. Otherwise wait until it
 * is readable, also after a write that returned EAGAIN (handshake). */
bool tls_wants_write(const struct tls *tls);
/* The handshake is not complete: errors are handshake errors. */
bool tls_is_shaking(const struct tls *tls);
/* Bytes that are decrypted and wait for tls_read(): epoll does not report them. */
size_t tls_pending(const struct tls *tls);
