/* How the service is reached over HTTP, for who is to be told: by token and address. */
#pragma once

#include "registry/tokens.h"
#include "daemon/supervisor/announce.h"

#include <stdbool.h>

struct service_door {
	char token[TOKEN_MAX];      /* the first one */
	char address[ANNOUNCE_MAX]; /* such as http://127.0.0.1:7320; "": there is no HTTP over TCP */
	bool given;                 /* that token is EMBERBOX_TOKEN, which its owner knows */
	bool running;               /* a service lives, and says so itself; else it is what the settings would make */
};

/* Returns 0, or an exit code with a complaint. Makes the first token if there is none yet. */
int door_find(struct service_door *out);
