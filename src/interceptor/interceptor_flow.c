/* A connection: its first byte, the handshakes, and then its bytes through the relay. */
#include "interceptor/interceptor_box.h"

#include "base/own.h"
#include "http/header_text.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	READ_MOST = 16 << 10,      /* bytes of a read: a record of TLS */
	ROUNDS = 16,               /* reads and writes of a connection before others have their turn */
	LINGER_MOST = 1 << 20,     /* bytes of a program that are thrown away behind the last answer */
	LINGER_USEC = 2000000,     /* and for how long */
	HANDSHAKE_USEC = 15000000, /* both handshakes together */
};

/* ---- the relay's questions ---- */

/* The relay's owner is the flow; there is one box in this process. */
static struct intercept_box *the_box;

static void relay_decide(void *owner, const char *method, const char *path, struct net_decision *decision)
{
	const struct box_flow *flow = owner;
	const struct net_question question = {
		.name = flow->name, .port = flow->relay.target.port, .method = method, .path = path
	};

	*decision = (struct net_decision){ .reason = NET_REASON_NARROWED };
	channel_read(the_box);
	if (!the_box->ended)
		net_policy_decide(&the_box->policy, &question, decision);
}

static void relay_tell(void *owner, const struct relay_verdict *verdict)
{
	event_send(the_box, owner, INTERCEPT_REQUEST, verdict);
}

/* ---- the end ---- */

void flow_end(struct intercept_box *box, struct box_flow *flow)
{
	if (flow->stage == STAGE_DEAD)
		return;
	flow->stage = STAGE_DEAD;
	watch_set(box, &flow->box_watch, 0, false);
	watch_set(box, &flow->world_watch, 0, false);
	tls_side_close(&flow->box);
	tls_side_close(&flow->world);
	LIST_REMOVE(flow, link);
	LIST_INSERT_HEAD(&box->dead, flow, link);
}

void flow_free(struct box_flow *flow)
{
	if (flow->relaying)
		http_relay_free(&flow->relay);
	buf_free(&flow->box_in);
	buf_free(&flow->world_in);
	free(flow);
}

/* Egress resets the box's connection: a program must not take this end for one of the server's. */
static void flow_break(struct intercept_box *box, struct box_flow *flow, enum net_reason reason)
{
	const struct relay_verdict verdict = { false, reason, NULL, "", "" };

	event_send(box, flow, INTERCEPT_ENDED, &verdict);
	flow_end(box, flow);
}

/* ---- the beginning ---- */

void flow_begin(struct intercept_box *box, const struct intercept_flow *message, int stream, int world)
{
	static const struct relay_calls calls = { relay_decide, relay_tell };
	struct box_flow *flow = calloc(1, sizeof(*flow));
	const int one = 1;

	if (!flow) {
		close(stream);
		close(world);
		return;
	}
	the_box = box;
	fcntl(stream, F_SETFL, O_RDWR | O_NONBLOCK);
	fcntl(world, F_SETFL, O_RDWR | O_NONBLOCK);
	setsockopt(world, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	flow->number = message->flow;
	flow->without_sni = message->without_sni;
	snprintf(flow->name, sizeof(flow->name), "%s", message->name);
	flow->box = (struct tls_side){ .fd = stream };
	flow->world = (struct tls_side){ .fd = world };
	flow->box_watch = (struct box_watch){ stream, 0, false, flow };
	flow->world_watch = (struct box_watch){ world, 0, false, flow };
	LIST_INSERT_HEAD(&box->flows, flow, link);
	http_relay_init(&flow->relay, &calls, flow,
			&(struct secret_target){ &box->secrets, flow->name, message->port, true });
	flow->relaying = true;
	if (flow->relay.failed)
		flow_break(box, flow, NET_REASON_HTTP);
	else
		flow_work(box, flow);
}

/* The program speaks first, in TLS as in HTTP. */
static void first_look(struct intercept_box *box, struct box_flow *flow)
{
	unsigned char first;
	const ssize_t got = recv(flow->box.fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		flow_end(box, flow);
	} else if (first == 22) {
		flow->stage = STAGE_SHAKE;
		flow->until_usec = box->now + HANDSHAKE_USEC;
		if (tls_side_accept(&flow->box, flow->name, flow->without_sni) < 0)
			flow_break(box, flow, NET_REASON_HTTP);
	} else if (flow->relay.target.port == 80 && http_is_token((char)first)) {
		/* Rules for requests on port 80: the same without TLS, and without secrets. */
		flow->relay.target.tls = false;
		flow->box_shaken = flow->world_begun = flow->world_shaken = true;
		flow->stage = STAGE_OPEN;
	} else {
		flow_break(box, flow, NET_REASON_HTTP);
	}
}

static enum net_reason reason_of_fault(enum tls_fault fault)
{
	switch (fault) {
	case TLS_FAULT_NAME:
		return NET_REASON_SNI;
	case TLS_FAULT_NO_NAME:
		return NET_REASON_NO_SNI;
	default:
		return NET_REASON_HTTP;
	}
}

static void server_failed(struct box_flow *flow)
{
	char why[256], sentence[SECRET_SENTENCE];
	const enum tls_fault fault = tls_side_fault(&flow->world, why, sizeof(why));
	const bool certificate = fault == TLS_FAULT_CERTIFICATE;

	if (certificate)
		snprintf(sentence, sizeof(sentence), "The certificate of %.253s:%u is not valid: %s.", flow->name,
			 flow->relay.target.port, why);
	else
		snprintf(sentence, sizeof(sentence), "The TLS handshake with %.253s:%u failed: %s.", flow->name,
			 flow->relay.target.port, why);
	http_relay_world_failed(&flow->relay, certificate ? NET_REASON_CERTIFICATE : NET_REASON_UNREACHABLE, sentence);
	flow->world_shaken = true;
}

/* The server's begins when the program's hello has named it. */
static void shake(struct intercept_box *box, struct box_flow *flow)
{
	char why[256];

	if (!flow->box_shaken) {
		switch (tls_side_shake(&flow->box)) {
		case TLS_DONE:
			flow->box_shaken = true;
			break;
		case TLS_FAILED:
			/* A program that does not trust the authority has been told by its own TLS. */
			if (tls_side_is_named(&flow->box) &&
			    tls_side_fault(&flow->box, why, sizeof(why)) == TLS_FAULT_PROTOCOL)
				flow_break(box, flow, NET_REASON_RULE);
			else
				flow_break(box, flow, reason_of_fault(tls_side_fault(&flow->box, why, sizeof(why))));
			return;
		default:
			break;
		}
	}
	if (!flow->world_begun && tls_side_is_named(&flow->box)) {
		flow->world_begun = true;
		if (tls_side_connect(&flow->world, flow->name) < 0)
			server_failed(flow);
	}
	if (flow->world_begun && !flow->world_shaken) {
		switch (tls_side_shake(&flow->world)) {
		case TLS_DONE:
			flow->world_shaken = true;
			break;
		case TLS_FAILED:
			server_failed(flow);
			break;
		default:
			break;
		}
	}
	if (flow->box_shaken && flow->world_shaken) {
		flow->stage = STAGE_OPEN;
		flow->until_usec = 0;
	}
}

/* ---- open ---- */

typedef size_t take_bytes(struct http_relay *relay, const char *data, size_t size);

/* What was read before goes first. True: something moved. */
static bool give_pending(struct http_relay *relay, struct buf *in, take_bytes *take)
{
	const size_t used = in->size > 0 ? take(relay, in->data, in->size) : 0;

	if (used == 0)
		return false;
	memmove(in->data, in->data + used, in->size - used);
	in->size -= used;
	if (in->size == 0)
		buf_free(in);
	return true;
}

/* True: something moved. */
static bool read_side(struct box_flow *flow, struct tls_side *side, struct buf *in, take_bytes *take)
{
	static char data[READ_MOST];
	bool moved = give_pending(&flow->relay, in, take);
	ssize_t got;
	size_t used;

	if (in->size > 0 || side->ended || side->fd < 0)
		return moved;
	got = tls_side_read(side, data, sizeof(data));
	if (got < 0 && errno == EAGAIN)
		return moved;
	if (got < 0)
		side->ended = true;
	if (got <= 0) {
		if (side == &flow->box)
			http_relay_box_ended(&flow->relay);
		else
			http_relay_world_ended(&flow->relay, side->clean);
		return true;
	}
	used = take(&flow->relay, data, (size_t)got);
	if (used < (size_t)got)
		buf_add(in, data + used, (size_t)got - used);
	flow->relay.failed |= in->failed;
	return true;
}

/* True: something moved; a side that is broken is ended. */
static bool write_side(struct box_flow *flow, struct tls_side *side, struct relay_queue *queue)
{
	ssize_t sent;

	if (relay_queue_left(queue) == 0 || side->fd < 0)
		return false;
	sent = tls_side_write(side, relay_queue_data(queue), relay_queue_left(queue));
	if (sent < 0 && errno == EAGAIN)
		return false;
	if (sent > 0) {
		relay_queue_take(queue, (size_t)sent);
		return true;
	}
	relay_queue_take(queue, relay_queue_left(queue));
	if (side == &flow->box) {
		relay_break(&flow->relay);
	} else {
		/* What the server has answered before may still come. */
		flow->relay.world_over = true;
	}
	return true;
}

static void flow_linger(struct intercept_box *box, struct box_flow *flow)
{
	char data[4096];
	ssize_t got;

	while ((got = tls_side_read(&flow->box, data, sizeof(data))) > 0)
		if ((flow->lingered += (size_t)got) > LINGER_MOST)
			break;
	if (got >= 0 || errno != EAGAIN)
		flow_end(box, flow);
}

/* Says to each side that nothing more comes, once all is sent. */
static void finish_sides(struct intercept_box *box, struct box_flow *flow)
{
	struct http_relay *relay = &flow->relay;

	if (relay->failed || (relay->broken && relay_queue_left(&relay->to_box) == 0)) {
		flow_break(box, flow, NET_REASON_RULE);
		return;
	}
	if (relay->world_over && relay_queue_left(&relay->to_world) == 0 && !flow->world_finished)
		flow->world_finished = tls_side_finish(&flow->world);
	if (!relay->box_over || relay_queue_left(&relay->to_box) > 0)
		return;
	/* Before the stream ends: egress passes no end on that was not announced. */
	if (!flow->announced)
		event_send(box, flow, INTERCEPT_ENDED, &(struct relay_verdict){ true, NET_REASON_RULE, NULL, "", "" });
	flow->announced = true;
	flow->box_finished = tls_side_finish(&flow->box);
	if (!flow->box_finished)
		return;
	watch_set(box, &flow->world_watch, 0, false);
	tls_side_close(&flow->world);
	flow->stage = STAGE_LINGER;
	flow->until_usec = box->now + LINGER_USEC;
}

/* Whether the relay would take bytes of this side now. */
static bool wants_box(const struct box_flow *flow)
{
	const struct http_relay *relay = &flow->relay;

	return flow->box_in.size == 0 && !flow->box.ended && relay_queue_left(&relay->to_world) < RELAY_QUEUE &&
	       relay_queue_left(&relay->to_box) < RELAY_QUEUE && (relay->request != PART_DONE || relay->box_over);
}

static bool wants_world(const struct box_flow *flow)
{
	const struct http_relay *relay = &flow->relay;

	return flow->world_in.size == 0 && !flow->world.ended && flow->world.fd >= 0 && !relay->world_failed &&
	       relay_queue_left(&relay->to_box) < RELAY_QUEUE;
}

/* False: something is left to be done at once. */
static bool flow_relay(struct box_flow *flow)
{
	struct http_relay *relay = &flow->relay;

	for (int i = 0; i < ROUNDS; i++) {
		bool moved = write_side(flow, &flow->box, &relay->to_box);

		if (!relay->world_failed)
			moved |= write_side(flow, &flow->world, &relay->to_world);
		if (wants_world(flow) || flow->world_in.size > 0)
			moved |= read_side(flow, &flow->world, &flow->world_in, http_relay_from_world);
		if (wants_box(flow) || flow->box_in.size > 0)
			moved |= read_side(flow, &flow->box, &flow->box_in, http_relay_from_box);
		if (!moved || relay->failed)
			return true;
	}
	return false;
}

/* What to wait for. The box's side is always watched: that it is gone is told without being asked for. */
static void watch_flow(struct intercept_box *box, struct box_flow *flow)
{
	const struct http_relay *relay = &flow->relay;
	uint32_t of_box = 0, of_world = 0;

	switch (flow->stage) {
	case STAGE_FIRST:
	case STAGE_LINGER:
		of_box = EPOLLIN;
		break;
	case STAGE_SHAKE:
		if (!flow->box_shaken)
			of_box = flow->box.wants_write ? EPOLLOUT : EPOLLIN;
		if (flow->world_begun && !flow->world_shaken)
			of_world = flow->world.wants_write ? EPOLLOUT : EPOLLIN;
		break;
	case STAGE_OPEN:
		if (wants_box(flow))
			of_box |= EPOLLIN;
		if (wants_world(flow))
			of_world |= EPOLLIN;
		if (relay_queue_left(&relay->to_box) > 0 || (relay->box_over && !flow->box_finished))
			of_box |= EPOLLOUT;
		if (relay_queue_left(&relay->to_world) > 0 || (relay->world_over && !flow->world_finished))
			of_world |= EPOLLOUT;
		break;
	default:
		return;
	}
	watch_set(box, &flow->box_watch, of_box, true);
	watch_set(box, &flow->world_watch, of_world, of_world != 0);
}

void flow_work(struct intercept_box *box, struct box_flow *flow)
{
	flow->again = false;
	if (flow->stage == STAGE_FIRST)
		first_look(box, flow);
	if (flow->stage == STAGE_SHAKE)
		shake(box, flow);
	if (flow->stage == STAGE_OPEN) {
		flow->again = !flow_relay(flow);
		finish_sides(box, flow);
	}
	if (flow->stage == STAGE_LINGER)
		flow_linger(box, flow);
	if (flow->stage != STAGE_DEAD)
		watch_flow(box, flow);
	box->again |= flow->stage == STAGE_OPEN && flow->again;
}

/* The stream is closed: egress has ended the connection. What the program sent before still goes. */
void flow_gone(struct intercept_box *box, struct box_flow *flow)
{
	if (flow->stage == STAGE_OPEN)
		flow_work(box, flow);
	flow_end(box, flow);
}

void flow_late(struct intercept_box *box, struct box_flow *flow)
{
	char sentence[SECRET_SENTENCE];

	flow->until_usec = 0;
	if (flow->stage != STAGE_SHAKE || !flow->box_shaken) {
		flow_end(box, flow);
		return;
	}
	snprintf(sentence, sizeof(sentence), "%.253s:%u did not answer the TLS handshake in time.", flow->name,
		 flow->relay.target.port);
	http_relay_world_failed(&flow->relay, NET_REASON_UNREACHABLE, sentence);
	flow->world_shaken = true;
	flow_work(box, flow);
}
