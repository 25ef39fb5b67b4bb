#include "engine/ember/script.h"

#include "engine/ember/zygote.h"

#include <link.h>
#include <locale.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	STACK_AHEAD = 64 << 10, /* bytes of the stack that small programs reach */
	SHIFT_BITS = 12,        /* of the seed, for each piece of the heap that is left out */
	SHIFT_UNIT = 16,        /* bytes: what memory is aligned to */
};

/* Read by the dynamic linker and the C library before main(). */
static const char *const early[] = { "LD_*", "GLIBC_TUNABLES", "MALLOC_*", NULL };

static bool name_matches(const char *variable, const char *pattern)
{
	size_t length = strlen(pattern);

	if (pattern[length - 1] == '*')
		return strncmp(variable, pattern, length - 1) == 0;
	return strncmp(variable, pattern, length) == 0 && variable[length] == '=';
}

static bool is_early(const char *variable, const char *const *names)
{
	for (; *names; names++)
		if (name_matches(variable, *names))
			return true;
	return false;
}

static bool env_has(char *const *env, const char *variable)
{
	for (; *env; env++)
		if (strcmp(*env, variable) == 0)
			return true;
	return false;
}

static bool env_lacks_one(char *const *env, char *const *of, const char *const *names)
{
	for (; *of; of++)
		if (is_early(*of, names) && !env_has(env, *of))
			return true;
	return false;
}

bool script_env_differs(char *const *one, char *const *other, const char *const *names)
{
	return env_lacks_one(one, other, names) || env_lacks_one(other, one, names);
}

static int populate_segments(struct dl_phdr_info *info, size_t size, void *data)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	(void)size;
	(void)data;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t at = (info->dlpi_addr + segment->p_vaddr) & ~(page - 1);
		uintptr_t end = info->dlpi_addr + segment->p_vaddr + segment->p_memsz;

		if (segment->p_type != PT_LOAD)
			continue;
		if (!(segment->p_flags & PF_W)) {
			madvise((void *)at, end - at, MADV_POPULATE_READ);
			continue;
		}
		/* Page by page: the first of them are read-only since the linker is done. */
		for (; at < end; at += page)
			madvise((void *)at, page, MADV_POPULATE_WRITE);
	}
	return 0;
}

/* Only saves time: an old kernel that refuses costs nothing but that. */
void script_rehearse(int hurry)
{
	volatile char stack[STACK_AHEAD];

	if (hurry)
		return;
	for (size_t i = 0; i < sizeof(stack); i += 1024)
		stack[i] = 0;
	dl_iterate_phdr(populate_segments, NULL);
}

/*
 * Forks have their addresses in common, and some interpreters take those for
 * chance (Lua seeds math.random by one, and by the second). So each fork's heap
 * goes on from somewhere else: what is taken here is never touched, nor freed.
 */
static void shift_heap(uint64_t seed)
{
	for (; seed > 0; seed >>= SHIFT_BITS) {
		void *volatile taken = malloc((seed % (1U << SHIFT_BITS)) * SHIFT_UNIT);

		(void)taken;
	}
}

static int count(char *const *words)
{
	int n = 0;

	while (words[n])
		n++;
	return n;
}

/* The last of what exit() calls, for it was registered first; but buffers are written after that. */
static void leave(int status, void *data)
{
	if (getpid() != (pid_t)(intptr_t)data)
		return;
	fflush(NULL);
	ember_leave(status);
}

/* The C library keeps a locale that it has loaded once, and its tables. What a start asks for is then there. */
static void load_locale(void)
{
	setlocale(LC_ALL, "");
	(void)!mblen("x", 1);
	setlocale(LC_ALL, "C");
}

static const char *entry;

const char *script_entry(void)
{
	return entry;
}

int script_main(script_main_fn *program)
{
	static const struct ember_language language = { .rehearse = script_rehearse };
	char **before = environ;
	const struct enter_claim *claim;

	load_locale();
	claim = zygote_wait(&language);
	close(claim->control);
	if (script_env_differs(before, claim->claim.envp, early)) {
		execve(claim->argv[0], claim->argv, claim->claim.envp);
		_exit(127);
	}
	entry = claim->claim.entry;
	on_exit(leave, (void *)(intptr_t)getpid());
	shift_heap(claim->claim.seed);
	return program(count(claim->argv), claim->argv, claim->claim.envp);
}
