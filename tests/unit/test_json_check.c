/* Texts of strangers: what is JSON and what is not, against what Jansson says of the same. */
#include "../check.h"

#include "base/json_check.h"

#include <jansson.h>

static bool good(const char *text, size_t size)
{
	/* Its own allocation without a terminator, so that the sanitizer sees a read past the end. */
	char *copy = malloc(size + !size);
	bool answer;

	memcpy(copy, text, size);
	answer = json_is_object_text(copy, size, 64);
	free(copy);
	return answer;
}

static void both(const char *text, bool want)
{
	json_t *other = json_loads(text, JSON_DECODE_INT_AS_REAL, NULL);
	bool is_object = json_is_object(other) && json_object_size(other) > 0;

	json_decref(other);
	if (good(text, strlen(text)) != want)
		check_fail("%.60s is %s", text, want ? "refused" : "taken");
	if (is_object != want)
		check_fail("Jansson thinks otherwise of %.60s", text);
	/* No beginning of it is whole. */
	for (size_t n = 0; want && n + 1 < strlen(text); n++)
		if (good(text, n) && strspn(text + n, " \n\t\r") != strlen(text + n))
			check_fail("the first %zu bytes of %.60s are taken", n, text);
}

static void objects(void)
{
	both("{\"a\":1}", true);
	both(" \t{ \"a\" : [ 1 , -2.5e+3, 0, 0.5, 1E9, true, false, null, \"x\" ] , \"b\": {} }\r\n", true);
	both("{\"a\":[],\"b\":[[]],\"c\":{\"d\":{}}}", true);
	both("{\"h\\u00e9\\n\\\"\\\\\\/\":\"\\ud83c\\udf89 🎉 héllo\"}", true);
	both("{}", false);
	both(" { } ", false);
	both("", false);
	both("[]", false);
	both("1", false);
	both("\"a\"", false);
	both("null", false);
}

static void mistakes(void)
{
	static const char *const wrong[] = {
		"{\"a\":1",
		"{\"a\"}",
		"{\"a\":}",
		"{\"a\":1,}",
		"{,\"a\":1}",
		"{\"a\":1 \"b\":2}",
		"{a:1}",
		"{'a':1}",
		"{\"a\":[1,]}",
		"{\"a\":[1 2]}",
		"{\"a\":[1}",
		"{\"a\":1]",
		"{\"a\":01}",
		"{\"a\":1.}",
		"{\"a\":.5}",
		"{\"a\":1e}",
		"{\"a\":+1}",
		"{\"a\":-}",
		"{\"a\":tru}",
		"{\"a\":truex}",
		"{\"a\":NaN}",
		"{\"a\":\"\\x\"}",
		"{\"a\":\"\\u12\"}",
		"{\"a\":\"\\ud800\"}",
		"{\"a\":\"\\udc00\"}",
		"{\"a\":\"\\ud800\\u0041\"}",
		"{\"a\":\"\t\"}",
		"{\"a\":\"\n\"}",
		"{\"a\":1}}",
		"{\"a\":1} {\"b\":2}",
		"{\"a\":1},\"status\":\"ok\"",
		"{\"a\":\"\xff\"}",
		"{\"a\":\"\xc0\x80\"}",
		"{\"a\":\"\xe0\x80\x80\"}",
		"{\"a\":\"\xed\xa0\x80\"}",
		"{\"a\":\"\xf5\x80\x80\x80\"}",
		"{\"a\":\"\xf0\x9f\x8e\"}",
		"{\"a\":\"\xc3\"}",
		"{\"\xff\":1}",
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		both(wrong[i], false);
	CHECK(!good("{\"a\":1}\0", 8));
	CHECK(!good("{\"a\0\":1}", 8));
}

/* {"a":[[…]]} with so many levels in all. */
static bool nested(size_t levels)
{
	size_t lists = levels - 1, size = 5 + 2 * lists + 1;
	char *text = malloc(size + 1);
	bool answer;

	memcpy(text, "{\"a\":", 5);
	memset(text + 5, '[', lists);
	memset(text + 5 + lists, ']', lists);
	text[size - 1] = '}';
	answer = good(text, size);
	free(text);
	return answer;
}

static void depths(void)
{
	CHECK(nested(2));
	CHECK(nested(64));
	CHECK(!nested(65));
	CHECK(!nested(1000000));
	CHECK(json_is_object_text("{\"a\":{\"b\":1}}", 13, 2));
	CHECK(!json_is_object_text("{\"a\":{\"b\":1}}", 13, 1));
}

/* The member that the mark @ is in, which stands for what cannot be read; "": none. */
static const char *place_of(const char *text)
{
	static char name[32];

	if (!json_place(text, strcspn(text, "@"), name, sizeof(name)))
		*name = '\0';
	return name;
}

static void places(void)
{
	CHECK_STR(place_of("{\"a\":@}"), "a");
	CHECK_STR(place_of("{\"a\":1,\"b\" : @"), "b");
	CHECK_STR(place_of("{\"a\":{\"b\":1,\"c\":@}}"), "a.c");
	CHECK_STR(place_of("{\"a\":{\"b\":{\"c\":@}}}"), "a.b");
	CHECK_STR(place_of("{\"a\":[1,{\"b\":2},@]}"), "a");
	CHECK_STR(place_of("{\"a\":[[[@"), "a");
	CHECK_STR(place_of("{\"a\":{\"b\":1},\"c\":@}"), "c");
	CHECK_STR(place_of("{\"a\":\"x,{:[\\\" @"), "a");
	CHECK_STR(place_of("{\"a\":1,@}"), "");
	CHECK_STR(place_of("@"), "");
	CHECK_STR(place_of("[@"), "");
	CHECK_STR(place_of("]}]}{\"a\":@"), "a");
	CHECK_STR(place_of("{\"\xff\":@"), "");
	CHECK_STR(place_of("{\"a name that is longer than there is room\":@"), "");
	CHECK_STR(place_of(":::,{:@"), "");
}

int main(void)
{
	RUN(places);
	RUN(objects);
	RUN(mistakes);
	RUN(depths);
	return check_failures != 0;
}
