/* Statistics of the history. */
#include "store/history_query.h"

#include "base/own.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct times {
	uint32_t *list; /* in units of 10 microseconds, up to half a day */
	size_t count;   /* number of them */
	size_t room;    /* allocated entries */
};

struct group {
	char *name;                 /* name of the language, "" for none; owned */
	uint64_t count, ok, failed; /* number of runs; running ones are in neither of the last two */
	struct times run, total;    /* of runs that ended */
};

struct counts {
	json_t *by_status, *failures; /* counts by name */
	struct group *groups;         /* languages */
	size_t group_count;           /* number of them */
	struct times run;             /* of all languages */
	uint64_t total, warm, cold;   /* runs; those in containers and those that did not start are only in the total */
	uint64_t first;               /* start of the oldest run; 0: none */
	bool failed;                  /* memory ran out */
};

static void times_add(struct counts *counts, struct times *times, uint64_t usec)
{
	if (times->count == times->room) {
		size_t room = times->room ? 2 * times->room : 64;
		uint32_t *list = realloc(times->list, room * sizeof(*list));

		if (!list) {
			counts->failed = true;
			return;
		}
		times->list = list;
		times->room = room;
	}
	times->list[times->count++] = usec / 10 > UINT32_MAX ? UINT32_MAX : (uint32_t)(usec / 10);
}

static int time_compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void times_sort(struct times *times)
{
	if (times->count > 1)
		qsort(times->list, times->count, sizeof(*times->list), time_compare);
}

/* The smallest time that the given percentage of runs does not exceed. */
static json_t *times_percentile(const struct times *times, unsigned percent)
{
	size_t rank = (times->count * percent + 99) / 100;

	return times->count == 0 ? json_null() : json_real((double)times->list[rank > 0 ? rank - 1 : 0] / 1e5);
}

static struct group *group_of(struct counts *counts, const char *name)
{
	struct group *groups;

	for (size_t i = 0; i < counts->group_count; i++)
		if (strcmp(counts->groups[i].name, name) == 0)
			return &counts->groups[i];
	groups = realloc(counts->groups, (counts->group_count + 1) * sizeof(*groups));
	if (groups) {
		counts->groups = groups;
		groups[counts->group_count] = (struct group){ .name = strdup(name) };
	}
	if (!groups || !groups[counts->group_count].name) {
		counts->failed = true;
		return NULL;
	}
	return &groups[counts->group_count++];
}

static void count_up(json_t *object, const char *key)
{
	json_object_set_new(object, key, json_integer(json_integer_value(json_object_get(object, key)) + 1));
}

static const char *column_usec(sqlite3_stmt *stmt, int number)
{
	return (const char *)sqlite3_column_text(stmt, number) ?: "";
}

enum {
	KIND_MAX = 64,  /* bytes of the name of a kind of failure */
	KINDS_MAX = 100 /* maximum of kinds: programs invent names */
};

/* Whether the name looks like an exception: "ValueError", "java.io.IOException". */
static bool is_exception(const char *name, size_t size)
{
	static const char *const ends[] = { "Error", "Exception", "Interrupt", "Iteration", "Exit" };
	bool plain = size > 0 && size < KIND_MAX &&
		     strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				  "0123456789_.:") >= size;

	for (size_t i = 0; plain && i < ARRAY_SIZE(ends); i++) {
		size_t end = strlen(ends[i]);

		if (size >= end && memcmp(name + size - end, ends[i], end) == 0)
			return true;
	}
	return false;
}

/* The exception in a sentence: "Execution failed: NAME: …", or "… (NAME)" for Ruby; "" if there is none. */
static void exception_of(const char *sentence, char out[KIND_MAX])
{
	static const char before[] = "Execution failed: ";
	const char *name = sentence, *end = sentence + strlen(sentence), *open;

	*out = '\0';
	if (strncmp(name, before, strlen(before)) != 0)
		return;
	name += strlen(before);
	if (strncmp(name, "Uncaught ", 9) == 0)
		name += 9;
	if (is_exception(name, strcspn(name, ": ("))) {
		snprintf(out, KIND_MAX, "%.*s", (int)strcspn(name, ": ("), name);
		return;
	}
	open = strrchr(name, '(');
	if (open && end[-1] == ')' && is_exception(open + 1, (size_t)(end - open) - 2))
		snprintf(out, KIND_MAX, "%.*s", (int)(end - open) - 2, open + 1);
}

static void count_failure(struct counts *counts, const char *type, const char *limit, const char *status,
			  const char *sentence)
{
	char name[KIND_MAX];

	exception_of(sentence, name);
	if (*type)
		count_up(counts->failures, type);
	else if (*limit)
		count_up(counts->failures, limit);
	else if (*name && (json_object_get(counts->failures, name) || json_object_size(counts->failures) < KINDS_MAX))
		count_up(counts->failures, name);
	else
		count_up(counts->failures, status);
}

/* language, status, execution_time, total, warm, error_type, limit_hit, time, error_message, place */
static void count_row(struct counts *counts, sqlite3_stmt *stmt)
{
	const char *status = column_usec(stmt, 1), *type = column_usec(stmt, 5), *limit = column_usec(stmt, 6);
	bool ok = strcmp(status, "ok") == 0, running = strcmp(status, "running") == 0;
	uint64_t time = (uint64_t)sqlite3_column_int64(stmt, 7);
	struct group *group = group_of(counts, column_usec(stmt, 0));

	if (!group)
		return;
	counts->total++;
	group->count++;
	group->ok += ok;
	group->failed += !ok && !running;
	count_up(counts->by_status, status);
	if (!ok && !running)
		count_failure(counts, type, limit, status, column_usec(stmt, 8));
	if (counts->first == 0 || time < counts->first)
		counts->first = time;
	/* A run that did not start has no times. */
	if (sqlite3_column_type(stmt, 2) == SQLITE_NULL || strcmp(status, "error") == 0 ||
	    strcmp(status, "blocked") == 0)
		return;
	/* A run in a container has no start time. */
	if (sqlite3_column_type(stmt, 9) == SQLITE_NULL) {
		counts->warm += sqlite3_column_int(stmt, 4) != 0;
		counts->cold += sqlite3_column_int(stmt, 4) == 0;
	}
	times_add(counts, &counts->run, (uint64_t)sqlite3_column_int64(stmt, 2));
	times_add(counts, &group->run, (uint64_t)sqlite3_column_int64(stmt, 2));
	times_add(counts, &group->total, (uint64_t)sqlite3_column_int64(stmt, 3));
}

static int by_count(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strcmp(x->name, y->name);
}

static json_t *groups_json(struct counts *counts)
{
	json_t *list = json_array();

	if (counts->group_count > 1)
		qsort(counts->groups, counts->group_count, sizeof(*counts->groups), by_count);
	for (size_t i = 0; i < counts->group_count; i++) {
		struct group *g = &counts->groups[i];

		times_sort(&g->run);
		times_sort(&g->total);
		json_array_append_new(list, json_pack("{s:o, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "language",
						      *g->name ? store_utf8(g->name, strlen(g->name)) : json_null(),
						      "count", (json_int_t)g->count, "ok", (json_int_t)g->ok, "failed",
						      (json_int_t)g->failed, "p50", times_percentile(&g->run, 50),
						      "p95", times_percentile(&g->run, 95), "p50_total",
						      times_percentile(&g->total, 50), "p95_total",
						      times_percentile(&g->total, 95)));
	}
	return list;
}

/* Sorted by frequency. There are few kinds. */
static json_t *failures_json(json_t *failures)
{
	json_t *list = json_array(), *count;

	while (json_object_size(failures) > 0) {
		const char *key, *most = NULL;
		json_int_t most_count = 0;

		json_object_foreach(failures, key, count) if (json_integer_value(count) > most_count)
		{
			most = key;
			most_count = json_integer_value(count);
		}
		json_array_append_new(list, json_pack("{s:s, s:I}", "kind", most, "count", most_count));
		json_object_del(failures, most);
	}
	return list;
}

static int counts_answer(struct counts *counts, struct buf *out, struct error *err)
{
	char first[STORE_TIME];

	times_sort(&counts->run);
	return query_answer(
		json_pack("{s:I, s:o, s:O, s:o, s:o, s:I, s:I, s:I, s:o, s:o}", "total", (json_int_t)counts->total,
			  "since", counts->first ? json_string(store_time(counts->first, first)) : json_null(),
			  "by_status", counts->by_status, "by_language", groups_json(counts), "failures",
			  failures_json(counts->failures), "warm", (json_int_t)counts->warm, "cold",
			  (json_int_t)counts->cold, "other", (json_int_t)(counts->total - counts->warm - counts->cold),
			  "p50", times_percentile(&counts->run, 50), "p95", times_percentile(&counts->run, 95)),
		out, err);
}

static void counts_free(struct counts *counts)
{
	json_decref(counts->by_status);
	json_decref(counts->failures);
	for (size_t i = 0; i < counts->group_count; i++) {
		free(counts->groups[i].name);
		free(counts->groups[i].run.list);
		free(counts->groups[i].total.list);
	}
	free(counts->groups);
	free(counts->run.list);
}

int store_stats(struct store *store, const struct store_filter *filter, struct buf *out, struct error *err)
{
	static const char columns[] =
		"language, state(status, writer), execution_time, total, warm, error_type, limit_hit, time, "
		"error_message, place";
	_cleanup_(counts_free) struct counts counts = { .by_status = json_object(), .failures = json_object() };
	sqlite3_stmt *stmt;
	uint64_t since;
	int status = query_check(store, filter, &since, err), step;

	if (status != 200)
		return status;
	stmt = query_rows(store, columns, filter, since, 0, err);
	if (!stmt)
		return 500;
	while ((step = sqlite3_step(stmt)) == SQLITE_ROW && !counts.failed)
		count_row(&counts, stmt);
	if (step != SQLITE_ROW && step != SQLITE_DONE)
		store_failed(store, err, "cannot read the history");
	sqlite3_finalize(stmt);
	if (step != SQLITE_ROW && step != SQLITE_DONE)
		return 500;
	if (counts.failed) {
		error_set(err, ERROR_FAILED, ENOMEM, "cannot create the answer");
		return 500;
	}
	return counts_answer(&counts, out, err);
}
