/* The hellos of real programs, which are kept as inputs of the fuzz target, and what nobody should send. */
#include "../check.h"

#include "base/own.h"
#include "net/client_hello.h"

static struct client_hello hello;
static unsigned char bytes[CLIENT_HELLO_MOST + 64];
static size_t size;

/* From the top of the repository, where tests/run starts every test. */
static void load(const char *name)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[256];

	snprintf(path, sizeof(path), "tests/fuzz/corpus/client_hello/%s", name);
	file = fopen(path, "rb");
	size = file ? fread(bytes, 1, CLIENT_HELLO_MOST, file) : 0;
	if (size == 0)
		check_fail("cannot read %s: run this from the top of the repository", path);
}

static void real_programs(void)
{
	static const struct {
		const char *file;
		bool name, alpn, http1, h2, tls13;
	} rows[] = {
		{ "openssl13", true, false, false, false, true },
		{ "openssl12", true, false, false, false, false },
		{ "openssl_nosni", false, false, false, false, true },
		{ "python", true, false, false, false, true },
		{ "node", true, true, true, true, true },
		{ "curl", true, true, true, true, true },
		{ "go", true, true, true, true, true },
		{ "java", true, false, false, false, true },
		{ "ruby", true, false, false, false, true },
		{ "git", true, true, true, true, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		load(rows[i].file);
		/* A byte at a time, and none behind the last. */
		for (size_t n = 0; n < size; n++)
			CHECK_INT(client_hello_read(bytes, n, &hello), CLIENT_HELLO_MORE);
		bytes[size] = 0x17;
		for (size_t n = size; n <= size + 1; n++) {
			CHECK_INT(client_hello_read(bytes, n, &hello), CLIENT_HELLO_FOUND);
			CHECK_INT(hello.size, size);
			CHECK_INT(hello.has_name, rows[i].name);
			CHECK_STR(hello.name, rows[i].name ? "api.example.com" : "");
			if (hello.alpn != rows[i].alpn || hello.alpn_http1 != rows[i].http1 ||
			    hello.alpn_h2 != rows[i].h2 || hello.tls13 != rows[i].tls13 || hello.ech ||
			    hello.early_data)
				check_fail("%s: alpn %d, http/1.1 %d, h2 %d, 1.3 %d, ech %d, early %d", rows[i].file,
					   hello.alpn, hello.alpn_http1, hello.alpn_h2, hello.tls13, hello.ech,
					   hello.early_data);
		}
	}
}

/* The same hello in records of n bytes each. */
static void split_into_records(size_t n)
{
	static unsigned char split[CLIENT_HELLO_MOST];
	size_t at = 0;

	for (size_t from = 5; from < size; from += n) {
		size_t part = size - from < n ? size - from : n;
		const unsigned char head[] = { 22, 3, 1, (unsigned char)(part >> 8), (unsigned char)part };

		memcpy(split + at, head, 5);
		memcpy(split + at + 5, bytes + from, part);
		at += 5 + part;
	}
	memcpy(bytes, split, at);
	size = at;
}

static void many_records(void)
{
	static const size_t sizes[] = { 1, 2, 3, 4, 5, 100, 391 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		load("node");
		split_into_records(sizes[i]);
		for (size_t n = 0; n < size; n++)
			CHECK_INT(client_hello_read(bytes, n, &hello), CLIENT_HELLO_MORE);
		CHECK_INT(client_hello_read(bytes, size, &hello), CLIENT_HELLO_FOUND);
		CHECK_STR(hello.name, "api.example.com");
		CHECK_INT(hello.size, size);
	}
}

/* ---- hellos of our own ---- */

static void put(const void *data, size_t n)
{
	memcpy(bytes + size, data, n);
	size += n;
}

static void put_number(unsigned value, unsigned n)
{
	while (n-- > 0)
		bytes[size++] = (unsigned char)(value >> (8 * n));
}

/* A hello with these extensions, and nothing that could be wrong but they. */
static void make(const char *extensions, size_t length)
{
	size = 0;
	put("\x16\x03\x01", 3);
	put_number((unsigned)(4 + 2 + 32 + 1 + 4 + 2 + 2 + length), 2);
	put("\x01", 1);
	put_number((unsigned)(2 + 32 + 1 + 4 + 2 + 2 + length), 3);
	put("\x03\x03", 2);
	memset(bytes + size, 7, 32);
	size += 32;
	put("\x00"
	    "\x00\x02\x13\x01"
	    "\x01\x00",
	    7);
	put_number((unsigned)length, 2);
	put(extensions, length);
}

static void make_name(const char *name, size_t length)
{
	char extension[600];
	const unsigned char head[] = { 0,
				       0,
				       (unsigned char)((length + 5) >> 8),
				       (unsigned char)(length + 5),
				       (unsigned char)((length + 3) >> 8),
				       (unsigned char)(length + 3),
				       0,
				       (unsigned char)(length >> 8),
				       (unsigned char)length };

	memcpy(extension, head, sizeof(head));
	memcpy(extension + sizeof(head), name, length);
	make(extension, sizeof(head) + length);
}

/* No prefix of it is found, and the whole is malformed for that reason. */
static void malformed(const char *why)
{
	for (size_t n = 0; n < size; n++)
		if (client_hello_read(bytes, n, &hello) == CLIENT_HELLO_FOUND)
			check_fail("%s: found in %zu of %zu bytes", why, n, size);
	CHECK_INT(client_hello_read(bytes, size, &hello), CLIENT_HELLO_MALFORMED);
	CHECK_STR(hello.fault, why);
}

#define BOTH(text) text, sizeof(text) - 1

static void names(void)
{
	static const struct {
		const char *name;
		size_t length;
		const char *want; /* NULL: malformed */
	} rows[] = {
		{ BOTH("example.com"), "example.com" },
		{ BOTH("EXAMPLE.Com"), "example.com" },
		{ BOTH("localhost"), "localhost" },
		{ BOTH("xn--bcher-kva.example"), "xn--bcher-kva.example" },
		{ BOTH("_dmarc.example.com"), "_dmarc.example.com" },
		{ BOTH("1.example.2com"), "1.example.2com" },
		{ BOTH("a234567890123456789012345678901234567890123456789012345678901bc.example"),
		  "a234567890123456789012345678901234567890123456789012345678901bc.example" },
		{ BOTH("a234567890123456789012345678901234567890123456789012345678901bcd.example"), NULL },
		{ BOTH(""), NULL },
		{ BOTH("."), NULL },
		{ BOTH("example.com."), NULL },
		{ BOTH(".example.com"), NULL },
		{ BOTH("example..com"), NULL },
		{ BOTH("example.com\0.evil.test"), NULL },
		{ BOTH("example.com\0"), NULL },
		{ BOTH("example.com "), NULL },
		{ BOTH("example.com:443"), NULL },
		{ BOTH("example.com/"), NULL },
		{ BOTH("*.example.com"), NULL },
		{ BOTH("b\xc3\xbc"
		       "cher.example"),
		  NULL },
		{ BOTH("192.0.2.1"), NULL },
		{ BOTH("3221225985"), NULL },
		{ BOTH("2001:db8::1"), NULL },
		{ BOTH("[2001:db8::1]"), NULL },
	};
	char longest[255];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		make_name(rows[i].name, rows[i].length);
		if (!rows[i].want) {
			malformed("its server name is none that DNS has");
			CHECK(!hello.has_name);
			continue;
		}
		CHECK_INT(client_hello_read(bytes, size, &hello), CLIENT_HELLO_FOUND);
		CHECK(hello.has_name);
		CHECK_STR(hello.name, rows[i].want);
	}
	for (size_t i = 0; i < sizeof(longest); i++)
		longest[i] = i % 60 == 59 ? '.' : 'a';
	make_name(longest, 253);
	CHECK_INT(client_hello_read(bytes, size, &hello), CLIENT_HELLO_FOUND);
	CHECK_INT(strlen(hello.name), 253);
	make_name(longest, 254);
	malformed("its server name is none that DNS has");
}

static void extensions(void)
{
	static const struct {
		const char *data;
		size_t length;
		const char *fault; /* NULL: found */
	} rows[] = {
		{ BOTH(""), NULL },
		{ BOTH("\x00\x17\x00\x00"), NULL },
		/* One name, and what could be taken for another. */
		{ BOTH("\x00\x00\x00\x06\x00\x04\x00\x00\x01"
		       "a"),
		  NULL },
		{ BOTH("\x00\x00\x00\x0a\x00\x08\x00\x00\x01"
		       "a\x00\x00\x01"
		       "b"),
		  "it has two server names" },
		{ BOTH("\x00\x00\x00\x08\x00\x04\x00\x00\x01"
		       "a\x00\x00"),
		  "its list of server names is broken" },
		{ BOTH("\x00\x00\x00\x06\x00\x04\x01\x00\x01"
		       "a"),
		  "its list of server names is broken" },
		{ BOTH("\x00\x00\x00\x06\x00\x05\x00\x00\x01"
		       "a"),
		  "its list of server names is broken" },
		{ BOTH("\x00\x00\x00\x06\x00\x04\x00\x00\x02"
		       "a"),
		  "its list of server names is broken" },
		{ BOTH("\x00\x00\x00\x00"), "its list of server names is broken" },
		{ BOTH("\x00\x00\x00\x02\x00\x00"), "its list of server names is broken" },
		{ BOTH("\x00\x00\x00\x06\x00\x04\x00\x00\x01"
		       "a\x00\x00\x00\x06\x00\x04\x00\x00\x01"
		       "a"),
		  "an extension is there twice" },
		{ BOTH("\xaa\xaa\x00\x00\xaa\xaa\x00\x00"), "an extension is there twice" },
		{ BOTH("\xaa\xaa\x00\x01"), "its extensions are broken" },
		{ BOTH("\xaa\xaa\x00"), "its extensions are broken" },
		{ BOTH("\x00\x10\x00\x05\x00\x03\x02h2"), NULL },
		{ BOTH("\x00\x10\x00\x02\x00\x00"), "its list of protocols is broken" },
		{ BOTH("\x00\x10\x00\x03\x00\x01\x00"), "its list of protocols is broken" },
		{ BOTH("\x00\x10\x00\x05\x00\x03\x03h2"), "its list of protocols is broken" },
		{ BOTH("\x00\x10\x00\x06\x00\x03\x02h2\x00"), "its list of protocols is broken" },
		{ BOTH("\x00\x2b\x00\x03\x02\x03\x04"), NULL },
		{ BOTH("\x00\x2b\x00\x02\x01\x03"), "its list of versions is broken" },
		{ BOTH("\x00\x2b\x00\x01\x00"), "its list of versions is broken" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		make(rows[i].data, rows[i].length);
		if (rows[i].fault)
			malformed(rows[i].fault);
		else
			CHECK_INT(client_hello_read(bytes, size, &hello), CLIENT_HELLO_FOUND);
	}
}

static void what_is_told(void)
{
	make(BOTH("\x00\x10\x00\x0e\x00\x0c\x02h2\x08http/1.1"));
	CHECK_INT(client_hello_read(bytes, size, &hello), CLIENT_HELLO_FOUND);
	CHECK(hello.alpn && hello.alpn_h2 && hello.alpn_http1 && !hello.ech && !hello.early_data && !hello.has_name);
	make(BOTH("\x00\x10\x00\x05\x00\x03\x02h3\xfe\x0d\x00\x01\x00\x00\x2a\x00\x00"));
	CHECK_INT(client_hello_read(bytes, size, &hello), CLIENT_HELLO_FOUND);
	CHECK(hello.alpn && !hello.alpn_h2 && !hello.alpn_http1 && hello.ech && hello.early_data);
	make(BOTH("\xff\xce\x00\x00"));
	CHECK_INT(client_hello_read(bytes, size, &hello), CLIENT_HELLO_FOUND);
	CHECK(hello.ech);
}

/* Bytes of a hello without extensions are changed, one place at a time. */
static void the_body(void)
{
	static const struct {
		size_t at;
		unsigned char byte;
		const char *fault;
	} rows[] = {
		{ 5, 2, "TLS begins with another message" },
		{ 5, 0, "TLS begins with another message" },
		{ 6, 1, "it is longer than 16 KiB" },
		{ 9, 2, "its version is not one of TLS 1.0 to 1.3" },
		{ 10, 0, "its version is not one of TLS 1.0 to 1.3" },
		{ 10, 4, "its version is not one of TLS 1.0 to 1.3" },
		{ 43, 33, "it is broken" },
		{ 43, 255, "it is broken" },
		{ 45, 1, "it is broken" },
		{ 45, 0, "it is broken" },
		{ 48, 0, "it is broken" },
		{ 49, 1, "it is broken" },
		{ 51, 1, "its extensions are broken" },
		{ 8, 42, "something follows it in its record" },
		{ 4, 48, "something follows it in its record" },
		{ 3, 0x40, "something follows it in its record" },
		{ 1, 2, "its version is not one of TLS 1.0 to 1.3" },
		{ 2, 4, "its version is not one of TLS 1.0 to 1.3" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		make("", 0);
		bytes[rows[i].at] = rows[i].byte;
		bytes[size++] = 0;
		if (rows[i].at == 3)
			bytes[4] = 0;
		malformed(rows[i].fault);
	}
	make("", 0);
	CHECK_INT(client_hello_read(bytes, size, &hello), CLIENT_HELLO_FOUND);
	/* No extensions at all: TLS 1.0 allowed that. */
	bytes[4] -= 2;
	bytes[8] -= 2;
	CHECK_INT(client_hello_read(bytes, size - 2, &hello), CLIENT_HELLO_FOUND);
}

static void records_in_between(void)
{
	load("go");
	split_into_records(100);
	bytes[105] = 20;
	malformed("another record is in the middle of it");
	load("go");
	split_into_records(100);
	bytes[108] = bytes[109] = 0;
	malformed("it has a record of an invalid size");
	load("go");
	bytes[3] = 0x40;
	bytes[4] = 0x01;
	malformed("it has a record of an invalid size");
	/* A hello that never ends. */
	make("", 0);
	bytes[3] = bytes[7] = 0x3f;
	bytes[4] = 0xfb;
	bytes[8] = 0xf7;
	memset(bytes + size, 0, sizeof(bytes) - size);
	CHECK_INT(client_hello_read(bytes, CLIENT_HELLO_MOST - 1, &hello), CLIENT_HELLO_MORE);
	size = CLIENT_HELLO_MOST;
	bytes[3] = bytes[7] = 0x40;
	bytes[4] = bytes[8] = 0;
	malformed("it is longer than 16 KiB");
}

static void first_bytes(void)
{
	static const struct {
		const char *data;
		size_t length;
		enum client_hello_state want;
	} rows[] = {
		{ BOTH(""), CLIENT_HELLO_MORE },
		{ BOTH("G"), CLIENT_HELLO_NOT_TLS },
		{ BOTH("SSH-2.0-"), CLIENT_HELLO_NOT_TLS },
		{ BOTH("\x05\x01\x00"), CLIENT_HELLO_NOT_TLS },
		{ BOTH("\x00\x00\x00\x08\x04\xd2\x16\x2f"), CLIENT_HELLO_NOT_TLS },
		{ BOTH("\x16"), CLIENT_HELLO_MORE },
		{ BOTH("\x16\x03\x01\x00"), CLIENT_HELLO_MORE },
		{ BOTH("\x16\x02"), CLIENT_HELLO_MALFORMED },
		{ BOTH("\x16\xfe\xff"), CLIENT_HELLO_MALFORMED },
		{ BOTH("\x14\x03\x03\x00\x01\x01"), CLIENT_HELLO_MALFORMED },
		{ BOTH("\x15\x03\x03\x00\x02\x01\x00"), CLIENT_HELLO_MALFORMED },
		{ BOTH("\x17\x03"), CLIENT_HELLO_MALFORMED },
		{ BOTH("\x17\x04"), CLIENT_HELLO_NOT_TLS },
		/* SSL 2, of version 2 and of version 3. */
		{ BOTH("\x80"), CLIENT_HELLO_MORE },
		{ BOTH("\x80\x2e\x01"), CLIENT_HELLO_MORE },
		{ BOTH("\x80\x2e\x01\x00\x02"), CLIENT_HELLO_MALFORMED },
		{ BOTH("\x80\x2e\x01\x03\x01"), CLIENT_HELLO_MALFORMED },
		{ BOTH("\x80\x2e\x02"), CLIENT_HELLO_NOT_TLS },
		{ BOTH("\x80\x2e\x01\x07"), CLIENT_HELLO_NOT_TLS },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_INT(client_hello_read((const unsigned char *)rows[i].data, rows[i].length, &hello), rows[i].want);
}

/* ---- once more ---- */

static void a_server_that_asks_again(void)
{
	static const unsigned char retry[] = "\x16\x03\x03\x00\x58\x02\x00\x00\x54\x03\x03"
					     "\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91"
					     "\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c\x20";
	unsigned char other[sizeof(retry)], split[64];

	for (size_t n = 0; n < 43; n++)
		CHECK_INT(server_hello_read(retry, n), SERVER_HELLO_MORE);
	CHECK_INT(server_hello_read(retry, 43), SERVER_HELLO_RETRY);
	CHECK_INT(server_hello_read(retry, sizeof(retry) - 1), SERVER_HELLO_RETRY);
	memcpy(other, retry, sizeof(retry));
	other[42] ^= 1;
	CHECK_INT(server_hello_read(other, 43), SERVER_HELLO_OTHER);
	CHECK_INT(server_hello_read((const unsigned char *)"\x15\x03\x03\x00\x02", 5), SERVER_HELLO_OTHER);
	CHECK_INT(server_hello_read((const unsigned char *)"HTTP/1.1", 8), SERVER_HELLO_OTHER);
	/* In two records. */
	memcpy(split, "\x16\x03\x03\x00\x0a", 5);
	memcpy(split + 5, retry + 5, 10);
	memcpy(split + 15, "\x16\x03\x03\x00\x4e", 5);
	memcpy(split + 20, retry + 15, 28);
	for (size_t n = 0; n < 48; n++)
		CHECK_INT(server_hello_read(split, n), SERVER_HELLO_MORE);
	CHECK_INT(server_hello_read(split, 48), SERVER_HELLO_RETRY);
}

static void the_second_hello(void)
{
	static const unsigned char change[] = { 20, 3, 3, 0, 1, 1 };
	size_t whole;

	load("go");
	whole = size;
	CHECK_INT(client_hello_again(bytes, size, &hello), CLIENT_HELLO_FOUND);
	memmove(bytes + 6, bytes, size);
	memcpy(bytes, change, 6);
	size += 6;
	for (size_t n = 0; n < size; n++)
		CHECK_INT(client_hello_again(bytes, n, &hello), CLIENT_HELLO_MORE);
	CHECK_INT(client_hello_again(bytes, size, &hello), CLIENT_HELLO_FOUND);
	CHECK_STR(hello.name, "api.example.com");
	CHECK_INT(hello.size, whole + 6);
	bytes[5] = 2;
	CHECK_INT(client_hello_again(bytes, size, &hello), CLIENT_HELLO_MALFORMED);
	/* Bytes that only the first hello's key can be for. */
	CHECK_INT(client_hello_again((const unsigned char *)"\x17\x03\x03", 3, &hello), CLIENT_HELLO_MALFORMED);
}

int main(void)
{
	RUN(real_programs);
	RUN(many_records);
	RUN(names);
	RUN(extensions);
	RUN(what_is_told);
	RUN(the_body);
	RUN(records_in_between);
	RUN(first_bytes);
	RUN(a_server_that_asks_again);
	RUN(the_second_hello);
	return check_failures != 0;
}
