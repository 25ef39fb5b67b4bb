/* WebSocket: what the standard's own examples give, and what a client may not send. */
#include "../check.h"

#include "base/own.h"
#include "http/websocket.h"

static struct websocket socket_;
static struct websocket_message message;
static unsigned code;
static size_t used;
static char frame[WEBSOCKET_MESSAGE_MAX + 64];

static void fresh(void)
{
	websocket_free(&socket_);
	socket_ = (struct websocket){ 0 };
	code = 0;
}

/* A client's frame: masked. */
static size_t make(unsigned first, const void *data, size_t size)
{
	unsigned char head[WEBSOCKET_HEADER_MAX];
	size_t at = websocket_header(WEBSOCKET_BINARY, size, head);

	head[0] = (unsigned char)first;
	head[1] |= 0x80;
	memcpy(frame, head, at);
	memcpy(frame + at, "\x11\x22\x33\x44", 4);
	for (size_t i = 0; i < size; i++)
		frame[at + 4 + i] = (char)(((const char *)data)[i] ^ "\x11\x22\x33\x44"[i % 4]);
	return at + 4 + size;
}

static int take(unsigned first, const void *data, size_t size)
{
	return websocket_take(&socket_, frame, make(first, data, size), &used, &message, &code);
}

static void the_handshake(void)
{
	static const char good[] = "GET /t HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
				   "Connection: keep-alive, Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
				   "Sec-WebSocket-Version: 13\r\n\r\n";
	static const char *const bad[][2] = {
		{ "Sec-WebSocket-Version: 13", "Sec-WebSocket-Version: 12" },
		{ "dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZQ=" },
		{ "Upgrade: websocket", "Upgrade: h2c" },
		{ "keep-alive, Upgrade", "keep-alive" },
	};
	struct http_head head;
	struct http_fault fault;
	char accept[WEBSOCKET_ACCEPT], text[512];

	CHECK(http_parse(good, strlen(good), &head, &fault) > 0);
	CHECK(websocket_handshake(&head, accept) == NULL);
	CHECK_STR(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		const char *at = strstr(good, bad[i][0]);

		snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - good), good, bad[i][1], at + strlen(bad[i][0]));
		CHECK(http_parse(text, strlen(text), &head, &fault) > 0);
		CHECK(websocket_handshake(&head, accept) != NULL);
	}
}

static void messages_of_every_length(void)
{
	static const size_t sizes[] = { 0, 1, 125, 126, 127, 65535, 65536, WEBSOCKET_MESSAGE_MAX };
	static char data[WEBSOCKET_MESSAGE_MAX];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)(i * 7);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		size_t whole = make(0x82, data, sizes[i]);

		fresh();
		/* Cut anywhere it is not whole, and nothing is used. */
		CHECK_INT(websocket_take(&socket_, frame, whole - 1, &used, &message, &code), 0);
		CHECK_INT(used, 0);
		CHECK_INT(websocket_take(&socket_, frame, whole, &used, &message, &code), 1);
		CHECK_INT(used, whole);
		CHECK_INT(message.kind, WEBSOCKET_BINARY);
		CHECK_INT(message.size, sizes[i]);
		CHECK(memcmp(message.data, data, sizes[i]) == 0);
	}
}

static void parts_are_put_together(void)
{
	fresh();
	/* A character may be cut by them, and a control frame come between. */
	CHECK_INT(take(0x01, "\xc3", 1), 0);
	CHECK_INT(take(0x89, "hi", 2), 1);
	CHECK(message.kind == WEBSOCKET_PING && message.size == 2 && memcmp(message.data, "hi", 2) == 0);
	CHECK_INT(take(0x00, "\xa9", 1), 0);
	CHECK_INT(take(0x80, "!", 1), 1);
	CHECK(message.kind == WEBSOCKET_TEXT && message.size == 3 && memcmp(message.data, "\xc3\xa9!", 3) == 0);
	CHECK_INT(take(0x82, "x", 1), 1);
	CHECK(message.size == 1);
}

static void refused(unsigned first, const void *data, size_t size, unsigned why)
{
	fresh();
	CHECK_INT(take(first, data, size), -1);
	CHECK_INT(code, why);
}

static void what_a_client_may_not_send(void)
{
	static char large[WEBSOCKET_MESSAGE_MAX];
	size_t whole;

	refused(0xc2, "x", 1, WEBSOCKET_PROTOCOL);        /* an extension's bit */
	refused(0x83, "x", 1, WEBSOCKET_PROTOCOL);        /* a kind that is none */
	refused(0x8b, "x", 1, WEBSOCKET_PROTOCOL);        /* the same */
	refused(0x80, "x", 1, WEBSOCKET_PROTOCOL);        /* a part of nothing */
	refused(0x09, "x", 1, WEBSOCKET_PROTOCOL);        /* a control frame in parts */
	refused(0x89, large, 126, WEBSOCKET_PROTOCOL);    /* and one that is too large */
	refused(0x81, "\xc0\x80", 2, WEBSOCKET_BAD_TEXT); /* longer than it has to be */
	refused(0x81, "\xed\xa0\x80", 3, WEBSOCKET_BAD_TEXT);
	refused(0x81, "\xf4\x90\x80\x80", 4, WEBSOCKET_BAD_TEXT);
	refused(0x81, "\xe2\x82", 2, WEBSOCKET_BAD_TEXT);
	refused(0x88, "x", 1, WEBSOCKET_PROTOCOL);            /* half a code */
	refused(0x88, "\x03\xed", 2, WEBSOCKET_PROTOCOL);     /* 1005 is never sent */
	refused(0x88, "\x03\xe8\xff", 3, WEBSOCKET_BAD_TEXT); /* a reason that is no text */
	/* Unmasked. */
	fresh();
	CHECK_INT(websocket_take(&socket_, (char[]){ '\x82', 1, 'x' }, 3, &used, &message, &code), -1);
	/* A length that could be shorter. */
	memcpy(frame, "\x82\xfe\x00\x01\0\0\0\0x", 9);
	CHECK_INT(websocket_take(&socket_, frame, 9, &used, &message, &code), -1);
	/* Its size is enough to know. */
	memcpy(frame, "\x82\xff\x00\x00\x00\x00\x00\x10\x00\x01\0\0\0\0", 14);
	CHECK_INT(websocket_take(&socket_, frame, 14, &used, &message, &code), -1);
	CHECK_INT(code, WEBSOCKET_TOO_LARGE);
	/* Together. */
	fresh();
	CHECK_INT(take(0x02, large, sizeof(large)), 0);
	CHECK_INT(take(0x80, "x", 1), -1);
	CHECK_INT(code, WEBSOCKET_TOO_LARGE);
	/* A second beginning. */
	fresh();
	CHECK_INT(take(0x01, "x", 1), 0);
	CHECK_INT(take(0x01, "x", 1), -1);
	CHECK_INT(code, WEBSOCKET_PROTOCOL);
	/* Nothing comes after a close. */
	fresh();
	CHECK_INT(take(0x88,
		       "\x03\xe8"
		       "bye",
		       5),
		  1);
	CHECK(message.kind == WEBSOCKET_CLOSE && message.code == 1000 && message.size == 3);
	whole = make(0x82, "x", 1);
	CHECK_INT(websocket_take(&socket_, frame, whole, &used, &message, &code), -1);
	fresh();
	CHECK_INT(take(0x88, "", 0), 1);
	CHECK_INT(message.code, WEBSOCKET_NO_CODE);
}

static void what_we_close_with(void)
{
	_cleanup_buf_ struct buf out = { 0 }, cut = { 0 };
	char reason[200];

	websocket_close(&out, 1000, "bye");
	CHECK(out.size == 7 && memcmp(out.data,
				      "\x88\x05\x03\xe8"
				      "bye",
				      7) == 0);
	memset(reason, 'x', sizeof(reason));
	memcpy(reason + 122, "\xc3\xa9", 2);
	reason[199] = '\0';
	websocket_close(&cut, 1011, reason);
	CHECK_INT(cut.size, 2 + 2 + 122);
}

int main(void)
{
	RUN(the_handshake);
	RUN(messages_of_every_length);
	RUN(parts_are_put_together);
	RUN(what_a_client_may_not_send);
	RUN(what_we_close_with);
	websocket_free(&socket_);
	return check_failures != 0;
}
