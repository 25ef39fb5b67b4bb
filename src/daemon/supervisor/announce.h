/*
 * Where the service can be reached over HTTP, for other programs of its user:
 * the file `address` in the state directory, one line. The service holds a lock
 * on it for as long as it lives, so what a killed one left is told from what is
 * true, and nobody has to be asked.
 */
#pragma once

#include <stddef.h>

enum {
	ANNOUNCE_MAX = 128 /* bytes of an address, its NUL included */
};

/* Writes it; "": it serves without HTTP over TCP, which is told by an empty line. A descriptor that holds it, or -1:
 * another service of this state directory has announced its own, or it cannot be written; neither hinders a service. */
int announce_address(const char *address);
/* Takes it back. `*fd` is closed, and may be -1. */
void announce_end(int *fd);
/* What a service that lives has announced, perhaps "": 0, or -1: none lives. */
int announce_read(char address[ANNOUNCE_MAX]);
