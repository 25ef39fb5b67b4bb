#include "net/client_hello.h"

#include <stdint.h>
#include <string.h>

enum {
	RECORD_HEAD = 5,
	RECORD_MOST = 16 << 10, /* bytes of a record's content that is not encrypted */
	RECORD_CHANGE_CIPHER = 20,
	RECORD_HANDSHAKE = 22,
	RECORD_LAST = 24, /* heartbeat, the last type that there is */
	HANDSHAKE_HEAD = 4,
	HANDSHAKE_CLIENT_HELLO = 1,
	HANDSHAKE_SERVER_HELLO = 2,
	RANDOM = 32,
	EXTENSION_SERVER_NAME = 0,
	EXTENSION_ALPN = 16,
	EXTENSION_EARLY_DATA = 42,
	EXTENSION_VERSIONS = 43,
	EXTENSION_ECH = 0xfe0d,
	EXTENSION_ESNI = 0xffce, /* its draft that Firefox and Cloudflare had */
};

/* Bytes that are taken from the front. */
struct hello_bytes {
	const unsigned char *data;
	size_t size;
	bool broken; /* more was asked for than there was */
};

static struct hello_bytes bytes_take(struct hello_bytes *from, size_t size)
{
	struct hello_bytes part = { from->data, size, false };

	if (size > from->size) {
		from->broken = true;
		return (struct hello_bytes){ from->data, 0, true };
	}
	from->data += size;
	from->size -= size;
	return part;
}

static unsigned number_take(struct hello_bytes *from, size_t size)
{
	struct hello_bytes part = bytes_take(from, size);
	unsigned value = 0;

	for (size_t i = 0; i < part.size; i++)
		value = value << 8 | part.data[i];
	return value;
}

/* A list behind its length, which has `head` bytes. */
static struct hello_bytes list_take(struct hello_bytes *from, size_t head)
{
	size_t size = number_take(from, head);

	return bytes_take(from, size);
}

static enum client_hello_state hello_fault(struct client_hello *hello, const char *fault)
{
	hello->fault = fault;
	return CLIENT_HELLO_MALFORMED;
}

/* ---- extensions: NULL, or what is wrong ---- */

/* Letters, digits, hyphens and underscores in labels of at most 63 bytes; the last label is no number, or it would be
 * an address (RFC 6066 wants none here). */
static bool name_copy(struct hello_bytes name, char out[CLIENT_HELLO_NAME])
{
	size_t label = 0;
	bool letters = false;

	if (name.size >= CLIENT_HELLO_NAME)
		return false;
	for (size_t i = 0; i < name.size; i++) {
		char c = (char)name.data[i];

		if (c >= 'A' && c <= 'Z')
			c |= 0x20;
		out[i] = c;
		if (c == '.') {
			if (label == 0)
				return false;
			label = 0;
			letters = false;
			continue;
		}
		if ((c >= 'a' && c <= 'z') || c == '-' || c == '_')
			letters = true;
		else if (c < '0' || c > '9')
			return false;
		if (++label > 63)
			return false;
	}
	out[name.size] = '\0';
	return label > 0 && letters;
}

static const char *name_read(struct hello_bytes data, struct client_hello *hello)
{
	struct hello_bytes names = list_take(&data, 2), name;
	unsigned type = number_take(&names, 1);

	name = list_take(&names, 2);
	if (data.broken || data.size > 0 || names.broken || type != 0)
		return "its list of server names is broken";
	if (names.size > 0)
		return "it has two server names";
	if (!name_copy(name, hello->name))
		return "its server name is none that DNS has";
	hello->has_name = true;
	return NULL;
}

static bool bytes_are(struct hello_bytes bytes, const char *text)
{
	return bytes.size == strlen(text) && memcmp(bytes.data, text, bytes.size) == 0;
}

static const char *alpn_read(struct hello_bytes data, struct client_hello *hello)
{
	struct hello_bytes protocols = list_take(&data, 2);

	hello->alpn = true;
	if (protocols.size == 0)
		protocols.broken = true;
	while (protocols.size > 0 && !protocols.broken) {
		struct hello_bytes protocol = list_take(&protocols, 1);

		if (protocol.size == 0)
			protocols.broken = true;
		hello->alpn_http1 |= bytes_are(protocol, "http/1.1");
		hello->alpn_h2 |= bytes_are(protocol, "h2");
	}
	return data.broken || data.size > 0 || protocols.broken ? "its list of protocols is broken" : NULL;
}

static const char *versions_read(struct hello_bytes data, struct client_hello *hello)
{
	struct hello_bytes versions = list_take(&data, 1);

	if (data.broken || data.size > 0 || versions.size == 0 || versions.size % 2 != 0)
		return "its list of versions is broken";
	while (versions.size > 0)
		hello->tls13 |= number_take(&versions, 2) == 0x0304;
	return NULL;
}

static const char *extension_read(unsigned type, struct hello_bytes data, struct client_hello *hello)
{
	switch (type) {
	case EXTENSION_SERVER_NAME:
		return name_read(data, hello);
	case EXTENSION_ALPN:
		return alpn_read(data, hello);
	case EXTENSION_VERSIONS:
		return versions_read(data, hello);
	case EXTENSION_EARLY_DATA:
		hello->early_data = true;
		return NULL;
	case EXTENSION_ECH:
	case EXTENSION_ESNI:
		hello->ech = true;
		return NULL;
	default:
		return NULL;
	}
}

static const char *extensions_read(struct hello_bytes all, struct client_hello *hello)
{
	uint64_t seen[65536 / 64] = { 0 };

	while (all.size > 0) {
		unsigned type = number_take(&all, 2);
		struct hello_bytes data = list_take(&all, 2);
		const char *fault;

		if (all.broken)
			return "its extensions are broken";
		if (seen[type / 64] & UINT64_C(1) << (type % 64))
			return "an extension is there twice";
		seen[type / 64] |= UINT64_C(1) << (type % 64);
		fault = extension_read(type, data, hello);
		if (fault)
			return fault;
	}
	return NULL;
}

/* ---- the message ---- */

static enum client_hello_state body_read(struct hello_bytes body, struct client_hello *hello)
{
	unsigned version = number_take(&body, 2);
	struct hello_bytes session, suites, compressions, extensions;
	const char *fault;

	bytes_take(&body, RANDOM);
	session = list_take(&body, 1);
	suites = list_take(&body, 2);
	compressions = list_take(&body, 1);
	if (body.broken || session.size > 32 || suites.size < 2 || suites.size % 2 != 0 || compressions.size == 0 ||
	    !memchr(compressions.data, 0, compressions.size))
		return hello_fault(hello, "it is broken");
	/* TLS 1.3 says 1.2 here, and its own version in an extension. */
	if (version < 0x0301 || version > 0x0303)
		return hello_fault(hello, "its version is not one of TLS 1.0 to 1.3");
	if (body.size == 0)
		return CLIENT_HELLO_FOUND;
	extensions = list_take(&body, 2);
	if (body.broken || body.size > 0)
		return hello_fault(hello, "its extensions are broken");
	fault = extensions_read(extensions, hello);
	return fault ? hello_fault(hello, fault) : CLIENT_HELLO_FOUND;
}

/* ---- the records that bring it ---- */

/* What the first bytes are: FOUND if a record of TLS begins there. */
static enum client_hello_state start_look(const unsigned char *data, size_t size, struct client_hello *hello)
{
	if (size == 0)
		return CLIENT_HELLO_MORE;
	/* SSL 2: a length with the high bit, then the type and the version. Bytes with that bit begin no text. */
	if (data[0] & 0x80) {
		if (size < 4)
			return size < 3 || data[2] == HANDSHAKE_CLIENT_HELLO ? CLIENT_HELLO_MORE : CLIENT_HELLO_NOT_TLS;
		if (data[2] == HANDSHAKE_CLIENT_HELLO && (data[3] == 0 || data[3] == 3))
			return hello_fault(hello, "it is one of SSL 2");
		return CLIENT_HELLO_NOT_TLS;
	}
	if (data[0] < RECORD_CHANGE_CIPHER || data[0] > RECORD_LAST)
		return CLIENT_HELLO_NOT_TLS;
	if (size >= 2 && data[1] != 3)
		return data[0] == RECORD_HANDSHAKE ? hello_fault(hello, "its version is not one of TLS 1.0 to 1.3")
						   : CLIENT_HELLO_NOT_TLS;
	/* Another record may be skipped by a server that then reads a hello behind it. */
	if (size >= 2 && data[0] != RECORD_HANDSHAKE)
		return hello_fault(hello, "TLS begins with another record");
	if (size >= 3 && data[2] > 3)
		return hello_fault(hello, "its version is not one of TLS 1.0 to 1.3");
	return size < RECORD_HEAD ? CLIENT_HELLO_MORE : CLIENT_HELLO_FOUND;
}

/* The records' content, one behind the other, as far as it is there. `*ends`: they end at the end of a record. */
struct hello_records {
	size_t size;  /* of the content */
	size_t taken; /* bytes of the stream */
	bool ends;    /* the content ends where a record does */
	unsigned char content[CLIENT_HELLO_MOST];
};

/* FOUND: another record was there, whole or in part; MORE: there is none. */
static enum client_hello_state record_add(struct hello_records *records, const unsigned char *data, size_t size,
					  struct client_hello *hello)
{
	const size_t left = size - records->taken;
	size_t length, there;

	if (left < RECORD_HEAD)
		return CLIENT_HELLO_MORE;
	data += records->taken;
	if (data[0] != RECORD_HANDSHAKE || data[1] != 3 || data[2] > 3)
		return hello_fault(hello, "another record is in the middle of it");
	length = (size_t)data[3] << 8 | data[4];
	if (length == 0 || length > RECORD_MOST)
		return hello_fault(hello, "it has a record of an invalid size");
	there = left - RECORD_HEAD < length ? left - RECORD_HEAD : length;
	if (there > sizeof(records->content) - records->size)
		there = sizeof(records->content) - records->size;
	memcpy(records->content + records->size, data + RECORD_HEAD, there);
	records->size += there;
	records->taken += RECORD_HEAD + there;
	records->ends = there == length;
	return CLIENT_HELLO_FOUND;
}

enum client_hello_state client_hello_read(const unsigned char *data, size_t size, struct client_hello *hello)
{
	const bool full = size >= CLIENT_HELLO_MOST;
	struct hello_records records = { .size = 0, .taken = 0, .ends = false };
	enum client_hello_state state;
	size_t length = 0;

	memset(hello, 0, sizeof(*hello));
	if (full)
		size = CLIENT_HELLO_MOST;
	state = start_look(data, size, hello);
	if (state != CLIENT_HELLO_FOUND)
		return state;
	do {
		state = record_add(&records, data, size, hello);
		if (state == CLIENT_HELLO_MALFORMED)
			return state;
		if (records.size > 0 && records.content[0] != HANDSHAKE_CLIENT_HELLO)
			return hello_fault(hello, "TLS begins with another message");
		if (records.size < HANDSHAKE_HEAD)
			continue;
		length = ((size_t)records.content[1] << 16 | (size_t)records.content[2] << 8 | records.content[3]) +
			 HANDSHAKE_HEAD;
		if (length > CLIENT_HELLO_MOST - RECORD_HEAD)
			return hello_fault(hello, "it is longer than 16 KiB");
	} while (state == CLIENT_HELLO_FOUND && records.ends && (length == 0 || records.size < length));
	if (length == 0 || records.size < length)
		return full ? hello_fault(hello, "it is longer than 16 KiB") : CLIENT_HELLO_MORE;
	/* RFC 8446, 5.1: it ends with its record. */
	if (records.size > length || !records.ends)
		return hello_fault(hello, "something follows it in its record");
	hello->size = records.taken;
	return body_read((struct hello_bytes){ records.content + HANDSHAKE_HEAD, length - HANDSHAKE_HEAD, false },
			 hello);
}

/* ---- once more ---- */

enum server_hello_state server_hello_read(const unsigned char *data, size_t size)
{
	/* RFC 8446, 4.1.3: the random bytes that say so. */
	static const unsigned char retry[RANDOM] = {
		0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
		0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
	};
	unsigned char head[HANDSHAKE_HEAD + 2 + RANDOM];
	size_t have = 0;

	/* A server may cut its hello into records too. */
	while (size > 0 && have < sizeof(head)) {
		size_t length, part;

		if (data[0] != RECORD_HANDSHAKE)
			return SERVER_HELLO_OTHER;
		if (size < RECORD_HEAD)
			return SERVER_HELLO_MORE;
		length = (size_t)data[3] << 8 | data[4];
		if (length == 0)
			return SERVER_HELLO_OTHER;
		data += RECORD_HEAD;
		size -= RECORD_HEAD;
		part = length < size ? length : size;
		if (part > sizeof(head) - have)
			part = sizeof(head) - have;
		memcpy(head + have, data, part);
		have += part;
		if (have > 0 && head[0] != HANDSHAKE_SERVER_HELLO)
			return SERVER_HELLO_OTHER;
		if (part < length)
			break;
		data += part;
		size -= part;
	}
	if (have < sizeof(head))
		return SERVER_HELLO_MORE;
	return memcmp(head + HANDSHAKE_HEAD + 2, retry, RANDOM) == 0 ? SERVER_HELLO_RETRY : SERVER_HELLO_OTHER;
}

enum client_hello_state client_hello_again(const unsigned char *data, size_t size, struct client_hello *hello)
{
	static const unsigned char change[] = { RECORD_CHANGE_CIPHER, 3, 3, 0, 1, 1 };
	const size_t common = size < sizeof(change) ? size : sizeof(change);
	enum client_hello_state state;

	memset(hello, 0, sizeof(*hello));
	if (memcmp(data, change, common) != 0)
		return client_hello_read(data, size, hello);
	if (size < sizeof(change))
		return CLIENT_HELLO_MORE;
	state = client_hello_read(data + sizeof(change), size - sizeof(change), hello);
	if (state == CLIENT_HELLO_FOUND)
		hello->size += sizeof(change);
	return state;
}
