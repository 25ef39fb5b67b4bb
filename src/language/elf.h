/* Which files of the host a program needs to start: its loader and its libraries, and theirs. */
#pragma once

#include "base/arena.h"
#include "base/error.h"

#include <stddef.h>

enum {
	ELF_FILES_MAX = 256
};

struct elf_files {
	const char *paths[ELF_FILES_MAX]; /* absolute, as the loader looks for them; no two the same */
	size_t count;                     /* how many */
};

/* Adds what `program` needs, not the program itself; nothing for a static program, for a script the interpreter after
 * "#!" and what that needs. Directories are without links (/usr/lib for /lib), names are as the loader asks for them,
 * which may be links. The paths are in the arena. ERROR_FAILED when one is missing, or the file is damaged. */
int elf_needs(const char *program, struct arena *arena, struct elf_files *files, struct error *err);

/* What one ELF file says, by its content. Pure; for elf_needs() and the fuzzer. Calls `each` with every DT_NEEDED name.
 * The loader's path is put into loader (empty: none). -1: no ELF file of this machine, or damaged. */
int elf_read(const void *data, size_t size, char *loader, size_t loader_size,
	     void (*each)(const char *name, void *userdata), void *userdata);
