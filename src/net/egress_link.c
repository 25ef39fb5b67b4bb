#include "net/egress_link.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/own.h"
#include "base/variables.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	SEND_MSEC = 5000, /* an egress that takes no message for so long is stuck */
	LINK_FD = 3,      /* in an egress of our own, as role.h has it for a control socket */
};

void egress_link_init(struct egress_link *link)
{
	*link = (struct egress_link){ .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1 };
}

void egress_link_set(struct egress_link *link, int fd)
{
	pthread_mutex_lock(&link->lock);
	close_fd(&link->fd);
	link->fd = fd;
	link->generation += fd >= 0;
	pthread_mutex_unlock(&link->lock);
}

static int wait_for(int fd, short events, uint64_t until_usec)
{
	struct pollfd one = { .fd = fd, .events = events };

	for (;;) {
		const uint64_t now = clock_usec();
		const int got = poll(&one, 1, now < until_usec ? (int)((until_usec - now) / 1000 + 1) : 0);

		if (got > 0)
			return 0;
		if (got == 0)
			errno = ETIMEDOUT;
		if (got == 0 || errno != EINTR)
			return -1;
	}
}

/* One message, whole. */
static int send_whole(int socket, const struct iovec *parts, size_t part_count, const int *fds, size_t count)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int) * EGRESS_FDS_MAX)];
	} control = { 0 };
	struct msghdr message = { .msg_iov = (struct iovec *)parts, .msg_iovlen = part_count };
	const uint64_t until = clock_usec() + (uint64_t)SEND_MSEC * 1000;

	if (count > 0) {
		struct cmsghdr *header = &control.header;

		message.msg_control = control.room;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int) * count);
		memcpy(CMSG_DATA(header), fds, sizeof(int) * count);
	}
	for (;;) {
		if (sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
			return 0;
		if (errno != EINTR && (errno != EAGAIN || wait_for(socket, POLLOUT, until) < 0))
			return -1;
	}
}

static int send_policy(int socket, enum egress_kind kind, const struct net_policy *policy,
		       const struct net_secrets *secrets, const struct egress_sockets *sockets, const int *fds,
		       size_t count)
{
	_cleanup_buf_ struct buf text = { 0 }, values = { 0 };
	struct egress_head head = { .kind = kind };
	struct iovec parts[3] = { { &head, sizeof(head) } };
	int done = -1;

	net_policy_write(policy, &text);
	if (secrets)
		net_secrets_write(secrets, &values);
	if (text.failed || values.failed || text.size > NET_POLICY_TEXT || values.size > NET_SECRETS_TEXT) {
		errno = text.failed || values.failed ? ENOMEM : EMSGSIZE;
	} else {
		head.listeners = sockets ? (uint32_t)sockets->count : 0;
		head.size = (uint32_t)text.size;
		head.secrets = (uint32_t)values.size;
		parts[1] = (struct iovec){ text.data, text.size };
		parts[2] = (struct iovec){ values.data, values.size };
		done = send_whole(socket, parts, 3, fds, count);
	}
	if (values.data)
		explicit_bzero(values.data, values.size);
	return done;
}

int egress_open(struct egress_link *link, const struct net_policy *policy, const struct egress_sockets *sockets,
		int *egress_fd, struct error *err)
{
	return egress_open_secret(link, policy, NULL, sockets, egress_fd, err);
}

int egress_open_secret(struct egress_link *link, const struct net_policy *policy, const struct net_secrets *secrets,
		       const struct egress_sockets *sockets, int *egress_fd, struct error *err)
{
	_cleanup_close_ int ours = -1, theirs = -1;
	int fds[EGRESS_FDS_MAX], ends[2], done = -1, errnum;
	size_t count = 0;

	*egress_fd = -1;
	if (sockets->count > EGRESS_LISTENERS_MAX || sockets->dns_udp < 0 || sockets->dns_tcp < 0)
		return error_set(err, ERROR_FAILED, EINVAL, "cannot open the network of a box");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
		return error_errno(err, "cannot make the network's socket");
	ours = ends[0];
	theirs = ends[1];
	fds[count++] = theirs;
	fds[count++] = sockets->dns_udp;
	fds[count++] = sockets->dns_tcp;
	for (size_t i = 0; i < sockets->count; i++)
		fds[count++] = sockets->listeners[i];
	pthread_mutex_lock(&link->lock);
	errno = ENOTCONN;
	if (link->fd >= 0)
		done = send_policy(link->fd, EGRESS_OPEN, policy, secrets, sockets, fds, count);
	errnum = errno;
	pthread_mutex_unlock(&link->lock);
	if (done < 0)
		return error_set(err, ERROR_FAILED, errnum,
				 "egress, the process that connects for boxes, is not there");
	*egress_fd = take_fd(&ours);
	return 0;
}

int egress_change(int egress_fd, const struct net_policy *policy, const struct egress_sockets *further,
		  struct error *err)
{
	if (further && further->count > EGRESS_LISTENERS_MAX)
		return error_set(err, ERROR_FAILED, EINVAL, "cannot change the network of a box");
	if (send_policy(egress_fd, EGRESS_POLICY, policy, NULL, further, further ? further->listeners : NULL,
			further ? further->count : 0) < 0)
		return error_errno(err, "cannot change the network of a box");
	return 0;
}

int egress_finish(int egress_fd)
{
	struct egress_head head = { .kind = EGRESS_FINISH };

	return send_whole(egress_fd, &(struct iovec){ &head, sizeof(head) }, 1, NULL, 0);
}

/* Reading */

enum {
	EVENT_TOTALS = offsetof(struct egress_event, connection),
	EVENT_TEXTS = EVENT_TOTALS + offsetof(struct net_connection, host) /* where they begin */
};

size_t egress_event_write(const struct egress_event *event, unsigned char out[EGRESS_EVENT_MAX])
{
	const struct net_connection *c = &event->connection;
	const char *const texts[] = { c->host, c->address, c->rule, c->request };
	size_t size = event->kind == EGRESS_TOTALS ? EVENT_TOTALS : EVENT_TEXTS;

	memcpy(out, event, size);
	for (size_t i = 0; i < ARRAY_SIZE(texts) && event->kind != EGRESS_TOTALS; i++) {
		memcpy(out + size, texts[i], strlen(texts[i]) + 1);
		size += strlen(texts[i]) + 1;
	}
	return size;
}

/* The next text, with its NUL; false: there is none, or it has no room. */
static bool text_read(const unsigned char *data, size_t size, size_t *at, char *out, size_t room)
{
	const unsigned char *end = memchr(data + *at, '\0', size - *at);

	if (!end || (size_t)(end - data) - *at >= room)
		return false;
	memcpy(out, data + *at, (size_t)(end - data) - *at + 1);
	*at = (size_t)(end - data) + 1;
	return true;
}

bool egress_event_read(const unsigned char *data, size_t size, struct egress_event *event)
{
	struct net_connection *c = &event->connection;
	size_t at = EVENT_TEXTS;

	memset(event, 0, sizeof(*event));
	if (size < EVENT_TOTALS)
		return false;
	memcpy(event, data, size < EVENT_TEXTS ? EVENT_TOTALS : EVENT_TEXTS);
	if (event->kind == EGRESS_TOTALS)
		return size == EVENT_TOTALS && event->last <= 1;
	return event->kind == EGRESS_CONNECTION && event->last == 0 && size > EVENT_TEXTS && c->number > 0 &&
	       c->allowed <= 1 && c->reason < NET_REASONS && c->level <= NET_LEVEL_REQUEST && c->open <= 1 &&
	       text_read(data, size, &at, c->host, sizeof(c->host)) &&
	       text_read(data, size, &at, c->address, sizeof(c->address)) &&
	       text_read(data, size, &at, c->rule, sizeof(c->rule)) &&
	       text_read(data, size, &at, c->request, sizeof(c->request)) && at == size;
}

/* In the order of their numbers, which is that of the decisions: the first report of one may have been lost. */
static void report_take(struct net_report *report, const struct net_connection *connection)
{
	size_t from = 0, to = report->count;

	while (from < to) {
		const size_t middle = from + (to - from) / 2;

		if (report->connections[middle].number < connection->number)
			from = middle + 1;
		else
			to = middle;
	}
	if (from < report->count && report->connections[from].number == connection->number) {
		report->connections[from] = *connection;
		return;
	}
	if (report->count >= NET_REPORT_KEPT)
		return;
	if ((report->count & (report->count - 1)) == 0) {
		struct net_connection *more =
			realloc(report->connections, sizeof(*more) * (report->count ? 2 * report->count : 1));

		if (!more)
			return;
		report->connections = more;
	}
	memmove(report->connections + from + 1, report->connections + from,
		sizeof(*connection) * (report->count - from));
	report->connections[from] = *connection;
	report->count++;
}

int egress_read(int egress_fd, struct net_report *report)
{
	unsigned char data[EGRESS_EVENT_MAX];
	struct egress_event event;

	for (;;) {
		ssize_t got = recv(egress_fd, data, sizeof(data), MSG_DONTWAIT | MSG_TRUNC);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			return 1;
		if (got <= 0 || (size_t)got > sizeof(data) || !egress_event_read(data, (size_t)got, &event)) {
			report->gone = true;
			return -1;
		}
		report->allowed = event.allowed;
		report->refused = event.refused;
		report->queries = event.queries;
		report->lost = event.lost;
		report->sent = event.sent;
		report->received = event.received;
		if (event.kind == EGRESS_CONNECTION)
			report_take(report, &event.connection);
		else if (event.last)
			return 0;
	}
}

int egress_read_all(int egress_fd, struct net_report *report, int msec)
{
	const uint64_t until = clock_usec() + (uint64_t)msec * 1000;
	int more;

	while ((more = egress_read(egress_fd, report)) > 0 && wait_for(egress_fd, POLLIN, until) == 0)
		;
	if (more > 0) {
		report->gone = true;
		return -1;
	}
	return more;
}

void net_report_free(struct net_report *report)
{
	free(report->connections);
	report->connections = NULL;
	report->count = 0;
}

const char *const egress_variables[] = {
	"EMBERBOX_RESOLVER", "RES_OPTIONS", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY", "TZ", "ASAN_OPTIONS",
	"UBSAN_OPTIONS", "LSAN_OPTIONS", "EMBERBOX_FAULT",
	/* The directories of the authority, and the certificates that the host trusts. */
	"EMBERBOX_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "HOME", "SSL_CERT_FILE", NULL
};

/* An egress of our own */

int egress_start_own(const char *program, struct egress_link *link, pid_t *pid, struct error *err)
{
	static const char *const argv[] = { "emberbox", "serve", "--role=egress-own", NULL };
	char *variables[VARIABLES_MAX + 1];
	_cleanup_close_ int ours = -1, theirs = -1;
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, pipe;
	int ends[2], errnum;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_errno(err, "cannot make the socket of egress");
	ours = ends[0];
	theirs = ends[1];
	if (posix_spawn_file_actions_init(&actions) != 0)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot start egress");
	posix_spawnattr_init(&attributes);
	sigemptyset(&none);
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	/* A session of its own: what is typed at our terminal ends the run by our word, not by the end of its network.
	 */
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &pipe);
	variables_keep(egress_variables, variables);
	errnum = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
	if (errnum == 0)
		errnum = posix_spawn_file_actions_adddup2(&actions, 0, 1);
	if (errnum == 0)
		errnum = posix_spawn_file_actions_adddup2(&actions, theirs, LINK_FD);
	if (errnum == 0)
		errnum = posix_spawn_file_actions_addclosefrom_np(&actions, LINK_FD + 1);
	if (errnum == 0)
		errnum = posix_spawn(pid, program, &actions, &attributes, (char *const *)argv, variables);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	if (errnum != 0)
		return error_set(err, ERROR_FAILED, errnum, "cannot start egress");
	egress_link_set(link, take_fd(&ours));
	return 0;
}
