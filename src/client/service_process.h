/* This program once more, as a service: what a start of one has in common, whoever it is for. */
#pragma once

#include <stdbool.h>

enum {
	SERVICE_READY_FD = 3,         /* where it tells that it listens, see EMBERBOX_READY_FD */
	SERVICE_START_USEC = 5000000, /* for it to do so */
};

/* The same descriptor above those that the service gets, close-on-exec; `fd` is closed. -1: not, or `fd` was that. */
int service_raise_fd(int fd);
/* In a process of its own, for good: `emberbox serve OPTIONS…`, with nothing of the caller's open. `null` is its
 * standard input, `log` its output, `ready` gets a byte when it listens; all three were raised. */
_Noreturn void service_become(int null, int log, int ready, const char *const *options);
/* True when it says that it listens, false when it ended or took too long. */
bool service_wait_ready(int from);
