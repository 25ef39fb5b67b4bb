/* Hostile text is read in a fork that reaches nothing but the struct that it leaves. */
// clang-format off
/*
 * tests/run: args=--as root | --as user | --as userns
 */
// clang-format on
#include "../check.h"
#include "as.h"

#include "kernel/confined.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true
#else
#define SANITIZED false
#endif

struct seen {
	int number;     /* as it was given, and one more */
	char text[100]; /* from the heap */
};

enum {
	HEAP = 1 << 20
};

static void work_well(const void *in, struct heap *heap, void *out)
{
	struct seen *seen = out;
	char *room = heap_alloc(heap, 1000);

	seen->number = *(const int *)in + 1;
	strcpy(seen->text, room ? "room" : "none");
	if (heap_alloc(heap, HEAP))
		strcpy(seen->text, "too much");
}

static void leaves_what_it_made(void)
{
	struct seen *seen = confined_run(work_well, &(int){ 41 }, HEAP, sizeof(*seen));

	CHECK(seen && seen->number == 42 && strcmp(seen->text, "room") == 0);
	confined_free(seen, sizeof(*seen));
}

/* What is written before the end that was not its own is not seen. */
static void check_lost(confined_work *work)
{
	CHECK(!confined_run(work, &(int){ 1 }, HEAP, sizeof(struct seen)));
}

static void work_open(const void *in, struct heap *heap, void *out)
{
	((struct seen *)out)->number = 1;
	if (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
		((struct seen *)out)->number = 2;
}

static void work_socket(const void *in, struct heap *heap, void *out)
{
	((struct seen *)out)->number = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static void work_fork(const void *in, struct heap *heap, void *out)
{
	((struct seen *)out)->number = (int)fork();
}

static void work_kill(const void *in, struct heap *heap, void *out)
{
	((struct seen *)out)->number = kill(getppid(), 0);
}

/* Each of them is the end of the process, not an errno. */
static void a_call_to_the_kernel_ends_it(void)
{
	check_lost(work_open);
	check_lost(work_socket);
	check_lost(work_fork);
	check_lost(work_kill);
}

static void work_crash(const void *in, struct heap *heap, void *out)
{
	((struct seen *)out)->number = 1;
	__builtin_trap();
}

static void work_for_ever(const void *in, struct heap *heap, void *out)
{
	for (;;)
		((volatile struct seen *)out)->number++;
}

static void a_crash_is_its_own(void)
{
	check_lost(work_crash);
}

static void one_that_does_not_end_is_ended(void)
{
	check_lost(work_for_ever);
}

/* Read and write have no object. */
static void work_write(const void *in, struct heap *heap, void *out)
{
	struct seen *seen = out;
	char byte = 'x';

	seen->number = (int)write(*(const int *)in, &byte, 1);
	strcpy(seen->text, errno == EBADF ? "no descriptor" : "a descriptor");
}

static void it_has_no_descriptor(void)
{
	struct seen *seen;
	int ends[2];

	if (pipe(ends) < 0)
		abort();
	seen = confined_run(work_write, &ends[1], HEAP, sizeof(*seen));
	CHECK(seen && seen->number == -1 && strcmp(seen->text, "no descriptor") == 0);
	confined_free(seen, sizeof(*seen));
	CHECK_INT(write(ends[1], "x", 1), 1);
	close(ends[0]);
	close(ends[1]);
}

int main(int argc, char **argv)
{
	as_enter(argc, argv);
	RUN(leaves_what_it_made);
	if (SANITIZED)
		check_skip("a_call_to_the_kernel_ends_it", "a sanitizer has to be able to tell what it found");
	else
		RUN(a_call_to_the_kernel_ends_it);
	RUN(a_crash_is_its_own);
	RUN(one_that_does_not_end_is_ended);
	RUN(it_has_no_descriptor);
	return check_failures ? 1 : 0;
}
