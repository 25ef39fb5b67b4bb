/*
 * Embers, by language and profile.
 *
 * Each combination is a hearth: a thread that owns the stem, and idle embers.
 * It is created at the first request for the language; that run is cold. Taking
 * an ember wakes the thread, which makes another one, so callers do not wait
 * for it. If no ember is idle, the run makes one from the zygote in its own
 * thread; if there is no stem, the run is cold.
 *
 * The number of idle embers follows demand: it doubles when a run finds none,
 * becomes one after a minute without runs, and zero after ten minutes, when the
 * stem is closed as well. A thread wakes only when one of these is due.
 *
 * A stem is replaced after a number of forks or minutes, because its forks
 * share its memory layout and hash seed. The old one stays until its last box
 * has ended; its thread owns both.
 */
#include "engine/warm/pool.h"

#include "base/clock.h"
#include "base/own.h"
#include "engine/warm/ember_order.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	HEARTHS_MAX = 32,              /* maximum of warm languages and profiles */
	IDLE_MAX = 1024,               /* maximum of a hearth's idle embers */
	FIRST_TARGET = 2,              /* idle embers after the first run */
	STEM_FORKS = 20000,            /* of one stem before it is replaced */
	STEM_USEC = 30 * 60 * 1000000, /* age at which a stem is replaced */
	SHRINK_USEC = 60 * 1000000,    /* time without a run after which one ember stays idle */
	CLOSE_USEC = 600 * 1000000,    /* time without a run after which the stem is closed */
	RETRY_USEC = 5 * 1000000,      /* pause after a stem could not be made */
	EMBER_COST = 4 << 20,          /* estimated bytes of an ember */
};

/* A stem and its users. */
struct ember_source {
	struct stem *stem;         /* owned */
	size_t users;              /* its embers, idle or in use, and the hearth itself */
	uint64_t forks;            /* number so far */
	uint64_t opened_usec;      /* time of opening */
	struct ember_source *next; /* next of the hearth's old ones */
};

struct hearth {
	struct pool *pool;           /* owner */
	struct stem_begin begin;     /* language, profile and surroundings */
	pthread_t thread;            /* thread that owns the stems */
	pthread_cond_t wake;         /* wakes it */
	struct ember_source *source; /* current stem; NULL: none */
	struct ember_source *old;    /* replaced, but still in use */
	struct held *idle[IDLE_MAX]; /* idle embers; the last one is taken first */
	size_t idle_count;           /* number of them */
	size_t target;               /* wanted number */
	uint64_t taken_usec;         /* time of the last request */
	uint64_t retry_usec;         /* earliest time for a new stem */
	bool replace;                /* replace the stem when the thread runs next */
};

struct pool {
	pthread_mutex_t lock;                /* guards all members */
	struct engine_options options;       /* limits of the pool */
	struct probe probe;                  /* result of probing the host */
	struct hearth *hearths[HEARTHS_MAX]; /* in the order of first use */
	size_t hearth_count;                 /* number of them */
	struct engine_stats stats;           /* counters */
	struct held *ashes;                  /* used embers, to be closed */
	pthread_cond_t swept;                /* signalled when there are some */
	pthread_t sweeper;                   /* thread that closes them */
	size_t idle;                         /* idle embers of all hearths */
	bool closing;                        /* the pool is closing */
	bool swept_all;                      /* the sweeper may end */
	bool sweeping;                       /* the sweeper was started */
};

/* Writes a log line, without any data of callers. */
static void pool_log(const struct pool *pool, const char *what, const struct stem_begin *begin, const struct error *err)
{
	if (pool->options.say)
		pool->options.say("%s: %s: %s", begin->language, what, err->text);
}

/* ---- Closing: takes no time of callers. */

/* With the lock held: abandons a stem that failed. If it was replaced already, its successor is not affected. */
static void give_up(struct hearth *hearth, const struct ember_source *source)
{
	hearth->pool->stats.failed++;
	if (source == hearth->source)
		hearth->replace = true;
}

/* With the lock held: when the last box of a stem has ended, its thread closes it. */
static void source_release(struct hearth *hearth, struct ember_source *source)
{
	source->users--;
	if (source->users == 0)
		pthread_cond_signal(&hearth->wake);
}

static void *ashes_sweep(void *data)
{
	struct pool *pool = data;

	pthread_mutex_lock(&pool->lock);
	while (pool->ashes || !pool->swept_all) {
		struct held *held = pool->ashes;

		if (!held) {
			pthread_cond_wait(&pool->swept, &pool->lock);
			continue;
		}
		/* All of them are killed before the first is waited for. */
		pool->ashes = NULL;
		pthread_mutex_unlock(&pool->lock);
		for (struct held *each = held; each; each = each->next)
			launch_kill(&each->ember.box);
		while (held) {
			struct held *next = held->next;

			launch_end(&held->ember.box, NULL);
			pthread_mutex_lock(&pool->lock);
			source_release(held->hearth, held->source);
			pthread_mutex_unlock(&pool->lock);
			free(held);
			held = next;
		}
		pthread_mutex_lock(&pool->lock);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* With the lock held. */
static void held_discard(struct pool *pool, struct held *held)
{
	held->next = pool->ashes;
	pool->ashes = held;
	pthread_cond_signal(&pool->swept);
}

static void drop_idle(struct hearth *hearth, size_t keep)
{
	while (hearth->idle_count > keep) {
		held_discard(hearth->pool, hearth->idle[--hearth->idle_count]);
		hearth->pool->idle--;
	}
}

/* ---- Making embers. */

/* The caller has a use count of the source, which the ember takes over. */
static struct held *make_held(struct hearth *hearth, struct ember_source *source, enum zygote_kind kind, bool hurry,
			      struct error *err)
{
	struct held *held = calloc(1, sizeof(*held));

	if (!held)
		error_set(err, ERROR_FAILED, ENOMEM, "cannot hold an ember");
	if (held && stem_make(source->stem, kind, hurry, &held->ember, err) == 0) {
		held->hearth = hearth;
		held->source = source;
		return held;
	}
	free(held);
	return NULL;
}

/* The zygote that matches; without one, only a box. */
static enum zygote_kind best_kind(const struct ember_source *source)
{
	return stem_has(source->stem, ZYGOTE_FORK) ? ZYGOTE_FORK : ZYGOTE_EXEC;
}

/* Checks the limits of number and memory over all hearths. */
static bool has_room(const struct pool *pool)
{
	return pool->idle < pool->options.embers_max && (pool->idle + 1) * EMBER_COST <= pool->options.memory_max;
}

/* For a new language: closes an idle ember of the least recently used hearth. */
static bool make_room(struct hearth *hearth)
{
	struct pool *pool = hearth->pool;
	struct hearth *oldest = hearth;

	for (size_t i = 0; i < pool->hearth_count; i++)
		if (pool->hearths[i]->idle_count > 0 && pool->hearths[i]->taken_usec < oldest->taken_usec)
			oldest = pool->hearths[i];
	if (oldest == hearth || hearth->idle_count > 0)
		return false;
	oldest->target = oldest->idle_count - 1;
	drop_idle(oldest, oldest->target);
	return has_room(pool);
}

static bool wants_more(struct hearth *hearth)
{
	return hearth->source && hearth->idle_count < hearth->target && hearth->idle_count < IDLE_MAX &&
	       (has_room(hearth->pool) || make_room(hearth));
}

/* With the lock held, which is released meanwhile. */
static void hearth_refill(struct hearth *hearth)
{
	struct pool *pool = hearth->pool;
	struct ember_source *source = hearth->source;
	struct error err = { 0 };
	struct held *held;

	source->users++;
	pthread_mutex_unlock(&pool->lock);
	held = make_held(hearth, source, best_kind(source), false, &err);
	pthread_mutex_lock(&pool->lock);
	if (!held) {
		source_release(hearth, source);
		pool_log(pool, "an ember could not be made", &hearth->begin, &err);
		/* Opens another stem after a pause. If this one never made an ember, the next would fail too, so it
		 * waits for a request. */
		give_up(hearth, source);
		if (source->forks == 0)
			hearth->target = 0;
		hearth->retry_usec = clock_usec() + RETRY_USEC;
		return;
	}
	source->forks++;
	pool->stats.forked++;
	/* Meanwhile it may have been replaced, or there may be enough. */
	if (pool->closing || source != hearth->source || hearth->idle_count >= IDLE_MAX) {
		held_discard(pool, held);
		return;
	}
	hearth->idle[hearth->idle_count++] = held;
	pool->idle++;
}

/* ---- Stems: opened and closed by the hearth's thread. */

static void open_source(struct hearth *hearth)
{
	struct pool *pool = hearth->pool;
	struct ember_source *source = calloc(1, sizeof(*source));
	struct error err = { 0 };
	int done;

	/* Before opening: a later request to replace is for the new stem too. */
	hearth->replace = false;
	pthread_mutex_unlock(&pool->lock);
	done = source ? stem_open(&hearth->begin, &source->stem, &err)
		      : error_set(&err, ERROR_FAILED, ENOMEM, "cannot hold a stem");
	pthread_mutex_lock(&pool->lock);
	if (done < 0) {
		pool_log(pool, "no boxes are made ahead", &hearth->begin, &err);
		free(source);
		pool->stats.failed++;
		/* Not retried automatically: a request after the pause tries again. */
		hearth->target = 0;
		hearth->retry_usec = clock_usec() + RETRY_USEC;
		return;
	}
	if (hearth->begin.forks && !stem_has(source->stem, ZYGOTE_FORK)) {
		error_set(&err, ERROR_FAILED, 0, "each program starts a new one, in a box made ahead");
		pool_log(pool, "its interpreter cannot be forked", &hearth->begin, &err);
	}
	source->users = 1;
	source->opened_usec = clock_usec();
	hearth->source = source;
	hearth->retry_usec = 0;
	pool->stats.zygotes++;
}

static void retire_source(struct hearth *hearth)
{
	struct ember_source *source = hearth->source;

	drop_idle(hearth, 0);
	hearth->source = NULL;
	hearth->replace = false;
	source->next = hearth->old;
	hearth->old = source;
	source->users--;
}

/* Closes old stems without users. */
static void close_old(struct hearth *hearth)
{
	struct ember_source **at = &hearth->old;

	while (*at) {
		struct ember_source *source = *at;

		if (source->users > 0) {
			at = &source->next;
			continue;
		}
		*at = source->next;
		hearth->pool->stats.zygotes--;
		pthread_mutex_unlock(&hearth->pool->lock);
		stem_close(source->stem);
		free(source);
		pthread_mutex_lock(&hearth->pool->lock);
		at = &hearth->old;
	}
}

static bool is_worn(const struct ember_source *source, uint64_t now)
{
	return source->forks >= STEM_FORKS || now - source->opened_usec >= STEM_USEC;
}

/* Does what is due; returns the time of the next action, 0: none. */
static uint64_t hearth_tend(struct hearth *hearth, uint64_t now)
{
	uint64_t shrink = hearth->taken_usec + SHRINK_USEC, end = hearth->taken_usec + CLOSE_USEC;

	if (hearth->source && now >= end) {
		hearth->target = 0;
		retire_source(hearth);
	}
	if (hearth->source && (hearth->replace || is_worn(hearth->source, now)))
		retire_source(hearth);
	close_old(hearth);
	if (!hearth->source && hearth->target > 0 && now >= hearth->retry_usec)
		open_source(hearth);
	if (!hearth->source)
		return hearth->target > 0 && hearth->retry_usec > now ? hearth->retry_usec : 0;
	if (now >= shrink && hearth->target > 1) {
		hearth->target = 1;
		drop_idle(hearth, 1);
	}
	return hearth->target > 1 ? shrink : end;
}

static void wait_until(struct hearth *hearth, uint64_t usec)
{
	const struct timespec when = { .tv_sec = (time_t)(usec / 1000000), .tv_nsec = (long)(usec % 1000000) * 1000 };

	if (usec)
		pthread_cond_timedwait(&hearth->wake, &hearth->pool->lock, &when);
	else
		pthread_cond_wait(&hearth->wake, &hearth->pool->lock);
}

static void *tend_hearth(void *data)
{
	struct hearth *hearth = data;
	struct pool *pool = hearth->pool;

	pthread_mutex_lock(&pool->lock);
	while (!pool->closing) {
		uint64_t due = hearth_tend(hearth, clock_usec());

		if (pool->closing)
			break;
		if (wants_more(hearth))
			hearth_refill(hearth);
		else
			wait_until(hearth, due);
	}
	/* All boxes are closed before their stems. */
	if (hearth->source)
		retire_source(hearth);
	while (hearth->old) {
		close_old(hearth);
		if (hearth->old)
			pthread_cond_wait(&hearth->wake, &pool->lock);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* Signals are for the keeper's main thread. */
static int start_thread(pthread_t *thread, void *(*run)(void *), void *data)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int done;

	sigfillset(&all);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 256 << 10);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	done = pthread_create(thread, &attributes, run, data);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return done;
}

static void init_cond(pthread_cond_t *cond)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attributes);
	pthread_condattr_destroy(&attributes);
}

/* ---- The hearth for a job. */

/* Whether the job needs only what every program of the language has; otherwise it gets a box of its own. */
static bool job_fits(const struct job *job, const struct probe *probe, struct stem_begin *begin)
{
	const struct limits own = limits_settle(&(struct limits){ 0 }, &job->runtime->limits);
	const struct spec *spec = job->spec;

	/* A stem knows only built-in languages: the user's own are not in its root. */
	if (runtime_is_own(job->runtime))
		return false;
	if (job->kind != JOB_RUN || spec->project || spec->read_only || job->terminals || job->limits.disk > own.disk ||
	    job->limits.inodes != own.inodes ||
	    (job->limits.disk < own.disk && !job->disk_by_memory && !probe->range) ||
	    strlen(job->runtime->name) >= STEM_NAME_MAX || (spec->profile && strlen(spec->profile) >= STEM_NAME_MAX))
		return false;
	/* If a requested limit cannot be enforced, the box's maker refuses the run. */
	if (spec->limits.cpus > 0 && !spec->weaker[LAYER_CGROUP] &&
	    (probe->cgroup.version == 0 || probe->cgroup.where[CGROUP_CPU] < 0))
		return false;
	for (size_t i = 0; i < job->tree_count; i++)
		if (job->trees[i].dir >= 0 || job->trees[i].writable)
			return false;
	for (size_t i = 0; i < job->file_count; i++)
		if (job->files[i].host || !order_takes(&job->files[i]))
			return false;
	if (!surroundings_text(&job->around, begin->around))
		return false;
	strcpy(begin->language, job->runtime->name);
	strcpy(begin->profile, spec->profile ? spec->profile : "");
	/* Waiving a layer that is available makes no other kind of box: each combination would need a hearth. */
	begin->weaker[LAYER_CGROUP] =
		spec->weaker[LAYER_CGROUP] && (probe->cgroup.version == 0 || probe->cgroup.where[CGROUP_CPU] < 0);
	begin->weaker[LAYER_LANDLOCK] = spec->weaker[LAYER_LANDLOCK] && probe->landlock == 0;
	begin->weaker[LAYER_SECCOMP] = spec->weaker[LAYER_SECCOMP] && !probe->seccomp;
	begin->forks = job->runtime->ember.point != NULL;
	return true;
}

static bool is_for(const struct hearth *hearth, const struct stem_begin *begin)
{
	return strcmp(hearth->begin.language, begin->language) == 0 &&
	       strcmp(hearth->begin.profile, begin->profile) == 0 && strcmp(hearth->begin.around, begin->around) == 0 &&
	       memcmp(hearth->begin.weaker, begin->weaker, sizeof(begin->weaker)) == 0;
}

static struct hearth *find_hearth(struct pool *pool, const struct stem_begin *begin)
{
	struct hearth *hearth;

	for (size_t i = 0; i < pool->hearth_count; i++)
		if (is_for(pool->hearths[i], begin))
			return pool->hearths[i];
	if (pool->hearth_count == HEARTHS_MAX || pool->closing || !(hearth = calloc(1, sizeof(*hearth))))
		return NULL;
	hearth->pool = pool;
	hearth->begin = *begin;
	hearth->begin.probe = pool->probe;
	hearth->target = FIRST_TARGET;
	hearth->taken_usec = clock_usec();
	init_cond(&hearth->wake);
	if (start_thread(&hearth->thread, tend_hearth, hearth) != 0) {
		pthread_cond_destroy(&hearth->wake);
		free(hearth);
		return NULL;
	}
	pool->hearths[pool->hearth_count++] = hearth;
	return hearth;
}

/* Variables that only a starting interpreter reads. */
static bool is_started_with(const struct job *job)
{
	for (const char *const *pattern = job->runtime->ember.not_with; pattern && *pattern; pattern++) {
		for (size_t i = 0; i < job->spec->env_count; i++) {
			char name[128];
			const char *entry = job->spec->env[i];
			size_t length = strcspn(entry, "=");

			if (length >= sizeof(name))
				continue;
			memcpy(name, entry, length);
			name[length] = '\0';
			if (fnmatch(*pattern, name, 0) == 0)
				return true;
		}
	}
	return false;
}

static enum zygote_kind kind_for(const struct job *job)
{
	const struct runtime_ember *ember = &job->runtime->ember;

	if (job->session)
		return ember->point && job->runtime->session.fork && !is_started_with(job) ? ZYGOTE_FORK : ZYGOTE_EXEC;
	if (!ember->point || is_started_with(job) ||
	    (!ember->any_entry && strcmp(spec_entry(job->spec), job->runtime->file) != 0))
		return ZYGOTE_EXEC;
	return ZYGOTE_FORK;
}

/* ---- Taking embers. */

/* An idle ember of this kind, or a new one; NULL: there is none. */
static struct held *hearth_take(struct pool *pool, struct hearth *hearth, enum zygote_kind kind)
{
	struct ember_source *source = hearth->source;
	struct error err = { 0 };
	struct held *held = NULL;

	hearth->taken_usec = clock_usec();
	if (hearth->target == 0 && hearth->taken_usec >= hearth->retry_usec)
		hearth->target = FIRST_TARGET;
	/* A fork of a dead zygote can run, but its end would not be reported. */
	if (source && !stem_is_well(source->stem)) {
		hearth->replace = true;
		drop_idle(hearth, 0);
	}
	if (hearth->idle_count > 0 && hearth->idle[hearth->idle_count - 1]->ember.kind == kind) {
		held = hearth->idle[--hearth->idle_count];
		pool->idle--;
	} else if (source && !hearth->replace) {
		if (hearth->idle_count == 0 && hearth->target < IDLE_MAX)
			hearth->target *= 2;
		if (!stem_has(source->stem, kind))
			kind = ZYGOTE_EXEC;
		source->users++;
		pthread_mutex_unlock(&pool->lock);
		held = make_held(hearth, source, kind, true, &err);
		pthread_mutex_lock(&pool->lock);
		if (!held) {
			pool_log(pool, "an ember could not be made", &hearth->begin, &err);
			source_release(hearth, source);
			give_up(hearth, source);
		} else {
			source->forks++;
			pool->stats.forked++;
		}
	}
	/* Usually pool_return() wakes the thread that makes more, but not after a long run, or several at once. */
	if (!held || hearth->idle_count == 0)
		pthread_cond_signal(&hearth->wake);
	return held;
}

void pool_return(struct held *held)
{
	struct hearth *hearth = held->hearth;

	/* Kill now, before the sweeper closes it, so that no process outlives the answer. */
	launch_kill(&held->ember.box);
	pthread_mutex_lock(&hearth->pool->lock);
	held_discard(hearth->pool, held);
	pthread_cond_signal(&hearth->wake);
	pthread_mutex_unlock(&hearth->pool->lock);
}

struct held *pool_take(struct pool *pool, const struct job *job)
{
	struct stem_begin begin = { 0 };
	struct hearth *hearth = NULL;
	struct held *held = NULL;

	pthread_mutex_lock(&pool->lock);
	if (pool->options.embers_max > 0 && job_fits(job, &pool->probe, &begin))
		hearth = find_hearth(pool, &begin);
	if (hearth)
		held = hearth_take(pool, hearth, kind_for(job));
	pthread_mutex_unlock(&pool->lock);
	return held;
}

void pool_count(struct pool *pool, bool warm)
{
	pthread_mutex_lock(&pool->lock);
	pool->stats.warm += warm;
	pool->stats.cold += !warm;
	pthread_mutex_unlock(&pool->lock);
}

void pool_reject(struct held *held, bool counted)
{
	struct pool *pool = held->hearth->pool;

	pthread_mutex_lock(&pool->lock);
	pool->stats.warm -= counted;
	pool->stats.cold++;
	/* A dead zygote is not restarted. */
	give_up(held->hearth, held->source);
	pthread_mutex_unlock(&pool->lock);
}

/* ---- The pool. */

int pool_open(const struct engine_options *options, struct pool **out, struct error *err)
{
	struct pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot make the pool");
	pool->options = *options;
	pthread_mutex_init(&pool->lock, NULL);
	init_cond(&pool->swept);
	if (probe_host(&pool->probe, err) < 0) {
		pool_close(pool);
		return -1;
	}
	if (start_thread(&pool->sweeper, ashes_sweep, pool) != 0) {
		pool_close(pool);
		return error_set(err, ERROR_FAILED, EAGAIN, "cannot start a thread of the pool");
	}
	pool->sweeping = true;
	*out = pool;
	return 0;
}

void pool_close(struct pool *pool)
{
	if (!pool)
		return;
	/* Hearths first: the sweeper closes their embers. */
	pthread_mutex_lock(&pool->lock);
	pool->closing = true;
	for (size_t i = 0; i < pool->hearth_count; i++)
		pthread_cond_signal(&pool->hearths[i]->wake);
	pthread_mutex_unlock(&pool->lock);
	for (size_t i = 0; i < pool->hearth_count; i++) {
		pthread_join(pool->hearths[i]->thread, NULL);
		pthread_cond_destroy(&pool->hearths[i]->wake);
		free(pool->hearths[i]);
	}
	pthread_mutex_lock(&pool->lock);
	pool->swept_all = true;
	pthread_cond_signal(&pool->swept);
	pthread_mutex_unlock(&pool->lock);
	if (pool->sweeping)
		pthread_join(pool->sweeper, NULL);
	pthread_cond_destroy(&pool->swept);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

void pool_reload(struct pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	for (size_t i = 0; i < pool->hearth_count; i++) {
		pool->hearths[i]->replace = true;
		pthread_cond_signal(&pool->hearths[i]->wake);
	}
	pthread_mutex_unlock(&pool->lock);
}

void pool_stats(struct pool *pool, struct engine_stats *stats)
{
	pthread_mutex_lock(&pool->lock);
	stats->idle += pool->idle;
	stats->warm += pool->stats.warm;
	stats->cold += pool->stats.cold;
	stats->forked += pool->stats.forked;
	stats->failed += pool->stats.failed;
	stats->zygotes += pool->stats.zygotes;
	pthread_mutex_unlock(&pool->lock);
}

const struct probe *pool_probe(const struct pool *pool)
{
	return &pool->probe;
}
