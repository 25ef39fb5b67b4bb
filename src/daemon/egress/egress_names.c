/*
 * The names of a box, and its name server.
 *
 * A name that the policy allows gets an address of its own from 198.18.0.0/15, which stays its own as long as the box
 * lives: a connection to that address is one to that name, whatever the name leads to by then. Before the name server
 * answers it asks what the name leads to, so that a name that does not exist is one that does not exist in the box,
 * too. A name that is not allowed does not exist, and nobody outside is asked.
 */
#include "base/own.h"
#include "daemon/egress/egress_parts.h"
#include "net/dns_message.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	NAMES_BASE = 0xC6120000, /* 198.18.0.0 */
	NAMES_BITS = 15,
	NAMES_TABLE = 64,  /* lists of the hash table at first */
	QUERY_MOST = 1232, /* bytes of a query */
	QUERIES_A_TURN = 16,
	WAITING_MAX = 64,       /* queries that wait for what a name leads to */
	STREAMS_MAX = 8,        /* connections over TCP */
	STREAM_USEC = 10000000, /* for one of them, from question to question */
	TTL_FOUND = 60,         /* seconds: the address stays the name's in any case */
	TTL_NOT = 1,            /* a policy may change */
};

/* A query that waits for what its name leads to. */
struct egress_query {
	LIST_ENTRY(egress_query) link;
	struct egress_waiter waiter;
	struct egress_box *box;
	struct egress_stream *stream; /* NULL: it came over UDP, from: */
	struct sockaddr_storage from;
	socklen_t from_size;
	size_t size;
	unsigned char packet[];
};

/* A connection over TCP. */
struct egress_stream {
	LIST_ENTRY(egress_stream) link; /* in the name server's list, or that of the dead */
	struct egress_watch watch;
	struct egress_timer timer;
	struct egress_box *box;
	size_t size;
	unsigned char data[2 + QUERY_MOST];
};

struct query_origin {
	struct egress_stream *stream; /* NULL: UDP */
	const struct sockaddr_storage *from;
	socklen_t from_size;
};

static void stream_end(struct egress *e, struct egress_stream *stream);

/* The table */

static size_t name_hash(const char *text)
{
	uint64_t hash = 14695981039346656037u;

	while (*text)
		hash = (hash ^ (unsigned char)*text++) * 1099511628211u;
	return (size_t)(hash ^ hash >> 29);
}

static struct egress_bin *bin_of(const struct egress_names *names, const char *text)
{
	return &names->table[name_hash(text) & (names->room - 1)];
}

static int table_grow(struct egress_names *names)
{
	struct egress_names more = { .room = names->room ? 2 * names->room : NAMES_TABLE };

	more.table = calloc(more.room, sizeof(*more.table));
	if (!more.table)
		return -1;
	for (size_t i = 0; i < names->room; i++) {
		struct egress_name *name;

		while ((name = LIST_FIRST(&names->table[i]))) {
			LIST_REMOVE(name, link);
			LIST_INSERT_HEAD(bin_of(&more, name->text), name, link);
		}
	}
	free(names->table);
	names->table = more.table;
	names->room = more.room;
	return 0;
}

static void name_free(struct egress_names *names, struct egress_name *name)
{
	LIST_REMOVE(name, link);
	names->count--;
	free(name);
}

/* Names without an address, of which nobody waits to hear: what did not exist is asked again. */
static void forget_names(struct egress_names *names)
{
	for (size_t i = 0; i < names->room; i++) {
		struct egress_name *name = LIST_FIRST(&names->table[i]), *next;

		for (; name; name = next) {
			next = LIST_NEXT(name, link);
			if (name->index == 0 && !name->lookup && LIST_EMPTY(&name->waiters))
				name_free(names, name);
		}
	}
}

struct egress_name *egress_name_get(struct egress_box *box, const char *text)
{
	struct egress_names *names = &box->names;
	const size_t size = strlen(text) + 1;
	struct egress_name *name;

	if (names->room > 0)
		LIST_FOREACH(name, bin_of(names, text), link)
	if (strcmp(name->text, text) == 0)
		return name;
	if (names->count >= EGRESS_NAMES_MAX)
		forget_names(names);
	if (names->count >= EGRESS_NAMES_MAX || (names->count >= names->room && table_grow(names) < 0))
		return NULL;
	name = calloc(1, sizeof(*name) + size);
	if (!name)
		return NULL;
	memcpy(name->text, text, size);
	LIST_INSERT_HEAD(bin_of(names, text), name, link);
	names->count++;
	return name;
}

/* Its address, given to it when it is first needed. */
static bool name_address(struct egress_names *names, struct egress_name *name, struct net_address *address)
{
	uint32_t host;

	if (name->index == 0) {
		/* By powers of two. */
		if ((names->indexes & (names->indexes - 1)) == 0) {
			const size_t room = names->indexes ? 2 * names->indexes : 1;
			struct egress_name **more = realloc(names->by_index, room * sizeof(struct egress_name *));

			if (!more)
				return false;
			names->by_index = more;
		}
		names->by_index[names->indexes] = name;
		name->index = (uint32_t)++names->indexes;
	}
	host = htonl(NAMES_BASE + name->index);
	*address = (struct net_address){ .family = AF_INET };
	memcpy(address->bytes, &host, sizeof(host));
	return true;
}

static uint32_t host_bits(const struct net_address *address)
{
	uint32_t host;

	memcpy(&host, address->bytes, sizeof(host));
	return ntohl(host);
}

bool egress_is_synthetic(const struct net_address *address)
{
	return address->family == AF_INET &&
	       host_bits(address) >> (32 - NAMES_BITS) == (uint32_t)NAMES_BASE >> (32 - NAMES_BITS);
}

struct egress_name *egress_name_at(const struct egress_box *box, const struct net_address *address)
{
	const uint32_t index = host_bits(address) - NAMES_BASE;

	if (!egress_is_synthetic(address) || index == 0 || index > box->names.indexes)
		return NULL;
	return box->names.by_index[index - 1];
}

/* Whether this refusal is new: a program asks for A and AAAA, and asks again. */
static bool refused_newly(struct egress_names *names, const char *text)
{
	char **at = &names->refused[names->refused_next];

	for (size_t i = 0; i < ARRAY_SIZE(names->refused); i++)
		if (names->refused[i] && strcmp(names->refused[i], text) == 0)
			return false;
	free(*at);
	*at = strdup(text);
	names->refused_next = (names->refused_next + 1) % ARRAY_SIZE(names->refused);
	return true;
}

/* Answers */

static void answer(struct egress *e, struct egress_box *box, const struct query_origin *to,
		   const struct dns_query *query, const struct dns_answer *what)
{
	unsigned char out[2 + DNS_ANSWER_MOST];
	const size_t size = dns_answer_write(query, what, to->stream ? UINT16_MAX : query->room, out + 2);

	if (!to->stream) {
		sendto(box->dns.udp.fd, out + 2, size, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)to->from,
		       to->from_size);
		return;
	}
	out[0] = (unsigned char)(size >> 8);
	out[1] = (unsigned char)size;
	/* One that does not read its answers asked for too many. */
	if (send(to->stream->watch.fd, out, size + 2, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)size + 2)
		stream_end(e, to->stream);
}

static void answer_code(struct egress *e, struct egress_box *box, const struct query_origin *to,
			const struct dns_query *query, enum dns_code code)
{
	answer(e, box, to, query, &(struct dns_answer){ .code = code, .ttl = TTL_NOT });
}

static void too_many(struct egress *e, struct egress_box *box, const struct query_origin *to,
		     const struct dns_query *query)
{
	if (!box->names.too_many)
		egress_report_refused(e, box, query->name, NET_REASON_QUERIES, NULL);
	box->names.too_many = true;
	answer_code(e, box, to, query, DNS_REFUSED);
}

static void query_free(struct egress_query *query)
{
	egress_waiter_end(&query->waiter);
	query->box->dns.waiting--;
	LIST_REMOVE(query, link);
	free(query);
}

static void query_answer(struct egress *e, struct egress_box *box, const struct query_origin *to,
			 const struct dns_query *query, struct egress_name *name, enum egress_found found)
{
	static const enum dns_code codes[] = { [EGRESS_UNKNOWN] = DNS_SERVFAIL,
					       [EGRESS_FOUND] = DNS_NOERROR,
					       [EGRESS_NO_NAME] = DNS_NXDOMAIN,
					       [EGRESS_NO_ADDRESS] = DNS_NOERROR,
					       [EGRESS_FAILED] = DNS_SERVFAIL };
	struct net_address address;
	struct net_decision decision;

	if (found == EGRESS_FOUND) {
		name->told = false;
		if (name_address(&box->names, name, &address))
			answer(e, box, to, query,
			       &(struct dns_answer){ .ttl = TTL_FOUND, .addresses = &address, .count = 1 });
		else
			answer_code(e, box, to, query, DNS_SERVFAIL);
		return;
	}
	net_policy_decide(&box->policy, &(struct net_question){ .name = name->text }, &decision);
	if (!name->told)
		egress_report_refused(e, box, name->text, NET_REASON_UNRESOLVED, decision.rule);
	name->told = true;
	answer_code(e, box, to, query, codes[found]);
}

static void query_resolved(struct egress *e, struct egress_waiter *waiter, struct egress_name *name)
{
	struct egress_query *query = (struct egress_query *)((char *)waiter - offsetof(struct egress_query, waiter));
	const struct query_origin to = { query->stream, &query->from, query->from_size };
	struct dns_query parsed;

	/* The answer may end the stream, and with it all queries of it. */
	query->stream = NULL;
	if (dns_query_read(query->packet, query->size, &parsed) == DNS_QUERY_VALID)
		query_answer(e, query->box, &to, &parsed, name, name->found);
	query_free(query);
}

static void query_ask(struct egress *e, struct egress_box *box, const struct query_origin *to,
		      const struct dns_query *query, struct egress_name *name, const unsigned char *data, size_t size)
{
	struct egress_query *waits;

	if (box->dns.waiting >= WAITING_MAX) {
		too_many(e, box, to, query);
		return;
	}
	waits = calloc(1, sizeof(*waits) + size);
	if (!waits) {
		answer_code(e, box, to, query, DNS_SERVFAIL);
		return;
	}
	*waits = (struct egress_query){ .waiter.resolved = query_resolved,
					.box = box,
					.stream = to->stream,
					.from_size = to->from_size,
					.size = size };
	if (to->from)
		waits->from = *to->from;
	memcpy(waits->packet, data, size);
	LIST_INSERT_HEAD(&box->dns.queries, waits, link);
	box->dns.waiting++;
	if (egress_resolve(e, box, name, &waits->waiter))
		return;
	query_free(waits);
	too_many(e, box, to, query);
}

static void query_reverse(struct egress *e, struct egress_box *box, const struct query_origin *to,
			  const struct dns_query *query)
{
	const struct egress_name *name;
	struct net_address address;

	name = dns_reverse_name(query->name, &address) ? egress_name_at(box, &address) : NULL;
	if (name)
		answer(e, box, to, query, &(struct dns_answer){ .ttl = TTL_FOUND, .target = name->text });
	else
		answer_code(e, box, to, query, DNS_NXDOMAIN);
}

/* Programs without a hosts file ask for it, and it leads nowhere outside. */
static void query_localhost(struct egress *e, struct egress_box *box, const struct query_origin *to,
			    const struct dns_query *query)
{
	struct net_address addresses[2];

	net_address_parse("127.0.0.1", &addresses[0]);
	net_address_parse("::1", &addresses[1]);
	answer(e, box, to, query, &(struct dns_answer){ .ttl = TTL_FOUND, .addresses = addresses, .count = 2 });
}

static void query_name(struct egress *e, struct egress_box *box, const struct query_origin *to,
		       const struct dns_query *query, const unsigned char *data, size_t size)
{
	struct net_decision decision = { .reason = NET_REASON_NAME };
	struct egress_name *name;
	char text[NET_NAME_MAX];

	if (net_name_of_wire(query->name, strlen(query->name), text))
		net_policy_decide(&box->policy, &(struct net_question){ .name = text }, &decision);
	if (!decision.allowed) {
		if (*query->name && refused_newly(&box->names, query->name))
			egress_report_refused(e, box, query->name, decision.reason, decision.rule);
		answer_code(e, box, to, query, DNS_NXDOMAIN);
		return;
	}
	/* It has no addresses of IPv6, and no records of HTTPS, whose keys would hide the name in a ClientHello. */
	if (query->type != DNS_TYPE_A) {
		answer_code(e, box, to, query, DNS_NOERROR);
		return;
	}
	name = egress_name_get(box, text);
	if (!name)
		too_many(e, box, to, query);
	/* What the proxy resolves is not asked here. */
	else if (strcmp(text, "host") == 0 ||
		 (decision.rule->kind != NET_RULE_PUBLIC && egress_proxy_takes(e, text, NULL, 0)))
		query_answer(e, box, to, query, name, EGRESS_FOUND);
	else
		query_ask(e, box, to, query, name, data, size);
}

static void query_take(struct egress *e, struct egress_box *box, const struct query_origin *to,
		       const unsigned char *data, size_t size)
{
	struct dns_query query;
	const enum dns_verdict verdict = dns_query_read(data, size, &query);

	if (verdict == DNS_QUERY_IGNORED) {
		if (to->stream)
			stream_end(e, to->stream);
		return;
	}
	box->queries++;
	if (verdict == DNS_QUERY_REJECTED) {
		answer_code(e, box, to, &query, query.code);
		return;
	}
	if (egress_bucket_level(&box->names.queries, e->now) == 0) {
		too_many(e, box, to, &query);
		return;
	}
	egress_bucket_take(&box->names.queries, 1);
	if (verdict == DNS_QUERY_BAD_NAME) {
		if (refused_newly(&box->names, query.name))
			egress_report_refused(e, box, query.name, NET_REASON_NAME, NULL);
		answer_code(e, box, to, &query, DNS_NXDOMAIN);
		return;
	}
	if (query.type == DNS_TYPE_PTR)
		query_reverse(e, box, to, &query);
	else if (strcmp(query.name, "localhost") == 0)
		query_localhost(e, box, to, &query);
	else
		query_name(e, box, to, &query, data, size);
}

/* Over UDP */

static bool udp_turn(struct egress *e, struct egress_turn *turn)
{
	struct egress_box *box = turn->box;

	for (int i = 0; i < QUERIES_A_TURN; i++) {
		unsigned char data[QUERY_MOST];
		struct sockaddr_storage from;
		struct query_origin to = { .from = &from };
		ssize_t got;

		to.from_size = sizeof(from);
		got = recvfrom(box->dns.udp.fd, data, sizeof(data), MSG_DONTWAIT | MSG_TRUNC, (struct sockaddr *)&from,
			       &to.from_size);
		/* An answer that could not be delivered is an error of the next call. */
		if (got < 0 && errno != ECONNREFUSED && errno != EINTR)
			return false;
		if (got >= 0 && got <= (ssize_t)sizeof(data))
			query_take(e, box, &to, data, (size_t)got);
		if (box->dead)
			return false;
	}
	return true;
}

static void udp_ready(struct egress *e, struct egress_watch *watch, uint32_t events)
{
	struct egress_dns *dns = (struct egress_dns *)((char *)watch - offsetof(struct egress_dns, udp));

	egress_queue(e, &dns->udp_turn);
}

/* Over TCP */

static void stream_end(struct egress *e, struct egress_stream *stream)
{
	struct egress_query *query = LIST_FIRST(&stream->box->dns.queries), *next;

	if (stream->watch.fd < 0)
		return;
	for (; query; query = next) {
		next = LIST_NEXT(query, link);
		if (query->stream == stream)
			query_free(query);
	}
	egress_watch_end(e, &stream->watch);
	egress_timer_end(e, &stream->timer);
	LIST_REMOVE(stream, link);
	stream->box->dns.stream_count--;
	LIST_INSERT_HEAD(&e->dead_streams, stream, link);
}

void egress_streams_free(struct egress *e)
{
	struct egress_stream *stream;

	while ((stream = LIST_FIRST(&e->dead_streams))) {
		LIST_REMOVE(stream, link);
		free(stream);
	}
}

static void stream_late(struct egress *e, struct egress_timer *timer)
{
	stream_end(e, (struct egress_stream *)((char *)timer - offsetof(struct egress_stream, timer)));
}

/* Level by level: there are few. */
static void stream_ready(struct egress *e, struct egress_watch *watch, uint32_t events)
{
	struct egress_stream *stream = (struct egress_stream *)((char *)watch - offsetof(struct egress_stream, watch));
	size_t wanted = 2;
	ssize_t got;

	if (stream->size >= 2)
		wanted += (size_t)stream->data[0] << 8 | stream->data[1];
	if (wanted > sizeof(stream->data)) {
		stream_end(e, stream);
		return;
	}
	got = recv(watch->fd, stream->data + stream->size, wanted - stream->size, MSG_DONTWAIT);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		stream_end(e, stream);
		return;
	}
	stream->size += (size_t)got;
	if (stream->size < wanted || wanted == 2)
		return;
	stream->size = 0;
	egress_timer_set(e, &stream->timer, e->now + STREAM_USEC);
	query_take(e, stream->box, &(struct query_origin){ .stream = stream }, stream->data + 2, wanted - 2);
}

static bool tcp_turn(struct egress *e, struct egress_turn *turn)
{
	struct egress_box *box = turn->box;
	int fd = accept4(box->dns.tcp.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct egress_stream *stream;

	if (fd < 0)
		return errno == ECONNABORTED || errno == EINTR;
	stream = box->dns.stream_count < STREAMS_MAX ? calloc(1, sizeof(*stream)) : NULL;
	if (!stream) {
		close(fd);
		return true;
	}
	*stream = (struct egress_stream){ .watch = { fd, stream_ready }, .timer.fire = stream_late, .box = box };
	LIST_INSERT_HEAD(&box->dns.streams, stream, link);
	box->dns.stream_count++;
	egress_timer_set(e, &stream->timer, e->now + STREAM_USEC);
	if (egress_watch_add(e, &stream->watch, EPOLLIN | EPOLLRDHUP) < 0)
		stream_end(e, stream);
	return true;
}

static void tcp_ready(struct egress *e, struct egress_watch *watch, uint32_t events)
{
	struct egress_dns *dns = (struct egress_dns *)((char *)watch - offsetof(struct egress_dns, tcp));

	egress_queue(e, &dns->tcp_turn);
}

int egress_names_open(struct egress *e, struct egress_box *box, int udp, int tcp)
{
	struct egress_dns *dns = &box->dns;

	dns->udp = (struct egress_watch){ udp, udp_ready };
	dns->tcp = (struct egress_watch){ tcp, tcp_ready };
	dns->udp_turn = (struct egress_turn){ .box = box, .take = udp_turn };
	dns->tcp_turn = (struct egress_turn){ .box = box, .take = tcp_turn };
	egress_bucket_open(&box->names.queries, EGRESS_QUERIES_RATE, EGRESS_QUERIES_BURST, e->now);
	if (egress_watch_add(e, &dns->udp, EPOLLIN | EPOLLET) < 0 ||
	    egress_watch_add(e, &dns->tcp, EPOLLIN | EPOLLET) < 0)
		return -1;
	return 0;
}

void egress_names_close(struct egress *e, struct egress_box *box)
{
	struct egress_name *name;

	while (!LIST_EMPTY(&box->dns.streams))
		stream_end(e, LIST_FIRST(&box->dns.streams));
	while (!LIST_EMPTY(&box->dns.queries))
		query_free(LIST_FIRST(&box->dns.queries));
	egress_watch_end(e, &box->dns.udp);
	egress_watch_end(e, &box->dns.tcp);
	for (size_t i = 0; i < box->names.room; i++)
		LIST_FOREACH(name, &box->names.table[i], link)
	egress_lookup_end(name);
}

void egress_names_free(struct egress_box *box)
{
	struct egress_names *names = &box->names;

	for (size_t i = 0; i < names->room; i++)
		while (!LIST_EMPTY(&names->table[i]))
			name_free(names, LIST_FIRST(&names->table[i]));
	for (size_t i = 0; i < ARRAY_SIZE(names->refused); i++)
		free(names->refused[i]);
	free(names->by_index);
	free(names->table);
}
