#include "engine/engine.h"

#include "base/own.h"
#include "result/result_network.h"

#include <errno.h>

int engines_open(struct engines *engines, const struct engine *const *table, const struct engine_options *options,
		 struct error *err)
{
	*engines = (struct engines){ .way = egress_way_new(options ? options->egress : NULL) };
	if (!engines->way)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the engines");
	for (; *table; table++) {
		void *self = NULL;
		int done = engines->count < ENGINES_MAX
				   ? (*table)->open(options, &self, err)
				   : error_set(err, ERROR_FAILED, 0, "there are more than %d engines", ENGINES_MAX);

		if (done < 0) {
			engines_close(engines);
			return -1;
		}
		if (done > 0)
			continue;
		engines->open[engines->count].engine = *table;
		engines->open[engines->count++].self = self;
	}
	return 0;
}

void engines_close(struct engines *engines)
{
	egress_way_free(engines->way);
	engines->way = NULL;
	while (engines->count > 0) {
		engines->count--;
		engines->open[engines->count].engine->close(engines->open[engines->count].self);
	}
}

void engines_reload(const struct engines *engines)
{
	for (size_t i = 0; i < engines->count; i++)
		if (engines->open[i].engine->reload)
			engines->open[i].engine->reload(engines->open[i].self);
}

void engines_stats(const struct engines *engines, struct engine_stats *stats)
{
	*stats = (struct engine_stats){ 0 };
	for (size_t i = 0; i < engines->count; i++)
		if (engines->open[i].engine->stats)
			engines->open[i].engine->stats(engines->open[i].self, stats);
}

bool engine_may(const struct engine *engine, const struct job *job)
{
	if (job->around.engine != ENGINE_AUTO && job->around.engine != engine->choice)
		return false;
	if (job->network && !engine->place_sockets)
		return false;
	return (job->kind == JOB_RUN || engine->can & ENGINE_BUILDS) && (!job_stays(job) || engine->place_take_streams);
}

static void close_late(void *data)
{
	struct engine_place *place = data;

	place->engine->place_close(place, NULL);
}

int engines_network(const struct engines *engines, const struct engine_place *place, const struct job *job,
		    struct box_network *network, struct error *err)
{
	*network = BOX_NETWORK_NONE;
	if (!job->network)
		return 0;
	return engines_network_open(engines, job->network, job->secrets, place->engine->place_sockets(place), network,
				    err);
}

int engines_network_open(const struct engines *engines, const struct net_policy *policy,
			 const struct net_secrets *secrets, const struct egress_sockets *sockets,
			 struct box_network *network, struct error *err)
{
	struct egress_link *link = egress_way_link(engines->way, err);

	return link ? box_network_open(network, link, policy, secrets, sockets, err) : -1;
}

/* Watches the program, with its network open. */
static int watch_in(const struct engines *engines, const struct engine *engine, struct engine_place *place,
		    const struct job *job, const struct engine_io *io, struct result *result, struct error *err)
{
	struct box_network network;
	struct engine_io with = *io;
	int done = engines_network(engines, place, job, &network, err);

	if (done < 0)
		return -1;
	network.on_report = io->on_network;
	network.userdata = io->userdata;
	with.network = &network;
	done = engine->place_watch(place, job, &with, result->outputs, &result->verdict);
	box_network_end(&network);
	result_set_network(result, job->network, &network.report);
	box_network_free(&network);
	return done;
}

static int run_in(const struct engines *engines, size_t index, const struct job *job, const struct engine_io *io,
		  struct result *result, engine_collect *collect, void *userdata, struct error *err)
{
	const struct engine *engine = engines->open[index].engine;
	struct verdict *verdict = &result->verdict;
	struct engine_files files;
	struct engine_place *place;
	struct error later;
	int done;

	result_begin(result, job->kind, &job->limits);
	result->terminal = job->rows > 0;
	done = engine->place_open(engines->open[index].self, job, &place, err);
	if (done != 0)
		return done;
	done = watch_in(engines, engine, place, job, io, result, err);
	if (done == 0) {
		result->engine = engine->runtime;
		result->warm = engine->can & ENGINE_IS_WARM;
		engine->place_files(place, &files);
		if (engine->place_describe(place, result, &later) < 0 ||
		    (verdict->status != STATUS_ERROR && files.handles[REPORT_FD_OUTPUT] >= 0 &&
		     collect(files.handles, result, userdata, &later) < 0))
			result_fail(result, &later);
	}
	if (done == 0 && engine->can & ENGINE_CLOSES_LATE) {
		result->on_free = close_late;
		result->on_free_data = place;
	} else if (engine->place_close(place, &later) < 0 && done == 0) {
		result_fail(result, &later);
	}
	return done;
}

int engines_run(const struct engines *engines, const struct job *job, const struct engine_io *io, struct result *result,
		engine_collect *collect, void *userdata, struct error *err)
{
	int done = 1;

	for (size_t i = 0; i < engines->count && done == 1; i++)
		if (engine_may(engines->open[i].engine, job))
			done = run_in(engines, i, job, io, result, collect, userdata, err);
	return done == 1 ? error_set(err, ERROR_FAILED, 0, "no engine accepts this run") : done;
}

int engines_explain(const struct engines *engines, const struct job *job, struct buf *out, struct error *err)
{
	for (size_t i = 0; i < engines->count; i++)
		if (engines->open[i].engine->explain)
			return engines->open[i].engine->explain(engines->open[i].self, job, out, err);
	return error_set(err, ERROR_FAILED, 0, "no engine can explain this run");
}
