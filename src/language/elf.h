/* The files of the host that a program needs to start: its loader and its libraries. */
#pragma once

#include "base/arena.h"
#include "base/error.h"

#include <stddef.h>

enum {
	ELF_FILES_MAX = 256
};

struct elf_files {
	const char *paths[ELF_FILES_MAX]; /* absolute, as the loader opens them; no duplicates */
	size_t count;                     /* number of them */
};

/* Adds the needs of `program`, not the program itself: none for a static program; for a script, the interpreter after
 * "#!" and its needs. Links in directories are resolved (/usr/lib for /lib); names may be links, as the loader opens
 * them. The paths are in the arena. ERROR_FAILED if a file is missing or damaged. */
int elf_needs(const char *program, struct arena *arena, struct elf_files *files, struct error *err);

/* Reads one ELF file from memory. Pure; for elf_needs() and the fuzzer. Calls `each` with every DT_NEEDED name, and
 * writes the loader's path to `loader` (empty: none). -1: not an ELF file of this machine, or damaged. */
int elf_read(const void *data, size_t size, char *loader, size_t loader_size,
	     void (*each)(const char *name, void *userdata), void *userdata);
