/* The authority that boxes trust, and the certificates that it signs, one for each name. */
#pragma once

#include "base/error.h"

#include <openssl/ssl.h>
#include <stdbool.h>

/* The authority's key and certificate from the file, and a key for all certificates of this process. */
int leaf_setup(int fd, struct error *err);
/* Gives the connection a certificate for that name. 1, or 0 as OpenSSL's callbacks want it. */
int leaf_use(SSL *ssl, const char *name);
/* A new authority, written as PEM: its key, its certificate. */
int authority_make(int fd, struct error *err);
