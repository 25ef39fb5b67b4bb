/* What the keeper hears of a box's network. It is never waited for: what finds no room in the end is counted. */
#include "daemon/egress/egress_parts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static uint64_t wall_usec(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Reports that find no room wait in the box's buffer, each behind its size, as long as they fit there. */

/* True: it went, or never can. */
static bool send_bytes(struct egress_box *box, const unsigned char *data, size_t size)
{
	return box->socket.fd < 0 || send(box->socket.fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 ||
	       errno != EAGAIN;
}

static size_t event_bytes(const struct egress_box *box, struct egress_event *event, unsigned char *out)
{
	event->allowed = box->allowed;
	event->refused = box->refused;
	event->queries = box->queries;
	event->lost = box->lost;
	event->sent = box->sent;
	event->received = box->received;
	return egress_event_write(event, out);
}

static void send_connection(struct egress_box *box, struct egress_event *event)
{
	unsigned char data[EGRESS_EVENT_MAX];
	const uint16_t size = (uint16_t)event_bytes(box, event, data);

	if (box->reports.size == 0 && send_bytes(box, data, size))
		return;
	if (box->reports.size + sizeof(size) + size > EGRESS_REPORTS_MAX) {
		box->lost++;
		return;
	}
	buf_add(&box->reports, &size, sizeof(size));
	buf_add(&box->reports, data, size);
}

/* False: some wait still. */
static bool send_waiting(struct egress_box *box)
{
	uint16_t size;

	while (box->reports_sent < box->reports.size) {
		const unsigned char *at = (const unsigned char *)box->reports.data + box->reports_sent;

		memcpy(&size, at, sizeof(size));
		if (!send_bytes(box, at + sizeof(size), size))
			return false;
		box->reports_sent += sizeof(size) + size;
	}
	buf_free(&box->reports);
	box->reports = (struct buf){ 0 };
	box->reports_sent = 0;
	return true;
}

static void rule_text(const struct net_rule *rule, char out[NET_RULE_MAX])
{
	snprintf(out, NET_RULE_MAX, "%s", rule ? rule->text : "");
}

static void flow_connection(struct egress *e, const struct egress_flow *flow, struct net_connection *c)
{
	*c = (struct net_connection){ .time_usec = flow->time_usec,
				      .sent = flow->ways[EGRESS_UP].moved,
				      .received = flow->ways[EGRESS_DOWN].moved,
				      .number = flow->number,
				      .port = flow->port,
				      .allowed = flow->allowed,
				      .reason = flow->reason,
				      .level = flow->level,
				      .open = flow->allowed && flow->state != FLOW_DEAD };
	if (flow->allowed && flow->state == FLOW_DEAD)
		c->duration_usec = e->now > flow->start_usec ? e->now - flow->start_usec : 1;
	if (flow->name)
		snprintf(c->host, sizeof(c->host), "%s", flow->name->text);
	else
		net_address_text(&flow->asked, c->host);
	if (flow->proxy && flow->through_address)
		net_address_text(&flow->through, c->address);
	else if (flow->count > 0 && !flow->proxy)
		net_address_text(&flow->addresses[flow->at < flow->count ? flow->at : flow->count - 1], c->address);
	rule_text(flow->decision.rule, c->rule);
	if (flow->rule)
		snprintf(c->rule, sizeof(c->rule), "%s", flow->rule);
}

/* The decision when it is made, and what became of it when the connection ends. */
void egress_report_flow(struct egress *e, struct egress_flow *flow)
{
	struct egress_event event = { .kind = EGRESS_CONNECTION };
	struct egress_box *box = flow->turn.box;

	if (flow->number == 0) {
		flow->number = ++box->numbers;
		flow->time_usec = wall_usec();
		if (flow->allowed)
			box->allowed++;
		else
			box->refused++;
	}
	flow_connection(e, flow, &event.connection);
	send_connection(box, &event);
}

void egress_report_refused(struct egress *e, struct egress_box *box, const char *host, enum net_reason reason,
			   const struct net_rule *rule)
{
	struct egress_event event = {
		.kind = EGRESS_CONNECTION,
		.connection = { .time_usec = wall_usec(), .number = ++box->numbers, .reason = (uint8_t)reason }
	};

	(void)e;
	box->refused++;
	snprintf(event.connection.host, sizeof(event.connection.host), "%s", host);
	rule_text(rule, event.connection.rule);
	send_connection(box, &event);
}

void egress_report_request(struct egress *e, const struct egress_flow *flow, enum net_reason reason, const char *rule,
			   const char *request)
{
	struct egress_event event = { .kind = EGRESS_CONNECTION };
	struct egress_box *box = flow->turn.box;
	struct net_connection *c = &event.connection;

	flow_connection(e, flow, c);
	c->time_usec = wall_usec();
	c->duration_usec = c->sent = c->received = 0;
	c->number = ++box->numbers;
	c->allowed = c->open = 0;
	c->reason = (uint8_t)reason;
	c->level = NET_LEVEL_REQUEST;
	snprintf(c->rule, sizeof(c->rule), "%s", rule);
	snprintf(c->request, sizeof(c->request), "%s", request);
	box->refused++;
	send_connection(box, &event);
}

/* The answer that a keeper waits for is not lost: it is sent when there is room, after all that was reported before. */
void egress_report_totals(struct egress *e, struct egress_box *box)
{
	struct egress_event event = { .kind = EGRESS_TOTALS, .last = box->finishing };
	unsigned char data[EGRESS_EVENT_MAX];

	box->totals_wanted = !send_waiting(box) || !send_bytes(box, data, event_bytes(box, &event, data));
	if (box->finishing && !box->totals_wanted)
		egress_box_end(e, box);
}

void egress_report_room(struct egress *e, struct egress_box *box)
{
	if (box->totals_wanted)
		egress_report_totals(e, box);
	else
		send_waiting(box);
}
