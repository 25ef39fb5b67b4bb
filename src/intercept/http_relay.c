#include "intercept/http_relay.h"

#include "base/own.h"

#include <stdio.h>
#include <string.h>

void http_relay_init(struct http_relay *relay, const struct relay_calls *calls, void *owner,
		     const struct secret_target *target)
{
	memset(relay, 0, sizeof(*relay));
	relay->calls = calls;
	relay->owner = owner;
	relay->target = *target;
	relay->request = PART_HEAD;
	relay->response = PART_NONE;
	secret_mask_init(&relay->mask);
	relay->masking = secret_target_has(target);
	for (size_t i = 0; relay->masking && i < target->secrets->count; i++) {
		const struct net_secret *secret = &target->secrets->items[i];

		if (net_secret_covers(secret, target->name, target->port) &&
		    secret_mask_add_secret(&relay->mask, secret) < 0)
			relay->failed = true;
	}
}

static void buf_wipe(struct buf *buf)
{
	if (buf->data)
		explicit_bzero(buf->data, buf->room);
	buf_free(buf);
}

void http_relay_free(struct http_relay *relay)
{
	secret_mask_free(&relay->mask);
	secret_masker_free(&relay->masker);
	buf_wipe(&relay->request_head);
	buf_wipe(&relay->response_head);
	buf_wipe(&relay->request_trailers);
	buf_wipe(&relay->response_trailers);
	buf_wipe(&relay->to_world.buf);
	buf_wipe(&relay->to_box.buf);
}

void relay_queue_take(struct relay_queue *queue, size_t size)
{
	queue->sent += size;
	if (queue->sent == queue->buf.size) {
		/* What a large body needed is not kept for small ones. */
		if (queue->buf.room > 2 * RELAY_QUEUE)
			buf_free(&queue->buf);
		queue->buf.size = queue->sent = 0;
	} else if (queue->sent >= RELAY_QUEUE) {
		/* A side that is never quite done must not make it grow. */
		memmove(queue->buf.data, queue->buf.data + queue->sent, queue->buf.size - queue->sent);
		queue->buf.size -= queue->sent;
		queue->sent = 0;
	}
}

/* ---- answers of our own ---- */

static void json_string_add(struct buf *out, const char *text)
{
	buf_text(out, "\"");
	for (; *text; text++) {
		const unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			buf_printf(out, "\\u%04x", c);
		else
			buf_add(out, text, 1);
	}
	buf_text(out, "\"");
}

/* `stay`: the connection may carry another request. */
void relay_refuse(struct http_relay *relay, unsigned status, const struct relay_verdict *verdict, bool stay,
		  const char *sentence)
{
	const char *reason = net_reason_name(verdict->reason);
	_cleanup_buf_ struct buf body = { 0 };
	char extra[96];

	buf_text(&body, "{\"error\": {\"code\": ");
	json_string_add(&body, reason);
	buf_text(&body, ", \"message\": ");
	json_string_add(&body, sentence);
	buf_text(&body, "}}\n");
	snprintf(extra, sizeof(extra), "x-emberbox-denied: %s\r\n", reason);
	http_reply_head(&relay->to_box.buf, (int)status, "application/json", body.size, stay, extra);
	if (!relay->request_is_head)
		buf_add(&relay->to_box.buf, body.data, body.size);
	relay->failed |= body.failed;
	relay->calls->tell(relay->owner, verdict);
	if (stay)
		return;
	relay->request = PART_DONE;
	relay->box_over = relay->world_over = true;
}

void relay_break(struct http_relay *relay)
{
	relay->broken = true;
	relay->box_over = relay->world_over = true;
}

/* ---- what both sides have ---- */

void relay_chunk_add(struct buf *out, const char *data, size_t size)
{
	if (size == 0)
		return;
	buf_printf(out, "%zx\r\n", size);
	buf_add(out, data, size);
	buf_text(out, "\r\n");
}

/* RFC 9110, 6.5.1: not what says where a message goes, how it is read, or who sends it. */
static bool trailer_is_allowed(struct http_text name)
{
	static const char *const denied[] = { "authorization",
					      "cache-control",
					      "connection",
					      "content-encoding",
					      "content-length",
					      "content-range",
					      "content-type",
					      "cookie",
					      "expect",
					      "host",
					      "keep-alive",
					      "max-forwards",
					      "proxy-authenticate",
					      "proxy-authorization",
					      "proxy-connection",
					      "range",
					      "set-cookie",
					      "te",
					      "trailer",
					      "transfer-encoding",
					      "upgrade",
					      "www-authenticate" };

	for (size_t i = 0; i < ARRAY_SIZE(denied); i++)
		if (http_text_is(name, denied[i]))
			return false;
	return true;
}

void relay_trailers_add(struct buf *out, const struct buf *lines)
{
	for (size_t at = 0; at < lines->size;) {
		const char *line = lines->data + at, *end = memchr(line, '\n', lines->size - at);
		const size_t size = end ? (size_t)(end - line) + 1 : lines->size - at;
		const char *colon = memchr(line, ':', size);

		if (colon && trailer_is_allowed((struct http_text){ line, (size_t)(colon - line) }))
			buf_add(out, line, size);
		at += size;
	}
}

/* When request and response are both over, the next request may come. */
void relay_exchange_settle(struct http_relay *relay)
{
	if (relay->response != PART_DONE || (relay->request != PART_DONE && !relay->close))
		return;
	/* Also in the middle of a request whose rest the server does not want. */
	if (relay->close) {
		relay->box_over = relay->world_over = true;
		return;
	}
	relay->request = PART_HEAD;
	relay->response = PART_NONE;
}

size_t http_relay_from_box(struct http_relay *relay, const char *data, size_t size)
{
	size_t used = 0;

	while (used < size && !relay->failed) {
		size_t taken;

		if (relay->box_over)
			return size;
		if (relay_queue_left(&relay->to_world) >= RELAY_QUEUE ||
		    relay_queue_left(&relay->to_box) >= RELAY_QUEUE)
			break;
		taken = relay_request_take(relay, data + used, size - used);
		if (taken == 0)
			break;
		used += taken;
	}
	relay->failed |= relay->to_world.buf.failed || relay->to_box.buf.failed || relay->request_head.failed;
	return used;
}

size_t http_relay_from_world(struct http_relay *relay, const char *data, size_t size)
{
	size_t used = 0;

	while (used < size && !relay->failed) {
		size_t taken;

		if (relay->box_over)
			return size;
		if (relay_queue_left(&relay->to_box) >= RELAY_QUEUE)
			break;
		taken = relay_response_take(relay, data + used, size - used);
		if (taken == 0)
			break;
		used += taken;
	}
	relay->failed |= relay->to_box.buf.failed || relay->response_head.failed || relay->masker.held.failed;
	return used;
}

void http_relay_box_ended(struct http_relay *relay)
{
	if (relay->box_over)
		return;
	relay->close = true;
	switch (relay->request) {
	case PART_DONE: /* it waits for its answer */
		break;
	case PART_TUNNEL:
		relay->world_over = true;
		break;
	case PART_HEAD: /* between two requests, or in the middle of a head that nobody needs now */
		relay->box_over = relay->world_over = true;
		break;
	default:
		relay_break(relay);
	}
}

void http_relay_world_ended(struct http_relay *relay, bool clean)
{
	if (relay->box_over || relay->world_failed)
		return;
	relay->world_over = true;
	switch (relay->response) {
	case PART_END:
		if (!clean) {
			relay_break(relay);
			return;
		}
		if (relay->masking)
			secret_masker_take(&relay->masker, &relay->mask, "", 0, true, &relay->to_box.buf);
		relay->box_over = true;
		break;
	case PART_TUNNEL:
	case PART_NONE: /* between two requests: the box sees the same end */
		relay->box_over = true;
		relay->broken = !clean && relay->response == PART_TUNNEL;
		break;
	default: /* in the middle of an answer, or before it */
		relay_break(relay);
	}
}

void http_relay_world_failed(struct http_relay *relay, enum net_reason reason, const char *sentence)
{
	const struct relay_verdict verdict = { false, reason, NULL, "", "" };

	if (relay->world_failed || relay->box_over)
		return;
	relay->world_failed = true;
	relay->failure = reason;
	snprintf(relay->failure_sentence, sizeof(relay->failure_sentence), "%s", sentence);
	relay_queue_take(&relay->to_world, relay_queue_left(&relay->to_world));
	relay->world_over = true;
	/* A request that was passed on already gets its answer now. */
	if (relay->response == PART_HEAD)
		relay_refuse(relay, 502, &verdict, false, sentence);
	else if (relay->response != PART_NONE)
		relay_break(relay);
}
