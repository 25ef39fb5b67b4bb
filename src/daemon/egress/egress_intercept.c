/*
 * Connections whose requests are looked at: egress connects, and hands the server's socket to the interceptor of the
 * box (intercept/intercept_wire.h), which gives it a stream in its place. From then on it is a connection like others:
 * bytes go between the box's socket and the stream, and the limits and counts are those of all.
 *
 * A box has a channel to its interceptor as long as its policy needs one. An interceptor that ends takes its
 * connections with it, and its box gets no other: the secrets were given to that one alone.
 */
#include "base/own.h"
#include "daemon/egress/egress_parts.h"
#include "intercept/intercept_wire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static bool policy_terminates(const struct net_policy *policy)
{
	for (size_t i = 0; i < policy->list_count; i++)
		for (size_t j = 0; j < policy->lists[i].count; j++)
			if (policy->lists[i].rules[j].terminate)
				return true;
	return false;
}

bool egress_intercepts(const struct egress_flow *flow)
{
	return flow->name &&
	       (flow->decision.terminate || net_secrets_cover(&flow->turn.box->secrets, flow->name->text, flow->port));
}

/* One message, whole. */
static int message_send(int socket, const struct iovec *parts, size_t count, const int *fds, size_t fd_count)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int) * 2)];
	} control = { 0 };
	struct msghdr message = { .msg_iov = (struct iovec *)parts, .msg_iovlen = count };

	if (fd_count > 0) {
		message.msg_control = control.room;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
		memcpy(CMSG_DATA(&control.header), fds, sizeof(int) * fd_count);
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -1 : 0;
}

/* ---- the channel ---- */

void egress_intercept_close(struct egress *e, struct egress_box *box)
{
	egress_watch_end(e, &box->channel);
	close_fd(&box->channel_end);
	if (box->channel_waits)
		TAILQ_REMOVE(&e->channels, box, channel_next);
	box->channel_waits = false;
}

/* The channel's other end to the interceptors; when the main socket has no room, later. */
static void channel_offer(struct egress *e, struct egress_box *box)
{
	if (message_send(e->intercept.fd, &(struct iovec){ (void *)"b", 1 }, 1, &box->channel_end, 1) == 0) {
		close_fd(&box->channel_end);
	} else if (errno == EAGAIN || errno == ETOOMANYREFS) {
		box->channel_waits = true;
		TAILQ_INSERT_TAIL(&e->channels, box, channel_next);
	} else {
		egress_intercept_close(e, box);
	}
}

void egress_intercept_ready(struct egress *e, struct egress_watch *watch, uint32_t events)
{
	struct egress_box *box;

	if (events & (EPOLLHUP | EPOLLERR)) {
		egress_watch_end(e, watch);
		return;
	}
	while ((box = TAILQ_FIRST(&e->channels))) {
		TAILQ_REMOVE(&e->channels, box, channel_next);
		box->channel_waits = false;
		channel_offer(e, box);
		if (box->channel_waits)
			return;
	}
}

/* A request was decided. */
static void request_take(struct egress *e, struct egress_flow *flow, const struct intercept_event *event)
{
	char request[NET_REQUEST_MAX];

	snprintf(request, sizeof(request), "%.31s %.220s", event->method, event->path);
	flow->told = true;
	if (!event->allowed) {
		egress_report_request(e, flow, (enum net_reason)event->reason, event->rule, request);
	} else if (flow->number == 0) {
		flow->level = NET_LEVEL_REQUEST;
		flow->allowed = true;
		flow->reason = NET_REASON_RULE;
		flow->rule = strdup(event->rule);
		egress_report_flow(e, flow);
	}
}

static void event_take(struct egress *e, struct egress_box *box, struct intercept_event *event)
{
	struct egress_flow *flow;

	box->lost += event->lost;
	event->method[sizeof(event->method) - 1] = event->path[sizeof(event->path) - 1] = '\0';
	event->rule[sizeof(event->rule) - 1] = '\0';
	if (event->reason >= NET_REASONS || (event->allowed && event->reason != NET_REASON_RULE))
		return;
	LIST_FOREACH(flow, &box->flows, link)
	if (flow->intercepted == event->flow)
		break;
	if (!flow)
		return;
	if (event->kind == INTERCEPT_REQUEST) {
		request_take(e, flow, event);
	} else if (event->kind == INTERCEPT_ENDED && event->allowed) {
		flow->ends = true;
	} else if (event->kind == INTERCEPT_ENDED) {
		/* What it sent before is still in the stream. */
		flow->breaks = true;
		flow->breaks_reason = event->reason;
		egress_queue(e, &flow->turn);
	}
}

void egress_intercept_read(struct egress *e, struct egress_box *box)
{
	struct intercept_event event;

	while (box->channel.fd >= 0) {
		const ssize_t size = recv(box->channel.fd, &event, sizeof(event), MSG_DONTWAIT);

		if (size < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (size == (ssize_t)sizeof(event))
			event_take(e, box, &event);
		else
			egress_intercept_close(e, box);
	}
}

static void channel_ready(struct egress *e, struct egress_watch *watch, uint32_t events)
{
	struct egress_box *box = (struct egress_box *)((char *)watch - offsetof(struct egress_box, channel));

	egress_intercept_read(e, box);
}

static int policy_send(struct egress_box *box, const char *policy, size_t policy_size, const char *secrets,
		       size_t secrets_size)
{
	struct intercept_policy head = { .kind = INTERCEPT_POLICY,
					 .policy_size = (uint32_t)policy_size,
					 .secrets_size = (uint32_t)secrets_size };
	struct iovec parts[] = { { &head, sizeof(head) },
				 { (void *)policy, policy_size },
				 { (void *)secrets, secrets_size } };

	return message_send(box->channel.fd, parts, 3, NULL, 0);
}

/* Another policy, or the first one. What cannot be told has no interceptor from now on: its connections are refused. */
void egress_intercept_policy(struct egress *e, struct egress_box *box, const char *policy, size_t policy_size,
			     const char *secrets, size_t secrets_size)
{
	int ends[2];

	if (box->channel_made) {
		if (box->channel.fd >= 0 && policy_send(box, policy, policy_size, "", 0) < 0)
			egress_intercept_close(e, box);
		return;
	}
	if (!policy_terminates(&box->policy) && secrets_size == 0)
		return;
	box->channel_made = true;
	if (e->intercept.fd < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
		return;
	box->channel = (struct egress_watch){ ends[0], channel_ready };
	box->channel_end = ends[1];
	if (egress_watch_add(e, &box->channel, EPOLLIN | EPOLLRDHUP | EPOLLET) < 0 ||
	    policy_send(box, policy, policy_size, secrets, secrets_size) < 0)
		egress_intercept_close(e, box);
	else
		channel_offer(e, box);
}

/* ---- a connection ---- */

int egress_intercept_flow(struct egress *e, struct egress_flow *flow)
{
	struct egress_box *box = flow->turn.box;
	struct intercept_flow message = { .kind = INTERCEPT_FLOW,
					  .port = flow->port,
					  .without_sni = flow->decision.without_sni };
	_cleanup_close_ int ours = -1, theirs = -1;
	int ends[2], done;

	if (box->channel.fd < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
		return -1;
	ours = ends[0];
	theirs = ends[1];
	if (++box->intercepted == 0)
		++box->intercepted;
	message.flow = box->intercepted;
	snprintf(message.name, sizeof(message.name), "%s", flow->name->text);
	done = message_send(box->channel.fd, &(struct iovec){ &message, sizeof(message) }, 1,
			    (const int[]){ theirs, flow->world.watch.fd }, 2);
	if (done < 0)
		return -1;
	egress_watch_end(e, &flow->world.watch);
	flow->world = (struct egress_side){ .watch = { take_fd(&ours), egress_side_ready }, .flow = flow };
	flow->intercepted = message.flow;
	flow->hello = HELLO_DONE;
	return egress_watch_add(e, &flow->world.watch, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
}
