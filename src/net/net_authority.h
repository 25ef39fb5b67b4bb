/*
 * The authority that boxes trust for the certificates which the interceptor makes, and what programs in a box have to
 * be given so that they do. Its key is in the state directory, in a file that only egress opens; its certificate is
 * beside it. Both are made when egress starts for the first time.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

#define NET_AUTHORITY_DIRECTORY   "egress"        /* of the state directory */
#define NET_AUTHORITY_KEY         "authority.pem" /* key and certificate */
#define NET_AUTHORITY_CERTIFICATE "authority.crt"
#define NET_AUTHORITY_BEGIN       "-----BEGIN CERTIFICATE-----"

/* Where programs of Debian look in a box, and where the variables below point to. */
#define NET_BUNDLE_PATH     "/etc/ssl/certs/ca-certificates.crt"
#define NET_JAVA_STORE_PATH "/etc/ssl/certs/java/cacerts"

/* The certificate (PEM). `program`, emberbox's own, makes the authority if there is none yet. */
int net_authority_read(const char *program, struct buf *out, struct error *err);

/* The authorities that the host trusts (PEM): $SSL_CERT_FILE, or where distributions keep them. -1 with errno. */
int net_store_open(void);
/* The file for NET_BUNDLE_PATH of a box: the same, and the certificate. */
int net_bundle_make(const struct buf *certificate, struct buf *out, struct error *err);
/* The file for NET_JAVA_STORE_PATH: a store of Java's (JKS) with the certificate added. */
int net_java_store_make(const void *store, size_t size, const struct buf *certificate, struct buf *out,
			struct error *err);

/* "NAME=VALUE", for the environment of a box; NULL ends them. Node.js reads no bundle without being told; the others
 * are for programs that bring a bundle of their own. */
extern const char *const net_authority_variables[];
