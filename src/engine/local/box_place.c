#include "engine/local/box_place.h"

#include "base/own.h"
#include "engine/local/account.h"
#include "engine/local/beside.h"
#include "engine/local/supervise.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct box_place *box_place_of(const struct engine_place *place)
{
	return (struct box_place *)place;
}

static void close_account(struct box_place *place)
{
	if (place->account)
		account_close(place->account);
	free(place->account);
	place->account = NULL;
}

void box_place_free(struct box_place *place)
{
	close_account(place);
}

/* What supervise_box() calls while it watches a place that stays. */
struct staying {
	struct box_place *place;    /* which */
	const struct engine_io *io; /* the caller's */
};

/* The box's directories are there. Thousands of places may live: only what is asked for later stays open. */
static void on_started(void *userdata)
{
	const struct staying *staying = userdata;
	struct box *box = staying->place->box;
	struct account *account = box->plan->accounted ? calloc(1, sizeof(*account)) : NULL;
	struct error ignored;

	/* What a late report would be explained by is the spec's, which need not be there any more. */
	if (staying->place->own_plan)
		staying->place->own_plan->op_count = 0;
	if (account) {
		account->proc_fd = account->work_fd = account->segments_fd = -1;
		staying->place->account = account;
		if (account_open(box->handles[REPORT_FD_PROC], box->handles[REPORT_FD_WORK], account, &ignored) < 0)
			close_account(staying->place);
	}
	/* A group reports what this directory would, and everybody who enters it from outside is in. */
	if (box->group) {
		close_fd(&box->handles[REPORT_FD_PROC]);
		cgroup_entered(box->group);
	}
	if (staying->io->on_started)
		staying->io->on_started(staying->io->userdata);
}

int box_place_watch(struct engine_place *place, const struct job *job, const struct engine_io *io,
		    struct output outputs[2], struct verdict *verdict)
{
	struct staying staying = { .place = box_place_of(place), .io = io };
	const struct engine_io own = { .on_started = on_started,
				       .userdata = &staying,
				       .cancel_fd = io->cancel_fd,
				       .stdin_fd = -1,
				       .network = io->network };

	supervise_box(box_place_of(place)->box, job, job_stays(job) ? &own : io, outputs, verdict);
	return 0;
}

/* A box that was made ahead got its network later. */
static const char *layer_of(const struct box *box, const char *layer)
{
	static const char network[] = "network-namespace:";

	if (box->planted.dns_udp < 0 || strncmp(layer, network, sizeof(network) - 1) != 0)
		return layer;
	return "network-namespace: own, and what its rules allow through egress";
}

int box_place_describe(const struct engine_place *place, struct result *result, struct error *err)
{
	const struct box *box = box_place_of(place)->box;
	const struct plan *plan = box->plan;
	const char **layers = arena_alloc(&result->arena, (plan->layer_count + 1) * sizeof(char *));
	size_t count = 0;

	if (!box->group || box_place_of(place)->probe->cgroup.where[CGROUP_CPU] < 0)
		result->limits.cpus = 0;
	if (layers)
		layers[count++] = arena_printf(&result->arena, "user-namespace: uid %d is host uid %u%s", USERNS_INSIDE,
					       box->ids.uid, box->ids.own ? ", of this box alone" : ", the caller's");
	for (size_t i = 0; layers && i < plan->layer_count; i++)
		layers[count++] = arena_string(&result->arena, layer_of(box, plan->layers[i]));
	for (size_t i = 0; i < count; i++)
		if (!layers[i])
			count = 0;
	result->layers = layers;
	result->layer_count = count;
	return count > 0 ? 0 : error_set(err, ERROR_FAILED, ENOMEM, "cannot make the result");
}

const struct egress_sockets *box_place_sockets(const struct engine_place *place)
{
	return &box_place_of(place)->box->planted;
}

void box_place_files(const struct engine_place *place, struct engine_files *files)
{
	const struct box *box = box_place_of(place)->box;

	*files = (struct engine_files){
		.handles = box->handles, .own = box->ids.own, .uid = box->ids.uid, .gid = box->ids.gid
	};
}

void box_place_take_streams(struct engine_place *place, int *input, int output[2])
{
	struct box *box = box_place_of(place)->box;

	*input = take_fd(&box->input);
	output[0] = take_fd(&box->output[0]);
	output[1] = take_fd(&box->output[1]);
}

void box_place_usage(const struct engine_place *place, struct engine_usage *usage)
{
	const struct box_place *box_place = box_place_of(place);
	const struct box *box = box_place->box;
	struct account_usage account;
	struct cgroup_usage group;
	uint64_t tasks;

	if (box->group && cgroup_usage_aside(box->group, &group, NULL) == 0) {
		usage->cpu_usec = group.cpu_usec > box->cpu_usec ? group.cpu_usec - box->cpu_usec : 0;
		usage->memory = group.memory_now;
		usage->memory_peak = group.memory_peak;
		usage->oom_kills = group.oom_kills;
		if (cgroup_tasks_now(box->group, &tasks) == 0)
			usage->pids = tasks;
	} else if (box_place->account && account_sample(box_place->account, &account) == 0) {
		usage->cpu_usec = account.cpu_usec;
		usage->memory = account.memory_now;
		usage->memory_peak = account.memory_peak;
		usage->pids = account.threads;
	}
}

int box_place_room(const struct engine_place *place, uint64_t memory, uint64_t *room, int *group)
{
	const struct box_place *box_place = box_place_of(place);
	struct account_usage usage;

	*group = -1;
	*room = memory;
	if (box_place->box->group) {
		*group = cgroup_charge_fd(box_place->box->group);
		return *group < 0 ? -1 : cgroup_memory_room(box_place->box->group, memory, room);
	}
	if (!box_place->account)
		return 0;
	if (account_sample(box_place->account, &usage) < 0)
		return -1;
	*room = usage.memory_now < memory ? memory - usage.memory_now : 0;
	return 0;
}

int box_place_exec(const struct engine_place *place, const struct engine_exec *what, struct engine_execution *execution,
		   struct error *err)
{
	const struct box *box = box_place_of(place)->box;
	int done = beside_start(box, what, execution, err);

	if (box->group)
		cgroup_entered(box->group);
	return done;
}
