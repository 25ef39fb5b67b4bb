/* What a program may use. In a definition or a request 0 means "not said"; a job has them all. */
#pragma once

#include <stdint.h>

struct limits {
	double timeout;      /* seconds of wall time */
	double cpu_time;     /* seconds of CPU time, 0: as many as fit into the wall time */
	uint64_t memory;     /* bytes, swap excluded */
	double cpus;         /* cores */
	uint64_t pids;       /* processes and threads */
	uint64_t disk;       /* bytes of /sandbox, /tmp and /dev/shm together */
	uint64_t inodes;     /* files there */
	uint64_t max_output; /* bytes of a stream that the result shows */
};
