/* Secrets: what is taken and what is not, whom they cover, and that no error says a value. */
#include "../check.h"
#include "net_pool.h"

#include "net/net_secret.h"

static struct arena pool;
static struct net_secrets secrets;
static struct error err;

static void fresh(void)
{
	arena_free(&pool);
	memset(&secrets, 0, sizeof(secrets));
	memset(&err, 0, sizeof(err));
}

static int add(const char *name, const char *value, const char *host, const char *header, const char *format)
{
	const char *const hosts[] = { host };

	return net_secret_add(
		&secrets, &(struct net_secret_parts){ name, value, strlen(value), hosts, host ? 1 : 0, header, format },
		&pool, &err);
}

static void a_secret(void)
{
	const struct net_secret *secret = &secrets.items[0];

	fresh();
	CHECK_INT(add("TOKEN", "s3cret/value", "API.example.com", NULL, NULL), 0);
	CHECK_INT(add("OTHER", "other value", "*.example.net:8443", "X-Key", "Bearer {}"), 0);
	CHECK_INT(secrets.count, 2);
	CHECK_STR(secret->name, "TOKEN");
	CHECK_STR(secret->value, "s3cret/value");
	CHECK_INT(strlen(secret->placeholder), NET_PLACEHOLDER_SIZE);
	CHECK(strncmp(secret->placeholder, "ember-secret-", 13) == 0);
	CHECK_INT(strspn(secret->placeholder + 13, "0123456789abcdef"), 32);
	CHECK(strcmp(secret->placeholder, secrets.items[1].placeholder) != 0);
	CHECK(!secret->header && !secret->format);
	CHECK_STR(secrets.items[1].format, "Bearer {}");
	CHECK_INT(add("THIRD", "third value", "a.example", "X-Key", NULL), 0);
	CHECK_STR(secrets.items[2].format, "{}");
}

static void whom_it_covers(void)
{
	static const struct {
		const char *host, *name;
		unsigned port;
		bool covered;
	} rows[] = {
		{ "api.example.com", "api.example.com", 443, true },
		{ "api.example.com", "api.example.com", 8443, false },
		{ "api.example.com", "api.example.com", 80, false },
		{ "api.example.com", "www.example.com", 443, false },
		{ "api.example.com", "a.api.example.com", 443, false },
		{ "api.example.com", "xapi.example.com", 443, false },
		{ "api.example.com:8443", "api.example.com", 8443, true },
		{ "api.example.com:8443", "api.example.com", 443, false },
		{ "*.example.com", "api.example.com", 443, true },
		{ "*.example.com", "a.b.example.com", 443, true },
		{ "*.example.com", "example.com", 443, false },
		{ "*.example.com", "xexample.com", 443, false },
		{ "*.example.com", ".example.com", 443, false },
		{ "b\xc3\xbc"
		  "cher.example",
		  "xn--bcher-kva.example", 443, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		fresh();
		CHECK_INT(add("TOKEN", "s3cret-value", rows[i].host, NULL, NULL), 0);
		if (net_secrets_cover(&secrets, rows[i].name, (uint16_t)rows[i].port) != rows[i].covered)
			check_fail("%s covers %s:%u: %d", rows[i].host, rows[i].name, rows[i].port, !rows[i].covered);
	}
}

static void what_is_refused(void)
{
	static const struct {
		const char *name, *value, *host, *header, *format, *field, *text;
	} rows[] = {
		{ "", "s3cret", "a.example", NULL, NULL, "secrets.name", "the name of a variable" },
		{ "1A", "s3cret", "a.example", NULL, NULL, "secrets.name", "the name of a variable" },
		{ "A-B", "s3cret", "a.example", NULL, NULL, "secrets.name", "the name of a variable" },
		{ "A", "s3cre", "a.example", NULL, NULL, "secrets.value", "less than 6 bytes" },
		{ "A", "s3cret\n", "a.example", NULL, NULL, "secrets.value", "control character" },
		{ "A", "s3cret\r\nX: y", "a.example", NULL, NULL, "secrets.value", "control character" },
		{ "A", "s3\tcret", "a.example", NULL, NULL, "secrets.value", "control character" },
		{ "A", " s3cret", "a.example", NULL, NULL, "secrets.value", "blank" },
		{ "A", "s3cret ", "a.example", NULL, NULL, "secrets.value", "blank" },
		{ "A", "ember-secret-x", "a.example", NULL, NULL, "secrets.value", "placeholder" },
		{ "A", "s3cret", NULL, NULL, NULL, "secrets.hosts", "at least one host" },
		{ "A", "s3cret", "", NULL, NULL, "secrets.hosts", "no host" },
		{ "A", "s3cret", "*", NULL, NULL, "secrets.hosts", "no host" },
		{ "A", "s3cret", "*.com", NULL, NULL, "secrets.hosts", "too wide" },
		{ "A", "s3cret", "a.*.com", NULL, NULL, "secrets.hosts", "no host" },
		{ "A", "s3cret", "192.0.2.1", NULL, NULL, "secrets.hosts", "no host" },
		{ "A", "s3cret", "public", NULL, NULL, "", "" },
		{ "A", "s3cret", "a.example:80", NULL, NULL, "secrets.hosts", "only sent over TLS" },
		{ "A", "s3cret", "a.example:0", NULL, NULL, "secrets.hosts", "port" },
		{ "A", "s3cret", "a.example:65536", NULL, NULL, "secrets.hosts", "port" },
		{ "A", "s3cret", "a.example:443x", NULL, NULL, "secrets.hosts", "port" },
		{ "A", "s3cret", "a.example:", NULL, NULL, "secrets.hosts", "port" },
		{ "A", "s3cret", "https://a.example", NULL, NULL, "secrets.hosts", "port" },
		{ "A", "s3cret", "a.example", NULL, "{}", "secrets.format", "needs a header" },
		{ "A", "s3cret", "a.example", "", NULL, "secrets.header", "name of an HTTP header" },
		{ "A", "s3cret", "a.example", "X Y", NULL, "secrets.header", "name of an HTTP header" },
		{ "A", "s3cret", "a.example", "X:", NULL, "secrets.header", "name of an HTTP header" },
		{ "A", "s3cret", "a.example", "hOst", NULL, "secrets.header", "cannot carry" },
		{ "A", "s3cret", "a.example", "Transfer-Encoding", NULL, "secrets.header", "cannot carry" },
		{ "A", "s3cret", "a.example", "X", "Bearer", "secrets.format", "{} once" },
		{ "A", "s3cret", "a.example", "X", "{}{}", "secrets.format", "{} once" },
		{ "A", "s3cret", "a.example", "X", "a\r\nb: {}", "secrets.format", "control character" },
		{ "A", "s3cret", "a.example", "X", " {}", "secrets.format", "blank" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int got;

		fresh();
		got = add(rows[i].name, rows[i].value, rows[i].host, rows[i].header, rows[i].format);
		CHECK_INT(got, rows[i].text[0] ? -1 : 0);
		CHECK_STR(err.field, rows[i].field);
		if (!strstr(err.text, rows[i].text) || (strlen(rows[i].value) > 4 && strstr(err.text, "s3cre")))
			check_fail("row %zu: %s", i, err.text);
		CHECK_INT(secrets.count, got == 0);
	}
}

static void limits(void)
{
	const char *hosts[NET_SECRET_HOSTS_MAX + 1];
	struct net_secret_parts parts = { "A", "s3cret", 6, hosts, NET_SECRET_HOSTS_MAX, NULL, NULL };
	char value[NET_SECRET_VALUE_MAX + 1], name[16];

	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++)
		hosts[i] = "a.example";
	memset(value, 'x', sizeof(value));
	fresh();
	CHECK_INT(net_secret_add(&secrets, &parts, &pool, &err), 0);
	CHECK_INT(net_secret_add(&secrets, &parts, &pool, &err), -1);
	CHECK(strstr(err.text, "given twice"));
	parts.name = "B";
	parts.host_count++;
	CHECK_INT(net_secret_add(&secrets, &parts, &pool, &err), -1);
	CHECK_STR(err.field, "secrets.hosts");
	parts.host_count = 1;
	parts.value = value;
	parts.size = sizeof(value);
	CHECK_INT(net_secret_add(&secrets, &parts, &pool, &err), -1);
	CHECK_STR(err.field, "secrets.value");
	parts.size--;
	CHECK_INT(net_secret_add(&secrets, &parts, &pool, &err), 0);
	/* A NUL inside. */
	parts.name = "C";
	value[7] = '\0';
	CHECK_INT(net_secret_add(&secrets, &parts, &pool, &err), -1);
	CHECK_STR(err.field, "secrets.value");
	for (unsigned i = 2; i <= NET_SECRETS_MAX; i++) {
		snprintf(name, sizeof(name), "N%u", i);
		CHECK_INT(add(name, "s3cret", "a.example", NULL, NULL), i < NET_SECRETS_MAX ? 0 : -1);
	}
	CHECK_STR(err.field, "secrets");
}

static void between_processes(void)
{
	_cleanup_buf_ struct buf text = { 0 }, again = { 0 };
	_cleanup_arena_ struct arena arena = { 0 };
	struct net_secrets read;

	fresh();
	add("TOKEN", "s3cret \xc3\xbc value", "api.example.com", NULL, NULL);
	add("OTHER", "other/value+", "*.example.net:8443", "X-Key", "Bearer {} x");
	net_secrets_write(&secrets, &text);
	CHECK(!memmem(text.data, text.size, "s3cret", 6));
	CHECK_INT(net_secrets_read(text.data, text.size, &arena, &read, &err), 0);
	CHECK_INT(read.count, 2);
	CHECK_STR(read.items[0].value, "s3cret \xc3\xbc value");
	CHECK_STR(read.items[0].placeholder, secrets.items[0].placeholder);
	CHECK(net_secret_at(&read, secrets.items[1].placeholder, NET_PLACEHOLDER_SIZE) == &read.items[1]);
	CHECK(net_secret_at(&read, secrets.items[1].placeholder, NET_PLACEHOLDER_SIZE - 1) == NULL);
	net_secrets_write(&read, &again);
	CHECK_STR(again.data, text.data);
	/* Every beginning of it is broken, or has fewer secrets; no byte can be another. */
	for (size_t cut = 0; cut < text.size; cut++) {
		int got = net_secrets_read(text.data, cut, &arena, &read, &err);

		if (got == 0 && read.count > 0 && memcmp(text.data + cut - 5, "\nend\n", 5) != 0)
			check_fail("%zu bytes are read", cut);
	}
	net_secrets_wipe(&read);
	CHECK_INT(net_secrets_read("", 0, &arena, &read, &err), 0);
	CHECK_INT(read.count, 0);
}

static void broken_texts(void)
{
#define P "ember-secret-0123456789abcdef0123456789abcdef"
	static const char good[] = "secret A\nplaceholder " P "\nvalue czNjcmV0\nhost a.example:443\nend\n";
	static const char *const bad[] = {
		"secret A\nplaceholder " P "\nvalue czNjcmV0\nhost a.example:443\n",
		"secret A\nplaceholder " P "\nvalue czNjcmV0\nhost a.example:443\nend",
		"secret A\nsecret A\nplaceholder " P "\nvalue czNjcmV0\nhost a.example:443\nend\n",
		"secret A\nplaceholder ember-secret-x\nvalue czNjcmV0\nhost a.example:443\nend\n",
		"secret A\nplaceholder " P "\nvalue czNjcmV0=\nhost a.example:443\nend\n",
		"secret A\nplaceholder " P "\nvalue czMA\nhost a.example:443\nend\n",
		"secret A\nplaceholder " P "\nvalue czNjDQpyZXQ=\nhost a.example:443\nend\n",
		"secret A\nplaceholder " P "\nvalue czNjcmV0\nhost a.example:80\nend\n",
		"secret A\nplaceholder " P "\nvalue czNjcmV0\nend\n",
		"secret A\nplaceholder " P "\nvalue czNjcmV0\nhost a.example:443\nheader X\nend\n",
		"secret A\nplaceholder " P "\nvalue czNjcmV0\nhost a.example:443\nheader X\nformat eA==\nend\n",
		"secret A\nplaceholder " P "\nvalue czNjcmV0\nhost a.example:443\nwhat ever\nend\n",
		"end\n",
		"\n",
	};
	_cleanup_arena_ struct arena arena = { 0 };
	char twice[2 * sizeof(good)];

	CHECK_INT(net_secrets_read(good, strlen(good), &arena, &secrets, &err), 0);
	CHECK_INT(secrets.count, 1);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (net_secrets_read(bad[i], strlen(bad[i]), &arena, &secrets, &err) != -1)
			check_fail("row %zu is read", i);
	/* One placeholder for two secrets. */
	snprintf(twice, sizeof(twice), "%s%s", good, good);
	twice[strlen(good) + 7] = 'B';
	CHECK_INT(net_secrets_read(twice, strlen(twice), &arena, &secrets, &err), -1);
}

static void the_policy_has_to_allow_it(void)
{
	static const struct {
		const char *list, *host;
		const char *text; /* NULL: it does */
	} rows[] = {
		{ "api.example.com", "api.example.com", NULL },
		{ "api.example.com:8443", "api.example.com:8443", NULL },
		{ "*.example.com", "api.example.com", NULL },
		{ "*.example.com", "*.example.com", NULL },
		{ "GET https://api.example.com/x*", "api.example.com", NULL },
		{ "public", "*.example.com", NULL },
		{ "api.example.com", "www.example.com",
		  "A is for www.example.com:443, which the network does not allow" },
		{ "api.example.com:80", "api.example.com",
		  "A is for api.example.com:443, which the network does not allow" },
		{ "api.example.com", "*.example.com", "A is for *.example.com:443, which the network does not allow" },
		{ "none", "api.example.com", "A is for api.example.com:443, which the network does not allow" },
	};
	_cleanup_arena_ struct arena arena = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct net_policy policy;

		fresh();
		make_policy(LISTS(rows[i].list), &arena, &policy);
		CHECK_INT(add("A", "s3cret", rows[i].host, NULL, NULL), 0);
		CHECK_INT(net_secrets_check(&secrets, &policy, &err), rows[i].text ? -1 : 0);
		if (rows[i].text)
			CHECK_STR(error_detail(&err), rows[i].text);
	}
	/* One header, two secrets. */
	for (int other = 0; other < 2; other++) {
		struct net_policy policy;

		fresh();
		make_policy(LISTS("*.example.com"), &arena, &policy);
		add("A", "s3cret", "*.example.com", "X-Key", NULL);
		add("B", "s3cret", "api.example.com", other ? "X-Other" : "x-key", NULL);
		CHECK_INT(net_secrets_check(&secrets, &policy, &err), other ? 0 : -1);
		CHECK_STR(error_detail(&err), other ? "" : "A and B both set x-key of one host");
	}
}

static void options(void)
{
	static const struct {
		const char *text, *name;
		enum net_secret_source source;
		const char *path, *host;
	} rows[] = {
		{ "TOKEN@api.example.com", "TOKEN", NET_SECRET_VARIABLE, "", "api.example.com" },
		{ "TOKEN@*.example.com:8443", "TOKEN", NET_SECRET_VARIABLE, "", "*.example.com:8443" },
		{ "T=file:/run/a@b/token@a.example", "T", NET_SECRET_FILE, "/run/a@b/token", "a.example" },
		{ "T=-@a.example", "T", NET_SECRET_STDIN, "", "a.example" },
	};
	static const char *const bad[] = { "",
					   "TOKEN",
					   "TOKEN@",
					   "@a.example",
					   "T=@a.example",
					   "T=value@a.example",
					   "T=file:@a.example",
					   "T=--@a.example",
					   "T X@a.example" };
	struct net_secret_option option;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CHECK_INT(net_secret_option_parse(rows[i].text, &option, &err), 0);
		CHECK_STR(option.name, rows[i].name);
		CHECK_INT(option.source, rows[i].source);
		CHECK_STR(option.path, rows[i].path);
		CHECK_STR(option.host, rows[i].host);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		CHECK_INT(net_secret_option_parse(bad[i], &option, &err), -1);
		CHECK_STR(err.field, "secret");
		CHECK(!strstr(err.text, "value@"));
	}
}

int main(void)
{
	RUN(a_secret);
	RUN(whom_it_covers);
	RUN(what_is_refused);
	RUN(limits);
	RUN(between_processes);
	RUN(broken_texts);
	RUN(the_policy_has_to_allow_it);
	RUN(options);
	fresh();
	return check_failures != 0;
}
