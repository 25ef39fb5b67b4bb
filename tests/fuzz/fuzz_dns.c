/* Queries of strangers: a name that is taken is one that a host can have, and the answer repeats the question and keeps
 * to its size. */
#include "fuzz.h"

#include "net/dns_message.h"

/* An answer, read as little as a client has to. */
static void answer_holds(const struct dns_query *query, const unsigned char *out, size_t size, size_t most,
			 unsigned code)
{
	unsigned records = (unsigned)(out[6] << 8 | out[7]);
	size_t head = DNS_HEADER + (query->question ? query->question_size : 0);

	MUST(size >= head && size <= DNS_ANSWER_MOST);
	MUST(size <= most || out[2] & 2);
	MUST((out[0] << 8 | out[1]) == query->id && out[2] & 0x80 && (out[3] & 15) == (code & 15));
	MUST(out[5] == (query->question ? 1 : 0) && (out[11] == 1) == query->edns);
	MUST(!query->question || memcmp(out + DNS_HEADER, query->question, query->question_size) == 0);
	MUST(!(out[2] & 2) || (records == 0 && out[9] == 0 && size == head + (query->edns ? 11 : 0)));
}

static void query_answer(const struct dns_query *query, unsigned code)
{
	static const struct net_address addresses[] = { { AF_INET, { 198, 18, 0, 1 } },
							{ AF_INET6, { 0xfd, [15] = 1 } } };
	const struct dns_answer answer = { (enum dns_code)code, 60, addresses, 2,
					   code ? NULL : "a.very.long.name.example" };
	unsigned char out[DNS_ANSWER_MOST];

	answer_holds(query, out, dns_answer_write(query, &answer, query->room, out), query->room, code);
	answer_holds(query, out, dns_answer_write(query, &answer, 65535, out), 65535, code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct dns_query query;
	struct net_address address;
	enum dns_verdict verdict = dns_query_read(data, size, &query);

	if (verdict == DNS_QUERY_IGNORED)
		return 0;
	MUST(strlen(query.name) < sizeof(query.name));
	MUST(!query.question || (query.question >= data && query.question + query.question_size <= data + size));
	MUST(query.room >= DNS_UDP_PLAIN && query.room <= DNS_UDP_MOST);
	MUST(verdict != DNS_QUERY_VALID || query.code == DNS_NOERROR);
	MUST(verdict != DNS_QUERY_REJECTED || query.code != DNS_NOERROR);
	if (verdict == DNS_QUERY_VALID) {
		MUST(strspn(query.name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == strlen(query.name));
		MUST(query.name[0] != '.' && !strstr(query.name, ".."));
		MUST(query.name[0] == '\0' || query.name[strlen(query.name) - 1] != '.');
	}
	if (dns_reverse_name(query.name, &address))
		MUST(address.family == AF_INET || address.family == AF_INET6);
	query_answer(&query, query.code);
	query_answer(&query, DNS_SERVFAIL);
	return 0;
}
