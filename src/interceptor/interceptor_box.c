#include "interceptor/interceptor_box.h"

#include "base/clock.h"
#include "base/own.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	EVENTS_MOST = 64,
	EGRESS_MSEC = 2000, /* for egress to read what it is told */
};

/* ---- what epoll is asked for ---- */

void watch_set(struct intercept_box *box, struct box_watch *watch, uint32_t events, bool watched)
{
	struct epoll_event event = { .events = events, .data.ptr = watch };

	if (watch->fd < 0 || (watch->watched == watched && (!watched || watch->events == events)))
		return;
	epoll_ctl(box->epoll,
		  !watched         ? EPOLL_CTL_DEL
		  : watch->watched ? EPOLL_CTL_MOD
				   : EPOLL_CTL_ADD,
		  watch->fd, &event);
	watch->watched = watched;
	watch->events = events;
}

/* ---- what egress is told ---- */

void event_send(struct intercept_box *box, const struct box_flow *flow, enum intercept_kind kind,
		const struct relay_verdict *verdict)
{
	struct intercept_event event = { .kind = kind,
					 .flow = flow->number,
					 .lost = box->lost,
					 .allowed = verdict->allowed,
					 .reason = (uint8_t)verdict->reason };

	snprintf(event.method, sizeof(event.method), "%s", verdict->method);
	snprintf(event.path, sizeof(event.path), "%s", verdict->path);
	snprintf(event.rule, sizeof(event.rule), "%s", verdict->rule ? verdict->rule->text : "");
	/* Egress reads at once, and waits for nothing of ours. */
	while (send(box->channel.fd, &event, sizeof(event), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
		struct pollfd room = { .fd = box->channel.fd, .events = POLLOUT };

		if (errno != EINTR && (errno != EAGAIN || poll(&room, 1, EGRESS_MSEC) <= 0)) {
			box->lost++;
			return;
		}
	}
	box->lost = 0;
}

/* ---- what egress says ---- */

/* A message and its descriptors. */
struct box_message {
	union {
		uint32_t kind;
		struct intercept_policy policy;
		struct intercept_flow flow;
		char bytes[sizeof(struct intercept_policy) + NET_POLICY_TEXT + NET_SECRETS_TEXT];
	} content;
	size_t size;
	int fds[2];
	size_t count;
};

static void message_close(struct box_message *message)
{
	while (message->count > 0)
		close(message->fds[--message->count]);
}

static int policy_take(struct intercept_box *box, const struct box_message *message)
{
	const struct intercept_policy *head = &message->content.policy;
	const char *text = message->content.bytes + sizeof(*head);
	struct arena arena = { 0 };
	struct net_policy policy;
	struct error err;

	if (message->count != 0 || message->size < sizeof(*head) || head->policy_size > NET_POLICY_TEXT ||
	    head->secrets_size > NET_SECRETS_TEXT ||
	    message->size != sizeof(*head) + head->policy_size + head->secrets_size ||
	    (box->has_policy && head->secrets_size > 0))
		return -1;
	if (net_policy_read(text, head->policy_size, &arena, &policy, &err) < 0) {
		arena_free(&arena);
		return -1;
	}
	arena_free(&box->arena);
	box->arena = arena;
	box->policy = policy;
	if (box->has_policy)
		return 0;
	box->has_policy = true;
	return net_secrets_read(text + head->policy_size, head->secrets_size, &box->secret_arena, &box->secrets, &err);
}

static int flow_take(struct intercept_box *box, struct box_message *message)
{
	const struct intercept_flow *flow = &message->content.flow;
	struct box_arrival *arrival;

	if (!box->has_policy || message->count != 2 || message->size != sizeof(*flow) ||
	    !memchr(flow->name, '\0', sizeof(flow->name)) || flow->name[0] == '\0' || flow->without_sni > 1)
		return -1;
	arrival = calloc(1, sizeof(*arrival));
	if (!arrival)
		return -1;
	message->count = 0;
	arrival->message = *flow;
	arrival->stream = message->fds[0];
	arrival->world = message->fds[1];
	STAILQ_INSERT_TAIL(&box->arrivals, arrival, link);
	return 0;
}

/* 1: one was read; 0: there is none; -1: the channel has ended. */
static int message_read(int channel, struct box_message *message)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int) * 2)];
	} control;
	struct iovec part = { message->content.bytes, sizeof(message->content.bytes) };
	struct msghdr head = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof(control.room)
	};
	const ssize_t size = recvmsg(channel, &head, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	message->count = 0;
	if (size < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	for (struct cmsghdr *one = CMSG_FIRSTHDR(&head); one; one = CMSG_NXTHDR(&head, one)) {
		if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_RIGHTS)
			continue;
		message->count = (one->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(message->fds, CMSG_DATA(one), message->count * sizeof(int));
	}
	message->size = (size_t)size;
	if (size >= (ssize_t)sizeof(message->content.kind) && !(head.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return 1;
	message_close(message);
	return -1;
}

/* -1: what it says cannot be. */
static int message_take(struct intercept_box *box, struct box_message *message)
{
	int done = -1;

	if (message->content.kind == INTERCEPT_POLICY) {
		done = policy_take(box, message);
		/* The values stay in one place. */
		explicit_bzero(&message->content, message->size);
	} else if (message->content.kind == INTERCEPT_FLOW) {
		done = flow_take(box, message);
	}
	message_close(message);
	return done;
}

void channel_read(struct intercept_box *box)
{
	static struct box_message message;

	while (!box->ended) {
		const int got = message_read(box->channel.fd, &message);

		if (got == 0)
			return;
		box->ended = got < 0 || message_take(box, &message) < 0;
	}
}

/* ---- the loop ---- */

/* Milliseconds until the first time is over; -1: there is none. */
static int times_look(struct intercept_box *box)
{
	uint64_t first = UINT64_MAX;
	struct box_flow *flow, *next;

	for (flow = LIST_FIRST(&box->flows); flow; flow = next) {
		next = LIST_NEXT(flow, link);
		if (flow->until_usec == 0)
			continue;
		if (flow->until_usec <= box->now)
			flow_late(box, flow);
		else if (flow->until_usec < first)
			first = flow->until_usec;
	}
	if (box->again)
		return 0;
	return first == UINT64_MAX ? -1 : (int)((first - box->now) / 1000 + 1);
}

static void flows_again(struct intercept_box *box)
{
	struct box_flow *flow, *next;

	box->again = false;
	for (flow = LIST_FIRST(&box->flows); flow; flow = next) {
		next = LIST_NEXT(flow, link);
		if (flow->again)
			flow_work(box, flow);
	}
}

static void dead_free(struct intercept_box *box)
{
	struct box_flow *flow;

	while ((flow = LIST_FIRST(&box->dead))) {
		LIST_REMOVE(flow, link);
		flow_free(flow);
	}
}

static void arrivals_begin(struct intercept_box *box)
{
	struct box_arrival *arrival;

	while ((arrival = STAILQ_FIRST(&box->arrivals))) {
		STAILQ_REMOVE_HEAD(&box->arrivals, link);
		flow_begin(box, &arrival->message, arrival->stream, arrival->world);
		free(arrival);
	}
}

static void events_take(struct intercept_box *box, const struct epoll_event *events, int count)
{
	for (int i = 0; i < count; i++) {
		struct box_watch *watch = events[i].data.ptr;
		struct box_flow *flow = watch->flow;

		if (!flow) {
			channel_read(box);
		} else if (flow->stage == STAGE_DEAD) {
			continue;
		} else if (watch == &flow->box_watch && (events[i].events & (EPOLLHUP | EPOLLERR))) {
			flow_gone(box, flow);
		} else {
			flow_work(box, flow);
		}
	}
}

int intercept_box_run(int channel, struct error *err)
{
	struct intercept_box *box = calloc(1, sizeof(*box));
	struct epoll_event events[EVENTS_MOST];
	int count = 0;

	if (!box)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot serve a box");
	box->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (box->epoll < 0)
		return error_errno(err, "cannot serve a box");
	LIST_INIT(&box->flows);
	LIST_INIT(&box->dead);
	STAILQ_INIT(&box->arrivals);
	box->channel.fd = channel;
	watch_set(box, &box->channel, EPOLLIN, true);
	for (;;) {
		box->now = clock_usec();
		events_take(box, events, count);
		flows_again(box);
		arrivals_begin(box);
		if (box->ended)
			return 0;
		const int wait = times_look(box);

		dead_free(box);
		count = epoll_wait(box->epoll, events, EVENTS_MOST, wait);
		if (count < 0 && errno != EINTR)
			return error_errno(err, "cannot wait for sockets");
		if (count < 0)
			count = 0;
	}
}
