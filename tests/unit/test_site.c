/* The playground's pack: what is found in it, and who gets it squeezed or not at all; and bytes that are lent. */
#include "../check.h"

#include "daemon/front/connection.h"
#include "daemon/front/site.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#define TEXT(constant) ((struct http_text){ (constant), sizeof(constant) - 1 })

static const char pack[] = "emberbox-site 1\n"
			   "/\ttext/html; charset=utf-8\t\"aa\"\tanew\t0\t5\t5\t3\n"
			   "/assets/a-1.js\ttext/javascript\t\"bb\"\tforever\t8\t4\t0\t0\n"
			   "/assets/far.js\ttext/javascript\t\"cc\"\tforever\t8\t5\t0\t0\n"
			   "/assets/bad.js\ttext/javascript\t\"cc\"\tforever\t8\tx\t0\t0\n"
			   "/assets/short.js\ttext/javascript\t\"cc\"\n"
			   "\n"
			   "pagezipcode";

static bool text_is(struct http_text text, const char *want)
{
	return text.data && text.size == strlen(want) && memcmp(text.data, want, text.size) == 0;
}

static void files_are_found_by_their_path(void)
{
	/* One byte more than the strings: the last file has four. */
	const struct http_text all = { pack, sizeof(pack) };
	struct site_file file;

	CHECK(site_find(all, "/", &file));
	CHECK(text_is(file.type, "text/html; charset=utf-8"));
	CHECK(text_is(file.etag, "\"aa\""));
	CHECK(text_is(file.plain, "pagez"));
	CHECK(text_is(file.squeezed, "ipc"));
	CHECK(!file.forever);
	CHECK(site_find(all, "/assets/a-1.js", &file));
	CHECK_INT(file.plain.size, 4);
	CHECK(!memcmp(file.plain.data, "ode", 4));
	CHECK(!file.squeezed.data);
	CHECK(file.forever);
}

static void nothing_else_is(void)
{
	static const char *const none[] = {
		"", "/x", "/assets/a-1.j", "/assets/a-1.jsx", "/assets/far.js", "/assets/bad.js", "/assets/short.js"
	};
	const struct http_text all = { pack, sizeof(pack) };
	struct site_file file;

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (site_find(all, none[i], &file))
			check_fail("\"%s\" was found", none[i]);
	/* A pack that is none, that has no bytes, that ends within its lines. */
	CHECK(!site_find(TEXT("emberbox-site 2\n/\ta\tb\tanew\t0\t0\t0\t0\n\n"), "/", &file));
	CHECK(!site_find(TEXT("emberbox-site 1\n\n"), "/", &file));
	CHECK(!site_find(TEXT("emberbox-site 1\n/\ta\tb\tanew\t0\t0\t0\t0\n"), "/", &file));
	CHECK(site_find(TEXT("emberbox-site 1\n/\ta\tb\tanew\t0\t0\t0\t0\n\n"), "/", &file));
	CHECK(!site_find(TEXT(""), "/", &file));
}

static void the_library_has_no_page(void)
{
	const struct http_text own = { (const char *)site_pack_data, site_pack_size };
	struct site_file file;

	CHECK(!site_find(own, "/", &file));
	CHECK_STR(own.data, "emberbox-site 1\n\n");
}

static void gzip_is_for_who_takes_it(void)
{
	CHECK(site_takes_gzip(TEXT("gzip")));
	CHECK(site_takes_gzip(TEXT("gzip, deflate, br, zstd")));
	CHECK(site_takes_gzip(TEXT("br;q=1.0,\tGZIP ; q=0.5")));
	CHECK(!site_takes_gzip((struct http_text){ NULL, 0 }));
	CHECK(!site_takes_gzip(TEXT("")));
	CHECK(!site_takes_gzip(TEXT("identity, br")));
	CHECK(!site_takes_gzip(TEXT("gzip;q=0")));
	CHECK(!site_takes_gzip(TEXT("br, gzip; q=0.000, *")));
	CHECK(!site_takes_gzip(TEXT("xgzip, gzipx")));
}

static void a_known_tag_is_known(void)
{
	const struct http_text tag = TEXT("\"aa\"");

	CHECK(site_is_known(TEXT("\"aa\""), tag));
	CHECK(site_is_known(TEXT("W/\"aa\""), tag));
	CHECK(site_is_known(TEXT("\"b\", \"aa\""), tag));
	CHECK(site_is_known(TEXT("*"), tag));
	CHECK(!site_is_known((struct http_text){ NULL, 0 }, tag));
	CHECK(!site_is_known(TEXT("aa"), tag));
	CHECK(!site_is_known(TEXT("\"aab\""), tag));
	CHECK(!site_is_known(TEXT(""), tag));
}

enum {
	LENT = 3 << 20 /* bytes, more than a socket holds */
};

static size_t drain(int fd, unsigned char *out)
{
	size_t size = 0;
	ssize_t n;

	while ((n = recv(fd, out + size, 1 << 20, MSG_DONTWAIT)) > 0)
		size += (size_t)n;
	return size;
}

/* A reader that is slow costs no memory, and gets every byte in its order, also what was written behind. */
static void lent_bytes_are_not_copied(void)
{
	struct connection c = { .fd = -1 };
	unsigned char *data = malloc(LENT), *got = malloc(LENT + (2 << 20));
	size_t size = 0;
	int ends[2];

	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	for (size_t i = 0; i < LENT; i++)
		data[i] = (unsigned char)(i * 7 + i / 251);
	c.fd = ends[0];
	connection_write(&c, &(struct iovec){ (void *)"head", 4 }, 1);
	connection_lend(&c, data, LENT);
	CHECK(connection_pending(&c) > (1 << 20));
	CHECK_INT(connection_held(&c), 0);
	CHECK(connection_wants_write(&c));
	for (int turn = 0; turn < 10000 && connection_pending(&c) > 0; turn++) {
		size += drain(ends[1], got + size);
		connection_flush(&c);
		CHECK_INT(connection_held(&c), 0);
	}
	size += drain(ends[1], got + size);
	CHECK_INT(size, 4 + LENT);
	CHECK(memcmp(got, "head", 4) == 0 && memcmp(got + 4, data, LENT) == 0);

	size = 0;
	connection_lend(&c, data, LENT);
	connection_write(&c, &(struct iovec){ (void *)"tail", 4 }, 1);
	for (int turn = 0; turn < 10000 && connection_pending(&c) > 0; turn++) {
		size += drain(ends[1], got + size);
		connection_flush(&c);
	}
	size += drain(ends[1], got + size);
	CHECK_INT(size, LENT + 4);
	CHECK(memcmp(got, data, LENT) == 0 && memcmp(got + LENT, "tail", 4) == 0);
	connection_close(&c);
	close(ends[1]);
	free(data);
	free(got);
}

int main(void)
{
	RUN(files_are_found_by_their_path);
	RUN(nothing_else_is);
	RUN(the_library_has_no_page);
	RUN(gzip_is_for_who_takes_it);
	RUN(a_known_tag_is_known);
	RUN(lent_bytes_are_not_copied);
	return check_failures != 0;
}
