/*
 * A connection of a box, from its acceptance until it is open, and its end.
 *
 * The kernel has accepted it in the box's network before egress hears of it: connect() has succeeded there. So whatever
 * is refused afterwards is a reset (ECONNRESET when the program reads or writes).
 *
 * Each socket is closed with a reset (SO_LINGER 0) unless both sides had ended their streams: whatever ends a
 * connection in the middle, the end of this process among it, looks like that to both.
 */
#include "base/own.h"
#include "daemon/egress/egress_parts.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
	ACCEPT_A_TURN = 8,
	AGAIN_USEC = 100000, /* without a descriptor for a connection: the next look */
	BUFFER_RATE =
		8 << 20, /* up to this rate a socket's buffers are bounded; from there the kernel finds the size */
	BUFFER_SIZE = 128 << 10, /* bytes, which the kernel doubles */
};

/* Ending */

static void side_end(struct egress *e, struct egress_side *side, bool orderly)
{
	const struct linger wait = { .l_onoff = 0 };

	if (orderly && side->watch.fd >= 0)
		setsockopt(side->watch.fd, SOL_SOCKET, SO_LINGER, &wait, sizeof(wait));
	egress_watch_end(e, &side->watch);
}

static bool is_refusal(enum net_reason reason)
{
	return reason == NET_REASON_SNI || reason == NET_REASON_NO_SNI || reason == NET_REASON_REQUEST ||
	       reason == NET_REASON_HTTP;
}

void egress_flow_end(struct egress *e, struct egress_flow *flow, enum net_reason reason)
{
	struct egress_box *box = flow->turn.box;
	const bool orderly = flow->state == FLOW_OPEN && flow->ways[EGRESS_UP].shut && flow->ways[EGRESS_DOWN].shut;

	if (flow->state == FLOW_DEAD)
		return;
	/* Why the interceptor has closed the stream. */
	if (flow->intercepted > 0 && reason == NET_REASON_RULE)
		egress_intercept_read(e, box);
	if (flow->breaks && reason == NET_REASON_RULE)
		reason = (enum net_reason)flow->breaks_reason;
	flow->state = FLOW_DEAD;
	if (flow->number == 0) {
		flow->allowed = reason == NET_REASON_RULE;
	} else if (flow->allowed && is_refusal(reason)) {
		/* The server spoke first, and what the box said then is refused. */
		flow->allowed = false;
		box->allowed--;
		box->refused++;
	}
	flow->reason = (uint8_t)reason;
	side_end(e, &flow->box, orderly);
	side_end(e, &flow->world, orderly);
	egress_timer_end(e, &flow->timer);
	egress_waiter_end(&flow->waiter);
	egress_unqueue(&flow->turn);
	if (flow->wants)
		TAILQ_REMOVE(&box->wanting, flow, wanting);
	flow->wants = false;
	egress_pipes_give(e, flow);
	free(take_ptr(flow->held));
	LIST_REMOVE(flow, link);
	LIST_INSERT_HEAD(&e->dead_flows, flow, link);
	box->flow_count--;
	e->flow_count--;
	/* Of what was intercepted, refused requests are all that there is to tell, if none was allowed. */
	if (flow->number > 0 || !flow->told || !flow->allowed)
		egress_report_flow(e, flow);
	free(take_ptr(flow->rule));
}

static void flow_late(struct egress *e, struct egress_timer *timer)
{
	struct egress_flow *flow = (struct egress_flow *)((char *)timer - offsetof(struct egress_flow, timer));

	if (flow->state == FLOW_RESOLVING) {
		egress_flow_end(e, flow, flow->proxy ? NET_REASON_UNREACHABLE : NET_REASON_UNRESOLVED);
	} else if (flow->proxy == PROXY_ASKED) {
		egress_flow_end(e, flow, NET_REASON_UNREACHABLE);
	} else if (flow->state == FLOW_CONNECTING) {
		egress_connect_next(e, flow);
	} else if (e->now >= flow->active_usec + EGRESS_IDLE_USEC) {
		egress_flow_end(e, flow, NET_REASON_RULE);
	} else {
		egress_timer_set(e, &flow->timer, flow->active_usec + EGRESS_IDLE_USEC);
	}
}

/* Connecting */

static void flow_open(struct egress *e, struct egress_flow *flow)
{
	flow->state = FLOW_OPEN;
	flow->active_usec = e->now;
	if (egress_intercepts(flow) && egress_intercept_flow(e, flow) < 0) {
		/* Nobody is there who could look at its requests. */
		egress_flow_end(e, flow, NET_REASON_UNREACHABLE);
		return;
	}
	egress_timer_set(e, &flow->timer, e->now + EGRESS_IDLE_USEC);
	egress_queue(e, &flow->turn);
}

/* Both sides' sockets; while connecting, what it says of the world's is whether that was done. */
void egress_side_ready(struct egress *e, struct egress_watch *watch, uint32_t events)
{
	struct egress_side *side = (struct egress_side *)((char *)watch - offsetof(struct egress_side, watch));
	struct egress_flow *flow = side->flow;
	int error = 0;
	socklen_t size = sizeof(error);

	if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		side->readable = true;
	if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
		side->writable = true;
	if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		side->ended = true;
	if (flow->proxy == PROXY_ASKED && side == &flow->world) {
		if (side->readable && egress_proxy_answered(e, flow))
			flow_open(e, flow);
		return;
	}
	if (flow->state == FLOW_CONNECTING && side == &flow->world) {
		if (getsockopt(watch->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 || error != 0)
			egress_connect_next(e, flow);
		else if (!(events & EPOLLOUT))
			return;
		else if (flow->proxy == PROXY_CONNECTS)
			egress_proxy_ask(e, flow);
		else
			flow_open(e, flow);
		return;
	}
	if (events & EPOLLERR)
		side->broken = true;
	/* A box that resets need not wait for what it asked for. Bytes that come before a connection wait in the
	 * socket. */
	if (flow->state == FLOW_OPEN)
		egress_queue(e, &flow->turn);
	else if (events & (EPOLLERR | EPOLLHUP))
		egress_flow_end(e, flow, NET_REASON_RULE);
}

static void socket_prepare(const struct egress_box *box, int fd)
{
	const uint64_t rate = box->policy.rate;
	const int buffer = BUFFER_SIZE;
	const struct linger reset = { .l_onoff = 1, .l_linger = 0 };
	const int one = 1;

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (rate > 0 && rate < BUFFER_RATE) {
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
	}
}

static int connect_one(struct egress *e, struct egress_flow *flow, const struct net_address *address)
{
	struct sockaddr_storage to;
	const socklen_t size = net_address_to(address, flow->proxy ? e->proxy->port : flow->port, &to);

	flow->world =
		(struct egress_side){ .watch = { socket(address->family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
						 egress_side_ready },
				      .flow = flow };
	if (flow->world.watch.fd < 0)
		return -1;
	socket_prepare(flow->turn.box, flow->world.watch.fd);
	if ((connect(flow->world.watch.fd, (struct sockaddr *)&to, size) == 0 || errno == EINPROGRESS) &&
	    egress_watch_add(e, &flow->world.watch, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET) == 0)
		return 0;
	close_fd(&flow->world.watch.fd);
	return -1;
}

/* The addresses in their order, each for a bounded time. */
void egress_connect_next(struct egress *e, struct egress_flow *flow)
{
	if (flow->state == FLOW_CONNECTING) {
		egress_watch_end(e, &flow->world.watch);
		flow->at++;
	}
	flow->state = FLOW_CONNECTING;
	for (; flow->at < flow->count && e->now < flow->deadline_usec; flow->at++) {
		uint64_t until = flow->deadline_usec;

		if (connect_one(e, flow, &flow->addresses[flow->at]) < 0)
			continue;
		if (flow->at + 1 < flow->count && e->now + EGRESS_ATTEMPT_USEC < until)
			until = e->now + EGRESS_ATTEMPT_USEC;
		egress_timer_set(e, &flow->timer, until);
		return;
	}
	egress_flow_end(e, flow, NET_REASON_UNREACHABLE);
}

/* What no rule opens by allowing a name. What a rule opens by naming an address, the policy has decided. */
static bool may_connect(const struct egress *e, const struct egress_flow *flow, const struct net_address *address,
			enum net_reason *reason)
{
	const struct egress_box *box = flow->turn.box;
	const enum net_scope scope = net_address_scope(address);
	const bool is_private = scope == NET_SCOPE_PRIVATE || scope == NET_SCOPE_SHARED;
	const struct net_rule *rule = flow->decision.rule;
	bool fits = scope == NET_SCOPE_GLOBAL;

	if (flow->name && flow->decision.private_too)
		fits = fits || is_private;
	if (!flow->name && rule && rule->kind == NET_RULE_ADDRESS)
		fits = scope != NET_SCOPE_UNSPECIFIED && scope != NET_SCOPE_MULTICAST;
	/* The request's own rule opens it, and another list does not: a further rule would not help. */
	*reason = flow->name && is_private && rule && rule->private_too ? NET_REASON_NARROWED : NET_REASON_SCOPE;
	if (!fits)
		return false;
	/* Its services, that of emberbox among them, trust who comes from the machine itself. */
	*reason = NET_REASON_OWN_ADDRESS;
	if (egress_route_is_own(e->route, address) == 0)
		return true;
	return !flow->name && box->policy.host_allowed;
}

static void flow_connect(struct egress *e, struct egress_flow *flow)
{
	enum net_reason reason;

	for (size_t i = 0; i < flow->count; i++) {
		if (may_connect(e, flow, &flow->addresses[i], &reason))
			continue;
		/* One bad address is enough: what the name leads to would change with which of them answers. */
		flow->at = i;
		egress_flow_end(e, flow, reason);
		return;
	}
	if (egress_proxy_takes(e, flow->name ? flow->name->text : NULL, &flow->asked, flow->port)) {
		egress_proxy_connect(e, flow, &flow->addresses[0]);
		return;
	}
	flow->at = 0;
	flow->deadline_usec = e->now + EGRESS_CONNECT_USEC;
	egress_connect_next(e, flow);
}

static void flow_resolved(struct egress *e, struct egress_waiter *waiter, struct egress_name *name)
{
	struct egress_flow *flow = (struct egress_flow *)((char *)waiter - offsetof(struct egress_flow, waiter));

	if (name->found != EGRESS_FOUND) {
		egress_flow_end(e, flow, NET_REASON_UNRESOLVED);
		return;
	}
	memcpy(flow->addresses, name->addresses, sizeof(flow->addresses));
	flow->count = name->count;
	flow_connect(e, flow);
}

/* The machine itself, which is the one place where no address is asked about. */
static void flow_connect_host(struct egress *e, struct egress_flow *flow)
{
	net_address_parse("127.0.0.1", &flow->addresses[0]);
	net_address_parse("::1", &flow->addresses[1]);
	flow->count = 2;
	flow->deadline_usec = e->now + EGRESS_CONNECT_USEC;
	egress_connect_next(e, flow);
}

/* Accepting */

/* Where the program wanted to go is what the accepted socket calls its own. */
static bool asked_for(int fd, struct net_address *address, uint16_t *port)
{
	struct sockaddr_storage to = { 0 };
	socklen_t size = sizeof(to);

	return getsockname(fd, (struct sockaddr *)&to, &size) == 0 &&
	       net_address_from((struct sockaddr *)&to, address, port);
}

static void flow_ask(const struct egress_flow *flow, struct net_decision *decision)
{
	const struct net_policy *policy = &flow->turn.box->policy;
	struct net_question question = { .port = flow->port };

	*decision = (struct net_decision){ .reason = NET_REASON_NO_RULE };
	if (flow->name)
		question.name = flow->name->text;
	else if (!egress_is_synthetic(&flow->asked))
		question.address = &flow->asked;
	else
		return;
	net_policy_decide(policy, &question, decision);
}

static bool is_host(const struct egress_flow *flow)
{
	return flow->name && strcmp(flow->name->text, "host") == 0;
}

static void flow_begin(struct egress *e, struct egress_flow *flow)
{
	struct egress_box *box = flow->turn.box;
	const struct net_policy *policy = &box->policy;

	flow_ask(flow, &flow->decision);
	if (!flow->decision.allowed) {
		egress_flow_end(e, flow, flow->decision.reason);
	} else if (box->left == 0) {
		egress_flow_end(e, flow, NET_REASON_TOTAL);
	} else if (box->flow_count > policy->connections || e->flow_count > e->flows_max ||
		   (policy->connections_total > 0 && box->flows_made >= policy->connections_total)) {
		egress_flow_end(e, flow, NET_REASON_CONNECTIONS);
	} else {
		box->flows_made++;
		egress_timer_set(e, &flow->timer, e->now + EGRESS_RESOLVE_USEC);
		if (is_host(flow)) {
			flow_connect_host(e, flow);
		} else if (flow->name && flow->decision.rule->kind != NET_RULE_PUBLIC &&
			   egress_proxy_takes(e, flow->name->text, NULL, flow->port)) {
			egress_proxy_connect(e, flow, NULL);
		} else if (flow->name) {
			if (!egress_resolve(e, box, flow->name, &flow->waiter))
				egress_flow_end(e, flow, NET_REASON_QUERIES);
		} else {
			flow->addresses[flow->count++] = flow->asked;
			flow_connect(e, flow);
		}
	}
}

/* Takes the descriptor. */
static void flow_make(struct egress *e, struct egress_box *box, int fd)
{
	struct egress_flow *flow = calloc(1, sizeof(*flow));

	socket_prepare(box, fd);
	if (!flow) {
		close(fd);
		return;
	}
	*flow = (struct egress_flow){ .turn = { .box = box, .take = egress_flow_turn },
				      .box = { .watch = { fd, egress_side_ready }, .flow = flow },
				      .world = { .watch.fd = -1, .flow = flow },
				      .timer.fire = flow_late,
				      .waiter.resolved = flow_resolved,
				      .start_usec = e->now,
				      .level = NET_LEVEL_NAME };
	LIST_INSERT_HEAD(&box->flows, flow, link);
	box->flow_count++;
	e->flow_count++;
	if (!asked_for(fd, &flow->asked, &flow->port) ||
	    egress_watch_add(e, &flow->box.watch, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET) < 0) {
		egress_flow_end(e, flow, NET_REASON_NO_RULE);
		return;
	}
	flow->name = egress_name_at(box, &flow->asked);
	flow_begin(e, flow);
}

/* Descriptors are short: those of refused connections come back soon. */
void egress_accept_again(struct egress *e, struct egress_timer *timer)
{
	struct egress_listener *listener;
	struct egress_box *box;

	(void)timer;
	LIST_FOREACH(box, &e->boxes, link)
	LIST_FOREACH(listener, &box->listeners, link)
	egress_queue(e, &listener->turn);
}

bool egress_accept(struct egress *e, struct egress_turn *turn)
{
	struct egress_listener *listener =
		(struct egress_listener *)((char *)turn - offsetof(struct egress_listener, turn));

	for (int i = 0; i < ACCEPT_A_TURN; i++) {
		int fd = accept4(listener->watch.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0)
			flow_make(e, turn->box, fd);
		else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			egress_timer_set(e, &e->retry, e->now + AGAIN_USEC);
		if (turn->box->dead || (fd < 0 && errno != ECONNABORTED && errno != EINTR && errno != EPROTO))
			return false;
	}
	return true;
}

/* Under another policy: what it does not allow ends. */
void egress_flow_review(struct egress *e, struct egress_flow *flow)
{
	struct net_decision decision;

	flow_ask(flow, &decision);
	if (!decision.allowed || (decision.terminate != flow->decision.terminate && flow->intercepted == 0) ||
	    (flow->decision.private_too && !decision.private_too) ||
	    (flow->decision.without_sni && !decision.without_sni)) {
		egress_flow_end(e, flow, decision.allowed ? NET_REASON_NARROWED : decision.reason);
		return;
	}
	flow->decision = decision;
}
