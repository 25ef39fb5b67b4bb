#include "check_times.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
	SOURCE_MAX = 4 << 20, /* bytes that are looked at */
	ROUNDS_MAX = 1000,
};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int check_times(int argc, char **argv, check_look *look)
{
	static char source[SOURCE_MAX];
	static double times[ROUNDS_MAX];
	int rounds = argc > 1 ? atoi(argv[1]) : 0;

	if (rounds < 1 || rounds > ROUNDS_MAX || argc < 3) {
		fprintf(stderr, "usage: ROUNDS FILE...\n");
		return 2;
	}
	for (int i = 2; i < argc; i++) {
		FILE *file = fopen(argv[i], "rb");
		size_t size = file ? fread(source, 1, sizeof(source), file) : 0;

		if (file)
			fclose(file);
		if (size == 0) {
			fprintf(stderr, "%s: nothing to read\n", argv[i]);
			return 1;
		}
		/* The first is not counted: a reader is started, and memory taken. */
		for (int round = -1; round < rounds; round++) {
			double start = now();

			if (!look(source, size)) {
				fprintf(stderr, "%s: not read\n", argv[i]);
				return 1;
			}
			if (round >= 0)
				times[round] = now() - start;
		}
		qsort(times, (size_t)rounds, sizeof(*times), compare);
		printf("%.4f %.4f\n", times[rounds / 2], times[0]);
	}
	return 0;
}
