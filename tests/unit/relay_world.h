/* A relay with a policy and secrets, for tests: what goes in and what comes out as texts. */
#pragma once

#include "../check.h"
#include "net_pool.h"

#include "base/own.h"
#include "intercept/http_relay.h"

static struct {
	struct arena arena;
	struct net_policy policy;
	struct net_secrets secrets;
	struct http_relay relay;
	size_t step; /* bytes that are given at once */
	/* What was told last */
	unsigned told, told_allowed;
	enum net_reason reason;
	char method[64], path[512], rule[NET_RULE_MAX];
	struct buf to_world, to_box; /* taken out of the relay */
	bool open;
} world_;

static void world_decide(void *owner, const char *method, const char *path, struct net_decision *decision)
{
	const struct net_question question = {
		.name = world_.relay.target.name, .port = world_.relay.target.port, .method = method, .path = path
	};

	net_policy_decide(&world_.policy, &question, decision);
}

static void world_tell(void *owner, const struct relay_verdict *verdict)
{
	world_.told++;
	world_.told_allowed += verdict->allowed;
	world_.reason = verdict->reason;
	snprintf(world_.method, sizeof(world_.method), "%s", verdict->method);
	snprintf(world_.path, sizeof(world_.path), "%s", verdict->path);
	snprintf(world_.rule, sizeof(world_.rule), "%s", verdict->rule ? verdict->rule->text : "");
}

static void world_close(void)
{
	if (world_.open)
		http_relay_free(&world_.relay);
	buf_free(&world_.to_world);
	buf_free(&world_.to_box);
	arena_free(&world_.arena);
	world_.open = false;
}

/* A new connection to api.example.com, port 443 with TLS or 80 without; secrets are added before. */
static void world_connect(const char *list, bool tls)
{
	static const struct relay_calls calls = { world_decide, world_tell };

	if (world_.open)
		http_relay_free(&world_.relay);
	world_.open = true;
	make_policy(LISTS(list), &world_.arena, &world_.policy);
	world_.told = world_.told_allowed = 0;
	world_.reason = NET_REASONS;
	world_.to_world.size = world_.to_box.size = 0;
	http_relay_init(&world_.relay, &calls, NULL,
			&(struct secret_target){ &world_.secrets, "api.example.com", tls ? 443 : 80, tls });
}

static void world_open(const char *list, bool tls)
{
	world_close();
	memset(&world_.secrets, 0, sizeof(world_.secrets));
	world_connect(list, tls);
}

static void queue_drain(struct relay_queue *queue, struct buf *to)
{
	buf_add(to, queue->buf.data ? relay_queue_data(queue) : "", relay_queue_left(queue));
	if (relay_queue_left(queue) > 0)
		relay_queue_take(queue, relay_queue_left(queue));
}

/* Gives all of it, `step` bytes at a time in an allocation of their own size; what is not taken is lost. How many were
 * taken. */
static size_t world_give(size_t (*take)(struct http_relay *relay, const char *data, size_t size), const char *data,
			 size_t size)
{
	size_t used = 0;

	while (used < size) {
		size_t n = size - used < world_.step ? size - used : world_.step, taken;
		char *piece = malloc(n);

		memcpy(piece, data + used, n);
		taken = take(&world_.relay, piece, n);
		free(piece);
		queue_drain(&world_.relay.to_world, &world_.to_world);
		queue_drain(&world_.relay.to_box, &world_.to_box);
		CHECK(taken <= n);
		used += taken;
		if (taken < n)
			break;
	}
	CHECK(!world_.relay.failed);
	return used;
}

static size_t box_sends(const char *text)
{
	return world_give(http_relay_from_box, text, strlen(text));
}

static size_t server_sends(const char *text)
{
	return world_give(http_relay_from_world, text, strlen(text));
}

static const char *text_of(struct buf *buf)
{
	static char copies[4][1 << 17];
	static unsigned which;
	char *copy = copies[which++ % 4];

	snprintf(copy, sizeof(copies[0]), "%.*s", (int)buf->size, buf->data ? buf->data : "");
	buf->size = 0;
	return copy;
}

/* What they got since they were asked last. */
static const char *server_got(void)
{
	return text_of(&world_.to_world);
}

static const char *box_got(void)
{
	return text_of(&world_.to_box);
}

#define EACH_STEP for (const size_t *step_ = (const size_t[]){ 1 << 20, 1, 7, 0 }; (world_.step = *step_) != 0; step_++)
