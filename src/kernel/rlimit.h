/* Resource limits of a process, soft and hard alike. For the child after clone: 0, or -1 with errno. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

struct rlimit_entry {
	const char *name; /* "nofile", for --explain and error sentences */
	int resource;     /* RLIMIT_… */
	uint64_t value;   /* soft and hard; a lower hard limit of the caller is kept */
};

/* Sets one limit and reads it back (EINVAL if the kernel kept a larger one). */
int rlimit_apply(const struct rlimit_entry *entry);
