/* The token and address of the service's HTTP API. */
#pragma once

#include "registry/tokens.h"
#include "daemon/supervisor/announce.h"

#include <stdbool.h>

struct service_door {
	char token[TOKEN_MAX];      /* the first token */
	char address[ANNOUNCE_MAX]; /* such as http://127.0.0.1:7320; "": no HTTP over TCP */
	bool given;                 /* the token is EMBERBOX_TOKEN, which the user knows */
	bool running;               /* the address is a running service's; otherwise it comes from the settings */
};

/* Creates the first token if there is none. Returns 0, or an exit code after an error message. */
int door_find(struct service_door *out);
