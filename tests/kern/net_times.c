/*
 * net_times: what a planted network costs. No test: it prints medians of each kind, measured in turns.
 *
 *	build/tests/kern/net_times [ROUNDS]
 */
#include "planted.h"

#include <sys/resource.h>
#include <time.h>

enum {
	KINDS = 4,         /* of networks */
	CONNECTIONS = 200, /* for each network that is measured */
	ROUNDS_MAX = 2000
};

static const char *const kind_names[KINDS] = { "plain", "bound", "steered", "public" };
static double planting[KINDS][ROUNDS_MAX], proving[KINDS][ROUNDS_MAX], connecting[KINDS][ROUNDS_MAX],
	moving[KINDS][ROUNDS_MAX];

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare);
	return values[count / 2];
}

/* Bytes a microsecond through one connection. */
static double move(int fd)
{
	static char block[128 << 10];
	size_t size = 64 << 20, left = size;
	double begin = now();
	pid_t pid = fork();

	if (pid == 0) {
		for (size_t sent = 0; sent < size; sent += sizeof(block))
			if (write(attempt_fd, block, sizeof(block)) != sizeof(block))
				_exit(1);
		_exit(0);
	}
	while (left > 0) {
		ssize_t n = read(fd, block, sizeof(block));

		if (n <= 0)
			break;
		left -= (size_t)n;
	}
	begin = now() - begin;
	waitpid(pid, NULL, 0);
	return (double)(size - left) / begin;
}

static void measure(int kind, size_t round)
{
	static const uint16_t ports[] = { 80, 443 };
	struct net_plant plan = { .ports = ports, .port_count = 2, .everything = kind == 3, .never_steer = kind == 1 };
	const char *to = kind == 0 ? "127.0.0.1" : "198.18.0.5";
	double begin;
	int fd;

	if (kind == 3)
		plan.port_count = 0;
	if (netns_make() < 0 || netns_loopback() < 0)
		as_give_up("netns_make");
	begin = now();
	if (kind == 0) {
		planted_fds[0] = serve("0.0.0.0", 443);
		planted_first = 0;
		planted_count = 1;
	} else if (plant_now(plan) < 0) {
		as_give_up("net_plant");
	}
	planting[kind][round] = now() - begin;
	begin = now();
	if (kind > 0 && net_plant_prove(&plan) < 0)
		as_give_up("net_plant_prove");
	proving[kind][round] = now() - begin;
	begin = now();
	for (int i = 0; i < CONNECTIONS; i++) {
		if (attempt(SOCK_STREAM, to, 443) != 0 || (fd = arrived()) < 0)
			as_give_up("connect");
		close(fd);
	}
	connecting[kind][round] = (now() - begin) / CONNECTIONS;
	if (attempt(SOCK_STREAM, to, 443) != 0 || (fd = arrived()) < 0)
		as_give_up("connect");
	moving[kind][round] = move(fd);
	close(fd);
	for (size_t i = 0; i < planted_count; i++)
		close(planted_fds[i]);
}

int main(int argc, char **argv)
{
	size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;

	if (rounds < 1 || rounds > ROUNDS_MAX) {
		fprintf(stderr, "usage: net_times [ROUNDS, at most %d]\n", ROUNDS_MAX);
		return 2;
	}
	check_name = "net_times";
	for (size_t round = 0; round < rounds; round++)
		for (int kind = 0; kind < KINDS; kind++)
			measure(kind, round);
	printf("%-8s %12s %12s %15s %10s\n", "", "net_plant us", "prove us", "connection us", "MB/s");
	for (int kind = 0; kind < KINDS; kind++)
		printf("%-8s %12.1f %12.1f %15.1f %10.0f\n", kind_names[kind], median(planting[kind], rounds),
		       median(proving[kind], rounds), median(connecting[kind], rounds), median(moving[kind], rounds));
	return 0;
}
