#include "ember/room.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	HOLE_MAX = 64 << 10, /* bytes of a hole that is filled at once; larger ones take several */
	GRAIN = 16,          /* sizes differ by this at least */
	POOLS_MAX = 4096,    /* that are looked at for one size */
};

void room_make(void)
{
	const struct mallinfo2 before = mallinfo2();
	/* Where memory begins that was never given out. */
	const uintptr_t fresh = (uintptr_t)sbrk(0) - before.keepcost;
	size_t left = before.fordblks - before.keepcost + before.fsmblks;

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

void room_make_pools(void *(*allocate)(size_t), void (*release)(void *), size_t largest, size_t pool)
{
	for (size_t size = GRAIN; size <= largest; size += GRAIN) {
		uintptr_t last = 0;

		for (size_t pools = 0; pools < POOLS_MAX;) {
			uintptr_t hole = (uintptr_t)allocate(size);

			if (!hole)
				return;
			/* The first of a pool is behind its head only if all of it is free. */
			if (hole % pool < 64 && hole / pool != last) {
				release((void *)hole);
				break;
			}
			pools += hole / pool != last;
			last = hole / pool;
		}
	}
}
