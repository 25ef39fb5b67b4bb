/* Starts this program again as a service: the part that all starters share. */
#pragma once

#include <stdbool.h>

enum {
	SERVICE_READY_FD = 3,         /* the service reports here that it listens, see EMBERBOX_READY_FD */
	SERVICE_START_USEC = 5000000, /* timeout for that */
};

/* Duplicates the descriptor to a number above those that the service gets, close-on-exec; closes `fd`. -1: `fd` was -1,
 * or it failed. */
int service_raise_fd(int fd);
/* In a process of its own: executes `emberbox serve OPTIONS…` without other descriptors of the caller. `null` is its
 * standard input, `log` its output; `ready` gets a byte when it listens. All three come from service_raise_fd(). */
_Noreturn void service_become(int null, int log, int ready, const char *const *options);
/* True if the service reports that it listens, false if it ended or timed out. */
bool service_wait_ready(int from);
