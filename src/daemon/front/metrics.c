#include "daemon/front/metrics.h"

#include "base/own.h"
#include "base/text.h"
#include "result/result.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 48 /* of a label's value, with its end */
#define METHODS_MAX    16 /* more than HTTP has */
#define STATUSES       (STATUS_ERROR + 1)
#define LIMITS_HIT     OUTCOME_LIMITS
#define BOUNDS_MAX     16 /* buckets but for +Inf */
#define OTHER          0  /* the place of "other" in each table of names */
#define NAMES          (METRICS_NAMES_MAX + 1)

/* Microseconds: from a warm run of C to the longest timeout by default. */
static const uint64_t time_bounds[] = {
	500,    1000,   2500,    5000,    10000,   25000,    50000,    100000,
	250000, 500000, 1000000, 2500000, 5000000, 10000000, 30000000, 60000000,
};

/* Bytes: 1 MiB to 4 GiB. */
static const uint64_t memory_bounds[] = {
	1u << 20,   2u << 20,   4u << 20,   8u << 20, 16u << 20, 32u << 20,         64u << 20,
	128u << 20, 256u << 20, 512u << 20, 1u << 30, 2u << 30,  UINT64_C(4) << 30,
};

struct names {
	size_t count;                     /* of `name` in use; "other" is the first */
	size_t max;                       /* at most */
	char name[NAMES][NAME_MAX_BYTES]; /* as they came */
};

struct histogram {
	uint64_t count;                   /* values */
	uint64_t sum;                     /* of them, in microseconds or bytes */
	uint64_t buckets[BOUNDS_MAX + 1]; /* each without those below it; what is above all bounds is behind the last */
};

struct request_count {
	uint16_t method; /* in `methods` */
	uint16_t route;  /* in `routes` */
	uint16_t code;   /* the status; 0: other */
	uint64_t count;  /* requests */
};

struct metrics {
	struct names languages, routes, methods, events;     /* label values met so far */
	uint64_t executions[NAMES][STATUSES][2];             /* by language, status, warm */
	uint64_t net_allowed, net_refused;                   /* connections of programs */
	uint64_t net_sent, net_received;                     /* bytes of them */
	uint64_t limits[LIMITS_HIT];                         /* by enum outcome_limit */
	uint64_t event_counts[NAMES];                        /* by event */
	struct histogram execution[NAMES][2];                /* by language, warm */
	struct histogram program[NAMES];                     /* by language */
	struct histogram memory[NAMES];                      /* by language */
	struct histogram queue;                              /* waiting for the keeper */
	struct histogram request[NAMES];                     /* by route */
	struct request_count requests[METRICS_REQUESTS_MAX]; /* the first is for all others */
	size_t request_kinds;                                /* of `requests` in use */
};

static const char *const starts[] = { "cold", "warm" };

/* Counting */

static void names_init(struct names *names, size_t max)
{
	names->max = max + 1;
	names->count = 1;
	strcpy(names->name[OTHER], "other");
}

/* Names that are empty or too long to keep are others as well. */
static size_t names_place(struct names *names, const char *name, size_t size)
{
	for (size_t i = 0; i < names->count; i++)
		if (strncmp(names->name[i], name, size) == 0 && names->name[i][size] == '\0')
			return i;
	if (names->count == names->max || size == 0 || size >= NAME_MAX_BYTES)
		return OTHER;
	memcpy(names->name[names->count], name, size);
	return names->count++;
}

static void histogram_add(struct histogram *histogram, const uint64_t *bounds, size_t count, uint64_t value)
{
	size_t i = 0;

	while (i < count && value > bounds[i])
		i++;
	histogram->buckets[i]++;
	histogram->count++;
	histogram->sum += value;
}

static void histogram_time(struct histogram *histogram, uint64_t usec)
{
	histogram_add(histogram, time_bounds, ARRAY_SIZE(time_bounds), usec);
}

struct metrics *metrics_new(void)
{
	struct metrics *metrics = calloc(1, sizeof(*metrics));

	if (!metrics)
		return NULL;
	names_init(&metrics->languages, METRICS_NAMES_MAX);
	names_init(&metrics->routes, METRICS_NAMES_MAX);
	names_init(&metrics->events, METRICS_NAMES_MAX);
	names_init(&metrics->methods, METHODS_MAX);
	metrics->request_kinds = 1;
	return metrics;
}

void metrics_free(struct metrics *metrics)
{
	free(metrics);
}

static struct request_count *request_place(struct metrics *metrics, uint16_t method, uint16_t route, uint16_t code)
{
	struct request_count *place;

	for (size_t i = 0; i < metrics->request_kinds; i++) {
		place = &metrics->requests[i];
		if (place->method == method && place->route == route && place->code == code)
			return place;
	}
	if (metrics->request_kinds == METRICS_REQUESTS_MAX)
		return &metrics->requests[0];
	place = &metrics->requests[metrics->request_kinds++];
	*place = (struct request_count){ .method = method, .route = route, .code = code };
	return place;
}

void metrics_request(struct metrics *metrics, const char *method, const char *route, int status, uint64_t usec)
{
	uint16_t code = status >= 100 && status <= 999 ? (uint16_t)status : 0;
	size_t at = names_place(&metrics->routes, route, strlen(route));
	size_t by = names_place(&metrics->methods, method, strlen(method));

	request_place(metrics, (uint16_t)by, (uint16_t)at, code)->count++;
	histogram_time(&metrics->request[at], usec);
}

void metrics_outcome(struct metrics *metrics, const struct outcome *outcome, uint64_t waited_usec)
{
	size_t size = strnlen(outcome->language, sizeof(outcome->language));
	size_t at = names_place(&metrics->languages, outcome->language, size);
	size_t status = outcome->status < STATUSES ? outcome->status : STATUS_ERROR;
	bool warm = outcome->warm != 0;

	metrics->executions[at][status][warm]++;
	metrics->net_allowed += outcome->net_allowed;
	metrics->net_refused += outcome->net_refused;
	metrics->net_sent += outcome->net_sent;
	metrics->net_received += outcome->net_received;
	if (outcome_limit_name(outcome->limit))
		metrics->limits[outcome->limit]++;
	histogram_time(&metrics->execution[at][warm], outcome->usec);
	histogram_time(&metrics->queue, waited_usec);
	if (outcome->run_usec > 0)
		histogram_time(&metrics->program[at], outcome->run_usec);
	if (outcome->memory > 0)
		histogram_add(&metrics->memory[at], memory_bounds, ARRAY_SIZE(memory_bounds), outcome->memory);
}

void metrics_event(struct metrics *metrics, const char *event)
{
	metrics->event_counts[names_place(&metrics->events, event, strlen(event))]++;
}

/* Writing */

struct label {
	const char *key;   /* NULL ends the list */
	const char *value; /* as it is; escaped when written */
};

#define LABELS(...) ((const struct label[]){ __VA_ARGS__ __VA_OPT__(, ){ NULL, NULL } })

static void add_head(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void add_label(struct buf *out, const struct label *label, const char *before)
{
	_cleanup_buf_ struct buf clean = { 0 };

	buf_utf8(&clean, label->value, strlen(label->value));
	buf_printf(out, "%s%s=\"", before, label->key);
	for (size_t i = 0; i < clean.size; i++) {
		if (clean.data[i] == '\n')
			buf_text(out, "\\n");
		else if (clean.data[i] == '"' || clean.data[i] == '\\')
			buf_printf(out, "\\%c", clean.data[i]);
		else
			buf_add(out, clean.data + i, 1);
	}
	buf_text(out, "\"");
}

/* NAME, its suffix and the labels, `last` behind the others; the value is the caller's. */
static void add_series(struct buf *out, const char *name, const char *suffix, const struct label *labels,
		       const struct label *last)
{
	const char *before = "{";

	buf_printf(out, "%s%s", name, suffix);
	for (; labels->key; labels++, before = ",")
		add_label(out, labels, before);
	if (last) {
		add_label(out, last, before);
		before = ",";
	}
	buf_text(out, before[0] == ',' ? "} " : " ");
}

static void add_number(struct buf *out, const char *name, const struct label *labels, uint64_t value)
{
	add_series(out, name, "", labels, NULL);
	buf_printf(out, "%" PRIu64 "\n", value);
}

static void add_usec(struct buf *out, uint64_t usec)
{
	buf_printf(out, "%" PRIu64 ".%06" PRIu64 "\n", usec / 1000000, usec % 1000000);
}

static void add_plain(struct buf *out, const char *name, const char *type, const char *help, uint64_t value)
{
	add_head(out, name, type, help);
	add_number(out, name, LABELS(), value);
}

static void add_histogram(struct buf *out, const char *name, const struct label *labels,
			  const struct histogram *histogram, bool time)
{
	const uint64_t *bounds = time ? time_bounds : memory_bounds;
	size_t count = time ? ARRAY_SIZE(time_bounds) : ARRAY_SIZE(memory_bounds);
	char bound[TEXT_NUMBER_MAX];
	uint64_t below = 0;

	for (size_t i = 0; i < count; i++) {
		below += histogram->buckets[i];
		text_number_format(time ? (double)bounds[i] / 1e6 : (double)bounds[i], bound);
		add_series(out, name, "_bucket", labels, &(struct label){ "le", bound });
		buf_printf(out, "%" PRIu64 "\n", below);
	}
	add_series(out, name, "_bucket", labels, &(struct label){ "le", "+Inf" });
	buf_printf(out, "%" PRIu64 "\n", histogram->count);
	add_series(out, name, "_sum", labels, NULL);
	if (time)
		add_usec(out, histogram->sum);
	else
		buf_printf(out, "%" PRIu64 "\n", histogram->sum);
	add_series(out, name, "_count", labels, NULL);
	buf_printf(out, "%" PRIu64 "\n", histogram->count);
}

/* Those with values, one for each name. */
static void add_histograms(struct buf *out, const char *name, const char *key, const struct names *names,
			   const struct histogram *histograms, bool time)
{
	for (size_t i = 0; i < names->count; i++)
		if (histograms[i].count > 0)
			add_histogram(out, name, LABELS({ key, names->name[i] }), &histograms[i], time);
}

static void add_executions(const struct metrics *metrics, struct buf *out)
{
	const struct names *languages = &metrics->languages;

	add_head(out, "emberbox_executions_total", "counter", "Runs that ended.");
	for (size_t i = 0; i < languages->count; i++)
		for (size_t status = 0; status < STATUSES; status++)
			for (size_t warm = 0; warm < 2; warm++)
				if (metrics->executions[i][status][warm] > 0)
					add_number(out, "emberbox_executions_total",
						   LABELS({ "language", languages->name[i] },
							  { "status", status_name((enum status)status) },
							  { "start", starts[warm] }),
						   metrics->executions[i][status][warm]);

	add_head(out, "emberbox_execution_seconds", "histogram",
		 "Runs, from their receipt by the keeper to the result.");
	for (size_t i = 0; i < languages->count; i++)
		for (size_t warm = 0; warm < 2; warm++)
			if (metrics->execution[i][warm].count > 0)
				add_histogram(out, "emberbox_execution_seconds",
					      LABELS({ "language", languages->name[i] }, { "start", starts[warm] }),
					      &metrics->execution[i][warm], true);

	add_head(out, "emberbox_program_seconds", "histogram", "Programs, from their start to their end.");
	add_histograms(out, "emberbox_program_seconds", "language", languages, metrics->program, true);

	add_head(out, "emberbox_execution_memory_bytes", "histogram", "Peaks of memory of runs.");
	add_histograms(out, "emberbox_execution_memory_bytes", "language", languages, metrics->memory, false);

	add_head(out, "emberbox_network_connections_total", "counter",
		 "Connections that programs asked for, and names that they were refused.");
	add_number(out, "emberbox_network_connections_total", LABELS({ "verdict", "allowed" }), metrics->net_allowed);
	add_number(out, "emberbox_network_connections_total", LABELS({ "verdict", "refused" }), metrics->net_refused);
	add_head(out, "emberbox_network_bytes_total", "counter", "Bytes of these connections.");
	add_number(out, "emberbox_network_bytes_total", LABELS({ "direction", "sent" }), metrics->net_sent);
	add_number(out, "emberbox_network_bytes_total", LABELS({ "direction", "received" }), metrics->net_received);

	add_head(out, "emberbox_queue_seconds", "histogram", "Runs, waiting for a place.");
	add_histogram(out, "emberbox_queue_seconds", LABELS(), &metrics->queue, true);

	add_head(out, "emberbox_limits_hit_total", "counter", "Runs that a limit ended.");
	for (size_t i = OUTCOME_LIMIT_TIMEOUT; i < LIMITS_HIT; i++)
		add_number(out, "emberbox_limits_hit_total", LABELS({ "limit", outcome_limit_name((uint8_t)i) }),
			   metrics->limits[i]);
}

static void add_requests(const struct metrics *metrics, struct buf *out)
{
	const struct request_count *request = metrics->requests;
	char code[8];

	add_head(out, "emberbox_http_requests_total", "counter", "Requests over HTTP that were answered.");
	for (size_t i = 0; i < metrics->request_kinds; i++, request++) {
		if (request->count == 0)
			continue;
		snprintf(code, sizeof(code), "%u", request->code);
		add_number(out, "emberbox_http_requests_total",
			   LABELS({ "method", metrics->methods.name[request->method] },
				  { "route", metrics->routes.name[request->route] },
				  { "code", request->code ? code : "other" }),
			   request->count);
	}
	add_head(out, "emberbox_http_request_seconds", "histogram",
		 "Requests over HTTP, from their head to the end of the answer.");
	add_histograms(out, "emberbox_http_request_seconds", "route", &metrics->routes, metrics->request, true);

	add_head(out, "emberbox_events_total", "counter", "Other things that happened.");
	for (size_t i = 0; i < metrics->events.count; i++)
		if (metrics->event_counts[i] > 0)
			add_number(out, "emberbox_events_total", LABELS({ "event", metrics->events.name[i] }),
				   metrics->event_counts[i]);
}

static void add_pool(const struct metrics_pool *pool, struct buf *out)
{
	add_plain(out, "emberbox_pool_embers", "gauge", "Boxes that wait, ready.", pool->idle);
	add_plain(out, "emberbox_pool_zygotes", "gauge", "Interpreters that boxes are forked from.", pool->zygotes);
	add_head(out, "emberbox_pool_runs_total", "counter", "Runs that the pool was asked for.");
	add_number(out, "emberbox_pool_runs_total", LABELS({ "start", "cold" }), pool->cold);
	add_number(out, "emberbox_pool_runs_total", LABELS({ "start", "warm" }), pool->warm);
	add_plain(out, "emberbox_pool_embers_made_total", "counter", "Boxes made ahead.", pool->forked);
	add_plain(out, "emberbox_pool_embers_failed_total", "counter",
		  "Boxes that could not be made ahead, or died before they were used.", pool->failed);
}

static void add_now(const struct metrics_now *now, struct buf *out)
{
	add_plain(out, "emberbox_running", "gauge", "Runs under way.", now->running);
	add_plain(out, "emberbox_queued", "gauge", "Runs that wait for a place.", now->queued);
	add_plain(out, "emberbox_connections", "gauge", "Connections of clients.", now->clients);
	add_plain(out, "emberbox_event_streams", "gauge", "Event streams that are open.", now->streams);
	add_plain(out, "emberbox_containers", "gauge", "Containers that run.", now->containers);
	add_plain(out, "emberbox_sessions", "gauge", "Sessions that live.", now->sessions);
	add_plain(out, "emberbox_held_bytes", "gauge", "Requests and answers in memory.", now->held);
	add_head(out, "emberbox_uptime_seconds", "gauge", "Time since the service started.");
	add_series(out, "emberbox_uptime_seconds", "", LABELS(), NULL);
	add_usec(out, now->uptime_usec);
	if (now->pool)
		add_pool(now->pool, out);
	add_head(out, "emberbox_build_info", "gauge", "1, with the version.");
	add_number(out, "emberbox_build_info", LABELS({ "version", EMBERBOX_VERSION }), 1);
}

void metrics_text(const struct metrics *metrics, const struct metrics_now *now, struct buf *out)
{
	add_executions(metrics, out);
	add_requests(metrics, out);
	add_now(now, out);
}
