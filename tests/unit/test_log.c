/* What is written to standard error, byte for byte but for the time. */
#include "base/log.h"
#include "check.h"

#include <fcntl.h>
#include <jansson.h>
#include <locale.h>
#include <math.h>
#include <unistd.h>

static char got[8192]; /* what the last call wrote, terminated */

/* The writes go into a pipe of packets: each read is one write. Returns how many there were. */
static int caught(void (*say)(void))
{
	int pipes[2], saved, writes = 0;
	size_t size = 0;
	ssize_t n;

	CHECK(pipe2(pipes, O_DIRECT | O_NONBLOCK | O_CLOEXEC) == 0);
	saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	dup2(pipes[1], STDERR_FILENO);
	say();
	dup2(saved, STDERR_FILENO);
	while ((n = read(pipes[0], got + size, sizeof(got) - 1 - size)) > 0) {
		size += (size_t)n;
		writes++;
	}
	got[size] = '\0';
	close(saved);
	close(pipes[0]);
	close(pipes[1]);
	return writes;
}

/* "2026-01-02T03:04:05.678Z" becomes "TIME"; false when there is none at `at`. */
static bool mask_time(char *at)
{
	static const char shape[] = "0000-00-00T00:00:00.000Z";

	for (size_t i = 0; i < sizeof(shape) - 1; i++)
		if (shape[i] == '0' ? at[i] < '0' || at[i] > '9' : at[i] != shape[i])
			return false;
	memcpy(at, "TIME", 4);
	memmove(at + 4, at + sizeof(shape) - 1, strlen(at + sizeof(shape) - 1) + 1);
	return true;
}

static void sentence(void)
{
	errno = EBADF;
	log_say("the %s was\nended: \"%s\" \xff\x1b[2J\xc2\x9b \\ é", "keeper", "why");
	CHECK_INT(errno, EBADF);
}

static void event(void)
{
	const struct log_field fields[] = {
		{ .key = "route", .text = "/v1/execute" },
		{ .key = "code", .number = 200 },
		{ .key = "seconds", .number = 0.0125 },
		{ .key = "below", .number = -0.5 },
		{ .key = "bytes", .number = 9007199254740991 },
		{ .key = "none", .number = NAN },
		{ .key = "caller", .text = "a b\n\"c\"=\\" },
		{ .key = "empty", .text = "" },
		{ .key = "word", .text = "null" },
		{ 0 },
	};

	errno = EBADF;
	log_event("request", fields);
	CHECK_INT(errno, EBADF);
}

static void event_bare(void)
{
	log_event("started", NULL);
}

static void sentences_for_people(void)
{
	log_open(LOG_EVENTS, "front");
	CHECK_INT(caught(sentence), 1);
	CHECK_STR(got, "emberbox: the keeper was\\nended: \"why\" \xEF\xBF\xBD\\u001b[2J\\u009b \\ é\n");
	log_open(LOG_TEXT, "front");
	CHECK_INT(caught(sentence), 1);
	CHECK(mask_time(got));
	CHECK_STR(got, "TIME front the keeper was\\nended: \"why\" \xEF\xBF\xBD\\u001b[2J\\u009b \\ é\n");
}

static void sentences_as_json(void)
{
	log_open(LOG_JSON, "keeper");
	CHECK_INT(caught(sentence), 1);
	CHECK(mask_time(got + strlen("{\"time\": \"")));
	CHECK_STR(got, "{\"time\": \"TIME\", \"level\": \"notice\", \"role\": \"keeper\", \"message\": "
		       "\"the keeper was\\nended: \\\"why\\\" \xEF\xBF\xBD\\u001b[2J\\u009b \\\\ é\"}\n");
}

static void no_events_unless_asked_for(void)
{
	log_open(LOG_EVENTS, "front");
	CHECK_INT(caught(event), 0);
	log_open(LOG_TEXT, "front");
	CHECK_INT(caught(event), 1);
}

static void events_as_text(void)
{
	log_open(LOG_TEXT, "front");
	CHECK_INT(caught(event), 1);
	CHECK(mask_time(got));
	CHECK_STR(got, "TIME front request route=/v1/execute code=200 seconds=0.0125 below=-0.5 bytes=9007199254740991 "
		       "none=null caller=\"a b\\n\\\"c\\\"=\\\\\" word=null\n");
	CHECK_INT(caught(event_bare), 1);
	CHECK(mask_time(got));
	CHECK_STR(got, "TIME front started\n");
}

static void events_as_json(void)
{
	json_t *object;
	double seconds = 0;

	log_open(LOG_JSON, "store");
	CHECK_INT(caught(event), 1);
	object = json_loads(got, JSON_REJECT_DUPLICATES, NULL);
	CHECK(object);
	CHECK_STR(json_string_value(json_object_get(object, "level")), "info");
	CHECK_STR(json_string_value(json_object_get(object, "role")), "store");
	CHECK_STR(json_string_value(json_object_get(object, "event")), "request");
	CHECK_STR(json_string_value(json_object_get(object, "caller")), "a b\n\"c\"=\\");
	CHECK_STR(json_string_value(json_object_get(object, "word")), "null");
	CHECK_INT(json_integer_value(json_object_get(object, "bytes")), 9007199254740991);
	seconds = json_real_value(json_object_get(object, "seconds"));
	CHECK(fabs(seconds - 0.0125) < 1e-9);
	CHECK(json_is_null(json_object_get(object, "none")));
	CHECK_INT(json_object_size(object), 13);
	json_decref(object);
}

static void long_sentence(void)
{
	char text[6000];

	memset(text, '"', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	log_say("é%s", text);
}

static void long_fields(void)
{
	char text[6000];

	memset(text, '\n', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	log_event("request",
		  (struct log_field[]){ { .key = "path", .text = text }, { .key = "x", .number = 1 }, { 0 } });
}

static void long_lines_are_cut_and_stay_whole(void)
{
	json_t *object;
	const char *text;

	for (enum log_format format = LOG_EVENTS; format <= LOG_JSON; format++) {
		log_open(format, "front");
		CHECK_INT(caught(long_sentence), 1);
		CHECK(strlen(got) <= LOG_LINE_MAX && strlen(got) > LOG_LINE_MAX - 8);
		CHECK(got[strlen(got) - 1] == '\n');
	}
	object = json_loads(got, 0, NULL);
	text = json_string_value(json_object_get(object, "message"));
	CHECK(text && strncmp(text, "é\"\"", 4) == 0);
	json_decref(object);

	CHECK_INT(caught(long_fields), 1);
	CHECK(strlen(got) <= LOG_LINE_MAX);
	object = json_loads(got, 0, NULL);
	CHECK(object);
	text = json_string_value(json_object_get(object, "path"));
	CHECK(text && strlen(text) > 1500 && text[strspn(text, "\n")] == '\0');
	CHECK(!json_object_get(object, "x"));
	json_decref(object);
}

static void the_locale_does_not_matter(void)
{
	if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "fr_FR.UTF-8"))
		setlocale(LC_NUMERIC, "C");
	log_open(LOG_TEXT, "front");
	CHECK_INT(caught(event), 1);
	CHECK(strstr(got, " seconds=0.0125 "));
	setlocale(LC_NUMERIC, "C");
}

static void nowhere(void)
{
	close(STDERR_FILENO);
	log_say("nobody reads this");
}

static void a_closed_standard_error_hurts_nobody(void)
{
	CHECK_INT(caught(nowhere), 0);
}

int main(void)
{
	RUN(sentences_for_people);
	RUN(sentences_as_json);
	RUN(no_events_unless_asked_for);
	RUN(events_as_text);
	RUN(events_as_json);
	RUN(long_lines_are_cut_and_stay_whole);
	RUN(the_locale_does_not_matter);
	RUN(a_closed_standard_error_hurts_nobody);
	return check_failures != 0;
}
