/* What drivers tell: known keys of the right kind, in a struct of fixed size, made by a process of its own. */
#include "../check.h"

#include "base/buf.h"
#include "base/own.h"
#include "live/driver_told.h"

#include <string.h>

static struct driver_told *told_by(enum driver_told_what what, const char *payload, size_t size)
{
	/* Two bytes for the second character. */
	return driver_told_read(&(struct driver_told_input){
		.what = what, .payload = payload, .size = size, .code = "x\xc3\xa9y", .code_size = 4 });
}

static void check_text(enum driver_told_what what, const char *payload, const char *want)
{
	struct driver_told *told = told_by(what, payload, strlen(payload));

	if (want)
		CHECK_STR(told ? told->text : NULL, want);
	else
		CHECK(!told);
	driver_told_free(told);
}

static void an_error_has_its_known_keys(void)
{
	const char *payload =
		"{\"type\":\"E\\u00e9\",\"message\":\"m \\u0000 n\",\"file\":\"a.py\",\"line\":3,\"column\":4,"
		"\"frames\":[{\"file\":\"old\",\"line\":1},{\"file\":7,\"line\":-1,\"user\":true,\"text\":\"t\"}],"
		"\"frame_count\":9,\"host\":\"none\"}";
	struct driver_told *told = told_by(DRIVER_TOLD_ERROR, payload, strlen(payload));

	CHECK(told != NULL);
	if (!told)
		return;
	CHECK_STR(told->type, "E\xc3\xa9");
	CHECK_STR(told->message, "m ");
	CHECK_STR(told->file, "a.py");
	CHECK_INT(told->line, 3);
	CHECK_INT(told->column, 4);
	CHECK_STR(told->text,
		  "{\"type\":\"E\xc3\xa9\",\"message\":\"m \\u0000 n\",\"file\":\"a.py\",\"line\":3,\"column\":4,"
		  "\"frames\":[{\"file\":null,\"line\":null,\"function\":null,\"text\":\"t\",\"user\":true},"
		  "{\"file\":\"old\",\"line\":1,\"function\":null,\"text\":null,\"user\":false}],\"frame_count\":9}");
	CHECK_INT(told->size, strlen(told->text));
	driver_told_free(told);
}

static void what_is_none_is_not_told(void)
{
	static const char *const bad[] = { "",
					   "{",
					   "[]",
					   "{}",
					   "{\"type\":\"E\"}",
					   "{\"type\":\"\",\"message\":\"m\"}",
					   "{\"type\":1,\"message\":\"m\"}",
					   "{\"type\":\"E\",\"message\":null}",
					   "{\"type\":\"E\",\"message\":\"m\"} x",
					   "{\"type\":\"E\",\"message\":\"\xff\"}" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		check_text(DRIVER_TOLD_ERROR, bad[i], NULL);
	check_text(DRIVER_TOLD_ERROR, "{\"type\":\"E\",\"message\":\"\"}",
		   "{\"type\":\"E\",\"message\":\"\",\"file\":null,\"line\":null,\"column\":null,\"frames\":[],\"frame_"
		   "count\":0}");
}

static void answers_have_their_known_keys(void)
{
	check_text(DRIVER_TOLD_COMPLETE, "{\"matches\":[\"one\",2,\"\\u0074wo\"],\"start\":3,\"end\":4,\"more\":1}",
		   "{\"matches\":[\"one\",\"two\"],\"cursor_start\":2,\"cursor_end\":3}");
	check_text(DRIVER_TOLD_COMPLETE, "{\"matches\":7,\"start\":-3,\"end\":99999}",
		   "{\"matches\":[],\"cursor_start\":0,\"cursor_end\":3}");
	check_text(DRIVER_TOLD_INSPECT, "{\"found\":true,\"text/plain\":\"a\\nb\",\"text/html\":4,\"name\":\"n\"}",
		   "{\"found\":true,\"data\":{\"text/plain\":\"a\\nb\"}}");
	check_text(DRIVER_TOLD_INSPECT, "nothing", "{\"found\":false,\"data\":{}}");
}

/* As many values, and as deep, as a payload can have. */
static void the_largest_payloads_are_read(void)
{
	struct buf many = { 0 }, deep = { 0 }, wide = { 0 };
	struct driver_told *told;
	char want[32];
	int frames;

	buf_text(&many, "{\"matches\":[\"a\"");
	while (many.size < DRIVER_SMALL_MAX - 8)
		buf_text(&many, ",\"a\"");
	buf_text(&many, "]}");
	told = told_by(DRIVER_TOLD_COMPLETE, many.data, many.size);
	CHECK(told && told->size > DRIVER_SMALL_MAX - 64);
	driver_told_free(told);
	while (deep.size < DRIVER_SMALL_MAX)
		buf_text(&deep, "[");
	CHECK(!told_by(DRIVER_TOLD_ERROR, deep.data, deep.size));
	buf_text(&wide, "{\"type\":\"E\",\"message\":\"m\",\"frames\":[{}");
	for (frames = 1; wide.size < DRIVER_SMALL_MAX - 8; frames++)
		buf_text(&wide, ",{}");
	buf_text(&wide, "]}");
	told = told_by(DRIVER_TOLD_ERROR, wide.data, wide.size);
	snprintf(want, sizeof(want), "\"frame_count\":%d}", frames);
	CHECK(told && told->size > strlen(want));
	if (told && told->size > strlen(want))
		CHECK_STR(told->text + told->size - strlen(want), want);
	driver_told_free(told);
	buf_free(&many);
	buf_free(&deep);
	buf_free(&wide);
}

static void set_text(struct driver_told *told, const char *text)
{
	told->size = strlen(text);
	memcpy(told->text, text, told->size);
}

/* It may have been taken over before it left this. */
static void what_comes_back_is_looked_at(void)
{
	static const char *const bad[] = { "{}",
					   "[1]",
					   " {\"a\":1}",
					   "{\"a\":1} ",
					   "{\"a\":1}}",
					   "{\"a\":\"\xff\"}",
					   "{\"a\":[[[[1]]]]}",
					   "{\"a\":1},{\"b\":2}" };
	struct driver_told *told = malloc(sizeof(*told));

	if (!told)
		abort();
	memset(told, 'x', sizeof(*told));
	driver_told_settle(told);
	CHECK_INT(strlen(told->type), sizeof(told->type) - 1);
	CHECK_INT(strlen(told->message), sizeof(told->message) - 1);
	CHECK_INT(strlen(told->file), sizeof(told->file) - 1);
	CHECK_INT(told->line, 0);
	CHECK_INT(told->size, 0);
	CHECK_STR(told->text, "");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		set_text(told, bad[i]);
		driver_told_settle(told);
		CHECK_INT(told->size, 0);
	}
	set_text(told, "{\"a\":[[[1]]]}");
	driver_told_settle(told);
	CHECK_STR(told->text, "{\"a\":[[[1]]]}");
	free(told);
}

static bool ready(const char *payload, struct driver_abilities *found)
{
	return driver_ready(payload, strlen(payload), found);
}

static void ready_is_read_where_it_stands(void)
{
	struct driver_abilities found;

	CHECK(ready("{\"driver\":\"p\\u0079\",\"inspect\":true,\"complete\":false,\"interrupt\":1}", &found));
	CHECK_STR(found.name, "py");
	CHECK(found.inspects && !found.completes && !found.hears);
	CHECK(!ready("{\"driver\":1}", &found));
	CHECK(!ready("{\"inspect\":true}", &found));
	CHECK(!ready("{\"driver\":\"x\"", &found));
}

int main(void)
{
	RUN(an_error_has_its_known_keys);
	RUN(what_is_none_is_not_told);
	RUN(answers_have_their_known_keys);
	RUN(the_largest_payloads_are_read);
	RUN(what_comes_back_is_looked_at);
	RUN(ready_is_read_where_it_stands);
	return check_failures ? 1 : 0;
}
