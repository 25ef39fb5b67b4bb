/* What is counted, and that Prometheus can read it: each text goes through a strict parser of the format 0.0.4. */
#include "base/buf.h"
#include "base/own.h"
#include "engine/local/supervise.h"
#include "check.h"
#include "daemon/front/metrics.h"

#include <ctype.h>
#include <math.h>

/* The parser */

struct family {
	char name[96];    /* of the family whose lines come now; "" before the first */
	char type[16];    /* counter, gauge, histogram; "" between HELP and TYPE */
	char labels[512]; /* of the histogram's series that is read, without le; "" outside */
	bool in_series;   /* buckets were read, and the count is yet to come */
	double le;        /* the last bound */
	double buckets;   /* the last bucket */
	bool summed;      /* _sum was read */
};

struct parser {
	const char *text;     /* the whole */
	const char *fault;    /* what is wrong, or NULL */
	struct family family; /* the one that is read */
	struct buf seen;      /* "\nNAME{LABELS}" of each series and "\nfamily NAME" of each family */
	size_t series;        /* samples */
};

static bool wrong(struct parser *parser, const char *fault)
{
	if (!parser->fault)
		parser->fault = fault;
	return false;
}

/* Remembers it; false when it was there before. */
static bool fresh(struct parser *parser, const char *what)
{
	_cleanup_buf_ struct buf key = { 0 };
	bool known;

	buf_printf(&key, "\n%s\n", what);
	known = parser->seen.data && strstr(parser->seen.data, key.data);
	buf_text(&parser->seen, key.data);
	return !known;
}

static size_t name_size(const char *at)
{
	size_t size = 0;

	if (isdigit((unsigned char)*at))
		return 0;
	while (isalnum((unsigned char)at[size]) || at[size] == '_' || at[size] == ':')
		size++;
	return size;
}

/* "# HELP NAME TEXT" or "# TYPE NAME TYPE" */
static bool parse_comment(struct parser *parser, const char *line)
{
	struct family *family = &parser->family;
	bool help = strncmp(line, "# HELP ", 7) == 0;
	size_t size = name_size(line + 7);
	char name[96], unique[128];

	if (!help && strncmp(line, "# TYPE ", 7) != 0)
		return wrong(parser, "a comment that is neither HELP nor TYPE");
	if (size == 0 || size >= sizeof(name) || line[7 + size] != ' ')
		return wrong(parser, "a bad name in a comment");
	snprintf(name, sizeof(name), "%.*s", (int)size, line + 7);
	if (help) {
		if (family->in_series)
			return wrong(parser, "a histogram without its count");
		if (family->name[0] && !family->type[0])
			return wrong(parser, "HELP without TYPE");
		snprintf(unique, sizeof(unique), "family %s", name);
		if (!fresh(parser, unique))
			return wrong(parser, "a family that comes twice");
		*family = (struct family){ 0 };
		strcpy(family->name, name);
		return true;
	}
	if (strcmp(family->name, name) != 0 || family->type[0])
		return wrong(parser, "TYPE that does not follow its HELP");
	snprintf(family->type, sizeof(family->type), "%s", line + 7 + size + 1);
	if (strcmp(family->type, "counter") == 0)
		return strlen(name) > 6 && strcmp(name + strlen(name) - 6, "_total") == 0
			       ? true
			       : wrong(parser, "a counter that is not called _total");
	return strcmp(family->type, "gauge") == 0 || strcmp(family->type, "histogram") == 0
		       ? true
		       : wrong(parser, "an unknown type");
}

/* {key="value",…}: `labels` gets them without le, *le its bound. Returns what is behind, or NULL. */
static const char *parse_labels(struct parser *parser, const char *at, struct buf *labels, double *le, bool *has_le)
{
	if (*at != '{')
		return at;
	do {
		const char *key = ++at, *value;
		size_t size = name_size(key);

		if (size == 0 || key[size] != '=' || key[size + 1] != '"')
			return wrong(parser, "a bad label"), NULL;
		value = at = key + size + 2;
		for (; *at != '"'; at++) {
			if (*at == '\0')
				return wrong(parser, "a label without its end"), NULL;
			if (*at == '\\' && *++at != 'n' && *at != '"' && *at != '\\')
				return wrong(parser, "a bad escape"), NULL;
		}
		if (size == 2 && memcmp(key, "le", 2) == 0) {
			*has_le = true;
			*le = strncmp(value, "+Inf\"", 5) == 0 ? INFINITY : strtod(value, NULL);
		} else {
			buf_printf(labels, "%.*s;", (int)(at - key), key);
		}
		at++;
	} while (*at == ',');
	if (*at != '}')
		return wrong(parser, "labels without their end"), NULL;
	return at + 1;
}

static bool parse_bucket(struct parser *parser, const char *labels, bool has_le, double le, double value)
{
	struct family *family = &parser->family;

	if (!has_le)
		return wrong(parser, "a bucket without le");
	if (!family->in_series) {
		family->in_series = true;
		family->summed = false;
		family->le = -INFINITY;
		family->buckets = 0;
		snprintf(family->labels, sizeof(family->labels), "%s", labels);
	}
	if (strcmp(family->labels, labels) != 0)
		return wrong(parser, "a histogram that stops in the middle");
	if (!(le > family->le))
		return wrong(parser, "bounds that do not rise");
	if (value < family->buckets)
		return wrong(parser, "buckets that are not cumulative");
	family->le = le;
	family->buckets = value;
	return true;
}

static bool parse_histogram(struct parser *parser, const char *suffix, const char *labels, bool has_le, double le,
			    double value)
{
	struct family *family = &parser->family;

	if (strcmp(suffix, "_bucket") == 0)
		return parse_bucket(parser, labels, has_le, le, value);
	if (has_le || !family->in_series || strcmp(family->labels, labels) != 0 || !isinf(family->le))
		return wrong(parser, "a sum or count without all its buckets before it");
	if (strcmp(suffix, "_sum") == 0 && !family->summed) {
		family->summed = true;
		return true;
	}
	if (strcmp(suffix, "_count") != 0 || !family->summed)
		return wrong(parser, "a sample that no histogram has");
	family->in_series = false;
	return value == family->buckets ? true : wrong(parser, "a count that is not the bucket +Inf");
}

static bool parse_sample(struct parser *parser, const char *line)
{
	_cleanup_buf_ struct buf labels = { 0 }, unique = { 0 };
	struct family *family = &parser->family;
	size_t size = name_size(line), base = strlen(family->name);
	bool has_le = false;
	double le = 0, value;
	const char *at;
	char *end, suffix[16];

	buf_text(&labels, "");
	if (size == 0 || !family->type[0] || size < base || strncmp(line, family->name, base) != 0 ||
	    size - base >= sizeof(suffix))
		return wrong(parser, "a sample outside of its family");
	snprintf(suffix, sizeof(suffix), "%.*s", (int)(size - base), line + base);
	at = parse_labels(parser, line + size, &labels, &le, &has_le);
	if (!at)
		return false;
	buf_printf(&unique, "%.*s", (int)(at - line), line);
	if (!fresh(parser, unique.data))
		return wrong(parser, "a series that comes twice");
	if (at[0] != ' ' || !isdigit((unsigned char)at[1]))
		return wrong(parser, "a bad value");
	value = strtod(at + 1, &end);
	if (*end != '\0')
		return wrong(parser, "something behind the value");
	parser->series++;
	if (strcmp(family->type, "histogram") == 0)
		return parse_histogram(parser, suffix, labels.data, has_le, le, value);
	return suffix[0] || has_le ? wrong(parser, "a sample outside of its family") : true;
}

/* What is wrong with the text, or NULL. */
static const char *parse(const char *text)
{
	struct parser parser = { .text = text };

	while (*text && !parser.fault) {
		const char *end = strchr(text, '\n');
		_cleanup_free_ char *line = NULL;

		if (!end) {
			wrong(&parser, "a line without its end");
			break;
		}
		line = strndup(text, (size_t)(end - text));
		if (line[0] == '#')
			parse_comment(&parser, line);
		else
			parse_sample(&parser, line);
		text = end + 1;
	}
	if (parser.family.in_series)
		wrong(&parser, "a histogram without its count");
	if (parser.series == 0)
		wrong(&parser, "no samples");
	buf_free(&parser.seen);
	return parser.fault;
}

#define HEAD(name, type) "# HELP " name " Words.\n# TYPE " name " " type "\n"

static void the_parser_is_strict(void)
{
	CHECK(!parse(HEAD("a_total", "counter") "a_total{b=\"c\\n\\\"\\\\\"} 1\na_total{b=\"d\"} 2\n"));
	CHECK(!parse(HEAD("h", "histogram") "h_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 2\nh_sum 3.5\nh_count 2\n"));
	CHECK_STR(parse("a_total 1\n"), "a sample outside of its family");
	CHECK_STR(parse("# HELP a Words.\na 1\n"), "a sample outside of its family");
	CHECK_STR(parse("# TYPE a gauge\na 1\n"), "TYPE that does not follow its HELP");
	CHECK_STR(parse(HEAD("a", "counter") "a 1\n"), "a counter that is not called _total");
	CHECK_STR(parse(HEAD("a", "gauge") "b 1\n"), "a sample outside of its family");
	CHECK_STR(parse(HEAD("a", "gauge") "a 1\na 2\n"), "a series that comes twice");
	CHECK_STR(parse(HEAD("a", "gauge") "a 1\n" HEAD("a", "gauge")), "a family that comes twice");
	CHECK_STR(parse(HEAD("a", "gauge") "a{b=\"\\x\"} 1\n"), "a bad escape");
	CHECK_STR(parse(HEAD("a", "gauge") "a{b=\"x} 1\n"), "a label without its end");
	CHECK_STR(parse(HEAD("a", "gauge") "a 0,5\n"), "something behind the value");
	CHECK_STR(parse(HEAD("a", "gauge") "a 1"), "a line without its end");
	CHECK_STR(parse(HEAD("h", "histogram") "h_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} 1\n"),
		  "buckets that are not cumulative");
	CHECK_STR(parse(HEAD("h", "histogram") "h_bucket{le=\"2\"} 2\nh_bucket{le=\"1\"} 2\n"),
		  "bounds that do not rise");
	CHECK_STR(parse(HEAD("h", "histogram") "h_bucket{le=\"1\"} 1\nh_sum 3.5\nh_count 1\n"),
		  "a sum or count without all its buckets before it");
	CHECK_STR(parse(HEAD("h", "histogram") "h_bucket{le=\"+Inf\"} 2\nh_sum 3.5\nh_count 1\n"),
		  "a count that is not the bucket +Inf");
	CHECK_STR(parse(HEAD("h", "histogram") "h_bucket{le=\"+Inf\"} 2\n"), "a histogram without its count");
}

/* The metrics */

static struct buf text; /* the last */

static void show(const struct metrics *metrics, const struct metrics_now *now)
{
	const char *fault;

	buf_free(&text);
	metrics_text(metrics, now, &text);
	CHECK(!text.failed);
	fault = parse(text.data);
	if (fault)
		check_fail("the text has %s", fault);
}

/* One whole line of the text. */
static bool has(const char *line)
{
	_cleanup_buf_ struct buf whole = { 0 };

	buf_printf(&whole, "\n%s\n", line);
	return strstr(text.data, whole.data) != NULL;
}

#define CHECK_HAS(line)                                                                                                \
	do {                                                                                                           \
		if (!has(line))                                                                                        \
			check_fail("%s:%d: no line %s", __FILE__, __LINE__, line);                                     \
	} while (0)

static size_t count_of(const char *what)
{
	size_t count = 0;

	for (const char *at = text.data; (at = strstr(at, what)); at++)
		count++;
	return count;
}

static void nothing_has_happened(void)
{
	struct metrics *metrics = metrics_new();

	show(metrics, &(struct metrics_now){ 0 });
	CHECK_HAS("emberbox_running 0");
	CHECK_HAS("emberbox_uptime_seconds 0.000000");
	CHECK_HAS("emberbox_queue_seconds_count 0");
	CHECK_HAS("emberbox_limits_hit_total{limit=\"memory\"} 0");
	CHECK_HAS("emberbox_build_info{version=\"" EMBERBOX_VERSION "\"} 1");
	CHECK_HAS("# TYPE emberbox_executions_total counter");
	CHECK_INT(count_of("\nemberbox_executions_total"), 0);
	CHECK_INT(count_of("emberbox_pool"), 0);
	metrics_free(metrics);
	metrics_free(NULL);
}

static void what_is_so_now(void)
{
	struct metrics *metrics = metrics_new();
	const struct metrics_pool pool = { .idle = 6, .zygotes = 7, .warm = 8, .cold = 9, .forked = 10, .failed = 11 };
	const struct metrics_now now = { .clients = 1,
					 .running = 2,
					 .queued = 3,
					 .streams = 4,
					 .containers = 5,
					 .held = 1 << 20,
					 .pool = &pool,
					 .uptime_usec = 61000500 };

	show(metrics, &now);
	CHECK_HAS("emberbox_connections 1");
	CHECK_HAS("emberbox_running 2");
	CHECK_HAS("emberbox_queued 3");
	CHECK_HAS("emberbox_event_streams 4");
	CHECK_HAS("emberbox_containers 5");
	CHECK_HAS("emberbox_held_bytes 1048576");
	CHECK_HAS("emberbox_uptime_seconds 61.000500");
	CHECK_HAS("emberbox_pool_embers 6");
	CHECK_HAS("emberbox_pool_zygotes 7");
	CHECK_HAS("emberbox_pool_runs_total{start=\"warm\"} 8");
	CHECK_HAS("emberbox_pool_runs_total{start=\"cold\"} 9");
	CHECK_HAS("emberbox_pool_embers_made_total 10");
	CHECK_HAS("emberbox_pool_embers_failed_total 11");
	metrics_free(metrics);
}

static void runs(void)
{
	struct metrics *metrics = metrics_new();
	struct outcome outcome = { .language = "python", .warm = 1, .usec = 1200, .run_usec = 500, .memory = 3 << 20 };

	metrics_outcome(metrics, &outcome, 20);
	outcome.usec = 61000000;
	outcome.run_usec = 501;
	metrics_outcome(metrics, &outcome, 600);
	outcome = (struct outcome){ .language = "c",
				    .status = STATUS_OUT_OF_MEMORY,
				    .limit = OUTCOME_LIMIT_MEMORY,
				    .usec = 7,
				    .memory = UINT64_C(5) << 30 };
	metrics_outcome(metrics, &outcome, 0);
	outcome = (struct outcome){ .status = 200, .limit = 200 };
	memset(outcome.language, 'x', sizeof(outcome.language));
	metrics_outcome(metrics, &outcome, 0);
	show(metrics, &(struct metrics_now){ 0 });
	CHECK_HAS("emberbox_executions_total{language=\"python\",status=\"ok\",start=\"warm\"} 2");
	CHECK_HAS("emberbox_executions_total{language=\"c\",status=\"out_of_memory\",start=\"cold\"} 1");
	CHECK_HAS("emberbox_executions_total{language=\"xxxxxxxxxxxxxxxxxxxxxxxx\",status=\"error\",start=\"cold\"} 1");
	CHECK_INT(count_of("\nemberbox_executions_total"), 3);
	CHECK_HAS("emberbox_execution_seconds_bucket{language=\"python\",start=\"warm\",le=\"0.001\"} 0");
	CHECK_HAS("emberbox_execution_seconds_bucket{language=\"python\",start=\"warm\",le=\"0.0025\"} 1");
	CHECK_HAS("emberbox_execution_seconds_bucket{language=\"python\",start=\"warm\",le=\"60\"} 1");
	CHECK_HAS("emberbox_execution_seconds_bucket{language=\"python\",start=\"warm\",le=\"+Inf\"} 2");
	CHECK_HAS("emberbox_execution_seconds_sum{language=\"python\",start=\"warm\"} 61.001200");
	CHECK_HAS("emberbox_execution_seconds_count{language=\"python\",start=\"warm\"} 2");
	/* A bound belongs to its bucket. */
	CHECK_HAS("emberbox_program_seconds_bucket{language=\"python\",le=\"0.0005\"} 1");
	CHECK_HAS("emberbox_program_seconds_bucket{language=\"python\",le=\"0.001\"} 2");
	/* No program ran, so there is no time of it. */
	CHECK_INT(count_of("emberbox_program_seconds_count{language=\"c\"}"), 0);
	CHECK_HAS("emberbox_queue_seconds_bucket{le=\"0.0005\"} 3");
	CHECK_HAS("emberbox_queue_seconds_count 4");
	CHECK_HAS("emberbox_execution_memory_bytes_bucket{language=\"python\",le=\"2097152\"} 0");
	CHECK_HAS("emberbox_execution_memory_bytes_bucket{language=\"python\",le=\"4194304\"} 2");
	CHECK_HAS("emberbox_execution_memory_bytes_bucket{language=\"c\",le=\"4294967296\"} 0");
	CHECK_HAS("emberbox_execution_memory_bytes_sum{language=\"c\"} 5368709120");
	CHECK_HAS("emberbox_limits_hit_total{limit=\"memory\"} 1");
	CHECK_HAS("emberbox_limits_hit_total{limit=\"timeout\"} 0");
	metrics_free(metrics);
}

static void requests_and_events(void)
{
	struct metrics *metrics = metrics_new();

	metrics_request(metrics, "GET", "/v1/health", 200, 300);
	metrics_request(metrics, "GET", "/v1/health", 200, 700);
	metrics_request(metrics, "GET", "/v1/health", 401, 100);
	metrics_request(metrics, "POST", "/v1/execute", 200, 2000);
	metrics_request(metrics, "POST", "/v1/execute", -1, 2000);
	metrics_request(metrics, "POST", "", 404, 1);
	metrics_event(metrics, "busy");
	metrics_event(metrics, "busy");
	metrics_event(metrics, "unauthorized");
	show(metrics, &(struct metrics_now){ 0 });
	CHECK_HAS("emberbox_http_requests_total{method=\"GET\",route=\"/v1/health\",code=\"200\"} 2");
	CHECK_HAS("emberbox_http_requests_total{method=\"GET\",route=\"/v1/health\",code=\"401\"} 1");
	CHECK_HAS("emberbox_http_requests_total{method=\"POST\",route=\"/v1/execute\",code=\"200\"} 1");
	CHECK_HAS("emberbox_http_requests_total{method=\"POST\",route=\"/v1/execute\",code=\"other\"} 1");
	CHECK_HAS("emberbox_http_requests_total{method=\"POST\",route=\"other\",code=\"404\"} 1");
	CHECK_HAS("emberbox_http_request_seconds_bucket{route=\"/v1/health\",le=\"0.0005\"} 2");
	CHECK_HAS("emberbox_http_request_seconds_count{route=\"/v1/health\"} 3");
	CHECK_HAS("emberbox_http_request_seconds_sum{route=\"/v1/health\"} 0.001100");
	CHECK_HAS("emberbox_events_total{event=\"busy\"} 2");
	CHECK_HAS("emberbox_events_total{event=\"unauthorized\"} 1");
	metrics_free(metrics);
}

static void labels_are_escaped(void)
{
	struct metrics *metrics = metrics_new();

	metrics_event(metrics, "a\"b\\c\nd\xff é");
	metrics_event(metrics, "a");
	show(metrics, &(struct metrics_now){ 0 });
	CHECK_HAS("emberbox_events_total{event=\"a\\\"b\\\\c\\nd\xEF\xBF\xBD é\"} 1");
	CHECK_HAS("emberbox_events_total{event=\"a\"} 1");
	metrics_free(metrics);
}

static void names_are_bounded(void)
{
	struct metrics *metrics = metrics_new();
	struct outcome outcome = { 0 };
	char name[100];

	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		metrics_event(metrics, name);
		snprintf(outcome.language, sizeof(outcome.language), "n%d", i);
		metrics_outcome(metrics, &outcome, 0);
		for (int code = 0; code < 20; code++)
			metrics_request(metrics, name, name, 200 + code, 0);
	}
	memset(name, 'y', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	metrics_event(metrics, name);
	metrics_request(metrics, "other", "other", -1, 0);
	show(metrics, &(struct metrics_now){ 0 });
	CHECK_INT(count_of("\nemberbox_events_total{"), METRICS_NAMES_MAX + 1);
	CHECK_HAS("emberbox_events_total{event=\"n63\"} 1");
	CHECK_HAS("emberbox_events_total{event=\"other\"} 137");
	CHECK_INT(count_of("\nemberbox_executions_total{"), METRICS_NAMES_MAX + 1);
	CHECK_HAS("emberbox_executions_total{language=\"other\",status=\"ok\",start=\"cold\"} 136");
	CHECK_INT(count_of("\nemberbox_http_requests_total{"), METRICS_REQUESTS_MAX);
	CHECK_HAS("emberbox_http_requests_total{method=\"n15\",route=\"n15\",code=\"219\"} 1");
	CHECK_HAS("emberbox_http_requests_total{method=\"other\",route=\"n16\",code=\"200\"} 1");
	/* 4001 requests less the 511 that have a series of their own. */
	CHECK_HAS("emberbox_http_requests_total{method=\"other\",route=\"other\",code=\"other\"} 3490");
	CHECK_HAS("emberbox_http_request_seconds_count{route=\"other\"} 2721");
	/* Those that were known before are still counted apart. */
	metrics_event(metrics, "n63");
	show(metrics, &(struct metrics_now){ 0 });
	CHECK_HAS("emberbox_events_total{event=\"n63\"} 2");
	metrics_free(metrics);
}

static void limits_have_numbers(void)
{
	const char *const names[] = { "timeout", "cpu_time", "memory", "output" };

	CHECK_INT(outcome_limit(NULL), OUTCOME_LIMIT_NONE);
	CHECK_INT(outcome_limit("disk"), OUTCOME_LIMIT_NONE);
	CHECK(!outcome_limit_name(OUTCOME_LIMIT_NONE));
	CHECK(!outcome_limit_name(99));
	for (uint8_t i = 0; i < ARRAY_SIZE(names); i++) {
		CHECK_INT(outcome_limit(names[i]), i + 1);
		CHECK_STR(outcome_limit_name((uint8_t)(i + 1)), names[i]);
	}
}

int main(void)
{
	RUN(the_parser_is_strict);
	RUN(nothing_has_happened);
	RUN(what_is_so_now);
	RUN(runs);
	RUN(requests_and_events);
	RUN(labels_are_escaped);
	RUN(names_are_bounded);
	RUN(limits_have_numbers);
	buf_free(&text);
	return check_failures != 0;
}
