#include "net/dns_message.h"

#include <stdio.h>
#include <string.h>

enum {
	FLAG_QR = 0x8000, /* an answer */
	FLAG_TC = 0x0200, /* cut */
	FLAG_RD = 0x0100, /* recursion is wanted */
	FLAG_RA = 0x0080, /* and there is some: without it Go's resolver takes an empty answer for a broken server */
	FLAG_CD = 0x0010, /* the client checks DNSSEC itself */
	OPCODE = 0x7800,
	CLASS_IN = 1,
	LABEL_MAX = 63,
	NAME_WIRE_MAX = 255, /* bytes of a name in a message, the root's included */
	DNSSEC_OK = 0x8000,  /* of OPT's TTL field */
};

static uint16_t word_at(const unsigned char *data)
{
	return (uint16_t)(data[0] << 8 | data[1]);
}

static bool is_host_byte(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* ---- reading ---- */

struct dns_reading {
	const unsigned char *data; /* of the client */
	size_t size;               /* how many bytes */
	size_t at;                 /* how many were read */
};

/* A label of a name for reports: what no host's name has becomes \DDD, as in zone files. Cut when there is no room. */
static size_t label_text(const unsigned char *label, size_t length, char *out, size_t room, bool *odd)
{
	size_t size = 0;

	for (size_t i = 0; i < length; i++) {
		unsigned char c = label[i];

		if (c >= 'A' && c <= 'Z')
			c |= 0x20;
		if (is_host_byte(c)) {
			if (size < room)
				out[size++] = (char)c;
			continue;
		}
		*odd = true;
		if (size + 4 <= room) {
			char escape[5];

			snprintf(escape, sizeof(escape), "\\%03u", c);
			memcpy(out + size, escape, 4);
			size += 4;
		}
	}
	return size;
}

/* The question's name. 0; -1: it is broken. Pointers are refused: there is nothing before it to point to. */
static int name_read(struct dns_reading *r, struct dns_query *query, bool *odd)
{
	const size_t from = r->at, room = sizeof(query->name) - 1;
	size_t size = 0;

	for (;;) {
		size_t length;

		if (r->at >= r->size)
			return -1;
		length = r->data[r->at++];
		if (length == 0)
			break;
		if (length > LABEL_MAX || length > r->size - r->at || r->at + length - from > NAME_WIRE_MAX - 1)
			return -1;
		if (size > 0 && size < room)
			query->name[size++] = '.';
		size += label_text(r->data + r->at, length, query->name + size, room - size, odd);
		r->at += length;
	}
	query->name[size] = '\0';
	return 0;
}

/* The OPT record, which alone may stand behind the question. 0, or -1. */
static int opt_read(struct dns_reading *r, struct dns_query *query)
{
	const unsigned char *data = r->data + r->at;
	size_t length;

	/* The root's name, type, class (the client's room), TTL (extended code, version, flags), length. */
	if (r->size - r->at < 11 || data[0] != 0 || word_at(data + 1) != DNS_TYPE_OPT || query->edns)
		return -1;
	length = word_at(data + 9);
	if (length != r->size - r->at - 11)
		return -1;
	query->edns = true;
	query->dnssec_ok = word_at(data + 7) & DNSSEC_OK;
	query->room = word_at(data + 3);
	if (query->room < DNS_UDP_PLAIN)
		query->room = DNS_UDP_PLAIN;
	if (query->room > DNS_UDP_MOST)
		query->room = DNS_UDP_MOST;
	if (data[6] != 0)
		query->code = DNS_BADVERS;
	for (size_t at = 11, left = length; left > 0;) {
		size_t option;

		if (left < 4)
			return -1;
		option = (size_t)word_at(data + at + 2) + 4;
		if (option > left)
			return -1;
		at += option;
		left -= option;
	}
	r->at = r->size;
	return 0;
}

static enum dns_verdict query_reject(struct dns_query *query, enum dns_code code)
{
	query->code = code;
	/* Of a message that cannot be read nothing is repeated. */
	if (code == DNS_FORMERR)
		query->edns = false;
	return DNS_QUERY_REJECTED;
}

enum dns_verdict dns_query_read(const unsigned char *data, size_t size, struct dns_query *query)
{
	struct dns_reading r = { .data = data, .size = size, .at = DNS_HEADER };
	uint16_t additional;
	bool odd = false;

	memset(query, 0, sizeof(*query));
	query->room = DNS_UDP_PLAIN;
	if (size < DNS_HEADER)
		return DNS_QUERY_IGNORED;
	query->id = word_at(data);
	query->flags = word_at(data + 2);
	if (query->flags & FLAG_QR)
		return DNS_QUERY_IGNORED;
	if (query->flags & OPCODE)
		return query_reject(query, DNS_NOTIMP);
	additional = word_at(data + 10);
	if (query->flags & FLAG_TC || word_at(data + 4) != 1 || word_at(data + 6) != 0 || word_at(data + 8) != 0 ||
	    additional > 1 || name_read(&r, query, &odd) < 0 || r.size - r.at < 4)
		return query_reject(query, DNS_FORMERR);
	query->type = word_at(data + r.at);
	r.at += 4;
	query->question = data + DNS_HEADER;
	query->question_size = r.at - DNS_HEADER;
	if ((additional == 1 && opt_read(&r, query) < 0) || r.at != r.size)
		return query_reject(query, DNS_FORMERR);
	if (query->code != DNS_NOERROR)
		return DNS_QUERY_REJECTED;
	/* OPT is no type that a question can have; the last ones are for transfers of zones. */
	if (word_at(query->question + query->question_size - 2) != CLASS_IN || query->type == 0 ||
	    query->type == DNS_TYPE_OPT || (query->type >= 249 && query->type <= 252))
		return query_reject(query, DNS_REFUSED);
	if (odd) {
		query->code = DNS_NXDOMAIN;
		return DNS_QUERY_BAD_NAME;
	}
	return DNS_QUERY_VALID;
}

/* ---- writing ---- */

struct dns_writing {
	unsigned char *out; /* DNS_ANSWER_MOST bytes */
	size_t size;        /* bytes written */
	bool full;          /* something found no room */
};

static void bytes_put(struct dns_writing *w, const void *data, size_t size)
{
	if (size > DNS_ANSWER_MOST - w->size) {
		w->full = true;
		return;
	}
	memcpy(w->out + w->size, data, size);
	w->size += size;
}

static void word_put(struct dns_writing *w, unsigned value)
{
	bytes_put(w, (unsigned char[2]){ (unsigned char)(value >> 8), (unsigned char)value }, 2);
}

static void long_put(struct dns_writing *w, uint32_t value)
{
	word_put(w, value >> 16);
	word_put(w, value & 0xffff);
}

static void record_put(struct dns_writing *w, unsigned type, uint32_t ttl, const void *data, size_t size)
{
	word_put(w, 0xc000 | DNS_HEADER); /* the question's name */
	word_put(w, type);
	word_put(w, CLASS_IN);
	long_put(w, ttl);
	word_put(w, (unsigned)size);
	bytes_put(w, data, size);
}

/* A name's text as labels; the size, or 0: it is none. */
static size_t name_labels(const char *text, unsigned char out[NAME_WIRE_MAX])
{
	size_t size = 0;

	while (*text) {
		size_t length = strcspn(text, ".");

		if (length == 0 || length > LABEL_MAX || size + length + 2 > NAME_WIRE_MAX)
			return 0;
		out[size++] = (unsigned char)length;
		memcpy(out + size, text, length);
		size += length;
		text += length;
		if (*text == '.' && *++text == '\0')
			return 0;
	}
	out[size++] = 0;
	return size;
}

static unsigned addresses_put(struct dns_writing *w, const struct dns_query *query, const struct dns_answer *answer)
{
	const sa_family_t family = query->type == DNS_TYPE_A ? AF_INET : query->type == DNS_TYPE_AAAA ? AF_INET6 : 0;
	unsigned count = 0;

	for (size_t i = 0; i < answer->count && !w->full; i++) {
		if (family == 0 || answer->addresses[i].family != family)
			continue;
		record_put(w, query->type, answer->ttl, answer->addresses[i].bytes, family == AF_INET ? 4 : 16);
		count += !w->full;
	}
	return count;
}

/* The zone is the root's, which is above every name; its name server and mailbox are the root too. */
static void soa_put(struct dns_writing *w, uint32_t ttl)
{
	bytes_put(w, "", 1);
	word_put(w, DNS_TYPE_SOA);
	word_put(w, CLASS_IN);
	long_put(w, ttl);
	word_put(w, 22);
	bytes_put(w, "\0", 2);
	for (int i = 0; i < 4; i++) /* serial, refresh, retry, expire */
		long_put(w, 1);
	long_put(w, ttl);
}

static void opt_put(struct dns_writing *w, const struct dns_query *query, enum dns_code code)
{
	bytes_put(w, "", 1);
	word_put(w, DNS_TYPE_OPT);
	word_put(w, DNS_UDP_MOST);
	word_put(w, (unsigned)code >> 4 << 8);
	word_put(w, query->dnssec_ok ? DNSSEC_OK : 0);
	word_put(w, 0);
}

static void head_put(struct dns_writing *w, const struct dns_query *query, enum dns_code code, unsigned flags)
{
	word_put(w, query->id);
	word_put(w, FLAG_QR | FLAG_RA | (query->flags & (OPCODE | FLAG_RD | FLAG_CD)) | flags | (code & 15));
	word_put(w, query->question ? 1 : 0);
	for (int i = 0; i < 3; i++)
		word_put(w, 0);
	if (query->question)
		bytes_put(w, query->question, query->question_size);
}

static void count_set(struct dns_writing *w, size_t at, unsigned count)
{
	w->out[at] = (unsigned char)(count >> 8);
	w->out[at + 1] = (unsigned char)count;
}

/* A question that cannot be read may not be about anything, so nothing is said of it. */
static bool answer_is_negative(const struct dns_query *query, enum dns_code code, unsigned records)
{
	return query->question && records == 0 && (code == DNS_NXDOMAIN || code == DNS_NOERROR);
}

size_t dns_answer_write(const struct dns_query *query, const struct dns_answer *answer, size_t most,
			unsigned char out[DNS_ANSWER_MOST])
{
	struct dns_writing w = { .out = out };
	const bool edns = query->edns;
	unsigned records = 0;

	head_put(&w, query, answer->code, 0);
	if (answer->code == DNS_NOERROR && query->question) {
		unsigned char target[NAME_WIRE_MAX];
		size_t size = answer->target && query->type == DNS_TYPE_PTR ? name_labels(answer->target, target) : 0;

		records = addresses_put(&w, query, answer);
		if (size > 0) {
			record_put(&w, DNS_TYPE_PTR, answer->ttl, target, size);
			records++;
		}
	}
	count_set(&w, 6, records);
	if (answer_is_negative(query, answer->code, records)) {
		soa_put(&w, answer->ttl);
		count_set(&w, 8, 1);
	}
	if (edns) {
		opt_put(&w, query, answer->code);
		count_set(&w, 10, 1);
	}
	if (w.full || w.size > most) {
		w.size = 0;
		w.full = false;
		head_put(&w, query, answer->code, FLAG_TC);
		if (edns) {
			opt_put(&w, query, answer->code);
			count_set(&w, 10, 1);
		}
	}
	return w.size;
}

/* ---- reverse names ---- */

static bool reverse_four(const char *name, struct net_address *address)
{
	for (int i = 3; i >= 0; i--) {
		unsigned value = 0, digits = 0;

		for (; *name >= '0' && *name <= '9' && digits < 3; name++, digits++)
			value = value * 10 + (unsigned)(*name - '0');
		if (digits == 0 || (digits > 1 && name[-(int)digits] == '0') || value > 255 || *name++ != '.')
			return false;
		address->bytes[i] = (unsigned char)value;
	}
	return strcmp(name, "in-addr.arpa") == 0;
}

static bool reverse_six(const char *name, struct net_address *address)
{
	static const char digits[] = "0123456789abcdef";

	for (int i = 31; i >= 0; i--) {
		const char *found = *name ? strchr(digits, *name) : NULL;

		if (!found || name[1] != '.')
			return false;
		address->bytes[i / 2] |= (unsigned char)((found - digits) << (i % 2 ? 0 : 4));
		name += 2;
	}
	/* ::ffff:0:0/96 is no address of struct net_address. */
	return strcmp(name, "ip6.arpa") == 0 && memcmp(address->bytes, "\0\0\0\0\0\0\0\0\0\0\377\377", 12) != 0;
}

bool dns_reverse_name(const char *name, struct net_address *address)
{
	memset(address, 0, sizeof(*address));
	address->family = AF_INET;
	if (reverse_four(name, address))
		return true;
	memset(address, 0, sizeof(*address));
	address->family = AF_INET6;
	return reverse_six(name, address);
}
