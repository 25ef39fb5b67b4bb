/*
 * Numbers of Node.js's own that nothing gives access to, and that a fork has to
 * know: when the program started, and whether it ends. They are looked for by
 * what they must be.
 *
 * Where: in memory that malloc() has. Usually that grows from the program's end
 * ([heap]), but V8 reserves half a gigabyte for code, sometimes right behind it,
 * and then malloc() goes elsewhere. So all plain memory is searched. Copies that
 * nobody reads any more lie there as well: of several places the right one is
 * the one that makes a difference when it is changed. What is not found stays as
 * it is: a fork's clock is then the zygote's, and its end takes longer.
 */
#include "engine/ember/node.h"

#include <dlfcn.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Times that are told to programs, as V8's embedder keeps them. */
struct milestones {
	double timestamp;   /* of the start: microseconds since 1970 */
	double origin;      /* the same on the monotonic clock: nanoseconds */
	double environment; /* when things were ready, on that clock */
	double node_start;  /* … */
	double v8_start;    /* … */
};

/* Node.js 18 has the same in four places. */
struct milestones_18 {
	double *timestamp; /* of the start: microseconds since 1970; or NULL */
	double *origin;    /* on the monotonic clock, a variable of JavaScript's: milliseconds; or NULL */
	double was;        /* what that said in the zygote */
	double *since;     /* environment, node_start, v8_start: nanoseconds; or NULL */
};

/* The same in the environment's own object. */
struct origin {
	uint64_t origin;  /* nanoseconds */
	double timestamp; /* microseconds since 1970 */
};

/* How a program says that it ends. */
struct exit_info {
	int32_t exiting;  /* 1 when 'exit' is told */
	int32_t code;     /* process.exitCode */
	int32_t has_code; /* whether that was set */
};

enum {
	AREAS_MAX = 1024, /* mappings that are searched */
	FOUND_MAX = 16,   /* places that could be one; more are too many to choose from */
};

static struct {
	struct milestones *milestones; /* or NULL */
	struct origin *origin;         /* or NULL */
	struct exit_info *exit;        /* or NULL */
	struct milestones_18 old;      /* of Node.js 18 */
	uint64_t *start_time;          /* of process.uptime(), as the next two on the monotonic clock; or NULL */
	uint64_t *process_start;       /* of performance.now(); or NULL */
	double *process_stamp;         /* the same since 1970; or NULL */
} known;

/* Memory from malloc(), or V8's, or a stack. */
struct area {
	uintptr_t from; /* its first byte */
	uintptr_t to;   /* behind its last */
};

/* What is looked for. */
struct byte_pattern {
	bool (*is)(const void *at, const void *wanted); /* whether it is there */
	const void *wanted;                             /* what that compares with */
	size_t size;                                    /* bytes */
	size_t step;                                    /* its alignment */
};

static bool area_read(const char *line, struct area *area)
{
	char flags[5];
	unsigned long inode;
	int length = 0;

	if (sscanf(line, "%lx-%lx %4s %*x %*s %lu%n", &area->from, &area->to, flags, &inode, &length) != 4)
		return false;
	line += length + strspn(line + length, " ");
	return strcmp(flags, "rw-p") == 0 && inode == 0 && (*line == '\n' || strcmp(line, "[heap]\n") == 0);
}

static size_t areas_find(struct area areas[AREAS_MAX])
{
	char line[PATH_MAX + 128];
	size_t count = 0;
	FILE *maps = fopen("/proc/self/maps", "re");

	while (maps && count < AREAS_MAX && fgets(line, sizeof(line), maps))
		count += area_read(line, &areas[count]);
	if (maps)
		fclose(maps);
	return count;
}

/* Returns how many there are; at most FOUND_MAX are told. Other threads are idle meanwhile, or one could take away the
 * memory that is looked at. */
static size_t memory_search(const struct byte_pattern *pattern, void *found[FOUND_MAX])
{
	static struct area areas[AREAS_MAX];
	size_t area_count, count = 0;

	if (!node_threads_hold())
		return 0;
	area_count = areas_find(areas);
	for (size_t i = 0; i < area_count; i++)
		for (uintptr_t at = areas[i].from; at + pattern->size <= areas[i].to; at += pattern->step)
			if (pattern->is((void *)at, pattern->wanted) && count++ < FOUND_MAX)
				found[count - 1] = (void *)at;
	node_threads_release();
	return count;
}

static uint64_t clock_now(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool is_milestones(const void *place, const void *wanted)
{
	const struct milestones *at = place;
	const double *time_origin = wanted;
	double now;

	if (at->timestamp / 1e3 != *time_origin)
		return false;
	now = (double)clock_now(CLOCK_MONOTONIC);
	return at->origin > 0 && at->origin < now && at->environment >= at->origin && at->environment < now &&
	       at->node_start >= at->origin && at->node_start < now && at->v8_start >= at->origin && at->v8_start < now;
}

static bool is_origin(const void *place, const void *wanted)
{
	const struct origin *at = place;
	const struct milestones *milestones = wanted;

	return at->origin == (uint64_t)milestones->origin && at->timestamp == milestones->timestamp;
}

/* Which of the places is the one that programs are told of. */
static struct milestones *milestones_choose(void *const found[], size_t count, double (*tell)(enum node_time))
{
	for (size_t i = 0; i < count && i < FOUND_MAX; i++) {
		struct milestones *at = found[i];
		const double was = at->timestamp;
		double told;

		at->timestamp = was + 1e6;
		told = tell(NODE_TIME_ORIGIN);
		at->timestamp = was;
		if (told == (was + 1e6) / 1e3)
			return at;
	}
	return NULL;
}

static bool is_number(const void *place, const void *wanted)
{
	return *(const double *)place == *(const double *)wanted;
}

static bool is_timestamp(const void *place, const void *wanted)
{
	return *(const double *)place / 1e3 == *(const double *)wanted;
}

/* The number in memory by which what is told changes; NULL if there is none. */
static double *number_find(const struct byte_pattern *pattern, double (*tell)(enum node_time), enum node_time which)
{
	void *found[FOUND_MAX];
	const size_t count = memory_search(pattern, found);

	for (size_t i = 0; i < count && i < FOUND_MAX; i++) {
		double *at = found[i];
		const double was = *at, before = tell(which);
		double told;

		/* Far more than the time that passes between the two. */
		*at = was + 1e15;
		told = tell(which);
		*at = was;
		if (told - before > 1e8 || before - told > 1e8)
			return at;
	}
	return NULL;
}

/* Behind an origin that is known comes what is told in relation to it: one without the other would be nonsense. */
static void milestones_18_find(double (*tell)(enum node_time))
{
	const uint64_t *origin = dlsym(RTLD_DEFAULT, "_ZN4node11performance10timeOriginE");
	const double first = tell(NODE_TIME_ORIGIN);
	const double milliseconds = origin ? (double)*origin / 1e6 : 0;
	const double start = known.start_time ? (double)*known.start_time : 0;
	const struct byte_pattern stamp = { is_timestamp, &first, sizeof(double), sizeof(double) };
	const struct byte_pattern variable = { is_number, &milliseconds, sizeof(double), sizeof(double) };
	const struct byte_pattern since = { is_number, &start, sizeof(double), sizeof(double) };
	struct milestones_18 old = { .was = milliseconds };

	if (!origin || !known.start_time)
		return;
	old.timestamp = number_find(&stamp, tell, NODE_TIME_ORIGIN);
	old.origin = number_find(&variable, tell, NODE_TIME_NOW);
	old.since = number_find(&since, tell, NODE_TIME_START);
	if (!old.timestamp || !old.origin || !old.since)
		return;
	old.since--;
	if (old.since[0] >= start && old.since[2] >= start)
		known.old = old;
}

void node_times_find(double (*tell)(enum node_time which))
{
	const double first = tell(NODE_TIME_ORIGIN);
	const struct byte_pattern five = { is_milestones, &first, sizeof(struct milestones), sizeof(double) };
	void *found[FOUND_MAX];

	known.start_time = dlsym(RTLD_DEFAULT, "_ZN4node11per_process15node_start_timeE");
	known.process_start = dlsym(RTLD_DEFAULT, "_ZN4node11performance25performance_process_startE");
	known.process_stamp = dlsym(RTLD_DEFAULT, "_ZN4node11performance35performance_process_start_timestampE");
	known.milestones = milestones_choose(found, memory_search(&five, found), tell);
	if (known.milestones) {
		const struct byte_pattern two = { is_origin, known.milestones, sizeof(struct origin), sizeof(double) };

		if (memory_search(&two, found) == 1)
			known.origin = found[0];
	} else {
		milestones_18_find(tell);
	}
}

static void milestones_18_set(uint64_t now)
{
	/* The collector may have moved a variable; then all stays as it is. */
	if (!known.old.origin || *known.old.origin != known.old.was)
		return;
	*known.old.origin = (double)now / 1e6;
	*known.old.timestamp = (double)(clock_now(CLOCK_REALTIME) / 1000);
	for (size_t i = 0; i < 3; i++)
		known.old.since[i] = (double)now;
}

void node_times_set(void)
{
	uint64_t now = clock_now(CLOCK_MONOTONIC);

	if (known.start_time)
		*known.start_time = now;
	milestones_18_set(now);
	if (known.process_start && known.process_stamp) {
		*known.process_start = now;
		*known.process_stamp = (double)(clock_now(CLOCK_REALTIME) / 1000);
	}
	if (known.milestones) {
		known.milestones->origin = (double)now;
		known.milestones->environment = (double)now;
		known.milestones->node_start = (double)now;
		known.milestones->v8_start = (double)now;
		known.milestones->timestamp = (double)(clock_now(CLOCK_REALTIME) / 1000);
	}
	if (known.origin) {
		known.origin->origin = now;
		known.origin->timestamp = known.milestones->timestamp;
	}
}

static bool is_exit(const void *place, const void *wanted)
{
	const struct exit_info *at = place;
	const int32_t *code = wanted;

	return at->code == *code && at->exiting == 0 && at->has_code == 1;
}

bool node_exit_find(int32_t code)
{
	static void *found[FOUND_MAX];
	static size_t count;
	const struct byte_pattern three = { is_exit, &code, sizeof(struct exit_info), sizeof(int32_t) };
	size_t matches = 0;

	if (count == 0) {
		count = memory_search(&three, found);
		return false;
	}
	for (size_t i = 0; i < count && i < FOUND_MAX; i++)
		if (is_exit(found[i], &code) && matches++ == 0)
			known.exit = found[i];
	if (matches != 1 || count > FOUND_MAX)
		known.exit = NULL;
	return known.exit != NULL;
}

bool node_is_exiting(int *code)
{
	if (!known.exit || !known.exit->exiting)
		return false;
	*code = known.exit->has_code ? known.exit->code : 0;
	return true;
}
