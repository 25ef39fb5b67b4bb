#include "live/place.h"

#include "base/own.h"
#include "policy/in_force.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum {
	FILES_KEPT = 256 /* descriptors that places leave to runs, at least */
};

void places_init(struct places *places, const struct place_kind *kind, const struct place_watch *watch)
{
	*places = (struct places){ .kind = kind };
	if (watch)
		places->watch = *watch;
	pthread_mutex_init(&places->lock, NULL);
	pthread_cond_init(&places->left, NULL);
}

static int enter_call(struct places *places, struct error *err)
{
	bool closing;

	pthread_mutex_lock(&places->lock);
	closing = places->closing;
	places->callers += !closing;
	pthread_mutex_unlock(&places->lock);
	return closing ? error_set(err, ERROR_FAILED, ECANCELED, "the service is ending") : 0;
}

static void leave_call(struct places *places)
{
	pthread_mutex_lock(&places->lock);
	places->callers--;
	pthread_cond_broadcast(&places->left);
	pthread_mutex_unlock(&places->lock);
}

/* With the lock held, which is released meanwhile. The place has ended, or is ending. */
static void forget_place(struct places *places, struct place *place)
{
	struct place **at = &places->list;

	while (*at && *at != place)
		at = &(*at)->next;
	if (!*at)
		return; /* another thread does */
	*at = place->next;
	while (place->users > 0 || (place->home.thread && !place->gone))
		pthread_cond_wait(&places->left, &places->lock);
	pthread_mutex_unlock(&places->lock);
	places->kind->free(place);
	pthread_mutex_lock(&places->lock);
}

static bool is_visible(const struct place *place, const char *owner)
{
	return !owner || strcmp(place->owner, owner) == 0;
}

/* The kernel gives the lowest free number, so the number of a new descriptor tells how many are in use. */
bool place_leaves_files(const struct place *place)
{
	struct rlimit files;
	rlim_t kept;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return false;
	kept = files.rlim_cur / 64 > FILES_KEPT ? files.rlim_cur / 64 : FILES_KEPT;
	return (rlim_t)place->home.stop_fd + kept < files.rlim_cur;
}

bool place_has_ended(struct place *place)
{
	return resident_state(&place->home) == RESIDENT_ENDED;
}

/* With the lock held: a place that may be forgotten, or NULL. No call holds it. If it has ended just now, forgetting it
 * waits for the last steps of its thread. */
static struct place *find_ended(const struct places *places, const char *owner, bool all)
{
	struct place *oldest = NULL;
	size_t kept = 0;

	for (struct place *p = places->list; p; p = p->next) {
		if (p->users > 0 || !is_visible(p, owner) || !(p->gone || (all && place_has_ended(p))))
			continue;
		if (all || p->fleeting)
			return p;
		kept++;
		oldest = p;
	}
	return kept > places->kind->kept_max ? oldest : NULL;
}

/* With the lock held. Returns how many were forgotten. */
static size_t sweep_list(struct places *places, const char *owner, bool all)
{
	struct place *ended;
	size_t count = 0;

	while ((ended = find_ended(places, owner, all))) {
		forget_place(places, ended);
		count++;
	}
	return count;
}

void places_close(struct places *places, const char *why)
{
	pthread_mutex_lock(&places->lock);
	places->closing = true;
	for (struct place *p = places->list; p; p = p->next)
		resident_end(&p->home, why, NULL);
	while (places->callers > 0)
		pthread_cond_wait(&places->left, &places->lock);
	while (places->list) {
		/* A place that was started meanwhile was not on the list above. */
		resident_end(&places->list->home, why, NULL);
		forget_place(places, places->list);
	}
	pthread_mutex_unlock(&places->lock);
	pthread_cond_destroy(&places->left);
	pthread_mutex_destroy(&places->lock);
}

/* On the place's thread. */
static void on_ended(struct resident *home)
{
	const struct place *place = (const struct place *)home;
	const struct place_watch *watch = &place->places->watch;
	const struct place_ended ended = {
		.id = place->id,
		.owner = place->owner,
		.profile = place->profile,
		.language = place->runtime->name,
		.why = home->why,
		.by = home->by[0] ? home->by : "service",
	};

	if (watch->ended)
		watch->ended(&ended, watch->userdata);
}

/* On the place's thread, which needs it no more. */
static void on_gone(struct resident *home)
{
	struct place *place = (struct place *)home;
	struct places *places = place->places;

	pthread_mutex_lock(&places->lock);
	place->gone = true;
	if (place->users == 0) {
		resident_leave(home);
		places->kind->shrink(place);
	}
	pthread_cond_broadcast(&places->left);
	pthread_mutex_unlock(&places->lock);
}

int place_init(struct place *place, struct places *places, const char *owner, const char *profile)
{
	if (resident_init(&place->home) < 0)
		return -1;
	place->home.noun = places->kind->noun;
	place->home.program = places->kind->program;
	place->home.ended = on_ended;
	place->home.gone = on_gone;
	place->places = places;
	place->owner = arena_string(&place->arena, owner ? owner : "");
	place->profile = arena_string(&place->arena, profile ? profile : "");
	gettimeofday(&place->created, NULL);
	result_make_id(place->id);
	return place->owner && place->profile ? 0 : -1;
}

void place_shrink(struct place *place)
{
	resident_shrink(&place->home);
}

static const char **copy_texts(struct arena *arena, const char *const *texts, size_t count)
{
	const char **copy = arena_alloc(arena, (count + 1) * sizeof(*copy));

	for (size_t i = 0; copy && i < count; i++)
		if (!(copy[i] = arena_string(arena, texts[i])))
			return NULL;
	return copy;
}

int place_describe_box(struct place *place, struct error *err)
{
	struct spec spec;
	struct result *result;
	int done = -1;

	spec_init(&spec);
	spec.runtime = place->runtime;
	result = result_new(&spec);
	if (result)
		done = resident_describe(&place->home, result, err);
	else
		error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the %s", place->home.noun);
	if (done == 0) {
		if (result->limits.cpus <= 0)
			place->limits.cpus = 0;
		place->engine = result->engine;
		place->layer_count = result->layer_count;
		place->layers = copy_texts(&place->arena, result->layers, result->layer_count);
		if (!place->layers)
			done = error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the %s", place->home.noun);
	}
	result_free(result);
	spec_free(&spec);
	return done;
}

int place_fill_result(const struct place *place, struct result *result, struct error *err)
{
	result->engine = place->engine;
	result->layers = copy_texts(&result->arena, place->layers, place->layer_count);
	result->layer_count = result->layers ? place->layer_count : 0;
	return result->layers ? 0 : error_set(err, ERROR_FAILED, ENOMEM, "cannot make the result");
}

void place_destroy(struct place *place)
{
	resident_free(&place->home);
	arena_free(&place->arena);
}

/* With the lock held. */
static void put_first(struct places *places, struct place *place)
{
	place->users = 1;
	place->next = places->list;
	places->list = place;
}

int places_add(struct places *places, struct place *place, place_admit *admit, const void *options, struct error *err)
{
	int done = enter_call(places, err);

	if (done == 0) {
		pthread_mutex_lock(&places->lock);
		sweep_list(places, NULL, false);
		done = admit(places, place, options, err);
		if (done == 0)
			put_first(places, place);
		pthread_mutex_unlock(&places->lock);
		if (done < 0)
			leave_call(places);
	}
	if (done < 0)
		places->kind->free(place);
	return done;
}

void places_replace(struct place *old, struct place *place)
{
	struct places *places = old->places;

	pthread_mutex_lock(&places->lock);
	put_first(places, place);
	old->users--;
	forget_place(places, old);
	pthread_mutex_unlock(&places->lock);
}

static void release_place(struct place *place)
{
	struct places *places = place->places;

	pthread_mutex_lock(&places->lock);
	place->users--;
	if (place->users == 0 && place->gone)
		places->kind->shrink(place);
	pthread_cond_broadcast(&places->left);
	pthread_mutex_unlock(&places->lock);
}

void place_let_go(struct place *place)
{
	struct places *places = place->places;

	release_place(place);
	leave_call(places);
}

int places_settle(struct place *place, int launched)
{
	struct places *places = place->places;

	if (launched == 0) {
		place_let_go(place);
		return 0;
	}
	resident_end(&place->home, "it could not be started", NULL);
	pthread_mutex_lock(&places->lock);
	place->users--;
	forget_place(places, place);
	pthread_mutex_unlock(&places->lock);
	leave_call(places);
	return -1;
}

/* With the lock held: this owner can see and use it. */
static bool is_listed(struct place *place, const char *owner)
{
	const enum resident_state state = resident_state(&place->home);

	return is_visible(place, owner) && !place->replaced && state != RESIDENT_STARTING &&
	       !(place->fleeting && state == RESIDENT_ENDED);
}

struct place *places_find(struct places *places, const char *id, const char *owner, struct error *err)
{
	struct place *found = NULL;

	if (enter_call(places, err) < 0)
		return NULL;
	pthread_mutex_lock(&places->lock);
	for (struct place *p = places->list; p && !found; p = p->next)
		if (strcmp(p->id, id) == 0 && is_listed(p, owner))
			found = p;
	if (found)
		found->users++;
	pthread_mutex_unlock(&places->lock);
	if (found)
		return found;
	leave_call(places);
	error_refuse(err, CODE_NOT_FOUND, places->kind->field, "there is no %s \"%.64s\"", places->kind->noun, id);
	return NULL;
}

size_t places_living(const struct places *places, const char *owner)
{
	size_t count = 0;

	for (struct place *p = places->list; p; p = p->next)
		count += is_visible(p, owner) && !place_has_ended(p);
	return count;
}

size_t places_count(struct places *places)
{
	size_t count;

	pthread_mutex_lock(&places->lock);
	count = places_living(places, NULL);
	pthread_mutex_unlock(&places->lock);
	return count;
}

int places_stop(struct places *places, const char *id, const char *owner, const char *by, struct error *err)
{
	struct place *place = places_find(places, id, owner, err);
	int done = 0;

	if (!place)
		return -1;
	if (!place_has_ended(place)) {
		resident_end(&place->home, places->kind->stopped, by);
		if (!resident_await_end(&place->home, -1))
			done = error_set(err, ERROR_FAILED, 0, "the %s %s did not end", places->kind->noun, place->id);
	}
	/* When the call returns the place's descriptors are closed. */
	pthread_mutex_lock(&places->lock);
	while (done == 0 && !place->gone)
		pthread_cond_wait(&places->left, &places->lock);
	pthread_mutex_unlock(&places->lock);
	release_place(place);
	pthread_mutex_lock(&places->lock);
	sweep_list(places, NULL, false);
	pthread_mutex_unlock(&places->lock);
	leave_call(places);
	return done;
}

size_t places_end(struct places *places, const char *owner, const char *why)
{
	size_t count = 0;

	pthread_mutex_lock(&places->lock);
	for (struct place *p = places->list; p; p = p->next) {
		if (!is_visible(p, owner) || place_has_ended(p))
			continue;
		resident_end(&p->home, why, NULL);
		count++;
	}
	pthread_mutex_unlock(&places->lock);
	return count;
}

bool places_confirm(struct places *places, const char *id, const char *owner, const char *in_force)
{
	struct error ignored;
	struct place *place = places_find(places, id, owner, &ignored);
	bool asks;

	if (!place)
		return false;
	asks = place->asks || in_force_confirms(in_force, place->profile);
	place_let_go(place);
	return asks;
}

/* Holds all places that are listed. Returns how many. The caller releases them and frees *out, which is NULL without
 * memory. */
static size_t hold_listed(struct places *places, const char *owner, struct place ***out)
{
	size_t count = 0, n = 0;

	pthread_mutex_lock(&places->lock);
	sweep_list(places, NULL, false);
	for (struct place *p = places->list; p; p = p->next)
		count++;
	*out = calloc(count + 1, sizeof(**out));
	for (struct place *p = places->list; *out && p; p = p->next) {
		if (!is_listed(p, owner))
			continue;
		p->users++;
		(*out)[n++] = p;
	}
	pthread_mutex_unlock(&places->lock);
	return n;
}

int places_list(struct places *places, const char *owner, const char *key, char **json, struct error *err)
{
	_cleanup_free_ struct place **held = NULL;
	json_t *list;
	size_t count;

	if (enter_call(places, err) < 0)
		return -1;
	count = hold_listed(places, owner, &held);
	list = held ? json_array() : NULL;
	for (size_t i = count; i > 0; i--) {
		json_array_append_new(list, places->kind->describe(held[i - 1]));
		release_place(held[i - 1]);
	}
	leave_call(places);
	return place_print(list ? json_pack("{s:o}", key, list) : NULL, json, err);
}

int places_cleanup(struct places *places, const char *owner, size_t *removed, struct error *err)
{
	if (enter_call(places, err) < 0)
		return -1;
	pthread_mutex_lock(&places->lock);
	*removed = sweep_list(places, owner, true);
	pthread_mutex_unlock(&places->lock);
	leave_call(places);
	return 0;
}

json_t *place_time_json(const struct timeval *time, double later)
{
	const long long msec = (long long)time->tv_sec * 1000 + time->tv_usec / 1000 + (long long)(later * 1000);
	const time_t second = (time_t)(msec / 1000);
	char day[32], text[48];
	struct tm parts;

	gmtime_r(&second, &parts);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &parts);
	snprintf(text, sizeof(text), "%s.%03dZ", day, (int)(msec % 1000));
	return json_string(text);
}

json_t *place_seconds_json(double seconds)
{
	return seconds == (double)(json_int_t)seconds ? json_integer((json_int_t)seconds) : json_real(seconds);
}

int place_print(json_t *root, char **json, struct error *err)
{
	*json = root ? json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
	json_decref(root);
	return *json ? 0 : error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the answer");
}
