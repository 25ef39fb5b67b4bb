/* A response on its way from the server to the box. */
#include "intercept/http_relay.h"

#include "base/own.h"

#include <string.h>

/* The server's answer cannot be passed on, and nothing of it was. */
static void response_refused(struct http_relay *relay, const char *fault)
{
	const struct relay_verdict verdict = { false, NET_REASON_HTTP, NULL, "", "" };
	char sentence[SECRET_SENTENCE];

	snprintf(sentence, sizeof(sentence), "The answer of %.253s is refused: %s.", relay->target.name, fault);
	relay_refuse(relay, 502, &verdict, false, sentence);
	relay->response = PART_DONE;
}

/* The value, with what must not be seen masked; NULL: no memory. */
static const char *value_masked(struct http_relay *relay, struct http_text value, struct buf *scratch)
{
	scratch->size = 0;
	buf_add(scratch, value.data ? value.data : "", value.size);
	if (scratch->failed) {
		relay->failed = true;
		return "";
	}
	if (relay->masking)
		secret_mask_apply(&relay->mask, scratch->data, scratch->size);
	return scratch->data;
}

static void fields_add(struct http_relay *relay, const struct relay_head *head, struct buf *out)
{
	_cleanup_buf_ struct buf scratch = { 0 };

	for (size_t i = 0; i < head->field_count; i++) {
		const struct http_field *field = &head->fields[i];

		/* Alt-Svc names other doors of the server, to which there is no way. */
		if (relay_field_is_hop(head, field) || http_text_is(field->name, "alt-svc") ||
		    http_text_is(field->name, "x-emberbox-denied"))
			continue;
		buf_add(out, value_masked(relay, field->name, &scratch), field->name.size);
		buf_text(out, ": ");
		buf_add(out, value_masked(relay, field->value, &scratch), field->value.size);
		buf_text(out, "\r\n");
	}
}

static void status_add(struct http_relay *relay, const struct relay_head *head, struct buf *out)
{
	_cleanup_buf_ struct buf scratch = { 0 };

	buf_printf(out, "HTTP/1.1 %u ", head->status);
	buf_add(out, value_masked(relay, head->reason, &scratch), head->reason.size);
	buf_text(out, "\r\n");
}

static void interim_forward(struct http_relay *relay, const struct relay_head *head)
{
	struct buf *out = &relay->to_box.buf;

	if (++relay->interim > RELAY_INTERIM_MAX) {
		response_refused(relay, "it has too many interim answers");
		return;
	}
	relay->awaits_continue &= head->status != 100;
	if (relay->request_is_old)
		return;
	status_add(relay, head, out);
	fields_add(relay, head, out);
	buf_text(out, "\r\n");
}

static void tunnel_begin(struct http_relay *relay, const struct relay_head *head)
{
	struct buf *out = &relay->to_box.buf;

	if (!relay->upgrading || !http_text_is(head->upgrade, "websocket")) {
		response_refused(relay, "it changes to a protocol that was not asked for");
		return;
	}
	status_add(relay, head, out);
	fields_add(relay, head, out);
	buf_text(out, "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
	relay->request = relay->response = PART_TUNNEL;
}

/* Where the body ends: RFC 9112, 6.3. */
static enum relay_part body_part(const struct http_relay *relay, const struct relay_head *head)
{
	if (relay->request_is_head || head->status == 204 || head->status == 304)
		return PART_DONE;
	if (head->chunked)
		return PART_CHUNKS;
	if (head->has_length)
		return head->length > 0 ? PART_LENGTH : PART_DONE;
	return PART_END;
}

static bool is_encoded(const struct relay_head *head)
{
	for (size_t i = 0; i < head->field_count; i++)
		if (http_text_is(head->fields[i].name, "content-encoding") &&
		    !http_text_is(head->fields[i].value, "identity") && head->fields[i].value.size > 0)
			return true;
	return false;
}

static void final_forward(struct http_relay *relay, const struct relay_head *head)
{
	struct buf *out = &relay->to_box.buf;
	const enum relay_part part = body_part(relay, head);

	if (relay->masking && part != PART_DONE && is_encoded(head)) {
		response_refused(relay,
				 "it is compressed although that was not asked for, so a secret in it could not be "
				 "masked");
		return;
	}
	/* Whether a client that waited for 100 sends its body now is not sure. */
	relay->close |= head->close || part == PART_END || relay->awaits_continue;
	relay->response_chunked = part == PART_CHUNKS && !relay->request_is_old;
	status_add(relay, head, out);
	fields_add(relay, head, out);
	if (relay->response_chunked)
		buf_text(out, "Transfer-Encoding: chunked\r\n");
	else if (head->has_length && head->status != 204)
		buf_printf(out, "Content-Length: %llu\r\n", (unsigned long long)head->length);
	if (relay->close)
		buf_text(out, "Connection: close\r\n");
	buf_text(out, "\r\n");
	relay->response_left = head->length;
	relay->response_chunks = (struct http_chunks){ .trailers = &relay->response_trailers };
	relay->response_trailers.size = 0;
	relay->response = part;
	relay->upgrading = false;
	relay_exchange_settle(relay);
}

static void head_handle(struct http_relay *relay)
{
	struct relay_head head;
	struct http_fault fault;

	if (relay_response_read(relay->response_head.data, relay->response_head.size, &head, &fault) < 0)
		response_refused(relay, fault.message);
	else if (head.status == 101)
		tunnel_begin(relay, &head);
	else if (head.status < 200)
		interim_forward(relay, &head);
	else
		final_forward(relay, &head);
}

static size_t head_take(struct http_relay *relay, const char *data, size_t size)
{
	struct buf *head = &relay->response_head;
	const size_t before = head->size;
	size_t taken = RELAY_RESPONSE_MAX - before < size ? RELAY_RESPONSE_MAX - before : size, end;

	buf_add(head, data, taken);
	if (head->failed)
		return 0;
	end = relay_head_end(head->data, head->size, before);
	if (end > 0) {
		taken = end - before;
		head->size = end;
		head_handle(relay);
	} else if (head->size >= RELAY_RESPONSE_MAX) {
		response_refused(relay, "its head is longer than 65536 bytes");
	} else {
		return taken;
	}
	buf_free(head);
	return taken;
}

/* ---- the body ---- */

static void content_add(struct http_relay *relay, const char *data, size_t size, bool last)
{
	_cleanup_buf_ struct buf content = { 0 };
	struct buf *out = relay->response_chunked ? &content : &relay->to_box.buf;

	if (relay->masking)
		secret_masker_take(&relay->masker, &relay->mask, data, size, last, out);
	else
		buf_add(out, data, size);
	if (relay->response_chunked)
		relay_chunk_add(&relay->to_box.buf, content.data, content.size);
	relay->failed |= content.failed;
}

static void body_done(struct http_relay *relay)
{
	relay->response = PART_DONE;
	if (relay->response_chunked) {
		struct buf *out = &relay->to_box.buf, *lines = &relay->response_trailers;

		buf_text(out, "0\r\n");
		if (relay->masking && lines->size > 0)
			secret_mask_apply(&relay->mask, lines->data, lines->size);
		relay_trailers_add(out, lines);
		buf_text(out, "\r\n");
	}
	relay_exchange_settle(relay);
}

static size_t chunks_take(struct http_relay *relay, const char *data, size_t size)
{
	_cleanup_buf_ struct buf content = { 0 };
	struct http_fault fault;
	size_t used = 0;
	int done = http_chunks_take(&relay->response_chunks, data, size, &used, UINT64_MAX, &content, &fault);

	relay->failed |= content.failed || relay->response_trailers.failed;
	if (done < 0) {
		relay_break(relay);
		return used;
	}
	content_add(relay, content.data, content.size, done > 0);
	if (done > 0)
		body_done(relay);
	return used;
}

size_t relay_response_take(struct http_relay *relay, const char *data, size_t size)
{
	switch (relay->response) {
	case PART_HEAD:
		return head_take(relay, data, size);
	case PART_LENGTH:
		if (size > relay->response_left)
			size = (size_t)relay->response_left;
		relay->response_left -= size;
		content_add(relay, data, size, relay->response_left == 0);
		if (relay->response_left == 0)
			body_done(relay);
		return size;
	case PART_CHUNKS:
		return chunks_take(relay, data, size);
	case PART_END:
		content_add(relay, data, size, false);
		return size;
	case PART_TUNNEL:
		buf_add(&relay->to_box.buf, data, size);
		return size;
	default:
		/* Nobody asked for these bytes. */
		relay->box_over = relay->world_over = true;
		return size;
	}
}
