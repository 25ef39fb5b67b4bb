/*
 * The first message of TLS, as the bytes of a stream bring it: which server's name it asks for. Pure.
 *
 * The name decides whether a connection is let through, so what one server reads as another name than we do would be a
 * way out. What is unusual is CLIENT_HELLO_MALFORMED, though some servers take it: a hello of SSL 2 or 3, one with two
 * names, with an extension that is there twice, or with bytes behind its end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum {
	CLIENT_HELLO_MOST = 16 << 10, /* bytes of the stream that are looked at; a longer hello is malformed */
	CLIENT_HELLO_NAME = 254,      /* bytes of a name, its NUL included */
};

enum client_hello_state {
	CLIENT_HELLO_MORE,      /* so far it could be one */
	CLIENT_HELLO_FOUND,     /* struct client_hello is set */
	CLIENT_HELLO_NOT_TLS,   /* no version of TLS begins so */
	CLIENT_HELLO_MALFORMED, /* see `fault` */
};

struct client_hello {
	size_t size;       /* bytes of the stream that it took */
	const char *fault; /* constant: why it is malformed */
	bool has_name;     /* there is a name */
	bool alpn;         /* it offers protocols */
	bool alpn_http1;   /* "http/1.1" among them */
	bool alpn_h2;      /* "h2" among them */
	bool tls13;        /* it offers TLS 1.3 */
	bool early_data;   /* and sends bytes before the server's answer */
	bool ech;          /* it has an encrypted hello (or one that only looks so), in which another name may stand */
	char name[CLIENT_HELLO_NAME]; /* small letters */
};

/* `data` is the stream from its beginning. No byte of it is kept: ask again with more. */
enum client_hello_state client_hello_read(const unsigned char *data, size_t size, struct client_hello *hello);

/*
 * A server of TLS 1.3 may answer a hello with "once more, please" (HelloRetryRequest); the client's second hello, with
 * a name of its own, comes in clear behind the first. So a relay that checks names looks at the first bytes of the
 * server's answer, and if it is that, at what the client sends then.
 */
enum server_hello_state {
	SERVER_HELLO_MORE,  /* it could be one */
	SERVER_HELLO_RETRY, /* it is one */
	SERVER_HELLO_OTHER, /* it is something else: everything that the client sends from now on is of the first hello
			     */
};
enum server_hello_state server_hello_read(const unsigned char *data, size_t size);

/* The second hello: `data` is the client's stream behind the first one. Skips a ChangeCipherSpec before it, which
 * clients send for middle boxes' sake. `size` of the hello counts that too. */
enum client_hello_state client_hello_again(const unsigned char *data, size_t size, struct client_hello *hello);
