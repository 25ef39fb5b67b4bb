#include "daemon/front/front.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "daemon/front/front_parts.h"
#include "daemon/role.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>

enum {
	EVENTS = 64 /* taken at once */
};

static const uint64_t memory_default = UINT64_C(512) << 20;

int source_watch(struct front *front, struct front_source *source, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = source };

	if (source->events == events)
		return 0;
	source->events = events;
	return epoll_ctl(front->epoll, EPOLL_CTL_MOD, source->fd, &event);
}

int source_add(struct front *front, struct front_source *source, uint32_t events,
	       void (*ready)(struct front *, struct front_source *, uint32_t))
{
	struct epoll_event event = { .events = events, .data.ptr = source };

	source->ready = ready;
	source->events = events;
	return epoll_ctl(front->epoll, EPOLL_CTL_ADD, source->fd, &event);
}

/* Nobody else holds what is behind it, so that epoll forgets it as well; the keeper's is another process's too. */
void source_close(struct front *front, struct front_source *source)
{
	if (source->fd >= 0 && source->ready)
		epoll_ctl(front->epoll, EPOLL_CTL_DEL, source->fd, NULL);
	source->ready = NULL;
	close_fd(&source->fd);
}

static void front_fail(struct front *front, const char *what)
{
	if (!front->failed)
		error_errno(front->err, "%s", what);
	front->failed = true;
}

static void front_drain(struct front *front)
{
	struct queue_item *item;

	front->draining = true;
	source_close(front, &front->listen);
	source_close(front, &front->tcp);
	while ((item = queue_peek(&front->queue)) != NULL) {
		struct peer *peer = peer_of_item(item);

		peer_refuse(front, peer, CODE_DRAINING, "", 1, "the service is ending; the request was not run");
		peer_resume(front, peer);
	}
}

void front_settle(struct front *front)
{
	struct error ignored;

	front->unsettled = false;
	if (front->options.tell_ready && role_ready(front->control.fd, &ignored) < 0)
		front_fail(front, "cannot tell the supervisor");
	front->options.tell_ready = false;
}

void front_hear(struct front *front)
{
	if (!front->deaf)
		return;
	front->deaf = source_watch(front, &front->listen, EPOLLIN) < 0;
	if (front->tcp.fd >= 0)
		front->deaf |= source_watch(front, &front->tcp, EPOLLIN) < 0;
}

/* Who waits for them is answered all the same. A byte in the pipe tells the keeper that it was not the client. */
static void front_end_runs(struct front *front)
{
	for (size_t i = 0; front->runs && i < front->options.max_running; i++) {
		if (front->runs[i].cancel >= 0)
			(void)!write(front->runs[i].cancel, &(char){ MESSAGE_SERVICE_ENDS }, 1);
		close_fd(&front->runs[i].cancel);
	}
}

static void control_ready(struct front *front, struct front_source *source, uint32_t events)
{
	int fds[FD_MESSAGE_MAX];
	size_t count = 0;
	char what = 0;
	ssize_t n = fd_receive(source->fd, &what, sizeof(what), fds, &count);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		front->over = true;
	} else if (what == 'k' && count > 0) {
		if (keeper_set(front, fds[--count]) < 0)
			front_fail(front, "cannot watch the keeper");
	} else if (what == 's' && count > 0) {
		if (store_set(front, fds[--count]) < 0)
			front_fail(front, "cannot watch the store");
	} else if (what == 'c' && count > 0) {
		/* The supervisor has read it already: what is wrong with it is wrong with us. */
		if (policy_change(front, fds[--count], front->err) < 0)
			front->failed = true;
	} else if (what == 'o' || what == 'n') {
		front->stale = what == 'o';
	} else if (what == 'd' && !front->draining) {
		front_drain(front);
	} else if (what == 'd') {
		front_end_runs(front);
	}
	while (count > 0)
		close(fds[--count]);
}

static void address_text(const struct sockaddr_storage *from, char *text, size_t size)
{
	const struct sockaddr_in *four = (const struct sockaddr_in *)from;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)from;

	snprintf(text, size, "unix");
	if (from->ss_family == AF_INET)
		inet_ntop(AF_INET, &four->sin_addr, text, (socklen_t)size);
	else if (from->ss_family == AF_INET6)
		inet_ntop(AF_INET6, &six->sin6_addr, text, (socklen_t)size);
}

/*
 * Whether there is no place for another. Who comes over TCP may be anybody: some
 * places are kept for the Unix socket, and the one of them that has waited
 * longest without saying who it is makes room.
 */
static bool front_is_full(struct front *front, bool tcp)
{
	const size_t kept = front->options.max_clients / 8, most = front->options.max_clients - (tcp ? kept : 0);
	struct peer *idle = NULL;

	if (front->client_count < most)
		return false;
	for (struct peer *peer = front->clients; tcp && peer; peer = peer->next)
		if (peer->door == &door_http && !*peer->caller.name)
			idle = peer;
	if (!idle)
		return true;
	peer_drop(front, idle);
	return false;
}

static void listen_ready(struct front *front, struct front_source *source, uint32_t events)
{
	const struct door *door = source == &front->tcp ? &door_http : NULL;
	struct sockaddr_storage from = { .ss_family = AF_UNSPEC };
	socklen_t size = sizeof(from);
	int fd = accept4(source->fd, (struct sockaddr *)&from, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
	char address[INET6_ADDRSTRLEN + 1];

	if (fd < 0) {
		const bool full = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;

		/* What waits would wake us again and again; the end of any connection lets it in. */
		front->deaf |= full;
		if (full)
			source_watch(front, source, 0);
		else if (errno == EBADF || errno == EINVAL || errno == ENOTSOCK)
			front_fail(front, "cannot accept connections");
	} else if (front_is_full(front, door != NULL)) {
		peer_turn_away(front, fd, door);
	} else {
		address_text(&from, address, sizeof(address));
		peer_accept(front, fd, door, address);
	}
}

static void front_bury(struct front *front)
{
	while (front->dead) {
		struct peer *peer = front->dead;

		front->dead = peer->next;
		free(peer->terminal);
		free(peer->watch);
		free(peer);
	}
}

/* Those whose time is over; the earliest of the others is the next alarm. */
static void front_alarm(struct front *front)
{
	uint64_t now = clock_usec(), earliest = 0;

	front->alarm_usec = 0;
	for (struct peer *peer = front->clients, *next; peer; peer = next) {
		next = peer->next;
		if (peer->deadline_usec && peer->deadline_usec <= now) {
			peer->deadline_usec = 0;
			if (peer->door && peer->door->late)
				peer->door->late(front, peer);
			peer_resume(front, peer);
		}
		if (!peer->dead && peer->deadline_usec && (!earliest || peer->deadline_usec < earliest))
			earliest = peer->deadline_usec;
	}
	for (struct front_run *run = front->runs; run < front->runs + front->options.max_running; run++) {
		if (!run->number || !run->orphan_usec)
			continue;
		if (run->orphan_usec <= now) {
			close_fd(&run->cancel);
			run->orphan_usec = 0;
		} else if (!earliest || run->orphan_usec < earliest) {
			earliest = run->orphan_usec;
		}
	}
	front->alarm_usec = earliest;
}

static int front_patience(const struct front *front)
{
	uint64_t now;

	if (!front->alarm_usec)
		return -1;
	now = clock_usec();
	return front->alarm_usec <= now ? 0 : (int)((front->alarm_usec - now) / 1000 + 1);
}

/* All runs are answered, and the answers written. */
static bool front_drained(const struct front *front)
{
	if (!front->draining || front->running > 0)
		return false;
	for (const struct peer *peer = front->clients; peer; peer = peer->next)
		if (connection_pending(&peer->link) > 0 || peer->ask)
			return false;
	return true;
}

static void front_loop(struct front *front)
{
	struct epoll_event events[EVENTS];

	while (!front->over && !front->failed && !front_drained(front)) {
		int count = epoll_wait(front->epoll, events, EVENTS, front_patience(front));

		if (count < 0 && errno != EINTR)
			front_fail(front, "cannot wait for events");
		for (int i = 0; i < count; i++) {
			struct front_source *source = events[i].data.ptr;

			if (source->ready)
				source->ready(front, source, events[i].events);
		}
		if (front->alarm_usec && front_patience(front) == 0)
			front_alarm(front);
		front_bury(front);
	}
}

static void options_settle(struct front_options *options)
{
	struct front_times *times = &options->times;

	options->max_clients = options->max_clients ?: 4096;
	options->max_running = options->max_running ?: 16;
	options->max_queued = options->max_queued ?: 2048;
	options->max_queued_each = options->max_queued_each ?: 1024;
	options->memory_max = options->memory_max ?: memory_default;
	times->first = times->first ?: 30000;
	times->head = times->head ?: 10000;
	times->body = times->body ?: 30000;
	times->idle = times->idle ?: 75000;
	times->linger = times->linger ?: 3000;
	times->ping = times->ping ?: 15000;
	times->confirm = times->confirm ?: 600000;
	times->orphan = times->orphan ?: 30000;
	times->session = times->session ?: 3600000;
}

/* Jansson would take its seed from a file, which cannot be opened any more; without one, keys could be made to collide.
 */
static int seed(struct front *front)
{
	size_t chance = 0;

	if (getrandom(&chance, sizeof(chance), 0) != sizeof(chance) ||
	    getrandom(front->secret, sizeof(front->secret), 0) != sizeof(front->secret))
		return -1;
	json_object_seed(chance | 1);
	return 0;
}

static int front_open(struct front *front)
{
	front->queue = (struct queue){ .most = front->options.max_queued, .most_each = front->options.max_queued_each };
	front->runs = calloc(front->options.max_running, sizeof(*front->runs));
	front->epoll = epoll_create1(EPOLL_CLOEXEC);
	for (size_t i = 0; front->runs && i < front->options.max_running; i++)
		front->runs[i].cancel = front->runs[i].input.fd = -1;
	/* A program may close its stdin while we write to it. */
	signal(SIGPIPE, SIG_IGN);
	front->begun_usec = clock_usec();
	front->unsettled = front->options.wait_for_store;
	front->metrics = metrics_new();
	if (!front->runs || !front->metrics || front->epoll < 0 || seed(front) < 0 ||
	    fcntl(front->listen.fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0 ||
	    source_add(front, &front->listen, EPOLLIN, listen_ready) < 0 ||
	    (front->tcp.fd >= 0 && (fcntl(front->tcp.fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0 ||
				    source_add(front, &front->tcp, EPOLLIN, listen_ready) < 0)) ||
	    source_add(front, &front->control, EPOLLIN, control_ready) < 0 ||
	    (front->keeper.fd >= 0 && keeper_set(front, take_fd(&front->keeper.fd)) < 0) ||
	    (front->store.fd >= 0 && store_set(front, take_fd(&front->store.fd)) < 0))
		return error_errno(front->err, "cannot begin to serve");
	if (!front->unsettled)
		front_settle(front);
	return policy_load(front, front->options.config > 0 ? front->options.config : -1, front->err);
}

static void front_close(struct front *front)
{
	front_end_runs(front);
	while (front->clients)
		peer_drop(front, front->clients);
	front_bury(front);
	for (size_t i = 0; front->runs && i < front->options.max_running; i++) {
		close_fd(&front->runs[i].cancel);
		close_fd(&front->runs[i].input.fd);
	}
	free(front->runs);
	while (front->unsaid_count > 0)
		free(front->unsaid[--front->unsaid_count]);
	metrics_free(front->metrics);
	mcp_free(front->mcp);
	front_config_free(&front->config);
	close_fd(&front->listen.fd);
	close_fd(&front->tcp.fd);
	close_fd(&front->keeper.fd);
	close_fd(&front->store.fd);
	close_fd(&front->control.fd);
	close_fd(&front->epoll);
	free(front);
}

int front_run(const struct front_fds *fds, const struct front_options *options, struct error *err)
{
	struct front *front = calloc(1, sizeof(*front));
	bool failed;

	if (!front) {
		for (const int *fd = (const int[]){ fds->listen, fds->tcp, fds->keeper, fds->store, fds->control, -2 };
		     *fd != -2; fd++)
			close(*fd);
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the front");
	}
	front->listen.fd = fds->listen;
	front->tcp.fd = fds->tcp;
	front->keeper.fd = fds->keeper;
	front->store.fd = fds->store;
	front->control.fd = fds->control;
	front->epoll = -1;
	front->options = *options;
	front->err = err;
	options_settle(&front->options);
	if (front_open(front) < 0)
		front->failed = true;
	else
		front_loop(front);
	failed = front->failed;
	front_close(front);
	return failed ? -1 : 0;
}
