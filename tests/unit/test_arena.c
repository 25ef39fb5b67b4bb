/* The arena: aligned, zeroed pieces that stay where they are until all go at once. */
#include "../check.h"

#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>

static void pieces_are_zeroed_aligned_and_apart(void)
{
	struct arena arena = { 0 };
	unsigned char *pieces[500];

	for (size_t i = 0; i < 500; i++) {
		size_t size = i * 7 % 300;

		pieces[i] = arena_alloc(&arena, size);
		CHECK(pieces[i]);
		CHECK_INT((uintptr_t)pieces[i] % alignof(max_align_t), 0);
		for (size_t j = 0; j < size; j++)
			CHECK_INT(pieces[i][j], 0);
		memset(pieces[i], (int)(i % 251) + 1, size);
	}
	for (size_t i = 0; i < 500; i++)
		for (size_t j = 0; j < i * 7 % 300; j++)
			CHECK_INT(pieces[i][j], i % 251 + 1);
	arena_free(&arena);
	CHECK(!arena.blocks);
}

static void pieces_larger_than_a_block(void)
{
	struct arena arena = { 0 };
	char *small = arena_string(&arena, "small");
	char *large = arena_alloc(&arena, 1 << 20);
	char *after = arena_string(&arena, "after");

	CHECK(large);
	memset(large, 'x', 1 << 20);
	CHECK_STR(small, "small");
	CHECK_STR(after, "after");
	arena_free(&arena);
}

static void copies_are_terminated(void)
{
	struct arena arena = { 0 };
	char *copy;

	copy = arena_copy(&arena, "abc", 2);
	CHECK_STR(copy, "ab");
	copy = arena_copy(&arena, NULL, 0);
	CHECK_STR(copy, "");
	copy = arena_copy(&arena, "a\0b", 3);
	CHECK(copy && memcmp(copy, "a\0b", 4) == 0);
	CHECK_STR(arena_printf(&arena, "%s/%d", "a", 7), "a/7");
	CHECK_STR(arena_printf(&arena, "%s", ""), "");
	CHECK_INT(strlen(arena_printf(&arena, "%100000d", 1)), 100000);
	arena_free(&arena);
}

static void sizes_that_cannot_be_are_refused(void)
{
	struct arena arena = { 0 };
	volatile size_t most = SIZE_MAX; /* or the compiler sees what is coming */

	CHECK(!arena_alloc(&arena, most));
	CHECK(!arena_alloc(&arena, most - 15));
	CHECK(!arena_alloc(&arena, most / 2 + 1));
	CHECK(!arena_copy(&arena, "", most));
	CHECK(arena_alloc(&arena, 1));
	arena_free(&arena);
	arena_free(&arena);
}

int main(void)
{
	RUN(pieces_are_zeroed_aligned_and_apart);
	RUN(pieces_larger_than_a_block);
	RUN(copies_are_terminated);
	RUN(sizes_that_cannot_be_are_refused);
	return check_failures != 0;
}
