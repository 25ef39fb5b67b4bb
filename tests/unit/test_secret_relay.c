/* Secrets through the relay: where they are put, where a placeholder refuses the request, and what of them can come
 * back. In one piece, in sevens and byte by byte. */
#include "relay_world.h"

#include "base/base64.h"
#include "intercept/secret_mask.h"

#define ANY "* https://api.example.com/*"
#define H   "Host: api.example.com\r\n"
#define ID  "Accept-Encoding: identity\r\n"

static const char *token, *other; /* placeholders of TOKEN (api.example.com) and OTHER (other.example) */
static char text[4096];           /* made by make() */

static void secret_add(const char *name, const char *value, const char *host, const char *header, const char *format)
{
	struct error err = { 0 };

	CHECK_INT(net_secret_add(&world_.secrets,
				 &(struct net_secret_parts){ name, value, strlen(value), &host, 1, header, format },
				 &world_.arena, &err),
		  0);
}

static void two_secrets(bool tls)
{
	world_open(ANY, tls);
	secret_add("TOKEN", "sk-0123456789", "api.example.com", NULL, NULL);
	secret_add("OTHER", "other-value-1", "other.example", NULL, NULL);
	world_connect(tls ? ANY : "api.example.com:80", tls);
	token = world_.secrets.items[0].placeholder;
	other = world_.secrets.items[1].placeholder;
}

__attribute__((format(printf, 1, 2))) static const char *make(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return text;
}

/* At most 99 digits. */
static const char *base64_of(const char *plain)
{
	static char out[100];
	_cleanup_buf_ struct buf buf = { 0 };

	base64_add(&buf, plain, strlen(plain));
	snprintf(out, sizeof(out), "%s", buf.data);
	return out;
}

static void in_headers(void)
{
	char basic[256];

	EACH_STEP
	{
		two_secrets(true);
		box_sends(make("GET / HTTP/1.1\r\n" H "Authorization: Bearer %s\r\nX-Two: %s,%s\r\n\r\n", token, token,
			       token));
		CHECK_STR(server_got(), "GET / HTTP/1.1\r\n" H "Authorization: Bearer sk-0123456789\r\n"
					"X-Two: sk-0123456789,sk-0123456789\r\n" ID "\r\n");
		CHECK_INT(world_.told_allowed, 1);
		/* "user:" and the secret, in basic auth; with the padding that some leave out. */
		for (int padding = 0; padding < 2; padding++) {
			two_secrets(true);
			snprintf(basic, sizeof(basic), "%s", base64_of(make("me2:%s", token)));
			CHECK(strchr(basic, '='));
			if (padding)
				basic[strcspn(basic, "=")] = '\0';
			box_sends(make("GET / HTTP/1.1\r\n" H "Authorization: bAsic %s\r\n\r\n", basic));
			CHECK_STR(server_got(), make("GET / HTTP/1.1\r\n" H "Authorization: Basic %s\r\n" ID "\r\n",
						     base64_of("me2:sk-0123456789")));
		}
		/* What has no placeholder stays byte for byte. */
		two_secrets(true);
		box_sends("GET / HTTP/1.1\r\n" H
			  "Authorization: basic  bWU6eW91\r\nX: Basic ???\r\nY: ember-secre\r\n\r\n");
		CHECK_STR(server_got(), "GET / HTTP/1.1\r\n" H "Authorization: basic  bWU6eW91\r\nX: Basic ???\r\n"
					"Y: ember-secre\r\n" ID "\r\n");
	}
}

static void bodies_stay(void)
{
	EACH_STEP
	{
		two_secrets(true);
		box_sends(make("POST / HTTP/1.1\r\n" H "Content-Length: %d\r\n\r\n%s", NET_PLACEHOLDER_SIZE, other));
		CHECK_STR(server_got(),
			  make("POST / HTTP/1.1\r\n" H ID "Content-Length: %d\r\n\r\n%s", NET_PLACEHOLDER_SIZE, other));
	}
}

/* Parts and packed forms of an answer could not be masked. */
static void no_part_and_nothing_packed(void)
{
	EACH_STEP
	{
		two_secrets(true);
		box_sends("GET / HTTP/1.1\r\n" H
			  "Accept-Encoding: gzip, br\r\nRange: bytes=3-9\r\nIf-Range: x\r\nTE: trailers\r\n\r\n");
		CHECK_STR(server_got(), "GET / HTTP/1.1\r\n" H ID "Connection: TE\r\nTE: trailers\r\n\r\n");
		server_sends("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nxyz");
		CHECK(strstr(box_got(), "HTTP/1.1 502 Bad Gateway\r\n"));
		CHECK_INT(world_.reason, NET_REASON_HTTP);
		/* A host without a secret: as they are. */
		world_connect(ANY, true);
		world_.relay.target.name = "plain.example.com";
		http_relay_free(&world_.relay);
		http_relay_init(&world_.relay, &(struct relay_calls){ world_decide, world_tell }, NULL,
				&(struct secret_target){ &world_.secrets, "plain.example.com", 443, true });
		make_policy(LISTS("* https://plain.example.com/*"), &world_.arena, &world_.policy);
		box_sends("GET / HTTP/1.1\r\nHost: plain.example.com\r\nAccept-Encoding: gzip\r\nRange: "
			  "bytes=3-9\r\n\r\n");
		CHECK_STR(server_got(), "GET / HTTP/1.1\r\nHost: plain.example.com\r\nAccept-Encoding: gzip\r\nRange: "
					"bytes=3-9\r\n\r\n");
		server_sends("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nxyz");
		CHECK_STR(box_got(), "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nxyz");
	}
}

static void refused(const char *request, bool tls, const char *message)
{
	const char *got;

	box_sends(request);
	CHECK_STR(server_got(), "");
	got = box_got();
	if (strncmp(got, "HTTP/1.1 403 Forbidden\r\n", 24) != 0 || !strstr(got, "\r\nx-emberbox-denied: secret\r\n") ||
	    !strstr(got, message))
		check_fail("not %s: %s", message, got);
	CHECK(!strstr(got, "0123456789") && !strstr(got, "other-value"));
	CHECK_INT(world_.reason, NET_REASON_SECRET);
	CHECK_INT(world_.told, 1);
	/* The control: the connection serves. */
	box_sends("GET /next HTTP/1.1\r\n" H "\r\n");
	CHECK_STR(server_got(), tls ? "GET /next HTTP/1.1\r\n" H ID "\r\n" : "GET /next HTTP/1.1\r\n" H "\r\n");
}

static void placeholders_that_refuse(void)
{
	static const char *const not_for = "contains the placeholder of the secret OTHER, which is not for "
					   "api.example.com:443; it is only for other.example:443";
	char request[1024];

#define REFUSED(message, ...)                                                                                          \
	do {                                                                                                           \
		two_secrets(true);                                                                                     \
		snprintf(request, sizeof(request), __VA_ARGS__);                                                       \
		refused(request, true, message);                                                                       \
	} while (0)

	EACH_STEP
	{
		REFUSED(not_for, "GET / HTTP/1.1\r\n" H "Authorization: Bearer %s\r\n\r\n", other);
		REFUSED(not_for, "GET / HTTP/1.1\r\n" H "A: %s\r\nX-Key: %s\r\n\r\n", token, other);
		REFUSED(not_for, "GET / HTTP/1.1\r\n" H "A: %s %s\r\n\r\n", token, other);
		REFUSED(not_for, "GET / HTTP/1.1\r\n" H "Authorization: Basic %s\r\n\r\n",
			base64_of(make("me:%s", other)));
		REFUSED("the URL contains the placeholder of the secret TOKEN, which is only replaced in the values of "
			"headers",
			"GET /?key=%s HTTP/1.1\r\n" H "\r\n", token);
		REFUSED("the URL contains the placeholder of the secret OTHER, which is not for",
			"GET /%s HTTP/1.1\r\n" H "\r\n", other);
		REFUSED("the name of a header contains the placeholder", "GET / HTTP/1.1\r\n" H "%s: x\r\n\r\n", token);
		REFUSED("a placeholder of a secret that this program does not have",
			"GET / HTTP/1.1\r\n" H "A: ember-secret-00112233445566778899aabbccddeeff\r\n\r\n");
		REFUSED("a placeholder of a secret that this program does not have",
			"GET / HTTP/1.1\r\n" H "A: %.30s\r\n\r\n", token);
	}
	/* Without TLS nothing is put in. */
	EACH_STEP
	{
		two_secrets(false);
		snprintf(request, sizeof(request), "GET / HTTP/1.1\r\n" H "Authorization: Bearer %s\r\n\r\n", token);
		refused(request, false, "which is not for api.example.com:80");
	}
	/* In a trailer: the beginning of the request is away, so all ends. */
	EACH_STEP
	{
		two_secrets(true);
		box_sends(make("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n0\r\nX: %s\r\n\r\n", token));
		CHECK(!strstr(server_got(), "ember-secret"));
		CHECK(world_.relay.broken);
		CHECK_INT(world_.reason, NET_REASON_SECRET);
	}
}

static void secrets_of_a_header(void)
{
	EACH_STEP
	{
		world_open(ANY, true);
		secret_add("KEY", "sk-0123456789", "api.example.com", "X-Api-Key", "Key {}!");
		world_connect(ANY, true);
		box_sends("GET / HTTP/1.1\r\n" H "\r\n");
		CHECK_STR(server_got(), "GET / HTTP/1.1\r\n" H "X-Api-Key: Key sk-0123456789!\r\n" ID "\r\n");
		/* Whatever the program sent there. */
		world_connect(ANY, true);
		box_sends(make("GET / HTTP/1.1\r\n" H "x-api-key: %s\r\nX-Api-Key: mine\r\n\r\n",
			       world_.secrets.items[0].placeholder));
		CHECK_STR(server_got(), "GET / HTTP/1.1\r\n" H "X-Api-Key: Key sk-0123456789!\r\n" ID "\r\n");
		world_connect(ANY, true);
		box_sends(
			make("GET / HTTP/1.1\r\n" H "Authorization: %s\r\n\r\n", world_.secrets.items[0].placeholder));
		CHECK_STR(server_got(), "");
		CHECK(strstr(box_got(), "which is only sent in the header X-Api-Key"));
		/* Not without TLS, and not to another host. */
		world_open(ANY, true);
		secret_add("KEY", "sk-0123456789", "other.example", "X-Api-Key", NULL);
		world_connect(ANY, true);
		box_sends("GET / HTTP/1.1\r\n" H "X-Api-Key: mine\r\n\r\n");
		CHECK_STR(server_got(), "GET / HTTP/1.1\r\n" H "X-Api-Key: mine\r\n\r\n");
	}
}

/* ---- what comes back ---- */

static void answer_is(const char *response, const char *want)
{
	two_secrets(true);
	box_sends("GET / HTTP/1.1\r\n" H "\r\n");
	server_sends(response);
	CHECK_STR(box_got(), want);
}

static void masked_in_answers(void)
{
	char response[512];

	EACH_STEP
	{
		answer_is("HTTP/1.1 200 sk-0123456789\r\nX-Echo: Bearer sk-0123456789\r\nsk-0123456789: "
			  "x\r\nContent-Length: 31\r\n\r\n"
			  "{\"key\": \"sk-0123456789\"} sk-012",
			  "HTTP/1.1 200 *************\r\nX-Echo: Bearer *************\r\n*************: "
			  "x\r\nContent-Length: 31\r\n\r\n"
			  "{\"key\": \"*************\"} sk-012");
		/* A placeholder too, and a text that overlaps itself. */
		two_secrets(true);
		snprintf(response, sizeof(response),
			 "HTTP/1.1 200 OK\r\nContent-Length: 70\r\n\r\n<%s>sk-sk-0123456789sk-0123", token);
		box_sends("GET / HTTP/1.1\r\n" H "\r\n");
		server_sends(response);
		CHECK_STR(box_got(),
			  "HTTP/1.1 200 OK\r\nContent-Length: 70\r\n\r\n<*********************************************>"
			  "sk-*************sk-0123");
		/* Another host's secret was never sent there. */
		answer_is("HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nother-value-1",
			  "HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nother-value-1");
	}
}

static void masked_across_chunks(void)
{
	struct buf body = { 0 };
	const char *got;

	EACH_STEP
	{
		two_secrets(true);
		box_sends("GET / HTTP/1.1\r\n" H "\r\n");
		server_sends("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
		box_got();
		server_sends("4\r\na sk\r\n7\r\n-012345\r\n6\r\n6789 b\r\n3\r\nsk-\r\n0\r\nX-T: sk-0123456789\r\n\r\n");
		got = box_got();
		/* Its own chunks: put together again. */
		body.size = 0;
		for (const char *at = got; *at && *at != '0';) {
			size_t size = strtoul(at, NULL, 16);

			at = strchr(at, '\n') + 1;
			buf_add(&body, at, size);
			at += size + 2;
		}
		CHECK_STR(body.data, "a ************* bsk-");
		CHECK(strstr(got, "0\r\nX-T: *************\r\n\r\n"));
	}
	/* A body that ends with the connection. */
	EACH_STEP
	{
		two_secrets(true);
		box_sends("GET / HTTP/1.1\r\n" H "\r\n");
		server_sends("HTTP/1.1 200 OK\r\n\r\nx sk-0123456789 sk-0123");
		http_relay_world_ended(&world_.relay, true);
		queue_drain(&world_.relay.to_box, &world_.to_box);
		CHECK_STR(box_got(), "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nx ************* sk-0123");
	}
	buf_free(&body);
}

/* What a server may make of a secret that it repeats. */
static void masked_in_other_forms(void)
{
	static const char value[] = "s\"e/c+r\\e t~1";
	static const struct {
		const char *echo, *want;
	} rows[] = {
		{ "s\"e/c+r\\e t~1", "*************" },
		{ "[s%22e%2Fc%2Br%5Ce%20t~1]", "[***********************]" },
		{ "[s%22e%2fc%2br%5ce%20t~1]", "[***********************]" },
		{ "{s\\\"e/c+r\\\\e t~1}", "{***************}" },
		{ "{s\\\"e\\/c+r\\\\e t~1}", "{****************}" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		EACH_STEP
		{
			world_open(ANY, true);
			secret_add("KEY", value, "api.example.com", NULL, NULL);
			world_connect(ANY, true);
			box_sends("GET / HTTP/1.1\r\n" H "\r\n");
			server_sends(make("HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(rows[i].echo),
					  rows[i].echo));
			CHECK_STR(strstr(box_got(), "\r\n\r\n") + 4, rows[i].want);
		}
	/* In base64, wherever it stands in what is encoded: all but the digits that have bits of something else. */
	for (int before = 0; before < 6; before++)
		for (int behind = 0; behind < 4; behind++)
			EACH_STEP
			{
				char plain[64], masked[128];
				size_t from = ((size_t)before * 8 + 5) / 6, to = ((size_t)before + 13) * 8 / 6;

				snprintf(plain, sizeof(plain), "%.*ssk-0123456789%.*s", before, "abcdef", behind,
					 "wxyz");
				snprintf(masked, sizeof(masked), "%s", base64_of(plain));
				memset(masked + from, '*', to - from);
				two_secrets(true);
				box_sends("GET / HTTP/1.1\r\n" H "\r\n");
				server_sends(make("HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(masked),
						  base64_of(plain)));
				CHECK_STR(strstr(box_got(), "\r\n\r\n") + 4, masked);
			}
}

/* Credentials as they were sent are masked as a whole. */
static void masked_credentials(void)
{
	char encoded[256];

	EACH_STEP
	{
		two_secrets(true);
		snprintf(encoded, sizeof(encoded), "%s", base64_of(make("u:%s", token)));
		box_sends(make("GET / HTTP/1.1\r\n" H "Authorization: Basic %s\r\n\r\n", encoded));
		snprintf(encoded, sizeof(encoded), "%s", base64_of("u:sk-0123456789"));
		server_sends(make("HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n{%s}", strlen(encoded) + 2, encoded));
		CHECK_STR(strstr(box_got(), "\r\n\r\n"), "\r\n\r\n{********************}");
	}
}

/* The mask by itself, against a search of the whole text. */
static void the_mask(void)
{
	static const char *const texts[] = { "abcabc", "bcabcd", "aaaaaaa", "caaaab" };
	struct secret_mask mask;

	secret_mask_init(&mask);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		CHECK_INT(secret_mask_add(&mask, texts[i], strlen(texts[i])), 0);
	CHECK_INT(secret_mask_add(&mask, texts[0], 6), 0);
	CHECK_INT(secret_mask_add(&mask, "short", 5), 0);
	CHECK_INT(mask.count, 4);
	for (int round = 0; round < 3000; round++) {
		char data[64], want[64];
		size_t size = chance(sizeof(data));
		struct secret_masker masker = { .covered = 0 };
		_cleanup_buf_ struct buf out = { 0 };

		for (size_t i = 0; i < size; i++)
			data[i] = (char)('a' + (int)chance(chance(2) ? 2 : 4));
		memcpy(want, data, size);
		for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
			for (size_t at = 0; at + strlen(texts[i]) <= size; at++)
				if (memcmp(data + at, texts[i], strlen(texts[i])) == 0)
					memset(want + at, '*', strlen(texts[i]));
		for (size_t at = 0; at < size;) {
			size_t n = 1 + chance(9);

			if (n > size - at)
				n = size - at;
			secret_masker_take(&masker, &mask, data + at, n, at + n == size, &out);
			at += n;
		}
		if (out.size != size || (size > 0 && memcmp(out.data, want, size) != 0))
			check_fail("%.*s: %.*s", (int)size, data, (int)out.size, out.data);
		secret_mask_apply(&mask, data, size);
		CHECK(memcmp(data, want, size) == 0);
		secret_masker_free(&masker);
	}
	secret_mask_free(&mask);
}

int main(void)
{
	RUN(in_headers);
	RUN(bodies_stay);
	RUN(no_part_and_nothing_packed);
	RUN(placeholders_that_refuse);
	RUN(secrets_of_a_header);
	RUN(masked_in_answers);
	RUN(masked_across_chunks);
	RUN(masked_in_other_forms);
	RUN(masked_credentials);
	RUN(the_mask);
	world_close();
	return check_failures != 0;
}
