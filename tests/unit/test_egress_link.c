/* The way to egress: what is sent, and what is believed of what comes back. */
#include "../check.h"

#include "base/fd.h"
#include "net/egress_link.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

static struct egress_link way;
static int ends[2];                   /* the other end of the link, and that of the egress socket */
static struct net_report report;      /* what was read */
static struct arena memory;           /* of policies */
static struct net_policy policy;      /* with one list */
static struct egress_sockets sockets; /* of a box */

static void setup(void)
{
	int pair[2];
	struct error err;

	egress_link_init(&way);
	CHECK_INT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	egress_link_set(&way, pair[0]);
	ends[0] = pair[1];
	report = (struct net_report){ 0 };
	policy = (struct net_policy){ .list_count = 1, .rate = 1000, .total = 7, .connections = 3 };
	CHECK_INT(net_list_parse("example.com,*.example.net:8443", &memory, &policy.lists[0], &err), 0);
	sockets = (struct egress_sockets){ .dns_udp = 0, .dns_tcp = 1, .listeners = { 2, 2 }, .count = 2 };
}

static void teardown(void)
{
	egress_link_set(&way, -1);
	close_fd(&ends[0]);
	close_fd(&ends[1]);
	net_report_free(&report);
	arena_free(&memory);
}

/* Opens a box's network, and takes the message as egress does. Our end of the egress socket. */
static int open_one(struct egress_head *head, struct net_policy *got)
{
	static char text[NET_POLICY_TEXT];
	struct iovec parts[2] = { { head, sizeof(*head) }, { text, sizeof(text) } };
	int fds[FD_MESSAGE_MAX], egress_fd = -1;
	size_t count = 0;
	struct error err;
	ssize_t size;

	CHECK_INT(egress_open(&way, &policy, &sockets, &egress_fd, &err), 0);
	size = fd_receive_parts(ends[0], parts, 2, fds, &count);
	CHECK_INT(size, sizeof(*head) + head->size);
	CHECK_INT(count, 5);
	CHECK_INT(net_policy_read(text, head->size, &memory, got, &err), 0);
	ends[1] = fds[0];
	while (count > 1)
		close(fds[--count]);
	return egress_fd;
}

static void a_box_is_opened_by_one_message(void)
{
	struct egress_head head;
	struct net_policy got;
	int fd, type = 0;
	socklen_t size = sizeof(type);

	setup();
	fd = open_one(&head, &got);
	CHECK_INT(head.kind, EGRESS_OPEN);
	CHECK_INT(head.listeners, 2);
	CHECK_INT(got.rate, 1000);
	CHECK_INT(got.total, 7);
	CHECK_INT(got.connections, 3);
	CHECK_INT(got.list_count, 1);
	CHECK_INT(got.lists[0].count, 2);
	CHECK_STR(got.lists[0].rules[1].text, "*.example.net:8443");
	CHECK(fcntl(fd, F_GETFL) & O_NONBLOCK);
	CHECK_INT(getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size), 0);
	CHECK_INT(type, SOCK_SEQPACKET);
	close(fd);
	teardown();
}

static void secrets_go_behind_the_policy(void)
{
	static const char *const hosts[] = { "example.com" };
	static char text[NET_POLICY_TEXT];
	struct net_secrets secrets = { .count = 0 }, read;
	struct egress_head head;
	struct iovec parts[2] = { { &head, sizeof(head) }, { text, sizeof(text) } };
	int fds[FD_MESSAGE_MAX], fd = -1;
	size_t count = 0;
	struct error err;
	ssize_t size;

	setup();
	CHECK_INT(net_secret_add(&secrets,
				 &(struct net_secret_parts){ "TOKEN", "s3cret-value", 12, hosts, 1, NULL, NULL },
				 &memory, &err),
		  0);
	CHECK_INT(egress_open_secret(&way, &policy, &secrets, &sockets, &fd, &err), 0);
	size = fd_receive_parts(ends[0], parts, 2, fds, &count);
	CHECK_INT(size, sizeof(head) + head.size + head.secrets);
	CHECK(head.size > 0 && head.secrets > 0);
	CHECK_INT(net_secrets_read(text + head.size, head.secrets, &memory, &read, &err), 0);
	CHECK_STR(read.items[0].value, "s3cret-value");
	CHECK_STR(read.items[0].placeholder, secrets.items[0].placeholder);
	while (count > 0)
		close(fds[--count]);
	close(fd);
	teardown();
}

static void without_egress_it_is_refused(void)
{
	struct error err;
	int fd = 0;

	setup();
	close_fd(&ends[0]);
	CHECK_INT(egress_open(&way, &policy, &sockets, &fd, &err), -1);
	CHECK_INT(err.errnum, EPIPE);
	CHECK_INT(fd, -1);
	egress_link_set(&way, -1);
	CHECK_INT(egress_open(&way, &policy, &sockets, &fd, &err), -1);
	CHECK_INT(err.errnum, ENOTCONN);
	CHECK_INT(way.generation, 1);
	teardown();
}

static void a_change_and_the_end_go_to_the_box(void)
{
	struct egress_head head;
	struct net_policy got;
	struct error err;
	char text[4096];
	int fds[FD_MESSAGE_MAX], fd;
	size_t count = 0;

	setup();
	fd = open_one(&head, &got);
	CHECK_INT(egress_change(fd, &policy, NULL, &err), 0);
	CHECK(fd_receive(ends[1], text, sizeof(text), fds, &count) > (ssize_t)sizeof(head));
	memcpy(&head, text, sizeof(head));
	CHECK_INT(head.kind, EGRESS_POLICY);
	CHECK_INT(head.listeners, 0);
	CHECK_INT(count, 0);
	CHECK_INT(egress_change(fd, &policy, &sockets, &err), 0);
	CHECK(fd_receive(ends[1], text, sizeof(text), fds, &count) > (ssize_t)sizeof(head));
	memcpy(&head, text, sizeof(head));
	CHECK_INT(head.listeners, 2);
	CHECK_INT(count, 2);
	close(fds[0]);
	close(fds[1]);
	CHECK_INT(egress_finish(fd), 0);
	CHECK_INT(fd_receive(ends[1], &head, sizeof(head), fds, &count), sizeof(head));
	CHECK_INT(head.kind, EGRESS_FINISH);
	CHECK_INT(head.size, 0);
	close(fd);
	teardown();
}

static struct egress_event connection(uint32_t number, bool open)
{
	struct egress_event event = { .kind = EGRESS_CONNECTION,
				      .allowed = number,
				      .sent = 10ul * number,
				      .connection = { .number = number, .allowed = 1, .open = open, .port = 443 } };

	snprintf(event.connection.host, sizeof(event.connection.host), "h%u.example.com", number);
	snprintf(event.connection.rule, sizeof(event.connection.rule), "*.example.com");
	return event;
}

static void send_event(const struct egress_event *event)
{
	unsigned char data[EGRESS_EVENT_MAX];
	const size_t size = egress_event_write(event, data);

	CHECK_INT(send(ends[1], data, size, 0), size);
}

static void events_become_a_report(void)
{
	struct egress_head head;
	struct net_policy got;
	struct egress_event events[4] = { connection(1, true), connection(3, false), connection(2, true),
					  connection(1, false) };
	struct egress_event totals = { .kind = EGRESS_TOTALS, .allowed = 3, .refused = 5, .queries = 7, .lost = 1 };
	int fd;

	setup();
	fd = open_one(&head, &got);
	CHECK_INT(egress_read(fd, &report), 1);
	CHECK_INT(report.count, 0);
	events[3].connection.received = 99;
	for (size_t i = 0; i < 4; i++)
		send_event(&events[i]);
	CHECK_INT(egress_read(fd, &report), 1);
	/* By number: the first report of the second came later than that of the third. */
	CHECK_INT(report.count, 3);
	CHECK_STR(report.connections[0].host, "h1.example.com");
	CHECK_INT(report.connections[0].open, 0);
	CHECK_INT(report.connections[0].received, 99);
	CHECK_STR(report.connections[1].host, "h2.example.com");
	CHECK_INT(report.connections[1].open, 1);
	CHECK_STR(report.connections[2].host, "h3.example.com");
	CHECK_INT(report.sent, 10);
	/* The answer to a change is not the end. */
	send_event(&totals);
	CHECK_INT(egress_read(fd, &report), 1);
	CHECK_INT(report.refused, 5);
	totals.last = 1;
	totals.refused = 6;
	send_event(&totals);
	close_fd(&ends[1]);
	CHECK_INT(egress_read_all(fd, &report, 10000), 0);
	CHECK_INT(report.refused, 6);
	CHECK_INT(report.queries, 7);
	CHECK_INT(report.lost, 1);
	CHECK(!report.gone);
	close(fd);
	teardown();
}

static void its_end_without_totals_is_told(void)
{
	struct egress_head head;
	struct net_policy got;
	struct egress_event totals = { .kind = EGRESS_TOTALS, .allowed = 3 };
	int fd;

	setup();
	fd = open_one(&head, &got);
	send_event(&totals);
	close_fd(&ends[1]);
	CHECK_INT(egress_read_all(fd, &report, 10000), -1);
	CHECK(report.gone);
	CHECK_INT(report.allowed, 3);
	close(fd);
	teardown();
}

#define CONNECTION(member) (offsetof(struct egress_event, connection) + offsetof(struct net_connection, member))

/* Whatever a process that was taken over would send. */
static void nonsense_is_not_believed(void)
{
	static const struct {
		size_t at, size; /* where what is written */
		unsigned char byte;
		long cut; /* bytes of the end that are left out, or added */
	} wrong[] = {
		{ 0 }, /* the control */
		{ offsetof(struct egress_event, kind), 1, 77, 0 },
		{ offsetof(struct egress_event, kind), 1, EGRESS_TOTALS, 0 },
		{ offsetof(struct egress_event, last), 1, 1, 0 },
		{ CONNECTION(reason), 1, NET_REASONS, 0 },
		{ CONNECTION(number), 4, 0, 0 },
		{ CONNECTION(level), 1, 3, 0 },
		{ CONNECTION(allowed), 1, 2, 0 },
		{ CONNECTION(open), 1, 2, 0 },
		{ CONNECTION(host) + sizeof("h1.example.com") - 1, 1, 'x', 0 },
		{ 0, 0, 0, 1 },
		{ 0, 0, 0, 10 },
		{ 0, 0, 0, 15 },
		{ 0, 0, 0, 60 },
		{ 0, 0, 0, 200 },
		{ 0, 0, 0, -1 },
		{ CONNECTION(host), 600, 'x', -600 },
	};
	const struct egress_event good = connection(1, true);

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		unsigned char data[EGRESS_EVENT_MAX + 600] = { 0 };
		size_t size = egress_event_write(&good, data);
		struct egress_head head;
		struct net_policy got;
		int fd;

		setup();
		fd = open_one(&head, &got);
		memset(data + wrong[i].at, wrong[i].byte, wrong[i].size);
		size = (long)size > wrong[i].cut ? size - (size_t)wrong[i].cut : 1;
		CHECK_INT(send(ends[1], data, size, 0), size);
		CHECK_INT(egress_read(fd, &report), i == 0 ? 1 : -1);
		CHECK_INT(report.gone, i != 0);
		close(fd);
		teardown();
	}
}

static void texts_of_any_length_arrive(void)
{
	struct egress_event event = connection(7, true), got;
	unsigned char data[EGRESS_EVENT_MAX];

	memset(event.connection.host, 'h', sizeof(event.connection.host) - 1);
	memset(event.connection.address, 'a', sizeof(event.connection.address) - 1);
	memset(event.connection.rule, 'r', sizeof(event.connection.rule) - 1);
	memset(event.connection.request, 'q', sizeof(event.connection.request) - 1);
	CHECK(egress_event_read(data, egress_event_write(&event, data), &got));
	CHECK_INT(memcmp(&event, &got, sizeof(event)), 0);
	memset(event.connection.host, 0, sizeof(event.connection.host));
	memset(event.connection.address, 0, sizeof(event.connection.address));
	memset(event.connection.rule, 0, sizeof(event.connection.rule));
	memset(event.connection.request, 0, sizeof(event.connection.request));
	CHECK(egress_event_read(data, egress_event_write(&event, data), &got));
	CHECK_INT(memcmp(&event, &got, sizeof(event)), 0);
}

static void a_report_keeps_so_many(void)
{
	struct egress_head head;
	struct net_policy got;
	int fd;

	setup();
	fd = open_one(&head, &got);
	for (uint32_t i = 1; i <= NET_REPORT_KEPT + 50; i++) {
		struct egress_event event = connection(i, false);

		send_event(&event);
		CHECK_INT(egress_read(fd, &report), 1);
	}
	CHECK_INT(report.count, NET_REPORT_KEPT);
	CHECK_INT(report.allowed, NET_REPORT_KEPT + 50);
	CHECK_INT(report.connections[NET_REPORT_KEPT - 1].number, NET_REPORT_KEPT);
	close(fd);
	teardown();
}

int main(void)
{
	ends[0] = ends[1] = -1;
	RUN(a_box_is_opened_by_one_message);
	RUN(secrets_go_behind_the_policy);
	RUN(without_egress_it_is_refused);
	RUN(a_change_and_the_end_go_to_the_box);
	RUN(events_become_a_report);
	RUN(its_end_without_totals_is_told);
	RUN(nonsense_is_not_believed);
	RUN(texts_of_any_length_arrive);
	RUN(a_report_keeps_so_many);
	return check_failures ? 1 : 0;
}
