/*
 * The kernel's texts about one process, as the accounting of a box reads them.
 *
 * Names in them (of programs, of mapped files) are the box's to choose: only
 * what the kernel itself wrote is looked at. Texts are terminated by a zero.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A process as the last sample saw it. */
struct account_process {
	uint64_t pid;    /* in the box */
	uint64_t start;  /* since boot, in ticks: tells two users of one pid apart */
	uint64_t ticks;  /* of CPU, its own and of its children waited for */
	uint64_t waited; /* the second part of that */
};

/* What /proc/N/status says of a process or a thread. */
struct account_status {
	bool memory;       /* it has any; false after its end, also when other threads of it live on */
	bool blocked;      /* in a wait that only its end interrupts (state D) */
	uint64_t parent;   /* pid */
	uint64_t threads;  /* of the process, a dead leader included */
	uint64_t size;     /* KiB of addresses */
	uint64_t resident; /* KiB of pages, swapped ones included */
	uint64_t tables;   /* KiB of page tables */
	uint64_t huge;     /* KiB of huge pages, which are not resident ones */
};

/* What /proc/N/smaps has shown so far. */
struct account_shares {
	dev_t leave;  /* mappings of files on this device do not count; 0 for none */
	bool counts;  /* the mapping begun last does; true before the first line */
	uint64_t kib; /* Pss and SwapPss of those that count */
};

/* The decimal number after spaces and tabs; 0 when there is none. Moves behind it. */
uint64_t account_parse_number(const char **at);

/* The number of the line "KEY:   NUMBER kB"; key holds the newline before it. 0 when there is no such line. */
uint64_t account_parse_line(const char *text, const char *key);

void account_parse_status(const char *text, struct account_status *out);

/* /proc/N/stat; all but the pid. False when fields are missing. */
bool account_parse_stat(const char *text, struct account_process *out);

/* One line of smaps, without its newline: begins a mapping, or adds to the one begun. */
void account_parse_smaps(const char *line, struct account_shares *shares);

/* A line of /proc/sysvipc/shm: bytes of the segment that are resident or swapped, and what the kernel keeps of it; 0
 * for the heading. */
uint64_t account_parse_segment(const char *line);

/* /proc/N/syscall: whether it sleeps in a vfork, which shares its memory with the child. */
bool account_parse_vfork(const char *text);
