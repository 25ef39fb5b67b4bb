/* The limit or signal that ended or hindered a program, with figures. */
#include "result/result_network.h"

#include "base/buf.h"
#include "base/own.h"
#include "base/text.h"
#include "kernel/seccomp.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* The verdict as reported. */
struct told {
	const char *cause;    /* "memory" */
	bool certain;         /* reported by the kernel, not guessed from the program's words */
	double limit, used;   /* the limit and the usage; negative: unknown */
	const char *process;  /* the process with the most memory; or NULL */
	const char *call;     /* the refused system call; or NULL */
	const char *host;     /* the host that it could not reach; or NULL */
	char allow[256];      /* the rule that would allow it; empty: none */
	char message[512];    /* one sentence */
	char suggestion[320]; /* one sentence; empty: none */
};

static double wall_of(const struct verdict *v)
{
	return v->started_usec && v->ended_usec > v->started_usec ? (double)(v->ended_usec - v->started_usec) / 1e6 : 0;
}

static const char *seconds_text(double number, char out[TEXT_NUMBER_MAX])
{
	return text_number_format(round(number * 100) / 100, out);
}

/* A round size somewhat larger than `bytes`. */
static const char *more_memory(uint64_t bytes, char out[TEXT_SIZE_MAX])
{
	uint64_t mib = (bytes >> 20) * 2;

	return text_size_format((mib ? mib : 8) << 20, out);
}

static void tell_timeout(const struct result *result, struct told *told)
{
	const struct verdict *v = &result->verdict;
	bool cpu = v->limit && strcmp(v->limit, "cpu_time") == 0;
	double wall = wall_of(v), used = (double)v->cpu_usec / 1e6;
	const double share = result->limits.cpus > 0 && result->limits.cpus < 1 ? result->limits.cpus : 1;
	const bool waited = !cpu && wall > 0 && used < 0.2 * share * wall;
	char limit[TEXT_NUMBER_MAX], busy[TEXT_NUMBER_MAX], twice[TEXT_NUMBER_MAX];

	told->cause = cpu ? "cpu_time" : "timeout";
	told->limit = cpu ? result->limits.cpu_time : result->limits.timeout;
	told->used = cpu ? used : wall;
	seconds_text(used, busy);
	text_number_format(told->limit, limit);
	text_number_format(told->limit * 2, twice);
	snprintf(told->message, sizeof(told->message), "The %s did not finish within %s s%s; it computed for %s s%s.",
		 result->phase == JOB_COMPILE ? "compiler" : "program", limit, cpu ? " of CPU time" : "", busy,
		 waited ? " and waited for the rest" : "");
	if (result->phase == JOB_COMPILE)
		snprintf(told->suggestion, sizeof(told->suggestion),
			 "Compiling took too long: make the program smaller, or leave out generated code.");
	else if (result->verdict.witness.forks_refused > 0)
		snprintf(told->suggestion, sizeof(told->suggestion),
			 "The program was refused more than %u processes and threads at once, as happens to programs "
			 "that keep starting themselves: start fewer, or allow more with --pids %u (limits.pids).",
			 (unsigned)result->limits.pids, (unsigned)result->limits.pids * 2);
	else if (waited)
		snprintf(told->suggestion, sizeof(told->suggestion),
			 "It waited nearly all of the time: look for a read of standard input (stdin), a network or "
			 "server that "
			 "does not answer, a sleep or a lock; or allow more with --timeout %s (limits.timeout).",
			 twice);
	else
		snprintf(told->suggestion, sizeof(told->suggestion),
			 "It was still computing: look for a loop that does not end, take less input, or allow more "
			 "with "
			 "--%s %s (limits.%s).",
			 cpu ? "cpu-time" : "timeout", twice, told->cause);
}

static void tell_memory(const struct result *result, struct told *told)
{
	const struct witness *w = &result->verdict.witness;
	char limit[TEXT_SIZE_MAX], more[TEXT_SIZE_MAX];

	told->cause = "memory";
	told->limit = (double)result->limits.memory;
	told->used = (double)result->verdict.memory_peak;
	told->process = w->biggest[0] ? w->biggest : NULL;
	text_size_format(result->limits.memory, limit);
	snprintf(told->message, sizeof(told->message), "The program needed more than its %s of memory.", limit);
	snprintf(told->suggestion, sizeof(told->suggestion),
		 "Hold less at once (read and write piece by piece), or allow more with --memory %s (limits.memory).",
		 more_memory(result->limits.memory, more));
}

static void tell_output(const struct result *result, struct told *told)
{
	told->cause = "output";
	told->limit = (double)OUTPUT_SPOOL_MAX;
	told->used = (double)(result->outputs[0].bytes > result->outputs[1].bytes ? result->outputs[0].bytes
										  : result->outputs[1].bytes);
	snprintf(told->message, sizeof(told->message), "The program printed more than 16m to one stream.");
	snprintf(told->suggestion, sizeof(told->suggestion),
		 "Print less, look for a loop that prints for ever, or write large data to a file in /sandbox/output.");
}

static void tell_killed(const struct result *result, struct told *told)
{
	told->cause = result->verdict.cancelled ? "cancelled" : "outside";
	snprintf(told->message, sizeof(told->message), "%s",
		 result->verdict.cancelled ? "The run was cancelled." : "The program was killed from outside the box.");
}

static void tell_signal(const struct result *result, int number, struct told *told)
{
	const struct explanation *e = result->explanation;
	char where[384] = "";

	told->cause = "signal";
	if (e && e->line > 0)
		snprintf(where, sizeof(where), " in line %ld of %.80s", e->line, e->file);
	snprintf(told->message, sizeof(told->message), "Signal SIG%s (%s) ended it%s.", sigabbrev_np(number) ?: "?",
		 sigdescr_np(number) ?: "unknown", where);
}

static void tell_processes(const struct result *result, struct told *told, bool certain)
{
	told->cause = "pids";
	told->certain = certain;
	told->limit = (double)result->limits.pids;
	snprintf(told->message, sizeof(told->message), "The program %s more than %.0f processes and threads at once.",
		 certain ? "was refused" : "seems to have wanted", told->limit);
	if (!result->explanation || !result->explanation->suggestion[0])
		snprintf(told->suggestion, sizeof(told->suggestion),
			 "Start fewer at once, or allow more with --pids %.0f (limits.pids).", told->limit * 2);
}

static void tell_disk(const struct result *result, struct told *told, bool certain)
{
	const struct witness *w = &result->verdict.witness;
	char limit[TEXT_SIZE_MAX];

	told->cause = "disk";
	told->certain = certain;
	told->limit = (double)result->limits.disk;
	if (w->disk_full)
		told->used = told->limit;
	text_size_format(result->limits.disk, limit);
	if (w->inodes_full)
		snprintf(told->message, sizeof(told->message),
			 "The program created as many files as its disk can hold.");
	else
		snprintf(told->message, sizeof(told->message), "The program %s its %s of disk.",
			 certain ? "filled" : "seems to have filled", limit);
}

/* The filter's listener knows the refused call; without a listener, the program's words name it. */
static void tell_call(const struct result *result, struct told *told)
{
	const struct explanation *e = result->explanation;
	const char *refused = result->verdict.witness.refused;

	/* The program complains of another call: its own words name the call that mattered. */
	if (refused && e && e->call[0] && strcmp(e->call, refused) != 0)
		refused = NULL;
	told->cause = "call";
	told->certain = refused != NULL;
	told->call = refused ? refused : e->call;
	if (refused)
		snprintf(told->message, sizeof(told->message), "The box refused the system call %.32s.", refused);
	else if (e->call[0])
		snprintf(told->message, sizeof(told->message),
			 "According to its output, the system call %.32s was refused.", e->call);
	else
		snprintf(told->message, sizeof(told->message), "According to its output, a system call was refused.");
	if (refused && (!e || !e->suggestion[0]))
		snprintf(told->suggestion, sizeof(told->suggestion),
			 "%s %.32s: do without it, or run this part outside of the box.",
			 seccomp_denies(SECCOMP_BOX, refused) ? "No box allows" : "No box allows this use of", refused);
}

/* What egress refused is certain; what the program printed about it is not. */
static void tell_network(const struct explanation *e, const struct net_connection *refused, struct told *told)
{
	_cleanup_buf_ struct buf sentence = { 0 }, rule = { 0 };

	told->cause = "network";
	if (refused) {
		told->host = refused->host;
		result_refusal_sentence(refused, &sentence);
		snprintf(told->message, sizeof(told->message), "%s.", sentence.data ?: "");
		if (result_refusal_rule(refused, &rule) && !rule.failed) {
			snprintf(told->allow, sizeof(told->allow), "%s", rule.data);
			snprintf(told->suggestion, sizeof(told->suggestion), "Allow it with --net %.200s (network).",
				 rule.data);
		}
		return;
	}
	told->host = e->host;
	told->certain = false;
	if (e->host[0])
		snprintf(told->message, sizeof(told->message),
			 "According to its output, the program tried to reach %.128s.", e->host);
	else
		snprintf(told->message, sizeof(told->message),
			 "According to its output, the program tried to use the network.");
}

/* Finds the limit that hindered a program which ended by itself. */
static void tell_failed(const struct result *result, struct told *told)
{
	const struct witness *w = &result->verdict.witness;
	const struct explanation *e = result->explanation;
	const char *kind = e ? e->kind : "";
	int number = result_signal(result);

	if (w->forks_refused > 0 || strcmp(kind, "too-many-processes") == 0)
		tell_processes(result, told, w->forks_refused > 0);
	else if (w->disk_full || w->inodes_full || strcmp(kind, "disk-full") == 0)
		tell_disk(result, told, w->disk_full || w->inodes_full);
	else if (number)
		tell_signal(result, number, told);
	else if (strcmp(kind, "not-permitted") == 0 ||
		 (w->refused && !e && result->outputs[0].bytes == 0 && result->outputs[1].bytes == 0))
		tell_call(result, told);
	else if (result->refusal || strcmp(kind, "no-network") == 0)
		tell_network(e, result->refusal, told);
	if (!told->suggestion[0] && told->cause && e)
		memcpy(told->suggestion, e->suggestion, sizeof(told->suggestion) - 1);
}

static json_t *json_utf8(const char *bytes)
{
	_cleanup_buf_ struct buf text = { 0 };

	if (!bytes || !*bytes)
		return json_null();
	buf_utf8(&text, bytes, strlen(bytes));
	return json_stringn(text.data ? text.data : "", text.size);
}

/* Seconds are fractions; bytes and processes are integers. */
static json_t *json_figure(const struct told *told, double number)
{
	if (number < 0)
		return json_null();
	if (strcmp(told->cause, "timeout") == 0 || strcmp(told->cause, "cpu_time") == 0)
		return json_real(number);
	return json_integer((json_int_t)number);
}

static json_t *process_json(const struct result *result, const struct told *told)
{
	const struct witness *w = &result->verdict.witness;

	if (!told->process)
		return json_null();
	return json_pack("{s:o, s:o}", "name", json_utf8(told->process), "memory",
			 w->biggest_memory ? json_integer((json_int_t)w->biggest_memory) : json_null());
}

json_t *result_verdict_json(const struct result *result)
{
	struct told told = { .certain = true, .limit = -1, .used = -1 };

	switch (result->verdict.status) {
	case STATUS_TIMEOUT:
		tell_timeout(result, &told);
		break;
	case STATUS_OUT_OF_MEMORY:
		tell_memory(result, &told);
		break;
	case STATUS_OUTPUT_LIMIT:
		tell_output(result, &told);
		break;
	case STATUS_KILLED:
		tell_killed(result, &told);
		break;
	case STATUS_FAILED:
		tell_failed(result, &told);
		break;
	default:
		break;
	}
	if (!told.cause)
		return json_null();
	return json_pack("{s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "cause", told.cause, "certain",
			 told.certain, "message", json_utf8(told.message), "limit", json_figure(&told, told.limit),
			 "used", json_figure(&told, told.used), "process", process_json(result, &told), "call",
			 json_utf8(told.call), "host", json_utf8(told.host), "allow", json_utf8(told.allow),
			 "suggestion", json_utf8(told.suggestion));
}
