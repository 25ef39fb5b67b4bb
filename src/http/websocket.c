#include "http/websocket.h"

#include "base/base64.h"
#include "base/own.h"

#include <mbedtls/sha1.h>
#include <string.h>

enum {
	FIN = 0x80,    /* last frame of a message */
	MASK = 0x80,   /* bit of the second byte */
	KEY_SIZE = 24, /* characters of Sec-WebSocket-Key: 16 bytes in base64 */
};

const char *websocket_handshake(const struct http_head *head, char accept[WEBSOCKET_ACCEPT])
{
	static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
	const struct http_text key = http_field(head, "sec-websocket-key", NULL);
	_cleanup_buf_ struct buf text = { 0 };
	char joined[KEY_SIZE + sizeof(guid)];
	unsigned char digest[20];

	if (head->method != HTTP_GET || head->minor == 0 ||
	    !http_text_has_token(http_field(head, "upgrade", NULL), "websocket") ||
	    !http_text_has_token(http_field(head, "connection", NULL), "upgrade"))
		return "this path is a WebSocket; send Upgrade: websocket";
	if (!http_text_is(http_field(head, "sec-websocket-version", NULL), "13"))
		return "Sec-WebSocket-Version has to be 13";
	/* 16 bytes end with two padding characters. */
	if (key.size != KEY_SIZE || key.data[22] != '=' || key.data[23] != '=')
		return "Sec-WebSocket-Key has to be 16 bytes in base64";
	memcpy(joined, key.data, KEY_SIZE);
	memcpy(joined + KEY_SIZE, guid, sizeof(guid));
	/* The standard requires SHA-1; security does not depend on it. */
	if (mbedtls_sha1_ret((const unsigned char *)joined, KEY_SIZE + sizeof(guid) - 1, digest) != 0)
		return "cannot compute the answer to the key";
	base64_add(&text, digest, sizeof(digest));
	if (text.failed || text.size != WEBSOCKET_ACCEPT - 1)
		return "cannot compute the answer to the key";
	memcpy(accept, text.data, WEBSOCKET_ACCEPT);
	accept[WEBSOCKET_ACCEPT - 1] = '\0';
	return NULL;
}

/* The header of a frame. */
struct frame_head {
	unsigned char first; /* FIN and the kind */
	uint64_t size;       /* bytes of the payload */
	size_t header;       /* bytes of the header */
};

/* 1: complete; 0: incomplete; -1: invalid. */
static int read_head(const unsigned char *data, size_t size, struct frame_head *head)
{
	unsigned length, extra;

	if (size < 2)
		return 0;
	head->first = data[0];
	length = data[1] & 0x7f;
	extra = length == 126 ? 2 : length == 127 ? 8 : 0;
	/* Reserved bits for extensions, or a frame without a mask. */
	if ((data[0] & 0x70) || !(data[1] & MASK))
		return -1;
	head->header = 2 + extra + 4;
	if (size < head->header)
		return 0;
	head->size = extra ? 0 : length;
	for (unsigned i = 0; i < extra; i++)
		head->size = head->size << 8 | data[2 + i];
	/* The length has its shortest form. */
	if ((extra == 2 && head->size < 126) || (extra == 8 && (head->size < 65536 || head->size >> 63)))
		return -1;
	return 1;
}

static void payload_unmask(char *data, size_t size, const char mask[4])
{
	for (size_t i = 0; i < size; i++)
		data[i] = (char)(data[i] ^ mask[i % 4]);
}

/* Strict: no surrogates, no overlong forms. */
static bool is_utf8(const char *text, size_t size)
{
	const unsigned char *at = (const unsigned char *)text, *end = at + size;

	while (at < end) {
		unsigned more = *at < 0x80                  ? 0
				: *at >= 0xc2 && *at < 0xe0 ? 1
				: *at >= 0xe0 && *at < 0xf0 ? 2
				: *at >= 0xf0 && *at < 0xf5 ? 3
							    : 4;
		unsigned first = *at++;

		if (more == 4 || (size_t)(end - at) < more)
			return false;
		if (more > 0 && ((first == 0xe0 && *at < 0xa0) || (first == 0xed && *at > 0x9f) ||
				 (first == 0xf0 && *at < 0x90) || (first == 0xf4 && *at > 0x8f)))
			return false;
		for (; more > 0; more--)
			if ((*at++ & 0xc0) != 0x80)
				return false;
	}
	return true;
}

static bool is_code(unsigned code)
{
	return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999);
}

static int socket_end(unsigned *code, unsigned why)
{
	*code = why;
	return -1;
}

static int take_control(struct websocket *socket, struct websocket_message *message, unsigned *code)
{
	if (message->kind != WEBSOCKET_CLOSE)
		return 1;
	socket->closed = true;
	message->code = WEBSOCKET_NO_CODE;
	if (message->size == 0)
		return 1;
	if (message->size == 1)
		return socket_end(code, WEBSOCKET_PROTOCOL);
	message->code = (unsigned)(unsigned char)message->data[0] << 8 | (unsigned char)message->data[1];
	message->data += 2;
	message->size -= 2;
	if (!is_code(message->code))
		return socket_end(code, WEBSOCKET_PROTOCOL);
	return is_utf8(message->data, message->size) ? 1 : socket_end(code, WEBSOCKET_BAD_TEXT);
}

/* A part of a message, or all of it. */
static int take_data(struct websocket *socket, unsigned char first, struct websocket_message *message, unsigned *code)
{
	const unsigned kind = first & 0x0f;

	/* A continuation requires a started message; a new message requires none. */
	if ((kind == 0) != (socket->kind != 0))
		return socket_end(code, WEBSOCKET_PROTOCOL);
	if (kind != 0 && (first & FIN)) {
		message->kind = (enum websocket_kind)kind;
	} else {
		if (kind != 0)
			socket->message.size = 0;
		buf_add(&socket->message, message->data, message->size);
		if (socket->message.failed)
			return socket_end(code, WEBSOCKET_FAILED);
		socket->kind = kind ? (enum websocket_kind)kind : socket->kind;
		if (!(first & FIN))
			return 0;
		message->kind = socket->kind;
		message->data = socket->message.data;
		message->size = socket->message.size;
		socket->kind = 0;
	}
	if (message->kind == WEBSOCKET_TEXT && !is_utf8(message->data, message->size))
		return socket_end(code, WEBSOCKET_BAD_TEXT);
	return 1;
}

int websocket_take(struct websocket *socket, char *data, size_t size, size_t *used, struct websocket_message *message,
		   unsigned *code)
{
	struct frame_head head;
	int whole = socket->closed ? -1 : read_head((const unsigned char *)data, size, &head);
	unsigned kind;

	*used = 0;
	if (whole <= 0)
		return whole < 0 ? socket_end(code, WEBSOCKET_PROTOCOL) : 0;
	kind = head.first & 0x0f;
	if ((kind > WEBSOCKET_BINARY && kind < WEBSOCKET_CLOSE) || kind > WEBSOCKET_PONG ||
	    (kind >= WEBSOCKET_CLOSE && (!(head.first & FIN) || head.size > WEBSOCKET_CONTROL_MAX)))
		return socket_end(code, WEBSOCKET_PROTOCOL);
	/* Control frames are checked before their payload arrives. */
	if (kind < WEBSOCKET_CLOSE &&
	    head.size > WEBSOCKET_MESSAGE_MAX - (kind == 0 && socket->kind ? socket->message.size : 0))
		return socket_end(code, WEBSOCKET_TOO_LARGE);
	if (size - head.header < head.size)
		return 0;
	*used = head.header + (size_t)head.size;
	*message = (struct websocket_message){ .kind = (enum websocket_kind)kind,
					       .data = data + head.header,
					       .size = (size_t)head.size };
	payload_unmask(message->data, message->size, data + head.header - 4);
	return kind >= WEBSOCKET_CLOSE ? take_control(socket, message, code)
				       : take_data(socket, head.first, message, code);
}

void websocket_free(struct websocket *socket)
{
	buf_free(&socket->message);
}

size_t websocket_header(enum websocket_kind kind, uint64_t size, unsigned char out[WEBSOCKET_HEADER_MAX])
{
	const unsigned extra = size < 126 ? 0 : size < 65536 ? 2 : 8;

	out[0] = (unsigned char)(FIN | kind);
	out[1] = (unsigned char)(extra == 0 ? size : extra == 2 ? 126 : 127);
	for (unsigned i = 0; i < extra; i++)
		out[2 + i] = (unsigned char)(size >> (8 * (extra - 1 - i)));
	return 2 + extra;
}

void websocket_close(struct buf *out, unsigned code, const char *reason)
{
	unsigned char head[WEBSOCKET_HEADER_MAX + 2];
	size_t size = strlen(reason), used;

	size = size < WEBSOCKET_CONTROL_MAX - 2 ? size : WEBSOCKET_CONTROL_MAX - 2;
	/* Do not cut inside a character. */
	while (size > 0 && ((unsigned char)reason[size] & 0xc0) == 0x80)
		size--;
	used = websocket_header(WEBSOCKET_CLOSE, size + 2, head);
	head[used] = (unsigned char)(code >> 8);
	head[used + 1] = (unsigned char)code;
	buf_add(out, head, used + 2);
	buf_add(out, reason, size);
}
