/* DNS: a query's bytes as programs send them, each way to break one, and answers byte for byte. */
#include "../check.h"

#include "base/own.h"
#include "net/dns_message.h"

#include <arpa/inet.h>

static struct dns_query query;
static unsigned char bytes[70000], answer[DNS_ANSWER_MOST];
static size_t size, answered;

#define BOTH(text) text, sizeof(text) - 1

/* Id 0x1234, RD, one question. */
#define HEAD      "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
#define HEAD_EDNS "\x12\x34\x01\x20\x00\x01\x00\x00\x00\x00\x00\x01"
#define EXAMPLE                                                                                                        \
	"\x07"                                                                                                         \
	"example\x03"                                                                                                  \
	"com\x00"
#define OPT "\x00\x00\x29\x10\x00\x00\x00\x00\x00\x00\x00"

static enum dns_verdict query_take(const void *data, size_t n)
{
	memcpy(bytes, data, n);
	size = n;
	return dns_query_read(bytes, size, &query);
}

static void a_query(void)
{
	CHECK_INT(query_take(BOTH(HEAD EXAMPLE "\x00\x01\x00\x01")), DNS_QUERY_VALID);
	CHECK_STR(query.name, "example.com");
	CHECK_INT(query.type, DNS_TYPE_A);
	CHECK_INT(query.id, 0x1234);
	CHECK_INT(query.room, DNS_UDP_PLAIN);
	CHECK(!query.edns && query.question == bytes + DNS_HEADER);
	CHECK_INT(query.question_size, 17);
	/* Capitals, as clients mix them against forged answers. */
	CHECK_INT(query_take(BOTH(HEAD "\x07"
				       "eXAmPLe\x03"
				       "COM\x00\x00\x1c\x00\x01")),
		  DNS_QUERY_VALID);
	CHECK_STR(query.name, "example.com");
	CHECK_INT(query.type, DNS_TYPE_AAAA);
	CHECK_INT(query_take(BOTH(HEAD "\x04_tcp\x06x--y_1\x00\x00\x41\x00\x01")), DNS_QUERY_VALID);
	CHECK_STR(query.name, "_tcp.x--y_1");
	CHECK_INT(query.type, DNS_TYPE_HTTPS);
	CHECK_INT(query_take(BOTH(HEAD "\x00\x00\x02\x00\x01")), DNS_QUERY_VALID);
	CHECK_STR(query.name, "");
	/* A type that nobody knows is a question all the same: there is no data of it. */
	CHECK_INT(query_take(BOTH(HEAD EXAMPLE "\x00\xff\x00\x01")), DNS_QUERY_VALID);
	CHECK_INT(query_take(BOTH(HEAD EXAMPLE "\xff\x01\x00\x01")), DNS_QUERY_VALID);
}

static void edns(void)
{
	CHECK_INT(query_take(BOTH(HEAD_EDNS EXAMPLE "\x00\x01\x00\x01" OPT)), DNS_QUERY_VALID);
	CHECK(query.edns && !query.dnssec_ok);
	CHECK_INT(query.room, DNS_UDP_MOST);
	/* 600 bytes, DO; a cookie and padding. */
	CHECK_INT(query_take(BOTH(HEAD_EDNS EXAMPLE "\x00\x01\x00\x01\x00\x00\x29\x02\x58\x00\x00\x80\x00\x00\x12"
						    "\x00\x0a\x00\x08"
						    "12345678"
						    "\x00\x0c\x00\x02\x00\x00")),
		  DNS_QUERY_VALID);
	CHECK(query.edns && query.dnssec_ok);
	CHECK_INT(query.room, 600);
	CHECK_INT(query_take(BOTH(HEAD_EDNS EXAMPLE "\x00\x01\x00\x01\x00\x00\x29\x00\x00\x00\x00\x00\x00\x00\x00")),
		  DNS_QUERY_VALID);
	CHECK_INT(query.room, DNS_UDP_PLAIN);
	/* Version 1. */
	CHECK_INT(query_take(BOTH(HEAD_EDNS EXAMPLE "\x00\x01\x00\x01\x00\x00\x29\x10\x00\x00\x01\x00\x00\x00\x00")),
		  DNS_QUERY_REJECTED);
	CHECK_INT(query.code, DNS_BADVERS);
	answered = dns_answer_write(&query, &(struct dns_answer){ .code = query.code }, query.room, answer);
	CHECK_INT(answered, 12 + 17 + 11);
	CHECK_INT(answer[3] & 15, 0);
	CHECK(memcmp(answer + 29, "\x00\x00\x29\x04\xd0\x01\x00\x00\x00\x00\x00", 11) == 0);
}

static void what_is_rejected(void)
{
	static const struct {
		const char *data;
		size_t length;
		enum dns_verdict verdict;
		enum dns_code code;
	} rows[] = {
		{ BOTH(""), DNS_QUERY_IGNORED, 0 },
		{ BOTH("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00"), DNS_QUERY_IGNORED, 0 },
		{ BOTH("\x12\x34\x81\x80\x00\x01\x00\x00\x00\x00\x00\x00" EXAMPLE "\x00\x01\x00\x01"),
		  DNS_QUERY_IGNORED, 0 },
		/* NOTIFY, UPDATE, an inverse query. */
		{ BOTH("\x12\x34\x21\x00\x00\x01\x00\x00\x00\x00\x00\x00" EXAMPLE "\x00\x01\x00\x01"),
		  DNS_QUERY_REJECTED, DNS_NOTIMP },
		{ BOTH("\x12\x34\x28\x00\x00\x01\x00\x00\x00\x00\x00\x00" EXAMPLE "\x00\x01\x00\x01"),
		  DNS_QUERY_REJECTED, DNS_NOTIMP },
		{ BOTH("\x12\x34\x08\x00\x00\x01\x00\x00\x00\x00\x00\x00"), DNS_QUERY_REJECTED, DNS_NOTIMP },
		/* Cut; no question; two; an answer or an authority among it; two more records. */
		{ BOTH("\x12\x34\x03\x00\x00\x01\x00\x00\x00\x00\x00\x00" EXAMPLE "\x00\x01\x00\x01"),
		  DNS_QUERY_REJECTED, DNS_FORMERR },
		{ BOTH("\x12\x34\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00"), DNS_QUERY_REJECTED, DNS_FORMERR },
		{ BOTH("\x12\x34\x01\x00\x00\x02\x00\x00\x00\x00\x00\x00" EXAMPLE "\x00\x01\x00\x01" EXAMPLE
		       "\x00\x01\x00\x01"),
		  DNS_QUERY_REJECTED, DNS_FORMERR },
		{ BOTH("\x12\x34\x01\x00\x00\x01\x00\x01\x00\x00\x00\x00" EXAMPLE "\x00\x01\x00\x01"),
		  DNS_QUERY_REJECTED, DNS_FORMERR },
		{ BOTH("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x01\x00\x00" EXAMPLE "\x00\x01\x00\x01"),
		  DNS_QUERY_REJECTED, DNS_FORMERR },
		{ BOTH("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x02" EXAMPLE "\x00\x01\x00\x01" OPT OPT),
		  DNS_QUERY_REJECTED, DNS_FORMERR },
		/* Names: a pointer, to itself and forward; labels of other kinds; cut; without an end. */
		{ BOTH(HEAD "\xc0\x0c\x00\x01\x00\x01"), DNS_QUERY_REJECTED, DNS_FORMERR },
		{ BOTH(HEAD "\x03www\xc0\x16\x00\x01\x00\x01" EXAMPLE), DNS_QUERY_REJECTED, DNS_FORMERR },
		{ BOTH(HEAD "\x40"
			    "a\x00\x00\x01\x00\x01"),
		  DNS_QUERY_REJECTED, DNS_FORMERR },
		{ BOTH(HEAD "\x80"
			    "a\x00\x00\x01\x00\x01"),
		  DNS_QUERY_REJECTED, DNS_FORMERR },
		{ BOTH(HEAD), DNS_QUERY_REJECTED, DNS_FORMERR },
		{ BOTH(HEAD "\x07"
			    "exam"),
		  DNS_QUERY_REJECTED, DNS_FORMERR },
		{ BOTH(HEAD "\x07"
			    "example"),
		  DNS_QUERY_REJECTED, DNS_FORMERR },
		{ BOTH(HEAD EXAMPLE "\x00\x01\x00"), DNS_QUERY_REJECTED, DNS_FORMERR },
		/* Something behind the question, or not what the header promises. */
		{ BOTH(HEAD EXAMPLE "\x00\x01\x00\x01\x00"), DNS_QUERY_REJECTED, DNS_FORMERR },
		{ BOTH(HEAD EXAMPLE "\x00\x01\x00\x01" OPT), DNS_QUERY_REJECTED, DNS_FORMERR },
		{ BOTH(HEAD_EDNS EXAMPLE "\x00\x01\x00\x01"), DNS_QUERY_REJECTED, DNS_FORMERR },
		{ BOTH(HEAD_EDNS EXAMPLE "\x00\x01\x00\x01" OPT "x"), DNS_QUERY_REJECTED, DNS_FORMERR },
		{ BOTH(HEAD_EDNS EXAMPLE "\x00\x01\x00\x01\x01"
					 "a" OPT),
		  DNS_QUERY_REJECTED, DNS_FORMERR },
		{ BOTH(HEAD_EDNS EXAMPLE "\x00\x01\x00\x01\x00\x00\x29\x10\x00\x00\x00\x00\x00\x00\x03\x00\x0a\x00"),
		  DNS_QUERY_REJECTED, DNS_FORMERR },
		{ BOTH(HEAD_EDNS EXAMPLE
		       "\x00\x01\x00\x01\x00\x00\x29\x10\x00\x00\x00\x00\x00\x00\x04\x00\x0a\x00\x01"),
		  DNS_QUERY_REJECTED, DNS_FORMERR },
		/* A record that is no OPT: TSIG. */
		{ BOTH(HEAD_EDNS EXAMPLE "\x00\x01\x00\x01\x00\x00\xfa\x00\xff\x00\x00\x00\x00\x00\x00"),
		  DNS_QUERY_REJECTED, DNS_FORMERR },
		/* Classes CH and ANY; types 0, OPT, TSIG, AXFR. */
		{ BOTH(HEAD EXAMPLE "\x00\x01\x00\x03"), DNS_QUERY_REJECTED, DNS_REFUSED },
		{ BOTH(HEAD EXAMPLE "\x00\x01\x00\xff"), DNS_QUERY_REJECTED, DNS_REFUSED },
		{ BOTH(HEAD EXAMPLE "\x00\x00\x00\x01"), DNS_QUERY_REJECTED, DNS_REFUSED },
		{ BOTH(HEAD EXAMPLE "\x00\x29\x00\x01"), DNS_QUERY_REJECTED, DNS_REFUSED },
		{ BOTH(HEAD EXAMPLE "\x00\xfa\x00\x01"), DNS_QUERY_REJECTED, DNS_REFUSED },
		{ BOTH(HEAD EXAMPLE "\x00\xfc\x00\x01"), DNS_QUERY_REJECTED, DNS_REFUSED },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		enum dns_verdict got = query_take(rows[i].data, rows[i].length);

		if (got != rows[i].verdict || (got == DNS_QUERY_REJECTED && query.code != rows[i].code))
			check_fail("row %zu: verdict %d, code %d", i, got, query.code);
	}
}

static void names_that_no_host_has(void)
{
	static const struct {
		const char *data;
		size_t length;
		const char *text;
	} rows[] = {
		{ BOTH(HEAD "\x0b"
			    "example\0com\x00\x00\x01\x00\x01"),
		  "example\\000com" },
		{ BOTH(HEAD "\x0b"
			    "example.com\x00\x00\x01\x00\x01"),
		  "example\\046com" },
		{ BOTH(HEAD "\x08"
			    "example\0\x03"
			    "com\x00\x00\x01\x00\x01"),
		  "example\\000.com" },
		{ BOTH(HEAD "\x02"
			    "a \x03"
			    "com\x00\x00\x01\x00\x01"),
		  "a\\032.com" },
		{ BOTH(HEAD "\x02\xc3\xbc\x03"
			    "com\x00\x00\x01\x00\x01"),
		  "\\195\\188.com" },
		{ BOTH(HEAD "\x01*\x03"
			    "com\x00\x00\x01\x00\x01"),
		  "\\042.com" },
		{ BOTH(HEAD "\x01\\\x03"
			    "com\x00\x00\x01\x00\x01"),
		  "\\092.com" },
		{ BOTH(HEAD "\x03"
			    "a\r\n\x03"
			    "com\x00\x00\x01\x00\x01"),
		  "a\\013\\010.com" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CHECK_INT(query_take(rows[i].data, rows[i].length), DNS_QUERY_BAD_NAME);
		CHECK_INT(query.code, DNS_NXDOMAIN);
		CHECK_STR(query.name, rows[i].text);
	}
}

/* Labels of these sizes, and a type and class behind them. */
static enum dns_verdict labels_take(const unsigned char *sizes, size_t count, char fill)
{
	memcpy(bytes, HEAD, 12);
	size = 12;
	for (size_t i = 0; i < count; i++) {
		bytes[size++] = sizes[i];
		memset(bytes + size, fill, sizes[i]);
		size += sizes[i];
	}
	memcpy(bytes + size, "\0\0\1\0\1", 5);
	size += 5;
	return dns_query_read(bytes, size, &query);
}

static void long_names(void)
{
	unsigned char ones[127];

	memset(ones, 1, sizeof(ones));
	CHECK_INT(labels_take((const unsigned char *)"\x3f\x3f\x3f\x3d", 4, 'a'), DNS_QUERY_VALID);
	CHECK_INT(strlen(query.name), 253);
	CHECK_INT(query.question_size, 255 + 4);
	CHECK_INT(labels_take((const unsigned char *)"\x3f\x3f\x3f\x3e", 4, 'a'), DNS_QUERY_REJECTED);
	CHECK_INT(query.code, DNS_FORMERR);
	CHECK_INT(labels_take(ones, 64, 'a'), DNS_QUERY_VALID);
	CHECK_INT(strlen(query.name), 127);
	CHECK_INT(labels_take(ones, 127, 'a'), DNS_QUERY_VALID);
	CHECK_INT(strlen(query.name), 253);
	/* Escaped, such a name is longer than there is room: it is for reports. */
	CHECK_INT(labels_take((const unsigned char *)"\x3f\x3f\x3f\x3d", 4, '\0'), DNS_QUERY_BAD_NAME);
	CHECK(strlen(query.name) < sizeof(query.name) && strncmp(query.name, "\\000\\000", 8) == 0);
	CHECK_INT(strspn(query.name, "\\0."), strlen(query.name));
}

static void is_answer(const void *want, size_t n)
{
	if (answered != n || memcmp(answer, want, n) != 0) {
		char text[1024];
		size_t at = 0;

		for (size_t i = 0; i < answered && at + 3 < sizeof(text); i++)
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%02x", answer[i]);
		check_fail("%zu bytes, not %zu: %s", answered, n, text);
	}
}

static void answers(void)
{
	const struct net_address both[] = { { AF_INET, { 198, 18, 0, 1 } },
					    { AF_INET6, { 0xfd, 0, 0, 0xeb, [15] = 1 } },
					    { AF_INET, { 198, 18, 0, 2 } } };
	struct dns_answer reply = { .code = DNS_NOERROR, .ttl = 60, .addresses = both, .count = 3 };

	query_take(BOTH(HEAD "\x07"
			     "eXample\x03"
			     "com\x00\x00\x01\x00\x01"));
	answered = dns_answer_write(&query, &reply, query.room, answer);
	is_answer(BOTH("\x12\x34\x81\x80\x00\x01\x00\x02\x00\x00\x00\x00"
		       "\x07"
		       "eXample\x03"
		       "com\x00\x00\x01\x00\x01"
		       "\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\xc6\x12\x00\x01"
		       "\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\xc6\x12\x00\x02"));
	query_take(BOTH("\x12\x34\x01\x10\x00\x01\x00\x00\x00\x00\x00\x01" EXAMPLE "\x00\x1c\x00\x01"
			"\x00\x00\x29\x10\x00\x00\x00\x80\x00\x00\x00"));
	answered = dns_answer_write(&query, &reply, query.room, answer);
	is_answer(BOTH("\x12\x34\x81\x90\x00\x01\x00\x01\x00\x00\x00\x01" EXAMPLE "\x00\x1c\x00\x01"
		       "\xc0\x0c\x00\x1c\x00\x01\x00\x00\x00\x3c\x00\x10\xfd\x00\x00\xeb\0\0\0\0\0\0\0\0\0\0\0\x01"
		       "\x00\x00\x29\x04\xd0\x00\x00\x80\x00\x00\x00"));
	/* Neither family: there is no data of that type, and that holds for a while too. */
	query_take(BOTH(HEAD EXAMPLE "\x00\x41\x00\x01"));
	answered = dns_answer_write(&query, &reply, query.room, answer);
	is_answer(BOTH("\x12\x34\x81\x80\x00\x01\x00\x00\x00\x01\x00\x00" EXAMPLE "\x00\x41\x00\x01"
		       "\x00\x00\x06\x00\x01\x00\x00\x00\x3c\x00\x16\x00\x00"
		       "\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1\x00\x00\x00\x3c"));
	query_take(BOTH(HEAD EXAMPLE "\x00\x0c\x00\x01"));
	answered =
		dns_answer_write(&query, &(struct dns_answer){ .ttl = 1, .target = "a.example" }, query.room, answer);
	is_answer(BOTH("\x12\x34\x81\x80\x00\x01\x00\x01\x00\x00\x00\x00" EXAMPLE "\x00\x0c\x00\x01"
		       "\xc0\x0c\x00\x0c\x00\x01\x00\x00\x00\x01\x00\x0b\x01"
		       "a\x07"
		       "example\x00"));
}

static void answers_of_failures(void)
{
	static const enum dns_code codes[] = { DNS_SERVFAIL, DNS_NOTIMP, DNS_REFUSED };

	query_take(BOTH(HEAD EXAMPLE "\x00\x01\x00\x01"));
	answered = dns_answer_write(&query, &(struct dns_answer){ .code = DNS_NXDOMAIN, .ttl = 5 }, query.room, answer);
	is_answer(BOTH("\x12\x34\x81\x83\x00\x01\x00\x00\x00\x01\x00\x00" EXAMPLE "\x00\x01\x00\x01"
		       "\x00\x00\x06\x00\x01\x00\x00\x00\x05\x00\x16\x00\x00"
		       "\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1\x00\x00\x00\x05"));
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		answered = dns_answer_write(&query, &(struct dns_answer){ .code = codes[i] }, query.room, answer);
		CHECK_INT(answered, 12 + 17);
		CHECK_INT(answer[3] & 15, codes[i]);
		CHECK(memcmp(answer + 4, "\0\1\0\0\0\0\0\0", 8) == 0);
	}
	/* What cannot be read is not repeated, and comes without OPT. */
	query_take(BOTH(HEAD_EDNS "\xc0\x0c\x00\x01\x00\x01" OPT));
	answered = dns_answer_write(&query, &(struct dns_answer){ .code = query.code }, query.room, answer);
	is_answer(BOTH("\x12\x34\x81\x81\x00\x00\x00\x00\x00\x00\x00\x00"));
	/* The opcode comes back. */
	query_take(BOTH("\x12\x34\x28\x00\x00\x01\x00\x00\x00\x00\x00\x00"));
	answered = dns_answer_write(&query, &(struct dns_answer){ .code = query.code }, query.room, answer);
	is_answer(BOTH("\x12\x34\xa8\x84\x00\x00\x00\x00\x00\x00\x00\x00"));
}

static void cut_answers(void)
{
	struct net_address many[300];
	struct dns_answer reply = { .addresses = many, .count = 31 };

	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = (struct net_address){ AF_INET, { 198, 18, 0, (unsigned char)i } };
	query_take(BOTH(HEAD EXAMPLE "\x00\x01\x00\x01"));
	reply.count = 30; /* 29 + 30 * 16 = 509 */
	CHECK_INT(dns_answer_write(&query, &reply, query.room, answer), 509);
	CHECK_INT(answer[2] & 2, 0);
	CHECK_INT(answer[7], 30);
	reply.count = 31;
	answered = dns_answer_write(&query, &reply, query.room, answer);
	is_answer(BOTH("\x12\x34\x83\x80\x00\x01\x00\x00\x00\x00\x00\x00" EXAMPLE "\x00\x01\x00\x01"));
	/* Over TCP it is whole; with EDNS there is more room. */
	CHECK_INT(dns_answer_write(&query, &reply, 65535, answer), 525);
	CHECK_INT(answer[2] & 2, 0);
	query_take(BOTH(HEAD_EDNS EXAMPLE "\x00\x01\x00\x01" OPT));
	CHECK_INT(dns_answer_write(&query, &reply, query.room, answer), 525 + 11);
	reply.count = 75; /* 29 + 75 * 16 + 11 = 1240 */
	CHECK_INT(dns_answer_write(&query, &reply, query.room, answer), 29 + 11);
	CHECK_INT(answer[2] & 2, 2);
	CHECK(memcmp(answer + 6, "\0\0\0\0\0\1", 6) == 0);
	/* More than anybody has room for. */
	reply.count = 300;
	CHECK_INT(dns_answer_write(&query, &reply, 65535, answer), 29 + 11);
	CHECK_INT(answer[2] & 2, 2);
}

static void reverse_names(void)
{
	struct net_address address;
	static const char *const bad[] = {
		"",
		"in-addr.arpa",
		"1.2.3.in-addr.arpa",
		"1.2.3.4.5.in-addr.arpa",
		"256.2.3.4.in-addr.arpa",
		"01.2.3.4.in-addr.arpa",
		"1.2.3.4.in-addr.arpa.evil.test",
		"1.2.3.-4.in-addr.arpa",
		"a.2.3.4.in-addr.arpa",
		"1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.b.e.0.0.0.0.d.ip6.arpa",
		"1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.b.e.0.0.0.0.g.f.ip6.arpa",
		"1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.b.e.0.0.0.0.d.f.0.ip6.arpa",
		"1.0.0.7.f.f.f.f.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa" + 2,
		"1.0.0.0.0.0.0.f.f.f.f.f.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.int",
		"1.0.0.0.0.0.f.7.f.f.f.f.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa",
	};
	char text[64];

	CHECK(dns_reverse_name("4.0.18.198.in-addr.arpa", &address));
	CHECK_INT(address.family, AF_INET);
	CHECK_STR(inet_ntop(AF_INET, address.bytes, text, sizeof(text)), "198.18.0.4");
	CHECK(dns_reverse_name("1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.b.e.0.0.0.0.d.f.ip6.arpa", &address));
	CHECK_INT(address.family, AF_INET6);
	CHECK_STR(inet_ntop(AF_INET6, address.bytes, text, sizeof(text)), "fd00:eb::1");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (dns_reverse_name(bad[i], &address))
			check_fail("%s is taken", bad[i]);
}

int main(void)
{
	RUN(a_query);
	RUN(edns);
	RUN(what_is_rejected);
	RUN(names_that_no_host_has);
	RUN(long_names);
	RUN(answers);
	RUN(answers_of_failures);
	RUN(cut_answers);
	RUN(reverse_names);
	return check_failures != 0;
}
