#include "engine/ember/room.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	HOLE_MAX = 64 << 10, /* bytes of a hole that is filled at once; larger ones take several */
	GRAIN = 16,          /* sizes differ by this at least */
	POOLS_MAX =
		4 << 20, /* bytes that pools are filled with at most: another allocator would never show a fresh one */
	IN_ORDER = 4,    /* neighbours in a row, that only a fresh pool gives out from its beginning */
};

void room_make(void)
{
	const struct mallinfo2 before = mallinfo2();
	/* Where memory begins that was never given out. */
	const uintptr_t fresh = (uintptr_t)sbrk(0) - before.keepcost;
	size_t left = before.fordblks - before.keepcost;

	for (size_t size = HOLE_MAX; size >= GRAIN; size -= size > 1024 ? size / 8 / GRAIN * GRAIN : GRAIN) {
		for (;;) {
			void *hole = malloc(size);

			if (!hole)
				return;
			if ((uintptr_t)hole >= fresh || left < size) {
				free(hole);
				break;
			}
			left -= size;
		}
	}
}

/* Whether what is allocated next comes from a pool that was empty; 0, and what was allocated is kept, if it does not.
 */
static int is_fresh(void *(*allocate)(size_t), void (*release)(void *), size_t size, size_t pool)
{
	char *row[IN_ORDER];

	for (int i = 0; i < IN_ORDER; i++) {
		row[i] = allocate(size);
		if (!row[i])
			return -1;
		/* Behind the head first, and one after the other: objects that were freed come back in another order.
		 */
		if (i == 0 ? (uintptr_t)row[0] % pool >= 64 : row[i] != row[i - 1] + size)
			return 0;
	}
	for (int i = IN_ORDER; i > 0; i--)
		release(row[i - 1]);
	return 1;
}

void room_make_pools(void *(*allocate)(size_t), void (*release)(void *), size_t largest, size_t pool)
{
	size_t filled = 0;

	for (size_t size = GRAIN; size <= largest; size += GRAIN) {
		int fresh = 0;

		while (fresh == 0 && filled < POOLS_MAX) {
			fresh = is_fresh(allocate, release, size, pool);
			filled += size;
		}
		if (fresh != 1)
			return;
	}
}
