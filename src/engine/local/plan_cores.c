/*
 * How many processors a program finds. Its calls for them are answered by who
 * listens to its filter (kernel/seccomp.h); the C library, Node.js and others
 * count lines of /proc/stat, in whose place a box has a text of its own.
 */
#include "base/arena.h"
#include "base/own.h"
#include "engine/local/plan_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

unsigned plan_cores(const struct plan *plan, const struct limits *limits)
{
	const unsigned whole = (unsigned)limits->cpus, some = whole + (limits->cpus > whole);

	return some < plan->host_cores ? some : plan->host_cores;
}

/* `ps` asks when the machine was started. */
static int64_t boot_time(void)
{
	struct timespec now, up;

	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_BOOTTIME, &up);
	return now.tv_sec - up.tv_sec;
}

char *plan_cores_text(unsigned cores, struct arena *arena)
{
	/* Nothing is said of what they do: that would tell of other boxes. */
	static const char idle[] = " 0 0 0 0 0 0 0 0 0 0\n";
	const size_t room = (cores + 8) * (sizeof("cpu4294967295") + sizeof(idle)) + 128;
	char *text = arena_alloc(arena, room);
	size_t size;

	if (!text)
		return NULL;
	size = (size_t)snprintf(text, room, "cpu %s", idle);
	for (unsigned i = 0; i < cores; i++)
		size += (size_t)snprintf(text + size, room - size, "cpu%u%s", i, idle);
	snprintf(text + size, room - size,
		 "intr 0\nctxt 0\nbtime %" PRId64 "\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n", boot_time());
	return text;
}

uint64_t plan_cores_room(const struct plan *plan)
{
	enum {
		PAGE = 4096,
		LINE = 40 /* at most */
	};

	return plan->cores > 0 ? ((uint64_t)plan->host_cores * LINE / PAGE + 1) * PAGE : 0;
}

void plan_cores_file(struct builder *b)
{
	const char *text = b->plan->cores > 0 ? plan_cores_text(b->plan->cores, &b->plan->arena) : NULL;

	if (b->plan->cores == 0)
		return;
	b->failed |= !text;
	plan_add(b, (struct op){ .kind = OP_CORES,
				 .path = PLAN_CORES_FILE,
				 .data = text,
				 .size = text ? strlen(text) : 0,
				 .cores = b->plan->cores });
}
