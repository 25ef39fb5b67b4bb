/* The door of frames: wire/frame.h. */
#include "daemon/front/front_parts.h"

#include "base/own.h"
#include "base/terminal_size.h"

#include <string.h>
#include <unistd.h>

enum {
	INPUT_MAX = 64 << 10 /* bytes of stdin that wait for the program */
};

/* The protocol of frames is older than these two codes, and its clients know what it had in their place. */
static enum error_code code_of_frames(enum error_code code)
{
	return code == CODE_NOT_FOUND ? CODE_BAD_REQUEST : code == CODE_NOT_INSTALLED ? CODE_UNKNOWN_LANGUAGE : code;
}

static void frames_refuse(struct front *front, struct peer *peer, const struct error *err, unsigned retry_after)
{
	_cleanup_free_ char *text = NULL;
	struct error told = *err;

	error_recode(&told, code_of_frames(err->code));
	text = front_error_json(&told, retry_after, NULL, false);

	if (text)
		connection_send(&peer->link, FRAME_ERROR, text, strlen(text));
	else
		peer->link.broken = true;
}

/* What no peer that knows the protocol sends: nothing after it can be understood. */
static void violation(struct front *front, struct peer *peer, const char *message)
{
	peer_refuse(front, peer, CODE_BAD_REQUEST, "", 0, message);
	peer->closing = true;
}

static void frames_confirm(struct front *front, struct peer *peer, const char *confirm, const struct error *err)
{
	_cleanup_free_ char *text = front_error_json(err, 0, confirm, false);

	peer_abandon(front, peer);
	if (text)
		connection_send(&peer->link, FRAME_ERROR, text, strlen(text));
	else
		peer->link.broken = true;
}

static void frames_request(struct front *front, struct peer *peer, const char *json, size_t size)
{
	char confirm[CONFIRM_MAX];
	struct error err = { 0 };

	switch (policy_apply(front, peer, json, size, confirm, &err)) {
	case POLICY_GO:
		peer_submit(front, peer);
		break;
	case POLICY_REFUSED:
		peer_refuse_error(front, peer, &err);
		break;
	case POLICY_CONFIRM:
		frames_confirm(front, peer, confirm, &err);
		break;
	}
}

static void frames_input(struct front *front, struct peer *peer, const char *data, size_t size)
{
	/* A run may end while its stdin is on the way: what comes late is nobody's. */
	if (peer->state == PEER_IDLE || !peer->manner.input || peer->input_ended)
		return;
	buf_add(&peer->input, data, size);
	peer->link.broken |= peer->input.failed;
	peer->input_ended = size == 0;
	if (peer->state == PEER_RUNNING)
		run_feed(front, peer->run);
}

/* The same; and one that cannot be taken now is as good as the next. */
static void frames_resize(const struct peer *peer, const unsigned char *payload, size_t size)
{
	struct terminal_size window;

	if (size != FRAME_WINDOW || peer->state != PEER_RUNNING || peer->run->window < 0)
		return;
	frame_get_window(payload, &window.rows, &window.columns);
	if (write(peer->run->window, &window, sizeof(window)) < 0)
		return;
}

static void frames_ended(struct front *front, struct peer *peer)
{
	if (peer->state != PEER_IDLE && peer->manner.input)
		frames_input(front, peer, NULL, 0);
}

/* Whether the frame cannot be taken before something else has happened. */
static bool frame_waits(const struct peer *peer, const struct frame *frame)
{
	if (frame->kind == FRAME_REQUEST)
		return peer->state != PEER_IDLE || connection_pending(&peer->link) > 0;
	return frame->kind == FRAME_INPUT && peer->state != PEER_IDLE && peer->input.size >= INPUT_MAX;
}

static void frame_take(struct front *front, struct peer *peer, const struct frame *frame, const char *payload)
{
	switch (frame->kind) {
	case FRAME_REQUEST:
		frames_request(front, peer, payload, frame->size);
		break;
	case FRAME_INPUT:
		frames_input(front, peer, payload, frame->size);
		break;
	case FRAME_RESIZE:
		frames_resize(peer, (const unsigned char *)payload, frame->size);
		break;
	case FRAME_CANCEL:
		peer_cancel(front, peer);
		break;
	default:
		violation(front, peer, "a frame of this kind is the service's to send");
	}
}

/* Takes as many frames as are whole and may be taken; how many bytes they are. */
static size_t frames_take(struct front *front, struct peer *peer, const char *data, size_t size)
{
	struct connection *link = &peer->link;
	struct frame frame;
	size_t at = link->skip < size ? link->skip : size;

	link->skip -= at;
	peer->blocked = false;
	while (size - at >= FRAME_HEADER && !peer->closing && !peer->dead && !link->broken) {
		if (frame_decode((const unsigned char *)data + at, &frame) < 0) {
			violation(front, peer, "what was sent is no frame, or a larger one than there may be");
			break;
		}
		peer->blocked = frame_waits(peer, &frame);
		if (peer->blocked || size - at - FRAME_HEADER < frame.size)
			break;
		frame_take(front, peer, &frame, data + at + FRAME_HEADER);
		at += FRAME_HEADER + (size_t)frame.size;
	}
	return peer->closing || peer->dead ? size : at;
}

static void frames_crowded(struct front *front, struct peer *peer)
{
	struct connection *link = &peer->link;
	struct frame frame;

	if (link->in.size <= CONNECTION_SMALL || frame_decode((const unsigned char *)link->in.data, &frame) < 0)
		return;
	connection_skip(link, &frame);
	/* It is stdin of a run that the keeper answers: two would write to the peer. */
	peer->closing |= peer->run && peer->run->direct;
	peer_refuse(front, peer, CODE_BUSY, "", front_retry_after(front),
		    "the service is busy: it holds as many bytes of requests as it may; ask again later");
}

static void frames_started(struct front *front, struct peer *peer, const char *json, size_t size)
{
	if (peer->manner.stream && size <= FRAME_BYTES_MAX)
		connection_send(&peer->link, FRAME_STARTED, json, size);
}

static void frames_output(struct front *front, struct peer *peer, int stream, const char *data, size_t size)
{
	while (size > 0) {
		size_t part = size < FRAME_BYTES_MAX ? size : FRAME_BYTES_MAX;

		connection_send(&peer->link, stream == 1 ? FRAME_STDOUT : FRAME_STDERR, data, part);
		data += part;
		size -= part;
	}
}

static void frames_result(struct front *front, struct peer *peer, const struct message *message)
{
	if (!message->head.direct)
		connection_send(&peer->link, FRAME_RESULT, message->body, message->head.size);
}

const struct door door_frames = {
	.name = "socket",
	.half_open = true,
	.take = frames_take,
	.ended = frames_ended,
	.crowded = frames_crowded,
	.started = frames_started,
	.output = frames_output,
	.result = frames_result,
	.refuse = frames_refuse,
	.confirm = frames_confirm,
};
