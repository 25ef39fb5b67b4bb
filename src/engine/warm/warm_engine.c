#include "engine/warm/warm_engine.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "engine/local/box_place.h"
#include "engine/warm/ember_order.h"
#include "engine/warm/pool.h"
#include "kernel/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int warm_open(const struct engine_options *options, void **self, struct error *err)
{
	struct pool *pool;

	/* A process that executes one run has no use for boxes made ahead. */
	if (!options)
		return 1;
	if (pool_open(options, &pool, err) < 0)
		return -1;
	*self = pool;
	return 0;
}

static void warm_close(void *self)
{
	pool_close(self);
}

static void warm_reload(void *self)
{
	pool_reload(self);
}

static void warm_stats(void *self, struct engine_stats *stats)
{
	pool_stats(self, stats);
}

/* /sandbox is the root of a mount of the work tmpfs. An ordinary user may not resize it; the box's memory bounds writes
 * from outside then. */
static int shrink_disk(const struct box *box, uint64_t size)
{
	_cleanup_close_ int sandbox = openat(box->handles[REPORT_FD_OUTPUT], "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return sandbox < 0 ? -1 : mount_resize(sandbox, size + plan_cores_room(box->plan));
}

/* Programs learn the number of processors from a file of the box, and from the listener of its filter. */
static int set_cores(const struct ember *ember, unsigned cores)
{
	_cleanup_close_ int file = openat(ember->box.handles[REPORT_FD_OUTPUT], "../../" PLAN_CORES_FILE,
					  O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_arena_ struct arena arena = { 0 };
	const char *text = plan_cores_text(cores, &arena);

	if (file < 0 || !text || ftruncate(file, 0) < 0 || fd_write(file, text, strlen(text)) < 0)
		return -1;
	return stem_bound(ember, cores);
}

/* Gives the box the job's limits. A limit below its current memory is refused; then the run gets a box of its own. */
static int set_limits(const struct ember *ember, const struct job *job, struct error *err)
{
	const struct box *box = &ember->box;
	const unsigned cores = plan_cores(box->plan, &job->limits);
	const struct cgroup_limits before = launch_group_limits(box->plan->limits),
				   limits = launch_group_limits(&job->limits);

	if (job->limits.disk < box->plan->limits->disk && shrink_disk(box, job->limits.disk) < 0 &&
	    !job->disk_by_memory)
		return error_errno(err, "cannot make the box's disk smaller");
	if (cores != box->plan->cores && set_cores(ember, cores) < 0)
		return error_errno(err, "cannot set the number of processors of the box");
	return box->group ? cgroup_change(box->group, &before, &limits, err) : 0;
}

static int plant_network(struct held *held, const struct job *job, struct error *err)
{
	return job->plant ? stem_plant(&held->ember, job->plant, &held->ember.box.planted, err) : 0;
}

static int send_order(struct held *held, const struct job *job, struct error *err)
{
	struct box *box = &held->ember.box;

	launch_say_buffered(box, job);
	/* Set before the order: the woken ember may run to its end on our processor. */
	box->ordered_usec = clock_usec();
	return order_send(box->control, job, held->ember.kind == ZYGOTE_FORK, box->plan, err);
}

/* The reason why an ember was unusable does not matter: another engine makes a box. */
static int place_open(void *self, const struct job *job, struct engine_place **out, struct error *err)
{
	struct held *held;
	struct error ignored = { 0 };

	/* The containers' agent belongs to no language. */
	if (job->agent || job->trust)
		return 1;
	held = pool_take(self, job);
	if (!held) {
		pool_count(self, false);
		return 1;
	}
	held->common =
		(struct box_place){ .place.engine = &warm_engine, .probe = pool_probe(self), .box = &held->ember.box };
	/* A session's driver lets others enter its box later. */
	if ((job->session && stem_lend(&held->ember) < 0) || plant_network(held, job, &ignored) < 0 ||
	    set_limits(&held->ember, job, &ignored) < 0 || send_order(held, job, &ignored) < 0) {
		pool_reject(held, false);
		pool_return(held);
		return 1;
	}
	pool_count(self, true);
	*out = &held->common.place;
	return 0;
}

static int place_watch(struct engine_place *place, const struct job *job, const struct engine_io *io,
		       struct output outputs[2], struct verdict *verdict)
{
	box_place_watch(place, job, io, outputs, verdict);
	if (verdict->status != STATUS_ERROR || verdict->started_usec)
		return 0;
	pool_reject((struct held *)place, true);
	return 1;
}

static int place_close(struct engine_place *place, struct error *err)
{
	struct held *held = (struct held *)place;

	box_place_free(&held->common);
	pool_return(held);
	return 0;
}

static int place_plant(const struct engine_place *place, int inside, const struct net_plant *plant,
		       struct egress_sockets *sockets, struct error *err)
{
	return stem_plant(&((const struct held *)place)->ember, plant, sockets, err);
}

const struct engine warm_engine = {
	.runtime = "local",
	.choice = ENGINE_LOCAL,
	.can = ENGINE_IS_WARM | ENGINE_CLOSES_LATE,
	.open = warm_open,
	.close = warm_close,
	.reload = warm_reload,
	.stats = warm_stats,
	.place_open = place_open,
	.place_watch = place_watch,
	.place_describe = box_place_describe,
	.place_files = box_place_files,
	.place_sockets = box_place_sockets,
	.place_close = place_close,
	.place_take_streams = box_place_take_streams,
	.place_usage = box_place_usage,
	.place_room = box_place_room,
	.place_exec = box_place_exec,
	.place_plant = place_plant,
};
