/*
 * Connections through the host's proxy (HTTPS_PROXY, NO_PROXY): CONNECT for each, whatever it carries.
 *
 * A name that a rule names goes to the proxy as a name: where there is a proxy there is often no name server that knows
 * other names, and the proxy has rules of its own about names. So what it leads to is the proxy's affair, and not
 * checked here. For public, where the name is the program's choice alone, and for addresses, the proxy gets the address
 * that was checked. Addresses that are not public, and the machine itself, are connected to without the proxy.
 */
#include "base/own.h"
#include "daemon/egress/egress_parts.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

bool egress_proxy_takes(const struct egress *e, const char *name, const struct net_address *address, uint16_t port)
{
	if (!e->proxy || (name && strcmp(name, "host") == 0))
		return false;
	if (!name && net_address_scope(address) != NET_SCOPE_GLOBAL)
		return false;
	return !net_proxy_exempts(e->proxy, name, address, port);
}

static void proxy_resolved(struct egress *e, struct egress_waiter *waiter, struct egress_name *name)
{
	struct egress_flow *flow = (struct egress_flow *)((char *)waiter - offsetof(struct egress_flow, waiter));

	if (name->found != EGRESS_FOUND) {
		egress_flow_end(e, flow, NET_REASON_UNREACHABLE);
		return;
	}
	memcpy(flow->addresses, name->addresses, sizeof(flow->addresses));
	flow->count = name->count;
	egress_connect_next(e, flow);
}

/* The proxy is the host's own setting: where it is, is not checked. */
void egress_proxy_connect(struct egress *e, struct egress_flow *flow, const struct net_address *to)
{
	struct egress_box *box = flow->turn.box;
	struct egress_name *name;

	flow->proxy = PROXY_CONNECTS;
	if (to) {
		flow->through = *to;
		flow->through_address = true;
	}
	flow->at = flow->count = 0;
	flow->deadline_usec = e->now + EGRESS_CONNECT_USEC;
	flow->waiter.resolved = proxy_resolved;
	if (!*e->proxy->host) {
		flow->addresses[flow->count++] = e->proxy->address;
		egress_connect_next(e, flow);
		return;
	}
	name = egress_name_get(box, e->proxy->host);
	egress_timer_set(e, &flow->timer, e->now + EGRESS_RESOLVE_USEC);
	if (!name || !egress_resolve(e, box, name, &flow->waiter))
		egress_flow_end(e, flow, NET_REASON_QUERIES);
}

/* The socket to the proxy is connected. */
void egress_proxy_ask(struct egress *e, struct egress_flow *flow)
{
	_cleanup_buf_ struct buf text = { 0 };

	flow->proxy = PROXY_ASKED;
	net_proxy_request(e->proxy, flow->name ? flow->name->text : NULL, flow->through_address ? &flow->through : NULL,
			  flow->port, &text);
	/* A fresh socket has room for it. */
	if (text.failed ||
	    send(flow->world.watch.fd, text.data, text.size, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)text.size)
		egress_flow_end(e, flow, NET_REASON_UNREACHABLE);
	else
		egress_timer_set(e, &flow->timer, flow->deadline_usec);
}

/* True: the connection is made, and what comes from now on is the server's. The head of the answer is taken from the
 * socket, and no byte behind it. */
bool egress_proxy_answered(struct egress *e, struct egress_flow *flow)
{
	static char text[NET_PROXY_ANSWER];
	const ssize_t got = recv(flow->world.watch.fd, text, sizeof(text), MSG_PEEK | MSG_DONTWAIT);
	const long size = got > 0 ? net_proxy_answer(text, (size_t)got) : -1;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if ((size == 0 && !flow->world.ended) ||
	    (size > 0 && recv(flow->world.watch.fd, text, (size_t)size, MSG_DONTWAIT) == size)) {
		flow->proxy = size > 0 ? PROXY_DONE : PROXY_ASKED;
		return size > 0;
	}
	egress_flow_end(e, flow, NET_REASON_UNREACHABLE);
	return false;
}
