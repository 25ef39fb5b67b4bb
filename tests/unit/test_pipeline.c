/* The steps of a run: their order, what ends it early, and what the journal says of each. */
#include "state_home.h"

#include "base/own.h"
#include "run/run.h"
#include "store/fields.h"
#include "store/journal.h"

#include <signal.h>
#include <sys/resource.h>

static struct error err;
static struct result *result;
static char steps[256];      /* that were taken, by name */
static const char *fails_at; /* one of them; NULL: none */
static struct error failure; /* that it fails with */
static bool full_at_execute; /* from then on nothing can be written */

static int step(const char *name, struct error *e)
{
	snprintf(steps + strlen(steps), sizeof(steps) - strlen(steps), "%s%s", steps[0] ? " " : "", name);
	if (!fails_at || strcmp(fails_at, name) != 0)
		return 0;
	*e = failure;
	return -1;
}

static void allow_file_size(rlim_t most)
{
	struct rlimit limit;

	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = most;
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static int admit(struct run_target *target, struct spec *spec, struct error *e)
{
	return step("admit", e);
}

static int begin(struct run_target *target, struct run_state *run, struct error *e)
{
	return step("begin", e);
}

static int execute(struct run_target *target, struct run_state *run, struct error *e)
{
	run->result->verdict = (struct verdict){ .status = STATUS_OK, .ended = true };
	if (full_at_execute)
		allow_file_size(1);
	return step("execute", e);
}

static void blocked(struct run_target *target, struct result *r)
{
	step("blocked", NULL);
}

static void target_explained(struct run_target *target, struct result *r)
{
	CHECK(r->finish_usec > 0);
	step("target-explained", NULL);
}

static void leave(struct run_target *target)
{
	step("leave", NULL);
}

static int begun(const struct run_request *request, struct error *e)
{
	return step("begun", e);
}

static void explained(const struct run_request *request, struct result *r)
{
	step("explained", NULL);
}

static int unwritten(const struct run_record *record, bool over, struct error *e)
{
	int *leave_to_go_on = record->userdata;

	step(over ? "unwritten-end" : "unwritten-start", NULL);
	return *leave_to_go_on ? 0 : error_prefix(e, "audit");
}

/* The records of the journal: their kinds, and the status of the last one. */
static void read_journal(char kinds[16], char status[32])
{
	const unsigned char nothing[JOURNAL_GENERATION] = { 0 };
	struct journal_record record;
	struct journal_reader reader;
	size_t count = 0;

	journal_reader_init(&reader, home_dir);
	CHECK_INT(journal_reader_open(&reader, nothing, &err), 1);
	while (count < 15 && journal_read(&reader, &record, &err) == 1) {
		struct field_set fields;

		kinds[count++] = (char)record.kind;
		CHECK(field_parse(record.parts[0], record.sizes[0], &fields));
		snprintf(status, 32, "%s", fields.text[FIELD_STATUS]);
	}
	kinds[count] = '\0';
	journal_reader_free(&reader);
}

/* One run of the fake target; `program` is Python. */
static int run(const char *program, const char *policy, bool may_go_on, char kinds[16], char status[32])
{
	static const struct engine_io io = { .cancel_fd = -1, .stdin_fd = -1 };
	int leave_to_go_on = may_go_on;
	struct run_target target = {
		.admit = admit,
		.begin = begin,
		.execute = execute,
		.blocked = blocked,
		.explained = target_explained,
		.leave = leave,
	};
	struct run_record record = {
		.caller = { "cli", "uid 1", "", "", "" },
		.code = RECORD_CODE_NEVER,
		.unwritten = unwritten,
		.userdata = &leave_to_go_on,
	};
	struct spec spec;
	const struct run_request request = {
		.spec = &spec,
		.id = "01ARZ3NDEKTSV4RRFFQ69G5FAV",
		.waited_usec = 7,
		.io = &io,
		.target = &target,
		.record = &record,
		.begun = begun,
		.explained = explained,
	};
	int done;

	home_new();
	steps[0] = kinds[0] = status[0] = '\0';
	result_free(result);
	result = NULL;
	spec_init(&spec);
	CHECK_INT(spec_set(&spec, "language", "python", &err), 0);
	CHECK_INT(spec_set(&spec, "policy", policy, &err), 0);
	CHECK_INT(spec_set_code(&spec, program, strlen(program), &err), 0);
	CHECK_INT(journal_open(&record.journal, &err), 0);
	err = (struct error){ 0 };
	done = pipeline_run(&request, &result, &err);
	allow_file_size(RLIM_INFINITY);
	journal_close(record.journal);
	read_journal(kinds, status);
	spec_free(&spec);
	home_free();
	return done;
}

#define ALL "begun admit begin execute target-explained explained leave"

static void each_step_once_and_in_order(void)
{
	char kinds[16], status[32];

	CHECK_INT(run("pass", "off", true, kinds, status), 0);
	CHECK_STR(steps, ALL);
	CHECK_STR(kinds, "SE");
	CHECK_STR(status, "ok");
	CHECK_STR(result->id, "01ARZ3NDEKTSV4RRFFQ69G5FAV");
	CHECK_INT(result->waited_usec, 7);
}

static void what_the_policy_blocks_is_not_executed(void)
{
	char kinds[16], status[32];

	CHECK_INT(run("import socket", "block", true, kinds, status), 0);
	CHECK_STR(steps, "begun admit begin blocked leave");
	CHECK_STR(kinds, "SE");
	CHECK_STR(status, "blocked");
	CHECK_STR(result->message, "Security policy blocked import: socket");
	/* The control: what it only warns of is, and the result says so. */
	CHECK_INT(run("import socket", "warn", true, kinds, status), 0);
	CHECK_STR(steps, ALL);
	CHECK_INT(result->warning_count, 1);
}

static void a_refusal_has_no_result_and_is_noted(void)
{
	static const struct {
		const char *at; /* the step */
		enum error_code code;
		const char *steps; /* that were taken */
	} cases[] = {
		{ "begun", CODE_FAILED, "begun leave" },
		{ "admit", CODE_FAILED, "begun admit leave" },
		{ "admit", CODE_BAD_REQUEST, "begun admit leave" },
		{ "begin", CODE_BAD_REQUEST, "begun admit begin leave" },
		{ "execute", CODE_BAD_REQUEST, "begun admit begin execute leave" },
		{ "execute", CODE_NOT_FOUND, "begun admit begin execute leave" },
		{ "execute", CODE_BUSY, "begun admit begin execute leave" },
		{ "execute", CODE_TOO_MANY, "begun admit begin execute leave" },
	};
	char kinds[16], status[32];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		fails_at = cases[i].at;
		error_refuse(&failure, cases[i].code, "", "no");
		CHECK_INT(run("pass", "off", true, kinds, status), -1);
		fails_at = NULL;
		CHECK(!result);
		CHECK_STR(err.text, "no");
		CHECK_STR(steps, cases[i].steps);
		CHECK_STR(kinds, "SR");
		CHECK_STR(status, "error");
	}
}

static void what_we_fail_at_is_a_result(void)
{
	static const char *const at[] = { "begin", "execute" };
	char kinds[16], status[32];

	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		fails_at = at[i];
		error_set(&failure, ERROR_FAILED, 0, "there is no room");
		CHECK_INT(run("pass", "off", true, kinds, status), 0);
		CHECK_STR(kinds, "SE");
		CHECK_STR(status, "error");
		CHECK_STR(result->message, "there is no room");
		/* The caller's own wish is no failure of ours. */
		error_refuse(&failure, CODE_CANCELLED, "", "waiting was cancelled");
		CHECK_INT(run("pass", "off", true, kinds, status), 0);
		CHECK_STR(status, "killed");
		CHECK(result->verdict.cancelled);
	}
	fails_at = NULL;
}

static void what_cannot_be_noted_is_withheld_unless_it_may_go_on(void)
{
	char kinds[16], status[32];

	signal(SIGXFSZ, SIG_IGN);
	full_at_execute = true;
	CHECK_INT(run("pass", "off", false, kinds, status), -1);
	CHECK(strncmp(err.text, "audit: ", 7) == 0);
	CHECK(!result);
	CHECK_STR(steps, ALL " unwritten-end");
	CHECK_STR(kinds, "S");
	CHECK_INT(run("pass", "off", true, kinds, status), 0);
	CHECK_STR(status_name(result->verdict.status), "ok");
	full_at_execute = false;
}

static void a_run_that_nobody_allowed_is_noted_as_one(void)
{
	struct run_record record = { .caller = { "cli", "uid 1", "", "", "" } };
	struct run_request request = { .record = &record };
	char kinds[16], status[32];
	struct spec spec;

	home_new();
	spec_init(&spec);
	request.spec = &spec;
	CHECK_INT(journal_open(&record.journal, &err), 0);
	error_refuse(&failure, CODE_BLOCKED, "", "nobody agreed");
	result_free(result);
	result = pipeline_refuse(&request, &failure);
	journal_close(record.journal);
	CHECK_STR(status_name(result->verdict.status), "blocked");
	read_journal(kinds, status);
	CHECK_STR(kinds, "E");
	CHECK_STR(status, "blocked");
	spec_free(&spec);
	home_free();
}

int main(void)
{
	RUN(each_step_once_and_in_order);
	RUN(what_the_policy_blocks_is_not_executed);
	RUN(a_refusal_has_no_result_and_is_noted);
	RUN(what_we_fail_at_is_a_result);
	RUN(what_cannot_be_noted_is_withheld_unless_it_may_go_on);
	RUN(a_run_that_nobody_allowed_is_noted_as_one);
	result_free(result);
	return check_failures > 0;
}
