/*
 * What names lead to: c-ares asks the host's name servers.
 *
 * All that it needs of files it reads in egress_resolver_open(), before the process is confined: resolv.conf, and
 * random bytes for its ids. /etc/hosts is not asked: its names are this machine's own affair, most lead to addresses
 * that no box may reach, and changes of it could not be followed. A rule can name an address instead.
 *
 * Nothing is kept for longer than a few seconds, and nothing for another box: how long an answer takes would tell one
 * box what another has asked.
 */
#include "base/own.h"
#include "daemon/egress/egress_parts.h"
#include "daemon/role.h"

#include <ares.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <unistd.h>

enum {
	TRY_MSEC = 1500, /* for the first answer of a server; then twice as long */
	TRIES = 2,
	SOCKETS_MAX = 64,            /* of c-ares */
	RESOLV_CONF_MOST = 8 << 10,  /* bytes of resolv.conf that are read */
	SERVERS_USEC = 30000000,     /* name servers may have changed after so long … */
	SERVERS_AGAIN_USEC = 1000000 /* … or when they do not answer */
};

struct resolver_socket {
	struct egress_watch watch; /* fd -1: free */
	uint32_t events;
};

struct egress_resolver {
	ares_channel channel;
	struct egress *egress; /* once it serves */
	struct egress_timer timer;
	struct resolver_socket sockets[SOCKETS_MAX];
	size_t asked;        /* lookups under way */
	char *servers;       /* others, to be taken when it asks nobody; NULL: none */
	uint64_t asked_usec; /* when the supervisor was asked for name servers last */
};

struct egress_lookup {
	struct egress_resolver *resolver;
	struct egress_box *box; /* NULL: nobody waits any more */
	struct egress_name *name;
};

static void on_socket(void *data, ares_socket_t fd, int readable, int writable);

int egress_resolver_open(struct egress_resolver **out, struct error *err)
{
	_cleanup_free_ struct egress_resolver *resolver = calloc(1, sizeof(*resolver));
	char lookups[] = "b";
	struct ares_options options = { .flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES,
					.timeout = TRY_MSEC,
					.tries = TRIES,
					.ndots = 1,
					.lookups = lookups,
					.sock_state_cb = on_socket,
					.sock_state_cb_data = resolver };
	const char *servers = getenv("EMBERBOX_RESOLVER");
	int status;

	if (!resolver)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot start");
	for (size_t i = 0; i < SOCKETS_MAX; i++)
		resolver->sockets[i].watch.fd = -1;
	status = ares_library_init(ARES_LIB_INIT_ALL);
	if (status == ARES_SUCCESS)
		status = ares_init_options(&resolver->channel, &options,
					   ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_NDOTS |
						   ARES_OPT_DOMAINS | ARES_OPT_LOOKUPS | ARES_OPT_SOCK_STATE_CB);
	if (status != ARES_SUCCESS)
		return error_set(err, ERROR_FAILED, 0, "cannot read /etc/resolv.conf: %s", ares_strerror(status));
	if (servers && *servers && ares_set_servers_ports_csv(resolver->channel, servers) != ARES_SUCCESS)
		return error_set(err, ERROR_FAILED, 0,
				 "EMBERBOX_RESOLVER: \"%.100s\" is no list of addresses of name servers", servers);
	*out = take_ptr(resolver);
	return 0;
}

static void socket_ready(struct egress *e, struct egress_watch *watch, uint32_t events)
{
	const int fd = watch->fd;
	const bool in = events & (EPOLLIN | EPOLLERR | EPOLLHUP), out = events & (EPOLLOUT | EPOLLERR | EPOLLHUP);

	ares_process_fd(e->resolver->channel, in ? fd : ARES_SOCKET_BAD, out ? fd : ARES_SOCKET_BAD);
}

/* c-ares opens, closes and wants events of its sockets; a socket that it closes is in nobody's hands but ours. */
static void on_socket(void *data, ares_socket_t fd, int readable, int writable)
{
	struct egress_resolver *resolver = data;
	const uint32_t events = (readable ? EPOLLIN : 0) | (writable ? EPOLLOUT : 0);
	struct resolver_socket *socket = NULL;
	struct epoll_event event = { .events = events };

	for (size_t i = 0; i < SOCKETS_MAX; i++) {
		if (resolver->sockets[i].watch.fd == fd) {
			socket = &resolver->sockets[i];
			break;
		}
		if (!socket && resolver->sockets[i].watch.fd < 0)
			socket = &resolver->sockets[i];
	}
	/* Without events its queries end by their time. */
	if (!socket || !resolver->egress)
		return;
	event.data.ptr = &socket->watch;
	if (events == 0) {
		if (socket->watch.fd == fd)
			epoll_ctl(resolver->egress->epoll, EPOLL_CTL_DEL, fd, NULL);
		socket->watch.fd = -1;
	} else if (socket->watch.fd == fd) {
		epoll_ctl(resolver->egress->epoll, EPOLL_CTL_MOD, fd, &event);
	} else {
		socket->watch = (struct egress_watch){ fd, socket_ready };
		epoll_ctl(resolver->egress->epoll, EPOLL_CTL_ADD, fd, &event);
	}
}

static void on_time(struct egress *e, struct egress_timer *timer)
{
	ares_process_fd(e->resolver->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

void egress_resolver_start(struct egress *e)
{
	e->resolver->egress = e;
	e->resolver->timer.fire = on_time;
}

/* The supervisor reads resolv.conf for us: a machine moves from network to network. */
static void ask_servers(struct egress *e, uint64_t after_usec)
{
	if (e->control < 0 || e->now - e->resolver->asked_usec < after_usec)
		return;
	e->resolver->asked_usec = e->now;
	send(e->control, &(char){ ROLE_RESOLVER }, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* c-ares refuses others while it asks. */
static void take_servers(struct egress_resolver *resolver)
{
	if (resolver->asked == 0 && resolver->servers) {
		ares_set_servers_ports_csv(resolver->channel, resolver->servers);
		free(take_ptr(resolver->servers));
	}
}

void egress_resolver_read(struct egress *e, int fd)
{
	static const char word[] = "nameserver";
	char text[RESOLV_CONF_MOST], servers[RESOLV_CONF_MOST] = "", *rest = NULL;
	const ssize_t size = pread(fd, text, sizeof(text) - 1, 0);

	if (size < 0)
		return;
	text[size] = '\0';
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *at = line + sizeof(word) - 1;

		if (strncmp(line, word, sizeof(word) - 1) != 0 || (*at != ' ' && *at != '\t'))
			continue;
		at += strspn(at, " \t");
		at[strcspn(at, " \t")] = '\0';
		if (*servers)
			strcat(servers, ",");
		strcat(servers, at);
	}
	/* A file without any is being written, or none is known: what was known is better. */
	if (!*servers)
		return;
	free(e->resolver->servers);
	e->resolver->servers = strdup(servers);
	take_servers(e->resolver);
}

void egress_resolver_settle(struct egress *e)
{
	struct timeval until, *wait;

	if (e->resolver->asked == 0) {
		egress_timer_end(e, &e->resolver->timer);
		take_servers(e->resolver);
		return;
	}
	wait = ares_timeout(e->resolver->channel, NULL, &until);
	if (wait)
		egress_timer_set(e, &e->resolver->timer,
				 e->now + (uint64_t)wait->tv_sec * 1000000 + (uint64_t)wait->tv_usec + 1);
}

static void take_addresses(struct egress_name *name, const struct ares_addrinfo *found)
{
	name->count = 0;
	for (const struct ares_addrinfo_node *node = found->nodes; node; node = node->ai_next) {
		struct net_address *address = &name->addresses[name->count];
		uint16_t port;

		if (name->count < EGRESS_ADDRESSES_MAX && net_address_from(node->ai_addr, address, &port))
			name->count++;
	}
	name->found = name->count > 0 ? EGRESS_FOUND : EGRESS_NO_ADDRESS;
}

static void on_found(void *data, int status, int timeouts, struct ares_addrinfo *found)
{
	struct egress_lookup *lookup = data;
	struct egress_name *name = lookup->name;
	struct egress *e = lookup->resolver->egress;

	lookup->resolver->asked--;
	if (lookup->box) {
		lookup->box->names.lookups--;
		name->lookup = NULL;
		name->count = 0;
		if (status == ARES_SUCCESS)
			take_addresses(name, found);
		else if (status == ARES_ENODATA)
			name->found = EGRESS_NO_ADDRESS;
		else
			name->found = status == ARES_ENOTFOUND ? EGRESS_NO_NAME : EGRESS_FAILED;
		name->found_usec = e->now;
		if (name->found == EGRESS_FAILED)
			ask_servers(e, SERVERS_AGAIN_USEC);
		/* One that waits may end the box, and with it the others. */
		while (lookup->box && !lookup->box->dead && !LIST_EMPTY(&name->waiters)) {
			struct egress_waiter *waiter = LIST_FIRST(&name->waiters);

			egress_waiter_end(waiter);
			waiter->resolved(e, waiter, name);
		}
	}
	if (found)
		ares_freeaddrinfo(found);
	free(lookup);
}

bool egress_resolve(struct egress *e, struct egress_box *box, struct egress_name *name, struct egress_waiter *waiter)
{
	const struct ares_addrinfo_hints hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct egress_lookup *lookup;

	LIST_INSERT_HEAD(&name->waiters, waiter, link);
	waiter->waits = true;
	if (name->lookup)
		return true;
	if (name->found == EGRESS_FOUND && e->now - name->found_usec <= EGRESS_FRESH_USEC) {
		egress_waiter_end(waiter);
		waiter->resolved(e, waiter, name);
		return true;
	}
	lookup = box->names.lookups < EGRESS_LOOKUPS_MAX ? malloc(sizeof(*lookup)) : NULL;
	if (!lookup) {
		egress_waiter_end(waiter);
		return false;
	}
	ask_servers(e, SERVERS_USEC);
	*lookup = (struct egress_lookup){ e->resolver, box, name };
	name->lookup = lookup;
	box->names.lookups++;
	e->resolver->asked++;
	ares_getaddrinfo(e->resolver->channel, name->text, NULL, &hints, on_found, lookup);
	return true;
}

void egress_waiter_end(struct egress_waiter *waiter)
{
	if (waiter->waits)
		LIST_REMOVE(waiter, link);
	waiter->waits = false;
}

/* The answer is still to come; nobody looks at it. */
void egress_lookup_end(struct egress_name *name)
{
	if (!name->lookup)
		return;
	name->lookup->box->names.lookups--;
	name->lookup->box = NULL;
	name->lookup = NULL;
}
