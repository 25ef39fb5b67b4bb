/* The command line of http_load, and its report. */
#include "http_load.h"

#include "base/own.h"

#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const char USAGE[] = "Usage: http_load --to HOST:PORT|SOCKET [--path PATH] [options]\n"
			    "Sends the same request again and again over connections that stay open, and prints\n"
			    "how long the answers took, in seconds, as one JSON object.\n"
			    "\n"
			    "  --method NAME      GET, or POST with a body\n"
			    "  --body FILE        what is sent; as JSON\n"
			    "  --token TEXT       a bearer token\n"
			    "  --header TEXT      another field, \"Name: value\"; may be repeated\n"
			    "  --connections N    so many at once (1)\n"
			    "  --count N          so many requests altogether\n"
			    "  --seconds S        for so long\n"
			    "  --status N         what is expected (200); anything else is a failure\n"
			    "  --contains TEXT    a part of the answer\n"
			    "  --max-cold N       stop after so many cold starts (100): some kernels stall when\n"
			    "                     seccomp filters are loaded and freed by the thousand\n"
			    "  --pause MSEC       of each connection between two requests, not measured\n"
			    "  --samples          print the time of each, too\n"
			    "  --streams N        measure nothing: open so many event streams, print a line when\n"
			    "                     all are there, hold them until standard input ends (or for\n"
			    "                     --seconds), and print what came\n";

enum option_key {
	TO = 256,
	PATH,
	METHOD,
	BODY,
	TOKEN,
	HEADER,
	CONNECTIONS,
	COUNT,
	SECONDS,
	STATUS,
	CONTAINS,
	COLD,
	PAUSE,
	SAMPLES,
	STREAMS,
};

static const struct option OPTIONS[] = {
	{ "to", required_argument, NULL, TO },
	{ "path", required_argument, NULL, PATH },
	{ "method", required_argument, NULL, METHOD },
	{ "body", required_argument, NULL, BODY },
	{ "token", required_argument, NULL, TOKEN },
	{ "header", required_argument, NULL, HEADER },
	{ "connections", required_argument, NULL, CONNECTIONS },
	{ "count", required_argument, NULL, COUNT },
	{ "seconds", required_argument, NULL, SECONDS },
	{ "status", required_argument, NULL, STATUS },
	{ "contains", required_argument, NULL, CONTAINS },
	{ "max-cold", required_argument, NULL, COLD },
	{ "pause", required_argument, NULL, PAUSE },
	{ "samples", no_argument, NULL, SAMPLES },
	{ "streams", required_argument, NULL, STREAMS },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

/* What the request is made of. */
struct words {
	const char *to;     /* the server */
	const char *path;   /* asked for */
	const char *method; /* NULL: by the body */
	struct buf fields;  /* of the head, each with its line end */
	struct buf body;    /* what is sent */
	bool has_body;      /* it may be empty */
	bool streams;       /* only hold them */
};

static void usage_fail(const char *problem)
{
	fprintf(stderr, "http_load: %s\n\n%s", problem, USAGE);
	exit(2);
}

static double number(const char *text, double most)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value > 0) || value > most)
		usage_fail("a number cannot be used");
	return value;
}

static void file_read(const char *path, struct buf *out)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	char part[4096];
	size_t size;

	if (!file) {
		fprintf(stderr, "http_load: %s: %s\n", path, strerror(errno));
		exit(2);
	}
	while ((size = fread(part, 1, sizeof(part), file)) > 0)
		buf_add(out, part, size);
}

static void word_take(struct words *words, int key, const char *value)
{
	switch (key) {
	case TO:
		words->to = value;
		break;
	case PATH:
		words->path = value;
		break;
	case METHOD:
		words->method = value;
		break;
	case BODY:
		file_read(value, &words->body);
		words->has_body = true;
		break;
	case TOKEN:
		buf_printf(&words->fields, "Authorization: Bearer %s\r\n", value);
		break;
	case HEADER:
		buf_printf(&words->fields, "%s\r\n", value);
		break;
	case STREAMS:
		words->streams = true;
		break;
	}
}

static void option_take(struct http_load_options *options, int key, const char *value)
{
	switch (key) {
	case STREAMS:
	case CONNECTIONS:
		options->connections = (size_t)number(value, 65536);
		break;
	case COUNT:
		options->count = (uint64_t)number(value, 1e9);
		break;
	case SECONDS:
		options->nsec = (uint64_t)(number(value, 86400) * 1e9);
		break;
	case STATUS:
		options->status = (int)number(value, 599);
		break;
	case CONTAINS:
		options->contains = value;
		break;
	case COLD:
		options->max_cold = (uint64_t)number(value, 1e9);
		break;
	case PAUSE:
		options->pause_nsec = (uint64_t)(number(value, 60000) * 1e6);
		break;
	case SAMPLES:
		options->samples = true;
		break;
	}
}

static void request_make(const struct words *words, struct buf *out)
{
	const char *method = words->method ? words->method : words->has_body ? "POST" : "GET";

	buf_printf(out, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, words->path,
		   strchr(words->to, '/') ? "localhost" : words->to);
	if (words->streams)
		buf_text(out, "Accept: text/event-stream\r\n");
	if (words->has_body)
		buf_printf(out, "Content-Type: application/json\r\nContent-Length: %zu\r\n", words->body.size);
	if (words->fields.size)
		buf_add(out, words->fields.data, words->fields.size);
	buf_text(out, "\r\n");
	if (words->body.size)
		buf_add(out, words->body.data, words->body.size);
}

/* ---- The report: the same as load's. */

static int by_whole(const void *a, const void *b)
{
	const struct http_sample *x = a, *y = b;

	return (x->whole > y->whole) - (x->whole < y->whole);
}

static int by_first(const void *a, const void *b)
{
	const struct http_sample *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

/* The nearest rank: a value that was really measured. */
static const struct http_sample *rank_of(const struct http_load *load, size_t percent)
{
	size_t rank = (load->sample_count * percent + 99) / 100;

	return load->sample_count ? &load->samples[rank ? rank - 1 : 0] : NULL;
}

static json_t *seconds_of(const uint64_t *nsec)
{
	return nsec ? json_real((double)*nsec / 1e9) : json_null();
}

static void samples_add(json_t *report, const struct http_load *load)
{
	json_t *whole = json_array(), *first = json_array(), *transfer = json_array();

	for (size_t i = 0; i < load->sample_count; i++) {
		const struct http_sample *sample = &load->samples[i];
		uint64_t moved = sample->whole - sample->first;

		json_array_append_new(whole, seconds_of(&sample->whole));
		json_array_append_new(first, seconds_of(&sample->first));
		json_array_append_new(transfer, seconds_of(&moved));
	}
	json_object_set_new(report, "samples", whole);
	json_object_set_new(report, "first_samples", first);
	json_object_set_new(report, "transfer_samples", transfer);
}

static void report_print(json_t *report)
{
	json_dumpf(report, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
	putchar('\n');
	fflush(stdout);
	json_decref(report);
}

static void load_print(struct http_load *load)
{
	static const struct {
		const char *name; /* in the report */
		size_t percent;   /* which rank */
	} RANKS[] = { { "p50", 50 }, { "p95", 95 }, { "p99", 99 }, { "max", 100 } };
	double seconds = (double)(load->ended - load->started) / 1e9;
	json_t *report = json_object();

	if (load->options.samples)
		samples_add(report, load);
	if (load->sample_count)
		qsort(load->samples, load->sample_count, sizeof(*load->samples), by_whole);
	json_object_set_new(report, "count", json_integer((json_int_t)load->sample_count));
	for (size_t i = 0; i < ARRAY_SIZE(RANKS); i++) {
		const struct http_sample *sample = rank_of(load, RANKS[i].percent);

		json_object_set_new(report, RANKS[i].name, seconds_of(sample ? &sample->whole : NULL));
	}
	if (load->sample_count)
		qsort(load->samples, load->sample_count, sizeof(*load->samples), by_first);
	json_object_set_new(report, "first_p50", seconds_of(load->sample_count ? &rank_of(load, 50)->first : NULL));
	json_object_set_new(report, "seconds", json_real(seconds));
	json_object_set_new(report, "per_second", json_real(seconds > 0 ? (double)load->sample_count / seconds : 0));
	json_object_set_new(report, "bytes", json_integer((json_int_t)load->bytes));
	json_object_set_new(report, "warm", json_integer((json_int_t)load->warm));
	json_object_set_new(report, "cold", json_integer((json_int_t)load->cold));
	json_object_set_new(report, "refused", json_integer(0));
	json_object_set_new(report, "failed", json_integer((json_int_t)load->failed));
	json_object_set_new(report, "stopped", json_boolean(load->stopped));
	json_object_set_new(report, "problem", load->failed ? json_string(load->problem) : json_null());
	report_print(report);
}

static void streams_print(struct http_load *load)
{
	report_print(json_pack("{s:I, s:f, s:I, s:I, s:o}", "open", (json_int_t)load->open, "seconds",
			       (double)(load->ended - load->started) / 1e9, "bytes", (json_int_t)load->bytes, "failed",
			       (json_int_t)load->failed, "problem",
			       load->failed ? json_string(load->problem) : json_null()));
}

/* A thousand connections are more than the usual limit. */
static void files_allow(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int main(int argc, char **argv)
{
	struct http_load load = { .options = { .connections = 1, .max_cold = 100, .status = 200 }, .epoll = -1 };
	struct words words = { .path = "/" };
	int key, done;

	while ((key = getopt_long(argc, argv, "h", OPTIONS, NULL)) != -1) {
		if (key == 'h')
			return fputs(USAGE, stdout) < 0;
		if (key == '?')
			return 2;
		word_take(&words, key, optarg);
		option_take(&load.options, key, optarg);
	}
	if (!words.to || optind < argc)
		usage_fail("--to HOST:PORT or the path of a socket");
	if (http_load_address(&load, words.to) < 0)
		usage_fail("--to: there is no such address");
	if (!words.streams && !load.options.count && !load.options.nsec)
		usage_fail("--count or --seconds");
	request_make(&words, &load.request);
	files_allow();
	done = words.streams ? http_load_hold(&load, streams_print) : http_load_run(&load);
	if (done < 0)
		fprintf(stderr, "http_load: %s: %s\n", words.to, strerror(errno));
	else if (words.streams)
		streams_print(&load);
	else
		load_print(&load);
	http_load_free(&load);
	buf_free(&words.fields);
	buf_free(&words.body);
	return done < 0;
}
