#include "reader/reader_memory.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <tree_sitter/api.h>
#include <unistd.h>

enum {
	STEP = 16,                 /* alignment of sizes and addresses */
	SMALL = 1024,              /* up to this size, each size has a list */
	SMALLS = SMALL / STEP + 1, /* number of those lists */
	LISTS = SMALLS + 64,       /* plus one for each power of two */
	KEPT = 96 << 20,           /* bytes kept for the next source: enough for the tree of a megabyte */
};

/* Header of an allocation; free blocks are linked through their content. */
struct block {
	uint64_t size; /* bytes of the allocation */
};

struct spare {
	struct spare *next; /* next block of the same list */
};

static struct {
	char *start;                 /* start of the region */
	char *at;                    /* memory above this is unused by this source */
	char *used;                  /* memory above this was released, or never used */
	char *end;                   /* end of the region */
	struct spare *spares[LISTS]; /* freed blocks, by size */
} memory;

/* The list for a size; `whole` receives the size of the list's blocks. */
static size_t list_of(size_t size, size_t *whole)
{
	size_t power;

	*whole = (size + sizeof(struct block) + STEP - 1) & ~(size_t)(STEP - 1);
	if (*whole <= SMALL)
		return *whole / STEP;
	power = 64 - (size_t)__builtin_clzl(*whole - 1);
	*whole = (size_t)1 << power;
	return SMALLS + power - 1;
}

void *memory_have(size_t size)
{
	size_t whole, list;
	struct spare *spare;
	struct block *block;

	/* Out of memory: the parser does not check, so the process ends and the caller reports that the source is too
	 * large. */
	if (size > (size_t)(memory.end - memory.start))
		_exit(1);
	list = list_of(size, &whole);
	spare = memory.spares[list];
	if (spare) {
		memory.spares[list] = spare->next;
		return spare;
	}
	if (whole > (size_t)(memory.end - memory.at))
		_exit(1);
	/* Allocations are aligned, so their headers are not. */
	block = (struct block *)(void *)memory.at;
	block->size = whole;
	memory.at += whole;
	return block + 1;
}

void *memory_zeroed(size_t count, size_t size)
{
	size_t whole;
	void *made;

	if (__builtin_mul_overflow(count, size, &whole))
		_exit(1);
	made = memory_have(whole);
	return memset(made, 0, whole);
}

void memory_give(void *old)
{
	struct spare *spare = old;
	size_t whole, list;

	if (!old)
		return;
	list = list_of(((struct block *)old)[-1].size - sizeof(struct block), &whole);
	spare->next = memory.spares[list];
	memory.spares[list] = spare;
}

void *memory_resize(void *old, size_t size)
{
	size_t had = old ? ((struct block *)old)[-1].size - sizeof(struct block) : 0;
	void *made;

	if (old && size <= had)
		return old;
	made = memory_have(size);
	if (old)
		memcpy(made, old, had);
	memory_give(old);
	return made;
}

void memory_empty(void)
{
	memory.used = memory.at > memory.used ? memory.at : memory.used;
	/* Releases memory that only the largest sources need. */
	if (memory.used - memory.start > KEPT) {
		madvise(memory.start + KEPT, (size_t)(memory.end - memory.start) - KEPT, MADV_DONTNEED);
		memory.used = memory.start + KEPT;
	}
	memory.at = memory.start + STEP - sizeof(struct block);
	memset(memory.spares, 0, sizeof(memory.spares));
}

int memory_open(size_t size)
{
	char *stretch = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (stretch == MAP_FAILED)
		return -1;
	/* Huge pages, if available: for a large source, a fifth of the time goes into page faults. */
	(void)madvise(stretch, size, MADV_HUGEPAGE);
	memory.start = memory.at = memory.used = stretch;
	memory.end = stretch + size;
	memory_empty();
	ts_set_allocator(memory_have, memory_zeroed, memory_resize, memory_give);
	return 0;
}
