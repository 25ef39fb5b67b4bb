/* A box's network at egress, from the message that opens it until the egress socket ends. */
#include "base/own.h"
#include "daemon/egress/egress_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	REPORTS_ROOM = 128 << 10 /* bytes of the socket for reports; the kernel doubles them */
};

/* Messages */

struct packet {
	struct egress_head head;
	char text[NET_POLICY_TEXT + NET_SECRETS_TEXT];
};

struct letter {
	struct packet *packet;
	int fds[EGRESS_FDS_MAX];
	size_t count;
};

static void letter_close(struct letter *letter)
{
	while (letter->count > 0)
		close(letter->fds[--letter->count]);
}

/* One message, whole: 1; 0: it cannot be taken, and its descriptors are closed; -1 with errno, EPIPE at the end. */
static int letter_read(int socket, struct letter *letter)
{
	/* There is one thread, and a message is gone before the next. */
	static struct packet packet;
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int) * EGRESS_FDS_MAX)];
	} control;
	struct iovec part = { &packet, sizeof(packet) };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof(control.room)
	};
	ssize_t size = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	letter->packet = &packet;
	letter->count = 0;
	if (size < 0)
		return -1;
	for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
			continue;
		letter->count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(letter->fds, CMSG_DATA(header), letter->count * sizeof(int));
	}
	if (size == 0) {
		letter_close(letter);
		errno = EPIPE;
		return -1;
	}
	if (!(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) && size >= (ssize_t)sizeof(packet.head) &&
	    packet.head.size <= NET_POLICY_TEXT && packet.head.secrets <= NET_SECRETS_TEXT &&
	    packet.head.size + packet.head.secrets == (size_t)size - sizeof(packet.head) &&
	    packet.head.listeners <= EGRESS_LISTENERS_MAX)
		return 1;
	letter_close(letter);
	return 0;
}

static bool is_socket(int fd, int type, bool listens)
{
	int domain = 0, got = 0, accepts = 0;
	socklen_t size = sizeof(int);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
	       getsockopt(fd, SOL_SOCKET, SO_TYPE, &got, &size) == 0 &&
	       getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &size) == 0 &&
	       (domain == AF_INET || domain == AF_INET6) && got == type && !!accepts == listens &&
	       fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) == 0;
}

static bool is_egress_socket(int fd)
{
	int domain = 0, type = 0;
	socklen_t size = sizeof(int);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
	       getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && domain == AF_UNIX && type == SOCK_SEQPACKET;
}

/* Listeners */

static void listener_ready(struct egress *e, struct egress_watch *watch, uint32_t events)
{
	struct egress_listener *listener =
		(struct egress_listener *)((char *)watch - offsetof(struct egress_listener, watch));

	egress_queue(e, &listener->turn);
}

/* Takes the descriptor. */
static int listener_add(struct egress *e, struct egress_box *box, int fd)
{
	struct egress_listener *listener = is_socket(fd, SOCK_STREAM, true) ? calloc(1, sizeof(*listener)) : NULL;

	if (!listener) {
		close(fd);
		return -1;
	}
	*listener = (struct egress_listener){ .turn = { .box = box, .take = egress_accept },
					      .watch = { fd, listener_ready } };
	LIST_INSERT_HEAD(&box->listeners, listener, link);
	return egress_watch_add(e, &listener->watch, EPOLLIN | EPOLLET);
}

/* Takes them all. */
static int listeners_add(struct egress *e, struct egress_box *box, const int *fds, size_t count)
{
	int done = 0;

	for (size_t i = 0; i < count; i++)
		if (listener_add(e, box, fds[i]) < 0)
			done = -1;
	return done;
}

/* The policy */

/* The values go on to the interceptor, and no further. */
static int secrets_take(struct egress_box *box, const struct packet *packet)
{
	struct error err;
	const int done = net_secrets_read(packet->text + packet->head.size, packet->head.secrets, &box->secret_arena,
					  &box->secrets, &err);

	net_secrets_wipe(&box->secrets);
	return done;
}

static int policy_take(struct egress *e, struct egress_box *box, const struct packet *packet)
{
	struct arena arena = { 0 };
	struct net_policy policy;
	struct error err;

	if (net_policy_read(packet->text, packet->head.size, &arena, &policy, &err) < 0) {
		arena_free(&arena);
		return -1;
	}
	/* Decisions of before name rules that are in the arena of before. */
	if (box->arena.blocks) {
		struct egress_flow *flow = LIST_FIRST(&box->flows), *next;
		struct net_policy before = box->policy;
		struct arena old = box->arena;

		box->policy = policy;
		box->arena = arena;
		for (; flow; flow = next) {
			next = LIST_NEXT(flow, link);
			egress_flow_review(e, flow);
		}
		arena_free(&old);
		/* What was used stays used. */
		if (policy.total != before.total) {
			const uint64_t used = box->sent + box->received;

			box->left = policy.total == 0 ? UINT64_MAX : policy.total > used ? policy.total - used : 0;
		}
	} else {
		box->policy = policy;
		box->arena = arena;
		box->left = policy.total > 0 ? policy.total : UINT64_MAX;
	}
	egress_intercept_policy(e, box, packet->text, packet->head.size, packet->text + packet->head.size,
				packet->head.secrets);
	for (int i = 0; i < 2; i++)
		egress_bucket_open(&box->buckets[i], policy.rate, egress_bucket_size(policy.rate), e->now);
	return 0;
}

/* Ending */

void egress_box_end(struct egress *e, struct egress_box *box)
{
	struct egress_listener *listener;

	if (box->dead)
		return;
	while (!LIST_EMPTY(&box->flows))
		egress_flow_end(e, LIST_FIRST(&box->flows), NET_REASON_RULE);
	LIST_FOREACH(listener, &box->listeners, link)
	egress_watch_end(e, &listener->watch);
	egress_intercept_close(e, box);
	egress_names_close(e, box);
	egress_timer_end(e, &box->rate_timer);
	egress_watch_end(e, &box->socket);
	egress_box_unqueue(e, box);
	box->dead = true;
	LIST_REMOVE(box, link);
	LIST_INSERT_HEAD(&e->dead_boxes, box, link);
}

void egress_box_free(struct egress_box *box)
{
	struct egress_listener *listener;

	while ((listener = LIST_FIRST(&box->listeners))) {
		LIST_REMOVE(listener, link);
		free(listener);
	}
	egress_names_free(box);
	arena_free(&box->secret_arena);
	arena_free(&box->arena);
	buf_free(&box->reports);
	free(box);
}

/* The end of the box: what it has is ended and told, and then nothing is left but to say so. */
static void box_finish(struct egress *e, struct egress_box *box)
{
	struct egress_listener *listener;

	LIST_FOREACH(listener, &box->listeners, link)
	egress_watch_end(e, &listener->watch);
	egress_intercept_read(e, box);
	while (!LIST_EMPTY(&box->flows))
		egress_flow_finish(e, LIST_FIRST(&box->flows));
	box->finishing = true;
	egress_report_totals(e, box);
}

/* Takes the message's descriptors. */
static void box_change(struct egress *e, struct egress_box *box, struct letter *letter)
{
	const struct egress_head *head = &letter->packet->head;
	const size_t count = letter->count;

	if (head->kind == EGRESS_FINISH && count == 0 && head->size == 0 && head->secrets == 0 &&
	    head->listeners == 0) {
		box_finish(e, box);
		return;
	}
	letter->count = 0;
	if (head->kind != EGRESS_POLICY || count != head->listeners || head->secrets > 0 || box->finishing) {
		letter->count = count;
		letter_close(letter);
		egress_box_end(e, box);
	} else if (listeners_add(e, box, letter->fds, count) < 0 || policy_take(e, box, letter->packet) < 0) {
		/* Half a policy is none. */
		egress_box_end(e, box);
	} else {
		egress_report_totals(e, box);
	}
}

/* The egress socket. Each message of a keeper brings an event of its own, so one is taken at a time. */
static void socket_ready(struct egress *e, struct egress_watch *watch, uint32_t events)
{
	struct egress_box *box = (struct egress_box *)((char *)watch - offsetof(struct egress_box, socket));
	struct letter letter;

	if (events & EPOLLOUT)
		egress_report_room(e, box);
	while (!box->dead && watch->fd >= 0) {
		const int got = letter_read(watch->fd, &letter);

		if (got > 0)
			box_change(e, box, &letter);
		else if (got < 0 && errno == EAGAIN)
			return;
		else if (got == 0 || errno != EINTR)
			egress_box_end(e, box);
	}
}

/* Takes the message's descriptors. What cannot be opened is told by the end of the egress socket. */
static void box_open(struct egress *e, struct letter *letter)
{
	const struct egress_head *head = &letter->packet->head;
	struct egress_box *box;
	int *fds = letter->fds;

	if (head->kind != EGRESS_OPEN || letter->count != (size_t)head->listeners + 3 || !is_egress_socket(fds[0]) ||
	    !is_socket(fds[1], SOCK_DGRAM, false) || !is_socket(fds[2], SOCK_STREAM, true) ||
	    !(box = calloc(1, sizeof(*box)))) {
		letter_close(letter);
		return;
	}
	*box = (struct egress_box){ .socket = { fds[0], socket_ready },
				    .dns = { .udp.fd = -1, .tcp.fd = -1 },
				    .channel.fd = -1,
				    .channel_end = -1,
				    .rate_timer.fire = egress_rate_due };
	LIST_INSERT_HEAD(&e->boxes, box, link);
	TAILQ_INIT(&box->turns);
	TAILQ_INIT(&box->wanting);
	letter->count = 0;
	setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &(int){ REPORTS_ROOM }, sizeof(int));
	/* Each takes its descriptors, whether it fails or not. */
	const int named = egress_names_open(e, box, fds[1], fds[2]);
	const int listens = listeners_add(e, box, fds + 3, head->listeners);

	const int known = secrets_take(box, letter->packet);

	if (known < 0 || named < 0 || listens < 0 || policy_take(e, box, letter->packet) < 0 ||
	    egress_watch_add(e, &box->socket, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET) < 0)
		egress_box_end(e, box);
	explicit_bzero(letter->packet->text, head->size + head->secrets);
}

void egress_link_ready(struct egress *e, struct egress_watch *watch, uint32_t events)
{
	struct letter letter;
	const int got = letter_read(watch->fd, &letter);

	if (got > 0) {
		box_open(e, &letter);
		return;
	}
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got == 0 || errno == EMFILE)
		return;
	/* The keeper has ended, and its boxes with it: their sockets tell. Without a supervisor that is all there is.
	 */
	egress_watch_end(e, watch);
	if (e->control < 0)
		e->end = true;
}
