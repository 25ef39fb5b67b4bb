#include "engine/local/peek.h"

#include "base/clock.h"
#include "base/own.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const char program[] = PEEK_PROGRAM;

enum {
	SHOW_USEC = 50000,      /* what somebody watches waits no longer */
	SOON_USEC = 2000,       /* between two looks where memory is short */
	BYTES_PER_USEC = 8192,  /* no program fills memory faster */
	ODD_MAX = 3,            /* looks after which what was shown is not expected any more */
	LAST_USEC = 100000,     /* for all processes but the first, in the end: they may make it slow */
	PROCESSES_MAX = 256,    /* that are looked at in the end */
	PROVED_NSEC = 200000,   /* of a processor: who had so much after a write has noted what it wrote */
	BEHIND_MAX = 128 << 10, /* bytes that one write may have written behind a buffer, so far as we look */
};

void peek_begin(struct peek *peek, bool shows, uint64_t memory, uint64_t now)
{
	peek->text = malloc(PENDING_MAX);
	peek->on = peek->text != NULL;
	peek->shows = shows;
	peek->memory = memory;
	peek->due_usec = 0;
	if (peek->on)
		peek_is_due(peek, 0, now);
}

void peek_end(struct peek *peek)
{
	free(peek->text);
	free(peek->last);
	ahead_clear(&peek->ahead);
}

bool peek_is_due(struct peek *peek, uint64_t used, uint64_t now)
{
	const bool near = peek->memory && used > peek->memory / 2;
	uint64_t patience = SHOW_USEC;

	if (peek->memory) {
		uint64_t left = peek->memory > used ? (peek->memory - used) / BYTES_PER_USEC : 0;

		if (left < patience)
			patience = left > SOON_USEC ? left : SOON_USEC;
	}
	peek->due_usec = peek->shows || peek->memory ? now + patience : 0;
	return peek->shows || near;
}

/* What was read, behind what was shown of it; false: it is not a continuation of that. */
static bool continues(const struct peek *peek, size_t size)
{
	return size >= peek->ahead.size && memcmp(peek->text, peek->ahead.text, peek->ahead.size) == 0;
}

/*
 * Whether the output since the last look that left no doubt contains the whole text, or ends with the beginning of it.
 * Ruby writes what follows together with its buffer, by one writev(): then more stands behind the text. A write that
 * waited for room in the pipe has written a part of the text only.
 */
static bool is_in_output(const struct peek *peek, const struct output *so_far, size_t size)
{
	const uint64_t since = so_far->bytes - peek->sure_bytes;
	const size_t window = since < BEHIND_MAX + size ? (size_t)since : BEHIND_MAX + size;
	/* ahead_take() writes back at most what it has found before. */
	_cleanup_free_ char *data = malloc(window + 1), *rest = malloc(window + size);
	struct ahead text = { 0 };
	bool found;

	if (window == 0 || !data || !rest || ahead_add(&text, peek->text, size) < 0 ||
	    output_read(so_far, data, window, so_far->bytes - window) != (long)window) {
		ahead_clear(&text);
		return false;
	}
	ahead_take(&text, data, window, rest);
	found = text.size == 0 || text.found > 0;
	ahead_clear(&text);
	return found;
}

/*
 * A program notes what it has written after it has written it. If it had to wait
 * for a processor in between, the same bytes are in the output and in its buffer.
 * It may as well have printed them twice: then it has gone on since.
 */
static bool is_doubtful(struct peek *peek, int proc, const struct output *so_far, size_t size, bool waits)
{
	uint64_t now;

	if (!waits && is_in_output(peek, so_far, size)) {
		now = pending_run_time(proc, program);
		/* After further output, the doubt is another one. */
		if (peek->doubt_nsec == 0 || peek->doubt_bytes != so_far->bytes)
			peek->doubt_nsec = now;
		peek->doubt_bytes = so_far->bytes;
		if (now < peek->doubt_nsec + PROVED_NSEC)
			return true;
	}
	peek->doubt_nsec = 0;
	peek->sure_bytes = so_far->bytes;
	return false;
}

size_t peek_read(struct peek *peek, int proc, int output, const struct output *so_far, const char **news)
{
	struct ahead *ahead = &peek->ahead;
	long size = pending_read(proc, program, output, peek->text);
	int waiting = 0;

	/* If it wrote while we read, what we have read may come by the pipe as well. */
	if (size <= 0 || ioctl(output, FIONREAD, &waiting) < 0 || waiting > 0 || ahead->found > 0)
		return 0;
	if (ahead->size > 0 && !continues(peek, (size_t)size)) {
		/* It went elsewhere: the program threw it away, or had another place for it. */
		if (++peek->odd < ODD_MAX)
			return 0;
		ahead->size = 0;
	}
	peek->odd = 0;
	if (ahead->size == 0 &&
	    is_doubtful(peek, proc, so_far, (size_t)size, pending_place(proc, program) == PENDING_WAITS))
		return 0;
	*news = peek->text + ahead->size;
	return (size_t)size - ahead->size;
}

void peek_keep(struct peek *peek, const char *text, size_t size, uint64_t bytes)
{
	if (!peek->last)
		peek->last = malloc(PENDING_MAX);
	if (!peek->last)
		return;
	memcpy(peek->last, text, size);
	peek->last_size = size;
	peek->last_at = bytes;
}

/* How much of a text is the same as the beginning of another, by whole lines. */
static size_t lines_in_common(const char *one, size_t one_size, const char *other, size_t other_size)
{
	size_t same = 0, lines = 0;

	while (same < one_size && same < other_size && one[same] == other[same])
		if (one[same++] == '\n')
			lines = same;
	return same == one_size ? same : lines;
}

static int by_number(const void *one, const void *other)
{
	return *(const int *)one - *(const int *)other;
}

/* The processes of the box but its init and the program, in order. */
static size_t processes_list(int proc, int pids[PROCESSES_MAX])
{
	int own = openat(proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *dir = own >= 0 ? fdopendir(own) : NULL;
	struct dirent *entry;
	size_t count = 0;

	if (!dir && own >= 0)
		close(own);
	while (dir && count < PROCESSES_MAX && (entry = readdir(dir)))
		if (atoi(entry->d_name) > atoi(program))
			pids[count++] = atoi(entry->d_name);
	qsort(pids, count, sizeof(*pids), by_number);
	return count;
}

bool peek_last(struct peek *peek, int proc, int output, const struct output *so_far, enum pending_place place,
	       void (*show)(const char *text, size_t size, void *data), void *data)
{
	struct ahead *ahead = &peek->ahead;
	_cleanup_free_ char *first = malloc(PENDING_MAX);
	long size =
		pending_place(proc, program) == PENDING_WRITES ? -1 : pending_read(proc, program, output, peek->text);
	int pids[PROCESSES_MAX];
	size_t kept = 0, count;
	uint64_t end;

	if (size > 0 && ahead->size == 0 &&
	    is_doubtful(peek, proc, so_far, (size_t)size, place == PENDING_WAITS || place == PENDING_LOCKS))
		return false;
	if (size > 0) {
		size_t shown = ahead->size && continues(peek, (size_t)size) ? ahead->size : 0;

		show(peek->text + shown, (size_t)size - shown, data);
		kept = first ? (size_t)size : 0;
		if (first)
			memcpy(first, peek->text, kept);
	}
	count = processes_list(proc, pids);
	end = clock_usec() + LAST_USEC;
	for (size_t i = 0; i < count && clock_usec() < end; i++) {
		char pid[16];
		size_t common;

		snprintf(pid, sizeof(pid), "%d", pids[i]);
		size = pending_place(proc, pid) == PENDING_WRITES ? -1 : pending_read(proc, pid, output, peek->text);
		if (size <= 0)
			continue;
		common = lines_in_common(peek->text, (size_t)size, first, kept);
		show(peek->text + common, (size_t)size - common, data);
	}
	return true;
}
