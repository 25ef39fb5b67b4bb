/* Output is passed on in order and whole, and a reader that does not read holds nothing up. */
#include "../check.h"

/* The command line is not part of the library; what is tested is compiled in. */
#include "cli/run_output.c"
#include "cli/relay.c"

#include <fcntl.h>

enum {
	BIG = 1 << 20
};

static struct relay relays[8]; /* a relay lives as long as the process */
static size_t relay_count;     /* in use */
static int failures;           /* calls of on_failure */

static void count_failure(void)
{
	failures++;
}

static struct relay *fresh(int fds[2])
{
	struct relay *relay = &relays[relay_count++];

	CHECK_INT(pipe2(fds, O_CLOEXEC), 0);
	failures = 0;
	relay_start(relay, count_failure);
	return relay;
}

static char pattern_at(size_t i)
{
	return (char)(i * 31 + i / 4096);
}

static char *pattern(void)
{
	char *data = malloc(BIG);

	for (size_t i = 0; i < BIG; i++)
		data[i] = pattern_at(i);
	return data;
}

static void what_fits_is_written_at_once(void)
{
	int fds[2];
	struct relay *relay = fresh(fds);
	char got[16];

	relay_write(relay, fds[1], "hello", 5);
	CHECK_INT(read(fds[0], got, sizeof(got)), 5);
	CHECK(!relay->threaded);
	CHECK_INT(relay_finish(relay, 0), 0);
}

static void nobody_reads(void)
{
	int fds[2];
	struct relay *relay = fresh(fds);
	char *data = pattern();

	relay_write(relay, fds[1], data, BIG); /* would block for ever */
	CHECK(relay->threaded);
	CHECK_INT(relay_finish(relay, 1), ETIMEDOUT);
	CHECK_INT(failures, 0);
	free(data);
}

static void a_late_reader_gets_all_in_order(void)
{
	int fds[2];
	struct relay *relay = fresh(fds);
	char *data = pattern(), piece[1000];
	size_t got = 0;
	ssize_t n;

	relay_write(relay, fds[1], data, BIG / 2);
	relay_write(relay, fds[1], data + BIG / 2, BIG / 2);
	while (got < BIG && (n = read(fds[0], piece, sizeof(piece))) > 0) {
		for (ssize_t i = 0; i < n; i++, got++) {
			if (piece[i] != pattern_at(got)) {
				check_fail("byte %zu is wrong", got);
				return;
			}
		}
	}
	CHECK_INT(got, BIG);
	CHECK_INT(relay_finish(relay, 0), 0);
	free(data);
}

static void a_reader_that_left(void)
{
	int fds[2];
	struct relay *relay = fresh(fds);

	close(fds[0]);
	relay_write(relay, fds[1], "x", 1);
	relay_write(relay, fds[1], "y", 1);
	CHECK_INT(relay_finish(relay, 0), EPIPE);
	CHECK_INT(failures, 1);
}

static void a_reader_that_leaves_later(void)
{
	int fds[2];
	struct relay *relay = fresh(fds);
	char *data = pattern();

	relay_write(relay, fds[1], data, BIG);
	close(fds[0]);
	CHECK_INT(relay_finish(relay, 0), EPIPE);
	CHECK_INT(failures, 1);
	free(data);
}

static void a_full_device(void)
{
	int fds[2], full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct relay *relay = fresh(fds);

	relay_write(relay, full, "x", 1);
	CHECK_INT(relay_finish(relay, 0), ENOSPC);
	CHECK_INT(failures, 1);
}

static void a_pipe_that_does_not_block(void)
{
	int fds[2];
	struct relay *relay = fresh(fds);
	char *data = pattern(), piece[4096];
	size_t got = 0;
	ssize_t n;

	CHECK_INT(fcntl(fds[1], F_SETFL, O_NONBLOCK), 0);
	relay_write(relay, fds[1], data, BIG);
	while (got < BIG && (n = read(fds[0], piece, sizeof(piece))) > 0)
		got += (size_t)n;
	CHECK_INT(got, BIG);
	CHECK_INT(relay_finish(relay, 0), 0);
	free(data);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	RUN(what_fits_is_written_at_once);
	RUN(nobody_reads);
	RUN(a_late_reader_gets_all_in_order);
	RUN(a_reader_that_left);
	RUN(a_reader_that_leaves_later);
	RUN(a_full_device);
	RUN(a_pipe_that_does_not_block);
	return check_failures != 0;
}
