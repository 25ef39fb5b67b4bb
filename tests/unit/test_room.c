/* Holes that a start leaves are filled, so that what is allocated afterwards lies together. */
#include "engine/ember/room.h"

#include "check.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	OBJECTS = 4000,
	SIZE = 200,
	POOL = 16 << 10,
	POOLS = 8,
	HEAD = 48 /* of a pool */
};

/* The pages that so many allocations touch. */
static size_t pages(void)
{
	static void *kept[OBJECTS];
	static size_t kept_count;
	uintptr_t seen[100];
	size_t count = 0;

	for (int i = 0; i < 100; i++) {
		void *object = kept[kept_count++] = malloc(SIZE);
		uintptr_t page = (uintptr_t)object / 4096;
		size_t at = 0;

		while (at < count && seen[at] != page)
			at++;
		if (at == count)
			seen[count++] = page;
	}
	return count;
}

static void holes_of_the_heap_are_filled(void)
{
	static char *objects[OBJECTS];

	for (int i = 0; i < OBJECTS; i++)
		objects[i] = malloc(SIZE);
	/* A hole on each page, too far apart to grow together. */
	for (int i = 0; i < OBJECTS; i += 16) {
		free(objects[i]);
		objects[i] = NULL;
	}
#ifndef __SANITIZE_ADDRESS__
	CHECK(pages() > 80);
	for (int i = 8; i < OBJECTS; i += 16) {
		free(objects[i]);
		objects[i] = NULL;
	}
	room_make();
	CHECK(pages() < 10);
#else
	/* Another allocator: it finds none, and does no harm. */
	room_make();
	CHECK(pages() > 0);
#endif
}

/* An allocator with pools: the first free place of the first pool that has one. */
static char area[POOLS * POOL] __attribute__((aligned(POOL)));
static char elsewhere[POOL] __attribute__((aligned(POOL)));
static size_t out; /* objects of other sizes */
static bool used[POOLS][POOL / 16];

static void *allocate(size_t size)
{
	size_t places = (POOL - HEAD) / size;

	/* Each pool is for one size, as CPython's; those that are looked at are for 32 bytes. */
	if (size != 32)
		return elsewhere + HEAD + out++ * size;
	for (size_t pool = 0; pool < POOLS; pool++)
		for (size_t place = 0; place < places; place++)
			if (!used[pool][place]) {
				used[pool][place] = true;
				return area + pool * POOL + HEAD + place * size;
			}
	return NULL;
}

static void release(void *place)
{
	size_t at = (size_t)((char *)place - area);

	if (at >= sizeof(area))
		out--;
	else
		used[at / POOL][(at % POOL - HEAD) / 32] = false;
}

static void pools_are_filled_up_to_a_fresh_one(void)
{
	const size_t places = (POOL - HEAD) / 32;

	memset(used, 0, sizeof(used));
	for (size_t pool = 0; pool < 3; pool++)
		for (size_t place = 0; place < places; place++)
			used[pool][place] = place % 7 != 3 && place != 0;
	room_make_pools(allocate, release, 64, POOL);
	for (size_t pool = 0; pool < 3; pool++)
		for (size_t place = 0; place < places; place++)
			CHECK(used[pool][place]);
	/* The next object is the first of an empty pool. */
	CHECK(allocate(32) == area + 3 * POOL + HEAD);
}

static void an_allocator_that_has_nothing_is_left_alone(void)
{
	memset(used, 1, sizeof(used));
	room_make_pools(allocate, release, 64, POOL);
	CHECK(allocate(32) == NULL);
}

int main(void)
{
	RUN(holes_of_the_heap_are_filled);
	RUN(pools_are_filled_up_to_a_fresh_one);
	RUN(an_allocator_that_has_nothing_is_left_alone);
	return check_failures != 0;
}
