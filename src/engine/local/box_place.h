/*
 * A place that is a box: what both of our engines do with one.
 *
 * An engine embeds a struct box_place at the beginning of its own place, sets its fields, and has these functions in
 * its struct engine. place_open() and place_close() are its own.
 */
#pragma once

#include "engine/engine.h"
#include "engine/local/launch.h"
#include "kernel/probe.h"

struct account;

struct box_place {
	struct engine_place place; /* first */
	const struct probe *probe; /* of the host */
	struct box *box;           /* itself */
	struct plan *own_plan;     /* the box's, if no other is made from it; or NULL */
	struct account *account;   /* of one that stays and has no group; box_place_free() frees it. NULL: none */
};

/* Before the engine frees the place. */
void box_place_free(struct box_place *place);

/* As in struct engine. */
int box_place_watch(struct engine_place *place, const struct job *job, const struct engine_io *io,
		    struct output outputs[2], struct verdict *verdict);
int box_place_describe(const struct engine_place *place, struct result *result, struct error *err);
const struct egress_sockets *box_place_sockets(const struct engine_place *place);
void box_place_files(const struct engine_place *place, struct engine_files *files);
void box_place_take_streams(struct engine_place *place, int *input, int output[2]);
void box_place_usage(const struct engine_place *place, struct engine_usage *usage);
int box_place_room(const struct engine_place *place, uint64_t memory, uint64_t *room, int *group);
int box_place_exec(const struct engine_place *place, const struct engine_exec *what, struct engine_execution *execution,
		   struct error *err);
