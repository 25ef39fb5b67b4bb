/*
 * An open connection: bytes go from one socket into a pipe and from there into the other (splice), and are not copied.
 *
 * What is in a pipe is all that egress holds of a connection: a receiver that does not read fills its socket and one
 * pipe, and then the sender waits. Pipes are few. One that is empty goes back to the pool at once, a box has a part of
 * them at most, and a connection that gets none copies by one buffer that all share: it looks at what has come
 * (MSG_PEEK), sends that, and drops as much as was taken (MSG_TRUNC).
 *
 * Before the box's bytes go on the first of them are looked at: a ClientHello has to name the host that was asked for,
 * also the second one that a server of TLS 1.3 may want.
 */
#include "base/own.h"
#include "daemon/egress/egress_parts.h"
#include "net/client_hello.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	PIPES_OF_BOX = 64,      /* of all */
	PIPES_KEPT = 4,         /* that are free */
	PIPE_BYTES = 512 << 10, /* that one is to hold */
	COPY_BYTES = 64 << 10,  /* of the buffer that connections without one share */
	RATE_TURN = 16 << 10,   /* bytes of a turn where a rate is to be shared */
	SERVER_LOOK = 128,      /* bytes of a server's first that are looked at */
};

/* What came of an attempt to move bytes. */
enum moved {
	MOVED_ALL,  /* until a socket has no more, or no room */
	MOVED_PART, /* the turn is over */
	MOVED_RATE, /* the rate is used up */
	MOVED_END,  /* the connection has ended */
};

/* Pipes */

static struct egress_pipe *pipe_take(struct egress *e, struct egress_box *box)
{
	struct egress_pipe *pipe = e->pipes;
	int ends[2];

	if (box->pipes >= PIPES_OF_BOX)
		return NULL;
	if (pipe) {
		e->pipes = pipe->next;
		e->pipes_free--;
	} else {
		pipe = e->pipe_count < e->pipes_max ? malloc(sizeof(*pipe)) : NULL;
		if (!pipe || pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
			free(pipe);
			return NULL;
		}
		/* What the kernel does not give is not needed. */
		fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES);
		*pipe = (struct egress_pipe){ .out = ends[0], .in = ends[1] };
		e->pipe_count++;
	}
	box->pipes++;
	return pipe;
}

static void pipe_close(struct egress *e, struct egress_pipe *pipe)
{
	close(pipe->in);
	close(pipe->out);
	free(pipe);
	e->pipe_count--;
}

/* One with bytes in it is no other's. */
static void pipe_give(struct egress *e, struct egress_box *box, struct egress_lane *way)
{
	struct egress_pipe *pipe = way->pipe;

	if (!pipe)
		return;
	way->pipe = NULL;
	box->pipes--;
	if (way->piped > 0 || e->pipes_free >= PIPES_KEPT) {
		pipe_close(e, pipe);
		return;
	}
	pipe->next = e->pipes;
	e->pipes = pipe;
	e->pipes_free++;
}

void egress_pipes_give(struct egress *e, struct egress_flow *flow)
{
	pipe_give(e, flow->turn.box, &flow->ways[EGRESS_UP]);
	pipe_give(e, flow->turn.box, &flow->ways[EGRESS_DOWN]);
}

/* The decision is made, and told, when the first bytes were let through. */
static void flow_judged(struct egress *e, struct egress_flow *flow)
{
	/* Of what is intercepted, each request is decided. */
	if (flow->number > 0 || flow->intercepted > 0)
		return;
	flow->allowed = true;
	flow->reason = NET_REASON_RULE;
	egress_report_flow(e, flow);
}

static void moved(struct egress *e, struct egress_flow *flow, enum egress_direction direction, size_t size)
{
	struct egress_box *box = flow->turn.box;

	flow->ways[direction].moved += size;
	flow->active_usec = e->now;
	if (direction == EGRESS_UP)
		box->sent += size;
	else
		box->received += size;
	flow_judged(e, flow);
}

/* How many bytes may be taken from a sender now. */
static size_t may_take(struct egress *e, struct egress_box *box, enum egress_direction direction, size_t most)
{
	const uint64_t level = egress_bucket_level(&box->buckets[direction], e->now);

	if (level != UINT64_MAX && most > RATE_TURN)
		most = RATE_TURN;
	if (most > level)
		most = (size_t)level;
	return most > box->left ? (size_t)box->left : most;
}

static void taken(struct egress_box *box, enum egress_direction direction, size_t size)
{
	egress_bucket_take(&box->buckets[direction], size);
	if (box->left != UINT64_MAX)
		box->left -= size;
}

/* True if a call failed because there is nothing now. */
static bool is_later(void)
{
	return errno == EAGAIN || errno == EINTR;
}

/* The total is used up: a sender that has ended is told apart from one that has more. */
static enum moved look_for_eof(struct egress *e, struct egress_flow *flow, enum egress_direction direction)
{
	struct egress_side *from = direction == EGRESS_UP ? &flow->box : &flow->world;
	char byte;
	const ssize_t got = recv(from->watch.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	if (got < 0 && is_later()) {
		from->readable = false;
		return MOVED_ALL;
	}
	if (got == 0)
		flow->ways[direction].eof = true;
	if (got > 0)
		egress_flow_end(e, flow, NET_REASON_TOTAL);
	return got == 0 ? MOVED_PART : MOVED_END;
}

static enum moved pass_eof(struct egress *e, struct egress_flow *flow, enum egress_direction direction)
{
	struct egress_lane *way = &flow->ways[direction];
	struct egress_side *to = direction == EGRESS_UP ? &flow->world : &flow->box;

	/* Before it closes the stream the interceptor says whether this is the end that the server meant. */
	if (direction == EGRESS_DOWN && flow->intercepted > 0 && !way->shut) {
		egress_intercept_read(e, flow->turn.box);
		if (!flow->ends)
			return MOVED_END;
	}
	if (!way->shut)
		shutdown(to->watch.fd, SHUT_WR);
	way->shut = true;
	return MOVED_ALL;
}

/* From the pipe on. */
static enum moved pipe_drain(struct egress *e, struct egress_flow *flow, enum egress_direction direction)
{
	struct egress_lane *way = &flow->ways[direction];
	struct egress_side *to = direction == EGRESS_UP ? &flow->world : &flow->box;

	while (way->piped > 0) {
		ssize_t size = splice(way->pipe->out, NULL, to->watch.fd, NULL, way->piped, SPLICE_F_NONBLOCK);

		if (size < 0 && is_later()) {
			to->writable = false;
			return MOVED_ALL;
		}
		if (size <= 0)
			return MOVED_END;
		way->piped -= (size_t)size;
		moved(e, flow, direction, (size_t)size);
	}
	return MOVED_PART;
}

/* Without a pipe. */
static enum moved copy_some(struct egress *e, struct egress_flow *flow, enum egress_direction direction, size_t most)
{
	static unsigned char shared[COPY_BYTES];
	struct egress_side *from = direction == EGRESS_UP ? &flow->box : &flow->world;
	struct egress_side *to = direction == EGRESS_UP ? &flow->world : &flow->box;
	ssize_t got =
		recv(from->watch.fd, shared, most < sizeof(shared) ? most : sizeof(shared), MSG_PEEK | MSG_DONTWAIT);
	ssize_t sent;

	if (got < 0 && is_later()) {
		from->readable = false;
		return MOVED_ALL;
	}
	if (got < 0)
		return MOVED_END;
	if (got == 0) {
		flow->ways[direction].eof = true;
		return MOVED_PART;
	}
	sent = send(to->watch.fd, shared, (size_t)got, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (sent < 0 && is_later()) {
		to->writable = false;
		return MOVED_ALL;
	}
	if (sent <= 0 || recv(from->watch.fd, NULL, (size_t)sent, MSG_TRUNC | MSG_DONTWAIT) != sent)
		return MOVED_END;
	taken(flow->turn.box, direction, (size_t)sent);
	moved(e, flow, direction, (size_t)sent);
	return MOVED_PART;
}

static enum moved pipe_fill(struct egress *e, struct egress_flow *flow, enum egress_direction direction, size_t most)
{
	struct egress_lane *way = &flow->ways[direction];
	struct egress_side *from = direction == EGRESS_UP ? &flow->box : &flow->world;
	ssize_t size;

	if (!way->pipe)
		way->pipe = pipe_take(e, flow->turn.box);
	if (!way->pipe)
		return copy_some(e, flow, direction, most);
	size = splice(from->watch.fd, NULL, way->pipe->in, NULL, most, SPLICE_F_NONBLOCK);
	if (size < 0 && is_later()) {
		from->readable = false;
		return MOVED_ALL;
	}
	if (size < 0)
		return MOVED_END;
	if (size == 0) {
		way->eof = true;
		return MOVED_PART;
	}
	taken(flow->turn.box, direction, (size_t)size);
	way->piped += (size_t)size;
	return MOVED_PART;
}

static enum moved pump(struct egress *e, struct egress_flow *flow, enum egress_direction direction)
{
	struct egress_lane *way = &flow->ways[direction];
	struct egress_side *from = direction == EGRESS_UP ? &flow->box : &flow->world;
	struct egress_side *to = direction == EGRESS_UP ? &flow->world : &flow->box;
	struct egress_box *box = flow->turn.box;
	const uint64_t before = way->moved;

	if (way->shut)
		return MOVED_ALL;
	for (;;) {
		enum moved done;
		size_t most;

		done = to->writable ? pipe_drain(e, flow, direction) : MOVED_ALL;
		if (way->piped > 0)
			return done;
		if (way->eof)
			return pass_eof(e, flow, direction);
		if (!from->readable || !to->writable)
			return MOVED_ALL;
		if (way->moved - before >= EGRESS_TURN)
			return MOVED_PART;
		most = may_take(e, box, direction, PIPE_BYTES);
		if (most == 0 && box->left > 0)
			return MOVED_RATE;
		done = most > 0 ? pipe_fill(e, flow, direction, most) : look_for_eof(e, flow, direction);
		if (done != MOVED_PART)
			return done;
	}
}

/* The look at TLS */

/* Takes what has come, up to what a hello may have. False: there is nothing now, or it ended. */
static bool hold_more(struct egress *e, struct egress_flow *flow)
{
	const size_t most = may_take(e, flow->turn.box, EGRESS_UP, CLIENT_HELLO_MOST);
	ssize_t got;

	if (most == 0 || flow->held_size >= flow->held_free + CLIENT_HELLO_MOST)
		return false;
	if (flow->held_room < flow->held_size + 1024) {
		unsigned char *more = realloc(flow->held, flow->held_size + 2048);

		if (!more)
			return false;
		flow->held = more;
		flow->held_room = flow->held_size + 2048;
	}
	got = recv(flow->box.watch.fd, flow->held + flow->held_size,
		   flow->held_room - flow->held_size < most ? flow->held_room - flow->held_size : most, MSG_DONTWAIT);
	if (got < 0 && is_later())
		flow->box.readable = false;
	else if (got <= 0)
		flow->ways[EGRESS_UP].eof = true;
	if (got <= 0)
		return false;
	flow->held_size += (size_t)got;
	taken(flow->turn.box, EGRESS_UP, (size_t)got);
	return true;
}

/* What the name in a hello means for the connection. */
static enum net_reason judge_hello(const struct egress_flow *flow, const struct client_hello *hello)
{
	const bool open = net_policy_is_public(&flow->turn.box->policy);

	/* An address was asked for, or this machine, whose services have any name. */
	if (!flow->name || (flow->decision.rule && flow->decision.rule->kind == NET_RULE_HOST))
		return NET_REASON_RULE;
	if (hello->has_name && strcmp(hello->name, flow->name->text) != 0)
		return NET_REASON_SNI;
	/* In an encrypted hello another name can stand, which the server goes by. */
	if (hello->ech && !open && !flow->decision.without_sni)
		return NET_REASON_SNI;
	if (!hello->has_name && !flow->decision.without_sni)
		return NET_REASON_NO_SNI;
	return NET_REASON_RULE;
}

static bool look_at_hello(struct egress *e, struct egress_flow *flow)
{
	struct client_hello hello = { 0 };
	const unsigned char *data = flow->held + flow->held_free;
	const size_t size = flow->held_size - flow->held_free;
	const enum client_hello_state state = flow->hello == HELLO_FIRST ? client_hello_read(data, size, &hello)
									 : client_hello_again(data, size, &hello);
	enum net_reason reason = NET_REASON_SNI;

	if (state == CLIENT_HELLO_MORE && !flow->ways[EGRESS_UP].eof)
		return true;
	if (state == CLIENT_HELLO_NOT_TLS || (state == CLIENT_HELLO_MORE && size == 0)) {
		flow->held_free = flow->held_size;
		/* Requests are to be seen, and only TLS has them here. */
		reason = flow->decision.terminate ? NET_REASON_REQUEST : NET_REASON_RULE;
		flow->hello = HELLO_DONE;
	} else if (state == CLIENT_HELLO_FOUND) {
		reason = judge_hello(flow, &hello);
		if (reason == NET_REASON_RULE && flow->decision.terminate)
			reason = NET_REASON_REQUEST;
		if (reason == NET_REASON_RULE && hello.has_name && flow->name)
			flow->level = NET_LEVEL_SNI;
		flow->held_free += hello.size;
		flow->hello = flow->hello == HELLO_FIRST ? HELLO_SERVER : HELLO_DONE;
	}
	if (reason != NET_REASON_RULE)
		egress_flow_end(e, flow, reason);
	return reason == NET_REASON_RULE;
}

/* Whether the server wants another hello. Its bytes stay where they are. */
static void look_at_server(struct egress_flow *flow)
{
	unsigned char data[SERVER_LOOK];
	const ssize_t got = recv(flow->world.watch.fd, data, sizeof(data), MSG_PEEK | MSG_DONTWAIT);

	if (got < 0 && is_later()) {
		flow->world.readable = false;
		return;
	}
	switch (got > 0 ? server_hello_read(data, (size_t)got) : SERVER_HELLO_OTHER) {
	case SERVER_HELLO_MORE:
		if (!flow->world.ended) {
			/* Another event comes with more. */
			flow->world.readable = false;
			break;
		}
		/* fall through */
	case SERVER_HELLO_OTHER:
		flow->hello = HELLO_DONE;
		flow->held_free = flow->held_size;
		break;
	case SERVER_HELLO_RETRY:
		flow->hello = HELLO_SECOND;
		break;
	}
}

/* True: what is held may go on as far as it is free. False: the connection has ended. */
static bool look(struct egress *e, struct egress_flow *flow)
{
	if (flow->hello == HELLO_SERVER && flow->world.readable)
		look_at_server(flow);
	while (flow->hello == HELLO_FIRST || flow->hello == HELLO_SECOND) {
		const bool more = flow->box.readable && hold_more(e, flow);

		if (flow->held_size > flow->held_free || flow->ways[EGRESS_UP].eof) {
			if (!look_at_hello(e, flow))
				return false;
		}
		if (!more)
			break;
	}
	return true;
}

static enum moved send_held(struct egress *e, struct egress_flow *flow)
{
	while (flow->held_sent < flow->held_free) {
		ssize_t sent = send(flow->world.watch.fd, flow->held + flow->held_sent,
				    flow->held_free - flow->held_sent, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent < 0 && is_later()) {
			flow->world.writable = false;
			return MOVED_ALL;
		}
		if (sent <= 0)
			return MOVED_END;
		flow->held_sent += (size_t)sent;
		moved(e, flow, EGRESS_UP, (size_t)sent);
	}
	if (flow->hello != HELLO_DONE)
		return MOVED_ALL;
	free(take_ptr(flow->held));
	flow->held_size = flow->held_room = flow->held_free = flow->held_sent = 0;
	return MOVED_PART;
}

static enum moved pump_up(struct egress *e, struct egress_flow *flow)
{
	if (flow->hello != HELLO_DONE && !look(e, flow))
		return MOVED_END;
	if (flow->held || flow->hello != HELLO_DONE) {
		const enum moved done = flow->world.writable ? send_held(e, flow) : MOVED_ALL;

		if (done != MOVED_PART) {
			/* A look that waits for the rate, or for more than there is left. */
			if (done == MOVED_ALL && flow->box.readable && flow->hello != HELLO_SERVER &&
			    may_take(e, flow->turn.box, EGRESS_UP, 1) == 0) {
				if (flow->turn.box->left > 0)
					return MOVED_RATE;
				egress_flow_end(e, flow, NET_REASON_TOTAL);
				return MOVED_END;
			}
			return done;
		}
	}
	return pump(e, flow, EGRESS_UP);
}

static enum moved pump_down(struct egress *e, struct egress_flow *flow)
{
	/* What the server says to a hello is looked at first. */
	if (flow->hello == HELLO_SERVER && !flow->ways[EGRESS_DOWN].eof)
		return MOVED_ALL;
	return pump(e, flow, EGRESS_DOWN);
}

/* Turns */

static void want_rate(struct egress *e, struct egress_flow *flow, enum egress_direction direction)
{
	struct egress_box *box = flow->turn.box;
	const uint64_t when = egress_bucket_next(&box->buckets[direction], e->now);

	if (!flow->wants)
		TAILQ_INSERT_TAIL(&box->wanting, flow, wanting);
	flow->wants = true;
	if (box->rate_timer.place == 0 || when < box->rate_timer.when_usec)
		egress_timer_set(e, &box->rate_timer, when);
}

void egress_rate_due(struct egress *e, struct egress_timer *timer)
{
	struct egress_box *box = (struct egress_box *)((char *)timer - offsetof(struct egress_box, rate_timer));
	struct egress_flow *flow;

	while ((flow = TAILQ_FIRST(&box->wanting))) {
		TAILQ_REMOVE(&box->wanting, flow, wanting);
		flow->wants = false;
		egress_queue(e, &flow->turn);
	}
}

bool egress_flow_turn(struct egress *e, struct egress_turn *turn)
{
	struct egress_flow *flow = (struct egress_flow *)((char *)turn - offsetof(struct egress_flow, turn));
	enum moved up, down;

	if (flow->state != FLOW_OPEN)
		return false;
	up = pump_up(e, flow);
	down = up == MOVED_END ? MOVED_END : pump_down(e, flow);
	if (up == MOVED_END || down == MOVED_END || flow->box.broken || flow->world.broken ||
	    (flow->ways[EGRESS_UP].shut && flow->ways[EGRESS_DOWN].shut)) {
		egress_flow_end(e, flow, NET_REASON_RULE);
		return false;
	}
	if (flow->ways[EGRESS_UP].piped == 0)
		pipe_give(e, turn->box, &flow->ways[EGRESS_UP]);
	if (flow->ways[EGRESS_DOWN].piped == 0)
		pipe_give(e, turn->box, &flow->ways[EGRESS_DOWN]);
	if (up == MOVED_RATE)
		want_rate(e, flow, EGRESS_UP);
	if (down == MOVED_RATE)
		want_rate(e, flow, EGRESS_DOWN);
	return up == MOVED_PART || down == MOVED_PART;
}

/* The box has ended: what it had sent before it closed its end still goes, as far as the network takes it at once. */
void egress_flow_finish(struct egress *e, struct egress_flow *flow)
{
	flow->box.readable = flow->world.writable = true;
	if (flow->state == FLOW_OPEN && pump_up(e, flow) != MOVED_END && flow->ways[EGRESS_UP].shut)
		flow->ways[EGRESS_DOWN].shut = true;
	egress_flow_end(e, flow, NET_REASON_RULE);
}
