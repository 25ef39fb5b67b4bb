/*
 * Where emberbox keeps what it need not make again: EMBERBOX_HOME, else
 * XDG_CACHE_HOME/emberbox, else ~/.cache/emberbox; always a directory that
 * belongs to us and that nobody else can write to.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* A descriptor of it (O_PATH), or -1: then nothing is remembered. Without `make` it has to be there. */
int state_dir(bool make);
/* Why there is none: 0, it is not there yet, or nobody has named one; -1, it is there and cannot be used, told in `err`.
 */
int state_why_not(struct error *err);
/* A directory of its own below it, made if need be; or -1. */
int state_subdir(const char *name);
/* What something in it is called, whether or not it is there, and whoever may write to it. 0, or -1: no such place. */
int state_path(const char *name, char *path, size_t size);
