/* Resource limits by process, hard and soft alike. For the child after clone: 0, or -1 with errno. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

struct rlimit_entry {
	const char *name; /* "nofile", for --explain and error sentences */
	int resource;     /* RLIMIT_… */
	uint64_t value;   /* soft and hard; a lower hard limit of the caller's stays as it is */
};

/* Sets one and reads it back (EINVAL when the kernel kept something larger). */
int rlimit_apply(const struct rlimit_entry *entry);
