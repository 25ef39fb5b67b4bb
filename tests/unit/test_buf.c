/* The growing buffer, and bytes made into valid UTF-8. */
#include "../check.h"

#include "base/buf.h"

#include <stdint.h>

static void starts_empty(void)
{
	struct buf buf = { 0 };
	char *text;

	buf_add(&buf, "", 0);
	CHECK_STR(buf.data, "");
	CHECK_INT(buf.size, 0);
	buf_free(&buf);
	CHECK(!buf.data);
	text = buf_take(&buf);
	CHECK_STR(text, "");
	CHECK(!buf.data);
	free(text);
	buf_free(&buf);
	buf_free(&buf);
}

static void is_always_terminated(void)
{
	struct buf buf = { 0 };

	for (size_t i = 1; i <= 2000; i++) {
		buf_add(&buf, "x", 1);
		CHECK_INT(buf.size, i);
		CHECK_INT(strlen(buf.data), i);
		CHECK(buf.room > buf.size);
	}
	buf_free(&buf);
}

static void keeps_nul_bytes(void)
{
	struct buf buf = { 0 };

	buf_add(&buf, "a\0b", 3);
	buf_text(&buf, "c");
	CHECK_INT(buf.size, 4);
	CHECK(buf.data && memcmp(buf.data, "a\0bc", 5) == 0);
	buf_free(&buf);
}

static void prints(void)
{
	struct buf buf = { 0 };
	char *text;

	buf_printf(&buf, "%s-%d", "a", 1);
	buf_printf(&buf, "%s", "");
	buf_printf(&buf, "%1000d", 7);
	CHECK_INT(buf.size, 1003);
	CHECK_INT(buf.data[1002], '7');
	text = buf_take(&buf);
	CHECK_INT(strlen(text), 1003);
	CHECK_INT(buf.size, 0);
	buf_text(&buf, "again");
	CHECK_STR(buf.data, "again");
	free(text);
	buf_free(&buf);
}

static void a_size_that_cannot_be_is_remembered(void)
{
	struct buf buf = { 0 };
	volatile size_t impossible = SIZE_MAX - 2; /* or the compiler sees what is coming */

	buf_text(&buf, "kept");
	buf_add(&buf, "x", impossible);
	CHECK(buf.failed);
	buf_text(&buf, "lost");
	CHECK_STR(buf.data, "kept");
	CHECK(!buf_take(&buf));
	buf_free(&buf);
	CHECK(!buf.failed);
}

#define BAD "\xEF\xBF\xBD"

static void utf8_is(const char *bytes, size_t size, const char *want, size_t want_size)
{
	struct buf buf = { 0 };
	/* Its own allocation, so that the sanitizer sees a read past the end. */
	char *copy = malloc(size + !size);

	memcpy(copy, bytes, size);
	buf_utf8(&buf, copy, size);
	if (buf.size != want_size || memcmp(buf.data ? buf.data : "", want, want_size) != 0)
		check_fail("%zu bytes beginning with 0x%02x became \"%s\", not \"%s\"", size,
			   size ? (unsigned char)bytes[0] : 0, buf.data, want);
	free(copy);
	buf_free(&buf);
}

#define UTF8(bytes, want) utf8_is(bytes, sizeof(bytes) - 1, want, sizeof(want) - 1)

static void valid_utf8_is_kept(void)
{
	UTF8("", "");
	UTF8("plain", "plain");
	UTF8("a\0b", "a\0b");
	UTF8("\x7f", "\x7f");
	UTF8("\xC2\x80 \xDF\xBF", "\xC2\x80 \xDF\xBF");
	UTF8("\xE0\xA0\x80 \xED\x9F\xBF \xEE\x80\x80 \xEF\xBF\xBF",
	     "\xE0\xA0\x80 \xED\x9F\xBF \xEE\x80\x80 \xEF\xBF\xBF");
	UTF8("\xF0\x90\x80\x80 \xF4\x8F\xBF\xBF", "\xF0\x90\x80\x80 \xF4\x8F\xBF\xBF");
	UTF8("\xF0\x9F\x94\xA5", "\xF0\x9F\x94\xA5");
}

/* The examples of the WHATWG decoder and of Unicode's table 3-8: one mark for each maximal part. */
static void invalid_utf8_is_marked(void)
{
	UTF8("\x80", BAD);
	UTF8("\xFF", BAD);
	UTF8("a\xFFz", "a" BAD "z");
	UTF8("\xC0\xAF", BAD BAD);                 /* overlong */
	UTF8("\xC1\x80", BAD BAD);                 /* overlong */
	UTF8("\xE0\x80\x80", BAD BAD BAD);         /* overlong */
	UTF8("\xF0\x8F\xBF\xBF", BAD BAD BAD BAD); /* overlong */
	UTF8("\xED\xA0\x80", BAD BAD BAD);         /* a surrogate */
	UTF8("\xED\xBF\xBF", BAD BAD BAD);         /* a surrogate */
	UTF8("\xF4\x90\x80\x80", BAD BAD BAD BAD); /* past U+10FFFF */
	UTF8("\xF5\x80\x80\x80", BAD BAD BAD BAD); /* past U+10FFFF */
	UTF8("\xC2", BAD);                         /* cut */
	UTF8("\xE2\x82", BAD);                     /* cut: one part */
	UTF8("\xF0\x9F\x94", BAD);                 /* cut: one part */
	UTF8("\xF0\x9F\x94z", BAD "z");            /* cut: one part */
	UTF8("\xE2\x82\xC2\xA9", BAD "\xC2\xA9");  /* cut by a valid one */
	UTF8("\xC2\xC2\xA9", BAD "\xC2\xA9");
	UTF8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF"
	     "A",
	     BAD BAD BAD BAD "A");
}

int main(void)
{
	RUN(starts_empty);
	RUN(is_always_terminated);
	RUN(keeps_nul_bytes);
	RUN(prints);
	RUN(a_size_that_cannot_be_is_remembered);
	RUN(valid_utf8_is_kept);
	RUN(invalid_utf8_is_marked);
	return check_failures != 0;
}
