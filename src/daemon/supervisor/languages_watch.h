/*
 * The user's own languages, watched by the supervisor: it tells the keeper when
 * to read them again. What cannot be watched is read at SIGHUP.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct languages_watch {
	int fd;        /* inotify; -1: nothing is watched */
	int above;     /* its number for the directory that has, or will have, runtimes/ */
	uint64_t mark; /* of the folders as they were when they were read last: others have another */
};

void languages_watch_open(struct languages_watch *watch);
void languages_watch_close(struct languages_watch *watch);
/* After `fd` became readable: whether one of their files was touched. */
bool languages_watch_touched(struct languages_watch *watch);
/* Whether nobody has one of their files open for writing. False: its name is the sentence's. */
bool languages_watch_is_settled(struct error *why);
/* Whether they are not as they were when this was called last, or when they were opened. */
bool languages_watch_changed(struct languages_watch *watch);
