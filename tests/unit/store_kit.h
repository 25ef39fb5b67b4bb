/* For tests of the store: a state directory of their own, runs that are recorded without a box, and questions. */
#pragma once

#include "../check.h"

#include "base/buf.h"
#include "base/fd.h"
#include "base/own.h"
#include "result/result.h"
#include "store/audit.h"
#include "store/journal.h"
#include "store/record.h"
#include "store/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char home[64];
static int dir = -1;
static struct error err;
static struct store *store;
static struct journal *journal;
static json_t *answer; /* of the last question */
static const struct store_options plain = { .audit = true };

static inline void store_begin(const struct store_options *options)
{
	bool taking = false;

	store_close(store);
	store = NULL;
	CHECK_INT(store_open(options, &taking, &store, &err), 0);
	CHECK(taking);
}

static inline void begin(void)
{
	strcpy(home, "/tmp/emberbox-store-XXXXXX");
	if (!mkdtemp(home))
		abort();
	setenv("EMBERBOX_HOME", home, 1);
	dir = open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = (struct error){ 0 };
	CHECK_INT(journal_open(&journal, &err), 0);
	store_begin(&plain);
}

static inline void end(void)
{
	char command[128];

	store_close(store);
	store = NULL;
	journal_close(journal);
	journal = NULL;
	json_decref(answer);
	answer = NULL;
	close_fd(&dir);
	snprintf(command, sizeof(command), "rm -r %s", home);
	CHECK_INT(system(command), 0);
}

struct run {
	const char *language; /* or NULL: python */
	const char *caller;   /* or NULL: "uid 1" */
	const char *code;     /* or NULL: print(1) */
	size_t code_size;     /* 0: its length */
	const char *out;      /* standard output, or NULL */
	size_t out_size;      /* 0: its length */
	uint64_t shown;       /* bytes of it; 0: the default */
	const char *place;    /* its container, or NULL */
	const char *sentence; /* of its error; NULL: that of its status */
	enum status status;   /* what it did */
	enum record_code policy;
	bool begins; /* only that */
	bool warm;
	uint64_t msec;       /* how long it ran */
	struct timeval time; /* when; 0: now */
	char id[RESULT_ID];  /* told */
};

static inline void record_in(struct journal *to, struct run *run)
{
	const struct record_caller caller = { .door = "http",
					      .name = run->caller ? run->caller : "uid 1",
					      .request_id = "req-1",
					      .profile = "",
					      .place = run->place ? run->place : "" };
	const char *code = run->code ? run->code : "print(1)";
	struct result *result;
	struct spec spec;

	spec_init(&spec);
	spec_set(&spec, "language", run->language ? run->language : "python", &err);
	spec_set(&spec, "arg", "one", &err);
	spec_set(&spec, "env", "SECRET=word", &err);
	spec_set_code(&spec, code, run->code_size ? run->code_size : strlen(code), &err);
	result = result_new(&spec);
	if (run->shown)
		result->limits.max_output = run->shown;
	if (run->time.tv_sec)
		result->time = run->time;
	if (run->out)
		output_add(&result->outputs[0], run->out, run->out_size ? run->out_size : strlen(run->out));
	result->verdict.status = run->status;
	result->verdict.ended = true;
	result->verdict.wait_status = run->status == STATUS_FAILED ? 3 << 8 : 0;
	result->verdict.limit = run->status == STATUS_TIMEOUT ? "timeout" : NULL;
	result->verdict.started_usec = 1000000;
	result->verdict.ended_usec = 1000000 + run->msec * 1000;
	result->begin_usec = 990000;
	result->finish_usec = result->verdict.ended_usec + 10000;
	result->warm = run->warm;
	result_explain(result, NULL);
	if (run->sentence)
		snprintf(result->message, sizeof(result->message), "%s", run->sentence);
	strcpy(run->id, result->id);
	CHECK_INT(record_start(to, run->id, &spec, &caller, &err), 0);
	if (!run->begins)
		CHECK_INT(record_end(to, &spec, &caller, result, run->policy, &err), 0);
	result_free(result);
	spec_free(&spec);
}

static inline void record(struct run *run)
{
	record_in(journal, run);
}

static inline int keep(int status, struct buf *out)
{
	json_decref(answer);
	answer = json_loadb(out->data ? out->data : "", out->size, JSON_ALLOW_NUL, NULL);
	CHECK(status != 200 || answer);
	buf_free(out);
	return status;
}

static inline int list(const struct store_filter *filter)
{
	struct buf out = { 0 };

	err = (struct error){ 0 };
	return keep(store_list(store, filter, &out, &err), &out);
}

static inline int show(const char *id, const char *caller)
{
	struct buf out = { 0 };

	err = (struct error){ 0 };
	return keep(store_show(store, id, caller, &out, &err), &out);
}

static inline int stats(const struct store_filter *filter)
{
	struct buf out = { 0 };

	err = (struct error){ 0 };
	return keep(store_stats(store, filter, &out, &err), &out);
}

static inline const char *text_of(const char *key)
{
	return json_string_value(json_object_get(answer, key));
}

static inline json_int_t number_of(const char *key)
{
	return json_integer_value(json_object_get(answer, key));
}

static inline size_t list_size(void)
{
	return json_array_size(json_object_get(answer, "executions"));
}

static inline const char *item(size_t index, const char *key)
{
	return json_string_value(json_object_get(json_array_get(json_object_get(answer, "executions"), index), key));
}

static inline int count_rows(void)
{
	CHECK_INT(list(&(struct store_filter){ .limit = 1000 }), 200);
	return (int)list_size();
}

/* Files of executions/ whose name ends so. */
static inline int count_files(const char *suffix)
{
	int fd = openat(dir, "executions", O_RDONLY | O_DIRECTORY | O_CLOEXEC), count = 0;
	_cleanup_closedir_ DIR *files = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	while (files && (entry = readdir(files))) {
		size_t length = strlen(entry->d_name), wanted = strlen(suffix);

		count += length > wanted && strcmp(entry->d_name + length - wanted, suffix) == 0;
	}
	return count;
}

static inline int count_audit(const char *event)
{
	_cleanup_buf_ struct buf lines = { 0 };
	char wanted[64];
	int count = 0;

	snprintf(wanted, sizeof(wanted), "\"event\":\"%s\"", event);
	CHECK_INT(audit_tail(dir, 100000, &lines, &err), 0);
	for (const char *at = lines.data; at && (at = strstr(at, wanted)); at++)
		count++;
	return count;
}

static inline void verify_audit(void)
{
	uint64_t entries = 0;
	struct error wrong = { 0 };

	if (audit_verify(&entries, &wrong) < 0)
		check_fail("the audit log: %s", wrong.text);
}

static inline void read_all(int fd, struct buf *out)
{
	char block[4096];
	ssize_t n;

	while ((n = read(fd, block, sizeof(block))) > 0)
		buf_add(out, block, (size_t)n);
}
