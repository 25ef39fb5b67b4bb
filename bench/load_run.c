/* The workers, and the report over all that they did. */
#include "load.h"

#include "base/own.h"

#include <jansson.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	HEAD_MAX = 64 << 10,    /* bytes of output that are looked at */
	STACK_SIZE = 512 << 10, /* of a worker; there may be a thousand */
};

/* What one worker did; the arrays grow together. */
struct tally {
	struct load *load;       /* shared */
	pthread_barrier_t *gate; /* all begin at once */
	size_t worker;           /* which */
	uint64_t *whole;         /* nanoseconds of each attempt that went well */
	uint64_t *first;         /* of the same, until the first byte */
	uint64_t *transfer;      /* of the same, from the first byte to the last */
	size_t count;            /* how many */
	size_t room;             /* for so many */
	uint64_t bytes;          /* of output */
	uint64_t warm;           /* starts */
	uint64_t cold;           /* starts */
	uint64_t refused;        /* answers "busy" */
	uint64_t failed;         /* attempts that did not go well */
	char problem[256];       /* why the first of them did not */
};

uint64_t load_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void load_fail(struct load_attempt *attempt, const char *format, ...)
{
	va_list args;

	if (attempt->failed)
		return;
	attempt->failed = true;
	va_start(args, format);
	vsnprintf(attempt->problem, sizeof(attempt->problem), format, args);
	va_end(args);
}

void load_output(struct load_attempt *attempt, const void *data, size_t size)
{
	attempt->last = load_clock() - attempt->begin;
	if (attempt->bytes == 0)
		attempt->first = attempt->last;
	attempt->bytes += size;
	if (attempt->head.size < HEAD_MAX)
		buf_add(&attempt->head, data,
			size < HEAD_MAX - attempt->head.size ? size : HEAD_MAX - attempt->head.size);
}

void load_fill(const struct load *load, const struct load_attempt *attempt, const char *text, struct buf *out)
{
	const char *place;

	for (; (place = strstr(text, LOAD_NUMBER)); text = place + strlen(LOAD_NUMBER)) {
		buf_add(out, text, (size_t)(place - text));
		buf_printf(out, "%ju", (uintmax_t)(load->salt + attempt->number));
	}
	buf_text(out, text);
}

/* What waits in the service's queue would be run all the same; a caller that is gone is not served. */
void load_stop(struct load *load)
{
	atomic_store(&load->stop, true);
	for (size_t i = 0; i < load->options.workers; i++)
		shutdown(atomic_load(&load->sockets[i]), SHUT_RDWR);
}

static void attempt_judge(const struct load_options *options, struct load_attempt *attempt)
{
	const char *text = attempt->head.data ? attempt->head.data : "";

	if (options->expect &&
	    (attempt->head.size != strlen(options->expect) || memcmp(text, options->expect, attempt->head.size) != 0))
		load_fail(attempt, "the output is \"%.100s\"", text);
	if (options->contains && !strstr(text, options->contains))
		load_fail(attempt, "the output is \"%.100s\"", text);
	if (options->expect_bytes != UINT64_MAX && attempt->bytes != options->expect_bytes)
		load_fail(attempt, "the output has %ju bytes", (uintmax_t)attempt->bytes);
}

static int tally_grow(struct tally *tally)
{
	size_t room = tally->room ? tally->room * 2 : 256;
	uint64_t **arrays[] = { &tally->whole, &tally->first, &tally->transfer };

	for (size_t i = 0; i < ARRAY_SIZE(arrays); i++) {
		uint64_t *grown = realloc(*arrays[i], room * sizeof(*grown));

		if (!grown)
			return -1;
		*arrays[i] = grown;
	}
	tally->room = room;
	return 0;
}

static void tally_add(struct tally *tally, const struct load_attempt *attempt)
{
	if (attempt->cut)
		return;
	tally->warm += attempt->warm;
	tally->cold += attempt->cold;
	tally->refused += attempt->refused;
	if (attempt->failed || (tally->count == tally->room && tally_grow(tally) < 0)) {
		if (tally->failed++ == 0)
			memcpy(tally->problem, attempt->problem, sizeof(tally->problem));
		return;
	}
	tally->whole[tally->count] = attempt->whole;
	tally->first[tally->count] = attempt->first;
	tally->transfer[tally->count] = attempt->last - attempt->first;
	tally->bytes += attempt->bytes;
	tally->count++;
}

/* A number for the next attempt, or 0 when there is none. */
static uint64_t ticket_take(struct load *load)
{
	uint64_t ticket;

	if (atomic_load(&load->stop) || (load->deadline && load_clock() >= load->deadline))
		return 0;
	ticket = atomic_fetch_add(&load->ticket, 1) + 1;
	return load->options.count && ticket > load->options.count ? 0 : ticket;
}

static void *worker_main(void *data)
{
	struct tally *tally = data;
	struct load *load = tally->load;
	uint64_t ticket;

	pthread_barrier_wait(tally->gate);
	while ((ticket = ticket_take(load)) != 0) {
		struct load_attempt attempt = { .number = ticket };

		if (load->options.socket)
			load_socket_attempt(load, tally->worker, &attempt);
		else if (load->options.mcp)
			load_mcp_attempt(load, tally->worker, &attempt);
		else
			load_command_attempt(load, tally->worker, &attempt);
		attempt_judge(&load->options, &attempt);
		tally_add(tally, &attempt);
		buf_free(&attempt.head);
		if (load->options.pause_usec)
			usleep((useconds_t)load->options.pause_usec);
	}
	return NULL;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void sort(uint64_t *values, size_t count)
{
	if (count)
		qsort(values, count, sizeof(*values), compare);
}

/* The nearest rank: a value that was really measured. */
static json_t *percentile(const uint64_t *sorted, size_t count, size_t percent)
{
	size_t rank = (count * percent + 99) / 100;

	return count ? json_real((double)sorted[rank ? rank - 1 : 0] / 1e9) : json_null();
}

static json_t *list(const uint64_t *values, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, json_real((double)values[i] / 1e9));
	return array;
}

/* All workers' attempts in the first tally. */
static int tally_merge(struct tally *all, struct tally *other)
{
	while (all->count + other->count > all->room) {
		if (tally_grow(all) < 0)
			return -1;
	}
	for (size_t i = 0; i < other->count; i++) {
		all->whole[all->count] = other->whole[i];
		all->first[all->count] = other->first[i];
		all->transfer[all->count++] = other->transfer[i];
	}
	all->bytes += other->bytes;
	all->warm += other->warm;
	all->cold += other->cold;
	all->refused += other->refused;
	if (all->failed == 0)
		memcpy(all->problem, other->problem, sizeof(all->problem));
	all->failed += other->failed;
	return 0;
}

static void tally_print(struct tally *tally, bool stopped, double seconds)
{
	static const struct {
		const char *name; /* in the report */
		size_t percent;   /* which rank */
	} RANKS[] = { { "p50", 50 }, { "p95", 95 }, { "p99", 99 }, { "max", 100 } };
	json_t *report = json_object();

	if (tally->load->options.samples) {
		json_object_set_new(report, "samples", list(tally->whole, tally->count));
		json_object_set_new(report, "first_samples", list(tally->first, tally->count));
		json_object_set_new(report, "transfer_samples", list(tally->transfer, tally->count));
	}
	sort(tally->whole, tally->count);
	sort(tally->first, tally->count);
	sort(tally->transfer, tally->count);
	json_object_set_new(report, "count", json_integer((json_int_t)tally->count));
	for (size_t i = 0; i < ARRAY_SIZE(RANKS); i++)
		json_object_set_new(report, RANKS[i].name, percentile(tally->whole, tally->count, RANKS[i].percent));
	json_object_set_new(report, "first_p50", percentile(tally->first, tally->count, 50));
	json_object_set_new(report, "transfer_p50", percentile(tally->transfer, tally->count, 50));
	json_object_set_new(report, "seconds", json_real(seconds));
	json_object_set_new(report, "per_second", json_real(seconds > 0 ? (double)tally->count / seconds : 0));
	json_object_set_new(report, "bytes", json_integer((json_int_t)tally->bytes));
	json_object_set_new(report, "warm", json_integer((json_int_t)tally->warm));
	json_object_set_new(report, "cold", json_integer((json_int_t)tally->cold));
	json_object_set_new(report, "refused", json_integer((json_int_t)tally->refused));
	json_object_set_new(report, "failed", json_integer((json_int_t)tally->failed));
	json_object_set_new(report, "stopped", json_boolean(stopped));
	json_object_set_new(report, "problem", tally->failed ? json_string(tally->problem) : json_null());
	json_dumpf(report, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
	putchar('\n');
	json_decref(report);
}

/* Each worker's connection is there before the clock starts. */
static int sockets_open(struct load *load)
{
	const struct load_options *options = &load->options;

	load->sockets = calloc(options->workers, sizeof(*load->sockets));
	if (!load->sockets)
		return -1;
	for (size_t i = 0; i < options->workers; i++)
		load->sockets[i] = options->socket ? load_socket_connect(options->socket)
				   : options->mcp  ? load_mcp_connect(options->argv)
						   : -1;
	if ((options->socket || options->mcp) && load->sockets[0] < 0) {
		fprintf(stderr, "load: %s: %m\n", options->socket ? options->socket : options->argv[0]);
		return -1;
	}
	return 0;
}

static int workers_run(struct load *load, struct tally *tallies, pthread_t *threads)
{
	size_t count = load->options.workers;
	pthread_attr_t attributes;
	pthread_barrier_t gate;
	uint64_t begin;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	pthread_barrier_init(&gate, NULL, (unsigned)count + 1);
	for (size_t i = 0; i < count; i++) {
		tallies[i] = (struct tally){ .load = load, .gate = &gate, .worker = i };
		if (pthread_create(&threads[i], &attributes, worker_main, &tallies[i]) != 0) {
			fprintf(stderr, "load: %zu threads cannot be started\n", count);
			exit(1);
		}
	}
	begin = load_clock();
	load->deadline = load->options.nsec ? begin + load->options.nsec : 0;
	pthread_barrier_wait(&gate);
	for (size_t i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 1; i < count; i++) {
		if (tally_merge(&tallies[0], &tallies[i]) < 0)
			return -1;
	}
	tally_print(&tallies[0], atomic_load(&load->stop), (double)(load_clock() - begin) / 1e9);
	return 0;
}

int load_run(struct load *load)
{
	size_t count = load->options.workers;
	struct tally *tallies = calloc(count, sizeof(*tallies));
	pthread_t *threads = calloc(count, sizeof(*threads));
	int code = 1;

	if (getrandom(&load->salt, sizeof(load->salt), 0) == sizeof(load->salt))
		load->salt >>= 8; /* leaves room for the attempts' numbers */
	if (tallies && threads && sockets_open(load) == 0 && workers_run(load, tallies, threads) == 0)
		code = 0;
	for (size_t i = 0; tallies && i < count; i++) {
		free(tallies[i].whole);
		free(tallies[i].first);
		free(tallies[i].transfer);
		if (load->sockets && load->sockets[i] >= 0)
			close(load->sockets[i]);
	}
	free(load->sockets);
	free(threads);
	free(tallies);
	return code;
}
